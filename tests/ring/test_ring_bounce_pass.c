/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Abandoned bounce buffers whose results are delayed for so long that later users of the same
 * buffers also time out, before they have posted anything: each passes its turn to the next ticket,
 * which finds the buffer free after the results have arrived. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { BUFFERS = SHMEMD_BOUNCE_BUFFERS, ABANDONED = 3 };

static uint32_t n_stuck, is_released;

/* Wait until this PE's host has released the completions. */
static void await_release(void)
{
	shmemd_arch_atom_add_u32(&n_stuck, 1);
	while (!shmemd_arch_ld_acquire_u32(&is_released))
		shmemd_arch_spin_hint();
}

static void hold_until_stuck(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0");
	while (!shmemd_arch_ld_acquire_u32(&n_stuck))
		shmemd_arch_spin_hint();
	rig_control("clear rules");
	rig_control("release cqes host=0");
	shmemd_arch_st_release_u32(&is_released, 1);
}

static void late(const rig_params_t *p, uint64_t n)
{
	uint64_t value = 0;

	for (uint64_t i = 0; i < n; i++) {
		CHECK_IS(shmemd_g_u64(&p->ctx, &value, word_of(&p->ctx, 1), 1), SHMEMD_ERR_TIMEOUT);
		CHECK_IS(value, 0);
	}
}

/* Every buffer works again, in its turn, with its own result. */
static void fresh(const rig_params_t *p, uint64_t *word, uint64_t n)
{
	uint64_t old = 77;

	for (uint64_t i = 0; i < n; i++) {
		CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &old, word, 1), 0);
		CHECK_IS(old, i);
	}
}

/* One lap of fetches whose results are held, then arg laps that do not even get a buffer. */
static void one_after_another(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t wqebbs = p->ctx.flags & SHMEMD_CTX_DUMP_AFTER_READ ? 2 : 1;

	if (p->pe != 0)
		return;
	late(p, BUFFERS);
	CHECK_IS(rig_wqebbs(0, 1, 0), BUFFERS * wqebbs);
	late(p, BUFFERS * p->arg);
	CHECK_IS(rig_wqebbs(0, 1, 0), BUFFERS * wqebbs);
	await_release();
	fresh(p, word_of(&p->ctx, 0), 2 * BUFFERS + 1);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(rig_status(0, 1, 0), 0);
}

static rig_test_t stuck(void (*kernel)(const void *params), uint32_t n_threads, unsigned start)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = kernel,
			.n_blocks = 1,
			.n_threads = n_threads,
			.host = hold_until_stuck};

	n_stuck = is_released = 0;
	start_below(&t.plan, start);
	if (start) /* the ticket that receives the turn wraps */
		t.plan.first_ticket = ((uint64_t)1 << 23) - 2 * BUFFERS;
	t.plan.depth = 4 * BUFFERS; /* a full queue without progress would end the channel */
	t.plan.timeout_ns = 100000;
	return t;
}

static void turn_passed_by_a_thread(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++)
		for (uint32_t flush = 0; flush < 2; flush++) {
			rig_test_t t = stuck(one_after_another, 1, start);

			t.arg = 1 + flush;
			t.plan.flags = flush ? SHMEMD_CTX_DUMP_AFTER_READ : 0;
			run_once(&t);
		}
}

static void late_together(const rig_params_t *p)
{
	uint64_t value = 0;

	CHECK_IS(shmemd_g_u64(&p->ctx, &value, word_of(&p->ctx, 1), 1), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(value, 0);
}

/* Tickets 0 .. 2 time out; 3 .. 34 too, together. Of 35 .. 66 the first lanes get free buffers, and
 * the last three the abandoned ones: no lane posts, and each releases its buffer or passes its
 * turn. The same, in the other order, for 67 .. 98 and 99 .. 130. */
static void lanes_together(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t lane = shmemd_arch_lane();

	if (p->pe != 0)
		return;
	if (lane == 0)
		late(p, ABANDONED);
	shmemd_arch_syncwarp();
	for (int i = 0; i < 4; i++) {
		late_together(p);
		shmemd_arch_syncwarp();
		CHECK_IS(rig_wqebbs(0, 1, 0), ABANDONED + 32);
	}
	await_release();
	fresh(p, word_of(&p->ctx, 0) + lane, 3 * BUFFERS / 32);
	CHECK_IS(shmemd_quiet_warp(&p->ctx), 0);
	CHECK_IS(rig_status(0, 1, 0), 0);
}

static void turn_passed_by_lanes(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = stuck(lanes_together, 32, start);

		run_once(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turn_passed_by_a_thread),
		cmocka_unit_test(turn_passed_by_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
