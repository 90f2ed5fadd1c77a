/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Endpoints: made, connected and drained a step at a time, of a command or two, and destroyed. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "ib/failover.h"
#include "mem/mem.h"

/* CQEs that are missing for this long after the NIC has completed everything are lost. */
#define CQES_LOST_NS ((uint64_t)100 * 1000 * 1000)

static shmemhi_link_mem_t mem_of(const shmemhi_failover_t *s, const shmemhi_endpoint_t *e)
{
	const shmemhi_slot_t *slot = e->slot;
	const shmemhi_slot_block_t *b = slot->block;
	const shmemhi_queue_block_t *records = b->records.base ? &b->records : &b->queues;
	struct mlx5dv_devx_umem *umem = b->queue_umems[e->column];

	return (shmemhi_link_mem_t){
		.queue = umem,
		.records = b->records.base ? b->record_umems[e->column] : umem,
		.queue_offset = (uint64_t)(slot->queue - b->queues.base),
		.records_offset = (uint64_t)(slot->records - records->base),
		.depth = s->ib->depth,
		.user_index = (uint32_t)((size_t)e->link->k * (size_t)s->job->n_pes +
					 (size_t)e->link->pe),
	};
}

static int create_cq(shmemhi_failover_t *s, shmemhi_endpoint_t *e)
{
	const shmemhi_own_port_t *port = &s->ports[e->column];
	const shmemhi_link_mem_t mem = mem_of(s, e);
	shmemhi_link_t *link = e->link;
	uint32_t i = mem.user_index;

	link->port = port->open;
	link->queue = e->slot->queue;
	link->records = e->slot->records;
	link->producer = e->slot->producer;
	link->psn = shmemhi_queue_psn();
	shmemhi_uars_assign(port->uars, i, link);
	e->generation = port->generation;
	return shmemhi_link_create_cq(&s->ib->lib, link, &mem, &s->err);
}

static int create_qp(shmemhi_failover_t *s, shmemhi_endpoint_t *e)
{
	shmemhi_link_mem_t mem = mem_of(s, e);

	return shmemhi_queue_create_qp(s->job, &s->ib->lib, s->ports[e->column].open, e->link, &mem,
				       &s->err);
}

static int to_init(shmemhi_failover_t *s, shmemhi_endpoint_t *e)
{
	int status = shmemhi_link_to_init(&s->ib->lib, e->link, &s->err);

	/* The device may store to the producer word as soon as it has the order. */
	if (status != SHMEMH_OK || !e->link->producer ||
	    shmemhi_proxy_add(s->job, s->ib, e->link) == SHMEMH_OK)
		return status;
	return shmemhi_fail(&s->err, SHMEMH_ERR_NO_MEMORY, "fail-over: out of memory");
}

int shmemhi_endpoint_make(shmemhi_failover_t *s, shmemhi_endpoint_t *e)
{
	int status = SHMEMH_OK;

	if (e->stage == SHMEMHI_HAS_SLOT)
		status = create_cq(s, e);
	else if (e->stage == SHMEMHI_HAS_CQ)
		status = create_qp(s, e);
	else if (e->stage == SHMEMHI_HAS_QP)
		status = to_init(s, e);
	if (status == SHMEMH_OK)
		e->stage++;
	return status;
}

int shmemhi_endpoint_connect(shmemhi_failover_t *s, shmemhi_endpoint_t *e,
			     const shmemhi_address_t *address)
{
	const shmemhi_options_t *opt = &s->job->opt;
	int status = SHMEMH_OK;

	if (e->stage == SHMEMHI_IN_INIT)
		status = shmemhi_link_to_rtr(&s->ib->lib, opt, e->link, &e->peer.port, &e->peer.qp,
					     address, &s->err);
	else
		status = shmemhi_link_to_rts(&s->ib->lib, opt, e->link, &e->peer.port, &s->err);
	if (status == SHMEMH_OK)
		e->stage++;
	e->link->was_connected = e->stage == SHMEMHI_IN_RTS;
	return status;
}

/* ---- CQEs ---- */

/* The memory of a queue, as the host reads it. copy: room for that of the GPU. */
static const char *read_queue(shmemhi_failover_t *s, const shmemhi_link_t *link, char *copy)
{
	size_t nbytes = SHMEMD_QUEUE_RECORD_OFFSET(s->ib->depth);

	if (!s->ib->has_gpu_queues)
		return link->queue;
	return shmemhi_dev_read(s->job, copy, link->queue, nbytes, &s->err) == SHMEMH_OK ? copy
											 : NULL;
}

/* The last 8 bytes of the CQE in place i, as a number whose high byte is the last one. */
static uint64_t tail_of(const char *cqes, uint32_t i)
{
	return le64toh(__atomic_load_n(
		(const uint64_t *)(const void *)(cqes + (size_t)i * SHMEMD_CQE_NBYTES +
						 SHMEMD_CQE_TAIL),
		__ATOMIC_ACQUIRE));
}

static uint32_t opcode_of(uint64_t tail)
{
	return (uint32_t)(tail >> 60);
}

/* Place of the newest CQE, or -1. Places are written in turn, with an owner bit that changes in
 * each round. */
static int64_t newest(const char *cqes, uint32_t depth)
{
	uint64_t first = tail_of(cqes, 0);
	uint32_t i = 1;

	if (opcode_of(first) == SHMEMD_CQE_INVALID)
		return -1;
	while (i < depth && opcode_of(tail_of(cqes, i)) != SHMEMD_CQE_INVALID &&
	       (tail_of(cqes, i) >> 56 & 1) == (first >> 56 & 1))
		i++;
	return i - 1;
}

/* Index after the last WQEBB of the WQE that a CQE completes. */
static uint16_t end_of(const char *queue, uint64_t tail, uint32_t depth)
{
	uint32_t index = (uint32_t)(tail >> 24 & 0xff00) | (uint32_t)(tail >> 40 & 0xff);
	uint32_t w1;

	memcpy(&w1, queue + (size_t)(index & (depth - 1)) * SHMEMD_WQEBB_NBYTES + sizeof w1,
	       sizeof w1);
	return (uint16_t)(index + ((be32toh(w1) & 0x3f) > 4 ? 2 : 1));
}

static bool is_not_path_loss(uint32_t syndrome)
{
	return syndrome != SHMEMD_SYNDROME_WR_FLUSH && syndrome != SHMEMD_SYNDROME_RETRY_EXC &&
	       syndrome != SHMEMD_SYNDROME_RNR_RETRY_EXC;
}

/* Does a flushed request of this queue pair mean that it was refused, unless CQEs report another
 * error? A channel to this PE itself has one queue pair, which is requester and responder. When the
 * responder refuses a request, the queue pair goes to ERR before the requester gets the refusal, so
 * the request is flushed. On the next path it would be refused again. */
static bool refuses_own(const shmemhi_failover_t *s, const shmemhi_endpoint_t *e)
{
	return e->link->pe == s->job->pe && e->was_in_error;
}

/* Syndrome of the CQE that shows that a request was refused; 0: there is none. That is the first
 * error CQE, by its place, that does not report the loss of a path; and where this PE refuses its
 * own requests, one that was flushed, unless one ran out of retries. */
static uint32_t find_refused(const char *cqes, uint32_t depth, bool is_own)
{
	uint32_t flushed = 0;

	for (uint32_t i = 0; i < depth; i++) {
		const char *cqe = cqes + (size_t)i * SHMEMD_CQE_NBYTES;
		uint32_t syndrome = (uint8_t)cqe[SHMEMD_CQE_SYNDROMES + 7];

		if (opcode_of(tail_of(cqes, i)) != SHMEMD_CQE_REQ_ERR)
			continue;
		if (is_not_path_loss(syndrome))
			return syndrome;
		if (syndrome == SHMEMD_SYNDROME_WR_FLUSH)
			flushed = syndrome;
		else
			is_own = false;
	}
	return is_own ? flushed : 0;
}

/* Is there the CQE of the WQE that ends at this index? The last WQE of each reservation asks for
 * one, and flushed ones have one each. -1: the queue cannot be read now. */
static int has_cqes(shmemhi_failover_t *s, const shmemhi_endpoint_t *e, uint16_t end,
		    uint32_t *refused)
{
	const shmemhi_link_t *link = e->link;
	uint32_t depth = s->ib->depth;
	char *copy = s->ib->has_gpu_queues ? malloc(SHMEMD_QUEUE_RECORD_OFFSET(depth)) : NULL;
	const char *queue = copy || !s->ib->has_gpu_queues ? read_queue(s, link, copy) : NULL;
	const char *cqes = queue ? queue + SHMEMD_QUEUE_CQES_OFFSET(depth) : NULL;
	int64_t last = cqes ? newest(cqes, depth) : -1;
	int is_there = queue ? end == 0 && last < 0 : -1;

	if (last >= 0) {
		is_there = end_of(queue, tail_of(cqes, (uint32_t)last), depth) == end;
		*refused = find_refused(cqes, depth, refuses_own(s, e));
	}
	free(copy);
	return is_there;
}

int shmemhi_endpoint_is_drained(shmemhi_failover_t *s, shmemhi_endpoint_t *e, uint32_t *refused)
{
	shmemhi_qp_state_t state;
	int is_there;

	*refused = 0;
	if (shmemhi_qp_query(&s->ib->lib, e->link, &state, &s->err) != SHMEMH_OK)
		return -1;
	if (state.hw_wqebbs != state.sw_wqebbs) {
		e->drain_since = 0; /* posters have published again: CQEs of those WQEs come now */
		return 0;
	}
	is_there = has_cqes(s, e, state.sw_wqebbs, refused);
	if (is_there)
		return is_there;
	if (!e->drain_since)
		e->drain_since = shmemhi_now();
	return shmemhi_now() - e->drain_since > CQES_LOST_NS;
}

/* ---- the end ---- */

static void unlink_from(shmemhi_route_t *route, const shmemhi_endpoint_t *e)
{
	shmemhi_endpoint_t **at = &route->endpoints;

	while (*at && *at != e)
		at = &(*at)->next;
	if (*at)
		*at = e->next;
}

void shmemhi_endpoint_destroy(shmemhi_failover_t *s, shmemhi_route_t *route, shmemhi_endpoint_t *e)
{
	bool is_gone;

	if (e->link->producer)
		shmemhi_proxy_remove(s->ib, e->link);
	is_gone = shmemhi_link_destroy(&s->ib->lib, e->link);
	if (e->is_exposed)
		s->ports[e->column].n_exposed--;
	e->is_exposed = 0;
	unlink_from(route, e);
	if (!e->slot)
		return;
	/* What the NIC does not release is never used again. */
	if (is_gone)
		e->slot->is_busy = 0;
	else
		shmemhi_log(&s->job->log, SHMEMHI_WARN,
			    "%s: QP 0x%x or its CQ cannot be destroyed: its memory stays "
			    "allocated",
			    e->link->port->name, e->link->qpn);
	free(e);
}
