/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Addresses of peers for new paths. On RoCE the Linux kernel resolves an address in ibv_create_ah,
 * and the calling thread waits: for about a second if the address does not answer. So threads of
 * the resolver look addresses up, and the agent's thread asks again until the answer is there.
 * Threads are started as look-ups come that would have to wait, so that a PE whose address answers
 * does not wait for those whose addresses do not. If all are busy, an address whose latest look-up
 * did not fail goes first; else the older question.
 *
 * All channels to a PE use the same port of each end, so an address that was found is kept for each
 * pair of ports. The failure of a look-up is kept too, for a while. An event of this PE's port and
 * a new address of either port cause another look-up; so does, if the address was found, a path
 * that failed for no known reason.
 *
 * A failure ends the first path of a channel that meets it and, while it is kept, at most two more,
 * so that each end has its turn to change its port (ib/port_in_use.c). After that the next path on
 * these two ports is prepared only when AGAIN_NS is over: otherwise both ends would change their
 * ports in a loop, and each change moves all channels. */
#include <string.h>
#include "base/clock.h"
#include "base/thread.h"
#include "ib/failover.h"

/* After this time an address that was not found is looked for again. */
#define AGAIN_NS (4 * SHMEMHI_SECOND)

/* After the first path of a channel that failed by a look-up, so many more fail by the same one. */
#define KEPT_ANSWERS 2u

/* The entry of these ports of both ends. With one entry for all ports of the peer, each path of a
 * peer that changes its port with every path would be looked up, and no failure would be kept. */
static shmemhi_resolved_t *entry_of(const shmemhi_failover_t *s, int column,
				    const shmemhi_offer_bytes_t *peer, int pe)
{
	const size_t pair = (size_t)column * SHMEMHI_COLUMNS + peer->column;

	return &s->resolved[pair * (size_t)s->job->n_pes + (size_t)pe];
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

/* Without locks: no other thread uses the entry while it is asked for. */
static void look_up(const shmemhi_failover_t *s, shmemhi_resolved_t *r)
{
	shmemhi_err_t err = {""};

	r->status = shmemhi_address_find(&s->ib->lib, &s->job->opt, &r->own_port, r->pe, &r->peer,
					 &r->address, &err);
	r->at = shmemhi_now();
	if (r->status != SHMEMH_OK)
		shmemhi_log(&s->job->log, SHMEMHI_INFO, "%s", err.text);
}

static void *resolver_main(void *arg)
{
	shmemhi_failover_t *s = arg;
	shmemhi_resolver_t *resolver = &s->resolver;

	pthread_mutex_lock(&resolver->lock);
	while (!resolver->is_ending) {
		shmemhi_resolved_t *r = resolver->first;

		if (!r) {
			resolver->n_idle++;
			pthread_cond_wait(&resolver->has_work, &resolver->lock);
			resolver->n_idle--;
			continue;
		}
		resolver->first = r->next;
		resolver->n_queued--;
		pthread_mutex_unlock(&resolver->lock);
		look_up(s, r);
		pthread_mutex_lock(&resolver->lock);
		r->is_answered = 1;
	}
	pthread_mutex_unlock(&resolver->lock);
	return NULL;
}

/* Start one more thread. Returns 0 or an errno value. */
static int add_thread(shmemhi_failover_t *s)
{
	shmemhi_resolver_t *resolver = &s->resolver;
	int error = shmemhi_thread_start(&resolver->threads[resolver->n_threads], "shmem_resolve",
					 resolver_main, s);

	resolver->n_threads += !error;
	return error;
}

int shmemhi_resolver_start(shmemhi_failover_t *s)
{
	shmemhi_resolver_t *resolver = &s->resolver;
	int error;

	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->has_work, NULL);
	error = add_thread(s);
	if (!error)
		return SHMEMH_OK;
	pthread_cond_destroy(&resolver->has_work);
	pthread_mutex_destroy(&resolver->lock);
	return shmemhi_fail(&s->job->err, SHMEMH_ERR_SYSTEM,
			    "fail-over: the thread that looks up addresses cannot start: %s",
			    strerror(error));
}

void shmemhi_resolver_stop(shmemhi_failover_t *s)
{
	shmemhi_resolver_t *resolver = &s->resolver;

	if (!resolver->n_threads)
		return;
	pthread_mutex_lock(&resolver->lock);
	resolver->is_ending = 1;
	pthread_cond_broadcast(&resolver->has_work);
	pthread_mutex_unlock(&resolver->lock);
	for (uint32_t i = 0; i < resolver->n_threads; i++)
		pthread_join(resolver->threads[i], NULL);
	pthread_cond_destroy(&resolver->has_work);
	pthread_mutex_destroy(&resolver->lock);
	memset(resolver, 0, sizeof *resolver);
}

/* Put an entry into the queue. An entry whose latest look-up failed, and which will probably fail
 * again, is queued behind all others. */
static void enqueue(shmemhi_failover_t *s, shmemhi_resolved_t *r)
{
	shmemhi_resolver_t *resolver = &s->resolver;
	shmemhi_resolved_t **at = &resolver->first;

	pthread_mutex_lock(&resolver->lock);
	while (*at && (r->status != SHMEMH_OK || (*at)->status == SHMEMH_OK))
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	resolver->n_queued++;
	pthread_cond_signal(&resolver->has_work);
	/* If no more threads can be started, those that run look it up. */
	if (resolver->n_queued > resolver->n_idle && resolver->n_threads < SHMEMHI_RESOLVER_THREADS)
		(void)add_thread(s);
	pthread_mutex_unlock(&resolver->lock);
}

/* Ask for the address: by the queue, or now if there is no thread (unit tests). */
static void ask(shmemhi_failover_t *s, const shmemhi_endpoint_t *e, shmemhi_resolved_t *r)
{
	const shmemhi_own_port_t *port = &s->ports[e->column];

	r->own_port = *e->link->port;
	r->pe = e->link->pe;
	r->peer = e->peer.port;
	r->n_seen = port->n_seen;
	r->generation = port->generation;
	r->is_there = 0;
	r->is_asked = 1;
	r->is_answered = 0;
	if (s->resolver.n_threads) {
		enqueue(s, r);
		return;
	}
	look_up(s, r);
	r->is_answered = 1;
}

/* Take the answer of the latest question, if it has come, and keep it. Returns whether it has. */
static bool take_answer(shmemhi_failover_t *s, shmemhi_resolved_t *r)
{
	const bool has_threads = s->resolver.n_threads > 0;
	bool is_done;

	if (has_threads)
		pthread_mutex_lock(&s->resolver.lock);
	is_done = r->is_answered;
	if (has_threads)
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

int shmemhi_resolve(shmemhi_failover_t *s, const shmemhi_endpoint_t *e, shmemhi_address_t *address)
{
	const shmemhi_own_port_t *port = &s->ports[e->column];
	shmemhi_resolved_t *r = entry_of(s, e->column, &e->peer, e->link->pe);

	if (!e->link->port->is_ethernet) /* nothing to wait for */
		return shmemhi_address_find(&s->ib->lib, &s->job->opt, e->link->port, e->link->pe,
					    &e->peer.port, address, &s->err) == SHMEMH_OK
			       ? 1
			       : -1;
	if (r->is_asked && !take_answer(s, r))
		return 0;
	if (!is_current(port, r, &e->peer.port) ||
	    (r->status != SHMEMH_OK && !is_kept_failure(port, r, &e->peer.port))) {
		ask(s, e, r);
		if (!take_answer(s, r))
			return 0;
	}
	*address = r->address;
	if (r->status == SHMEMH_OK)
		return 1;
	count_failure(shmemhi_route(s, e->link->pe, (uint32_t)e->link->k), r);
	shmemhi_fail(&s->err, r->status, "%s: no route to the NIC of PE %d was found",
		     e->link->port->name, e->link->pe);
	return -1;
}

void shmemhi_resolve_again(shmemhi_failover_t *s, const shmemhi_endpoint_t *e)
{
	shmemhi_resolved_t *r = entry_of(s, e->column, &e->peer, e->link->pe);

	if (!r->is_asked && r->status == SHMEMH_OK)
		r->is_there = 0;
}

bool shmemhi_resolve_must_wait(const shmemhi_failover_t *s, const shmemhi_route_t *route)
{
	const int pe = (int)((size_t)(route - s->routes) % (size_t)s->job->n_pes);
	const shmemhi_resolved_t *r = entry_of(s, s->column, &route->offer, pe);

	/* is_asked first: a thread of the resolver may be writing the rest. What was counted before
	 * the latest look-up of these ports says nothing about it. */
	return route->n_unresolved >= KEPT_ANSWERS && !r->is_asked &&
	       r->at <= route->unresolved_at &&
	       is_kept_failure(&s->ports[s->column], r, &route->offer.port);
}
