/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* wait.h: every comparison of every type, with negative and high-bit values, and waits that other
 * PEs end. */
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define N_VALUES 7
#define SHORT_NS 20000

enum wait_type { U32, S32, U64, S64, N_TYPES };

/* The same bit patterns for all types; 32-bit ones take the low half. */
static const uint64_t bits[N_VALUES] = {0,
					1,
					0x7fffffff,
					0x80000000,
					0xffffffffffffffffull,
					0x7fffffffffffffffull,
					0x8000000000000000ull};

typedef struct cmp_params {
	shmemd_ctx_t ctx;
	uint32_t *w32;   /* [N_VALUES] */
	uint64_t *w64;   /* [N_VALUES] */
	uint8_t *waited; /* [type][word][value][cmp]: status */
	uint8_t *tested; /* [type][word][value][cmp]: result of test */
	int *status;
} cmp_params_t;

#define RESULT(type, w, v, cmp) (((((type)*N_VALUES) + (w)) * N_VALUES + (v)) * 6 + (cmp))
#define N_RESULTS (N_TYPES * N_VALUES * N_VALUES * 6)

/* One comparison by test, by the wait with a limit, and, if it holds, by the wait without a limit.
 */
#define COMPARE(T, type, ivar, value)                                                              \
	do {                                                                                       \
		int me = shmemd_my_pe(&p->ctx), at = RESULT(type, w, v, cmp);                      \
		int status_ = shmemd_wait_until_for_##T(&p->ctx, ivar, cmp, value, SHORT_NS);      \
		int test_ = shmemd_test_##T(&p->ctx, ivar, cmp, value);                            \
		if (status_ == SHMEMD_OK)                                                          \
			scope_report(p->status, type,                                              \
				     shmemd_wait_until_##T(&p->ctx, ivar, cmp, value));            \
		shmemd_p_u8(&p->ctx, p->tested + at, (uint8_t)test_, me);                          \
		shmemd_p_u8(&p->ctx, p->waited + at, (uint8_t)status_, me);                        \
	} while (0)

SHMEMD_FN void compare_all(const cmp_params_t *p, int w, int v, int cmp)
{
	COMPARE(u32, U32, p->w32 + w, p->w32[v]);
	COMPARE(s32, S32, (int32_t *)p->w32 + w, (int32_t)p->w32[v]);
	COMPARE(u64, U64, p->w64 + w, p->w64[v]);
	COMPARE(s64, S64, (int64_t *)p->w64 + w, (int64_t)p->w64[v]);
}

SHMEMD_KERNEL(cmp_kernel, cmp_params_t, p)
{
	int v, cmp, w = (int)shmemd_block_index();

	for (v = 0; v < N_VALUES; v++) {
		for (cmp = SHMEMD_CMP_EQ; cmp <= SHMEMD_CMP_LE; cmp++)
			compare_all(&p, w, v, cmp);
	}
	scope_report(p.status, N_TYPES, shmemd_quiet(&p.ctx));
}

/* The order of a and b for one type: -1, 0, 1. */
static int order_of(int type, uint64_t a, uint64_t b)
{
	switch (type) {
	case U32:
		return ((uint32_t)a > (uint32_t)b) - ((uint32_t)a < (uint32_t)b);
	case S32:
		return ((int32_t)a > (int32_t)b) - ((int32_t)a < (int32_t)b);
	case U64:
		return (a > b) - (a < b);
	default:
		return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
	}
}

static int holds(int order, int cmp)
{
	static const int table[6][3] = {
		/* less, equal, greater */
		{0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 1}, {1, 0, 0}, {1, 1, 0},
	};

	return table[cmp][order + 1];
}

static int comparisons(pes_t *pes)
{
	uint8_t *waited, *tested;
	uint32_t low[N_VALUES];
	cmp_params_t p;
	int i;

	if (pes->seed > 2)
		return 0; /* one thread of one PE alone: schedules make no difference */
	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.w32, uint32_t, N_VALUES, 0);
	PES_ALLOC(pes, p.w64, uint64_t, N_VALUES, 0);
	PES_ALLOC(pes, p.waited, uint8_t, N_RESULTS, 77);
	PES_ALLOC(pes, p.tested, uint8_t, N_RESULTS, 77);
	for (i = 0; i < N_VALUES; i++)
		low[i] = (uint32_t)bits[i];
	PES_TRY(pes, run_copy(p.w32, low, sizeof(low)));
	PES_TRY(pes, run_copy(p.w64, bits, sizeof(bits)));
	PES_RUN(pes, cmp_kernel, N_VALUES, 1, p);
	waited = (uint8_t *)pes_read(pes, p.waited, N_RESULTS);
	tested = (uint8_t *)pes_read(pes, p.tested, N_RESULTS);
	for (i = 0; waited != NULL && tested != NULL && i < N_RESULTS; i++) {
		int type = i / 6 / N_VALUES / N_VALUES;
		uint64_t word = bits[i / 6 / N_VALUES % N_VALUES], value = bits[i / 6 % N_VALUES];
		int want = holds(order_of(type, word, value), i % 6);

		PES_EQ(pes, waited[i], want ? SHMEMD_OK : SHMEMD_ERR_TIMEOUT);
		PES_EQ(pes, tested[i], want);
	}
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	return 0;
}

/* A token of each type is passed around the PEs: p at the next PE ends the wait there. */
#define LAPS 8

typedef struct token_params {
	shmemd_ctx_t ctx;
	uint32_t *w32; /* [2] unsigned, signed */
	uint64_t *w64; /* [2] */
	int *status;
} token_params_t;

SHMEMD_FN void pass_on(const token_params_t *p, int lap, int to)
{
	shmemd_p_u32(&p->ctx, p->w32, (uint32_t)lap + 1, to);
	shmemd_p_u32(&p->ctx, p->w32 + 1, (uint32_t)(-lap - 1), to);
	shmemd_p_u64(&p->ctx, p->w64, (uint64_t)lap + 1, to);
	shmemd_p_u64(&p->ctx, p->w64 + 1, (uint64_t)(-lap - 1), to);
}

SHMEMD_FN void wait_for_token(const token_params_t *p, int lap)
{
	scope_report(p->status, 0,
		     shmemd_wait_until_for_u32(&p->ctx, p->w32, SHMEMD_CMP_GE, (uint32_t)lap + 1,
					       PES_LIMIT_NS));
	scope_report(p->status, 1,
		     shmemd_wait_until_for_s32(&p->ctx, (int32_t *)p->w32 + 1, SHMEMD_CMP_LE,
					       -lap - 1, PES_LIMIT_NS));
	scope_report(p->status, 2,
		     shmemd_wait_until_u64(&p->ctx, p->w64, SHMEMD_CMP_GT, (uint64_t)lap));
	scope_report(p->status, 3,
		     shmemd_wait_until_s64(&p->ctx, (int64_t *)p->w64 + 1, SHMEMD_CMP_LT, -lap));
}

SHMEMD_KERNEL(token_kernel, token_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), lap;

	for (lap = 0; lap < LAPS; lap++) {
		if (me == 0)
			pass_on(&p, lap, (me + 1) % n);
		wait_for_token(&p, lap);
		if (me != 0)
			pass_on(&p, lap, (me + 1) % n);
	}
}

static int ended_by_others(pes_t *pes)
{
	token_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.w32, uint32_t, 2, 0);
	PES_ALLOC(pes, p.w64, uint64_t, 2, 0);
	PES_RUN(pes, token_kernel, 1, 1, p);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(comparisons),
		PES_TEST(ended_by_others),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
