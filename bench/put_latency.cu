// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Put and quiet from PE 0 to PE 1, one at a time, by one warp or one block.
#include "common/bench.h"

#define THREADS 1024

template <bench_scope S>
static __global__ void __launch_bounds__(S == BENCH_WARP ? 32 : THREADS)
	put_latency_kernel(const __grid_constant__ bench_args_t p)
{
	for (uint32_t i = 0; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		bench_put<S>(&p.ctx, p.dst, p.src, p.nbytes, p.peer);
		bench_note(&p, bench_quiet<S>(&p.ctx));
	}
	bench_end(&p);
}

static int put_latency_point(bench_t *b, bench_scope scope, size_t nbytes)
{
	bench_point_t point = {};

	point.op = "put_latency";
	point.scope = scope;
	point.unit = BENCH_US;
	point.kernel = scope == BENCH_WARP ? put_latency_kernel<BENCH_WARP>
					   : put_latency_kernel<BENCH_BLOCK>;
	point.actors = 1;
	point.writers = 1;
	point.blocks = 1;
	point.threads = scope == BENCH_WARP ? 32 : THREADS;
	point.warm = 20;
	point.iters = nbytes <= (16u << 10) ? 500 : 100;
	point.nbytes = nbytes;
	return bench_measure(b, &point);
}

int bench_put_latency(bench_t *b)
{
	static const size_t warp_nbytes[] = {8, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10};
	static const size_t block_nbytes[] = {8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20};

	for (size_t i = 0; i < sizeof(warp_nbytes) / sizeof(warp_nbytes[0]); i++)
		if (put_latency_point(b, BENCH_WARP, warp_nbytes[i]))
			return 1;
	for (size_t i = 0; i < sizeof(block_nbytes) / sizeof(block_nbytes[0]); i++)
		if (put_latency_point(b, BENCH_BLOCK, block_nbytes[i]))
			return 1;
	return 0;
}
