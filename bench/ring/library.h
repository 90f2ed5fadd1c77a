/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The library's rows of bench_ring --compare. Each file that includes this one is a form of the
 * library: it chooses by SHMEMD_NIC_INLINE, and defines SEQUENCE and SEQUENCE_NAME. */
#ifndef BENCH_RING_LIBRARY_H
#define BENCH_RING_LIBRARY_H

#include "compare.h"
#include "ring.h"

static_assert(RING_MAX_CHANNELS == POST_MAX_CHANNELS, "a ring for each channel");

/* What a placement needs, made once. */
typedef struct library {
	ring_queues_t queues;
	shmemd_ring_t empty[RING_MAX_CHANNELS];
} library_t;

/* The paths of queues.cu, led to the doorbells and records that all sequences use. */
static int lead_paths(const ring_queues_t *q, const post_memory_t *m)
{
	shmemd_path_t paths[RING_MAX_CHANNELS];
	void *on_gpu = (void *)q->copy[0].path;

	if (post_failed(cudaMemcpy(paths, on_gpu, sizeof(paths), cudaMemcpyDeviceToHost), "paths"))
		return 1;
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++) {
		paths[k].qpn = POST_QPN(k);
		paths[k].doorbell = m->doorbells + POST_DOORBELL_STRIDE * k;
		paths[k].dbr = (uint32_t *)(m->records + POST_RECORD_STRIDE * k);
	}
	return post_failed(cudaMemcpy(on_gpu, paths, sizeof(paths), cudaMemcpyHostToDevice),
			   "paths");
}

/* Likewise the channels, to queues of POST_DEPTH WQEBBs. */
static int lead_channels(ring_queues_t *q, const post_memory_t *m)
{
	shmemd_channel_t channels[RING_MAX_CHANNELS * POST_N_PES];
	void *on_gpu = (void *)q->args.ctx.channels;

	if (post_failed(cudaMemcpy(channels, on_gpu, sizeof(channels), cudaMemcpyDeviceToHost),
			"channels"))
		return 1;
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++) {
		shmemd_channel_t *ch = &channels[k * POST_N_PES + POST_PE];

		ch->wqes = m->wqes + (size_t)k * POST_DEPTH * POST_WQEBB_NBYTES;
		ch->depth = POST_DEPTH;
	}
	return post_failed(cudaMemcpy(on_gpu, channels, sizeof(channels), cudaMemcpyHostToDevice),
			   "channels");
}

static int make_library(library_t *l, const post_memory_t *m)
{
	if (ring_queues_make(&l->queues, m->is_pinned))
		return 1;
	l->queues.args.ctx.heap = m->heap;
	memcpy(l->empty, l->queues.copy, sizeof(l->empty));
	return lead_paths(&l->queues, m) || lead_channels(&l->queues, m);
}

static void *reset(const post_memory_t *m, uint32_t)
{
	static library_t libraries[2];
	library_t *l = &libraries[m->is_pinned];

	if (l->queues.rings == NULL && make_library(l, m))
		return NULL;
	if (post_failed(
		    cudaMemcpy(l->queues.rings, l->empty, sizeof(l->empty), cudaMemcpyHostToDevice),
		    "rings"))
		return NULL;
	return &l->queues.args.ctx;
}

/* `call` sees q, the context on this warp's channel. */
#define LIBRARY_KERNEL(name, ...)                                                                  \
	POST_KERNEL(name, shmemd_ctx_t, ctx, shmemd_ctx_t q = shmemd_ctx_channel(&ctx, channel);   \
		    __VA_ARGS__; __syncwarp())

#define LATER_BUT_32ND ((i + 1) % 32 ? SHMEMD_RING_LATER : SHMEMD_RING_NOW)
#define SIGNAL ((uint64_t *)dst + 32)

LIBRARY_KERNEL(put_rule,
	       shmemd_channel_put_nbi_warp(&q, dst, src, POST_NBYTES, POST_PE, SHMEMD_RING_BATCH))
LIBRARY_KERNEL(put_each,
	       shmemd_channel_put_nbi_warp(&q, dst, src, POST_NBYTES, POST_PE, SHMEMD_RING_NOW))
LIBRARY_KERNEL(put_every_32nd,
	       shmemd_channel_put_nbi_warp(&q, dst, src, POST_NBYTES, POST_PE, LATER_BUT_32ND))
LIBRARY_KERNEL(put_signal_rule, shmemd_putmem_signal_nbi_warp(&q, dst, src, POST_NBYTES, SIGNAL, i,
							      SHMEMD_SIGNAL_SET, POST_PE))
LIBRARY_KERNEL(p_rule, if (lane == 0) shmemd_p_u64(&q, SIGNAL, i, POST_PE))
LIBRARY_KERNEL(add_rule,
	       if (lane == 0) shmemd_channel_add_u64(&q, SIGNAL, 1, POST_PE, SHMEMD_RING_BATCH))
LIBRARY_KERNEL(add_each,
	       if (lane == 0) shmemd_channel_add_u64(&q, SIGNAL, 1, POST_PE, SHMEMD_RING_NOW))

#define LIBRARY_ROW(op, ringing, kernel)                                                           \
	{                                                                                          \
		op, ringing, POST_RECORD, POST_SYSTEM, POST_ANYWHERE, (const void *)kernel         \
	}

static const post_row_t rows[] = {
	LIBRARY_ROW(POST_PUT, POST_RULE, put_rule),
	LIBRARY_ROW(POST_PUT, POST_EACH, put_each),
	LIBRARY_ROW(POST_PUT, POST_EVERY_32ND, put_every_32nd),
	LIBRARY_ROW(POST_PUT_SIGNAL, POST_RULE, put_signal_rule),
	LIBRARY_ROW(POST_P, POST_RULE, p_rule),
	LIBRARY_ROW(POST_ADD, POST_RULE, add_rule),
	LIBRARY_ROW(POST_ADD, POST_EACH, add_each),
};

extern const post_sequence_t SEQUENCE = {SEQUENCE_NAME, rows, sizeof(rows) / sizeof(rows[0]), 0,
					 reset};

#endif
