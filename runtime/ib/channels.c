/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The words of each channel that kernels read and write. */
#include "ib/channels.h"

#include <stdlib.h>
#include <string.h>
#include "cuda/ctx.h"
#include "ib/failover.h"
#include "ib/ib.h"
#include "mem/mem.h"

static uint32_t path_flags(const shmemhi_link_t *link)
{
	if (link->producer)
		return SHMEMD_PATH_PROXY;
	return link->has_no_record ? SHMEMD_PATH_NO_RECORD : 0;
}

/* Epoch 0, nothing posted. */
static void init_channel(const shmemhi_link_t *link, shmemd_channel_t *channel)
{
	void *doorbell = link->producer ? (void *)link->producer : link->doorbell;

	*channel = (shmemd_channel_t){
		.ready = SHMEMD_READY_WORD(0, 0, SHMEMD_READY_RUNG),
		.path = SHMEMD_PATH_WORD(0, link->qpn, 0, path_flags(link)),
		.queue = link->was_connected ? SHMEMD_TAGGED(0, link->queue) : 0,
		.doorbell = SHMEMD_TAGGED(0, doorbell),
	};
	for (uint64_t i = 0; i < SHMEMD_BOUNCE_BUFFERS; i++)
		channel->owners[i] = i << 1; /* free for ticket i */
}

/* Write one row at once: channel k to all PEs. */
static int write_channels(shmemh_t *job, const shmemhi_ib_t *ib)
{
	size_t n_pes = (size_t)job->n_pes, nbytes = n_pes * sizeof(shmemd_channel_t);
	shmemd_channel_t *row = malloc(nbytes);
	int status = SHMEMH_OK;

	if (!row)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				    "NIC: no memory for %zu channels", n_pes);
	for (int k = 0; status == SHMEMH_OK && k < ib->n_channels; k++) {
		const shmemhi_link_t *links = shmemhi_link(ib, job, k, 0);

		for (size_t pe = 0; pe < n_pes; pe++)
			init_channel(&links[pe], &row[pe]);
		status = shmemhi_dev_write(job, shmemhi_channel(ib, links), row, nbytes);
	}
	free(row);
	return status;
}

int shmemhi_channels_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	size_t n = (size_t)ib->n_channels * (size_t)job->n_pes;
	size_t n_words = (size_t)ib->n_channels * SHMEMD_USED_WORDS((size_t)job->n_pes);
	int status = shmemhi_dev_alloc(job, n * sizeof *ib->channels, (void **)&ib->channels);

	if (status == SHMEMH_OK)
		status = shmemhi_dev_alloc(job, n_words * sizeof *ib->used, (void **)&ib->used);
	return status == SHMEMH_OK ? write_channels(job, ib) : status;
}

void shmemhi_channels_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	if (ib->channels)
		shmemhi_dev_free(job, ib->channels);
	if (ib->used)
		shmemhi_dev_free(job, ib->used);
	ib->channels = NULL;
	ib->used = NULL;
}

/* All PEs have a NIC or none uses one. */
bool shmemhi_ib_reaches(const shmemh_t *job, int pe)
{
	return job->ib && shmemhi_link(job->ib, job, 0, pe)->was_connected;
}

/* Does this PE's GPU observe the writes of a NIC in the order in which the NIC made them? */
static bool observes_order(const shmemh_t *job)
{
	return shmemhi_cuctx_attribute(shmemhi_mem_cuctx(job), SHMEMHI_CU_ATTR_RDMA_ORDERING) >=
	       SHMEMHI_CU_RDMA_ORDERING_OWNER;
}

/* After a thread has polled the CQE of a READ, it loads the data of the READ. Is a DUMP needed in
 * between, so that the data has arrived in GPU memory when the thread polls the CQE?
 *
 * CQEs in memory of this GPU: the NIC writes the data to the same GPU, in the heap or in a bounce
 * buffer, and before the CQE. An attribute of CUDA says whether this GPU observes such writes in
 * order (owner, all devices) or not (none).
 *
 * CQEs in host memory: the attribute describes writes to GPU memory only, and PCIe does not
 * order writes to two destinations. Whatever the attribute says, a thread may poll the CQE while
 * the data is still on its way to the GPU. With a DUMP the NIC reads GPU memory, which PCIe
 * orders after its own writes there, and then writes the CQE of the DUMP. */
static bool needs_dumps(const shmemh_t *job)
{
	return !job->ib->has_gpu_queues || !observes_order(job);
}

/* DUMPs serve what this PE asks for. Nothing that a sender or a waiting thread does orders the two
 * WRITEs of a put with signal for a GPU that observes them in any order. */
bool shmemhi_ib_warn_of_order(const shmemh_t *job)
{
	if (!job->ib || !shmemhi_mem_is_on_gpu(job) || observes_order(job))
		return false;
	shmemhi_log(
		&job->log, SHMEMHI_WARN,
		"this GPU may observe writes of a NIC out of order (GPUDirect RDMA writes "
		"ordering: none), so a signal from a PE behind a NIC can be seen before its data: "
		"use SHMEMH_HEAP=host, or a GPU whose ordering is owner or all");
	return true;
}

uint32_t shmemhi_ib_ctx_flags(const shmemh_t *job)
{
	uint32_t flags = job->ib && job->ib->failover ? SHMEMD_CTX_FT : 0;

	if (!job->ib || !shmemhi_mem_is_on_gpu(job))
		return flags;
	if (needs_dumps(job))
		flags |= SHMEMD_CTX_DUMP_AFTER_READ;
	/* The CPU doorbell proxy reads the producer words from host memory, so WQEs need system
	 * scope. */
	if (job->ib->has_gpu_queues && !job->ib->links[0].producer)
		flags |= SHMEMD_CTX_NIC_GPU_SCOPE;
	return flags;
}

void shmemhi_ib_fill_ctx(const shmemh_t *job, shmemd_ctx_t *ctx)
{
	const shmemhi_ib_t *ib = job->ib;

	ctx->n_world = (uint32_t)job->n_pes;
	if (!ib)
		return;
	ctx->channels = ib->channels;
	ctx->keys = shmemhi_keys_table(ib);
	ctx->bounces = ib->bounces;
	ctx->used = ib->used;
	ctx->n_channels = (uint32_t)ib->n_channels;
	ctx->n_granules = ib->n_granules;
	ctx->geometry =
		SHMEMD_GEOMETRY(ib->log_granule, __builtin_ctz(ib->depth),
				__builtin_ctz((uint32_t)job->opt.ib_batch), job->opt.ib_inline);
	if (ib->failover) {
		ctx->switch_order = ib->failover->order;
		ctx->faults = ib->failover->faults;
	}
}
