/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What is around two ends of a channel (fault/switch.h), as a model: devices, adapters, a network
 * that holds packets back, hosts whose actions and messages take any time. It knows which requests
 * took effect at the responder, and checks each step. */
#ifndef TESTS_FAULT_MODEL_H
#define TESTS_FAULT_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <shmem_dev/abi/status.h>
#include "fault/switch.h"

#define N_REQUESTS 6 /* of each direction */
#define N_PATHS 16
#define N_QUEUE 64
#define NONE (-1)

enum endpoint_state { INIT, RTS, ERR, DEAD };

/* A queue pair, as requester and as responder. */
typedef struct endpoint {
	int state;
	int peer;                            /* the other end's endpoint, or NONE */
	uint32_t first;                      /* request number 0 of this path */
	uint32_t rung, sent, acked, visible; /* as requester; visible: CQEs in memory */
	uint32_t executed, placed;           /* as responder; placed: data in memory */
	int was_refused;                     /* its request was refused */
} endpoint_t;

typedef struct end {
	shmemhi_switch_t machine;
	endpoint_t eps[N_PATHS];
	int n_eps, of_path[N_PATHS];
	shmemhi_switch_action_t actions[N_QUEUE];
	shmemhi_switch_event_t messages[N_QUEUE];
	uint32_t first_action, n_actions, first_message, n_messages;
	int is_preparing, is_blocked; /* blocked: no port can be used */
	int is_gone;
	/* device */
	int ep; /* in use */
	uint32_t posted;
	int status, has_order;
	shmemhi_switch_action_t order;
	/* oracle, for this end as requester */
	uint32_t n_effective, bad; /* bad: the request that the responder refuses */
	int n_refused;
	int may_be_lost, may_be_peer; /* statuses that the injected faults permit */
} end_t;

enum fault { LINK, ADAPTER, STALE, GIVE_UP, PEER, N_FAULTS };

static end_t ends[2];
static int is_down[N_PATHS], is_faulted[N_PATHS], detectors[N_PATHS];
static int n_faults_left;
static uint64_t random_state, run_seed;
static uint64_t n_events;

static uint32_t draw(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("run %llu: %s", (unsigned long long)run_seed, #condition);        \
	} while (0)

static void event(int e, int kind, uint32_t path, uint64_t value)
{
	end_t *end = &ends[e];
	shmemhi_switch_action_t actions[SHMEMHI_SWITCH_ACTIONS];
	uint32_t before = end->machine.path;
	int was_closed = end->machine.phase == SHMEMHI_CLOSED;
	int n = shmemhi_switch_event(&end->machine, (shmemhi_switch_event_t){kind, path, value},
				     actions);

	n_events++;
	CHECK(n <= SHMEMHI_SWITCH_ACTIONS && end->n_actions + (uint32_t)n <= N_QUEUE);
	CHECK(end->machine.path == before || is_faulted[before]);
	CHECK(end->machine.path < N_PATHS);
	CHECK(!was_closed || end->machine.phase == SHMEMHI_CLOSED);
	for (int i = 0; i < n; i++)
		end->actions[(end->first_action + end->n_actions++) % N_QUEUE] = actions[i];
}

/* Adapters and the network */

/* The endpoint at the other end, or NULL. */
static endpoint_t *other(int e, const endpoint_t *ep)
{
	return ep->peer == NONE ? NULL : &ends[1 - e].eps[ep->peer];
}

static uint32_t path_of(const end_t *end, int ep)
{
	uint32_t path = 0;

	while (path + 1 < N_PATHS && end->of_path[path] != ep)
		path++;
	return path;
}

static int send_one(int e, int i)
{
	endpoint_t *ep = &ends[e].eps[i];

	if (ep->state != RTS || ep->sent == ep->rung || is_down[path_of(&ends[e], i)])
		return 0;
	ep->sent++;
	return 1;
}

/* Execute a request that has arrived; it may have been under way for long. The responder's data
 * reaches memory later. */
static int execute_one(int e, int i)
{
	endpoint_t *ep = &ends[e].eps[i], *from = other(e, ep);
	end_t *requester = &ends[1 - e];

	if (ep->state != RTS || !from || from->peer != i || ep->executed == from->sent)
		return 0;
	if (from->first + ep->executed != requester->bad) {
		ep->executed++;
		return 1;
	}
	if (from->state != RTS || is_down[path_of(&ends[e], i)])
		return 0;
	ep->state = from->state = ERR; /* the refusal arrives */
	from->was_refused = 1;
	requester->n_refused++;
	CHECK(requester->n_refused == 1);
	is_faulted[path_of(&ends[e], i)] = 1;
	return 1;
}

static int place_one(int e, int i)
{
	endpoint_t *ep = &ends[e].eps[i], *from = other(e, ep);
	end_t *requester = &ends[1 - e];

	if (ep->state == DEAD || ep->placed == ep->executed)
		return 0;
	CHECK(from->first + ep->placed == requester->n_effective);
	requester->n_effective++;
	ep->placed++;
	return 1;
}

static int acknowledge_one(int e, int i)
{
	endpoint_t *ep = &ends[e].eps[i], *to = other(e, ep);

	if (ep->state != RTS || !to || is_down[path_of(&ends[e], i)] || ep->acked == to->executed)
		return 0;
	ep->acked++;
	return 1;
}

static int complete_one(int e, int i)
{
	endpoint_t *ep = &ends[e].eps[i];

	if (ep->state == DEAD || ep->visible == ep->acked)
		return 0;
	ep->visible++;
	return 1;
}

/* Devices */

static int post_one(int e)
{
	end_t *end = &ends[e];

	if (end->posted == N_REQUESTS || end->status)
		return 0;
	end->posted++;
	end->eps[end->ep].rung++;
	return 1;
}

/* Carry out the order: the oracle for its number. */
static void switch_device(int e, const shmemhi_switch_action_t *order)
{
	end_t *end = &ends[e];
	endpoint_t *old = &end->eps[end->ep], *to = other(e, old), *new;

	end->ep = end->of_path[order->path];
	new = &end->eps[end->ep];
	CHECK(to->state == ERR || ends[1 - e].is_gone);
	CHECK(to->executed == order->value && to->placed == to->executed);
	CHECK(old->visible == old->acked || old->state == DEAD);
	new->first = old->first + (uint32_t)order->value;
	new->rung = end->posted - new->first;
	CHECK(end->status == 0 && new->first <= end->posted);
}

static int carry_out(int e)
{
	end_t *end = &ends[e];
	shmemhi_switch_action_t order = end->order;

	if (!end->has_order)
		return 0;
	end->has_order = 0;
	if (order.kind == SHMEMHI_ACT_END)
		end->status = (int)order.value;
	else
		switch_device(e, &order);
	event(e, SHMEMHI_EV_CARRIED_OUT, order.path, 0);
	return 1;
}

/* Hosts */

static void push_message(int e, const shmemhi_switch_action_t *a)
{
	end_t *to = &ends[1 - e];

	if (a->message == SHMEMHI_EV_OFFER)
		ends[e].of_path[a->path] = (int)a->value;
	for (uint32_t n = 1 + !draw(8); n > 0; n--) {
		CHECK(to->n_messages < N_QUEUE);
		to->messages[(to->first_message + to->n_messages++) % N_QUEUE] =
			(shmemhi_switch_event_t){a->message, a->path, a->value};
	}
}

/* A step of the fence, and its result. */
static void fence_step(int e, const shmemhi_switch_action_t *a)
{
	static const int results[] = {[SHMEMHI_ACT_STOP] = SHMEMHI_EV_STOPPED,
				      [SHMEMHI_ACT_DRAIN] = SHMEMHI_EV_DRAINED,
				      [SHMEMHI_ACT_FLUSH] = SHMEMHI_EV_FLUSHED,
				      [SHMEMHI_ACT_QUERY] = SHMEMHI_EV_QUERIED};
	end_t *end = &ends[e];
	endpoint_t *ep = &end->eps[end->of_path[a->path]];

	if (ep->state == DEAD) {
		event(e, SHMEMHI_EV_DEAD, a->path, 0);
		return;
	}
	if (a->kind == SHMEMHI_ACT_STOP)
		ep->state = ERR;
	if (a->kind == SHMEMHI_ACT_DRAIN)
		ep->visible = ep->acked;
	if (a->kind == SHMEMHI_ACT_DRAIN && ep->was_refused)
		event(e, SHMEMHI_EV_REFUSED, a->path, SHMEMD_ERR_REFUSED);
	if (a->kind == SHMEMHI_ACT_FLUSH)
		for (int i = 0; i < end->n_eps; i++)
			while (place_one(e, i))
				;
	event(e, results[a->kind], a->path, ep->executed);
}

static void connect_ends(int e, const shmemhi_switch_action_t *a)
{
	endpoint_t *ep = &ends[e].eps[ends[e].of_path[a->path]];

	CHECK(ep->peer == NONE);
	if (ep->state == DEAD) {
		event(e, SHMEMHI_EV_FAULT, a->path, 0);
		return;
	}
	CHECK(ep->state == INIT);
	ep->peer = (int)a->value;
	ep->state = RTS;
	event(e, SHMEMHI_EV_CONNECTED, a->path, 0);
}

static void give_order(int e, const shmemhi_switch_action_t *a)
{
	end_t *end = &ends[e];
	const endpoint_t *to = NULL;

	CHECK(!end->has_order && !end->status);
	if (a->kind == SHMEMHI_ACT_ORDER) {
		to = other(e, &end->eps[end->of_path[a->path]]);
		CHECK(to && to->peer == end->of_path[a->path]);
	}
	end->has_order = 1;
	end->order = *a;
}

static int act_one(int e)
{
	end_t *end = &ends[e];
	shmemhi_switch_action_t a = end->actions[end->first_action % N_QUEUE];

	if (end->is_gone || !end->n_actions)
		return 0;
	end->first_action++;
	end->n_actions--;
	switch (a.kind) {
	case SHMEMHI_ACT_SEND:
		push_message(e, &a);
		break;
	case SHMEMHI_ACT_PREPARE:
		CHECK(!end->is_preparing);
		end->is_preparing = 1;
		break;
	case SHMEMHI_ACT_CONNECT:
		connect_ends(e, &a);
		break;
	case SHMEMHI_ACT_ORDER:
	case SHMEMHI_ACT_END:
		give_order(e, &a);
		break;
	default:
		fence_step(e, &a);
	}
	return 1;
}

static int deliver_one(int e)
{
	end_t *end = &ends[e];
	shmemhi_switch_event_t m = end->messages[end->first_message % N_QUEUE];

	if (end->is_gone || !end->n_messages)
		return 0;
	end->first_message++;
	end->n_messages--;
	event(e, m.kind, m.path, m.value);
	return 1;
}

static int prepare_one(int e)
{
	end_t *end = &ends[e];
	int i = end->n_eps;

	if (end->is_gone || !end->is_preparing || end->is_blocked)
		return 0;
	CHECK(i < N_PATHS);
	end->n_eps++;
	end->eps[i] = (endpoint_t){.state = INIT, .peer = NONE};
	end->is_preparing = 0;
	event(e, SHMEMHI_EV_PREPARED, end->machine.path, (uint64_t)i);
	return 1;
}

static int has_endpoint(const end_t *end)
{
	return end->machine.phase >= SHMEMHI_OFFERED && end->machine.phase <= SHMEMHI_RUNNING;
}

/* A path can fail from OFFERED to RUNNING; an adapter can die then, and while the path is being
 * fenced, from STOPPING to QUERYING. */
static int is_possible(int fault, int phase)
{
	return fault > ADAPTER || (phase >= SHMEMHI_OFFERED && phase <= SHMEMHI_RUNNING) ||
	       (fault == ADAPTER && phase >= SHMEMHI_STOPPING && phase <= SHMEMHI_QUERYING);
}

/* An end notices that its path has failed, if this end is one that does. */
static int detect_one(int e)
{
	end_t *end = &ends[e];
	uint32_t path = end->machine.path;
	int i = end->of_path[path];

	if (end->is_gone || i == NONE)
		return 0;
	if (end->eps[i].state == DEAD && is_possible(ADAPTER, end->machine.phase))
		event(e, SHMEMHI_EV_DEAD, path, 0);
	else if (!has_endpoint(end))
		return 0;
	else if (end->eps[i].was_refused && !end->machine.status && draw(2))
		event(e, SHMEMHI_EV_REFUSED, path, SHMEMD_ERR_REFUSED);
	else if ((is_down[path] && detectors[path] >> e & 1) || end->eps[i].state == ERR)
		event(e, SHMEMHI_EV_FAULT, path, 0);
	else
		return 0;
	return 1;
}

#endif
