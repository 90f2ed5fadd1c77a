/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Reports of runs that cannot continue: each fiber's place, the seed, the policy. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "sim_test.h"
#include <shmem_dev/arch/cpu_checks.h>

static uint32_t flag;

static void half_at_barrier(const void *params)
{
	(void)params;
	if (shmemd_arch_tid() >= 32)
		shmemd_arch_bar_sync(1, 64);
	else
		shmemd_arch_bar_sync(2, 64);
}

static void warp_misses_lane(const void *params)
{
	(void)params;
	if (shmemd_arch_lane() == 9)
		shmemd_arch_bar_sync(4, 32);
	shmemd_arch_syncwarp();
	flag++; /* not a tail call: the frame remains */
}

static void polls_for_ever(const void *params)
{
	const uint32_t *word = params ? *(const uint32_t *const *)params : &flag;
	while (shmemd_arch_ld_acquire_u32(word) != 1)
		shmemd_arch_spin_hint();
}

/* Polls with an atomic, which writes but changes nothing. */
static void polls_with_atomics(const void *params)
{
	(void)params;
	while (shmemd_arch_atom_cas_u32(&flag, 1, 0) != 1 && shmemd_arch_atom_or_u32(&flag, 0) != 1)
		shmemd_arch_spin_hint();
}

static void polls_clock(const void *params)
{
	(void)params;
	while (shmemd_arch_ld_acquire_u32(&flag) != 1 && shmemd_arch_time_ns() < UINT64_MAX)
		shmemd_arch_spin_hint();
}

static void busy(const void *params)
{
	(void)params;
	for (;;)
		shmemsim_yield();
}

/* What process_vm_readv fails with, unless 0: in the place of a sandbox's. */
static int readv_errno;

SHMEMSIM_API ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
				      const struct iovec *from, unsigned long n_from,
				      unsigned long flags)
{
	if (readv_errno) {
		errno = readv_errno;
		return -1;
	}
	return syscall(SYS_process_vm_readv, pid, to, n_to, from, n_from, flags);
}

/* 1 also if the system does not tell. */
static void test_readable(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char here[8] = {0};
	char *pages = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(munmap(pages + 2 * page, page), 0);
	assert_int_equal(shmemsim_is_readable(pages + 1, 2 * page - 1), 1);
	assert_int_equal(shmemsim_is_readable(pages + 1, 2 * page), 0);
	assert_int_equal(munmap(pages, 2 * page), 0);
	assert_int_equal(shmemsim_is_readable(here, sizeof(here)), 1);
	assert_int_equal(shmemsim_is_readable((void *)8, 8), 0);
	readv_errno = EPERM;
	assert_int_equal(shmemsim_is_readable(here, sizeof(here)), 1);
	readv_errno = ENOSYS;
	assert_int_equal(shmemsim_is_readable(here, sizeof(here)), 1);
	readv_errno = EFAULT;
	assert_int_equal(shmemsim_is_readable(here, sizeof(here)), 0);
	readv_errno = 0;
}

static void test_deadlock(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	int result = run_kernel(&cfg, half_at_barrier, NULL, 0, 2, 64);
	assert_bad(result, "deadlock: every fiber waits for another one");
	assert_bad(result, "SHMEMSIM_POLICY=round_robin SHMEMSIM_SEED=1");
	assert_bad(result, "host of PE 0: waiting for its stream");
	assert_bad(result, "PE 0 kernel 0 half_at_barrier block 0 thread 0 to 31: at barrier 2, 32 "
			   "of 64 threads");
	assert_bad(result, "PE 0 kernel 0 half_at_barrier block 1 thread 32 to 63: at barrier 1, "
			   "32 of 64 threads");
	cfg.policy = SHMEMSIM_RANDOM;
	cfg.seed = 1234;
	result = run_kernel(&cfg, warp_misses_lane, NULL, 0, 1, 32);
	assert_bad(result, "SHMEMSIM_POLICY=random SHMEMSIM_SEED=1234");
	assert_bad(result, "thread 9: at barrier 4, 1 of 32 threads there");
	assert_bad(result, "in syncwarp of lanes ffffffff, missing 00000200");
	assert_bad(result, "missing 00000200; ");
}

static void barrier_and_failure(const void *params)
{
	(void)params;
	if (shmemd_arch_tid() == 40)
		shmemsim_fail("the program's own check");
	shmemd_arch_bar_sync(1, 64);
}

static int one_pe_launches(int pe, int n_pes, void *arg)
{
	return pe == 0 ? launch_and_sync(pe, n_pes, arg) : 0;
}

/* That threads wait at a barrier, or that PEs have launched different numbers of kernels, is a hint
 * at the cause of a deadlock or livelock, and of no other failure. */
static void test_hints(void **state)
{
	launch_t l = {barrier_and_failure, NULL, 0, 1, 64};
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	int result = shmemsim_run(&cfg, 2, one_pe_launches, &l);
	(void)state;
	assert_bad(result, "thread 40: the program's own check");
	assert_bad(result, "thread 0 to 39: at barrier 1");
	assert_null(strstr(shmemsim_report(), "waits at a barrier"));
	assert_null(strstr(shmemsim_report(), "has launched"));
	l.kernel = half_at_barrier;
	result = shmemsim_run(&cfg, 2, one_pe_launches, &l);
	assert_bad(result, "thread 0 waits at a barrier for threads that are elsewhere");
	assert_bad(result, "PE 1 has launched 0 kernels, PE 0 1");
}

/* Waits with a limit, all of which expire, in a kernel that writes nothing. */
static void waits_expire(const void *params)
{
	(void)params;
	for (int i = 0; i < 1000; i++) {
		uint64_t start = shmemd_arch_time_ns();
		while (shmemd_arch_time_ns() - start < 1000000)
			shmemd_arch_spin_hint();
	}
}

static void test_expired_waits(void **state)
{
	(void)state;
	assert_good(run_kernel(NULL, waits_expire, NULL, 0, 1, 4));
}

static void test_livelock(void **state)
{
	int result;
	(void)state;
	flag = 0;
	result = run_kernel(NULL, polls_for_ever, NULL, 0, 1, 40);
	assert_bad(result, "livelock: all fibers that can run poll");
	assert_bad(result, "thread 0 to 39: polling");
	assert_bad(result, "polls_for_ever");
	assert_bad(run_kernel(NULL, polls_with_atomics, NULL, 0, 1, 4), "livelock");
	assert_bad(run_kernel(NULL, polls_clock, NULL, 0, 1, 4),
		   "livelock: nothing was written for hours");
}

static void test_step_limit(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	cfg.max_steps = 10000;
	assert_bad(run_kernel(&cfg, busy, NULL, 0, 1, 2), "more than 10000 steps");
}

static int polls_on_host(int pe, int n_pes, void *arg)
{
	(void)n_pes;
	(void)arg;
	if (pe == 1)
		polls_for_ever(NULL);
	return 0;
}

static void idle_agent(void *arg)
{
	for (;;)
		shmemsim_sleep(*(const uint64_t *)arg);
}

static int with_agent(int pe, int n_pes, void *arg)
{
	shmemsim_agent("nap", idle_agent, arg);
	return polls_on_host(pe, n_pes, NULL);
}

static void test_host_and_agent(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	uint64_t second = 1000000000u;
	(void)state;
	flag = 0;
	assert_bad(shmemsim_run(&cfg, 2, polls_on_host, NULL), "host of PE 1: polling");
	int result = shmemsim_run(&cfg, 2, with_agent, &second);
	assert_bad(result, "agent nap: sleeping; idle_agent");
	assert_bad(result, "host of PE 1: polling");
}

static int is_woken;

static void sleep_agent(void *arg)
{
	shmemsim_sleep(*(const uint64_t *)arg);
	is_woken = 1;
}

/* The time is not 0: a time to wake that is their sum would be past. */
static int beside_sleeper(int pe, int n_pes, void *arg)
{
	(void)pe;
	(void)n_pes;
	shmemsim_sleep(1000);
	shmemsim_agent("sleeper", sleep_agent, arg);
	shmemsim_sleep(1000000);
	return is_woken;
}

static int sleep_both(int pe, int n_pes, void *arg)
{
	beside_sleeper(pe, n_pes, arg);
	shmemsim_sleep(*(const uint64_t *)arg);
	return 0;
}

/* A time that is beyond the largest one: the fiber sleeps until the end of the run. */
static void test_endless_sleep(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	uint64_t endless = UINT64_MAX;
	(void)state;
	flag = 0;
	is_woken = 0;
	assert_good(shmemsim_run(&cfg, 1, beside_sleeper, &endless));
	assert_bad(shmemsim_run(&cfg, 1, sleep_both, &endless), "deadlock");
	assert_bad(shmemsim_run(&cfg, 2, with_agent, &endless), "livelock");
	assert_int_equal(is_woken, 0);
}

static int stream_held_up(int pe, int n_pes, void *arg)
{
	static const uint32_t never;
	const uint32_t *word = &never;
	(void)pe;
	(void)n_pes;
	(void)arg;
	shmemsim_launch(polls_for_ever, &word, sizeof(word), 1, 1, 0, NULL);
	shmemsim_launch(busy, NULL, 0, 1, 1, 0, NULL); /* never starts */
	return shmemsim_sync(NULL);
}

/* After failures with suspended fibers the emulator starts in a clean state. */
static void test_clean_start(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (int i = 0; i < 20; i++)
		assert_bad(shmemsim_run(&cfg, 2, stream_held_up, NULL), "livelock");
	flag = 1;
	assert_good(run_kernel(NULL, polls_for_ever, NULL, 0, 4, 64));
	assert_string_equal(shmemsim_report(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readable),      cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_livelock),      cmocka_unit_test(test_expired_waits),
		cmocka_unit_test(test_step_limit),    cmocka_unit_test(test_host_and_agent),
		cmocka_unit_test(test_endless_sleep), cmocka_unit_test(test_clean_start),
		cmocka_unit_test(test_hints),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
