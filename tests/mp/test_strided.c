/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* strided.h, and the strided names of typed.h and sized.h: every element, and what is between. */
#include <shmem_dev/sized.h>
#include <shmem_dev/typed.h>
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define GUARD 0xa5
#define SPENT 0x5e /* written to src after each iput */

/* One transfer; the numbers of bytes are with a guard behind. */
typedef struct xfer {
	uint32_t nelems, width, dst_stride, src_stride;
	uint64_t dst_at, src_at; /* offsets in a region; multiples of 16 */
} xfer_t;

/* Elements of 40 bytes travel by no WQE; 70 elements are more than two for each lane of a warp. */
static const xfer_t shapes[] = {
	{0, 4, 2, 2, 0, 0},  {1, 8, 5, 7, 0, 0},   {5, 1, 2, 3, 0, 0},  {70, 4, 1, 2, 0, 0},
	{33, 8, 3, 1, 0, 0}, {70, 16, 2, 3, 0, 0}, {9, 2, 1, 1, 0, 0},  {40, 40, 3, 2, 0, 0},
	{7, 3, 4, 2, 0, 0},  {3, 200, 2, 2, 0, 0}, {70, 8, 1, 1, 0, 0}, {5, 0, 2, 2, 0, 0},
	{0, 4, 1, 1, 0, 0},
};
#define N_XFERS (sizeof(shapes) / sizeof(shapes[0]))

enum { IPUT, IGET };

typedef struct strided_params {
	shmemd_ctx_t ctx;
	const xfer_t *xfers; /* [N_XFERS] */
	char *src;           /* [pe][src_nbytes] for each target */
	char *dst;           /* [pe][dst_nbytes] from each source */
	uint64_t src_nbytes, dst_nbytes;
	int op, scope, channel;
	int *status;
} strided_params_t;

SHMEMD_FN void spend(shmemd_group_t g, char *src, uint64_t nbytes)
{
	uint64_t i;

	for (i = g.rank; i < nbytes; i += g.size)
		src[i] = SPENT;
}

SCOPE_STEP void strided_one(const strided_params_t *p, const shmemd_ctx_t *ctx, const xfer_t *x,
			    int pe)
{
	int me = shmemd_my_pe(ctx), status = 0;
	char *src = p->src + (uint64_t)pe * p->src_nbytes + x->src_at;
	char *dst = p->dst + (uint64_t)me * p->dst_nbytes + x->dst_at;

	if (x->nelems == 0) { /* the pointers are not used */
		if (p->op == IPUT)
			SCOPED(p->scope, shmemd_iputmem, ctx, NULL, NULL, x->dst_stride,
			       x->src_stride, x->width, 0, pe);
		else
			SCOPED_INT(status, p->scope, shmemd_igetmem, ctx, NULL, NULL, x->dst_stride,
				   x->src_stride, x->width, 0, pe);
		scope_report(p->status, 0, status);
		return;
	}
	if (p->op == IPUT) {
		SCOPED(p->scope, shmemd_iputmem, ctx, dst, src, x->dst_stride, x->src_stride,
		       x->width, x->nelems, pe);
		spend(scope_group(p->scope), src, (uint64_t)x->nelems * x->src_stride * x->width);
		return;
	}
	src = p->src + (uint64_t)me * p->src_nbytes + x->src_at;
	dst = p->dst + (uint64_t)pe * p->dst_nbytes + x->dst_at;
	SCOPED_INT(status, p->scope, shmemd_igetmem, ctx, dst, src, x->dst_stride, x->src_stride,
		   x->width, x->nelems, pe);
	scope_report(p->status, 0, status);
}

SHMEMD_KERNEL(strided_kernel, strided_params_t, p)
{
	shmemd_ctx_t ctx = shmemd_ctx_channel(&p.ctx, (uint32_t)p.channel);
	int me = shmemd_my_pe(&ctx), n = shmemd_n_pes(&ctx), i, status;
	uint32_t x;

	if (!scope_has(p.scope))
		return;
	for (i = 0; i < n; i++) {
		for (x = 0; x < N_XFERS; x++)
			strided_one(&p, &ctx, &p.xfers[x], (me + i) % n);
	}
	SCOPED_INT0(status, p.scope, shmemd_quiet, &ctx);
	scope_report(p.status, 1, status);
}

static void make_xfers(xfer_t *xfers, strided_params_t *p)
{
	size_t i;

	for (i = 0; i < N_XFERS; i++) {
		xfer_t *x = &xfers[i];

		*x = shapes[i];
		x->dst_at = p->dst_nbytes;
		x->src_at = p->src_nbytes;
		p->dst_nbytes += ((uint64_t)x->nelems * x->dst_stride * x->width + 31) / 16 * 16;
		p->src_nbytes += ((uint64_t)x->nelems * x->src_stride * x->width + 31) / 16 * 16;
	}
}

/* The expected content of the region of dst for PE from, on PE me. */
static void expect_region(unsigned char *want, const strided_params_t *p, const xfer_t *xfers,
			  int from, int me)
{
	size_t x, i, b;

	memset(want, GUARD, p->dst_nbytes);
	for (x = 0; x < N_XFERS; x++) {
		for (i = 0; i < xfers[x].nelems; i++) {
			unsigned char *at =
				want + xfers[x].dst_at + i * xfers[x].dst_stride * xfers[x].width;
			size_t off = (size_t)me * p->src_nbytes + xfers[x].src_at +
				     i * xfers[x].src_stride * xfers[x].width;

			for (b = 0; b < xfers[x].width; b++)
				at[b] = pes_pattern(from, off + b);
		}
	}
}

static int check_strided(pes_t *pes, int op, int scope)
{
	unsigned char *bytes;
	xfer_t xfers[N_XFERS];
	strided_params_t p;
	size_t src_nbytes, i;
	int from;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.op = op;
	p.scope = scope;
	p.channel = pes->ctx.n_channels > 1;
	make_xfers(xfers, &p);
	src_nbytes = p.src_nbytes * (size_t)pes->n_pes;
	PES_ALLOC(pes, p.dst, char, p.dst_nbytes *(size_t)pes->n_pes, GUARD);
	PES_ALLOC(pes, p.src, char, src_nbytes, 0);
	PES_ALLOC(pes, p.xfers, xfer_t, N_XFERS, 0);
	bytes = (unsigned char *)malloc(src_nbytes + p.dst_nbytes);
	for (i = 0; i < src_nbytes; i++)
		bytes[i] = pes_pattern(pes->pe, i);
	PES_TRY(pes, run_copy(p.src, bytes, src_nbytes));
	PES_TRY(pes, run_copy((void *)p.xfers, xfers, sizeof(xfers)));
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, strided_kernel, 1, SCOPE_NTHREADS, p);
	for (from = 0; from < pes->n_pes; from++) {
		void *got = pes_read(pes, p.dst + (uint64_t)from * p.dst_nbytes, p.dst_nbytes);

		expect_region(bytes, &p, xfers, from, pes->pe);
		if (got != NULL)
			pes_bytes(pes, got, bytes, p.dst_nbytes, "region", __FILE__, __LINE__);
	}
	free(bytes);
	pes_release(pes);
	return 0;
}

static int each_scope(pes_t *pes, int op)
{
	int scope;

	for (scope = 0; scope < SCOPE_COUNT; scope++) {
		if (pes->seed != 0 && pes->seed % SCOPE_COUNT != (uint64_t)scope)
			continue;
		if (check_strided(pes, op, scope))
			return 1;
	}
	return 0;
}

static int iput(pes_t *pes)
{
	return each_scope(pes, IPUT);
}

static int iget(pes_t *pes)
{
	return each_scope(pes, IGET);
}

/* Memory of the thread itself, which no NIC reads or writes; and strides below 1. */
#define N_OWN 3

typedef struct own_params {
	shmemd_ctx_t ctx;
	uint64_t *there; /* [4 * N_OWN] */
	int *status;
} own_params_t;

SHMEMD_FN int is_refused(int status)
{
	return status == SHMEMD_ERR_BAD_ARGUMENT ? 0 : WRONG_VALUE;
}

SHMEMD_KERNEL(own_kernel, own_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), next = (me + 1) % shmemd_n_pes(&p.ctx), i;
	uint64_t own[2 * N_OWN], back[2 * N_OWN];

	for (i = 0; i < 2 * N_OWN; i++) {
		own[i] = (uint64_t)(100 * me + i);
		back[i] = 7;
	}
	shmemd_iputmem(&p.ctx, p.there, own, 4, 2, sizeof(*own), N_OWN, next);
	for (i = 0; i < 2 * N_OWN; i++)
		own[i] = 0; /* reusable */
	scope_report(p.status, 0, shmemd_quiet(&p.ctx));
	scope_report(p.status, 1,
		     shmemd_igetmem(&p.ctx, back, p.there, 2, 4, sizeof(*own), N_OWN, next));
	for (i = 0; i < N_OWN; i++) {
		scope_report(p.status, 2,
			     back[2 * i] == (uint64_t)(100 * me + 2 * i) ? 0 : WRONG_VALUE);
		scope_report(p.status, 3, back[2 * i + 1] == 7 ? 0 : WRONG_VALUE);
	}
	scope_report(p.status, 4,
		     is_refused(shmemd_igetmem(&p.ctx, back, p.there, 0, 1, 8, 2, next)));
	scope_report(p.status, 5,
		     is_refused(shmemd_igetmem(&p.ctx, back, p.there, 1, -1, 8, 2, next)));
	scope_report(p.status, 6, shmemd_quiet(&p.ctx));
}

SHMEMD_KERNEL(refused_kernel, own_params_t, p)
{
	int next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);

	shmemd_iputmem(&p.ctx, p.there, p.there + 1, shmemd_block_index() ? -1 : 1,
		       shmemd_block_index() ? 1 : 0, 8, 1, next);
	scope_report(p.status, 0, is_refused(shmemd_quiet(&p.ctx)));
}

static int own_memory(pes_t *pes)
{
	shmemd_error_t err;
	own_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.there, uint64_t, 4 * N_OWN, GUARD);
	PES_RUN(pes, own_kernel, 1, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, &err), SHMEMD_ERR_BAD_ARGUMENT);
	PES_EQ(pes, err.op, SHMEMD_OP_GET);
	PES_EQ(pes, err.addr, SHMEMD_MISTAKE_STRIDE);
	PES_EQ(pes, err.value, 0);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_RUN(pes, refused_kernel, 2, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, &err), SHMEMD_ERR_BAD_ARGUMENT);
	PES_EQ(pes, err.op, SHMEMD_OP_PUT);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

/* Each type and size: iput to the next PE, and iget of the same elements. */
#define NELEMS 4
#define LINE_NBYTES 256

typedef struct names_params {
	shmemd_ctx_t ctx;
	char *dst; /* [names][LINE_NBYTES] at the next PE */
	char *src; /* [names][LINE_NBYTES] */
	char *got; /* [names][LINE_NBYTES] */
	uint64_t *sig;
	int *status;
} names_params_t;

enum {
#define X_(N, T, B, K, C, S) ROW_##N,
	SHMEMD_RMA_TYPES(X_, )
#undef X_
		ROW_8,
	ROW_16,
	ROW_32,
	ROW_64,
	ROW_128,
	N_ROWS
};

#define SCOPE_OF(row) ((row) % SCOPE_COUNT)

/* iput with strides 2 and 1, and iget with strides 1 and 2. */
#define STRIDED_NAMES(row, N, T, IPUT_, IGET_)                                                     \
	SCOPE_STEP void iput_##N(const names_params_t *p, int to)                                  \
	{                                                                                          \
		const int scope = SCOPE_OF(row);                                                   \
		if (scope_has(scope))                                                              \
			SCOPED(scope, IPUT_, &p->ctx, (T *)(p->dst + (row)*LINE_NBYTES),           \
			       (T *)(p->src + (row)*LINE_NBYTES), 2, 1, NELEMS, to);               \
	}                                                                                          \
	SCOPE_STEP void iget_##N(const names_params_t *p, int from)                                \
	{                                                                                          \
		const int scope = SCOPE_OF(row);                                                   \
		int status = 0;                                                                    \
		if (scope_has(scope))                                                              \
			SCOPED_INT(status, scope, IGET_, &p->ctx,                                  \
				   (T *)(p->got + (row)*LINE_NBYTES),                              \
				   (const T *)(p->dst + (row)*LINE_NBYTES), 1, 2, NELEMS, from);   \
		scope_report(p->status, 0, status);                                                \
	}

#define X_(N, T, B, K, C, S) STRIDED_NAMES(ROW_##N, N, T, shmemd_##N##_iput, shmemd_##N##_iget)
SHMEMD_RMA_TYPES(X_, )
#undef X_
#define SIZES(X) X(8) X(16) X(32) X(64) X(128)
#define X_(B) STRIDED_NAMES(ROW_##B, B, void, shmemd_iput##B, shmemd_iget##B)
SIZES(X_)
#undef X_

SHMEMD_KERNEL(names_kernel, names_params_t, p)
{
	int next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);

#define X_(N, T, B, K, C, S) iput_##N(&p, next);
	SHMEMD_RMA_TYPES(X_, )
#undef X_
#define X_(B) iput_##B(&p, next);
	SIZES(X_)
#undef X_
	scope_report(p.status, 1, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
#define X_(N, T, B, K, C, S) iget_##N(&p, next);
	SHMEMD_RMA_TYPES(X_, )
#undef X_
#define X_(B) iget_##B(&p, next);
	SIZES(X_)
#undef X_
	scope_report(p.status, 2, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
}

static const size_t widths[N_ROWS] = {
#define X_(N, T, B, K, C, S) sizeof(T),
	SHMEMD_RMA_TYPES(X_, )
#undef X_
		1,
	2, 4, 8, 16};

static int names_params(pes_t *pes, names_params_t *p, unsigned char *src)
{
	size_t i;

	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	p->status = pes->status;
	PES_ALLOC(pes, p->dst, char, N_ROWS *LINE_NBYTES, GUARD);
	PES_ALLOC(pes, p->src, char, N_ROWS *LINE_NBYTES, 0);
	PES_ALLOC(pes, p->got, char, N_ROWS *LINE_NBYTES, GUARD);
	PES_ALLOC(pes, p->sig, uint64_t, 1, 0);
	for (i = 0; i < N_ROWS * LINE_NBYTES; i++)
		src[i] = pes_pattern(0, i); /* the same on all PEs */
	PES_TRY(pes, run_copy(p->src, src, N_ROWS * LINE_NBYTES));
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

static int names(pes_t *pes)
{
	unsigned char src[N_ROWS * LINE_NBYTES], dst[N_ROWS * LINE_NBYTES];
	unsigned char got[N_ROWS * LINE_NBYTES];
	names_params_t p;
	void *there, *here;
	size_t row, i;

	if (names_params(pes, &p, src))
		return 1;
	PES_RUN(pes, names_kernel, 1, SCOPE_NTHREADS, p);
	memset(dst, GUARD, sizeof(dst));
	memset(got, GUARD, sizeof(got));
	for (row = 0; row < N_ROWS; row++) {
		size_t at = row * LINE_NBYTES, w = widths[row];

		memcpy(got + at, src + at, NELEMS * w);
		for (i = 0; i < NELEMS; i++)
			memcpy(dst + at + 2 * i * w, src + at + i * w, w);
	}
	there = pes_read(pes, p.dst, sizeof(dst));
	here = pes_read(pes, p.got, sizeof(got));
	if (there == NULL || here == NULL)
		return 1;
	pes_bytes(pes, there, dst, sizeof(dst), "iput", __FILE__, __LINE__);
	pes_bytes(pes, here, got, sizeof(got), "iget", __FILE__, __LINE__);
	return 0;
}

/* The other names by size: four transfers of NELEMS elements in each line, one behind the other. */
#define X_(B)                                                                                      \
	SCOPE_STEP void send_##B(const names_params_t *p, int to)                                  \
	{                                                                                          \
		const int scope = SCOPE_OF(ROW_##B), n = NELEMS * (B) / 8;                         \
		char *dst = p->dst + ROW_##B * LINE_NBYTES, *src = p->src + ROW_##B * LINE_NBYTES; \
		if (!scope_has(scope))                                                             \
			return;                                                                    \
		SCOPED(scope, shmemd_put##B, &p->ctx, dst, src, NELEMS, to);                       \
		SCOPED(scope, shmemd_put##B##_nbi, &p->ctx, dst + n, src + n, 1, to);              \
		SCOPED(scope, shmemd_put##B##_signal, &p->ctx, dst + 2 * n, src + 2 * n, 1,        \
		       p->sig, 1, SHMEMD_SIGNAL_ADD, to);                                          \
		SCOPED(scope, shmemd_put##B##_signal_nbi, &p->ctx, dst + 3 * n, src + 3 * n, 1,    \
		       p->sig, 1, SHMEMD_SIGNAL_ADD, to);                                          \
	}                                                                                          \
	SCOPE_STEP void fetch_##B(const names_params_t *p, int from)                               \
	{                                                                                          \
		const int scope = SCOPE_OF(ROW_##B), n = NELEMS * (B) / 8;                         \
		char *dst = p->dst + ROW_##B * LINE_NBYTES, *got = p->got + ROW_##B * LINE_NBYTES; \
		int status = 0;                                                                    \
		if (!scope_has(scope))                                                             \
			return;                                                                    \
		SCOPED_INT(status, scope, shmemd_get##B, &p->ctx, got, dst, NELEMS, from);         \
		SCOPED(scope, shmemd_get##B##_nbi, &p->ctx, got + n, dst + n, 1, from);            \
		scope_report(p->status, 0, status);                                                \
	}
SIZES(X_)
#undef X_

SHMEMD_KERNEL(sizes_kernel, names_params_t, p)
{
	int next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);

#define X_(B) send_##B(&p, next);
	SIZES(X_)
#undef X_
	scope_report(p.status, 1, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
#define X_(B) fetch_##B(&p, next);
	SIZES(X_)
#undef X_
	scope_report(p.status, 2, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
}

static int sizes(pes_t *pes)
{
	unsigned char src[N_ROWS * LINE_NBYTES], want[N_ROWS * LINE_NBYTES];
	names_params_t p;
	void *got, *sig;
	size_t row, part;

	if (names_params(pes, &p, src))
		return 1;
	PES_RUN(pes, sizes_kernel, 1, SCOPE_NTHREADS, p);
	for (part = 0; part < 2; part++) {
		memset(want, GUARD, sizeof(want));
		for (row = ROW_8; row < N_ROWS; row++) {
			size_t at = row * LINE_NBYTES, w = widths[row], i;

			memcpy(want + at, src + at, NELEMS * w);
			for (i = 1; i < (part ? 2 : 4); i++)
				memcpy(want + at + i * NELEMS * w, src + at + i * NELEMS * w, w);
		}
		got = pes_read(pes, part ? p.got : p.dst, sizeof(want));
		if (got != NULL)
			pes_bytes(pes, got, want, sizeof(want), part ? "get" : "put", __FILE__,
				  __LINE__);
	}
	sig = pes_read(pes, p.sig, sizeof(uint64_t));
	if (sig != NULL)
		PES_EQ(pes, *(uint64_t *)sig, 2 * (N_ROWS - ROW_8));
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(iput),  PES_TEST(iget),  PES_TEST(own_memory),
		PES_TEST(names), PES_TEST(sizes),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
