/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A block multiplies one tile: bf16 inputs, float sums. The tile multiplies of 06_allgather_gemm
 * and 07_gemm_reducescatter; nothing here communicates.
 *
 *     sum[i][j] = a[i][0] * b[j][0] + ... + a[i][inner - 1] * b[j][inner - 1]
 *
 * with i and j below GEMM_TILE. In both inputs `inner` is fastest: b is a weight as
 * torch.nn.Linear keeps it, [columns][inner].
 *
 * On GPUs (sm_80 and later) by mma.sync.m16n8k16, of operands that cp.async brings to shared memory
 * two steps ahead. Why not CUTLASS: these two examples need nothing but this library and nvcc, and
 * a reader sees in one page where a tile begins and ends. mma.sync reaches a part of what wgmma
 * does on sm_90; a program that needs the rest puts its own tile multiply here. The order of
 * communication does not depend on it. On a CPU plain loops, and small tiles. */
#ifndef EXAMPLES_GEMM_H
#define EXAMPLES_GEMM_H

#include "run.h"

typedef uint16_t bf16_t; /* the upper half of a float */

/* 16 bytes of shared memory, aligned for cp.async, ldmatrix and the bulk-copy engine. */
typedef struct gemm_chunk {
	bf16_t v[8];
} __attribute__((aligned(16))) gemm_chunk_t;

/* GEMM_TILE     rows and columns of a tile
 * GEMM_THREADS  threads of a block
 * GEMM_STEP     elements of `inner` that a step multiplies; inner is a multiple of it
 * GEMM_SUMS     sums that a thread holds
 * GEMM_CHUNKS   shared memory of a block
 * GEMM_KERNEL   as SHMEMD_KERNEL, for blocks of GEMM_THREADS: on GPUs up to 128 registers a thread,
 *               two blocks on an SM, so that one multiplies while the other waits */
#ifdef __CUDACC__
#define GEMM_ON_GPU 1
#define GEMM_TILE 128
#define GEMM_THREADS 256
#define GEMM_STEP 32
#define GEMM_STAGES 3
#define GEMM_CHUNKS (GEMM_STAGES * 2 * GEMM_TILE * GEMM_STEP / 8)
#define GEMM_KERNEL(name, params_t, p)                                                             \
	__global__ void __launch_bounds__(GEMM_THREADS, 2) name(const __grid_constant__ params_t p)
#else
#define GEMM_ON_GPU 0
#define GEMM_TILE 16
#define GEMM_THREADS 64
#define GEMM_STEP 16
#define GEMM_CHUNKS (GEMM_TILE * GEMM_TILE / 8)
#define GEMM_KERNEL SHMEMD_KERNEL
#endif
#define GEMM_SUMS (GEMM_TILE * GEMM_TILE / GEMM_THREADS)

/* The sums of one thread. gemm_store defines which elements of the tile they are. */
typedef struct gemm_sums {
	float v[GEMM_SUMS];
} gemm_sums_t;

#ifdef __CUDACC__

/* Eight warps, in 2 rows of 4: each has 64 rows and 32 columns of the tile, as 4 x 4 pieces of 16
 * rows and 8 columns. */
SHMEMD_FN uint32_t gemm_warp_row(void)
{
	return shmemd_thread_index() / 32 / 4 * 64;
}

SHMEMD_FN uint32_t gemm_warp_column(void)
{
	return shmemd_thread_index() / 32 % 4 * 32;
}

/* Where chunk c of a row of GEMM_STEP elements lies: an XOR swizzle, so that the eight rows which
 * ldmatrix reads at once lie in different banks. */
SHMEMD_FN uint32_t gemm_place(uint32_t row, uint32_t c)
{
	return row * (GEMM_STEP / 8) + (c ^ (row / 2 % 4));
}

SHMEMD_FN uint32_t gemm_shared_address(const gemm_chunk_t *at)
{
	return (uint32_t)__cvta_generic_to_shared(at);
}

/* Past the L1 (.cg): an SM reads each chunk once, into shared memory. */
SHMEMD_FN void gemm_fetch(gemm_chunk_t *to, const bf16_t *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(gemm_shared_address(to)),
		     "l"(from)
		     : "memory");
}

/* Fetch one step of both inputs, as one group of cp.async; beyond `inner` the group is empty.
 * Thread t fetches chunk t % 4 of rows t / 4 and t / 4 + 64; a and b point to its first chunk of
 * step 0. */
SHMEMD_FN void gemm_fetch_step(gemm_chunk_t *shared, const bf16_t *a, const bf16_t *b,
			       uint32_t inner, uint32_t step)
{
	gemm_chunk_t *to = shared + step % GEMM_STAGES * (GEMM_CHUNKS / GEMM_STAGES) +
			   gemm_place(shmemd_thread_index() / 4, shmemd_thread_index() % 4);
	uint32_t k = step * GEMM_STEP, per_half = GEMM_TILE / 2 * GEMM_STEP / 8;

	if (k < inner) {
		gemm_fetch(to, a + k);
		gemm_fetch(to + per_half, a + k + (size_t)(GEMM_TILE / 2) * inner);
		gemm_fetch(to + 2 * per_half, b + k);
		gemm_fetch(to + 3 * per_half, b + k + (size_t)(GEMM_TILE / 2) * inner);
	}
	asm volatile("cp.async.commit_group;" ::: "memory");
}

SHMEMD_FN void gemm_load_matrices(uint32_t r[4], const gemm_chunk_t *at)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(gemm_shared_address(at))
		     : "memory");
}

SHMEMD_FN void gemm_mma(float d[4], const uint32_t a[4], const uint32_t b[2])
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
	    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Multiply 16 elements of `inner`, from chunk c on. A lane names one row of eight elements for
 * ldmatrix: lanes 0 to 7 those of the first matrix, and so on. */
SHMEMD_FN void gemm_multiply_16(gemm_sums_t *sums, const gemm_chunk_t *a, const gemm_chunk_t *b,
				uint32_t c)
{
	uint32_t lane = shmemd_thread_index() % 32, ra[4][4], rb[2][4], i, j;

#pragma unroll
	for (i = 0; i < 4; i++)
		gemm_load_matrices(
			ra[i], a + gemm_place(gemm_warp_row() + i * 16 + lane % 16, c + lane / 16));
#pragma unroll
	for (j = 0; j < 2; j++)
		gemm_load_matrices(rb[j], b + gemm_place(gemm_warp_column() + j * 16 +
								 lane / 16 * 8 + lane % 8,
							 c + lane / 8 % 2));
#pragma unroll
	for (i = 0; i < 4; i++) {
#pragma unroll
		for (j = 0; j < 4; j++)
			gemm_mma(sums->v + (i * 4 + j) * 4, ra[i], rb[j / 2] + j % 2 * 2);
	}
}

/* Multiply a tile; called by all threads of the block. shared: GEMM_CHUNKS that no thread
 * accesses any more; the same holds on return. */
SHMEMD_FN void gemm_multiply(gemm_sums_t *sums, const bf16_t *a, const bf16_t *b, uint32_t inner,
			     gemm_chunk_t *shared)
{
	uint32_t n_steps = inner / GEMM_STEP, step, i;
	size_t own = (size_t)(shmemd_thread_index() / 4) * inner + shmemd_thread_index() % 4 * 8;
	const gemm_chunk_t *stage;

#pragma unroll
	for (i = 0; i < GEMM_SUMS; i++)
		sums->v[i] = 0;
	a += own;
	b += own;
	for (step = 0; step < GEMM_STAGES - 1; step++)
		gemm_fetch_step(shared, a, b, inner, step);
	for (step = 0; step < n_steps; step++) {
		asm volatile("cp.async.wait_group %0;" ::"n"(GEMM_STAGES - 2) : "memory");
		/* All have this step, and have finished the one whose stage is fetched next. */
		shmemd_group_sync(shmemd_block());
		gemm_fetch_step(shared, a, b, inner, step + GEMM_STAGES - 1);
		stage = shared + step % GEMM_STAGES * (GEMM_CHUNKS / GEMM_STAGES);
#pragma unroll
		for (i = 0; i < GEMM_STEP / 8; i += 2)
			gemm_multiply_16(sums, stage, stage + GEMM_TILE * GEMM_STEP / 8, i);
	}
	shmemd_group_sync(shmemd_block());
}

/* Store the sums, rounded to bf16, to a tile whose rows are `stride` elements apart. */
SHMEMD_FN void gemm_store(const gemm_sums_t *sums, bf16_t *to, size_t stride)
{
	uint32_t lane = shmemd_thread_index() % 32, i, j, half, two;

#pragma unroll
	for (i = 0; i < 4; i++) {
#pragma unroll
		for (j = 0; j < 4; j++) {
#pragma unroll
			for (half = 0; half < 2; half++) {
				const float *v = sums->v + (i * 4 + j) * 4 + half * 2;
				size_t row = gemm_warp_row() + i * 16 + half * 8 + lane / 4;

				asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
				    : "=r"(two)
				    : "f"(v[1]), "f"(v[0]));
				*(uint32_t *)(to + row * stride + gemm_warp_column() + j * 8 +
					      lane % 4 * 2) = two;
			}
		}
	}
}

/* Nanoseconds, for time lines. */
SHMEMD_FN uint64_t gemm_now(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

#else

static inline float gemm_float(bf16_t v)
{
	union {
		uint32_t bits;
		float value;
	} u = {(uint32_t)v << 16};

	return u.value;
}

/* Round to nearest even; not for NaN. */
static inline bf16_t gemm_bf16(float v)
{
	union {
		float value;
		uint32_t bits;
	} u = {v};

	return (bf16_t)((u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16);
}

static inline void gemm_multiply(gemm_sums_t *sums, const bf16_t *a, const bf16_t *b,
				 uint32_t inner, gemm_chunk_t *shared)
{
	uint32_t i, k;

	(void)shared;
	for (i = 0; i < GEMM_SUMS; i++) {
		uint32_t at = shmemd_thread_index() + i * GEMM_THREADS;
		const bf16_t *row = a + (size_t)(at / GEMM_TILE) * inner;
		const bf16_t *column = b + (size_t)(at % GEMM_TILE) * inner;

		sums->v[i] = 0;
		for (k = 0; k < inner; k++)
			sums->v[i] += gemm_float(row[k]) * gemm_float(column[k]);
	}
}

static inline void gemm_store(const gemm_sums_t *sums, bf16_t *to, size_t stride)
{
	uint32_t i;

	for (i = 0; i < GEMM_SUMS; i++) {
		uint32_t at = shmemd_thread_index() + i * GEMM_THREADS;

		to[at / GEMM_TILE * stride + at % GEMM_TILE] = gemm_bf16(sums->v[i]);
	}
}

static inline uint64_t gemm_now(void)
{
	return (uint64_t)(run_time_us() * 1e3);
}

#endif

#endif
