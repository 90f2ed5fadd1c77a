/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Messages between agents over TCP (fault/links.h), three PEs in one process: each message arrives
 * once and in order, whatever connections are cut; strangers and what is no message end their own
 * connection and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "fault/links.h"

#define N_PES 3
#define N_CHANNELS 4
#define N_MESSAGES 2000
#define PATIENCE_NS (20 * SHMEMHI_SECOND) /* for a test that hangs */

static shmemhi_fault_links_t links[N_PES];
static uint32_t next_from[N_PES][N_PES]; /* [to][from]: value of the next message */
static uint64_t random_state;

static uint32_t draw(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

static int set_up(void **state)
{
	static const unsigned char secret[SHMEMHI_ID_SECRET_NBYTES] = "job's own secret";
	const shmemhi_log_t log = {SHMEMHI_OFF, 0, N_PES};
	shmemhi_fault_listener_t all[N_PES];
	shmemhi_err_t err = {""};

	(void)state;
	assert_true(sodium_init() >= 0);
	random_state = 88172645463325252u;
	memset(next_from, 0, sizeof next_from);
	for (int pe = 0; pe < N_PES; pe++)
		assert_int_equal(shmemhi_fault_links_open(&links[pe], "lo", pe, N_PES, N_CHANNELS,
							  &log, &all[pe], &err),
				 SHMEMH_OK);
	for (int pe = 0; pe < N_PES; pe++)
		shmemhi_fault_links_meet(&links[pe], all, secret);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int pe = 0; pe < N_PES; pe++)
		shmemhi_fault_links_close(&links[pe]);
	return 0;
}

static shmemhi_fault_message_t message(uint64_t value)
{
	shmemhi_fault_message_t m = {.kind = SHMEMHI_EV_OFFER,
				     .k = (uint32_t)value % N_CHANNELS,
				     .path = (uint32_t)value,
				     .value = value};

	memset(m.offer, (int)value, sizeof m.offer);
	return m;
}

static void send_one(int from, int to, uint64_t value)
{
	const shmemhi_fault_message_t m = message(value);

	assert_true(shmemhi_fault_out_send(&links[from], to, &m));
}

/* Each PE receives what has come, which must be what is next. */
static void step(void)
{
	for (int pe = 0; pe < N_PES; pe++) {
		shmemhi_fault_message_t got;
		int from;

		shmemhi_fault_links_poll(&links[pe], 0);
		while (shmemhi_fault_in_receive(&links[pe], &from, &got)) {
			const shmemhi_fault_message_t want = message(next_from[pe][from]++);

			assert_memory_equal(&got, &want, sizeof got);
		}
	}
}

static void expect(int to, int from, uint32_t n)
{
	const uint64_t deadline = shmemhi_deadline(PATIENCE_NS);

	while (next_from[to][from] < n && shmemhi_now() < deadline)
		step();
	assert_int_equal(next_from[to][from], n);
}

/* Cut a connection of PE pe at either end; what the listener has not read yet may be lost. */
static void cut(int pe)
{
	shmemhi_fault_out_t *out = links[pe].outs[draw(N_PES)];
	shmemhi_fault_in_t *in = &links[pe].ins[draw(N_PES)];

	if (draw(2) && in->state == IN_UP)
		shmemhi_fault_in_end(&links[pe], in);
	else if (in->state == IN_UP && draw(2))
		shutdown(in->fd, SHUT_WR);
	else if (out && out->fd >= 0)
		shutdown(out->fd, SHUT_RDWR);
}

/* The test does not wait for the pause after an address has failed. */
static void skip_pauses(void)
{
	for (int pe = 0; pe < N_PES; pe++)
		for (int to = 0; to < N_PES; to++)
			if (links[pe].outs[to])
				links[pe].outs[to]->retry_at = 0;
}

static void once_and_in_order(void **state)
{
	uint32_t sent[N_PES][N_PES] = {{0}};

	(void)state;
	for (int i = 0; i < N_MESSAGES; i++) {
		const int from = (int)draw(N_PES), to = (int)draw(N_PES);

		for (uint32_t n = draw(10); n > 0; n--)
			send_one(from, to, sent[from][to]++);
		if (draw(4) == 0)
			cut(from);
		step();
		skip_pauses();
	}
	for (int from = 0; from < N_PES; from++)
		for (int to = 0; to < N_PES; to++)
			expect(to, from, sent[from][to]);
	for (int pe = 0; pe < N_PES; pe++)
		assert_int_equal(links[pe].n_refused, 0);
}

/* Nothing is sent to a PE that is gone, and nothing is kept for it. */
static void forgotten(void **state)
{
	(void)state;
	send_one(0, 1, 0);
	expect(1, 0, 1);
	shmemhi_fault_out_forget(&links[0], 1);
	send_one(0, 1, 1);
	for (int i = 0; i < 100; i++)
		step();
	assert_int_equal(next_from[1][0], 1);
	assert_int_equal(links[0].outs[1]->n_waiting, 0);
	assert_int_equal(links[0].outs[1]->state, OUT_IDLE);
}

/* Strangers. */

static int connect_to(int pe)
{
	const shmemhi_addr_t *addr = &links[0].listeners[pe].addrs[0];
	int fd = socket(addr->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &addr->any, shmemhi_addr_nbytes(addr)), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Until the other side closes it. Returns how many bytes came. */
static size_t read_to_end(int fd)
{
	const uint64_t deadline = shmemhi_deadline(PATIENCE_NS);
	bool is_closed = false;
	size_t n = 0;

	while (!is_closed && shmemhi_now() < deadline) {
		char bytes[256];
		const ssize_t got = recv(fd, bytes, sizeof bytes, 0);

		is_closed = got == 0 || (got < 0 && errno != EAGAIN);
		n += got > 0 ? (size_t)got : 0;
		step();
	}
	assert_true(is_closed);
	close(fd);
	return n;
}

static void expect_work(void)
{
	const uint32_t n = next_from[1][0];

	send_one(0, 1, n);
	expect(1, 0, n + 1);
}

static void receive_challenge(int fd, shmemhi_challenge_t *challenge)
{
	size_t got = 0;

	while (shmemhi_fault_recv(fd, challenge, sizeof *challenge, &got) == 0)
		step();
}

static void prove(int fd, int as, const shmemhi_secret_t *key)
{
	shmemhi_client_hello_t hello = {.pe = as, .n_pes = N_PES};
	shmemhi_challenge_t challenge;

	receive_challenge(fd, &challenge);
	memcpy(hello.magic, SHMEMHI_FAULT_MAGIC, sizeof hello.magic);
	shmemhi_mac_hello(key, &challenge, &hello, hello.mac);
	assert_int_equal(send(fd, &hello, sizeof hello, 0), sizeof hello);
}

static void strangers(void **state)
{
	static const int not_pes[] = {-1, N_PES, 1};
	static const char garbage[sizeof(shmemhi_client_hello_t)] = "GET / HTTP/1.1";
	shmemhi_secret_t key;
	int fds[SHMEMHI_FAULT_MAX_UNPROVED + 8];
	int fd = connect_to(1);

	(void)state;
	assert_int_equal(send(fd, garbage, sizeof garbage, 0), sizeof garbage);
	read_to_end(fd);
	assert_int_equal(links[1].n_refused, 1);
	/* The proof for another PE's listener. */
	fd = connect_to(1);
	shmemhi_fault_key(&links[0], 2, &key);
	prove(fd, 0, &key);
	read_to_end(fd);
	assert_int_equal(links[1].n_refused, 2);
	/* PEs that cannot be. */
	shmemhi_fault_key(&links[0], 1, &key);
	for (size_t i = 0; i < sizeof not_pes / sizeof not_pes[0]; i++) {
		fd = connect_to(1);
		prove(fd, not_pes[i], &key);
		read_to_end(fd);
	}
	assert_int_equal(links[1].n_refused, 5);
	/* Many that say nothing: the oldest are closed, and work goes on. */
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
		fds[i] = connect_to(1);
		step();
	}
	assert_true(links[1].n_unproved <= SHMEMHI_FAULT_MAX_UNPROVED);
	expect_work(); /* beside them */
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		close(fds[i]);
	expect_work();
	assert_int_equal(links[1].n_unproved, 0);
}

/* Frames that a PE would not send, each on a connection that is proved as PE 2's. */
static void malformed_frames(void **state)
{
	const shmemhi_fault_frame_message_t good = {
		.head = {.type = SHMEMHI_FAULT_MESSAGE, .nbytes = sizeof good.body, .seq = 1},
		.body = {.kind = SHMEMHI_EV_FENCE}};
	shmemhi_fault_frame_message_t bad[9];
	shmemhi_secret_t key;

	(void)state;
	for (int i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].head.type = SHMEMHI_FAULT_ACK;
	bad[1].head.type = 77;
	bad[2].head.nbytes = 8;
	bad[3].head.nbytes = UINT64_MAX;
	bad[4].head.seq = 0;
	bad[5].head.seq = 2; /* 1 would be lost */
	bad[6].body.kind = SHMEMHI_EV_ENDED + 1;
	bad[7].body.kind = SHMEMHI_EV_STOPPED;
	bad[8].body.k = N_CHANNELS;
	shmemhi_fault_key(&links[0], 1, &key);
	for (int i = 0; i < 9; i++) {
		int fd = connect_to(1);

		prove(fd, 2, &key);
		assert_int_equal(send(fd, &bad[i], sizeof bad[i], 0), sizeof bad[i]);
		read_to_end(fd);
		assert_int_equal(links[1].n_refused, i + 1);
		assert_int_equal(links[1].received[2], 0);
		expect_work();
	}
}

/* A listener that does not prove that it is the PE gets no message; the next address is tried. */
static void false_listeners(void **state)
{
	shmemhi_fault_listener_t *to = &links[0].listeners[1];
	const shmemhi_addr_t own = to->addrs[0];

	(void)state;
	to->n_addrs = 2;
	to->addrs[0] = links[0].listeners[2].addrs[0]; /* another PE's */
	to->addrs[1] = own;
	expect_work();
	assert_int_equal(next_from[2][0], 0);
	assert_int_equal(links[2].n_refused, 1);
}

/* The same of one that says that it is the PE, and has no secret. */
static void impostor(void **state)
{
	shmemhi_fault_listener_t *to = &links[0].listeners[1];
	const shmemhi_addr_t own = to->addrs[0];
	const shmemhi_verdict_t proved = {.code = SHMEMHI_PROVED};
	shmemhi_challenge_t challenge = {.magic = SHMEMHI_FAULT_MAGIC};
	char bytes[sizeof(shmemhi_client_hello_t) + 1];
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t nbytes = sizeof any;
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof any), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&any, &nbytes), 0);
	to->n_addrs = 2;
	to->addrs[0].v4 = any;
	to->addrs[1] = own;
	send_one(0, 1, 0);
	step();
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(send(fd, &challenge, sizeof challenge, 0), sizeof challenge);
	assert_int_equal(send(fd, &proved, sizeof proved, 0), sizeof proved);
	expect(1, 0, 1);
	/* It has the hello, and nothing after it. */
	assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_WAITALL), sizeof bytes - 1);
	close(fd);
	close(listener);
}

/* Acknowledgements of what was not sent end the connection; the message comes by the next one. */
static void false_acks(void **state)
{
	const shmemhi_frame_t ack = {.type = SHMEMHI_FAULT_ACK, .seq = 1000};

	(void)state;
	expect_work();
	for (uint32_t i = 0; i < links[1].n_ins; i++)
		if (links[1].ins[i].state == IN_UP)
			assert_int_equal(send(links[1].ins[i].fd, &ack, sizeof ack, 0), sizeof ack);
	shmemhi_fault_links_poll(&links[0], 0);
	assert_int_equal(links[0].outs[1]->state, OUT_IDLE);
	expect_work();
}

/* Deliver three messages whose acknowledgements are lost. */
static void lose_acks(void)
{
	for (uint32_t i = 0; i < 3; i++)
		send_one(0, 1, i);
	expect(1, 0, 3);
	for (uint32_t i = 0; i < links[1].n_ins; i++)
		shmemhi_fault_in_end(&links[1], &links[1].ins[i]);
	assert_int_equal(links[0].outs[1]->n_waiting, 3);
}

static shmemhi_fault_in_t *proved_in(void)
{
	for (uint32_t i = 0; i < links[1].n_ins; i++)
		if (links[1].ins[i].state == IN_UP)
			return &links[1].ins[i];
	return NULL;
}

/* An acknowledgement of what an earlier connection carried does not end the connection. */
static void late_ack(void **state)
{
	const shmemhi_frame_t ack = {.type = SHMEMHI_FAULT_ACK, .seq = 3};
	const uint64_t deadline = shmemhi_deadline(PATIENCE_NS);

	(void)state;
	lose_acks();
	while (!proved_in() && shmemhi_now() < deadline) {
		shmemhi_fault_links_poll(&links[0], 0);
		shmemhi_fault_links_poll(&links[1], 0);
	}
	assert_int_equal(send(proved_in()->fd, &ack, sizeof ack, 0), sizeof ack);
	shmemhi_fault_links_poll(&links[0], 0);
	assert_int_equal(links[0].outs[1]->state, OUT_UP);
	while (links[0].outs[1]->n_waiting && shmemhi_now() < deadline)
		step();
	assert_int_equal(links[0].outs[1]->n_waiting, 0);
	assert_int_equal(links[0].outs[1]->n_sent, 0);
	assert_int_equal(next_from[1][0], 3);
	expect_work();
}

/* A connection on which no acknowledgement comes is left for the next address. */
static void silent_connection(void **state)
{
	shmemhi_fault_listener_t *to = &links[0].listeners[1];

	(void)state;
	expect_work();
	while (links[0].outs[1]->n_waiting)
		step();
	to->n_addrs = 2;
	to->addrs[1] = to->addrs[0];
	send_one(0, 1, 1);
	shmemhi_fault_links_poll(&links[0], 0);
	assert_int_equal(links[0].outs[1]->n_sent, 1);
	links[0].outs[1]->acked_at = 0; /* long ago */
	shmemhi_fault_links_poll(&links[0], 0);
	assert_int_not_equal(links[0].outs[1]->state, OUT_UP);
	assert_int_equal(links[0].outs[1]->addr, 1);
	expect(1, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(once_and_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(forgotten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(strangers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(malformed_frames, set_up, tear_down),
		cmocka_unit_test_setup_teardown(false_listeners, set_up, tear_down),
		cmocka_unit_test_setup_teardown(late_ack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(silent_connection, set_up, tear_down),
		cmocka_unit_test_setup_teardown(impostor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(false_acks, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
