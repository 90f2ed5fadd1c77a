/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One kernel source for GPU and CPU. CUDA programs may as well use __global__ and <<<>>> directly;
 * what matters is that the parameters are one struct, taken by value as const __grid_constant__,
 * with the context as a member.
 *
 *	typedef struct { shmemd_ctx_t ctx; uint64_t *dst; } hello_t;
 *
 *	SHMEMD_KERNEL(hello, hello_t, p)
 *	{
 *		shmemd_p_u64(&p.ctx, p.dst, 42, (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx));
 *		shmemd_barrier(&p.ctx);
 *	}
 *	...
 *	status = shmemd_launch(hello, 1, 1, 0, stream, params);
 */
#ifndef SHMEMD_LAUNCH_H
#define SHMEMD_LAUNCH_H

#include <shmem_dev/arch/arch.h>

#if defined(__CUDACC__)

/* Define a kernel; the body follows and reads its parameters as members of p. May be launched with
 * up to 1024 threads per block: the compiler keeps to 64 registers per thread, and does not spill
 * to fit a second such block on an SM. A kernel that wants more declares itself with __global__ and
 * its own __launch_bounds__.
 *
 * name      the kernel, for shmemd_launch.
 * params_t  struct of at most 4 KB (CUDA's limit for parameters).
 */
#define SHMEMD_KERNEL(name, params_t, p)                                                           \
	__global__ void __launch_bounds__(1024, 1) name(const __grid_constant__ params_t p)

/* Block scratch: `type *name` points to n elements that the threads of a block share. At function
 * scope, n a constant; not initialised.
 */
#define SHMEMD_SHARED(type, n, name)                                                               \
	SHMEMD_BLOCK_LOCAL type name##_shared[n];                                                  \
	type *const name = name##_shared

#else

#define SHMEMD_KERNEL(name, params_t, p)                                                           \
	void name(const void *shmemd_params);                                                      \
	static void name##_body(const params_t p);                                                 \
	void name(const void *shmemd_params)                                                       \
	{                                                                                          \
		name##_body(*(const params_t *)shmemd_params);                                     \
	}                                                                                          \
	static void name##_body(const params_t p)

#define SHMEMD_SHARED(type, n, name)                                                               \
	static const char name##_key = 0;                                                          \
	type *const name = (type *)shmemsim_shared(&name##_key, (n) * sizeof(type))

#endif

/* Place of the calling thread: linear numbers, x fastest.
 *
 * Callers  any thread of a kernel.
 * Returns  index in its block; threads in its block; index of its block; blocks in the grid.
 */
SHMEMD_FN uint32_t shmemd_thread_index(void)
{
	return shmemd_arch_tid();
}

/* As above. */
SHMEMD_FN uint32_t shmemd_n_threads(void)
{
	return shmemd_arch_ntids();
}

/* As above. */
SHMEMD_FN uint32_t shmemd_block_index(void)
{
	return shmemd_arch_block();
}

/* As above. */
SHMEMD_FN uint32_t shmemd_n_blocks(void)
{
	return shmemd_arch_nblocks();
}

#if defined(__CUDACC_RTC__)
/* NVRTC compiles kernels only; its programs launch with the driver API. */
#elif defined(__CUDACC__)

typedef cudaStream_t shmemd_stream_t;

/* Start a kernel; does not wait.
 *
 * Callers        host. All blocks that wait for each other, directly or through another PE, must be
 *                resident at once. Unless every block sends before it waits, launch no more blocks
 *                than the GPU holds.
 * kernel         defined with SHMEMD_KERNEL.
 * n_blocks       blocks of n_threads threads (multiple of 32 if block or warp forms are used).
 * shared_nbytes  dynamic scratch per block.
 * stream         shmemd_stream_t; 0 (or NULL): the default one.
 * params         lvalue of the kernel's struct, copied.
 * Returns        0, or an error code: cudaError_t on GPUs, 1 on CPUs.
 */
#define shmemd_launch(kernel, n_blocks, n_threads, shared_nbytes, stream, params)                  \
	(kernel<<<(n_blocks), (n_threads), (shared_nbytes), (stream)>>>(params),                   \
	 (int)cudaGetLastError())

/* Wait until all kernels of the stream have ended; on a CPU this runs them.
 *
 * Callers  host.
 * Returns  0, or an error code as shmemd_launch, also one of the kernels themselves.
 */
static inline int shmemd_stream_sync(shmemd_stream_t stream)
{
	return (int)cudaStreamSynchronize(stream);
}

#else

typedef void *shmemd_stream_t;

#define shmemd_launch(kernel, n_blocks, n_threads, shared_nbytes, stream, params)                  \
	shmemsim_launch(kernel, &(params), sizeof(params), (n_blocks), (n_threads),                \
			(shared_nbytes), (stream))

static inline int shmemd_stream_sync(shmemd_stream_t stream)
{
	return shmemsim_sync(stream);
}

#endif

#endif
