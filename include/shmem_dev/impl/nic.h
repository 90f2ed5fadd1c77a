/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A channel, and memory as its NIC addresses it.
 *
 * The symmetric heap is registered; its addresses in WQEs are offsets. Other memory is not: puts
 * from there travel within WQEs, gets return through bounce buffers. That is slower, but works for
 * any memory. */
#ifndef SHMEMD_IMPL_NIC_H
#define SHMEMD_IMPL_NIC_H

#include <shmem_dev/impl/queue.h>

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

#endif
