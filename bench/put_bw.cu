// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Put bandwidth from PE 0 to PE 1, block scope: all iterations in one kernel, every block puts its
// part, then the whole grid meets.
#include "common/bench.h"

#define THREADS 1024

/* Barrier of all blocks of the grid; round counts from 1. One thread of each block updates the
 * word: the fence orders the block's puts before its arrival. */
static __device__ __forceinline__ void grid_sync(const bench_args_t *p, uint32_t round)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		const volatile unsigned int *arrived = &p->result->arrived;

		__threadfence();
		atomicAdd(&p->result->arrived, 1u);
		while (*arrived < round * gridDim.x)
			;
	}
	__syncthreads();
}

static __global__ void __launch_bounds__(THREADS)
	put_bw_kernel(const __grid_constant__ bench_args_t p)
{
	const size_t part = p.nbytes / gridDim.x;
	char *dst = p.dst + blockIdx.x * part;
	const char *src = p.src + blockIdx.x * part;
	uint32_t round = 0;

	for (uint32_t i = 0; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		bench_put_nbi<BENCH_BLOCK>(&p.ctx, dst, src, part, p.peer);
		grid_sync(&p, ++round);
	}
	bench_note(&p, bench_quiet<BENCH_BLOCK>(&p.ctx));
	grid_sync(&p, ++round);
	bench_end(&p);
}

static int put_bw_point(bench_t *b, size_t nbytes, uint32_t blocks)
{
	/* The clock may tick only once a microsecond: every measured span must exceed 300 us. */
	const uint32_t iters = nbytes <= (1u << 20) ? 200 : nbytes <= (4u << 20) ? 64 : 20;
	bench_point_t point = {};

	point.op = "put_bw";
	point.scope = BENCH_BLOCK;
	point.unit = BENCH_GB_S;
	point.kernel = put_bw_kernel;
	point.actors = 1;
	point.writers = 1;
	point.blocks = blocks;
	point.threads = THREADS;
	point.warm = 2;
	point.iters = iters;
	point.nbytes = nbytes;
	return bench_measure(b, &point);
}

int bench_put_bw(bench_t *b)
{
	static const uint32_t blocks[] = {1, 4, 8, 16, 32, 64};

	for (size_t nbytes = (size_t)64 << 10; nbytes <= BENCH_MAX_NBYTES; nbytes *= 4)
		for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
			if (put_bw_point(b, nbytes, blocks[i]))
				return 1;
	return 0;
}
