/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The host's part that 06_allgather_gemm and 07_gemm_reducescatter share: sizes, inputs, the
 * reference, the launches that are timed, and the report.
 *
 * Inputs are -1, 0 or 1, of which three quarters are 0. Then all sums are integers, and those up to
 * 256 are exact in bf16 in whatever order they are added: results are compared for equality. */
#ifndef EXAMPLES_GEMM_RUN_H
#define EXAMPLES_GEMM_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gemm.h"

#define GEMM_PAIRS 3                        /* of launches, of each way */
#define GEMM_CHECK_MACS ((uint64_t)1 << 30) /* larger references have a part of the rows */
#define GEMM_LARGEST_SUM 256                /* all integers up to it are exact in bf16 */
#define GEMM_WEIGHTS 2                      /* seed of the weights; of the inputs: epoch % 2 */

/* Of one PE; each example says which matrix they belong to. */
typedef struct gemm_sizes {
	uint32_t rows, columns, inner;
} gemm_sizes_t;

/* What a PE computes: rows and columns of the whole result, sums of `inner` products. */
typedef struct gemm_problem {
	uint32_t first_row, rows, first_column, columns, inner;
	int is_tiled; /* the result is [tile row][tile column][row][column], not [row][column] */
} gemm_problem_t;

typedef struct gemm_program {
	shmemh_t *job;
	gemm_problem_t problem;
	int (*launch)(void *arg, int is_overlapped, shmemd_stream_t stream); /* one epoch */
	void *arg;
	bf16_t *result; /* [epoch % 2][problem] */
	bf16_t *input;  /* what peers write besides, or NULL */
	size_t input_nbytes;
	int *status; /* [n_blocks], of the first failure of each block */
	uint32_t n_blocks;
	bf16_t *expected; /* [epoch % 2][rows, each stride-th][columns] */
	uint32_t stride;
	uint64_t checks, passed;
} gemm_program_t;

/* ---- sizes ---- */

/* Does each PE map the memory of all others? */
static int gemm_all_mapped(shmemh_t *job)
{
	int n = shmemh_n_pes(job), mine = 1, all = 1, pe;
	int *each = (int *)calloc((size_t)n, sizeof(*each));
	void *probe = NULL;

	if (shmemh_calloc(job, 1, 64, &probe) != SHMEMH_OK)
		mine = 0;
	for (pe = 0; pe < n && mine; pe++)
		mine = shmemh_ptr(job, probe, pe) != NULL;
	if (each == NULL || shmemh_allgather(job, &mine, each, sizeof(mine)) != SHMEMH_OK)
		all = 0;
	for (pe = 0; all && pe < n; pe++)
		all = each[pe];
	free(each);
	return all;
}

/* The sizes of the command line; else `large`, on GPUs that map each other; else one tile on a GPU,
 * and 2 x 2 of its small tiles on a CPU. Returns 0, or 1 after one line of PE 0. */
static int gemm_sizes(shmemh_t *job, int argc, char **argv, gemm_sizes_t large, gemm_sizes_t *sizes)
{
	uint32_t side = GEMM_ON_GPU ? GEMM_TILE : 2 * GEMM_TILE;
	gemm_sizes_t small = {side, side, 4 * GEMM_STEP};
	uint32_t *each[3] = {&sizes->rows, &sizes->columns, &sizes->inner};
	int i, is_wrong = argc != 1 && argc != 4;

	*sizes = GEMM_ON_GPU && gemm_all_mapped(job) ? large : small;
	for (i = 0; i < 3 && argc == 4; i++) {
		char *end;
		unsigned long value = strtoul(argv[i + 1], &end, 10);

		is_wrong |= *end != '\0' || value == 0 || value > 1u << 20 ||
			    value % (i < 2 ? GEMM_TILE : GEMM_STEP) != 0;
		*each[i] = (uint32_t)value;
	}
	if (is_wrong && shmemh_my_pe(job) == 0)
		fprintf(stderr,
			"usage: %s [ROWS COLUMNS INNER]: up to 2^20, ROWS and COLUMNS multiples of "
			"%d, INNER of %d\n",
			argv[0], GEMM_TILE, GEMM_STEP);
	return is_wrong;
}

/* Blocks to launch: on a GPU all that it holds at once, or this PE's share of them; on a CPU
 * `least`, as PEs share its cores. Returns 0, or 1 after one line. */
static int gemm_blocks(shmemh_t *job, uint32_t resident, uint32_t least, uint32_t *n_blocks)
{
	int n_pes;

	RUN_TRY(job, run_pes_of_gpu(job, &n_pes));
	*n_blocks = GEMM_ON_GPU ? resident / (uint32_t)n_pes : least;
	if (*n_blocks >= least)
		return 0;
	fprintf(stderr,
		"%d PEs on a GPU that holds %u blocks at once: each needs %u; use fewer PEs\n",
		n_pes, resident, least);
	return 1;
}

/* ---- inputs and reference ---- */

/* All bits of v take part in each bit of the result, so that rows of inputs and of weights are not
 * alike (finalizer of MurmurHash3). */
static uint32_t gemm_mix(uint32_t v)
{
	v = (v ^ v >> 16) * 0x85ebca6bu;
	v = (v ^ v >> 13) * 0xc2b2ae35u;
	return v ^ v >> 16;
}

static int gemm_element(uint32_t seed, uint32_t row, uint32_t k)
{
	uint32_t h = gemm_mix(gemm_mix(row + seed * 0x9e3779b9u) + k * 0x9e3779b9u) & 7;

	return h == 0 ? 1 : h == 1 ? -1 : 0;
}

static bf16_t gemm_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return (bf16_t)(bits >> 16); /* exact for the integers of these examples */
}

/* Make rows of an input, `inner` elements of each from first_k on, in memory that kernels read. */
static int gemm_fill(shmemh_t *job, bf16_t *to, uint32_t seed, uint32_t first_row, uint32_t rows,
		     uint32_t first_k, uint32_t inner)
{
	size_t nbytes = (size_t)rows * inner * sizeof(*to);
	bf16_t *host = (bf16_t *)malloc(nbytes), *at = host;
	uint32_t row, k;

	if (host == NULL)
		return 1;
	for (row = first_row; row < first_row + rows; row++) {
		for (k = first_k; k < first_k + inner; k++)
			*at++ = gemm_bits((float)gemm_element(seed, row, k));
	}
	RUN_TRY(job, run_copy(to, host, nbytes));
	free(host);
	return 0;
}

static float *gemm_floats(uint32_t seed, uint32_t first_row, uint32_t rows, uint32_t inner)
{
	float *floats = (float *)malloc((size_t)rows * inner * sizeof(*floats)), *at = floats;
	uint32_t row, k;

	for (row = first_row; floats != NULL && row < first_row + rows; row++) {
		for (k = 0; k < inner; k++)
			*at++ = (float)gemm_element(seed, row, k);
	}
	return floats;
}

/* One row of the reference, in float. Returns 1 if a sum may not be exact in bf16. */
static int gemm_expect_row(const gemm_problem_t *p, const float *x, const float *w, bf16_t *to)
{
	uint32_t column, k;
	int is_large = 0;

	for (column = 0; column < p->columns; column++) {
		float sum = 0;

		for (k = 0; k < p->inner; k++)
			sum += x[k] * *w++;
		is_large |= sum > GEMM_LARGEST_SUM || sum < -GEMM_LARGEST_SUM;
		to[column] = gemm_bits(sum);
	}
	return is_large;
}

/* Compute the reference of both inputs. Returns 0, or 1 after one line. */
static int gemm_expect(gemm_program_t *g)
{
	const gemm_problem_t *p = &g->problem;
	uint64_t macs = (uint64_t)p->rows * p->columns * p->inner;
	float *w = gemm_floats(GEMM_WEIGHTS, p->first_column, p->columns, p->inner);
	int is_large = 0, is_out_of_memory;
	uint32_t seed, row;
	bf16_t *at;

	g->stride = 1 + 2 * (uint32_t)(macs / GEMM_CHECK_MACS / 2); /* odd: all rows of tiles */
	at = g->expected =
		(bf16_t *)malloc(((size_t)p->rows / g->stride + 1) * 2 * p->columns * sizeof(*at));
	is_out_of_memory = at == NULL || w == NULL;
	for (seed = 0; seed < 2 && !is_out_of_memory; seed++) {
		for (row = 0; row < p->rows && !is_out_of_memory;
		     row += g->stride, at += p->columns) {
			float *x = gemm_floats(seed, p->first_row + row, 1, p->inner);

			is_out_of_memory = x == NULL;
			is_large |= x != NULL && gemm_expect_row(p, x, w, at);
			free(x);
		}
	}
	free(w);
	if (is_out_of_memory)
		fprintf(stderr, "no memory for the reference\n");
	else if (is_large)
		fprintf(stderr, "sums of %u products exceed %d: choose a smaller INNER\n", p->inner,
			GEMM_LARGEST_SUM);
	return is_out_of_memory || is_large;
}

static size_t gemm_result_at(const gemm_problem_t *p, uint32_t row, uint32_t column)
{
	size_t tile = (size_t)(row / GEMM_TILE) * (p->columns / GEMM_TILE) + column / GEMM_TILE;

	if (!p->is_tiled)
		return (size_t)row * p->columns + column;
	return (tile * GEMM_TILE + row % GEMM_TILE) * GEMM_TILE + column % GEMM_TILE;
}

static size_t gemm_result_nbytes(const gemm_program_t *g)
{
	return 2 * (size_t)g->problem.rows * g->problem.columns * sizeof(bf16_t);
}

/* Compare the results of two epochs with the reference. */
static int gemm_check(gemm_program_t *g)
{
	const gemm_problem_t *p = &g->problem;
	bf16_t *result = (bf16_t *)malloc(gemm_result_nbytes(g)), *want = g->expected;
	uint32_t i, row, column;

	if (result == NULL)
		return 1;
	for (i = 0; i < g->n_blocks; i++) {
		int status;

		RUN_TRY(g->job, run_copy(&status, g->status + i, sizeof(status)));
		RUN_TRY(g->job, status);
	}
	RUN_TRY(g->job, run_copy(result, g->result, gemm_result_nbytes(g)));
	for (i = 0; i < 2; i++) {
		const bf16_t *epoch = result + (size_t)i * p->rows * p->columns;

		for (row = 0; row < p->rows; row += g->stride) {
			for (column = 0; column < p->columns; column++) {
				g->checks++;
				g->passed += epoch[gemm_result_at(p, row, column)] == *want++;
			}
		}
	}
	free(result);
	return 0;
}

/* The earliest and the latest of n times in memory that kernels write. */
static int gemm_span(shmemh_t *job, const uint64_t *at, uint32_t n, uint64_t *first, uint64_t *last)
{
	uint64_t *times = (uint64_t *)malloc(n * sizeof(*times));
	uint32_t i;

	if (times == NULL)
		return 1;
	RUN_TRY(job, run_copy(times, at, n * sizeof(*times)));
	*first = *last = times[0];
	for (i = 1; i < n; i++) {
		*first = times[i] < *first ? times[i] : *first;
		*last = times[i] > *last ? times[i] : *last;
	}
	free(times);
	return 0;
}

static double gemm_us(uint64_t since, uint64_t ns)
{
	return (double)(int64_t)(ns - since) * 1e-3;
}

/* ---- launches ---- */

/* Fill with NaN, so that an element that is read or added to too early makes a wrong result. */
static int gemm_poison(gemm_program_t *g, bf16_t *at, size_t nbytes)
{
	void *nans = malloc(nbytes);

	if (nans == NULL)
		return 1;
	memset(nans, 0xff, nbytes);
	RUN_TRY(g->job, run_copy(at, nans, nbytes));
	free(nans);
	return 0;
}

/* How the two launches of a pair are made. */
enum gemm_way { GEMM_SERIAL, GEMM_OVERLAPPED, GEMM_BY_GRAPH, GEMM_WAYS };

#ifdef __CUDACC__

/* Capture one launch and instantiate the graph. */
static int gemm_capture(gemm_program_t *g, shmemd_stream_t stream, cudaGraphExec_t *exec)
{
	cudaGraph_t graph;

	RUN_TRY(g->job, run_device(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)));
	RUN_TRY(g->job, g->launch(g->arg, 1, stream));
	RUN_TRY(g->job, run_device(cudaStreamEndCapture(stream, &graph)));
	RUN_TRY(g->job, run_device(cudaGraphInstantiate(exec, graph, 0)));
	RUN_TRY(g->job, run_device(cudaGraphDestroy(graph)));
	return 0;
}

static int gemm_replay(gemm_program_t *g, cudaGraphExec_t exec, shmemd_stream_t stream)
{
	RUN_TRY(g->job, run_device(cudaGraphLaunch(exec, stream)));
	return 0;
}

#endif

/* Pairs of epochs in a row, with no host work between the two, each compared with the reference.
 * us: receives microseconds of an epoch, of the fastest pair. */
static int gemm_run_way(gemm_program_t *g, int way, double *us)
{
	int is_overlapped = way != GEMM_SERIAL, pair, i;
	shmemd_stream_t stream;
	double start, each;
#ifdef __CUDACC__
	cudaGraphExec_t exec = NULL;
#endif

	RUN_TRY(g->job, run_stream_open(&stream));
#ifdef __CUDACC__
	if (way == GEMM_BY_GRAPH && gemm_capture(g, stream, &exec) != 0)
		return 1;
#endif
	for (pair = 0; pair < GEMM_PAIRS; pair++) {
		if (gemm_poison(g, g->result, gemm_result_nbytes(g)) != 0 ||
		    (g->input != NULL && gemm_poison(g, g->input, g->input_nbytes) != 0))
			return 1;
		RUN_TRY(g->job, shmemh_barrier(g->job));
		start = run_time_us();
		for (i = 0; i < 2; i++) {
#ifdef __CUDACC__
			if (exec != NULL && gemm_replay(g, exec, stream) != 0)
				return 1;
			if (exec != NULL)
				continue;
#endif
			if (g->launch(g->arg, is_overlapped, stream) != 0)
				return 1;
		}
		RUN_TRY(g->job, run_device(shmemd_stream_sync(stream)));
		each = (run_time_us() - start) / 2;
		*us = pair == 0 || each < *us ? each : *us;
		if (gemm_check(g) != 0)
			return 1;
	}
#ifdef __CUDACC__
	if (exec != NULL)
		RUN_TRY(g->job, run_device(cudaGraphExecDestroy(exec)));
#endif
	run_stream_close(stream);
	return 0;
}

/* ---- report ---- */

typedef struct gemm_row {
	char platform[48];
	double us[GEMM_WAYS];
	uint64_t checks, passed;
} gemm_row_t;

static void gemm_print_row(int pe, const gemm_row_t *r)
{
	char graph[16] = "-", ratio[16] = "-";

	if (GEMM_ON_GPU) { /* the emulator's times are no measure of a GPU's */
		snprintf(graph, sizeof(graph), "%.1f", r->us[GEMM_BY_GRAPH]);
		snprintf(ratio, sizeof(ratio), "%.2f", r->us[GEMM_OVERLAPPED] / r->us[GEMM_SERIAL]);
	}
	printf("%4d  %9.1f  %13.1f  %8s  %5s  %8llu of %8llu  %s\n", pe, r->us[GEMM_SERIAL],
	       r->us[GEMM_OVERLAPPED], graph, ratio, (unsigned long long)r->passed,
	       (unsigned long long)r->checks, r->platform);
}

/* Run all ways; PE 0 prints the results of all PEs. Returns 0 if all elements that were compared
 * are right on all PEs. */
static int gemm_run(gemm_program_t *g, const char *name)
{
	int n = shmemh_n_pes(g->job), me = shmemh_my_pe(g->job), failed = 0, way, pe;
	gemm_row_t row, *rows = (gemm_row_t *)calloc((size_t)n, sizeof(*rows));

	memset(&row, 0, sizeof(row));
	run_platform(row.platform, sizeof(row.platform));
	if (rows == NULL || gemm_expect(g) != 0)
		return 1;
	for (way = 0; way < GEMM_WAYS; way++) {
		if (way == GEMM_BY_GRAPH && !GEMM_ON_GPU)
			continue;
		if (gemm_run_way(g, way, &row.us[way]) != 0)
			return 1;
	}
	row.checks = g->checks;
	row.passed = g->passed;
	RUN_TRY(g->job, shmemh_allgather(g->job, &row, rows, sizeof(row)));
	if (me == 0)
		printf("  PE  serial us  overlapped us  graph us  ratio  elements right        ran "
		       "on\n");
	for (pe = 0; pe < n; pe++) {
		failed |= rows[pe].passed != rows[pe].checks;
		if (me == 0)
			gemm_print_row(pe, &rows[pe]);
	}
	if (me == 0 && g->stride > 1)
		printf("compared: one row in %u\n", g->stride);
	if (me == 0)
		printf("%s: %s\n", name, failed ? "WRONG VALUES" : "every value is right");
	free(g->expected);
	free(rows);
	return failed;
}

#endif
