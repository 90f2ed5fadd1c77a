// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Sync and barrier of all PEs, called back to back by one thread, warp or block of each.
#include "common/bench.h"

#define THREADS 1024
#define CHECK_ROUNDS 64

template <bench_scope S, bool IS_BARRIER> BENCH_FN int meet(const bench_args_t *p)
{
	if constexpr (IS_BARRIER)
		return bench_barrier<S>(&p->ctx);
	else
		return bench_sync<S>(&p->ctx);
}

template <bench_scope S, bool IS_BARRIER>
static __global__ void __launch_bounds__(THREADS)
	sync_kernel(const __grid_constant__ bench_args_t p)
{
	int status = 0;

	for (uint32_t i = 0; i < p.warm + p.iters && status == 0; i++) {
		if (i == p.warm)
			bench_begin(&p);
		status = meet<S, IS_BARRIER>(&p);
	}
	bench_end(&p);
	bench_note(&p, status);
}

/* Check that sync waits for all PEs. Before each sync a PE writes the round to all others, and one
 * PE, in turn, is late. A PE that returns from sync must see the round of every PE. */
template <bench_scope S, bool IS_BARRIER>
static __global__ void __launch_bounds__(THREADS) sync_check(const __grid_constant__ bench_args_t p)
{
	uint64_t *heard = &p.words[BENCH_WORD_CHECK];
	const uint64_t base = heard[p.ctx.my_pe];

	for (uint64_t round = 1; round <= CHECK_ROUNDS; round++) {
		if (threadIdx.x == 0) {
			const uint64_t begin = bench_time_ns();

			while (round % p.ctx.n_pes == (uint64_t)p.ctx.my_pe &&
			       bench_time_ns() - begin < 20000)
				;
			for (int pe = 0; pe < p.ctx.n_pes; pe++)
				bench_signal_set(&p.ctx, &heard[p.ctx.my_pe], base + round, pe);
			bench_note(&p, bench_quiet<BENCH_THREAD>(&p.ctx));
		}
		__syncthreads();
		bench_note(&p, meet<S, IS_BARRIER>(&p));
		for (int pe = threadIdx.x; pe < p.ctx.n_pes; pe += blockDim.x)
			if (((const volatile uint64_t *)heard)[pe] < base + round)
				atomicAdd(&p.result->misses, 1ull);
		__syncthreads();
	}
}

template <bench_scope S, bool IS_BARRIER> static int sync_point(bench_t *b, uint32_t threads)
{
	bench_point_t point = {};

	point.op = IS_BARRIER ? "barrier" : "sync";
	point.scope = S;
	point.unit = BENCH_US;
	point.kernel = sync_kernel<S, IS_BARRIER>;
	point.check = sync_check<S, IS_BARRIER>;
	point.actors = b->n_pes;
	point.blocks = 1;
	point.threads = threads;
	point.warm = 20;
	point.iters = 500;
	return bench_measure(b, &point);
}

template <bool IS_BARRIER> static int sync_points(bench_t *b)
{
	return sync_point<BENCH_THREAD, IS_BARRIER>(b, 1) ||
	       sync_point<BENCH_WARP, IS_BARRIER>(b, 32) ||
	       sync_point<BENCH_BLOCK, IS_BARRIER>(b, THREADS);
}

int bench_sync_latency(bench_t *b)
{
	return sync_points<false>(b);
}

int bench_barrier_latency(bench_t *b)
{
	return sync_points<true>(b);
}
