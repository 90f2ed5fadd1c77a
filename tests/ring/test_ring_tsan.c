/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Checks that thread sanitizer observes the order of accesses to a queue's memory. The complete
 * code causes no report; without one of its fences, or without the order of syncwarp, the sanitizer
 * reports a race. The program runs itself once per case. */
#include <shmem_dev/arch/arch.h>
#include <string.h>

static const char *taken_away = ""; /* the function whose fences are left out; or SHUFFLE */

#define SHUFFLE "shuffles in the place of syncwarp"
#define NEVER_CALLED_STATUS 3

static uint32_t n_taken_away;

static int is_taken_away(const char *function)
{
	if (strcmp(taken_away, function) != 0)
		return 0;
	__atomic_store_n(&n_taken_away, 1, __ATOMIC_RELAXED);
	return 1;
}

static void fence_unless_taken_away(const char *function)
{
	if (!is_taken_away(function))
		shmemd_arch_fence_acquire();
}

static void sync_unless_taken_away(uint32_t mask)
{
	if (is_taken_away(SHUFFLE))
		shmemd_arch_shfl_u64(mask, 0, shmemd_arch_lowest(mask));
	else
		shmemd_arch_syncwarp_mask(mask);
}

#define shmemd_arch_fence_acquire() fence_unless_taken_away(__func__)
#define shmemd_arch_syncwarp_mask(mask) sync_unless_taken_away(mask)

#include <shmem_dev/shmem_dev.h>
#include "run.h"
#include "../common/tsan_case.h"

enum { DEPTH = 64, ROUNDS = 4 };

/* Two warps go around the queue, so that WQEBBs are reused; then each lane reuses its source, whose
 * completion a thread of the other warp may have polled. */
static void go_round(const void *params)
{
	const rig_params_t *p = params;
	uint32_t me = shmemd_block_index() * shmemd_n_threads() + shmemd_thread_index();
	uint64_t *from = word_of(&p->ctx, 1) + me, *to = word_of(&p->ctx, 2) + me;

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		shmemd_arch_st_data_u64(from, i);
		shmemd_putmem_nbi(&p->ctx, to, from, sizeof(*from), p->peer);
		CHECK_IS(shmemd_quiet(&p->ctx), 0);
	}
	for (uint64_t i = 1; i <= ROUNDS; i++) { /* no fence except that of the wait by number */
		shmemd_arch_st_data_u64(from, i);
		shmemd_putmem(&p->ctx, to, from, sizeof(*from), p->peer);
	}
	for (uint64_t i = 1; i <= ROUNDS; i++)
		shmemd_p_u64(&p->ctx, to, i, p->peer);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
}

static void run_case(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = go_round, .n_blocks = 2, .n_threads = 32};

	(void)state;
	t.plan.depth = DEPTH;
	t.plan.inline_nbytes = 0; /* the device reads the sources */
	run_once(&t);
	run_schedules(&t, 2);
}

static int child(const char *name)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(run_case)};
	int failed;

	taken_away = name;
	failed = cmocka_run_group_tests(tests, NULL, end_of_group);
	return failed || !*name || n_taken_away ? failed : NEVER_CALLED_STATUS;
}

static void test_cases(void **state)
{
	static const struct {
		const char *name;
		int is_race;
	} cases[] = {
		{"", 0},
		{"shmemdi_sq_begin", 1}, /* WQEBBs that other threads wrote and the device read */
		{"shmemdi_cq_poll", 1},  /* sources that the device read */
		{"shmemdi_cq_read", 1},  /* both, by the reader of CQEs */
		{SHUFFLE, 1},            /* WQEBBs that the reserving lane has found free */
	};
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = tsan_case_status(cases[i].name);

		if (status != (cases[i].is_race ? RACE_STATUS : 0)) {
			print_error("without %s: exit status %d\n",
				    *cases[i].name ? cases[i].name : "nothing", status);
			bad++;
		}
	}
	assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

	return argc > 1 ? child(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
