/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* sync.h: no PE returns before all PEs have called, many times, with uneven arrival. */
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define ROUNDS 200
#define ROUNDS_BY_NIC 40 /* with software NICs: each message wakes a thread of another process */
#define SHORT_NS 50000

typedef struct sync_params {
	shmemd_ctx_t ctx;
	uint64_t *rounds; /* [n] round of each PE: its own entry, or all entries by puts */
	uint64_t *never;  /* a word that no PE writes, for short delays */
	int scope, is_barrier, n_rounds;
	int *status;
} sync_params_t;

/* Be late in turns. */
SHMEMD_FN void delay_in_turns(const sync_params_t *p, int round)
{
	int n = shmemd_n_pes(&p->ctx), late = (shmemd_my_pe(&p->ctx) + round) % (n + 1);

	if (late == 0)
		shmemd_wait_until_for_u64(&p->ctx, p->never, SHMEMD_CMP_NE, 0, 1000);
}

SHMEMD_FN int sync_once(const sync_params_t *p)
{
	int status;

	if (p->is_barrier)
		SCOPED_INT(status, p->scope, shmemd_barrier_for, &p->ctx, PES_LIMIT_NS);
	else
		SCOPED_INT(status, p->scope, shmemd_sync_for, &p->ctx, PES_LIMIT_NS);
	return status;
}

/* Publish that this PE has reached this round: to all PEs by put before a barrier; only in its own
 * memory before a sync, which completes no puts. */
SHMEMD_FN void say(const sync_params_t *p, uint64_t round)
{
	int me = shmemd_my_pe(&p->ctx), pe;

	for (pe = 0; pe < shmemd_n_pes(&p->ctx); pe++) {
		if (p->is_barrier || pe == me)
			shmemd_p_u64(&p->ctx, p->rounds + me, round, pe);
	}
	if (!p->is_barrier)
		scope_report(p->status, 2, shmemd_quiet(&p->ctx));
}

/* The round of PE pe as read here. */
SHMEMD_FN uint64_t round_of(const sync_params_t *p, int pe)
{
	int where = p->is_barrier ? shmemd_my_pe(&p->ctx) : pe;
	uint64_t round = 0;

	scope_report(p->status, 3, shmemd_g_u64(&p->ctx, &round, p->rounds + pe, where));
	return round;
}

SHMEMD_KERNEL(sync_kernel, sync_params_t, p)
{
	int pe, round, n = shmemd_n_pes(&p.ctx);
	shmemd_group_t g;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < p.n_rounds; round++) {
		if (g.rank == g.size - 1) {
			delay_in_turns(&p, round);
			say(&p, (uint64_t)round + 1);
		}
		scope_report(p.status, 0, sync_once(&p));
		/* All PEs have called, and none is more than one round ahead. */
		for (pe = (int)g.rank; pe < n; pe += (int)g.size) {
			uint64_t ahead = round_of(&p, pe) - ((uint64_t)round + 1);

			scope_report(p.status, 1, ahead <= 1 ? 0 : WRONG_VALUE);
		}
		shmemd_group_sync(g);
	}
}

static int check_sync(pes_t *pes, int is_barrier)
{
	sync_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.is_barrier = is_barrier;
	p.n_rounds = pes->seed != 0 ? 5 : pes_maps_all(pes) ? ROUNDS : ROUNDS_BY_NIC;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++) {
		PES_ALLOC(pes, p.rounds, uint64_t, (size_t)pes->n_pes, 0);
		PES_ALLOC(pes, p.never, uint64_t, 1, 0);
		PES_RUN(pes, sync_kernel, 1, SCOPE_NTHREADS, p);
		pes_release(pes);
	}
	return 0;
}

static int sync_rounds(pes_t *pes)
{
	return check_sync(pes, 0);
}

static int barrier_rounds(pes_t *pes)
{
	return check_sync(pes, 1);
}

/* Ordinary stores of all threads of a block are visible to all PEs after sync; the forms without a
 * limit. */
#define NELEMS 256

typedef struct stores_params {
	shmemd_ctx_t ctx;
	uint32_t *data; /* [NELEMS] */
	int scope;
	int *status;
} stores_params_t;

SHMEMD_KERNEL(stores_kernel, stores_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), pe, round, status;
	shmemd_group_t g;
	uint32_t i, got = 0;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < 3; round++) {
		for (i = g.rank; i < NELEMS; i += g.size)
			p.data[i] = (uint32_t)(me * 1000 + round) + i;
		SCOPED_INT0(status, p.scope, shmemd_sync, &p.ctx);
		scope_report(p.status, 0, status);
		pe = (me + 1 + round) % n;
		for (i = g.size - 1 - g.rank; i < NELEMS; i += g.size) {
			scope_report(p.status, 1, shmemd_g_u32(&p.ctx, &got, p.data + i, pe));
			scope_report(p.status, 2,
				     got == (uint32_t)(pe * 1000 + round) + i ? 0 : WRONG_VALUE);
		}
		SCOPED_INT0(status, p.scope, shmemd_barrier, &p.ctx);
		scope_report(p.status, 0, status);
	}
}

static int stores_before_sync(pes_t *pes)
{
	stores_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.data, uint32_t, NELEMS, 0);
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		PES_RUN(pes, stores_kernel, 1, SCOPE_NTHREADS, p);
	return 0;
}

/* The forms for all PEs: with the context of a smaller team they are refused at once. */
SHMEMD_KERNEL(all_kernel, sync_params_t, p)
{
	shmemd_ctx_t smaller = p.ctx;
	int status, round;

	smaller.flags &= ~SHMEMD_CTX_WORLD_NUMBERS;
	if (!scope_has(p.scope))
		return;
	for (round = 0; round < 4; round++) {
		if (scope_group(p.scope).rank == 0)
			say(&p, (uint64_t)round + 1);
		if (round % 2)
			SCOPED_INT0(status, p.scope, shmemd_sync_all, &p.ctx);
		else
			SCOPED_INT0(status, p.scope, shmemd_barrier_all, &p.ctx);
		scope_report(p.status, 0, status);
		if (round % 2 == 0)
			scope_report(p.status, 1,
				     round_of(&p, (shmemd_my_pe(&p.ctx) + 1) %
							  shmemd_n_pes(&p.ctx)) > (uint64_t)round
					     ? 0
					     : WRONG_VALUE);
		SCOPED_INT0(status, p.scope, shmemd_sync_all, &smaller);
		scope_report(p.status, 2, status == SHMEMD_ERR_BAD_ARGUMENT ? 0 : WRONG_VALUE);
		SCOPED_INT0(status, p.scope, shmemd_barrier_all, &smaller);
		scope_report(p.status, 3, status == SHMEMD_ERR_BAD_ARGUMENT ? 0 : WRONG_VALUE);
	}
}

static int all_pes(pes_t *pes)
{
	sync_params_t p;

	memset(&p, 0, sizeof(p));
	/* Also where the test runs on teams: all of them run it. */
	PES_TRY(pes, shmemh_ctx_get(pes->job, SHMEMH_TEAM_WORLD, &p.ctx));
	p.status = pes->status;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++) {
		PES_ALLOC(pes, p.rounds, uint64_t, (size_t)shmemh_n_pes(pes->job), 0);
		PES_RUN(pes, all_kernel, 1, SCOPE_NTHREADS, p);
		PES_TRY(pes, shmemh_error_clear(pes->job));
		pes_release(pes);
	}
	return 0;
}

/* PE 0 is late; the first call of the others times out, and the second continues it. */
SHMEMD_KERNEL(late_kernel, sync_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), pe, status, round;
	shmemd_group_t g;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	if (me != 0) {
		SCOPED_INT(status, p.scope, shmemd_sync_for, &p.ctx, SHORT_NS);
		scope_report(p.status, 4, status == SHMEMD_ERR_TIMEOUT ? 0 : WRONG_VALUE);
		if (g.rank == 0)
			shmemd_atomic_inc_u64(&p.ctx, p.never, 0);
	} else if (g.rank == 0) {
		scope_report(p.status, 5,
			     shmemd_wait_until_for_u64(&p.ctx, p.never, SHMEMD_CMP_EQ,
						       (uint64_t)n - 1, PES_LIMIT_NS));
	}
	shmemd_group_sync(g);
	scope_report(p.status, 0, sync_once(&p));
	for (round = 0; round < 4; round++) {
		if (g.rank == g.size - 1)
			say(&p, (uint64_t)round + 1);
		scope_report(p.status, 0, sync_once(&p));
		for (pe = (int)g.rank; pe < n; pe += (int)g.size)
			scope_report(p.status, 1,
				     round_of(&p, pe) - ((uint64_t)round + 1) <= 1 ? 0
										   : WRONG_VALUE);
		shmemd_group_sync(g);
	}
}

static int sync_again_after_timeout(pes_t *pes)
{
	sync_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++) {
		PES_ALLOC(pes, p.rounds, uint64_t, (size_t)pes->n_pes, 0);
		PES_ALLOC(pes, p.never, uint64_t, 1, 0);
		PES_RUN(pes, late_kernel, 1, SCOPE_NTHREADS, p);
		PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
		pes_release(pes);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(sync_rounds),
		PES_TEST(barrier_rounds),
		PES_TEST(stores_before_sync),
		PES_TEST(all_pes),
		PES_TEST(sync_again_after_timeout),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
