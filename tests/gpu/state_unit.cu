/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/state.h>
#include "state_unit.h"

static __global__ void look(int *n_pes)
{
	*n_pes = shmemd_n_pes(shmemd_state());
}

cudaError_t state_unit_set(const shmemd_ctx_t *ctx)
{
	return shmemd_state_set(ctx);
}

cudaError_t state_unit_look(int *n_pes)
{
	look<<<1, 1>>>(n_pes);
	return cudaGetLastError();
}
