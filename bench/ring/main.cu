// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// bench_ring: what it costs a GPU to post to a queue of a NIC and to ring, against a sink (sink.h).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "compare.h"
#include "ring.h"

#define LAUNCHES 9 /* measured launches, after one that is not */
#define STEADY 8   /* multiple of a queue's capacity, in the runs that wait for completions */
#define LIMIT_S 55
#define COMPARE_LIMIT_S 300 /* some 600 rows of 10 launches */

/* Figures of one launch. */
typedef struct figures {
	double cycles;    /* of a warp, for one operation */
	double ns;        /* of all warps together, for one operation */
	double wqebbs;    /* for one operation */
	double doorbells; /* for one operation */
	double idle;      /* fraction of the sink's polls that found no new WQE */
} figures_t;

/* Counts of all channels together. */
typedef struct sums {
	uint64_t wqebbs, doorbells, turns, idle;
} sums_t;

static int sums(ring_queues_t *q, sums_t *s)
{
	ring_sink_t sinks[RING_MAX_CHANNELS];

	memset(s, 0, sizeof(*s));
	if (ring_queues_read(q) ||
	    ring_failed(cudaMemcpy(sinks, q->args.sinks, sizeof(sinks), cudaMemcpyDeviceToHost),
			"reading the sink"))
		return 1;
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++) {
		s->wqebbs += SHMEMD_READY_INDEX(q->copy[k].ready);
		s->doorbells += q->copy[k].doorbells;
		s->turns += sinks[k].turns;
		s->idle += sinks[k].idle;
	}
	return 0;
}

/* Every channel's quiet posts a READ with a doorbell of its own. These are not counted. */
static int measure(ring_queues_t *q, const ring_op_t *op, figures_t *f)
{
	const ring_args_t *a = &q->args;
	double n_ops = (double)a->n_warps * a->iters * op->n_ops, cycles = 0;
	uint64_t begin = UINT64_MAX, end = 0;
	sums_t before, after;

	if (sums(q, &before) || ring_launch(q, op) || sums(q, &after))
		return 1;
	for (uint32_t w = 0; w < a->n_warps; w++) {
		begin = a->times[w].begin_ns < begin ? a->times[w].begin_ns : begin;
		end = a->times[w].end_ns > end ? a->times[w].end_ns : end;
		cycles += (double)a->times[w].cycles;
	}
	f->cycles = cycles / n_ops;
	f->ns = (double)(end - begin) / n_ops;
	f->wqebbs = (double)(after.wqebbs - before.wqebbs - a->n_channels) / n_ops;
	f->doorbells = (double)(after.doorbells - before.doorbells - a->n_channels) / n_ops;
	f->idle = (double)(after.idle - before.idle) / (double)(after.turns - before.turns);
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	double x = ((const figures_t *)a)->ns, y = ((const figures_t *)b)->ns;

	return (x > y) - (x < y);
}

static int median(ring_queues_t *q, const ring_op_t *op, figures_t *f)
{
	figures_t all[LAUNCHES];

	if (measure(q, op, &all[0]))
		return 1;
	for (uint32_t i = 0; i < LAUNCHES; i++)
		if (measure(q, op, &all[i]))
			return 1;
	qsort(all, LAUNCHES, sizeof(all[0]), by_ns);
	*f = all[LAUNCHES / 2];
	return 0;
}

/* As many calls as fit into the queue, so that no completion is waited for; then many more. */
static int point(ring_queues_t *q, const ring_op_t *op, uint32_t warps, uint32_t channels,
		 uint32_t every)
{
	char rule[16] = "default";
	figures_t burst, steady;

	q->args.n_warps = warps;
	q->args.n_channels = channels;
	q->args.every = every;
	q->args.iters = RING_DEPTH / op->wqebbs / (warps / channels);
	if (median(q, op, &burst))
		return 1;
	q->args.iters *= STEADY;
	if (median(q, op, &steady))
		return 1;
	if (every)
		snprintf(rule, sizeof(rule), "%u", every);
	printf("%-6s %-20s %5u %8u %8s %9.0f %8.1f %9.0f %8.1f %7.2f %6.2f %9.3f %5.2f\n", q->place,
	       op->name, warps, channels, rule, burst.cycles, burst.ns, steady.cycles, steady.ns,
	       1000 / steady.ns, steady.wqebbs, steady.doorbells, steady.idle);
	return 0;
}

static int table(ring_queues_t *q)
{
	static const uint32_t n_warps[] = {1, 8, 32}, everies[] = {0, 1, 32};

	printf("\n%-6s %-20s %5s %8s %8s %9s %8s %9s %8s %7s %6s %9s %5s\n", "queue", "op", "warps",
	       "channels", "ring", "burst cy", "burst ns", "steady cy", "ns", "Mops/s", "WQEBBs",
	       "doorbells", "idle");
	for (uint32_t i = 0; i < ring_n_ops; i++)
		for (uint32_t e = 0; e < ring_ops[i].n_every; e++)
			for (uint32_t w = 0; w < 3; w++) {
				if (point(q, &ring_ops[i], n_warps[w], 1, everies[e]))
					return 1;
				if (w > 0 &&
				    point(q, &ring_ops[i], n_warps[w], n_warps[w], everies[e]))
					return 1;
			}
	return 0;
}

/* Print the WQEBBs of one operation of each kind, and the bytes of its WQEs: the adapter fetches
 * whole segments. */
static int wqebbs(ring_queues_t *q)
{
	printf("%-20s %7s %10s\n", "one operation", "WQEBBs", "WQE bytes");
	q->args.n_warps = 1;
	q->args.n_channels = 1;
	q->args.every = 0;
	q->args.iters = 1;
	for (uint32_t i = 0; i < ring_n_once; i++) {
		uint32_t begin = SHMEMD_READY_INDEX(q->copy[0].ready), at, end;
		uint32_t nbytes = 0;

		if (ring_launch(q, &ring_once[i]) || ring_queues_read(q))
			return 1;
		end = SHMEMD_READY_INDEX(q->copy[0].ready) - 1; /* the last one is quiet's READ */
		for (at = begin; at < end;) {
			const unsigned char *wqe =
				(const unsigned char *)q->memory.queues + at % RING_DEPTH * 64;
			uint32_t segments = wqe[7] & 0x3f;

			if (segments == 0) {
				fprintf(stderr, "bench_ring: no WQE in WQEBB %u\n", at);
				return 1;
			}
			nbytes += segments * 16;
			at += (segments + 3) / 4;
		}
		printf("%-20s %7u %10u\n", ring_once[i].name, end - begin, nbytes);
	}
	return 0;
}

/* Raise the clock of the GPU: it rises only under load. */
static __global__ void spin(uint64_t ns)
{
	uint64_t begin = shmemd_arch_time_ns();

	while (shmemd_arch_time_ns() - begin < ns)
		;
}

int main(int argc, char **argv)
{
	static ring_queues_t host, device;
	cudaDeviceProp prop;
	int n_gpus = 0, is_parts = argc == 2 && strcmp(argv[1], "--parts") == 0;
	int is_compare = argc == 2 && strcmp(argv[1], "--compare") == 0;
	int is_wait = argc == 2 && strcmp(argv[1], "--wait") == 0;

	if (argc > 2 || (argc == 2 && !is_parts && !is_compare && !is_wait)) {
		fprintf(stderr, "usage: bench_ring [--parts | --wait | --compare]\n");
		return 2;
	}
	if (cudaGetDeviceCount(&n_gpus) != cudaSuccess || n_gpus == 0) {
		printf("bench_ring: no GPU: nothing measured\n");
		return 77;
	}
	alarm(is_compare ? COMPARE_LIMIT_S : LIMIT_S); /* ends the program if it hangs */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (ring_failed(cudaGetDeviceProperties(&prop, 0), "GPU 0"))
		return 1;
	spin<<<1024, 128>>>(200 * 1000 * 1000);
	if (ring_failed(cudaDeviceSynchronize(), "GPU 0"))
		return 1;
	if (is_parts) {
		printf("%s\n", prop.name);
		return ring_fences() || ring_atomics();
	}
	if (is_compare) {
		printf("%s\n", prop.name);
		return post_compare();
	}
	if (is_wait) {
		printf("%s\n", prop.name);
		return ring_waits();
	}
	printf("%s; medians of %d launches\n\n", prop.name, LAUNCHES);
	return ring_queues_make(&host, 1) || wqebbs(&host) || table(&host) ||
	       ring_queues_make(&device, 0) || table(&device);
}
