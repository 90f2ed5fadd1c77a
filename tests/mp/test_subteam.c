/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Teams of one's own: members have other numbers there. Two teams work side by side, or one that
 * leaves out a PE. All operations reach their member, and nothing is sent to another PE. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define NELEMS 40
#define ROUNDS 3
#define PES_MAX 16

typedef struct subteam_params {
	shmemd_ctx_t ctx; /* of the team */
	uint64_t *src;    /* [NELEMS] */
	uint64_t *dst;    /* [from member][NELEMS] */
	uint64_t *got;    /* [NELEMS] */
	uint64_t *signal; /* [from member] */
	uint64_t *word;   /* [from member], by p */
	/* [2] all members add to the first, and fetch and add to the second */
	uint64_t *sum;
	uint64_t *world; /* [1] all PEs add to it */
	int *status;
	int scope, n_rounds, is_member;
} subteam_params_t;

SHMEMD_FN uint64_t elem(int from, int to, int round, uint32_t i)
{
	return (uint64_t)(from + 1) << 48 | (uint64_t)(to + 1) << 32 | (uint64_t)round << 16 | i;
}

SCOPE_STEP void subteam_send(const subteam_params_t *p, shmemd_group_t g, int round, int to)
{
	int me = shmemd_my_pe(&p->ctx);
	uint32_t i;

	for (i = g.rank; i < NELEMS; i += g.size)
		p->src[i] = elem(me, to, round, i);
	shmemd_group_sync(g);
	SCOPED(p->scope, shmemd_putmem_signal, &p->ctx, p->dst + me * NELEMS, p->src, NELEMS * 8,
	       p->signal + me, 1, SHMEMD_SIGNAL_ADD, to);
	if (g.rank == 0) {
		shmemd_p_u64(&p->ctx, p->word + me, elem(me, to, round, 0), to);
		shmemd_atomic_add_u64(&p->ctx, p->sum, (uint64_t)me + 1, to);
	}
	shmemd_group_sync(g);
}

/* After a member's signal its data has arrived; after a barrier the rest has arrived. */
SCOPE_STEP void subteam_receive(const subteam_params_t *p, shmemd_group_t g, int round, int from)
{
	int me = shmemd_my_pe(&p->ctx);
	uint32_t i;

	if (g.rank == 0)
		scope_report(p->status, 0,
			     shmemd_signal_wait_until_for(&p->ctx, p->signal + from, SHMEMD_CMP_GE,
							  (uint64_t)round, PES_LIMIT_NS));
	shmemd_group_sync(g);
	for (i = g.rank; i < NELEMS; i += g.size)
		scope_report(p->status, 1,
			     p->dst[(uint32_t)from * NELEMS + i] == elem(from, me, round, i)
				     ? 0
				     : WRONG_VALUE);
}

SCOPE_STEP void subteam_check(const subteam_params_t *p, shmemd_group_t g, int round)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx), pe;
	uint64_t sum = 0;

	for (pe = 0; pe < n; pe++) {
		sum += (uint64_t)(pe + 1) * (uint64_t)round;
		scope_report(p->status, 2, p->word[pe] == elem(pe, me, round, 0) ? 0 : WRONG_VALUE);
	}
	if (g.rank == 0)
		scope_report(p->status, 3, p->sum[0] == sum ? 0 : WRONG_VALUE);
}

/* Fetch from every member what this one has put there. */
SCOPE_STEP void subteam_fetch(const subteam_params_t *p, shmemd_group_t g, int round, int pe)
{
	int me = shmemd_my_pe(&p->ctx), status;
	uint64_t old = 0;
	uint32_t i;

	SCOPED_INT(status, p->scope, shmemd_getmem, &p->ctx, p->got, p->dst + me * NELEMS,
		   NELEMS * 8, pe);
	scope_report(p->status, 4, status);
	for (i = g.rank; i < NELEMS; i += g.size)
		scope_report(p->status, 5, p->got[i] == elem(me, pe, round, i) ? 0 : WRONG_VALUE);
	shmemd_group_sync(g);
	if (g.rank != 0)
		return;
	scope_report(p->status, 6, shmemd_g_u64(&p->ctx, &old, p->word + me, pe));
	scope_report(p->status, 7, old == elem(me, pe, round, 0) ? 0 : WRONG_VALUE);
	scope_report(p->status, 8, shmemd_atomic_fetch_inc_u64(&p->ctx, &old, p->sum + 1, pe));
	scope_report(p->status, 9,
		     old < (uint64_t)shmemd_n_pes(&p->ctx) * (uint64_t)round ? 0 : WRONG_VALUE);
}

SHMEMD_KERNEL(subteam_kernel, subteam_params_t, p)
{
	int me, n, round, pe, status;
	shmemd_group_t g;

	if (!p.is_member || !scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	me = shmemd_my_pe(&p.ctx);
	n = shmemd_n_pes(&p.ctx);
	for (round = 1; round <= p.n_rounds; round++) {
		for (pe = 0; pe < n; pe++)
			subteam_send(&p, g, round, (me + pe) % n);
		for (pe = 0; pe < n; pe++)
			subteam_receive(&p, g, round, pe);
		SCOPED_INT(status, p.scope, shmemd_barrier_for, &p.ctx, PES_LIMIT_NS);
		scope_report(p.status, 10, status);
		subteam_check(&p, g, round);
		SCOPED_INT0(status, p.scope, shmemd_sync, &p.ctx);
		scope_report(p.status, 11, status);
		for (pe = 0; pe < n; pe++)
			subteam_fetch(&p, g, round, pe);
		SCOPED_INT0(status, p.scope, shmemd_quiet, &p.ctx);
		scope_report(p.status, 12, status);
		SCOPED_INT0(status, p.scope, shmemd_barrier, &p.ctx);
		scope_report(p.status, 13, status);
	}
}

/* By the world's context, to all PEs: the team's quiet must not wait for operations that only a
 * quiet of the world covers. */
SHMEMD_KERNEL(world_kernel, subteam_params_t, p)
{
	int pe;

	for (pe = 0; pe < shmemd_n_pes(&p.ctx); pe++)
		shmemd_atomic_inc_u64(&p.ctx, p.world, pe);
}

SHMEMD_KERNEL(world_quiet_kernel, subteam_params_t, p)
{
	scope_report(p.status, 0, shmemd_quiet(&p.ctx));
}

/* World numbers of this PE's team: all PEs with the same remainder by `stride`, in descending
 * order; stride 1: all but the last but one. Returns the number of members. */
static int members_of(const pes_t *pes, int stride, int world[PES_MAX])
{
	int n = 0, pe;

	for (pe = pes->n_pes - 1; pe >= 0; pe--)
		if (stride == 1 ? pe != pes->n_pes - 2 : pe % stride == pes->pe % stride)
			world[n++] = pe;
	return n;
}

/* Make this PE's team of members_of; SHMEMH_TEAM_INVALID if it has none. */
static int make_team(pes_t *pes, int stride, const int *world, int n, shmemh_team_t *team)
{
	shmemh_team_t made;
	int of, last;

	*team = SHMEMH_TEAM_INVALID;
	if (stride == 1) {
		if (pes->pe != pes->n_pes - 2)
			PES_TRY(pes, shmemh_team_create(pes->job, world, n, team));
		return 0;
	}
	for (of = 0; of < stride && of < pes->n_pes; of++) {
		last = of + (pes->n_pes - 1 - of) / stride * stride;
		PES_TRY(pes, shmemh_team_split_strided(pes->job, SHMEMH_TEAM_WORLD, last, -stride,
						       last / stride + 1, &made));
		PES_EQ(pes, made != SHMEMH_TEAM_INVALID, of == pes->pe % stride);
		if (of == pes->pe % stride)
			*team = made;
	}
	return 0;
}

static int team_params(pes_t *pes, subteam_params_t *p, shmemh_team_t team)
{
	size_t n_pes = (size_t)pes->n_pes;

	p->status = pes->status;
	p->n_rounds = pes->seed ? 1 : ROUNDS;
	p->is_member = team != SHMEMH_TEAM_INVALID;
	if (p->is_member)
		PES_TRY(pes, shmemh_ctx_get(pes->job, team, &p->ctx));
	PES_ALLOC(pes, p->src, uint64_t, NELEMS, 0);
	PES_ALLOC(pes, p->dst, uint64_t, n_pes * NELEMS, 0);
	PES_ALLOC(pes, p->got, uint64_t, NELEMS, 0);
	PES_ALLOC(pes, p->signal, uint64_t, n_pes, 0);
	PES_ALLOC(pes, p->word, uint64_t, n_pes, 0);
	PES_ALLOC(pes, p->sum, uint64_t, 2, 0);
	PES_ALLOC(pes, p->world, uint64_t, 1, 0);
	return 0;
}

/* WQEBBs posted to each PE on channel 0. */
static void read_posted(pes_t *pes, uint64_t posted[PES_MAX])
{
	shmemh_channel_counters_t c;
	int pe;

	memset(&c, 0, sizeof(c));
	c.size = sizeof(c);
	for (pe = 0; pe < pes->n_pes && shmemh_channels(pes->job) > 0; pe++)
		if (shmemh_channel_counters(pes->job, pe, 0, &c) == SHMEMH_OK)
			posted[pe] = c.posted;
}

/* Check that the team's kernel has posted only to its members. */
static int run_team_kernel(pes_t *pes, const subteam_params_t *p, const int world[PES_MAX], int n)
{
	uint64_t before[PES_MAX] = {0}, after[PES_MAX] = {0};
	int pe, i, is_member;

	read_posted(pes, before);
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, subteam_kernel, 1, SCOPE_NTHREADS, *p);
	read_posted(pes, after);
	for (pe = 0; pe < pes->n_pes; pe++) {
		for (is_member = 0, i = 0; i < n; i++)
			is_member |= p->is_member && world[i] == pe;
		if (!is_member)
			PES_EQ(pes, after[pe], before[pe]);
	}
	return 0;
}

static int run_subteam(pes_t *pes, int stride, int scope)
{
	int world[PES_MAX], n = members_of(pes, stride, world), with_world = stride == 1;
	subteam_params_t p, all;
	uint64_t *sum, *from_all;
	shmemh_team_t team;

	memset(&p, 0, sizeof(p));
	p.scope = scope;
	if (make_team(pes, stride, world, n, &team) || team_params(pes, &p, team))
		return 1;
	all = p;
	all.ctx = pes->ctx;
	if (with_world)
		PES_RUN(pes, world_kernel, 1, 1, all);
	if (run_team_kernel(pes, &p, world, n))
		return 1;
	if (with_world)
		PES_RUN(pes, world_quiet_kernel, 1, 1, all);
	sum = (uint64_t *)pes_read(pes, p.sum, 16);
	from_all = (uint64_t *)pes_read(pes, p.world, 8);
	if (sum == NULL || from_all == NULL)
		return 1;
	PES_EQ(pes, sum[1], p.is_member ? n * p.n_rounds : 0);
	PES_EQ(pes, *from_all, with_world ? pes->n_pes : 0);
	PES_TRY(pes, shmemh_team_destroy(pes->job, team));
	pes_release(pes);
	return 0;
}

static int subteam(pes_t *pes, int stride)
{
	int scope;

	if (pes->n_pes < 3 || pes->n_pes > PES_MAX)
		return pes_skip(pes, "3 to 16 PEs are needed");
	for (scope = 0; scope < SCOPE_COUNT; scope++)
		if (run_subteam(pes, stride, scope))
			return 1;
	return 0;
}

static int every_second(pes_t *pes)
{
	return subteam(pes, 2);
}

static int all_but_one(pes_t *pes)
{
	return subteam(pes, 1);
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(every_second), PES_TEST(all_but_one)};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
