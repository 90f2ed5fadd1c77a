/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The adapter on the emulator: correct kernels pass, mistakes are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "fixture_sim.h"

#define ALL_CHAOS                                                                                  \
	(MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_FETCH | MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_TEAR |        \
	 MLX5SW_CHAOS_DUP_WRITE | MLX5SW_CHAOS_ATOMIC)

#define HAS_WEAK (!SHMEMDI_CPU_TSAN) /* weak memory cannot be combined with thread sanitizer */

static void skip_without_weak(void)
{
	if (HAS_WEAK)
		return;
	print_message("skipped: weak memory cannot be combined with thread sanitizer\n");
	skip();
}

static sim_plan_t plan(uint32_t chaos, int mistake)
{
	sim_plan_t p = {MLX5SW_CONFIG_INIT, mistake};
	p.cfg.n_hosts = 2;
	p.cfg.n_devices = 1;
	p.cfg.timing = MLX5SW_TIMING_SPEC;
	p.cfg.lint = MLX5SW_LINT_STRICT;
	p.cfg.chaos = chaos;
	return p;
}

static shmemsim_config_t config(int policy, uint32_t weak)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = policy;
	cfg.weak = weak;
	return cfg;
}

static void default_run(void **state)
{
	(void)state;
	shmemsim_config_t cfg = config(SHMEMSIM_ROUND_ROBIN, 0);
	sim_plan_t p = plan(0, SIM_NONE);
	if (shmemsim_run(&cfg, 2, sim_main, &p))
		fail_msg("%s", shmemsim_report());
	assert_false(mlx5sw_failed());
	sim_end();
}

static void right_kernel_passes(void **state)
{
	(void)state;
	for (int weak = 0; weak <= HAS_WEAK; weak++)
		for (int policy = SHMEMSIM_RANDOM; policy <= SHMEMSIM_PCT; policy += 2) {
			shmemsim_config_t cfg = config(policy, (uint32_t)weak);
			sim_plan_t p = plan(ALL_CHAOS, SIM_NONE);
			if (shmemsim_explore(&cfg, 1000, 2, sim_main, &p, NULL))
				fail_msg("%s", shmemsim_report());
			assert_false(mlx5sw_failed());
		}
	sim_end();
}

static void is_found(int mistake, uint32_t weak)
{
	shmemsim_config_t cfg = config(SHMEMSIM_RANDOM, weak);
	sim_plan_t p = plan(ALL_CHAOS, mistake);
	p.cfg.lint = MLX5SW_LINT_OFF;
	assert_int_equal(shmemsim_explore(&cfg, 5000, 2, sim_main, &p, NULL), 1);
	sim_end();
}

static void doorbell_before_the_wqe_is_visible(void **state)
{
	(void)state;
	skip_without_weak();
	is_found(SIM_NO_FENCE_BEFORE_RECORD, 1);
}

/* In any schedule: the device could have read old contents of the ring, or of the data. */
static void missing_fence_in_the_default_schedule(void **state)
{
	(void)state;
	skip_without_weak();
	shmemsim_config_t cfg = config(SHMEMSIM_ROUND_ROBIN, 1);
	sim_plan_t p = plan(0, SIM_NONE);
	assert_int_equal(shmemsim_run(&cfg, 2, sim_main, &p), 0);
	for (p.mistake = SIM_NO_FENCE_BEFORE_RECORD; p.mistake <= SIM_NO_FENCE_AFTER_DATA;
	     p.mistake++) {
		assert_int_equal(shmemsim_run(&cfg, 2, sim_main, &p), 1);
		assert_non_null(strstr(shmemsim_report(), "no fence makes the newest value"));
	}
	sim_end();
}

static void signal_on_another_queue_pair(void **state)
{
	(void)state;
	is_found(SIM_SIGNAL_ON_OTHER_QP, 0);
}

static void missing_wait(void **state)
{
	(void)state;
	is_found(SIM_NO_WAIT, 0);
}

/* The same seed gives the same run. */
static void runs_repeat(void **state)
{
	(void)state;
	const uint16_t *list;
	uint16_t before[512];
	size_t n_before = 0;
	for (int i = 0; i < 2; i++) {
		shmemsim_config_t cfg = config(SHMEMSIM_RANDOM, HAS_WEAK);
		sim_plan_t p = plan(ALL_CHAOS, SIM_NONE);
		cfg.seed = 42;
		assert_int_equal(shmemsim_run(&cfg, 2, sim_main, &p), 0);
		size_t n = shmemsim_choices(&list);
		size_t n_kept = n < 512 ? n : 512;
		if (i) {
			assert_int_equal(n, n_before);
			assert_memory_equal(before, list, n_kept * sizeof(*list));
		}
		n_before = n;
		memcpy(before, list, n_kept * sizeof(*list));
	}
	sim_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_run),
		cmocka_unit_test(right_kernel_passes),
		cmocka_unit_test(doorbell_before_the_wqe_is_visible),
		cmocka_unit_test(missing_fence_in_the_default_schedule),
		cmocka_unit_test(signal_on_another_queue_pair),
		cmocka_unit_test(missing_wait),
		cmocka_unit_test(runs_repeat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
