/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The send queue in miniature: right in all schedules tried, and each mistake that can be found is
 * found, by each policy and kind of memory that is meant to. */
#include "mini_queue.h"
#include "sim_test.h"

static const uint64_t starts[] = {65533, 0xfffffffdu};

static int explore(int policy, uint64_t n_schedules, mini_setup_t setup, uint32_t weak)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = policy;
	cfg.weak = weak;
	cfg.max_steps = 200000;
	return shmemsim_explore(&cfg, n_schedules, 1, mini_main, &setup, NULL);
}

static void test_right(void **state)
{
	static const int policies[] = {SHMEMSIM_RANDOM, SHMEMSIM_PCT, SHMEMSIM_DFS};
	(void)state;
	for (size_t p = 0; p < 3; p++)
		for (size_t s = 0; s < 2; s++) {
			const mini_setup_t few = {MINI_NONE, 3, 2, starts[s]};
			const mini_setup_t many = {MINI_NONE, 8, 2, starts[s]};
			assert_good(explore(policies[p], 1000, few, 0));
			assert_good(explore(policies[p], 200, many, 0));
		}
}

static void test_found(void **state)
{
	static const int policies[] = {SHMEMSIM_RANDOM, SHMEMSIM_PCT};
	(void)state;
	for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++)
		for (size_t p = 0; p < 2 && mini_texts[mistake].found <= MINI_BY_MANY; p++)
			for (size_t s = 0; s < 2; s++) {
				int is_many = mini_texts[mistake].found == MINI_BY_MANY;
				const mini_setup_t setup = {mistake, is_many ? 8 : 3, 2, starts[s]};
				if (explore(policies[p], 20000, setup, 0))
					continue;
				print_error("not found: %s\n", mini_texts[mistake].text);
				fail();
			}
}

/* The right queue is right, and a missing fence is found, when loads may read older values. */
static void test_weak(void **state)
{
	static const int policies[] = {SHMEMSIM_RANDOM, SHMEMSIM_PCT};
	(void)state;
	if (SHMEMDI_CPU_TSAN)
		skip();
	for (size_t p = 0; p < 2; p++)
		for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++) {
			const mini_setup_t setup = {mistake, 3, 2, starts[p]};
			if (mini_texts[mistake].found == MINI_IS_HARMLESS)
				assert_good(explore(policies[p], 300, setup, 1));
			if (mini_texts[mistake].found == MINI_WHEN_WEAK)
				assert_int_equal(explore(policies[p], 20000, setup, 1), 1);
		}
}

/* Otherwise nobody finds missing fences. */
static void test_sequentially_consistent(void **state)
{
	(void)state;
	for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++) {
		const mini_setup_t setup = {mistake, 3, 2, starts[0]};
		if (mini_texts[mistake].found > MINI_BY_MANY)
			assert_good(explore(SHMEMSIM_RANDOM, 500, setup, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_weak),
		cmocka_unit_test(test_sequentially_consistent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
