/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The TCP bootstrap among PEs that have the secret: host collectives, deadlines, deaths. */
#include "base/sockets.h"
#include "boot/hub.h"
#include "boot_pes.h"

static shmemh_uniqueid_t id;
static pe_t pes[MAX_TEST_PES];

static void start_pes(int first, int end, int n_pes, void (*body)(pe_t *p), void *arg)
{
	int pe;

	for (pe = first; pe < end; pe++)
		pe_start(&pes[pe], &id, pe, n_pes, body, arg);
}

static void join_pes(int first, int end)
{
	int pe;

	for (pe = first; pe < end; pe++)
		pe_join(&pes[pe]);
}

/* ---- collectives ---- */

static void body_sizes(pe_t *p)
{
	static const size_t sizes[] = {1, 7, 8, 4096, 65537, SHMEMHI_MAX_PART, 3};
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		gather(p, (int)i, sizes[i], (int)i);
	for (i = 0; i < 100; i++)
		gather(p, 7, 1 + i % 9, (int)i);
	leave(p);
}

static void test_allgather(void **state)
{
	static const int n_pes[] = {1, 2, 5, 8};
	size_t i;
	int pe;
	int k;

	(void)state;
	for (i = 0; i < 4; i++) {
		make_id(&id, n_pes[i], "30s");
		start_pes(0, n_pes[i], n_pes[i], body_sizes, NULL);
		join_pes(0, n_pes[i]);
		for (pe = 0; pe < n_pes[i]; pe++) {
			assert_string_equal(pes[pe].err.text, "");
			assert_int_equal(pes[pe].status, SHMEMH_OK);
			assert_int_equal(pes[pe].n_wrong, 0);
			for (k = 0; k < 8; k++)
				assert_int_equal(pes[pe].status_of[k], SHMEMH_OK);
		}
	}
}

static void body_mismatch(pe_t *p)
{
	gather(p, 0, p->pe == 1 ? 16 : 8, 0);
	gather(p, 1, 8, 1);
	leave(p);
}

static void test_mismatch(void **state)
{
	int pe;

	(void)state;
	make_id(&id, 3, "30s");
	start_pes(0, 3, 3, body_mismatch, NULL);
	join_pes(0, 3);
	for (pe = 0; pe < 3; pe++) {
		assert_int_equal(pes[pe].status_of[0], SHMEMH_ERR_MISMATCH);
		assert_non_null(strstr(pes[pe].text_of[0], "PE 0: 8, PE 1: 16, PE 2: 8"));
		assert_int_equal(pes[pe].status_of[1], SHMEMH_OK); /* in step again */
		assert_int_equal(pes[pe].n_wrong, 0);
	}
}

static void body_bad_size(pe_t *p)
{
	if (p->pe == 0) { /* local: the other PEs do not notice */
		gather(p, 0, 0, 0);
		gather(p, 1, SHMEMHI_MAX_PART + 1, 0);
	}
	gather(p, 2, 8, 0);
	leave(p);
}

static void test_bad_size(void **state)
{
	(void)state;
	make_id(&id, 2, "30s");
	start_pes(0, 2, 2, body_bad_size, NULL);
	join_pes(0, 2);
	assert_int_equal(pes[0].status_of[0], SHMEMH_ERR_ARGUMENT);
	assert_int_equal(pes[0].status_of[1], SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(pes[0].text_of[1], "1048577"));
	assert_int_equal(pes[0].status_of[2], SHMEMH_OK);
	assert_int_equal(pes[1].status_of[2], SHMEMH_OK);
	assert_int_equal(pes[1].n_wrong, 0);
}

/* PE 1 joins the first collective only after the others have reported it as missing. */
static void body_late(pe_t *p)
{
	gate_t *told = p->arg;

	if (p->pe == 1)
		gate_wait(told, 2);
	gather(p, 0, 8, 0);
	gate_add(told);
	gate_wait(told, 3); /* the second collective begins within one deadline */
	gather(p, 1, 8, 1);
	leave(p);
}

static void test_collective_timeout(void **state)
{
	gate_t told = GATE_INIT;
	int pe;

	(void)state;
	make_id(&id, 3, "2s");
	start_pes(0, 3, 3, body_late, &told);
	join_pes(0, 3);
	for (pe = 0; pe < 3; pe++) {
		assert_int_equal(pes[pe].status_of[0], SHMEMH_ERR_TIMEOUT);
		assert_string_equal(pes[pe].text_of[0],
				    "PE 1 of 3 did not come to host collective 1 within 2 s");
		assert_int_equal(pes[pe].status_of[1], SHMEMH_OK);
		assert_int_equal(pes[pe].n_wrong, 0);
	}
}

static void test_times(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(hub_text_time(120 * SHMEMHI_SECOND, text), "120 s");
	assert_string_equal(hub_text_time(1500 * SHMEMHI_MS, text), "1500 ms");
	assert_string_equal(hub_text_time(500000, text), "500000 ns");
	assert_string_equal(hub_text_time(SHMEMHI_SECOND + 1, text), "1000000001 ns");
}

/* ---- the start ---- */

static void test_missing(void **state)
{
	(void)state;
	make_id(&id, 4, "1s");
	pe_start(&pes[0], &id, 0, 4, leave, NULL);
	pe_start(&pes[2], &id, 2, 4, leave, NULL);
	pe_join(&pes[0]);
	pe_join(&pes[2]);
	assert_int_equal(pes[0].status, SHMEMH_ERR_TIMEOUT);
	assert_int_equal(pes[2].status, SHMEMH_ERR_TIMEOUT);
	assert_string_equal(pes[0].err.text, "PE 1, 3 of 4 did not connect within 1 s");
	assert_string_equal(pes[2].err.text, "PE 1, 3 of 4 did not connect within 1 s");
}

/* After a PE is known to be dead, no PE waits for the deadline; PEs that join later get the error.
 */
static void test_lost_before_start(void **state)
{
	int fd;

	(void)state;
	make_id(&id, 3, "30s");
	fd = raw_join(&id, 1, 3);
	pe_start(&pes[0], &id, 0, 3, leave, NULL);
	close(fd);
	pe_join(&pes[0]);
	pe_start(&pes[2], &id, 2, 3, leave, NULL);
	pe_join(&pes[2]);
	assert_int_equal(pes[0].status, SHMEMH_ERR_PEER);
	assert_non_null(strstr(pes[0].err.text, "PE 1 ("));
	assert_int_equal(pes[2].status, SHMEMH_ERR_PEER);
	assert_non_null(strstr(pes[2].err.text, "PE 1 ("));
}

/* Each status of the host is told as it is; of another number nobody knows what it means. */
static void test_reported_failures(void **state)
{
	(void)state;
	for (int status = SHMEMH_ERR_ARGUMENT; status <= SHMEMH_ERR_NIC + 1; status++) {
		const int is_known = status <= SHMEMH_ERR_NIC;
		int fd;

		make_id(&id, 2, "30s");
		fd = raw_join(&id, 1, 2);
		assert_int_equal(
			shmemhi_send_failure(fd, status, "a reason", shmemhi_deadline(PATIENCE)),
			0);
		pe_start(&pes[0], &id, 0, 2, leave, NULL);
		pe_join(&pes[0]);
		assert_int_equal(pes[0].status, is_known ? status : SHMEMH_ERR_PEER);
		if (is_known)
			assert_string_equal(pes[0].err.text, "PE 1: a reason");
		close(fd);
	}
}

static void body_bad_option(pe_t *p)
{
	if (p->pe == 0)
		shmemhi_boot_set_failure(&p->boot, SHMEMH_ERR_OPTION, "an option");
	else
		gather(p, 0, 8, 0);
	leave(p);
}

/* The PE with the hub has a time limit of 0: the others learn why it does not take part. */
static void test_no_time(void **state)
{
	shmemhi_options_t opt;
	shmemhi_err_t err;

	(void)state;
	setenv("SHMEMH_IFNAME", "lo", 1);
	setenv("SHMEMH_BOOT_TIMEOUT", "0", 1);
	assert_int_equal(shmemhi_options_read(&opt, &no_log, &err), SHMEMH_ERR_OPTION);
	setenv("SHMEMH_BOOT_TIMEOUT", "30s", 1);
	assert_int_equal(shmemhi_uniqueid_make(2, &opt, &no_log, &id, &err), SHMEMH_OK);
	start_pes(0, 2, 2, body_bad_option, NULL);
	join_pes(0, 2);
	assert_int_equal(pes[0].status, SHMEMH_OK);
	assert_int_equal(pes[1].status, SHMEMH_OK);
	assert_int_equal(pes[1].status_of[0], SHMEMH_ERR_OPTION);
	assert_string_equal(pes[1].text_of[0], "PE 0: an option");
}

static void test_number_taken(void **state)
{
	(void)state;
	make_id(&id, 2, "30s");
	int fd = raw_join(&id, 1, 2);

	pe_start(&pes[2], &id, 1, 2, leave, NULL);
	pe_join(&pes[2]);
	assert_int_equal(pes[2].status, SHMEMH_ERR_BOOTSTRAP);
	assert_non_null(strstr(pes[2].err.text, "PE 1 is in the job already"));
	/* the first PE with this number is not disturbed */
	pe_start(&pes[0], &id, 0, 2, leave, NULL);
	raw_expect(fd, SHMEMHI_GO);
	pe_join(&pes[0]);
	assert_int_equal(pes[0].status, SHMEMH_OK);
	close(fd);
}

static void test_wrong_size(void **state)
{
	(void)state;
	make_id(&id, 2, "30s");
	pe_start(&pes[0], &id, 0, 3, leave, NULL);
	pe_join(&pes[0]);
	assert_int_equal(pes[0].status, SHMEMH_ERR_BOOTSTRAP);
	assert_string_equal(
		pes[0].err.text,
		"PE 0 was started for a job of 3 PEs, but the unique id was made for 2");
	start_pes(0, 2, 2, leave, NULL);
	join_pes(0, 2);
	assert_int_equal(pes[0].status, SHMEMH_OK);
	assert_int_equal(pes[1].status, SHMEMH_OK);
	pe_start(&pes[0], &id, 2, 2, leave, NULL); /* refused before it connects */
	pe_join(&pes[0]);
	assert_int_equal(pes[0].status, SHMEMH_ERR_ARGUMENT);
}

static void test_no_hub(void **state)
{
	char text[SHMEMHI_ADDR_TEXT_NBYTES];
	shmemhi_id_t in;

	(void)state;
	make_id(&id, 1, "30s");
	start_pes(0, 1, 1, leave, NULL);
	join_pes(0, 1); /* the job has ended: no process listens any more */
	start_pes(0, 1, 1, leave, NULL);
	join_pes(0, 1);
	assert_int_equal(pes[0].status, SHMEMH_ERR_BOOTSTRAP);
	assert_int_equal(shmemhi_id_unpack(&id, &in), 0);
	assert_non_null(strstr(pes[0].err.text, shmemhi_addr_text(&in.addrs[0], text)));
}

/* ---- PEs that die or leave ---- */

static void expect_seen(seen_t *s, int pe, uint32_t cause)
{
	assert_int_equal(s->n, 1);
	assert_int_equal(s->pe[0], pe);
	assert_int_equal(s->cause[0], cause);
}

/* Wait in a collective, and watch, from before the death. */
/* A port at which nobody answers: the line names what chooses the address. */
static void test_not_reached(void **state)
{
	shmemhi_id_t silent = {.n_addrs = 1, .addrs = {{.v4 = {.sin_family = AF_INET}}}};
	const int fd = shmemhi_listen_on(&silent.addrs[0]);
	char where[SHMEMHI_ADDR_TEXT_NBYTES];
	shmemhi_secret_t key = {{0}};

	(void)state;
	assert_true(fd >= 0);
	for (int is_torch = 0; is_torch < 2; is_torch++) {
		shmemhi_err_t err = {""};

		silent.is_from_torchrun = is_torch;
		assert_int_equal(shmemhi_hub_connect(&silent, &key, 0, 1, shmemhi_now(), &no_log,
						     where, &err),
				 -SHMEMH_ERR_BOOTSTRAP);
		assert_non_null(strstr(err.text, is_torch ? "MASTER_ADDR" : "SHMEMH_IFNAME"));
	}
	shmemhi_socket_close(fd);
}

static void body_watch(pe_t *p)
{
	p->boot.watch(p->boot.state, on_gone, &p->seen);
	gather(p, 0, 8, 0);
	wait_seen(&p->seen, 1);
	gather(p, 1, 8, 1);
	if (p->arg)
		gate_add(p->arg);
	if (p->arg)
		gate_wait(p->arg, 2);
	leave(p);
}

static void test_death(void **state)
{
	gate_t done = GATE_INIT;
	int fd;
	int pe;
	int i;

	(void)state;
	make_id(&id, 3, "30s");
	start_pes(0, 2, 3, body_watch, &done);
	fd = raw_join(&id, 2, 3);
	raw_expect(fd, SHMEMHI_GO);
	close(fd);
	join_pes(0, 2);
	for (pe = 0; pe < 2; pe++) {
		for (i = 0; i < 2; i++) {
			assert_int_equal(pes[pe].status_of[i], SHMEMH_ERR_PEER);
			assert_non_null(strstr(pes[pe].text_of[i], "PE 2 died"));
		}
		assert_int_equal(pes[pe].seen.pe[0], 2);
		assert_int_equal(pes[pe].seen.cause[0], SHMEMD_CAUSE_DIED);
	}
}

/* PE 1 dies after it sent its share, in the middle of a frame, or by sending invalid bytes. */
static void test_death_in_frame(void **state)
{
	static const shmemhi_frame_t bad[] = {
		{.type = SHMEMHI_PART, .seq = 1, .nbytes = 8},
		{.type = SHMEMHI_PART, .seq = 1, .nbytes = SHMEMHI_MAX_PART + 1},
		{.type = SHMEMHI_PART, .seq = 2, .nbytes = 0},
		{.type = SHMEMHI_GO, .seq = 1},
		{.type = 99, .seq = 1},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd;

		make_id(&id, 2, "30s");
		start_pes(0, 1, 2, body_watch, NULL);
		fd = raw_join(&id, 1, 2);
		raw_expect(fd, SHMEMHI_GO);
		raw_send(fd, &bad[i], sizeof(bad[i]));
		raw_send(fd, "abcd", i == 0 ? 4 : 0);
		if (i == 0) /* the hub itself ends the other PEs */
			close(fd);
		join_pes(0, 1);
		if (i != 0)
			close(fd);
		assert_int_equal(pes[0].status_of[0], SHMEMH_ERR_PEER);
		expect_seen(&pes[0].seen, 1, SHMEMD_CAUSE_DIED);
	}
}

/* A gather among some PEs that is none: the hub cuts its sender, PE 1, off. */
static void test_bad_gather(void **state)
{
	static const struct {
		uint32_t n_pes;
		int32_t pes[2];
		uint64_t nbytes; /* of the share */
		int n;           /* times it is sent */
	} bad[] = {
		{0, {0, 1}, 8, 1}, {3, {0, 1}, 8, 1}, {2, {1, 0}, 8, 1},
		{2, {1, 1}, 8, 1}, {2, {1, 2}, 8, 1}, {2, {-1, 1}, 8, 1},
		{1, {0, 0}, 8, 1}, {2, {0, 1}, 0, 1}, {2, {0, 1}, SHMEMHI_MAX_SUBSET_PART + 1, 1},
		{2, {0, 1}, 8, 2},
	};
	static unsigned char share[SHMEMHI_MAX_SUBSET_PART + 1];
	size_t i;
	int k;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		shmemhi_subset_t subset = {.n_pes = bad[i].n_pes};
		size_t n_pes = bad[i].n_pes == 1 ? 1 : 2;
		shmemhi_frame_t head = {.type = SHMEMHI_SUBSET,
					.nbytes = sizeof(subset) + n_pes * 4 + bad[i].nbytes,
					.arg = PATIENCE};
		int fd;

		make_id(&id, 2, "5s");
		start_pes(0, 1, 2, body_watch, NULL);
		fd = raw_join(&id, 1, 2);
		raw_expect(fd, SHMEMHI_GO);
		for (k = 0; k < bad[i].n; k++) {
			raw_send(fd, &head, sizeof(head));
			raw_send(fd, &subset, sizeof(subset));
			raw_send(fd, bad[i].pes, n_pes * 4);
			raw_send(fd, share, bad[i].nbytes);
		}
		join_pes(0, 1);
		close(fd);
		assert_int_equal(pes[0].status_of[0], SHMEMH_ERR_PEER);
		expect_seen(&pes[0].seen, 1, SHMEMD_CAUSE_DIED);
	}
}

/* Several PEs die at once: the hub writes to closed connections (SIGPIPE would end the process),
 * and each death is reported once. */
static void test_deaths(void **state)
{
	int fds[6];
	int i;

	(void)state;
	make_id(&id, 7, "30s");
	start_pes(0, 1, 7, body_watch, NULL);
	for (i = 0; i < 6; i++)
		fds[i] = raw_join(&id, 1 + i, 7);
	for (i = 0; i < 6; i++)
		raw_expect(fds[i], SHMEMHI_GO);
	for (i = 0; i < 6; i++)
		close(fds[i]);
	join_pes(0, 1);
	assert_int_equal(pes[0].status_of[0], SHMEMH_ERR_PEER);
	assert_int_equal(pes[0].status_of[1], SHMEMH_ERR_PEER);
}

static void body_watch_late(pe_t *p)
{
	gate_t *gone = p->arg;
	int i;

	if (p->pe == 2) {
		leave(p);
		return;
	}
	gather(p, 0, 8, 0); /* fails: the departure of PE 2 is known now */
	p->boot.watch(p->boot.state, on_gone, &p->seen);
	wait_seen(&p->seen, 1);
	for (i = 0; i < 3; i++) /* would call again if it were not recorded */
		p->boot.watch(p->boot.state, on_gone, &p->seen);
	gather(p, 1, 8, 0);
	p->boot.watch(p->boot.state, NULL, NULL);
	gate_add(gone);
	gate_wait(gone, 2);
	leave(p);
}

static void test_leave(void **state)
{
	gate_t gone = GATE_INIT;
	int pe;

	(void)state;
	make_id(&id, 3, "30s");
	start_pes(0, 3, 3, body_watch_late, &gone);
	join_pes(0, 3);
	for (pe = 0; pe < 2; pe++) {
		assert_int_equal(pes[pe].status_of[0], SHMEMH_ERR_PEER);
		assert_non_null(strstr(pes[pe].text_of[0], "PE 2 left the job"));
		expect_seen(&pes[pe].seen, 2, SHMEMD_CAUSE_LEFT);
	}
}

static void test_self(void **state)
{
	shmemh_boot_t boot;
	int src = 7;
	int dst = 0;
	char text[8];

	(void)state;
	shmemhi_boot_self(&boot);
	assert_int_equal(boot.n_pes, 1);
	assert_int_equal(boot.allgather(boot.state, &src, &dst, sizeof(src), text, sizeof(text)),
			 SHMEMH_OK);
	assert_int_equal(dst, 7);
	boot.close(boot.state);
}

/* ---- the environment of torchrun ---- */

static int boot_torch(const char *rank, const char *n_pes, uint64_t ns, shmemhi_err_t *err)
{
	const shmemhi_options_t opt = {.boot_timeout_ns = ns};
	shmemh_boot_t boot;
	int status;

	err->text[0] = '\0';
	setenv("RANK", rank, 1);
	setenv("WORLD_SIZE", n_pes, 1);
	status = shmemhi_boot_torch(&opt, &no_log, &boot, err);
	if (status == SHMEMH_OK)
		boot.close(boot.state);
	return status;
}

/* MASTER_PORT is the one before a free port. */
static void set_master(void)
{
	shmemhi_addr_t any = {.v4 = {.sin_family = AF_INET}};
	const int fd = shmemhi_listen_on(&any);
	char port[16];

	assert_true(fd >= 0);
	shmemhi_socket_close(fd);
	snprintf(port, sizeof port, "%d", ntohs(any.v4.sin_port) - 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", port, 1);
}

/* PE 0 starts again after a start that has failed, whose hub still has the port. No PE 0: the line
 * names what torchrun sets. */
static void test_torch_again(void **state)
{
	shmemhi_err_t err;

	(void)state;
	set_master();
	assert_int_equal(boot_torch("0", "2", SHMEMHI_SECOND, &err), SHMEMH_ERR_TIMEOUT);
	assert_int_equal(boot_torch("0", "1", PATIENCE, &err), SHMEMH_OK);
	assert_int_equal(boot_torch("1", "2", SHMEMHI_SECOND / 10, &err), SHMEMH_ERR_BOOTSTRAP);
	assert_non_null(strstr(err.text, "MASTER_PORT + 1"));
}

/* The hub of a start that failed has the port for longer than the next start may take: it waits
 * for the PE that has not come. PE 0 waits for the port, and does not call it taken. */
static void test_torch_port_of_old_hub(void **state)
{
	shmemhi_err_t err;

	(void)state;
	set_master();
	assert_int_equal(boot_torch("0", "3", 1, &err), SHMEMH_ERR_TIMEOUT);
	assert_int_equal(boot_torch("0", "3", 1, &err), SHMEMH_ERR_TIMEOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allgather),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_bad_size),
		cmocka_unit_test(test_collective_timeout),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_lost_before_start),
		cmocka_unit_test(test_reported_failures),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_number_taken),
		cmocka_unit_test(test_wrong_size),
		cmocka_unit_test(test_no_hub),
		cmocka_unit_test(test_not_reached),
		cmocka_unit_test(test_death),
		cmocka_unit_test(test_death_in_frame),
		cmocka_unit_test(test_bad_gather),
		cmocka_unit_test(test_deaths),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_torch_again),
		cmocka_unit_test(test_torch_port_of_old_hub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
