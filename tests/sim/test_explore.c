/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Searches: the number of schedules, the mistakes that each policy finds, and the report that none
 * is left. The programs are small enough to count schedules by hand. */
#include <stdlib.h>
#include "sim_test.h"

static uint32_t counter, x, y;

typedef struct program {
	void (*kernel)(const void *params);
	uint32_t n_threads; /* each is a block */
} program_t;

static int pe_main(int pe, int n_pes, void *arg)
{
	const program_t *p = arg;
	(void)pe;
	(void)n_pes;
	counter = x = y = 0;
	return shmemsim_launch(p->kernel, NULL, 0, p->n_threads, 1, 0, NULL) || shmemsim_sync(NULL);
}

static int explore(int policy, uint32_t bound_or_depth, uint64_t n_schedules, program_t p,
		   shmemsim_explored_t *explored)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = policy;
	cfg.bound = cfg.depth = bound_or_depth;
	return shmemsim_explore(&cfg, n_schedules, 1, pe_main, &p, explored);
}

static void two_accesses(const void *params)
{
	(void)params;
	shmemd_arch_atom_add_u32(&counter, 1);
	/* a switch before it equals a switch after it: not a scheduling point */
	shmemd_arch_fence_quiet();
	shmemd_arch_atom_add_u32(&counter, 1);
}

/* Two threads with k = 2 accesses, either is first: 2 schedules without preemption. One preemption
 * is before one of k accesses: 2 (1 + k). A second is before one of the other's: 2 (1 + k + kk). */
static void test_counts(void **state)
{
	static const uint64_t counts[] = {2, 6, 14};
	const program_t p = {two_accesses, 2};
	shmemsim_explored_t explored;
	(void)state;
	for (uint32_t bound = 0; bound < 3; bound++) {
		assert_good(explore(SHMEMSIM_DFS, bound, 1000, p, &explored));
		assert_int_equal(explored.n_schedules, counts[bound]);
		assert_int_equal(explored.is_exhausted, 1);
	}
	assert_good(explore(SHMEMSIM_DFS, 2, 13, p, &explored));
	assert_int_equal(explored.n_schedules, 13);
	assert_int_equal(explored.is_exhausted, 0);
	assert_good(explore(SHMEMSIM_DFS, 2, 14, p, &explored));
	assert_int_equal(explored.is_exhausted, 1);
	assert_good(explore(SHMEMSIM_RANDOM, 2, 20, p, &explored));
	assert_int_equal(explored.n_schedules, 20);
	assert_int_equal(explored.is_exhausted, 0);
	assert_true(explored.n_steps >= 20 * 4);
}

/* Data choices are searched, too. */
static uint32_t seen;

static void chooses(const void *params)
{
	(void)params;
	unsigned a = shmemsim_choose(3), b = shmemsim_choose(5);
	seen |= 1u << (a * 5 + b);
}

static void test_data(void **state)
{
	shmemsim_explored_t explored;
	(void)state;
	seen = 0;
	assert_good(explore(SHMEMSIM_DFS, 0, 1000, (program_t){chooses, 1}, &explored));
	assert_int_equal(explored.n_schedules, 15);
	assert_int_equal(seen, (1u << 15) - 1);
}

/* Fails if one preemption is at a given access. */
static void loses_update(const void *params)
{
	(void)params;
	uint32_t v = shmemd_arch_ld_relaxed_u32(&counter);
	shmemd_arch_st_relaxed_u32(&counter, v + 1);
	if (shmemd_arch_atom_add_u32(&x, 1) == 1)
		CHECK(shmemd_arch_ld_relaxed_u32(&counter) == 2);
}

/* Fails only if thread 0 is preempted while x is 1, and then thread 1 while y is 1. */
static void needs_two(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0) {
		shmemd_arch_st_relaxed_u32(&x, 1);
		shmemd_arch_st_relaxed_u32(&x, 0);
		CHECK(shmemd_arch_ld_relaxed_u32(&y) == 0);
	} else if (shmemd_arch_ld_relaxed_u32(&x) == 1) {
		shmemd_arch_st_relaxed_u32(&y, 1);
		shmemd_arch_st_relaxed_u32(&y, 0);
	}
}

static void test_bound(void **state)
{
	static const program_t one = {loses_update, 2}, two = {needs_two, 2};
	shmemsim_explored_t explored;
	(void)state;
	assert_good(explore(SHMEMSIM_DFS, 0, 1000, one, &explored));
	assert_int_equal(explored.is_exhausted, 1);
	assert_bad(explore(SHMEMSIM_DFS, 1, 1000, one, &explored), "SHMEMSIM_BOUND=1");
	assert_int_equal(explored.is_exhausted, 0);
	assert_good(explore(SHMEMSIM_DFS, 1, 1000, two, &explored));
	assert_int_equal(explored.is_exhausted, 1);
	assert_bad(explore(SHMEMSIM_DFS, 2, 1000, two, &explored), "SHMEMSIM_BOUND=2");
}

/* Depth d: d - 1 changes of priority, and so as many preemptions. */
static void test_pct(void **state)
{
	static const program_t one = {loses_update, 2}, two = {needs_two, 2};
	shmemsim_explored_t explored;
	(void)state;
	assert_good(explore(SHMEMSIM_PCT, 1, 500, one, NULL));
	assert_bad(explore(SHMEMSIM_PCT, 2, 500, one, NULL), "SHMEMSIM_DEPTH=2");
	assert_good(explore(SHMEMSIM_PCT, 2, 500, two, NULL));
	assert_bad(explore(SHMEMSIM_PCT, 3, 500, two, &explored), "SHMEMSIM_POLICY=pct");
	assert_in_range(explored.n_schedules, 2, 499);
}

/* Thread 1 has polled twice without success and is parked when thread 0 writes x. It must be able
 * to run between that write and the next one. */
static void wakes_between(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0) {
		while (!shmemd_arch_ld_acquire_u32(&counter))
			shmemd_arch_spin_hint();
		shmemd_arch_st_relaxed_u32(&x, 1);
		shmemd_arch_st_relaxed_u32(&y, 1);
		return;
	}
	int n_looks = 1;
	shmemd_arch_st_release_u32(&counter, 1);
	for (; !shmemd_arch_ld_acquire_u32(&x); n_looks++)
		shmemd_arch_spin_hint();
	CHECK(n_looks < 3 || shmemd_arch_ld_relaxed_u32(&y) == 1);
}

static void test_woken_at_write(void **state)
{
	(void)state;
	assert_bad(explore(SHMEMSIM_DFS, 1, 10000, (program_t){wakes_between, 2}, NULL),
		   "n_looks < 3");
}

/* Two threads poll for long while the third sleeps: the order of their polls adds no schedules. */
static void polls_long(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0) {
		shmemsim_sleep(1000000);
		shmemd_arch_st_release_u32(&x, 1);
		return;
	}
	while (!shmemd_arch_ld_acquire_u32(&x))
		shmemd_arch_spin_hint();
}

static void test_idle_polls(void **state)
{
	shmemsim_explored_t explored;
	(void)state;
	assert_good(explore(SHMEMSIM_DFS, 0, 5000, (program_t){polls_long, 3}, &explored));
	assert_int_equal(explored.is_exhausted, 1);
}

/* Polls a word that changes all the time: other threads run only if a polling fiber drops to the
 * lowest priority. */
static void polls_and_counts(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0) {
		for (int i = 0; i < 20; i++)
			shmemd_arch_atom_add_u32(&counter, 1);
		shmemd_arch_st_release_u32(&x, 1);
		return;
	}
	while (!shmemd_arch_ld_acquire_u32(&x)) {
		shmemd_arch_atom_add_u32(&y, 1);
		shmemd_arch_spin_hint();
	}
}

static void test_pct_is_fair(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	program_t p = {polls_and_counts, 3};
	(void)state;
	cfg.policy = SHMEMSIM_PCT;
	cfg.max_steps = 10000;
	assert_good(shmemsim_explore(&cfg, 300, 1, pe_main, &p, NULL));
}

/* The seed of the failed schedule makes it fail, and the previous seed does not. */
static void test_seed(void **state)
{
	static const int policies[] = {SHMEMSIM_RANDOM, SHMEMSIM_PCT};
	program_t p = {needs_two, 2};
	shmemsim_explored_t explored;
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
		cfg.policy = policies[i];
		cfg.seed = 5;
		cfg.length = 6;
		assert_int_equal(shmemsim_explore(&cfg, 10000, 1, pe_main, &p, &explored), 1);
		assert_int_equal(explored.seed, 5 + explored.n_schedules - 1);
		cfg.seed = explored.seed;
		assert_bad(shmemsim_run(&cfg, 1, pe_main, &p), "ld_relaxed_u32(&y) == 0");
		cfg.seed--;
		if (explored.n_schedules > 1)
			assert_good(shmemsim_run(&cfg, 1, pe_main, &p));
	}
}

static void test_round_robin_is_no_search(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	program_t p = {needs_two, 2};
	(void)state;
	assert_bad(shmemsim_explore(&cfg, 2, 1, pe_main, &p, NULL),
		   "policy round_robin always chooses the next fiber in turn");
	assert_bad(1, "random, pct or dfs");
	assert_good(shmemsim_explore(&cfg, 1, 1, pe_main, &p, NULL));
	setenv("SHMEMSIM_POLICY", "round_robin", 1);
	assert_bad(shmemsim_explore(NULL, 1000, 1, pe_main, &p, NULL), "set SHMEMSIM_POLICY");
	unsetenv("SHMEMSIM_POLICY");
}

static unsigned n_calls;

static void other_each_time(const void *params)
{
	(void)params;
	(void)shmemsim_choose(2 + n_calls++);
}

static void fails_once(const void *params)
{
	(void)params;
	if (n_calls++ == 3)
		shmemsim_fail("for the fourth time");
}

/* Fails for 5; once it has failed, also for 0, which is the shorter list. */
static void fails_in_two_ways(const void *params)
{
	static int is_found;
	(void)params;
	unsigned c = shmemsim_choose(8);
	is_found |= c == 5;
	if (c == 5)
		shmemsim_fail("first way");
	else if (c == 0 && is_found)
		shmemsim_fail("second way");
}

static void test_same_failure(void **state)
{
	(void)state;
	assert_bad(explore(SHMEMSIM_RANDOM, 0, 1000, (program_t){fails_in_two_ways, 1}, NULL),
		   "first way");
}

static void test_not_repeated(void **state)
{
	(void)state;
	n_calls = 0;
	assert_bad(explore(SHMEMSIM_DFS, 0, 100, (program_t){other_each_time, 1}, NULL),
		   "schedule 2 did not begin like the previous one");
	n_calls = 0;
	assert_bad(explore(SHMEMSIM_RANDOM, 0, 100, (program_t){fails_once, 1}, NULL),
		   "did not fail in that way when repeated");
}

static int returns_error(int pe, int n_pes, void *arg)
{
	(void)n_pes;
	(void)arg;
	return pe == 1 && shmemsim_choose(4) == 3 ? 9 : 0;
}

static void test_pe_returns_error(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	cfg.policy = SHMEMSIM_DFS;
	assert_bad(shmemsim_explore(&cfg, 100, 2, returns_error, NULL, NULL), "PE 1 returned 9");
	assert_bad(1, "chooses 3 of 4");
	cfg.size--;
	assert_bad(shmemsim_explore(&cfg, 100, 2, returns_error, NULL, NULL),
		   "SHMEMSIM_CONFIG_INIT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_pct),
		cmocka_unit_test(test_pct_is_fair),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_round_robin_is_no_search),
		cmocka_unit_test(test_woken_at_write),
		cmocka_unit_test(test_idle_polls),
		cmocka_unit_test(test_same_failure),
		cmocka_unit_test(test_not_repeated),
		cmocka_unit_test(test_pe_returns_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
