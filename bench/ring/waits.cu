// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// bench_ring --wait: what a wait costs whose completion is there already. On each channel n WQEBBs
// are published and rung for, their CQEs are written, and `done` has not moved: no thread has read
// one. One thread waits, on one channel after another, so that every wait finds its queue so.
#include <stdio.h>
#include <stdlib.h>
#include "ring.h"

#define POLLS 16u /* loads of a CQE for one figure, each dependent on the previous one */
#define WARM 4u   /* channels whose figures do not count */
#define LAUNCHES 3
#define FIGURES (LAUNCHES * (RING_MAX_CHANNELS - WARM))

typedef struct wait_args {
	shmemd_ctx_t ctx;
	const char *queues;
	size_t queue_nbytes;
	ring_sink_t *sinks; /* [RING_MAX_CHANNELS] */
	uint32_t *stops;    /* [RING_MAX_CHANNELS] of the sinks */
	uint64_t *cycles;   /* [RING_MAX_CHANNELS] */
	uint32_t *status;   /* first failure */
	uint32_t n;         /* WQEBBs, each with a CQE */
} wait_args_t;

typedef void (*wait_kernel_t)(const wait_args_t);

/* One block for each channel: CQEs and their owner bits as a NIC writes them, the record as the
 * poster writes it, and the sink after all of them. */
SHMEMD_KERNEL(fill, wait_args_t, p)
{
	uint32_t k = shmemd_block_index(), i;
	shmemdi_chan_t c = shmemdi_chan(&p.ctx, RING_PE, k);
	ring_sq_t sq = ring_sq(c);
	ring_sink_t sink = {p.n, p.n, 0, 0};

	for (i = shmemd_thread_index(); i < RING_DEPTH; i += shmemd_arch_ntids())
		if (i < p.n)
			ring_sink_cqe(&sq, i, i, SHMEMD_MLX5_RDMA_WRITE);
		else
			shmemd_arch_st_relaxed_u64(shmemdi_cqe(&c, sq.queue, i) + SHMEMD_CQE_TAIL,
						   (uint64_t)SHMEMD_CQE_INVALID << 60);
	if (shmemd_thread_index() != 0)
		return;
	shmemd_arch_st_relaxed_u32((void *)sq.record, shmemd_arch_bswap32(p.n));
	p.sinks[k] = sink;
	p.stops[k] = 0;
}

/* Run the sink of one channel after another, so that no other sink polls at the same time. */
SHMEMD_FN void wait_sinks(const wait_args_t *p)
{
	uint32_t k;

	for (k = 0; k < RING_MAX_CHANNELS; k++)
		ring_sink_run(shmemdi_chan(&p->ctx, RING_PE, k), &p->sinks[k], &p->stops[k]);
}

/* Block 0 waits by one thread, block 1 is the sink if there is one. `wait` may use c and q, channel
 * k, and the call that is recorded; it sets status. */
#define WAIT_KERNEL(name, wait)                                                                    \
	SHMEMD_KERNEL(name, wait_args_t, p)                                                        \
	{                                                                                          \
		shmemdi_call_t call = shmemdi_call(SHMEMD_OP_QUIET, 0, 0);                         \
		uint32_t k;                                                                        \
                                                                                                   \
		if (shmemd_block_index() == 1) {                                                   \
			wait_sinks(&p);                                                            \
			return;                                                                    \
		}                                                                                  \
		if (shmemd_thread_index() != 0)                                                    \
			return;                                                                    \
		SHMEMD_ARCH_NO_UNROLL                                                              \
		for (k = 0; k < RING_MAX_CHANNELS; k++) {                                          \
			shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, k);                            \
			shmemdi_chan_t c = shmemdi_chan(&q, RING_PE, k);                           \
			int status = SHMEMD_OK;                                                    \
			uint64_t begin = (uint64_t)clock64();                                      \
                                                                                                   \
			(void)c, (void)call;                                                       \
			wait;                                                                      \
			p.cycles[k] = (uint64_t)clock64() - begin;                                 \
			if (status != SHMEMD_OK)                                                   \
				shmemd_arch_atom_cas_u32(p.status, 0, (uint32_t)status);           \
			shmemd_arch_st_release_u32(&p.stops[k], 1);                                \
			shmemd_arch_fence_order(); /* the next wait waits for no store of these */ \
		}                                                                                  \
	}

/* The sum of these tails never reaches bit 63, which the compiler cannot prove: the address of a
 * load depends on the previous load, and the last branch on all of them. */
SHMEMD_FN void poll_cqe(const char *cqe, uint32_t *status)
{
	uint64_t sum = 0;
	uint32_t i;

	SHMEMD_ARCH_NO_UNROLL
	for (i = 0; i < POLLS; i++)
		sum += shmemd_arch_ld_relaxed_u64(cqe + SHMEMD_CQE_TAIL + (sum >> 63));
	if (sum >> 63)
		shmemd_arch_st_relaxed_u32(status, SHMEMD_ERR_REFUSED);
}

/* The ticket of the poster of the last WQEBB. */
SHMEMD_FN shmemdi_ticket_t ticket(const wait_args_t *p, uint32_t k)
{
	shmemdi_ticket_t t = {SHMEMD_READY_WORD(p->n, p->n - 1, 0),
			      (uintptr_t)p->queues + k * p->queue_nbytes};
	return t;
}

SHMEMD_FN int read_in_order(const shmemdi_chan_t *c, shmemdi_call_t call, uint32_t end)
{
	int status = SHMEMD_OK;

	while (!shmemdi_cq_poll_index(c, call, end, &status) && status == SHMEMD_OK)
		;
	return status;
}

WAIT_KERNEL(one_poll,
	    poll_cqe(shmemdi_cqe(&c, (uintptr_t)p.queues + k * p.queue_nbytes, p.n - 1), p.status))
WAIT_KERNEL(by_number, status = shmemdi_cq_look_and_wait(&c, call, ticket(&p, k),
							 shmemdi_limit_default(c.ctx, RING_PE)))
WAIT_KERNEL(in_order, status = read_in_order(&c, call, p.n))
WAIT_KERNEL(quiet, status = shmemd_channel_quiet(&q, RING_PE))

static const struct wait {
	const char *name;
	wait_kernel_t kernel;
	uint32_t n_blocks; /* 2: with the sink */
	uint32_t n_polls;  /* of one figure */
} waits[] = {
	{"one poll of a CQE", one_poll, 1, POLLS},
	{"wait by number", by_number, 1, 1},
	{"CQEs in order", in_order, 1, 1},
	{"quiet with its READ", quiet, 2, 1},
};

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int wait_point(ring_queues_t *q, wait_args_t *a, const struct wait *w)
{
	const uint32_t flags = q->args.ctx.flags & SHMEMD_CTX_NIC_GPU_SCOPE;
	uint64_t all[FIGURES];
	uint32_t n = 0;

	for (int launch = 0; launch < LAUNCHES; launch++) {
		if (ring_queues_reset(q, flags, 0, a->n))
			return 1;
		a->ctx = q->args.ctx;
		fill<<<RING_MAX_CHANNELS, 256>>>(*a);
		w->kernel<<<w->n_blocks, 32>>>(*a);
		if (ring_check(q, w->name))
			return 1;
		for (uint32_t k = WARM; k < RING_MAX_CHANNELS; k++)
			all[n++] = a->cycles[k] / w->n_polls;
	}
	qsort(all, FIGURES, sizeof(all[0]), by_value);
	printf("%-6s %6u  %-20s %8llu %8llu %8llu\n", q->place, a->n, w->name,
	       (unsigned long long)all[FIGURES / 2], (unsigned long long)all[0],
	       (unsigned long long)all[FIGURES - 1]);
	return 0;
}

static int wait_place(int is_pinned)
{
	static const uint32_t counts[] = {1, 16, 128, 512};
	static ring_queues_t places[2];
	ring_queues_t *q = &places[is_pinned];
	wait_args_t a;

	if (ring_queues_make(q, is_pinned))
		return 1;
	a.queues = q->memory.queues;
	a.queue_nbytes = q->memory.queue_nbytes;
	a.sinks = q->args.sinks;
	a.status = q->args.status;
	a.stops = (uint32_t *)ring_alloc(RING_MAX_CHANNELS * sizeof(uint32_t), 0, 0);
	a.cycles = (uint64_t *)ring_alloc(RING_MAX_CHANNELS * sizeof(uint64_t), 1, 0);
	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (uint32_t w = 0; w < sizeof(waits) / sizeof(waits[0]); w++) {
			a.n = counts[i];
			if (wait_point(q, &a, &waits[w]))
				return 1;
		}
	return 0;
}

int ring_waits(void)
{
	printf("queues of %u WQEBBs; cycles of one thread, %u figures each\n\n", RING_DEPTH,
	       FIGURES);
	printf("%-6s %6s  %-20s %8s %8s %8s\n", "queue", "CQEs", "wait", "median", "least",
	       "greatest");
	return wait_place(0) || wait_place(1);
}
