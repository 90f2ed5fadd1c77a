/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Orders that switch nothing: those that end a channel, that arrive after its end, that are
 * inconsistent or not new. */
#include "steps.h"

static uint32_t n_wrong;

/* The host reports that no path remains. */
static void waits_for_end(const void *params)
{
	const rig_params_t *p = params;
	uint64_t got = 0;

	if (p->pe) {
		serve(p);
		return;
	}
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	reach(1);
	await_step(2);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 2, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_PEER);
	CHECK_IS(shmemd_g_u64(&p->ctx, &got, word_of(&p->ctx, SOURCE), 1), SHMEMD_ERR_PEER);
	reach(3);
	/* A later order is acknowledged, and changes nothing. */
	serve(p);
	CHECK_IS(rig_status(0, 1, 0), SHMEMD_ERR_PEER);
}

static void order_end(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_fence(0, 1, 0);
	reach(2);
	rig_order_end(0, 1, 0, SHMEMD_ERR_PEER);
	await_step(3);
	rig_order_end(0, 1, 0, SHMEMD_ERR_PATH);
	rig_order(0, 1, 0);
	/* The memory of its queue is not to be used again: posters with older snapshots may write
	 * to it. */
	CHECK((int32_t)(SHMEMD_READY_INDEX(rig_words(0, 1, 0)->ready) - rig_pes[0].order.retired) <
	      0);
	end_service();
}

static void channels_are_ended(void **state)
{
	(void)state;
	run_starts(order_test(waits_for_end, order_end));
}

/* An impossible number of executed requests ends the channel; nothing is sent. */
static void waits_for_impossible_order(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe) {
		serve(p);
		return;
	}
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	reach(1);
	await_step(2);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 2, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_PATH);
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 1);
}

static void order_impossible_count(int pe)
{
	const uint32_t wrong[] = {(uint32_t)-1, (uint32_t)-2, 3, 0x800000, 0x7fffff};

	if (pe)
		return;
	await_step(1);
	rig_fence(0, 1, 0);
	reach(2);
	rig_executed_error = wrong[n_wrong];
	rig_order(0, 1, 0);
	end_service();
}

static void impossible_count_ends_the_channel(void **state)
{
	(void)state;
	for (n_wrong = 0; n_wrong < 5; n_wrong++)
		run_starts(order_test(waits_for_impossible_order, order_impossible_count));
	rig_executed_error = 0;
}

/* The channel fails for another reason while a thread carries out such an order: the status that
 * was stored first stays. */
static void first_status_stays(void **state)
{
	static shmemd_channel_t words;
	shmemdi_chan_t c = {.ch = &words};
	uint64_t next = SHMEMD_PATH_WORD(2, 0, 0, 0), stored;

	(void)state;
	words.path = SHMEMD_PATH_WORD(1, 0, 0, 0) | SHMEMD_PATH_FAILED(SHMEMD_ERR_PEER);
	stored = shmemdi_set_path(&c, next | SHMEMD_PATH_FAILED(SHMEMD_ERR_PATH));
	assert_int_equal(stored, next | SHMEMD_PATH_FAILED(SHMEMD_ERR_PEER));
	assert_int_equal(words.path, stored);
	words.path = SHMEMD_PATH_WORD(1, 0, 0, 0);
	stored = shmemdi_set_path(&c, next | SHMEMD_PATH_FAILED(SHMEMD_ERR_PATH));
	assert_int_equal(stored, next | SHMEMD_PATH_FAILED(SHMEMD_ERR_PATH));
}

/* A mistake of the program that only the switch finds: the channel ends as usual, and none of its
 * requests is repeated. */
enum { NO_KEY = 5 };

static void posts_without_key(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe) {
		serve(p);
		return;
	}
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, NO_KEY), 1, 1);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 2, 1);
	reach(1);
	serve(p);
	CHECK_IS(rig_status(0, 1, 0), SHMEMD_ERR_REFUSED);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 3, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 0);
}

static void order_after_refusal(int pe)
{
	if (pe)
		return;
	await_step(1);
	while (!rig_is_in_error(rig_channel(0, 1, 0)))
		shmemsim_sleep(1000);
	rig_switch(0, 1, 0);
	end_service();
}

static void refusals_end_channels(void **state)
{
	rig_test_t t = order_test(posts_without_key, order_after_refusal);

	(void)state;
	t.plan.unregistered = 1u << NO_KEY;
	t.may_report = 1;
	run_starts(t);
}

/* Orders that a thread reads and does not carry out. */
typedef struct unfit {
	uint32_t carried_out, epochs, announced;
} unfit_t;

enum { NUMBER = 2, N_UNFIT = 8 };

static const unfit_t unfit_of[N_UNFIT] = {
	{NUMBER - 1, 0, NUMBER},     /* for the current epoch of the channel */
	{NUMBER - 1, 2, NUMBER},     /* for a later epoch */
	{NUMBER - 1, 3, NUMBER},     /* for a much later epoch */
	{NUMBER, 1, NUMBER},         /* carried out by another thread */
	{NUMBER, 1, NUMBER + 1},     /* then the host has begun to write the next order */
	{NUMBER + 1, 1, NUMBER + 1}, /* which has also been carried out since the number was read */
	{NUMBER - 1, 1, NUMBER + 1}, /* a mixture of two orders */
	{NUMBER - 1, 1, NUMBER - 1},
};

static void helps_in_vain(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_channel_t *ch = rig_words(0, 1, 0);
	const uint64_t ready = ch->ready, resv = ch->resv;
	const uint32_t epoch = SHMEMD_READY_EPOCH(ready);
	static shmemd_switch_order_t order;
	shmemd_ctx_t ctx = p->ctx;

	if (p->pe)
		return;
	ctx.device_copy = &ctx;
	ctx.switch_order = &order;
	for (uint32_t i = 0; i < N_UNFIT; i++) {
		order = (shmemd_switch_order_t){.number = NUMBER,
						.announced = unfit_of[i].announced,
						.carried_out = unfit_of[i].carried_out,
						.world_pe = 1};
		order.path = SHMEMD_PATH_WORD(epoch + unfit_of[i].epochs, 0, 0, 0);
		shmemdi_serve(&ctx, 0, 0);
		CHECK_IS(ch->ready, ready);
		CHECK_IS(ch->resv, resv);
	}
}

static void orders_that_are_not_new(void **state)
{
	(void)state;
	run_starts(order_test(helps_in_vain, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channels_are_ended),
		cmocka_unit_test(impossible_count_ends_the_channel),
		cmocka_unit_test(first_status_stays),
		cmocka_unit_test(refusals_end_channels),
		cmocka_unit_test(orders_that_are_not_new),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
