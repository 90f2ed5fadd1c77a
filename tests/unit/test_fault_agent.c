/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Agents (fault/machines.h) with several channels to each other and to themselves, over the model
 * of fault_agents.h: random faults at any action, delayed and repeated messages, ports that cannot
 * be used, PEs that stop or die. A path is left only after one of the injected faults of that path;
 * orders are given one at a time, and each is right; in the end every channel runs again at both
 * ends, or has ended for a reason that was injected.
 *
 * FAULT_RUNS=n: so many runs instead of the default. */
#include <stdio.h>
#include <stdlib.h>
#include "fault/parts.h"
#include "fault_agents.h"
#include "fault_pair.h"

#define N_RUNS 20000

static uint64_t n_runs = N_RUNS, n_switches, n_ends;

/* Faults */

static void fail_adapter(int a, int b, uint32_t k)
{
	const uint32_t path = path_in_use(a, b, k);
	end_t *end = end_of(a, b, k);

	if (end->of_path[path] == NONE || endpoint_of(end, path)->state > FLUSHED)
		return;
	endpoint_of(end, path)->state = DEAD;
	pair_of(a, b, k)->is_faulted[path] = 1;
	end_of(b, a, k)->may_be_lost = 1;
}

/* The responder refuses a request of a: both queue pairs fail. */
static void refuse(int a, int b, uint32_t k)
{
	end_t *end = end_of(a, b, k);

	if (end->was_refused || end->status || end->used != path_in_use(a, b, k) ||
	    endpoint_of(end, end->used)->state != RTS)
		return; /* the device has posted nothing there */
	end->was_refused = 1;
	if (draw(2))
		end->status_due = SHMEMD_ERR_REFUSED;
	fail_link(a, b, k);
	end->reported[path_in_use(a, b, k)] &= ~(uint32_t)REPORTED_FAULT;
}

/* Time passes while no port of PE a can be used: what has no path then may end. */
static void block_long(int a)
{
	hosts[a].is_blocked = 1;
	for (int i = 0; i < 20; i++)
		for (int pe = 0; pe < n_pes; pe++)
			if (!hosts[pe].is_gone)
				step(pe);
	for (int pe = 0; pe < n_pes; pe++)
		for (int peer = 0; peer < n_pes; peer++)
			for (uint32_t k = 0; k < n_channels; k++)
				if (channel_of(pe, peer, k)->is_open &&
				    channel_of(pe, peer, k)->machine.phase != SHMEMHI_RUNNING)
					may_give_up(pe, peer);
	model_now += GIVEUP_NS;
}

static void die(int a)
{
	hosts[a].is_gone = 1;
	for (int pe = 0; pe < n_pes; pe++) {
		for (uint32_t k = 0; k < n_channels && pe != a; k++) {
			end_of(pe, a, k)->may_be_peer = 1;
			memset(pair_of(pe, a, k)->is_faulted, 1, MAX_PATHS);
		}
		hosts[pe].causes[a] = SHMEMD_CAUSE_DIED;
		hosts[pe].n_gone++;
	}
}

static void inject(void)
{
	const int a = (int)draw((uint32_t)n_pes), b = (int)draw((uint32_t)n_pes);
	const uint32_t k = draw(n_channels);

	n_faults_left--;
	if (hosts[a].is_gone || hosts[b].is_gone)
		return;
	switch (draw(16)) {
	case 0:
		die(a);
		break;
	case 1:
		block_long(a);
		break;
	case 2:
	case 3:
		refuse(a, b, k);
		break;
	case 4:
	case 5:
		fail_adapter(a, b, k);
		break;
	case 6: /* a port: all channels of the PE */
		for (int peer = 0; peer < n_pes; peer++)
			for (uint32_t i = 0; i < n_channels; i++)
				if (!hosts[peer].is_gone)
					fail_link(a, peer, i);
		break;
	default:
		fail_link(a, b, k);
	}
}

/* Runs */

static void run(void)
{
	int stopped = NONE; /* by a debugger */

	while (n_faults_left > 0)
		for (int i = 0; i < 12; i++) {
			const int pe = (int)draw((uint32_t)n_pes);

			model_now += draw(2000000);
			if (draw(50) == 0)
				stopped = draw(2) ? NONE : pe;
			if (draw(20) == 0)
				hosts[pe].is_blocked = draw(4) == 0;
			if (!hosts[pe].is_gone && pe != stopped)
				step(pe);
			if (n_faults_left > 0 && draw(30) == 0)
				inject();
		}
	is_settling = 1;
	for (int pe = 0; pe < n_pes; pe++)
		hosts[pe].is_blocked = 0;
	for (int i = 0; i < 60; i++) {
		model_now += 260 * SHMEMHI_MS;
		for (int pe = 0; pe < n_pes; pe++)
			if (!hosts[pe].is_gone)
				step(pe);
	}
}

static void check_end(int pe, int peer, uint32_t k)
{
	const shmemhi_fault_channel_t *c = channel_of(pe, peer, k);
	end_t *end = end_of(pe, peer, k), *there = end_of(peer, pe, k);

	n_switches += c->switches;
	CHECK(c->is_open || !end->status);
	CHECK(shmemhi_fault_status(c) == end->status);
	CHECK(end->status != 0 || !hosts[peer].is_gone);
	n_ends += end->status != 0;
	/* Between PEs that are alive all channels end for want of a path, or none does. */
	if (!hosts[pe].is_gone && !hosts[peer].is_gone)
		CHECK(hosts[pe].unreachable[peer] ==
		      (c->is_open && c->machine.phase == SHMEMHI_CLOSED));
	if (c->is_open && c->machine.phase == SHMEMHI_CLOSED) {
		/* The adapter writes no more for the peer. */
		for (uint32_t path = 0; path <= c->machine.path; path++)
			CHECK(end->of_path[path] == NONE ||
			      endpoint_of(end, path)->state >= FLUSHED);
		return;
	}
	CHECK(!c->is_open || c->machine.phase == SHMEMHI_RUNNING);
	CHECK(path_in_use(pe, peer, k) == path_in_use(peer, pe, k));
	CHECK(end->status || end->used == path_in_use(pe, peer, k));
	CHECK(endpoint_of(end, path_in_use(pe, peer, k))->state == RTS);
	CHECK(endpoint_of(end, path_in_use(pe, peer, k))->peer ==
	      there->of_path[path_in_use(pe, peer, k)]);
	CHECK(end->status || shmemhi_fault_state(c) == SHMEMH_FAULT_RUNNING);
}

static void check_host(int pe)
{
	const host_t *h = &hosts[pe];

	CHECK(h->core.n_active == 0 && h->ordering == NONE);
	for (int peer = 0; peer < n_pes; peer++)
		for (uint32_t k = 0; k < n_channels; k++)
			check_end(pe, peer, k);
}

static void random_events(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < n_runs; seed++) {
		uint64_t n_refused = 0;

		set_up(seed);
		run();
		for (int pe = 0; pe < n_pes; pe++) {
			n_refused += hosts[pe].core.n_refused;
			if (!hosts[pe].is_gone)
				check_host(pe);
		}
		close_hosts();
		CHECK(n_refused == n_expected_refusals);
	}
	printf("%llu runs, %llu steps, %llu switches, %llu directions ended, at most %llu actions "
	       "waiting\n",
	       (unsigned long long)n_runs, (unsigned long long)n_steps,
	       (unsigned long long)n_switches, (unsigned long long)n_ends,
	       (unsigned long long)most_todo);
	assert_true(n_switches > n_runs && n_ends > 0);
}

/* Directed runs */

static int planned_kind = NONE, planned_cause, planned_syndrome;
static uint32_t planned_path;

static bool planned_event(void *self, int *pe, uint32_t *k, shmemhi_switch_event_t *event,
			  shmemhi_fault_cause_t *cause)
{
	if (self != &hosts[0] || planned_kind == NONE)
		return false;
	*pe = 1;
	*k = 0;
	*event = (shmemhi_switch_event_t){planned_kind, planned_path, 0};
	*cause = (shmemhi_fault_cause_t){(uint32_t)planned_cause, (uint8_t)planned_syndrome, 7};
	planned_kind = NONE;
	return true;
}

static void plan(int kind, uint32_t path, int cause, int syndrome)
{
	planned_kind = kind;
	planned_path = path;
	planned_cause = cause;
	planned_syndrome = syndrome;
	steps(1);
}

/* Both ends say why a path was left, and a root cause that is reported later replaces "flushed". */
static void causes_are_told(void **state)
{
	shmemhi_fault_ops_t ops = model_ops;
	const shmemhi_fault_channel_t *here, *there;

	(void)state;
	set_up_pair();
	here = channel_of(0, 1, 0);
	there = channel_of(1, 0, 0);
	ops.next_event = planned_event;
	hosts[0].core.config.ops = hosts[1].core.config.ops = &ops;
	pair_of(0, 1, 0)->is_faulted[0] = 1;
	plan(SHMEMHI_EV_FAULT, 0, SHMEMH_FAULT_BY_FLUSH, 5);
	assert_int_equal(here->cause.kind, SHMEMH_FAULT_BY_FLUSH);
	plan(SHMEMHI_EV_FAULT, 0, SHMEMH_FAULT_BY_RETRIES, 0x15);
	assert_int_equal(here->cause.kind, SHMEMH_FAULT_BY_RETRIES);
	plan(SHMEMHI_EV_FAULT, 0, SHMEMH_FAULT_BY_FLUSH, 5);
	steps(40);
	assert_int_equal(here->cause.kind, SHMEMH_FAULT_BY_RETRIES);
	assert_int_equal(here->cause.syndrome, 0x15);
	assert_int_equal(here->switches, 1);
	assert_true(here->outage_ns > 0 && !here->is_found_at_peer);
	assert_int_equal(there->cause.kind, SHMEMH_FAULT_BY_FLUSH); /* as in FENCE */
	assert_int_equal(there->cause.syndrome, 5);
	assert_int_equal(there->cause.vendor_syndrome, 7);
	assert_true(there->is_found_at_peer);
	/* A late report of path 0 does not touch path 1. */
	plan(SHMEMHI_EV_FAULT, 0, SHMEMH_FAULT_BY_PORT, 0);
	assert_int_equal(here->cause.kind, SHMEMH_FAULT_BY_RETRIES);
	assert_int_equal(shmemhi_fault_state(here), SHMEMH_FAULT_RUNNING);
	close_hosts();
}

/* CONNECT of path 1 fails, and nothing says why. */
static bool connect_fails(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
			  shmemhi_switch_event_t *result)
{
	if (a->kind != SHMEMHI_ACT_CONNECT || a->path != 1)
		return model_execute(self, pe, k, a, result);
	result->kind = SHMEMHI_EV_FAULT;
	pair_of(0, 1, k)->is_faulted[1] = 1;
	return true;
}

/* A path that cannot be connected does not replace the cause for which the one before it was left,
 * if that is known; but it is a path that failed without a reason, at both ends. */
static void leave_two_paths(uint32_t first, uint32_t want)
{
	shmemhi_fault_ops_t ops = model_ops;

	set_up_pair();
	ops.next_event = planned_event;
	ops.execute = connect_fails;
	hosts[0].core.config.ops = &ops;
	pair_of(0, 1, 0)->is_faulted[0] = 1;
	plan(SHMEMHI_EV_FAULT, 0, (int)first, 0);
	steps(60);
	for (int pe = 0; pe < 2; pe++) {
		const shmemhi_fault_channel_t *c = channel_of(pe, 1 - pe, 0);

		assert_int_equal(shmemhi_fault_state(c), SHMEMH_FAULT_RUNNING);
		assert_int_equal(c->machine.path, 2);
		assert_int_equal(c->cause.kind, want);
		assert_int_equal(c->is_found_at_peer, pe);
		assert_int_equal(c->left_for, SHMEMH_FAULT_BY_QP);
	}
	/* One that ran has its own cause. */
	pair_of(0, 1, 0)->is_faulted[2] = 1;
	plan(SHMEMHI_EV_FAULT, 2, SHMEMH_FAULT_BY_FLUSH, 5);
	assert_int_equal(channel_of(0, 1, 0)->cause.kind, SHMEMH_FAULT_BY_FLUSH);
	close_hosts();
}

static void cause_of_the_path_before(void **state)
{
	(void)state;
	leave_two_paths(SHMEMH_FAULT_BY_PORT, SHMEMH_FAULT_BY_PORT);
	leave_two_paths(SHMEMH_FAULT_BY_FLUSH, SHMEMH_FAULT_BY_QP);
}

/* One direction of a channel has ended with a status, and the other goes on. A path that fails then
 * is left for the same cause at both ends, so that both decide alike whether the time of give-up
 * goes on. */
static void leave_after(void (*end_direction)(int, int, uint32_t), int a, int b, int want)
{
	shmemhi_fault_ops_t ops = model_ops;
	uint64_t before;

	set_up_pair();
	has_no_traffic = 1;
	end_direction(a, b, 0);
	steps(60);
	assert_int_equal(shmemhi_fault_status(channel_of(0, 1, 0)), want);
	assert_int_equal(channel_of(0, 1, 0)->machine.phase, SHMEMHI_RUNNING);
	ops.next_event = planned_event;
	hosts[0].core.config.ops = hosts[1].core.config.ops = &ops;
	before = model_now;
	pair_of(0, 1, 0)->is_faulted[1] = 1;
	plan(SHMEMHI_EV_FAULT, 1, SHMEMH_FAULT_BY_RETRIES, 0x15);
	steps(40);
	for (int pe = 0; pe < 2; pe++) {
		const shmemhi_fault_channel_t *c = channel_of(pe, 1 - pe, 0);

		assert_int_equal(c->machine.path, 2);
		assert_int_equal(c->left_for, SHMEMH_FAULT_BY_RETRIES);
		if (!shmemhi_fault_status(c))
			assert_int_equal(c->cause.kind, SHMEMH_FAULT_BY_RETRIES);
		assert_true(c->pathless_since < before);
	}
	has_no_traffic = 0;
	close_hosts();
}

static void leave_after_a_status(void **state)
{
	(void)state;
	leave_after(refuse, 0, 1, SHMEMD_ERR_REFUSED);
	leave_after(fail_adapter, 1, 0, SHMEMD_ERR_LOST);
}

/* A refused request moves the queue pair to ERR. If this end finds that out, the lines of both name
 * the refusal. If the other end finds it out at the same time, both still decide alike. */
static void leave_for_a_refusal_found_by(int n_ends)
{
	set_up_pair();
	end_of(0, 1, 0)->was_refused = 1;
	end_of(0, 1, 0)->status_due = SHMEMD_ERR_REFUSED;
	steps(1);
	shmemhi_fault_feed(&hosts[0].core, n_channels,
			   (shmemhi_switch_event_t){SHMEMHI_EV_FAULT, 0, 0},
			   (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_QP, 0, 0});
	if (n_ends == 2)
		shmemhi_fault_feed(&hosts[1].core, 0,
				   (shmemhi_switch_event_t){SHMEMHI_EV_FAULT, 0, 0},
				   (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_QP, 0, 0});
	pair_of(0, 1, 0)->is_faulted[0] = 1;
	steps(40);
	for (int pe = 0; pe < 2; pe++) {
		const shmemhi_fault_channel_t *c = channel_of(pe, 1 - pe, 0);
		const int is_told = pe && n_ends == 1;

		assert_int_equal(c->machine.path, 1);
		assert_int_equal(c->left_for, SHMEMH_FAULT_BY_QP);
		assert_int_equal(c->cause.kind,
				 !pe || is_told ? SHMEMH_FAULT_BY_PROGRAM : SHMEMH_FAULT_BY_QP);
		assert_int_equal(c->is_found_at_peer, is_told);
	}
	close_hosts();
}

static void leave_for_a_refusal(void **state)
{
	(void)state;
	leave_for_a_refusal_found_by(1);
	leave_for_a_refusal_found_by(2);
}

/* When the steps of a switch were done, at both ends: none before the one that it follows, and
 * those that have not come are 0. */
static void instants(void **state)
{
	const shmemhi_fault_channel_t *ends[2];
	uint64_t before, again;

	(void)state;
	set_up_pair();
	for (int pe = 0; pe < 2; pe++)
		ends[pe] = channel_of(pe, 1 - pe, 0);
	hosts[1].is_blocked = 1;
	before = model_now;
	fail_link(0, 1, 0);
	steps(60);
	for (int pe = 0; pe < 2; pe++) {
		assert_true(ends[pe]->detected_at > before);
		assert_true(ends[pe]->fenced_at >= ends[pe]->detected_at);
		assert_int_equal(ends[pe]->opened_at, 0);
		assert_int_equal(ends[pe]->resumed_at, 0);
	}
	again = model_now;
	hosts[1].is_blocked = 0;
	model_now += 260 * SHMEMHI_MS;
	steps(60);
	for (int pe = 0; pe < 2; pe++) {
		assert_true(ends[pe]->fenced_at < again);
		assert_true(ends[pe]->opened_at > again);
		assert_true(ends[pe]->resumed_at >= ends[pe]->opened_at);
		assert_int_equal(ends[pe]->outage_ns, ends[pe]->resumed_at - ends[pe]->detected_at);
	}
	/* The next outage has instants of its own. */
	again = model_now;
	hosts[1].is_blocked = 1;
	fail_link(0, 1, 0);
	steps(60);
	assert_true(ends[0]->detected_at > again && ends[0]->fenced_at > again);
	assert_true(!ends[0]->opened_at && !ends[0]->resumed_at);
	close_hosts();
}

/* A path that opens at both ends and fails before its order is carried out: the switch goes on with
 * the next one, and the outage is one. */
static void instants_of_two_paths(void **state)
{
	const shmemhi_fault_channel_t *c;
	uint64_t detected, fenced;

	(void)state;
	set_up_pair();
	c = channel_of(0, 1, 0);
	stuck_kind = SHMEMHI_ACT_ORDER;
	hosts[0].core.config.ops = stuck_ops_of();
	fail_link(0, 1, 0);
	steps(60);
	assert_true(c->opened_at >= c->fenced_at && !c->resumed_at);
	detected = c->detected_at;
	fenced = c->fenced_at;
	hosts[1].is_blocked = 1;
	fail_link(0, 1, 0);
	steps(60);
	assert_int_equal(c->detected_at, detected);
	assert_true(c->fenced_at > fenced && !c->opened_at && !c->resumed_at);
	close_hosts();
}

/* Paths that open and fail again, each after this time, for so many times. PE 0 notices all of
 * them. Both ends count them alike. Returns the status. */
static int flap(int first, int cause, int no_traffic, uint64_t run_ns, int n)
{
	shmemhi_fault_ops_t ops = model_ops;
	int status = 0;

	set_up_pair();
	has_no_traffic = no_traffic;
	ops.next_event = planned_event;
	hosts[0].core.config.ops = hosts[1].core.config.ops = &ops;
	if (no_traffic) /* path 0 too */
		end_of(0, 1, 0)->eps[0].executed = end_of(1, 0, 0)->eps[0].executed = 0;
	memset(pair_of(0, 1, 0)->is_faulted, 1, MAX_PATHS);
	may_give_up(0, 1);
	for (int i = 0; i < n && !status; i++) {
		plan(SHMEMHI_EV_FAULT, path_in_use(0, 1, 0), i ? cause : first, 0x15);
		steps(40);
		status = shmemhi_fault_status(channel_of(0, 1, 0));
		assert_int_equal(shmemhi_fault_status(channel_of(1, 0, 0)), status);
		model_now += run_ns;
	}
	has_no_traffic = 0;
	close_hosts();
	return status;
}

/* Ports are up, and nothing passes: as no path. */
static void paths_that_do_not_work(void **state)
{
	enum { retries = SHMEMH_FAULT_BY_RETRIES, move = SHMEMH_FAULT_BY_MOVE };
	const uint64_t s = SHMEMHI_SECOND;

	(void)state;
	assert_int_equal(flap(retries, retries, 1, 3 * s, 15), SHMEMD_ERR_PEER);
	/* No end: something passed, the reason is known, or the paths ran for long. */
	assert_int_equal(flap(retries, retries, 0, 3 * s, 15), 0);
	assert_int_equal(flap(SHMEMH_FAULT_BY_PORT, SHMEMH_FAULT_BY_PORT, 1, 3 * s, 15), 0);
	assert_int_equal(flap(retries, retries, 1, GIVEUP_NS + SILENCE_NS, 5), 0);
	/* Paths whose requests fail late, after a while without any. */
	assert_int_equal(flap(retries, retries, 1, SILENCE_NS + 5 * s, 5), SHMEMD_ERR_PEER);
	/* Ports are changed because this channel has failed, or because others have. */
	assert_int_equal(flap(retries, move, 1, 3 * s, 15), SHMEMD_ERR_PEER);
	assert_int_equal(flap(move, move, 1, 3 * s, 15), 0);
}

static bool never_done(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
		       shmemhi_switch_event_t *result)
{
	(void)self, (void)pe, (void)k, (void)a, (void)result;
	return false;
}

/* The bootstrap says that the peer is gone, or that this PE has lost it: then nothing is known of
 * the peer, and the cause is another one. */
static void ended_by_the_bootstrap(uint32_t reason, uint32_t want)
{
	const shmemhi_fault_channel_t *c;

	set_up_pair();
	c = channel_of(0, 1, 0);
	may_give_up(0, 1);
	hosts[0].causes[1] = reason;
	hosts[0].n_gone++;
	steps(40);
	assert_int_equal(shmemhi_fault_state(c), SHMEMH_FAULT_ENDED);
	assert_int_equal(shmemhi_fault_status(c), SHMEMD_ERR_PEER);
	assert_int_equal(c->cause.kind, want);
	assert_false(c->is_found_at_peer);
	close_hosts();
}

static void reasons_of_the_bootstrap(void **state)
{
	(void)state;
	ended_by_the_bootstrap(SHMEMD_CAUSE_DIED, SHMEMH_FAULT_BY_PEER_DEAD);
	ended_by_the_bootstrap(SHMEMD_CAUSE_LEFT, SHMEMH_FAULT_BY_PEER_DEAD);
	ended_by_the_bootstrap(SHMEMD_CAUSE_CUT_OFF, SHMEMH_FAULT_BY_CUT_OFF);
}

/* A peer that breaks the protocol, while an action here is not done: nothing overflows. */
static void too_many_actions(void **state)
{
	shmemhi_fault_ops_t ops = model_ops;
	queue_t *q = &queues[1][0];

	(void)state;
	set_up_pair();
	ops.execute = never_done;
	ops.next_event = planned_event;
	hosts[0].core.config.ops = &ops;
	memset(pair_of(0, 1, 0)->is_faulted, 1, MAX_PATHS);
	end_of(1, 0, 0)->may_be_lost = 1;
	plan(SHMEMHI_EV_FAULT, 0, SHMEMH_FAULT_BY_RETRIES, 0x15);
	plan(SHMEMHI_EV_DEAD, 0, 0, 0);
	q->first = q->n = 0;
	for (uint32_t i = 0; i < 2 * MAX_PATHS; i++)
		q->messages[q->n++] = (shmemhi_fault_message_t){
			.kind = i % 2 ? SHMEMHI_EV_FENCED : SHMEMHI_EV_FENCE, .path = i / 2};
	step(0);
	assert_true(channel_of(0, 1, 0)->n_todo <= SHMEMHI_FAULT_TODO);
	assert_true(hosts[0].core.n_refused > 0);
	close_hosts();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events),
		cmocka_unit_test(paths_that_do_not_work),
		cmocka_unit_test(causes_are_told),
		cmocka_unit_test(reasons_of_the_bootstrap),
		cmocka_unit_test(instants),
		cmocka_unit_test(instants_of_two_paths),
		cmocka_unit_test(too_many_actions),
		cmocka_unit_test(cause_of_the_path_before),
		cmocka_unit_test(leave_after_a_status),
		cmocka_unit_test(leave_for_a_refusal),
	};
	const char *runs = getenv("FAULT_RUNS");

	if (runs)
		n_runs = strtoull(runs, NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
