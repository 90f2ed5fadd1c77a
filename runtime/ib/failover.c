/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Execution of the actions of the state machines (fault/switch.h) by queue pairs. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "fault/cause.h"
#include "ib/failover.h"
#include "mem/mem.h"

#define FIRST_BACKOFF_NS ((uint64_t)10 * 1000 * 1000)
#define LAST_BACKOFF_NS ((uint64_t)1000 * 1000 * 1000)

/* The queue pair of a left path is not destroyed, and its memory not reused, for this long: a
 * doorbell for it may still reach the NIC, and a waiter may still be between its load of a CQE and
 * its load of `path` (impl/switch.h). */
#define REUSE_NS ((uint64_t)20 * 1000 * 1000)

/* After this time the service carries out an order that no thread of the program has carried out.
 */
#define SERVE_NS ((uint64_t)1000 * 1000)
/* After the service was started for one order, it is started at once for each order of this time. A
 * kernel that polls signals, for example, carries out none, and many channels leave a failed port.
 */
#define SERVICE_BURST_NS ((uint64_t)100 * 1000 * 1000)

_Static_assert(sizeof(shmemhi_offer_bytes_t) == SHMEMHI_FAULT_OFFER_NBYTES, "bytes of an offer");

static bool reaches(void *self, int pe)
{
	const shmemhi_failover_t *s = self;

	return shmemhi_route(s, pe, 0)->endpoints != NULL;
}

static bool is_needed(void *self, int pe)
{
	const shmemhi_failover_t *s = self;

	return pe != s->job->pe &&
	       (!shmemhi_mem_is_for_kernels(s->job, pe) || !shmemhi_mem_has_atomics(s->job, pe));
}

/* The endpoint of a path. NULL: there is none any more. */
static shmemhi_endpoint_t *find(const shmemhi_route_t *route, uint32_t path)
{
	shmemhi_endpoint_t *e = route->endpoints;

	while (e && !(e->has_path && e->path == path))
		e = e->next;
	return e;
}

static bool is_fatal(const shmemhi_failover_t *s, const shmemhi_endpoint_t *e)
{
	return atomic_load_explicit(&s->ports[e->column].is_fatal, memory_order_relaxed);
}

static bool done(shmemhi_switch_event_t *result, int kind, uint32_t path, uint64_t value)
{
	*result = (shmemhi_switch_event_t){kind, path, value};
	return true;
}

/* ---- the fence ---- */

/* The endpoint executes no request any more, and what it executed is in memory; or its NIC is
 * dead. */
static void end_exposure(shmemhi_failover_t *s, shmemhi_endpoint_t *e)
{
	if (e->is_exposed)
		s->ports[e->column].n_exposed--;
	e->is_exposed = 0;
}

/* cause: for which the path is left. Both ends of a path stop it, whichever has noticed the
 * failure, and each counts it unless something at this end explains it. */
static bool stop(shmemhi_failover_t *s, shmemhi_route_t *route, shmemhi_endpoint_t *e,
		 uint32_t cause)
{
	if (shmemhi_link_to_err(&s->ib->lib, e->link, &s->err) != SHMEMH_OK)
		return false;
	e->stage = SHMEMHI_STOPPED;
	if (shmemhi_cause_is_unexplained(cause))
		shmemhi_resolve_again(s, e);
	if (e == route->current && shmemhi_cause_is_unexplained(cause) &&
	    s->ports[e->column].is_up && !shmemhi_must_leave(s, e))
		shmemhi_count_silent_failure(s, route);
	return true;
}

static bool drain(shmemhi_failover_t *s, shmemhi_route_t *route, shmemhi_endpoint_t *e)
{
	uint32_t refused;

	if (shmemhi_endpoint_is_drained(s, e, &refused) != 1)
		return false;
	if (refused && !route->was_refused) {
		route->refused = refused;
		s->n_refused++;
	}
	route->was_refused |= refused != 0;
	return true;
}

static bool query(shmemhi_failover_t *s, shmemhi_endpoint_t *e, uint64_t *executed)
{
	shmemhi_qp_state_t state;

	if (shmemhi_qp_query(&s->ib->lib, e->link, &state, &s->err) != SHMEMH_OK)
		return false;
	*executed = state.rmsn;
	e->is_fenced = 1;
	return true;
}

/* One step of a fence. A NIC that failed is dead: it executes no command, and writes nothing. */
static bool fence_step(shmemhi_failover_t *s, shmemhi_route_t *route,
		       const shmemhi_switch_action_t *a, shmemhi_switch_event_t *result)
{
	shmemhi_endpoint_t *e = find(route, a->path);
	uint64_t executed = 0;
	bool is_done = false;
	int kind;

	if (!e)
		return done(result, SHMEMHI_EV_DEAD, a->path, 0);
	switch (a->kind) {
	case SHMEMHI_ACT_STOP:
		kind = SHMEMHI_EV_STOPPED;
		is_done = stop(s, route, e, (uint32_t)a->value);
		break;
	case SHMEMHI_ACT_DRAIN:
		kind = SHMEMHI_EV_DRAINED;
		is_done = drain(s, route, e);
		break;
	case SHMEMHI_ACT_FLUSH:
		kind = SHMEMHI_EV_FLUSHED;
		is_done = shmemhi_flush(s, e) == 1;
		if (is_done)
			end_exposure(s, e);
		break;
	default:
		kind = SHMEMHI_EV_QUERIED;
		is_done = query(s, e, &executed);
	}
	if (is_done)
		return done(result, kind, a->path, executed);
	if (!is_fatal(s, e))
		return false;
	end_exposure(s, e);
	e->is_fenced = 1;
	return done(result, SHMEMHI_EV_DEAD, a->path, 0);
}

/* ---- a new path ---- */

/* Can the device still be ordered to use this endpoint? A PE has one order at a time, so the order
 * for a path that was connected may wait for orders of other channels, while that path fails and is
 * fenced. */
static bool awaits_order(const shmemhi_route_t *route, const shmemhi_endpoint_t *e)
{
	return e->link->was_connected && e->path > route->ordered->path;
}

/* Destroy what is no longer used: endpoints of earlier paths, which are fenced, but for those
 * that the device uses or is to use. A doorbell of the path that the device has left last may still
 * be on its way to the NIC for some time. */
void shmemhi_reap(shmemhi_failover_t *s, shmemhi_route_t *route)
{
	shmemhi_endpoint_t *e = route->endpoints, *next;

	if (shmemhi_now() - route->used_since < REUSE_NS)
		return;
	for (; e; e = next) {
		next = e->next;
		if (e->is_fenced && e->has_path && e != route->used && e != route->ordered &&
		    e != route->current && !awaits_order(route, e))
			shmemhi_endpoint_destroy(s, route, e);
	}
}

static void reap_all(shmemhi_failover_t *s)
{
	for (size_t i = 0; i < shmemhi_n_routes(s); i++)
		shmemhi_reap(s, &s->routes[i]);
}

static shmemhi_endpoint_t *new_endpoint(shmemhi_failover_t *s, shmemhi_route_t *route)
{
	const shmemhi_link_t *first = &s->ib->links[route - s->routes];
	shmemhi_endpoint_t *e = calloc(1, sizeof *e);

	if (!e) {
		shmemhi_fail(&s->err, SHMEMH_ERR_NO_MEMORY, "fail-over: out of memory");
		return NULL;
	}
	e->column = (uint8_t)s->column;
	if (!shmemhi_slots_have_one(s))
		reap_all(s);
	e->slot = shmemhi_slot_take(s, e->column);
	if (!e->slot) {
		free(e);
		return NULL;
	}
	e->link = &e->own;
	e->own.k = first->k;
	e->own.pe = first->pe;
	e->next = route->endpoints;
	route->endpoints = e;
	return e;
}

/* Try again later. */
static bool back_off(shmemhi_failover_t *s, shmemhi_route_t *route)
{
	if (route->making)
		shmemhi_endpoint_destroy(s, route, route->making);
	route->making = NULL;
	route->backoff = route->backoff ? 2 * route->backoff : FIRST_BACKOFF_NS;
	if (route->backoff > LAST_BACKOFF_NS)
		route->backoff = LAST_BACKOFF_NS;
	route->retry_at = shmemhi_now() + route->backoff;
	shmemhi_log(&s->job->log, SHMEMHI_INFO, "a path cannot be prepared yet: %s", s->err.text);
	return false;
}

/* A new endpoint, on the port that this PE uses. */
static bool prepare(shmemhi_failover_t *s, shmemhi_route_t *route, const shmemhi_switch_action_t *a,
		    shmemhi_switch_event_t *result)
{
	shmemhi_endpoint_t *e = route->making;

	if (shmemhi_now() < route->retry_at)
		return false;
	if (e && shmemhi_must_leave(s, e)) {
		shmemhi_endpoint_destroy(s, route, e);
		e = route->making = NULL;
	}
	if (!shmemhi_may_prepare(s) || shmemhi_resolve_must_wait(s, route))
		return false;
	if (!e) {
		shmemhi_reap(s, route);
		e = route->making = new_endpoint(s, route);
		if (!e)
			return back_off(s, route);
	}
	while (e->stage != SHMEMHI_IN_INIT)
		if (shmemhi_endpoint_make(s, e) != SHMEMH_OK)
			return back_off(s, route);
	route->making = NULL;
	route->backoff = route->retry_at = 0;
	return done(result, SHMEMHI_EV_PREPARED, a->path, (uintptr_t)e);
}

/* Connect the endpoint that was offered. It may be on a port that this PE has left since: then it
 * fails at once, with the cause. If the two ports cannot be connected, as those of separate rails,
 * STOP counts that as a path that failed without a reason: from the second one on, one of the ends
 * tries its other port. The next path is not prepared at once. */
static bool connect_end(shmemhi_failover_t *s, shmemhi_route_t *route,
			const shmemhi_switch_action_t *a, shmemhi_switch_event_t *result)
{
	shmemhi_endpoint_t *e = find(route, a->path);
	const uint32_t cause = e ? shmemhi_must_leave(s, e) : 0;
	shmemhi_address_t address;
	int found;

	if (!e || cause)
		return done(result, SHMEMHI_EV_FAULT, a->path, cause);
	if (!shmemhi_may_prepare(s))
		return false;
	e->peer = route->offer;
	found = shmemhi_resolve(s, e, &address);
	if (found == 0)
		return false;
	if (found > 0) {
		e->is_exposed = 1; /* it may execute requests from RTR on */
		s->ports[e->column].n_exposed++;
	}
	while (found > 0 && e->stage != SHMEMHI_IN_RTS)
		if (shmemhi_endpoint_connect(s, e, &address) != SHMEMH_OK)
			found = -1;
	if (found > 0) {
		e->connected_at = shmemhi_now();
		return done(result, SHMEMHI_EV_CONNECTED, a->path, 0);
	}
	route->retry_at = shmemhi_now() + FIRST_BACKOFF_NS;
	shmemhi_log(&s->job->log, SHMEMHI_INFO, "a path cannot be connected: %s", s->err.text);
	return done(result, SHMEMHI_EV_FAULT, a->path, 0);
}

/* ---- orders ---- */

static uint32_t flags_of(const shmemhi_endpoint_t *e)
{
	return (e->column ? SHMEMD_PATH_OWN_STANDBY : 0) |
	       (e->peer.column ? SHMEMD_PATH_PEER_STANDBY : 0) |
	       (e->link->producer        ? SHMEMD_PATH_PROXY
		: e->link->has_no_record ? SHMEMD_PATH_NO_RECORD
					 : 0);
}

/* Write the order. e: NULL: to end the channel. */
static void give(shmemhi_failover_t *s, int pe, uint32_t k, const shmemhi_switch_action_t *a,
		 const shmemhi_endpoint_t *e)
{
	const uint32_t epoch = shmemhi_route(s, pe, k)->epoch;
	const shmemhi_link_t *link = e ? e->link : NULL;
	shmemd_switch_order_t *o = s->order;

	s->n_orders++;
	s->waits_since = 0;
	s->ordered_at = shmemhi_now();
	s->serve_at =
		s->ordered_at + (s->ordered_at - s->served_at < SERVICE_BURST_NS ? 0 : SERVE_NS);
	__atomic_store_n(&o->announced, (uint32_t)s->n_orders, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&o->path,
			 e ? SHMEMD_PATH_WORD(epoch, link->qpn, 0, flags_of(e))
			   : SHMEMD_PATH_FAILED(a->value),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&o->queue, e ? SHMEMD_TAGGED(epoch, link->queue) : 0, __ATOMIC_RELAXED);
	__atomic_store_n(
		&o->doorbell,
		e ? SHMEMD_TAGGED(epoch, link->producer ? (void *)link->producer : link->doorbell)
		  : 0,
		__ATOMIC_RELAXED);
	__atomic_store_n(&o->k, k, __ATOMIC_RELAXED);
	__atomic_store_n(&o->world_pe, (uint32_t)pe, __ATOMIC_RELAXED);
	__atomic_store_n(&o->start, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&o->executed, (uint32_t)a->value & 0xffffff, __ATOMIC_RELAXED);
	__atomic_store_n(&o->number, s->n_orders, __ATOMIC_RELEASE);
}

/* The device has left its old queue: retire its memory. */
static void retire(shmemhi_failover_t *s, shmemhi_route_t *route)
{
	shmemhi_slot_t *slot = route->used->slot;

	if (route->used->link->producer)
		shmemhi_proxy_remove(s->ib, route->used->link);
	if (slot) {
		slot->channel = shmemhi_channel(s->ib, &s->ib->links[route - s->routes]);
		slot->retired = __atomic_load_n(&s->order->retired, __ATOMIC_RELAXED);
	}
	route->used = route->ordered;
	route->used_since = shmemhi_now();
}

/* Have the service carry out the order, if there is a service. A failed launch is logged once, and
 * tried again. */
static void serve(shmemhi_failover_t *s)
{
	const uint64_t now = shmemhi_now();

	if (now < s->serve_at)
		return;
	if (!s->waits_since)
		s->waits_since = now;
	if (!s->has_service)
		return;
	s->served_at = now;
	if (shmemhi_service_step(&s->service, &s->err) == SHMEMH_OK)
		return;
	if (!s->has_service_failed)
		shmemhi_log(&s->job->log, SHMEMHI_ERROR,
			    "fail-over: no kernel can be launched to switch channels: %s; only "
			    "threads that wait for a NIC or poll a channel switch them now; what "
			    "is not switched within SHMEMH_FT_GIVEUP ends with status %d",
			    s->err.text, SHMEMD_ERR_PEER);
	s->has_service_failed = 1;
}

static bool is_carried_out(const shmemhi_failover_t *s)
{
	return __atomic_load_n(&s->order->carried_out, __ATOMIC_ACQUIRE) == s->n_orders;
}

static bool is_order_stuck(void *self)
{
	const shmemhi_failover_t *s = self;

	return (s->has_service || shmemhi_mem_cuctx(s->job)) && !is_carried_out(s) &&
	       s->waits_since && shmemhi_now() - s->waits_since >= s->job->opt.ft_giveup_ns;
}

static bool order(shmemhi_failover_t *s, int pe, uint32_t k, const shmemhi_switch_action_t *a,
		  shmemhi_switch_event_t *result)
{
	shmemhi_route_t *route = shmemhi_route(s, pe, k);

	if (!route->has_order) {
		shmemhi_endpoint_t *e = NULL;

		if (a->kind == SHMEMHI_ACT_ORDER) {
			e = route->ordered = find(route, a->path);
			route->epoch++;
		}
		give(s, pe, k, a, e);
		route->has_order = 1;
		return false;
	}
	if (!is_carried_out(s)) {
		serve(s);
		return false;
	}
	route->has_order = 0;
	if (a->kind == SHMEMHI_ACT_ORDER)
		retire(s, route);
	return done(result, SHMEMHI_EV_CARRIED_OUT, a->path,
		    SHMEMHI_FAULT_CARRIED(__atomic_load_n(&s->order->replayed, __ATOMIC_RELAXED),
					  __atomic_load_n(&s->order->ambiguous, __ATOMIC_RELAXED)));
}

/* ---- for the agent ---- */

static bool execute(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
		    shmemhi_switch_event_t *result)
{
	shmemhi_failover_t *s = self;
	shmemhi_route_t *route = shmemhi_route(s, pe, k);

	s->err.text[0] = '\0';
	switch (a->kind) {
	case SHMEMHI_ACT_PREPARE:
		return prepare(s, route, a, result);
	case SHMEMHI_ACT_CONNECT:
		return connect_end(s, route, a, result);
	case SHMEMHI_ACT_ORDER:
	case SHMEMHI_ACT_END:
		return order(s, pe, k, a, result);
	default:
		return fence_step(s, route, a, result);
	}
}

static bool is_in_error(void *self, int pe, uint32_t k, uint32_t path)
{
	shmemhi_failover_t *s = self;
	const shmemhi_endpoint_t *e = find(shmemhi_route(s, pe, k), path);
	shmemhi_qp_state_t state;

	return e && shmemhi_qp_query(&s->ib->lib, e->link, &state, &s->err) == SHMEMH_OK &&
	       state.state == SHMEMHI_QP_ERR;
}

static void pack(void *self, int pe, uint32_t k, uint32_t path, uint64_t endpoint,
		 unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	shmemhi_failover_t *s = self;
	shmemhi_endpoint_t *e = (void *)(uintptr_t)endpoint;
	const shmemhi_open_port_t *port = s->ports[e->column].open;
	shmemhi_offer_bytes_t offer = {.port = shmemhi_port_info_of(port, s->ib->n_channels),
				       .qp = {e->link->qpn, e->link->psn},
				       .column = e->column};

	snprintf(offer.name, sizeof offer.name, "%.20s:%d", port->name, port->number);
	e->path = path;
	e->has_path = 1;
	shmemhi_route(s, pe, k)->current = e;
	s->must_scan = 1; /* its port may have been left since it was prepared */
	memcpy(bytes, &offer, sizeof offer);
}

static uint64_t unpack(void *self, int pe, uint32_t k, uint32_t path,
		       const unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	shmemhi_offer_bytes_t *offer = &shmemhi_route(self, pe, k)->offer;

	memcpy(offer, bytes, sizeof *offer);
	offer->column &= 1;
	offer->name[sizeof offer->name - 1] = '\0';
	return path;
}

static void put_address(const union ibv_gid *gid, uint16_t lid, bool is_ethernet, char *text,
			size_t nbytes)
{
	if (is_ethernet)
		inet_ntop(AF_INET6, gid->raw, text, (socklen_t)nbytes);
	else
		snprintf(text, nbytes, "LID %d", lid);
}

static void describe(void *self, int pe, uint32_t k, uint32_t path, shmemhi_fault_path_t *out)
{
	const shmemhi_failover_t *s = self;
	const shmemhi_endpoint_t *e = find(shmemhi_route(s, pe, k), path);
	const shmemhi_open_port_t *port;

	memset(out, 0, sizeof *out);
	if (!e)
		return;
	port = s->ports[e->column].open;
	snprintf(out->port, sizeof out->port, "%.20s:%d", port->name, port->number);
	snprintf(out->peer_port, sizeof out->peer_port, "%s", e->peer.name);
	out->qpn = e->link->qpn;
	out->peer_qpn = e->peer.qp.qpn;
	put_address(&port->gid, port->lid, port->is_ethernet, out->address, sizeof out->address);
	put_address(&e->peer.port.gid, e->peer.port.lid, e->peer.port.is_ethernet,
		    out->peer_address, sizeof out->peer_address);
	out->is_standby = e->column || e->peer.column;
	out->has_counts = shmemhi_channel_progress(s->job, shmemhi_link(s->ib, s->job, (int)k, pe),
						   &out->posted, &out->completed);
}

const shmemhi_fault_ops_t shmemhi_failover_ops = {
	.reaches = reaches,
	.is_needed = is_needed,
	.execute = execute,
	.next_event = shmemhi_next_fault,
	.is_order_stuck = is_order_stuck,
	.is_in_error = is_in_error,
	.pack = pack,
	.unpack = unpack,
	.describe = describe,
};
