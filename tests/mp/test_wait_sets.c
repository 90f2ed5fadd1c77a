/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* wait_sets.h and its typed names: what is found, by each form, with and without masks; the ends of
 * waits that find nothing; every element in turn; words that other PEs update. */
#include <shmem_dev/typed.h>
#include <shmem_dev/wait_sets.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define NELEMS 6
#define NO_INDEX (~(size_t)0)
#define SHORT_NS 20000

/* A set of which `holds` says, bit by bit, which elements are 9, and `out` which are left out. */
typedef struct set_params {
	shmemd_ctx_t ctx;
	uint64_t *words; /* [NELEMS] */
	int *status;
} set_params_t;

SHMEMD_FN void same(const set_params_t *p, int slot, uint64_t got, uint64_t want)
{
	scope_report(p->status, slot, got == want ? 0 : WRONG_VALUE);
}

/* Has the form found exactly `want` (bits)? */
SHMEMD_FN void same_list(const set_params_t *p, int slot, const size_t *indices, size_t count,
			 uint32_t want)
{
	uint32_t found = 0;
	size_t i;

	for (i = 0; i < NELEMS; i++) {
		if (i < count) {
			same(p, slot, i && indices[i] <= indices[i - 1], 0);
			found |= 1u << indices[i];
		} else {
			same(p, slot + 1, indices[i], 77);
		}
	}
	same(p, slot + 2, found, want);
}

SHMEMD_FN void same_any(const set_params_t *p, int slot, size_t index, uint32_t want)
{
	same(p, slot, want ? index < NELEMS && want >> index & 1 : index == NO_INDEX, 1);
}

SHMEMD_FN void fresh(size_t *indices)
{
	int i;

	for (i = 0; i < NELEMS; i++)
		indices[i] = 77;
}

SCOPE_STEP void test_forms(const set_params_t *p, const int *mask, uint32_t in, uint32_t found)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	uint64_t values[NELEMS];
	size_t indices[NELEMS];
	int i;

	for (i = 0; i < NELEMS; i++)
		values[i] = in >> i & 1 ? 9 : 8; /* those left out hold for another value */
	same(p, 10, (uint64_t)shmemd_test_all_u64(ctx, p->words, NELEMS, mask, SHMEMD_CMP_EQ, 9),
	     found == in);
	same(p, 11,
	     (uint64_t)shmemd_test_all_vector_u64(ctx, p->words, NELEMS, mask, SHMEMD_CMP_EQ,
						  values),
	     found == in);
	same_any(p, 12, shmemd_test_any_u64(ctx, p->words, NELEMS, mask, SHMEMD_CMP_EQ, 9), found);
	same_any(p, 13,
		 shmemd_test_any_vector_u64(ctx, p->words, NELEMS, mask, SHMEMD_CMP_EQ, values),
		 found);
	fresh(indices);
	same_list(p, 14, indices,
		  shmemd_test_some_u64(ctx, p->words, NELEMS, indices, mask, SHMEMD_CMP_EQ, 9),
		  found);
	fresh(indices);
	same_list(p, 17, indices,
		  shmemd_test_some_vector_u64(ctx, p->words, NELEMS, indices, mask, SHMEMD_CMP_EQ,
					      values),
		  found);
}

/* The forms with a limit; of those without only where they end. */
SCOPE_STEP void wait_forms(const set_params_t *p, const int *mask, uint32_t in, uint32_t found)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	size_t indices[NELEMS], index = 77, count = 77;
	int all = shmemd_wait_until_all_for_u64(ctx, p->words, NELEMS, mask, SHMEMD_CMP_EQ, 9,
						SHORT_NS);
	int any = shmemd_wait_until_any_for_u64(ctx, &index, p->words, NELEMS, mask, SHMEMD_CMP_EQ,
						9, SHORT_NS);

	same(p, 30, (uint64_t)all, found == in ? SHMEMD_OK : SHMEMD_ERR_TIMEOUT);
	same(p, 31, (uint64_t)any, found || !in ? SHMEMD_OK : SHMEMD_ERR_TIMEOUT);
	same_any(p, 32, index, found);
	fresh(indices);
	same(p, 33,
	     (uint64_t)shmemd_wait_until_some_for_u64(ctx, &count, p->words, NELEMS, indices, mask,
						      SHMEMD_CMP_EQ, 9, SHORT_NS),
	     (uint64_t)any);
	same_list(p, 34, indices, count, found);
	if (all == SHMEMD_OK)
		scope_report(
			p->status, 37,
			shmemd_wait_until_all_u64(ctx, p->words, NELEMS, mask, SHMEMD_CMP_EQ, 9));
	if (any != SHMEMD_OK)
		return;
	scope_report(
		p->status, 38,
		shmemd_wait_until_any_u64(ctx, &index, p->words, NELEMS, mask, SHMEMD_CMP_EQ, 9));
	same_any(p, 39, index, found);
	scope_report(p->status, 40,
		     shmemd_wait_until_some_u64(ctx, &count, p->words, NELEMS, indices, mask,
						SHMEMD_CMP_EQ, 9));
	same_list(p, 41, indices, count, found);
}

/* The forms with a value for each element, of which those of `found` are equal. */
SCOPE_STEP void vector_forms(const set_params_t *p, const int *mask, uint32_t in, uint32_t found)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	size_t indices[NELEMS], index = 77, count = 77;
	uint64_t values[NELEMS];
	int i, status;

	for (i = 0; i < NELEMS; i++)
		values[i] = shmemd_test_u64(ctx, p->words + i, SHMEMD_CMP_EQ, 9)
				    ? 9
				    : 1000 + (uint64_t)i;
	status = shmemd_wait_until_all_vector_for_u64(ctx, p->words, NELEMS, mask, SHMEMD_CMP_EQ,
						      values, SHORT_NS);
	same(p, 50, (uint64_t)status, found == in ? SHMEMD_OK : SHMEMD_ERR_TIMEOUT);
	if (status == SHMEMD_OK)
		scope_report(p->status, 51,
			     shmemd_wait_until_all_vector_u64(ctx, p->words, NELEMS, mask,
							      SHMEMD_CMP_EQ, values));
	status = shmemd_wait_until_any_vector_for_u64(ctx, &index, p->words, NELEMS, mask,
						      SHMEMD_CMP_EQ, values, SHORT_NS);
	same(p, 52, (uint64_t)status, found || !in ? SHMEMD_OK : SHMEMD_ERR_TIMEOUT);
	same_any(p, 53, index, found);
	fresh(indices);
	same(p, 54,
	     (uint64_t)shmemd_wait_until_some_vector_for_u64(ctx, &count, p->words, NELEMS, indices,
							     mask, SHMEMD_CMP_EQ, values, SHORT_NS),
	     (uint64_t)status);
	same_list(p, 55, indices, count, found);
	if (status != SHMEMD_OK)
		return;
	scope_report(p->status, 58,
		     shmemd_wait_until_any_vector_u64(ctx, &index, p->words, NELEMS, mask,
						      SHMEMD_CMP_EQ, values));
	same_any(p, 59, index, found);
	scope_report(p->status, 60,
		     shmemd_wait_until_some_vector_u64(ctx, &count, p->words, NELEMS, indices, mask,
						       SHMEMD_CMP_EQ, values));
	same_list(p, 61, indices, count, found);
}

/* All sets whose elements hold in each of 64 ways, with four masks. Block b: mask b. */
SHMEMD_KERNEL(found_kernel, set_params_t, p)
{
	static const uint32_t outs[4] = {0, 0x3f, 0x15, 0x20};
	uint32_t all = (1u << NELEMS) - 1, out = outs[shmemd_block_index()], holds;
	int mask[NELEMS], i, me = shmemd_my_pe(&p.ctx);
	uint64_t *words = p.words + shmemd_block_index() * NELEMS;
	set_params_t own = p;

	own.words = words;
	for (i = 0; i < NELEMS; i++)
		mask[i] = out >> i & 1 ? -1 : 0;
	for (holds = 0; holds <= all; holds += 3) {
		for (i = 0; i < NELEMS; i++)
			shmemd_p_u64(&p.ctx, words + i, holds >> i & 1 ? 9 : 8, me);
		scope_report(p.status, 0, shmemd_quiet(&p.ctx));
		test_forms(&own, out ? mask : 0, all & ~out, holds & ~out);
		wait_forms(&own, out ? mask : 0, all & ~out, holds & ~out);
		vector_forms(&own, out ? mask : 0, all & ~out, holds & ~out);
	}
}

static int set_params(pes_t *pes, set_params_t *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	p->status = pes->status;
	PES_ALLOC(pes, p->words, uint64_t, 4 * NELEMS, 0);
	return 0;
}

static int what_is_found(pes_t *pes)
{
	set_params_t p;

	if (pes->seed > 1)
		return 0; /* one thread of one PE alone: schedules make no difference */
	if (set_params(pes, &p))
		return 1;
	PES_RUN(pes, found_kernel, 4, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	return 0;
}

/* No elements: nothing is read, and nothing waits. */
SHMEMD_KERNEL(empty_kernel, set_params_t, p)
{
	size_t index = 77, count = 77;

	scope_report(p.status, 0, shmemd_wait_until_all_u64(&p.ctx, 0, 0, 0, SHMEMD_CMP_EQ, 9));
	scope_report(p.status, 1,
		     shmemd_wait_until_any_u64(&p.ctx, &index, 0, 0, 0, SHMEMD_CMP_EQ, 9));
	same(&p, 2, index, NO_INDEX);
	scope_report(p.status, 3,
		     shmemd_wait_until_some_u64(&p.ctx, &count, 0, 0, 0, 0, SHMEMD_CMP_EQ, 9));
	same(&p, 4, count, 0);
	same(&p, 5, (uint64_t)shmemd_test_all_u64(&p.ctx, 0, 0, 0, SHMEMD_CMP_EQ, 9), 1);
	same(&p, 6, shmemd_test_any_u64(&p.ctx, 0, 0, 0, SHMEMD_CMP_EQ, 9), NO_INDEX);
	same(&p, 7, shmemd_test_some_u64(&p.ctx, 0, 0, 0, 0, SHMEMD_CMP_EQ, 9), 0);
}

static int empty_sets(pes_t *pes)
{
	set_params_t p;

	if (set_params(pes, &p))
		return 1;
	PES_RUN(pes, empty_kernel, 1, 1, p);
	return 0;
}

/* Elements that all hold, all the time: a series of calls returns each of them. */
#define CALLS_MAX 100000

SHMEMD_KERNEL(turns_kernel, set_params_t, p)
{
	uint32_t all = (1u << NELEMS) - 1, tested = 0, waited = 0;
	size_t index = 0;
	int i;

	for (i = 0; i < CALLS_MAX && (tested & waited) != all; i++) {
		tested |= 1u << shmemd_test_any_u64(&p.ctx, p.words, NELEMS, 0, SHMEMD_CMP_EQ, 0);
		scope_report(p.status, 0,
			     shmemd_wait_until_any_u64(&p.ctx, &index, p.words, NELEMS, 0,
						       SHMEMD_CMP_EQ, 0));
		waited |= 1u << index;
		shmemd_arch_spin_hint();
	}
	same(&p, 1, tested, all);
	same(&p, 2, waited, all);
}

static int each_in_turn(pes_t *pes)
{
	set_params_t p;

	if (set_params(pes, &p))
		return 1;
	PES_RUN(pes, turns_kernel, 1, 1, p);
	return 0;
}

/* Each type of the list: -1 is less than 0 exactly for signed types, alone and as a value of its
 * own. */
#define X_(N, T, B, K, C, S)                                                                       \
	SCOPE_STEP void typed_##N(const set_params_t *p)                                           \
	{                                                                                          \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		int me = shmemd_my_pe(ctx), is_signed = (T)-1 < (T)1;                              \
		T *words = (T *)p->words, values[2];                                               \
		size_t index = 77, count = 77, indices[2];                                         \
		size_t second = is_signed ? 1 : NO_INDEX;                                          \
		values[0] = (T)-1;                                                                 \
		values[1] = 0;                                                                     \
		shmemd_##N##_p(ctx, words, 0, me);                                                 \
		shmemd_##N##_p(ctx, words + 1, (T)-1, me);                                         \
		scope_report(p->status, 0, shmemd_quiet(ctx));                                     \
		same(p, 1, shmemd_##N##_test_any(ctx, words, 2, 0, SHMEMD_CMP_LT, 0), second);     \
		same(p, 2, shmemd_##N##_test_any_vector(ctx, words, 2, 0, SHMEMD_CMP_LT, values),  \
		     is_signed ? 1 : 0);                                                           \
		same(p, 3, shmemd_##N##_test_some(ctx, words, 2, indices, 0, SHMEMD_CMP_GE, 0),    \
		     is_signed ? 1 : 2);                                                           \
		same(p, 4,                                                                         \
		     shmemd_##N##_test_some_vector(ctx, words, 2, indices, 0, SHMEMD_CMP_GT,       \
						   values),                                        \
		     1);                                                                           \
		same(p, 5, indices[0], is_signed ? 0 : 1);                                         \
		same(p, 6,                                                                         \
		     (uint64_t)shmemd_##N##_test_all(ctx, words, 2, 0, SHMEMD_CMP_GE, (T)-1),      \
		     is_signed);                                                                   \
		same(p, 7,                                                                         \
		     (uint64_t)shmemd_##N##_test_all_vector(ctx, words, 2, 0, SHMEMD_CMP_NE,       \
							    values),                               \
		     1);                                                                           \
		scope_report(p->status, 8,                                                         \
			     shmemd_##N##_wait_until_all(ctx, words, 2, 0, SHMEMD_CMP_NE, 1));     \
		scope_report(p->status, 9,                                                         \
			     shmemd_##N##_wait_until_all_vector(ctx, words, 2, 0, SHMEMD_CMP_NE,   \
								values));                          \
		scope_report(p->status, 10,                                                        \
			     shmemd_##N##_wait_until_any(ctx, &index, words, 2, 0, SHMEMD_CMP_EQ,  \
							 (T)-1));                                  \
		same(p, 11, index, 1);                                                             \
		scope_report(p->status, 12,                                                        \
			     shmemd_##N##_wait_until_any_vector(ctx, &index, words, 2, 0,          \
								SHMEMD_CMP_GT, values));           \
		same(p, 13, index, is_signed ? 0 : 1);                                             \
		scope_report(p->status, 14,                                                        \
			     shmemd_##N##_wait_until_some(ctx, &count, words, 2, indices, 0,       \
							  SHMEMD_CMP_EQ, (T)-1));                  \
		same(p, 15, count == 1 && indices[0] == 1, 1);                                     \
		scope_report(p->status, 16,                                                        \
			     shmemd_##N##_wait_until_some_vector(ctx, &count, words, 2, indices,   \
								 0, SHMEMD_CMP_NE, values));       \
		same(p, 17, count, 2);                                                             \
	}                                                                                          \
	SCOPE_STEP void limited_##N(const set_params_t *p)                                         \
	{                                                                                          \
		const shmemd_ctx_t *ctx = &p->ctx;                                                 \
		T *words = (T *)p->words, values[2];                                               \
		size_t index, count, indices[2];                                                   \
		int in_time = 0, late = 0;                                                         \
		values[0] = values[1] = 5;                                                         \
		late += shmemd_##N##_wait_until_all_for(ctx, words, 2, 0, SHMEMD_CMP_EQ, 5, 0);    \
		late += shmemd_##N##_wait_until_any_for(ctx, &index, words, 2, 0, SHMEMD_CMP_EQ,   \
							5, 0);                                     \
		late += shmemd_##N##_wait_until_some_for(ctx, &count, words, 2, indices, 0,        \
							 SHMEMD_CMP_EQ, 5, 0);                     \
		late += shmemd_##N##_wait_until_all_vector_for(ctx, words, 2, 0, SHMEMD_CMP_EQ,    \
							       values, 0);                         \
		late += shmemd_##N##_wait_until_any_vector_for(ctx, &index, words, 2, 0,           \
							       SHMEMD_CMP_EQ, values, 0);          \
		late += shmemd_##N##_wait_until_some_vector_for(ctx, &count, words, 2, indices, 0, \
								SHMEMD_CMP_EQ, values, 0);         \
		same(p, 18, (uint64_t)late, 6 * SHMEMD_ERR_TIMEOUT);                               \
		in_time += shmemd_##N##_wait_until_any_vector_for(ctx, &index, words, 2, 0,        \
								  SHMEMD_CMP_NE, values, 0);       \
		same(p, 19, (uint64_t)in_time, 0);                                                 \
	}
SHMEMD_STANDARD_TYPES(X_, )
#undef X_

SHMEMD_KERNEL(typed_kernel, set_params_t, p)
{
#define X_(N, T, B, K, C, S)                                                                       \
	typed_##N(&p);                                                                             \
	limited_##N(&p);
	SHMEMD_STANDARD_TYPES(X_, )
#undef X_
}

static int every_type(pes_t *pes)
{
	set_params_t p;

	if (pes->seed > 1)
		return 0; /* one thread of one PE alone */
	if (set_params(pes, &p))
		return 1;
	PES_RUN(pes, typed_kernel, 1, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	return 0;
}

/* All PEs send a value and then a word to each PE, round after round; it receives them by each of
 * the forms, and finds the value of each sender. */
#define ROUNDS 6

typedef struct all_params {
	shmemd_ctx_t ctx;
	uint64_t *words; /* [n_pes] round of the PE */
	uint64_t *data;  /* [n_pes] */
	int *status;
} all_params_t;

#define DATA(pe, round) ((uint64_t)(round)*1000 + (uint64_t)(pe) + 1)
#define PES_MOST 64

SHMEMD_FN void received(const all_params_t *p, int *mask, size_t pe, uint64_t round)
{
	scope_report(p->status, 0, mask[pe] ? WRONG_VALUE : 0);
	scope_report(p->status, 1, p->data[pe] == DATA(pe, round) ? 0 : WRONG_VALUE);
	mask[pe] = 1;
}

SHMEMD_FN void receive(const all_params_t *p, uint64_t round)
{
	size_t n = (size_t)shmemd_n_pes(&p->ctx), left = n, index = 0, count = 0, i;
	size_t indices[PES_MOST];
	int mask[PES_MOST];

	for (i = 0; i < n; i++)
		mask[i] = 0;
	if (round % 3 == 0) {
		scope_report(p->status, 2,
			     shmemd_wait_until_all_for_u64(&p->ctx, p->words, n, 0, SHMEMD_CMP_GE,
							   round, PES_LIMIT_NS));
		for (i = 0; i < n; i++)
			received(p, mask, i, round);
		return;
	}
	while (left) {
		if (round % 3 == 1) {
			scope_report(p->status, 3,
				     shmemd_wait_until_any_for_u64(&p->ctx, &index, p->words, n,
								   mask, SHMEMD_CMP_GE, round,
								   PES_LIMIT_NS));
			indices[0] = index;
			count = 1;
		} else {
			scope_report(p->status, 4,
				     shmemd_wait_until_some_for_u64(&p->ctx, &count, p->words, n,
								    indices, mask, SHMEMD_CMP_GE,
								    round, PES_LIMIT_NS));
		}
		if (count == 0 || indices[0] >= n) {
			scope_report(p->status, 5, WRONG_VALUE);
			return;
		}
		for (i = 0; i < count; i++)
			received(p, mask, indices[i], round);
		left -= count;
	}
}

SHMEMD_KERNEL(all_kernel, all_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), i;
	uint64_t round;

	for (round = 1; round <= ROUNDS; round++) {
		for (i = 0; i < n; i++) {
			shmemd_p_u64(&p.ctx, p.data + me, DATA(me, round), (me + i) % n);
			shmemd_fence(&p.ctx);
			shmemd_p_u64(&p.ctx, p.words + me, round, (me + i) % n);
		}
		receive(&p, round);
		scope_report(p.status, 6, shmemd_barrier_all(&p.ctx));
	}
	scope_report(p.status, 7, shmemd_sync_all(&p.ctx));
}

static int ended_by_others(pes_t *pes)
{
	all_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.words, uint64_t, (size_t)pes->n_pes, 0);
	PES_ALLOC(pes, p.data, uint64_t, (size_t)pes->n_pes, 0);
	PES_RUN(pes, all_kernel, 1, 1, p);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(what_is_found), PES_TEST(empty_sets),      PES_TEST(each_in_turn),
		PES_TEST(every_type),    PES_TEST(ended_by_others),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
