/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Contexts for kernels, and the error latch and record that kernels write. */
#include <string.h>
#include "core/team.h"
#include "ib/ib.h"
#include "mem/mem.h"

int shmemhi_latch_open(shmemh_t *job)
{
	int status = shmemhi_dev_alloc(job, sizeof *job->latch, (void **)&job->latch);

	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(job, sizeof *job->error, (void **)&job->error,
					      &job->err);
	status = shmemhi_agree(job, status);
	if (status != SHMEMH_OK)
		shmemhi_latch_close(job);
	return status;
}

void shmemhi_latch_close(shmemh_t *job)
{
	if (job->latch)
		shmemhi_dev_free(job, job->latch);
	if (job->error)
		shmemhi_pinned_free(job, job->error);
	shmemhi_trace_close(job);
	job->latch = NULL;
	job->error = NULL;
}

_Static_assert(SHMEMHI_BASE_ALIGN % ((uint64_t)1 << SHMEMD_STRIDE_LOG_UNIT) == 0,
	       "mapped_stride is a multiple of its unit");

/* Set mapped_stride, n_strided and what follows from it, if all members of the range of mapped ones
 * are mapped and their heaps are equally far apart. */
static void set_stride(const shmemh_t *job, const shmemhi_team_t *team, shmemd_ctx_t *ctx)
{
	int64_t own = (intptr_t)shmemhi_mem_base(job, job->pe), stride = 0;

	for (int i = 0; i < team->mapped_span; i++) {
		int pe = team->world_pe[team->first_mapped + i];
		int distance = team->first_mapped + i - team->my_pe;
		int64_t nbytes = (intptr_t)shmemhi_mem_base(job, pe) - own;

		if (!shmemhi_mem_is_for_kernels(job, pe))
			return;
		if (stride == 0 && distance != 0)
			stride = nbytes / distance;
		if (nbytes != distance * stride)
			return;
	}
	ctx->mapped_stride = stride;
	ctx->n_strided = (uint32_t)team->mapped_span;
	ctx->n_strided_amos = ctx->flags & SHMEMD_CTX_SM_ATOMICS ? ctx->n_strided : 0;
	ctx->n_strided_puts_with_signal =
		ctx->flags & SHMEMD_CTX_MIXED_TRANSPORT ? 0 : ctx->n_strided;
}

int shmemhi_team_write_ctx(shmemh_t *job, shmemhi_team_t *team)
{
	team->ctx = (shmemd_ctx_t){
		.version = SHMEMD_ABI_VERSION,
		.size = (uint32_t)sizeof team->ctx,
		.my_pe = team->my_pe,
		.n_pes = team->n_pes,
		.flags = team->ctx_flags | SHMEMD_CTX_CHECKABLE |
			 SHMEMD_CTX_GENERATION(team->generation),
		.heap = shmemhi_mem_base(job, job->pe),
		.heap_nbytes = shmemhi_mem_reserved(job),
		.peers = team->peers,
		.sync = team->sync,
		.abort_word = team->abort_word,
		.causes = team->causes,
		.latch = job->latch,
		.error = job->error,
		.timeout_ns = job->opt.timeout_ns,
		.device_copy = team->device_copy,
		.heap_committed = shmemhi_mem_committed_word(job),
		.first_mapped = team->first_mapped,
		.mapped_span = (uint32_t)team->mapped_span,
	};
	set_stride(job, team, &team->ctx);
	shmemhi_ib_fill_ctx(job, &team->ctx);
	return shmemhi_dev_write(job, team->device_copy, &team->ctx, sizeof team->ctx);
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

/* Code compiled with SHMEMD_NO_NIC can use a team only if no operation needs a NIC. With mixed
 * transport its fence, quiet and barrier would leave out the atomics that other units post through
 * contexts of this team. (They leave out what is posted through contexts of other teams: order.h
 * says so.) */
static int check_no_nic(shmemh_t *job, const shmemhi_team_t *team)
{
	for (int i = 0; i < team->n_pes; i++) {
		int pe = team->world_pe[i];
		int is_mapped = shmemhi_mem_is_for_kernels(job, pe);

		if (!is_mapped && shmemhi_ib_reaches(job, pe))
			return shmemhi_fail(&job->err, SHMEMH_ERR_VERSION,
					    "ctx_get: only a NIC reaches PE %d from PE %d, and the "
					    "caller was compiled with SHMEMD_NO_NIC: compile it "
					    "without",
					    pe, job->pe);
	}
	if (team->ctx_flags & SHMEMD_CTX_MIXED_TRANSPORT)
		return shmemhi_fail(&job->err, SHMEMH_ERR_VERSION,
				    "ctx_get: atomics of this team go by NIC, and the caller was "
				    "compiled with SHMEMD_NO_NIC: compile it without");
	return SHMEMH_OK;
}

int shmemh_ctx_get_abi(shmemh_t *job, shmemh_team_t team, shmemd_ctx_t *ctx, uint32_t abi_version,
		       size_t ctx_nbytes)
{
	const shmemhi_team_t *own;
	int status;

	if (shmemhi_refused(job, "ctx_get"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	if (!ctx)
		return shmemhi_done(job, shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
						      "ctx_get: ctx, which receives the context, "
						      "is NULL"));
	status = check_abi(job, abi_version & ~SHMEMD_ABI_NO_NIC, ctx_nbytes);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	own = shmemhi_team_find(job, team);
	if (!own)
		return shmemhi_done(job, shmemhi_fail_no_team(job, "ctx_get", team));
	if (abi_version & SHMEMD_ABI_NO_NIC)
		status = check_no_nic(job, own);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	memcpy(ctx, &own->ctx, ctx_nbytes);
	ctx->size = (uint32_t)ctx_nbytes;
	return SHMEMH_OK;
}

/* For programs that ignore the statuses of device calls: at least the first error is logged. */
void shmemhi_log_unread_error(const shmemh_t *job)
{
	char text[512];

	if (!job->error || !__atomic_load_n(&job->error->status, __ATOMIC_ACQUIRE) ||
	    atomic_load(&job->is_error_read))
		return;
	shmemhi_log(&job->log, SHMEMHI_WARN,
		    "a device call failed, and the program has not read it (shmemh_error_get): %s",
		    shmemh_error_format(job->error, text, sizeof text));
}

int shmemh_error_get(const shmemh_t *job, shmemd_error_t *err)
{
	uint32_t status;

	if (shmemhi_refused(job, "error_get"))
		return SHMEMH_ERR_ARGUMENT;
	/* The device stores status last, with release. This acquire load makes the other fields
	 * valid. */
	status = __atomic_load_n(&job->error->status, __ATOMIC_ACQUIRE);
	if (status)
		atomic_store(&((shmemh_t *)(uintptr_t)job)->is_error_read, 1);
	if (err) {
		memset(err, 0, sizeof *err);
		if (status)
			memcpy(err, job->error, sizeof *err);
	}
	return (int)status;
}

int shmemh_error_clear(shmemh_t *job)
{
	shmemd_latch_t zero = {0, 0, 0, NULL};

	if (shmemhi_refused(job, "error_clear"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	memset(job->error, 0, sizeof *job->error);
	atomic_store(&job->is_error_read, 0);
	/* Not `reports`: the runtime's own service kernel may hold its lock, and its number never
	 * repeats. */
	return shmemhi_done(
		job, shmemhi_dev_write(job, job->latch, &zero, offsetof(shmemd_latch_t, reports)));
}
