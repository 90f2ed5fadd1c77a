/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Two to four agents (fault/machines.h) in one process, over a model of what is around them:
 * endpoints, a device for each PE with one order word, and connections between hosts that delay
 * messages. Each call of the agent is checked. */
#ifndef TESTS_FAULT_AGENTS_H
#define TESTS_FAULT_AGENTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <shmem_dev/abi/ctx.h>
#include "base/clock.h"
#include "fault/machines.h"

#define MAX_PES 4
#define MAX_CHANNELS 3
#define MAX_PATHS 24
#define MAX_QUEUE 256
#define NONE (-1)
#define GIVEUP_NS (30 * SHMEMHI_SECOND)
#define SILENCE_NS (9 * SHMEMHI_SECOND)

enum endpoint_state { INIT, RTS, STOPPED, DRAINED, FLUSHED, QUERIED, DEAD };

typedef struct endpoint {
	int state, peer; /* peer: the other end's endpoint, or NONE */
	uint64_t executed;
} endpoint_t;

/* This PE's end of a channel. */
typedef struct end {
	endpoint_t eps[MAX_PATHS];
	int n_eps, of_path[MAX_PATHS];
	uint32_t reported[MAX_PATHS]; /* faults of the path that were reported */
	uint32_t used;                /* path of the device's latest order */
	int is_preparing, status, status_due;
	int was_refused, may_be_lost, may_be_peer;
} end_t;

/* What both ends share. */
typedef struct pair {
	uint8_t is_faulted[MAX_PATHS], is_down[MAX_PATHS];
} pair_t;

typedef struct queue {
	shmemhi_fault_message_t messages[MAX_QUEUE];
	uint32_t first, n;
} queue_t;

typedef struct host {
	shmemhi_fault_core_t core;
	_Atomic uint32_t causes[MAX_PES];
	_Atomic int n_gone;
	int pe, is_gone, is_blocked; /* blocked: none of its ports can be used */
	int ordering;                /* channel of the order that the device has, or NONE */
	int unreachable[MAX_PES];    /* the core has said so */
	end_t ends[MAX_PES][MAX_CHANNELS];
} host_t;

static host_t hosts[MAX_PES];
static pair_t pairs[MAX_PES][MAX_PES][MAX_CHANNELS]; /* [lower][higher or equal] */
static queue_t queues[MAX_PES][MAX_PES];             /* [from][to] */
static int n_pes, is_settling, n_faults_left;
static int has_no_traffic; /* paths are connected, and nothing passes */
static uint32_t n_channels;
static uint64_t model_now, random_state, run_seed, n_steps, n_expected_refusals;

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

static pair_t *pair_of(int a, int b, uint32_t k)
{
	return a < b ? &pairs[a][b][k] : &pairs[b][a][k];
}

static end_t *end_of(int pe, int peer, uint32_t k)
{
	return &hosts[pe].ends[peer][k];
}

static shmemhi_fault_channel_t *channel_of(int pe, int peer, uint32_t k)
{
	return &hosts[pe].core.channels[(uint32_t)peer * n_channels + k];
}

static uint32_t path_in_use(int pe, int peer, uint32_t k)
{
	const shmemhi_fault_channel_t *c = channel_of(pe, peer, k);

	return c->is_open ? c->machine.path : 0;
}

static int has_endpoint(int pe, int peer, uint32_t k)
{
	const shmemhi_fault_channel_t *c = channel_of(pe, peer, k);

	return !c->is_open ||
	       (c->machine.phase >= SHMEMHI_OFFERED && c->machine.phase <= SHMEMHI_RUNNING);
}

/* Not now? In the end everything gets done. */
static int is_delayed(void)
{
	return !is_settling && draw(3) == 0;
}

/* Actions */

static endpoint_t *endpoint_of(end_t *end, uint32_t path)
{
	CHECK(path < MAX_PATHS && end->of_path[path] != NONE);
	return &end->eps[end->of_path[path % MAX_PATHS]];
}

/* A step of the fence: each one once, in their order. */
static int fence_step(end_t *end, const shmemhi_switch_action_t *a, int is_closed)
{
	static const int results[] = {[SHMEMHI_ACT_STOP] = SHMEMHI_EV_STOPPED,
				      [SHMEMHI_ACT_DRAIN] = SHMEMHI_EV_DRAINED,
				      [SHMEMHI_ACT_FLUSH] = SHMEMHI_EV_FLUSHED,
				      [SHMEMHI_ACT_QUERY] = SHMEMHI_EV_QUERIED};
	endpoint_t *ep = endpoint_of(end, a->path);

	if (ep->state == DEAD)
		return SHMEMHI_EV_DEAD;
	if (a->kind == SHMEMHI_ACT_STOP)
		CHECK(ep->state <= RTS);
	else if (a->kind == SHMEMHI_ACT_FLUSH && is_closed)
		CHECK(ep->state == STOPPED || ep->state == DRAINED);
	else
		CHECK(ep->state == STOPPED + a->kind - SHMEMHI_ACT_DRAIN);
	ep->state = STOPPED + a->kind - SHMEMHI_ACT_STOP;
	if (a->kind == SHMEMHI_ACT_DRAIN && end->was_refused)
		end->status_due = SHMEMD_ERR_REFUSED; /* its CQE is found now */
	return results[a->kind];
}

static int connect_end(int pe, int peer, uint32_t k, const shmemhi_switch_action_t *a)
{
	endpoint_t *ep = endpoint_of(end_of(pe, peer, k), a->path);

	if (ep->state == DEAD)
		return SHMEMHI_EV_FAULT;
	CHECK(ep->state == INIT && ep->peer == NONE);
	CHECK((int)a->value == end_of(peer, pe, k)->of_path[a->path]);
	ep->peer = (int)a->value;
	ep->state = RTS;
	return SHMEMHI_EV_CONNECTED;
}

/* The order is written to the order word: is it the right one, and is the word free? */
static void give_order(int pe, int peer, uint32_t k, const shmemhi_switch_action_t *a)
{
	end_t *end = end_of(pe, peer, k), *there = end_of(peer, pe, k);

	CHECK(hosts[pe].ordering == NONE);
	hosts[pe].ordering = peer * MAX_CHANNELS + (int)k;
	CHECK(!end->status);
	if (a->kind == SHMEMHI_ACT_END) {
		CHECK(a->value != SHMEMD_ERR_REFUSED || end->was_refused);
		CHECK(a->value != SHMEMD_ERR_PEER || end->may_be_peer);
		CHECK(a->value == SHMEMD_ERR_REFUSED || a->value == SHMEMD_ERR_PEER ||
		      end->may_be_lost);
		return;
	}
	CHECK(!end->status_due);
	CHECK(endpoint_of(end, a->path)->peer == there->of_path[a->path]);
	CHECK(endpoint_of(end, end->used)->state >= QUERIED);
	CHECK(endpoint_of(there, end->used)->state >= QUERIED);
	CHECK(endpoint_of(there, end->used)->executed == a->value);
}

/* The device carries out an order some time after it was given. */
static int carry_out(int pe, int peer, uint32_t k, const shmemhi_switch_action_t *a)
{
	const int which = peer * MAX_CHANNELS + (int)k;
	end_t *end = end_of(pe, peer, k);

	if (hosts[pe].ordering != which)
		give_order(pe, peer, k, a);
	if (is_delayed())
		return NONE;
	hosts[pe].ordering = NONE;
	if (a->kind == SHMEMHI_ACT_END)
		end->status = (int)a->value;
	else
		end->used = a->path;
	return SHMEMHI_EV_CARRIED_OUT;
}

static int prepare(int pe, end_t *end, uint64_t *value)
{
	end->is_preparing = 1;
	if (hosts[pe].is_blocked)
		return NONE;
	CHECK(end->n_eps < MAX_PATHS);
	end->is_preparing = 0;
	*value = (uint64_t)end->n_eps;
	end->eps[end->n_eps++] =
		(endpoint_t){INIT, NONE, has_no_traffic ? 0 : 1 + draw((1u << 24) - 1)};
	return SHMEMHI_EV_PREPARED;
}

static bool model_execute(void *self, int peer, uint32_t k, const shmemhi_switch_action_t *a,
			  shmemhi_switch_event_t *result)
{
	const int pe = ((host_t *)self)->pe;
	end_t *end = end_of(pe, peer, k);

	if (a->kind == SHMEMHI_ACT_ORDER || a->kind == SHMEMHI_ACT_END) {
		result->kind = carry_out(pe, peer, k, a);
		return result->kind != NONE;
	}
	if (is_delayed())
		return false;
	switch (a->kind) {
	case SHMEMHI_ACT_PREPARE:
		result->kind = prepare(pe, end, &result->value);
		return result->kind != NONE;
	case SHMEMHI_ACT_CONNECT:
		result->kind = connect_end(pe, peer, k, a);
		return true;
	default:
		result->kind = fence_step(end, a,
					  channel_of(pe, peer, k)->machine.phase == SHMEMHI_CLOSED);
		if (a->kind == SHMEMHI_ACT_QUERY)
			result->value = endpoint_of(end, a->path)->executed;
		return true;
	}
}

static void model_pack(void *self, int peer, uint32_t k, uint32_t path, uint64_t endpoint,
		       unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	end_t *end = end_of(((host_t *)self)->pe, peer, k);

	CHECK(path < MAX_PATHS && endpoint < (uint64_t)end->n_eps);
	end->of_path[path] = (int)endpoint;
	memcpy(bytes, &endpoint, sizeof endpoint);
}

static uint64_t model_unpack(void *self, int peer, uint32_t k, uint32_t path,
			     const unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	uint64_t endpoint;

	CHECK(path == path_in_use(((host_t *)self)->pe, peer, k));
	memcpy(&endpoint, bytes, sizeof endpoint);
	return endpoint;
}

/* Faults that are noticed */

static bool model_is_in_error(void *self, int peer, uint32_t k, uint32_t path)
{
	end_t *end = end_of(((host_t *)self)->pe, peer, k);

	return end->of_path[path] != NONE && endpoint_of(end, path)->state > RTS;
}

static bool is_model_stuck; /* no kernel can be launched */

static bool model_is_order_stuck(void *self)
{
	return is_model_stuck && ((host_t *)self)->ordering != NONE;
}

static bool model_reaches(void *self, int pe)
{
	(void)self, (void)pe;
	return true; /* a PE has channels to itself too */
}

static bool model_is_needed(void *self, int pe)
{
	(void)self, (void)pe;
	return true;
}

enum report { REPORTED_FAULT = 1, REPORTED_DEAD = 2, REPORTED_REFUSED = 4 };

/* What this end has noticed of its channel and not reported yet. */
static bool notice(int pe, int peer, uint32_t k, shmemhi_switch_event_t *event,
		   shmemhi_fault_cause_t *cause)
{
	const uint32_t path = path_in_use(pe, peer, k);
	end_t *end = end_of(pe, peer, k);
	const endpoint_t *ep;

	event->path = path;
	if (end->status_due && !(end->reported[0] & REPORTED_REFUSED)) {
		end->reported[0] |= REPORTED_REFUSED;
		event->kind = SHMEMHI_EV_REFUSED;
		event->value = (uint64_t)end->status_due;
		return true;
	}
	if (path >= MAX_PATHS || end->of_path[path] == NONE)
		return false;
	ep = endpoint_of(end, path);
	if (ep->state == DEAD && !(end->reported[path] & REPORTED_DEAD)) {
		end->reported[path] |= REPORTED_DEAD;
		event->kind = SHMEMHI_EV_DEAD;
		return true;
	}
	if (!has_endpoint(pe, peer, k) || !pair_of(pe, peer, k)->is_down[path] ||
	    end->reported[path] & REPORTED_FAULT)
		return false;
	end->reported[path] |= REPORTED_FAULT;
	event->kind = SHMEMHI_EV_FAULT;
	cause->kind = 1 + draw(SHMEMH_FAULT_BY_MOVE);
	return true;
}

/* What is no reason to leave a path: late reports, silence, causes that are none. */
static bool report_nothing(host_t *h, int peer, uint32_t k, shmemhi_switch_event_t *event,
			   shmemhi_fault_cause_t *cause)
{
	static const uint32_t none[] = {SHMEMH_FAULT_BY_NONE,      SHMEMH_FAULT_BY_PROGRAM,
					SHMEMH_FAULT_BY_PEER_DEAD, SHMEMH_FAULT_BY_GIVEUP,
					SHMEMH_FAULT_BY_CUT_OFF,   77};
	const uint32_t path = path_in_use(h->pe, peer, k);

	event->path = path;
	switch (draw(3)) {
	case 0:
		event->kind = SHMEMHI_EV_SUSPECT;
		return true;
	case 1:
		event->kind = SHMEMHI_EV_FAULT;
		cause->kind = none[draw(6)];
		n_expected_refusals++;
		return true;
	default:
		if (path == 0)
			return false;
		event->kind = draw(2) ? SHMEMHI_EV_FAULT : SHMEMHI_EV_DEAD;
		event->path = path - 1;
		cause->kind = SHMEMH_FAULT_BY_RETRIES;
		return true;
	}
}

static bool model_next_event(void *self, int *pe, uint32_t *k, shmemhi_switch_event_t *event,
			     shmemhi_fault_cause_t *cause)
{
	host_t *h = self;

	memset(event, 0, sizeof *event);
	for (*pe = 0; *pe < n_pes; (*pe)++)
		for (*k = 0; *k < n_channels; (*k)++) {
			/* A refusal that DRAIN has found is there at once. */
			const int is_due = end_of(h->pe, *pe, *k)->status_due;

			if ((is_due || !is_delayed()) && notice(h->pe, *pe, *k, event, cause))
				return true;
			if (!is_settling && draw(200) == 0 &&
			    report_nothing(h, *pe, *k, event, cause))
				return true;
		}
	return false;
}

static void model_describe(void *self, int pe, uint32_t k, uint32_t path, shmemhi_fault_path_t *out)
{
	(void)self, (void)pe, (void)k, (void)path;
	memset(out, 0, sizeof *out);
}

static const shmemhi_fault_ops_t model_ops = {.reaches = model_reaches,
					      .is_needed = model_is_needed,
					      .execute = model_execute,
					      .next_event = model_next_event,
					      .is_order_stuck = model_is_order_stuck,
					      .is_in_error = model_is_in_error,
					      .pack = model_pack,
					      .unpack = model_unpack,
					      .describe = model_describe};

/* Connections between hosts */

static bool model_send(void *state, int to, const shmemhi_fault_message_t *m)
{
	host_t *h = state;
	queue_t *q = &queues[h->pe][to];

	if (!is_settling && draw(20) == 0)
		return false; /* no memory */
	CHECK(q->n < MAX_QUEUE);
	q->messages[(q->first + q->n++) % MAX_QUEUE] = *m;
	return true;
}

static bool model_receive(void *state, int *from, shmemhi_fault_message_t *m)
{
	host_t *h = state;

	for (*from = 0; *from < n_pes; (*from)++) {
		queue_t *q = &queues[*from][h->pe];

		if (!q->n || is_delayed())
			continue;
		*m = q->messages[q->first];
		if (!is_settling && draw(10) == 0)
			return true; /* and once more */
		q->first = (q->first + 1) % MAX_QUEUE;
		q->n--;
		return true;
	}
	return false;
}

static void model_forget(void *state, int pe)
{
	queues[((host_t *)state)->pe][pe].n = 0;
}

/* Hosts */

static uint64_t most_todo; /* actions of a channel that waited */

static void model_unreachable(void *arg, int pe)
{
	host_t *h = arg;

	CHECK(!h->unreachable[pe]);
	h->unreachable[pe] = 1;
}

static void open_host(int pe)
{
	const shmemhi_fault_config_t config = {
		.pe = pe,
		.n_pes = n_pes,
		.n_channels = n_channels,
		.giveup_ns = GIVEUP_NS,
		.silence_ns = SILENCE_NS,
		.ops = &model_ops,
		.self = &hosts[pe],
		.net = {&hosts[pe], model_send, model_receive, model_forget},
		.causes = hosts[pe].causes,
		.n_gone = &hosts[pe].n_gone,
		.log = {SHMEMHI_OFF, pe, n_pes},
		.unreachable = model_unreachable,
		.arg = &hosts[pe],
	};

	hosts[pe].pe = pe;
	hosts[pe].ordering = NONE;
	assert_int_equal(shmemhi_fault_core_open(&hosts[pe].core, &config), SHMEMH_OK);
	for (int peer = 0; peer < n_pes; peer++)
		for (uint32_t k = 0; k < n_channels; k++) {
			end_t *end = end_of(pe, peer, k);

			memset(end->of_path, NONE, sizeof end->of_path);
			end->of_path[0] = 0;
			end->eps[0] = (endpoint_t){RTS, 0, draw(1u << 24)};
			end->n_eps = 1;
		}
}

static void set_up(uint64_t seed)
{
	run_seed = seed;
	random_state = (seed + 1) * 0x9e3779b97f4a7c15u;
	memset(hosts, 0, sizeof hosts);
	memset(pairs, 0, sizeof pairs);
	for (int a = 0; a < MAX_PES; a++)
		for (int b = 0; b < MAX_PES; b++)
			queues[a][b].n = 0;
	n_pes = 2 + (int)draw(MAX_PES - 1);
	n_channels = 1 + draw(MAX_CHANNELS);
	model_now = 1;
	is_settling = 0;
	n_expected_refusals = 0;
	n_faults_left = (int)draw(6);
	for (int pe = 0; pe < n_pes; pe++)
		open_host(pe);
}

static void close_hosts(void)
{
	for (int pe = 0; pe < n_pes; pe++)
		shmemhi_fault_core_close(&hosts[pe].core);
}

/* Every change of a path has a fault of that path as its reason. */
static void step(int pe)
{
	uint32_t before[MAX_PES * MAX_CHANNELS] = {0};
	uint32_t n = 0;

	for (int peer = 0; peer < n_pes; peer++)
		for (uint32_t k = 0; k < n_channels; k++)
			before[n++] = path_in_use(pe, peer, k);
	shmemhi_fault_core_step(&hosts[pe].core, model_now);
	n_steps++;
	n = 0;
	for (int peer = 0; peer < n_pes; peer++)
		for (uint32_t k = 0; k < n_channels; k++, n++) {
			const shmemhi_fault_channel_t *c = channel_of(pe, peer, k);

			for (uint32_t p = before[n]; p < path_in_use(pe, peer, k); p++)
				CHECK(pair_of(pe, peer, k)->is_faulted[p]);
			if (c->n_todo > most_todo)
				most_todo = c->n_todo;
		}
}

#endif
