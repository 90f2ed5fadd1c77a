/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kernels whose PTX bulk_ptx.sh reads. Never run. */
#define SHMEMD_NO_NIC
#include <shmem_dev/bulk.h>
#include <shmem_dev/shmem_dev.h>

typedef struct params {
	shmemd_ctx_t ctx;
	char *dst;
	const char *src;
	size_t nbytes;
	int pe;
} params_t;

extern __shared__ shmemd_bulk_t tile[];

SHMEMD_KERNEL(put_memory, params_t, p)
{
	shmemd_putmem_bulk_warp(&p.ctx, p.dst, p.src, p.nbytes, p.pe, tile, 65536);
}

SHMEMD_KERNEL(put_tile, params_t, p)
{
	shmemd_put_tile_bulk_block(&p.ctx, p.dst, tile, p.nbytes, p.pe);
	shmemd_bulk_wait_read_block(1);
	shmemd_bulk_wait_block();
}

SHMEMD_KERNEL(add_tile, params_t, p)
{
	shmemd_add_tile_bulk(&p.ctx, p.dst, tile, p.nbytes, SHMEMD_BULK_BF16, p.pe);
}

SHMEMD_KERNEL(fence, params_t, p)
{
	shmemd_bulk_fence();
}
