/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Helpers of the emulator's tests. Code on fibers latches failures with CHECK; the test asserts on
 * the main stack that the run succeeded, and prints the report if not. */
#ifndef SIM_TEST_H
#define SIM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <shmem_sim.h>
#include "../common/sim_check.h"

typedef struct launch {
	void (*kernel)(const void *params);
	const void *params;
	size_t nbytes;
	uint32_t blocks, threads;
} launch_t;

static inline int launch_and_sync(int pe, int n_pes, void *arg)
{
	const launch_t *l = arg;
	(void)pe;
	(void)n_pes;
	int bad = shmemsim_launch(l->kernel, l->params, l->nbytes, l->blocks, l->threads, 0, NULL);
	return bad ? bad : shmemsim_sync(NULL);
}

/* Run one kernel on one PE. */
static inline int run_kernel(const shmemsim_config_t *cfg, void (*kernel)(const void *params),
			     const void *params, size_t nbytes, uint32_t blocks, uint32_t threads)
{
	const shmemsim_config_t defaults = SHMEMSIM_CONFIG_INIT;
	launch_t l = {kernel, params, nbytes, blocks, threads};
	return shmemsim_run(cfg ? cfg : &defaults, 1, launch_and_sync, &l);
}

static inline void assert_good(int result)
{
	if (result)
		print_error("%s", shmemsim_report());
	assert_int_equal(result, 0);
}

/* Check that the run failed and that its report has these words. */
static inline void assert_bad(int result, const char *words)
{
	assert_int_not_equal(result, 0);
	if (!strstr(shmemsim_report(), words))
		print_error("not in the report: %s\n%s", words, shmemsim_report());
	assert_non_null(strstr(shmemsim_report(), words));
}

#endif
