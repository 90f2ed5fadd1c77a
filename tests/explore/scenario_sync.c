/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* sync and barrier, round after round: two buffers in turn, so that one collective a round must
 * suffice. */
#include "kernels.h"
#include "memory.h"

#define N_WORDS (WORDS_MAX / 2)
#define WAIT_NS 1000 /* short enough to expire at times */

/* Repeat a collective that timed out. */
static int meet(const pe_t *p, shmemd_group_t g, int is_barrier)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	int status;
	if (p->dims.variant == 0)
		return is_barrier ? shmemd_barrier_group(ctx, g) : shmemd_sync_group(ctx, g);
	let_turns_pass(g);
	do
		status = is_barrier ? shmemd_barrier_for_group(ctx, g, WAIT_NS)
				    : shmemd_sync_for_group(ctx, g, WAIT_NS);
	while (status == SHMEMD_ERR_TIMEOUT);
	return status;
}

/* The data that a PE wrote into its own memory is read there by each other PE. */
void sync_(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	for (int r = 0; r < ROUNDS; r++) {
		uint32_t *src = p->heap->src + r % 2 * N_WORDS;
		fill(p, g, src, N_WORDS, r);
		EXPECT(!meet(p, g, 0));
		check(g, shmemd_ptr(&p->ctx, src, left_of(p)), N_WORDS, left_of(p), r);
		if (right_of(p) != left_of(p))
			check(g, shmemd_ptr(&p->ctx, src, right_of(p)), N_WORDS, right_of(p), r);
	}
}

/* A barrier completes puts without quiet. */
void barrier(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	for (int r = 0; r < ROUNDS; r++) {
		uint32_t *src = p->heap->src + r % 2 * N_WORDS;
		uint32_t *dst = p->heap->dst + r % 2 * N_WORDS;
		fill(p, g, src, N_WORDS, r);
		shmemd_group_sync(g);
		shmemd_putmem_nbi_group(&p->ctx, g, dst, src, N_WORDS * sizeof(*src), right_of(p));
		EXPECT(!meet(p, g, 1));
		check(g, dst, N_WORDS, left_of(p), r);
	}
}

const char *const sync_variants[] = {"no limit", "with a limit, repeated", NULL};
