/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* bench_ring: what host and kernels share. */
#ifndef BENCH_RING_RING_H
#define BENCH_RING_RING_H

#include "sink.h"

#define RING_DEPTH 1024u
#define RING_BATCH 32u
#define RING_HEAP_NBYTES ((uint64_t)1 << 20)
#define RING_WARP_NBYTES 8192u /* of the heap: what a warp writes to, and from where */
#define RING_QPN(channel) (0x100u + (channel))
#define RING_PE 1 /* behind the sink; the caller is PE 0 */

/* What one warp measured. */
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
	uint32_t n_warps;    /* that post */
	uint32_t n_channels; /* that they use: warp w the (w mod n_channels)th */
	uint32_t iters;      /* calls of each warp */
	uint32_t every;      /* doorbells: 0: the default rule; n: with every n-th call */
	uint32_t nbytes;     /* of a put */
} ring_args_t;

typedef void (*ring_kernel_t)(const ring_args_t);

/* A way to post. */
typedef struct ring_op {
	const char *name;
	ring_kernel_t kernel;
	uint32_t nbytes;
	uint32_t slots;   /* that one call takes: how many calls fit into a queue */
	uint32_t n_ops;   /* operations of one call */
	uint32_t n_every; /* of the values of `every` below that the call can do */
} ring_op_t;

extern const ring_op_t ring_ops[];
extern const uint32_t ring_n_ops;

/* Calls made once, for the table of WQEBBs. */
extern const ring_op_t ring_once[];
extern const uint32_t ring_n_once;

/* Channels on the sink, and the context that leads to them. */
typedef struct ring_queues {
	ring_args_t args;                      /* all but what a point sets */
	shmemd_ring_t *rings;                  /* device memory, [RING_MAX_CHANNELS] */
	char *wqes;                            /* [RING_MAX_CHANNELS][RING_DEPTH][64] */
	const char *place;                     /* where queues are: "host", "device" */
	shmemd_ring_t copy[RING_MAX_CHANNELS]; /* rings as of the last ring_queues_read */
} ring_queues_t;

/* Return 0, or 1 after a line. Nothing is ever freed: the process ends with it. */
int ring_queues_make(ring_queues_t *q, int is_pinned);
int ring_queues_read(ring_queues_t *q);

/* Launch and wait; what rings and the latch say afterwards is checked. */
int ring_launch(ring_queues_t *q, const ring_op_t *op);

/* A line for a CUDA error; 0 if there is none. */
int ring_failed(cudaError_t err, const char *what);

/* Fences, loads and atomics, one by one. */
int ring_fences(void);

/* System-scope atomics in pinned and in device memory, and beside the CPU's. */
int ring_atomics(void);

#endif
