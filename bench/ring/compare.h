/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* bench_ring --compare: bursts of posts by several posting sequences, measured in one run.
 *
 * A sequence is a file that defines one post_sequence_t. compare.cu lists them, launches each row
 * with each placement and shape, and divides the library's figures by those of the others. No
 * device consumes the WQEs: every launch begins with empty queues, which have room for the whole
 * burst. The doorbell is a word of pinned host memory in all rows: a store to it crosses PCIe like
 * a store to a NIC's register.
 *
 * This file does not depend on the library, so that a change of the library cannot change the rows
 * with which it is compared. */
#ifndef BENCH_RING_COMPARE_H
#define BENCH_RING_COMPARE_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#define POST_DEPTH 4096u /* WQEBBs of a queue */
#define POST_LOG_DEPTH 12u
#define POST_BURST 1024u /* operations on a queue in one launch */
#define POST_MAX_CHANNELS 32u
#define POST_MAX_WARPS 32u
#define POST_WQEBB_NBYTES 64u
#define POST_NBYTES 64u /* of a put */
#define POST_HEAP_NBYTES ((size_t)1 << 20)
#define POST_LOG_GRANULE 20u
#define POST_WARP_NBYTES 8192u /* bytes of the heap for one warp: its destination and its source */
/* Memory of one queue: WQEs, as many bytes for CQEs, and the doorbell record. */
#define POST_QUEUE_RECORD ((size_t)2 * POST_DEPTH * POST_WQEBB_NBYTES + 4)
#define POST_QUEUE_NBYTES ((size_t)2 * POST_DEPTH * POST_WQEBB_NBYTES + 4096)
#define POST_DOORBELL_STRIDE 128u
#define POST_QPN(channel) (0x100u + (channel))
#define POST_PE 1 /* target of puts; the caller is PE 0 */
#define POST_N_PES 2

/* Memory of one placement. Queues and records lie in device memory or in pinned host memory. */
typedef struct post_memory {
	int is_pinned;
	char *queues;    /* [POST_MAX_CHANNELS][POST_QUEUE_NBYTES] */
	char *doorbells; /* [POST_MAX_CHANNELS][POST_DOORBELL_STRIDE], pinned host memory */
	char *heap;      /* device memory */
} post_memory_t;

/* Channel k's WQEs, doorbell record and doorbell. */
static inline char *post_wqes(const post_memory_t *m, uint32_t k)
{
	return m->queues + k * POST_QUEUE_NBYTES;
}

static inline uint32_t *post_record(const post_memory_t *m, uint32_t k)
{
	return (uint32_t *)(post_wqes(m, k) + POST_QUEUE_RECORD);
}

static inline uint64_t *post_doorbell(const post_memory_t *m, uint32_t k)
{
	return (uint64_t *)(m->doorbells + POST_DOORBELL_STRIDE * k);
}

/* The measurement of one warp. */
typedef struct post_time {
	uint64_t begin_ns, end_ns;
	uint64_t cycles;
} post_time_t;

/* First parameter of every kernel. The second one is defined by the sequence. */
typedef struct post_args {
	char *heap;
	post_time_t *times;  /* [warps], pinned host memory */
	uint32_t n_channels; /* warp w uses channel w mod n_channels */
	uint32_t iters;      /* operations of each warp */
} post_args_t;

typedef enum post_op { POST_PUT, POST_P, POST_ADD, POST_PUT_SIGNAL } post_op_t;

typedef enum post_ringing {
	/* every operation asks for a doorbell before it returns; with the library one doorbell may
	 * be for several posters of a channel */
	POST_EACH,
	/* rings unless a later operation is reserved; rings at the end of each batch of 32 */
	POST_RULE,
	POST_EVERY_4TH,  /* the others defer the doorbell to a later operation */
	POST_EVERY_32ND, /* as above */
} post_ringing_t;

typedef enum post_record { POST_RECORD, POST_NO_RECORD } post_record_t;

/* Scope of the fences between a WQE, the doorbell record and the doorbell. */
typedef enum post_fences { POST_GPU, POST_SYSTEM } post_fences_t;

#define POST_ON_DEVICE 1u
#define POST_ON_HOST 2u
#define POST_ANYWHERE (POST_ON_DEVICE | POST_ON_HOST)

typedef struct post_row {
	post_op_t op;
	post_ringing_t ringing;
	post_record_t record;
	post_fences_t fences;
	unsigned places; /* POST_ON_DEVICE, POST_ON_HOST or both */
	/* __global__ void (const post_args_t, const TABLES), compiled for one warp and for
	 * POST_MAX_WARPS: with blocks of 1024 threads a kernel has 64 registers for each. */
	const void *kernel, *kernel_many;
} post_row_t;

typedef struct post_sequence {
	const char *name;
	const post_row_t *rows;
	uint32_t n_rows;
	uint32_t first; /* index of the first WQE of a burst; a multiple of POST_DEPTH */
	/* Empty n_channels queues for the row's record and fences. Returns the kernels' second
	 * parameter, or NULL after a line. */
	void *(*reset)(const post_memory_t *m, const post_row_t *row, uint32_t n_channels);
} post_sequence_t;

/* The library with its NIC path inline, and in its default form. */
extern const post_sequence_t post_by_library, post_by_library_call;
extern const post_sequence_t post_by_limit, post_by_deepep, post_by_nvshmem;
#ifdef BENCH_RING_NVSHMEM
extern const post_sequence_t post_by_header; /* NVSHMEM's own */
#endif

/* Print the table of all sequences and the ratios. Returns 0, or 1 after printing a line. */
int post_compare(void);

/* Memory for both sides or for the device alone, zeroed. NULL after a line. Never freed. */
void *post_alloc(size_t nbytes, int is_pinned);

/* Returns 1 after a line if err is an error. */
int post_failed(cudaError_t err, const char *what);

#ifdef __CUDACC__

static __device__ __forceinline__ uint64_t post_time_ns(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
	return ns;
}

static __device__ __forceinline__ uint32_t post_lane(void)
{
	uint32_t lane;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

/* The loop of every kernel: all lanes of each warp call post(i), and the warp's time is recorded.
 * Start times are kept in shared memory, so that they take no registers in the loop. */
template <typename F>
static __device__ __forceinline__ void post_burst(const post_args_t &p, F post)
{
	static __shared__ post_time_t begin[POST_MAX_WARPS];
	const uint32_t warp = threadIdx.x / 32;

	__syncthreads();
	if (post_lane() == 0) {
		begin[warp].begin_ns = post_time_ns();
		begin[warp].cycles = (uint64_t)clock64();
	}
	__syncwarp();
#pragma unroll 1
	for (uint32_t i = 0; i < p.iters; i++)
		post(i);
	if (post_lane() == 0) {
		p.times[warp].cycles = (uint64_t)clock64() - begin[warp].cycles;
		p.times[warp].end_ns = post_time_ns();
		p.times[warp].begin_ns = begin[warp].begin_ns;
	}
}

/* Both kernels of a row. */
#define POST_KERNELS(name) (const void *)name<32>, (const void *)name<32 * POST_MAX_WARPS>

/* A kernel of a sequence, for blocks of N threads. The call after `tables` may use i, lane, the
 * warp's channel, and the warp's memory: dst and src. */
#define POST_KERNEL(name, tables_t, tables, ...)                                                   \
	template <unsigned N>                                                                      \
	static __global__ void __launch_bounds__(N, 1) name(                                       \
		const __grid_constant__ post_args_t p, const __grid_constant__ tables_t tables)    \
	{                                                                                          \
		const uint32_t warp = threadIdx.x / 32, lane = post_lane();                        \
		const uint32_t channel = warp % p.n_channels;                                      \
		char *const dst = p.heap + POST_WARP_NBYTES * warp;                                \
		const char *const src = dst + POST_WARP_NBYTES / 2;                                \
                                                                                                   \
		(void)lane, (void)channel, (void)src;                                              \
		post_burst(p, [&](uint32_t i) {                                                    \
			(void)i;                                                                   \
			__VA_ARGS__;                                                               \
		});                                                                                \
	}

#endif

#endif
