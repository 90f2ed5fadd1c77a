/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Block barriers: of all threads, with counts, with a predicate, used wrongly. */
#define SHMEMSIM_CUDA_DIALECT
#include "sim_test.h"

#define ROUNDS 8

/* No thread passes the barrier of a round before all threads have written in it. */
static void all_threads(const void *params)
{
	static const char key;
	uint32_t *turn = shmemsim_shared(&key, 128 * sizeof(*turn));
	uint32_t tid = shmemd_arch_tid(), n = shmemd_arch_ntids();
	(void)params;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		turn[tid] = round;
		shmemd_arch_bar_sync(0, n);
		for (uint32_t t = 0; t < n; t++)
			CHECK(turn[t] == round);
		shmemd_arch_bar_sync(0, n);
	}
}

/* Two halves of the block use two barriers at different rates, then one together. */
static void named(const void *params)
{
	static const char key;
	uint32_t *sum = shmemsim_shared(&key, 2 * sizeof(*sum));
	uint32_t half = shmemd_arch_tid() / 64;
	(void)params;
	if (shmemd_arch_tid() % 64 == 0)
		sum[half] = 0;
	for (uint32_t i = 0; i < 3 + 5 * half; i++) {
		shmemd_arch_bar_sync(1 + half, 64);
		shmemd_arch_atom_add_u32(&sum[half], 1);
		shmemd_arch_bar_sync(1 + half, 64);
		CHECK(shmemd_arch_ld_relaxed_u32(&sum[half]) == 64 * (i + 1));
	}
	shmemd_arch_bar_sync(15, 128);
	CHECK(sum[1 - half] == 64 * (3 + 5 * (1 - half)));
}

static void predicate(const void *params)
{
	uint32_t tid = shmemd_arch_tid();
	(void)params;
	for (uint32_t i = 0; i < 64; i++) {
		CHECK(shmemd_arch_bar_or(3, 64, tid == i) == 1);
		CHECK(shmemd_arch_bar_or(3, 64, 0) == 0);
	}
	CHECK(__syncthreads_or(tid == 5) && !__syncthreads_or(0));
	CHECK(__syncthreads_and(tid < 64) && !__syncthreads_and(tid != 5));
}

static void test_barriers(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (cfg.policy = SHMEMSIM_ROUND_ROBIN; cfg.policy <= SHMEMSIM_RANDOM; cfg.policy++)
		for (cfg.seed = 0; cfg.seed < 5; cfg.seed++) {
			assert_good(run_kernel(&cfg, all_threads, NULL, 0, 3, 96));
			assert_good(run_kernel(&cfg, named, NULL, 0, 2, 128));
			assert_good(run_kernel(&cfg, predicate, NULL, 0, 1, 64));
		}
}

static void counts_differ(const void *params)
{
	(void)params;
	shmemd_arch_bar_sync(2, shmemd_arch_tid() < 32 ? 64 : 32);
}

static void count_odd(const void *params)
{
	(void)params;
	shmemd_arch_bar_sync(2, 33);
}

static void count_large(const void *params)
{
	(void)params;
	shmemd_arch_bar_sync(2, 128);
}

static void id_large(const void *params)
{
	(void)params;
	shmemd_arch_bar_sync(16, 64);
}

static void two_sites(const void *params)
{
	(void)params;
	if (shmemd_arch_tid() % 2)
		__syncthreads();
	else
		__syncthreads();
}

static void test_misuse(void **state)
{
	(void)state;
	assert_bad(run_kernel(NULL, counts_differ, NULL, 0, 1, 96),
		   "thread 0 expects 64 threads, thread 32 expects 32");
	assert_bad(run_kernel(NULL, counts_differ, NULL, 0, 1, 64),
		   "thread 0 expects 64 threads, thread 63 expects 32");
	assert_bad(run_kernel(NULL, count_odd, NULL, 0, 1, 64), "33 threads are not whole warps");
	assert_bad(run_kernel(NULL, count_large, NULL, 0, 1, 64),
		   "expects 128 threads, the block has 64");
	assert_bad(run_kernel(NULL, id_large, NULL, 0, 1, 64), "barrier 16");
	assert_bad(run_kernel(NULL, two_sites, NULL, 0, 1, 64), "arrived at");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_barriers),
		cmocka_unit_test(test_misuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
