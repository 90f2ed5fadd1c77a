/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations sent by RDMA, each by the calling thread. For an operation of a warp its first lane
 * calls; threads that call for themselves, converged, are coalesced. Functions return a status and
 * have recorded a failure.
 *
 * The symmetric heap is registered; its addresses in WQEs are offsets. Other memory is not: puts
 * from there travel within WQEs, gets return through bounce buffers. That is slower, but works for
 * any memory. */
#ifndef SHMEMD_IMPL_NIC_H
#define SHMEMD_IMPL_NIC_H

#include <shmem_dev/impl/p2p.h>
#include <shmem_dev/impl/sq.h>

/* A channel, and memory as its NIC addresses it. */
typedef struct shmemdi_nic {
	shmemdi_chan_t c;
	const shmemd_key_t *keys;
	char *heap;
	uint64_t heap_nbytes;
	const char *sink; /* of results that nobody asks for */
	uint32_t n_granules;
	uint32_t first_lkey; /* index in keys of this PE's own entries */
	uint8_t log_granule, inline_nbytes;
} shmemdi_nic_t;

SHMEMD_FN shmemdi_nic_t shmemdi_nic_k(const shmemd_ctx_t *ctx, int pe, uint32_t k)
{
	shmemdi_nic_t n;

	n.c = shmemdi_chan(ctx, pe, k);
	n.keys = ctx->keys;
	n.heap = ctx->heap;
	n.heap_nbytes = ctx->heap_nbytes;
	n.sink = shmemdi_bounce_sink(ctx);
	n.n_granules = ctx->n_granules;
	n.first_lkey = ctx->n_world * ctx->n_granules;
	n.log_granule = ctx->log_granule;
	n.inline_nbytes = ctx->inline_nbytes;
	return n;
}

/* The context's channel to pe. */
SHMEMD_FN shmemdi_nic_t shmemdi_nic(const shmemd_ctx_t *ctx, int pe)
{
	return shmemdi_nic_k(ctx, pe, ctx->channel);
}

/* Coalesce lanes that post alike on one channel, whose address is a multiple of 128. Those that
 * wait for their completion are not coalesced with others, which would leave before the ticket is
 * broadcast. Three WQEBBs each would be more than the smallest queue has. */
SHMEMD_FN shmemdi_lanes_t shmemdi_nic_lanes(const shmemdi_nic_t *n, uint32_t wqebbs,
					    uint32_t requests, int needs_bounce, shmemdi_how_t how)
{
	if (how.is_alone || wqebbs * 32 > SHMEMD_MIN_DEPTH)
		return shmemdi_lanes_self();
	return shmemdi_lanes_coalesced((uint64_t)(uintptr_t)n->c.ch | wqebbs |
				       (uint64_t)(requests != wqebbs) << 2 |
				       (uint64_t)(needs_bounce != 0) << 3 |
				       (uint64_t)how.when << 4 | (uint64_t)(how.is_wait != 0) << 6);
}

/* Keys. An entry's keys for both NICs are loaded before they are needed, in the same trip as the
 * channel's line, which tells the NIC. */

SHMEMD_FN uint64_t shmemdi_offset(const shmemdi_nic_t *n, const void *p)
{
	return (uint64_t)((uintptr_t)p - (uintptr_t)n->heap);
}

SHMEMD_FN int shmemdi_is_registered(const shmemdi_nic_t *n, const void *p)
{
	return shmemdi_offset(n, p) < n->heap_nbytes;
}

/* The granule of an address in the heap: below n_granules, so 32 bits are enough, as they are for
 * an index of the table. */
SHMEMD_FN uint32_t shmemdi_granule(const shmemdi_nic_t *n, const void *p)
{
	return (uint32_t)(shmemdi_offset(n, p) >> n->log_granule);
}

SHMEMD_FN const shmemd_key_t *shmemdi_key(const shmemdi_nic_t *n, uint32_t i)
{
	return (const shmemd_key_t *)(uintptr_t)shmemd_arch_mad_wide(i, sizeof(*n->keys),
								     (uintptr_t)n->keys);
}

/* The entry of a symmetric address at the peer. */
SHMEMD_FN const shmemd_key_t *shmemdi_rkey(const shmemdi_nic_t *n, const void *sym)
{
	return shmemdi_key(n, n->n_granules * n->c.world_pe + shmemdi_granule(n, sym));
}

/* The entry of registered memory of this PE. */
SHMEMD_FN const shmemd_key_t *shmemdi_lkey(const shmemdi_nic_t *n, const void *local)
{
	return shmemdi_key(n, n->first_lkey + shmemdi_granule(n, local));
}

SHMEMD_FN uint64_t shmemdi_keys(const shmemd_key_t *entry)
{
	return shmemd_arch_ld_relaxed_u64(entry->key);
}

SHMEMD_FN uint64_t shmemdi_bounce_keys(const shmemdi_nic_t *n)
{
	return shmemdi_keys(shmemdi_key(n, n->first_lkey + n->n_granules));
}

/* Memory as the path's NIC addresses it. */
SHMEMD_FN shmemdi_mem_t shmemdi_mem(uint64_t addr, uint64_t keys, uint64_t path)
{
	shmemdi_mem_t mem = {addr, (uint32_t)(path & SHMEMD_PATH_NIC ? keys >> 32 : keys)};

	return mem;
}

SHMEMD_FN shmemdi_mem_t shmemdi_heap_mem(const shmemdi_nic_t *n, const void *p, uint64_t keys,
					 uint64_t path)
{
	return shmemdi_mem(shmemdi_offset(n, p), keys, path);
}

SHMEMD_FN shmemdi_mem_t shmemdi_bounce_mem(const char *p, uint64_t keys, uint64_t path)
{
	return shmemdi_mem((uint64_t)(uintptr_t)p, keys, path);
}

/* Bytes from p on that the same memory region covers. */
SHMEMD_FN uint64_t shmemdi_covered(const shmemdi_nic_t *n, const shmemd_key_t *entry, const void *p)
{
	uint64_t offset = shmemdi_offset(n, p), granule = offset >> n->log_granule;
	uint64_t n_more = shmemd_arch_ld_relaxed_u32(&entry->n_more);

	return ((granule + 1 + n_more) << n->log_granule) - offset;
}

/* Do both ends of the transfer stay within a granule each? Then one WQE covers it, whatever the
 * keys. */
SHMEMD_FN int shmemdi_is_one_wqe(const shmemdi_nic_t *n, const void *sym, const void *local,
				 uint64_t nbytes)
{
	uint64_t remote = shmemdi_offset(n, sym), own = shmemdi_offset(n, local);
	uint64_t last = nbytes - 1;

	return ((remote ^ (remote + last)) | (own ^ (own + last))) >> n->log_granule == 0 &&
	       nbytes <= SHMEMD_MLX5_MAX_MSG;
}

SHMEMD_FN uint64_t shmemdi_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The part of a transfer that one WQE covers: limited by both memory regions and by the maximum
 * message size; inline, by the remote region and by what a WQE holds. */
SHMEMD_FN uint64_t shmemdi_segment(const shmemdi_nic_t *n, const void *sym, const void *local,
				   uint64_t nbytes, int is_inline)
{
	if (nbytes == 0) /* then the addresses may be any */
		return 0;
	if (is_inline && nbytes > SHMEMD_MLX5_INLINE_MAX)
		nbytes = SHMEMD_MLX5_INLINE_MAX & ~3u;
	if (shmemdi_is_one_wqe(n, sym, is_inline ? n->heap : local, nbytes))
		return nbytes;
	nbytes = shmemdi_least(nbytes, shmemdi_covered(n, shmemdi_rkey(n, sym), sym));
	nbytes = shmemdi_least(nbytes, SHMEMD_MLX5_MAX_MSG);
	return is_inline ? nbytes
			 : shmemdi_least(nbytes, shmemdi_covered(n, shmemdi_lkey(n, local), local));
}

/* get */

/* DUMPs that make what READs brought visible here. */
SHMEMD_FN uint32_t shmemdi_dumps(const shmemdi_nic_t *n)
{
	return n->c.flags & SHMEMD_CTX_FLUSH_READS ? 1 : 0;
}

/* Write the WQE of a READ, and with FLUSH_READS that of a DUMP of one byte of `dump`. */
SHMEMD_FN void shmemdi_nic_write_read(const shmemdi_nic_t *n, const shmemdi_post_t *post,
				      shmemdi_mem_t remote, shmemdi_mem_t local, shmemdi_mem_t dump,
				      uint32_t nbytes)
{
	shmemdi_wqe_t q = {{0}};

	shmemdi_wqe_read(&q, shmemdi_sq_at(post, 0, 1, 0), remote, local, nbytes);
	shmemdi_sq_write(&n->c, post, 0, &q, 3);
	if (!shmemdi_dumps(n))
		return;
	shmemdi_wqe_dump(&q, shmemdi_sq_at(post, 1, 1, 1), dump, 1);
	shmemdi_sq_write(&n->c, post, 1, &q, 2);
}

/* READ the next segment into registered memory; returns the bytes in *nbytes. */
SHMEMD_FN int shmemdi_nic_get_segment(const shmemdi_nic_t *n, shmemdi_call_t call, char *dst,
				      const char *src, uint64_t *nbytes, shmemdi_how_t how,
				      shmemdi_ticket_t *ticket)
{
	uint32_t wqebbs = 1 + shmemdi_dumps(n);
	shmemdi_lanes_t lanes = shmemdi_nic_lanes(n, wqebbs, 1, 0, how);
	uint64_t rkeys, lkeys;
	shmemdi_post_t post;
	int status;

	*nbytes = shmemdi_segment(n, src, dst, *nbytes, 0);
	rkeys = shmemdi_keys(shmemdi_rkey(n, src));
	lkeys = shmemdi_keys(shmemdi_lkey(n, dst));
	status = shmemdi_sq_start(&n->c, call, &post, lanes, wqebbs, 1);
	if (status == SHMEMD_OK) {
		shmemdi_mem_t local = shmemdi_heap_mem(n, dst, lkeys, post.line.path);

		shmemdi_nic_write_read(n, &post, shmemdi_heap_mem(n, src, rkeys, post.line.path),
				       local, local, (uint32_t)*nbytes);
	}
	*ticket = shmemdi_sq_submit(&n->c, &post, how, status);
	return status;
}

SHMEMD_FN int shmemdi_nic_get(const shmemdi_nic_t *n, shmemdi_call_t call, char *dst,
			      const char *src, uint64_t nbytes, shmemdi_how_t how)
{
	shmemdi_ticket_t ticket = {0, 0};
	int status = SHMEMD_OK;

	while (nbytes && status == SHMEMD_OK) {
		uint64_t segment = nbytes;

		status = shmemdi_nic_get_segment(n, call, dst, src, &segment, how, &ticket);
		dst += segment;
		src += segment;
		nbytes -= segment;
	}
	if (status != SHMEMD_OK || !how.is_wait)
		return status;
	return shmemdi_cq_wait(&n->c, call, ticket, shmemdi_limit_default(n->c.team, n->c.pe));
}

/* Write the WQEs of a fetch into a bounce buffer: a READ, or an atomic, and with FLUSH_READS a
 * DUMP. */
SHMEMD_FN void shmemdi_nic_write_fetch(const shmemdi_nic_t *n, const shmemdi_post_t *post,
				       shmemdi_mem_t remote, shmemdi_mem_t local, uint32_t nbytes,
				       const shmemdi_nic_amo_t *amo)
{
	uint32_t own = post->wqebbs - shmemdi_dumps(n);
	shmemdi_wqe_at_t at = shmemdi_sq_at(post, 0, own, 0);
	shmemdi_wqe_t q = {{0}};

	if (amo)
		shmemdi_wqe_amo(&q, at, remote, local, amo, nbytes);
	else
		shmemdi_wqe_read(&q, at, remote, local, nbytes);
	shmemdi_sq_write(&n->c, post, 0, &q, amo ? 3 + own : 3);
	if (!shmemdi_dumps(n))
		return;
	shmemdi_wqe_dump(&q, shmemdi_sq_at(post, own, 1, 1), local, 1);
	shmemdi_sq_write(&n->c, post, own, &q, 2);
}

/* READ nbytes into a bounce buffer, or with amo the old value of a word; wait for it. The caller
 * then releases the buffer of *bounce. */
SHMEMD_FN int shmemdi_nic_fetch_bounce(const shmemdi_nic_t *n, shmemdi_call_t call, const void *src,
				       uint32_t nbytes, const shmemdi_nic_amo_t *amo,
				       uint64_t *bounce)
{
	uint32_t own = amo ? shmemdi_nic_amo_wqebbs(amo->opcode, nbytes) : 1;
	uint32_t wqebbs = own + shmemdi_dumps(n);
	shmemdi_how_t how = shmemdi_how(SHMEMD_RING_NOW, 1);
	shmemdi_lanes_t lanes = shmemdi_nic_lanes(n, wqebbs, own, 1, how);
	uint64_t rkeys, lkeys;
	shmemdi_ticket_t ticket;
	shmemdi_post_t post;
	int status = shmemdi_sq_bounce(&n->c, call, lanes, bounce);

	if (status != SHMEMD_OK)
		return status;
	rkeys = shmemdi_keys(shmemdi_rkey(n, src));
	lkeys = shmemdi_bounce_keys(n);
	status = shmemdi_sq_start(&n->c, call, &post, lanes, wqebbs, 1);
	if (status == SHMEMD_OK)
		shmemdi_nic_write_fetch(
			n, &post, shmemdi_heap_mem(n, src, rkeys, post.line.path),
			shmemdi_bounce_mem(shmemdi_bounce(&n->c, *bounce), lkeys, post.line.path),
			nbytes, amo);
	ticket = shmemdi_sq_submit(&n->c, &post, how, status);
	if (status != SHMEMD_OK)
		return status;
	status = shmemdi_cq_wait(&n->c, call, ticket, shmemdi_limit_default(n->c.team, n->c.pe));
	if (status != SHMEMD_OK) {
		shmemdi_bounce_abandon(&n->c, *bounce, post.at + wqebbs);
	} else if (shmemdi_bounce_is_lost(&n->c, *bounce)) {
		shmemdi_bounce_release(&n->c, *bounce);
		status = SHMEMD_ERR_AMBIGUOUS;
	}
	return status;
}

/* A word of 1 to 8 bytes, or with amo the old value of one of 4 or 8. The NIC returns the result of
 * an atomic of 4 bytes big-endian (PRM: only those of 8 bytes follow the requested mode). */
SHMEMD_FN int shmemdi_nic_fetch(const shmemdi_nic_t *n, shmemdi_call_t call, const void *src,
				uint32_t width, const shmemdi_nic_amo_t *amo, uint64_t *value)
{
	uint64_t bounce;
	int status = shmemdi_nic_fetch_bounce(n, call, src, width, amo, &bounce);

	if (status != SHMEMD_OK)
		return status;
	*value = shmemdi_p2p_load(shmemdi_bounce(&n->c, bounce), width);
	if (amo && width == 4)
		*value = shmemd_arch_bswap32((uint32_t)*value);
	shmemdi_bounce_release(&n->c, bounce);
	return SHMEMD_OK;
}

/* get into unregistered memory, through bounce buffers; complete on return. */
SHMEMD_FN int shmemdi_nic_get_unregistered(const shmemdi_nic_t *n, shmemdi_call_t call, char *dst,
					   const char *src, uint64_t nbytes)
{
	while (nbytes) {
		uint64_t left = shmemdi_segment(n, src, n->heap, nbytes, 0), bounce;
		uint32_t i, size = (uint32_t)(left < SHMEMD_BOUNCE_NBYTES ? left
									  : SHMEMD_BOUNCE_NBYTES);
		int status = shmemdi_nic_fetch_bounce(n, call, src, size, 0, &bounce);

		if (status != SHMEMD_OK)
			return status;
		SHMEMD_ARCH_NO_UNROLL
		for (i = 0; i < size; i++)
			shmemd_arch_st_data_u8(dst + i, shmemd_arch_ld_relaxed_u8(
								shmemdi_bounce(&n->c, bounce) + i));
		shmemdi_bounce_release(&n->c, bounce);
		dst += size;
		src += size;
		nbytes -= size;
	}
	return SHMEMD_OK;
}

/* Atomics */

/* kind (shmemdi_amo) as the NIC does it. FETCH is a READ, and FADD a loop: not here. */
SHMEMD_FN shmemdi_nic_amo_t shmemdi_nic_amo(int kind, uint64_t value, uint64_t cond, uint32_t width)
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

/* Floating-point add by a compare-and-swap loop: the NIC has no floating-point atomics. */
SHMEMD_FN int shmemdi_nic_fadd(const shmemdi_nic_t *n, shmemdi_call_t call, void *dst,
			       uint64_t value, uint32_t width, uint64_t *old)
{
	uint64_t seen;
	int status = shmemdi_nic_fetch(n, call, dst, width, 0, &seen);

	while (status == SHMEMD_OK) {
		shmemdi_nic_amo_t cas = shmemdi_nic_amo(
			SHMEMDI_AMO_CAS, shmemdi_float_sum(seen, value, width), seen, width);

		*old = seen;
		status = shmemdi_nic_fetch(n, call, dst, width, &cas, &seen);
		if (seen == *old)
			break;
	}
	return status;
}

#endif
