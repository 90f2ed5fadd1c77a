/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What kernels get to see of the links. */
#include "ib/tables.h"

#include <stdlib.h>
#include "ib/ib.h"
#include "mem/mem.h"
#include "mem/state.h"

static shmemd_path_t path_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link, int pe)
{
	return (shmemd_path_t){
		.qpn = link->qpn,
		.landing_key = link->landing_key,
		.doorbell = link->doorbell,
		.producer = link->producer,
		.dbr = link->dbr,
		.lkeys = shmemhi_keys_local(ib),
		.rkeys = shmemhi_keys_remote(ib, pe),
		.log_granule = (uint32_t)ib->log_granule,
	};
}

static shmemd_channel_t channel_of(const shmemh_t *job, const shmemhi_ib_t *ib,
				   const shmemhi_link_t *link)
{
	return (shmemd_channel_t){
		.ring = link->ring,
		.wqes = link->wqes,
		.cqes = link->cqes,
		.landing = link->landing,
		.depth = ib->depth,
		.batch = (uint32_t)job->opt.ib_batch,
		.inline_nbytes = (uint32_t)job->opt.ib_inline,
	};
}

/* The rings name the paths: they are what changes. */
static int name_paths(shmemh_t *job, const shmemhi_ib_t *ib, size_t n)
{
	int status = SHMEMH_OK;

	for (size_t i = 0; status == SHMEMH_OK && i < n; i++) {
		const shmemd_path_t *path = &ib->paths[i];

		status = shmemhi_dev_write(job, &ib->links[i].ring->path, &path, sizeof path);
	}
	return status;
}

static int write_channels(shmemh_t *job, shmemhi_ib_t *ib, shmemd_channel_t *channels,
			  shmemd_path_t *paths)
{
	size_t n = (size_t)ib->n_channels * (size_t)job->n_pes;
	int status;

	for (size_t i = 0; i < n; i++) {
		const shmemhi_link_t *link = &ib->links[i];

		paths[i] = path_of(ib, link, (int)(i % (size_t)job->n_pes));
		channels[i] = channel_of(job, ib, link);
	}
	status = shmemhi_dev_write(job, ib->paths, paths, n * sizeof *paths);
	if (status == SHMEMH_OK)
		status = shmemhi_dev_write(job, ib->channels, channels, n * sizeof *channels);
	if (status == SHMEMH_OK)
		status = name_paths(job, ib, n);
	return status;
}

int shmemhi_tables_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	size_t n = (size_t)ib->n_channels * (size_t)job->n_pes;
	size_t n_words = (size_t)ib->n_channels * SHMEMD_USED_WORDS((size_t)job->n_pes);
	shmemd_channel_t *channels = calloc(n, sizeof *channels);
	shmemd_path_t *paths = calloc(n, sizeof *paths);
	int status = channels && paths ? SHMEMH_OK
				       : shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
						      "NIC: no memory for %zu channels", n);

	if (status == SHMEMH_OK)
		status = shmemhi_dev_alloc(job, n * sizeof *paths, (void **)&ib->paths);
	if (status == SHMEMH_OK)
		status = shmemhi_dev_alloc(job, n * sizeof *channels, (void **)&ib->channels);
	if (status == SHMEMH_OK)
		status = shmemhi_dev_alloc(job, n_words * sizeof *ib->used, (void **)&ib->used);
	if (status == SHMEMH_OK)
		status = write_channels(job, ib, channels, paths);
	free(channels);
	free(paths);
	return status;
}

void shmemhi_tables_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	if (ib->paths)
		shmemhi_dev_free(job, ib->paths);
	if (ib->channels)
		shmemhi_dev_free(job, ib->channels);
	if (ib->used)
		shmemhi_dev_free(job, ib->used);
	ib->paths = NULL;
	ib->channels = NULL;
	ib->used = NULL;
}

/* All PEs have a NIC or none uses one. */
int shmemhi_ib_reaches(const shmemh_t *job, int pe)
{
	return job->ib && shmemhi_link(job->ib, job, 0, pe)->is_connected;
}

uint32_t shmemhi_ib_ctx_flags(const shmemh_t *job)
{
	const shmemhi_mem_t *mem = job->mem;

	if (!job->ib || mem->backend->kind != SHMEMH_HEAP_GPU)
		return 0;
	return shmemhi_cuctx_attribute(mem->cuctx, SHMEMHI_CU_ATTR_RDMA_ORDERING) <
			       SHMEMHI_CU_RDMA_ORDERING_OWNER
		       ? SHMEMD_CTX_FLUSH_READS
		       : 0;
}

void shmemhi_ib_fill_ctx(const shmemh_t *job, shmemd_ctx_t *ctx)
{
	const shmemhi_ib_t *ib = job->ib;

	ctx->n_world = (uint32_t)job->n_pes;
	if (!ib)
		return;
	ctx->channels = ib->channels;
	ctx->n_channels = (uint32_t)ib->n_channels;
	ctx->used = ib->used;
}
