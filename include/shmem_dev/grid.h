/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Transfers that all blocks of a kernel, or some of them, make together, and signals for what they
 * all have sent. Included on request: <shmem_dev/grid.h>.
 *
 * Every thread of a grid (shmemd_grid_t, group.h) makes the call, converged within its block and
 * with equal arguments in all blocks. Over mapped memory the blocks share the copy; those beyond
 * 4096 have no part in it. By NIC the first of the blocks posts all of it, on the context's
 * channel, and nothing is posted twice. Which block copies which bytes is not specified.
 *
 * No call waits for other blocks: all blocks have to be resident at once only if code of the kernel
 * waits for other blocks. When a call returns in one block, other blocks may not have copied their
 * shares yet. There are two ways to wait for all shares, or to announce them:
 *
 * - A barrier of the grid, as grid.sync() of cooperative groups. After it a transfer counts as an
 *   operation of every thread that was in the barrier, so one thread completes or announces it:
 *
 *	shmemd_putmem_nbi_grid(&p.ctx, shmemd_grid(), dst, src, nbytes, pe);
 *	grid.sync();
 *	if (grid.thread_rank() == 0) {
 *		shmemd_fence(&p.ctx);	or shmemd_quiet
 *		shmemd_signal_op(&p.ctx, sig, 1, SHMEMD_SIGNAL_SET, pe);
 *	}
 *
 * - A counter of arrivals: with shmemd_signal_op_grid and shmemd_putmem_signal_grid each block
 *   arrives and goes on, and the one that arrives last sends the signal.
 *
 * A source must hold its data before the call of any block, and no block may still use the
 * destination of a get: what other blocks did there takes a barrier of the grid before. */
#ifndef SHMEMD_GRID_H
#define SHMEMD_GRID_H

#include <shmem_dev/impl/grid.h>

/* Write nbytes from src on this PE to dst on PE pe.
 *
 * Callers  all threads of grid.
 * grid     shmemd_grid() or shmemd_blocks(); of the same blocks in all of them.
 * dst      symmetric address; [dst, dst + nbytes) inside one allocation. Any alignment; fastest if
 *          dst and src are equally misaligned to 16 bytes.
 * src      memory of this PE that all callers read, not overlapping dst. By NIC, a src outside of
 *          the symmetric heap takes a WQE for each 28 bytes, by one thread.
 * nbytes   0 or more.
 * pe       0 .. n_pes - 1 of the context's team; this PE too.
 * Returns  when this thread has copied its part, or by NIC, in the thread that posts, when the NIC
 *          has read src. After a barrier of the grid src is reusable. The data is visible at pe
 *          with a signal that a thread sends after the barrier and a fence, and complete after the
 *          barrier and a quiet.
 * Errors   latched, as shmemd_putmem; check builds: also ERR_BAD_ARGUMENT if the calling block is
 *          none of the grid's, or the kernel has fewer blocks.
 */
SHMEMD_FN void shmemd_putmem_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, void *dst,
				  const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_op_t op = shmemdi_op(SHMEMDI_CALLER(PUT), grid.group, dst, src, nbytes, pe);

	op.is_blocking = 1;
	shmemdi_put_grid(ctx, grid, op);
}

/* As shmemd_putmem_grid; do not wait for the NIC.
 *
 * Callers  all threads of grid.
 * dst, src, nbytes, pe  as shmemd_putmem_grid.
 * Returns  when this thread's part is posted. After a barrier of the grid and a quiet of one thread
 *          src is reusable, and the data complete at pe.
 * Errors   latched, as shmemd_putmem_grid.
 */
SHMEMD_FN void shmemd_putmem_nbi_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, void *dst,
				      const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_grid(ctx, grid,
			 shmemdi_op(SHMEMDI_CALLER(PUT), grid.group, dst, src, nbytes, pe));
}

/* Read nbytes at src on PE pe into dst on this PE.
 *
 * Callers  all threads of grid.
 * grid     shmemd_grid() or shmemd_blocks(); of the same blocks in all of them.
 * dst      memory of this PE that all callers write, not overlapping src. By NIC, a dst outside of
 *          the symmetric heap is fetched in round trips of 64 bytes, one after another.
 * src      symmetric address; [src, src + nbytes) inside one allocation. Any alignment; fastest if
 *          dst and src are equally misaligned to 16 bytes.
 * nbytes   0 or more.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  SHMEMD_OK when this thread's part is in dst. After a barrier of the grid each of its
 *          threads sees all of the data.
 * Errors   returned, equal in all threads of a block: those of shmemd_putmem_grid, equal in all
 *          blocks if a check of arguments that all pass alike fails; dst is unchanged then. Errors
 *          by NIC (rma.h) are returned in the first of the blocks alone: the program passes them on
 *          to the others.
 */
SHMEMD_FN int shmemd_getmem_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, void *dst,
				 const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_op_t op = shmemdi_op(SHMEMDI_CALLER(GET), grid.group, src, dst, nbytes, pe);

	op.is_blocking = 1;
	return shmemdi_get_grid(ctx, grid, op);
}

/* As shmemd_getmem_grid; do not wait.
 *
 * Callers  all threads of grid.
 * dst, src, nbytes, pe  as shmemd_getmem_grid.
 * Returns  when this thread's part is posted. After a barrier of the grid and a quiet of one
 *          thread, that thread sees the data in dst, and so does each thread that synchronises with
 *          it. Until then dst belongs to the operation.
 * Errors   latched, quiet returns them: those of shmemd_getmem_grid.
 */
SHMEMD_FN void shmemd_getmem_nbi_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, void *dst,
				      const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_latch(ctx, shmemdi_get_grid(ctx, grid,
					    shmemdi_op(SHMEMDI_CALLER(GET), grid.group, src, dst,
						       nbytes, pe)));
}

/* Update the signal word sig on PE pe once, when all blocks have arrived here: a waiter for the
 * signal sees what any thread of the grid sent to pe before this call, by whatever calls (tiles of
 * bulk.h after shmemd_bulk_wait; by NIC on the context's channel), and what it stored before. So
 * blocks that have each put a part of their own announce all of them at once. Sent to this PE
 * itself, and awaited by all blocks, the signal is a barrier of the grid.
 *
 * Callers  all threads of grid.
 * grid     shmemd_grid() or shmemd_blocks(); of the same blocks in all of them.
 * sig, value, op, pe  as shmemd_putmem_signal.
 * arrived  counter in memory of this GPU, aligned to 4; 0 before the first call. The last block
 *          sets it to 0 again. The same blocks, or others, may use it for another call once this
 *          call has ended in all blocks: after a barrier of the grid, in a later kernel, or when pe
 *          has answered the signal. Until then another signal takes another counter.
 *          A launch in which not every block of the grid made the call leaves another value, and
 *          every later signal is then sent too early: the program sets the counter to 0 before the
 *          next launch, in a CUDA graph by a memset node.
 * Returns  when all threads of the block's group have arrived. The thread of rank 0 returns when
 *          its block has been counted, and in the last block when the signal is posted. A quiet
 *          after a barrier of the grid completes the signal.
 * Errors   latched, and no signal is sent: as shmemd_putmem_signal; check builds: also
 *          ERR_BAD_ARGUMENT if the calling block is none of the grid's, if the kernel has fewer
 *          blocks, or if arrived held as many as there are blocks, or more. Then the counter may
 *          have any value. Smaller values look like blocks that have arrived, and may pass.
 */
SHMEMD_FN void shmemd_signal_op_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, uint64_t *sig,
				     uint64_t value, int op, int pe, uint32_t *arrived SHMEMD_SITE)
{
	shmemdi_signal_op_grid(ctx, grid,
			       shmemdi_op(SHMEMDI_CALLER(SIGNAL), grid.group, sig, 0, 8, pe),
			       shmemdi_signal(sig, value, op), arrived);
}

/* Write nbytes from src to dst on PE pe, then update the signal word sig there, once, when all
 * blocks have arrived: a waiter for the signal sees the data, and what shmemd_signal_op_grid
 * promises.
 *
 * Callers  all threads of grid.
 * grid, dst, src, nbytes, pe  as shmemd_putmem_grid.
 * sig, value, op  as shmemd_putmem_signal.
 * arrived  as shmemd_signal_op_grid.
 * Returns  when all threads of the calling block's group have copied their parts, or by NIC, in the
 *          thread that posts, when the NIC has read src; then as shmemd_signal_op_grid. src is
 *          reusable after a barrier of the grid, or when pe has answered the signal.
 * Errors   latched, as shmemd_putmem_signal and shmemd_signal_op_grid. ERR_TIMEOUT by NIC: both
 *          are posted. ERR_PEER by NIC: both may have been posted. ERR_REFUSED, ERR_PATH, ERR_LOST,
 *          in mixed transport (signal.h) also ERR_PEER and ERR_TIMEOUT, and in check builds a wrong
 *          value of arrived: no signal is sent, but data may have been. Others: neither is sent.
 */
SHMEMD_FN void shmemd_putmem_signal_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, void *dst,
					 const void *src, size_t nbytes, uint64_t *sig,
					 uint64_t value, int op, int pe,
					 uint32_t *arrived SHMEMD_SITE)
{
	shmemdi_op_t put = shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), grid.group, dst, src, nbytes, pe);

	put.is_blocking = 1;
	shmemdi_put_signal_grid(ctx, grid, put, shmemdi_signal(sig, value, op), arrived);
}

/* As shmemd_putmem_signal_grid; do not wait for the NIC.
 *
 * Callers  all threads of grid.
 * dst, src, nbytes, sig, value, op, pe, arrived  as shmemd_putmem_signal_grid.
 * Returns  when this thread's part is posted; then as shmemd_signal_op_grid. src is reusable after
 *          a barrier of the grid and a quiet of one thread, or when pe has answered the signal.
 * Errors   latched, as shmemd_putmem_signal_grid.
 */
SHMEMD_FN void shmemd_putmem_signal_nbi_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, void *dst,
					     const void *src, size_t nbytes, uint64_t *sig,
					     uint64_t value, int op, int pe,
					     uint32_t *arrived SHMEMD_SITE)
{
	shmemdi_put_signal_grid(
		ctx, grid, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), grid.group, dst, src, nbytes, pe),
		shmemdi_signal(sig, value, op), arrived);
}

#endif
