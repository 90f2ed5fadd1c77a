/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The order of work: doorbells, packets that have arrived, queue pairs with work. */
#include "mlx5sw/engine/step.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/gpu.h"
#include "mlx5sw/engine/faults.h"
#include "mlx5sw/engine/unlike.h"

#define PACKETS_PER_STEP 128u
#define MAX_CANDIDATES 32u

/* Bits of qp->activity */
#define LISTED 1u /* in its device's list: it has work, or a timer runs */
#define WORK 2u

int mlx5swi_engine_start(void)
{
	mlx5swi_w->engine = calloc(1, sizeof(*mlx5swi_w->engine));
	mlx5swi_w->before_unlock = mlx5swi_payload_flush;
	return mlx5swi_w->engine ? 0 : ENOMEM;
}

void mlx5swi_engine_stop(void)
{
	struct mlx5swi_engine *e = mlx5swi_w->engine;
	if (!e)
		return;
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		mlx5swi_packets_free(mlx5swi_w->devices[i].port.in);
	mlx5swi_packets_free(e->free[0]);
	mlx5swi_packets_free(e->free[1]);
	mlx5swi_gpu_close();
	free(e);
	mlx5swi_w->engine = NULL;
}

void mlx5swi_qp_wake(mlx5swi_qp_t *qp)
{
	if (!(qp->activity & LISTED)) {
		qp->next_active = qp->dev->active;
		qp->dev->active = qp;
	}
	qp->activity |= LISTED | WORK;
}

void mlx5swi_qp_forget(mlx5swi_qp_t *qp)
{
	mlx5swi_qp_t **at = &qp->dev->active;
	if (!(qp->activity & LISTED))
		return;
	while (*at != qp)
		at = &(*at)->next_active;
	*at = qp->next_active;
	qp->activity = 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t deadline(const mlx5swi_qp_t *qp)
{
	return earlier(mlx5swi_requester_deadline(qp), mlx5swi_responder_deadline(qp));
}

/* Both halves of a queue pair. */
static unsigned run(mlx5swi_qp_t *qp)
{
	qp->activity &= (uint8_t)~WORK;
	unsigned n = mlx5swi_responder_run(qp) + mlx5swi_requester_run(qp);
	if (n)
		qp->activity |= WORK;
	return n;
}

static bool is_due(const mlx5swi_qp_t *qp, uint64_t now)
{
	return qp->activity & WORK || deadline(qp) <= now;
}

/* A queue pair without work and without a timer is removed from the list. */
static bool is_idle(const mlx5swi_qp_t *qp)
{
	return !(qp->activity & WORK) && deadline(qp) == UINT64_MAX;
}

static void retire(mlx5swi_device_t *dev)
{
	mlx5swi_qp_t **at = &dev->active;
	while (*at) {
		mlx5swi_qp_t *qp = *at;
		if (is_idle(qp)) {
			*at = qp->next_active;
			qp->activity = 0;
		} else {
			at = &qp->next_active;
		}
	}
}

/* Packets */

void mlx5swi_port_arrive(mlx5swi_port_t *port, mlx5swi_packet_t *p)
{
	if (!port->in)
		port->in_end = &port->in;
	p->next = NULL;
	*port->in_end = p;
	port->in_end = &p->next;
	port->n_in++;
}

static mlx5swi_packet_t *take(mlx5swi_port_t *port, mlx5swi_packet_t **at)
{
	mlx5swi_packet_t *p = *at;
	*at = p->next;
	if (!p->next)
		port->in_end = at;
	port->n_in--;
	return p;
}

/* A QP accepts packets of its peer only. */
static bool is_from_peer(const mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	const mlx5swi_path_t *path = &qp->attr.path;
	if (qp->state < MLX5SWI_RTR || qp->state == MLX5SWI_ERR || p->sqpn != qp->attr.remote_qpn)
		return false;
	if (path->is_global && memcmp(p->sgid, path->dgid, sizeof(p->sgid)) != 0)
		return false;
	return qp->dev->port.is_ethernet || p->slid == path->dlid;
}

static void receive(mlx5swi_device_t *dev, mlx5swi_packet_t *p)
{
	mlx5swi_qp_t *qp = mlx5swi_table_get(&dev->qps, p->dqpn);
	if (!qp || dev->is_fatal || !is_from_peer(qp, p)) {
		if (!qp || !mlx5swi_unlike_keeps(qp, p))
			mlx5swi_packet_free(p);
	} else if (p->kind <= MLX5SWI_ATOMIC) {
		mlx5swi_responder_packet(qp, p);
	} else {
		mlx5swi_requester_packet(qp, p);
		mlx5swi_qp_wake(qp);
	}
}

/* Without MLX5SW_CHAOS_ORDER: process up to PACKETS_PER_STEP packets that have arrived, then run
 * each queue pair that has work, or whose timer has run out. */
static unsigned step_in_turn(mlx5swi_device_t *dev)
{
	unsigned n = 0;
	uint64_t now = dev->active ? mlx5swi_now() : 0;
	for (; dev->port.in && n < PACKETS_PER_STEP; n++)
		receive(dev, take(&dev->port, &dev->port.in));
	/* QPs that join the list meanwhile are inserted at the front, and run in the next step. */
	for (mlx5swi_qp_t *qp = dev->active; qp; qp = qp->next_active)
		if (is_due(qp, now))
			n += run(qp);
	retire(dev);
	return n;
}

/* With MLX5SW_CHAOS_ORDER: choose one unit of work. */

typedef struct candidate {
	mlx5swi_device_t *dev;
	mlx5swi_qp_t *qp; /* NULL: a packet, the first of its flow */
	mlx5swi_packet_t **at;
} candidate_t;

static bool is_same_flow(const mlx5swi_packet_t *a, const mlx5swi_packet_t *b)
{
	return a->dqpn == b->dqpn && a->sqpn == b->sqpn && a->slid == b->slid &&
	       memcmp(a->smac, b->smac, sizeof(a->smac)) == 0;
}

static bool is_first_of_flow(const mlx5swi_port_t *port, const mlx5swi_packet_t *p)
{
	const mlx5swi_packet_t *q = port->in;
	while (q != p && !is_same_flow(p, q))
		q = q->next;
	return q == p;
}

static unsigned gather(candidate_t *list, uint64_t now)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++) {
		mlx5swi_device_t *dev = &mlx5swi_w->devices[i];
		for (mlx5swi_packet_t **at = &dev->port.in; *at && n < MAX_CANDIDATES;
		     at = &(*at)->next)
			if (is_first_of_flow(&dev->port, *at))
				list[n++] = (candidate_t){dev, NULL, at};
		for (mlx5swi_qp_t *qp = dev->active; qp && n < MAX_CANDIDATES; qp = qp->next_active)
			if (is_due(qp, now))
				list[n++] = (candidate_t){dev, qp, NULL};
	}
	return n;
}

static unsigned step_by_choice(void)
{
	candidate_t list[MAX_CANDIDATES];
	unsigned n = gather(list, mlx5swi_now()), found = 0;
	while (n && !found) {
		candidate_t *c = &list[mlx5swi_choose(n)];
		found = c->qp ? run(c->qp) : 1;
		if (!c->qp)
			receive(c->dev, take(&c->dev->port, c->at));
		*c = list[--n];
	}
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		retire(&mlx5swi_w->devices[i]);
	return found;
}

unsigned mlx5sw_step(void)
{
	unsigned n;
	if (!mlx5swi_w)
		return 0;
	mlx5swi_lock();
	uint32_t n_devices = mlx5swi_w->n_hosts * mlx5swi_w->n_devices;
	for (uint32_t i = 0; i < n_devices; i++)
		mlx5swi_doorbells_poll(&mlx5swi_w->devices[i]);
	n = mlx5swi_links_poll() + mlx5swi_faults_run();
	if (mlx5swi_w->cfg.chaos & MLX5SW_CHAOS_ORDER)
		n += step_by_choice();
	else
		for (uint32_t i = 0; i < n_devices; i++)
			n += step_in_turn(&mlx5swi_w->devices[i]);
	mlx5swi_unlock();
	return n;
}

uint64_t mlx5sw_next_time(void)
{
	uint64_t next = UINT64_MAX;
	if (!mlx5swi_w)
		return next;
	mlx5swi_lock();
	next = mlx5swi_faults_deadline();
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		for (mlx5swi_qp_t *qp = mlx5swi_w->devices[i].active; qp; qp = qp->next_active)
			next = earlier(next, deadline(qp));
	mlx5swi_unlock();
	return next;
}
