/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Warp collectives: results with masks and divergence, errors, activemask. */
#define SHMEMSIM_CUDA_DIALECT
#include "sim_test.h"

#define ALL 0xffffffffu

static void shuffles(const void *params)
{
	uint32_t lane = shmemd_arch_lane();
	(void)params;
	CHECK(__shfl_sync(ALL, lane * 3, 5) == 15);
	CHECK(__shfl_sync(ALL, lane, 1, 8) == (lane & ~7u) + 1);
	CHECK(__shfl_up_sync(ALL, lane, 4) == (lane < 4 ? lane : lane - 4));
	CHECK(__shfl_up_sync(ALL, lane, 2, 4) == (lane % 4 < 2 ? lane : lane - 2));
	CHECK(__shfl_down_sync(ALL, lane, 4) == (lane + 4 > 31 ? lane : lane + 4));
	CHECK(__shfl_down_sync(ALL, lane, 3, 16) == (lane % 16 + 3 > 15 ? lane : lane + 3));
	CHECK(__shfl_xor_sync(ALL, lane, 16) == (lane ^ 16));
	CHECK(__shfl_xor_sync(ALL, lane, 8, 8) == (lane & 8 ? lane ^ 8 : lane));
	CHECK(__shfl_sync(ALL, (double)lane + 0.5, 9) == 9.5);
	CHECK(__shfl_sync(ALL, -(int)lane, 7) == -7);
}

static void votes(const void *params)
{
	uint32_t lane = shmemd_arch_lane();
	int pred;
	(void)params;
	CHECK(__ballot_sync(ALL, lane % 4 == 1) == 0x22222222u);
	CHECK(__any_sync(ALL, lane == 30) && !__any_sync(ALL, lane == 32));
	CHECK(__all_sync(ALL, lane < 32) && !__all_sync(ALL, lane < 31));
	CHECK(__match_any_sync(ALL, lane / 16) == (lane < 16 ? 0xffffu : 0xffff0000u));
	CHECK(__match_all_sync(ALL, 42, &pred) == ALL && pred);
	CHECK(__match_all_sync(ALL, lane / 31, &pred) == 0 && !pred);
	CHECK(__reduce_add_sync(ALL, lane) == 496);
	CHECK(__reduce_max_sync(ALL, lane ^ 5) == 31 && __reduce_min_sync(ALL, lane + 7) == 7);
	CHECK(__reduce_or_sync(ALL, 1u << lane) == ALL && __reduce_and_sync(ALL, lane | 64) == 64);
	CHECK(__reduce_xor_sync(ALL, 1u << lane) == ALL);
}

/* Lanes of the lower half wait for the whole warp while the upper half still works in a smaller
 * group: legal since Volta. */
static void divergence(const void *params)
{
	uint32_t lane = shmemd_arch_lane();
	(void)params;
	if (lane >= 16) {
		CHECK(__shfl_sync(0xffff0000u, lane, 20) == 20);
		CHECK(__ballot_sync(0xffff0000u, lane & 1) == 0xaaaa0000u);
		__syncwarp(0xffff0000u);
	} else if (lane % 2) {
		CHECK(__ballot_sync(0x0000aaaau, 1) == 0xaaaau);
	}
	__syncwarp();
	CHECK(__ballot_sync(ALL, 1) == ALL);
}

static void test_results(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (cfg.policy = SHMEMSIM_ROUND_ROBIN; cfg.policy <= SHMEMSIM_RANDOM; cfg.policy++)
		for (cfg.seed = 0; cfg.seed < 20; cfg.seed++) {
			assert_good(run_kernel(&cfg, shuffles, NULL, 0, 2, 64));
			assert_good(run_kernel(&cfg, votes, NULL, 0, 2, 64));
			assert_good(run_kernel(&cfg, divergence, NULL, 0, 2, 64));
		}
}

static void partial_warp(const void *params)
{
	(void)params;
	__syncwarp();
	CHECK(__ballot_sync(ALL, 1) == (shmemd_arch_tid() < 32 ? ALL : 0x7fu));
}

static void test_partial_warp(void **state)
{
	(void)state;
	assert_good(run_kernel(NULL, partial_warp, NULL, 0, 1, 39));
}

static void not_in_mask(const void *params)
{
	(void)params;
	__syncwarp(0xfffffffeu);
}

static void two_kinds(const void *params)
{
	(void)params;
	if (shmemd_arch_lane() < 16)
		__syncwarp();
	else
		(void)__ballot_sync(ALL, 1);
}

static void crossing(const void *params)
{
	(void)params;
	if (shmemd_arch_lane() == 0)
		__syncwarp(3);
	else
		__syncwarp(7);
}

static void reads_outside(const void *params)
{
	(void)params;
	if (shmemd_arch_lane() < 16)
		(void)__shfl_sync(0x0000ffffu, 1, 16);
}

static void reads_exited(const void *params)
{
	(void)params;
	if (shmemd_arch_lane() != 3)
		(void)__shfl_sync(ALL, 1, 3);
}

static void names_exited(const void *params)
{
	(void)params;
	if (shmemd_arch_lane() == 0)
		shmemsim_yield();
	if (shmemd_arch_lane() != 3) {
		shmemsim_yield();
		__syncwarp();
	}
}

static void bad_width(const void *params)
{
	(void)params;
	(void)__shfl_sync(ALL, 1, 0, 12);
}

static int on_host(int pe, int n_pes, void *arg)
{
	(void)pe;
	(void)n_pes;
	(void)arg;
	shmemd_arch_syncwarp();
	return 0;
}

static void test_errors(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_bad(run_kernel(NULL, not_in_mask, NULL, 0, 1, 32),
		   "lane 0 is not in its own mask fffffffe");
	assert_bad(run_kernel(NULL, two_kinds, NULL, 0, 1, 32), "divergent warp collectives");
	assert_bad(run_kernel(NULL, crossing, NULL, 0, 1, 3), "wait for each other");
	assert_bad(run_kernel(NULL, reads_outside, NULL, 0, 1, 32),
		   "reads lane 16, which is not in the mask 0000ffff");
	assert_bad(run_kernel(NULL, reads_exited, NULL, 0, 1, 32),
		   "reads lane 3, which has exited");
	assert_bad(run_kernel(NULL, bad_width, NULL, 0, 1, 32), "width 12");
	assert_bad(shmemsim_run(&cfg, 1, on_host, NULL), "outside of a kernel");
	assert_good(run_kernel(&cfg, names_exited, NULL, 0, 1, 32));
	cfg.flags = SHMEMSIM_STRICT_EXIT;
	assert_bad(run_kernel(&cfg, names_exited, NULL, 0, 1, 32),
		   "contains lanes that have exited");
}

/* activemask: all members of a group get the same mask, use it, and every lane is in one group. */

static uint32_t groups, larger, lanes_seen; /* larger: groups of more than one lane */

static void aggregate(const void *params)
{
	uint32_t lane = shmemd_arch_lane();
	(void)params;
	if (lane % 8 == 7)
		return;
	uint32_t mask = __activemask();
	CHECK(mask >> lane & 1);
	CHECK((mask & 0x80808080u) == 0);
	uint32_t leader = (uint32_t)__ffs(mask) - 1;
	CHECK(__shfl_sync(mask, mask, leader) == mask);
	if (lane == leader) {
		shmemd_arch_red_add_u32(&groups, 1);
		shmemd_arch_red_or_u32(&lanes_seen, mask);
		if (__popc(mask) > 1)
			shmemd_arch_red_add_u32(&larger, 1);
	}
}

static uint32_t count_groups(const shmemsim_config_t *cfg)
{
	groups = lanes_seen = larger = 0;
	assert_good(run_kernel(cfg, aggregate, NULL, 0, 1, 32));
	assert_int_equal(lanes_seen, 0x7f7f7f7fu);
	return groups;
}

static void test_activemask(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	int mixed = 0;
	(void)state;
	assert_int_equal(count_groups(&cfg), 1);
	cfg.activemask = SHMEMSIM_ACTIVE_SINGLES;
	assert_int_equal(count_groups(&cfg), 28);
	cfg.activemask = SHMEMSIM_ACTIVE_RANDOM;
	for (cfg.seed = 0; cfg.seed < 50; cfg.seed++) {
		uint32_t n = count_groups(&cfg);
		mixed += n > 1 && n < 28 && larger > 0;
	}
	assert_true(mixed > 25);
}

/* A lane that waits elsewhere in its warp does not delay a group that all other lanes have joined.
 */
static void activemask_and_waiter(const void *params)
{
	static uint32_t flag;
	(void)params;
	if (shmemd_arch_lane() == 0) {
		while (shmemd_arch_ld_acquire_u32(&flag) == 0)
			shmemd_arch_spin_hint();
		flag = 0;
		return;
	}
	CHECK(__activemask() == 0xfffffffeu);
	if (shmemd_arch_lane() == 1)
		shmemd_arch_st_release_u32(&flag, 1);
}

static void test_activemask_waiter(void **state)
{
	(void)state;
	assert_good(run_kernel(NULL, activemask_and_waiter, NULL, 0, 1, 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_partial_warp),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_activemask),
		cmocka_unit_test(test_activemask_waiter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
