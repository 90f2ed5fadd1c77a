/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Optional, CUDA only: the context in constant memory, for kernels that cannot take it as a
 * parameter. Each translation unit that includes this file has a copy of its own, which it uploads
 * itself and no other unit can access, so that it works without -rdc. Not part of shmem_dev.h.
 *
 * Under -rdc the copies stay separate too. Prefer the kernel parameter: no upload. */
#ifndef SHMEMD_STATE_H
#define SHMEMD_STATE_H

#if !defined(__CUDACC__)
#error "shmem_dev/state.h is for CUDA units; on a CPU pass the context in the kernel's parameters"
#endif

#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/arch/arch.h>

static __constant__ shmemd_ctx_t shmemdi_state_ctx;

/* This unit's context.
 *
 * Callers  any thread of a kernel of this unit.
 * Returns  the context uploaded last before the kernel was launched; all zero if none was.
 */
SHMEMD_FN const shmemd_ctx_t *shmemd_state(void)
{
	return &shmemdi_state_ctx;
}

#if !defined(__CUDACC_RTC__)
/* Upload a context for the kernels of THIS unit, on the current device.
 *
 * Callers  host, in this unit, while no kernel of it runs.
 * ctx      from shmemh_ctx_get.
 * Returns  cudaSuccess, or the error of the copy.
 */
static inline cudaError_t shmemd_state_set(const shmemd_ctx_t *ctx)
{
	return cudaMemcpyToSymbol(shmemdi_state_ctx, ctx, sizeof(*ctx));
}
#endif

#endif
