/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Process mode: each PE is a process, heaps are in shared memory, time is real. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim_test.h"

#define ROUNDS 200

typedef struct shared {
	uint32_t word[2]; /* [pe]: written by the other PE */
	uint32_t data[2][64];
	uint32_t stop;
} shared_t;

typedef struct params {
	shared_t *mem;
	uint32_t pe;
} params_t;

static shared_t *map_shared(void)
{
	int fd = memfd_create("sim_test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(shared_t)), 0);
	void *p = mmap(NULL, sizeof(shared_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	close(fd);
	return p;
}

/* All threads write data to the other PE, one signals it and waits for the other's signal. */
static void ping_pong(const void *params)
{
	const params_t *p = params;
	uint32_t tid = shmemd_arch_tid(), other = 1 - p->pe;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		shmemd_arch_st_data_u32(&p->mem->data[other][tid], round * 100 + tid);
		shmemd_arch_bar_sync(0, 64);
		if (tid == 0) {
			shmemd_arch_fence_before_signal();
			shmemd_arch_st_relaxed_u32(&p->mem->word[other], 2 * round - 1);
			while (shmemd_arch_ld_acquire_u32(&p->mem->word[p->pe]) < 2 * round - 1)
				shmemd_arch_spin_hint();
		}
		shmemd_arch_bar_sync(0, 64);
		CHECK(shmemd_arch_ld_data_u32(&p->mem->data[p->pe][tid]) == round * 100 + tid);
		shmemd_arch_bar_sync(0, 64);
		if (tid == 0) { /* the other PE may overwrite the data */
			shmemd_arch_st_release_u32(&p->mem->word[other], 2 * round);
			while (shmemd_arch_ld_acquire_u32(&p->mem->word[p->pe]) < 2 * round)
				shmemd_arch_spin_hint();
		}
		shmemd_arch_bar_sync(0, 64);
	}
}

/* Returns the number of failures: cmocka cannot be used in the child. */
static int play(shared_t *mem, uint32_t pe)
{
	params_t p = {mem, pe};
	int bad = shmemsim_launch(ping_pong, &p, sizeof(p), 1, 64, 0, NULL) != 0;
	bad += shmemsim_sync(NULL) != 0;
	if (bad)
		fprintf(stderr, "PE %u: %s", pe, shmemsim_report());
	return bad;
}

static int child_status(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void test_two_processes(void **state)
{
	shared_t *mem = map_shared();
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(play(mem, 1));
	int bad = play(mem, 0);
	assert_int_equal(child_status(pid), 0);
	assert_int_equal(bad, 0);
	munmap(mem, sizeof(*mem));
}

/* A host thread (like the runtime's monitor) writes the word that a kernel polls. */

static void wait_stop(const void *params)
{
	const params_t *p = params;
	uint64_t start = shmemd_arch_time_ns();
	while (!shmemd_arch_ld_acquire_u32(&p->mem->stop))
		shmemd_arch_spin_hint();
	CHECK(shmemd_arch_time_ns() > start);
}

static void *monitor(void *arg)
{
	shared_t *mem = arg;
	usleep(20000);
	__atomic_store_n(&mem->stop, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void test_monitor_thread(void **state)
{
	shared_t *mem = map_shared();
	params_t p = {mem, 0};
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, monitor, mem), 0);
	assert_int_equal(shmemsim_launch(wait_stop, &p, sizeof(p), 2, 32, 0, NULL), 0);
	assert_good(shmemsim_sync(NULL));
	pthread_join(thread, NULL);
	munmap(mem, sizeof(*mem));
}

/* A launch runs the kernel as far as possible: the host may poll words that it writes. */
static void sets_word(const void *params)
{
	const params_t *p = params;
	shmemd_arch_st_release_u32(&p->mem->word[0], 5);
}

static void test_host_polls(void **state)
{
	shared_t *mem = map_shared();
	params_t p = {mem, 0};
	int a, b;
	(void)state;
	assert_int_equal(shmemsim_launch(wait_stop, &p, sizeof(p), 1, 32, 0, &a), 0);
	assert_int_equal(shmemsim_launch(sets_word, &p, sizeof(p), 1, 1, 0, &b), 0);
	assert_int_equal(shmemd_arch_ld_acquire_u32(&mem->word[0]), 5);
	assert_int_equal(shmemsim_launch(wait_stop, &p, sizeof(p), 1, 32, 0, &b), 0);
	shmemd_arch_st_release_u32(&mem->stop, 1);
	assert_good(shmemsim_sync(&a));
	assert_good(shmemsim_sync(&b));
	munmap(mem, sizeof(*mem));
}

/* A kernel that only polls, without a hint: the launch returns, and sync continues the kernel. */
static void looks_for_stop(const void *params)
{
	const params_t *p = params;
	while (shmemd_arch_ld_acquire_u32(&p->mem->stop) != 1)
		;
}

static void test_unhinted_poll(void **state)
{
	shared_t *mem = map_shared();
	params_t p = {mem, 0};
	(void)state;
	assert_int_equal(shmemsim_launch(looks_for_stop, &p, sizeof(p), 2, 32, 0, NULL), 0);
	shmemd_arch_st_release_u32(&mem->stop, 1);
	assert_good(shmemsim_sync(NULL));
	munmap(mem, sizeof(*mem));
}

static void *second_thread(void *arg)
{
	params_t p = {arg, 0};
	int refused = shmemsim_launch(sets_word, &p, sizeof(p), 1, 1, 0, NULL) == 1;
	return refused && strstr(shmemsim_report(), "another thread") ? NULL : arg;
}

static void test_second_thread_refused(void **state)
{
	shared_t *mem = map_shared();
	params_t p = {mem, 0};
	pthread_t thread;
	void *result;
	(void)state;
	assert_int_equal(shmemsim_launch(sets_word, &p, sizeof(p), 1, 1, 0, NULL), 0);
	assert_good(shmemsim_sync(NULL));
	assert_int_equal(pthread_create(&thread, NULL, second_thread, mem), 0);
	pthread_join(thread, &result);
	assert_null(result);
	munmap(mem, sizeof(*mem));
}

static void stuck_barrier(const void *params)
{
	(void)params;
	shmemd_arch_bar_sync(1 + shmemd_arch_tid() / 32, 64);
}

/* In a child process: after a deadlock the emulator of a process stays failed. */
static void test_deadlock(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int bad = shmemsim_launch(stuck_barrier, NULL, 0, 1, 64, 0, NULL) != 0;
		bad += shmemsim_sync(NULL) != 1;
		bad += 2 * !strstr(shmemsim_report(),
				   "stuck_barrier block 0 thread 0 to 31: at barrier 1");
		if (bad)
			fprintf(stderr, "%s", shmemsim_report());
		_exit(bad);
	}
	assert_int_equal(child_status(pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_processes), cmocka_unit_test(test_monitor_thread),
		cmocka_unit_test(test_host_polls),    cmocka_unit_test(test_second_thread_refused),
		cmocka_unit_test(test_deadlock),      cmocka_unit_test(test_unhinted_poll),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
