/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One measured point from start to printed row: fill, run, check the received data, report. An
 * operation (put_bw.cu, ...) provides kernels and a list of points. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdio.h>
#include "lib.h"

/* The results of a launch, in device memory. */
typedef struct bench_result {
	unsigned long long begin_ns; /* time at which the first counted iteration began */
	unsigned long long end_ns;   /* time at which the last one was complete */
	unsigned long long misses;   /* words with a wrong value */
	unsigned int status;         /* first non-zero status of a wait, quiet or sync */
	unsigned int arrived;        /* bench_grid_sync: arrived blocks, summed over all rounds */
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
	uint64_t base;  /* signal values of this launch are greater than this */
	uint32_t seed;  /* seed of the data: different for each point */
	int peer;       /* the PE with which this PE exchanges data */
} bench_args_t;

#define BENCH_MAX_NBYTES ((size_t)64 << 20)
#define BENCH_GUARD_NBYTES 4096

/* Indices into words, one cache line apart. */
#define BENCH_WORD_FAILED 0
#define BENCH_WORD_SIGNAL 16
#define BENCH_WORD_ATOMIC 32
#define BENCH_WORD_PACKED 48 /* 16 bytes */
#define BENCH_WORD_OUT 64
#define BENCH_WORD_CHECK 80 /* [pe] */
#define BENCH_WORDS(n_pes) (BENCH_WORD_CHECK + (n_pes))

typedef void (*bench_kernel_t)(const bench_args_t);

enum bench_unit {
	BENCH_US = 0,   /* microseconds for one iteration */
	BENCH_GB_S = 1, /* 1e9 bytes a second */
	BENCH_M_S = 2,  /* 1e6 operations of 8 bytes a second: nbytes is theirs in an iteration */
};

typedef struct bench_point {
	const char *op;
	bench_scope scope;
	bench_unit unit;
	bench_kernel_t kernel;
	bench_kernel_t check; /* runs on every PE after the launch and adds to misses; NULL: none */
	int actors;           /* number of PEs that run the kernel: 0 .. actors - 1 */
	int writers;          /* number of PEs that put nbytes to their peer: 0 .. writers - 1 */
	int readers;          /* number of PEs that get nbytes from their peer: 0 .. readers - 1 */
	bool signals;         /* the kernel sets both actors' signal words, each time to one more */
	uint32_t blocks;
	uint32_t threads;
	uint32_t shared_nbytes; /* dynamic shared memory of a block */
	uint32_t warm;
	uint32_t iters;
	size_t nbytes;
} bench_point_t;

/* What the command line sets for the points of all operations. */
typedef struct bench_choice {
	/* Sizes min_nbytes, min_nbytes * factor, ... up to max_nbytes; factor 0: the operations'
	 * own sizes. */
	size_t min_nbytes, max_nbytes, factor;
	size_t blocks;  /* 0: the operations' own numbers */
	size_t threads; /* of a block in block and grid scope; 0: the operations' own */
	size_t iters;   /* 0: the operations' own */
	size_t warm;    /* if sets_warm */
	size_t scope;   /* if sets_scope: measure the points of this bench_scope alone */
	bool sets_warm, sets_scope;
} bench_choice_t;

typedef struct bench {
	bench_lib_t lib;
	bench_args_t args; /* arguments that all points share */
	bench_point_t point;
	cudaStream_t stream;
	char gpu[256];
	FILE *json; /* one line for each point; NULL: none */
	int my_pe;
	int n_pes;
	bench_choice_t choice;
	bool quick;
	int row; /* number of printed rows */
} bench_t;

typedef struct bench_list {
	size_t n;
	size_t values[32];
} bench_list_t;

extern const char *const bench_scope_names[BENCH_N_SCOPES];

/* The sizes, or numbers of blocks, that an operation measures: what the command line chose, or the
 * operation's own. */
bench_list_t bench_sizes_of(const bench_t *b, const size_t *own, size_t n_own);
bench_list_t bench_blocks_of(const bench_t *b, const size_t *own, size_t n_own);

template <size_t N> bench_list_t bench_sizes(const bench_t *b, const size_t (&own)[N])
{
	return bench_sizes_of(b, own, N);
}

template <size_t N> bench_list_t bench_blocks(const bench_t *b, const size_t (&own)[N])
{
	return bench_blocks_of(b, own, N);
}

/* Measure one point, as far as the command line has not chosen otherwise, and print it. A point of
 * a scope that was not chosen is left out. Collective. Returns 0. Returns 1 on every PE if on any
 * of them a check or an operation of the kernel failed, after a line on that PE's stderr. Returns 1
 * on this PE alone, after a line, if CUDA or the sync that tells the others failed: they may then
 * wait until the launcher ends them. */
int bench_measure(bench_t *b, const bench_point_t *point);

/* The operations. Return like bench_measure. */
int bench_put_bw(bench_t *b);
int bench_put_latency(bench_t *b);
int bench_signal_pingpong(bench_t *b);
int bench_put_signal_pingpong(bench_t *b);
int bench_packed_pingpong(bench_t *b);
int bench_sync_latency(bench_t *b);
int bench_barrier_latency(bench_t *b);
int bench_put_latency_leader(bench_t *b);
int bench_get_bw(bench_t *b);
int bench_put_bulk_bw(bench_t *b);
int bench_add_tile_bw(bench_t *b);
int bench_get_latency(bench_t *b);
int bench_p_latency(bench_t *b);
int bench_p_rate(bench_t *b);
int bench_g_latency(bench_t *b);
int bench_fetch_latency(bench_t *b);
int bench_add_rate(bench_t *b);

/* Start of the first counted iteration, and end of the last. All threads of the grid call these;
 * bench_end after the caller has synchronised the grid. */
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

/* Barrier of all blocks of the grid; round counts from 1. One thread of each block updates the
 * word: the fence orders the block's puts before its arrival. */
BENCH_FN void bench_grid_sync(const bench_args_t *p, uint32_t round)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		const volatile unsigned int *arrived = &p->result->arrived;

		__threadfence();
		atomicAdd(&p->result->arrived, 1u);
		while (*arrived < round * gridDim.x)
			;
	}
	__syncthreads();
}

BENCH_FN void bench_note(const bench_args_t *p, int status)
{
	if (status != 0)
		atomicCAS(&p->result->status, 0u, (unsigned int)status);
}

/* Keep the first failure of a loop that is timed; bench_note follows the loop. */
BENCH_FN void bench_keep(int *status, int now)
{
	*status = *status ? *status : now;
}

/* The i-th 32-bit word that PE pe sends. */
BENCH_FN uint32_t bench_pattern(uint32_t seed, int pe, size_t i)
{
	return ((uint32_t)i + 1) * 2654435761u ^ (seed * 2246822519u + (uint32_t)pe * 3266489917u);
}

#endif
