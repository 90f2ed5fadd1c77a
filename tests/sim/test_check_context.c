/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A check build ends the run of a kernel that passes a context that is zero, also to the *_all
 * calls, which read its flags first. */
#define SHMEMD_CHECK 1
#include "sim_test.h"
#include <shmem_dev/shmem_dev.h>

static shmemd_ctx_t zero;

static void syncs_all(const void *params)
{
	(void)params;
	(void)shmemd_sync_all(&zero);
}

static void barrier_all(const void *params)
{
	(void)params;
	(void)shmemd_barrier_all(&zero);
}

static void fences(const void *params)
{
	(void)params;
	shmemd_fence(&zero);
}

static void test_zero(void **state)
{
	static void (*const kernels[])(const void *) = {syncs_all, barrier_all, fences};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		assert_bad(run_kernel(&cfg, kernels[i], NULL, 0, 1, 1),
			   "the context is not filled");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
