/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* order.h: the guarantees of fence and quiet between two PEs. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define NELEMS 96
#define ROUNDS 24

typedef struct order_params {
	shmemd_ctx_t ctx;
	uint32_t *src;  /* [NELEMS] */
	uint32_t *dst;  /* [2][NELEMS]: written by the previous PE */
	uint64_t *flag; /* rounds sent by the previous PE */
	uint64_t *ack;  /* rounds read by the next PE */
	uint64_t *next; /* NULL: p sends the flag; otherwise the group puts this word */
	int scope, n_rounds, is_quiet;
	int *status;
} order_params_t;

/* put and fence, or put_nbi and quiet. */
SCOPE_STEP void put_in_order(const order_params_t *p, shmemd_group_t g, uint32_t *dst, int to)
{
	int status;

	if (p->is_quiet) {
		SCOPED(p->scope, shmemd_putmem_nbi, &p->ctx, dst, p->src, NELEMS * 4, to);
		SCOPED_INT0(status, p->scope, shmemd_quiet, &p->ctx);
		scope_report(p->status, 3, status);
		return;
	}
	SCOPED(p->scope, shmemd_putmem, &p->ctx, dst, p->src, NELEMS * 4, to);
	switch (p->scope) {
	case SCOPE_THREAD:
		shmemd_fence(&p->ctx);
		break;
	case SCOPE_WARP:
		shmemd_fence_warp(&p->ctx);
		break;
	case SCOPE_BLOCK:
		shmemd_fence_block(&p->ctx);
		break;
	default:
		shmemd_fence_group(&p->ctx, g);
	}
}

/* Data, then a flag by p from another thread than the leader, or by put: a PE that reads the flag
 * can read the data. */
SCOPE_STEP void fence_send(const order_params_t *p, shmemd_group_t g, int round, int to)
{
	uint32_t i;

	for (i = g.size - 1 - g.rank; i < NELEMS; i += g.size)
		p->src[i] = (uint32_t)(round * 1000) + i;
	if (p->next && g.rank == 0)
		*p->next = (uint64_t)round + 1;
	shmemd_group_sync(g);
	put_in_order(p, g, p->dst + (round % 2) * NELEMS, to);
	if (p->next)
		SCOPED(p->scope, shmemd_putmem, &p->ctx, p->flag, p->next, sizeof(*p->next), to);
	else if (g.rank == g.size - 1)
		shmemd_p_u64(&p->ctx, p->flag, (uint64_t)round + 1, to);
}

SCOPE_STEP void fence_receive(const order_params_t *p, shmemd_group_t g, int round, int from)
{
	uint32_t i;

	if (g.rank == 0)
		scope_report(p->status, 0,
			     shmemd_wait_until_for_u64(&p->ctx, p->flag, SHMEMD_CMP_GE,
						       (uint64_t)round + 1, PES_LIMIT_NS));
	shmemd_group_sync(g);
	for (i = g.size - 1 - g.rank; i < NELEMS; i += g.size)
		scope_report(p->status, 1,
			     p->dst[(round % 2) * NELEMS + i] == (uint32_t)(round * 1000) + i
				     ? 0
				     : WRONG_VALUE);
	shmemd_group_sync(g);
	if (g.rank == 0) {
		shmemd_fence(&p->ctx);
		shmemd_atomic_inc_u64(&p->ctx, p->ack, from);
	}
}

SHMEMD_KERNEL(fence_kernel, order_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), round, status;
	shmemd_group_t g;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < p.n_rounds; round++) {
		if (round >= 2 && g.rank == 0)
			scope_report(p.status, 2,
				     shmemd_wait_until_for_u64(&p.ctx, p.ack, SHMEMD_CMP_GE,
							       (uint64_t)round - 1, PES_LIMIT_NS));
		shmemd_group_sync(g);
		fence_send(&p, g, round, (me + 1) % n);
		fence_receive(&p, g, round, (me + n - 1) % n);
	}
	/* Complete the last acknowledgements: they must not arrive during the next run. */
	SCOPED_INT0(status, p.scope, shmemd_quiet, &p.ctx);
	scope_report(p.status, 3, status);
}

static int check_order(pes_t *pes, int is_quiet, int is_put)
{
	order_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.n_rounds = pes->seed == 0 ? ROUNDS : 4;
	p.is_quiet = is_quiet;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++) {
		PES_ALLOC(pes, p.src, uint32_t, NELEMS, 0);
		PES_ALLOC(pes, p.dst, uint32_t, 2 * NELEMS, 0);
		PES_ALLOC(pes, p.flag, uint64_t, 1, 0);
		PES_ALLOC(pes, p.ack, uint64_t, 1, 0);
		if (is_put)
			PES_ALLOC(pes, p.next, uint64_t, 1, 0);
		PES_RUN(pes, fence_kernel, 1, SCOPE_NTHREADS, p);
		pes_release(pes);
	}
	return 0;
}

static int fence_orders_puts(pes_t *pes)
{
	return check_order(pes, 0, 0);
}

static int quiet_orders_puts(pes_t *pes)
{
	return check_order(pes, 1, 0);
}

static int put_of_a_word_is_a_flag(pes_t *pes)
{
	return check_order(pes, 0, 1) || check_order(pes, 1, 1);
}

/* put, quiet, get: the get fetches the bytes of the put. */
SHMEMD_KERNEL(quiet_kernel, order_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), round, status;
	shmemd_group_t g;
	uint32_t i;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < p.n_rounds; round++) {
		for (i = g.size - 1 - g.rank; i < NELEMS; i += g.size)
			p.src[i] = (uint32_t)(round * 1000 + me) + i;
		shmemd_group_sync(g);
		SCOPED(p.scope, shmemd_putmem_nbi, &p.ctx, p.dst, p.src, NELEMS * 4, (me + 1) % n);
		SCOPED_INT0(status, p.scope, shmemd_quiet, &p.ctx);
		scope_report(p.status, 0, status);
		for (i = g.size - 1 - g.rank; i < NELEMS; i += g.size) {
			uint32_t got = 0;

			scope_report(p.status, 1,
				     shmemd_g_u32(&p.ctx, &got, p.dst + i, (me + 1) % n));
			scope_report(p.status, 2, got == p.src[i] ? 0 : WRONG_VALUE);
		}
		shmemd_group_sync(g);
	}
}

static int quiet_completes_puts(pes_t *pes)
{
	order_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.n_rounds = 4;
	PES_ALLOC(pes, p.src, uint32_t, NELEMS, 0);
	PES_ALLOC(pes, p.dst, uint32_t, NELEMS, 0);
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		PES_RUN(pes, quiet_kernel, 1, SCOPE_NTHREADS, p);
	return 0;
}

/* Two PEs put into each other's memory, quiet, and read their own word at the same time: at least
 * one of them reads the other's put (a store buffer must not hide both). */
#define DEKKER_ROUNDS 200

typedef struct dekker_params {
	shmemd_ctx_t ctx;
	uint64_t *mine; /* [round] at this PE, written by the other PE of the pair */
	uint64_t *saw;  /* [round] the value that this PE read; read by the host */
	int *status;
	int n_rounds;
} dekker_params_t;

SHMEMD_KERNEL(dekker_kernel, dekker_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), round;
	int other = (me ^ 1) < n ? me ^ 1 : me;

	for (round = 0; round < p.n_rounds; round++) {
		shmemd_p_u64(&p.ctx, p.mine + round, 1, other);
		scope_report(p.status, 0, shmemd_quiet(&p.ctx));
		scope_report(p.status, 1, shmemd_g_u64(&p.ctx, p.saw + round, p.mine + round, me));
		scope_report(p.status, 2, shmemd_sync_for(&p.ctx, PES_LIMIT_NS));
	}
}

static int quiet_is_sequential(pes_t *pes)
{
	int other = (pes->pe ^ 1) < pes->n_pes ? pes->pe ^ 1 : pes->pe, round;
	uint64_t mine[DEKKER_ROUNDS] = {0}, *all;
	dekker_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.n_rounds = pes->seed == 0 ? DEKKER_ROUNDS : 10;
	PES_ALLOC(pes, p.mine, uint64_t, DEKKER_ROUNDS, 0);
	PES_ALLOC(pes, p.saw, uint64_t, DEKKER_ROUNDS, 0);
	PES_RUN(pes, dekker_kernel, 1, 1, p);
	PES_TRY(pes, run_copy(mine, p.saw, sizeof(mine)));
	all = (uint64_t *)calloc((size_t)pes->n_pes, sizeof(mine));
	PES_TRY(pes, shmemh_allgather(pes->job, mine, all, sizeof(mine)));
	for (round = 0; round < p.n_rounds; round++)
		PES_CHECK(pes, mine[round] == 1 || all[other * DEKKER_ROUNDS + round] == 1);
	free(all);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(fence_orders_puts),       PES_TEST(quiet_orders_puts),
		PES_TEST(put_of_a_word_is_a_flag), PES_TEST(quiet_completes_puts),
		PES_TEST(quiet_is_sequential),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
