/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kernels whose resources regs.sh looks at: the operations that users put into their own kernels,
 * so what they cost there in registers, stack and shared memory. Never run. */
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

/* What a user's kernel does in a loop: exchange with all peers, wait, synchronise. */
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
