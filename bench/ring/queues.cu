// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Channels without a NIC: the memory that the runtime would make, and the context that leads there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ring.h"

#define PAGE ((size_t)4096)
#define N_WORLD 2u

int ring_failed(cudaError_t err, const char *what)
{
	if (err == cudaSuccess)
		return 0;
	fprintf(stderr, "bench_ring: %s: %s\n", what, cudaGetErrorString(err));
	return 1;
}

void *ring_alloc(size_t nbytes, int is_pinned, int fill)
{
	void *p = NULL;
	cudaError_t err =
		is_pinned ? cudaHostAlloc(&p, nbytes, cudaHostAllocMapped) : cudaMalloc(&p, nbytes);

	if (err == cudaSuccess)
		err = cudaMemset(p, fill, nbytes);
	if (err == cudaSuccess)
		err = cudaDeviceSynchronize();
	if (ring_failed(err, "allocating queues"))
		exit(1);
	return p;
}

// Words of channel k as they are in memory of the device.
static shmemd_channel_t *channel_at(const ring_queues_t *q, uint32_t k)
{
	return &q->args.ctx.channels[k * N_WORLD + RING_PE];
}

// One granule covers the heap; a key's value is not looked at.
static int make_tables(shmemd_ctx_t *ctx)
{
	const uint32_t n_channels = RING_MAX_CHANNELS;
	shmemd_peer_t peers[N_WORLD];

	memset(peers, 0, sizeof(peers));
	peers[0].base = ctx->heap;
	peers[RING_PE].world_pe = RING_PE;
	ctx->peers = (const shmemd_peer_t *)ring_alloc(sizeof(peers), 0, 0);
	if (ring_failed(
		    cudaMemcpy((void *)ctx->peers, peers, sizeof(peers), cudaMemcpyHostToDevice),
		    "writing peers"))
		return 1;
	ctx->mapped_span = 1;
	ctx->n_granules = 1;
	ctx->keys = (const shmemd_key_t *)ring_alloc(
		SHMEMD_N_KEYS(ctx->n_granules, N_WORLD) * sizeof(shmemd_key_t), 0, 0);
	ctx->channels = (shmemd_channel_t *)ring_alloc(
		(size_t)n_channels * N_WORLD * sizeof(shmemd_channel_t), 0, 0);
	ctx->bounces =
		(char *)ring_alloc((size_t)n_channels * N_WORLD * SHMEMD_BOUNCES_NBYTES, 0, 0);
	ctx->used = (uint64_t *)ring_alloc(
		n_channels * SHMEMD_USED_WORDS(N_WORLD) * sizeof(uint64_t), 0, 0);
	return 0;
}

static int make_ctx(shmemd_ctx_t *ctx, const ring_memory_t *m)
{
	uint64_t *committed = (uint64_t *)ring_alloc(sizeof(uint64_t), 1, 0);

	*committed = RING_HEAP_NBYTES;
	ctx->version = SHMEMD_ABI_VERSION;
	ctx->size = sizeof(*ctx);
	ctx->n_pes = N_WORLD;
	ctx->n_world = N_WORLD;
	ctx->n_channels = RING_MAX_CHANNELS;
	ctx->heap = m->heap;
	ctx->heap_nbytes = RING_HEAP_NBYTES;
	ctx->heap_committed = committed;
	ctx->sync = (uint64_t *)m->heap;
	ctx->abort_word = (const uint64_t *)ring_alloc(sizeof(uint64_t), 1, 0);
	ctx->causes = (const uint32_t *)ring_alloc(N_WORLD * sizeof(uint32_t), 1, 0);
	ctx->latch = (shmemd_latch_t *)ring_alloc(sizeof(shmemd_latch_t), 0, 0);
	ctx->error = (shmemd_error_t *)ring_alloc(sizeof(shmemd_error_t), 1, 0);
	ctx->timeout_ns = 2000000000;
	ctx->device_copy = (const shmemd_ctx_t *)ring_alloc(sizeof(*ctx), 0, 0);
	ctx->geometry = SHMEMD_GEOMETRY(RING_LOG_GRANULE, m->log_depth, RING_LOG_BATCH,
					SHMEMD_MLX5_INLINE_MAX);
	return make_tables(ctx);
}

int ring_queues_make_in(ring_queues_t *q, const ring_memory_t *m)
{
	memset(q, 0, sizeof(*q));
	q->memory = *m;
	if (make_ctx(&q->args.ctx, m))
		return 1;
	q->args.sinks = (ring_sink_t *)ring_alloc(RING_MAX_CHANNELS * sizeof(ring_sink_t), 0, 0);
	q->args.times = (ring_time_t *)ring_alloc(RING_LANES * sizeof(ring_time_t), 1, 0);
	q->args.stop = (uint32_t *)ring_alloc(sizeof(uint32_t), 0, 0);
	q->args.status = (uint32_t *)ring_alloc(sizeof(uint32_t), 1, 0);
	return 0;
}

int ring_queues_make(ring_queues_t *q, int is_pinned)
{
	ring_memory_t m;

	m.log_depth = RING_LOG_DEPTH;
	m.queue_nbytes = (SHMEMD_QUEUE_NBYTES(RING_DEPTH) + PAGE - 1) / PAGE * PAGE;
	m.doorbell_nbytes = 128;
	m.queues = (char *)ring_alloc(RING_MAX_CHANNELS * m.queue_nbytes, is_pinned, 0xff);
	m.doorbells = (char *)ring_alloc(RING_MAX_CHANNELS * m.doorbell_nbytes, 1, 0);
	m.heap = (char *)ring_alloc(RING_HEAP_NBYTES, 0, 0);
	if (ring_queues_make_in(q, &m))
		return 1;
	q->place = is_pinned ? "host" : "device";
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++)
		if (ring_failed(cudaMemset(m.queues + k * m.queue_nbytes +
						   SHMEMD_QUEUE_RECORD_OFFSET(RING_DEPTH),
					   0, 128),
				"clearing records"))
			return 1;
	return ring_queues_reset(q, is_pinned ? 0 : SHMEMD_CTX_NIC_GPU_SCOPE, 0, 0);
}

static void reset_channel(ring_queues_t *q, uint32_t k, uint32_t path_flags, uint32_t n)
{
	const ring_memory_t *m = &q->memory;
	shmemd_channel_t *ch = &q->copy[k];

	memset(ch, 0, sizeof(*ch));
	ch->resv = SHMEMD_RESV_ADD(n, n);
	ch->ready = SHMEMD_READY_WORD(n, n, SHMEMD_READY_RUNG);
	ch->path = SHMEMD_PATH_WORD(0, RING_QPN(k), 0, path_flags);
	ch->queue = SHMEMD_TAGGED(0, m->queues + k * m->queue_nbytes);
	ch->doorbell = SHMEMD_TAGGED(0, m->doorbells + k * m->doorbell_nbytes);
	for (uint64_t i = 0; i < SHMEMD_BOUNCE_BUFFERS; i++)
		ch->owners[i] = i << 1; // free for ticket i
}

int ring_queues_reset(ring_queues_t *q, uint32_t ctx_flags, uint32_t path_flags, uint32_t n)
{
	shmemd_ctx_t *ctx = &q->args.ctx;

	ctx->flags = SHMEMD_CTX_NIC | SHMEMD_CTX_WORLD_NUMBERS | ctx_flags;
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++)
		reset_channel(q, k, path_flags, n);
	return ring_failed(cudaMemcpy((void *)ctx->device_copy, ctx, sizeof(*ctx),
				      cudaMemcpyHostToDevice),
			   "writing the context") ||
	       ring_failed(cudaMemcpy2D(channel_at(q, 0),
					(size_t)N_WORLD * sizeof(shmemd_channel_t), q->copy,
					sizeof(q->copy[0]), sizeof(q->copy[0]), RING_MAX_CHANNELS,
					cudaMemcpyHostToDevice),
			   "writing channels");
}

int ring_queues_read(ring_queues_t *q)
{
	return ring_failed(cudaMemcpy2D(q->copy, sizeof(q->copy[0]), channel_at(q, 0),
					(size_t)N_WORLD * sizeof(shmemd_channel_t),
					sizeof(q->copy[0]), RING_MAX_CHANNELS,
					cudaMemcpyDeviceToHost),
			   "reading channels");
}

int ring_check(const ring_queues_t *q, const char *what)
{
	const shmemd_error_t *e = q->args.ctx.error;

	if (ring_failed(cudaGetLastError(), what) || ring_failed(cudaDeviceSynchronize(), what))
		return 1;
	if (*q->args.status == SHMEMD_OK && e->status == SHMEMD_OK)
		return 0;
	fprintf(stderr,
		"bench_ring: %s: quiet returned %u; error record: status %u, value %llx, wanted "
		"%llx\n",
		what, *q->args.status, e->status, (unsigned long long)e->value,
		(unsigned long long)e->wanted);
	return 1;
}

int ring_launch(ring_queues_t *q, const ring_op_t *op)
{
	q->args.nbytes = op->nbytes;
	if (ring_failed(cudaMemset(q->args.stop, 0, sizeof(uint32_t)), "clearing a word"))
		return 1;
	op->kernel<<<2, 1024>>>(q->args);
	return ring_check(q, op->name);
}
