/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Random choices: the same seed gives the same run, a list of choices repeats it, seeds differ, and
 * random switching finds mistakes that round robin cannot. */
#include <stdlib.h>
#include "sim_test.h"

#define N_LOG 4096

static uint32_t log_of[N_LOG], n_log;
static uint32_t counter;

/* Record the order in which threads run. */
static void logs(const void *params)
{
	(void)params;
	for (int i = 0; i < 8; i++) {
		uint32_t at = shmemd_arch_atom_add_u32(&n_log, 1);
		if (at < N_LOG)
			log_of[at] = shmemd_arch_block() * 1000 + shmemd_arch_tid();
		(void)shmemsim_choose(5);
	}
}

static uint32_t digest(const shmemsim_config_t *cfg)
{
	uint32_t h = 2166136261u;
	n_log = 0;
	assert_good(run_kernel(cfg, logs, NULL, 0, 2, 48));
	assert_int_equal(n_log, 2 * 48 * 8);
	for (uint32_t i = 0; i < n_log; i++)
		h = (h ^ log_of[i]) * 16777619u;
	return h;
}

static uint16_t *copy_choices(size_t *n)
{
	const uint16_t *list;
	*n = shmemsim_choices(&list);
	uint16_t *copy = malloc(*n * sizeof(*copy));
	assert_non_null(copy);
	memcpy(copy, list, *n * sizeof(*copy));
	return copy;
}

static void same_again(shmemsim_config_t cfg)
{
	uint32_t first = digest(&cfg);
	size_t n, n_again;
	uint16_t *choices = copy_choices(&n);
	assert_int_equal(digest(&cfg), first);
	uint16_t *again = copy_choices(&n_again);
	assert_int_equal(n_again, n);
	assert_memory_equal(again, choices, n * sizeof(*choices));
	free(again);

	cfg.policy = SHMEMSIM_REPLAY;
	cfg.seed += 1000; /* has no effect */
	cfg.replay = choices;
	cfg.n_replay = n;
	assert_int_equal(digest(&cfg), first);
	cfg.n_replay = n / 2; /* a truncated list still runs to the end */
	(void)digest(&cfg);
	free(choices);
}

static void test_repeat(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	static const int policies[] = {SHMEMSIM_ROUND_ROBIN, SHMEMSIM_RANDOM, SHMEMSIM_PCT};
	for (size_t i = 0; i < 3; i++)
		for (cfg.seed = 0; cfg.seed < 5; cfg.seed++) {
			cfg.policy = policies[i];
			same_again(cfg);
		}
}

static uint32_t order;

static void in_order(const void *params)
{
	(void)params;
	uint32_t at = shmemd_arch_atom_add_u32(&n_log, 1);
	uint32_t thread = shmemd_arch_block() << 10 | shmemd_arch_tid();
	(void)shmemd_arch_atom_add_u32(&order, (at ^ thread * 2654435761u) * 16777619u);
}

/* The thread sanitizer cannot keep so many threads in memory. */
#ifdef __has_feature
#define HAS_FEW_THREADS __has_feature(thread_sanitizer)
#else
#define HAS_FEW_THREADS 0
#endif

/* More threads than a choice in the list has values. */
static void test_repeat_of_many(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	size_t n;

	(void)state;
	if (HAS_FEW_THREADS) {
		print_message("skipped: the thread sanitizer allows about 8000 fibers\n");
		return;
	}
	cfg.policy = SHMEMSIM_RANDOM;
	order = n_log = 0;
	assert_good(run_kernel(&cfg, in_order, NULL, 0, 80, 1024));
	const uint32_t first = order;
	uint16_t *choices = copy_choices(&n);
	cfg.policy = SHMEMSIM_REPLAY;
	cfg.replay = choices;
	cfg.n_replay = n;
	order = n_log = 0;
	assert_good(run_kernel(&cfg, in_order, NULL, 0, 80, 1024));
	assert_int_equal(order, first);
	free(choices);
}

static void test_seeds_differ(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	cfg.policy = SHMEMSIM_RANDOM;
	uint32_t first = digest(&cfg);
	int differ = 0;
	for (cfg.seed = 2; cfg.seed < 10; cfg.seed++)
		differ += digest(&cfg) != first;
	assert_int_equal(differ, 8);
}

/* Load, add, store: not atomic. */
static void loses_updates(const void *params)
{
	(void)params;
	uint32_t v = shmemd_arch_ld_relaxed_u32(&counter);
	shmemd_arch_st_relaxed_u32(&counter, v + 1);
}

static void test_random_finds_lost_update(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	int lost = 0;
	(void)state;
	counter = 0;
	assert_good(run_kernel(&cfg, loses_updates, NULL, 0, 1, 2));
	assert_int_equal(counter, 2);
	cfg.policy = SHMEMSIM_RANDOM;
	for (cfg.seed = 0; cfg.seed < 50; cfg.seed++) {
		counter = 0;
		assert_good(run_kernel(&cfg, loses_updates, NULL, 0, 1, 2));
		lost += counter != 2;
	}
	assert_in_range(lost, 1, 49);
}

static int sees_seed(int pe, int n_pes, void *arg)
{
	(void)pe;
	(void)n_pes;
	(void)arg;
	shmemsim_fail("stop");
	return 0;
}

static void test_environment(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	setenv("SHMEMSIM_POLICY", "random", 1);
	setenv("SHMEMSIM_SEED", "77", 1);
	setenv("SHMEMSIM_SWITCH", "100", 1);
	setenv("SHMEMSIM_ACTIVEMASK", "singles", 1);
	assert_int_equal(shmemsim_config_from_env(&cfg), 0);
	assert_int_equal(cfg.policy, SHMEMSIM_RANDOM);
	assert_int_equal(cfg.seed, 77);
	assert_int_equal(cfg.switch_per_256, 100);
	assert_int_equal(cfg.activemask, SHMEMSIM_ACTIVE_SINGLES);
	assert_bad(shmemsim_run(NULL, 1, sees_seed, NULL),
		   "scheduling: SHMEMSIM_ACTIVEMASK=singles SHMEMSIM_POLICY=random "
		   "SHMEMSIM_SEED=77 SHMEMSIM_SWITCH=100");
	setenv("SHMEMSIM_STRICT_EXIT", "1", 1);
	assert_bad(shmemsim_explore(NULL, 1, 1, sees_seed, NULL, NULL),
		   "\nSHMEMSIM_ACTIVEMASK=singles SHMEMSIM_STRICT_EXIT=1 SHMEMSIM_REPLAY=1");
	setenv("SHMEMSIM_SWITCH", "257", 1);
	assert_bad(shmemsim_config_from_env(&cfg), "SHMEMSIM_SWITCH=257: must be a number from 0");
	assert_bad(shmemsim_run(NULL, 1, sees_seed, NULL), "SHMEMSIM_SWITCH=257");
	setenv("SHMEMSIM_SWITCH", "0", 1);
	setenv("SHMEMSIM_STRICT_EXIT", "2", 1);
	assert_bad(shmemsim_config_from_env(&cfg), "SHMEMSIM_STRICT_EXIT=2: must be a number from");
	setenv("SHMEMSIM_STRICT_EXIT", "1", 1);
	assert_good(shmemsim_config_from_env(&cfg));
	assert_int_equal(cfg.flags, SHMEMSIM_STRICT_EXIT);
	setenv("SHMEMSIM_STRICT_EXIT", "0", 1);
	assert_good(shmemsim_config_from_env(&cfg));
	assert_int_equal(cfg.flags, 0);
	unsetenv("SHMEMSIM_STRICT_EXIT");
	setenv("SHMEMSIM_POLICY", "pct", 1);
	setenv("SHMEMSIM_DEPTH", "4", 1);
	setenv("SHMEMSIM_LENGTH", "321", 1);
	setenv("SHMEMSIM_BOUND", "2", 1);
	setenv("SHMEMSIM_TRACE", "5", 1);
	assert_bad(shmemsim_run(NULL, 1, sees_seed, NULL),
		   "SHMEMSIM_POLICY=pct SHMEMSIM_SEED=77 SHMEMSIM_DEPTH=4 SHMEMSIM_LENGTH=321");
	assert_bad(1, "trace");
	setenv("SHMEMSIM_POLICY", "dfs", 1);
	assert_bad(shmemsim_run(NULL, 1, sees_seed, NULL), "SHMEMSIM_POLICY=dfs SHMEMSIM_BOUND=2");
	setenv("SHMEMSIM_DEPTH", "33", 1);
	assert_bad(shmemsim_config_from_env(&cfg), "SHMEMSIM_DEPTH=33: must be a number from 0 to");
	setenv("SHMEMSIM_SEED", "7x", 1);
	assert_bad(shmemsim_config_from_env(&cfg), "SHMEMSIM_SEED=7x");
	setenv("SHMEMSIM_POLICY", "best", 1);
	assert_bad(shmemsim_config_from_env(&cfg), "one of: round_robin random");
	unsetenv("SHMEMSIM_POLICY");
	unsetenv("SHMEMSIM_SEED");
	unsetenv("SHMEMSIM_SWITCH");
	unsetenv("SHMEMSIM_DEPTH");
	unsetenv("SHMEMSIM_LENGTH");
	unsetenv("SHMEMSIM_BOUND");
	unsetenv("SHMEMSIM_TRACE");
	unsetenv("SHMEMSIM_ACTIVEMASK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repeat),
		cmocka_unit_test(test_repeat_of_many),
		cmocka_unit_test(test_seeds_differ),
		cmocka_unit_test(test_random_finds_lost_update),
		cmocka_unit_test(test_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
