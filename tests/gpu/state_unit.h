/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The other unit of test_state, with its own context, separate from that of test_state.cu. */
#ifndef TESTS_STATE_UNIT_H
#define TESTS_STATE_UNIT_H

#include <shmem_dev/abi/ctx.h>
#include <cuda_runtime.h>

cudaError_t state_unit_set(const shmemd_ctx_t *ctx);

/* n_pes[0] = number of PEs in this unit's context, as its kernel reads it. */
cudaError_t state_unit_look(int *n_pes);

#endif
