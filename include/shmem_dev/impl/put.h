/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What NICs write elsewhere: data, signals, words, and atomics whose result nobody asks for. */
#ifndef SHMEMD_IMPL_PUT_H
#define SHMEMD_IMPL_PUT_H

#include <shmem_dev/impl/nic.h>

/* put, with a signal after it or without */

/* How a signal word changes after data; op -1: it does not. */
typedef struct shmemdi_signal {
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

/* Gather up to 28 bytes from any memory into the words of an inline WQE. */
SHMEMD_FN void shmemdi_nic_gather(const char *src, uint32_t nbytes, uint32_t words[7])
{
	uint32_t i, k;

	for (i = 0; i < 7; i++) {
		words[i] = 0;
		if ((uintptr_t)src % 4 == 0 && 4 * i + 4 <= nbytes) {
			words[i] = shmemd_arch_ld_data_u32(src + 4 * i);
			continue;
		}
		for (k = 4 * i; k < 4 * i + 4; k++)
			if (k < nbytes)
				words[i] |= (uint32_t)shmemd_arch_ld_data_u8(src + k)
					    << (k - 4 * i) * 8;
	}
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
typedef struct shmemdi_put {
	char *dst;
	const char *src;
	uint64_t nbytes;
	shmemdi_signal_t sig;
	shmemdi_how_t how; /* is_wait: until src is free */
} shmemdi_put_t;

/* What the WQEs of one posting are made of, apart from its place: keys of both columns. */
typedef struct shmemdi_put_keys {
	uint64_t dst, src, signal, sink;
} shmemdi_put_keys_t;

SHMEMD_FN shmemdi_put_keys_t shmemdi_put_keys(const shmemdi_nic_t *n, const shmemdi_put_t *put)
{
	shmemdi_put_keys_t keys = {0, 0, 0, 0};

	keys.dst = shmemdi_keys(shmemdi_rkey(n, put->dst));
	keys.src = shmemdi_keys(shmemdi_lkey(n, put->src));
	if (put->sig.op >= 0)
		keys.signal = shmemdi_keys(shmemdi_rkey(n, put->sig.word));
	if (put->sig.op == SHMEMD_SIGNAL_ADD)
		keys.sink = shmemdi_bounce_keys(n);
	return keys;
}

SHMEMD_FN void shmemdi_nic_write_data(const shmemdi_nic_t *n, const shmemdi_post_t *post,
				      const shmemdi_put_t *put, shmemdi_put_keys_t keys)
{
	uint64_t path = post->line.path;
	shmemdi_wqe_t q = {{0}};

	shmemdi_wqe_write(&q, shmemdi_sq_at(post, 0, 1, 0),
			  shmemdi_heap_mem(n, put->dst, keys.dst, path),
			  shmemdi_heap_mem(n, put->src, keys.src, path), (uint32_t)put->nbytes);
	shmemdi_sq_write(&n->c, post, 0, &q, 3);
}

SHMEMD_FN void shmemdi_nic_write_signal(const shmemdi_nic_t *n, const shmemdi_post_t *post,
					uint32_t wqebb, shmemdi_signal_t sig,
					shmemdi_put_keys_t keys)
{
	shmemdi_mem_t sink = {0, 0};
	shmemdi_wqe_t q = {{0}};

	if (sig.op == SHMEMD_SIGNAL_ADD)
		sink = shmemdi_bounce_mem(n->sink, keys.sink, post->line.path);
	shmemdi_wqe_signal(&q, shmemdi_sq_at(post, wqebb, 1, wqebb),
			   shmemdi_heap_mem(n, sig.word, keys.signal, post->line.path), sink, sig);
	shmemdi_sq_write(&n->c, post, wqebb, &q, sig.op == SHMEMD_SIGNAL_ADD ? 4 : 3);
}

/* Post data that are one WRITE of registered memory, and the signal with them. */
SHMEMD_FN int shmemdi_nic_put_whole(const shmemdi_nic_t *n, shmemdi_call_t call,
				    const shmemdi_put_t *put, shmemdi_ticket_t *ticket)
{
	uint32_t wqebbs = put->sig.op >= 0 ? 2 : 1;
	shmemdi_lanes_t lanes = shmemdi_nic_lanes(n, wqebbs, wqebbs, 0, put->how);
	shmemdi_put_keys_t keys;
	shmemdi_post_t post;
	int status;

	shmemdi_sq_reserve(&n->c, &post, lanes, wqebbs, wqebbs);
	keys = shmemdi_put_keys(n, put);
	if (SHMEMD_ARCH_SELDOM(shmemdi_sq_is_odd(&n->c, &post))) {
		shmemdi_sq_wait(&n->c, call, &post);
		keys = shmemdi_put_keys(n, put);
	}
	status = shmemdi_sq_begin(&post);
	if (status == SHMEMD_OK) {
		shmemdi_nic_write_data(n, &post, put, keys);
		if (put->sig.op >= 0)
			shmemdi_nic_write_signal(n, &post, 1, put->sig, keys);
	}
	*ticket = shmemdi_sq_submit(&n->c, &post, put->how, status);
	return status;
}

/* Post up to 28 bytes of any memory within a WQE. */
SHMEMD_FN int shmemdi_nic_put_inline(const shmemdi_nic_t *n, shmemdi_call_t call, char *dst,
				     const char *src, uint32_t nbytes, shmemdi_how_t how)
{
	shmemdi_lanes_t lanes = shmemdi_nic_lanes(n, 1, 1, 0, how);
	uint64_t rkeys = shmemdi_keys(shmemdi_rkey(n, dst));
	shmemdi_wqe_t q = {{0}};
	shmemdi_post_t post;
	uint32_t words[7];
	int status = shmemdi_sq_start(&n->c, call, &post, lanes, 1, 1);

	if (status == SHMEMD_OK) {
		shmemdi_nic_gather(src, nbytes, words);
		shmemdi_wqe_write_inline(&q, shmemdi_sq_at(&post, 0, 1, 0),
					 shmemdi_heap_mem(n, dst, rkeys, post.line.path), words,
					 nbytes);
		shmemdi_sq_write(&n->c, &post, 0, &q, 4);
	}
	shmemdi_sq_submit(&n->c, &post, how, status);
	return status;
}

/* Is one WRITE of registered memory all of it, since both ends stay within a granule? Sufficient,
 * and in 32 bits as far as it goes: a granule is no longer than a message. */
SHMEMD_FN int shmemdi_is_simple(const shmemdi_nic_t *n, const shmemdi_put_t *put)
{
	uint32_t granule = (uint32_t)1 << n->log_granule;
	uint32_t to = (uint32_t)shmemdi_offset(n, put->dst) & (granule - 1);
	uint32_t from = (uint32_t)shmemdi_offset(n, put->src) & (granule - 1);

	return put->nbytes > n->inline_nbytes && put->nbytes <= granule &&
	       shmemdi_is_registered(n, put->src) &&
	       (to > from ? to : from) + (uint32_t)put->nbytes <= granule;
}

/* One WQE that changes a word: a WRITE of up to 8 bytes, or with amo an atomic whose result goes to
 * the sink. */
SHMEMD_FN int shmemdi_nic_word(const shmemdi_nic_t *n, shmemdi_call_t call, void *dst,
			       uint64_t bits, uint32_t width, const shmemdi_nic_amo_t *amo,
			       shmemdi_how_t how)
{
	uint32_t wqebbs = amo ? shmemdi_nic_amo_wqebbs(amo->opcode, width) : 1;
	uint32_t words[7] = {(uint32_t)bits, (uint32_t)(bits >> 32), 0, 0, 0, 0, 0};
	shmemdi_lanes_t lanes = shmemdi_nic_lanes(n, wqebbs, 1, 0, how);
	uint64_t rkeys, lkeys;
	shmemdi_wqe_t q = {{0}};
	shmemdi_post_t post;
	int status;

	shmemdi_sq_reserve(&n->c, &post, lanes, wqebbs, 1);
	rkeys = shmemdi_keys(shmemdi_rkey(n, dst));
	lkeys = amo ? shmemdi_bounce_keys(n) : 0;
	if (SHMEMD_ARCH_SELDOM(shmemdi_sq_is_odd(&n->c, &post))) {
		shmemdi_sq_wait(&n->c, call, &post);
		rkeys = shmemdi_keys(shmemdi_rkey(n, dst));
		lkeys = amo ? shmemdi_bounce_keys(n) : 0;
	}
	status = shmemdi_sq_begin(&post);
	if (status == SHMEMD_OK) {
		shmemdi_mem_t remote = shmemdi_heap_mem(n, dst, rkeys, post.line.path);
		shmemdi_wqe_at_t at = shmemdi_sq_at(&post, 0, wqebbs, 0);

		if (amo)
			shmemdi_wqe_amo(&q, at, remote,
					shmemdi_bounce_mem(n->sink, lkeys, post.line.path), amo,
					width);
		else
			shmemdi_wqe_write_inline(&q, at, remote, words, width);
		shmemdi_sq_write(&n->c, &post, 0, &q, amo ? 3 + wqebbs : 3);
	}
	shmemdi_sq_submit(&n->c, &post, how, status);
	return status;
}

/* A signal without data before it. */
SHMEMD_FN int shmemdi_nic_signal(const shmemdi_nic_t *n, shmemdi_call_t call, shmemdi_signal_t sig,
				 shmemdi_how_t how)
{
	shmemdi_nic_amo_t add = {SHMEMD_MLX5_ATOMIC_FA, sig.value, 0, 0, 0, 0};
	int is_add = sig.op == SHMEMD_SIGNAL_ADD;

	return shmemdi_nic_word(n, call, sig.word, sig.value, 8, is_add ? &add : 0, how);
}

/* Any put: segments one by one, each with a reservation of its own; the signal last. All but the
 * last of these postings leave the doorbell to the next. */
SHMEMD_FN_RARE int shmemdi_nic_put_segments(shmemdi_ref_t ref, shmemdi_call_t call,
					    shmemdi_put_t of_caller)
{
	shmemdi_nic_t nic = shmemdi_nic_k(ref.team, ref.pe, ref.k), *n = &nic;
	shmemdi_put_t part = of_caller, *put = &of_caller;
	shmemdi_ticket_t ticket = {0, 0};
	int status = SHMEMD_OK, is_inline, is_src_free = 1;

	SHMEMD_ARCH_IN_MEMORY(n);
	SHMEMD_ARCH_IN_MEMORY(put);
	part.sig.op = -1;
	SHMEMD_ARCH_NO_UNROLL
	while (put->nbytes && status == SHMEMD_OK) {
		is_inline = put->nbytes <= n->inline_nbytes || !shmemdi_is_registered(n, put->src);
		part.dst = put->dst;
		part.src = put->src;
		part.nbytes = shmemdi_segment(n, put->dst, put->src, put->nbytes, is_inline);
		put->dst += part.nbytes;
		put->src += part.nbytes;
		put->nbytes -= part.nbytes;
		part.how = put->how;
		if (put->nbytes || put->sig.op >= 0)
			part.how.when = SHMEMD_RING_LATER;
		status = is_inline ? shmemdi_nic_put_inline(n, call, part.dst, part.src,
							    (uint32_t)part.nbytes, part.how)
				   : shmemdi_nic_put_whole(n, call, &part, &ticket);
		is_src_free &= is_inline;
	}
	if (status == SHMEMD_OK && put->sig.op >= 0)
		status = shmemdi_nic_signal(n, call, put->sig, put->how);
	if (status != SHMEMD_OK || !put->how.is_wait || is_src_free)
		return status;
	return shmemdi_cq_wait(&n->c, call, ticket, shmemdi_limit_default(n->c.team, n->c.pe));
}

SHMEMD_FN int shmemdi_nic_put(const shmemdi_nic_t *n, shmemdi_call_t call, const shmemdi_put_t *put)
{
	shmemdi_ticket_t ticket;
	int status;

	if (put->nbytes == 0 && put->sig.op < 0)
		return SHMEMD_OK;
	if (SHMEMD_ARCH_SELDOM(!shmemdi_is_simple(n, put)))
		return shmemdi_nic_put_segments(shmemdi_ref(&n->c), call, *put);
	status = shmemdi_nic_put_whole(n, call, put, &ticket);
	if (status != SHMEMD_OK || !put->how.is_wait)
		return status;
	return shmemdi_cq_wait(&n->c, call, ticket, shmemdi_limit_default(n->c.team, n->c.pe));
}

#endif
