/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Transfers by the bulk-copy engine of sm_90, by a warp, under one name for shmem_dev and for bare
 * kernels, as in api.h. NVSHMEM has no such calls. */
#ifndef BENCH_API_BULK_H
#define BENCH_API_BULK_H

#include "api.h"

#define BENCH_BULK_BUFFERS 8
#define BENCH_BULK_BUFFER_NBYTES 8192
#define BENCH_BULK_NBYTES (BENCH_BULK_BUFFERS * (8 + BENCH_BULK_BUFFER_NBYTES))

#if defined(BENCH_NVSHMEM)

#define BENCH_HAS_BULK 0

BENCH_FN void bench_put_bulk(const bench_ctx_t *, char *, const char *, size_t, int, char *)
{
}

BENCH_FN void bench_add_tile(const bench_ctx_t *, char *, const char *, uint32_t, int)
{
}

BENCH_FN void bench_tile_wait_read(void)
{
}

BENCH_FN void bench_tile_wait(void)
{
}

#elif defined(BENCH_LIMIT)

#define BENCH_HAS_BULK 1
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BENCH_BULK_ASM(...) /* the bench measures none of this there */
#else
#define BENCH_BULK_ASM(...) asm volatile(__VA_ARGS__)
#endif

BENCH_FN uint32_t bench_in_shared(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

BENCH_FN void bench_bulk_load(uint32_t to, const char *from, uint32_t bar)
{
	BENCH_BULK_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
		       "r"(BENCH_BULK_BUFFER_NBYTES)
		       : "memory");
	BENCH_BULK_ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		       "[%0], [%1], %2, [%3];" ::"r"(to),
		       "l"(from), "r"(BENCH_BULK_BUFFER_NBYTES), "r"(bar)
		       : "memory");
}

BENCH_FN void bench_bulk_loaded(uint32_t bar, uint32_t parity)
{
	uint32_t is_over = 1;

	do {
		BENCH_BULK_ASM("{ .reg .pred over;\n"
			       "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
			       "selp.u32 %0, 1, 0, over; }"
			       : "=r"(is_over)
			       : "r"(bar), "r"(parity)
			       : "memory");
	} while (!is_over);
}

/* n whole buffers. On return all of it is written at the target: that takes the round trip which a
 * put and a quiet take. Three quarters of the buffers are filled ahead. */
BENCH_FN void bench_bulk_pipe(char *to, const char *from, uint32_t n, char *shared)
{
	constexpr uint32_t N = BENCH_BULK_BUFFERS, AHEAD = N * 3 / 4;
	const uint32_t bars = bench_in_shared(shared), buffers = bars + N * 8;

	for (uint32_t i = 0; i < N; i++)
		BENCH_BULK_ASM("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bars + i * 8)
			       : "memory");
	BENCH_BULK_ASM("fence.proxy.async;" ::: "memory");
	for (uint32_t i = 0; i < AHEAD && i < n; i++)
		bench_bulk_load(buffers + i * BENCH_BULK_BUFFER_NBYTES,
				from + (size_t)i * BENCH_BULK_BUFFER_NBYTES, bars + i * 8);
#pragma unroll 1
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = i % N, next = i + AHEAD;

		bench_bulk_loaded(bars + at * 8, i / N & 1);
		BENCH_BULK_ASM("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
				       to + (size_t)i * BENCH_BULK_BUFFER_NBYTES),
			       "r"(buffers + at * BENCH_BULK_BUFFER_NBYTES),
			       "r"(BENCH_BULK_BUFFER_NBYTES)
			       : "memory");
		BENCH_BULK_ASM("cp.async.bulk.commit_group;" ::: "memory");
		if (next < n) {
			BENCH_BULK_ASM("cp.async.bulk.wait_group.read 2;" ::: "memory");
			bench_bulk_load(buffers + next % N * BENCH_BULK_BUFFER_NBYTES,
					from + (size_t)next * BENCH_BULK_BUFFER_NBYTES,
					bars + next % N * 8);
		}
	}
	BENCH_BULK_ASM("cp.async.bulk.wait_group 0;" ::: "memory");
	for (uint32_t i = 0; i < N; i++)
		BENCH_BULK_ASM("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bars + i * 8)
			       : "memory");
}

BENCH_FN void bench_put_bulk(const bench_ctx_t *ctx, char *dst, const char *src, size_t nbytes,
			     int pe, char *shared)
{
	if (threadIdx.x % 32 == 0)
		bench_bulk_pipe(bench_at(ctx, dst, pe), src,
				(uint32_t)(nbytes / BENCH_BULK_BUFFER_NBYTES), shared);
	__syncwarp();
}

BENCH_FN void bench_add_tile(const bench_ctx_t *ctx, char *dst, const char *tile, uint32_t nbytes,
			     int pe)
{
	BENCH_BULK_ASM("fence.proxy.async.shared::cta;" ::: "memory");
	__syncwarp();
	if (threadIdx.x % 32 != 0)
		return;
	BENCH_BULK_ASM("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 "
		       "[%0], [%1], %2;" ::"l"(bench_at(ctx, dst, pe)),
		       "r"(bench_in_shared(tile)), "r"(nbytes)
		       : "memory");
	BENCH_BULK_ASM("cp.async.bulk.commit_group;" ::: "memory");
}

BENCH_FN void bench_tile_wait_read(void)
{
	if (threadIdx.x % 32 == 0)
		BENCH_BULK_ASM("cp.async.bulk.wait_group.read 1;" ::: "memory");
	__syncwarp();
}

BENCH_FN void bench_tile_wait(void)
{
	if (threadIdx.x % 32 == 0)
		BENCH_BULK_ASM("cp.async.bulk.wait_group 0;" ::: "memory");
	__syncwarp();
}

#else

#include <shmem_dev/bulk.h>

#define BENCH_HAS_BULK 1

BENCH_FN void bench_put_bulk(const bench_ctx_t *ctx, char *dst, const char *src, size_t nbytes,
			     int pe, char *shared)
{
	shmemd_putmem_bulk_warp(ctx, dst, src, nbytes, pe, shared, BENCH_BULK_NBYTES);
}

BENCH_FN void bench_add_tile(const bench_ctx_t *ctx, char *dst, const char *tile, uint32_t nbytes,
			     int pe)
{
	shmemd_add_tile_bulk_warp(ctx, dst, tile, nbytes / 2, SHMEMD_BULK_BF16, pe);
}

BENCH_FN void bench_tile_wait_read(void)
{
	shmemd_bulk_wait_read_warp(1);
}

BENCH_FN void bench_tile_wait(void)
{
	shmemd_bulk_wait_warp();
}

#endif

#endif
