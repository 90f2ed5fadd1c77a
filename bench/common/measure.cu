// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
#include <stdlib.h>
#include "bench.h"

#define REPEATS_MAX 16

const char *const bench_scope_names[BENCH_N_SCOPES] = {"thread", "warp", "block", "grid"};
static const char *const unit_names[] = {"us", "GB/s", "M/s"};

static int cuda_failed(const bench_t *b, const char *what, cudaError_t err)
{
	if (err == cudaSuccess)
		return 0;
	fprintf(stderr, "bench: PE %d: %s: %s: %s\n", b->my_pe, b->point.op, what,
		cudaGetErrorString(err));
	return 1;
}

static __global__ void fill(const __grid_constant__ bench_args_t p)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < p.nbytes / 4;
	     i += (size_t)gridDim.x * blockDim.x)
		((uint32_t *)p.src)[i] = bench_pattern(p.seed, p.ctx.my_pe, i);
}

/* Check the data from the peer, and that the guard after it is unchanged. */
static __global__ void check_data(const __grid_constant__ bench_args_t p)
{
	const size_t n = p.nbytes / 4;

	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	     i < n + BENCH_GUARD_NBYTES / 4; i += (size_t)gridDim.x * blockDim.x) {
		uint32_t want = i < n ? bench_pattern(p.seed, p.peer, i) : 0;

		if (((const uint32_t *)p.dst)[i] != want)
			atomicAdd(&p.result->misses, 1ull);
	}
}

static __global__ void check_signal(const __grid_constant__ bench_args_t p)
{
	if (p.words[BENCH_WORD_SIGNAL] != p.base)
		atomicAdd(&p.result->misses, 1ull);
}

/* Barrier of all PEs on their GPUs, which also tells each PE whether any PE failed. Waiting PEs
 * spin in a kernel, with both libraries: an idle GPU would lower its clock. */
static __global__ void meet_kernel(const __grid_constant__ bench_args_t p)
{
	if (p.result->status != 0 || p.result->misses != 0)
		for (int pe = 0; pe < p.ctx.n_pes; pe++)
			bench_signal_set(&p.ctx, &p.words[BENCH_WORD_FAILED], 1, pe);
	bench_note(&p, bench_quiet<BENCH_THREAD>(&p.ctx));
	bench_note(&p, bench_sync<BENCH_THREAD>(&p.ctx));
}

/* More than 48 KiB of shared memory must be asked for. */
static int launch_shared(bench_t *b, bench_kernel_t kernel, uint32_t blocks, uint32_t threads,
			 uint32_t shared_nbytes)
{
	void *list[] = {&b->args};

	if (cuda_failed(b, "shared memory",
			cudaFuncSetAttribute((const void *)kernel,
					     cudaFuncAttributeMaxDynamicSharedMemorySize,
					     (int)shared_nbytes)))
		return 1;
	/* Cooperative: blocks that wait for each other must all be resident. */
	if (cuda_failed(b, "launch",
			cudaLaunchCooperativeKernel((const void *)kernel, dim3(blocks),
						    dim3(threads), list, shared_nbytes, b->stream)))
		return 1;
	return cuda_failed(b, "kernel", cudaStreamSynchronize(b->stream));
}

static int launch(bench_t *b, bench_kernel_t kernel, uint32_t blocks, uint32_t threads)
{
	return launch_shared(b, kernel, blocks, threads, 0);
}

static int read_result(bench_t *b, bench_result_t *result)
{
	return cuda_failed(
		b, "result",
		cudaMemcpy(result, b->args.result, sizeof(*result), cudaMemcpyDeviceToHost));
}

static int clear_result(bench_t *b)
{
	return cuda_failed(b, "clear",
			   cudaMemsetAsync(b->args.result, 0, sizeof(bench_result_t), b->stream));
}

/* Returns 1 on every PE if any of them found a mistake since its last clear_result. */
static int meet(bench_t *b)
{
	bench_result_t mine;
	uint64_t failed = 0;

	if (launch(b, meet_kernel, 1, 1) || read_result(b, &mine) ||
	    cuda_failed(b, "words",
			cudaMemcpy(&failed, &b->args.words[BENCH_WORD_FAILED], sizeof(failed),
				   cudaMemcpyDeviceToHost)))
		return 1;
	if (mine.misses != 0)
		fprintf(stderr,
			"bench: PE %d: %s, %zu bytes, %u blocks: %llu words have a wrong value\n",
			b->my_pe, b->point.op, b->point.nbytes, b->point.blocks, mine.misses);
	if (mine.status != 0)
		fprintf(stderr, "bench: PE %d: %s: a wait, quiet or sync returned status %u\n",
			b->my_pe, b->point.op, mine.status);
	return failed != 0 || mine.status != 0;
}

static int compare_ns(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The first launch only warms up. ns receives each further launch's time for one iteration. */
static int run_repeats(bench_t *b, double *ns, int repeats)
{
	for (int r = -1; r < repeats; r++) {
		bench_result_t result;

		if (clear_result(b) ||
		    launch_shared(b, b->point.kernel, b->point.blocks, b->point.threads,
				  b->point.shared_nbytes) ||
		    read_result(b, &result))
			return 1;
		if (b->point.signals)
			b->args.base += b->args.warm + b->args.iters;
		if (result.status != 0)
			return 0; /* meet() reports the failure to all PEs */
		if (r >= 0)
			ns[r] = (double)(result.end_ns - result.begin_ns) / b->args.iters;
	}
	qsort(ns, (size_t)repeats, sizeof(*ns), compare_ns);
	return 0;
}

static int prepare(bench_t *b)
{
	b->args.seed++;
	if (clear_result(b) || launch(b, fill, 64, 256) ||
	    cuda_failed(b, "clear",
			cudaMemsetAsync(b->args.dst, 0, b->args.nbytes + BENCH_GUARD_NBYTES,
					b->stream)))
		return 1;
	return meet(b);
}

static int verify(bench_t *b)
{
	const bench_point_t *point = &b->point;

	/* The receiver checks: its peer's number is that of the source. */
	if (b->my_pe < 2 && (b->args.peer < point->writers || b->my_pe < point->readers) &&
	    launch(b, check_data, 64, 256))
		return 1;
	if (b->my_pe < point->actors && point->signals && launch(b, check_signal, 1, 1))
		return 1;
	if (point->check && launch(b, point->check, 1, point->threads))
		return 1;
	return meet(b);
}

static double in_unit(const bench_point_t *point, double ns)
{
	if (point->unit == BENCH_US)
		return ns / 1000;
	return (double)point->nbytes / ns * (point->unit == BENCH_M_S ? 1000. / 8 : 1);
}

static void report(bench_t *b, const double *ns, int repeats)
{
	const bench_point_t *p = &b->point;
	const double median = in_unit(p, ns[repeats / 2]), best = in_unit(p, ns[0]);

	if (b->row++ == 0)
		printf("%s on %s, %d PEs\n%-20s %-7s %10s %7s %8s %10s %10s\n", b->lib.name, b->gpu,
		       b->n_pes, "op", "scope", "bytes", "blocks", "threads", "median", "best");
	printf("%-20s %-7s %10zu %7u %8u %10.2f %10.2f %s\n", p->op, bench_scope_names[p->scope],
	       p->nbytes, p->blocks, p->threads, median, best, unit_names[p->unit]);
	if (b->json)
		fprintf(b->json,
			"{\"op\":\"%s\",\"scope\":\"%s\",\"bytes\":%zu,\"blocks\":%u,"
			"\"threads\":%u,\"pes\":%d,\"unit\":\"%s\",\"median\":%.4f,\"best\":%.4f,"
			"\"repeats\":%d,\"iterations\":%u,\"gpu\":\"%s\",\"library\":\"%s\"}\n",
			p->op, bench_scope_names[p->scope], p->nbytes, p->blocks, p->threads,
			b->n_pes, unit_names[p->unit], median, best, repeats, p->iters, b->gpu,
			b->lib.name);
}

static bench_list_t copy_of(const size_t *own, size_t n_own)
{
	bench_list_t list = {};

	for (; list.n < n_own; list.n++)
		list.values[list.n] = own[list.n];
	return list;
}

bench_list_t bench_sizes_of(const bench_t *b, const size_t *own, size_t n_own)
{
	const bench_choice_t *choice = &b->choice;
	bench_list_t list = {};

	if (choice->factor == 0)
		return copy_of(own, n_own);
	for (size_t nbytes = choice->min_nbytes; nbytes <= choice->max_nbytes;
	     nbytes *= choice->factor)
		list.values[list.n++] = nbytes;
	return list;
}

bench_list_t bench_blocks_of(const bench_t *b, const size_t *own, size_t n_own)
{
	const size_t chosen = b->choice.blocks;

	return chosen ? copy_of(&chosen, 1) : copy_of(own, n_own);
}

static void choose(const bench_choice_t *choice, bench_point_t *point)
{
	if (choice->threads && point->scope >= BENCH_BLOCK)
		point->threads = (uint32_t)choice->threads;
	if (choice->iters)
		point->iters = (uint32_t)choice->iters;
	if (choice->sets_warm)
		point->warm = (uint32_t)choice->warm;
}

int bench_measure(bench_t *b, const bench_point_t *point)
{
	const int repeats = b->quick ? 5 : 11;
	double ns[REPEATS_MAX] = {0};

	if (b->choice.sets_scope && point->scope != b->choice.scope)
		return 0;
	b->point = *point;
	choose(&b->choice, &b->point);
	b->args.nbytes = b->point.nbytes;
	b->args.warm = b->point.warm;
	b->args.iters = b->point.iters;
	if (prepare(b))
		return 1;
	if (b->my_pe < b->point.actors && run_repeats(b, ns, repeats))
		return 1;
	if (meet(b) || clear_result(b) || verify(b))
		return 1;
	if (b->my_pe == 0)
		report(b, ns, repeats);
	return 0;
}
