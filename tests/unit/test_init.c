/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Start and end of whole jobs through the public calls. PEs are threads of this process. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <shmem_host/shmem_host.h>
#include "job/job.h"
#include "stderr_log.h"

#define N_PES 2

typedef struct pe {
	pthread_t thread;
	shmemh_attr_t attr;
	shmemh_t *job;
	int (*body)(shmemh_t *job, int pe); /* returns 0, or the line of the failed check */
	int wrong;
} pe_t;

#define WANT(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return __LINE__;                                                           \
	} while (0)

static void *pe_main(void *arg)
{
	pe_t *p = arg;

	if (shmemh_init(&p->attr, &p->job) != SHMEMH_OK)
		p->wrong = __LINE__;
	else
		p->wrong = p->body(p->job, p->attr.pe);
	return NULL;
}

static void run_job_with(const char *timeout, const char *debug, int (*body)(shmemh_t *job, int pe))
{
	shmemh_uniqueid_t id;
	pe_t pes[N_PES];

	setenv("SHMEMH_IFNAME", "lo", 1);
	setenv("SHMEMH_BOOT_TIMEOUT", timeout, 1);
	setenv("SHMEMH_DEBUG", debug, 1);
	assert_int_equal(shmemh_get_uniqueid(N_PES, &id), SHMEMH_OK);
	for (int pe = 0; pe < N_PES; pe++) {
		pes[pe] = (pe_t){.attr = SHMEMH_ATTR_INIT, .body = body};
		pes[pe].attr.uniqueid = &id;
		pes[pe].attr.pe = pe;
		pes[pe].attr.n_pes = N_PES;
		assert_int_equal(pthread_create(&pes[pe].thread, NULL, pe_main, &pes[pe]), 0);
	}
	for (int pe = 0; pe < N_PES; pe++)
		pthread_join(pes[pe].thread, NULL);
	for (int pe = 0; pe < N_PES; pe++)
		assert_int_equal(pes[pe].wrong, 0);
}

static void run_job_within(const char *timeout, int (*body)(shmemh_t *job, int pe))
{
	run_job_with(timeout, "off", body);
}

static void run_job(int (*body)(shmemh_t *job, int pe))
{
	run_job_within("20s", body);
}

/* A heap call that meets another collective fails on all PEs, and the next one works. */
static int mixed_collectives(shmemh_t *job, int pe)
{
	void *p = NULL;
	int status = pe == 0 ? shmemh_barrier(job) : shmemh_malloc(job, 64, &p);

	WANT(status == SHMEMH_ERR_MISMATCH && p == NULL);
	WANT(strstr(shmemh_error_text(job), "PE 0 called barrier, PE 1 malloc(64 bytes)") != NULL);
	WANT(shmemh_malloc(job, 64, &p) == SHMEMH_OK);
	WANT(shmemh_free(job, p) == SHMEMH_OK);
	WANT(shmemh_finalize(job) == SHMEMH_OK);
	return 0;
}

/* Collectives that gather equally much, or nothing, are told apart, and all PEs have the same line.
 * The next collective works. */
static int equal_sizes(shmemh_t *job, int pe)
{
	char all[64 * N_PES], mine[64] = "";
	int status;

	for (size_t nbytes = 1; nbytes <= 64; nbytes *= 8) {
		status = pe == 0 ? shmemh_barrier(job) : shmemh_allgather(job, mine, all, nbytes);
		WANT(status == SHMEMH_ERR_MISMATCH);
		WANT(strstr(shmemh_error_text(job), "PE 0 called barrier, PE 1 allgather(") !=
		     NULL);
	}
	WANT(strstr(shmemh_error_text(job), "allgather(64 bytes)") != NULL);
	WANT(shmemh_allgather(job, mine, all, pe == 0 ? 8 : 4) == SHMEMH_ERR_MISMATCH);
	WANT(strstr(shmemh_error_text(job), "PE 0 called allgather(8 bytes), PE 1 allgather(4") !=
	     NULL);
	status = pe == 0 ? shmemh_trace_write(job, "/dev/null", NULL, 0) : shmemh_barrier(job);
	WANT(status == SHMEMH_ERR_MISMATCH);
	WANT(strstr(shmemh_error_text(job), "PE 0 called trace_write, PE 1 barrier: all PEs") !=
	     NULL);
	WANT(shmemh_allgather(job, mine, all, 64) == SHMEMH_OK);
	WANT(shmemh_barrier(job) == SHMEMH_OK);
	WANT(shmemh_finalize(job) == SHMEMH_OK);
	return 0;
}

/* A barrier does not return success when another PE finalizes. */
static int barrier_meets_finalize(shmemh_t *job, int pe)
{
	if (pe == 1) {
		WANT(shmemh_finalize(job) == SHMEMH_ERR_MISMATCH);
		return 0;
	}
	WANT(shmemh_barrier(job) == SHMEMH_ERR_MISMATCH);
	WANT(strstr(shmemh_error_text(job), "PE 0 called barrier, PE 1 finalize") != NULL);
	while (!shmemhi_broken(job))
		sched_yield();
	WANT(shmemh_finalize(job) == SHMEMH_ERR_PEER);
	return 0;
}

static void test_mixed_collectives(void **state)
{
	(void)state;
	run_job(mixed_collectives);
	run_job(equal_sizes);
	run_job(barrier_meets_finalize);
}

/* PE 1 leaves in the middle; the error text of PE 0's finalize outlives the job. */
static int left_alone(shmemh_t *job, int pe)
{
	if (pe == 1) {
		WANT(shmemh_finalize(job) == SHMEMH_ERR_MISMATCH);
		WANT(strstr(shmemh_error_text(NULL), "PE 1 finalize") != NULL);
		return 0;
	}
	WANT(shmemh_allgather(job, "four", (char[4 * N_PES]){0}, 4) == SHMEMH_ERR_MISMATCH);
	WANT(shmemh_barrier(job) == SHMEMH_ERR_PEER);
	/* The barrier may fail before PE 0 learns that PE 1 left. Finalize would then wait
	 * for that, and its line would differ. */
	while (!shmemhi_broken(job))
		sched_yield();
	WANT(shmemh_finalize(job) == SHMEMH_ERR_PEER);
	WANT(strstr(shmemh_error_text(NULL), "PE 1") != NULL);
	return 0;
}

static void test_text_of_finalize(void **state)
{
	int n;

	(void)state;
	log_begin();
	run_job_with("20s", "error", left_alone);
	n = log_count("ERROR finalize released what this PE had: PE 1 left the job");
	log_end();
	assert_int_equal(n, 1);
}

static pthread_barrier_t turn;

/* PE 1 calls after the deadline of PE 0 has passed. The line says to which call it did not come, on
 * both, and both are in step again. */
static int late(shmemh_t *job, int pe)
{
	void *p = NULL;

	if (pe == 1)
		pthread_barrier_wait(&turn);
	WANT(shmemh_barrier(job) == SHMEMH_ERR_TIMEOUT);
	WANT(strstr(shmemh_error_text(job), "barrier: PE 1 of 2 did not come") != NULL);
	if (pe == 0)
		pthread_barrier_wait(&turn);
	if (pe == 1)
		pthread_barrier_wait(&turn);
	WANT(shmemh_malloc(job, 64, &p) == SHMEMH_ERR_TIMEOUT);
	WANT(strstr(shmemh_error_text(job), "malloc: PE 1 of 2 did not come") != NULL);
	if (pe == 0)
		pthread_barrier_wait(&turn);
	if (pe == 1)
		pthread_barrier_wait(&turn);
	if (pe == 1) {
		WANT(shmemh_finalize(job) != SHMEMH_OK); /* PE 0 has left */
		return 0;
	}
	WANT(shmemh_finalize(job) == SHMEMH_ERR_TIMEOUT);
	WANT(strstr(shmemh_error_text(NULL), "finalize: PE 1 of 2 did not come") != NULL);
	pthread_barrier_wait(&turn);
	return 0;
}

static void test_late_pe(void **state)
{
	(void)state;
	pthread_barrier_init(&turn, NULL, N_PES);
	run_job_within("1s", late);
	pthread_barrier_destroy(&turn);
}

/* A size that a bootstrap cannot carry is refused by all bootstraps, also in a job of one PE. */
static void test_allgather_sizes(void **state)
{
	static char src[(1 << 20) + 1], dst[sizeof src];
	shmemh_t *job;

	(void)state;
	assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
	assert_int_equal(shmemh_allgather(job, src, dst, 0), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_allgather(job, src, dst, sizeof src), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(job), "nbytes=1048577"));
	assert_int_equal(shmemh_allgather(job, NULL, dst, 1), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_allgather(job, src, NULL, 1), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_allgather(job, src, dst, sizeof src - 1), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
}

/* malloc gives the handle of a finalized job to the next job: its init refuses no call of its own.
 */
static void test_same_handle_again(void **state)
{
	shmemh_t *job, *before = NULL;
	int n_same = 0;

	(void)state;
	for (int i = 0; i < 100 && n_same < 3; i++) {
		assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
		assert_string_equal(shmemh_error_text(NULL), "");
		n_same += job == before;
		before = job;
		assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	}
	if (n_same == 0)
		skip(); /* a sanitizer's allocator gives freed memory out late */
}

static int copy_own(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
		    size_t errbuf_nbytes)
{
	(void)state;
	(void)errbuf;
	(void)errbuf_nbytes;
	memcpy(dst, src, nbytes);
	return SHMEMH_OK;
}

static void test_bad_boot(void **state)
{
	const shmemh_boot_t good = {.size = sizeof good, .n_pes = 1, .allgather = copy_own};
	shmemh_boot_t bad[5] = {good, good, good, good, good};
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;

	(void)state;
	bad[0].n_pes = 0;
	bad[1].pe = -1;
	bad[2].pe = 1;
	bad[3].allgather = NULL;
	bad[4].size--;
	for (int i = 0; i < 5; i++) {
		attr.boot = &bad[i];
		assert_int_equal(shmemh_init(&attr, &job), SHMEMH_ERR_ARGUMENT);
		assert_null(job);
		assert_non_null(strstr(shmemh_error_text(NULL), "attr.boot"));
	}
	attr.boot = &good;
	assert_int_equal(shmemh_init(&attr, NULL), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
}

static int n_closed;

static int refuse(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
		  size_t errbuf_nbytes)
{
	(void)state;
	(void)src;
	(void)dst;
	(void)nbytes;
	snprintf(errbuf, errbuf_nbytes, "too many bytes");
	return SHMEMH_ERR_ARGUMENT;
}

static void count_close(void *state)
{
	(void)state;
	n_closed++;
}

/* Init closes a bootstrap that it was given, whatever fails, except if it refused the arguments. */
static void test_failed_init_closes_boot(void **state)
{
	shmemh_boot_t boot = {
		.size = sizeof boot, .n_pes = 1, .allgather = copy_own, .close = count_close};
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;

	(void)state;
	attr.boot = &boot;
	attr.heap_kind = 77;
	n_closed = 0;
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(n_closed, 0);
	attr.heap_kind = SHMEMH_HEAP_HOST;
	setenv("SHMEMH_SYMMETRIC_MAX", "many", 1);
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_ERR_OPTION);
	assert_int_equal(n_closed, 1);
	unsetenv("SHMEMH_SYMMETRIC_MAX");
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_OK);
	assert_int_equal(n_closed, 1);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	assert_int_equal(n_closed, 2);
	boot.allgather = refuse; /* arguments of the runtime, not of the caller */
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_ERR_BOOTSTRAP);
	assert_int_equal(n_closed, 3);
}

/* Ranges of options for NICs are checked also if no NIC is needed. */
static void test_ranges(void **state)
{
	static const char *const bad[][2] = {{"SHMEMH_CHANNELS", "1000"},
					     {"SHMEMH_IB_DEPTH", "100"},
					     {"SHMEMH_IB_BATCH", "1024"},
					     {"SHMEMH_IB_SL", "99"}};
	shmemh_t *job;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		setenv(bad[i][0], bad[i][1], 1);
		assert_int_equal(shmemh_init(NULL, &job), SHMEMH_ERR_OPTION);
		assert_non_null(strstr(shmemh_error_text(NULL), bad[i][0]));
		unsetenv(bad[i][0]);
	}
}

/* The numbers that a launcher set are options, and the line names both variables. */
static void test_number_in_environment(void **state)
{
	static const char *const bad[][2] = {{"4", "4"}, {"-1", "4"}, {"0", "-1"}};
	char text[SHMEMH_UNIQUEID_TEXT_NBYTES];
	shmemh_uniqueid_t id;
	shmemh_t *job;

	(void)state;
	assert_int_equal(shmemh_get_uniqueid(4, &id), SHMEMH_OK);
	shmemh_uniqueid_to_text(&id, text);
	setenv("SHMEMH_UNIQUEID", text, 1);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		setenv("SHMEMH_PE", bad[i][0], 1);
		setenv("SHMEMH_NPES", bad[i][1], 1);
		assert_int_equal(shmemh_init(NULL, &job), SHMEMH_ERR_OPTION);
		assert_non_null(strstr(shmemh_error_text(NULL), "SHMEMH_PE="));
		assert_non_null(strstr(shmemh_error_text(NULL), "SHMEMH_NPES="));
	}
	unsetenv("SHMEMH_UNIQUEID");
	unsetenv("SHMEMH_PE");
	unsetenv("SHMEMH_NPES");
}

static void start_alone(char *text, size_t nbytes)
{
	int ends[2], saved = dup(STDERR_FILENO);
	shmemh_t *job;
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	dup2(saved, STDERR_FILENO);
	close(saved);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	n = read(ends[0], text, nbytes - 1);
	text[n > 0 ? n : 0] = '\0';
	close(ends[0]);
}

/* A launcher of many processes that this library does not support causes a warning. */
static void test_alone_among_many(void **state)
{
	static const char *const names[] = {"SHMEMH_NPES", "SLURM_NTASKS", "PMI_SIZE",
					    "OMPI_COMM_WORLD_SIZE"};
	char text[2048];

	(void)state;
	setenv("SHMEMH_DEBUG", "warn", 1);
	for (int i = 0; i < 4; i++)
		unsetenv(names[i]);
	start_alone(text, sizeof text);
	assert_string_equal(text, "");
	for (int i = 0; i < 4; i++) {
		setenv(names[i], "1", 1);
		start_alone(text, sizeof text);
		assert_string_equal(text, "");
		setenv(names[i], "4", 1);
		start_alone(text, sizeof text);
		unsetenv(names[i]);
		assert_non_null(strstr(text, "WARN"));
		assert_non_null(strstr(text, names[i]));
		assert_non_null(strstr(text, "a job of one PE"));
	}
}

/* The first variable that is set counts, whatever the next ones say. */
static void test_local_pe(void **state)
{
	static const char *const names[] = {"LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID",
					    "OMPI_COMM_WORLD_LOCAL_RANK", "SHMEMH_LOCAL_PE"};
	static const char *const bad[] = {"", "-1", "one", "1x", "99999999999"};
	char text[16];

	(void)state;
	for (int i = 0; i < 5; i++)
		unsetenv(names[i]);
	assert_int_equal(shmemh_local_pe(), 0);
	for (int i = 0; i < 5; i++) {
		snprintf(text, sizeof text, "%d", i + 2);
		setenv(names[i], text, 1);
		assert_int_equal(shmemh_local_pe(), i + 2);
	}
	for (int i = 0; i < 5; i++) {
		setenv("SHMEMH_LOCAL_PE", bad[i], 1);
		assert_int_equal(shmemh_local_pe(), -1);
		assert_non_null(strstr(shmemh_error_text(NULL), "SHMEMH_LOCAL_PE="));
	}
	for (int i = 0; i < 5; i++)
		unsetenv(names[i]);
}

static void set_torch(const char *rank, const char *size, const char *addr, const char *port)
{
	setenv("RANK", rank, 1);
	setenv("WORLD_SIZE", size, 1);
	setenv("MASTER_ADDR", addr, 1);
	setenv("MASTER_PORT", port, 1);
}

/* The environment of torchrun with mistakes in it: a line that names the variable. */
static void test_torch_mistakes(void **state)
{
	static const char *const row[][5] = {
		{"4", "4", "127.0.0.1", "29500", "RANK=4"},
		{"-1", "4", "127.0.0.1", "29500", "RANK=-1"},
		{"0", "0", "127.0.0.1", "29500", "WORLD_SIZE=0"},
		{"0", "four", "127.0.0.1", "29500", "WORLD_SIZE=four"},
		{"0", "1", "127.0.0.1", "65535", "MASTER_PORT=65535"},
		{"0", "1", "127.0.0.1", "", "MASTER_PORT="},
		{"0", "1", "no such host", "29500", "MASTER_ADDR=no such host"},
	};
	shmemh_t *job;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		set_torch(row[i][0], row[i][1], row[i][2], row[i][3]);
		assert_int_not_equal(shmemh_init(NULL, &job), SHMEMH_OK);
		assert_null(job);
		assert_non_null(strstr(shmemh_error_text(NULL), row[i][4]));
	}
	unsetenv("WORLD_SIZE"); /* then it is not torchrun's */
	assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	unsetenv("RANK");
}

/* The end that closes a connection first keeps its address for a minute (TIME_WAIT). */
static void leave_time_wait(int listen_fd, const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), accepted;

	assert_int_equal(connect(fd, (const struct sockaddr *)addr, sizeof *addr), 0);
	accepted = accept(listen_fd, NULL, NULL);
	assert_true(accepted >= 0);
	close(accepted);
	close(fd);
}

/* The port after MASTER_PORT is in use; then it was, and jobs follow each other on it. */
static void test_torch_port(void **state)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t nbytes = sizeof addr;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	char port[8], after[8];
	shmemh_t *job;

	(void)state;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* as the hub before did */
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &nbytes), 0);
	snprintf(port, sizeof port, "%d", ntohs(addr.sin_port) - 1);
	snprintf(after, sizeof after, "%d", ntohs(addr.sin_port));
	set_torch("0", "1", "127.0.0.1", port);
	assert_int_equal(shmemh_init(NULL, &job), SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(shmemh_error_text(NULL), after));
	assert_non_null(strstr(shmemh_error_text(NULL), "MASTER_PORT"));
	leave_time_wait(fd, &addr);
	close(fd);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
		assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	}
	unsetenv("RANK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mixed_collectives),
		cmocka_unit_test(test_text_of_finalize),
		cmocka_unit_test(test_late_pe),
		cmocka_unit_test(test_allgather_sizes),
		cmocka_unit_test(test_same_handle_again),
		cmocka_unit_test(test_bad_boot),
		cmocka_unit_test(test_alone_among_many),
		cmocka_unit_test(test_failed_init_closes_boot),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_local_pe),
		cmocka_unit_test(test_torch_mistakes),
		cmocka_unit_test(test_torch_port),
		cmocka_unit_test(test_number_in_environment),
	};

	/* This program starts its PEs itself, whatever started the program. */
	unsetenv("SHMEMH_UNIQUEID");
	unsetenv("PMIX_RANK");
	unsetenv("RANK");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
