/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kernels whose resources regs.sh checks: the operations that users put into their own kernels, and
 * so their cost there in registers, stack and shared memory. Never run. */
#include <shmem_dev/bulk.h>
#include <shmem_dev/shmem_dev.h>

typedef struct params {
	shmemd_ctx_t ctx;
	char *dst;
	const char *src;
	uint64_t *sig;
	size_t nbytes;
	uint64_t value;
	int *status;
	int pe;
	uint32_t channel;
	uint64_t *old;
	double *real;
} params_t;

SHMEMD_KERNEL(put_thread, params_t, p)
{
	shmemd_putmem(&p.ctx, p.dst, p.src, p.nbytes, p.pe);
}

SHMEMD_KERNEL(put_warp, params_t, p)
{
	shmemd_putmem_warp(&p.ctx, p.dst, p.src, p.nbytes, p.pe);
}

SHMEMD_KERNEL(put_block, params_t, p)
{
	shmemd_putmem_block(&p.ctx, p.dst, p.src, p.nbytes, p.pe);
}

SHMEMD_KERNEL(put_nbi_warps, params_t, p)
{
	shmemd_group_t g = shmemd_warps(1, 4, 1);

	if (shmemd_thread_index() / 32 >= 1 && shmemd_thread_index() / 32 < 5)
		shmemd_putmem_nbi_group(&p.ctx, g, p.dst, p.src, p.nbytes, p.pe);
}

/* A group that is only known at run time. */
SHMEMD_KERNEL(put_any_group, params_t, p)
{
	shmemd_group_t g = p.value ? shmemd_warp() : shmemd_block();

	shmemd_putmem_group(&p.ctx, g, p.dst, p.src, p.nbytes, p.pe);
}

SHMEMD_KERNEL(get_warp, params_t, p)
{
	*p.status = shmemd_getmem_warp(&p.ctx, p.dst, p.src, p.nbytes, p.pe);
}

SHMEMD_KERNEL(get_block, params_t, p)
{
	*p.status = shmemd_getmem_block(&p.ctx, p.dst, p.src, p.nbytes, p.pe);
}

SHMEMD_KERNEL(put_signal_warp, params_t, p)
{
	shmemd_putmem_signal_warp(&p.ctx, p.dst, p.src, p.nbytes, p.sig, p.value, SHMEMD_SIGNAL_SET,
				  p.pe);
}

SHMEMD_KERNEL(put_signal_block, params_t, p)
{
	shmemd_putmem_signal_block(&p.ctx, p.dst, p.src, p.nbytes, p.sig, p.value,
				   SHMEMD_SIGNAL_ADD, p.pe);
}

SHMEMD_KERNEL(wait_thread, params_t, p)
{
	*p.status = shmemd_signal_wait_until(&p.ctx, p.sig, SHMEMD_CMP_GE, p.value);
}

SHMEMD_KERNEL(wait_block, params_t, p)
{
	*p.status = shmemd_signal_wait_until_block(&p.ctx, p.sig, SHMEMD_CMP_GE, p.value);
}

SHMEMD_KERNEL(quiet_block, params_t, p)
{
	*p.status = shmemd_quiet_block(&p.ctx);
}

SHMEMD_KERNEL(sync_warp, params_t, p)
{
	*p.status = shmemd_sync_warp(&p.ctx);
}

SHMEMD_KERNEL(barrier_block, params_t, p)
{
	*p.status = shmemd_barrier_block(&p.ctx);
}

SHMEMD_KERNEL(atomic_fetch_add, params_t, p)
{
	uint64_t old = 0;

	*p.status = shmemd_atomic_fetch_add_u64(&p.ctx, &old, p.sig, p.value, p.pe);
	*p.sig = old;
}

/* Shared memory of the launch, so that the kernels have none of their own. */
extern __shared__ shmemd_bulk_t tile[];

SHMEMD_KERNEL(put_bulk_warp, params_t, p)
{
	shmemd_putmem_bulk_warp(&p.ctx, p.dst, p.src, p.nbytes, p.pe, tile, 65536);
}

SHMEMD_KERNEL(get_bulk_block, params_t, p)
{
	*p.status = shmemd_getmem_bulk_block(&p.ctx, p.dst, p.src, p.nbytes, p.pe, tile, 65536);
}

SHMEMD_KERNEL(put_tile_block, params_t, p)
{
	shmemd_put_tile_bulk_block(&p.ctx, p.dst, tile, p.nbytes, p.pe);
	shmemd_bulk_wait_read_block(1);
}

SHMEMD_KERNEL(add_tile_warp, params_t, p)
{
	shmemd_add_tile_bulk_warp(&p.ctx, p.dst, tile, p.nbytes, SHMEMD_BULK_BF16, p.pe);
	shmemd_bulk_wait_warp();
}

/* On a channel that is only known at run time. */
#define ON_CHANNEL(name, call)                                                                     \
	SHMEMD_KERNEL(name, params_t, p)                                                           \
	{                                                                                          \
		shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, p.channel);                            \
		call;                                                                              \
	}

ON_CHANNEL(ch_put_warp, shmemd_channel_put_nbi_warp(&q, p.dst, p.src, p.nbytes, p.pe, (int)p.value))
ON_CHANNEL(ch_add, shmemd_channel_add_u64(&q, p.sig, p.value, p.pe, SHMEMD_RING_NOW))
ON_CHANNEL(ch_signal_set, shmemd_channel_signal_set(&q, p.sig, p.value, p.pe, SHMEMD_RING_NOW))
ON_CHANNEL(ch_poll, *p.status = shmemd_channel_poll(&q, p.pe, p.value, &p.status[1]))
ON_CHANNEL(ch_quiet, *p.status = shmemd_channel_quiet(&q, p.pe))
ON_CHANNEL(ch_space, *p.sig = shmemd_channel_space(&q, p.pe))
ON_CHANNEL(ch_put_nbi, shmemd_putmem_nbi_warp(&q, p.dst, p.src, p.nbytes, p.pe))
ON_CHANNEL(ch_put_thread, shmemd_putmem(&q, p.dst, p.src, p.nbytes, p.pe))
ON_CHANNEL(ch_get_thread, *p.status = shmemd_getmem(&q, p.dst, p.src, p.nbytes, p.pe))
ON_CHANNEL(ch_p, shmemd_p_u64(&q, p.sig, p.value, p.pe))
ON_CHANNEL(ch_g, *p.status = shmemd_g_u64(&q, p.old, p.sig, p.pe))
ON_CHANNEL(ch_signal_op, shmemd_signal_op(&q, p.sig, p.value, SHMEMD_SIGNAL_SET, p.pe))
ON_CHANNEL(ch_put_signal, shmemd_putmem_signal(&q, p.dst, p.src, p.nbytes, p.sig, p.value,
					       SHMEMD_SIGNAL_SET, p.pe))
ON_CHANNEL(ch_put_signal_block, shmemd_putmem_signal_block(&q, p.dst, p.src, p.nbytes, p.sig,
							   p.value, (int)(p.channel & 1), p.pe))
ON_CHANNEL(ch_atomic_add, shmemd_atomic_add_u64(&q, p.sig, p.value, p.pe))
ON_CHANNEL(ch_atomic_add_double, shmemd_atomic_add_f64(&q, p.real, 1.0, p.pe))
ON_CHANNEL(ch_fetch_add, *p.status = shmemd_atomic_fetch_add_u64(&q, p.old, p.sig, p.value, p.pe))
ON_CHANNEL(ch_compare_swap,
	   *p.status = shmemd_atomic_compare_swap_u64(&q, p.old, p.sig, 1, p.value, p.pe))
ON_CHANNEL(ch_add_tile_block,
	   shmemd_add_tile_bulk_block(&q, p.dst, tile, p.nbytes, (int)p.value, p.pe))
ON_CHANNEL(ch_fence_block, shmemd_fence_block(&q))
ON_CHANNEL(ch_quiet_thread, *p.status = shmemd_quiet(&q))
ON_CHANNEL(ch_barrier_block, *p.status = shmemd_barrier_block(&q))

/* Warps send to all experts by hand, as a dispatch does: channel and PE change in the loop. */
SHMEMD_KERNEL(dispatch, params_t, p)
{
	uint32_t n_warps = shmemd_n_threads() / 32, expert;

	for (expert = shmemd_thread_index() / 32; expert < p.value; expert += n_warps) {
		shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, expert % p.ctx.n_channels);
		int pe = (int)(expert % (uint32_t)p.ctx.n_pes);

		shmemd_channel_put_nbi_warp(&q, p.dst + expert * p.nbytes,
					    p.src + expert * p.nbytes, p.nbytes, pe,
					    SHMEMD_RING_DEFERRED);
		if (shmemd_thread_index() % 32 == 0)
			shmemd_channel_add_u64(&q, &p.sig[expert], 1, pe, SHMEMD_RING_NOW);
	}
}

/* A typical loop of a user's kernel: exchange with all peers, wait, synchronise. */
SHMEMD_KERNEL(exchange_block, params_t, p)
{
	int pe, n = shmemd_n_pes(&p.ctx), status = SHMEMD_OK;

	for (pe = 0; pe < n; pe++)
		shmemd_putmem_signal_block(&p.ctx, p.dst + p.nbytes * shmemd_my_pe(&p.ctx),
					   p.src + p.nbytes * pe, p.nbytes, p.sig, 1,
					   SHMEMD_SIGNAL_ADD, pe);
	status = shmemd_signal_wait_until_block(&p.ctx, p.sig, SHMEMD_CMP_GE, p.value + n);
	if (status == SHMEMD_OK)
		status = shmemd_barrier_block(&p.ctx);
	*p.status = status;
}
