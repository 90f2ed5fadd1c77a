/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Addresses of peers for new paths. On RoCE the Linux kernel resolves an address in ibv_create_ah,
 * and the calling thread waits: for about a second if nobody answers. So a thread of its own looks
 * addresses up, one after the other, and the agent's thread asks again until the answer is there.
 * All channels to a PE use the same two ports, so what was found is kept, and so is that nothing
 * was found, for a while. An event of the own port, a new address of either port, and a path that
 * failed for no known reason make it look again.
 *
 * A failure that is kept is the answer to at most two paths of a channel, so that each end has its
 * turn to change its port (ib/home_move.c). After that no path is prepared on these two ports
 * before it is time to look again: else both ends would change their ports in a loop, and each
 * change moves all channels. */
#include <string.h>
#include "base/clock.h"
#include "base/thread.h"
#include "ib/standby.h"

/* After this time an address that was not found is looked for again. */
#define AGAIN_NS (4 * SHMEMHI_SECOND)

/* Paths of a channel that a kept failure answers at most. */
#define KEPT_ANSWERS 2u

static shmemhi_resolved_t *entry_of(const shmemhi_standby_t *s, int column, int pe)
{
	return &s->resolved[(size_t)column * (size_t)s->job->n_pes + (size_t)pe];
}

static bool is_current(const shmemhi_own_port_t *port, const shmemhi_resolved_t *r,
		       const shmemhi_port_info_t *peer)
{
	return r->is_there && r->n_seen == port->n_seen && r->generation == port->generation &&
	       r->peer.lid == peer->lid && memcmp(&r->peer.gid, &peer->gid, sizeof peer->gid) == 0;
}

static bool is_kept_failure(const shmemhi_own_port_t *port, const shmemhi_resolved_t *r,
			    const shmemhi_port_info_t *peer)
{
	return is_current(port, r, peer) && r->status != SHMEMH_OK &&
	       shmemhi_now() - r->at < AGAIN_NS;
}

/* ---- look-ups ---- */

/* Without locks: nobody else uses the entry while it is asked for. */
static void look_up(const shmemhi_standby_t *s, shmemhi_resolved_t *r)
{
	shmemhi_err_t err = {""};

	r->status = shmemhi_address_find(&s->ib->lib, &s->job->opt, &r->nic, r->pe, &r->peer,
					 &r->address, &err);
	r->at = shmemhi_now();
	if (r->status != SHMEMH_OK)
		shmemhi_log(&s->job->log, SHMEMHI_INFO, "%s", err.text);
}

static void *resolver_main(void *arg)
{
	shmemhi_standby_t *s = arg;
	shmemhi_resolver_t *resolver = &s->resolver;

	pthread_mutex_lock(&resolver->lock);
	while (!resolver->is_ending) {
		shmemhi_resolved_t *r = resolver->first;

		if (!r) {
			pthread_cond_wait(&resolver->has_work, &resolver->lock);
			continue;
		}
		resolver->first = r->next;
		pthread_mutex_unlock(&resolver->lock);
		look_up(s, r);
		pthread_mutex_lock(&resolver->lock);
		r->is_answered = 1;
	}
	pthread_mutex_unlock(&resolver->lock);
	return NULL;
}

int shmemhi_resolver_start(shmemhi_standby_t *s)
{
	shmemhi_resolver_t *resolver = &s->resolver;
	int error;

	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->has_work, NULL);
	resolver->is_ending = 0;
	error = shmemhi_thread_start(&resolver->thread, "shmem_resolve", resolver_main, s);
	if (!error) {
		resolver->has_thread = 1;
		return SHMEMH_OK;
	}
	pthread_cond_destroy(&resolver->has_work);
	pthread_mutex_destroy(&resolver->lock);
	return shmemhi_fail(&s->job->err, SHMEMH_ERR_SYSTEM,
			    "fail-over: the thread that looks up addresses cannot start: %s",
			    strerror(error));
}

void shmemhi_resolver_stop(shmemhi_standby_t *s)
{
	shmemhi_resolver_t *resolver = &s->resolver;

	if (!resolver->has_thread)
		return;
	pthread_mutex_lock(&resolver->lock);
	resolver->is_ending = 1;
	pthread_cond_signal(&resolver->has_work);
	pthread_mutex_unlock(&resolver->lock);
	pthread_join(resolver->thread, NULL);
	pthread_cond_destroy(&resolver->has_work);
	pthread_mutex_destroy(&resolver->lock);
	resolver->has_thread = 0;
}

/* Ask for the address: at the end of the queue, or now if there is no thread (emulator). */
static void ask(shmemhi_standby_t *s, const shmemhi_endpoint_t *e, shmemhi_resolved_t *r)
{
	const shmemhi_own_port_t *port = &s->ports[e->column];
	shmemhi_resolver_t *resolver = &s->resolver;
	shmemhi_resolved_t **at = &resolver->first;

	r->nic = *e->link->nic;
	r->pe = e->link->pe;
	r->peer = e->peer.port;
	r->n_seen = port->n_seen;
	r->generation = port->generation;
	r->is_there = 0;
	r->is_asked = 1;
	r->is_answered = 0;
	r->next = NULL;
	if (!resolver->has_thread) {
		look_up(s, r);
		r->is_answered = 1;
		return;
	}
	pthread_mutex_lock(&resolver->lock);
	while (*at)
		at = &(*at)->next;
	*at = r;
	pthread_cond_signal(&resolver->has_work);
	pthread_mutex_unlock(&resolver->lock);
}

/* Is what was asked for answered? Then it is kept. */
static bool is_answered(shmemhi_standby_t *s, shmemhi_resolved_t *r)
{
	const bool has_thread = s->resolver.has_thread;
	bool is_done;

	if (has_thread)
		pthread_mutex_lock(&s->resolver.lock);
	is_done = r->is_answered;
	if (has_thread)
		pthread_mutex_unlock(&s->resolver.lock);
	if (is_done) {
		r->is_asked = 0;
		r->is_there = 1;
	}
	return is_done;
}

/* ---- for the agent's thread ---- */

/* Count the paths of the channel for which a kept failure was the answer. */
static void count_failure(shmemhi_route_t *route, const shmemhi_resolved_t *r)
{
	if (r->at > route->unresolved_at) {
		route->unresolved_at = r->at;
		route->n_unresolved = 0;
	} else {
		route->n_unresolved++;
	}
}

int shmemhi_resolve(shmemhi_standby_t *s, const shmemhi_endpoint_t *e, shmemhi_address_t *address)
{
	const shmemhi_own_port_t *port = &s->ports[e->column];
	shmemhi_resolved_t *r = entry_of(s, e->column, e->link->pe);

	if (!e->link->nic->is_ethernet) /* nothing to wait for */
		return shmemhi_address_find(&s->ib->lib, &s->job->opt, e->link->nic, e->link->pe,
					    &e->peer.port, address, &s->err) == SHMEMH_OK
			       ? 1
			       : -1;
	if (r->is_asked && !is_answered(s, r))
		return 0;
	if (!is_current(port, r, &e->peer.port) ||
	    (r->status != SHMEMH_OK && !is_kept_failure(port, r, &e->peer.port))) {
		ask(s, e, r);
		if (!is_answered(s, r))
			return 0;
	}
	*address = r->address;
	if (r->status == SHMEMH_OK)
		return 1;
	count_failure(shmemhi_route(s, e->link->pe, (uint32_t)e->link->k), r);
	shmemhi_fail(&s->err, r->status, "%s: no way to the NIC of PE %d was found",
		     e->link->nic->name, e->link->pe);
	return -1;
}

void shmemhi_resolve_again(shmemhi_standby_t *s, const shmemhi_endpoint_t *e)
{
	shmemhi_resolved_t *r = entry_of(s, e->column, e->link->pe);

	if (!r->is_asked && r->status == SHMEMH_OK)
		r->is_there = 0;
}

bool shmemhi_resolve_rests(const shmemhi_standby_t *s, const shmemhi_route_t *route)
{
	const int pe = (int)((size_t)(route - s->routes) % (size_t)s->job->n_pes);
	const shmemhi_resolved_t *r = entry_of(s, s->column, pe);

	/* What was counted before the latest look-up of these ports says nothing about it. */
	return route->n_unresolved >= KEPT_ANSWERS && r->at <= route->unresolved_at &&
	       !r->is_asked && is_kept_failure(&s->ports[s->column], r, &route->offer.port);
}
