/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A check build ends the run of a kernel that passes a context that is zero, also to the *_all
 * calls, which read its flags first, and to those that hand on the context in device memory. */
#define SHMEMD_CHECK 1
#include "sim_test.h"
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/strided.h>
#include <shmem_dev/wait_sets.h>

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

static uint64_t words[2];
static size_t found;

static void waits_for_all(const void *params)
{
	(void)params;
	(void)shmemd_wait_until_all_u64(&zero, words, 2, NULL, SHMEMD_CMP_EQ, 0);
}

static void waits_for_any(const void *params)
{
	(void)params;
	(void)shmemd_wait_until_any_u64(&zero, &found, words, 2, NULL, SHMEMD_CMP_EQ, 0);
}

static void waits_for_some(const void *params)
{
	size_t indices[2];

	(void)params;
	(void)shmemd_wait_until_some_u64(&zero, &found, words, 2, indices, NULL, SHMEMD_CMP_EQ, 0);
}

static void tests_all(const void *params)
{
	(void)params;
	(void)shmemd_test_all_u64(&zero, words, 2, NULL, SHMEMD_CMP_EQ, 0);
}

static void tests_any(const void *params)
{
	(void)params;
	(void)shmemd_test_any_u64(&zero, words, 2, NULL, SHMEMD_CMP_EQ, 0);
}

static void tests_some(const void *params)
{
	size_t indices[2];

	(void)params;
	(void)shmemd_test_some_u64(&zero, words, 2, indices, NULL, SHMEMD_CMP_EQ, 0);
}

static void puts_strided(const void *params)
{
	(void)params;
	shmemd_iputmem(&zero, words, words, 1, 2, 1, 8, 0);
}

static void gets_strided(const void *params)
{
	(void)params;
	(void)shmemd_igetmem(&zero, words, words, 1, 2, 1, 8, 0);
}

static void test_zero(void **state)
{
	static void (*const kernels[])(const void *) = {
		syncs_all, barrier_all, fences,     waits_for_all, waits_for_any, waits_for_some,
		tests_all, tests_any,   tests_some, puts_strided,  gets_strided,
	};
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
