/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* How channels end for want of a path, and who is told (fault/ends.c), over the model of
 * fault_agents.h. */
#include "fault_agents.h"
#include "fault_pair.h"

/* A channel waits for a path until the limit, and not longer. */
static void gives_up(void **state)
{
	(void)state;
	set_up_pair();
	hosts[0].is_blocked = 1;
	fail_link(0, 1, 0);
	steps(100);
	model_now += GIVEUP_NS - SHMEMHI_SECOND;
	steps(10);
	assert_int_equal(shmemhi_fault_state(channel_of(0, 1, 0)), SHMEMH_FAULT_SWITCHING);
	assert_int_equal(shmemhi_fault_state(channel_of(1, 0, 0)), SHMEMH_FAULT_SWITCHING);
	may_give_up(0, 1);
	model_now += SHMEMHI_SECOND;
	steps(10);
	for (int pe = 0; pe < 2; pe++) {
		const shmemhi_fault_channel_t *c = channel_of(pe, 1 - pe, 0);

		assert_int_equal(shmemhi_fault_state(c), SHMEMH_FAULT_ENDED);
		assert_int_equal(shmemhi_fault_status(c), SHMEMD_ERR_PEER);
		assert_int_equal(c->cause.kind, SHMEMH_FAULT_BY_GIVEUP);
		assert_int_equal(c->resumed_at, 0);
	}
	assert_true(!channel_of(0, 1, 0)->is_found_at_peer);
	close_hosts();
}

/* Two channels, one of which finds no path: both end, at both ends, and waits for the other PE are
 * told. */
static void gives_up_with_all_channels(void **state)
{
	(void)state;
	do {
		set_up_pair();
		if (n_channels < 2)
			close_hosts();
	} while (n_channels < 2);
	hosts[0].is_blocked = 1;
	fail_link(0, 1, 1);
	steps(100);
	may_give_up(0, 1);
	model_now += GIVEUP_NS;
	steps(50);
	for (int pe = 0; pe < 2; pe++) {
		for (uint32_t k = 0; k < n_channels; k++) {
			const shmemhi_fault_channel_t *c = channel_of(pe, 1 - pe, k);

			assert_int_equal(shmemhi_fault_status(c), SHMEMD_ERR_PEER);
			assert_int_equal(c->cause.kind, SHMEMH_FAULT_BY_GIVEUP);
			assert_int_equal(end_of(pe, 1 - pe, k)->status, SHMEMD_ERR_PEER);
		}
		assert_int_equal(hosts[pe].unreachable[1 - pe], 1);
		assert_int_equal(hosts[pe].unreachable[pe], 0);
		assert_int_equal(hosts[pe].core.n_active, 0);
	}
	assert_true(!channel_of(0, 1, 0)->is_found_at_peer &&
		    channel_of(1, 0, 0)->is_found_at_peer);
	close_hosts();
}

static bool is_never_needed(void *self, int pe)
{
	(void)self, (void)pe;
	return false;
}

/* Channels to a PE that is reached otherwise too end without a word about that PE. */
static void gives_up_what_is_not_needed(void **state)
{
	shmemhi_fault_ops_t ops = model_ops;

	(void)state;
	set_up_pair();
	ops.is_needed = is_never_needed;
	hosts[0].core.config.ops = &ops;
	hosts[0].is_blocked = 1;
	fail_link(0, 1, 0);
	steps(100);
	may_give_up(0, 1);
	model_now += GIVEUP_NS;
	steps(50);
	assert_int_equal(shmemhi_fault_status(channel_of(0, 1, 0)), SHMEMD_ERR_PEER);
	assert_int_equal(hosts[0].unreachable[1], 0);
	assert_int_equal(hosts[1].unreachable[0], 1);
	close_hosts();
}

/* An action that is never done does not hold up the end of its channel. */

static void ends_past(int kind)
{
	set_up_pair();
	stuck_kind = kind;
	hosts[0].core.config.ops = stuck_ops_of();
	fail_link(0, 1, 0);
	steps(50);
	assert_int_equal(shmemhi_fault_state(channel_of(0, 1, 0)), SHMEMH_FAULT_SWITCHING);
	may_give_up(0, 1);
	model_now += GIVEUP_NS;
	steps(50);
	model_now += SHMEMHI_SECOND; /* a fence that is not done is waited for no longer */
	steps(50);
	for (int pe = 0; pe < 2; pe++)
		assert_int_equal(shmemhi_fault_status(channel_of(pe, 1 - pe, 0)), SHMEMD_ERR_PEER);
	assert_int_equal(hosts[0].unreachable[1], 1);
	close_hosts();
}

static void ends_past_what_is_not_done(void **state)
{
	(void)state;
	ends_past(SHMEMHI_ACT_STOP);
	ends_past(SHMEMHI_ACT_DRAIN);
	ends_past(SHMEMHI_ACT_FLUSH);
	ends_past(SHMEMHI_ACT_QUERY);
	ends_past(SHMEMHI_ACT_PREPARE);
	ends_past(SHMEMHI_ACT_CONNECT);
}

/* The end of all channels comes after the fence of all. */

static uint32_t late_kind, late_k; /* actions of this kind, of this channel, are not done */

static bool late_execute(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
			 shmemhi_switch_event_t *result)
{
	return !(k == late_k && a->kind == (int)late_kind) && model_execute(self, pe, k, a, result);
}

static void set_up_two_channels(void)
{
	do {
		set_up_pair();
		if (n_channels < 2)
			close_hosts();
	} while (n_channels < 2);
}

/* Channel 1 finds no path. The endpoint of channel 0 is stopped and flushed late: until then no
 * channel is ended, and waits go on. */
static void ends_after_the_fence_of(uint32_t kind)
{
	shmemhi_fault_ops_t ops = model_ops;

	set_up_two_channels();
	late_kind = kind;
	late_k = 0;
	ops.execute = late_execute;
	hosts[0].core.config.ops = &ops;
	hosts[0].is_blocked = 1;
	fail_link(0, 1, 1);
	steps(100);
	may_give_up(0, 1);
	model_now += GIVEUP_NS;
	steps(50);
	for (uint32_t k = 0; k < n_channels; k++) {
		assert_int_equal(channel_of(0, 1, k)->machine.phase, SHMEMHI_CLOSED);
		assert_int_equal(end_of(0, 1, k)->status, 0);
	}
	assert_int_equal(hosts[0].unreachable[1], 0);
	assert_int_equal(hosts[1].unreachable[0], 1);
	hosts[0].core.config.ops = &model_ops;
	steps(5);
	for (uint32_t k = 0; k < n_channels; k++)
		assert_int_equal(end_of(0, 1, k)->status, SHMEMD_ERR_PEER);
	assert_int_equal(hosts[0].unreachable[1], 1);
	close_hosts();
}

static void ends_after_the_fence(void **state)
{
	(void)state;
	ends_after_the_fence_of(SHMEMHI_ACT_STOP);
	ends_after_the_fence_of(SHMEMHI_ACT_FLUSH);
}

/* An order that no thread carries out. */

static bool is_stop_late;

static bool stuck_order(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
			shmemhi_switch_event_t *result)
{
	if (a->kind != SHMEMHI_ACT_ORDER && a->kind != SHMEMHI_ACT_END)
		return !(is_stop_late && a->kind == SHMEMHI_ACT_STOP && pe == 1) &&
		       model_execute(self, pe, k, a, result);
	if (hosts[0].ordering == NONE)
		give_order(0, pe, k, a);
	assert_int_equal(hosts[0].ordering, pe * MAX_CHANNELS + (int)k);
	return false;
}

/* Orders of PE 0 to PE 1, and to itself behind it, with or without a kernel of the library. */
static void order_that_is_stuck(int is_stuck)
{
	shmemhi_fault_ops_t ops = model_ops;
	uint64_t status = is_stuck ? SHMEMD_ERR_PEER : 0;

	set_up_pair();
	is_model_stuck = is_stuck;
	ops.execute = stuck_order;
	hosts[0].core.config.ops = &ops;
	fail_link(0, 1, 0);
	steps(100);
	fail_link(0, 0, 0);
	steps(100);
	model_now += GIVEUP_NS - SHMEMHI_SECOND;
	steps(10);
	assert_int_equal(channel_of(0, 1, 0)->machine.phase, SHMEMHI_RUNNING);
	assert_int_equal(channel_of(1, 0, 0)->machine.phase, SHMEMHI_RUNNING);
	may_give_up(0, 1);
	may_give_up(0, 0);
	is_stop_late = true; /* the device has this order nevertheless, and takes no other */
	model_now += SHMEMHI_SECOND;
	steps(100);
	is_stop_late = false;
	steps(100);
	assert_int_equal(hosts[0].unreachable[1], is_stuck);
	assert_int_equal(hosts[1].unreachable[0], is_stuck);
	assert_int_equal(shmemhi_fault_status(channel_of(1, 0, 0)), status);
	assert_int_equal(hosts[0].unreachable[0], is_stuck);
	/* The program is told at both ends, though the device has not carried out anything. */
	assert_int_equal(shmemhi_fault_status(channel_of(0, 1, 0)), status);
	assert_int_equal(shmemhi_fault_status(channel_of(0, 0, 0)), status);
	/* Then kernels end after all. */
	is_model_stuck = false;
	hosts[0].core.config.ops = &model_ops;
	steps(100);
	assert_int_equal(shmemhi_fault_status(channel_of(0, 1, 0)), status);
	assert_int_equal(shmemhi_fault_status(channel_of(0, 0, 0)), status);
	assert_int_equal(hosts[0].core.n_active, 0);
	close_hosts();
}

static void orders_that_are_stuck(void **state)
{
	(void)state;
	order_that_is_stuck(1);
	order_that_is_stuck(0);
}

/* CONNECT waits for the peer's address. The peer leaves the path: the fence does not wait. */
static void fence_passes_connect(void **state)
{
	(void)state;
	set_up_pair();
	stuck_kind = SHMEMHI_ACT_CONNECT;
	hosts[0].core.config.ops = stuck_ops_of();
	fail_link(0, 1, 0);
	steps(50);
	assert_int_equal(channel_of(0, 1, 0)->machine.phase, SHMEMHI_CONNECTING);
	assert_int_equal(channel_of(0, 1, 0)->machine.path, 1);
	end_of(0, 1, 0)->reported[1] = REPORTED_FAULT; /* PE 1 alone notices */
	fail_link(0, 1, 0);
	end_of(0, 1, 0)->reported[1] = REPORTED_FAULT;
	end_of(1, 0, 0)->reported[1] = 0;
	steps(50);
	assert_int_equal(channel_of(0, 1, 0)->machine.path, 2);
	hosts[0].core.config.ops = &model_ops;
	steps(50);
	assert_int_equal(shmemhi_fault_state(channel_of(0, 1, 0)), SHMEMH_FAULT_RUNNING);
	close_hosts();
}

/* CONNECT fails for a reason that the transport knows: both ends say so. */

static bool connect_fails(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
			  shmemhi_switch_event_t *result)
{
	if (a->kind != SHMEMHI_ACT_CONNECT || a->path != 1)
		return model_execute(self, pe, k, a, result);
	result->kind = SHMEMHI_EV_FAULT;
	result->value = SHMEMH_FAULT_BY_PORT;
	pair_of(0, 1, k)->is_faulted[1] = 1;
	return true;
}

static void cause_of_connect(void **state)
{
	shmemhi_fault_ops_t ops = model_ops;

	(void)state;
	set_up_pair();
	ops.execute = connect_fails;
	hosts[0].core.config.ops = &ops;
	fail_link(0, 1, 0);
	steps(60);
	for (int pe = 0; pe < 2; pe++) {
		const shmemhi_fault_channel_t *c = channel_of(pe, 1 - pe, 0);

		assert_int_equal(shmemhi_fault_state(c), SHMEMH_FAULT_RUNNING);
		assert_int_equal(c->machine.path, 2);
		assert_int_equal(c->cause.kind, SHMEMH_FAULT_BY_PORT);
		assert_int_equal(c->left_for, SHMEMH_FAULT_BY_PORT);
	}
	close_hosts();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_up),
		cmocka_unit_test(gives_up_with_all_channels),
		cmocka_unit_test(gives_up_what_is_not_needed),
		cmocka_unit_test(ends_past_what_is_not_done),
		cmocka_unit_test(ends_after_the_fence),
		cmocka_unit_test(orders_that_are_stuck),
		cmocka_unit_test(fence_passes_connect),
		cmocka_unit_test(cause_of_connect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
