/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Transfers that several blocks make together, and signals for what several blocks have sent.
 *
 * Memory of a mapped peer is copied by all blocks, or the first 4096 of them, a part each. A NIC
 * moves memory by itself, with one WQE for up to 1 GiB, and further posters would only wait for
 * their turn: there the first of the blocks posts all of it.
 *
 * A signal is sent by the block that arrives last. Why it comes after what every block has sent, in
 * the PTX model: the group sync of a block orders what its threads did before its leader's release
 * fence; the leader increments the counter; the last leader's increment reads the others', directly
 * or through the chain of increments between them, and is followed by an acquire fence. So all of
 * that comes before the last leader in causality order, and before the fence and the signal of that
 * thread. The first step is between threads of one GPU, so its fences need the scope of the GPU
 * alone; the fence before the signal has the scope of the system, and is cumulative
 * (tests/sim/test_litmus.c, "arrivals, signal").
 * What blocks have posted to a channel is in its queue when they arrive, and the WQE of the signal
 * comes after it. By NIC the fence is the same, so that what blocks have stored to memory elsewhere
 * than on this GPU is visible before the NIC sends the signal. */
#ifndef SHMEMD_IMPL_GRID_H
#define SHMEMD_IMPL_GRID_H

#include <shmem_dev/impl/xport.h>
#include <shmem_dev/impl/trace.h>

/* More blocks than this do not make a copy faster. With so many blocks of 1024 threads 32 bits are
 * enough for what impl/copy.h counts in them. */
#define SHMEMDI_GRID_MAX_BLOCKS 4096u

SHMEMD_STATIC_ASSERT(SHMEMDI_GRID_MAX_BLOCKS * 1024ull * SHMEMDI_COPY_DEPTH_MOST <= UINT32_MAX,
		     "impl/copy.h counts the units of a round in 32 bits");
SHMEMD_STATIC_ASSERT(SHMEMDI_GRID_MAX_BLOCKS * 1024ull * 16 <= UINT32_MAX,
		     "impl/copy.h counts the bytes between two units of a thread in 32 bits");

/* The calling block's part of a copy: warp 0 of each block in turn, then warp 1 of each, and so on.
 * So each block has as many warps that copy as any other, or one more, also if there are few units.
 * Shares of consecutive units would need a division, some 100 instructions of every warp: 16 blocks
 * then put 64 KiB at 33 GB/s, not at 47 (two PEs on an H200). A group that is not whole warps (one
 * thread, or a block that group.h does not allow) takes its turn as a whole. */
SHMEMD_FN shmemdi_op_t shmemdi_grid_part(shmemd_grid_t grid, shmemdi_op_t op)
{
	uint32_t lane = op.g.rank % 32, n = grid.n_blocks;

	if (n > SHMEMDI_GRID_MAX_BLOCKS)
		n = SHMEMDI_GRID_MAX_BLOCKS;
	if (grid.block >= n)
		op.nbytes = 0;
	if (op.g.size % 32)
		op.g.rank += grid.block * op.g.size;
	else
		op.g.rank = (op.g.rank / 32 * n + grid.block) * 32 + lane;
	op.g.size *= n;
	return op;
}

/* The calling block is one of the grid's, and the kernel has all of them. */
SHMEMD_FN int shmemdi_check_grid(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_grid_t grid)
{
#ifdef SHMEMD_CHECK
	int status = shmemdi_check_ctx(ctx, call);
	uint32_t block = shmemd_arch_block(), n = shmemd_arch_nblocks();

	if (status != SHMEMD_OK || (grid.block < grid.n_blocks && grid.n_blocks <= n &&
				    block - grid.block <= n - grid.n_blocks))
		return status;
	return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_BLOCKS, block, grid.n_blocks);
#else
	(void)ctx;
	(void)call;
	(void)grid;
	return SHMEMD_OK;
#endif
}

/* The transport of a put or get. base: where this PE maps the heap of the PE, or NULL: by NIC. */
SHMEMD_FN shmemdi_transfer_t shmemdi_grid_transfer(const shmemd_ctx_t *ctx, const char *base)
{
	shmemdi_transfer_t transfer = {0, base ? SHMEMDI_MAPPED : SHMEMDI_BY_NIC, SHMEMD_OK};

	if (base)
		transfer.shift = shmemdi_base_shift(ctx, base);
	return transfer;
}

/* Check a put or get of a PE that is not mapped at the stride (in check builds of any PE), and
 * select its transport. */
SHMEMD_FN shmemdi_transfer_t shmemdi_grid_select(const shmemd_ctx_t *ctx, shmemd_grid_t grid,
						 shmemdi_op_t op)
{
	shmemdi_transfer_t transfer = {0, SHMEMDI_NOT_STARTED, SHMEMD_OK};
	char *base;

	transfer.status = shmemdi_check_grid(ctx, op.call, grid);
	if (transfer.status == SHMEMD_OK)
		transfer.status = shmemdi_check_select(ctx, op, &base);
	return transfer.status == SHMEMD_OK ? shmemdi_grid_transfer(ctx, base) : transfer;
}

/* This thread's part of a copy by the grid (shmemdi_grid_part), without a round if it is one unit.
 * 4 blocks that put 16 KiB each, one unit for a thread, reached 40 GB/s without rounds and 36 GB/s
 * with them (H200). */
SHMEMD_FN void shmemdi_copy_part(shmemdi_op_t part, char *dst, const char *src, uint32_t depth)
{
	if (shmemdi_op_is_unit_each(part, shmemdi_copy_bits(dst, src, part.nbytes)))
		shmemdi_copy_unit(part.g, dst, src, (uint32_t)part.nbytes / 16);
	else
		shmemdi_copy(part.g, dst, src, part.nbytes, depth);
}

/* A put to mapped memory at this distance. */
SHMEMD_FN void shmemdi_put_part(shmemdi_op_t part, int64_t shift)
{
	shmemdi_copy_part(part, shmemdi_shifted(part.sym, shift), part.local, SHMEMDI_COPY_DEPTH);
}

/* The same of a get. */
SHMEMD_FN void shmemdi_get_part(shmemdi_op_t part, int64_t shift)
{
	shmemdi_copy_part(part, part.local, shmemdi_shifted(part.sym, shift),
			  SHMEMDI_COPY_DEPTH_MOST);
}

/* A put that is not made by stores: the first block posts all of it to a NIC, or it has failed. */
SHMEMD_FN int shmemdi_grid_put_nic(const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op,
				   shmemdi_transfer_t transfer)
{
	if (transfer.outcome == SHMEMDI_BY_NIC && grid.block == 0)
		return shmemdi_put_by_nic(ctx, op);
	return transfer.status;
}

/* Unlike shmemdi_put, it does not end with a group sync: src is reusable only after a barrier of
 * the grid, which includes one of the group. */
SHMEMD_FN void shmemdi_put_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op)
{
	shmemdi_transfer_t transfer;
	int64_t shift;

	if (shmemdi_uses_stride(ctx, op)) {
		shift = shmemdi_stride_shift(ctx, op.pe);
	} else {
		transfer = shmemdi_grid_select(ctx, grid, op);
		if (transfer.outcome != SHMEMDI_NOT_STARTED)
			shmemdi_keep_source(op);
		if (transfer.outcome != SHMEMDI_MAPPED) {
			shmemdi_latch(ctx, shmemdi_grid_put_nic(ctx, grid, op, transfer));
			return;
		}
		shift = transfer.shift;
	}
	shmemdi_put_part(shmemdi_grid_part(grid, op), shift);
}

/* Blocking and nbi; the caller latches or returns the status. */
SHMEMD_FN int shmemdi_get_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op)
{
	shmemdi_transfer_t transfer;
	int64_t shift;

	if (shmemdi_uses_stride(ctx, op)) {
		shift = shmemdi_stride_shift(ctx, op.pe);
	} else {
		transfer = shmemdi_grid_select(ctx, grid, op);
		if (transfer.outcome == SHMEMDI_BY_NIC && grid.block == 0) {
			transfer.status = shmemdi_get_unmapped(ctx, op);
			if (op.is_blocking)
				return shmemdi_agree(op.g, transfer.status);
		}
		if (transfer.outcome != SHMEMDI_MAPPED)
			return transfer.status;
		shift = transfer.shift;
	}
	shmemdi_get_part(shmemdi_grid_part(grid, op), shift);
	return SHMEMD_OK;
}

/* `before` blocks had arrived; it must be less than n_blocks. A counter that started between 1 and
 * n_blocks - 1 may pass: no block can tell its value from that of blocks that have arrived. It is
 * noticed only if a block arrives between the increment that counts as the last and the reset. */
SHMEMD_FN int shmemdi_check_arrived(const shmemd_ctx_t *ctx, shmemdi_call_t call, uint32_t before,
				    uint32_t n_blocks)
{
#ifdef SHMEMD_CHECK
	if (before >= n_blocks)
		return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_ARRIVED, before, n_blocks);
#else
	(void)ctx;
	(void)call;
	(void)before;
	(void)n_blocks;
#endif
	return SHMEMD_OK;
}

/* Arrive, by the leader of a block's group. Returns 1 in the block that arrives last; the counter
 * is 0 again then, before that block sends anything: an answer to its signal also says so. */
SHMEMD_FN int shmemdi_grid_arrive(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_grid_t grid,
				  uint32_t *arrived)
{
	uint32_t before;

	shmemd_arch_fence_before_arrival();
	before = shmemd_arch_atom_add_u32(arrived, 1);
	shmemdi_latch(ctx, shmemdi_check_arrived(ctx, call, before, grid.n_blocks));
	if (before + 1 != grid.n_blocks)
		return 0;
	shmemd_arch_fence_acquire();
	shmemd_arch_st_relaxed_u32(arrived, 0);
	return 1;
}

#ifdef SHMEMD_TRACE
/* Records the signal: only the block that arrives last sends it, for all blocks. */
SHMEMD_FN int shmemdi_signal_behind_traced(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					   shmemdi_signal_t sig, char *base)
{
	int kind = sig.op == SHMEMD_SIGNAL_ADD ? SHMEMD_TRACE_ADD : SHMEMD_TRACE_SET, status;

	op.call.op = SHMEMD_OP_SIGNAL;
	op.call.begin = shmemd_arch_time_ns();
	status = shmemdi_signal_behind(ctx, op, sig, base);
	shmemdi_trace(ctx, op.call, shmemd_thread(), op.pe, 0, 0,
		      shmemdi_trace_word(kind, sig.word, sig.value), status);
	return status;
}
#define shmemdi_signal_behind shmemdi_signal_behind_traced
#endif

/* All blocks have made the same checks, so that all or none of them come here. (In check builds a
 * block whose own group or place is wrong stays away; then no signal is sent.) */
SHMEMD_FN void shmemdi_grid_signal(const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op,
				   shmemdi_signal_t sig, char *base, uint32_t *arrived)
{
	shmemd_group_sync(grid.group);
	if (grid.group.rank == 0 && shmemdi_grid_arrive(ctx, op.call, grid, arrived))
		shmemdi_latch(ctx, shmemdi_signal_behind(ctx, op, sig, base));
}

SHMEMD_FN void shmemdi_signal_op_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op,
				      shmemdi_signal_t sig, uint32_t *arrived)
{
	char *base;
	int status = shmemdi_check_grid(ctx, op.call, grid);

	if (status == SHMEMD_OK)
		status = shmemdi_check_op(ctx, op);
	if (status == SHMEMD_OK)
		status = shmemdi_check_select_signal(ctx, op, sig, &base);
	if (status == SHMEMD_OK)
		shmemdi_grid_signal(ctx, grid, op, sig, base, arrived);
	else
		shmemdi_latch(ctx, status);
}

/* A block that could not post its part arrives all the same: its channel has failed, and will not
 * carry the signal either. */
SHMEMD_FN void shmemdi_put_signal_grid(const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op,
				       shmemdi_signal_t sig, uint32_t *arrived)
{
	shmemdi_transfer_t transfer;
	char *base;
	int status = shmemdi_check_grid(ctx, op.call, grid);

	if (status == SHMEMD_OK)
		status = shmemdi_check_select_put_signal(ctx, op, sig, &base);
	if (status != SHMEMD_OK) {
		shmemdi_latch(ctx, status);
		return;
	}
	shmemdi_keep_source(op);
	transfer = shmemdi_grid_transfer(ctx, base);
	if (base)
		shmemdi_put_part(shmemdi_grid_part(grid, op), transfer.shift);
	else
		(void)shmemdi_grid_put_nic(ctx, grid, op, transfer); /* latched there */
	shmemdi_grid_signal(ctx, grid, op, sig, base, arrived);
}

/* Each block records its call, with the bytes of the whole transfer. */
#ifdef SHMEMD_TRACE
SHMEMDI_TRACED_VOID(shmemdi_put_grid,
		    (const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op), (ctx, grid, op),
		    op.call, op.g, op.pe, op.sym, op.nbytes, shmemdi_trace_no_word())
#define shmemdi_put_grid shmemdi_put_grid_traced
SHMEMDI_TRACED_INT(shmemdi_get_grid, (const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op),
		   (ctx, grid, op), op.call, op.g, op.pe, op.sym, op.nbytes,
		   shmemdi_trace_no_word())
#define shmemdi_get_grid shmemdi_get_grid_traced
SHMEMDI_TRACED_VOID(shmemdi_signal_op_grid,
		    (const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op,
		     shmemdi_signal_t sig, uint32_t *arrived),
		    (ctx, grid, op, sig, arrived), op.call, op.g, op.pe, op.sym, op.nbytes,
		    shmemdi_trace_no_word())
#define shmemdi_signal_op_grid shmemdi_signal_op_grid_traced
SHMEMDI_TRACED_VOID(shmemdi_put_signal_grid,
		    (const shmemd_ctx_t *ctx, shmemd_grid_t grid, shmemdi_op_t op,
		     shmemdi_signal_t sig, uint32_t *arrived),
		    (ctx, grid, op, sig, arrived), op.call, op.g, op.pe, op.sym, op.nbytes,
		    shmemdi_trace_no_word())
#define shmemdi_put_signal_grid shmemdi_put_signal_grid_traced
#endif

#endif
