// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Put and quiet from PE 0 to PE 1, and get, one at a time, by one thread, warp or block. After the
// quiet each thread of the group may signal (put_latency), or its leader (put_latency_leader).
#include <string.h>
#include "common/bench.h"

#define THREADS 1024

enum { PUT, PUT_LEADER, GET };

template <bench_scope S, int HOW>
static __global__ void __launch_bounds__(S == BENCH_BLOCK ? THREADS : 32)
	latency_kernel(const __grid_constant__ bench_args_t p)
{
	int status = 0;

	for (uint32_t i = 0; i < p.warm + p.iters; i++) {
		if (i == p.warm)
			bench_begin(&p);
		if constexpr (HOW == GET) {
			shmemd_arch_fence_acquire(); /* or the L1 still has the data */
			bench_keep(&status, bench_get<S>(&p.ctx, p.dst, p.src, p.nbytes, p.peer));
		} else {
			bench_put<S>(&p.ctx, p.dst, p.src, p.nbytes, p.peer);
		}
		if constexpr (HOW == PUT)
			bench_keep(&status, bench_quiet<S>(&p.ctx));
		else if constexpr (HOW == PUT_LEADER)
			bench_keep(&status, bench_quiet_leader<S>(&p.ctx));
	}
	bench_end(&p);
	bench_note(&p, status);
}

static int latency_point(bench_t *b, const char *op, bench_scope scope, bench_kernel_t kernel,
			 size_t nbytes)
{
	const bool is_get = strcmp(op, "get_latency") == 0;
	bench_point_t point = {};

	point.op = op;
	point.scope = scope;
	point.unit = BENCH_US;
	point.kernel = kernel;
	point.actors = 1;
	point.writers = is_get ? 0 : 1;
	point.readers = is_get ? 1 : 0;
	point.blocks = 1;
	point.threads = scope == BENCH_THREAD ? 1 : scope == BENCH_WARP ? 32 : THREADS;
	point.warm = 20;
	point.iters = nbytes <= (16u << 10) ? 500 : 100;
	point.nbytes = nbytes;
	return bench_measure(b, &point);
}

static int latency_sizes(bench_t *b, const char *op, bench_scope scope, bench_kernel_t kernel,
			 bench_list_t sizes)
{
	for (size_t i = 0; i < sizes.n; i++)
		if (latency_point(b, op, scope, kernel, sizes.values[i]))
			return 1;
	return 0;
}

template <int HOW> static int latency_points(bench_t *b, const char *op)
{
	static const size_t thread_nbytes[] = {8, 64, 1 << 10};
	static const size_t warp_nbytes[] = {8, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10};
	static const size_t block_nbytes[] = {8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20};

	return latency_sizes(b, op, BENCH_THREAD, latency_kernel<BENCH_THREAD, HOW>,
			     bench_sizes(b, thread_nbytes)) ||
	       latency_sizes(b, op, BENCH_WARP, latency_kernel<BENCH_WARP, HOW>,
			     bench_sizes(b, warp_nbytes)) ||
	       latency_sizes(b, op, BENCH_BLOCK, latency_kernel<BENCH_BLOCK, HOW>,
			     bench_sizes(b, block_nbytes));
}

int bench_put_latency(bench_t *b)
{
	return latency_points<PUT>(b, "put_latency");
}

int bench_put_latency_leader(bench_t *b)
{
	return latency_points<PUT_LEADER>(b, "put_latency_leader");
}

int bench_get_latency(bench_t *b)
{
	return latency_points<GET>(b, "get_latency");
}
