/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completion by number (impl/cq.h) when the number of a CQE belongs to one path and the queue that
 * the waiter polls to another. In both tests the CQE in that place would match, except for the
 * epochs, and the operation is not complete. */
#include "steps.h"

static uint32_t has_returned;

/* Each polling thread polls so many times. */
static void let_others_poll(void)
{
	for (int i = 0; i < 300; i++)
		shmemsim_sleep(1000);
}

/* Wait until PE 0's channel has the CQE of this number, on its current path. */
static void await_cqe(uint32_t number)
{
	const char *cqe = rig_channel(0, 1, 0)->cqes + (size_t)number * SHMEMD_CQE_NBYTES;

	while (shmemd_arch_ld_acquire_u64(cqe + SHMEMD_CQE_TAIL) >> 60 == SHMEMD_CQE_INVALID)
		shmemd_arch_spin_hint();
}

static void run_numbered(rig_test_t t, uint32_t first_cqe)
{
	for (unsigned start = 0; start < N_STARTS; start++) {
		start_below(&t.plan, start);
		t.plan.first_cqe = first_cqe;
		has_returned = 0;
		run_once(&t);
	}
}

/* An old number in a new queue: `flush` refers to a READ that was posted before the switch, after
 * one put. The owner bit distinguishes 2 * 64 CQEs: on the old path the READ has CQE 128, which for
 * the waiter is CQE 0 of the new path, that of the put. */
static void repeats_quiet(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe) {
		serve(p);
		return;
	}
	reach(1);
	await_step(2);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 5, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
	reach(3);
	while (shmemd_arch_ld_acquire_u32(&step) < 4) {
		(void)shmemdi_service_once(&p->ctx);
		shmemd_arch_spin_hint();
	}
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
	reach(5);
	while (shmemd_quiet(&p->ctx) == SHMEMD_ERR_TIMEOUT)
		;
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 5);
	CHECK_IS(rig_wqebbs(0, 1, 0), 2); /* no other READ */
}

static void hold_the_read(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_fence(0, 1, 0);
	reach(2);
	await_step(3);
	rig_control("hold packet kind=read");
	rig_order(0, 1, 0);
	await_cqe(0);
	reach(4);
	await_step(5);
	/* The wait may have taken longer than the NIC retries. */
	rig_fence(0, 1, 0);
	rig_control("release packets");
	rig_control("clear rules");
	rig_order(0, 1, 0);
	end_service();
}

static void old_number_in_a_new_queue(void **state)
{
	rig_test_t t = order_test(repeats_quiet, hold_the_read);

	(void)state;
	t.plan.timeout_ns = 1000000;
	run_numbered(t, 2 * t.plan.depth - 1);
}

/* A new number in an old queue: a poster has written for the old path, and gets the turn after the
 * switch. WQEs of one WQEBB, each with a CQE: on both paths CQE n completes WQE n. */
enum { N_BEFORE = 8 };

static int is_put; /* the request for the old path is a put instead of a g */

/* In the turn before that poster, like a poster that waits for space: switch, then post. */
static void switches_in_turn(const rig_params_t *p)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, 1, p->ctx.channel);
	uint64_t *word = word_of(&p->ctx, TARGET);
	const shmemdi_put_keys_t keys = {.signal = shmemdi_keys(shmemdi_rkey(&ep, (char *)word))};
	shmemdi_reservation_t reserved = {.wqebbs = 1, .requests = 1};

	await_step(1);
	reserved.resv = shmemd_arch_atom_add_u64(&ep.c.ch->resv, SHMEMD_RESV_ADD(1, 1));
	reach(2);
	do {
		shmemd_arch_spin_hint();
		shmemdi_serve(&p->ctx, ep.c.ch, reserved.resv);
		reserved.line = shmemdi_line(ep.c.ch);
	} while (SHMEMD_READY_EPOCH(reserved.line.ready) == SHMEMD_RESV_EPOCH(reserved.resv));
	CHECK_IS(shmemdi_sq_begin(&reserved), SHMEMD_OK);
	shmemdi_nic_signal_wqe(&ep, &reserved, 0, shmemdi_signal(word, 99, SHMEMD_SIGNAL_SET),
			       keys);
	shmemdi_sq_submit(&ep.c, &reserved, shmemdi_how(SHMEMD_RING_DEFAULT, 0), 0);
}

/* As the first thread of a group: its wait polls once before it starts. */
static void puts_as_a_group(const shmemd_ctx_t *ctx, uint64_t *dst, const uint64_t *src)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(ctx, 1, ctx->channel);
	shmemdi_put_t put = {(char *)dst, (const char *)src, 8, shmemdi_no_signal(),
			     shmemdi_how(SHMEMD_RING_DEFAULT, 1)};

	put.how.not_coalesced = 1;
	CHECK_IS(shmemdi_nic_put_leader(&ep, shmemdi_call(SHMEMD_OP_PUT, 0, 0), &put), 0);
}

static void reads_after_it(const rig_params_t *p)
{
	uint64_t got = 0;

	for (uint32_t i = 0; i < N_BEFORE; i++)
		CHECK_IS(shmemd_g_u64(&p->ctx, &got, word_of(&p->ctx, SOURCE) + i, 1), 0);
	reach(1);
	await_step(2);
	if (is_put) {
		puts_as_a_group(&p->ctx, word_of(&p->ctx, TARGET) + 1, word_of(&p->ctx, SOURCE));
	} else {
		CHECK_IS(shmemd_g_u64(&p->ctx, &got, word_of(&p->ctx, SOURCE) + N_BEFORE, 1), 0);
		CHECK_IS(got, 700 + N_BEFORE);
	}
	shmemd_arch_st_release_u32(&has_returned, 1);
}

static void posts_for_the_old_path(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe) {
		if (shmemd_block_index() == 0)
			serve(p);
		return;
	}
	if (shmemd_block_index())
		switches_in_turn(p);
	else
		reads_after_it(p);
}

static void hold_the_answer(int pe)
{
	if (pe)
		return;
	await_step(2);
	while (rig_reserved(0, 1, 0) != N_BEFORE + 2)
		shmemd_arch_spin_hint();
	let_others_poll(); /* the last WQE is written */
	rig_fence(0, 1, 0);
	rig_control(is_put ? "hold packet kind=write after=1" : "hold packet kind=read");
	rig_order(0, 1, 0);
	await_cqe(0);
	let_others_poll();
	CHECK_IS(rig_wqebbs(0, 1, 0), N_BEFORE + 2);
	CHECK_IS(shmemd_arch_ld_acquire_u32(&has_returned), 0);
	rig_control("release packets");
	rig_control("clear rules");
	end_service();
}

static void new_number_in_an_old_queue(void **state)
{
	rig_test_t t = order_test(posts_for_the_old_path, hold_the_answer);

	(void)state;
	t.n_blocks = 2;
	is_put = 0;
	run_numbered(t, 0);
	t.plan.inline_nbytes = 0;
	is_put = 1;
	run_numbered(t, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_number_in_a_new_queue),
		cmocka_unit_test(new_number_in_an_old_queue),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
