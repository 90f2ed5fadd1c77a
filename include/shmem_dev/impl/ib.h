/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on PEs behind a NIC. Each function is called by one thread for itself or, where it has
 * is_warp, by the 32 lanes of a warp for one operation, with equal arguments. They return a status
 * and have recorded a failure, as those of impl/xport.h do.
 *
 * Memory is the symmetric heap, whose addresses in WQEs are offsets. Other memory no NIC knows:
 * what is put from there travels within WQEs, what is got lands in landing slots first. Slower, but
 * any memory works. */
#ifndef SHMEMD_IMPL_IB_H
#define SHMEMD_IMPL_IB_H

#include <shmem_dev/impl/p2p.h>
#include <shmem_dev/impl/post.h>

/* Channel k to pe. Returns 0 if no NIC leads there. */
SHMEMD_FN int shmemdi_ib_open_k(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe, uint32_t k,
				shmemdi_chan_t *c)
{
	c->ch = 0; /* or registers are kept for what is not there */
	c->ring = 0;
	if (ctx->n_channels == 0)
		return 0;
	c->ctx = ctx;
	c->call = call;
	c->pe = pe;
	c->k = k;
	c->limit = shmemdi_limit_default(ctx, pe);
	c->ch = &ctx->channels[(size_t)k * ctx->n_world + shmemdi_world(ctx, pe)];
	c->ring = c->ch->ring;
	return c->ring != 0;
}

/* The context's channel to pe. */
SHMEMD_FN int shmemdi_ib_open(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe,
			      shmemdi_chan_t *c)
{
	return shmemdi_ib_open_k(ctx, call, pe, ctx->channel, c);
}

SHMEMD_FN int shmemdi_ib_reaches(const shmemd_ctx_t *ctx, int pe)
{
	shmemdi_chan_t c;

	return shmemdi_ib_open(ctx, shmemdi_call(SHMEMD_OP_NONE, 0, 0), pe, &c);
}

/* Lanes that are to post alike share one key; rings are aligned to 64. Three slots each would be
 * more than the smallest queue has. */
SHMEMD_FN shmemdi_lanes_t shmemdi_ib_lanes(const shmemdi_chan_t *c, uint32_t slots,
					   uint32_t requests, int needs_landing, int when)
{
	if (slots * 32 > SHMEMD_MIN_DEPTH)
		return shmemdi_lanes_self();
	return shmemdi_lanes_here((uint64_t)(uintptr_t)c->ring | slots |
				  (uint64_t)(requests != slots) << 2 |
				  (uint64_t)(needs_landing != 0) << 3 | (uint64_t)when << 4);
}

/* Keys */

/* Key for the granule of a heap that `offset` is in; *left gets the bytes from there on that its
 * memory region covers. */
SHMEMD_FN shmemdi_mem_t shmemdi_ib_key(const shmemd_path_t *path, const shmemd_key_t *keys,
				       uint64_t offset, uint64_t *left)
{
	uint64_t granule = offset >> path->log_granule;
	uint64_t word = shmemd_arch_ld_data_u64(&keys[granule]);
	shmemdi_mem_t mem = {offset, (uint32_t)word};

	*left = ((granule + 1 + (word >> 32)) << path->log_granule) - offset;
	return mem;
}

SHMEMD_FN uint64_t shmemdi_ib_offset(const shmemdi_chan_t *c, const void *p)
{
	return (uint64_t)((uintptr_t)p - (uintptr_t)c->ctx->heap);
}

SHMEMD_FN int shmemdi_ib_knows(const shmemdi_chan_t *c, const void *p)
{
	return shmemdi_ib_offset(c, p) < c->ctx->heap_nbytes;
}

/* A remote word, which no region's end divides. */
SHMEMD_FN shmemdi_mem_t shmemdi_ib_word(const shmemdi_chan_t *c, const shmemd_path_t *path,
					const void *sym)
{
	uint64_t left;

	return shmemdi_ib_key(path, path->rkeys, shmemdi_ib_offset(c, sym), &left);
}

SHMEMD_FN shmemdi_mem_t shmemdi_ib_landing(const shmemdi_chan_t *c, const shmemd_path_t *path,
					   uint64_t ticket)
{
	shmemdi_mem_t mem = {(uint64_t)(uintptr_t)shmemdi_landing(c, ticket), path->landing_key};

	return mem;
}

/* Where answers go that nobody wants. */
SHMEMD_FN shmemdi_mem_t shmemdi_ib_sink(const shmemdi_chan_t *c, const shmemd_path_t *path)
{
	char *sink = c->ch->landing + SHMEMD_LANDING_SLOTS * SHMEMD_LANDING_NBYTES;
	shmemdi_mem_t mem = {(uint64_t)(uintptr_t)sink, path->landing_key};

	return mem;
}

/* As much of a transfer as one WQE can do. */
typedef struct shmemdi_piece {
	shmemdi_mem_t remote, local;
	uint64_t nbytes;
	int is_known; /* the local memory is in the heap */
} shmemdi_piece_t;

SHMEMD_FN shmemdi_piece_t shmemdi_ib_piece(const shmemdi_chan_t *c, const shmemd_path_t *path,
					   const void *sym, const void *mine, uint64_t nbytes)
{
	shmemdi_piece_t p = {{0, 0}, {0, 0}, nbytes, shmemdi_ib_knows(c, mine)};
	uint64_t left;

	p.remote = shmemdi_ib_key(path, path->rkeys, shmemdi_ib_offset(c, sym), &left);
	p.nbytes = p.nbytes < left ? p.nbytes : left;
	p.nbytes = p.nbytes < SHMEMD_MLX5_MAX_MSG ? p.nbytes : SHMEMD_MLX5_MAX_MSG;
	if (!p.is_known)
		return p;
	p.local = shmemdi_ib_key(path, path->lkeys, shmemdi_ib_offset(c, mine), &left);
	p.nbytes = p.nbytes < left ? p.nbytes : left;
	return p;
}

/* put, with a signal behind it or without */

/* Up to 28 bytes from anywhere, as the words of an inline WQE. */
SHMEMD_FN void shmemdi_ib_gather(const char *src, uint32_t nbytes, uint32_t words[7])
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

/* How a signal word changes behind data; op -1: it does not. */
typedef struct shmemdi_ib_signal {
	uint64_t *word;
	uint64_t value;
	int op;
} shmemdi_ib_signal_t;

SHMEMD_FN void shmemdi_ib_store(const shmemdi_chan_t *c, const shmemdi_post_t *post,
				shmemdi_wqe_at_t at, const void *dst, uint64_t bits, uint32_t width)
{
	uint32_t words[7] = {(uint32_t)bits, (uint32_t)(bits >> 32), 0, 0, 0, 0, 0};
	shmemdi_wqe_t q = {{0}};

	shmemdi_wqe_write_inline(&q, at, shmemdi_ib_word(c, post->path, dst), words, width);
	shmemdi_post_wqe(c, post, at.index, &q, 1);
}

SHMEMD_FN void shmemdi_ib_update(const shmemdi_chan_t *c, const shmemdi_post_t *post,
				 shmemdi_wqe_at_t at, const void *dst, const shmemdi_nic_amo_t *amo,
				 uint32_t width, shmemdi_mem_t old)
{
	shmemdi_wqe_t q = {{0}};

	shmemdi_wqe_amo(&q, at, shmemdi_ib_word(c, post->path, dst), old, amo, width);
	shmemdi_post_wqe(c, post, at.index, &q, shmemdi_nic_amo_blocks(amo->opcode, width));
}

SHMEMD_FN void shmemdi_ib_signal(const shmemdi_chan_t *c, const shmemdi_post_t *post,
				 shmemdi_wqe_at_t at, shmemdi_ib_signal_t sig)
{
	shmemdi_nic_amo_t add = {SHMEMD_MLX5_ATOMIC_FA, sig.value, 0, 0, 0, 0};

	if (sig.op == SHMEMD_SIGNAL_ADD)
		shmemdi_ib_update(c, post, at, sig.word, &add, 8, shmemdi_ib_sink(c, post->path));
	else
		shmemdi_ib_store(c, post, at, sig.word, sig.value, 8);
}

SHMEMD_FN void shmemdi_ib_data(const shmemdi_chan_t *c, const shmemdi_post_t *post,
			       shmemdi_wqe_at_t at, shmemdi_piece_t p, const char *src,
			       int is_inline)
{
	shmemdi_wqe_t q = {{0}};
	uint32_t words[7];

	if (is_inline) {
		shmemdi_ib_gather(src, (uint32_t)p.nbytes, words);
		shmemdi_wqe_write_inline(&q, at, p.remote, words, (uint32_t)p.nbytes);
	} else {
		shmemdi_wqe_write(&q, at, p.remote, p.local, (uint32_t)p.nbytes);
	}
	shmemdi_post_wqe(c, post, at.index, &q, 1);
}

/* A put as it goes along. */
typedef struct shmemdi_ib_put {
	char *dst;
	const char *src;
	uint64_t nbytes; /* left */
	shmemdi_ib_signal_t sig;
	int is_warp;
	int when;
	uint64_t end;  /* slots before it hold what is posted so far */
	int is_inline; /* src is free already */
} shmemdi_ib_put_t;

/* The next piece, inline or not. */
SHMEMD_FN shmemdi_piece_t shmemdi_ib_put_next(const shmemdi_chan_t *c, const shmemd_path_t *path,
					      const shmemdi_ib_put_t *put, int *is_inline)
{
	shmemdi_piece_t p = shmemdi_ib_piece(c, path, put->dst, put->src, put->nbytes);

	*is_inline = !p.is_known || p.nbytes <= c->ch->inline_nbytes;
	if (*is_inline && p.nbytes > SHMEMD_MLX5_INLINE_MAX)
		p.nbytes = SHMEMD_MLX5_INLINE_MAX & ~3u;
	return p;
}

/* One piece; the signal goes with the last one, in the same reservation, which must know that: all
 * paths of a channel cut transfers alike. The keys are looked up behind the reservation: to keep
 * them across it would cost registers. */
SHMEMD_FN int shmemdi_ib_put_piece(const shmemdi_chan_t *c, shmemdi_ib_put_t *put)
{
	shmemdi_piece_t p = {{0, 0}, {0, 0}, 0, 0};
	int has_signal = 0, is_inline = 0;
	shmemdi_post_t post;
	uint32_t slots;
	int status;

	if (put->sig.op >= 0)
		has_signal = shmemdi_ib_put_next(c, shmemdi_path(c), put, &is_inline).nbytes ==
			     put->nbytes;
	slots = 1 + (uint32_t)has_signal;
	status = shmemdi_post_begin(c, &post,
				    put->is_warp ? shmemdi_lanes_warp()
						 : shmemdi_ib_lanes(c, slots, slots, 0, put->when),
				    slots, slots, 0);
	if (status == SHMEMD_OK) {
		p = shmemdi_ib_put_next(c, post.path, put, &is_inline);
		shmemdi_ib_data(c, &post, shmemdi_post_at(&post, 0, 1, 0), p, put->src, is_inline);
		if (has_signal)
			shmemdi_ib_signal(c, &post, shmemdi_post_at(&post, 1, 1, 1), put->sig);
	}
	shmemdi_post_end(c, &post, status, put->when);
	put->dst += p.nbytes;
	put->src += p.nbytes;
	put->nbytes -= p.nbytes;
	put->end = post.at + slots;
	put->is_inline &= is_inline;
	return status;
}

/* One WQE that changes a word: a WRITE of up to 8 bytes, or an atomic whose answer nobody wants. */
SHMEMD_FN int shmemdi_ib_word_op(const shmemdi_chan_t *c, void *dst, uint64_t bits, uint32_t width,
				 const shmemdi_nic_amo_t *amo, int when)
{
	uint32_t blocks = amo ? shmemdi_nic_amo_blocks(amo->opcode, width) : 1;
	shmemdi_post_t post;
	int status =
		shmemdi_post_begin(c, &post, shmemdi_ib_lanes(c, blocks, 1, 0, when), blocks, 1, 0);

	if (status == SHMEMD_OK) {
		shmemdi_wqe_at_t at = shmemdi_post_at(&post, 0, blocks, 0);

		if (amo)
			shmemdi_ib_update(c, &post, at, dst, amo, width,
					  shmemdi_ib_sink(c, post.path));
		else
			shmemdi_ib_store(c, &post, at, dst, bits, width);
	}
	shmemdi_post_end(c, &post, status, when);
	return status;
}

/* Only the signal. Two calls: what is chosen at run time between them would be kept in memory. */
SHMEMD_FN int shmemdi_ib_signal_op(const shmemdi_chan_t *c, shmemdi_ib_signal_t sig, int when)
{
	shmemdi_nic_amo_t add = {SHMEMD_MLX5_ATOMIC_FA, sig.value, 0, 0, 0, 0};

	if (sig.op == SHMEMD_SIGNAL_ADD)
		return shmemdi_ib_word_op(c, sig.word, 0, 8, &add, when);
	return shmemdi_ib_word_op(c, sig.word, sig.value, 8, 0, when);
}

/* put->end tells what to wait for. */
SHMEMD_FN int shmemdi_ib_put(const shmemdi_chan_t *c, shmemdi_ib_put_t *put)
{
	int status = SHMEMD_OK;

	put->is_inline = 1;
	if (put->nbytes == 0 && put->sig.op >= 0 && (!put->is_warp || shmemd_arch_lane() == 0))
		return shmemdi_ib_signal_op(c, put->sig, put->when);
	while (put->nbytes && status == SHMEMD_OK)
		status = shmemdi_ib_put_piece(c, put);
	return status;
}

/* get */

/* READ into the heap, and with FLUSH_READS a DUMP that makes it visible here. */
SHMEMD_FN int shmemdi_ib_get_piece(const shmemdi_chan_t *c, shmemdi_piece_t p, int is_warp,
				   uint64_t *end)
{
	uint32_t slots = c->ctx->flags & SHMEMD_CTX_FLUSH_READS ? 2 : 1;
	shmemdi_post_t post;
	shmemdi_wqe_t q = {{0}};
	int status =
		shmemdi_post_begin(c, &post,
				   is_warp ? shmemdi_lanes_warp()
					   : shmemdi_ib_lanes(c, slots, 1, 0, SHMEMD_RING_BATCH),
				   slots, 1, 0);

	if (status == SHMEMD_OK) {
		shmemdi_wqe_read(&q, shmemdi_post_at(&post, 0, 1, 0), p.remote, p.local,
				 (uint32_t)p.nbytes);
		shmemdi_post_wqe(c, &post, post.at, &q, 1);
		if (slots == 2) {
			shmemdi_wqe_dump(&q, shmemdi_post_at(&post, 1, 1, 1), p.local, 1);
			shmemdi_post_wqe(c, &post, post.at + 1, &q, 1);
		}
	}
	shmemdi_post_end(c, &post, status, SHMEMD_RING_BATCH);
	*end = post.at + slots;
	return status;
}

/* [dst, dst + nbytes) is in the heap. */
SHMEMD_FN int shmemdi_ib_get(const shmemdi_chan_t *c, char *dst, const char *src, uint64_t nbytes,
			     int is_warp, uint64_t *end)
{
	int status = SHMEMD_OK;

	while (nbytes && status == SHMEMD_OK) {
		shmemdi_piece_t p = shmemdi_ib_piece(c, shmemdi_path(c), src, dst, nbytes);

		status = shmemdi_ib_get_piece(c, p, is_warp, end);
		dst += p.nbytes;
		src += p.nbytes;
		nbytes -= p.nbytes;
	}
	return status;
}

/* What comes back by landing slots: READ of nbytes, or with amo the old value. *ticket is to be
 * left afterwards. */
SHMEMD_FN int shmemdi_ib_fetch_landing(const shmemdi_chan_t *c, const void *src, uint32_t nbytes,
				       const shmemdi_nic_amo_t *amo, uint64_t *ticket)
{
	uint32_t blocks = amo ? shmemdi_nic_amo_blocks(amo->opcode, nbytes) : 1;
	uint32_t slots = blocks + (c->ctx->flags & SHMEMD_CTX_FLUSH_READS ? 1 : 0);
	shmemdi_post_t post;
	shmemdi_wqe_t q = {{0}};
	int status = shmemdi_post_begin(
		c, &post, shmemdi_ib_lanes(c, slots, blocks, 1, SHMEMD_RING_NOW), slots, 1, 1);

	if (status == SHMEMD_OK) {
		shmemdi_mem_t to = shmemdi_ib_landing(c, post.path, post.ticket);
		shmemdi_wqe_at_t at = shmemdi_post_at(&post, 0, blocks, 0);

		if (amo) {
			shmemdi_ib_update(c, &post, at, src, amo, nbytes, to);
		} else {
			shmemdi_wqe_read(&q, at, shmemdi_ib_word(c, post.path, src), to, nbytes);
			shmemdi_post_wqe(c, &post, post.at, &q, 1);
		}
		if (slots > blocks) {
			shmemdi_wqe_dump(&q, shmemdi_post_at(&post, blocks, 1, 1), to, 1);
			shmemdi_post_wqe(c, &post, post.at + blocks, &q, 1);
		}
	}
	shmemdi_post_end(c, &post, status, SHMEMD_RING_NOW);
	*ticket = post.ticket;
	if (status == SHMEMD_OK) {
		status = shmemdi_ring_wait(c, post.at + slots);
		if (status != SHMEMD_OK)
			shmemdi_landing_give_up(c, post.ticket, post.at + slots);
	}
	return status;
}

/* A word of 1 to 8 bytes, or with amo the old value of one of 4 or 8. */
SHMEMD_FN_NIC int shmemdi_ib_fetch(const shmemdi_chan_t *c, const void *src, uint32_t width,
				   const shmemdi_nic_amo_t *amo, uint64_t *value)
{
	uint64_t ticket;
	int status = shmemdi_ib_fetch_landing(c, src, width, amo, &ticket);

	if (status != SHMEMD_OK)
		return status;
	*value = shmemdi_p2p_load(shmemdi_landing(c, ticket), width);
	if (amo && width == 4) /* the NIC writes the old value of a 4-byte atomic big-endian */
		*value = shmemd_arch_bswap32((uint32_t)*value);
	shmemdi_landing_leave(c, ticket);
	return SHMEMD_OK;
}

/* get into memory that no NIC knows, piece by piece; complete on return. */
SHMEMD_FN int shmemdi_ib_get_any(const shmemdi_chan_t *c, char *dst, const char *src,
				 uint64_t nbytes)
{
	int status = SHMEMD_OK;

	while (nbytes && status == SHMEMD_OK) {
		shmemdi_piece_t p = shmemdi_ib_piece(c, shmemdi_path(c), src, dst, nbytes);
		uint32_t n = (uint32_t)(p.nbytes < SHMEMD_LANDING_NBYTES ? p.nbytes
									 : SHMEMD_LANDING_NBYTES);
		uint64_t ticket;
		uint32_t i;

		status = shmemdi_ib_fetch_landing(c, src, n, 0, &ticket);
		if (status != SHMEMD_OK)
			return status;
		SHMEMD_ARCH_NO_UNROLL
		for (i = 0; i < n; i++)
			shmemd_arch_st_data_u8(
				dst + i, shmemd_arch_ld_relaxed_u8(shmemdi_landing(c, ticket) + i));
		shmemdi_landing_leave(c, ticket);
		dst += n;
		src += n;
		nbytes -= n;
	}
	return status;
}

/* Atomics */

/* kind (shmemdi_amo) as the NIC does it. FETCH is a READ, and FADD a loop: not here. */
SHMEMD_FN shmemdi_nic_amo_t shmemdi_ib_amo(int kind, uint64_t value, uint64_t cond, uint32_t width)
{
	uint64_t all = ~(uint64_t)0;
	shmemdi_nic_amo_t amo = {SHMEMD_MLX5_ATOMIC_MASKED_CS, value, 0, all, 0, 0};

	switch (kind) {
	case SHMEMDI_AMO_ADD:
		amo.opcode = width == 8 ? SHMEMD_MLX5_ATOMIC_FA : SHMEMD_MLX5_ATOMIC_MASKED_FA;
		break;
	case SHMEMDI_AMO_XOR: /* an addition without carries */
		amo.opcode = SHMEMD_MLX5_ATOMIC_MASKED_FA;
		amo.boundary = all;
		break;
	case SHMEMDI_AMO_AND:
		amo.swap_mask = ~value;
		amo.value = 0;
		break;
	case SHMEMDI_AMO_OR:
		amo.swap_mask = value;
		break;
	case SHMEMDI_AMO_CAS:
		amo.compare = cond;
		amo.compare_mask = all;
		if (width == 8)
			amo.opcode = SHMEMD_MLX5_ATOMIC_CS;
		break;
	default: /* SET */
		break;
	}
	return amo;
}

SHMEMD_FN uint64_t shmemdi_float_sum(uint64_t a, uint64_t b, uint32_t width)
{
	if (width == 4)
		return shmemdi_bits_f32(shmemdi_f32(a) + shmemdi_f32(b));
	return shmemdi_bits_f64(shmemdi_f64(a) + shmemdi_f64(b));
}

/* Floating-point add: compare-and-swap until nobody came between. */
SHMEMD_FN int shmemdi_ib_fadd(const shmemdi_chan_t *c, void *dst, uint64_t value, uint32_t width,
			      uint64_t *old)
{
	uint64_t seen;
	int status = shmemdi_ib_fetch(c, dst, width, 0, &seen);

	while (status == SHMEMD_OK) {
		shmemdi_nic_amo_t cas = shmemdi_ib_amo(
			SHMEMDI_AMO_CAS, shmemdi_float_sum(seen, value, width), seen, width);

		*old = seen;
		status = shmemdi_ib_fetch(c, dst, width, &cas, &seen);
		if (seen == *old)
			break;
	}
	return status;
}

SHMEMD_FN_NIC int shmemdi_ib_amo_fetch(const shmemdi_chan_t *c, int kind, void *dst, uint64_t value,
				       uint64_t cond, uint32_t width, uint64_t *old)
{
	shmemdi_nic_amo_t amo;

	if (kind == SHMEMDI_AMO_FADD)
		return shmemdi_ib_fadd(c, dst, value, width, old);
	if (kind == SHMEMDI_AMO_FETCH)
		return shmemdi_ib_fetch(c, dst, width, 0, old);
	amo = shmemdi_ib_amo(kind, value, cond, width);
	return shmemdi_ib_fetch(c, dst, width, &amo, old);
}

SHMEMD_FN_NIC int shmemdi_ib_amo_post(const shmemdi_chan_t *c, int kind, void *dst, uint64_t value,
				      uint32_t width, int when)
{
	shmemdi_nic_amo_t amo;
	uint64_t old;

	if (kind == SHMEMDI_AMO_FADD)
		return shmemdi_ib_fadd(c, dst, value, width, &old);
	amo = shmemdi_ib_amo(kind, value, 0, width);
	return shmemdi_ib_word_op(c, dst, 0, width, &amo, when);
}

#endif
