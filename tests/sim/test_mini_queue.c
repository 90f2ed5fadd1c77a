/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The miniature send queue: correct in all schedules tried, and each mistake that can be found is
 * found, by each policy, kind of memory and shape of warps that must find it. */
#include "mini_queue.h"
#include "sanitized.h"
#include "sim_test.h"

#define N_POLICIES 2
static const int policies[] = {SHMEMSIM_RANDOM, SHMEMSIM_PCT, SHMEMSIM_DFS};
static const uint64_t wraps[] = {0x10000, 0x100000000};

/* Schedules of a run that finds nothing. */
static uint64_t some(uint64_t n_schedules)
{
	return SANITIZED ? n_schedules / 10 : n_schedules;
}

static int explore(int policy, uint64_t n_schedules, mini_setup_t setup, int activemask,
		   uint32_t weak)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = policy;
	cfg.activemask = activemask;
	cfg.weak = weak;
	cfg.max_steps = 200000;
	return shmemsim_explore(&cfg, n_schedules, 1, mini_main, &setup, NULL);
}

/* The counters wrap half way. */
static mini_setup_t below(uint64_t wrap, int mistake, uint32_t n_producers, uint32_t n_lanes)
{
	const mini_setup_t setup = {mistake, n_producers, 2, wrap ? wrap - n_producers : 0,
				    n_lanes};
	return setup;
}

static void test_right(void **state)
{
	(void)state;
	for (size_t p = 0; p < 3; p++)
		for (size_t w = 0; w < 2; w++) {
			const mini_setup_t few = below(wraps[w], MINI_NONE, 3, 0);
			const mini_setup_t many = below(wraps[w], MINI_NONE, 8, 0);
			assert_good(explore(policies[p], some(1000), few, 0, 0));
			assert_good(explore(policies[p], some(200), many, 0, 0));
		}
}

/* Coalesced lanes with all splits of a warp, fewer and more than entries, whole warps, from the
 * start of a batch and from within one, through every wrap of the counters. */
static void test_right_lanes(void **state)
{
	static const uint32_t shapes[][2] = {{8, 4}, {6, 3}, {16, 8}, {32, 32}};
	static const uint64_t starts[] = {0, 0x10000, 0x100000000};
	(void)state;
	for (int mask = SHMEMSIM_ACTIVE_ALL; mask <= SHMEMSIM_ACTIVE_RANDOM; mask++)
		for (size_t i = 0; i < 3 * 4 * N_POLICIES; i++) {
			const uint32_t *shape = shapes[i / 3 % 4];
			mini_setup_t setup = below(starts[i % 3], MINI_NONE, shape[0], shape[1]);
			assert_good(explore(policies[i / 12], some(50), setup, mask, 0));
			if (!SHMEMDI_CPU_TSAN)
				assert_good(explore(policies[i / 12], 10, setup, mask, 1));
			setup.start++;
			assert_good(explore(policies[i / 12], some(50), setup, mask, 0));
		}
}

/* Searches a mistake with a setup of the kind. */
static int is_found(int mistake, uint32_t kind, int policy, uint64_t wrap)
{
	int mask = kind == MINI_SPLIT ? SHMEMSIM_ACTIVE_RANDOM : SHMEMSIM_ACTIVE_ALL;
	uint32_t n_producers = kind == MINI_WIDE ? 16 : 8, n_lanes = n_producers / 2;
	if (!(kind & (MINI_LANES | MINI_SPLIT | MINI_WIDE)))
		n_lanes = 0;
	if (kind & (MINI_FEW | MINI_WEAK | MINI_UNWRAPPED))
		n_producers = 3;
	wrap = kind == MINI_UNWRAPPED ? 0 : wrap;
	return explore(policy, 20000, below(wrap, mistake, n_producers, n_lanes), mask,
		       (kind & (MINI_WEAK | MINI_WEAK_MANY)) != 0);
}

/* Thread sanitizer makes no difference to a search: one for each mistake suffices. */
static void check_found(uint32_t kinds)
{
	const size_t n_ways = SHMEMDI_CPU_TSAN ? 1 : 2 * N_POLICIES;

	for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++)
		for (uint32_t left = mini_texts[mistake].found & kinds; left; left &= left - 1)
			for (size_t p = 0; p < n_ways; p++) {
				if (is_found(mistake, left & -left, policies[p / 2], wraps[p % 2]))
					continue;
				print_error("not found: %s\n", mini_texts[mistake].text);
				fail();
			}
}

static void test_found(void **state)
{
	(void)state;
	check_found(MINI_FEW | MINI_MANY | MINI_UNWRAPPED);
}

static void test_found_lanes(void **state)
{
	(void)state;
	check_found(MINI_LANES | MINI_SPLIT | MINI_WIDE);
}

static void test_found_weak(void **state)
{
	(void)state;
	if (SHMEMDI_CPU_TSAN) {
		print_message("skipped: weak memory cannot be combined with thread sanitizer\n");
		skip();
	}
	check_found(MINI_WEAK | MINI_WEAK_MANY);
}

/* A setup that cannot show the mistake must pass with it. */
static void test_hidden(void **state)
{
	(void)state;
	for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++) {
		const mini_setup_t few = below(wraps[0], mistake, 3, 0);
		const mini_setup_t lanes = below(wraps[1], mistake, 8, 4);
		uint32_t hidden = mini_texts[mistake].hidden;
		if (hidden & MINI_FEW)
			assert_good(explore(SHMEMSIM_RANDOM, some(500), few, 0, 0));
		if (hidden & MINI_LANES)
			assert_good(
				explore(SHMEMSIM_RANDOM, some(100), lanes, SHMEMSIM_ACTIVE_ALL, 0));
		if (hidden & MINI_WEAK && !SHMEMDI_CPU_TSAN)
			assert_good(explore(SHMEMSIM_PCT, 300, few, 0, 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),      cmocka_unit_test(test_right_lanes),
		cmocka_unit_test(test_found),      cmocka_unit_test(test_found_lanes),
		cmocka_unit_test(test_found_weak), cmocka_unit_test(test_hidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
