/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Contexts for kernels, and the error latch and record that kernels write. */
#include <string.h>
#include "core/job.h"
#include "ib/ib.h"
#include "mem/mem.h"

int shmemhi_device_open(shmemh_t *job)
{
	int status = shmemhi_dev_alloc(job, sizeof *job->latch, (void **)&job->latch);

	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(job, sizeof *job->error, (void **)&job->error);
	status = shmemhi_agree(job, status);
	if (status != SHMEMH_OK)
		shmemhi_device_close(job);
	return status;
}

void shmemhi_device_close(shmemh_t *job)
{
	if (job->latch)
		shmemhi_dev_free(job, job->latch);
	if (job->error)
		shmemhi_pinned_free(job, job->error);
	job->latch = NULL;
	job->error = NULL;
}

static int check_abi(shmemh_t *job, uint32_t abi_version, size_t ctx_nbytes)
{
	uint32_t major = abi_version >> 16, minor = abi_version & 0xffff;

	if (major == SHMEMD_ABI_MAJOR && minor <= SHMEMD_ABI_MINOR &&
	    ctx_nbytes <= sizeof(shmemd_ctx_t))
		return SHMEMH_OK;
	return shmemhi_fail(&job->err, SHMEMH_ERR_VERSION,
			    "ctx_get: device code was compiled with ABI %u.%u (context of %zu "
			    "bytes), this runtime serves %d.0 to %d.%d (%zu bytes): rebuild the "
			    "kernels with the headers of this installation",
			    major, minor, ctx_nbytes, SHMEMD_ABI_MAJOR, SHMEMD_ABI_MAJOR,
			    SHMEMD_ABI_MINOR, sizeof(shmemd_ctx_t));
}

int shmemh_ctx_get_abi(shmemh_t *job, shmemh_team_t team, shmemd_ctx_t *ctx, uint32_t abi_version,
		       size_t ctx_nbytes)
{
	const shmemhi_team_t *t;
	shmemd_ctx_t full;
	int status;

	if (shmemhi_refused(job, "ctx_get"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	if (!ctx)
		return shmemhi_done(job, shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
						      "ctx_get: ctx, which receives the context, "
						      "is NULL"));
	status = check_abi(job, abi_version, ctx_nbytes);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	if (team < 0 || team >= SHMEMHI_MAX_TEAMS)
		return shmemhi_done(job, shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
						      "ctx_get: team %d does not exist: use "
						      "SHMEMH_TEAM_WORLD or SHMEMH_TEAM_NODE",
						      team));
	t = &job->teams[team];
	full = (shmemd_ctx_t){
		.version = SHMEMD_ABI_VERSION,
		.size = (uint32_t)ctx_nbytes,
		.my_pe = t->my_pe,
		.n_pes = t->n_pes,
		.flags = t->ctx_flags,
		.heap = shmemhi_mem_base(job, job->pe),
		.heap_nbytes = shmemhi_mem_reserved(job),
		.peers = t->peers,
		.sync = t->sync,
		.abort_word = t->abort_word,
		.causes = t->causes,
		.latch = job->latch,
		.error = job->error,
		.timeout_ns = job->opt.timeout_ns,
	};
	shmemhi_ib_fill_ctx(job, &full);
	memcpy(ctx, &full, ctx_nbytes);
	return SHMEMH_OK;
}

int shmemh_error_get(const shmemh_t *job, shmemd_error_t *err)
{
	uint32_t status;

	if (shmemhi_refused(job, "error_get"))
		return SHMEMH_ERR_ARGUMENT;
	/* The device stores status last, with release: acquire makes the other fields valid. */
	status = __atomic_load_n(&job->error->status, __ATOMIC_ACQUIRE);
	if (err) {
		memset(err, 0, sizeof *err);
		if (status)
			memcpy(err, job->error, sizeof *err);
	}
	return (int)status;
}

int shmemh_error_clear(shmemh_t *job)
{
	shmemd_latch_t zero = {0, 0};

	if (shmemhi_refused(job, "error_clear"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	memset(job->error, 0, sizeof *job->error);
	return shmemhi_done(job, shmemhi_dev_write(job, job->latch, &zero, sizeof zero));
}
