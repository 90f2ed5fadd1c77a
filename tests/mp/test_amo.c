/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* amo.h: all threads of all PEs update the same words of every PE; final and fetched values are
 * exact. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define BLOCKS 2
#define THREADS 64

/* Words at each PE that all PEs update. */
enum word { ADD, INC, AND, OR, XOR, SET, N_PLAIN };
enum fetched { F_ADD, F_INC, F_AND, F_OR, F_XOR, SWAP, CAS, N_FETCHED };

typedef struct amo_params {
	shmemd_ctx_t ctx;
	uint32_t *w32;  /* [N_PLAIN] or [N_FETCHED] */
	uint64_t *w64;  /* the same */
	uint32_t *seen; /* [2][N_FETCHED][n * updates]: how often a ticket was fetched, by width */
	float *f32;     /* [2] add, fetch_add */
	double *f64;    /* [2] */
	uint32_t updates; /* of each word by each PE: threads of its grid */
	int *status;
} amo_params_t;

/* A number for each update that a word gets: 0 .. n * updates - 1. */
SHMEMD_FN uint32_t ticket_of(const amo_params_t *p)
{
	uint32_t thread = shmemd_block_index() * shmemd_n_threads() + shmemd_thread_index();

	return (uint32_t)shmemd_my_pe(&p->ctx) * p->updates + thread;
}

#define PLAIN(N, w)                                                                                \
	do {                                                                                       \
		shmemd_atomic_add_u##N(&p.ctx, w + ADD, (uint##N##_t)t + 1, pe);                   \
		shmemd_atomic_inc_u##N(&p.ctx, w + INC, pe);                                       \
		shmemd_atomic_and_u##N(&p.ctx, w + AND, ~((uint##N##_t)1 << t % (N - 3)), pe);     \
		shmemd_atomic_or_u##N(&p.ctx, w + OR, (uint##N##_t)1 << t % (N - 3), pe);          \
		shmemd_atomic_xor_u##N(&p.ctx, w + XOR, (uint##N##_t)1 << t % (N - 3), pe);        \
		shmemd_atomic_set_u##N(&p.ctx, w + SET,                                            \
				       (uint##N##_t)t | (uint##N##_t)1 << (N - 1), pe);            \
	} while (0)

SHMEMD_KERNEL(plain_kernel, amo_params_t, p)
{
	uint32_t t = ticket_of(&p);
	int pe;

	for (pe = 0; pe < shmemd_n_pes(&p.ctx); pe++) {
		PLAIN(32, p.w32);
		PLAIN(64, p.w64);
		scope_report(p.status, 0, shmemd_atomic_add_f32(&p.ctx, p.f32, 0.5f, pe));
		scope_report(p.status, 1, shmemd_atomic_add_f64(&p.ctx, p.f64, 0.25, pe));
	}
	scope_report(p.status, 2, shmemd_quiet(&p.ctx));
}

/* Threads of a block. A compare-and-swap loop takes as many iterations as there are concurrent
 * threads, each of them hundreds of steps by RDMA: on random schedules use only as many threads as
 * a word has bits. The same with a slow NIC: half as many threads take a quarter of the iterations.
 */
#define SLOW_THREADS 8
static uint32_t n_threads(const pes_t *pes)
{
	int is_long = pes->seed != 0 && !pes_maps_all(pes) && 32 % pes->n_pes == 0;

	return is_long ? 32 / (uint32_t)pes->n_pes : pes->is_slow ? SLOW_THREADS : THREADS;
}

/* The expected final values, by plain loops. */
static void expect_plain(uint64_t *want, int n_bits, uint32_t n_updates)
{
	uint64_t mask = n_bits == 64 ? UINT64_MAX : (1ull << n_bits) - 1;
	uint32_t t;

	want[ADD] = want[INC] = want[OR] = want[XOR] = 0;
	want[AND] = mask;
	for (t = 0; t < n_updates; t++) {
		uint64_t bit = 1ull << t % (uint32_t)(n_bits - 3);

		want[ADD] += t + 1;
		want[INC]++;
		want[AND] &= ~bit;
		want[OR] |= bit;
		want[XOR] ^= bit;
	}
	want[ADD] &= mask;
}

static int non_fetching(pes_t *pes)
{
	uint64_t want32[N_PLAIN], want64[N_PLAIN], *got64, all = UINT64_MAX;
	uint32_t threads = n_threads(pes), n_updates = (uint32_t)pes->n_pes * BLOCKS * threads;
	uint32_t *got32;
	amo_params_t p;
	double *f64;
	float *f32;
	int i;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.updates = BLOCKS * threads;
	PES_ALLOC(pes, p.w32, uint32_t, N_PLAIN, 0);
	PES_ALLOC(pes, p.w64, uint64_t, N_PLAIN, 0);
	PES_ALLOC(pes, p.f32, float, 2, 0);
	PES_ALLOC(pes, p.f64, double, 2, 0);
	PES_TRY(pes, run_copy(p.w32 + AND, &all, 4));
	PES_TRY(pes, run_copy(p.w64 + AND, &all, 8));
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, plain_kernel, BLOCKS, threads, p);
	expect_plain(want32, 32, n_updates);
	expect_plain(want64, 64, n_updates);
	got32 = (uint32_t *)pes_read(pes, p.w32, N_PLAIN * 4);
	got64 = (uint64_t *)pes_read(pes, p.w64, N_PLAIN * 8);
	f32 = (float *)pes_read(pes, p.f32, 8);
	f64 = (double *)pes_read(pes, p.f64, 16);
	if (got32 == NULL || got64 == NULL || f32 == NULL || f64 == NULL)
		return 1;
	for (i = 0; i < SET; i++) {
		PES_EQ(pes, got32[i], want32[i]);
		PES_EQ(pes, got64[i], want64[i]);
	}
	PES_CHECK(pes, got32[SET] >> 31 == 1 && (got32[SET] << 1 >> 1) < n_updates);
	PES_CHECK(pes, got64[SET] >> 63 == 1 && (got64[SET] << 1 >> 1) < n_updates);
	PES_CHECK(pes, f32[0] == 0.5f * (float)n_updates && f32[1] == 0);
	PES_CHECK(pes, f64[0] == 0.25 * n_updates && f64[1] == 0);
	return 0;
}

/* Count at its home PE that value was fetched from word what of width slot. */
SHMEMD_FN void saw(const amo_params_t *p, int slot, int what, uint64_t value, int pe)
{
	uint32_t n_tickets = (uint32_t)shmemd_n_pes(&p->ctx) * p->updates;

	if (value >= n_tickets)
		scope_report(p->status, 10 + what, WRONG_VALUE);
	else
		shmemd_atomic_inc_u32(
			&p->ctx, p->seen + (uint32_t)(slot * N_FETCHED + what) * n_tickets + value,
			pe);
}

/* Update every word of N bits at PE pe, by one thread whose ticket is t. Each bit of a bit word
 * belongs to one thread, so that its fetched value is known; those N threads are spread over all
 * PEs. */
#define FETCH(N, slot, w)                                                                          \
	do {                                                                                       \
		uint##N##_t old = 0, next = 0, bit = (uint##N##_t)1 << t / (n_tickets / N);        \
		scope_report(p.status, 2,                                                          \
			     shmemd_atomic_fetch_add_u##N(&p.ctx, &old, w + F_ADD, 1, pe));        \
		saw(&p, slot, F_ADD, old, pe);                                                     \
		scope_report(p.status, 3,                                                          \
			     shmemd_atomic_fetch_inc_u##N(&p.ctx, &old, w + F_INC, pe));           \
		saw(&p, slot, F_INC, old, pe);                                                     \
		scope_report(p.status, 4,                                                          \
			     shmemd_atomic_swap_u##N(&p.ctx, &old, w + SWAP, t + 1, pe));          \
		saw(&p, slot, SWAP, old == 0 ? 0 : old - 1, pe);                                   \
		do {                                                                               \
			scope_report(p.status, 5,                                                  \
				     shmemd_atomic_fetch_u##N(&p.ctx, &next, w + CAS, pe));        \
			scope_report(p.status, 6,                                                  \
				     shmemd_atomic_compare_swap_u##N(&p.ctx, &old, w + CAS, next,  \
								     next + 1, pe));               \
		} while (old != next);                                                             \
		saw(&p, slot, CAS, old, pe);                                                       \
		if (t % (n_tickets / N) != 0)                                                      \
			break;                                                                     \
		scope_report(p.status, 7,                                                          \
			     shmemd_atomic_fetch_or_u##N(&p.ctx, &old, w + F_OR, bit, pe));        \
		scope_report(p.status, 13, old &bit ? WRONG_VALUE : 0);                            \
		scope_report(p.status, 8,                                                          \
			     shmemd_atomic_fetch_and_u##N(&p.ctx, &old, w + F_AND, ~bit, pe));     \
		scope_report(p.status, 14, old &bit ? 0 : WRONG_VALUE);                            \
		scope_report(p.status, 9,                                                          \
			     shmemd_atomic_fetch_xor_u##N(&p.ctx, &old, w + F_XOR, bit, pe));      \
		scope_report(p.status, 15, old &bit ? WRONG_VALUE : 0);                            \
	} while (0)

SHMEMD_KERNEL(fetch_kernel, amo_params_t, p)
{
	uint32_t t = ticket_of(&p), n_tickets = (uint32_t)shmemd_n_pes(&p.ctx) * p.updates;
	double d;
	float f;
	int pe;

	for (pe = 0; pe < shmemd_n_pes(&p.ctx); pe++) {
		FETCH(32, 0, p.w32);
		FETCH(64, 1, p.w64);
		scope_report(p.status, 20,
			     shmemd_atomic_fetch_add_f32(&p.ctx, &f, p.f32 + 1, 0.5f, pe));
		scope_report(p.status, 21,
			     shmemd_atomic_fetch_add_f64(&p.ctx, &d, p.f64 + 1, 2.0, pe));
		/* The fetched value is the number of earlier updates: the two floats are
		 * independent. */
		scope_report(p.status, 22,
			     f == (float)(int)f || 2 * f == (float)(int)(2 * f) ? 0 : WRONG_VALUE);
		scope_report(p.status, 23, d / 2 == (double)(int)(d / 2) ? 0 : WRONG_VALUE);
	}
	scope_report(p.status, 24, shmemd_quiet(&p.ctx));
}

/* Each ticket of the counting words was fetched once. For swap: every value but the last one, and
 * 0, which counts as the ticket of the initial content. */
static void check_seen(pes_t *pes, const uint32_t *seen, int slot, uint64_t last_swapped)
{
	uint32_t n_tickets = (uint32_t)pes->n_pes * BLOCKS * n_threads(pes), t;
	const uint32_t *of = seen + (uint32_t)slot * N_FETCHED * n_tickets;

	for (t = 0; t < n_tickets; t++) {
		uint32_t swapped = (t == 0) + (t + 1 != last_swapped);

		PES_EQ(pes, of[F_ADD * n_tickets + t], 1);
		PES_EQ(pes, of[F_INC * n_tickets + t], 1);
		PES_EQ(pes, of[CAS * n_tickets + t], 1);
		PES_EQ(pes, of[SWAP * n_tickets + t], swapped);
	}
}

static int fetching(pes_t *pes)
{
	uint32_t threads = n_threads(pes), n_updates = (uint32_t)pes->n_pes * BLOCKS * threads;
	uint32_t *got32, *seen;
	size_t seen_nelems = 2 * N_FETCHED * (size_t)n_updates;
	uint64_t *got64, all = UINT64_MAX;
	amo_params_t p;
	double *f64;
	float *f32;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.updates = BLOCKS * threads;
	PES_ALLOC(pes, p.w32, uint32_t, N_FETCHED, 0);
	PES_ALLOC(pes, p.w64, uint64_t, N_FETCHED, 0);
	PES_ALLOC(pes, p.seen, uint32_t, seen_nelems, 0);
	PES_ALLOC(pes, p.f32, float, 2, 0);
	PES_ALLOC(pes, p.f64, double, 2, 0);
	PES_TRY(pes, run_copy(p.w32 + F_AND, &all, 4));
	PES_TRY(pes, run_copy(p.w64 + F_AND, &all, 8));
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, fetch_kernel, BLOCKS, threads, p);
	got32 = (uint32_t *)pes_read(pes, p.w32, N_FETCHED * 4);
	got64 = (uint64_t *)pes_read(pes, p.w64, N_FETCHED * 8);
	seen = (uint32_t *)pes_read(pes, p.seen, seen_nelems * 4);
	f32 = (float *)pes_read(pes, p.f32, 8);
	f64 = (double *)pes_read(pes, p.f64, 16);
	if (got32 == NULL || got64 == NULL || seen == NULL || f32 == NULL || f64 == NULL)
		return 1;
	check_seen(pes, seen, 0, got32[SWAP]);
	check_seen(pes, seen, 1, got64[SWAP]);
	PES_EQ(pes, got32[F_ADD], n_updates);
	PES_EQ(pes, got64[CAS], n_updates);
	PES_EQ(pes, got32[F_OR], UINT32_MAX);
	PES_EQ(pes, got64[F_OR], UINT64_MAX);
	PES_EQ(pes, got32[F_AND], 0);
	PES_EQ(pes, got64[F_AND], 0);
	PES_EQ(pes, got32[F_XOR], UINT32_MAX);
	PES_EQ(pes, got64[F_XOR], UINT64_MAX);
	PES_CHECK(pes, f32[0] == 0 && f32[1] == 0.5f * (float)n_updates);
	PES_CHECK(pes, f64[0] == 0 && f64[1] == 2.0 * n_updates);
	return 0;
}

/* A bit that is set already stays set; a compare-and-swap that does not match changes nothing and
 * fetches the current value; neighbours of an updated word do not change; sums wrap. */
typedef struct edge_params {
	shmemd_ctx_t ctx;
	uint32_t *w32; /* [3] */
	uint64_t *w64; /* [3] */
	int *status;
} edge_params_t;

SHMEMD_KERNEL(edge_kernel, edge_params_t, p)
{
	int next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);
	uint64_t old64 = 0;
	uint32_t old32 = 0;

	scope_report(p.status, 0,
		     shmemd_atomic_compare_swap_u32(&p.ctx, &old32, p.w32 + 1, 1, 2, next));
	scope_report(p.status, 1, old32 == UINT32_MAX ? 0 : WRONG_VALUE);
	scope_report(
		p.status, 2,
		shmemd_atomic_compare_swap_u64(&p.ctx, &old64, p.w64 + 1, UINT32_MAX, 2, next));
	scope_report(p.status, 3, old64 == UINT64_MAX ? 0 : WRONG_VALUE);
	scope_report(p.status, 4, shmemd_atomic_fetch_u32(&p.ctx, &old32, p.w32 + 1, next));
	scope_report(p.status, 5, old32 == UINT32_MAX ? 0 : WRONG_VALUE);
	scope_report(p.status, 6, shmemd_atomic_fetch_u64(&p.ctx, &old64, p.w64 + 1, next));
	scope_report(p.status, 7, old64 == UINT64_MAX ? 0 : WRONG_VALUE);
	scope_report(p.status, 8, shmemd_atomic_fetch_or_u32(&p.ctx, &old32, p.w32 + 1, 1, next));
	scope_report(p.status, 9, shmemd_atomic_fetch_or_u64(&p.ctx, &old64, p.w64 + 1, 1, next));
	scope_report(p.status, 10,
		     shmemd_atomic_compare_swap_u64(&p.ctx, &old64, p.w64 + 1, UINT64_MAX,
						    UINT64_MAX - 2, next));
	shmemd_atomic_add_u32(&p.ctx, p.w32 + 1, 3, next);
	shmemd_atomic_add_u64(&p.ctx, p.w64 + 1, 3, next);
	scope_report(p.status, 11, shmemd_quiet(&p.ctx));
}

static int edge_values(pes_t *pes)
{
	edge_params_t p;
	uint32_t *got32;
	uint64_t *got64;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.w32, uint32_t, 3, 0xff);
	PES_ALLOC(pes, p.w64, uint64_t, 3, 0xff);
	PES_RUN(pes, edge_kernel, 1, 1, p);
	got32 = (uint32_t *)pes_read(pes, p.w32, 12);
	got64 = (uint64_t *)pes_read(pes, p.w64, 24);
	if (got32 == NULL || got64 == NULL)
		return 1;
	PES_EQ(pes, got32[1], 2);
	PES_EQ(pes, got64[1], 0);
	PES_CHECK(pes, got32[0] == UINT32_MAX && got32[2] == UINT32_MAX);
	PES_CHECK(pes, got64[0] == UINT64_MAX && got64[2] == UINT64_MAX);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(non_fetching),
		PES_TEST(fetching),
		PES_TEST(edge_values),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
