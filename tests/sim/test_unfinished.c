/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Programs that do not wait for their kernels: a line says so, at finalize or at the end of the
 * process, and at the end of a process that left its job without finalize. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim_test.h"
#include "../common/sanitized.h"
#include <shmem_host/shmem_host.h>

static uint32_t word, counter;

static void counts(const void *params)
{
	(void)params;
	shmemd_arch_st_relaxed_u32(&counter, 1);
}

static void waits(const void *params)
{
	(void)params;
	while (shmemd_arch_ld_acquire_u32(&word) != 2)
		shmemd_arch_spin_hint();
}

/* What a child process prints to stderr. */
static const char *printed(int (*body)(void))
{
	static char text[8192];
	int fd = memfd_create("stderr", MFD_CLOEXEC), status;
	ssize_t n;
	assert_true(fd >= 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fd, STDERR_FILENO);
		setenv("SHMEMH_DEBUG", "warn", 1);
		if (!SANITIZED)
			signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
		exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	if (status)
		print_error("%s", text);
	assert_int_equal(status, 0);
	return text;
}

static int count(const char *text, const char *words)
{
	int n = 0;
	for (; (text = strstr(text, words)); text++)
		n++;
	return n;
}

static int finalize_early(int pe, int n_pes, void *arg)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	(void)pe, (void)n_pes;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job) || shmemsim_launch(counts, NULL, 0, 1, 1, 0, NULL) ||
	    shmemsim_launch(waits, NULL, 0, 1, 1, 0, arg))
		return 1;
	if (arg && shmemsim_sync(NULL))
		return 1;
	if (shmemh_finalize(job))
		return 1;
	shmemd_arch_st_release_u32(&word, 2);
	return 0;
}

static int in_one_process(void)
{
	return shmemsim_run(NULL, 1, finalize_early, NULL);
}

static int second_stream_in_one_process(void)
{
	return shmemsim_run(NULL, 1, finalize_early, &word);
}

static int in_a_process(void)
{
	shmemh_t *job;
	if (shmemh_init(NULL, &job) || shmemsim_launch(waits, NULL, 0, 1, 1, 0, NULL))
		return 1;
	return shmemh_finalize(job);
}

static int synced(void)
{
	shmemh_t *job;
	if (shmemh_init(NULL, &job) || shmemsim_launch(counts, NULL, 0, 1, 1, 0, NULL) ||
	    shmemsim_sync(NULL))
		return 1;
	return shmemh_finalize(job);
}

static int without_a_job(void)
{
	return shmemsim_launch(waits, NULL, 0, 1, 1, 0, NULL) ||
	       shmemsim_launch(counts, NULL, 0, 1, 1, 0, NULL);
}

static int of_a_parent(void)
{
	int status;
	pid_t pid = without_a_job() ? -1 : fork();
	if (pid == 0)
		exit(0);
	return waitpid(pid, &status, 0) != pid || status;
}

static void test_finalize(void **state)
{
	const char *text = printed(in_one_process);
	(void)state;
	assert_int_equal(count(text, "\n"), 1);
	assert_non_null(strstr(text, "finalize: kernels of this PE that have not ended in the "
				     "emulator: 2 (the first is counts): call shmemd_stream_sync"));
	text = printed(second_stream_in_one_process);
	assert_non_null(strstr(text, "emulator: 1 (the first is waits)"));
	text = printed(in_a_process);
	assert_int_equal(count(text, "\n"), 1);
	assert_non_null(strstr(text, "emulator: 1 (the first is waits)"));
	assert_string_equal(printed(synced), "");
}

static void polls_heap(const void *params)
{
	uint32_t *const *at = params;
	while (shmemd_arch_ld_acquire_u32(*at) != 2)
		shmemd_arch_spin_hint();
}

static int finalize_under_kernel(int pe, int n_pes, void *arg)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	void *at;
	(void)pe, (void)n_pes, (void)arg;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job) || shmemh_calloc(job, 1, 4, &at) ||
	    shmemsim_launch(polls_heap, &at, sizeof(at), 1, 1, 0, NULL))
		return 1;
	return shmemh_finalize(job);
}

static int crashes_after_finalize(void)
{
	for (int i = 0; i < 2; i++) {
		if (!shmemsim_run(NULL, 2, finalize_under_kernel, NULL))
			return 1;
		fputs(shmemsim_report(), stderr);
	}
	return shmemsim_run(NULL, 1, finalize_early, NULL);
}

/* A kernel that uses memory of a finalized job ends the run as failed, and not the process. */
static void test_released_memory(void **state)
{
	const char *text;
	(void)state;
	if (SANITIZED) {
		print_message("skipped: a sanitizer ends the process\n");
		skip();
	}
	text = printed(crashes_after_finalize);
	assert_int_equal(count(text, ", where no memory is, after shmemh_finalize of its PE"), 2);
	assert_non_null(strstr(text, " polls_heap block 0 thread 0: accesses 0x"));
	assert_int_equal(count(text, "\nfibers:\n"), 2);
}

static void test_end_of_process(void **state)
{
	static const char line[] = "shmem_sim: the process ends, and kernels of it have not ended: "
				   "2 (the first is waits): wait for them by shmemd_stream_sync\n";
	(void)state;
	assert_string_equal(printed(without_a_job), line);
	assert_string_equal(printed(of_a_parent), line); /* the child's copy is not reported */
}

static int fails_with_a_job(int pe, int n_pes, void *arg)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	(void)n_pes, (void)arg;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job))
		return 1;
	if (pe == 1)
		shmemsim_fail("on purpose");
	return shmemh_barrier(job);
}

static int failed_run(void)
{
	return !shmemsim_run(NULL, 2, fails_with_a_job, NULL);
}

/* No other process has a PE of this job: the line does not say that one sees this process die. */
static void test_failed_run(void **state)
{
	const char *text = printed(failed_run);
	(void)state;
	assert_int_equal(count(text, "without shmemh_finalize (handles left: "), 1);
	assert_non_null(strstr(text, "unless this follows a failed run of the emulator"));
	assert_null(strstr(text, "other processes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finalize),
		cmocka_unit_test(test_released_memory),
		cmocka_unit_test(test_end_of_process),
		cmocka_unit_test(test_failed_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
