/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A barrier is also a quiet for what was sent to PEs outside of its team. */
#include "kernels.h"
#include "memory.h"

/* Store buffering between teams of one PE each: mark a word of the neighbour, barrier, read the own
 * word by another thread. At least one PE reads the mark (quiet_final_check). */
void team_barrier(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	shmemd_ctx_t team = team_of_one(p);
	for (int r = 0; r < ROUNDS; r++) {
		uint64_t *word = &p->heap->rounds[r], seen = 0;
		if (g.rank == 0)
			shmemd_p_u64(&p->ctx, word, 1, right_of(p));
		EXPECT(!shmemd_barrier_group(&team, g));
		if (g.rank != g.size - 1)
			continue;
		EXPECT(!shmemd_g_u64(&p->ctx, &seen, word, p->ctx.my_pe));
		p->memory->saw[r] = seen;
	}
}

const char *const team_barrier_variants[] = {"teams of one", NULL};
