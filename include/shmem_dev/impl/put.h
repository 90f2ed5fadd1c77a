/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* RDMA operations that write to the peer: data, signals, words, and atomics that fetch nothing. */
#ifndef SHMEMD_IMPL_PUT_H
#define SHMEMD_IMPL_PUT_H

#include <shmem_dev/impl/post.h>

/* put, with a signal after it or without */

/* How a signal word changes after data; op -1: it does not. */
typedef struct shmemdi_signal_t {
	uint64_t *word; /* symmetric */
	uint64_t value;
	int op; /* shmemd_signal */
} shmemdi_signal_t;

SHMEMD_FN shmemdi_signal_t shmemdi_signal(uint64_t *word, uint64_t value, int op)
{
	shmemdi_signal_t sig = {word, value, op};
	return sig;
}

SHMEMD_FN shmemdi_signal_t shmemdi_no_signal(void)
{
	return shmemdi_signal(0, 0, -1);
}

/* Gather up to 28 bytes from any memory into the words of an inline WQE. Whole words are loaded all
 * at once. */
SHMEMD_FN void shmemdi_nic_gather(const char *src, uint32_t nbytes, uint32_t words[7])
{
	uint32_t i;

	if (((uintptr_t)src | nbytes) % 4 == 0) {
		for (i = 0; i < 7; i++)
			words[i] = 4 * i < nbytes ? shmemd_arch_ld_data_u32(src + 4 * i) : 0;
		return;
	}
	for (i = 0; i < 7; i++)
		words[i] = 0;
	SHMEMD_ARCH_NO_UNROLL
	for (i = 0; i < nbytes; i++)
		words[i / 4] |= (uint32_t)shmemd_arch_ld_data_u8(src + i) << i % 4 * 8;
}

/* The WQE of an update of a signal word. sink: for the result, if it is added to. */
SHMEMD_FN void shmemdi_wqe_signal(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, shmemdi_mem_t word,
				  shmemdi_mem_t sink, shmemdi_signal_t sig)
{
	shmemdi_nic_amo_t add = {SHMEMD_MLX5_ATOMIC_FA, sig.value, 0, 0, 0, 0};
	uint32_t words[7] = {(uint32_t)sig.value, (uint32_t)(sig.value >> 32), 0, 0, 0, 0, 0};

	if (sig.op == SHMEMD_SIGNAL_ADD)
		shmemdi_wqe_amo(q, at, word, sink, &add, 8);
	else
		shmemdi_wqe_write_inline(q, at, word, words, 8);
}

/* A put: data, and a signal after it. */
typedef struct shmemdi_put_t {
	char *dst;
	const char *src;
	uint64_t nbytes;
	shmemdi_signal_t sig;
	shmemdi_how_t how; /* of the last posting; needs_ticket: the put blocks */
} shmemdi_put_t;

/* Keys that the WQEs of one put or word name, each with those of both columns (shmemdi_keys). They
 * do not depend on the reservation, so they are loaded in the same trip as the line. */
typedef struct shmemdi_put_keys_t {
	uint64_t dst, src, signal, sink;
} shmemdi_put_keys_t;

SHMEMD_FN shmemdi_put_keys_t shmemdi_put_keys(const shmemdi_ep_t *ep, const shmemdi_put_t *put)
{
	shmemdi_put_keys_t keys = {0, 0, 0, 0};

	keys.dst = shmemdi_keys(shmemdi_rkey(ep, put->dst));
	keys.src = shmemdi_keys(shmemdi_lkey(ep, put->src));
	if (put->sig.op >= 0)
		keys.signal = shmemdi_keys(shmemdi_rkey(ep, put->sig.word));
	if (put->sig.op == SHMEMD_SIGNAL_ADD)
		keys.sink = shmemdi_bounce_keys(ep);
	return keys;
}

SHMEMD_FN void shmemdi_nic_data_wqe(const shmemdi_ep_t *ep, const shmemdi_reservation_t *reserved,
				    uint32_t wqebb, const shmemdi_put_t *put,
				    shmemdi_put_keys_t keys)
{
	uint64_t path = reserved->line.path;
	shmemdi_wqe_t q = {{0}};

	shmemdi_wqe_write(&q, shmemdi_sq_at(reserved, wqebb, 1, wqebb),
			  shmemdi_peer_mem(ep, put->dst, keys.dst, path),
			  shmemdi_heap_mem(ep, put->src, keys.src, path), (uint32_t)put->nbytes);
	shmemdi_sq_write(&ep->c, reserved, wqebb, &q, 3);
}

SHMEMD_FN void shmemdi_nic_signal_wqe(const shmemdi_ep_t *ep, const shmemdi_reservation_t *reserved,
				      uint32_t wqebb, shmemdi_signal_t sig, shmemdi_put_keys_t keys)
{
	shmemdi_mem_t sink = {0, 0};
	shmemdi_wqe_t q = {{0}};

	if (sig.op == SHMEMD_SIGNAL_ADD)
		sink = shmemdi_bounce_mem(ep->sink, keys.sink, reserved->line.path);
	shmemdi_wqe_signal(&q, shmemdi_sq_at(reserved, wqebb, 1, wqebb),
			   shmemdi_peer_mem(ep, sig.word, keys.signal, reserved->line.path), sink,
			   sig);
	shmemdi_sq_write(&ep->c, reserved, wqebb, &q, sig.op == SHMEMD_SIGNAL_ADD ? 4 : 3);
}

/* Is the put simple: one WRITE that names src? Any other put takes the general path
 * (shmemdi_nic_put_segments).
 *
 * It is if it has data, src is registered, and both ranges stay within a granule each. A put that
 * crosses granules is not simple, even if one memory region covers them. 32 bits are enough, since
 * a granule has at most 1 GiB.
 *
 * A blocking put of at most inline_nbytes bytes is not simple: its WQE carries the data, so src is
 * reusable without a wait for the CQE. A non-blocking put of so few bytes is simple: its caller
 * does not wait for the NIC to read src, but would wait for its own loads of src before it could
 * write the WQE. But if a lone poster's snapshot needs the slow path, a put that is simple takes
 * the general path, too. So the WQE of a small non-blocking put names src or carries the data
 * (shmemdi_wr_segment), depending on the state of the queue. */
SHMEMD_FN int shmemdi_is_simple(const shmemdi_ep_t *ep, const shmemdi_put_t *put)
{
	uint32_t granule = (uint32_t)1 << SHMEMD_LOG_GRANULE(ep->c.geometry);
	uint32_t to = (uint32_t)shmemdi_offset(ep, put->dst) & (granule - 1);
	uint32_t from = (uint32_t)shmemdi_offset(ep, put->src) & (granule - 1);
	int is_blocking = put->how.needs_ticket;

	return put->nbytes > (is_blocking ? SHMEMD_INLINE_NBYTES(ep->c.geometry) : 0u) &&
	       put->nbytes <= granule && shmemdi_is_in_heap(ep, put->src) &&
	       (to > from ? to : from) + (uint32_t)put->nbytes <= granule;
}

/* A word to store or to update; the old value is not returned. */
typedef struct shmemdi_word {
	void *sym;
	uint64_t value;
	uint32_t width;
	int kind; /* shmemdi_word_kind */
} shmemdi_word_t;

SHMEMD_FN int shmemdi_word_is_amo(shmemdi_word_t word)
{
	return word.kind != SHMEMDI_WORD_STORE;
}

/* WQEBBs of its WQE: two if that is a masked compare-and-swap of 8 bytes (shmemdi_nic_opcode). By a
 * mask, since the reservation waits for this number. */
SHMEMD_FN uint32_t shmemdi_word_wqebbs(shmemdi_word_t word)
{
	uint32_t one = 1u << SHMEMDI_WORD_STORE | 1u << SHMEMDI_AMO_ADD | 1u << SHMEMDI_AMO_XOR |
		       1u << SHMEMDI_AMO_CAS;

	return word.width == 8 && !(one >> word.kind & 1) ? 2 : 1;
}

/* Write the WQE of a word from the reservation's WQEBB `wqebb` on, as its request `request`. */
SHMEMD_FN void shmemdi_nic_word_wqe(const shmemdi_ep_t *ep, const shmemdi_reservation_t *reserved,
				    uint32_t wqebb, uint32_t request, shmemdi_word_t word,
				    int is_amo, shmemdi_put_keys_t keys)
{
	uint32_t words[7] = {(uint32_t)word.value, (uint32_t)(word.value >> 32), 0, 0, 0, 0, 0};
	shmemdi_nic_amo_t amo = shmemdi_nic_amo(word.kind, word.value, 0, word.width);
	uint32_t wqebbs = is_amo ? shmemdi_word_wqebbs(word) : 1;
	shmemdi_wqe_at_t at = shmemdi_sq_at(reserved, wqebb, wqebbs, request);
	uint64_t path = reserved->line.path;
	shmemdi_mem_t remote = shmemdi_peer_mem(ep, word.sym, keys.dst, path);
	shmemdi_wqe_t q = {{0}};

	if (is_amo)
		shmemdi_wqe_amo(&q, at, remote, shmemdi_bounce_mem(ep->sink, keys.sink, path), &amo,
				word.width);
	else
		shmemdi_wqe_write_inline(&q, at, remote, words, word.width);
	shmemdi_sq_write(&ep->c, reserved, wqebb, &q, is_amo ? 3 + wqebbs : 3);
}

SHMEMD_FN shmemdi_put_keys_t shmemdi_word_keys(const shmemdi_ep_t *ep, shmemdi_word_t word)
{
	shmemdi_put_keys_t keys = {0, 0, 0, 0};

	keys.dst = shmemdi_keys(shmemdi_rkey(ep, word.sym));
	if (shmemdi_word_is_amo(word))
		keys.sink = shmemdi_bounce_keys(ep);
	return keys;
}

/* Each lane that is converged here stores or updates a word of its own. Those on one channel, with
 * WQEs of one length and the same `how`, share a reservation and a doorbell. */
SHMEMD_FN_CALL int shmemdi_nic_word_lanes(shmemdi_ref_t ref, shmemdi_call_t call,
					  shmemdi_word_t word, shmemdi_how_t how)
{
	shmemdi_ep_t ep = shmemdi_ep_k(ref.ctx, ref.pe, ref.k);
	uint32_t wqebbs = shmemdi_word_wqebbs(word);
	shmemdi_lanes_t lanes = shmemdi_lanes_on(&ep.c, wqebbs, how);
	shmemdi_put_keys_t keys = shmemdi_word_keys(&ep, word);
	shmemdi_reservation_t reserved = {0, 0, 0, {0, 0, 0, 0, 0}, 0, 0};
	int status = shmemdi_lanes_start(&ep.c, call, lanes, wqebbs, 1, &reserved);

	if (status != SHMEMD_OK)
		return status;
	shmemdi_nic_word_wqe(&ep, &reserved, wqebbs * lanes.rank, lanes.rank, word,
			     shmemdi_word_is_amo(word), keys);
	(void)shmemdi_lanes_submit(&ep.c, lanes, &reserved, how, 1);
	return SHMEMD_OK;
}

/* The rest of shmemdi_nic_word_post on the slow path: post what the caller has reserved. Latches
 * what it returns, so that the fast path has no status to test. */
SHMEMD_FN_CALL int shmemdi_nic_word_slow(shmemdi_ref_t ref, shmemdi_call_t call,
					 shmemdi_word_t word, shmemdi_how_t how, uint64_t resv)
{
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;
	shmemdi_ep_t ep;
	int status;

	shmemdi_ep_load(ref, &ep);
	shmemdi_wrs_init(&wrs, how);
	wrs.is_reserved = 1;
	wrs.resv = resv;
	if (word.kind == SHMEMDI_WORD_STORE)
		shmemdi_wr_word(&wrs, word.sym, word.value, word.width);
	else
		shmemdi_wr_amo(&wrs, word.sym,
			       shmemdi_nic_amo(word.kind, word.value, 0, word.width), word.width,
			       SHMEMDI_LOCAL_SINK);
	status = shmemdi_wr_post_alone(&ep, call, &wrs, &posted);
	shmemdi_latch(ref.ctx, status);
	return status;
}

/* Store a word, or update it if is_amo, by a thread alone that has reserved for it and loaded its
 * keys. Latches what it returns. */
SHMEMD_FN int shmemdi_nic_word_post(const shmemdi_ep_t *ep, shmemdi_call_t call,
				    shmemdi_word_t word, int is_amo, shmemdi_how_t how,
				    shmemdi_reservation_t *reserved, shmemdi_put_keys_t keys)
{
	if (SHMEMD_ARCH_UNLIKELY(shmemdi_sq_needs_slow_path(&ep->c, reserved)))
		return SHMEMD_ARCH_INDIRECT(shmemdi_nic_word_slow)(shmemdi_ref(&ep->c), call, word,
								   how, reserved->resv);
	(void)shmemdi_sq_begin(reserved);
	shmemdi_nic_word_wqe(ep, reserved, 0, 0, word, is_amo, keys);
	(void)shmemdi_sq_submit(&ep->c, reserved, how, shmemdi_thread_zero(reserved->line.path));
	return SHMEMD_OK;
}

/* The work request of a signal, after its data. */
SHMEMD_FN void shmemdi_wr_signal(shmemdi_wrs_t *wrs, shmemdi_signal_t sig)
{
	if (sig.op == SHMEMD_SIGNAL_ADD)
		shmemdi_wr_amo(wrs, sig.word, shmemdi_nic_amo(SHMEMDI_AMO_ADD, sig.value, 0, 8), 8,
			       SHMEMDI_LOCAL_SINK);
	else if (sig.op >= 0)
		shmemdi_wr_word(wrs, sig.word, sig.value, 8);
}

/* Take the next segment off a put and add its work request. The WQE carries the data if src is not
 * registered (up to 28 bytes of it), or if at most inline_nbytes are left of the put, whether the
 * caller waits or not. Otherwise the WQE names registered memory. */
SHMEMD_FN void shmemdi_wr_segment(const shmemdi_ep_t *ep, shmemdi_put_t *put, shmemdi_wrs_t *wrs)
{
	int is_inline = put->nbytes <= SHMEMD_INLINE_NBYTES(ep->c.geometry) ||
			!shmemdi_is_in_heap(ep, put->src);
	uint64_t nbytes = shmemdi_segment(ep, put->dst, put->src, put->nbytes, is_inline);
	shmemdi_wr_t *wr = &wrs->wr[wrs->n];

	shmemdi_wr_data(wrs, is_inline ? SHMEMDI_WR_WRITE_INLINE : SHMEMDI_WR_WRITE, put->dst,
			put->src, (uint32_t)nbytes,
			is_inline ? SHMEMDI_LOCAL_NONE : SHMEMDI_LOCAL_HEAP);
	if (is_inline) /* in the place of the address */
		shmemdi_nic_gather(put->src, (uint32_t)nbytes, wr->u.words);
	put->dst += nbytes;
	put->src += nbytes;
	put->nbytes -= nbytes;
}

/* WQEBBs that a put reserves before it is cut into segments: one for data, one for the signal. */
SHMEMD_FN uint32_t shmemdi_put_wqebbs(const shmemdi_put_t *put)
{
	return (uint32_t)(put->nbytes != 0) + (uint32_t)(put->sig.op >= 0);
}

/* Fill `wrs` from the put. If the caller has reserved WQEBBs (n_reserved), as many work requests as
 * those, the signal included. If it has reserved none (0), one segment, and if that is the last
 * one, the signal. Without room for the signal it is left to the next posting. All but the last
 * posting of a put defer their doorbell, and do not ask for the number of their CQE. */
SHMEMD_FN void shmemdi_wr_fill(const shmemdi_ep_t *ep, shmemdi_put_t *put, shmemdi_wrs_t *wrs,
			       uint32_t n_reserved)
{
	SHMEMD_ARCH_NO_UNROLL
	while (put->nbytes && wrs->n < (n_reserved ? n_reserved : 1))
		shmemdi_wr_segment(ep, put, wrs);
	if (put->nbytes == 0 && wrs->n < (n_reserved ? n_reserved : 2)) {
		shmemdi_wr_signal(wrs, put->sig);
		put->sig.op = -1;
	}
	if (shmemdi_put_wqebbs(put)) {
		wrs->how.when = SHMEMD_RING_DEFERRED;
		wrs->how.needs_ticket = 0;
	}
}

/* Any put: `post` is called for one or two work requests at a time, until all is posted. A thread
 * that posts alone has reserved shmemdi_put_wqebbs() WQEBBs before the call, and found `resv`.
 * Coalesced lanes have not reserved: they reserve together, segment by segment. */
SHMEMD_FN_CALL int shmemdi_nic_put_segments(shmemdi_ref_t ref, shmemdi_call_t call,
					    shmemdi_put_t put, uint64_t resv,
					    shmemdi_wr_post_t *post)
{
	int is_reserved = put.how.not_coalesced;
	uint32_t n_reserved = is_reserved ? shmemdi_put_wqebbs(&put) : 0;
	int status = SHMEMD_OK, is_src_free = 1;
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;
	shmemdi_ep_t ep;

	shmemdi_ep_load(ref, &ep);
	SHMEMD_ARCH_NO_UNROLL
	while (shmemdi_put_wqebbs(&put) && status == SHMEMD_OK) {
		shmemdi_wrs_init(&wrs, put.how);
		wrs.is_reserved = n_reserved != 0;
		wrs.resv = resv;
		shmemdi_wr_fill(&ep, &put, &wrs, n_reserved);
		is_src_free &= wrs.wr[0].kind != SHMEMDI_WR_WRITE;
		if (is_src_free) /* no CQE to wait for */
			wrs.how.needs_ticket = 0;
		status = post(&ep, call, &wrs, &posted);
		n_reserved = 0;
	}
	if (status != SHMEMD_OK || !put.how.needs_ticket || is_src_free)
		return status;
	return shmemdi_cq_wait(ref, call, posted.ticket, shmemdi_limit_default(ref.ctx, ref.pe));
}

/* Each lane that is converged here puts data of its own. Lanes on one channel with simple puts of
 * one form (WQEBBs, `how`) share a reservation and a CQE; so do lanes on the general path, segment
 * by segment (shmemdi_wr_post). */
SHMEMD_FN_CALL int shmemdi_nic_put_lanes(shmemdi_ref_t ref, shmemdi_call_t call, shmemdi_put_t put)
{
	shmemdi_ep_t ep = shmemdi_ep_k(ref.ctx, ref.pe, ref.k);
	uint32_t wqebbs = shmemdi_put_wqebbs(&put);
	shmemdi_reservation_t reserved = {0, 0, 0, {0, 0, 0, 0, 0}, 0, 0};
	shmemdi_put_keys_t keys;
	shmemdi_ticket_t ticket;
	shmemdi_lanes_t lanes;
	int status;

	if (!shmemdi_is_simple(&ep, &put))
		return shmemdi_nic_put_segments(ref, call, put, 0, shmemdi_wr_post);
	lanes = shmemdi_lanes_on(&ep.c, wqebbs, put.how);
	keys = shmemdi_put_keys(&ep, &put);
	status = shmemdi_lanes_start(&ep.c, call, lanes, wqebbs, wqebbs, &reserved);
	if (status != SHMEMD_OK)
		return status;
	shmemdi_nic_data_wqe(&ep, &reserved, wqebbs * lanes.rank, &put, keys);
	if (put.sig.op >= 0)
		shmemdi_nic_signal_wqe(&ep, &reserved, wqebbs * lanes.rank + 1, put.sig, keys);
	ticket = shmemdi_lanes_submit(&ep.c, lanes, &reserved, put.how, 1);
	if (!put.how.needs_ticket)
		return SHMEMD_OK;
	return shmemdi_cq_wait(ref, call, ticket, shmemdi_limit_default(ref.ctx, ref.pe));
}

/* Reserve for a put that is not coalesced. If the put is simple, the caller then loads the keys
 * (shmemdi_put_keys) in the same trip to memory, and posts; else it calls
 * shmemdi_nic_put_hand_over.
 *
 * The caller's test (shmemdi_is_simple) ends a basic block before the keys are loaded: ptxas orders
 * instructions within a basic block, and would otherwise issue the reservation behind all that the
 * test and the addresses of the keys need, some 40 instructions. zero: as for
 * shmemdi_sq_reserve_word. */
SHMEMD_FN void shmemdi_nic_put_reserve(const shmemdi_ep_t *ep, const shmemdi_put_t *put,
				       shmemdi_reservation_t *reserved, uint32_t zero)
{
	uint32_t wqebbs = shmemdi_put_wqebbs(put);

	shmemdi_sq_reserve(&ep->c, reserved, wqebbs, wqebbs, zero);
}

/* Post a put that has been reserved for, in any form, and wait if it blocks. */
SHMEMD_FN int shmemdi_nic_put_hand_over(const shmemdi_ep_t *ep, shmemdi_call_t call,
					const shmemdi_put_t *put,
					const shmemdi_reservation_t *reserved)
{
	return SHMEMD_ARCH_INDIRECT(shmemdi_nic_put_segments)(
		shmemdi_ref(&ep->c), call, *put, reserved->resv, shmemdi_wr_post_alone);
}

/* Post a simple put that has been reserved for, with its keys. Sets *must_wait if the caller must
 * wait for the CQE that *ticket names: if the put blocks and has not taken the slow path, on which
 * shmemdi_nic_put_hand_over has waited. zero: as for shmemdi_sq_submit. */
SHMEMD_FN int shmemdi_nic_put_post(const shmemdi_ep_t *ep, shmemdi_call_t call,
				   const shmemdi_put_t *put, shmemdi_reservation_t *reserved,
				   shmemdi_put_keys_t keys, uint32_t zero, shmemdi_ticket_t *ticket,
				   int *must_wait)
{
	*must_wait = 0;
	if (SHMEMD_ARCH_UNLIKELY(shmemdi_sq_needs_slow_path(&ep->c, reserved)))
		return shmemdi_nic_put_hand_over(ep, call, put, reserved);
	/* What the reservation took: a simple put has data. With constants the compiler knows which
	 * WQE is the last one, the one that requests the CQE (shmemdi_sq_at). */
	reserved->wqebbs = reserved->requests = put->sig.op >= 0 ? 2 : 1;
	(void)shmemdi_sq_begin(reserved);
	shmemdi_nic_data_wqe(ep, reserved, 0, put, keys);
	if (put->sig.op >= 0)
		shmemdi_nic_signal_wqe(ep, reserved, 1, put->sig, keys);
	*ticket = shmemdi_sq_submit(&ep->c, reserved, put->how, zero);
	*must_wait = put->how.needs_ticket;
	return SHMEMD_OK;
}

/* A put by the leader of a group, which posts for its group. */
SHMEMD_FN int shmemdi_nic_put_leader(const shmemdi_ep_t *ep, shmemdi_call_t call,
				     const shmemdi_put_t *put)
{
	uint32_t zero = shmemdi_leader_zero(&ep->c);
	shmemdi_reservation_t reserved;
	shmemdi_put_keys_t keys;
	shmemdi_ticket_t ticket;
	int status, must_wait;

	if (shmemdi_put_wqebbs(put) == 0)
		return SHMEMD_OK;
	shmemdi_nic_put_reserve(ep, put, &reserved, zero);
	if (SHMEMD_ARCH_UNLIKELY(!shmemdi_is_simple(ep, put)))
		return shmemdi_nic_put_hand_over(ep, call, put, &reserved);
	keys = shmemdi_put_keys(ep, put);
	/* Never true. It ends the basic block: else ptxas would place the loads of the keys behind
	 * the instructions that wait for the reservation, and they would take a trip of their own.
	 */
	if (SHMEMD_ARCH_UNLIKELY(zero))
		return SHMEMD_OK;
	status = shmemdi_nic_put_post(ep, call, put, &reserved, keys,
				      shmemdi_path_zero(reserved.line.path), &ticket, &must_wait);
	if (!must_wait)
		return status;
	return shmemdi_cq_look_and_wait(&ep->c, call, ticket,
					shmemdi_limit_default(ep->c.ctx, ep->c.pe));
}

#endif
