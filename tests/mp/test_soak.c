/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Random operations of all kinds and sizes, each thread on its own slice at each PE, with a model
 * of those slices: every result, and all memory at the end, must equal the model.
 *
 * SOAK_OPERATIONS: number of operations in the whole job; default: some thousands. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define SLICE_NBYTES 512
#define WORDS 8 /* 64-bit words at the start of a slice, for atomics; the rest for bytes */
#define SOURCE_NBYTES 1024
#define MAX_NBYTES 300
#define THREADS 8

typedef struct soak_params {
	shmemd_ctx_t ctx;
	char *slices;    /* [from pe][thread][SLICE_NBYTES], written by other PEs */
	char *model;     /* [to pe][thread][SLICE_NBYTES]: what this PE's threads have sent */
	char *source;    /* [thread][SOURCE_NBYTES] */
	char *fetched;   /* [thread][SLICE_NBYTES] */
	uint64_t *seeds; /* [thread] */
	int *status;
	uint32_t n; /* operations of each thread */
} soak_params_t;

/* The state of one thread. */
typedef struct soak {
	const soak_params_t *p;
	uint64_t random;
	char *source, *fetched;
	char *there;       /* the remote slice, as a symmetric address */
	uint64_t *modeled; /* the slice's model */
	int pe;
} soak_t;

SHMEMD_FN uint32_t soak_draw(soak_t *s, uint32_t n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (uint32_t)(s->random >> 32) % n;
}

SHMEMD_FN void soak_turn(soak_t *s, uint32_t thread)
{
	const shmemd_ctx_t *ctx = &s->p->ctx;
	size_t to, from;

	s->pe = (int)soak_draw(s, (uint32_t)shmemd_n_pes(ctx));
	to = (size_t)s->pe * THREADS + thread;
	from = (size_t)shmemd_my_pe(ctx) * THREADS + thread;
	s->there = s->p->slices + from * SLICE_NBYTES;
	s->modeled = (uint64_t *)(void *)(s->p->model + to * SLICE_NBYTES);
}

/* Choose some new bytes of the source, and their target; bytes never overlap the words. */
SHMEMD_FN uint32_t soak_bytes(soak_t *s, char **from, uint32_t *to)
{
	uint32_t nbytes = soak_draw(s, MAX_NBYTES + 1), i;
	uint32_t room = SLICE_NBYTES - WORDS * 8 - nbytes;

	*from = s->source + soak_draw(s, SOURCE_NBYTES - nbytes);
	*to = WORDS * 8 + soak_draw(s, room + 1);
	for (i = 0; i < nbytes; i++) {
		(*from)[i] = (char)soak_draw(s, 256);
		((char *)s->modeled)[*to + i] = (*from)[i];
	}
	return nbytes;
}

/* The fence orders the put after earlier puts to the same bytes: where atomics use RDMA and puts
 * use stores, data with a signal uses the other transport. */
SHMEMD_FN void soak_put(soak_t *s, int with_signal)
{
	const shmemd_ctx_t *ctx = &s->p->ctx;
	uint32_t to, word = soak_draw(s, WORDS), nbytes;
	char *from;
	uint64_t add = soak_draw(s, 1000);

	nbytes = soak_bytes(s, &from, &to);
	shmemd_fence(ctx);
	if (!with_signal) {
		shmemd_putmem(ctx, s->there + to, from, nbytes, s->pe);
		return;
	}
	s->modeled[word] += add;
	shmemd_putmem_signal(ctx, s->there + to, from, nbytes, (uint64_t *)(void *)s->there + word,
			     add, SHMEMD_SIGNAL_ADD, s->pe);
}

SHMEMD_FN int soak_word(soak_t *s, uint32_t kind)
{
	const shmemd_ctx_t *ctx = &s->p->ctx;
	uint32_t i = soak_draw(s, WORDS);
	uint64_t *word = (uint64_t *)(void *)s->there + i, *modeled = s->modeled + i;
	uint64_t v = (uint64_t)soak_draw(s, 1u << 31) << 20, old = *modeled;

	switch (kind) {
	case 0:
		*modeled = v;
		shmemd_atomic_set_u64(ctx, word, v, s->pe);
		return 0;
	case 1:
		*modeled += v;
		shmemd_atomic_add_u64(ctx, word, v, s->pe);
		return 0;
	case 2:
		*modeled ^= v;
		shmemd_atomic_xor_u64(ctx, word, v, s->pe);
		return 0;
	case 3:
		*modeled = v;
		return shmemd_atomic_swap_u64(ctx, &v, word, v, s->pe) || v != old;
	case 4:
		*modeled = v;
		return shmemd_atomic_compare_swap_u64(ctx, &v, word, old, v, s->pe) || v != old;
	default:
		return shmemd_atomic_fetch_u64(ctx, &v, word, s->pe) || v != old;
	}
}

/* A get after a quiet reads the bytes of earlier puts. */
SHMEMD_FN int soak_get(soak_t *s)
{
	const shmemd_ctx_t *ctx = &s->p->ctx;
	uint32_t from = soak_draw(s, SLICE_NBYTES), i;
	uint32_t nbytes = soak_draw(s, SLICE_NBYTES - from + 1);

	if (shmemd_quiet(ctx) != SHMEMD_OK ||
	    shmemd_getmem(ctx, s->fetched, s->there + from, nbytes, s->pe) != SHMEMD_OK)
		return 1;
	for (i = 0; i < nbytes; i++)
		if (s->fetched[i] != ((const char *)s->modeled)[from + i])
			return 1;
	return 0;
}

SHMEMD_KERNEL(soak_kernel, soak_params_t, p)
{
	uint32_t thread = shmemd_thread_index(), i;
	soak_t s = {&p,
		    p.seeds[thread],
		    p.source + thread * SOURCE_NBYTES,
		    p.fetched + thread * SLICE_NBYTES,
		    0,
		    0,
		    0};
	int wrong = 0;

	for (i = 0; i < p.n && !wrong; i++) {
		uint32_t kind = soak_draw(&s, 16);

		soak_turn(&s, thread);
		if (kind < 8)
			soak_put(&s, kind >= 6);
		else if (kind < 14)
			wrong = soak_word(&s, kind - 8);
		else
			wrong = soak_get(&s);
	}
	scope_report(p.status, 2 * thread, wrong);
	scope_report(p.status, 2 * thread + 1, shmemd_quiet(&p.ctx));
}

static uint32_t operations(const pes_t *pes)
{
	const char *text = getenv("SOAK_OPERATIONS");
	unsigned long n = text ? strtoul(text, NULL, 10) : pes->seed ? 512 : 8192;

	return (uint32_t)(n / ((unsigned long)pes->n_pes * THREADS));
}

/* Compare the slices that this PE has written, on all PEs, with its model. */
static int compare(pes_t *pes, const soak_params_t *p)
{
	size_t one = (size_t)THREADS * SLICE_NBYTES, all = one * (size_t)pes->n_pes;
	char *models = (char *)malloc(all * (size_t)pes->n_pes);
	char *model, *slices;
	int from;

	model = (char *)pes_read(pes, p->model, all);
	slices = (char *)pes_read(pes, p->slices, all);
	if (!models || !model || !slices)
		return 1;
	PES_TRY(pes, shmemh_allgather(pes->job, model, models, all));
	for (from = 0; from < pes->n_pes; from++)
		pes_bytes(pes, slices + (size_t)from * one,
			  models + (size_t)from * all + (size_t)pes->pe * one, one, "slices",
			  __FILE__, __LINE__);
	free(models);
	return 0;
}

static int soak(pes_t *pes)
{
	size_t n = (size_t)pes->n_pes * THREADS;
	uint64_t seeds[THREADS];
	soak_params_t p;
	size_t i;

	p.ctx = pes->ctx;
	p.status = pes->status;
	p.n = operations(pes);
	PES_ALLOC(pes, p.slices, char, n *SLICE_NBYTES, 0);
	PES_ALLOC(pes, p.model, char, n *SLICE_NBYTES, 0);
	PES_ALLOC(pes, p.source, char, (size_t)THREADS *SOURCE_NBYTES, 0);
	PES_ALLOC(pes, p.fetched, char, (size_t)THREADS *SLICE_NBYTES, 0);
	PES_ALLOC(pes, p.seeds, uint64_t, THREADS, 0);
	for (i = 0; i < THREADS; i++)
		seeds[i] = (pes->seed * 64 + (uint64_t)pes->pe) * 2654435761u + i + 1;
	PES_TRY(pes, run_copy(p.seeds, seeds, sizeof(seeds)));
	PES_RUN(pes, soak_kernel, 1, THREADS, p);
	return compare(pes, &p);
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(soak)};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
