/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Several channels to one PE: each keeps its order and completes separately, and the calls of a
 * context concern its own channel. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { CHANNELS = 3, ROUNDS = 3, WORDS = 6, HELD = 1 };

/* Granules: channel k's data, its source, and a signal. */
static uint64_t *data_of(const shmemd_ctx_t *ctx, uint32_t k)
{
	return word_of(ctx, k);
}

static uint64_t *source_of(const shmemd_ctx_t *ctx, uint32_t k)
{
	return word_of(ctx, CHANNELS + k);
}

static uint64_t *signal_of(const shmemd_ctx_t *ctx, uint32_t k)
{
	return word_of(ctx, 2 * CHANNELS) + k;
}

static rig_test_t channels_test(void (*kernel)(const void *params), uint32_t n_blocks,
				uint32_t n_threads)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = kernel, .n_blocks = n_blocks, .n_threads = n_threads};

	t.plan.n_channels = CHANNELS;
	t.plan.batch = 4;
	return t;
}

/* One block for each channel. */

static uint64_t value_of(uint32_t k, uint64_t round, uint32_t i)
{
	return (uint64_t)(k + 1) * 1000000 + round * 1000 + i;
}

static void send_round(const rig_params_t *p, const shmemd_ctx_t *q, uint32_t k, uint64_t round)
{
	const uint32_t lane = shmemd_arch_lane();
	uint64_t *src = source_of(q, k);

	for (uint32_t i = lane; i < WORDS; i += 32)
		shmemd_arch_st_data_u64(&src[i], value_of(k, round, i));
	shmemd_arch_syncwarp();
	for (uint32_t i = 0; i < WORDS; i += WORDS / 3)
		shmemd_channel_put_nbi_warp(q, data_of(q, k) + i, &src[i], WORDS / 3 * 8, p->peer,
					    (int)(k + round) % 3);
	if (lane == 0 && k % 2)
		shmemd_channel_add_u64(q, signal_of(q, k), 1, p->peer, SHMEMD_RING_NOW);
	else if (lane == 0)
		shmemd_channel_signal_set(q, signal_of(q, k), round, p->peer, SHMEMD_RING_NOW);
	shmemd_arch_syncwarp();
}

/* Check the data that arrived by channel k. The acknowledgement uses channel k, too. */
static void all_at_once(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t k = shmemd_block_index();
	const shmemd_ctx_t q = shmemd_ctx_channel(&p->ctx, k);
	uint64_t *ack = signal_of(&q, CHANNELS + k);

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		send_round(p, &q, k, round);
		CHECK_IS(shmemd_signal_wait_until_warp(&q, signal_of(&q, k), SHMEMD_CMP_GE, round),
			 0);
		for (uint32_t i = 0; i < WORDS; i++)
			CHECK_IS(shmemd_arch_ld_data_u64(data_of(&q, k) + i),
				 value_of(k, round, i));
		shmemd_arch_syncwarp();
		if (shmemd_arch_lane() == 0)
			shmemd_channel_signal_set(&q, ack, round, p->peer, SHMEMD_RING_DEFAULT);
		CHECK_IS(shmemd_signal_wait_until_warp(&q, ack, SHMEMD_CMP_GE, round), 0);
	}
	CHECK_IS(shmemd_quiet_warp(&q), 0);
}

static void check_wqebbs(void)
{
	for (uint32_t k = 0; k < CHANNELS; k++) /* including a READ for quiet */
		CHECK_IS(rig_requests(0, 1, k), ROUNDS * 5 + 1);
}

static void each_keeps_its_order(void **state)
{
	rig_test_t t = channels_test(all_at_once, CHANNELS, 32);

	(void)state;
	t.final_check = check_wqebbs;
	run_all_ways(&t);
}

/* The operations of channel HELD are executed, but their completions are held. */

static uint32_t is_held, is_asked;

static void hold_one(int pe)
{
	const uint32_t qpn = rig_channel(0, 1, HELD)->qp->qpn;

	if (pe != 0)
		return;
	rig_control("hold cqe host=0 qp=0x%x", qpn);
	shmemd_arch_st_release_u32(&is_held, 1);
	while (!shmemd_arch_ld_acquire_u32(&is_asked))
		shmemd_arch_spin_hint();
	rig_control("clear rules");
	rig_control("release cqes host=0 qp=0x%x", qpn);
	shmemd_arch_st_release_u32(&is_held, 0);
}

static void await_held(uint32_t held)
{
	while (shmemd_arch_ld_acquire_u32(&is_held) != held)
		shmemd_arch_spin_hint();
}

static uint64_t at_target(uint32_t k)
{
	return *data_of(&rig_pes[1].ctx, k);
}

/* The other channels: every way to wait for them ends, with their data at the target. */
static void others_complete(const shmemd_ctx_t *q, uint32_t k)
{
	uint64_t place;
	int is_done = 0;

	shmemd_channel_add_u64(q, data_of(q, k), 1, 1, SHMEMD_RING_DEFERRED);
	CHECK_IS(shmemd_channel_quiet(q, 1), 0);
	CHECK_IS(at_target(k), 1);
	shmemd_atomic_add_u64(q, data_of(q, k), 2, 1);
	CHECK_IS(shmemd_quiet(q), 0);
	CHECK_IS(at_target(k), 3);
	shmemd_channel_add_u64(q, data_of(q, k), 4, 1, SHMEMD_RING_DEFERRED);
	place = shmemd_channel_posted(q, 1);
	while (!is_done) {
		CHECK_IS(shmemd_channel_poll(q, 1, place, &is_done), 0);
		shmemd_arch_spin_hint();
	}
	CHECK_IS(at_target(k), 7);
}

/* The held channel: no call reports it as complete. */
static void held_does_not(const shmemd_ctx_t *q, uint64_t place)
{
	int is_done = 1;

	CHECK_IS(shmemd_channel_poll(q, 1, place, &is_done), 0);
	CHECK_IS(is_done, 0);
	CHECK_IS(shmemd_channel_space(q, 1), (1u << SHMEMD_LOG_DEPTH(q->geometry)) - 1);
	CHECK_IS(shmemd_channel_quiet(q, 1), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(shmemd_quiet(q), SHMEMD_ERR_TIMEOUT);
}

static void one_is_held(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t held = shmemd_ctx_channel(&p->ctx, HELD);
	uint64_t place;

	if (p->pe != 0)
		return;
	await_held(1);
	shmemd_channel_add_u64(&held, data_of(&held, HELD), 5, 1, SHMEMD_RING_NOW);
	place = shmemd_channel_posted(&held, 1);
	/* no thread has used channel 0 before the last one */
	for (uint32_t k = CHANNELS; k-- > 0;) {
		const shmemd_ctx_t q = shmemd_ctx_channel(&p->ctx, k);

		if (k != HELD)
			others_complete(&q, k);
	}
	held_does_not(&held, place);
	shmemd_arch_st_release_u32(&is_asked, 1);
	await_held(0);
	CHECK_IS(shmemd_quiet(&held), 0);
	CHECK_IS(at_target(HELD), 5);
	CHECK_IS(rig_status(0, 1, HELD), 0);
	for (uint32_t k = 0; k < CHANNELS; k++) /* including READs for quiet */
		CHECK_IS(rig_requests(0, 1, k), k == HELD ? 2 : 5);
}

static void quiet_covers_one_channel(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = channels_test(one_is_held, 1, 1);

		is_held = is_asked = 0;
		start_below(&t.plan, start);
		t.host = hold_one;
		t.plan.timeout_ns = 1000000;
		run_once(&t);
	}
}

/* After a channel has failed, the others continue. */
static void one_fails(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t held = shmemd_ctx_channel(&p->ctx, HELD);

	if (p->pe != 0)
		return;
	shmemd_channel_add_u64(&held, word_of(&held, 7), 1, 1, SHMEMD_RING_NOW);
	CHECK_IS(shmemd_channel_quiet(&held, 1), SHMEMD_ERR_REFUSED);
	/* no thread has used channel 0 before the last one */
	for (uint32_t k = CHANNELS; k-- > 0;) {
		const shmemd_ctx_t q = shmemd_ctx_channel(&p->ctx, k);

		if (k != HELD)
			others_complete(&q, k);
	}
	CHECK_IS(shmemd_channel_quiet(&held, 1), SHMEMD_ERR_REFUSED);
}

static void failed_channel_leaves_others(void **state)
{
	rig_test_t t = channels_test(one_fails, 1, 1);

	(void)state;
	t.plan.unregistered = 1u << 7;
	run_once(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_keeps_its_order),
		cmocka_unit_test(quiet_covers_one_channel),
		cmocka_unit_test(failed_channel_leaves_others),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
