/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The threads that perform an operation together: one thread, a warp, a block, or a run of warps;
 * for the calls of grid.h, such a group in each of several blocks.
 *
 * A group is 12 bytes by value. Built in the call, it folds away: the code is the same as with a
 * template parameter. All threads of a group call an operation converged and with equal
 * arguments.
 *
 * Converged: the threads of a warp (its 32 lanes) execute the same call at the same point of the
 * program together; none of them is in another branch of an `if`, in another iteration of a loop,
 * or has returned. Warps of one group may come to the call at different times. */
#ifndef SHMEMD_GROUP_H
#define SHMEMD_GROUP_H

#include <shmem_dev/arch/arch.h>

/* The threads of one operation. Made by the functions below. */
typedef struct shmemd_group {
	uint32_t rank; /* this thread's number in the group: 0 .. size - 1 */
	uint32_t size; /* threads in the group */
	uint32_t bar;  /* barrier resource 0..15 of the block (bar.sync), or one of SHMEMDI_BAR_* */
} shmemd_group_t;

#define SHMEMDI_BAR_NONE 16u /* one thread */
#define SHMEMDI_BAR_WARP 17u /* the 32 lanes of one warp */

/* The calling thread alone. */
SHMEMD_FN shmemd_group_t shmemd_thread(void)
{
	shmemd_group_t g = {0, 1, SHMEMDI_BAR_NONE};
	return g;
}

/* The calling thread's warp; all 32 lanes exist and take part. */
SHMEMD_FN shmemd_group_t shmemd_warp(void)
{
	shmemd_group_t g = {shmemd_arch_lane(), 32, SHMEMDI_BAR_WARP};
	return g;
}

/* The calling thread's block: all its threads, a multiple of 32. Uses hardware barrier 0, the one
 * of __syncthreads. */
SHMEMD_FN shmemd_group_t shmemd_block(void)
{
	shmemd_group_t g = {shmemd_arch_tid(), shmemd_arch_ntids(), 0};
	return g;
}

/* Warps first .. first + n - 1 of the calling thread's block, for kernels that give warps roles.
 *
 * Callers  threads of those warps only.
 * first, n warps; first + n <= warps in the block, n >= 1.
 * id       hardware barrier 1..15 that nothing else in the kernel uses at the same time.
 */
SHMEMD_FN shmemd_group_t shmemd_warps(uint32_t first, uint32_t n, uint32_t id)
{
	shmemd_group_t g = {shmemd_arch_tid() - first * 32, n * 32, id};
	return g;
}

/* The blocks of one operation, and the threads of the calling block that take part. Made by the
 * functions below. */
typedef struct shmemd_grid_t {
	shmemd_group_t group; /* of the calling block */
	uint32_t block;       /* the calling block's number among them: 0 .. n_blocks - 1 */
	uint32_t n_blocks;    /* blocks that take part */
} shmemd_grid_t;

/* All threads of all blocks of the kernel. */
SHMEMD_FN shmemd_grid_t shmemd_grid(void)
{
	shmemd_grid_t grid = {shmemd_block(), shmemd_arch_block(), shmemd_arch_nblocks()};
	return grid;
}

/* Group g of each of the blocks first .. first + n - 1, for kernels that give blocks, or warps of
 * each block, roles.
 *
 * Callers  threads of those groups only.
 * first, n blocks; first + n <= blocks in the grid, n >= 1.
 * g        the calling block's group: of the same kind in each of the blocks.
 */
SHMEMD_FN shmemd_grid_t shmemd_blocks(uint32_t first, uint32_t n, shmemd_group_t g)
{
	shmemd_grid_t grid = {g, shmemd_arch_block() - first, n};
	return grid;
}

/* Wait for all threads of the group; what they wrote before is visible to all of them after.
 *
 * Callers  all threads of g, those of a warp converged; g is the same group in all of them.
 */
SHMEMD_FN void shmemd_group_sync(shmemd_group_t g)
{
	if (g.bar == SHMEMDI_BAR_NONE)
		return;
	if (g.bar == SHMEMDI_BAR_WARP)
		shmemd_arch_syncwarp();
	else
		shmemd_arch_bar_sync(g.bar, g.size);
}

/* As shmemd_group_sync, with a vote: has any thread of the group passed a pred that is not 0?
 *
 * Callers  as shmemd_group_sync.
 * Returns  1 or 0, equal in all calling threads.
 */
SHMEMD_FN int shmemd_group_any(shmemd_group_t g, int pred)
{
	if (g.bar == SHMEMDI_BAR_NONE)
		return pred != 0;
	if (g.bar == SHMEMDI_BAR_WARP) {
		int any = shmemd_arch_warp_any(pred);
		shmemd_arch_syncwarp();
		return any;
	}
	return shmemd_arch_bar_or(g.bar, g.size, pred);
}

#endif
