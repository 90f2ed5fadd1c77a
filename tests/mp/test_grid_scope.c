/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* grid.h: transfers that all blocks of a kernel make, or a warp or a thread in each of some blocks,
 * and signals for what all of them have sent. Source, destination and counters are used again as
 * soon as the contract allows it. */
#include <shmem_dev/grid.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define ROUNDS 4
#define N_BLOCKS 4
#define N_THREADS 64
#define NBYTES_MAX 20000
#define MARGIN 256
#define GUARD 0x77 /* in dst, around what is written */

/* Who calls. */
enum { ALL_BLOCKS, WARPS_OF_SOME, THREADS, N_GRIDS };

enum how {
	PUT,
	PUT_NBI,
	GET,
	GET_NBI,
	PUT_SIGNAL,
	PUT_SIGNAL_NBI,
	OWN_TILES, /* each block puts a part by itself; one signal for all of them */
};

typedef struct grid_params {
	shmemd_ctx_t ctx;
	char *dst, *src;
	uint64_t *sent;     /* [1] rounds that a neighbour has sent, or allows to be read */
	uint64_t *read;     /* [1] rounds that a neighbour has read */
	uint32_t *met;      /* [1] arrivals at barriers of this test */
	uint32_t *arrived;  /* [2] counters of the calls */
	uint64_t *n_posted; /* [1] WQEBBs */
	uint32_t nbytes;
	int how, op, which;
	int *status;
} grid_params_t;

SHMEMD_FN int right_of(const grid_params_t *p)
{
	return (shmemd_my_pe(&p->ctx) + 1) % shmemd_n_pes(&p->ctx);
}

SHMEMD_FN int left_of(const grid_params_t *p)
{
	return (shmemd_my_pe(&p->ctx) + shmemd_n_pes(&p->ctx) - 1) % shmemd_n_pes(&p->ctx);
}

SHMEMD_FN int is_caller(int which)
{
	if (which == THREADS)
		return shmemd_thread_index() == 33;
	return which == ALL_BLOCKS ||
	       (shmemd_block_index() != 0 && shmemd_thread_index() / 32 == 1);
}

/* For threads of which is_caller returns 1. */
SHMEMD_FN shmemd_grid_t grid_of(int which)
{
	if (which == THREADS)
		return shmemd_blocks(0, N_BLOCKS, shmemd_thread());
	return which == ALL_BLOCKS ? shmemd_grid()
				   : shmemd_blocks(1, N_BLOCKS - 1, shmemd_warps(1, 1, 4));
}

/* A barrier of the grid, the n-th of a launch, without any call of the library. */
SHMEMD_FN void meet(const grid_params_t *p, shmemd_grid_t grid, uint32_t *n)
{
	++*n;
	shmemd_group_sync(grid.group);
	if (grid.group.rank == 0) {
		shmemd_arch_fence_order();
		shmemd_arch_atom_add_u32(p->met, 1);
		while (shmemd_arch_ld_relaxed_u32(p->met) < *n * grid.n_blocks)
			shmemd_arch_spin_hint();
		shmemd_arch_fence_order();
	}
	shmemd_group_sync(grid.group);
}

SHMEMD_FN char byte_of(int pe, uint32_t round, uint32_t i)
{
	return (char)((i * 2654435761u >> 13) + (uint32_t)pe * 31u + round * 57u + 7u);
}

/* By all threads of the grid, a part each. */
SHMEMD_FN void fill(const grid_params_t *p, shmemd_grid_t grid, int pe, uint32_t round)
{
	uint32_t i = grid.block * grid.group.size + grid.group.rank;

	for (; i < p->nbytes; i += grid.n_blocks * grid.group.size)
		p->src[i] = byte_of(pe, round, i);
}

/* All of dst is as pe has sent it: each block looks at all of it. */
SHMEMD_FN void check(const grid_params_t *p, shmemd_grid_t grid, int pe, uint32_t round)
{
	int is_wrong = p->dst[-1] != GUARD || p->dst[p->nbytes] != GUARD;
	uint32_t i;

	for (i = grid.group.rank; i < p->nbytes; i += grid.group.size)
		is_wrong |= p->dst[i] != byte_of(pe, round, i);
	if (is_wrong)
		p->status[1] = WRONG_VALUE;
}

SHMEMD_FN void await(const grid_params_t *p, shmemd_grid_t grid, const uint64_t *sig,
		     uint32_t round)
{
	scope_report(p->status, 2,
		     shmemd_signal_wait_until_for_group(&p->ctx, grid.group, sig, SHMEMD_CMP_GE,
							round + 1, PES_LIMIT_NS));
}

/* The thread that announces after a barrier of the grid: neither of the first block, nor a leader.
 */
SHMEMD_FN int announces(shmemd_grid_t grid)
{
	return grid.block == grid.n_blocks - 1 && grid.group.rank == grid.group.size - 1;
}

SCOPE_STEP void announce(const grid_params_t *p, shmemd_grid_t grid, uint64_t *sig, uint32_t round,
			 int pe)
{
	if (!announces(grid))
		return;
	if (p->how == PUT_NBI || p->how == GET_NBI)
		scope_report(p->status, 3, shmemd_quiet(&p->ctx));
	else
		shmemd_fence(&p->ctx);
	shmemd_signal_op(&p->ctx, sig, round + 1, SHMEMD_SIGNAL_SET, pe);
}

SHMEMD_KERNEL(put_kernel, grid_params_t, p)
{
	uint32_t round, n_met = 0;
	shmemd_grid_t grid;

	if (!is_caller(p.which))
		return;
	grid = grid_of(p.which);
	for (round = 0; round < ROUNDS; round++) {
		fill(&p, grid, shmemd_my_pe(&p.ctx), round);
		meet(&p, grid, &n_met);
		if (p.how == PUT)
			shmemd_putmem_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, right_of(&p));
		else
			shmemd_putmem_nbi_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, right_of(&p));
		meet(&p, grid, &n_met);
		if (p.how == PUT) /* src is reusable */
			fill(&p, grid, 99, round);
		announce(&p, grid, p.sent, round, right_of(&p));
		await(&p, grid, p.sent, round);
		check(&p, grid, left_of(&p), round);
		meet(&p, grid, &n_met);
		announce(&p, grid, p.read, round, left_of(&p));
		await(&p, grid, p.read, round);
		meet(&p, grid, &n_met);
	}
}

SHMEMD_KERNEL(get_kernel, grid_params_t, p)
{
	uint32_t round, n_met = 0;
	shmemd_grid_t grid;

	if (!is_caller(p.which))
		return;
	grid = grid_of(p.which);
	for (round = 0; round < ROUNDS; round++) {
		fill(&p, grid, shmemd_my_pe(&p.ctx), round);
		meet(&p, grid, &n_met);
		announce(&p, grid, p.sent, round, right_of(&p));
		await(&p, grid, p.sent, round);
		if (p.how == GET) {
			scope_report(p.status, 4,
				     shmemd_getmem_grid(&p.ctx, grid, p.dst, p.src, p.nbytes,
							left_of(&p)));
		} else {
			shmemd_getmem_nbi_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, left_of(&p));
			meet(&p, grid, &n_met);
			if (announces(grid))
				scope_report(p.status, 5, shmemd_quiet(&p.ctx));
		}
		meet(&p, grid, &n_met);
		check(&p, grid, left_of(&p), round);
		meet(&p, grid, &n_met);
		announce(&p, grid, p.read, round, left_of(&p));
		await(&p, grid, p.read, round);
		meet(&p, grid, &n_met);
	}
}

/* Each block its part, the last first; then one signal for all. */
SCOPE_STEP void put_tiles(const grid_params_t *p, shmemd_grid_t grid, uint64_t value)
{
	size_t each = (p->nbytes + grid.n_blocks - 1) / grid.n_blocks;
	size_t at = each * (grid.n_blocks - 1 - grid.block);
	size_t left = at < p->nbytes ? p->nbytes - at : 0;

	shmemd_putmem_nbi_group(&p->ctx, grid.group, p->dst + at, p->src + at,
				left < each ? left : each, right_of(p));
	shmemd_signal_op_grid(&p->ctx, grid, p->sent, value, p->op, right_of(p), p->arrived);
}

/* No barrier from round to round: the answer to a signal is one. */
SHMEMD_KERNEL(signal_kernel, grid_params_t, p)
{
	uint32_t round, n_met = 0;
	shmemd_grid_t grid;

	if (!is_caller(p.which))
		return;
	grid = grid_of(p.which);
	for (round = 0; round < ROUNDS; round++) {
		uint64_t value = p.op == SHMEMD_SIGNAL_ADD ? 1 : round + 1;

		fill(&p, grid, shmemd_my_pe(&p.ctx), round);
		meet(&p, grid, &n_met);
		if (p.how == PUT_SIGNAL)
			shmemd_putmem_signal_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, p.sent,
						  value, p.op, right_of(&p), p.arrived);
		else if (p.how == PUT_SIGNAL_NBI)
			shmemd_putmem_signal_nbi_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, p.sent,
						      value, p.op, right_of(&p), p.arrived);
		else
			put_tiles(&p, grid, value);
		await(&p, grid, p.sent, round);
		check(&p, grid, left_of(&p), round);
		shmemd_signal_op_grid(&p.ctx, grid, p.read, value, p.op, left_of(&p),
				      p.arrived + 1);
		await(&p, grid, p.read, round);
	}
	scope_report(p.status, 6, shmemd_quiet_group(&p.ctx, grid.group));
}

/* To itself, with a wait of all blocks, a signal of the grid is a barrier of it. */
SHMEMD_KERNEL(barrier_kernel, grid_params_t, p)
{
	uint32_t round, i;
	shmemd_grid_t grid;

	if (!is_caller(p.which))
		return;
	grid = grid_of(p.which);
	for (round = 0; round < 2 * ROUNDS; round++) {
		for (i = grid.group.rank; i < 8; i += grid.group.size)
			p.src[grid.block * 8 + i] = byte_of(0, round, grid.block * 8 + i);
		shmemd_signal_op_grid(&p.ctx, grid, p.sent, round + 1, SHMEMD_SIGNAL_SET,
				      shmemd_my_pe(&p.ctx), p.arrived + round % 2);
		await(&p, grid, p.sent, round);
		for (i = grid.group.rank; i < grid.n_blocks * 8; i += grid.group.size)
			if (p.src[i] != byte_of(0, round, i))
				p.status[7] = WRONG_VALUE;
		shmemd_signal_op_grid(&p.ctx, grid, p.read, round + 1, SHMEMD_SIGNAL_SET,
				      shmemd_my_pe(&p.ctx), p.arrived + 1 - round % 2);
		await(&p, grid, p.read, round);
	}
}

SHMEMD_KERNEL(posted_kernel, grid_params_t, p)
{
	shmemd_grid_t grid = shmemd_grid();
	uint64_t before = 0;
	uint32_t n_met = 0;

	if (announces(grid))
		before = shmemd_channel_posted(&p.ctx, right_of(&p));
	meet(&p, grid, &n_met);
	if (p.how == PUT_NBI)
		shmemd_putmem_nbi_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, right_of(&p));
	else if (p.how == GET_NBI)
		shmemd_getmem_nbi_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, right_of(&p));
	else
		shmemd_putmem_signal_nbi_grid(&p.ctx, grid, p.dst, p.src, p.nbytes, p.sent, 1,
					      SHMEMD_SIGNAL_SET, right_of(&p), p.arrived);
	meet(&p, grid, &n_met);
	if (announces(grid)) {
		*p.n_posted = shmemd_channel_posted(&p.ctx, right_of(&p)) - before;
		scope_report(p.status, 8, shmemd_quiet(&p.ctx));
	}
}

/* The blocks put one word, a flag, to their own PE. Block 0 calls first and resets the word after
 * it has arrived; only then do the other blocks call. */
SHMEMD_KERNEL(word_kernel, grid_params_t, p)
{
	shmemd_grid_t grid = shmemd_grid();
	int me = shmemd_my_pe(&p.ctx);

	if (grid.block != 0 && grid.group.rank == 0)
		while (shmemd_arch_ld_relaxed_u32(p.met) == 0)
			shmemd_arch_spin_hint();
	shmemd_group_sync(grid.group);
	shmemd_putmem_nbi_grid(&p.ctx, grid, p.sent, p.src, 8, me);
	if (grid.block != 0 || grid.group.rank != 0)
		return;
	scope_report(p.status, 9,
		     shmemd_wait_until_for_u64(&p.ctx, p.sent, SHMEMD_CMP_NE, 0, PES_LIMIT_NS));
	shmemd_p_u64(&p.ctx, p.sent, 0, me);
	scope_report(p.status, 12, shmemd_quiet(&p.ctx));
	shmemd_arch_atom_add_u32(p.met, 1);
}

/* Groups and numbers of blocks whose parts are looked at. */
static const uint32_t sizes[] = {1, 32, 48, 96}, numbers[] = {1, 3, SHMEMDI_GRID_MAX_BLOCKS + 3};

#define N_PARTS (SHMEMDI_GRID_MAX_BLOCKS * 96)

typedef struct parts_params {
	char *is_taken; /* [N_PARTS] */
	int *status;
	uint32_t size, n_blocks;
} parts_params_t;

/* The part of each thread of a grid, computed by one thread. */
SHMEMD_KERNEL(parts_kernel, parts_params_t, p)
{
	uint32_t bar = p.size == 1 ? SHMEMDI_BAR_NONE : p.size == 32 ? SHMEMDI_BAR_WARP : 1;
	uint32_t n_taken = 0, most = SHMEMDI_GRID_MAX_BLOCKS;
	uint32_t n = p.n_blocks < most ? p.n_blocks : most;
	shmemd_grid_t grid = {{0, p.size, bar}, 0, p.n_blocks};
	shmemdi_op_t op;

	for (grid.block = 0; grid.block < p.n_blocks; grid.block++)
		for (grid.group.rank = 0; grid.group.rank < p.size; grid.group.rank++) {
			memset(&op, 0, sizeof(op));
			op.g = grid.group;
			op.nbytes = 1;
			op = shmemdi_grid_part(grid, op);
			if (op.nbytes == 0)
				continue;
			if (op.g.rank >= op.g.size || op.g.size > N_PARTS ||
			    p.is_taken[op.g.rank]++)
				p.status[9] = WRONG_VALUE;
			/* Lanes of a warp are neighbours, and the blocks take turns. */
			if (p.size % 32 == 0 && (op.g.rank % 32 != grid.group.rank % 32 ||
						 op.g.rank / 32 % n != grid.block))
				p.status[10] = WRONG_VALUE;
			n_taken++;
		}
	if (n_taken != op.g.size)
		p.status[11] = WRONG_VALUE;
}

/* New memory for a launch: counters begin at 0. */
static int renew(pes_t *pes, grid_params_t *p, uint32_t dst_skew, uint32_t src_skew)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	p->status = pes->status;
	PES_ALLOC(pes, p->dst, char, NBYTES_MAX + 2 * MARGIN, GUARD);
	PES_ALLOC(pes, p->src, char, NBYTES_MAX + 2 * MARGIN, 0);
	PES_ALLOC(pes, p->sent, uint64_t, 6, 0);
	p->dst += MARGIN + dst_skew;
	p->src += MARGIN + src_skew;
	p->read = p->sent + 1;
	p->n_posted = p->sent + 2;
	p->met = (uint32_t *)(p->sent + 3);
	p->arrived = (uint32_t *)(p->sent + 4);
	return 0;
}

typedef struct shape {
	uint32_t nbytes, dst_skew, src_skew;
} shape_t;

/* Many units and few, a word that is a flag by itself, nothing, equally and differently misaligned.
 */
static const shape_t shapes[] = {
	{NBYTES_MAX, 0, 0}, {1600, 16, 16}, {8, 8, 8},       {0, 0, 0},
	{300, 100, 100},    {4099, 5, 12},  {128 * 5, 0, 0}, {1, 127, 3},
};

#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Runs of a random schedule take two shapes. */
static int is_chosen(const pes_t *pes, size_t i)
{
	return pes->seed == 0 || pes->seed % 4 == i % 4;
}

static int run_shape(pes_t *pes, shape_t shape, int how, int op, int which)
{
	grid_params_t p;

	if (renew(pes, &p, shape.dst_skew, shape.src_skew))
		return 1;
	p.nbytes = pes->seed && shape.nbytes > 1600 ? 1600 : shape.nbytes;
	p.how = how;
	p.op = op;
	p.which = which;
	if (how <= PUT_NBI)
		PES_RUN(pes, put_kernel, N_BLOCKS, N_THREADS, p);
	else if (how <= GET_NBI)
		PES_RUN(pes, get_kernel, N_BLOCKS, N_THREADS, p);
	else
		PES_RUN(pes, signal_kernel, N_BLOCKS, N_THREADS, p);
	pes_release(pes);
	return 0;
}

static int run_shapes(pes_t *pes, int how, int op)
{
	for (size_t i = 0; i < N_SHAPES; i++)
		for (int which = 0; which < N_GRIDS; which++)
			if (is_chosen(pes, i) && run_shape(pes, shapes[i], how, op, which))
				return 1;
	return 0;
}

static int put(pes_t *pes)
{
	return run_shapes(pes, PUT, 0) || run_shapes(pes, PUT_NBI, 0);
}

static int get(pes_t *pes)
{
	return run_shapes(pes, GET, 0) || run_shapes(pes, GET_NBI, 0);
}

static int put_signal(pes_t *pes)
{
	return run_shapes(pes, PUT_SIGNAL, SHMEMD_SIGNAL_SET) ||
	       run_shapes(pes, PUT_SIGNAL_NBI, SHMEMD_SIGNAL_SET) ||
	       run_shapes(pes, PUT_SIGNAL_NBI, SHMEMD_SIGNAL_ADD);
}

static int signal_of_tiles(pes_t *pes)
{
	return run_shapes(pes, OWN_TILES, SHMEMD_SIGNAL_SET) ||
	       run_shapes(pes, OWN_TILES, SHMEMD_SIGNAL_ADD);
}

static int barrier(pes_t *pes)
{
	grid_params_t p;

	for (int which = 0; which < N_GRIDS; which++) {
		if (renew(pes, &p, 0, 0))
			return 1;
		p.which = which;
		PES_RUN(pes, barrier_kernel, N_BLOCKS, N_THREADS, p);
	}
	return 0;
}

/* One WQE, whichever the number of blocks, and one for the signal; none to a mapped PE. */
static int posted_once(pes_t *pes)
{
	static const int hows[] = {PUT_NBI, GET_NBI, PUT_SIGNAL_NBI};
	int right = (pes->pe + 1) % pes->n_pes;
	uint64_t *n;
	grid_params_t p;

	for (int i = 0; i < 3; i++) {
		if (renew(pes, &p, 0, 0))
			return 1;
		p.how = hows[i];
		p.nbytes = 4096;
		PES_RUN(pes, posted_kernel, N_BLOCKS, N_THREADS, p);
		n = (uint64_t *)pes_read(pes, p.n_posted, sizeof(*n));
		if (n == NULL)
			return 1;
		PES_EQ(pes, *n, pes_maps(pes, right) ? 0 : i == 2 ? 2 : 1);
	}
	return 0;
}

/* One of all blocks stores the word: no late one stores it again. */
static int word_once(pes_t *pes)
{
	static const uint64_t one = 1;
	grid_params_t p;
	uint64_t *word;

	if (renew(pes, &p, 0, 0))
		return 1;
	PES_TRY(pes, run_copy(p.src, &one, sizeof(one)));
	PES_RUN(pes, word_kernel, N_BLOCKS, N_THREADS, p);
	word = (uint64_t *)pes_read(pes, p.sent, sizeof(*word));
	if (word == NULL)
		return 1;
	PES_EQ(pes, *word, 0);
	return 0;
}

/* Each rank of the copy is that of exactly one thread; blocks that are too many copy nothing. */
static int parts(pes_t *pes)
{
	parts_params_t p;

	for (int i = 0; i < 12; i++) {
		p.status = pes->status;
		p.size = sizes[i / 3];
		p.n_blocks = numbers[i % 3];
		PES_ALLOC(pes, p.is_taken, char, N_PARTS, 0);
		PES_RUN(pes, parts_kernel, 1, 1, p);
		pes_release(pes);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(put),        PES_TEST(get),
		PES_TEST(put_signal), PES_TEST(signal_of_tiles),
		PES_TEST(barrier),    PES_TEST(posted_once),
		PES_TEST(parts),      PES_TEST(word_once),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
