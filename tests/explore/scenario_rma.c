/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Blocking put and get: which memory may be used when they return. */
#include <shmem_dev/bulk.h>
#include "kernels.h"
#include "memory.h"

#define N_WORDS (WORDS_MAX / ROUNDS)

/* After put, all threads may write to src. */
void put(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	heap_t *h = p->heap;
	uint32_t *src = h->src + p->dims.src_skew;
	for (int r = 0; r < ROUNDS; r++) {
		uint32_t *dst = h->dst + r * N_WORDS;
		fill(p, g, src, N_WORDS, r);
		shmemd_group_sync(g);
		shmemd_putmem_group(&p->ctx, g, dst, src, N_WORDS * sizeof(*src), right_of(p));
		fill(p, g, src, N_WORDS, ROUNDS);
		shmemd_fence_group(&p->ctx, g);
		if (g.rank == 0)
			shmemd_signal_op(&p->ctx, &h->flag, 1, SHMEMD_SIGNAL_ADD, right_of(p));
		await(p, g, &h->flag, p->dims.start + (uint64_t)r + 1, left_of(p));
		check(g, dst, N_WORDS, left_of(p), r);
	}
}

const char *const put_variants[] = {"put", NULL};

static void get_by(const pe_t *p, shmemd_group_t g, uint32_t *dst, const uint32_t *src)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	size_t nbytes = p->dims.n_words * sizeof(*src);
	if (p->dims.variant == 0) {
		EXPECT(!shmemd_getmem_group(ctx, g, dst, src, nbytes, left_of(p)));
	} else if (p->dims.variant == 1) {
		shmemd_getmem_nbi_group(ctx, g, dst, src, nbytes, left_of(p));
		EXPECT(!shmemd_quiet_group(ctx, g));
	} else {
		for (uint32_t i = g.rank; i < p->dims.n_words; i += g.size)
			EXPECT(!shmemd_g_u32(ctx, &dst[i], &src[i], left_of(p)));
		shmemd_group_sync(g);
	}
}

/* After get, all threads can read all of dst. sync orders the word that the neighbour reads. */
void get(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	uint32_t *src = p->heap->src + p->dims.src_skew, *dst = p->heap->dst + p->dims.dst_skew;
	for (int r = 0; r < ROUNDS; r++) {
		fill(p, g, src, p->dims.n_words, r);
		EXPECT(!shmemd_sync_group(&p->ctx, g));
		get_by(p, g, dst, src);
		check(g, dst, p->dims.n_words, left_of(p), r);
		EXPECT(!shmemd_sync_group(&p->ctx, g)); /* all have read */
	}
}

const char *const get_variants[] = {"get", "get_nbi, quiet", "g", NULL};

#define TILE_CHUNKS (N_WORDS / 4)
#define BUFFER_CHUNKS 12 /* 192 bytes: buffers of 16 */

/* Through shared memory: src, buffers and tile are written again as soon as they are reusable. */
static void send_bulk(const pe_t *p, shmemd_group_t g, uint32_t *dst, int r)
{
	SHMEMD_SHARED(shmemd_bulk_t, BUFFER_CHUNKS, buffers);
	SHMEMD_SHARED(shmemd_bulk_t, TILE_CHUNKS, tile);
	uint32_t *words = p->heap->src + (p->dims.variant == 1); /* not aligned for the engine */
	if (p->dims.variant == 2)
		words = (uint32_t *)(void *)tile;
	fill(p, g, words, N_WORDS, r);
	if (p->dims.variant < 2) {
		shmemd_group_sync(g);
		shmemd_putmem_bulk_group(&p->ctx, g, dst, words, N_WORDS * sizeof(*words),
					 right_of(p), buffers, BUFFER_CHUNKS * sizeof(*buffers));
		fill(p, g, words, N_WORDS, ROUNDS);
		return;
	}
	shmemd_put_tile_bulk_group(&p->ctx, g, dst, words, N_WORDS * sizeof(*words), right_of(p));
	shmemd_bulk_wait_read_group(g, 0);
	fill(p, g, words, N_WORDS, ROUNDS);
	shmemd_bulk_wait_group(g);
}

static void get_bulk(const pe_t *p, shmemd_group_t g, uint32_t *dst, int r)
{
	SHMEMD_SHARED(shmemd_bulk_t, BUFFER_CHUNKS, buffers);
	uint32_t *src = p->heap->src;
	fill(p, g, src, N_WORDS, r);
	EXPECT(!shmemd_sync_group(&p->ctx, g));
	EXPECT(!shmemd_getmem_bulk_group(&p->ctx, g, dst, src, N_WORDS * sizeof(*src), left_of(p),
					 buffers, BUFFER_CHUNKS * sizeof(*buffers)));
	check(g, dst, N_WORDS, left_of(p), r);
	EXPECT(!shmemd_sync_group(&p->ctx, g));
}

/* What the engine has carried counts as stored by each thread of the group: here by the last. */
void bulk(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	heap_t *h = p->heap;
	for (int r = 0; r < ROUNDS; r++) {
		uint32_t *dst = h->dst + r * N_WORDS;
		if (p->dims.variant == 3) {
			get_bulk(p, g, dst, r);
			continue;
		}
		send_bulk(p, g, dst, r);
		if (g.rank == g.size - 1) {
			shmemd_fence(&p->ctx);
			shmemd_signal_op(&p->ctx, &h->flag, 1, SHMEMD_SIGNAL_ADD, right_of(p));
		}
		await(p, g, &h->flag, p->dims.start + (uint64_t)r + 1, left_of(p));
		check(g, dst, N_WORDS, left_of(p), r);
	}
}

const char *const bulk_variants[] = {"put", "put, not aligned", "tile", "get", NULL};
