// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// The smallest useful kernel: put by a warp, quiet, and a signal.
#ifdef BENCH_NVSHMEM
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void hello(char *dst, const char *src, uint64_t *sig)
{
	nvshmemx_putmem_nbi_warp(dst, src, 64, 1);
	if (threadIdx.x == 0) {
		nvshmem_quiet();
		nvshmemx_signal_op(sig, 1, NVSHMEM_SIGNAL_SET, 1);
	}
}
#else
#include <shmem_dev/shmem_dev.h>

typedef struct params {
	shmemd_ctx_t ctx;
	char *dst;
	const char *src;
	uint64_t *sig;
} params_t;

SHMEMD_KERNEL(hello, params_t, p)
{
	shmemd_putmem_nbi_warp(&p.ctx, p.dst, p.src, 64, 1);
	if (shmemd_thread_index() == 0) {
		shmemd_quiet(&p.ctx);
		shmemd_signal_op(&p.ctx, p.sig, 1, SHMEMD_SIGNAL_SET, 1);
	}
}
#endif
