/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* team.h and <shmem_host/team.h>: the members of a team, and the addresses of their memory. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

typedef struct team_params {
	shmemd_ctx_t ctx;
	uint64_t *word; /* [n of the team] */
	uint64_t *own;  /* [n]: address by shmemd_ptr, for the host */
	int64_t *world; /* [n]: shmemd_world_pe */
	int64_t *who;   /* my_pe, n_pes, failed_pe, failed_cause */
	int *status;
} team_params_t;

SHMEMD_KERNEL(team_kernel, team_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), pe;

	p.who[0] = me;
	p.who[1] = n;
	p.who[2] = shmemd_failed_pe(&p.ctx);
	p.who[3] = shmemd_failed_cause(&p.ctx);
	for (pe = 0; pe < n; pe++) {
		uint64_t *theirs = (uint64_t *)shmemd_ptr(&p.ctx, p.word, pe);

		p.own[pe] = (uint64_t)(uintptr_t)theirs;
		p.world[pe] = shmemd_world_pe(&p.ctx, pe);
		if (theirs != NULL)
			theirs[me] = 100 + (uint64_t)me; /* an ordinary store */
		else
			shmemd_p_u64(&p.ctx, p.word + me, 100 + (uint64_t)me, pe);
	}
	scope_report(p.status, 0, shmemd_barrier_for(&p.ctx, PES_LIMIT_NS));
}

static void check_team(pes_t *pes, shmemh_team_t team, const team_params_t *p)
{
	int n = shmemh_team_n_pes(pes->job, team), pe;
	uint64_t *word = (uint64_t *)pes_read(pes, p->word, (size_t)n * 8);
	uint64_t *own = (uint64_t *)pes_read(pes, p->own, (size_t)n * 8);
	int64_t *world = (int64_t *)pes_read(pes, p->world, (size_t)n * 8);
	int64_t *who = (int64_t *)pes_read(pes, p->who, 4 * 8);

	if (word == NULL || own == NULL || world == NULL || who == NULL)
		return;
	PES_EQ(pes, who[0], shmemh_team_my_pe(pes->job, team));
	PES_EQ(pes, who[1], n);
	PES_EQ(pes, who[2], -1);
	PES_EQ(pes, who[3], SHMEMD_CAUSE_NONE);
	for (pe = 0; pe < n; pe++) {
		int of_world = shmemh_team_translate_pe(pes->job, team, pe, SHMEMH_TEAM_WORLD);

		PES_EQ(pes, word[pe], 100 + pe);
		PES_EQ(pes, world[pe], of_world);
		/* Own memory has an address, also where operations on it use RDMA. */
		PES_EQ(pes, own[pe],
		       pes_maps(pes, of_world) || of_world == pes->pe
			       ? (uintptr_t)shmemh_ptr(pes->job, p->word, of_world)
			       : 0);
		PES_EQ(pes, shmemh_team_translate_pe(pes->job, SHMEMH_TEAM_WORLD, of_world, team),
		       pe);
	}
	if (pes_maps(pes, pes->pe))
		PES_EQ(pes, own[shmemh_team_my_pe(pes->job, team)], (uintptr_t)p->word);
}

static int run_team(pes_t *pes, shmemh_team_t team)
{
	size_t n = (size_t)pes->n_pes;
	team_params_t p;

	memset(&p, 0, sizeof(p));
	PES_TRY(pes, shmemh_ctx_get(pes->job, team, &p.ctx));
	p.status = pes->status;
	PES_ALLOC(pes, p.word, uint64_t, n, 0);
	PES_ALLOC(pes, p.own, uint64_t, n, 0);
	PES_ALLOC(pes, p.world, int64_t, n, 0);
	PES_ALLOC(pes, p.who, int64_t, 4, 0);
	PES_RUN(pes, team_kernel, 1, 1, p);
	check_team(pes, team, &p);
	return 0;
}

static int team_world(pes_t *pes)
{
	PES_EQ(pes, shmemh_team_my_pe(pes->job, SHMEMH_TEAM_WORLD), pes->pe);
	PES_EQ(pes, shmemh_team_n_pes(pes->job, SHMEMH_TEAM_WORLD), pes->n_pes);
	return run_team(pes, SHMEMH_TEAM_WORLD);
}

/* Both contexts work side by side; on one node both teams have the same members. */
static int team_node(pes_t *pes)
{
	PES_CHECK(pes, shmemh_team_n_pes(pes->job, SHMEMH_TEAM_NODE) >= 1);
	PES_CHECK(pes, shmemh_team_my_pe(pes->job, SHMEMH_TEAM_NODE) >= 0);
	return run_team(pes, SHMEMH_TEAM_NODE) || run_team(pes, SHMEMH_TEAM_WORLD);
}

/* The mapped PEs are those that this way of running should have mapped. */
static int mapped_pes(pes_t *pes)
{
	const char *n_mapped = getenv("PES_MAPPED");
	int n = 0, pe;

	if (n_mapped == NULL)
		return pes_skip(pes,
				"PES_MAPPED is not set: the number of PEs that must be mapped");
	for (pe = 0; pe < pes->n_pes; pe++)
		n += pes_maps(pes, pe);
	PES_EQ(pes, n, atoi(n_mapped));
	return 0;
}

static int no_such_team(pes_t *pes)
{
	shmemd_ctx_t ctx;

	PES_EQ(pes, shmemh_team_my_pe(pes->job, 77), -1);
	PES_EQ(pes, shmemh_team_n_pes(pes->job, SHMEMH_TEAM_INVALID), -1);
	PES_EQ(pes, shmemh_team_translate_pe(pes->job, 0, pes->n_pes, 0), -1);
	PES_EQ(pes, shmemh_team_translate_pe(pes->job, 0, -1, 0), -1);
	PES_EQ(pes, shmemh_team_translate_pe(pes->job, 77, 0, 0), -1);
	PES_EQ(pes, shmemh_ctx_get(pes->job, 77, &ctx), SHMEMH_ERR_ARGUMENT);
	PES_CHECK(pes, strstr(shmemh_error_text(pes->job), "77") != NULL);
	PES_EQ(pes,
	       shmemh_ctx_get_abi(pes->job, 0, &ctx, SHMEMD_ABI_VERSION + 0x10000, sizeof(ctx)),
	       SHMEMH_ERR_VERSION);
	return 0;
}

/* launch.h: the position of a thread in its grid. */
#define GRID_BLOCKS 3
#define GRID_THREADS 64

typedef struct grid_params {
	uint32_t *seen; /* [GRID_BLOCKS][GRID_THREADS] blocks * 1000 + threads in a block */
} grid_params_t;

SHMEMD_KERNEL(grid_kernel, grid_params_t, p)
{
	p.seen[shmemd_block_index() * GRID_THREADS + shmemd_thread_index()] =
		shmemd_n_blocks() * 1000 + shmemd_n_threads();
}

static int grid_numbers(pes_t *pes)
{
	grid_params_t p;
	uint32_t *seen;
	int i;

	PES_ALLOC(pes, p.seen, uint32_t, GRID_BLOCKS * GRID_THREADS, 0);
	PES_RUN(pes, grid_kernel, GRID_BLOCKS, GRID_THREADS, p);
	seen = (uint32_t *)pes_read(pes, p.seen, GRID_BLOCKS * GRID_THREADS * sizeof(*seen));
	for (i = 0; seen != NULL && i < GRID_BLOCKS * GRID_THREADS; i++)
		PES_EQ(pes, seen[i], GRID_BLOCKS * 1000 + GRID_THREADS);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(team_world),   PES_TEST(team_node),    PES_TEST(mapped_pes),
		PES_TEST(no_such_team), PES_TEST(grid_numbers),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
