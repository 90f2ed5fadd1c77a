/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/failover.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "fault/policy.h"
#include "ib/ports.h"
#include "mem/mem.h"

const shmemhi_open_port_t *shmemhi_port_of_column(const shmemhi_ib_t *ib, size_t column)
{
	return column ? &ib->failover->standby : &ib->home_port;
}

int shmemhi_failover_new(shmemh_t *job, shmemhi_ib_t *ib)
{
	ib->failover = calloc(1, sizeof *ib->failover);
	if (!ib->failover)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "fail-over: out of memory");
	ib->failover->job = job;
	ib->failover->ib = ib;
	return SHMEMH_OK;
}

/* ---- open ---- */

static int open_port(shmemhi_failover_t *s, size_t column)
{
	shmemhi_own_port_t *port = &s->ports[column];
	int status = SHMEMH_OK;

	port->open = column ? &s->standby : &s->ib->home_port;
	port->uars = column ? &s->standby_uars : &s->ib->queue_mem->uars;
	port->is_up = port->open->context != NULL;
	if (!port->open->context)
		return SHMEMH_OK;
	if (column)
		status = shmemhi_uars_open(s->job, s->ib, port->open, s->ib->queue_mem->n_links,
					   &s->standby_uars);
	/* The home port's doorbells are mapped to the GPU: go on without fail-over. */
	if (column && status == SHMEMH_ERR_CUDA)
		status = SHMEMH_ERR_NIC;
	if (status == SHMEMH_OK) {
		status = shmemhi_flusher_open(s, column);
		if (status != SHMEMH_OK)
			s->job->err = s->err;
	}
	return status;
}

/* Register the bounce buffers with the stand-by port too. */
static int open_bounces(shmemhi_failover_t *s)
{
	if (!s->standby.context)
		return SHMEMH_OK;
	s->bounce_mr = shmemhi_bounces_register(s->job, s->ib, &s->standby);
	if (!s->bounce_mr)
		return SHMEMH_ERR_NIC;
	s->ib->bounce_keys[1] = htobe32(s->bounce_mr->lkey);
	return SHMEMH_OK;
}

/* The GPU must be able to ring the doorbells of both ports, or of neither: a port whose doorbells
 * it cannot write to needs producer words. */
static int check_doorbells(shmemhi_failover_t *s)
{
	shmemhi_link_t probe = {0};

	if (!s->standby.context)
		return SHMEMH_OK;
	shmemhi_uars_assign(&s->standby_uars, 0, &probe);
	if (!probe.doorbell == !s->ib->links[0].doorbell)
		return SHMEMH_OK;
	return shmemhi_fail(&s->job->err, SHMEMH_ERR_NIC,
			    "fail-over: the GPU can write to the doorbells of only one of "
			    "%s and %s: set SHMEMH_IB_DOORBELL=cpu",
			    s->ib->home_port.name, s->standby.name);
}

static int open_words(shmemhi_failover_t *s)
{
	size_t nbytes = SHMEMD_FAULTS_NBYTES(s->ib->n_channels, (size_t)s->job->n_pes);
	int status =
		shmemhi_pinned_alloc(s->job, sizeof *s->order, (void **)&s->order, &s->job->err);

	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(s->job, nbytes, (void **)&s->faults, &s->job->err);
	s->routes = calloc(shmemhi_n_routes(s), sizeof *s->routes);
	s->firsts = calloc(shmemhi_n_routes(s), sizeof *s->firsts);
	s->resolved = calloc(SHMEMHI_COLUMNS * SHMEMHI_COLUMNS * (size_t)s->job->n_pes,
			     sizeof *s->resolved);
	if (status == SHMEMH_OK && (!s->routes || !s->firsts || !s->resolved))
		status = shmemhi_fail(&s->job->err, SHMEMH_ERR_NO_MEMORY,
				      "fail-over: out of memory");
	return status;
}

static int open_parts(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_failover_t *s)
{
	int status = open_words(s);

	for (size_t c = 0; status == SHMEMH_OK && c < SHMEMHI_COLUMNS; c++)
		status = open_port(s, c);
	if (status == SHMEMH_OK)
		status = check_doorbells(s);
	if (status == SHMEMH_OK)
		status = open_bounces(s);
	if (status == SHMEMH_OK) {
		status = shmemhi_slots_open(s);
		if (status != SHMEMH_OK && s->err.text[0])
			job->err = s->err;
	}
	if (status == SHMEMH_OK)
		shmemhi_log(&job->log, SHMEMHI_INFO, "fail-over: home port %s, stand-by %s",
			    ib->pe_ports[job->pe].home,
			    s->standby.context ? ib->pe_ports[job->pe].standby : "none");
	return status;
}

void shmemhi_failover_free(shmemhi_ib_t *ib)
{
	if (ib->failover)
		shmemhi_port_close(&ib->lib, &ib->failover->standby);
	free(ib->failover);
	ib->failover = NULL;
}

/* Some PE's NICs cannot do what fail-over needs; job->err has the line. The job goes on over the
 * home ports, without fail-over; but it fails, with that line on all PEs, if some PE has
 * SHMEMH_FT=exact. */
static int do_without_failover(shmemh_t *job, shmemhi_ib_t *ib)
{
	const shmemhi_err_t why = job->err; /* the agreement replaces it on PEs that pass OK */
	int status =
		shmemhi_agree(job, job->opt.ft == SHMEMHI_FT_EXACT ? SHMEMH_ERR_NIC : SHMEMH_OK);

	if (status == SHMEMH_ERR_NIC)
		job->err = why;
	if (status != SHMEMH_OK)
		return status;
	shmemhi_failover_close(job, ib);
	shmemhi_failover_free(ib);
	shmemhi_fault_switch_off(job, why.text);
	job->err.text[0] = '\0';
	return SHMEMH_OK;
}

int shmemhi_failover_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status;

	if (!ib->failover)
		return SHMEMH_OK;
	status = shmemhi_agree(job, open_parts(job, ib, ib->failover));
	return status == SHMEMH_ERR_NIC ? do_without_failover(job, ib) : status;
}

void shmemhi_failover_set_peer(shmemhi_failover_t *s, const shmemhi_link_t *link,
			       const shmemhi_port_info_t *port, const shmemhi_qp_info_t *qp)
{
	shmemhi_offer_bytes_t *peer = &s->firsts[link - s->ib->links].peer;

	peer->port = *port;
	peer->qp = *qp;
	snprintf(peer->name, sizeof peer->name, "%.27s", s->ib->pe_ports[link->pe].home);
}

/* Path 0 of each channel. */
static void open_routes(shmemhi_failover_t *s)
{
	for (size_t i = 0; i < shmemhi_n_routes(s); i++) {
		shmemhi_route_t *route = &s->routes[i];
		shmemhi_endpoint_t *e = &s->firsts[i];

		if (!s->ib->links[i].was_connected)
			continue;
		e->link = &s->ib->links[i];
		e->stage = SHMEMHI_IN_RTS;
		e->connected_at = shmemhi_now();
		e->has_path = 1;
		e->is_exposed = 1;
		s->ports[0].n_exposed++;
		route->endpoints = route->current = route->ordered = route->used = e;
	}
	s->report_index = s->leave_index = shmemhi_n_routes(s);
}

int shmemhi_failover_make_agent(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_failover_t *s = ib->failover;

	if (!s)
		return SHMEMH_OK;
	open_routes(s);
	return shmemhi_fault_agent_open(job, (uint32_t)ib->n_channels, &shmemhi_failover_ops, s);
}

/* Without the service only threads of the program carry out orders: those that wait for a NIC, or
 * that poll a channel in a loop. There may be none. */
static void open_service(shmemhi_failover_t *s, const shmemd_ctx_t *ctx)
{
	shmemhi_err_t why = {""};

	s->has_service = shmemhi_service_open(&s->service, shmemhi_mem_cuctx(s->job), ctx, &why) ==
			 SHMEMH_OK;
	if (!s->has_service)
		shmemhi_log(&s->job->log, shmemhi_mem_cuctx(s->job) ? SHMEMHI_WARN : SHMEMHI_INFO,
			    "fail-over: only threads that wait for a NIC or poll a channel switch "
			    "channels: %s",
			    why.text);
}

int shmemhi_ib_start_failover(shmemh_t *job, const shmemd_ctx_t *ctx)
{
	shmemhi_ib_t *ib = job->ib;
	int status;

	if (!ib || !ib->failover)
		return SHMEMH_OK;
	open_service(ib->failover, ctx);
	status = shmemhi_resolver_start(ib->failover);
	return status == SHMEMH_OK ? shmemhi_fault_agent_start(job) : status;
}

/* ---- close ---- */

void shmemhi_ib_stop_failover(shmemh_t *job)
{
	shmemhi_failover_t *s = job->ib ? job->ib->failover : NULL;

	if (!s)
		return;
	shmemhi_fault_agent_close(job);
	shmemhi_resolver_stop(s);
	if (s->has_service)
		shmemhi_service_close(&s->service);
	s->has_service = 0;
}

/* Move all queue pairs to ERR before one is destroyed, as links do. Returns whether the NIC may
 * still use their memory. */
static bool close_endpoints(shmemhi_failover_t *s)
{
	bool is_in_use = false;

	for (size_t i = 0; s->routes && i < shmemhi_n_routes(s); i++)
		for (shmemhi_endpoint_t *e = s->routes[i].endpoints; e; e = e->next)
			if (e->link->qp)
				shmemhi_link_to_err(&s->ib->lib, e->link, &s->err);
	for (size_t i = 0; s->routes && i < shmemhi_n_routes(s); i++) {
		shmemhi_endpoint_t *e = s->routes[i].endpoints, *next;

		for (; e; e = next) {
			next = e->next;
			if (!e->slot) /* the links destroy their own */
				continue;
			is_in_use |= e->link->qp && s->ib->lib.obj_destroy(e->link->qp) != 0;
			is_in_use |= e->link->cq && s->ib->lib.obj_destroy(e->link->cq) != 0;
			free(e);
		}
	}
	return is_in_use;
}

void shmemhi_failover_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_failover_t *s = ib->failover;

	if (!s)
		return;
	shmemhi_slots_close(s, close_endpoints(s));
	for (size_t c = 0; c < SHMEMHI_COLUMNS; c++)
		if (s->ports[c].open && s->ports[c].open->context)
			shmemhi_flusher_close(s, c);
	if (s->bounce_mr)
		ib->lib.dereg_mr(s->bounce_mr);
	ib->bounce_keys[1] = 0;
	shmemhi_uars_close(job, ib, &s->standby_uars);
	if (s->order)
		shmemhi_pinned_free(job, s->order);
	if (s->faults)
		shmemhi_pinned_free(job, s->faults);
	free(s->routes);
	free(s->firsts);
	free(s->resolved);
	s->routes = NULL;
	s->firsts = NULL;
	s->resolved = NULL;
}
