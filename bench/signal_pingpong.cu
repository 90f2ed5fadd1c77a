// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Round trips between PE 0 and PE 1: a signal alone, data with its signal, and 8 bytes that carry
// their flag. PE 0 serves, PE 1 answers with the same value. Timed inside the kernel, so that it
// does not count which of the two started first.
#include "common/bench.h"

#define THREADS 1024

static __global__ void signal_kernel(const __grid_constant__ bench_args_t p)
{
	uint64_t *sig = &p.words[BENCH_WORD_SIGNAL];
	int status = 0;

	for (uint32_t i = 0; i < p.warm + p.iters && status == 0; i++) {
		const uint64_t value = p.base + i + 1;

		if (i == p.warm)
			bench_begin(&p);
		if (p.ctx.my_pe == 1)
			status = bench_wait_ge<BENCH_THREAD>(&p.ctx, sig, value);
		bench_signal_set(&p.ctx, sig, value, p.peer);
		if (p.ctx.my_pe == 0)
			status = bench_wait_ge<BENCH_THREAD>(&p.ctx, sig, value);
	}
	bench_end(&p);
	bench_note(&p, status);
}

/* The value that has arrived is sent on: each PE knows what it must be. */
static __global__ void packed_kernel(const __grid_constant__ bench_args_t p)
{
	uint64_t *sig = &p.words[BENCH_WORD_SIGNAL], *slot = &p.words[BENCH_WORD_PACKED];
	uint64_t *out = &p.words[BENCH_WORD_OUT], seen = 0;
	int status = 0;

	for (uint32_t i = 0; i < p.warm + p.iters && status == 0; i++) {
		const uint64_t value = p.base + i + 1;

		if (i == p.warm)
			bench_begin(&p);
		if (p.ctx.my_pe == 1)
			status = bench_wait_packed(&p.ctx, slot, sig, value, &seen);
		*out = value * 0x100000001ull;
		bench_put_packed(&p.ctx, slot, out, sig, value, p.peer);
		if (p.ctx.my_pe == 0)
			status = bench_wait_packed(&p.ctx, slot, sig, value, &seen);
		if (seen != value * 0x100000001ull)
			atomicAdd(&p.result->misses, 1ull);
	}
	bench_end(&p);
	bench_note(&p, status);
	bench_note(&p, bench_quiet<BENCH_THREAD>(&p.ctx));
	bench_signal_set(&p.ctx, sig, p.base + p.warm + p.iters, p.peer);
}

template <bench_scope S>
static __global__ void __launch_bounds__(S == BENCH_BLOCK ? THREADS : 32)
	put_signal_kernel(const __grid_constant__ bench_args_t p)
{
	uint64_t *sig = &p.words[BENCH_WORD_SIGNAL];
	int status = 0;

	for (uint32_t i = 0; i < p.warm + p.iters && status == 0; i++) {
		const uint64_t value = p.base + i + 1;

		if (i == p.warm)
			bench_begin(&p);
		if (p.ctx.my_pe == 1)
			status = bench_wait_ge<S>(&p.ctx, sig, value);
		bench_put_signal_nbi<S>(&p.ctx, p.dst, p.src, p.nbytes, sig, value, p.peer);
		if (p.ctx.my_pe == 0)
			status = bench_wait_ge<S>(&p.ctx, sig, value);
	}
	bench_end(&p);
	bench_note(&p, status);
	bench_note(&p, bench_quiet<S>(&p.ctx));
}

static bench_point_t pingpong_point(const char *op, bench_scope scope, size_t nbytes)
{
	bench_point_t point = {};

	point.op = op;
	point.scope = scope;
	point.unit = BENCH_US;
	point.actors = 2;
	point.signals = true;
	point.blocks = 1;
	point.threads = scope == BENCH_THREAD ? 1 : scope == BENCH_WARP ? 32 : THREADS;
	point.warm = 20;
	point.iters = nbytes <= (16u << 10) ? 500 : 100;
	point.nbytes = nbytes;
	return point;
}

int bench_signal_pingpong(bench_t *b)
{
	bench_point_t point = pingpong_point("signal_pingpong", BENCH_THREAD, sizeof(uint64_t));

	point.kernel = signal_kernel;
	return bench_measure(b, &point);
}

int bench_packed_pingpong(bench_t *b)
{
	bench_point_t point = pingpong_point("packed_pingpong", BENCH_THREAD, sizeof(uint64_t));

	point.kernel = packed_kernel;
	return bench_measure(b, &point);
}

template <bench_scope S> static int put_signal_sizes(bench_t *b, bench_list_t sizes)
{
	for (size_t i = 0; i < sizes.n; i++) {
		bench_point_t point = pingpong_point("put_signal_pingpong", S, sizes.values[i]);

		point.kernel = put_signal_kernel<S>;
		point.writers = 2;
		if (bench_measure(b, &point))
			return 1;
	}
	return 0;
}

int bench_put_signal_pingpong(bench_t *b)
{
	static const size_t thread_nbytes[] = {16, 256};
	static const size_t warp_nbytes[] = {16, 1 << 10, 4 << 10};
	static const size_t block_nbytes[] = {16, 4 << 10, 16 << 10, 64 << 10, 1 << 20};

	return put_signal_sizes<BENCH_THREAD>(b, bench_sizes(b, thread_nbytes)) ||
	       put_signal_sizes<BENCH_WARP>(b, bench_sizes(b, warp_nbytes)) ||
	       put_signal_sizes<BENCH_BLOCK>(b, bench_sizes(b, block_nbytes));
}
