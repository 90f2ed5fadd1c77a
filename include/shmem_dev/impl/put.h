/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What NICs write elsewhere: data, signals, words, and atomics whose result nobody asks for. */
#ifndef SHMEMD_IMPL_PUT_H
#define SHMEMD_IMPL_PUT_H

#include <shmem_dev/impl/post.h>

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

	SHMEMD_ARCH_NO_UNROLL
	for (i = 0; 4 * i < nbytes; i++) {
		words[i] = 0;
		if ((uintptr_t)src % 4 == 0 && 4 * i + 4 <= nbytes) {
			words[i] = shmemd_arch_ld_data_u32(src + 4 * i);
			continue;
		}
		SHMEMD_ARCH_NO_UNROLL
		for (k = 4 * i; k < 4 * i + 4 && k < nbytes; k++)
			words[i] |= (uint32_t)shmemd_arch_ld_data_u8(src + k) << (k - 4 * i) * 8;
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

/* A word to store, or with kind (shmemdi_amo) to update; the old value is not returned. */
typedef struct shmemdi_word {
	void *sym;
	uint64_t value;
	uint32_t width;
	int kind; /* SHMEMDI_AMO_FETCH: the word is stored, not updated */
} shmemdi_word_t;

/* Post a word out of line. how.is_alone: the caller has reserved, and found `resv`. Otherwise the
 * converged lanes reserve together. */
SHMEMD_FN_RARE int shmemdi_nic_word_late(shmemdi_ref_t ref, shmemdi_call_t call,
					 shmemdi_word_t word, shmemdi_how_t how, uint64_t resv)
{
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;

	shmemdi_wrs_init(&wrs, how);
	wrs.is_reserved = how.is_alone;
	wrs.resv = resv;
	if (word.kind == SHMEMDI_AMO_FETCH)
		shmemdi_wr_word(&wrs, word.sym, word.value, word.width);
	else
		shmemdi_wr_amo(&wrs, word.sym,
			       shmemdi_nic_amo(word.kind, word.value, 0, word.width), word.width,
			       SHMEMDI_LOCAL_SINK);
	return shmemdi_wr_post(ref, call, &wrs, &posted);
}

/* One WQE that changes a word, by a thread alone. */
SHMEMD_FN int shmemdi_nic_word(const shmemdi_nic_t *n, shmemdi_call_t call, shmemdi_word_t word,
			       shmemdi_how_t how)
{
	int is_amo = word.kind != SHMEMDI_AMO_FETCH;
	shmemdi_nic_amo_t amo = shmemdi_nic_amo(word.kind, word.value, 0, word.width);
	uint32_t wqebbs = is_amo ? shmemdi_nic_amo_wqebbs(amo.opcode, word.width) : 1;
	uint32_t words[7] = {(uint32_t)word.value, (uint32_t)(word.value >> 32), 0, 0, 0, 0, 0};
	uint64_t rkeys, lkeys;
	shmemdi_wqe_t q = {{0}};
	shmemdi_mem_t remote;
	shmemdi_wqe_at_t at;
	shmemdi_post_t post;

	shmemdi_sq_reserve(&n->c, &post, wqebbs, 1);
	rkeys = shmemdi_keys(shmemdi_rkey(n, word.sym));
	lkeys = is_amo ? shmemdi_bounce_keys(n) : 0;
	if (SHMEMD_ARCH_SELDOM(shmemdi_sq_is_odd(&n->c, &post)))
		return shmemdi_nic_word_late(shmemdi_ref(&n->c), call, word, how, post.resv);
	(void)shmemdi_sq_begin(&post);
	at = shmemdi_sq_at(&post, 0, wqebbs, 0);
	remote = shmemdi_heap_mem(n, word.sym, rkeys, post.line.path);
	if (is_amo)
		shmemdi_wqe_amo(&q, at, remote, shmemdi_bounce_mem(n->sink, lkeys, post.line.path),
				&amo, word.width);
	else
		shmemdi_wqe_write_inline(&q, at, remote, words, word.width);
	shmemdi_sq_write(&n->c, &post, 0, &q, is_amo ? 3 + wqebbs : 3);
	(void)shmemdi_sq_submit(&n->c, &post, how);
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

/* Take the next segment off a put: up to 28 bytes of any memory within the WQE, or registered
 * memory. The last one comes with the signal; the others leave the doorbell to it. */
SHMEMD_FN void shmemdi_wr_segment(const shmemdi_nic_t *n, shmemdi_put_t *put, shmemdi_wrs_t *wrs)
{
	int is_inline = put->nbytes <= n->inline_nbytes || !shmemdi_is_registered(n, put->src);
	uint64_t nbytes = shmemdi_segment(n, put->dst, put->src, put->nbytes, is_inline);

	shmemdi_wrs_init(wrs, put->how);
	shmemdi_wr_data(wrs, is_inline ? SHMEMDI_WR_WRITE_INLINE : SHMEMDI_WR_WRITE, put->dst,
			put->src, (uint32_t)nbytes,
			is_inline ? SHMEMDI_LOCAL_SINK : SHMEMDI_LOCAL_HEAP);
	if (is_inline) /* in the place of the address */
		shmemdi_nic_gather(put->src, (uint32_t)nbytes, wrs->wr[0].u.words);
	put->dst += nbytes;
	put->src += nbytes;
	put->nbytes -= nbytes;
	if (put->nbytes == 0)
		shmemdi_wr_signal(wrs, put->sig);
	else
		wrs->how.when = SHMEMD_RING_LATER;
}

/* Any put: segment by segment. */
SHMEMD_FN_RARE int shmemdi_nic_put_segments(shmemdi_ref_t ref, shmemdi_call_t call,
					    shmemdi_put_t put)
{
	shmemdi_nic_t n = shmemdi_nic_k(ref.team, ref.pe, ref.k);
	int status = SHMEMD_OK, is_src_free = 1;
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;

	if (put.nbytes == 0) {
		shmemdi_wrs_init(&wrs, put.how);
		shmemdi_wr_signal(&wrs, put.sig);
		return wrs.n ? shmemdi_wr_post(ref, call, &wrs, &posted) : SHMEMD_OK;
	}
	SHMEMD_ARCH_NO_UNROLL
	while (put.nbytes && status == SHMEMD_OK) {
		shmemdi_wr_segment(&n, &put, &wrs);
		is_src_free &= wrs.wr[0].kind == SHMEMDI_WR_WRITE_INLINE;
		status = shmemdi_wr_post(ref, call, &wrs, &posted);
	}
	if (status != SHMEMD_OK || !put.how.is_wait || is_src_free)
		return status;
	return shmemdi_cq_wait_longer(ref, call, posted.ticket,
				      shmemdi_limit_default(ref.team, ref.pe));
}

/* The rest of shmemdi_nic_put_simple after a snapshot that is odd: wait until the reservation
 * `resv` can be written, then post. */
SHMEMD_FN_RARE int shmemdi_nic_put_late(shmemdi_ref_t ref, shmemdi_call_t call, shmemdi_put_t put,
					uint64_t resv)
{
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;
	int status;

	shmemdi_wrs_init(&wrs, put.how);
	wrs.is_reserved = 1;
	wrs.resv = resv;
	shmemdi_wr_data(&wrs, SHMEMDI_WR_WRITE, put.dst, put.src, (uint32_t)put.nbytes,
			SHMEMDI_LOCAL_HEAP);
	shmemdi_wr_signal(&wrs, put.sig);
	status = shmemdi_wr_post(ref, call, &wrs, &posted);
	if (status != SHMEMD_OK || !put.how.is_wait)
		return status;
	return shmemdi_cq_wait_longer(ref, call, posted.ticket,
				      shmemdi_limit_default(ref.team, ref.pe));
}

/* Post data that are one WRITE of registered memory, and the signal with them. */
SHMEMD_FN int shmemdi_nic_put_simple(const shmemdi_nic_t *n, shmemdi_call_t call,
				     const shmemdi_put_t *put)
{
	uint32_t wqebbs = put->sig.op >= 0 ? 2 : 1;
	shmemdi_put_keys_t keys;
	shmemdi_ticket_t ticket;
	shmemdi_post_t post;

	shmemdi_sq_reserve(&n->c, &post, wqebbs, wqebbs);
	keys = shmemdi_put_keys(n, put);
	if (SHMEMD_ARCH_SELDOM(shmemdi_sq_is_odd(&n->c, &post)))
		return shmemdi_nic_put_late(shmemdi_ref(&n->c), call, *put, post.resv);
	(void)shmemdi_sq_begin(&post);
	shmemdi_nic_write_data(n, &post, put, keys);
	if (put->sig.op >= 0)
		shmemdi_nic_write_signal(n, &post, 1, put->sig, keys);
	ticket = shmemdi_sq_submit(&n->c, &post, put->how);
	if (!put->how.is_wait)
		return SHMEMD_OK;
	return shmemdi_cq_wait(&n->c, call, ticket, shmemdi_limit_default(n->c.team, n->c.pe));
}

/* put by a thread alone. */
SHMEMD_FN int shmemdi_nic_put(const shmemdi_nic_t *n, shmemdi_call_t call, const shmemdi_put_t *put)
{
	if (SHMEMD_ARCH_SELDOM(!shmemdi_is_simple(n, put)))
		return shmemdi_nic_put_segments(shmemdi_ref(&n->c), call, *put);
	return shmemdi_nic_put_simple(n, call, put);
}

#endif
