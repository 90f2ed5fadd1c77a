/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Contexts that differ from those of this machine: a peer that is not mapped, links without
 * atomics, a team whose numbers differ from the world's. */
#include <stdlib.h>
#include <string.h>
#include <shmem_dev/bulk.h>
#include "pes.h"
#include "scopes.h"

#define GUARD 0x5a

typedef struct reach_params {
	shmemd_ctx_t ctx;
	shmemd_ctx_t *device_copy; /* [1] a copy of ctx: what is no short path reads it */
	shmemd_peer_t *peers;      /* [n] */
	uint64_t *words;           /* [4] filled with GUARD */
	uint64_t *src;             /* [1] */
	int *result;               /* [1] */
	int what, pe;
	int *status;
} reach_params_t;

static int reach_params(pes_t *pes, reach_params_t *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	p->status = pes->status;
	PES_ALLOC(pes, p->device_copy, shmemd_ctx_t, 1, 0);
	PES_ALLOC(pes, p->peers, shmemd_peer_t, (size_t)pes->n_pes, 0);
	PES_ALLOC(pes, p->words, uint64_t, 4, GUARD);
	PES_ALLOC(pes, p->src, uint64_t, 1, 0);
	PES_ALLOC(pes, p->result, int, 1, 0);
	return 0;
}

/* The operations, by their needs: a mapped peer, or also atomics. */
enum what { PUT, PUT_NBI, GET, GET_NBI, P, G, SET, PUT_SET, N_MAPPED };
enum what_atomic { ADD = N_MAPPED, FETCH, SIGNAL_ADD, PUT_ADD, ADD_TILE, N_ALL };

static const uint32_t op_of[N_ALL] = {
	SHMEMD_OP_PUT,    SHMEMD_OP_PUT,    SHMEMD_OP_GET,    SHMEMD_OP_GET,
	SHMEMD_OP_P,      SHMEMD_OP_G,      SHMEMD_OP_SIGNAL, SHMEMD_OP_PUT_SIGNAL,
	SHMEMD_OP_ATOMIC, SHMEMD_OP_ATOMIC, SHMEMD_OP_SIGNAL, SHMEMD_OP_PUT_SIGNAL,
	SHMEMD_OP_ATOMIC,
};

SHMEMD_FN int add_tile(const reach_params_t *p)
{
	SHMEMD_SHARED(shmemd_bulk_t, 1, tile);
	uint64_t *words = (uint64_t *)(void *)tile;

	words[0] = words[1] = 1;
	shmemd_add_tile_bulk(&p->ctx, p->words, tile, 2, SHMEMD_BULK_U64, p->pe);
	shmemd_bulk_wait();
	return shmemd_quiet(&p->ctx);
}

SHMEMD_FN int do_it(const reach_params_t *p)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	uint64_t *w = p->words, old = 0;
	int op = p->what == SET || p->what == PUT_SET ? SHMEMD_SIGNAL_SET : SHMEMD_SIGNAL_ADD;

	switch (p->what) {
	case PUT:
		shmemd_putmem(ctx, w, p->src, 8, p->pe);
		return shmemd_quiet(ctx);
	case PUT_NBI:
		shmemd_putmem_nbi(ctx, w, p->src, 8, p->pe);
		return shmemd_quiet(ctx);
	case GET:
		return shmemd_getmem(ctx, w, p->words + 1, 8, p->pe);
	case GET_NBI:
		shmemd_getmem_nbi(ctx, w, p->words + 1, 8, p->pe);
		return shmemd_quiet(ctx);
	case P:
		shmemd_p_u64(ctx, w, 1, p->pe);
		return shmemd_quiet(ctx);
	case G:
		return shmemd_g_u64(ctx, &old, w, p->pe);
	case ADD:
		shmemd_atomic_add_u64(ctx, w, 1, p->pe);
		return shmemd_quiet(ctx);
	case ADD_TILE:
		return add_tile(p);
	case FETCH:
		return shmemd_atomic_fetch_add_u64(ctx, &old, w, 1, p->pe);
	case SET:
	case SIGNAL_ADD:
		shmemd_signal_op(ctx, w, 1, op, p->pe);
		return shmemd_quiet(ctx);
	default:
		shmemd_putmem_signal(ctx, w, p->src, 8, w + 1, 1, op, p->pe);
		return shmemd_quiet(ctx);
	}
}

SHMEMD_KERNEL(one_kernel, reach_params_t, p)
{
	*p.result = do_it(&p);
}

/* Check that the operation fails with want, in result and record, and changes no memory of its PE.
 */
static int expect_failure(pes_t *pes, reach_params_t *p, int what, int want)
{
	unsigned char guard[4 * 8], *words;
	shmemd_error_t err;
	int *result;

	p->what = what;
	p->ctx.device_copy = p->device_copy;
	PES_TRY(pes, run_copy(p->device_copy, &p->ctx, sizeof(p->ctx)));
	PES_RUN(pes, one_kernel, 1, 1, *p);
	result = (int *)pes_read(pes, p->result, sizeof(*result));
	words = (unsigned char *)pes_read(pes, p->words, sizeof(guard));
	if (result == NULL || words == NULL)
		return 1;
	memset(guard, GUARD, sizeof(guard));
	pes_bytes(pes, words, guard, sizeof(guard), "words", __FILE__, __LINE__);
	PES_EQ(pes, *result, want);
	PES_EQ(pes, shmemh_error_get(pes->job, &err), want);
	PES_EQ(pes, err.op, op_of[what]);
	PES_EQ(pes, err.pe, p->pe);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

/* Change the context to that of a machine without a NIC. */
static void no_nic(shmemd_ctx_t *ctx)
{
	ctx->channels = NULL;
	ctx->n_channels = 0;
	ctx->first_mapped = 0;
	ctx->mapped_span = (uint32_t)ctx->n_pes;
	ctx->n_strided = ctx->n_strided_amos = ctx->n_strided_puts_with_signal = 0;
	ctx->flags &= ~(SHMEMD_CTX_NIC | SHMEMD_CTX_MIXED_TRANSPORT);
}

SHMEMD_KERNEL(sync_kernel, reach_params_t, p)
{
	scope_report(p.status, 0, shmemd_ptr(&p.ctx, p.words, p.pe) == NULL ? 0 : WRONG_VALUE);
	scope_report(p.status, 1, shmemd_sync(&p.ctx) == SHMEMD_ERR_UNREACHABLE ? 0 : WRONG_VALUE);
}

static int not_mapped(pes_t *pes)
{
	size_t nbytes = (size_t)pes->n_pes * sizeof(shmemd_peer_t);
	shmemd_peer_t *peers;
	reach_params_t p;
	int what;

	if (pes->seed > 2)
		return 0; /* no traffic between PEs */
	if (reach_params(pes, &p))
		return 1;
	p.pe = (pes->pe + 1) % pes->n_pes;
	peers = (shmemd_peer_t *)pes_read(pes, p.ctx.peers, nbytes);
	if (peers == NULL)
		return 1;
	peers[p.pe].base = NULL;
	PES_TRY(pes, run_copy(p.peers, peers, nbytes));
	p.ctx.peers = p.peers;
	no_nic(&p.ctx);
	p.ctx.flags &= ~SHMEMD_CTX_ALL_MAPPED;
	for (what = 0; what < N_ALL; what++) {
		if (expect_failure(pes, &p, what, SHMEMD_ERR_UNREACHABLE))
			return 1;
	}
	PES_RUN(pes, sync_kernel, 1, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), SHMEMD_ERR_UNREACHABLE);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	return 0;
}

static int no_atomics(pes_t *pes)
{
	reach_params_t p;
	int what;

	if (pes->seed > 2)
		return 0;
	if (reach_params(pes, &p))
		return 1;
	p.pe = (pes->pe + 1) % pes->n_pes;
	if (!pes_maps(pes, p.pe))
		p.pe = pes->pe;
	if (!pes_maps(pes, p.pe))
		return pes_skip(pes, "no memory is mapped");
	no_nic(&p.ctx);
	p.ctx.flags &= ~SHMEMD_CTX_SM_ATOMICS;
	for (what = N_MAPPED; what < N_ALL; what++) {
		if (expect_failure(pes, &p, what, SHMEMD_ERR_NO_ATOMICS))
			return 1;
	}
	p.pe = pes->pe; /* an address that is computed */
	p.ctx.first_mapped = (uint32_t)pes->pe;
	p.ctx.mapped_span = p.ctx.n_strided = p.ctx.n_strided_puts_with_signal = 1;
	for (what = N_MAPPED; what < N_ALL; what++) {
		if (expect_failure(pes, &p, what, SHMEMD_ERR_NO_ATOMICS))
			return 1;
	}
	p.what = PUT_SET;
	PES_RUN(pes, one_kernel, 1, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	return 0;
}

/* The world in reverse order, with its own sync memory. */
SHMEMD_KERNEL(team_kernel, reach_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), pe, round;
	uint64_t got = 0;

	for (pe = 0; pe < n; pe++)
		scope_report(p.status, 0,
			     shmemd_world_pe(&p.ctx, pe) == n - 1 - pe ? 0 : WRONG_VALUE);
	for (round = 0; round < 4; round++) {
		shmemd_p_u64(&p.ctx, p.words, (uint64_t)(round * 100 + me), (me + 1) % n);
		scope_report(p.status, 1, shmemd_barrier_for(&p.ctx, PES_LIMIT_NS));
		scope_report(p.status, 2, shmemd_g_u64(&p.ctx, &got, p.words, me));
		scope_report(p.status, 3,
			     got == (uint64_t)(round * 100 + (me + n - 1) % n) ? 0 : WRONG_VALUE);
		scope_report(p.status, 4, shmemd_sync_for(&p.ctx, PES_LIMIT_NS));
	}
}

static int reversed_team(pes_t *pes)
{
	size_t n = (size_t)pes->n_pes, i;
	shmemd_peer_t *peers, *reversed;
	reach_params_t p;

	if (reach_params(pes, &p))
		return 1;
	PES_ALLOC(pes, p.ctx.sync, uint64_t, SHMEMD_SYNC_WORDS(n), 0);
	peers = (shmemd_peer_t *)pes_read(pes, p.ctx.peers, n * sizeof(*peers));
	reversed = (shmemd_peer_t *)pes_read(pes, p.ctx.peers, n * sizeof(*peers));
	if (peers == NULL || reversed == NULL)
		return 1;
	for (i = 0; i < n; i++)
		reversed[i] = peers[n - 1 - i];
	PES_TRY(pes, run_copy(p.peers, reversed, n * sizeof(*peers)));
	p.ctx.peers = p.peers;
	p.ctx.first_mapped = 0;
	p.ctx.mapped_span = (uint32_t)pes->n_pes;
	if (p.ctx.n_strided != n)
		p.ctx.n_strided = p.ctx.n_strided_amos = p.ctx.n_strided_puts_with_signal = 0;
	p.ctx.mapped_stride = -p.ctx.mapped_stride;
	p.ctx.flags &= ~SHMEMD_CTX_WORLD_NUMBERS;
	p.ctx.my_pe = pes->n_pes - 1 - pes->pe;
	p.ctx.device_copy = p.device_copy;
	PES_TRY(pes, run_copy(p.device_copy, &p.ctx, sizeof(p.ctx)));
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, team_kernel, 1, 1, p);
	return 0;
}

/* Heaps equally far apart: addresses are computed, and `peers` is not read. */
SHMEMD_KERNEL(strided_kernel, reach_params_t, p)
{
	int pe;

	for (pe = 0; pe < p.ctx.n_pes; pe++) {
		char *at = (char *)p.words + (pe - p.ctx.my_pe) * p.ctx.mapped_stride;

		scope_report(p.status, 0,
			     shmemd_ptr(&p.ctx, p.words, pe) == (void *)at ? 0 : WRONG_VALUE);
	}
}

static int strided_addresses(pes_t *pes)
{
	reach_params_t p;

	if (reach_params(pes, &p))
		return 1;
	p.ctx.peers = NULL;
	p.ctx.my_pe = 1;
	p.ctx.n_pes = 3;
	p.ctx.first_mapped = 0;
	p.ctx.mapped_span = p.ctx.n_strided = 3;
	p.ctx.mapped_stride = -((int64_t)1 << 21);
	PES_RUN(pes, strided_kernel, 1, 1, p);
	return 0;
}

/* The words beside n_strided say what the flags of the team say. */
static int words_of_the_flags(pes_t *pes)
{
	reach_params_t p;

	if (reach_params(pes, &p))
		return 1;
	PES_EQ(pes, p.ctx.n_strided_amos,
	       p.ctx.flags & SHMEMD_CTX_SM_ATOMICS ? p.ctx.n_strided : 0);
	PES_EQ(pes, p.ctx.n_strided_puts_with_signal,
	       p.ctx.flags & SHMEMD_CTX_MIXED_TRANSPORT ? 0 : p.ctx.n_strided);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(not_mapped),        PES_TEST(no_atomics),         PES_TEST(reversed_team),
		PES_TEST(strided_addresses), PES_TEST(words_of_the_flags),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
