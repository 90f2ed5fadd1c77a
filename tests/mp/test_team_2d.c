/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The PEs as a grid of two columns: a kernel sums along its row's team and then along its column's,
 * by one context each. */
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define ROUNDS 3

typedef struct grid_params {
	shmemd_ctx_t row, column;
	uint64_t *parts; /* [2][64] what the members of a team have put */
	uint64_t *sum;   /* [2] along the row, along the column */
	int *status;
	int n_rounds;
} grid_params_t;

/* Put value to all members of a team, and add up what they have put. */
SCOPE_STEP uint64_t sum_along(const shmemd_ctx_t *team, uint64_t *parts, uint64_t value,
			      int *status)
{
	int me = shmemd_my_pe(team), n = shmemd_n_pes(team), pe;
	uint64_t sum = 0;

	for (pe = 0; pe < n; pe++)
		shmemd_p_u64(team, parts + me, value, pe);
	scope_report(status, 0, shmemd_barrier_for(team, PES_LIMIT_NS));
	for (pe = 0; pe < n; pe++)
		sum += parts[pe];
	scope_report(status, 1, shmemd_sync_for(team, PES_LIMIT_NS));
	return sum;
}

SHMEMD_KERNEL(grid_kernel, grid_params_t, p)
{
	uint64_t *of_column = p.parts + 64, value;
	int round;

	for (round = 1; round <= p.n_rounds; round++) {
		value = (uint64_t)round << (8 * shmemd_my_pe(&p.row));
		p.sum[0] = sum_along(&p.row, p.parts, value, p.status);
		p.sum[1] = sum_along(&p.column, of_column, p.sum[0], p.status);
	}
}

static int grid(pes_t *pes)
{
	shmemh_t *job = pes->job;
	shmemh_team_t row, column;
	uint64_t *sum, of_row;
	grid_params_t p;

	memset(&p, 0, sizeof(p));
	p.status = pes->status;
	p.n_rounds = pes->seed ? 1 : ROUNDS;
	PES_ALLOC(pes, p.parts, uint64_t, 128, 0);
	PES_ALLOC(pes, p.sum, uint64_t, 2, 0);
	/* snippet: teams */
	PES_TRY(pes, shmemh_team_split_2d(job, SHMEMH_TEAM_WORLD, 2, &row, &column));
	PES_TRY(pes, shmemh_ctx_get(job, row, &p.row));
	PES_TRY(pes, shmemh_ctx_get(job, column, &p.column));
	PES_RUN(pes, grid_kernel, 1, 1, p);
	PES_TRY(pes, shmemh_team_destroy(job, row));
	PES_TRY(pes, shmemh_team_destroy(job, column));
	/* end */
	sum = (uint64_t *)pes_read(pes, p.sum, 16);
	if (sum == NULL)
		return 1;
	if (pes->n_pes % 2 == 0) { /* all rows are full */
		of_row = (uint64_t)p.n_rounds * 0x101;
		PES_EQ(pes, sum[0], of_row);
		PES_EQ(pes, sum[1], of_row * (uint64_t)pes->n_pes / 2);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(grid)};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
