// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Put and get bandwidth between PE 0, which calls, and PE 1: all iterations in one kernel, every
// block moves its part (block scope), or the blocks share one call (grid scope), then the whole
// grid meets.
#include "common/api_grid.h"
#include "common/bench.h"

#define THREADS 1024

template <bool IS_GET, bench_scope S>
static __global__ void __launch_bounds__(THREADS) bw_kernel(const __grid_constant__ bench_args_t p)
{
	const size_t part = p.nbytes / gridDim.x;
	char *dst = p.dst + blockIdx.x * part;
	const char *src = p.src + blockIdx.x * part;
	uint32_t round = 0;

	for (uint32_t i = 0; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		if constexpr (IS_GET && S == BENCH_GRID)
			bench_get_grid(&p.ctx, p.dst, p.src, p.nbytes, p.peer);
		else if constexpr (S == BENCH_GRID)
			bench_put_grid(&p.ctx, p.dst, p.src, p.nbytes, p.peer);
		else if constexpr (IS_GET)
			bench_get_nbi<BENCH_BLOCK>(&p.ctx, dst, src, part, p.peer);
		else
			bench_put_nbi<BENCH_BLOCK>(&p.ctx, dst, src, part, p.peer);
		bench_grid_sync(&p, ++round);
	}
	bench_note(&p, bench_quiet<BENCH_BLOCK>(&p.ctx));
	bench_grid_sync(&p, ++round);
	bench_end(&p);
}

template <bench_scope S> static bench_kernel_t bw_kernel_of(bool is_get)
{
	return is_get ? bw_kernel<true, S> : bw_kernel<false, S>;
}

static int bw_point(bench_t *b, bool is_get, bench_scope scope, size_t nbytes, uint32_t blocks)
{
	/* The clock may tick only once a microsecond: the spans should be some hundred us. */
	const uint32_t iters = nbytes <= (1u << 20) ? 200 : nbytes <= (4u << 20) ? 64 : 20;
	bench_point_t point = {};

	point.op = is_get ? "get_bw" : "put_bw";
	point.scope = scope;
	point.unit = BENCH_GB_S;
	point.kernel = scope == BENCH_GRID ? bw_kernel_of<BENCH_GRID>(is_get)
					   : bw_kernel_of<BENCH_BLOCK>(is_get);
	point.actors = 1;
	point.writers = is_get ? 0 : 1;
	point.readers = is_get ? 1 : 0;
	point.blocks = blocks;
	point.threads = THREADS;
	point.warm = 2;
	point.iters = iters;
	point.nbytes = nbytes;
	return bench_measure(b, &point);
}

static int bw_points(bench_t *b, bool is_get, size_t nbytes, uint32_t blocks)
{
	if (nbytes % (4 * blocks) != 0) /* the part of a block would not be whole words */
		return 0;
	if (bw_point(b, is_get, BENCH_BLOCK, nbytes, blocks))
		return 1;
	return BENCH_HAS_GRID && blocks > 1 && bw_point(b, is_get, BENCH_GRID, nbytes, blocks);
}

static int bw_all_points(bench_t *b, bool is_get)
{
	static const size_t own_nbytes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10,
					    1 << 20, 4 << 20,  16 << 20, 64 << 20};
	static const size_t own_blocks[] = {1, 4, 8, 16, 32, 64};
	const bench_list_t sizes = bench_sizes(b, own_nbytes);
	const bench_list_t blocks = bench_blocks(b, own_blocks);

	for (size_t i = 0; i < sizes.n; i++)
		for (size_t k = 0; k < blocks.n; k++)
			if (bw_points(b, is_get, sizes.values[i], (uint32_t)blocks.values[k]))
				return 1;
	return 0;
}

int bench_put_bw(bench_t *b)
{
	return bw_all_points(b, false);
}

int bench_get_bw(bench_t *b)
{
	return bw_all_points(b, true);
}
