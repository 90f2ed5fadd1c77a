/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Handles of finalized jobs: which are known as such, when many jobs were made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "job/job.h"

#define N_KEPT 64 /* at least so many handles of finalized jobs are known */
#define N_JOBS 200

/* Handles are compared and never read. */
static const shmemh_t *handle(uintptr_t i)
{
	return (const shmemh_t *)((i + 1) * 4096);
}

static void the_last_ones_are_known(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i < N_JOBS; i++) {
		assert_int_equal(shmemhi_enlist(handle(i)), 0);
		assert_false(shmemhi_is_finalized(handle(i)));
		shmemhi_delist(handle(i));
		for (uintptr_t k = i < N_KEPT ? 0 : i - N_KEPT + 1; k <= i; k++)
			assert_true(shmemhi_is_finalized(handle(k)));
	}
	assert_false(shmemhi_is_finalized(handle(N_JOBS)));
}

/* A job that lives keeps its place, however many come and go. */
static void a_live_one_is_not_forgotten(void **state)
{
	(void)state;
	assert_int_equal(shmemhi_enlist(handle(1000)), 0);
	for (uintptr_t i = 2000; i < 2000 + N_JOBS; i++) {
		assert_int_equal(shmemhi_enlist(handle(i)), 0);
		shmemhi_delist(handle(i));
	}
	assert_false(shmemhi_is_finalized(handle(1000)));
	shmemhi_delist(handle(1000));
	assert_true(shmemhi_is_finalized(handle(1000)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_ones_are_known),
		cmocka_unit_test(a_live_one_is_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
