// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// What a debug build (nvcc -G) of an exchange costs: put_signal, wait, barrier.
#include <shmem_dev/shmem_dev.h>

typedef struct params {
	shmemd_ctx_t ctx;
	char *dst;
	const char *src;
	uint64_t *sig;
	int *status;
} params_t;

SHMEMD_KERNEL(debug, params_t, p)
{
	int status;

	shmemd_putmem_signal(&p.ctx, p.dst, p.src, 64, p.sig, 1, SHMEMD_SIGNAL_SET, 1);
	status = shmemd_signal_wait_until(&p.ctx, p.sig, SHMEMD_CMP_GE, 1);
	if (status == SHMEMD_OK)
		status = shmemd_barrier(&p.ctx);
	*p.status = status;
}
