/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Blocking put and get: which memory may be used when they return. */
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
