/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* channel.h: the progress of a queue, its free space, and the statuses of a queue that has failed.
 */
#include <shmem_dev/shmem_dev.h>
#include "run.h"
#include "sanitized.h"

enum { DEPTH = 64, BAD_GRANULE = 5, ROUNDS = 8 };

#define N_SCHEDULES (SANITIZED ? 20u : 1000u)

/* Progress of a queue */

static uint32_t is_held, is_asked, is_released;

static void hold_a_wqebb(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0 wqebb=%u", rig_device_index(1));
	shmemd_arch_st_release_u32(&is_held, 1);
	while (!shmemd_arch_ld_acquire_u32(&is_asked))
		shmemd_arch_spin_hint();
	rig_control("clear rules");
	rig_control("release cqes host=0");
	shmemd_arch_st_release_u32(&is_released, 1);
}

static void await(uint32_t *word)
{
	while (!shmemd_arch_ld_acquire_u32(word))
		shmemd_arch_spin_hint();
}

static void poll_until_done(const shmemd_ctx_t *ctx, uint64_t place)
{
	int is_done = 0;

	while (!is_done) {
		CHECK_IS(shmemd_channel_poll(ctx, 1, place, &is_done), 0);
		shmemd_arch_spin_hint();
	}
}

/* The completion of the second WQEBB, a get, is held: places up to it are done, later ones are not.
 */
static void poll_places(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t *ctx = &p->ctx;
	uint64_t *mine = word_of(ctx, 2), start, first, second;
	int is_done = 0;

	if (p->pe != 0)
		return;
	await(&is_held);
	start = shmemd_channel_posted(ctx, 1);
	CHECK_IS(start, rig_place(0));
	CHECK_IS(shmemd_channel_poll(ctx, 1, start, &is_done), 0);
	CHECK_IS(is_done, 1);
	shmemd_channel_add_u64(ctx, word_of(ctx, 0), 5, 1, SHMEMD_RING_DEFERRED);
	first = shmemd_channel_posted(ctx, 1);
	CHECK_IS(first, rig_place(1));
	CHECK_IS(shmemd_channel_poll(ctx, 1, first, &is_done), 0);
	CHECK_IS(is_done, 0); /* the device has had no time yet */
	poll_until_done(ctx, first);
	shmemd_getmem_nbi(ctx, mine, word_of(ctx, 0), 8, 1);
	second = shmemd_channel_posted(ctx, 1);
	CHECK_IS(second, rig_place(2));
	for (int i = 0; i < 10; i++) {
		shmemsim_sleep(10000);
		CHECK_IS(shmemd_channel_poll(ctx, 1, second, &is_done), 0);
		CHECK_IS(is_done, 0);
	}
	CHECK_IS(shmemd_channel_poll(ctx, 1, first, &is_done), 0);
	CHECK_IS(is_done, 1);
	shmemd_arch_st_release_u32(&is_asked, 1);
	poll_until_done(ctx, second);
	CHECK_IS(shmemd_arch_ld_data_u64(mine), 5);
	CHECK_IS(shmemd_channel_poll(ctx, 1, start, &is_done), 0);
	CHECK_IS(is_done, 1);
}

static void polls(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = poll_places,
			.n_blocks = 1,
			.n_threads = 1,
			.host = hold_a_wqebb};

	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		is_held = is_asked = is_released = 0;
		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* All completions have arrived before the first poll, and are read one by one: a complete place
 * stays complete. */
static void poll_full_queue(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t depth = 1u << SHMEMD_LOG_DEPTH(p->ctx.geometry);
	uint64_t start;
	int is_done;

	if (p->pe != 0)
		return;
	start = shmemd_channel_posted(&p->ctx, 1);
	for (uint32_t i = 1; i <= depth; i++)
		shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1,
				       i < depth ? SHMEMD_RING_DEFERRED : SHMEMD_RING_NOW);
	while (rig_counters(0, 1, 0).cqes != depth)
		shmemd_arch_spin_hint();
	for (uint32_t n = 1; n <= depth; n++) {
		CHECK_IS(shmemd_channel_poll(&p->ctx, 1, start + n, &is_done), 0);
		CHECK_IS(is_done, 1); /* all CQEs are there: the first call finds that of n */
		CHECK_IS(shmemd_channel_poll(&p->ctx, 1, start + n - 1, &is_done), 0);
		CHECK_IS(is_done, 1);
	}
	CHECK_IS(shmemd_channel_space(&p->ctx, 1), depth);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), depth);
}

static void complete_stays_complete(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = poll_full_queue, .n_blocks = 1, .n_threads = 1};

	(void)state;
	for (uint32_t depth = DEPTH; depth <= 64 * DEPTH; depth *= 8)
		for (unsigned start = 0; start < N_STARTS; start++) {
			start_below(&t.plan, start);
			t.plan.depth = depth;
			run_once(&t);
		}
}

/* The completion of WQEBB 20 of 64 is held. The CQE at an eighth of those outstanding has arrived,
 * that at one half has not: the first poll completes 9 WQEBBs, and counts as many CQEs; further
 * polls complete the other 11, and none of them takes a WQEBB back. */
static void hold_wqebb_20(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0 wqebb=%u", rig_device_index(20));
	shmemd_arch_st_release_u32(&is_held, 1);
	await(&is_asked);
	rig_control("clear rules");
	rig_control("release cqes host=0");
}

static void poll_eighth(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t depth = 1u << SHMEMD_LOG_DEPTH(p->ctx.geometry);
	const uint64_t *done = &rig_words(0, 1, 0)->done;
	uint32_t cqes, n_done = 0;
	uint64_t start;
	int is_done;

	if (p->pe != 0)
		return;
	await(&is_held);
	cqes = SHMEMD_DONE_CQES(*done);
	start = shmemd_channel_posted(&p->ctx, 1);
	for (uint32_t i = 1; i <= depth; i++)
		shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1,
				       i < depth ? SHMEMD_RING_DEFERRED : SHMEMD_RING_NOW);
	while (rig_counters(0, 1, 0).cqes < 20)
		shmemd_arch_spin_hint();
	CHECK_IS(shmemd_channel_poll(&p->ctx, 1, start + 1, &is_done), 0);
	CHECK_IS(is_done, 1);
	CHECK_IS((SHMEMD_DONE_CQES(*done) - cqes) & 0xffff, depth / 8 + 1);
	CHECK_IS(shmemd_channel_poll(&p->ctx, 1, start + depth / 8 + 1, &is_done), 0);
	CHECK_IS(is_done, 1);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t n = 0;

		for (is_done = 1; is_done; n += is_done != 0)
			CHECK_IS(shmemd_channel_poll(&p->ctx, 1, start + n + 1, &is_done), 0);
		CHECK(n >= n_done);
		n_done = n;
	}
	CHECK_IS(n_done, 20);
	shmemd_arch_st_release_u32(&is_asked, 1);
	poll_until_done(&p->ctx, start + depth);
}

static void an_eighth_is_complete(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = poll_eighth,
			.n_blocks = 1,
			.n_threads = 1,
			.host = hold_wqebb_20};

	(void)state;
	t.plan.depth = 64;
	for (unsigned start = 0; start < N_STARTS; start++) {
		is_held = is_asked = 0;
		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* Few separate threads on many schedules: while other threads ring and read completions, a place
 * covers the operations that its thread has posted, and a complete place stays complete. */
static void get_and_look_twice(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t *ctx = &p->ctx;
	const uint32_t me = shmemd_block_index();
	uint64_t *mine = word_of(ctx, 2) + me, place;
	int is_done;

	if (p->pe != 0)
		return;
	shmemd_channel_add_u64(ctx, word_of(ctx, 0) + me, 1 + me, 1, SHMEMD_RING_DEFAULT);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		shmemd_arch_st_data_u64(mine, 0);
		shmemd_channel_add_u64(ctx, word_of(ctx, 1) + me, 1, 1, SHMEMD_RING_DEFERRED);
		shmemd_getmem_nbi(ctx, mine, word_of(ctx, 0) + me, 8, 1);
		place = shmemd_channel_posted(ctx, 1);
		poll_until_done(ctx, place);
		CHECK_IS(shmemd_arch_ld_data_u64(mine), 1 + me);
		CHECK_IS(word_of(&rig_pes[1].ctx, 1)[me], i + 1);
		CHECK_IS(shmemd_channel_poll(ctx, 1, place, &is_done), 0);
		CHECK_IS(is_done, 1);
	}
}

static void few_threads(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = get_and_look_twice, .n_blocks = 4, .n_threads = 1};

	(void)state;
	run_schedules(&t, N_SCHEDULES);
}

/* Free space */

static void hold_all(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0");
	shmemd_arch_st_release_u32(&is_held, 1);
	await(&is_asked);
	rig_control("clear rules");
	rig_control("release cqes host=0");
	shmemd_arch_st_release_u32(&is_released, 1);
}

/* No thread waits here: shmemd_channel_space itself reads the completions. */
static void fill_and_final_check(const rig_params_t *p)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	uint32_t posted = 0;

	CHECK_IS(shmemd_channel_space(ctx, 1), DEPTH);
	for (; posted < DEPTH - 2; posted++) {
		shmemd_channel_add_u64(ctx, word_of(ctx, 0), 1, 1,
				       posted == DEPTH / 2 ? SHMEMD_RING_NOW
							   : SHMEMD_RING_DEFERRED);
		CHECK_IS(shmemd_channel_space(ctx, 1), DEPTH - posted - 1);
	}
	shmemd_atomic_or_u64(ctx, word_of(ctx, 1), 6, 1); /* two WQEBBs */
	CHECK_IS(shmemd_channel_space(ctx, 1), 0);
	shmemsim_sleep(100000); /* executed, completions held */
	CHECK_IS(shmemd_channel_space(ctx, 1), 0);
}

/* As if `resv` was loaded before other threads posted n WQEBBs, and `done` when these were
 * complete: nothing is taken. Called while nothing is reserved that is not complete. */
static void done_ahead(const shmemd_ctx_t *ctx, uint32_t n)
{
	uint64_t *resv = &rig_words(0, 1, 0)->resv, word = shmemd_arch_ld_relaxed_u64(resv);

	shmemd_arch_st_relaxed_u64(resv, word - SHMEMD_RESV_ADD(n, 0));
	CHECK_IS(shmemd_channel_space(ctx, 1), DEPTH);
	shmemd_arch_st_relaxed_u64(resv, word);
}

static void look_at_space(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	await(&is_held);
	fill_and_final_check(p);
	shmemd_arch_st_release_u32(&is_asked, 1);
	await(&is_released);
	while (shmemd_channel_space(&p->ctx, 1) != DEPTH)
		shmemd_arch_spin_hint();
	CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), DEPTH - 2);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 1), 6);
	CHECK_IS(shmemd_channel_space(&p->ctx, 1), DEPTH);
	done_ahead(&p->ctx, 1);
	done_ahead(&p->ctx, DEPTH);
}

static void space(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = look_at_space,
			.n_blocks = 1,
			.n_threads = 1,
			.host = hold_all};

	(void)state;
	t.plan.depth = DEPTH;
	for (unsigned start = 0; start < N_STARTS; start++) {
		is_held = is_asked = is_released = 0;
		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* A queue full of deferred WQEBBs: to ask for space rings for them. */
static void defer_and_ask(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; i < DEPTH; i++)
		shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1, SHMEMD_RING_DEFERRED);
	while (shmemd_channel_space(&p->ctx, 1) < DEPTH / 2)
		shmemd_arch_spin_hint();
	CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), DEPTH);
}

static void deferred_and_asked(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = defer_and_ask, .n_blocks = 1, .n_threads = 1};

	(void)state;
	t.plan.depth = DEPTH;
	for (unsigned start = 0; start < N_STARTS; start++) {
		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* Posts with deferred doorbells on a queue that is too short for them. */
static void defer_beyond_the_depth(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; i < 3 * DEPTH; i++)
		shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1, SHMEMD_RING_DEFERRED);
	CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), 3 * DEPTH);
}

static void deferred_until_full(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = defer_beyond_the_depth,
			.n_blocks = 1,
			.n_threads = 1};

	(void)state;
	run_once(&t);
}

/* Each call on a failed queue returns its status, and none hangs. */
static void use_failed(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t *ctx = &p->ctx;
	uint64_t place;
	int is_done = 0, status = 0;

	if (p->pe != 0)
		return;
	shmemd_channel_add_u64(ctx, word_of(ctx, BAD_GRANULE), 1, 1, SHMEMD_RING_NOW);
	place = shmemd_channel_posted(ctx, 1);
	while (!status && !is_done) {
		status = shmemd_channel_poll(ctx, 1, place, &is_done);
		shmemd_arch_spin_hint();
	}
	CHECK_IS(status, SHMEMD_ERR_REFUSED);
	CHECK_IS(is_done, 0);
	CHECK_IS(rig_pes[0].latch.status, 0);
	CHECK_IS(shmemd_channel_quiet(ctx, 1), SHMEMD_ERR_REFUSED);
	for (uint32_t i = 0; i < 2 * DEPTH; i++)
		shmemd_channel_signal_set(ctx, word_of(ctx, 0), 1, 1, SHMEMD_RING_DEFERRED);
	CHECK_IS(rig_pes[0].latch.status, SHMEMD_ERR_REFUSED);
	shmemd_channel_ring(ctx, 1);
	(void)shmemd_channel_space(ctx, 1);
	CHECK_IS(shmemd_channel_poll(ctx, 1, place, &is_done), SHMEMD_ERR_REFUSED);
	CHECK_IS(is_done, 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), 0);
}

static void failed_channel(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = use_failed, .n_blocks = 1, .n_threads = 1};

	(void)state;
	t.plan.unregistered = 1u << BAD_GRANULE;
	run_once(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polls),
		cmocka_unit_test(complete_stays_complete),
		cmocka_unit_test(an_eighth_is_complete),
		cmocka_unit_test(few_threads),
		cmocka_unit_test(space),
		cmocka_unit_test(deferred_and_asked),
		cmocka_unit_test(deferred_until_full),
		cmocka_unit_test(failed_channel),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
