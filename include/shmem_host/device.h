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

/* Fill the context of a team for kernels of this PE. Not collective. Valid until shmemh_finalize,
 * through any later malloc: copy it into the kernels' parameter structs.
 *
 * ctx      receives the context.
 * Returns  SHMEMH_OK; ERR_ARGUMENT (no such team); ERR_VERSION: the caller was compiled with
 *          headers whose ABI this runtime does not serve (text has both versions).
 */
#define shmemh_ctx_get(job, team, ctx)                                                             \
	shmemh_ctx_get_abi(job, team, ctx, SHMEMD_ABI_VERSION, sizeof(shmemd_ctx_t))
SHMEMH_API int shmemh_ctx_get_abi(shmemh_t *job, shmemh_team_t team, shmemd_ctx_t *ctx,
				  uint32_t abi_version, size_t ctx_nbytes);

/* Read the error record: the first error that this PE's device code latched or met in a wait. Any
 * thread, any time but during shmemh_error_clear, also while kernels run.
 *
 * err      receives the record; err->status is 0 if there is none. May be NULL.
 * Returns  err->status.
 */
SHMEMH_API int shmemh_error_get(const shmemh_t *job, shmemd_error_t *err);

/* One line for an error record: operation, PE, cause, values, call site. Returns text. */
SHMEMH_API const char *shmemh_error_format(const shmemd_error_t *err, char *text,
					   size_t text_nbytes);

/* Forget the error so that quiet succeeds again. No kernel of this PE is running.
 * Returns  SHMEMH_OK; ERR_CUDA.
 */
SHMEMH_API int shmemh_error_clear(shmemh_t *job);

#ifdef __cplusplus
}
#endif

#endif
