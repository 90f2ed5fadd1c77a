/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A two-phase all-reduce. Each PE sends part i of its vector to PE i, which adds up what has come
 * and sends the sum to all. One block, on a team of the even PEs or of the odd ones. */
#include "user.h"

#define PART 64 /* elements */

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *vector; /* [n][PART] symmetric: input, and then the result */
	uint64_t *parts;  /* [n][PART] symmetric: what PE i sent of this PE's part */
	uint64_t *sums;   /* [PART] symmetric */
	int *status;
	int mistake;
} params_t;

SHMEMD_FN void barrier(const params_t *p)
{
	MISTAKE(1)
	{ /* half of the block calls a block form */
		if (shmemd_thread_index() < 32)
			keep(p->status, shmemd_barrier_block(&p->ctx));
		return;
	}
	MISTAKE(2)
	{ /* names warp 0, and all warps call */
		keep(p->status, shmemd_barrier_group(&p->ctx, shmemd_warps(0, 1, 1)));
		return;
	}
	keep(p->status, shmemd_barrier_block(&p->ctx));
}

SHMEMD_KERNEL(allreduce, params_t, params)
{
	const params_t *p = &params;
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx), pe;
	uint32_t i;

	for (pe = 0; pe < n; pe++)
		shmemd_putmem_block(&p->ctx, p->parts + me * PART, p->vector + pe * PART, PART * 8,
				    pe);
	barrier(p);
	for (i = shmemd_thread_index(); i < PART; i += shmemd_n_threads()) {
		p->sums[i] = 0;
		for (pe = 0; pe < n; pe++)
			p->sums[i] += p->parts[pe * PART + (int)i];
	}
	shmemd_group_sync(shmemd_block());
	for (pe = 0; pe < n; pe++)
		shmemd_putmem_block(&p->ctx, p->vector + me * PART, p->sums, PART * 8, pe);
	MISTAKE(3) /* the last barrier seems superfluous: nothing is read after it */
	return;
	barrier(p);
}

static int check(shmemh_t *job, const params_t *p, int n, int first)
{
	uint64_t vector[MAX_PES * PART], want;
	int i, pe;

	RUN_TRY(job, run_copy(vector, p->vector, (size_t)n * PART * 8));
	for (i = 0; i < n * PART; i++) {
		for (want = 0, pe = 0; pe < n; pe++)
			want += (uint64_t)((first + 2 * pe) * 1000 + i);
		if (vector[i] != want)
			return wrong(job, "element", i, vector[i], want);
	}
	return 0;
}

/* The even PEs, or the odd ones. */
static int make_team(shmemh_t *job, shmemh_team_t *team, int *n)
{
	int pes[MAX_PES], pe;

	for (pe = shmemh_my_pe(job) % 2, *n = 0; pe < shmemh_n_pes(job); pe += 2)
		pes[(*n)++] = pe;
	return shmemh_team_create(job, pes, *n, team);
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	uint64_t vector[MAX_PES * PART];
	params_t p = {.mistake = mistake_of(argc, argv)};
	int i, n, me = shmemh_my_pe(job);
	shmemh_team_t team;

	RUN_TRY(job, make_team(job, &team, &n));
	RUN_TRY(job, shmemh_malloc(job, MAX_PES * PART * 8, (void **)&p.vector));
	RUN_TRY(job, shmemh_malloc(job, MAX_PES * PART * 8, (void **)&p.parts));
	RUN_TRY(job, shmemh_malloc(job, PART * 8, (void **)&p.sums));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(int), (void **)&p.status));
	RUN_TRY(job, shmemh_ctx_get(job, team, &p.ctx));
	for (i = 0; i < n * PART; i++)
		vector[i] = (uint64_t)(me * 1000 + i);
	RUN_TRY(job, run_copy(p.vector, vector, sizeof(vector)));
	RUN_TRY(job, shmemh_barrier(job));
	if (p.mistake == 4) /* destroys the team too early */
		RUN_TRY(job, shmemh_team_destroy(job, team));
	if (p.mistake == 5 && me == 0) /* launches nothing */
		return shmemh_barrier(job);
	RUN_TRY(job, run_device(shmemd_launch(allreduce, 1, 64, 0, NULL, p)));
	if (finish(job, p.status) != 0)
		return 1;
	if (check(job, &p, n, me % 2) != 0)
		return 1;
	return shmemh_barrier(job);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
