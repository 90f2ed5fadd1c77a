/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One kernel source for GPU and CPU. CUDA programs may as well use __global__ and <<<>>> directly;
 * what matters is that the context is taken by value as const __grid_constant__: a parameter, or
 * a member of one. Such a kernel needs __launch_bounds__(threads of a block) if a block has more
 * than 256: without it the compiler may use up to 255 registers for a thread, and a multiprocessor
 * has 65,536, so a launch with more threads may fail (cudaErrorLaunchOutOfResources). Here the
 * parameters are one struct:
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

#include <shmem_dev/abi/status.h>
#include <shmem_dev/arch/arch.h>

#if defined(__CUDACC__)

/* Define a kernel; the body follows and reads its parameters as members of p. May be launched with
 * up to 1024 threads per block: the compiler keeps to 64 registers per thread, and does not spill
 * to fit a second such block on an SM. A kernel whose blocks are smaller, and may use more
 * registers, is declared with __global__ and __launch_bounds__ of its own.
 *
 * name      the kernel, for shmemd_launch.
 * params_t  struct of at most 4 KB, from CUDA 12.1 on 32764 bytes (CUDA's limit for parameters).
 */
#define SHMEMD_KERNEL(name, params_t, p)                                                           \
	__global__ void __launch_bounds__(1024, 1) name(const __grid_constant__ params_t p)

/* Shared memory of the block: `type *name` points to n elements that the threads of a block share.
 * At function scope, n a constant; not initialised.
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

/* Index of the calling thread in its block: a linear number, x fastest.
 *
 * Callers  any thread of a kernel.
 */
SHMEMD_FN uint32_t shmemd_thread_index(void)
{
	return shmemd_arch_tid();
}

/* Threads in the block of the calling thread. */
SHMEMD_FN uint32_t shmemd_n_threads(void)
{
	return shmemd_arch_ntids();
}

/* Index of the calling thread's block in the grid: a linear number, x fastest. */
SHMEMD_FN uint32_t shmemd_block_index(void)
{
	return shmemd_arch_block();
}

/* Blocks in the grid. */
SHMEMD_FN uint32_t shmemd_n_blocks(void)
{
	return shmemd_arch_nblocks();
}

#if defined(__CUDACC_RTC__)
/* NVRTC compiles kernels only; its programs launch with the driver API. */
#elif defined(__CUDACC__)
#include <stdio.h>

/* A CUDA stream; on a CPU a pointer that tells streams apart. */
typedef cudaStream_t shmemd_stream_t;

/* A cudaError_t as a status that shmemh_strerror tells apart from the others. */
static inline int shmemd_cuda_status(cudaError_t code)
{
	return code == cudaSuccess ? 0 : SHMEMD_STATUS_CUDA + (int)code;
}

/* As above, of a call that has just returned code. An error is returned here, so a later call of
 * cudaGetLastError does not return it again. */
static inline int shmemdi_cuda_returned(cudaError_t code)
{
	if (code != cudaSuccess)
		(void)cudaGetLastError();
	return shmemd_cuda_status(code);
}

/* Start a kernel; does not wait.
 *
 * Callers        host. All blocks that wait for each other, directly or through another PE, must be
 *                resident at once: launch no more blocks than the GPU holds. More are possible only
 *                if each block sends before it waits, and waits only for blocks of other PEs with
 *                its own number or a lower one. This relies on blocks being started in the order of
 *                their numbers, which GPUs do and CUDA does not promise.
 * kernel         defined with SHMEMD_KERNEL.
 * n_blocks       blocks of n_threads threads (multiple of 32 if block or warp forms are used).
 * shared_nbytes  bytes of dynamic shared memory per block. CUDA refuses more than 48 KiB, less what
 *                SHMEMD_SHARED takes, unless cudaFuncSetAttribute has raised the kernel's
 *                cudaFuncAttributeMaxDynamicSharedMemorySize.
 * stream         shmemd_stream_t; 0 (or NULL): the default one.
 * params         lvalue of the kernel's struct, copied.
 * Returns        0, or on GPUs SHMEMD_STATUS_CUDA + cudaError_t of this launch, on CPUs 1
 *                (shmemsim_report() says why).
 */
#define shmemd_launch(kernel, n_blocks, n_threads, shared_nbytes, stream, params)                  \
	((void)sizeof((kernel) == (void (*)(__typeof__(params)))0), /* do the types agree? */      \
	 shmemd_launch_of((const void *)(kernel), (n_blocks), (n_threads), (shared_nbytes),        \
			  (stream), (void *)&(params)))

/* As above, for the address of a kernel, and that of params. */
static inline int shmemd_launch_of(const void *kernel, uint32_t n_blocks, uint32_t n_threads,
				   size_t shared_nbytes, shmemd_stream_t stream, void *params)
{
	void *args[1] = {params};

	return shmemdi_cuda_returned(cudaLaunchKernel(kernel, dim3(n_blocks), dim3(n_threads), args,
						      shared_nbytes, stream));
}

/* Get the number of blocks of a kernel that the GPU holds at once while it runs nothing else.
 *
 * Callers        host.
 * kernel         defined with SHMEMD_KERNEL.
 * n_threads, shared_nbytes  of each block, as shmemd_launch.
 * n_blocks       receives the number: multiprocessors times blocks on each. On CPUs all blocks that
 *                the emulator accepts are resident.
 * Returns        0, or an error code as shmemd_launch.
 */
#define shmemd_resident_blocks(kernel, n_threads, shared_nbytes, n_blocks)                         \
	shmemd_resident_blocks_of((const void *)(kernel), (n_threads), (shared_nbytes), (n_blocks))

/* As above, for the address of a kernel. */
static inline int shmemd_resident_blocks_of(const void *kernel, uint32_t n_threads,
					    size_t shared_nbytes, uint32_t *n_blocks)
{
	int device, n_sms = 0, n_per_sm = 0;
	cudaError_t code = cudaGetDevice(&device);

	if (code == cudaSuccess)
		code = cudaDeviceGetAttribute(&n_sms, cudaDevAttrMultiProcessorCount, device);
	if (code == cudaSuccess)
		code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_per_sm, kernel,
								     (int)n_threads, shared_nbytes);
	*n_blocks = (uint32_t)(n_sms * n_per_sm);
	return shmemdi_cuda_returned(code);
}

/* As shmemd_launch, for a kernel whose blocks wait for each other, directly or through other PEs:
 * all of them are resident from the start, or nothing is launched. A cooperative launch; may be
 * captured into a graph.
 *
 * Callers        host.
 * kernel, n_blocks, n_threads, shared_nbytes, stream, params  as shmemd_launch.
 * Returns        as shmemd_launch. A grid that cannot be resident: SHMEMD_STATUS_CUDA +
 *                cudaErrorCooperativeLaunchTooLarge, after one line on stderr with both numbers.
 */
#define shmemd_launch_resident(kernel, n_blocks, n_threads, shared_nbytes, stream, params)         \
	((void)sizeof((kernel) == (void (*)(__typeof__(params)))0), /* do the types agree? */      \
	 shmemd_launch_resident_of((const void *)(kernel), #kernel, (n_blocks), (n_threads),       \
				   (shared_nbytes), (stream), (void *)&(params)))

/* As above, for the address and the name of a kernel, and the address of params. */
static inline int shmemd_launch_resident_of(const void *kernel, const char *name, uint32_t n_blocks,
					    uint32_t n_threads, size_t shared_nbytes,
					    shmemd_stream_t stream, void *params)
{
	void *args[1] = {params};
	uint32_t n_resident;
	int status = shmemd_resident_blocks_of(kernel, n_threads, shared_nbytes, &n_resident);

	if (status != 0)
		return status;
	if (n_blocks > n_resident) {
		fprintf(stderr,
			"shmemd_launch_resident: %s: %u blocks of %u threads, but this GPU holds "
			"%u at once: launch at most those (shmemd_resident_blocks)\n",
			name, n_blocks, n_threads, n_resident);
		return shmemd_cuda_status(cudaErrorCooperativeLaunchTooLarge);
	}
	return shmemdi_cuda_returned(cudaLaunchCooperativeKernel(
		kernel, dim3(n_blocks), dim3(n_threads), args, shared_nbytes, stream));
}

/* Wait until all kernels of the stream have ended; on a CPU this runs them.
 *
 * Callers  host.
 * Returns  0, or an error code as shmemd_launch, also one of the kernels themselves.
 */
static inline int shmemd_stream_sync(shmemd_stream_t stream)
{
	return shmemd_cuda_status(cudaStreamSynchronize(stream));
}

#else

typedef void *shmemd_stream_t;

#define shmemd_launch(kernel, n_blocks, n_threads, shared_nbytes, stream, params)                  \
	shmemsim_launch(kernel, &(params), sizeof(params), (n_blocks), (n_threads),                \
			(shared_nbytes), (stream))

/* The emulator keeps all blocks of a grid resident. */
#define SHMEMD_SIM_THREADS_MAX (1u << 22)
#define shmemd_resident_blocks(kernel, n_threads, shared_nbytes, n_blocks)                         \
	((void)(kernel), (void)(shared_nbytes),                                                    \
	 (*(n_blocks) = (n_threads) ? SHMEMD_SIM_THREADS_MAX / (uint32_t)(n_threads) : 0), 0)
#define shmemd_launch_resident shmemd_launch

static inline int shmemd_stream_sync(shmemd_stream_t stream)
{
	return shmemsim_sync(stream);
}

#endif

#endif
