/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The waits that carry out an order to switch a channel: those of a barrier for its flags and those
 * for a bounce buffer, even if no other thread can; and so do loops of shmemd_channel_poll and
 * shmemd_channel_space. Waits of wait.h and signal.h leave orders to the host's service kernel.
 * test_ring_order has the waits for completions, test_ring_switch those for space. */
#include "steps.h"

enum { TURNS = 300 }; /* several times the polls after which a wait reads the host's memory */

static void fence_and_order(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_fence(0, 1, 0);
	reach(2);
	rig_order(0, 1, 0);
	end_service();
}

/* Flags */

static int wait_for_end(const rig_params_t *p)
{
	const uint64_t *flag = word_of(&p->ctx, END);

	switch (p->arg) {
	case 0:
		return shmemd_wait_until_u64(&p->ctx, flag, SHMEMD_CMP_EQ, 1);
	case 1:
		return shmemd_wait_until_for_u64(&p->ctx, flag, SHMEMD_CMP_EQ, 1, UINT64_MAX);
	case 2:
		return shmemd_signal_wait_until(&p->ctx, flag, SHMEMD_CMP_EQ, 1);
	default:
		return shmemd_signal_wait_until_from(&p->ctx, flag, SHMEMD_CMP_EQ, 1, 1);
	}
}

/* The service kernel starts late: until it serves, only the waiting thread could carry out the
 * order. */
static void serve_late(const rig_params_t *p)
{
	while (!shmemd_arch_ld_acquire_u64(&p->ctx.switch_order->number))
		shmemd_arch_spin_hint();
	for (int i = 0; i < TURNS; i++)
		shmemsim_sleep(1000); /* each polling thread polls once */
	CHECK_IS(shmemd_arch_ld_acquire_u64(&p->ctx.switch_order->carried_out), 0);
	serve(p);
}

static void waits_for_flag(const void *params)
{
	const rig_params_t *p = params;

	if (shmemd_block_index()) {
		serve_late(p);
		return;
	}
	if (p->pe)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 5, 1);
	reach(1);
	CHECK_IS(wait_for_end(p), 0);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 5);
}

static void flag_waits_leave_orders(void **state)
{
	rig_test_t t = order_test(waits_for_flag, fence_and_order);

	(void)state;
	t.n_blocks = 2;
	for (t.arg = 0; t.arg < 4; t.arg++)
		run_starts(t);
}

/* Barrier. No operation precedes it, so its quiet waits for nothing. PE 0 can leave it only after
 * its order and that of PE 1 were carried out; PE 1 leaves it when PE 0's flag arrives by the new
 * path, and then has no other wait in which to carry out its own order. */
static void waits_in_barrier(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe == 0)
		reach(1);
	await_step(2);
	CHECK_IS(p->arg ? shmemd_barrier(&p->ctx) : shmemd_sync(&p->ctx), 0);
	if (p->pe)
		serve(p);
}

static void barrier_flags_are_enough(void **state)
{
	rig_test_t t = order_test(waits_in_barrier, fence_and_order);

	(void)state;
	for (t.arg = 0; t.arg < 2; t.arg++)
		run_starts(t);
}

/* Bounce buffers. A thread holds one until the order is carried out; a thread that fetches waits
 * for that buffer. */
static void holds_buffer(const rig_params_t *p)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, 1, p->ctx.channel);
	const uint64_t ticket = shmemd_arch_atom_add_u64(&ep.c.ch->ticket, 1);

	CHECK_IS(shmemdi_bounce_take(&ep.c, shmemdi_call(SHMEMD_OP_GET, 0, 0), ticket), 0);
	reach(1);
	while (!shmemd_arch_ld_acquire_u64(&p->ctx.switch_order->carried_out))
		shmemd_arch_spin_hint();
	shmemdi_bounce_release(&ep.c, ticket);
}

/* Operations posted before the failure are complete: no other wait occurs. */
static void waits_for_buffer(const void *params)
{
	const rig_params_t *p = params;
	uint64_t got = 0;

	if (p->pe) {
		if (shmemd_block_index() == 0)
			serve(p);
		return;
	}
	if (shmemd_block_index()) {
		holds_buffer(p);
		return;
	}
	await_step(1);
	for (uint32_t i = 0; i < SHMEMD_BOUNCE_BUFFERS; i++) {
		if (i == SHMEMD_BOUNCE_BUFFERS - 1) {
			reach(2);
			await_step(3);
		}
		CHECK_IS(shmemd_g_u64(&p->ctx, &got, word_of(&p->ctx, SOURCE) + i % 8, 1), 0);
		CHECK_IS(got, 700 + i % 8);
	}
}

static void order_during_wait(int pe)
{
	if (pe)
		return;
	await_step(2);
	rig_fence(0, 1, 0);
	reach(3);
	rig_order(0, 1, 0);
	end_service();
}

static void waits_for_buffers_carry_out_orders(void **state)
{
	rig_test_t t = order_test(waits_for_buffer, order_during_wait);

	(void)state;
	t.n_blocks = 2;
	run_starts(t);
}

/* A loop of a kernel's own. The word is posted to a path that is lost, so that only the order ends
 * the loop. */
static void loops_for_completion(const void *params)
{
	const rig_params_t *p = params;
	int is_done = 0;
	uint32_t space;
	uint64_t place;

	if (p->pe) {
		serve(p);
		return;
	}
	reach(1);
	await_step(2);
	space = shmemd_channel_space(&p->ctx, 1);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 5, 1);
	place = shmemd_channel_posted(&p->ctx, 1);
	do {
		shmemd_arch_spin_hint();
		if (p->arg)
			is_done = shmemd_channel_space(&p->ctx, 1) == space;
		else
			CHECK_IS(shmemd_channel_poll(&p->ctx, 1, place, &is_done), 0);
	} while (!is_done);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 5);
}

static void loops_carry_out_orders(void **state)
{
	rig_test_t t = order_test(loops_for_completion, fence_and_order);

	(void)state;
	for (t.arg = 0; t.arg < 2; t.arg++)
		run_starts(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flag_waits_leave_orders),
		cmocka_unit_test(barrier_flags_are_enough),
		cmocka_unit_test(waits_for_buffers_carry_out_orders),
		cmocka_unit_test(loops_carry_out_orders),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
