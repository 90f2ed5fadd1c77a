/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* rma.h: every byte of every target, and the bytes around it. */
#include <string.h>
#include <stdlib.h>
#include "pes.h"
#include "sanitized.h"
#include "scopes.h"

#define GUARD 0xa5
#define GUARD_NBYTES 32

/* One transfer. Each PE has a region for each PE, and each transfer an offset in the region. */
typedef struct xfer {
	uint64_t at; /* offset in the region of the guard before it; a multiple of 16 */
	uint32_t nbytes;
	uint32_t dst_off, src_off; /* misalignments */
} xfer_t;

enum rma_op { PUT, PUT_NBI, GET, GET_NBI };

typedef struct rma_params {
	shmemd_ctx_t ctx;
	const xfer_t *xfers; /* [n_xfers] */
	char *src;           /* [src_nbytes] pes_pattern of its PE */
	char *dst;           /* [pe][region_nbytes] */
	uint64_t region_nbytes;
	uint32_t n_xfers;
	uint64_t *sig; /* of zero_bytes */
	int op, scope;
	int *status;
} rma_params_t;

/* Sources differ by target, so that a transfer to the wrong PE is detected. */
#define SRC_OF(pe) ((size_t)(pe)*64)

SCOPE_STEP void rma_one(const rma_params_t *rma, const xfer_t *x, int me, int pe)
{
	char *put_dst = rma->dst + (uint64_t)me * rma->region_nbytes + x->at + GUARD_NBYTES;
	char *get_dst = rma->dst + (uint64_t)pe * rma->region_nbytes + x->at + GUARD_NBYTES;
	int status = 0;
	switch (rma->op) {
	case PUT:
		SCOPED(rma->scope, shmemd_putmem, &rma->ctx, put_dst + x->dst_off,
		       rma->src + SRC_OF(pe) + x->src_off, x->nbytes, pe);
		break;
	case PUT_NBI:
		SCOPED(rma->scope, shmemd_putmem_nbi, &rma->ctx, put_dst + x->dst_off,
		       rma->src + SRC_OF(pe) + x->src_off, x->nbytes, pe);
		break;
	case GET:
		SCOPED_INT(status, rma->scope, shmemd_getmem, &rma->ctx, get_dst + x->dst_off,
			   rma->src + SRC_OF(me) + x->src_off, x->nbytes, pe);
		break;
	default:
		SCOPED(rma->scope, shmemd_getmem_nbi, &rma->ctx, get_dst + x->dst_off,
		       rma->src + SRC_OF(me) + x->src_off, x->nbytes, pe);
	}
	scope_report(rma->status, 0, status);
}

SHMEMD_KERNEL(rma_kernel, rma_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), i, status;
	uint32_t x;

	if (!scope_has(p.scope))
		return;
	for (i = 0; i < n; i++) {
		for (x = 0; x < p.n_xfers; x++)
			rma_one(&p, &p.xfers[x], me, (me + i) % n);
	}
	SCOPED_INT0(status, p.scope, shmemd_quiet, &p.ctx);
	scope_report(p.status, 1, status);
}

/* The misalignments of one side. Two sides of a mapped copy have each common alignment from 1 to 16
 * bytes with those of `some`. */
typedef struct offsets {
	uint32_t n;
	uint8_t of[16];
} offsets_t;

static const offsets_t *choose_offsets(const pes_t *pes)
{
	static const offsets_t all = {16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
			       some = {7, {0, 1, 4, 6, 8, 14, 15}}, four = {4, {0, 5, 10, 15}},
			       two = {2, {0, 15}};

	if (pes->seed != 0 || pes->is_slow)
		return &two;
	if (!pes_maps_all(pes)) /* a NIC copies bytes */
		return &four;
	return pes->is_emulated ? &some : &all;
}

/* The table of transfers, the largest last: sizes x misalignments of destination and source. 4 and
 * 8 bytes that are aligned are one strong store; up to 28 bytes are inline in the WQE. A thread
 * copies 16 bytes in one access, 32 in two, and 4112 in full rounds and a part of one, as a warp
 * does. */
#define N_SIZES 18
#define N_LARGE 2
static size_t make_xfers(const pes_t *pes, xfer_t *xfers, uint64_t *region_nbytes)
{
	static const uint32_t sizes[N_SIZES] = {0,  1,  3,  4,  6,  8,  12,  15,       16,
						17, 24, 28, 29, 32, 64, 255, 4096 + 7, 4096 + 16};
	const offsets_t *offsets = choose_offsets(pes);
	uint32_t n_sizes = pes->seed == 0 ? N_SIZES : N_SIZES - N_LARGE, s, d, o;
	uint64_t at = 0;
	size_t n = 0;

	for (s = 0; s < n_sizes; s++) {
		for (d = 0; d < offsets->n; d++) {
			for (o = 0; o < offsets->n; o++) {
				xfers[n].at = at;
				xfers[n].nbytes = sizes[s];
				xfers[n].dst_off = offsets->of[d];
				xfers[n].src_off = offsets->of[o];
				at += (2 * GUARD_NBYTES + 16 + sizes[s] + 15) / 16 * 16;
				n++;
			}
		}
	}
	*region_nbytes = at;
	return n;
}

/* The expected content of the region from PE from (on PE me), by a plain loop. */
static void expect_region(unsigned char *want, uint64_t nbytes, const xfer_t *xfers, size_t n,
			  int from, int me)
{
	size_t x, i;

	memset(want, GUARD, nbytes);
	for (x = 0; x < n; x++) {
		unsigned char *at = want + xfers[x].at + GUARD_NBYTES + xfers[x].dst_off;

		for (i = 0; i < xfers[x].nbytes; i++)
			at[i] = pes_pattern(from, SRC_OF(me) + xfers[x].src_off + i);
	}
}

/* Run the transfers in one op and scope and compare all of dst. */
static int check_rma(pes_t *pes, const xfer_t *xfers, size_t n, uint64_t region_nbytes, int op,
		     int scope)
{
	size_t src_nbytes = SRC_OF(pes->n_pes) + xfers[n - 1].nbytes + 64, i;
	unsigned char *want = (unsigned char *)malloc(region_nbytes + src_nbytes);
	rma_params_t p;
	int from;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.n_xfers = (uint32_t)n;
	p.region_nbytes = region_nbytes;
	p.op = op;
	p.scope = scope;
	PES_ALLOC(pes, p.dst, char, region_nbytes *(size_t)pes->n_pes, GUARD);
	PES_ALLOC(pes, p.src, char, src_nbytes, 0);
	PES_ALLOC(pes, p.xfers, xfer_t, n, 0);
	for (i = 0; i < src_nbytes; i++)
		want[i] = pes_pattern(pes->pe, i);
	PES_TRY(pes, run_copy(p.src, want, src_nbytes));
	PES_TRY(pes, run_copy((void *)p.xfers, xfers, n * sizeof(*xfers)));
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, rma_kernel, 1, SCOPE_NTHREADS, p);
	for (from = 0; from < pes->n_pes; from++) {
		void *got = pes_read(pes, p.dst + (uint64_t)from * region_nbytes, region_nbytes);

		expect_region(want, region_nbytes, xfers, n, from, pes->pe);
		if (got != NULL)
			pes_bytes(pes, got, want, region_nbytes, "region", __FILE__, __LINE__);
	}
	free(want);
	pes_release(pes);
	return 0;
}

/* All sizes and misalignments, in every scope. */
static int check_op(pes_t *pes, int op)
{
	xfer_t *xfers = (xfer_t *)calloc(N_SIZES * 256, sizeof(*xfers));
	uint64_t region_nbytes;
	size_t n = make_xfers(pes, xfers, &region_nbytes);
	int scope, result = 0;

	for (scope = 0; scope < SCOPE_COUNT && result == 0; scope++)
		result = check_rma(pes, xfers, n, region_nbytes, op, scope);
	free(xfers);
	return result;
}

static int put(pes_t *pes)
{
	return check_op(pes, PUT);
}

static int put_nbi(pes_t *pes)
{
	return check_op(pes, PUT_NBI);
}

static int get(pes_t *pes)
{
	return check_op(pes, GET);
}

static int get_nbi(pes_t *pes)
{
	return check_op(pes, GET_NBI);
}

/* 1 MiB, with sanitizers 64 KiB, in every scope, aligned and (by the block) not aligned. */
#define LARGE (SANITIZED ? 1u << 16 : 1u << 20)
static int large(pes_t *pes)
{
	xfer_t xfers[2] = {{0, LARGE, 0, 0}, {LARGE + 128, LARGE, 3, 7}};
	int scope, op, result = 0;

	if (pes->seed > 1)
		return 0;
	for (op = PUT; op <= GET; op += GET - PUT) {
		for (scope = 0; scope < SCOPE_COUNT && result == 0; scope++)
			result = check_rma(pes, xfers, scope == SCOPE_BLOCK ? 2 : 1,
					   2 * (LARGE + 128), op, scope);
	}
	return result;
}

/* When a blocking put returns, every thread of its scope may reuse the source: rounds fill the
 * source again at once, each element by another thread than the one that copied it. */
#define REUSE_ROUNDS 6
#define REUSE_NELEMS 512

typedef struct reuse_params {
	shmemd_ctx_t ctx;
	uint32_t *src; /* [REUSE_NELEMS] */
	uint32_t *dst; /* [pe][round][REUSE_NELEMS] */
	int scope;
	int *status;
} reuse_params_t;

SHMEMD_KERNEL(reuse_kernel, reuse_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), round, status;
	shmemd_group_t g;
	uint32_t i;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < REUSE_ROUNDS; round++) {
		uint32_t *dst = p.dst + (me * REUSE_ROUNDS + round) * REUSE_NELEMS;

		for (i = g.size - 1 - g.rank; i < REUSE_NELEMS; i += g.size)
			p.src[i] = (uint32_t)round * 1000 + i;
		shmemd_group_sync(g);
		SCOPED(p.scope, shmemd_putmem, &p.ctx, dst, p.src, REUSE_NELEMS * 4, (me + 1) % n);
	}
	SCOPED_INT0(status, p.scope, shmemd_quiet, &p.ctx);
	scope_report(p.status, 0, status);
}

static int put_source_reusable(pes_t *pes)
{
	int from = (pes->pe + pes->n_pes - 1) % pes->n_pes, round, scope;
	size_t nelems = (size_t)pes->n_pes * REUSE_ROUNDS * REUSE_NELEMS, i;
	reuse_params_t p;
	uint32_t *got;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	for (scope = 0; scope < SCOPE_COUNT; scope++) {
		p.scope = scope;
		PES_ALLOC(pes, p.src, uint32_t, REUSE_NELEMS, 0);
		PES_ALLOC(pes, p.dst, uint32_t, nelems, 0);
		PES_RUN(pes, reuse_kernel, 1, SCOPE_NTHREADS, p);
		got = (uint32_t *)pes_read(pes, p.dst, nelems * 4);
		for (round = 0; got != NULL && round < REUSE_ROUNDS; round++) {
			for (i = 0; i < REUSE_NELEMS; i++)
				PES_EQ(pes, got[(from * REUSE_ROUNDS + round) * REUSE_NELEMS + i],
				       (uint32_t)round * 1000 + i);
		}
		pes_release(pes);
	}
	return 0;
}

/* When a blocking get returns, every thread of its scope can read the result: each thread reads
 * what another one fetched. */
typedef struct fetch_params {
	shmemd_ctx_t ctx;
	uint32_t *src; /* [REUSE_NELEMS] i ^ its PE */
	uint32_t *dst; /* [REUSE_NELEMS] */
	int scope;
	int *status;
} fetch_params_t;

SHMEMD_KERNEL(fetch_kernel, fetch_params_t, p)
{
	int n = shmemd_n_pes(&p.ctx), pe, status;
	shmemd_group_t g;
	uint32_t i;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (pe = 0; pe < n; pe++) {
		SCOPED_INT(status, p.scope, shmemd_getmem, &p.ctx, p.dst, p.src, REUSE_NELEMS * 4,
			   pe);
		scope_report(p.status, 0, status);
		for (i = g.size - 1 - g.rank; i < REUSE_NELEMS; i += g.size)
			scope_report(p.status, 1, p.dst[i] == (i ^ (uint32_t)pe) ? 0 : WRONG_VALUE);
		shmemd_group_sync(g); /* before the next get overwrites the result */
	}
}

static int get_result_valid(pes_t *pes)
{
	uint32_t src[REUSE_NELEMS], i;
	fetch_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.src, uint32_t, REUSE_NELEMS, 0);
	PES_ALLOC(pes, p.dst, uint32_t, REUSE_NELEMS, 0);
	for (i = 0; i < REUSE_NELEMS; i++)
		src[i] = i ^ (uint32_t)pes->pe;
	PES_TRY(pes, run_copy(p.src, src, sizeof(src)));
	PES_TRY(pes, shmemh_barrier(pes->job));
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		PES_RUN(pes, fetch_kernel, 1, SCOPE_NTHREADS, p);
	return 0;
}

/* p and g in every width: each PE writes its word at every PE and fetches every PE's words. Bytes
 * next to a word and to a fetched value do not change. */
typedef struct word_params {
	shmemd_ctx_t ctx;
	/* [2 * n + 1]: word of PE pe at 2 * pe + 1, guards between; the arrays below have the same
	 * layout */
	uint8_t *w8;
	uint16_t *w16;
	uint32_t *w32;
	uint64_t *w64;
	int *status;
} word_params_t;

#define WORD_OF(from, at) (0x8142c36495a6b7d8ull + (uint64_t)(from)*0x101010101010101ull + (at))

SHMEMD_KERNEL(p_kernel, word_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), pe;

	for (pe = 0; pe < shmemd_n_pes(&p.ctx); pe++) {
		uint64_t word = WORD_OF(me, pe);

		shmemd_p_u8(&p.ctx, p.w8 + 2 * me + 1, (uint8_t)word, pe);
		shmemd_p_u16(&p.ctx, p.w16 + 2 * me + 1, (uint16_t)word, pe);
		shmemd_p_u32(&p.ctx, p.w32 + 2 * me + 1, (uint32_t)word, pe);
		shmemd_p_u64(&p.ctx, p.w64 + 2 * me + 1, word, pe);
	}
	scope_report(p.status, 0, shmemd_quiet(&p.ctx));
}

SHMEMD_KERNEL(g_kernel, word_params_t, p)
{
	int n = shmemd_n_pes(&p.ctx), pe, from;

	for (pe = 0; pe < n; pe++) {
		for (from = 0; from < n; from++) {
			uint64_t want = WORD_OF(from, pe), g64[2] = {0, GUARD};
			uint32_t g32[2] = {0, GUARD};
			uint16_t g16[4] = {0, GUARD};
			uint8_t g8[8] = {0, GUARD};

			scope_report(p.status, 0, shmemd_g_u8(&p.ctx, g8, p.w8 + 2 * from + 1, pe));
			scope_report(p.status, 0,
				     shmemd_g_u16(&p.ctx, g16, p.w16 + 2 * from + 1, pe));
			scope_report(p.status, 0,
				     shmemd_g_u32(&p.ctx, g32, p.w32 + 2 * from + 1, pe));
			scope_report(p.status, 0,
				     shmemd_g_u64(&p.ctx, g64, p.w64 + 2 * from + 1, pe));
			scope_report(p.status, 1, g8[0] == (uint8_t)want ? 0 : WRONG_VALUE);
			scope_report(p.status, 2, g16[0] == (uint16_t)want ? 0 : WRONG_VALUE);
			scope_report(p.status, 3, g32[0] == (uint32_t)want ? 0 : WRONG_VALUE);
			scope_report(p.status, 4, g64[0] == want ? 0 : WRONG_VALUE);
			scope_report(p.status, 5, g8[1] == GUARD ? 0 : WRONG_VALUE);
			scope_report(p.status, 6, g16[1] == GUARD ? 0 : WRONG_VALUE);
			scope_report(p.status, 7, g32[1] == GUARD ? 0 : WRONG_VALUE);
			scope_report(p.status, 8, g64[1] == GUARD ? 0 : WRONG_VALUE);
		}
	}
}

static int p_and_g(pes_t *pes)
{
	size_t n = 2 * (size_t)pes->n_pes + 1, i;
	word_params_t p;
	uint64_t *got64;
	uint32_t *got32;
	uint16_t *got16;
	uint8_t *got8;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.w8, uint8_t, n, GUARD);
	PES_ALLOC(pes, p.w16, uint16_t, n, GUARD);
	PES_ALLOC(pes, p.w32, uint32_t, n, GUARD);
	PES_ALLOC(pes, p.w64, uint64_t, n, GUARD);
	PES_RUN(pes, p_kernel, 1, 1, p);
	PES_RUN(pes, g_kernel, 1, 1, p);
	got8 = (uint8_t *)pes_read(pes, p.w8, n);
	got16 = (uint16_t *)pes_read(pes, p.w16, n * 2);
	got32 = (uint32_t *)pes_read(pes, p.w32, n * 4);
	got64 = (uint64_t *)pes_read(pes, p.w64, n * 8);
	if (got8 == NULL || got16 == NULL || got32 == NULL || got64 == NULL)
		return 1;
	for (i = 0; i < n; i++) {
		uint64_t want = i % 2 ? WORD_OF(i / 2, pes->pe) : 0xa5a5a5a5a5a5a5a5ull;

		PES_EQ(pes, got8[i], (uint8_t)want);
		PES_EQ(pes, got16[i], (uint16_t)want);
		PES_EQ(pes, got32[i], (uint32_t)want);
		PES_EQ(pes, got64[i], want);
	}
	return 0;
}

/* A put of 8 bytes by a block is one store: no warp that comes late stores the word again. Not in a
 * check build, where the call begins with a sync of the block. */
typedef struct once_params {
	shmemd_ctx_t ctx;
	uint64_t *src, *dst; /* 1 */
	uint32_t *is_late;   /* 1: the first warp has overwritten the word */
	int *status;
} once_params_t;

SHMEMD_KERNEL(word_kernel, once_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);
	uint32_t rank = shmemd_block().rank;

	if (rank >= 32)
		while (shmemd_arch_ld_relaxed_u32(p.is_late) == 0)
			shmemd_arch_spin_hint();
	shmemd_putmem_nbi_block(&p.ctx, p.dst, p.src, 8, me);
	if (rank != 0)
		return;
	scope_report(p.status, 0,
		     shmemd_wait_until_for_u64(&p.ctx, p.dst, SHMEMD_CMP_NE, 0, PES_LIMIT_NS));
	shmemd_p_u64(&p.ctx, p.dst, 0, me);
	scope_report(p.status, 1, shmemd_quiet(&p.ctx));
	shmemd_arch_atom_add_u32(p.is_late, 1);
}

static int word_once(pes_t *pes)
{
	static const uint64_t one = 1;
	once_params_t p;
	uint64_t *got;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.src, uint64_t, 1, 0);
	PES_ALLOC(pes, p.dst, uint64_t, 1, 0);
	PES_ALLOC(pes, p.is_late, uint32_t, 1, 0);
	PES_TRY(pes, run_copy(p.src, &one, sizeof(one)));
	PES_RUN(pes, word_kernel, 1, SCOPE_NTHREADS, p);
	got = (uint64_t *)pes_read(pes, p.dst, sizeof(*got));
	if (got != NULL)
		PES_EQ(pes, *got, 0);
	return 0;
}

/* The code for small transfers and that for units take none of 4 GiB or more, of whose size they
 * use 32 bits. */
SHMEMD_KERNEL(beyond_4_gib_kernel, once_params_t, p)
{
	const uint64_t gib_4 = (uint64_t)1 << 32;
	shmemdi_op_t op;

	memset(&op, 0, sizeof(op));
	op.g = shmemd_thread();
	op.nbytes = gib_4;
	scope_report(p.status, 0, shmemdi_op_is_small(op) ? WRONG_VALUE : 0);
	op.nbytes = gib_4 + 8;
	scope_report(p.status, 1, shmemdi_op_is_small(op) ? WRONG_VALUE : 0);
	op.nbytes = gib_4 + 4;
	scope_report(p.status, 2, shmemdi_op_is_small(op) ? WRONG_VALUE : 0);
	scope_report(p.status, 3, shmemdi_copy_is_units(0, 0, gib_4 + 16) ? WRONG_VALUE : 0);
	scope_report(p.status, 4, shmemdi_copy_is_units(0, 0, gib_4) ? WRONG_VALUE : 0);
}

static int beyond_4_gib(pes_t *pes)
{
	once_params_t p;

	memset(&p, 0, sizeof(p));
	p.status = pes->status;
	PES_RUN(pes, beyond_4_gib_kernel, 1, 1, p);
	return 0;
}

/* Transfers of zero bytes with null pointers. (An address that is derived from a null pointer is
 * reported by clang's sanitizer of undefined behaviour, not by gcc's.) */
SHMEMD_KERNEL(zero_bytes_kernel, rma_params_t, p)
{
	int pe = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx), status;

	if (!scope_has(p.scope))
		return;
	SCOPED(p.scope, shmemd_putmem, &p.ctx, p.dst, NULL, 0, pe);
	SCOPED(p.scope, shmemd_putmem_nbi, &p.ctx, p.dst, NULL, 0, pe);
	SCOPED_INT(status, p.scope, shmemd_getmem, &p.ctx, NULL, p.dst, 0, pe);
	scope_report(p.status, 0, status);
	SCOPED(p.scope, shmemd_putmem_signal, &p.ctx, p.dst, NULL, 0, p.sig, 1, SHMEMD_SIGNAL_SET,
	       pe);
	SCOPED_INT0(status, p.scope, shmemd_quiet, &p.ctx);
	scope_report(p.status, 1, status);
}

static int zero_bytes(pes_t *pes)
{
	rma_params_t p;
	uint64_t *signal;
	char *got;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.dst, char, 1, GUARD);
	PES_ALLOC(pes, p.sig, uint64_t, 1, 0);
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		PES_RUN(pes, zero_bytes_kernel, 1, SCOPE_NTHREADS, p);
	got = (char *)pes_read(pes, p.dst, 1);
	if (got != NULL)
		PES_EQ(pes, (uint8_t)*got, GUARD);
	signal = (uint64_t *)pes_read(pes, p.sig, sizeof(*signal));
	if (signal != NULL)
		PES_EQ(pes, *signal, 1);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(put),
		PES_TEST(put_nbi),
		PES_TEST(get),
		PES_TEST(get_nbi),
		PES_TEST(large),
		PES_TEST(word_once),
		PES_TEST(beyond_4_gib),
		PES_TEST(zero_bytes),
		PES_TEST(put_source_reusable),
		PES_TEST(get_result_valid),
		PES_TEST(p_and_g),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
