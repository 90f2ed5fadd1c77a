/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queues that are full and wrap: WQEs of two WQEBBs across the end at every offset, more posters
 * than WQEBBs, transfers of more chunks than WQEBBs. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { BLOCKS = 32, SWAPS = 100, BIG = 4 * 64 * 28 };

static char big[RIG_PES_MAX][BIG]; /* not registered: sent in chunks of 28 bytes */

/* Each result is the value swapped in before, so no result is lost, repeated, or of an old WQE. */
static void swaps(const void *params)
{
	const rig_params_t *p = params;
	uint64_t old = 0;

	for (uint64_t i = 1; i <= SWAPS; i++) {
		CHECK_IS(shmemd_atomic_swap_u64(&p->ctx, &old, word_of(&p->ctx, 0), i, p->peer), 0);
		CHECK_IS(old, i - 1);
		if (i % 3 == 0)
			shmemd_p_u64(&p->ctx, word_of(&p->ctx, 1), i, p->peer);
	}
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
}

static void two_wqebbs_at_every_offset(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = swaps, .n_blocks = 1, .n_threads = 1};

	(void)state;
	for (t.plan.first = 65536 - 64; t.plan.first <= 65536; t.plan.first++)
		run_once(&t);
}

static void add_and_store(const void *params)
{
	const rig_params_t *p = params;
	uint32_t me = shmemd_block_index() * shmemd_n_threads() + shmemd_thread_index();
	uint32_t *words = (uint32_t *)word_of(&p->ctx, 1);

	shmemd_atomic_add_u64(&p->ctx, word_of(&p->ctx, 0), 1 + me, p->peer);
	shmemd_p_u32(&p->ctx, &words[me], me ^ 0xabcdef, p->peer);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
}

static uint64_t n_posters;

static void all_have_come(void)
{
	for (int pe = 0; pe < 2; pe++) {
		const uint32_t *words = (const uint32_t *)word_of(&rig_pes[pe].ctx, 1);

		CHECK_IS(*word_of(&rig_pes[pe].ctx, 0), n_posters * (n_posters + 1) / 2);
		for (uint32_t i = 0; i < n_posters; i++)
			CHECK_IS(words[i], i ^ 0xabcdef);
	}
}

static rig_test_t posters(uint32_t n_blocks, uint32_t n_threads)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = add_and_store,
			.n_blocks = n_blocks,
			.n_threads = n_threads,
			.final_check = all_have_come};

	n_posters = n_blocks * n_threads;
	t.plan.n_granules = 16;
	return t;
}

static void thousand_posters(void **state)
{
	rig_test_t t = posters(BLOCKS, 32);

	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		start_below(&t.plan, start);
		run_once(&t);
	}
	t.plan.batch = 1;
	run_once(&t);
	run_schedules(&t, 1);
}

static void more_posters_than_wqebbs(void **state)
{
	rig_test_t t = posters(4, 33);

	(void)state;
	run_all_ways(&t);
}

static void put_big(const void *params)
{
	const rig_params_t *p = params;

	for (uint32_t i = shmemd_arch_lane(); i < BIG; i += 32)
		shmemd_arch_st_data_u8(&big[p->pe][i], (uint8_t)(i * 7 + i / 256 + 1));
	shmemd_arch_syncwarp();
	shmemd_putmem_warp(&p->ctx, p->ctx.heap, big[p->pe], BIG, p->peer);
	CHECK_IS(shmemd_quiet_warp(&p->ctx), 0);
}

static void big_has_come(void)
{
	for (int pe = 0; pe < 2; pe++)
		for (uint32_t i = 0; i < BIG; i++)
			CHECK_IS((uint8_t)rig_pes[pe].heap[i], (uint8_t)(i * 7 + i / 256 + 1));
}

static void more_chunks_than_wqebbs(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = put_big,
			.n_blocks = 1,
			.n_threads = 32,
			.final_check = big_has_come};

	(void)state;
	t.plan.n_granules = 16;
	for (unsigned start = 0; start < N_STARTS; start++) {
		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* Every lane swaps, with a DUMP after each: three WQEBBs for each of 32 lanes. */
static void swap_by_all_lanes(const void *params)
{
	const rig_params_t *p = params;
	uint64_t old = 1;

	CHECK_IS(shmemd_atomic_swap_u64(&p->ctx, &old, word_of(&p->ctx, 0) + shmemd_arch_lane(), 7,
					p->peer),
		 0);
	CHECK_IS(old, 0);
}

static void warp_fills_the_queue(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = swap_by_all_lanes, .n_blocks = 2, .n_threads = 32};

	(void)state;
	t.plan.depth = SHMEMD_MIN_DEPTH;
	t.n_blocks = 1;
	t.plan.flags = SHMEMD_CTX_DUMP_AFTER_READ;
	t.plan.timeout_ns = 1000000000;
	run_once(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_wqebbs_at_every_offset),
		cmocka_unit_test(thousand_posters),
		cmocka_unit_test(more_posters_than_wqebbs),
		cmocka_unit_test(more_chunks_than_wqebbs),
		cmocka_unit_test(warp_fills_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
