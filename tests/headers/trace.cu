/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Every header, in a unit that records its calls (trace.sh). Never run. */
#define SHMEMD_TRACE
#include <shmem_dev/bulk.h>
#include <shmem_dev/generic.h>
#include <shmem_dev/grid.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/sized.h>
#include <shmem_dev/strided.h>
#include <shmem_dev/trace.h>
#include <shmem_dev/typed.h>
#include <shmem_dev/wait_sets.h>
#ifdef __CUDACC__
#include <shmem_dev/stream.h>
#endif

typedef struct params {
	shmemd_ctx_t ctx;
	char *dst;
	const char *src;
	uint64_t *sig;
	size_t nbytes;
	int *status;
	uint32_t *arrived;
} params_t;

SHMEMD_KERNEL(traced, params_t, p)
{
	uint64_t begin = shmemd_trace_begin();
	size_t index;

	shmemd_putmem_signal_warp(&p.ctx, p.dst, p.src, p.nbytes, p.sig, 1, SHMEMD_SIGNAL_ADD, 1);
	shmemd_putmem_signal_grid(&p.ctx, shmemd_grid(), p.dst, p.src, p.nbytes, p.sig, 1,
				  SHMEMD_SIGNAL_SET, 1, p.arrived);
	shmemd_putmem_bulk_block(&p.ctx, p.dst, p.src, p.nbytes, 1, NULL, 0);
	shmemd_iputmem_block(&p.ctx, p.dst, p.src, 1, 2, 3, 4, 1);
	*p.status = shmemd_signal_wait_until_warp(&p.ctx, p.sig, SHMEMD_CMP_GE, 1);
	*p.status = shmemd_wait_until_any_u64(&p.ctx, &index, p.sig, 2, NULL, SHMEMD_CMP_EQ, 1);
	*p.status = shmemd_barrier_block(&p.ctx);
	shmemd_trace_end(&p.ctx, begin, 1);
}
