// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Bandwidth from PE 0 to PE 1 by the bulk-copy engine, one warp in each block: put of memory
// through shared memory, and tiles of bf16 in shared memory that are added to what PE 1 holds.
#include "common/api_bulk.h"
#include "common/bench.h"

#define THREADS 32
#define TILE_NBYTES 16384
#define TILE_NELEMS (TILE_NBYTES / 2)

extern __shared__ __align__(128) char shared[];

static __global__ void __launch_bounds__(THREADS)
	put_bulk_kernel(const __grid_constant__ bench_args_t p)
{
	const size_t part = p.nbytes / gridDim.x;
	char *dst = p.dst + blockIdx.x * part;
	const char *src = p.src + blockIdx.x * part;
	uint32_t round = 0;

	for (uint32_t i = 0; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		bench_put_bulk(&p.ctx, dst, src, part, p.peer, shared);
		bench_grid_sync(&p, ++round);
	}
	bench_note(&p, bench_quiet<BENCH_WARP>(&p.ctx));
	bench_grid_sync(&p, ++round);
	bench_end(&p);
}

/* The bits of the i-th element of a tile, 1 .. 16 and exact. */
BENCH_FN uint32_t tile_element(uint32_t i)
{
	return __float_as_uint((float)(i % 16 + 1)) >> 16;
}

/* Two tiles, of which one undoes what the other adds, so that all sums are exact: after a launch
 * each element has grown by that of the tile, because the number of iterations is odd. */
static __global__ void __launch_bounds__(THREADS)
	add_tile_kernel(const __grid_constant__ bench_args_t p)
{
	const size_t part = p.nbytes / gridDim.x;
	const uint32_t warm = p.warm + (p.warm + p.iters + 1) % 2;
	uint16_t *tiles = (uint16_t *)(void *)shared;
	char *dst = p.dst + blockIdx.x * part;
	uint32_t round = 0;

	for (uint32_t i = threadIdx.x; i < TILE_NELEMS; i += THREADS) {
		tiles[i] = (uint16_t)tile_element(i);
		tiles[TILE_NELEMS + i] = (uint16_t)(tile_element(i) | 0x8000);
	}
	__syncwarp();
	for (uint32_t i = 0; i < warm + p.iters; i++) {
		if (i == warm)
			bench_begin(&p);
		for (size_t at = 0; at < part; at += TILE_NBYTES) {
			bench_tile_wait_read();
			bench_add_tile(&p.ctx, dst + at, shared + i % 2 * TILE_NBYTES, TILE_NBYTES,
				       p.peer);
		}
		bench_tile_wait();
		bench_grid_sync(&p, ++round);
	}
	bench_note(&p, bench_quiet<BENCH_WARP>(&p.ctx));
	bench_grid_sync(&p, ++round);
	bench_end(&p);
}

/* On the PE that received: each element is the same multiple of that of the tile, not 0. */
static __global__ void add_tile_check(const __grid_constant__ bench_args_t p)
{
	const uint16_t *dst = (const uint16_t *)(const void *)p.dst;
	const float times = __uint_as_float((uint32_t)dst[0] << 16);

	if (p.ctx.my_pe != 1)
		return;
	for (size_t i = threadIdx.x; i < p.nbytes / 2; i += blockDim.x)
		if (__uint_as_float((uint32_t)dst[i] << 16) != times * (float)(i % 16 + 1) ||
		    times < 1)
			atomicAdd(&p.result->misses, 1ull);
}

static int has_engine(void)
{
	int device = 0, major = 0;

	return cudaGetDevice(&device) == cudaSuccess &&
	       cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
		       cudaSuccess &&
	       major >= 9;
}

static int bulk_points(bench_t *b, bool is_add)
{
	static const size_t own_nbytes[] = {1 << 20, 8 << 20, 64 << 20};
	static const size_t own_blocks[] = {1, 4, 16};
	const bench_list_t sizes = bench_sizes(b, own_nbytes);
	const bench_list_t blocks = bench_blocks(b, own_blocks);
	bench_point_t point = {};

	if (!BENCH_HAS_BULK || !has_engine())
		return 0;
	point.op = is_add ? "add_tile_bw" : "put_bulk_bw";
	point.scope = BENCH_WARP;
	point.unit = BENCH_GB_S;
	point.kernel = is_add ? add_tile_kernel : put_bulk_kernel;
	point.check = is_add ? add_tile_check : NULL;
	point.actors = 1;
	point.writers = is_add ? 0 : 1;
	point.threads = THREADS;
	point.shared_nbytes = is_add ? 2 * TILE_NBYTES : BENCH_BULK_NBYTES;
	point.warm = 2;
	for (size_t i = 0; i < sizes.n; i++)
		for (size_t k = 0; k < blocks.n; k++) {
			point.blocks = (uint32_t)blocks.values[k];
			point.nbytes = sizes.values[i];
			point.iters = point.nbytes > (8u << 20) ? 21 : 101;
			/* Each block has a part of whole tiles, or of whole units of the engine. */
			if (point.nbytes % ((is_add ? TILE_NBYTES : 16) * point.blocks) == 0 &&
			    bench_measure(b, &point))
				return 1;
		}
	return 0;
}

int bench_put_bulk_bw(bench_t *b)
{
	return bulk_points(b, false);
}

int bench_add_tile_bw(bench_t *b)
{
	return bulk_points(b, true);
}
