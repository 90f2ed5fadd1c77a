/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* typed.h: each family of names calls the byte or word form with the right width, sign and count.
 * test_rma, test_signal, test_wait and test_amo test the forms themselves. */
#include <shmem_dev/typed.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define NELEMS 5 /* one element more on each side is a guard */
#define LINE_NBYTES 64

typedef struct typed_params {
	shmemd_ctx_t ctx;
	char *dst; /* [types][LINE_NBYTES] at the next PE */
	char *src; /* [types][LINE_NBYTES] */
	char *got; /* [types][LINE_NBYTES] */
	uint64_t *sig;
	int *status;
} typed_params_t;

/* Each type in one scope and with one of the operations: together all pairs, with a tenth of the
 * compile time of all triples. */
#define SCOPE_OF(row) ((row) % SCOPE_COUNT)

/* Each row of the RMA list. Arithmetic in the type itself: negative values for signed types. */
#define VALUE(T, row, i) ((T)((T)((i) + 1) * (T)7 - (T)((row) + 20)))

enum {
#define X_(N, T, B, K, C, S) ROW_##N,
	SHMEMD_RMA_TYPES(X_, ) N_ROWS
#undef X_
};

/* put or put_nbi or put_signal of NELEMS - 1 elements, and p of the last one, to the next PE. */
#define X_(N, T, B, K, C, S)                                                                       \
	SCOPE_STEP void send_##N(const typed_params_t *p, int to)                                  \
	{                                                                                          \
		const int scope = SCOPE_OF(ROW_##N);                                               \
		shmemd_group_t g = scope_group(scope);                                             \
		T *src = (T *)(p->src + ROW_##N * LINE_NBYTES);                                    \
		T *dst = (T *)(p->dst + ROW_##N * LINE_NBYTES) + 1;                                \
		uint32_t i;                                                                        \
		if (!scope_has(scope))                                                             \
			return;                                                                    \
		for (i = g.rank; i < NELEMS; i += g.size)                                          \
			src[i] = VALUE(T, ROW_##N, i);                                             \
		shmemd_group_sync(g);                                                              \
		if (ROW_##N % 3 == 0)                                                              \
			SCOPED(scope, shmemd_##N##_put, &p->ctx, dst, src, NELEMS - 1, to);        \
		else if (ROW_##N % 3 == 1)                                                         \
			SCOPED(scope, shmemd_##N##_put_nbi, &p->ctx, dst, src, NELEMS - 1, to);    \
		else                                                                               \
			SCOPED(scope, shmemd_##N##_put_signal, &p->ctx, dst, src, NELEMS - 1,      \
			       p->sig, 1, SHMEMD_SIGNAL_ADD, to);                                  \
		if (g.rank == 0)                                                                   \
			shmemd_##N##_p(&p->ctx, dst + NELEMS - 1, VALUE(T, ROW_##N, NELEMS - 1),   \
				       to);                                                        \
	}
SHMEMD_RMA_TYPES(X_, )
#undef X_

/* get or get_nbi of the same elements, and g of the first. */
#define X_(N, T, B, K, C, S)                                                                       \
	SCOPE_STEP void fetch_##N(const typed_params_t *p, int from)                               \
	{                                                                                          \
		const int scope = SCOPE_OF(ROW_##N);                                               \
		T *got = (T *)(p->got + ROW_##N * LINE_NBYTES) + 1;                                \
		const T *src = (const T *)(p->dst + ROW_##N * LINE_NBYTES) + 1;                    \
		int status = 0;                                                                    \
		T one = 0;                                                                         \
		if (!scope_has(scope))                                                             \
			return;                                                                    \
		if (ROW_##N / SCOPE_COUNT % 2)                                                     \
			SCOPED(scope, shmemd_##N##_get_nbi, &p->ctx, got, src, NELEMS, from);      \
		else                                                                               \
			SCOPED_INT(status, scope, shmemd_##N##_get, &p->ctx, got, src, NELEMS,     \
				   from);                                                          \
		scope_report(p->status, 0, status);                                                \
		if (scope_group(scope).rank != 0)                                                  \
			return;                                                                    \
		scope_report(p->status, 1, shmemd_##N##_g(&p->ctx, &one, src, from));              \
		scope_report(p->status, 2, one == VALUE(T, ROW_##N, 0) ? 0 : WRONG_VALUE);         \
	}
SHMEMD_RMA_TYPES(X_, )
#undef X_

SHMEMD_KERNEL(rma_kernel, typed_params_t, p)
{
	int next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);

#define X_(N, T, B, K, C, S) send_##N(&p, next);
	SHMEMD_RMA_TYPES(X_, )
#undef X_
	scope_report(p.status, 3, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
#define X_(N, T, B, K, C, S) fetch_##N(&p, next);
	SHMEMD_RMA_TYPES(X_, )
#undef X_
	scope_report(p.status, 3, shmemd_barrier_for_block(&p.ctx, PES_LIMIT_NS));
}

/* One line per type: guard, elements, guard. */
static void expect_lines(unsigned char *want)
{
	int i;

	memset(want, 0x77, N_ROWS * LINE_NBYTES);
#define X_(N, T, B, K, C, S)                                                                       \
	for (i = 0; i < NELEMS; i++) {                                                             \
		T value = VALUE(T, ROW_##N, i);                                                    \
		memcpy(want + ROW_##N * LINE_NBYTES + (size_t)(i + 1) * sizeof(T), &value,         \
		       sizeof(T));                                                                 \
	}
	SHMEMD_RMA_TYPES(X_, )
#undef X_
}

static int every_rma_type(pes_t *pes)
{
	unsigned char want[N_ROWS * LINE_NBYTES];
	typed_params_t p;
	void *dst, *got;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	expect_lines(want);
	PES_ALLOC(pes, p.dst, char, N_ROWS *LINE_NBYTES, 0x77);
	PES_ALLOC(pes, p.src, char, N_ROWS *LINE_NBYTES, 0);
	PES_ALLOC(pes, p.got, char, N_ROWS *LINE_NBYTES, 0x77);
	PES_ALLOC(pes, p.sig, uint64_t, 1, 0);
	PES_RUN(pes, rma_kernel, 1, SCOPE_NTHREADS, p);
	dst = pes_read(pes, p.dst, sizeof(want));
	got = pes_read(pes, p.got, sizeof(want));
	if (dst == NULL || got == NULL)
		return 1;
	pes_bytes(pes, dst, want, sizeof(want), "put", __FILE__, __LINE__);
	pes_bytes(pes, got, want, sizeof(want), "get", __FILE__, __LINE__);
	return 0;
}

/* Waits and tests: -1 is less than 0 exactly for signed types. */
#define X_(N, T, B, K, C, S)                                                                       \
	SCOPE_STEP void wait_##N(const typed_params_t *p)                                          \
	{                                                                                          \
		int me = shmemd_my_pe(&p->ctx), is_signed = (T)-1 < (T)1;                          \
		T *word = (T *)p->dst;                                                             \
		shmemd_##N##_p(&p->ctx, word, (T)-1, me);                                          \
		scope_report(p->status, 6, shmemd_quiet(&p->ctx));                                 \
		scope_report(p->status, 0,                                                         \
			     shmemd_##N##_test(&p->ctx, word, SHMEMD_CMP_LT, 0) == is_signed       \
				     ? 0                                                           \
				     : WRONG_VALUE);                                               \
		scope_report(p->status, 1,                                                         \
			     shmemd_##N##_wait_until(&p->ctx, word, SHMEMD_CMP_EQ, (T)-1));        \
		scope_report(p->status, 2,                                                         \
			     shmemd_##N##_wait_until_for(&p->ctx, word, SHMEMD_CMP_GE, 0, 1000) == \
					     (is_signed ? SHMEMD_ERR_TIMEOUT : SHMEMD_OK)          \
				     ? 0                                                           \
				     : WRONG_VALUE);                                               \
	}
SHMEMD_STANDARD_TYPES(X_, )
#undef X_

/* Integer atomics by one thread: results and fetched values. old: the previous value of the word.
 */
#define FETCHED(call, value) (scope_report(p->status, 3, call), scope_same(p->status, old == value))

SCOPE_STEP void scope_same(int *status, int is_same)
{
	scope_report(status, 4, is_same ? 0 : WRONG_VALUE);
}

#define X_(N, T, B, K, C, S)                                                                       \
	SCOPE_STEP void amo_##N(const typed_params_t *p)                                           \
	{                                                                                          \
		int me = shmemd_my_pe(&p->ctx);                                                    \
		T *word = (T *)p->dst, old = 0;                                                    \
		shmemd_##N##_atomic_set(&p->ctx, word, 10, me);                                    \
		shmemd_##N##_atomic_add(&p->ctx, word, (T)-3, me);                                 \
		shmemd_##N##_atomic_inc(&p->ctx, word, me);                                        \
		FETCHED(shmemd_##N##_atomic_fetch(&p->ctx, &old, word, me), 8);                    \
		FETCHED(shmemd_##N##_atomic_fetch_inc(&p->ctx, &old, word, me), 8);                \
		FETCHED(shmemd_##N##_atomic_fetch_add(&p->ctx, &old, word, (T)-10, me), 9);        \
		FETCHED(shmemd_##N##_atomic_swap(&p->ctx, &old, word, 5, me), (T)-1);              \
		FETCHED(shmemd_##N##_atomic_compare_swap(&p->ctx, &old, word, 4, 6, me), 5);       \
		FETCHED(shmemd_##N##_atomic_compare_swap(&p->ctx, &old, word, 5, 6, me), 5);       \
		FETCHED(shmemd_##N##_atomic_fetch(&p->ctx, &old, word, me), 6);                    \
	}
SHMEMD_STANDARD_TYPES(X_, )
#undef X_

#define X_(N, T, B, K, C, S)                                                                       \
	SCOPE_STEP void bits_##N(const typed_params_t *p)                                          \
	{                                                                                          \
		int me = shmemd_my_pe(&p->ctx);                                                    \
		T *word = (T *)p->dst, old = 0;                                                    \
		shmemd_##N##_atomic_set(&p->ctx, word, 12, me);                                    \
		shmemd_##N##_atomic_and(&p->ctx, word, 10, me);                                    \
		shmemd_##N##_atomic_or(&p->ctx, word, 3, me);                                      \
		shmemd_##N##_atomic_xor(&p->ctx, word, 1, me);                                     \
		FETCHED(shmemd_##N##_atomic_fetch_and(&p->ctx, &old, word, 2, me), 10);            \
		FETCHED(shmemd_##N##_atomic_fetch_or(&p->ctx, &old, word, 9, me), 2);              \
		FETCHED(shmemd_##N##_atomic_fetch_xor(&p->ctx, &old, word, 1, me), 11);            \
		FETCHED(shmemd_##N##_atomic_fetch(&p->ctx, &old, word, me), 10);                   \
	}
SHMEMD_BITWISE_TYPES(X_, )
#undef X_

#define X_(N, T, B, K, C, S)                                                                       \
	SCOPE_STEP void float_##N(const typed_params_t *p)                                         \
	{                                                                                          \
		int me = shmemd_my_pe(&p->ctx);                                                    \
		T *word = (T *)p->dst, old = 0;                                                    \
		shmemd_##N##_atomic_set(&p->ctx, word, (T)-1.5, me);                               \
		scope_report(p->status, 5, shmemd_##N##_atomic_add(&p->ctx, word, 4, me));         \
		FETCHED(shmemd_##N##_atomic_fetch_add(&p->ctx, &old, word, (T)0.25, me), (T)2.5);  \
		FETCHED(shmemd_##N##_atomic_swap(&p->ctx, &old, word, 7, me), (T)2.75);            \
		FETCHED(shmemd_##N##_atomic_fetch(&p->ctx, &old, word, me), 7);                    \
	}
SHMEMD_FLOAT_TYPES(X_, )
#undef X_

SHMEMD_KERNEL(words_kernel, typed_params_t, p)
{
#define X_(N, T, B, K, C, S)                                                                       \
	wait_##N(&p);                                                                              \
	amo_##N(&p);
	SHMEMD_STANDARD_TYPES(X_, )
#undef X_
#define X_(N, T, B, K, C, S) bits_##N(&p);
	SHMEMD_BITWISE_TYPES(X_, )
#undef X_
#define X_(N, T, B, K, C, S) float_##N(&p);
	SHMEMD_FLOAT_TYPES(X_, )
#undef X_
}

static int every_word_type(pes_t *pes)
{
	typed_params_t p;

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
		PES_TEST(every_rma_type),
		PES_TEST(every_word_type),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
