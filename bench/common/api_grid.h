/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Transfers that all blocks of the kernel make together, under one name for shmem_dev and for bare
 * kernels, as in api.h. NVSHMEM has no such calls. */
#ifndef BENCH_API_GRID_H
#define BENCH_API_GRID_H

#include "api.h"

#if defined(BENCH_NVSHMEM)

#define BENCH_HAS_GRID 0

BENCH_FN void bench_put_grid(const bench_ctx_t *, char *, const char *, size_t, int)
{
}

BENCH_FN void bench_get_grid(const bench_ctx_t *, char *, const char *, size_t, int)
{
}

#elif defined(BENCH_LIMIT)

#define BENCH_HAS_GRID 1

BENCH_FN void bench_put_grid(const bench_ctx_t *ctx, char *dst, const char *src, size_t nbytes,
			     int pe)
{
	const size_t part = nbytes / gridDim.x, at = blockIdx.x * part;

	bench_put_nbi<BENCH_BLOCK>(ctx, dst + at, src + at, part, pe);
}

BENCH_FN void bench_get_grid(const bench_ctx_t *ctx, char *dst, const char *src, size_t nbytes,
			     int pe)
{
	const size_t part = nbytes / gridDim.x, at = blockIdx.x * part;

	bench_get_nbi<BENCH_BLOCK>(ctx, dst + at, src + at, part, pe);
}

#else

#include <shmem_dev/grid.h>

#define BENCH_HAS_GRID 1

BENCH_FN void bench_put_grid(const bench_ctx_t *ctx, char *dst, const char *src, size_t nbytes,
			     int pe)
{
	shmemd_putmem_nbi_grid(ctx, shmemd_grid(), dst, src, nbytes, pe);
}

BENCH_FN void bench_get_grid(const bench_ctx_t *ctx, char *dst, const char *src, size_t nbytes,
			     int pe)
{
	shmemd_getmem_nbi_grid(ctx, shmemd_grid(), dst, src, nbytes, pe);
}

#endif

#endif
