/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Waits for arrays of words, and strided put and get. */
#include <shmem_dev/strided.h>
#include <shmem_dev/wait_sets.h>
#include "kernels.h"
#include "memory.h"

#define N_WORDS (WORDS_MAX / ROUNDS)

/* By the leader of the group: until round r, whose word is the last that is not 0 yet, is there. */
static void await_round(const pe_t *p, int r)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	const uint64_t *words = p->heap->rounds;
	size_t found = 0, indices[ROUNDS];
	int mask[ROUNDS];
	for (int i = 0; i < ROUNDS; i++)
		mask[i] = i != r;
	switch (p->dims.variant) {
	case 0:
		EXPECT(!shmemd_wait_until_all_u64(ctx, words, (size_t)r + 1, NULL, SHMEMD_CMP_NE,
						  0));
		break;
	case 1:
		EXPECT(!shmemd_wait_until_any_u64(ctx, &found, words, ROUNDS, mask, SHMEMD_CMP_NE,
						  0));
		EXPECT(found == (size_t)r);
		break;
	case 2:
		EXPECT(!shmemd_wait_until_some_u64(ctx, &found, words, ROUNDS, indices, mask,
						   SHMEMD_CMP_NE, 0));
		EXPECT(found == 1 && indices[0] == (size_t)r);
		break;
	default:
		while (!shmemd_test_all_u64(ctx, words, (size_t)r + 1, NULL, SHMEMD_CMP_NE, 0))
			shmemd_arch_spin_hint();
	}
}

/* Data, then the word of the round: whoever finds the word reads the data. */
void wait_sets(const void *params)
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
		shmemd_fence_group(&p->ctx, g);
		if (g.rank == 0)
			shmemd_p_u64(&p->ctx, &h->rounds[r], 1, right_of(p));
		if (g.rank == 0)
			await_round(p, r);
		shmemd_group_sync(g);
		check(g, dst, N_WORDS, left_of(p), r);
	}
}

const char *const wait_sets_variants[] = {"all", "any", "some", "test all", NULL};

/* After iput, all threads may write to src. The two calls of a round together put all words. The
 * elements of the second variant are no words, so their stores are weak. */
void iput(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	heap_t *h = p->heap;
	uint32_t *src = h->src + p->dims.src_skew;
	size_t per = p->dims.variant ? 3 : 1, n = N_WORDS / 2 / per;
	for (int r = 0; r < ROUNDS; r++) {
		uint32_t *dst = h->dst + r * N_WORDS;
		fill(p, g, src, N_WORDS, r);
		shmemd_group_sync(g);
		for (size_t part = 0; part < 2; part++)
			shmemd_iputmem_group(&p->ctx, g, dst + part * per, src + part * per, 2, 2,
					     per * sizeof(*src), n, right_of(p));
		fill(p, g, src, N_WORDS, ROUNDS);
		shmemd_fence_group(&p->ctx, g);
		if (g.rank == 0)
			shmemd_signal_op(&p->ctx, &h->flag, 1, SHMEMD_SIGNAL_ADD, right_of(p));
		await(p, g, &h->flag, p->dims.start + (uint64_t)r + 1, left_of(p));
		check(g, dst, (uint32_t)(2 * n * per), left_of(p), r);
	}
}

/* After iget, all threads can read all of dst. */
void iget(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	uint32_t *src = p->heap->src + p->dims.src_skew, *dst = p->heap->dst + p->dims.dst_skew;
	size_t per = p->dims.variant ? 3 : 1, n = N_WORDS / 2 / per;
	for (int r = 0; r < ROUNDS; r++) {
		fill(p, g, src, N_WORDS, r);
		EXPECT(!shmemd_sync_group(&p->ctx, g));
		for (size_t part = 0; part < 2; part++)
			EXPECT(!shmemd_igetmem_group(&p->ctx, g, dst + part * per, src + part * per,
						     2, 2, per * sizeof(*src), n, left_of(p)));
		check(g, dst, (uint32_t)(2 * n * per), left_of(p), r);
		EXPECT(!shmemd_sync_group(&p->ctx, g)); /* all have read */
	}
}

const char *const strided_variants[] = {"words", "12 bytes", NULL};
