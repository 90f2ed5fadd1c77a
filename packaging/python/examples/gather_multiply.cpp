/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The kernel for a CPU: the emulator runs it in the calling process, one per PE. */
#include "gather_multiply.h"

/* Run it to its end. params: the bytes of params_t. Returns 0, or 1: it did not run. */
extern "C" __attribute__((visibility("default"))) int
gather_multiply_run(const void *params, uint32_t n_blocks, uint32_t n_threads)
{
	params_t p = *(const params_t *)params;

	return shmemd_launch(gather_multiply, n_blocks, n_threads, 0, NULL, p) != 0 ||
	       shmemd_stream_sync(NULL) != 0;
}
