/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The other unit of test_state: its own context, of which test_state.cu sees nothing. */
#ifndef TESTS_STATE_UNIT_H
#define TESTS_STATE_UNIT_H

#include <shmem_dev/abi/ctx.h>
#include <cuda_runtime.h>

cudaError_t state_unit_set(const shmemd_ctx_t *ctx);

/* n_pes[0] = PEs of this unit's context, as its kernel sees them. */
cudaError_t state_unit_look(int *n_pes);

#endif
