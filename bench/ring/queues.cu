// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Channels that lead to the sink: the memory that the runtime would make, without a NIC.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ring.h"

int ring_failed(cudaError_t err, const char *what)
{
	if (err == cudaSuccess)
		return 0;
	fprintf(stderr, "bench_ring: %s: %s\n", what, cudaGetErrorString(err));
	return 1;
}

/* Memory for both sides, or for the GPU alone; every byte is `fill`. */
static void *alloc(size_t nbytes, int is_pinned, int fill)
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

/* A copy in memory of the device. */
static void *put(const void *from, size_t nbytes)
{
	void *p = alloc(nbytes, 0, 0);

	if (ring_failed(cudaMemcpy(p, from, nbytes, cudaMemcpyHostToDevice), "filling queues"))
		exit(1);
	return p;
}

/* One region covers the heap. The key's value is not looked at. */
static shmemd_path_t make_path(uint32_t k, char *words, const shmemd_key_t *keys)
{
	shmemd_path_t path;

	memset(&path, 0, sizeof(path));
	path.qpn = RING_QPN(k);
	path.doorbell = words;
	path.dbr = (uint32_t *)(words + 64);
	path.lkeys = keys;
	path.rkeys = keys;
	path.log_granule = 20;
	return path;
}

static void make_channels(ring_queues_t *q, int is_pinned)
{
	static shmemd_channel_t channels[RING_MAX_CHANNELS * 2];
	static shmemd_path_t paths[RING_MAX_CHANNELS];
	const size_t queue_nbytes = RING_DEPTH * SHMEMD_WQEBB_NBYTES;
	const size_t landing_nbytes = (SHMEMD_LANDING_SLOTS + 1) * SHMEMD_LANDING_NBYTES;
	char *cqes = (char *)alloc(RING_MAX_CHANNELS * queue_nbytes, is_pinned, 0xff);
	char *landing = (char *)alloc(RING_MAX_CHANNELS * landing_nbytes, is_pinned, 0);
	char *words = (char *)alloc(RING_MAX_CHANNELS * 128, is_pinned, 0);
	shmemd_key_t key = {0, 0};
	const shmemd_key_t *keys = (const shmemd_key_t *)put(&key, sizeof(key));

	q->wqes = (char *)alloc(RING_MAX_CHANNELS * queue_nbytes, is_pinned, 0);
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++)
		paths[k] = make_path(k, words + 128 * k, keys);
	const shmemd_path_t *on_gpu = (const shmemd_path_t *)put(paths, sizeof(paths));
	memset(q->copy, 0, sizeof(q->copy));
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++) {
		q->copy[k].path = &on_gpu[k];
		for (uint32_t slot = 0; slot < SHMEMD_LANDING_SLOTS; slot++)
			q->copy[k].turns[slot] = 2 * slot;
	}
	q->rings = (shmemd_ring_t *)put(q->copy, sizeof(q->copy));
	for (uint32_t k = 0; k < RING_MAX_CHANNELS; k++) {
		shmemd_channel_t *ch = &channels[2 * k + RING_PE];

		ch->ring = &q->rings[k];
		ch->wqes = q->wqes + k * queue_nbytes;
		ch->cqes = cqes + k * queue_nbytes;
		ch->landing = landing + k * landing_nbytes;
		ch->depth = RING_DEPTH;
		ch->batch = RING_BATCH;
		ch->inline_nbytes = SHMEMD_MLX5_INLINE_MAX;
	}
	q->args.ctx.channels = (const shmemd_channel_t *)put(channels, sizeof(channels));
}

int ring_queues_make(ring_queues_t *q, int is_pinned)
{
	shmemd_ctx_t *ctx = &q->args.ctx;
	shmemd_peer_t peers[2];

	memset(q, 0, sizeof(*q));
	q->place = is_pinned ? "host" : "device";
	make_channels(q, is_pinned);
	ctx->version = SHMEMD_ABI_VERSION;
	ctx->size = sizeof(*ctx);
	ctx->n_pes = 2;
	ctx->flags = SHMEMD_CTX_NIC | SHMEMD_CTX_WORLD;
	ctx->heap = (char *)alloc(RING_HEAP_NBYTES, 0, 0);
	ctx->heap_nbytes = RING_HEAP_NBYTES;
	memset(peers, 0, sizeof(peers));
	peers[0].base = ctx->heap;
	peers[1].world_pe = RING_PE;
	ctx->peers = (const shmemd_peer_t *)put(peers, sizeof(peers));
	ctx->sync = (uint64_t *)ctx->heap;
	ctx->abort_word = (const uint64_t *)alloc(sizeof(uint64_t), 1, 0);
	ctx->causes = (const uint32_t *)alloc(2 * sizeof(uint32_t), 1, 0);
	ctx->latch = (shmemd_latch_t *)alloc(sizeof(shmemd_latch_t), 0, 0);
	ctx->error = (shmemd_error_t *)alloc(sizeof(shmemd_error_t), 1, 0);
	ctx->timeout_ns = 2000000000;
	ctx->n_channels = RING_MAX_CHANNELS;
	ctx->n_world = 2;
	ctx->used = (uint64_t *)alloc(RING_MAX_CHANNELS * sizeof(uint64_t), 0, 0);
	q->args.sinks = (ring_sink_t *)alloc(RING_MAX_CHANNELS * sizeof(ring_sink_t), 0, 0);
	q->args.times = (ring_time_t *)alloc(RING_LANES * sizeof(ring_time_t), 1, 0);
	q->args.stop = (uint32_t *)alloc(sizeof(uint32_t), 0, 0);
	q->args.status = (uint32_t *)alloc(sizeof(uint32_t), 1, 0);
	return ring_queues_read(q);
}

int ring_queues_read(ring_queues_t *q)
{
	return ring_failed(cudaMemcpy(q->copy, q->rings, sizeof(q->copy), cudaMemcpyDeviceToHost),
			   "reading rings");
}

int ring_launch(ring_queues_t *q, const ring_op_t *op)
{
	const shmemd_error_t *e = q->args.ctx.error;

	q->args.nbytes = op->nbytes;
	if (ring_failed(cudaMemset(q->args.stop, 0, sizeof(uint32_t)), "clearing a word"))
		return 1;
	op->kernel<<<2, 1024>>>(q->args);
	if (ring_failed(cudaGetLastError(), op->name) ||
	    ring_failed(cudaDeviceSynchronize(), op->name))
		return 1;
	if (*q->args.status == SHMEMD_OK && e->status == SHMEMD_OK)
		return 0;
	fprintf(stderr,
		"bench_ring: %s: quiet returned %u; error record: status %u, value %llx, wanted "
		"%llx\n",
		op->name, *q->args.status, e->status, (unsigned long long)e->value,
		(unsigned long long)e->wanted);
	return 1;
}
