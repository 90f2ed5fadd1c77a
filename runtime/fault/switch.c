/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/switch.h"

#include <string.h>
#include <shmem_dev/abi/status.h>

/* Actions of the event being processed. */
typedef struct todo {
	shmemhi_switch_action_t *actions;
	int n;
} todo_t;

void shmemhi_switch_init(shmemhi_switch_t *s)
{
	memset(s, 0, sizeof *s);
	s->phase = SHMEMHI_RUNNING;
}

static void act(todo_t *t, int kind, uint32_t path, uint64_t value)
{
	t->actions[t->n++] = (shmemhi_switch_action_t){kind, 0, path, value};
}

static void send(todo_t *t, int message, uint32_t path, uint64_t value)
{
	t->actions[t->n++] = (shmemhi_switch_action_t){SHMEMHI_ACT_SEND, message, path, value};
}

/* Has this end an endpoint for the path whose fence has not begun? */
static int has_endpoint(const shmemhi_switch_t *s)
{
	return s->phase >= SHMEMHI_OFFERED && s->phase <= SHMEMHI_RUNNING;
}

static int is_fencing(const shmemhi_switch_t *s)
{
	return s->phase >= SHMEMHI_STOPPING && s->phase <= SHMEMHI_QUERYING;
}

/* Orders */

/* Give the device the next order, if it is due and the one before is carried out. A direction that
 * has ended gets no other order: what its program got wrong, or what may have been executed, is
 * never repeated. */
static void order(shmemhi_switch_t *s, todo_t *t)
{
	if (s->is_pending || s->is_ended)
		return;
	if (s->status) {
		act(t, SHMEMHI_ACT_END, s->path, s->status);
		s->is_ended = s->is_pending = 1;
	} else if (s->phase == SHMEMHI_RUNNING && s->ordered != s->path) {
		act(t, SHMEMHI_ACT_ORDER, s->path, s->executed);
		s->ordered = s->path;
		s->is_pending = 1;
	}
}

/* End this PE's direction; the first status counts. */
static void end(shmemhi_switch_t *s, todo_t *t, uint64_t status)
{
	if (!s->status)
		s->status = (uint8_t)status;
	order(s, t);
}

/* End both directions. FLUSH follows STOP here too, though no executed requests are counted: until
 * it is done the adapter may still write for the peer, and this PE must not use another one for
 * atomics. */
static void close_both(shmemhi_switch_t *s, todo_t *t)
{
	if (has_endpoint(s))
		act(t, SHMEMHI_ACT_STOP, s->path, 0);
	if (has_endpoint(s) || s->phase == SHMEMHI_STOPPING || s->phase == SHMEMHI_DRAINING)
		act(t, SHMEMHI_ACT_FLUSH, s->path, 0);
	s->phase = SHMEMHI_CLOSED;
	end(s, t, SHMEMD_ERR_PEER);
}

/* Opening a path */

static void connect_if_due(shmemhi_switch_t *s, todo_t *t)
{
	if (s->phase != SHMEMHI_OFFERED || !s->has_offer)
		return;
	s->phase = SHMEMHI_CONNECTING;
	act(t, SHMEMHI_ACT_CONNECT, s->path, s->offer);
}

static void offer(shmemhi_switch_t *s, todo_t *t, uint64_t endpoint)
{
	s->phase = SHMEMHI_OFFERED;
	send(t, SHMEMHI_EV_OFFER, s->path, endpoint);
	connect_if_due(s, t);
}

static void run_if_due(shmemhi_switch_t *s, todo_t *t)
{
	if (s->phase != SHMEMHI_CONNECTED || !s->is_peer_open)
		return;
	s->phase = SHMEMHI_RUNNING;
	order(s, t);
}

static void prepared(shmemhi_switch_t *s, todo_t *t, uint64_t endpoint)
{
	s->is_preparing = 0;
	if (s->phase == SHMEMHI_PREPARING) {
		offer(s, t, endpoint);
		return;
	}
	/* The peer has left the path meanwhile (FENCE). The endpoint has not been offered: it
	 * serves for the next path. */
	s->has_spare = 1;
	s->spare = endpoint;
}

/* Both ends are fenced: go on to the next path. */
static void next_if_due(shmemhi_switch_t *s, todo_t *t)
{
	if (s->phase != SHMEMHI_FENCED || !s->is_peer_fenced)
		return;
	s->path++;
	s->phase = SHMEMHI_PREPARING;
	s->is_peer_fenced = s->has_offer = s->is_peer_open = 0;
	if (s->has_spare) {
		s->has_spare = 0;
		offer(s, t, s->spare);
	} else if (!s->is_preparing) {
		s->is_preparing = 1;
		act(t, SHMEMHI_ACT_PREPARE, s->path, 0);
	}
}

/* Fencing a path */

/* The fence of this end is complete. */
static void fenced(shmemhi_switch_t *s, todo_t *t, uint64_t executed)
{
	s->phase = SHMEMHI_FENCED;
	send(t, SHMEMHI_EV_FENCED, s->path, executed);
	next_if_due(s, t);
}

static void fence(shmemhi_switch_t *s, todo_t *t)
{
	if (has_endpoint(s)) {
		s->phase = SHMEMHI_STOPPING;
		act(t, SHMEMHI_ACT_STOP, s->path, 0);
	} else if (s->phase == SHMEMHI_PREPARING) {
		fenced(s, t, 0);
	}
}

/* A step of the fence is done. */
static void step(shmemhi_switch_t *s, todo_t *t, int phase, int next)
{
	static const int actions[] = {[SHMEMHI_DRAINING] = SHMEMHI_ACT_DRAIN,
				      [SHMEMHI_FLUSHING] = SHMEMHI_ACT_FLUSH,
				      [SHMEMHI_QUERYING] = SHMEMHI_ACT_QUERY};

	if (s->phase != phase)
		return;
	s->phase = next;
	act(t, actions[next], s->path, 0);
}

static void dead(shmemhi_switch_t *s, todo_t *t)
{
	if (has_endpoint(s))
		send(t, SHMEMHI_EV_FENCE, s->path, 0);
	if (has_endpoint(s) || is_fencing(s))
		fenced(s, t, SHMEMHI_SWITCH_LOST);
}

static void peer_fenced(shmemhi_switch_t *s, todo_t *t, uint64_t executed)
{
	s->is_peer_fenced = 1;
	/* If this device has not used the path, the number counts none of its requests: keep the
	 * number of the path of the latest ORDER. */
	if (s->path == s->ordered) {
		s->executed = executed;
		if (executed == SHMEMHI_SWITCH_LOST)
			end(s, t, SHMEMD_ERR_LOST);
	}
	next_if_due(s, t);
}

/* Events */

static void on_message(shmemhi_switch_t *s, todo_t *t, shmemhi_switch_event_t e)
{
	switch (e.kind) {
	case SHMEMHI_EV_FENCE:
		fence(s, t);
		break;
	case SHMEMHI_EV_FENCED:
		peer_fenced(s, t, e.value);
		break;
	case SHMEMHI_EV_OFFER:
		s->has_offer = 1;
		s->offer = e.value;
		connect_if_due(s, t);
		break;
	case SHMEMHI_EV_OPEN:
		s->is_peer_open = 1;
		run_if_due(s, t);
		break;
	}
}

/* A fault of the path, or the result of an action for it. */
static void on_path(shmemhi_switch_t *s, todo_t *t, shmemhi_switch_event_t e)
{
	switch (e.kind) {
	case SHMEMHI_EV_FAULT:
		if (has_endpoint(s)) {
			send(t, SHMEMHI_EV_FENCE, s->path, 0);
			fence(s, t);
		}
		break;
	case SHMEMHI_EV_DEAD:
		dead(s, t);
		break;
	case SHMEMHI_EV_STOPPED:
		step(s, t, SHMEMHI_STOPPING, SHMEMHI_DRAINING);
		break;
	case SHMEMHI_EV_DRAINED:
		step(s, t, SHMEMHI_DRAINING, SHMEMHI_FLUSHING);
		break;
	case SHMEMHI_EV_FLUSHED:
		step(s, t, SHMEMHI_FLUSHING, SHMEMHI_QUERYING);
		break;
	case SHMEMHI_EV_QUERIED:
		if (s->phase == SHMEMHI_QUERYING)
			fenced(s, t, e.value);
		break;
	case SHMEMHI_EV_CONNECTED:
		if (s->phase == SHMEMHI_CONNECTING) {
			s->phase = SHMEMHI_CONNECTED;
			send(t, SHMEMHI_EV_OPEN, s->path, 0);
			run_if_due(s, t);
		}
		break;
	default:
		on_message(s, t, e);
	}
}

int shmemhi_switch_event(shmemhi_switch_t *s, shmemhi_switch_event_t event,
			 shmemhi_switch_action_t *actions)
{
	todo_t t = {actions, 0};

	switch (event.kind) {
	case SHMEMHI_EV_CARRIED_OUT:
		s->is_pending = 0;
		order(s, &t);
		break;
	case SHMEMHI_EV_REFUSED:
		end(s, &t, event.value);
		break;
	case SHMEMHI_EV_PREPARED:
		prepared(s, &t, event.value);
		break;
	case SHMEMHI_EV_GIVE_UP:
		if ((s->phase != SHMEMHI_RUNNING || s->is_pending) && s->phase != SHMEMHI_CLOSED) {
			send(&t, SHMEMHI_EV_ENDED, s->path, 0);
			close_both(s, &t);
		}
		break;
	case SHMEMHI_EV_PEER_DEAD:
	case SHMEMHI_EV_ENDED:
		if (s->phase != SHMEMHI_CLOSED)
			close_both(s, &t);
		break;
	default:
		if (event.path == s->path)
			on_path(s, &t, event);
	}
	return t.n;
}
