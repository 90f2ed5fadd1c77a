/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Several blocks of each PE: transfers of all of them, and signals for what all of them did. */
#include <shmem_dev/grid.h>
#include "kernels.h"
#include "memory.h"

enum { OWN_PUTS, OWN_PUTS_ADD, PUT_SIGNAL, PUT_SIGNAL_NBI, GRID_PUT, GRID_GET };

/* Counters of the calls: words of the heap that this scenario has no other use for. */
enum { OF_MEETING, OF_FLAG = 2, OF_ANSWER };

static uint32_t *counter(const pe_t *p, uint32_t i)
{
	return (uint32_t *)(void *)p->heap->rounds + i;
}

/* The group as if it had the threads of all blocks, for fill. */
static shmemd_group_t threads_of(shmemd_grid_t grid)
{
	shmemd_group_t g = {grid.block * grid.group.size + grid.group.rank,
			    grid.n_blocks * grid.group.size, SHMEMDI_BAR_NONE};
	return g;
}

/* A barrier of the grid: a signal to the own PE. */
static void meet(const pe_t *p, shmemd_grid_t grid, uint64_t *n)
{
	++*n;
	shmemd_signal_op_grid(&p->ctx, grid, &p->heap->will, *n, SHMEMD_SIGNAL_SET, p->ctx.my_pe,
			      counter(p, OF_MEETING + *n % 2));
	EXPECT(!shmemd_signal_wait_until_group(&p->ctx, grid.group, &p->heap->will, SHMEMD_CMP_GE,
					       *n));
}

/* Each block writes and puts a part by itself, and all of them are announced at once. */
static void put_own(const pe_t *p, shmemd_grid_t grid, uint32_t *dst, uint32_t *src, int round,
		    uint64_t value)
{
	int is_add = p->dims.variant == OWN_PUTS_ADD;
	uint32_t n = p->dims.n_words, each = (n + grid.n_blocks - 1) / grid.n_blocks;
	uint32_t at = each * grid.block < n ? each * grid.block : n;
	uint32_t end = n - at < each ? n : at + each;

	for (uint32_t i = at + grid.group.rank; i < end; i += grid.group.size)
		shmemd_arch_st_data_u32(&src[i], value_of(p->ctx.my_pe, round, i));
	shmemd_group_sync(grid.group);
	shmemd_putmem_nbi_group(&p->ctx, grid.group, dst + at, src + at, (end - at) * sizeof(*src),
				right_of(p));
	shmemd_signal_op_grid(&p->ctx, grid, &p->heap->flag, is_add ? 1 : value,
			      is_add ? SHMEMD_SIGNAL_ADD : SHMEMD_SIGNAL_SET, right_of(p),
			      counter(p, OF_FLAG));
}

/* Tell a PE by one thread, neither of the first block nor a leader, after a barrier of the grid. */
static void tell(const pe_t *p, shmemd_grid_t grid, uint64_t value, int pe)
{
	if (grid.block != grid.n_blocks - 1 || grid.group.rank != grid.group.size - 1)
		return;
	shmemd_fence(&p->ctx);
	shmemd_signal_op(&p->ctx, &p->heap->flag, value, SHMEMD_SIGNAL_SET, pe);
}

static void send(const pe_t *p, shmemd_grid_t grid, uint32_t *dst, uint32_t *src, int round,
		 uint64_t *n_met)
{
	size_t nbytes = p->dims.n_words * sizeof(*src);
	uint64_t value = p->dims.start + (uint64_t)round;

	fill(p, threads_of(grid), src, p->dims.n_words, round);
	meet(p, grid, n_met);
	if (p->dims.variant == PUT_SIGNAL)
		shmemd_putmem_signal_grid(&p->ctx, grid, dst, src, nbytes, &p->heap->flag, value,
					  SHMEMD_SIGNAL_SET, right_of(p), counter(p, OF_FLAG));
	else if (p->dims.variant == PUT_SIGNAL_NBI)
		shmemd_putmem_signal_nbi_grid(&p->ctx, grid, dst, src, nbytes, &p->heap->flag, 1,
					      SHMEMD_SIGNAL_ADD, right_of(p), counter(p, OF_FLAG));
	else if (p->dims.variant == GRID_PUT)
		shmemd_putmem_grid(&p->ctx, grid, dst, src, nbytes, right_of(p));
	if (p->dims.variant == GRID_PUT) {
		meet(p, grid, n_met);
		fill(p, threads_of(grid), src, p->dims.n_words, ROUNDS + 1); /* it is reusable */
	}
	if (p->dims.variant >= GRID_PUT)
		tell(p, grid, value, right_of(p));
}

/* Neighbours send around the ring. The answer to a signal tells that data and counters may be used
 * again; it too is a signal of all blocks, because all of them read. */
void grid(const void *params)
{
	const pe_t *p = params;
	shmemd_grid_t grid = shmemd_blocks(0, p->dims.n_blocks, group_of(p));
	heap_t *h = p->heap;
	uint32_t *src = h->src + p->dims.src_skew, *dst = h->dst + p->dims.dst_skew;
	uint64_t n_met = 0;

	for (int r = 1; r <= ROUNDS; r++) {
		uint64_t value = p->dims.start + (uint64_t)r;

		if (p->dims.variant <= OWN_PUTS_ADD)
			put_own(p, grid, dst, src, r, value);
		else
			send(p, grid, dst, src, r, &n_met);
		await(p, grid.group, &h->flag, value, left_of(p));
		if (p->dims.variant == GRID_GET) {
			EXPECT(!shmemd_getmem_grid(&p->ctx, grid, dst, src,
						   p->dims.n_words * sizeof(*src), left_of(p)));
			meet(p, grid, &n_met);
		}
		check(grid.group, dst, p->dims.n_words, left_of(p), r);
		shmemd_signal_op_grid(&p->ctx, grid, &h->ack, 1, SHMEMD_SIGNAL_ADD, left_of(p),
				      counter(p, OF_ANSWER));
		EXPECT(!shmemd_signal_wait_until_group(&p->ctx, grid.group, &h->ack, SHMEMD_CMP_GE,
						       (uint64_t)r));
	}
}

void grid_plan(void)
{
	dims.n_blocks = 2 + scenario_draw(2);
	dims.n_pes = 2;
}

const char *const grid_variants[] = {"puts of each block, signal set",
				     "puts of each block, signal add",
				     "put_signal",
				     "put_signal, nbi",
				     "put, barrier",
				     "get",
				     NULL};
