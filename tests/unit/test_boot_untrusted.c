/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The TCP bootstrap with clients and servers that do not have the secret: unknown clients at the
 * hub, and fake hubs. */
#include "boot_pes.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#define N_FLOOD 200
#define N_KEPT 128 /* connections without proof that the hub keeps */

static shmemh_uniqueid_t id;
static pe_t pes[MAX_TEST_PES];

static int connect_to(const shmemhi_addr_t *addr)
{
	int fd = socket(addr->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &addr->any, shmemhi_addr_nbytes(addr)), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static shmemhi_addr_t hub_addr(void)
{
	shmemhi_id_t in;

	assert_int_equal(shmemhi_id_unpack(&id, &in), 0);
	return in.addrs[0];
}

static void body_gather(pe_t *p)
{
	gather(p, 0, 8, 0);
	gather(p, 1, 4096, 1);
	leave(p);
}

/* The job of 2 starts and works. */
static void expect_job(void)
{
	int pe;

	for (pe = 0; pe < 2; pe++)
		pe_start(&pes[pe], &id, pe, 2, body_gather, NULL);
	for (pe = 0; pe < 2; pe++)
		pe_join(&pes[pe]);
	for (pe = 0; pe < 2; pe++) {
		assert_string_equal(pes[pe].err.text, "");
		assert_int_equal(pes[pe].status, SHMEMH_OK);
		assert_int_equal(pes[pe].status_of[0], SHMEMH_OK);
		assert_int_equal(pes[pe].status_of[1], SHMEMH_OK);
		assert_int_equal(pes[pe].n_wrong, 0);
	}
}

/* Read until the other side closes the connection; returns the number of bytes. */
static size_t drain(int fd)
{
	char byte;
	size_t nbytes = 0;
	int error;

	while ((error = shmemhi_recv_all(fd, &byte, 1, shmemhi_deadline(PATIENCE))) == 0)
		nbytes++;
	assert_int_not_equal(error, ETIMEDOUT);
	return nbytes;
}

/* Capture stderr between begin and end. */
static int saved_stderr;
static int capture_ends[2];

static void capture_begin(void)
{
	assert_int_equal(pipe(capture_ends), 0);
	saved_stderr = dup(STDERR_FILENO);
	dup2(capture_ends[1], STDERR_FILENO);
	close(capture_ends[1]);
}

static void capture_end(char *text, size_t nbytes)
{
	ssize_t n;

	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	fcntl(capture_ends[0], F_SETFL, O_NONBLOCK);
	n = read(capture_ends[0], text, nbytes - 1);
	text[n > 0 ? n : 0] = '\0';
	close(capture_ends[0]);
}

/* ---- unknown clients at the hub ---- */

static void test_silent_client(void **state)
{
	shmemhi_addr_t addr;
	int fds[3];
	int i;

	(void)state;
	make_id(&id, 2, "20s");
	addr = hub_addr();
	for (i = 0; i < 3; i++)
		fds[i] = connect_to(&addr);
	raw_send(fds[1], "SHMEMHB", 7); /* begins like a PE, and stops */
	shutdown(fds[2], SHUT_WR);
	expect_job();
	for (i = 0; i < 3; i++) {
		assert_true(drain(fds[i]) <= sizeof(shmemhi_challenge_t));
		close(fds[i]);
	}
}

/* A connection without proof is closed, even while the job waits for its PEs. */
static void test_silent_client_is_closed(void **state)
{
	shmemhi_addr_t addr;
	int fd;

	(void)state;
	make_id(&id, 2, "60s");
	addr = hub_addr();
	fd = connect_to(&addr);
	assert_int_equal(drain(fd), sizeof(shmemhi_challenge_t));
	close(fd);
	expect_job();
}

static void test_garbage(void **state)
{
	unsigned char garbage[4096];
	shmemhi_addr_t addr;
	int fds[16];
	size_t i;

	(void)state;
	make_id(&id, 2, "20s");
	addr = hub_addr();
	for (i = 0; i < sizeof(garbage); i++)
		garbage[i] = (unsigned char)(i * 131 + 7);
	for (i = 0; i < 16; i++) {
		fds[i] = connect_to(&addr);
		raw_send(fds[i], i % 2 ? (const void *)"GET / HTTP/1.1\r\n" : garbage,
			 i % 2 ? 16 : 64 + i * 200);
	}
	expect_job();
	for (i = 0; i < 16; i++)
		close(fds[i]);
}

/* Frames of a PE, sent by a client that has not proved the secret. */
static void test_frames_without_proof(void **state)
{
	shmemhi_frame_t frames[4];
	shmemhi_addr_t addr;
	int fd;

	(void)state;
	make_id(&id, 2, "20s");
	addr = hub_addr();
	fd = connect_to(&addr);
	memset(frames, 0, sizeof(frames));
	frames[0].type = SHMEMHI_BYE;
	frames[1].type = SHMEMHI_PART;
	raw_send(fd, frames, sizeof(frames));
	drain(fd);
	close(fd);
	expect_job();
}

static int count(const char *text, const char *part)
{
	int n = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* For each connection beyond the limit the oldest one is closed, so that the PEs, which connect
 * last, are served. */
static void test_limit_of_unproved_connections(void **state)
{
	static char text[65536];
	shmemhi_addr_t addr;
	int fds[N_FLOOD];
	int i;

	(void)state;
	setenv("SHMEMH_DEBUG", "info", 1);
	capture_begin();
	make_id(&id, 2, "20s");
	unsetenv("SHMEMH_DEBUG");
	addr = hub_addr();
	for (i = 0; i < N_FLOOD; i++)
		fds[i] = connect_to(&addr);
	for (i = 0; i < N_FLOOD - N_KEPT; i++)
		drain(fds[i]);
	capture_end(text, sizeof(text));
	assert_int_equal(count(text, "too many unproved connections"), N_FLOOD - N_KEPT);
	capture_begin(); /* the PEs push out two more */
	expect_job();
	capture_end(text, sizeof(text));
	for (i = 0; i < N_FLOOD; i++)
		close(fds[i]);
}

/* Connections that are reset before the hub sends its first message do not count after their end.
 */
static void test_reset_flood(void **state)
{
	const struct linger reset = {.l_onoff = 1};
	shmemhi_addr_t addr;
	int i;

	(void)state;
	make_id(&id, 2, "20s");
	addr = hub_addr();
	for (i = 0; i < 8 * N_KEPT; i++) {
		int fd = connect_to(&addr);

		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
		close(fd);
	}
	expect_job();
}

/* A client that has the secret, but proves it only after the job runs and PE 1 has died, does not
 * become PE 1. */
static void test_late_proof(void **state)
{
	shmemhi_challenge_t challenge;
	shmemhi_client_hello_t hello = {.pe = 1, .n_pes = 2};
	shmemhi_verdict_t verdict;
	shmemhi_addr_t addr;
	shmemhi_secret_t key;
	shmemhi_id_t in;
	int late;
	int fds[2];
	int i;

	(void)state;
	make_id(&id, 2, "20s");
	addr = hub_addr();
	late = connect_to(&addr);
	for (i = 0; i < 2; i++)
		fds[i] = raw_join(&id, i, 2);
	for (i = 0; i < 2; i++)
		raw_expect(fds[i], SHMEMHI_GO);
	close(fds[1]);
	raw_expect(fds[0], SHMEMHI_GONE);
	assert_int_equal(shmemhi_id_unpack(&id, &in), 0);
	shmemhi_wire_key(in.secret, sizeof(in.secret), &key);
	assert_int_equal(
		shmemhi_recv_all(late, &challenge, sizeof(challenge), shmemhi_deadline(PATIENCE)),
		0);
	memcpy(hello.magic, SHMEMHI_WIRE_MAGIC, sizeof(hello.magic));
	shmemhi_mac_hello(&key, &challenge, &hello, hello.mac);
	(void)shmemhi_send_all(late, &hello, sizeof(hello), shmemhi_deadline(PATIENCE));
	assert_int_not_equal(
		shmemhi_recv_all(late, &verdict, sizeof(verdict), shmemhi_deadline(PATIENCE)), 0);
	close(late);
	close(fds[0]);
}

/* Writing to a closed connection is an error and does not end the process. */
static void test_no_sigpipe(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	close(fds[1]);
	assert_int_equal(shmemhi_send_all(fds[0], "x", 1, shmemhi_deadline(PATIENCE)), EPIPE);
	close(fds[0]);
}

/* ---- a wrong secret ---- */

static void test_wrong_secret(void **state)
{
	shmemh_uniqueid_t wrong;
	shmemhi_id_t in;
	char text[2048];

	(void)state;
	make_id(&id, 2, "20s");
	assert_int_equal(shmemhi_id_unpack(&id, &in), 0);
	in.secret[15] ^= 1;
	shmemhi_id_pack(&in, &wrong);
	capture_begin();
	pe_start(&pes[0], &wrong, 0, 2, leave, NULL);
	pe_join(&pes[0]);
	capture_end(text, sizeof(text));
	assert_int_equal(pes[0].status, SHMEMH_ERR_BOOTSTRAP);
	assert_non_null(strstr(pes[0].err.text, "the secret of this unique id is wrong"));
	assert_non_null(strstr(text, "its secret is wrong"));
	expect_job();
}

/* A recorded hello is not valid on the next connection: the nonce differs. */
static void test_replayed_hello(void **state)
{
	shmemhi_verdict_t verdict;
	shmemhi_challenge_t challenge;
	shmemhi_client_hello_t hello = {.pe = 0, .n_pes = 2};
	shmemhi_addr_t addr;
	shmemhi_secret_t key;
	shmemhi_id_t in;
	int code[2];
	int i;

	(void)state;
	make_id(&id, 2, "20s");
	addr = hub_addr();
	assert_int_equal(shmemhi_id_unpack(&id, &in), 0);
	shmemhi_wire_key(in.secret, sizeof(in.secret), &key);
	memcpy(hello.magic, SHMEMHI_WIRE_MAGIC, sizeof(hello.magic));
	hello.n_pes = 3; /* valid proof, but refused: PE 0 stays free for the job */
	capture_begin();
	for (i = 0; i < 2; i++) {
		int fd = connect_to(&addr);

		assert_int_equal(shmemhi_recv_all(fd, &challenge, sizeof(challenge),
						  shmemhi_deadline(PATIENCE)),
				 0);
		if (i == 0)
			shmemhi_mac_hello(&key, &challenge, &hello, hello.mac);
		raw_send(fd, &hello, sizeof(hello));
		assert_int_equal(
			shmemhi_recv_all(fd, &verdict, sizeof(verdict), shmemhi_deadline(PATIENCE)),
			0);
		code[i] = (int)verdict.code;
		close(fd);
	}
	capture_end((char[16]){0}, 16);
	assert_int_equal(code[0], SHMEMHI_PROVED);
	assert_int_equal(code[1], SHMEMHI_REFUSED);
	expect_job();
}

/* ---- fake hubs ---- */

enum fake {
	FAKE_NO_PROOF, /* sends PROVED without a proof */
	FAKE_MIRROR,   /* sends the PE's own proof back */
	FAKE_VERSION,  /* sends a later version */
	FAKE_HTTP,     /* another service */
	FAKE_DIES,     /* a real hub, until the job runs */
	FAKE_SILENT,   /* the same, but it keeps the connection and sends nothing more */
	FAKE_OTHER,    /* the hub of another job; the real one starts after the first attempt */
};

typedef struct fake_hub {
	pthread_t thread;
	enum fake kind;
	int listen_fd;
	int late_fd; /* FAKE_OTHER: bound socket of the real hub */
	shmemhi_id_t in;
	shmemhi_secret_t key;
} fake_hub_t;

/* The hub of the only address that h->late_fd is bound to. */
static void start_late(const fake_hub_t *h)
{
	shmemhi_id_t one = h->in;
	shmemhi_options_t opt;
	shmemhi_err_t err = {""};

	one.n_addrs = 1;
	if (listen(h->late_fd, 4) == 0 && shmemhi_options_read(&opt, &no_log, &err) == SHMEMH_OK)
		shmemhi_hub_start(&one, 1, &h->late_fd, &opt, &no_log, &err);
}

/* Serves one connection. */
static void *fake_main(void *arg)
{
	fake_hub_t *h = arg;
	shmemhi_challenge_t challenge = {.nonce = {1, 2, 3}};
	shmemhi_verdict_t verdict = {.code = SHMEMHI_PROVED};
	shmemhi_frame_t go = {.type = SHMEMHI_GO};
	uint64_t deadline = shmemhi_deadline(PATIENCE);
	shmemhi_client_hello_t hello;
	char byte;
	int fd = accept(h->listen_fd, NULL, NULL);

	fcntl(fd, F_SETFL, O_NONBLOCK);
	memcpy(challenge.magic, SHMEMHI_WIRE_MAGIC, sizeof(challenge.magic));
	if (h->kind == FAKE_VERSION)
		challenge.magic[7]++;
	if (h->kind == FAKE_HTTP)
		memcpy(challenge.magic, "HTTP/1.1", 8);
	shmemhi_send_all(fd, &challenge, sizeof(challenge), deadline);
	if (shmemhi_recv_all(fd, &hello, sizeof(hello), deadline) == 0) {
		if (h->kind == FAKE_MIRROR)
			memcpy(verdict.mac, hello.mac, sizeof(verdict.mac));
		if (h->kind == FAKE_DIES || h->kind == FAKE_SILENT)
			shmemhi_mac_verdict(&h->key, &challenge, &hello, verdict.mac);
		if (h->kind == FAKE_OTHER) {
			start_late(h);
			verdict.code = SHMEMHI_REFUSED;
		}
		shmemhi_send_all(fd, &verdict, sizeof(verdict), deadline);
		shmemhi_send_all(fd, &go, sizeof(go), deadline);
		if (h->kind == FAKE_DIES) /* the first share shows that the job runs */
			shmemhi_recv_all(fd, &go, sizeof(go), deadline);
		while (h->kind == FAKE_SILENT &&
		       shmemhi_recv_all(fd, &byte, sizeof(byte), SHMEMHI_NEVER) == 0)
			continue; /* until the PE closes */
	}
	close(fd);
	close(h->listen_fd);
	return NULL;
}

/* A socket bound to loopback; addr receives its address. */
static int bound_socket(shmemhi_addr_t *addr)
{
	socklen_t nbytes = sizeof(addr->v4);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr->v4.sin_family = AF_INET;
	addr->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, &addr->any, nbytes), 0);
	assert_int_equal(getsockname(fd, &addr->any, &nbytes), 0);
	return fd;
}

static void fake_start(fake_hub_t *h, enum fake kind)
{
	memset(h, 0, sizeof(*h));
	h->kind = kind;
	h->in.n_addrs = 1;
	h->in.secret[0] = 42;
	shmemhi_wire_key(h->in.secret, sizeof(h->in.secret), &h->key);
	if (kind == FAKE_OTHER) {
		h->late_fd = bound_socket(&h->in.addrs[0]);
		fcntl(h->late_fd, F_SETFL, O_NONBLOCK);
		h->in.n_addrs = 2;
	}
	h->listen_fd = bound_socket(&h->in.addrs[h->in.n_addrs - 1]);
	assert_int_equal(listen(h->listen_fd, 4), 0);
	shmemhi_id_pack(&h->in, &id);
	assert_int_equal(pthread_create(&h->thread, NULL, fake_main, h), 0);
}

static void expect_no_hub(enum fake kind, int status, const char *text)
{
	fake_hub_t hub;

	fake_start(&hub, kind);
	/* plus the margin: unexpected servers are tried again */
	setenv("SHMEMH_BOOT_TIMEOUT", "1ms", 1);
	pe_start(&pes[0], &id, 0, 2, leave, NULL);
	pe_join(&pes[0]);
	pthread_join(hub.thread, NULL);
	assert_int_equal(pes[0].status, status);
	assert_non_null(strstr(pes[0].err.text, text));
}

static void test_fake_hubs(void **state)
{
	(void)state;
	expect_no_hub(FAKE_NO_PROOF, SHMEMH_ERR_BOOTSTRAP, "refused the secret");
	expect_no_hub(FAKE_MIRROR, SHMEMH_ERR_BOOTSTRAP, "refused the secret");
	expect_no_hub(FAKE_VERSION, SHMEMH_ERR_VERSION, "speaks version 4");
}

/* One address of the hub leads to another job's hub, which refuses the secret: the other address,
 * where no process listened at first, is still tried. */
static void test_refused_at_one_address(void **state)
{
	fake_hub_t hub;

	(void)state;
	setenv("SHMEMH_BOOT_TIMEOUT", "20s", 1);
	fake_start(&hub, FAKE_OTHER);
	pe_start(&pes[0], &id, 0, 1, leave, NULL);
	pe_join(&pes[0]);
	pthread_join(hub.thread, NULL);
	assert_string_equal(pes[0].err.text, "");
	assert_int_equal(pes[0].status, SHMEMH_OK);
}

/* The port belongs to another program now: reported, and tried again in case it is temporary. */
static void test_other_service(void **state)
{
	(void)state;
	expect_no_hub(FAKE_HTTP, SHMEMH_ERR_BOOTSTRAP, "no program listens there");
}

static void body_cut_off(pe_t *p)
{
	p->boot.watch(p->boot.state, on_gone, &p->seen);
	gather(p, 0, 8, 0);
	wait_seen(&p->seen, 1);
	gather(p, 1, 8, 0);
	p->status_of[2] = p->seen.n; /* to leave would report it, too */
	leave(p);
}

static void test_hub_loss(void **state)
{
	fake_hub_t hub;
	int i;

	(void)state;
	setenv("SHMEMH_BOOT_TIMEOUT", "30s", 1);
	fake_start(&hub, FAKE_DIES);
	pe_start(&pes[0], &id, 0, 2, body_cut_off, NULL);
	pe_join(&pes[0]);
	pthread_join(hub.thread, NULL);
	assert_int_equal(pes[0].status, SHMEMH_OK);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pes[0].status_of[i], SHMEMH_ERR_PEER);
		assert_non_null(strstr(pes[0].text_of[i], "PE 0 is cut off"));
	}
	assert_int_equal(pes[0].seen.n, 1);
	assert_int_equal(pes[0].seen.pe[0], -1);
	assert_int_equal(pes[0].seen.cause[0], SHMEMD_CAUSE_CUT_OFF);
}

/* A hub that stops responding is reported when the collective ends, not when it next sends. */
static void test_silent_hub(void **state)
{
	fake_hub_t hub;

	(void)state;
	setenv("SHMEMH_BOOT_TIMEOUT", "1s", 1);
	fake_start(&hub, FAKE_SILENT);
	pe_start(&pes[0], &id, 0, 2, body_cut_off, NULL);
	pe_join(&pes[0]);
	pthread_join(hub.thread, NULL);
	assert_int_equal(pes[0].status, SHMEMH_OK);
	assert_int_equal(pes[0].status_of[0], SHMEMH_ERR_TIMEOUT);
	assert_int_equal(pes[0].status_of[1], SHMEMH_ERR_PEER);
	assert_int_equal(pes[0].status_of[2], 1);
	assert_int_equal(pes[0].seen.n, 1);
	assert_int_equal(pes[0].seen.cause[0], SHMEMD_CAUSE_CUT_OFF);
}

static void test_damaged_id(void **state)
{
	(void)state;
	make_id(&id, 2, "100ms");
	id.bytes[20] ^= 1;
	pe_start(&pes[0], &id, 0, 2, leave, NULL);
	pe_join(&pes[0]);
	assert_int_equal(pes[0].status, SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(pes[0].err.text, "damaged"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent_client),
		cmocka_unit_test(test_silent_client_is_closed),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_frames_without_proof),
		cmocka_unit_test(test_limit_of_unproved_connections),
		cmocka_unit_test(test_late_proof),
		cmocka_unit_test(test_no_sigpipe),
		cmocka_unit_test(test_wrong_secret),
		cmocka_unit_test(test_replayed_hello),
		cmocka_unit_test(test_fake_hubs),
		cmocka_unit_test(test_other_service),
		cmocka_unit_test(test_hub_loss),
		cmocka_unit_test(test_silent_hub),
		cmocka_unit_test(test_damaged_id),
		cmocka_unit_test(test_reset_flood),
		cmocka_unit_test(test_refused_at_one_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
