/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Faults of paths: reports of the device (abi/fault.h), ports that this PE has left, and queue
 * pairs that are in ERR although no thread has read an error CQE. */
#include "base/clock.h"
#include "ib/failover.h"

/* Interval of QUERY_QPs, each of the next channel. */
#define POLL_NS ((uint64_t)5 * 1000 * 1000)

/* A fault on its way to the agent. */
typedef struct fault {
	size_t route; /* its index */
	shmemhi_switch_event_t event;
	shmemhi_fault_cause_t cause;
} fault_t;

static bool is_leavable(const shmemhi_endpoint_t *e)
{
	return e && !e->is_reported && !e->is_fenced && e->stage != SHMEMHI_STOPPED;
}

static bool leave(shmemhi_endpoint_t *e, uint32_t cause, fault_t *f)
{
	e->is_reported = 1;
	e->was_in_error = cause == SHMEMH_FAULT_BY_FLUSH || cause == SHMEMH_FAULT_BY_QP;
	f->event = (shmemhi_switch_event_t){SHMEMHI_EV_FAULT, e->path, 0};
	f->cause.kind = cause;
	return true;
}

/* ---- reports of the device ---- */

/* The endpoint that a report is about: that of the latest order. NULL: the report is late. */
static shmemhi_endpoint_t *reported(const shmemhi_route_t *route, uint64_t word)
{
	return SHMEMD_FAULT_EPOCH(word) == (route->epoch & 0xff) ? route->ordered : NULL;
}

static bool take_error(const shmemhi_route_t *route, uint64_t word, fault_t *f)
{
	shmemhi_endpoint_t *e = reported(route, word);
	uint32_t syndrome = SHMEMD_FAULT_SYNDROME(word);

	if (!is_leavable(e))
		return false;
	f->cause.syndrome = (uint8_t)syndrome;
	f->cause.vendor_syndrome = (uint8_t)SHMEMD_FAULT_VENDOR(word);
	return leave(e,
		     syndrome == SHMEMD_SYNDROME_WR_FLUSH        ? SHMEMH_FAULT_BY_FLUSH
		     : syndrome == SHMEMD_SYNDROME_RNR_RETRY_EXC ? SHMEMH_FAULT_BY_RNR
								 : SHMEMH_FAULT_BY_RETRIES,
		     f);
}

/* The channel of this PE has failed already, and its queue pair is in ERR. The queue pair of the
 * other end is in ERR only if the target refused the request. */
static bool take_refused(shmemhi_route_t *route, uint64_t word, fault_t *f)
{
	shmemhi_endpoint_t *e = reported(route, word);

	if (route->was_refused)
		return false;
	route->was_refused = 1;
	f->event =
		(shmemhi_switch_event_t){SHMEMHI_EV_REFUSED, e ? e->path : 0, SHMEMD_ERR_REFUSED};
	f->cause.kind = SHMEMH_FAULT_BY_PROGRAM;
	f->cause.syndrome = (uint8_t)SHMEMD_FAULT_SYNDROME(word);
	f->cause.vendor_syndrome = (uint8_t)SHMEMD_FAULT_VENDOR(word);
	return true;
}

static bool take_suspicion(const shmemhi_route_t *route, uint64_t word, fault_t *f)
{
	const shmemhi_endpoint_t *e = reported(route, word);

	if (!is_leavable(e))
		return false;
	f->event = (shmemhi_switch_event_t){SHMEMHI_EV_SUSPECT, e->path, 0};
	return true;
}

/* A word is taken out, and not compared with the one taken before: epochs have 8 bits, so a report
 * of the path 256 orders later may be the same word (abi/fault.h). */
static bool take_report(shmemhi_failover_t *s, size_t index, fault_t *f)
{
	shmemhi_route_t *route = &s->routes[index];
	uint32_t n_pes = (uint32_t)s->job->n_pes;
	uint64_t *report = SHMEMD_FAULT_REPORT(s->faults, n_pes, index / n_pes, index % n_pes);
	uint64_t word;

	/* Most words are 0, and only a word that is not is written to. */
	if (!__atomic_load_n(report, __ATOMIC_RELAXED))
		return false;
	word = __atomic_exchange_n(report, 0, __ATOMIC_ACQUIRE);
	switch (SHMEMD_FAULT_KIND(word)) {
	case SHMEMD_FAULT_PATH:
		return take_error(route, word, f);
	case SHMEMD_FAULT_REFUSED:
		return take_refused(route, word, f);
	default:
		return take_suspicion(route, word, f);
	}
}

static bool next_report(shmemhi_failover_t *s, fault_t *f)
{
	uint64_t n = __atomic_load_n(&s->faults->n_reports, __ATOMIC_ACQUIRE);

	if (n != s->n_reports) {
		s->n_reports = n;
		s->report_index = 0;
	}
	while (s->report_index < shmemhi_n_routes(s)) {
		f->route = s->report_index++;
		if (take_report(s, f->route, f))
			return true;
	}
	return false;
}

/* ---- what the host finds itself ---- */

/* Endpoints on a port, or with an address, that this PE has left. */
static bool next_left(shmemhi_failover_t *s, fault_t *f)
{
	if (s->must_scan) {
		s->must_scan = 0;
		s->leave_index = 0;
	}
	while (s->leave_index < shmemhi_n_routes(s)) {
		shmemhi_endpoint_t *e = s->routes[s->leave_index].current;
		uint32_t cause = is_leavable(e) ? shmemhi_must_leave(s, e) : 0;

		f->route = s->leave_index++;
		if (cause)
			return leave(e, cause, f);
	}
	return false;
}

/* A request that DRAIN has found refused: this PE's direction of the channel ends; the peer's is
 * switched to the next path after the fence of which DRAIN is a step. */
static bool next_refused(shmemhi_failover_t *s, fault_t *f)
{
	for (; s->n_refused > 0 && s->refused_index < shmemhi_n_routes(s); s->refused_index++) {
		shmemhi_route_t *route = &s->routes[s->refused_index];

		if (!route->refused)
			continue;
		f->route = s->refused_index;
		f->event = (shmemhi_switch_event_t){SHMEMHI_EV_REFUSED, 0, SHMEMD_ERR_REFUSED};
		f->cause.kind = SHMEMH_FAULT_BY_PROGRAM;
		f->cause.syndrome = (uint8_t)route->refused;
		route->refused = 0;
		s->n_refused--;
		s->refused_index = 0;
		return true;
	}
	s->refused_index = 0;
	return false;
}

static bool next_in_error(shmemhi_failover_t *s, fault_t *f)
{
	uint64_t now = shmemhi_now();
	shmemhi_qp_state_t state;
	shmemhi_endpoint_t *e;

	if (now < s->poll_time)
		return false;
	s->poll_time = now + POLL_NS;
	f->route = s->poll_index;
	s->poll_index = (s->poll_index + 1) % shmemhi_n_routes(s);
	e = s->routes[f->route].current;
	shmemhi_reap(s, &s->routes[f->route]);
	if (now >= s->reclaim_time) {
		s->reclaim_time = now + SHMEMHI_SECOND;
		shmemhi_slots_reclaim(s);
	}
	if (!is_leavable(e) || e->stage != SHMEMHI_IN_RTS ||
	    shmemhi_qp_query(&s->ib->lib, e->link, &state, &s->err) != SHMEMH_OK ||
	    state.state != SHMEMHI_QP_ERR)
		return false;
	return leave(e, SHMEMH_FAULT_BY_QP, f);
}

bool shmemhi_next_fault(void *self, int *pe, uint32_t *k, shmemhi_switch_event_t *event,
			shmemhi_fault_cause_t *cause)
{
	shmemhi_failover_t *s = self;
	fault_t f = {0};

	shmemhi_choose_own_port(s);
	if (!next_left(s, &f) && !next_refused(s, &f) && !next_report(s, &f) &&
	    !next_in_error(s, &f))
		return false;
	*pe = (int)(f.route % (size_t)s->job->n_pes);
	*k = (uint32_t)(f.route / (size_t)s->job->n_pes);
	*event = f.event;
	*cause = f.cause;
	return true;
}
