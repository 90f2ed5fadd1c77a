/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One measured point from start to printed row: fill, run, check what arrived, report. An operation
 * (put_bw.cu, ...) brings kernels and a list of points. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdio.h>
#include "lib.h"

/* What a launch leaves behind, in device memory. */
typedef struct bench_result {
	unsigned long long begin_ns; /* when the first counted iteration began */
	unsigned long long end_ns;   /* when the last one was complete */
	unsigned long long misses;   /* words that differ from what must be there */
	unsigned int status;         /* first non-zero status of a wait, quiet or sync */
	unsigned int arrived;        /* blocks, all rounds together: bench_grid_sync */
} bench_result_t;

/* The parameter struct of every kernel. */
typedef struct bench_args {
	bench_ctx_t ctx;
	char *src;       /* symmetric, BENCH_MAX_NBYTES */
	char *dst;       /* symmetric, BENCH_MAX_NBYTES + BENCH_GUARD_NBYTES */
	uint64_t *words; /* symmetric: BENCH_WORD_* */
	bench_result_t *result;
	size_t nbytes;
	uint32_t warm;  /* iterations before the clock starts */
	uint32_t iters; /* iterations between begin_ns and end_ns */
	uint64_t base;  /* signal values of this launch begin above it */
	uint32_t seed;  /* of the data: another one for each point */
	int peer;       /* whom this PE exchanges with */
} bench_args_t;

#define BENCH_MAX_NBYTES ((size_t)64 << 20)
#define BENCH_GUARD_NBYTES 4096

/* Indices into words, apart by a cache line. */
#define BENCH_WORD_FAILED 0
#define BENCH_WORD_SIGNAL 16
#define BENCH_WORD_CHECK 32 /* [pe] */
#define BENCH_WORDS(n_pes) (BENCH_WORD_CHECK + (n_pes))

typedef void (*bench_kernel_t)(const bench_args_t);

enum bench_unit {
	BENCH_US = 0,   /* microseconds for one iteration */
	BENCH_GB_S = 1, /* 1e9 bytes a second */
};

typedef struct bench_point {
	const char *op;
	bench_scope scope;
	bench_unit unit;
	bench_kernel_t kernel;
	bench_kernel_t check; /* run on every PE afterwards, adds to misses; NULL: none */
	int actors;           /* PEs that run the kernel: 0 .. actors - 1 */
	int writers;          /* PEs that put nbytes to their peer: 0 .. writers - 1 */
	bool signals;         /* the kernel counts up both actors' signal words */
	uint32_t blocks;
	uint32_t threads;
	uint32_t warm;
	uint32_t iters;
	size_t nbytes;
} bench_point_t;

typedef struct bench {
	bench_lib_t lib;
	bench_args_t args; /* what all points share */
	bench_point_t point;
	cudaStream_t stream;
	char gpu[256];
	FILE *json; /* one line a point; NULL: none */
	int my_pe;
	int n_pes;
	bool quick;
	int row; /* rows printed */
} bench_t;

/* Measure one point and print it. Collective. Returns 0, or 1 on every PE if any PE failed, after a
 * line on that PE's stderr. */
int bench_measure(bench_t *b, const bench_point_t *point);

/* The operations. Return as bench_measure. */
int bench_put_bw(bench_t *b);
int bench_put_latency(bench_t *b);
int bench_signal_pingpong(bench_t *b);
int bench_put_signal_pingpong(bench_t *b);
int bench_sync_latency(bench_t *b);

/* Start of the first counted iteration, and end of the last. Called by all threads of the grid,
 * which the caller has brought to this place. */
BENCH_FN void bench_begin(const bench_args_t *p)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		p->result->begin_ns = bench_time_ns();
}

BENCH_FN void bench_end(const bench_args_t *p)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		p->result->end_ns = bench_time_ns();
}

BENCH_FN void bench_note(const bench_args_t *p, int status)
{
	if (status != 0)
		atomicCAS(&p->result->status, 0u, (unsigned int)status);
}

/* The i-th 32-bit word that PE pe sends. */
BENCH_FN uint32_t bench_pattern(uint32_t seed, int pe, size_t i)
{
	return ((uint32_t)i + 1) * 2654435761u ^ (seed * 2246822519u + (uint32_t)pe * 3266489917u);
}

#endif
