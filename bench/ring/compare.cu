// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// bench_ring --compare: measure all rows of all sequences, print them, and print the library's
// figures divided by those of the others.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compare.h"

#define LAUNCHES 9 // measured, after one that is not
#define MAX_RESULTS 1024u

#ifdef BENCH_RING_NVSHMEM
#define HEADER (&post_by_header)
#else
#define HEADER NULL
#endif

static const post_sequence_t *const sequences[] = {
	&post_by_library, &post_by_library_call, &post_by_limit,
	&post_by_deepep,  &post_by_nvshmem,      HEADER,
};
#define N_SEQUENCES (sizeof(sequences) / sizeof(sequences[0]))

static const struct shape {
	uint32_t n_warps, n_channels;
} shapes[] = {{1, 1}, {2, 1}, {8, 8}, {8, 1}, {32, 32}, {32, 1}};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static const char *const op_names[] = {"put 64 B", "p", "add", "put_signal"};
static const uint32_t op_wqebbs[] = {1, 1, 1, 2};
static const char *const ringing_names[] = {"each", "rule", "every 4th", "every 32nd"};
static const char *const record_names[] = {"yes", "no"};
static const char *const fences_names[] = {"gpu", "system"};

// One line of the table.
typedef struct result {
	const post_sequence_t *sequence;
	const post_row_t *row;
	const struct shape *shape;
	int is_pinned;
	double cycles; // of a warp, for one operation
	double ns;     // of all warps together, for one operation
	double spread; // greatest less least time, part of the median
} result_t;

static result_t results[MAX_RESULTS];
static uint32_t n_results;

int post_failed(cudaError_t err, const char *what)
{
	if (err == cudaSuccess)
		return 0;
	fprintf(stderr, "bench_ring: %s: %s\n", what, cudaGetErrorString(err));
	return 1;
}

void *post_alloc(size_t nbytes, int is_pinned)
{
	void *p = NULL;
	cudaError_t err =
		is_pinned ? cudaHostAlloc(&p, nbytes, cudaHostAllocMapped) : cudaMalloc(&p, nbytes);

	if (err == cudaSuccess)
		err = cudaMemset(p, 0, nbytes);
	return post_failed(err, "allocating memory") ? NULL : p;
}

static int make_memory(post_memory_t *m, int is_pinned)
{
	m->is_pinned = is_pinned;
	m->queues = (char *)post_alloc(POST_MAX_CHANNELS * POST_QUEUE_NBYTES, is_pinned);
	m->doorbells = (char *)post_alloc(POST_MAX_CHANNELS * POST_DOORBELL_STRIDE, 1);
	m->heap = (char *)post_alloc(POST_HEAP_NBYTES, 0);
	return m->queues && m->doorbells && m->heap ? 0 : 1;
}

// Nothing of an earlier row can pass for this one's.
static int clear(const post_memory_t *m)
{
	return post_failed(cudaMemset(m->queues, 0, POST_MAX_CHANNELS * POST_QUEUE_NBYTES),
			   "clearing queues");
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int wrong(const result_t *r, const char *what, uint32_t channel, uint32_t slot)
{
	fprintf(stderr, "bench_ring: %s, %s, %s, %s queue, channel %u, WQEBB %u: %s\n",
		r->sequence->name, op_names[r->row->op], ringing_names[r->row->ringing],
		r->is_pinned ? "host" : "device", channel, slot, what);
	return 1;
}

// Each WQEBB must hold the WQE of its index, and the record must cover all of them.
static int check_queue(const result_t *r, const unsigned char *wqes, const unsigned char *record,
		       uint32_t channel)
{
	const uint32_t n = POST_BURST * op_wqebbs[r->row->op], first = r->sequence->first;

	for (uint32_t i = 0; i < n; i++) {
		const unsigned char *wqe = wqes + (size_t)i * POST_WQEBB_NBYTES;

		if ((be32(wqe) >> 8 & 0xffff) != ((first + i) & 0xffff))
			return wrong(r, "no WQE, or one of another index", channel, i);
		if (be32(wqe + 4) >> 8 != POST_QPN(channel))
			return wrong(r, "the WQE of another queue", channel, i);
	}
	if (r->row->record == POST_RECORD && be32(record) != ((first + n) & 0xffff))
		return wrong(r, "the doorbell record does not cover all that was posted", channel,
			     n);
	return 0;
}

static int check(const result_t *r, const post_memory_t *m)
{
	static unsigned char wqes[POST_DEPTH * POST_WQEBB_NBYTES];
	unsigned char record[4];

	for (uint32_t k = 0; k < r->shape->n_channels; k++)
		if (post_failed(cudaMemcpy(wqes, post_wqes(m, k), sizeof(wqes), cudaMemcpyDefault),
				"reading a queue") ||
		    post_failed(cudaMemcpy(record, post_record(m, k), sizeof(record),
					   cudaMemcpyDefault),
				"reading a record") ||
		    check_queue(r, wqes, record, k))
			return 1;
	return 0;
}

// One burst from empty queues.
static int launch(const result_t *r, const post_memory_t *m, post_args_t *args, double *cycles,
		  double *ns)
{
	const uint32_t n_warps = r->shape->n_warps;
	const double n_ops = (double)n_warps * args->iters;
	void *tables = r->sequence->reset(m, r->row, r->shape->n_channels);
	void *list[] = {args, tables};
	uint64_t begin = UINT64_MAX, end = 0;

	if (tables == NULL ||
	    post_failed(cudaLaunchKernel(n_warps == 1 ? r->row->kernel : r->row->kernel_many,
					 dim3(1), dim3(32 * n_warps), list, 0, 0),
			r->sequence->name) ||
	    post_failed(cudaDeviceSynchronize(), r->sequence->name))
		return 1;
	*cycles = 0;
	for (uint32_t w = 0; w < n_warps; w++) {
		const post_time_t *t = &args->times[w];

		begin = t->begin_ns < begin ? t->begin_ns : begin;
		end = t->end_ns > end ? t->end_ns : end;
		*cycles += (double)t->cycles / n_ops;
	}
	*ns = (double)(end - begin) / n_ops;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(result_t *r, const post_memory_t *m, post_time_t *times)
{
	post_args_t args = {m->heap, times, r->shape->n_channels,
			    POST_BURST / (r->shape->n_warps / r->shape->n_channels)};
	double cycles[LAUNCHES], ns[LAUNCHES];

	if (clear(m) || launch(r, m, &args, &cycles[0], &ns[0]) || check(r, m))
		return 1;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		if (launch(r, m, &args, &cycles[i], &ns[i]))
			return 1;
	qsort(cycles, LAUNCHES, sizeof(double), by_value);
	qsort(ns, LAUNCHES, sizeof(double), by_value);
	r->cycles = cycles[LAUNCHES / 2];
	r->ns = ns[LAUNCHES / 2];
	r->spread = (ns[LAUNCHES - 1] - ns[0]) / r->ns;
	return 0;
}

static void print_variant(const result_t *r)
{
	printf("%-6s %-10s %-10s %-10s %-6s %-6s %5u %8u", r->is_pinned ? "host" : "device",
	       r->sequence->name, op_names[r->row->op], ringing_names[r->row->ringing],
	       record_names[r->row->record], fences_names[r->row->fences], r->shape->n_warps,
	       r->shape->n_channels);
}

static void print_head(const char *rest)
{
	printf("\n%-6s %-10s %-10s %-10s %-6s %-6s %5s %8s%s\n", "queue", "sequence", "op",
	       "doorbell", "record", "fences", "warps", "channels", rest);
}

static int measure_row(const post_sequence_t *sequence, const post_row_t *row,
		       const post_memory_t *m, post_time_t *times)
{
	for (uint32_t i = 0; i < N_SHAPES; i++) {
		result_t *r = &results[n_results];

		if (n_results == MAX_RESULTS) {
			fprintf(stderr, "bench_ring: more than %u rows\n", MAX_RESULTS);
			return 1;
		}
		r->sequence = sequence;
		r->row = row;
		r->shape = &shapes[i];
		r->is_pinned = m->is_pinned;
		if (measure(r, m, times))
			return 1;
		print_variant(r);
		printf(" %9.0f %9.1f %6.1f%%\n", r->cycles, r->ns, 100 * r->spread);
		n_results++;
	}
	return 0;
}

static int measure_place(const post_memory_t *m, post_time_t *times)
{
	const unsigned place = m->is_pinned ? POST_ON_HOST : POST_ON_DEVICE;

	for (size_t s = 0; s < N_SEQUENCES; s++)
		for (uint32_t i = 0; sequences[s] && i < sequences[s]->n_rows; i++)
			if ((sequences[s]->rows[i].places & place) &&
			    measure_row(sequences[s], &sequences[s]->rows[i], m, times))
				return 1;
	return 0;
}

static bool is_deferred(const post_row_t *row)
{
	return row->ringing == POST_EVERY_4TH || row->ringing == POST_EVERY_32ND;
}

// What the library's row is to be divided by: a row with the same record and fences. DeepEP has one
// form that rings and one that defers; NVSHMEM has one rule.
static bool is_counterpart(const post_row_t *ours, const post_sequence_t *sequence,
			   const post_row_t *theirs)
{
	if (ours->record != theirs->record || ours->fences != theirs->fences)
		return false;
	if (sequence == &post_by_deepep)
		return is_deferred(ours) == is_deferred(theirs);
	return ours->ringing == theirs->ringing;
}

// The row of `sequence` that does `op` in the same place and shape as r; NULL: there is none.
static const result_t *find(const result_t *r, const post_sequence_t *sequence, post_op_t op)
{
	for (uint32_t i = 0; i < n_results; i++) {
		const result_t *other = &results[i];

		if (other->sequence == sequence && other->row->op == op && other != r &&
		    other->shape == r->shape && other->is_pinned == r->is_pinned &&
		    is_counterpart(r->row, sequence, other->row))
			return other;
	}
	return NULL;
}

static void print_ratio(const result_t *r, const result_t *other)
{
	if (other)
		printf(" %9.2f", r->ns / other->ns);
	else
		printf(" %9s", "-");
}

static void print_ratios(void)
{
	printf("\nTime of the library's rows, divided by that of others of this run: below 1 it is "
	       "faster.\n\"own put\": by the library's put with the same doorbell, record and "
	       "fences. "
	       "\"inline\": by its\nrow with the NIC path inline.\n");
	print_head("     limit    DeepEP   NVSHMEM NVSHMEM's   own put    inline");
	for (uint32_t i = 0; i < n_results; i++) {
		const result_t *r = &results[i];

		if (r->sequence != &post_by_library && r->sequence != &post_by_library_call)
			continue;
		print_variant(r);
		print_ratio(r, find(r, &post_by_limit, r->row->op));
		print_ratio(r, find(r, &post_by_deepep, r->row->op));
		print_ratio(r, find(r, &post_by_nvshmem, r->row->op));
		print_ratio(r, find(r, HEADER, r->row->op));
		print_ratio(r, find(r, r->sequence, POST_PUT));
		print_ratio(r, find(r, &post_by_library, r->row->op));
		printf("\n");
	}
}

int post_compare(void)
{
	static post_memory_t device, host;
	post_time_t *times = (post_time_t *)post_alloc(POST_MAX_WARPS * sizeof(post_time_t), 1);

	if (times == NULL || make_memory(&device, 0) || make_memory(&host, 1))
		return 1;
	printf("bursts of %u operations on each channel; medians of %d launches\n", POST_BURST,
	       LAUNCHES);
	print_head("    cycles        ns  spread");
	if (measure_place(&device, times) || measure_place(&host, times))
		return 1;
	print_ratios();
	return 0;
}
