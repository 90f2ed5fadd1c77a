/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Work requests of any kind, posted by the calling thread; threads that call for themselves,
 * converged, are coalesced. This code, of which a unit has one copy, is for what waits for a round
 * trip, is rare, or need not be fast: gets, fetching atomics, packed values, puts that are not
 * simple (shmemdi_is_simple); and, if its snapshot needs the slow path, any put or word for which a
 * thread that is not coalesced has reserved. What is frequent has code of its own in
 * impl/put.h and impl/quiet.h, in which kind and form are constants.
 *
 * Functions return a status, and record errors. */
#ifndef SHMEMD_IMPL_POST_H
#define SHMEMD_IMPL_POST_H

#include <shmem_dev/impl/bounce.h>
#include <shmem_dev/impl/nic.h>
#include <shmem_dev/impl/p2p.h>
#include <shmem_dev/impl/sq.h>

/* The opcode of kind (shmemdi_word_kind). FETCH and LOAD are READs, ADDF is a loop, STORE a WRITE:
 * not here. An XOR is an addition without carries. */
SHMEMD_FN uint32_t shmemdi_nic_opcode(int kind, uint32_t width)
{
	uint32_t plain = kind == SHMEMDI_AMO_ADD ? SHMEMD_MLX5_ATOMIC_FA : SHMEMD_MLX5_ATOMIC_CS;
	uint32_t masked = kind == SHMEMDI_AMO_ADD || kind == SHMEMDI_AMO_XOR
				  ? SHMEMD_MLX5_ATOMIC_MASKED_FA
				  : SHMEMD_MLX5_ATOMIC_MASKED_CS;
	int is_plain = width == 8 && (kind == SHMEMDI_AMO_ADD || kind == SHMEMDI_AMO_CAS);

	return is_plain ? plain : masked;
}

/* The operands of kind (shmemdi_word_kind) as the NIC takes them. */
SHMEMD_FN shmemdi_nic_amo_t shmemdi_nic_amo(int kind, uint64_t value, uint64_t cond, uint32_t width)
{
	uint64_t all = ~(uint64_t)0;
	shmemdi_nic_amo_t amo;

	amo.opcode = shmemdi_nic_opcode(kind, width);
	amo.value = kind == SHMEMDI_AMO_AND ? 0 : value;
	amo.compare = kind == SHMEMDI_AMO_CAS ? cond : 0;
	amo.swap_mask = kind == SHMEMDI_AMO_AND ? ~value : kind == SHMEMDI_AMO_OR ? value : all;
	amo.compare_mask = kind == SHMEMDI_AMO_CAS ? all : 0;
	amo.boundary = kind == SHMEMDI_AMO_XOR ? all : 0;
	return amo;
}

enum shmemdi_wr_kind {
	SHMEMDI_WR_WRITE,
	SHMEMDI_WR_WRITE_INLINE, /* the WQE carries the data */
	SHMEMDI_WR_READ,
	SHMEMDI_WR_ATOMIC,
};

/* Local memory of a work request. */
enum shmemdi_wr_local {
	SHMEMDI_LOCAL_HEAP,   /* registered */
	SHMEMDI_LOCAL_SINK,   /* for a result that no thread reads */
	SHMEMDI_LOCAL_BOUNCE, /* a bounce buffer, which the poster takes */
	/* None: the WQE carries the data, and names no local memory. Equal to another value, so
	 * that no code tells them apart. */
	SHMEMDI_LOCAL_NONE = SHMEMDI_LOCAL_SINK,
};

typedef struct shmemdi_wr {
	uint8_t kind;       /* shmemdi_wr_kind */
	uint8_t local_kind; /* shmemdi_wr_local */
	uint32_t nbytes;
	const char *sym; /* at the peer */
	union {
		const char *local; /* LOCAL_HEAP */
		uint32_t words[7]; /* WR_WRITE_INLINE */
		shmemdi_nic_amo_t amo;
	} u;
} shmemdi_wr_t;

/* Work requests that share a reservation: one, or two of which the second has one WQEBB and no
 * DUMP: a WRITE, and the signal or the next WRITE after it. */
typedef struct shmemdi_wrs {
	shmemdi_wr_t wr[2];
	uint32_t n;
	shmemdi_how_t how;
	int is_reserved; /* the caller, alone, has reserved for them: resv is what it found */
	uint64_t resv;
} shmemdi_wrs_t;

SHMEMD_FN void shmemdi_wrs_init(shmemdi_wrs_t *wrs, shmemdi_how_t how)
{
	wrs->n = 0;
	wrs->how = how;
	wrs->is_reserved = 0;
	wrs->resv = 0;
}

/* Where a posting ended up. */
typedef struct shmemdi_posted {
	shmemdi_ticket_t ticket;
	uint64_t bounce; /* ticket of the bounce buffer */
	uint32_t end;    /* index after this lane's last WQEBB */
} shmemdi_posted_t;

/* Number of DUMPs after a READ or a fetching atomic: each makes the result visible to this GPU. */
SHMEMD_FN uint32_t shmemdi_dumps(const shmemdi_ep_t *ep)
{
	return ep->c.flags & SHMEMD_CTX_DUMP_AFTER_READ ? 1 : 0;
}

SHMEMD_FN uint32_t shmemdi_wr_wqebbs(const shmemdi_wr_t *wr)
{
	return wr->kind == SHMEMDI_WR_ATOMIC ? shmemdi_nic_amo_wqebbs(wr->u.amo.opcode, wr->nbytes)
					     : 1;
}

SHMEMD_FN int shmemdi_wr_has_dump(const shmemdi_ep_t *ep, const shmemdi_wr_t *wr)
{
	return (wr->kind == SHMEMDI_WR_READ || wr->local_kind == SHMEMDI_LOCAL_BOUNCE) &&
	       shmemdi_dumps(ep);
}

/* Coalesce the converged lanes that post alike on one channel, whose address is a multiple of 128.
 * `like` (0 .. 15) encodes the WQEBBs and requests of a lane, and whether it has a bounce buffer.
 * Lanes with needs_ticket are coalesced only with each other, since lanes without it take no part
 * in the broadcast of the ticket. */
SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_on(const shmemdi_chan_t *c, uint32_t like,
					   shmemdi_how_t how)
{
	return shmemdi_lanes_coalesced((uint64_t)(uintptr_t)c->ch | like | (uint64_t)how.when << 4 |
				       (uint64_t)(how.needs_ticket != 0) << 6);
}

/* Lanes that post equally many WQEBBs and work requests, all with a bounce buffer or all without.
 * 32 lanes of three WQEBBs each would not fit into the smallest queue. */
SHMEMD_FN shmemdi_lanes_t shmemdi_wr_lanes(const shmemdi_ep_t *ep, const shmemdi_wrs_t *wrs,
					   uint32_t wqebbs)
{
	if (wrs->how.not_coalesced || wqebbs * 32 > SHMEMD_MIN_DEPTH)
		return shmemdi_lanes_self();
	return shmemdi_lanes_on(&ep->c,
				wqebbs | (wrs->n - 1) << 2 |
					(uint32_t)(wrs->wr[0].local_kind == SHMEMDI_LOCAL_BOUNCE)
						<< 3,
				wrs->how);
}

/* Take a bounce buffer for each lane, or for none of them; *bounce gets this lane's ticket. Called
 * before the reservation: a lane may have to wait for its buffer, and a reservation must not. */
SHMEMD_FN int shmemdi_wr_bounce(const shmemdi_chan_t *c, shmemdi_call_t call, shmemdi_lanes_t lanes,
				uint64_t *bounce)
{
	uint64_t ticket = 0;
	int status;

	if (lanes.is_leader)
		ticket = shmemd_arch_atom_add_u64(&c->ch->ticket, lanes.n);
	*bounce = shmemdi_lanes_broadcast(lanes, ticket) + lanes.rank;
	status = shmemdi_bounce_take(c, call, *bounce);
	if (shmemdi_lanes_alone(lanes) ||
	    shmemd_arch_match_any(lanes.mask, (uint64_t)status) == lanes.mask)
		return status;
	shmemdi_lanes_sync(lanes); /* a failure that another lane saw is visible here too */
	if (status == SHMEMD_OK) {
		shmemdi_bounce_release(c, *bounce);
		status = shmemdi_channel_status(c);
	}
	return status ? status : SHMEMD_ERR_TIMEOUT;
}

/* Broadcast the reservation that the leader, with this status, has made for all lanes. wqebbs: of
 * each lane. */
SHMEMD_FN int shmemdi_lanes_share(shmemdi_lanes_t lanes, uint32_t wqebbs, int status,
				  shmemdi_reservation_t *reserved)
{
	if (shmemdi_lanes_alone(lanes))
		return status;
	reserved->wqebbs = wqebbs * lanes.n;
	reserved->resv = shmemdi_lanes_broadcast(lanes, reserved->resv);
	reserved->line.path = shmemdi_lanes_broadcast(lanes, reserved->line.path);
	reserved->line.queue = shmemdi_lanes_broadcast(lanes, reserved->line.queue);
	reserved->first = SHMEMD_RESV_INDEX(reserved->resv);
	reserved->request = SHMEMD_RESV_REQUEST(reserved->resv);
	/* What the leader has seen complete happens before what all lanes write: a shuffle orders
	 * nothing. */
	shmemdi_lanes_sync(lanes);
	return (int)SHMEMD_PATH_STATUS(reserved->line.path);
}

/* The leader reserves for all lanes, waits until the WQEBBs may be written, and broadcasts the
 * reservation. wqebbs, requests: of each lane. */
SHMEMD_FN int shmemdi_lanes_start(const shmemdi_chan_t *c, shmemdi_call_t call,
				  shmemdi_lanes_t lanes, uint32_t wqebbs, uint32_t requests,
				  shmemdi_reservation_t *reserved)
{
	int status = SHMEMD_OK;

	if (lanes.is_leader)
		status = shmemdi_sq_start(c, call, reserved, wqebbs * lanes.n, requests * lanes.n);
	return shmemdi_lanes_share(lanes, wqebbs, status, reserved);
}

/* The same for work requests; a caller that has reserved is alone. */
SHMEMD_FN int shmemdi_wr_start(const shmemdi_chan_t *c, shmemdi_call_t call,
			       const shmemdi_wrs_t *wrs, shmemdi_lanes_t lanes, uint32_t wqebbs,
			       shmemdi_reservation_t *reserved)
{
	int status = SHMEMD_OK;

	if (lanes.is_leader) {
		reserved->wqebbs = wqebbs * lanes.n;
		reserved->requests = wrs->n * lanes.n;
		reserved->resv =
			wrs->is_reserved
				? wrs->resv
				: shmemdi_sq_reserve_word(c, reserved->wqebbs, reserved->requests,
							  shmemd_arch_opaque_zero());
		reserved->line = shmemdi_line(c->ch);
		status = shmemdi_sq_wait_begin(c, call, reserved);
	}
	return shmemdi_lanes_share(lanes, wqebbs, status, reserved);
}

/* Write a work request from the reservation's WQEBB `wqebb` on, as request number `request` of the
 * reservation, and the DUMP that follows a READ or a fetching atomic. Returns their WQEBBs. */
SHMEMD_FN_CALL uint32_t shmemdi_wr_write(const shmemdi_ep_t *ep,
					 const shmemdi_reservation_t *reserved, uint32_t wqebb,
					 uint32_t request, const shmemdi_wr_t *wr,
					 const char *local)
{
	ep = (const shmemdi_ep_t *)shmemd_arch_as_local(ep);
	wr = (const shmemdi_wr_t *)shmemd_arch_as_local(wr);
	uint64_t path = reserved->line.path, rkeys = shmemdi_keys(shmemdi_rkey(ep, wr->sym));
	shmemdi_mem_t remote = shmemdi_peer_mem(ep, wr->sym, rkeys, path);
	shmemdi_mem_t own =
		wr->local_kind == SHMEMDI_LOCAL_HEAP
			? shmemdi_heap_mem(ep, local, shmemdi_keys(shmemdi_lkey(ep, local)), path)
			: shmemdi_bounce_mem(local, shmemdi_bounce_keys(ep), path);
	uint32_t wqebbs = shmemdi_wr_wqebbs(wr), units = 3;
	shmemdi_wqe_at_t at = shmemdi_sq_at(reserved, wqebb, wqebbs, request);
	shmemdi_wqe_t q = {{0}};

	if (wr->kind == SHMEMDI_WR_ATOMIC) {
		shmemdi_wqe_amo(&q, at, remote, own, &wr->u.amo, wr->nbytes);
		units = 3 + wqebbs;
	} else if (wr->kind == SHMEMDI_WR_WRITE_INLINE) {
		shmemdi_wqe_write_inline(&q, at, remote, wr->u.words, wr->nbytes);
		units = 4;
	} else {
		shmemdi_wqe_transfer(&q, at,
				     wr->kind == SHMEMDI_WR_READ ? SHMEMD_MLX5_RDMA_READ
								 : SHMEMD_MLX5_RDMA_WRITE,
				     remote, own, wr->nbytes);
	}
	shmemdi_sq_write(&ep->c, reserved, wqebb, &q, units);
	if (!shmemdi_wr_has_dump(ep, wr))
		return wqebbs;
	shmemdi_wqe_dump(&q, shmemdi_sq_at(reserved, wqebb + wqebbs, 1, request + 1), own, 1);
	shmemdi_sq_write(&ep->c, reserved, wqebb + wqebbs, &q, 2);
	return wqebbs + 1;
}

/* Publish what all lanes have written. The first sync makes the leader's fences cover their WQEs.
 * No lane leaves before all is published: its quiet would overlook what it has posted.
 *
 * at_call, a constant at each call: the plain case (shmemdi_sq_is_plain) is inline, not in a
 * function that gets its arguments through local memory. A put by 32 lanes, with a channel for each
 * warp, takes 0.73 to 0.78 of the time that it takes with the call if the queue is in device
 * memory, and 0.87 to 0.91 if it is in host memory (H200). Work requests keep the call, which saves
 * 1,600 bytes of code in each unit. */
SHMEMD_FN shmemdi_ticket_t shmemdi_lanes_submit(const shmemdi_chan_t *c, shmemdi_lanes_t lanes,
						const shmemdi_reservation_t *reserved,
						shmemdi_how_t how, int at_call)
{
	shmemdi_ticket_t ticket = {0, reserved->line.queue};

	shmemdi_lanes_sync(lanes);
	if (lanes.is_leader && at_call) {
		ticket = shmemdi_sq_submit(c, reserved, how,
					   shmemdi_thread_zero(reserved->line.path));
	} else if (lanes.is_leader) {
		shmemdi_sq_count(c, reserved, shmemdi_thread_zero(reserved->line.path));
		ticket.word = shmemdi_sq_submit_any(*c, shmemdi_sq_written(reserved), how);
	}
	shmemdi_lanes_sync(lanes);
	if (how.needs_ticket)
		ticket.word = shmemdi_lanes_broadcast(lanes, ticket.word);
	return ticket;
}

/* WQEBBs that a posting takes, of each lane. */
SHMEMD_FN uint32_t shmemdi_wrs_wqebbs(const shmemdi_ep_t *ep, const shmemdi_wrs_t *wrs)
{
	return shmemdi_wr_wqebbs(wrs->wr) + wrs->n - 1 + (uint32_t)shmemdi_wr_has_dump(ep, wrs->wr);
}

/* Post for these lanes. local: the bounce buffer that this lane has taken, or the sink. */
SHMEMD_FN int shmemdi_wr_post_lanes(const shmemdi_ep_t *ep, shmemdi_call_t call,
				    const shmemdi_wrs_t *wrs, shmemdi_lanes_t lanes,
				    uint32_t wqebbs, const char *local, shmemdi_posted_t *posted)
{
	shmemdi_reservation_t reserved = {0, 0, 0, {0, 0, 0, 0, 0}, 0, 0};
	uint32_t i, at = wqebbs * lanes.rank;
	const shmemdi_wr_t *wr = wrs->wr;
	int status = shmemdi_wr_start(&ep->c, call, wrs, lanes, wqebbs, &reserved);

	if (status != SHMEMD_OK)
		return status;
	SHMEMD_ARCH_NO_UNROLL
	for (i = 0; i < wrs->n; i++, wr++)
		at += shmemdi_wr_write(ep, &reserved, at, wrs->n * lanes.rank + i, wr,
				       wr->local_kind == SHMEMDI_LOCAL_HEAP ? wr->u.local : local);
	posted->end = reserved.first + at;
	posted->ticket = shmemdi_lanes_submit(&ep->c, lanes, &reserved, wrs->how, 0);
	return SHMEMD_OK;
}

/* What posts work requests: one of the two functions below. */
typedef int shmemdi_wr_post_t(const shmemdi_ep_t *ep, shmemdi_call_t call, const shmemdi_wrs_t *wrs,
			      shmemdi_posted_t *posted);

/* Post work requests that need no bounce buffer, for the calling lane alone. After a failure
 * nothing is posted. */
SHMEMD_FN_CALL int shmemdi_wr_post_alone(const shmemdi_ep_t *ep, shmemdi_call_t call,
					 const shmemdi_wrs_t *wrs, shmemdi_posted_t *posted)
{
	ep = (const shmemdi_ep_t *)shmemd_arch_as_local(ep);
	wrs = (const shmemdi_wrs_t *)shmemd_arch_as_local(wrs);
	posted = (shmemdi_posted_t *)shmemd_arch_as_local(posted);
	return shmemdi_wr_post_lanes(ep, call, wrs, shmemdi_lanes_self(),
				     shmemdi_wrs_wqebbs(ep, wrs), ep->sink, posted);
}

/* Post any work requests; lanes that can be coalesced are. After a failure nothing is posted. If
 * the channel fails after a bounce buffer was taken, the buffer stays taken: nothing is posted on
 * that channel any more. */
SHMEMD_FN_CALL int shmemdi_wr_post(const shmemdi_ep_t *ep, shmemdi_call_t call,
				   const shmemdi_wrs_t *wrs, shmemdi_posted_t *posted)
{
	uint32_t wqebbs = shmemdi_wrs_wqebbs(ep, wrs);
	shmemdi_lanes_t lanes = shmemdi_wr_lanes(ep, wrs, wqebbs);
	const char *local = ep->sink;
	int status;

	if (wrs->wr[0].local_kind == SHMEMDI_LOCAL_BOUNCE) {
		status = shmemdi_wr_bounce(&ep->c, call, lanes, &posted->bounce);
		if (status != SHMEMD_OK)
			return status;
		local = shmemdi_bounce(&ep->c, posted->bounce);
	}
	return shmemdi_wr_post_lanes(ep, call, wrs, lanes, wqebbs, local, posted);
}

/* WRITE a word of up to 8 bytes. */
SHMEMD_FN void shmemdi_wr_word(shmemdi_wrs_t *wrs, const void *sym, uint64_t bits, uint32_t width)
{
	shmemdi_wr_t *wr = &wrs->wr[wrs->n++];

	wr->kind = SHMEMDI_WR_WRITE_INLINE;
	wr->local_kind = SHMEMDI_LOCAL_NONE;
	wr->sym = (const char *)sym;
	wr->nbytes = width;
	wr->u.words[0] = (uint32_t)bits;
	wr->u.words[1] = (uint32_t)(bits >> 32);
}

/* Update a word of 4 or 8 bytes; the old value goes to the sink, or to a bounce buffer. */
SHMEMD_FN void shmemdi_wr_amo(shmemdi_wrs_t *wrs, const void *sym, shmemdi_nic_amo_t amo,
			      uint32_t width, int to)
{
	shmemdi_wr_t *wr = &wrs->wr[wrs->n++];

	wr->kind = SHMEMDI_WR_ATOMIC;
	wr->local_kind = (uint8_t)to;
	wr->sym = (const char *)sym;
	wr->nbytes = width;
	wr->u.amo = amo;
}

/* READ into registered memory, the sink or a bounce buffer; or WRITE from registered memory; or
 * WRITE of what the caller then stores to the words of the work request (SHMEMDI_LOCAL_NONE). */
SHMEMD_FN void shmemdi_wr_data(shmemdi_wrs_t *wrs, int kind, const char *sym, const char *local,
			       uint32_t nbytes, int to)
{
	shmemdi_wr_t *wr = &wrs->wr[wrs->n++];

	wr->kind = (uint8_t)kind;
	wr->local_kind = (uint8_t)to;
	wr->sym = sym;
	wr->u.local = local;
	wr->nbytes = nbytes;
}

#endif
