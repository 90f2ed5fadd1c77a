/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which of its two ports a PE uses: the home port or the stand-by, which keep these names. A PE
 * leaves a port that is down as soon as its other port is up. It does not move back when the port
 * that it has left comes up again, but may then move there if it has to leave the one in use.
 *
 * Paths also fail while both ends see their ports up: because of a network switch between the
 * ports, or of a queue pair. After the first such failure of a channel the next path uses the same
 * ports. After each further one, one end changes its port, so that the ends try the combinations of
 * their ports: if the failed path has an even number, the PE with the lower number changes its
 * port, else the other one. Each end counts such failures, whichever of the two has noticed them,
 * unless its own port explains the failure. */
#include <string.h>
#include "base/clock.h"
#include "ib/failover.h"
#include "ib/ports.h"

/* Ports are queried after an event, and at this interval without one. */
#define LOOK_NS ((uint64_t)50 * 1000 * 1000)

/* A path that was connected for longer than this, plus the time after which a request without an
 * answer has failed, resets the count of failures. */
#define LONG_NS ((uint64_t)10 * 1000 * 1000 * 1000)

static bool is_address_same(const shmemhi_open_port_t *a, const shmemhi_open_port_t *b)
{
	return a->lid == b->lid && a->gid_index == b->gid_index &&
	       memcmp(&a->gid, &b->gid, sizeof a->gid) == 0;
}

static void look_at(shmemhi_failover_t *s, shmemhi_own_port_t *port)
{
	const shmemhi_open_port_t before = *port->open;
	uint32_t n_events = atomic_load_explicit(&port->n_events, memory_order_acquire);
	uint64_t now = shmemhi_now();
	int was_up = port->is_up;

	if (n_events == port->n_seen && now < port->look_at)
		return;
	port->n_seen = n_events;
	port->look_at = now + LOOK_NS;
	port->is_up = !atomic_load_explicit(&port->is_fatal, memory_order_relaxed) &&
		      shmemhi_port_refresh(&s->ib->lib, &s->job->opt, port->open) == SHMEMH_OK;
	if (!is_address_same(&before, port->open)) {
		port->generation++;
		s->must_scan = 1;
	}
	if (port->is_up != was_up)
		s->must_scan = 1;
}

static void use(shmemhi_failover_t *s, int column)
{
	const shmemhi_open_port_t *port = s->ports[column].open;

	s->column = column;
	s->must_scan = 1;
	shmemhi_log(&s->job->log, SHMEMHI_WARN,
		    "this PE uses NIC %s port %d from now on, for all channels", port->name,
		    port->number);
}

void shmemhi_choose_own_port(shmemhi_failover_t *s)
{
	for (int c = 0; c < SHMEMHI_COLUMNS; c++)
		if (s->ports[c].open->context)
			look_at(s, &s->ports[c]);
	if (!s->ports[s->column].is_up && s->ports[!s->column].is_up)
		use(s, !s->column);
}

bool shmemhi_may_prepare(const shmemhi_failover_t *s)
{
	return s->ports[s->column].is_up && s->ports[!s->column].n_exposed == 0;
}

uint32_t shmemhi_must_leave(const shmemhi_failover_t *s, const shmemhi_endpoint_t *e)
{
	const shmemhi_own_port_t *port = &s->ports[e->column];

	/* Also if there is no other port: its queue pairs report nothing any more. */
	if (atomic_load_explicit(&port->is_fatal, memory_order_relaxed))
		return SHMEMH_FAULT_BY_DEVICE;
	if (e->column != s->column)
		return port->is_up ? SHMEMH_FAULT_BY_MOVE : SHMEMH_FAULT_BY_PORT;
	return e->generation != port->generation ? SHMEMH_FAULT_BY_ADDRESS : 0;
}

void shmemhi_count_silent_failure(shmemhi_failover_t *s, shmemhi_route_t *route)
{
	const int pe = (int)((size_t)(route - s->routes) % (size_t)s->job->n_pes);
	const uint64_t long_ns = LONG_NS + shmemhi_fault_silence_ns(&s->job->opt);
	const uint32_t is_even = !(route->current->path & 1);

	/* By the connection, not by the order to use it: an end whose direction has ended gets no
	 * orders, and both ends count alike. */
	if (route->current->connected_at && shmemhi_now() - route->current->connected_at > long_ns)
		route->n_silent = 0;
	if (route->n_silent++ == 0 || pe == s->job->pe || !s->ports[!s->column].is_up)
		return;
	if (is_even == (s->job->pe < pe))
		use(s, !s->column);
}

void shmemhi_failover_note(shmemhi_failover_t *s, size_t column, bool is_fatal)
{
	if (is_fatal)
		atomic_store_explicit(&s->ports[column].is_fatal, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->ports[column].n_events, 1, memory_order_release);
}
