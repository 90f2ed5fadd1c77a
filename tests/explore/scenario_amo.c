/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Atomics: all threads of all PEs update one word of PE 0 once, and no update is lost. */
#include <string.h>
#include "kernels.h"
#include "memory.h"

enum {
	KIND_SET,
	KIND_ADD,
	KIND_AND,
	KIND_OR,
	KIND_XOR,
	KIND_INC,
	KIND_FLOAT,
	KIND_CAS,
	KIND_FETCH
};

const char *const amo_variants[] = {"set", "add", "and", "or", "xor", "inc", "float add", NULL};
const char *const amo_fetch_variants[] = {
	"swap",      "fetch add",       "fetch and",    "fetch or", "fetch xor",
	"fetch inc", "fetch float add", "compare swap", "fetch",    NULL};

/* The updates that take a value, by kind. */
typedef void (*update4_t)(const shmemd_ctx_t *, uint32_t *, uint32_t, int);
typedef void (*update8_t)(const shmemd_ctx_t *, uint64_t *, uint64_t, int);
typedef int (*fetch4_t)(const shmemd_ctx_t *, uint32_t *, uint32_t *, uint32_t, int);
typedef int (*fetch8_t)(const shmemd_ctx_t *, uint64_t *, uint64_t *, uint64_t, int);

static const update4_t update4[] = {shmemd_atomic_set_u32, shmemd_atomic_add_u32,
				    shmemd_atomic_and_u32, shmemd_atomic_or_u32,
				    shmemd_atomic_xor_u32};
static const update8_t update8[] = {shmemd_atomic_set_u64, shmemd_atomic_add_u64,
				    shmemd_atomic_and_u64, shmemd_atomic_or_u64,
				    shmemd_atomic_xor_u64};
static const fetch4_t fetch4[] = {shmemd_atomic_swap_u32, shmemd_atomic_fetch_add_u32,
				  shmemd_atomic_fetch_and_u32, shmemd_atomic_fetch_or_u32,
				  shmemd_atomic_fetch_xor_u32};
static const fetch8_t fetch8[] = {shmemd_atomic_swap_u64, shmemd_atomic_fetch_add_u64,
				  shmemd_atomic_fetch_and_u64, shmemd_atomic_fetch_or_u64,
				  shmemd_atomic_fetch_xor_u64};

static uint64_t bits_of(uint32_t width, double number)
{
	float narrow = (float)number;
	uint32_t low;
	uint64_t bits;
	memcpy(&low, &narrow, sizeof(low));
	memcpy(&bits, &number, sizeof(bits));
	return width == 4 ? low : bits;
}

static double number_of(uint32_t width, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float narrow;
	double number;
	memcpy(&narrow, &low, sizeof(narrow));
	memcpy(&number, &bits, sizeof(number));
	return width == 4 ? narrow : number;
}

static uint64_t mask_of(uint32_t width)
{
	return width == 4 ? UINT32_MAX : UINT64_MAX;
}

/* The initial value: floats start small enough for exact sums. */
static uint64_t start_of(const dims_t *d, uint32_t width)
{
	if (d->variant == KIND_FLOAT)
		return bits_of(width, (double)(d->start & UINT16_MAX));
	return d->variant == KIND_AND ? mask_of(width) : d->start & mask_of(width);
}

/* A thread's operand. */
static uint64_t operand(uint32_t kind, int pe, uint32_t tid)
{
	uint64_t number = (uint64_t)pe * THREADS_MAX + tid + 1;
	uint64_t bits = (uint64_t)1 << number % 64 | (uint64_t)1 << number % 32;
	if (kind == KIND_AND)
		return ~bits;
	if (kind == KIND_OR || kind == KIND_XOR)
		return bits;
	return kind == KIND_INC ? 1 : kind == KIND_FETCH ? 0 : number;
}

/* The result of an update; compare swap is used to add. */
static uint64_t updated(uint32_t kind, uint32_t width, uint64_t old, uint64_t arg)
{
	switch (kind) {
	case KIND_SET:
		return arg & mask_of(width);
	case KIND_AND:
		return old & arg;
	case KIND_OR:
		return (old | arg) & mask_of(width);
	case KIND_XOR:
		return (old ^ arg) & mask_of(width);
	case KIND_FLOAT:
		return bits_of(width, number_of(width, old) + (double)arg);
	default:
		return (old + arg) & mask_of(width);
	}
}

static void update(const shmemd_ctx_t *ctx, uint32_t kind, uint32_t width, uint64_t *word,
		   uint64_t arg)
{
	uint32_t *low = (uint32_t *)word;
	if (kind == KIND_FLOAT && width == 4)
		EXPECT(!shmemd_atomic_add_f32(ctx, (float *)word, (float)arg, 0));
	else if (kind == KIND_FLOAT)
		EXPECT(!shmemd_atomic_add_f64(ctx, (double *)word, (double)arg, 0));
	else if (kind == KIND_INC && width == 4)
		shmemd_atomic_inc_u32(ctx, low, 0);
	else if (kind == KIND_INC)
		shmemd_atomic_inc_u64(ctx, word, 0);
	else if (width == 4)
		update4[kind](ctx, low, (uint32_t)arg, 0);
	else
		update8[kind](ctx, word, arg, 0);
}

static uint64_t fetch_float(const shmemd_ctx_t *ctx, uint32_t width, uint64_t *word, uint64_t arg)
{
	double old = 0;
	float narrow = 0;
	if (width == 8)
		EXPECT(!shmemd_atomic_fetch_add_f64(ctx, &old, (double *)word, (double)arg, 0));
	else
		EXPECT(!shmemd_atomic_fetch_add_f32(ctx, &narrow, (float *)word, (float)arg, 0));
	return bits_of(width, width == 8 ? old : (double)narrow);
}

static uint64_t fetch_update4(const shmemd_ctx_t *ctx, uint32_t kind, uint32_t *word, uint32_t arg)
{
	uint32_t old = 0, seen = 0;
	if (kind == KIND_INC) {
		EXPECT(!shmemd_atomic_fetch_inc_u32(ctx, &old, word, 0));
	} else if (kind == KIND_FETCH) {
		EXPECT(!shmemd_atomic_fetch_u32(ctx, &old, word, 0));
	} else if (kind == KIND_CAS) {
		do {
			seen = old;
			EXPECT(!shmemd_atomic_compare_swap_u32(ctx, &old, word, seen, seen + arg,
							       0));
		} while (old != seen);
	} else {
		EXPECT(!fetch4[kind](ctx, &old, word, arg, 0));
	}
	return old;
}

static uint64_t fetch_update8(const shmemd_ctx_t *ctx, uint32_t kind, uint64_t *word, uint64_t arg)
{
	uint64_t old = 0, seen = 0;
	if (kind == KIND_INC) {
		EXPECT(!shmemd_atomic_fetch_inc_u64(ctx, &old, word, 0));
	} else if (kind == KIND_FETCH) {
		EXPECT(!shmemd_atomic_fetch_u64(ctx, &old, word, 0));
	} else if (kind == KIND_CAS) {
		do {
			seen = old;
			EXPECT(!shmemd_atomic_compare_swap_u64(ctx, &old, word, seen, seen + arg,
							       0));
		} while (old != seen);
	} else {
		EXPECT(!fetch8[kind](ctx, &old, word, arg, 0));
	}
	return old;
}

static uint64_t fetch_update(const shmemd_ctx_t *ctx, uint32_t kind, uint32_t width, uint64_t *word,
			     uint64_t arg)
{
	if (kind == KIND_FLOAT)
		return fetch_float(ctx, width, word, arg);
	if (width == 4)
		return fetch_update4(ctx, kind, (uint32_t *)word, (uint32_t)arg);
	return fetch_update8(ctx, kind, word, arg);
}

/* After the barrier each PE reads the final value. */
static void amo(const pe_t *p, uint32_t width, int is_fetching)
{
	shmemd_group_t g = group_of(p);
	uint64_t *word = &p->heap->word, old = 0, final = 0;
	uint64_t arg = operand(p->dims.variant, p->ctx.my_pe, g.rank);
	if (p->ctx.my_pe == 0 && g.rank == 0)
		shmemd_arch_st_data_u64(word, start_of(&p->dims, width));
	EXPECT(!shmemd_sync_group(&p->ctx, g));
	if (is_fetching)
		old = fetch_update(&p->ctx, p->dims.variant, width, word, arg);
	else
		update(&p->ctx, p->dims.variant, width, word, arg);
	p->memory->saw[g.rank] = old;
	EXPECT(!shmemd_barrier_group(&p->ctx, g));
	if (g.rank == g.size - 1) {
		if (width == 4)
			EXPECT(!shmemd_atomic_fetch_u32(&p->ctx, (uint32_t *)&final,
							(uint32_t *)word, 0));
		else
			EXPECT(!shmemd_atomic_fetch_u64(&p->ctx, &final, word, 0));
		p->memory->final = final;
	}
}

void amo_u32(const void *params)
{
	amo(params, 4, 0);
}

void amo_u64(const void *params)
{
	amo(params, 8, 0);
}

void amo_fetch_u32(const void *params)
{
	amo(params, 4, 1);
}

void amo_fetch_u64(const void *params)
{
	amo(params, 8, 1);
}

/* SplitMix64's hash: different sets of values have different sums. */
static uint64_t hash(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* There is an order of the updates that explains all results: each value of the word, from the
 * first to the last, was written by one update and returned to one. So the written values and the
 * first one equal the returned values and the last one. For updates that return nothing, the order
 * of most kinds does not matter. */
static void amo_final_check(uint32_t width, int is_fetching)
{
	uint64_t start = start_of(&dims, width), expected = start, made = hash(start);
	uint64_t final = memories[0].heap.word & mask_of(width), found = hash(final);
	int is_one = 0;
	for (int pe = 0; pe < dims.n_pes; pe++) {
		for (uint32_t tid = 0; tid < dims.n_threads; tid++) {
			uint64_t arg = operand(dims.variant, pe, tid), old = memories[pe].saw[tid];
			expected = updated(dims.variant, width, expected, arg);
			is_one |= final == arg;
			found += hash(old);
			made += hash(updated(dims.variant, width, old, arg));
		}
		EXPECT(memories[pe].final == final);
	}
	EXPECT(dims.variant == KIND_SET ? is_one : final == expected);
	EXPECT(!is_fetching || made == found);
}

void amo_u32_final_check(void)
{
	amo_final_check(4, 0);
}

void amo_u64_final_check(void)
{
	amo_final_check(8, 0);
}

void amo_fetch_u32_final_check(void)
{
	amo_final_check(4, 1);
}

void amo_fetch_u64_final_check(void)
{
	amo_final_check(8, 1);
}
