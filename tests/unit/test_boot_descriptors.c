/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The bootstrap in a process without free file descriptors: reported once, with the remedy. */
#include "boot_pes.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "open_fds.h"
#include "stderr_log.h"

#define LOW_LIMIT 128
#define SEVERAL_TRIES_MS 1000 /* the hub tries every 100 ms */

static shmemh_uniqueid_t id;
static pe_t pes[2];
static int n_fds_at_start;

/* Descriptors that only use up the limit. */
static struct {
	struct rlimit limit; /* before */
	int fds[LOW_LIMIT];
	int n;
} filler;

/* Leave n_free descriptors free in this process. */
static void fill(int n_free)
{
	struct rlimit low;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &filler.limit), 0);
	low = filler.limit;
	low.rlim_cur = LOW_LIMIT;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	filler.n = 0;
	while ((fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		filler.fds[filler.n++] = fd;
	assert_int_equal(errno, EMFILE);
	while (n_free-- > 0)
		close(filler.fds[--filler.n]);
}

static void drain_filler(void)
{
	while (filler.n > 0)
		close(filler.fds[--filler.n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &filler.limit), 0);
}

/* Connect while the hub cannot accept. Returns the socket. */
static int connect_to_full_hub(void)
{
	shmemhi_id_t in;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(shmemhi_id_unpack(&id, &in), 0);
	fill(0);
	assert_int_equal(connect(fd, &in.addrs[0].any, shmemhi_addr_nbytes(&in.addrs[0])), 0);
	return fd;
}

static void body_gather(pe_t *p)
{
	gather(p, 0, 8, 0);
	leave(p);
}

/* The hub reports the shortage once, however often it tries; when descriptors are free, the job
 * starts. */
static void hub_reports_once(void **state)
{
	int pe, n_lines, fd;

	(void)state;
	make_id(&id, 2, "20s");
	log_begin();
	fd = connect_to_full_hub();
	n_lines = log_has("raise ulimit -n");
	poll(NULL, 0, SEVERAL_TRIES_MS);
	n_lines += log_count("accept");
	drain_filler();
	log_end();
	assert_int_equal(n_lines, 1 + 1);
	close(fd);
	for (pe = 0; pe < 2; pe++)
		pe_start(&pes[pe], &id, pe, 2, body_gather, NULL);
	for (pe = 0; pe < 2; pe++)
		pe_join(&pes[pe]);
	for (pe = 0; pe < 2; pe++)
		assert_int_equal(pes[pe].status, SHMEMH_OK);
}

/* When the start fails, PEs that have joined get the reason why the others could not. */
static void reason_of_a_failed_start(void **state)
{
	char text[SHMEMHI_MAX_TEXT];
	shmemhi_frame_t f;
	int fd, in;

	(void)state;
	make_id(&id, 2, "3s");
	in = raw_join(&id, 0, 2);
	log_begin();
	fd = connect_to_full_hub();
	assert_true(log_has("raise ulimit -n"));
	log_end();
	assert_int_equal(shmemhi_recv_all(in, &f, sizeof(f), shmemhi_deadline(PATIENCE)), 0);
	assert_int_equal(f.type, SHMEMHI_FAIL);
	assert_true(f.nbytes <= sizeof(text));
	assert_int_equal(shmemhi_recv_all(in, text, f.nbytes, shmemhi_deadline(PATIENCE)), 0);
	drain_filler();
	assert_non_null(strstr(text, "PE 1 of 2 did not connect within 3 s; the process with the "
				     "hub could not accept them"));
	assert_non_null(strstr(text, "raise ulimit -n"));
	close(in);
	close(fd);
}

static void wait_for_fds(int n)
{
	uint64_t deadline = shmemhi_deadline(PATIENCE);

	while (count_fds() != n && shmemhi_now() < deadline)
		poll(NULL, 0, 1);
	assert_int_equal(count_fds(), n);
}

/* Return once the hub, a thread of this process, has closed the connections of earlier PEs and has
 * n descriptors. It accepts in order, so its challenge to a later connection shows that it has
 * accepted those before. A connection that it closed after fill() would leave one descriptor more
 * than the test asks for, and the PE would connect. */
static void wait_for_idle_hub(int n)
{
	shmemhi_challenge_t challenge;
	shmemhi_id_t in;

	assert_int_equal(shmemhi_id_unpack(&id, &in), 0);
	for (int i = 0; i < in.n_addrs; i++) {
		int fd = socket(in.addrs[i].any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_int_equal(connect(fd, &in.addrs[i].any, shmemhi_addr_nbytes(&in.addrs[i])),
				 0);
		assert_int_equal(shmemhi_recv_all(fd, &challenge, sizeof(challenge),
						  shmemhi_deadline(PATIENCE)),
				 0);
		close(fd);
	}
	wait_for_fds(n);
}

/* A PE that cannot create a socket does not retry until its deadline. */
static void pe_without_descriptors(void **state)
{
	shmemh_uniqueid_t other;
	int n_free, n_fds, status;

	(void)state;
	wait_for_fds(n_fds_at_start); /* the hubs of the tests before have ended */
	make_id(&id, 1, "20s");
	n_fds = count_fds();
	for (n_free = 0; n_free < 2; n_free++) {
		setenv("SHMEMH_BOOT_TIMEOUT", "1ms", 1);
		wait_for_idle_hub(n_fds);
		fill(n_free);
		pe_start(&pes[0], &id, 0, 1, leave, NULL);
		pe_join(&pes[0]);
		drain_filler();
		assert_int_equal(pes[0].status, SHMEMH_ERR_SYSTEM);
		assert_non_null(strstr(pes[0].err.text, "Too many open files"));
		assert_non_null(strstr(pes[0].err.text, "raise ulimit -n"));
		setenv("SHMEMH_BOOT_TIMEOUT", "20s", 1);
	}
	wait_for_idle_hub(n_fds);
	fill(0);
	status = shmemh_get_uniqueid(1, &other);
	drain_filler();
	assert_int_equal(status, SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(shmemhi_thread_err()->text, "raise ulimit -n"));
	pe_start(&pes[0], &id, 0, 1, leave, NULL);
	pe_join(&pes[0]);
	assert_int_equal(pes[0].status, SHMEMH_OK);
}

/* PE 1 is a process with one free descriptor, and needs two to join. It uses the one to say so: the
 * start of PE 0 fails with its line, or, if PE 0 was there before, its first collective. */
static void one_free_descriptor(void **state)
{
	const char *text;
	int wait_status = -1, status;
	pid_t pid;

	(void)state;
	make_id(&id, 2, "20s");
	pid = fork();
	if (pid == 0) {
		static pe_t pe;

		if (shmemhi_options_read(&pe.opt, &no_log, &pe.err) != SHMEMH_OK)
			_exit(2);
		fill(1);
		_exit(shmemhi_boot_tcp(&id, 1, 2, &pe.opt, &no_log, &pe.boot, &pe.err) !=
		      SHMEMH_ERR_SYSTEM);
	}
	pe_start(&pes[0], &id, 0, 2, body_gather, NULL);
	pe_join(&pes[0]);
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_int_equal(wait_status, 0);
	status = pes[0].status != SHMEMH_OK ? pes[0].status : pes[0].status_of[0];
	text = pes[0].status != SHMEMH_OK ? pes[0].err.text : pes[0].text_of[0];
	assert_int_equal(status, SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(text, "PE 1: no socket to connect to the hub"));
	assert_non_null(strstr(text, "raise ulimit -n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hub_reports_once),
		cmocka_unit_test(reason_of_a_failed_start),
		cmocka_unit_test(pe_without_descriptors),
		cmocka_unit_test(one_free_descriptor),
	};

	n_fds_at_start = count_fds();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
