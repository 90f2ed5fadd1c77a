/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* bench_ring: definitions that host and kernels share. */
#ifndef BENCH_RING_RING_H
#define BENCH_RING_RING_H

#include "sink.h"

#define RING_LOG_DEPTH 10u /* of the queues on the sink */
#define RING_DEPTH (1u << RING_LOG_DEPTH)
#define RING_LOG_BATCH 5u
#define RING_LOG_GRANULE 20u
#define RING_HEAP_NBYTES ((uint64_t)1 << RING_LOG_GRANULE)
#define RING_WARP_NBYTES 8192u /* bytes of the heap for one warp: its destination and its source */
#define RING_QPN(channel) (0x100u + (channel))
#define RING_PE 1 /* the PE that the sink stands for; the caller is PE 0 */

/* The measurement of one warp. */
typedef struct ring_time {
	uint64_t begin_ns, end_ns;
	uint64_t cycles;
} ring_time_t;

/* The parameter struct of every kernel. Block 0 is the sink, block 1 posts. */
typedef struct ring_args {
	shmemd_ctx_t ctx;
	ring_sink_t *sinks; /* [channels] */
	ring_time_t *times; /* [warps] */
	uint32_t *stop;
	uint32_t *status;    /* first failure of a quiet */
	uint32_t n_warps;    /* warps that post */
	uint32_t n_channels; /* channels that they use: warp w uses channel w mod n_channels */
	uint32_t iters;      /* calls of each warp */
	uint32_t every;      /* doorbells: 0: the default rule; n: with every n-th call */
	uint32_t nbytes;     /* bytes of a put */
} ring_args_t;

typedef void (*ring_kernel_t)(const ring_args_t);

/* A way to post. */
typedef struct ring_op {
	const char *name;
	ring_kernel_t kernel;
	uint32_t nbytes;
	uint32_t wqebbs;  /* WQEBBs of one call, for the number of calls that fit into a queue */
	uint32_t n_ops;   /* operations of one call */
	uint32_t n_every; /* number of values of `every` below that the call supports */
} ring_op_t;

extern const ring_op_t ring_ops[];
extern const uint32_t ring_n_ops;

/* Calls made once, for the table of WQEBBs. */
extern const ring_op_t ring_once[];
extern const uint32_t ring_n_once;

/* Memory of the queues of RING_MAX_CHANNELS channels. */
typedef struct ring_memory {
	char *queues;    /* page-aligned, in device memory or in pinned host memory */
	char *doorbells; /* pinned host memory */
	char *heap;      /* device memory, RING_HEAP_NBYTES */
	size_t queue_nbytes, doorbell_nbytes;
	uint32_t log_depth;
} ring_memory_t;

/* Channels, and the context that refers to them. */
typedef struct ring_queues {
	ring_args_t args; /* all arguments, except those that a point sets */
	ring_memory_t memory;
	const char *place;                        /* where queues are: "host", "device" */
	shmemd_channel_t copy[RING_MAX_CHANNELS]; /* as of the last ring_queues_read */
} ring_queues_t;

/* Return 0, or 1 after printing a line. Memory is never freed: it ends with the process. */

/* Queues for the sink. Those in device memory have SHMEMD_CTX_NIC_GPU_SCOPE. */
int ring_queues_make(ring_queues_t *q, int is_pinned);

/* Make queues in the given memory. */
int ring_queues_make_in(ring_queues_t *q, const ring_memory_t *m);

/* Put the channels into the state after n WQEBBs, each of which requested a CQE: published and
 * rung, and no CQE read. Does not change the sinks and the memory of the queues. ctx_flags:
 * SHMEMD_CTX_NIC_GPU_SCOPE or 0; path_flags: SHMEMD_PATH_*. */
int ring_queues_reset(ring_queues_t *q, uint32_t ctx_flags, uint32_t path_flags, uint32_t n);

/* Read the words of the channels into q->copy. */
int ring_queues_read(ring_queues_t *q);

/* At least nbytes of pinned host memory or of device memory, each byte `fill`; ends the process
 * after a line if there is none. */
void *ring_alloc(size_t nbytes, int is_pinned, int fill);

/* Launch and wait; checks the statuses of the quiets and the error record. */
int ring_launch(ring_queues_t *q, const ring_op_t *op);
int ring_check(const ring_queues_t *q, const char *what);

/* Print a line for a CUDA error; returns 0 if there is none. */
int ring_failed(cudaError_t err, const char *what);

/* The cost of a wait whose CQE has already arrived. */
int ring_waits(void);

/* Fences, loads and atomics, one by one. */
int ring_fences(void);

/* System-scope atomics in pinned and in device memory, and concurrently with atomics of the CPU. */
int ring_atomics(void);

#endif
