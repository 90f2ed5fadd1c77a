/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A channel, and memory as its NIC addresses it.
 *
 * The symmetric heap is registered; its addresses in WQEs are offsets. Other memory of the program
 * is not: puts from there travel within WQEs, gets return through bounce buffers, which have a key
 * of their own. That is slower, but works for any memory. */
#ifndef SHMEMD_IMPL_NIC_H
#define SHMEMD_IMPL_NIC_H

#include <shmem_dev/impl/queue.h>

/* A channel, and memory as its NIC addresses it. */
typedef struct shmemdi_ep_t {
	shmemdi_chan_t c;
	const shmemd_key_t *keys;
	char *heap;
	uint64_t heap_nbytes;
	const char *sink; /* of non-fetching atomics and flush READs */
	uint32_t n_granules;
	uint32_t first_lkey; /* index in keys of this PE's own entries */
} shmemdi_ep_t;

/* What does not depend on the channel. */
SHMEMD_FN void shmemdi_ep_memory(shmemdi_ep_t *ep, const shmemd_ctx_t *ctx)
{
	ep->keys = ctx->keys;
	ep->heap = ctx->heap;
	ep->heap_nbytes = ctx->heap_nbytes;
	ep->sink = shmemdi_bounce_sink(ctx);
	ep->n_granules = ctx->n_granules;
	ep->first_lkey = ctx->n_world * ctx->n_granules;
}

SHMEMD_FN shmemdi_ep_t shmemdi_ep_k(const shmemd_ctx_t *ctx, int pe, uint32_t k)
{
	shmemdi_ep_t ep;

	ep.c = shmemdi_chan(ctx, pe, k);
	shmemdi_ep_memory(&ep, ctx);
	return ep;
}

/* The same, for a function that waits, is seldom called or need not be fast. */
SHMEMD_FN_CALL void shmemdi_ep_load(shmemdi_ref_t ref, shmemdi_ep_t *ep)
{
	ep = (shmemdi_ep_t *)shmemd_arch_as_local(ep);
	shmemdi_chan_load(ref, &ep->c);
	shmemdi_ep_memory(ep, ref.ctx);
}

/* Keys. A simple put (impl/put.h) loads an entry's keys for both columns in the same trip as the
 * channel's line, whose path word says which column applies. */

SHMEMD_FN uint64_t shmemdi_offset(const shmemdi_ep_t *ep, const void *p)
{
	return (uint64_t)((uintptr_t)p - (uintptr_t)ep->heap);
}

/* Is p in the range of addresses that the heap has reserved? NICs may access such memory as soon as
 * the heap has grown to it. */
SHMEMD_FN int shmemdi_is_in_heap(const shmemdi_ep_t *ep, const void *p)
{
	return shmemdi_offset(ep, p) < ep->heap_nbytes;
}

/* The granule of an address in the heap: below n_granules, so 32 bits are enough, as they are for
 * an index of the table. */
SHMEMD_FN uint32_t shmemdi_granule(const shmemdi_ep_t *ep, const void *p)
{
	return (uint32_t)(shmemdi_offset(ep, p) >> SHMEMD_LOG_GRANULE(ep->c.geometry));
}

SHMEMD_FN const shmemd_key_t *shmemdi_key(const shmemdi_ep_t *ep, uint32_t i)
{
	return (const shmemd_key_t *)(uintptr_t)shmemd_arch_mad_wide(i, sizeof(*ep->keys),
								     (uintptr_t)ep->keys);
}

/* The entry of a symmetric address at the peer. */
SHMEMD_FN const shmemd_key_t *shmemdi_rkey(const shmemdi_ep_t *ep, const void *sym)
{
	return shmemdi_key(ep, ep->n_granules * ep->c.world_pe + shmemdi_granule(ep, sym));
}

/* The entry of registered memory of this PE. */
SHMEMD_FN const shmemd_key_t *shmemdi_lkey(const shmemdi_ep_t *ep, const void *local)
{
	return shmemdi_key(ep, ep->first_lkey + shmemdi_granule(ep, local));
}

SHMEMD_FN uint64_t shmemdi_keys(const shmemd_key_t *entry)
{
	return shmemd_arch_ld_relaxed_u64(entry->key);
}

SHMEMD_FN uint64_t shmemdi_bounce_keys(const shmemdi_ep_t *ep)
{
	return shmemdi_keys(shmemdi_key(ep, ep->first_lkey + ep->n_granules));
}

/* Memory of this PE as the path's NIC addresses it. */
SHMEMD_FN shmemdi_mem_t shmemdi_mem(uint64_t addr, uint64_t keys, uint64_t path)
{
	shmemdi_mem_t mem = {addr, (uint32_t)(path & SHMEMD_PATH_OWN_STANDBY ? keys >> 32 : keys)};

	return mem;
}

SHMEMD_FN shmemdi_mem_t shmemdi_heap_mem(const shmemdi_ep_t *ep, const void *p, uint64_t keys,
					 uint64_t path)
{
	return shmemdi_mem(shmemdi_offset(ep, p), keys, path);
}

/* Memory of the peer, at this symmetric address, as the path's NIC there addresses it. */
SHMEMD_FN shmemdi_mem_t shmemdi_peer_mem(const shmemdi_ep_t *ep, const void *sym, uint64_t keys,
					 uint64_t path)
{
	shmemdi_mem_t mem = {shmemdi_offset(ep, sym),
			     (uint32_t)(path & SHMEMD_PATH_PEER_STANDBY ? keys >> 32 : keys)};

	return mem;
}

SHMEMD_FN shmemdi_mem_t shmemdi_bounce_mem(const char *p, uint64_t keys, uint64_t path)
{
	return shmemdi_mem((uint64_t)(uintptr_t)p, keys, path);
}

/* Bytes from p on that the same memory region covers. */
SHMEMD_FN uint64_t shmemdi_covered(const shmemdi_ep_t *ep, const shmemd_key_t *entry, const void *p)
{
	uint64_t offset = shmemdi_offset(ep, p),
		 granule = offset >> SHMEMD_LOG_GRANULE(ep->c.geometry);
	uint64_t n_more = shmemd_arch_ld_relaxed_u32(&entry->n_more);

	return ((granule + 1 + n_more) << SHMEMD_LOG_GRANULE(ep->c.geometry)) - offset;
}

/* Do both ends of the transfer stay within a granule each? Then one WQE covers it, whatever the
 * keys: a granule has at most SHMEMD_MLX5_MAX_MSG bytes. */
SHMEMD_FN int shmemdi_stays_in_granules(const shmemdi_ep_t *ep, const void *sym, const void *local,
					uint64_t nbytes)
{
	uint64_t remote = shmemdi_offset(ep, sym), own = shmemdi_offset(ep, local);
	uint64_t last = nbytes - 1;

	return ((remote ^ (remote + last)) | (own ^ (own + last))) >>
			       SHMEMD_LOG_GRANULE(ep->c.geometry) ==
		       0 &&
	       nbytes <= SHMEMD_MLX5_MAX_MSG;
}

SHMEMD_FN uint64_t shmemdi_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The part of a transfer that one WQE covers: limited by both memory regions and by the maximum
 * message size; inline, by the remote region and by what a WQE holds. */
SHMEMD_FN uint64_t shmemdi_segment(const shmemdi_ep_t *ep, const void *sym, const void *local,
				   uint64_t nbytes, int is_inline)
{
	if (nbytes == 0) /* then the addresses may be any */
		return 0;
	if (is_inline && nbytes > SHMEMD_MLX5_INLINE_MAX)
		nbytes = SHMEMD_MLX5_INLINE_MAX & ~3u;
	if (shmemdi_stays_in_granules(ep, sym, is_inline ? ep->heap : local, nbytes))
		return nbytes;
	nbytes = shmemdi_least(nbytes, shmemdi_covered(ep, shmemdi_rkey(ep, sym), sym));
	nbytes = shmemdi_least(nbytes, SHMEMD_MLX5_MAX_MSG);
	return is_inline
		       ? nbytes
		       : shmemdi_least(nbytes, shmemdi_covered(ep, shmemdi_lkey(ep, local), local));
}

#endif
