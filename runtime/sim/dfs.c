/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Depth-first search of all schedules with at most cfg.bound preemptions (switches away from a
 * fiber that could have continued). Most mistakes need one or two. For a given number of waits and
 * data choices, the number of schedules is polynomial in the length. */
#include "sim/sim.h"

typedef struct branch {
	uint32_t taken, n;
} branch_t;

static branch_t *path;
static size_t n_path, path_capacity;
static size_t depth; /* decisions made in this run */
static uint32_t n_preemptions;
static int is_changed; /* the program behaved differently in a repeated run */

void shmemsimi_dfs_begin(void)
{
	depth = 0;
	n_preemptions = 0;
}

void shmemsimi_dfs_reset(void)
{
	n_path = 0;
	is_changed = 0;
}

static void grow(void)
{
	size_t more = path_capacity ? 2 * path_capacity : 4096;
	branch_t *grown = shmemsimi_alloc(more * sizeof(*grown));
	if (!grown)
		return;
	shmemsimi_copy(grown, path, n_path * sizeof(*grown));
	shmemsimi_free(path, path_capacity * sizeof(*grown));
	path = grown;
	path_capacity = more;
}

uint32_t shmemsimi_dfs_data(uint32_t n)
{
	if (depth == n_path) {
		if (n_path == path_capacity)
			grow();
		if (n_path == path_capacity)
			return 0; /* no memory: the run has failed */
		path[n_path].taken = 0;
		path[n_path++].n = n;
	}
	const branch_t *b = &path[depth++];
	is_changed |= b->n != n;
	return b->taken < n ? b->taken : n - 1;
}

uint32_t shmemsimi_dfs_access(uint32_t n, uint32_t weight)
{
	(void)weight;
	if (n_preemptions == shmemsimi_w.cfg.bound)
		return 0;
	uint32_t option = shmemsimi_dfs_data(n);
	n_preemptions += option != 0;
	return option;
}

uint32_t shmemsimi_dfs_wait(uint32_t n, uint32_t first)
{
	(void)first;
	return shmemsimi_dfs_data(n);
}

int shmemsimi_dfs_next(void)
{
	/* the run ended before it had repeated all decisions of the path */
	is_changed |= depth < n_path;
	if (is_changed)
		return -1;
	while (n_path && path[n_path - 1].taken + 1 >= path[n_path - 1].n)
		n_path--;
	if (!n_path)
		return 0;
	path[n_path - 1].taken++;
	return 1;
}
