/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The cost of each operation: WQEBBs, requests, doorbells; and the numbers of requests. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

#define ADD SHMEMD_SIGNAL_ADD
#define SET SHMEMD_SIGNAL_SET

static const shmemd_ctx_t *const ctx = &rig_pes[0].ctx;
static char elsewhere[64]; /* not registered */

static uint64_t *word(uint32_t i)
{
	return word_of(ctx, i);
}

static void p(void)
{
	shmemd_p_u64(ctx, word(0), 1, 1);
}

static void signal_set(void)
{
	shmemd_signal_op(ctx, word(0), 1, SET, 1);
}

static void signal_add(void)
{
	shmemd_signal_op(ctx, word(0), 1, ADD, 1);
}

static void inline_put(void)
{
	shmemd_putmem_nbi(ctx, word(0), elsewhere, 28, 1);
}

static void put(void)
{
	shmemd_putmem_nbi(ctx, word(0), word(1), 512, 1);
}

static void put_across_granules(void)
{
	shmemd_putmem_nbi(ctx, word(0) + 1, word(1), 512, 1);
}

static void put_from_elsewhere(void)
{
	shmemd_putmem_nbi(ctx, word(0), elsewhere, 57, 1);
}

static void put_signal_set(void)
{
	shmemd_putmem_signal_nbi(ctx, word(0), word(1), 512, word(2), 1, SET, 1);
}

static void put_signal_add(void)
{
	shmemd_putmem_signal_nbi(ctx, word(0), word(1), 512, word(2), 1, ADD, 1);
}

static void put_signal_across_granules(void)
{
	shmemd_putmem_signal_nbi(ctx, word(0) + 1, word(1), 512, word(2), 1, ADD, 1);
}

static void put_signal_from_elsewhere(void)
{
	shmemd_putmem_signal_nbi(ctx, word(0), elsewhere, 57, word(2), 1, SET, 1);
}

static void inline_put_signal(void)
{
	shmemd_putmem_signal_nbi(ctx, word(0), elsewhere, 8, word(2), 1, SET, 1);
}

static void signal_of_no_data(void)
{
	shmemd_putmem_signal_nbi(ctx, word(0), word(1), 0, word(2), 1, SET, 1);
}

static void no_data(void)
{
	shmemd_putmem(ctx, word(0), word(1), 0, 1);
}

static void increment(void)
{
	shmemd_atomic_inc_u64(ctx, word(0), 1);
}

static void or_of_8_bytes(void)
{
	shmemd_atomic_or_u64(ctx, word(0), 1, 1);
}

static void or_of_4_bytes(void)
{
	shmemd_atomic_or_u32(ctx, (uint32_t *)word(0), 1, 1);
}

static void g(void)
{
	uint64_t value = 0;

	CHECK_IS(shmemd_g_u64(ctx, &value, word(0), 1), 0);
}

static void quiet_of_nothing(void)
{
	CHECK_IS(shmemd_quiet(ctx), 0);
}

static void quiet(void)
{
	p();
	CHECK_IS(shmemd_quiet(ctx), 0);
	CHECK_IS(shmemd_quiet(ctx), 0); /* no new operation */
}

static void put_by_each_lane(void)
{
	shmemd_p_u64(ctx, word(0) + shmemd_arch_lane(), 1, 1);
}

static void put_by_a_warp(void)
{
	shmemd_putmem_nbi_warp(ctx, word(0), word(1), 512, 1);
}

static void put_signal_by_a_warp(void)
{
	shmemd_putmem_signal_nbi_warp(ctx, word(0), word(1), 512, word(2), 1, ADD, 1);
}

static const struct {
	void (*op)(void);
	uint32_t n_threads, wqebbs, requests, doorbells;
} rows[] = {
	{p, 1, 1, 1, 1},
	{signal_set, 1, 1, 1, 1},
	{signal_add, 1, 1, 1, 1},
	{inline_put, 1, 1, 1, 1},
	{put, 1, 1, 1, 1},
	{put_across_granules, 1, 2, 2, 1},
	{put_from_elsewhere, 1, 3, 3, 1},
	{put_signal_set, 1, 2, 2, 1},
	{put_signal_add, 1, 2, 2, 1},
	{put_signal_across_granules, 1, 3, 3, 1},
	{put_signal_from_elsewhere, 1, 4, 4, 1},
	{inline_put_signal, 1, 2, 2, 1},
	{signal_of_no_data, 1, 1, 1, 1},
	{no_data, 1, 0, 0, 0},
	{increment, 1, 1, 1, 1},
	{or_of_8_bytes, 1, 2, 1, 1},
	{or_of_4_bytes, 1, 1, 1, 1},
	{g, 1, 1, 1, 1},
	{quiet_of_nothing, 1, 0, 0, 0},
	{quiet, 1, 2, 2, 2},
	{put_by_each_lane, 32, 32, 32, 1},
	{put_by_a_warp, 32, 1, 1, 1},
	{put_signal_by_a_warp, 32, 2, 2, 1},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t row;

static void kernel(const void *params)
{
	const rig_params_t *q = params;

	if (q->pe == 0)
		rows[row].op();
}

/* Compare with the words of the channel and with the device's counters. */
static void final_check(void)
{
	if (rig_wqebbs(0, 1, 0) != rows[row].wqebbs ||
	    rig_requests(0, 1, 0) != rows[row].requests ||
	    rig_doorbells(0, 1, 0) != rows[row].doorbells)
		shmemsim_fail("row %d: %d WQEBBs, %d requests, %d doorbells", (int)row,
			      (int)rig_wqebbs(0, 1, 0), (int)rig_requests(0, 1, 0),
			      (int)rig_doorbells(0, 1, 0));
	while (rig_counters(0, 1, 0).wqebbs != rows[row].wqebbs)
		shmemd_arch_spin_hint();
	CHECK_IS(rig_counters(0, 1, 0).wqes, rows[row].requests);
	/* the device may take several at once */
	CHECK(rig_counters(0, 1, 0).doorbells <= rows[row].doorbells);
}

static void costs(void **state)
{
	(void)state;
	for (row = 0; row < N_ROWS; row++)
		for (unsigned start = 0; start < N_STARTS; start++) {
			rig_test_t t = {.plan = rig_plan(),
					.kernel = kernel,
					.n_blocks = 1,
					.n_threads = rows[row].n_threads,
					.final_check = final_check,
					.arg = row};

			start_below(&t.plan, start);
			run_once(&t);
		}
}

/* The number of a WQE's request, for replay: the requests reserved before, plus the carries of
 * WQEBBs in the reservation word. */

static rig_plan_t numbers_plan;

static void some_of_each(const void *params)
{
	const rig_params_t *q = params;

	if (q->pe != 0)
		return;
	put_by_each_lane();
	put_signal_by_a_warp();
	if (shmemd_arch_lane() == 0) {
		or_of_8_bytes();
		put_across_granules();
		quiet();
	}
}

/* The index wraps within the first reservation, which is that of all lanes. */
static uint32_t carry_before(uint32_t wqebb)
{
	return wqebb >= 32 && (uint32_t)numbers_plan.first + wqebb < wqebb;
}

static void look_at_numbers(void)
{
	const rig_end_t *e = rig_channel(0, 1, 0);
	uint32_t n = 0, at = 0;

	while (at < rig_wqebbs(0, 1, 0)) {
		const uint32_t i = rig_device_index(at) % numbers_plan.depth;
		const uint32_t *w =
			(const uint32_t *)(const void *)(e->wqes + (size_t)i * SHMEMD_WQEBB_NBYTES);

		CHECK_IS(shmemd_arch_bswap32(w[3]),
			 (numbers_plan.first_request + n + carry_before(at)) & 0xffffff);
		/* four segments in each WQEBB */
		at += ((shmemd_arch_bswap32(w[1]) & 0x3f) + 3) / 4;
		n++;
	}
	CHECK_IS(rig_requests(0, 1, 0), n);
}

static void numbers(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = some_of_each,
				.n_blocks = 1,
				.n_threads = 32,
				.final_check = look_at_numbers};

		start_below(&t.plan, start);
		numbers_plan = t.plan;
		run_once(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
