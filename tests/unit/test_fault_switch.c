/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The state machine of the switch (fault/switch.h) against a model of everything around it: two
 * ends with devices, adapters, a network that holds packets back, and hosts whose actions and
 * messages take any time. Random events, faults at any moment, in any phase of the switch.
 *
 * The model knows which requests took effect at the responder. Checked at each step: every request
 * takes effect once and in order; no CQE is written after the device has switched; orders are given
 * one at a time, with the number of requests that the fenced responder has executed, and only when
 * both ends are connected; a path that works is never left. At the end: every request took effect,
 * or the direction ended with a status that one of the injected faults permits.
 *
 * FAULT_RUNS=n: so many runs instead of the default, and a table: how often each fault met each
 * phase. */
#include <stdio.h>
#include <stdlib.h>
#include "fault_model.h"

#define N_RUNS 100000
#define MAX_TURNS 20000 /* of a run; in a million runs, the longest had 188 */

static uint64_t n_runs = N_RUNS;
static uint64_t coverage[N_FAULTS][SHMEMHI_CLOSED + 1];

/* Faults, and how often each met each phase */

static void kill_adapter(int e, uint32_t path)
{
	end_t *end = &ends[e];
	endpoint_t *ep = &end->eps[end->of_path[path]];

	ep->state = DEAD;
	ep->acked = ep->visible; /* nothing reaches memory any more, */
	if (ep->was_refused && !end->machine.status)
		end->n_refused = ep->was_refused = 0; /* the CQE of a refusal included */
	is_faulted[path] = 1;
	ends[1 - e].may_be_lost = 1;
}

static void give_up(int e)
{
	end_t *end = &ends[e];

	if (end->machine.phase != SHMEMHI_RUNNING || end->machine.is_pending)
		ends[0].may_be_peer = ends[1].may_be_peer = 1;
	event(e, SHMEMHI_EV_GIVE_UP, end->machine.path, 0);
}

static void kill_peer(int e)
{
	end_t *end = &ends[e];

	end->is_gone = 1;
	end->n_actions = 0;
	for (int i = 0; i < end->n_eps; i++)
		end->eps[i].state = DEAD;
	ends[1 - e].may_be_peer = 1;
	event(1 - e, SHMEMHI_EV_PEER_DEAD, 0, 0);
}

/* A report of an earlier path, or of this one after its fence. */
static void report_late(int e, uint32_t path)
{
	if (is_possible(ADAPTER, ends[e].machine.phase))
		path--;
	event(e, draw(2) ? SHMEMHI_EV_FAULT : SHMEMHI_EV_DEAD, path - draw(2), 0);
}

/* A fault of this kind at this end, now. */
static int inject(int e, int fault)
{
	end_t *end = &ends[e];
	uint32_t path = end->machine.path;

	if (end->is_gone || ends[1 - e].is_gone || !n_faults_left)
		return 0;
	if (!is_possible(fault, end->machine.phase) ||
	    (fault <= ADAPTER && end->of_path[path] == NONE) || (fault == LINK && is_down[path]))
		return 0;
	n_faults_left--;
	coverage[fault][end->machine.phase]++;
	if (fault == LINK) {
		is_down[path] = is_faulted[path] = 1;
		detectors[path] = 1 + (int)draw(3);
		if (!(detectors[path] >> e & 1) && end->machine.phase == SHMEMHI_OFFERED)
			detectors[path] |= 1 << e; /* the other may never have an endpoint */
	} else if (fault == ADAPTER) {
		kill_adapter(e, path);
	} else if (fault == STALE) {
		report_late(e, path);
	} else if (fault == GIVE_UP) {
		give_up(e);
	} else if (draw(4) == 0) {
		kill_peer(1 - e);
	}
	return 1;
}

/* Runs */

static void set_up(uint64_t seed)
{
	run_seed = seed;
	random_state = (seed + 1) * 0x9e3779b97f4a7c15u;
	memset(ends, 0, sizeof ends);
	memset(is_down, 0, sizeof is_down);
	memset(is_faulted, 0, sizeof is_faulted);
	for (int e = 0; e < 2; e++) {
		end_t *end = &ends[e];

		shmemhi_switch_init(&end->machine);
		for (int p = 1; p < N_PATHS; p++)
			end->of_path[p] = NONE;
		end->n_eps = 1;
		end->eps[0] = (endpoint_t){.state = RTS, .peer = 0};
		end->bad = draw(8) ? N_REQUESTS : draw(N_REQUESTS);
	}
	n_faults_left = (int)draw(8);
}

/* A step of this kind at an end, with an endpoint if it is one of an endpoint. Returns whether
 * there was one to do. */
static int one_step(uint32_t kind, int e, int endpoint)
{
	static int (*const with_endpoint[])(int e, int endpoint) = {
		send_one, execute_one, place_one, acknowledge_one, complete_one};
	static int (*const others[])(int e) = {post_one,    carry_out,   act_one,
					       deliver_one, prepare_one, detect_one};

	return kind < 5 ? with_endpoint[kind](e, endpoint) : others[kind - 5](e);
}

#define N_KINDS 11u

/* Is something left to do? Then do it. */
static int any_step(void)
{
	for (uint32_t kind = 0; kind < N_KINDS; kind++)
		for (int e = 0; e < 2; e++)
			for (int i = 0; i < ends[e].n_eps; i++)
				if (one_step(kind, e, i))
					return 1;
	return 0;
}

/* Those that end a run are rarer. */
static int some_fault(void)
{
	static const int often[] = {LINK, LINK, LINK, LINK, ADAPTER, ADAPTER, STALE};

	return draw(8) ? often[draw(sizeof often / sizeof often[0])] : (int)draw(N_FAULTS);
}

/* Random steps and faults, then steps until nothing is left to do. Some kinds of steps are slow, so
 * that many of the others come before them. */
static void run(void)
{
	uint32_t slow = draw(1u << N_KINDS) & draw(1u << N_KINDS);

	for (int turns = 0; n_faults_left || any_step(); turns++) {
		CHECK(turns < MAX_TURNS);
		for (int i = 0; i < 40; i++) {
			int e = (int)draw(2);
			uint32_t kind = draw(N_KINDS);

			if (!(slow >> kind & 1) || draw(64) == 0)
				one_step(kind, e, (int)draw((uint32_t)ends[e].n_eps));
			if (draw(10) == 0)
				ends[e].is_blocked = draw(4) == 0;
			if (draw(400) == 0)
				n_faults_left -= n_faults_left > 0;
			else if (draw(40) == 0)
				inject(e, some_fault());
			if (!n_faults_left)
				ends[0].is_blocked = ends[1].is_blocked = 0;
		}
	}
}

/* None is left over, and none that the peer could still reach after the end of both directions. */
static void check_endpoints(const end_t *end)
{
	int is_closed = end->machine.phase == SHMEMHI_CLOSED;

	for (int i = 0; i < end->n_eps; i++) {
		CHECK(is_closed || end->of_path[path_of(end, i)] == i);
		CHECK(!is_closed || end->eps[i].state != RTS);
	}
}

static void check_end(int e)
{
	const end_t *end = &ends[e];

	if (end->is_gone)
		return;
	CHECK(!end->n_actions && !end->n_messages && !end->has_order);
	check_endpoints(end);
	switch (end->status) {
	case 0:
		CHECK(end->posted == N_REQUESTS && end->n_effective == N_REQUESTS);
		CHECK(end->eps[end->ep].visible + end->eps[end->ep].first == N_REQUESTS);
		break;
	case SHMEMD_ERR_REFUSED:
		CHECK(end->n_refused && end->n_effective <= end->bad);
		CHECK(end->n_effective == end->bad || end->may_be_lost || end->may_be_peer);
		break;
	case SHMEMD_ERR_LOST:
		CHECK(end->may_be_lost);
		break;
	default:
		CHECK(end->status == SHMEMD_ERR_PEER && end->may_be_peer);
	}
}

static void random_events(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < n_runs; seed++) {
		set_up(seed);
		run();
		check_end(0);
		check_end(1);
	}
}

/* A status that is known while an order is under way is reported after it, and is not replaced. */
static void first_status_counts(void **state)
{
	static const shmemhi_switch_event_t events[] = {{SHMEMHI_EV_FAULT, 0, 0},
							{SHMEMHI_EV_STOPPED, 0, 0},
							{SHMEMHI_EV_DRAINED, 0, 0},
							{SHMEMHI_EV_FLUSHED, 0, 0},
							{SHMEMHI_EV_QUERIED, 0, 0},
							{SHMEMHI_EV_FENCED, 0, 5},
							{SHMEMHI_EV_PREPARED, 1, 1},
							{SHMEMHI_EV_OFFER, 1, 1},
							{SHMEMHI_EV_CONNECTED, 1, 0},
							{SHMEMHI_EV_OPEN, 1, 0},
							{SHMEMHI_EV_REFUSED, 1, SHMEMD_ERR_REFUSED},
							{SHMEMHI_EV_PEER_DEAD, 1, 0},
							{SHMEMHI_EV_CARRIED_OUT, 1, 0}};
	shmemhi_switch_action_t actions[SHMEMHI_SWITCH_ACTIONS];
	shmemhi_switch_t s;
	int n = 0;

	(void)state;
	shmemhi_switch_init(&s);
	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
		n = shmemhi_switch_event(&s, events[i], actions);
	assert_int_equal(n, 1);
	assert_int_equal(actions[0].kind, SHMEMHI_ACT_END);
	assert_int_equal(actions[0].value, SHMEMD_ERR_REFUSED);
}

static const char *const phases[] = {"preparing", "offered",  "connecting", "connected",
				     "running",   "stopping", "draining",   "flushing",
				     "querying",  "fenced",   "closed"};
static const char *const faults[N_FAULTS] = {"path fails", "adapter dies", "late report", "give up",
					     "peer dies"};

/* Every fault has met every phase in which it is possible. */
static void every_phase_was_met(void **state)
{
	(void)state;
	for (int f = 0; f < N_FAULTS; f++)
		for (int p = 0; p <= SHMEMHI_CLOSED; p++)
			if (is_possible(f, p) && !coverage[f][p])
				fail_msg("no run in which: %s, %s", faults[f], phases[p]);
}

static void print_coverage(void)
{
	printf("%llu runs, %llu events\n%-12s", (unsigned long long)n_runs,
	       (unsigned long long)n_events, "");
	for (int f = 0; f < N_FAULTS; f++)
		printf(" %12s", faults[f]);
	printf("\n");
	for (int p = 0; p <= SHMEMHI_CLOSED; p++) {
		printf("%-12s", phases[p]);
		for (int f = 0; f < N_FAULTS; f++)
			printf(" %12llu", (unsigned long long)coverage[f][p]);
		printf("\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events),
		cmocka_unit_test(every_phase_was_met),
		cmocka_unit_test(first_status_counts),
	};
	const char *runs = getenv("FAULT_RUNS");
	int failed;

	if (runs)
		n_runs = strtoull(runs, NULL, 10);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (runs)
		print_coverage();
	return failed;
}
