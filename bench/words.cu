// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Single words from PE 0 to PE 1: latency of p with quiet, g and fetch_add by one thread; rates of
// p and of a non-fetching add by a thread and by a block. Each thread has its own word for p, and
// all add to one.
#include "common/bench.h"

#define THREADS 1024

enum { P, G, FETCH };

template <int OP> static __global__ void word_latency_kernel(const __grid_constant__ bench_args_t p)
{
	uint64_t *word = &p.words[BENCH_WORD_ATOMIC];
	uint64_t first = 0, old = 0;
	uint32_t i = 0;
	int status = 0;

	if constexpr (OP == FETCH)
		bench_note(&p, bench_fetch_add(&p.ctx, &first, word, 0, p.peer));
	for (; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		if constexpr (OP == P) {
			bench_p(&p.ctx, (uint64_t *)p.dst, *(const uint64_t *)p.src, p.peer);
			bench_keep(&status, bench_quiet<BENCH_THREAD>(&p.ctx));
		} else if constexpr (OP == G) {
			shmemd_arch_fence_acquire(); /* or the L1 may still have the word */
			bench_keep(&status, bench_g(&p.ctx, &old, (const uint64_t *)p.src, p.peer));
			*(uint64_t *)p.dst = old;
		} else {
			bench_keep(&status, bench_fetch_add(&p.ctx, &old, word, 1, p.peer));
			if (old != first + i)
				atomicAdd(&p.result->misses, 1ull);
		}
	}
	bench_end(&p);
	bench_note(&p, status);
}

static int word_latency(bench_t *b, const char *op, bench_kernel_t kernel, int writers, int readers)
{
	bench_point_t point = {};

	point.op = op;
	point.scope = BENCH_THREAD;
	point.unit = BENCH_US;
	point.kernel = kernel;
	point.actors = 1;
	point.writers = writers;
	point.readers = readers;
	point.blocks = 1;
	point.threads = 1;
	point.warm = 20;
	point.iters = 500;
	point.nbytes = sizeof(uint64_t);
	return bench_measure(b, &point);
}

int bench_p_latency(bench_t *b)
{
	return word_latency(b, "p_latency", word_latency_kernel<P>, 1, 0);
}

int bench_g_latency(bench_t *b)
{
	return word_latency(b, "g_latency", word_latency_kernel<G>, 0, 1);
}

int bench_fetch_latency(bench_t *b)
{
	return word_latency(b, "fetch_latency", word_latency_kernel<FETCH>, 0, 0);
}

/* A quiet of all threads of the block, or of the only one. */
BENCH_FN int quiet(const bench_args_t *p)
{
	return blockDim.x == 1 ? bench_quiet<BENCH_THREAD>(&p->ctx)
			       : bench_quiet<BENCH_BLOCK>(&p->ctx);
}

/* Each thread writes its word of dst in each iteration. */
template <int N>
static __global__ void __launch_bounds__(N) p_rate_kernel(const __grid_constant__ bench_args_t p)
{
	uint64_t *dst = (uint64_t *)p.dst + threadIdx.x;
	const uint64_t value = ((const uint64_t *)p.src)[threadIdx.x];

	for (uint32_t i = 0; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		bench_p(&p.ctx, dst, value, p.peer);
	}
	bench_note(&p, quiet(&p));
	bench_end(&p);
}

/* All threads add to one word, which has grown by as many at the end. */
template <int N>
static __global__ void __launch_bounds__(N) add_rate_kernel(const __grid_constant__ bench_args_t p)
{
	uint64_t *word = &p.words[BENCH_WORD_ATOMIC];
	uint64_t first = 0, last = 0;

	if (threadIdx.x == 0)
		bench_note(&p, bench_fetch_add(&p.ctx, &first, word, 0, p.peer));
	__syncthreads();
	for (uint32_t i = 0; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		bench_add(&p.ctx, word, 1, p.peer);
	}
	bench_note(&p, quiet(&p));
	bench_end(&p);
	if (threadIdx.x != 0)
		return;
	bench_note(&p, bench_fetch_add(&p.ctx, &last, word, 0, p.peer));
	if (last - first != (uint64_t)(p.warm + p.iters) * blockDim.x)
		atomicAdd(&p.result->misses, 1ull);
}

static int rate_point(bench_t *b, const char *op, bench_kernel_t kernel, int writers,
		      uint32_t threads)
{
	bench_point_t point = {};

	point.op = op;
	point.scope = BENCH_THREAD;
	point.unit = BENCH_M_S;
	point.kernel = kernel;
	point.actors = 1;
	point.writers = writers;
	point.blocks = 1;
	point.threads = threads;
	point.warm = 20;
	point.iters = threads == 1 ? 5000 : 2000;
	point.nbytes = threads * sizeof(uint64_t);
	return bench_measure(b, &point);
}

int bench_p_rate(bench_t *b)
{
	return rate_point(b, "p_rate", p_rate_kernel<1>, 1, 1) ||
	       rate_point(b, "p_rate", p_rate_kernel<THREADS>, 1, THREADS);
}

int bench_add_rate(bench_t *b)
{
	return rate_point(b, "add_rate", add_rate_kernel<1>, 0, 1) ||
	       rate_point(b, "add_rate", add_rate_kernel<THREADS>, 0, THREADS);
}
