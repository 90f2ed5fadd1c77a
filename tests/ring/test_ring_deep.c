/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The deepest queue, through several laps: every 16-bit index in WQEs, CQEs and doorbell records
 * takes all its values. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum {
	DEPTH = SHMEMD_MAX_DEPTH,
	GRANULES = RIG_GRANULES_MAX,
	BYTES = 31 * 1024, /* of a heap, which so many puts fill */
	SINGLES = 2 * DEPTH + BYTES,
};

/* The value that put i writes to byte i mod BYTES. */
static uint8_t value_of(uint32_t i)
{
	return (uint8_t)(i * 2654435761u >> 24);
}

static void put(const shmemd_ctx_t *ctx, uint32_t i)
{
	shmemd_p_u8(ctx, (uint8_t *)ctx->heap + i % BYTES, value_of(i), 1);
}

/* The last BYTES of n puts have arrived, and the target has counted all of them. */
static void check_target(uint32_t n, uint32_t n_reads)
{
	const uint8_t *bytes = (const uint8_t *)rig_pes[1].heap;

	for (uint32_t i = n - BYTES; i < n; i++)
		CHECK_IS(bytes[i % BYTES], value_of(i));
	CHECK_IS(rig_wqebbs(0, 1, 0), n + n_reads);
	CHECK_IS(rig_requests(0, 1, 0), n + n_reads);
	CHECK_IS(rig_counters(1, 0, 0).executed, n + n_reads);
}

static rig_test_t deep(void (*kernel)(const void *params), uint32_t n_threads, unsigned start)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = kernel, .n_blocks = 1, .n_threads = n_threads};

	start_below(&t.plan, start);
	t.plan.depth = DEPTH;
	t.plan.batch = DEPTH / 2;
	t.plan.n_granules = GRANULES;
	t.plan.granules_per_mr = GRANULES;
	return t;
}

/* A single thread: a request and a CQE for each WQEBB. */
static void singles(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; i < SINGLES; i++)
		put(&p->ctx, i);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	check_target(SINGLES, 1);
}

static void by_single_puts(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start += 2) {
		rig_test_t t = deep(singles, 1, start);

		run_once(&t);
	}
}

/* Coalesced lanes: one CQE for each warp's WQEBBs, and so fewer CQEs than the queue has room for.
 */
static void warps(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; i < SINGLES; i += 32)
		put(&p->ctx, i + shmemd_arch_lane());
	CHECK_IS(shmemd_quiet_warp(&p->ctx), 0);
	if (shmemd_arch_lane() == 0)
		check_target(SINGLES, 1);
}

static void by_lanes(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start += 5) {
		rig_test_t t = deep(warps, 32, start);

		run_once(&t);
	}
}

/* A full queue whose completions no thread has read: the counters of CQEs are then up to 32767
 * ahead of `done`. Two lanes post together, so that WQEBBs of even number request no CQE, and the
 * last one is at the end of a lap. The first poll must interpret each of them correctly; a lap
 * later again. */
static void full_laps(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t lane = shmemd_arch_lane();

	if (p->pe != 0)
		return;
	for (uint32_t lap = 0; lap < 3; lap++) {
		for (uint32_t i = 0; i < DEPTH; i += 2)
			shmemd_channel_add_u32(&p->ctx, (uint32_t *)(void *)p->ctx.heap, 1, 1,
					       SHMEMD_RING_DEFERRED);
		if (lane == 0)
			shmemd_channel_ring(&p->ctx, 1);
		shmemd_arch_syncwarp_mask(3);
		while (rig_counters(1, 0, 0).executed != (uint64_t)DEPTH * (lap + 1))
			shmemd_arch_spin_hint();
		if (lane == 0 && p->arg) {
			while (shmemd_channel_space(&p->ctx, 1) != DEPTH)
				shmemd_arch_spin_hint();
		}
		shmemd_arch_syncwarp_mask(3);
	}
	if (lane != 0)
		return;
	CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), 0);
	CHECK_IS(*(uint32_t *)(void *)rig_pes[1].heap, 3 * DEPTH);
	CHECK_IS(rig_wqebbs(0, 1, 0), 3 * DEPTH + 1);
}

static void full_queue_polled_late(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start += 3) {
		rig_test_t t = deep(full_laps, 2, start);

		t.arg = start == 0;
		run_once(&t);
	}
}

/* All completions are there when the first poll is made. It finds one in the middle of them, which
 * comes far more than 2^14 WQEBBs after what was complete: the reservations of the first half have
 * 32 WQEBBs each, those of the second half one. */
static void one_poll(const void *params)
{
	enum { HALF = DEPTH / 33, WQEBBS = 33 * HALF };
	const rig_params_t *p = params;
	const uint32_t lane = shmemd_arch_lane();
	uint32_t *sum = (uint32_t *)(void *)p->ctx.heap;
	int is_done = 0;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; i < HALF; i++) {
		shmemd_arch_syncwarp_mask(~0u);
		shmemd_channel_add_u32(&p->ctx, sum, 1, 1, SHMEMD_RING_DEFERRED);
	}
	if (lane != 0)
		return;
	for (uint32_t i = 0; i < HALF; i++)
		shmemd_channel_add_u32(&p->ctx, sum, 1, 1,
				       i + 1 < HALF ? SHMEMD_RING_DEFERRED : SHMEMD_RING_NOW);
	CHECK_IS(rig_wqebbs(0, 1, 0), WQEBBS);
	while (rig_counters(0, 1, 0).cqes != 2 * HALF)
		shmemd_arch_spin_hint();
	CHECK_IS(shmemd_channel_poll(&p->ctx, 1, rig_place(32 * HALF + 1), &is_done), 0);
	CHECK_IS(shmemd_channel_poll(&p->ctx, 1, rig_place(32 * HALF + 1), &is_done), 0);
	CHECK_IS(is_done, 1);
	CHECK_IS(*(uint32_t *)(void *)rig_pes[1].heap, WQEBBS);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
}

static void one_completion_for_all(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = deep(one_poll, 32, start);

		run_once(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_single_puts),
		cmocka_unit_test(by_lanes),
		cmocka_unit_test(full_queue_polled_late),
		cmocka_unit_test(one_completion_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
