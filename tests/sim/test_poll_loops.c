/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Poll loops that only read, without a wait or a hint: other fibers run meanwhile, and a loop that
 * waits for a value that is never written ends as a livelock. */
#include "sim_test.h"

#define N_LOOKING 2

static uint32_t flag, lock, flags[8];
static uint64_t data[4096];

typedef struct body {
	void (*look)(void);  /* the loop of one thread, until the other one writes */
	void (*write)(void); /* NULL: nothing is written */
	int is_by_other_pe;  /* the writer is a thread of PE 1, not the next thread */
} body_t;

/* ---- loops ---- */

static void only_tests(void)
{
	while (shmemd_arch_ld_acquire_u32(&flag) != 1)
		;
}

/* The accesses of shmemd_test_u32 and a fence in a loop. */
static void tests_and_fences(void)
{
	while (shmemd_arch_ld_relaxed_u32(&flag) != 1)
		shmemd_arch_fence_acquire();
}

static void tests_several(void)
{
	for (uint32_t i = 0; shmemd_arch_ld_acquire_u32(&flags[i]) != 1; i = (i + 1) % 8)
		;
}

/* A lock of the user's kernel. */
static void takes_lock(void)
{
	while (shmemd_arch_atom_cas_u32(&lock, 0, 2) != 0)
		;
}

static void retries_cas(void)
{
	uint32_t old;
	do
		old = shmemd_arch_ld_relaxed_u32(&lock);
	while (old != 0 || shmemd_arch_atom_cas_u32(&lock, old, 2) != old);
}

/* Fetches into a buffer, like a get: each iteration stores the value that is already there. */
static void fetches(void)
{
	uint32_t mine;
	do
		shmemd_arch_st_data_u32(&mine, shmemd_arch_ld_relaxed_u32(&flag));
	while (mine != 1);
}

static void looks_at_much(void)
{
	uint64_t sum;
	do {
		sum = 0;
		for (int i = 0; i < 4096; i++)
			sum += shmemd_arch_ld_relaxed_u64(&data[i]);
	} while (sum != 1);
}

static void warp_tests(void)
{
	while (!shmemd_arch_warp_any(shmemd_arch_ld_acquire_u32(&flag) == 1))
		;
}

/* ---- writers ---- */

static void set_flag(void)
{
	shmemd_arch_st_release_u32(&flag, 1);
}

static void set_last_flag(void)
{
	shmemd_arch_st_release_u32(&flags[7], 1);
}

static void free_lock(void)
{
	shmemd_arch_st_release_u32(&lock, 0);
}

static void set_data(void)
{
	shmemd_arch_st_relaxed_u64(&data[4000], 1);
}

/* ---- runs ---- */

static void kernel(const void *params)
{
	const body_t *b = params;
	int is_looking = b->is_by_other_pe ? shmemsim_pe() == 0 : shmemd_arch_tid() / 32 == 0;
	if (is_looking && shmemd_arch_lane() < N_LOOKING)
		b->look();
	else if (!is_looking && b->write)
		b->write();
}

static int pe_main(int pe, int n_pes, void *arg)
{
	const body_t *b = arg;
	(void)n_pes;
	if (pe == 1 && !b->is_by_other_pe)
		return 0;
	return shmemsim_launch(kernel, b, sizeof(*b), 1, b->is_by_other_pe ? 32 : 64, 0, NULL) ||
	       shmemsim_sync(NULL);
}

static int run_limited(int policy, uint64_t max_steps, void (*look)(void), void (*write)(void),
		       int is_by_other_pe)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	body_t b = {look, write, is_by_other_pe};
	cfg.policy = policy;
	cfg.max_steps = max_steps;
	flag = 0;
	lock = 1;
	memset(flags, 0, sizeof(flags));
	memset(data, 0, sizeof(data));
	return shmemsim_run(&cfg, 2, pe_main, &b);
}

static int run(int policy, void (*look)(void), void (*write)(void), int is_by_other_pe)
{
	return run_limited(policy, 1000000000, look, write, is_by_other_pe);
}

static const struct row {
	void (*look)(void);
	void (*write)(void);
	const char *name;
} rows[] = {
	{only_tests, set_flag, "only_tests"},
	{tests_and_fences, set_flag, "tests_and_fences"},
	{tests_several, set_last_flag, "tests_several"},
	{warp_tests, set_flag, "warp_tests"},
	{takes_lock, NULL, "takes_lock"},
	{retries_cas, NULL, "retries_cas"},
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const int policies[] = {SHMEMSIM_ROUND_ROBIN, SHMEMSIM_RANDOM, SHMEMSIM_PCT};

static void test_condition_becomes_true(void **state)
{
	(void)state;
	for (size_t p = 0; p < 3; p++)
		for (int other_pe = 0; other_pe < 2; other_pe++) {
			for (size_t i = 0; i < N_ROWS; i++)
				if (rows[i].write)
					assert_good(run(policies[p], rows[i].look, rows[i].write,
							other_pe));
			assert_good(run(policies[p], fetches, set_flag, other_pe));
			assert_good(run(policies[p], looks_at_much, set_data, other_pe));
		}
}

/* A lock that each of 64 threads takes and releases. */
static uint32_t n_reserved;

static void locked_part(const void *params)
{
	(void)params;
	takes_lock();
	shmemd_arch_fence_acquire();
	n_reserved++;
	shmemsim_yield();
	free_lock();
}

static void test_lock(void **state)
{
	(void)state;
	lock = 0;
	n_reserved = 0;
	assert_good(run_kernel(NULL, locked_part, NULL, 0, 2, 32));
	assert_int_equal(n_reserved, 64);
}

static void test_condition_never_true(void **state)
{
	(void)state;
	for (size_t p = 0; p < 3; p++)
		for (size_t i = 0; i < N_ROWS; i++) {
			int result = run(policies[p], rows[i].look, NULL, 0);
			assert_bad(result, "livelock: all fibers that can run poll");
			assert_bad(result, "thread 0 to 1: polling");
			assert_bad(result, rows[i].name);
		}
}

/* An iteration of 100 loads, in which other threads run after each 65,536 accesses. */
static void looks_at_100(void)
{
	do {
		for (int i = 0; i < 99; i++)
			(void)shmemd_arch_ld_relaxed_u64(&data[i]);
	} while (shmemd_arch_ld_acquire_u32(&flag) != 1);
}

static void test_long_iterations(void **state)
{
	(void)state;
	assert_bad(run_limited(SHMEMSIM_ROUND_ROBIN, 400000000, looks_at_100, NULL, 0),
		   "livelock: all fibers that can run poll");
}

/* A loop that also writes in each iteration ends at the limit of steps, also under round robin. */
static void test_writing_poll_never_true(void **state)
{
	(void)state;
	for (size_t p = 0; p < 3; p++) {
		int result = run_limited(policies[p], 3000000, fetches, NULL, 0);
		assert_bad(result, "more than 3000000 steps (max_steps)");
		assert_bad(result, "fetches");
	}
}

/* Reading a large constant area is work, not polling. */
static uint64_t sum;

static void reads_long(const void *params)
{
	(void)params;
	if (shmemd_arch_tid()) {
		while (shmemd_arch_ld_acquire_u32(&flag) != 1)
			shmemd_arch_spin_hint();
		return;
	}
	for (int round = 0; round < 2000; round++) {
		(void)shmemd_arch_ld_relaxed_u32(&lock); /* in each iteration, like an error word */
		for (int i = 0; i < 4096; i++)
			sum += shmemd_arch_ld_data_u64(&data[(i * (round + 1)) % 4096]);
	}
	set_flag();
}

static void test_reading_is_not_polling(void **state)
{
	(void)state;
	flag = 0;
	assert_good(run_kernel(NULL, reads_long, NULL, 0, 1, 2));
}

/* A loop that gives up by itself after so many polls is not a livelock. */
static void gives_up(const void *params)
{
	(void)params;
	for (int i = 0; i < 100000 && shmemd_arch_ld_acquire_u32(&flag) != 1; i++)
		;
}

/* Loops that read the clock, which advances while no other fiber can run. */
static void looks_with_limit(const void *params)
{
	uint64_t start = shmemd_arch_time_ns();
	(void)params;
	while (shmemd_arch_ld_acquire_u32(&flag) != 1 &&
	       shmemd_arch_time_ns() - start < 2000000000u)
		;
}

static void only_waits(const void *params)
{
	uint64_t start = shmemd_arch_time_ns();
	(void)params;
	while (shmemd_arch_time_ns() - start < 2000000000u)
		;
}

static void test_ends_by_itself(void **state)
{
	(void)state;
	flag = 0;
	assert_good(run_kernel(NULL, gives_up, NULL, 0, 1, 4));
	assert_good(run_kernel(NULL, looks_with_limit, NULL, 0, 1, 4));
	assert_good(run_kernel(NULL, only_waits, NULL, 0, 1, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_condition_becomes_true),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_condition_never_true),
		cmocka_unit_test(test_long_iterations),
		cmocka_unit_test(test_writing_poll_never_true),
		cmocka_unit_test(test_reading_is_not_polling),
		cmocka_unit_test(test_ends_by_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
