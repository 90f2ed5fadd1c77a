/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the host gives to kernels, and what it reads back from them. */
#ifndef SHMEMH_DEVICE_H
#define SHMEMH_DEVICE_H

#include <shmem_dev/abi/ctx.h>
#include <shmem_host/team.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fill the context of a team for kernels of this PE. Not collective. Valid until the team is
 * destroyed, or shmemh_finalize, through any later malloc: copy it into the kernels' parameter
 * structs.
 *
 * ctx      receives the context.
 * Returns  SHMEMH_OK; ERR_ARGUMENT (no such team, or ctx is NULL); ERR_VERSION: the caller was
 *          compiled with headers whose ABI this runtime does not serve (text has both versions),
 *          or with SHMEMD_NO_NIC, and only a NIC reaches some member (text names it), or atomics
 *          go by NIC (SHMEMD_CTX_MIXED_TRANSPORT).
 */
#define shmemh_ctx_get(job, team, ctx)                                                             \
	shmemh_ctx_get_abi(job, team, ctx, SHMEMH_CTX_ABI, sizeof(shmemd_ctx_t))
#ifdef SHMEMD_NO_NIC
#define SHMEMH_CTX_ABI (SHMEMD_ABI_VERSION | SHMEMD_ABI_NO_NIC)
#else
#define SHMEMH_CTX_ABI SHMEMD_ABI_VERSION
#endif
SHMEMH_API int shmemh_ctx_get_abi(shmemh_t *job, shmemh_team_t team, shmemd_ctx_t *ctx,
				  uint32_t abi_version, size_t ctx_nbytes);

/* Read the error record. It has the first error of this PE's device code: one that was latched, one
 * that ended a wait, or one that a call returned because a check failed, no transport fits the
 * operation, or its channel has failed. A time limit that the caller named is not recorded. Any
 * thread, any time but during shmemh_error_clear, also while kernels run.
 *
 * err      receives the record; err->status is 0 if there is none. May be NULL.
 * Returns  err->status; ERR_ARGUMENT for a job that every call refuses (init.h): err is as before.
 */
SHMEMH_API int shmemh_error_get(const shmemh_t *job, shmemd_error_t *err);

/* One line for an error record: operation, PE, cause, values, call site. Returns text. */
SHMEMH_API const char *shmemh_error_format(const shmemd_error_t *err, char *text,
					   size_t text_nbytes);

/* Clear the latch and the error record. A channel that has failed stays failed: quiet goes on
 * returning its status. No kernel of this PE is running.
 * Returns  SHMEMH_OK; ERR_CUDA.
 */
SHMEMH_API int shmemh_error_clear(shmemh_t *job);

/* Channels to each PE that is reached by a NIC: the same number on all PEs; 0: no NIC is used. Any
 * thread, any time. */
SHMEMH_API int shmemh_channels(const shmemh_t *job);

/* What a channel has done since shmemh_init; `cqes`: since its latest switch to another path. A
 * request takes one or two blocks of 64 bytes (WQEBBs) of its send queue. A thread that polls only
 * the CQE of its own request leaves `completed` and `cqes` as they are. */
typedef struct shmemh_channel_counters_t {
	uint32_t size;   /* sizeof(shmemh_channel_counters_t), set by the caller */
	uint32_t status; /* shmemd_status for which nothing is sent any more; 0: it works */
	/* Type of the first event that the NIC reported for the first path's queues; 0: none. */
	uint32_t event;
	uint32_t depth;     /* WQEBBs of the queue */
	uint64_t posted;    /* WQEBBs posted, mod 2^47, as the next two */
	uint64_t rung;      /* of these, WQEBBs that the doorbell has been rung for */
	uint64_t completed; /* of these, WQEBBs found complete */
	/* Times a thread has rung the doorbell. With the CPU doorbell proxy: times a thread has
	 * asked the proxy to ring, which may ring once for several. */
	uint64_t doorbells;
	uint64_t requests; /* requests that the target counts, all but NOP and DUMP; also those
			       that were written and not published because the channel failed
			       meanwhile; not those of calls that found it failed */
	uint32_t cqes;     /* CQEs consumed, mod 2^16 */
	uint32_t reserved;
} shmemh_channel_counters_t;

/* Read the counters of channel k, 0 .. shmemh_channels - 1, to PE world_pe. Also while kernels run:
 * each value is then a little old, and not of the same moment as the others.
 *
 * Returns  SHMEMH_OK; ERR_ARGUMENT: no such channel (text has those that there are), or c->size;
 *          ERR_CUDA.
 */
SHMEMH_API int shmemh_channel_counters(shmemh_t *job, int world_pe, int k,
				       shmemh_channel_counters_t *c);

/* The first error that the NIC has reported for the adapter or for a queue that was made at the
 * start, a refused request included, in one line; "" if there was none or the call refuses job
 * (init.h). Queues of later paths (fault.h) are not watched. Events of ports, which may pass, are
 * only logged. Any thread, any time; valid until shmemh_finalize. */
SHMEMH_API const char *shmemh_nic_event(const shmemh_t *job);

#ifdef __cplusplus
}
#endif

#endif
