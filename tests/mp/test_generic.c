/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* generic.h: each name calls the function of the type of its elements. On a CPU these are the
 * macros of C, on a GPU the overloads of CUDA. The typed functions have tests of their own. */
#include <shmem_dev/generic.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define NELEMS 4
#define LINE_NBYTES 512
#define PART_NBYTES 64 /* of a line: what one operation moves */

typedef struct generic_params {
	shmemd_ctx_t ctx;
	char *dst; /* [types][LINE_NBYTES] at the next PE */
	char *src; /* [types][LINE_NBYTES] */
	char *got; /* [types][LINE_NBYTES] */
	uint64_t *sig;
	int *status;
} generic_params_t;

/* The types of C, as typed.h names them. */
#define WAIT_TYPES(X)                                                                              \
	X(int, int)                                                                                \
	X(uint, unsigned int)                                                                      \
	X(long, long)                                                                              \
	X(ulong, unsigned long)                                                                    \
	X(longlong, long long)                                                                     \
	X(ulonglong, unsigned long long)
#define FLOAT_TYPES(X) X(float, float) X(double, double)
#define ALL_TYPES(X)                                                                               \
	WAIT_TYPES(X)                                                                              \
	FLOAT_TYPES(X)                                                                             \
	X(char, char)                                                                              \
	X(schar, signed char)                                                                      \
	X(uchar, unsigned char)                                                                    \
	X(short, short)                                                                            \
	X(ushort, unsigned short)
#define BITWISE_TYPES(X)                                                                           \
	X(int, int)                                                                                \
	X(uint, unsigned int)                                                                      \
	X(long, long)                                                                              \
	X(ulong, unsigned long)                                                                    \
	X(ulonglong, unsigned long long)

enum {
#define X_(N, T) ROW_##N,
	ALL_TYPES(X_) N_ROWS
#undef X_
};

#define SCOPE_OF(row) ((row) % SCOPE_COUNT)
#define PART(base, row, part) ((base) + (row)*LINE_NBYTES + (part)*PART_NBYTES)

/* Part 0 by put, 1 by put_nbi, 2 by put_signal, 3 by put_signal_nbi, 4 by iput, 6 by p. */
#define X_(N, T)                                                                                   \
	SCOPE_STEP void send_##N(const generic_params_t *p, int to)                                \
	{                                                                                          \
		const int scope = SCOPE_OF(ROW_##N), row = ROW_##N;                                \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		T *to0 = (T *)PART(p->dst, row, 0), *to1 = (T *)PART(p->dst, row, 1);              \
		T *to2 = (T *)PART(p->dst, row, 2), *to3 = (T *)PART(p->dst, row, 3);              \
		T *to4 = (T *)PART(p->dst, row, 4), *to6 = (T *)PART(p->dst, row, 6);              \
		const T *from = (const T *)PART(p->src, row, 0);                                   \
		if (!scope_has(scope))                                                             \
			return;                                                                    \
		SCOPED(scope, shmemd_put, ctx, to0, from, NELEMS, to);                             \
		SCOPED(scope, shmemd_put_nbi, ctx, to1, from, NELEMS, to);                         \
		SCOPED(scope, shmemd_put_signal, ctx, to2, from, NELEMS, p->sig, 1,                \
		       SHMEMD_SIGNAL_ADD, to);                                                     \
		SCOPED(scope, shmemd_put_signal_nbi, ctx, to3, from, NELEMS, p->sig, 1,            \
		       SHMEMD_SIGNAL_ADD, to);                                                     \
		SCOPED(scope, shmemd_iput, ctx, to4, from, 2, 1, NELEMS, to);                      \
		if (scope_group(scope).rank == 0)                                                  \
			shmemd_p(ctx, to6, 1, to);                                                 \
	}
ALL_TYPES(X_)
#undef X_

/* The same elements, part 0 by get, 1 by get_nbi, 4 by iget, 6 by g. */
#define X_(N, T)                                                                                   \
	SCOPE_STEP void fetch_##N(const generic_params_t *p, int from)                             \
	{                                                                                          \
		const int scope = SCOPE_OF(ROW_##N), row = ROW_##N;                                \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		const T *from0 = (const T *)PART(p->dst, row, 0);                                  \
		const T *from4 = (const T *)PART(p->dst, row, 4);                                  \
		const T *from6 = (const T *)PART(p->dst, row, 6);                                  \
		T *got0 = (T *)PART(p->got, row, 0), *got1 = (T *)PART(p->got, row, 1);            \
		T *got4 = (T *)PART(p->got, row, 4), one = 0;                                      \
		int status = 0;                                                                    \
		if (!scope_has(scope))                                                             \
			return;                                                                    \
		SCOPED_INT(status, scope, shmemd_get, ctx, got0, from0, NELEMS, from);             \
		scope_report(p->status, 0, status);                                                \
		SCOPED(scope, shmemd_get_nbi, ctx, got1, from0, NELEMS, from);                     \
		SCOPED_INT(status, scope, shmemd_iget, ctx, got4, from4, 1, 2, NELEMS, from);      \
		scope_report(p->status, 1, status);                                                \
		if (scope_group(scope).rank != 0)                                                  \
			return;                                                                    \
		scope_report(p->status, 2, shmemd_g(ctx, &one, from6, from));                      \
		scope_report(p->status, 3, one == 1 ? 0 : WRONG_VALUE);                            \
	}
ALL_TYPES(X_)
#undef X_

SHMEMD_KERNEL(rma_kernel, generic_params_t, p)
{
	int next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);

#define X_(N, T) send_##N(&p, next);
	ALL_TYPES(X_)
#undef X_
	scope_report(p.status, 4, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
#define X_(N, T) fetch_##N(&p, next);
	ALL_TYPES(X_)
#undef X_
	scope_report(p.status, 5, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
}

/* What dst and got hold of one type: elements of w bytes, of which `one` is the value 1. */
static void expect_line(unsigned char *dst, unsigned char *got, const unsigned char *src,
			const void *one, size_t w)
{
	size_t part, i;

	for (part = 0; part < 4; part++)
		memcpy(dst + part * PART_NBYTES, src, NELEMS * w);
	for (i = 0; i < NELEMS; i++)
		memcpy(dst + 4 * PART_NBYTES + 2 * i * w, src + i * w, w);
	memcpy(dst + 6 * PART_NBYTES, one, w);
	for (part = 0; part < 5; part += part ? 3 : 1)
		memcpy(got + part * PART_NBYTES, src, NELEMS * w);
}

static int every_type(pes_t *pes)
{
	static unsigned char src[N_ROWS * LINE_NBYTES];
	unsigned char dst[N_ROWS * LINE_NBYTES], got[N_ROWS * LINE_NBYTES];
	generic_params_t p;
	void *there, *here;
	size_t i;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.dst, char, sizeof(dst), 0x77);
	PES_ALLOC(pes, p.src, char, sizeof(src), 0);
	PES_ALLOC(pes, p.got, char, sizeof(got), 0x77);
	PES_ALLOC(pes, p.sig, uint64_t, 1, 0);
	for (i = 0; i < sizeof(src); i++)
		src[i] = pes_pattern(0, i); /* the same on all PEs */
	PES_TRY(pes, run_copy(p.src, src, sizeof(src)));
	memset(dst, 0x77, sizeof(dst));
	memset(got, 0x77, sizeof(got));
#define X_(N, T)                                                                                   \
	{                                                                                          \
		T one = 1;                                                                         \
		expect_line(dst + ROW_##N * LINE_NBYTES, got + ROW_##N * LINE_NBYTES,              \
			    src + ROW_##N * LINE_NBYTES, &one, sizeof(one));                       \
	}
	ALL_TYPES(X_)
#undef X_
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, rma_kernel, 1, SCOPE_NTHREADS, p);
	there = pes_read(pes, p.dst, sizeof(dst));
	here = pes_read(pes, p.got, sizeof(got));
	if (there == NULL || here == NULL)
		return 1;
	pes_bytes(pes, there, dst, sizeof(dst), "put", __FILE__, __LINE__);
	pes_bytes(pes, here, got, sizeof(got), "get", __FILE__, __LINE__);
	return 0;
}

SCOPE_STEP void holds(const generic_params_t *p, int slot, int ok)
{
	scope_report(p->status, slot, ok ? 0 : WRONG_VALUE);
}

/* Waits and tests: -1 is less than 0 exactly for signed types. The second of two words is -1. */
#define X_(N, T)                                                                                   \
	SCOPE_STEP void wait_##N(const generic_params_t *p)                                        \
	{                                                                                          \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		int me = shmemd_my_pe(ctx), is_signed = (T)-1 < (T)1;                              \
		T *words = (T *)p->dst, values[2];                                                 \
		const T *ivars = words;                                                            \
		size_t index = 77, count = 77, indices[2];                                         \
		values[0] = values[1] = (T)-1;                                                     \
		shmemd_p(ctx, words, 0, me);                                                       \
		shmemd_p(ctx, words + 1, (T)-1, me);                                               \
		scope_report(p->status, 0, shmemd_quiet(ctx));                                     \
		holds(p, 1, shmemd_test(ctx, ivars + 1, SHMEMD_CMP_LT, 0) == is_signed);           \
		scope_report(p->status, 2, shmemd_wait_until(ctx, ivars, SHMEMD_CMP_EQ, 0));       \
		holds(p, 3,                                                                        \
		      shmemd_wait_until_for(ctx, ivars, SHMEMD_CMP_LT, 0, 0) ==                    \
			      SHMEMD_ERR_TIMEOUT);                                                 \
		holds(p, 4, shmemd_test_all(ctx, ivars, 2, 0, SHMEMD_CMP_LE, 0) == is_signed);     \
		holds(p, 5, shmemd_test_all_vector(ctx, ivars, 2, 0, SHMEMD_CMP_EQ, values) == 0); \
		holds(p, 6, shmemd_test_any(ctx, ivars, 2, 0, SHMEMD_CMP_EQ, (T)-1) == 1);         \
		holds(p, 7, shmemd_test_any_vector(ctx, ivars, 2, 0, SHMEMD_CMP_EQ, values) == 1); \
		holds(p, 8,                                                                        \
		      shmemd_test_some(ctx, ivars, 2, indices, 0, SHMEMD_CMP_GE, 0) ==             \
			      (is_signed ? 1 : 2));                                                \
		holds(p, 9,                                                                        \
		      shmemd_test_some_vector(ctx, ivars, 2, indices, 0, SHMEMD_CMP_EQ, values) == \
			      1);                                                                  \
		scope_report(p->status, 10,                                                        \
			     shmemd_wait_until_all(ctx, ivars, 2, 0, SHMEMD_CMP_NE, 1));           \
		scope_report(                                                                      \
			p->status, 11,                                                             \
			shmemd_wait_until_any(ctx, &index, ivars, 2, 0, SHMEMD_CMP_EQ, (T)-1));    \
		scope_report(p->status, 12,                                                        \
			     shmemd_wait_until_some(ctx, &count, ivars, 2, indices, 0,             \
						    SHMEMD_CMP_EQ, (T)-1));                        \
		holds(p, 13, index == 1 && count == 1 && indices[0] == 1);                         \
	}                                                                                          \
	SCOPE_STEP void vector_##N(const generic_params_t *p)                                      \
	{                                                                                          \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		const T *ivars = (const T *)p->dst;                                                \
		T values[2] = {0, (T)-1};                                                          \
		size_t index = 77, count = 77, indices[2];                                         \
		int status =                                                                       \
			shmemd_wait_until_all_vector(ctx, ivars, 2, 0, SHMEMD_CMP_EQ, values);     \
		status += shmemd_wait_until_any_vector(ctx, &index, ivars, 2, 0, SHMEMD_CMP_EQ,    \
						       values);                                    \
		status += shmemd_wait_until_some_vector(ctx, &count, ivars, 2, indices, 0,         \
							SHMEMD_CMP_EQ, values);                    \
		status += shmemd_wait_until_all_for(ctx, ivars, 2, 0, SHMEMD_CMP_NE, 1, 0);        \
		status +=                                                                          \
			shmemd_wait_until_any_for(ctx, &index, ivars, 2, 0, SHMEMD_CMP_NE, 1, 0);  \
		status += shmemd_wait_until_some_for(ctx, &count, ivars, 2, indices, 0,            \
						     SHMEMD_CMP_NE, 1, 0);                         \
		status += shmemd_wait_until_all_vector_for(ctx, ivars, 2, 0, SHMEMD_CMP_EQ,        \
							   values, 0);                             \
		status += shmemd_wait_until_any_vector_for(ctx, &index, ivars, 2, 0,               \
							   SHMEMD_CMP_EQ, values, 0);              \
		status += shmemd_wait_until_some_vector_for(ctx, &count, ivars, 2, indices, 0,     \
							    SHMEMD_CMP_EQ, values, 0);             \
		scope_report(p->status, 14, status);                                               \
		holds(p, 15, index < 2 && count == 2);                                             \
	}                                                                                          \
	SCOPE_STEP void amo_##N(const generic_params_t *p)                                         \
	{                                                                                          \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		int me = shmemd_my_pe(ctx), status = 0;                                            \
		T *word = (T *)p->dst, old = 0;                                                    \
		shmemd_atomic_set(ctx, word, 10, me);                                              \
		shmemd_atomic_add(ctx, word, (T)-3, me);                                           \
		shmemd_atomic_inc(ctx, word, me);                                                  \
		status += shmemd_atomic_fetch(ctx, &old, (const T *)word, me);                     \
		holds(p, 16, old == 8);                                                            \
		status += shmemd_atomic_fetch_inc(ctx, &old, word, me);                            \
		status += shmemd_atomic_fetch_add(ctx, &old, word, (T)-10, me);                    \
		holds(p, 17, old == 9);                                                            \
		status += shmemd_atomic_swap(ctx, &old, word, 5, me);                              \
		holds(p, 18, old == (T)-1);                                                        \
		status += shmemd_atomic_compare_swap(ctx, &old, word, 5, 6, me);                   \
		status += shmemd_atomic_fetch(ctx, &old, (const T *)word, me);                     \
		holds(p, 19, old == 6);                                                            \
		scope_report(p->status, 20, status);                                               \
	}
WAIT_TYPES(X_)
#undef X_

#define X_(N, T)                                                                                   \
	SCOPE_STEP void bits_##N(const generic_params_t *p)                                        \
	{                                                                                          \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		int me = shmemd_my_pe(ctx), status = 0;                                            \
		T *word = (T *)p->dst, old = 0;                                                    \
		shmemd_atomic_set(ctx, word, 12, me);                                              \
		shmemd_atomic_and(ctx, word, 10, me);                                              \
		shmemd_atomic_or(ctx, word, 3, me);                                                \
		shmemd_atomic_xor(ctx, word, 1, me);                                               \
		status += shmemd_atomic_fetch_and(ctx, &old, word, 2, me);                         \
		holds(p, 21, old == 10);                                                           \
		status += shmemd_atomic_fetch_or(ctx, &old, word, 9, me);                          \
		holds(p, 22, old == 2);                                                            \
		status += shmemd_atomic_fetch_xor(ctx, &old, word, 1, me);                         \
		holds(p, 23, old == 11);                                                           \
		scope_report(p->status, 24, status);                                               \
	}
BITWISE_TYPES(X_)
#undef X_

#define X_(N, T)                                                                                   \
	SCOPE_STEP void float_##N(const generic_params_t *p)                                       \
	{                                                                                          \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		int me = shmemd_my_pe(ctx), status = 0;                                            \
		T *word = (T *)p->dst, old = 0;                                                    \
		shmemd_atomic_set(ctx, word, (T)-1.5, me);                                         \
		status += shmemd_atomic_add(ctx, word, 4, me);                                     \
		status += shmemd_atomic_fetch_add(ctx, &old, word, (T)0.25, me);                   \
		holds(p, 25, old == (T)2.5);                                                       \
		status += shmemd_atomic_swap(ctx, &old, word, 7, me);                              \
		holds(p, 26, old == (T)2.75);                                                      \
		status += shmemd_atomic_fetch(ctx, &old, (const T *)word, me);                     \
		holds(p, 27, old == 7);                                                            \
		scope_report(p->status, 28, status);                                               \
	}
FLOAT_TYPES(X_)
#undef X_

SHMEMD_KERNEL(words_kernel, generic_params_t, p)
{
#define X_(N, T)                                                                                   \
	wait_##N(&p);                                                                              \
	vector_##N(&p);                                                                            \
	amo_##N(&p);
	WAIT_TYPES(X_)
#undef X_
#define X_(N, T) bits_##N(&p);
	BITWISE_TYPES(X_)
#undef X_
#define X_(N, T) float_##N(&p);
	FLOAT_TYPES(X_)
#undef X_
}

static int words(pes_t *pes)
{
	generic_params_t p;

	if (pes->seed > 1)
		return 0; /* one thread of one PE alone */
	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.dst, char, LINE_NBYTES, 0);
	PES_RUN(pes, words_kernel, 1, 1, p);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(every_type),
		PES_TEST(words),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
