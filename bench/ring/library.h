/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The library's rows of bench_ring --compare. Each file that includes this one measures one form of
 * the library: it sets SHMEMD_NIC_INLINE or not, and defines SEQUENCE and SEQUENCE_NAME. */
#ifndef BENCH_RING_LIBRARY_H
#define BENCH_RING_LIBRARY_H

#include "compare.h"
#include "ring.h"

static_assert(RING_MAX_CHANNELS == POST_MAX_CHANNELS && RING_PE == POST_PE &&
		      RING_QPN(7) == POST_QPN(7),
	      "the same channels as those of the other sequences");
static_assert(POST_QUEUE_NBYTES >= SHMEMD_QUEUE_NBYTES(POST_DEPTH) &&
		      POST_QUEUE_RECORD == SHMEMD_QUEUE_RECORD_OFFSET(POST_DEPTH) +
						   SHMEMD_RECORD_SEND * sizeof(uint32_t),
	      "queues as the library lays them out");
static_assert(POST_HEAP_NBYTES == RING_HEAP_NBYTES, "one granule");

/* The queues and doorbells that all sequences use. */
static int make_queues(ring_queues_t *q, const post_memory_t *m)
{
	ring_memory_t memory = {m->queues,         m->doorbells,         m->heap,
				POST_QUEUE_NBYTES, POST_DOORBELL_STRIDE, POST_LOG_DEPTH};

	return ring_queues_make_in(q, &memory);
}

/* Queues in host memory with GPU-scope fences exist only for a comparison with the limit: the
 * runtime sets SHMEMD_CTX_NIC_GPU_SCOPE only for queues on the GPU. */
static void *reset(const post_memory_t *m, const post_row_t *row, uint32_t)
{
	static ring_queues_t places[2];
	ring_queues_t *q = &places[m->is_pinned];

	if ((q->args.times == NULL && make_queues(q, m)) ||
	    ring_queues_reset(q, row->fences == POST_GPU ? SHMEMD_CTX_NIC_GPU_SCOPE : 0,
			      row->record == POST_NO_RECORD ? SHMEMD_PATH_NO_RECORD : 0, 0))
		return NULL;
	return &q->args.ctx;
}

/* `call` may use q, the context on this warp's channel. */
#define LIBRARY_KERNEL(name, ...)                                                                  \
	POST_KERNEL(name, shmemd_ctx_t, ctx, shmemd_ctx_t q = shmemd_ctx_channel(&ctx, channel);   \
		    __VA_ARGS__; __syncwarp())

#define LATER_BUT_32ND ((i + 1) % 32 ? SHMEMD_RING_DEFERRED : SHMEMD_RING_NOW)
#define SIGNAL ((uint64_t *)dst + 32)

LIBRARY_KERNEL(put_rule,
	       shmemd_channel_put_nbi_warp(&q, dst, src, POST_NBYTES, POST_PE, SHMEMD_RING_DEFAULT))
LIBRARY_KERNEL(put_each,
	       shmemd_channel_put_nbi_warp(&q, dst, src, POST_NBYTES, POST_PE, SHMEMD_RING_NOW))
LIBRARY_KERNEL(put_every_32nd,
	       shmemd_channel_put_nbi_warp(&q, dst, src, POST_NBYTES, POST_PE, LATER_BUT_32ND))
LIBRARY_KERNEL(put_signal_rule, shmemd_putmem_signal_nbi_warp(&q, dst, src, POST_NBYTES, SIGNAL, i,
							      SHMEMD_SIGNAL_SET, POST_PE))
LIBRARY_KERNEL(p_rule, if (lane == 0) shmemd_p_u64(&q, SIGNAL, i, POST_PE))
LIBRARY_KERNEL(add_rule,
	       if (lane == 0) shmemd_channel_add_u64(&q, SIGNAL, 1, POST_PE, SHMEMD_RING_DEFAULT))
LIBRARY_KERNEL(add_each,
	       if (lane == 0) shmemd_channel_add_u64(&q, SIGNAL, 1, POST_PE, SHMEMD_RING_NOW))
LIBRARY_KERNEL(add_every_32nd,
	       if (lane == 0) shmemd_channel_add_u64(&q, SIGNAL, 1, POST_PE, LATER_BUT_32ND))

#define LIBRARY_ROWS(op, ringing, kernel)                                                          \
	{op, ringing, POST_RECORD, POST_GPU, POST_ANYWHERE, POST_KERNELS(kernel)},                 \
		{op, ringing, POST_NO_RECORD, POST_GPU, POST_ON_DEVICE, POST_KERNELS(kernel)},     \
	{                                                                                          \
		op, ringing, POST_RECORD, POST_SYSTEM, POST_ANYWHERE, POST_KERNELS(kernel)         \
	}

static const post_row_t rows[] = {
	LIBRARY_ROWS(POST_PUT, POST_EACH, put_each),
	LIBRARY_ROWS(POST_PUT, POST_RULE, put_rule),
	LIBRARY_ROWS(POST_PUT, POST_EVERY_32ND, put_every_32nd),
	LIBRARY_ROWS(POST_PUT_SIGNAL, POST_RULE, put_signal_rule),
	LIBRARY_ROWS(POST_P, POST_RULE, p_rule),
	LIBRARY_ROWS(POST_ADD, POST_EACH, add_each),
	LIBRARY_ROWS(POST_ADD, POST_RULE, add_rule),
	LIBRARY_ROWS(POST_ADD, POST_EVERY_32ND, add_every_32nd),
};

extern const post_sequence_t SEQUENCE = {SEQUENCE_NAME, rows, sizeof(rows) / sizeof(rows[0]), 0,
					 reset};

#endif
