/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A halo exchange on a ring, with warp roles: warps 0 and 1 send one edge each, warp 2 computes.
 * Cell i of the next step is the sum of cells i - 1, i, i + 1; cells 0 and CELLS + 1 are the halo.
 * Two copies of the row take turns, so a neighbour one step ahead overwrites nothing that is in
 * use. */
#include "user.h"

#define CELLS 64
#define STEPS 6

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *row[2]; /* [CELLS + 2], symmetric */
	uint64_t *came;   /* [2] steps whose left, right halo has come */
	uint64_t *edge;   /* [2] sources of the puts */
	int *status;
	int mistake;
} params_t;

/* One edge, by one warp: side 0 goes left, 1 right. */
SHMEMD_FN void send_edge(const params_t *p, int step, int side)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx);
	int to = (side ? me + 1 : me + n - 1) % n;
	uint64_t *row = p->row[step % 2], *halo = side ? row : row + CELLS + 1;

	MISTAKE(1) /* forgets that the ring closes */
	to = side ? me + 1 : me - 1;
	MISTAKE(2) /* forgets the two cells of halo when it counts */
	halo = row + (side ? 0 : CELLS + 2);
	if (shmemd_thread_index() % 32 == 0)
		p->edge[side] = row[side ? CELLS : 1];
	shmemd_arch_syncwarp();
	MISTAKE(3) /* one lane is enough, the user thinks */
	if (shmemd_thread_index() % 32 != 0)
		return;
	MISTAKE(4)
	{ /* reuses the source of an nbi put, and calls quiet only then */
		shmemd_putmem_signal_nbi_warp(&p->ctx, halo, &p->edge[side], 8, &p->came[!side],
					      (uint64_t)step + 1, SHMEMD_SIGNAL_SET, to);
		if (shmemd_thread_index() % 32 == 0)
			p->edge[side] = 0;
		shmemd_quiet_warp(&p->ctx);
		return;
	}
	shmemd_putmem_signal_warp(&p->ctx, halo, &p->edge[side], 8, &p->came[!side],
				  (uint64_t)step + 1, SHMEMD_SIGNAL_SET, to);
}

SHMEMD_FN void compute(const params_t *p, int step)
{
	const uint64_t *row = p->row[step % 2];
	uint64_t *next = p->row[!(step % 2)];
	uint32_t i;

	for (i = 0; i < 2; i++) {
		MISTAKE(5) /* waits for one neighbour only */
		if (i == 1)
			break;
		keep(p->status, shmemd_signal_wait_until_warp(&p->ctx, &p->came[i], SHMEMD_CMP_GE,
							      (uint64_t)step + 1));
	}
	for (i = shmemd_thread_index() % 32 + 1; i <= CELLS; i += 32)
		next[i] = row[i - 1] + row[i] + row[i + 1];
}

SHMEMD_KERNEL(halo, params_t, p)
{
	uint32_t warp = shmemd_thread_index() / 32;
	int step;

	for (step = 0; step < STEPS; step++) {
		if (warp < 2)
			send_edge(&p, step, (int)warp);
		else
			compute(&p, step);
		shmemd_group_sync(shmemd_block());
	}
	keep(p.status, shmemd_barrier_block(&p.ctx));
}

/* The whole ring, computed by one PE. */
static int check(shmemh_t *job, const uint64_t *mine)
{
	int n = shmemh_n_pes(job) * CELLS, me = shmemh_my_pe(job), i, step;
	uint64_t all[2][MAX_PES * CELLS];

	for (i = 0; i < n; i++)
		all[0][i] = (uint64_t)i * i;
	for (step = 0; step < STEPS; step++)
		for (i = 0; i < n; i++)
			all[!(step % 2)][i] = all[step % 2][(i + n - 1) % n] + all[step % 2][i] +
					      all[step % 2][(i + 1) % n];
	for (i = 0; i < CELLS; i++)
		if (mine[i + 1] != all[STEPS % 2][me * CELLS + i])
			return wrong(job, "cell", i, mine[i + 1], all[STEPS % 2][me * CELLS + i]);
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	uint64_t row[CELLS + 2] = {0};
	params_t p = {.mistake = mistake_of(argc, argv)};
	int i, me = shmemh_my_pe(job);

	for (i = 0; i < 2; i++)
		RUN_TRY(job, shmemh_calloc(job, CELLS + 2, 8, (void **)&p.row[i]));
	RUN_TRY(job, shmemh_calloc(job, 2, 8, (void **)&p.came));
	RUN_TRY(job, shmemh_calloc(job, 2, 8, (void **)&p.edge));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(int), (void **)&p.status));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	for (i = 0; i < CELLS; i++)
		row[i + 1] = (uint64_t)(me * CELLS + i) * (uint64_t)(me * CELLS + i);
	RUN_TRY(job, run_copy(p.row[0], row, sizeof(row)));
	RUN_TRY(job, shmemh_barrier(job));
	RUN_TRY(job, run_device(shmemd_launch(halo, 1, 96, 0, NULL, p)));
	if (finish(job, p.status) != 0)
		return 1;
	RUN_TRY(job, run_copy(row, p.row[STEPS % 2], sizeof(row)));
	return check(job, row);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
