/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Matrix product and reduce-scatter in one kernel: each tile of the product leaves for the PE that
 * owns its rows as soon as it is done, and is added there.
 *
 *     out[row][column] at PE c  =  sum over PEs i of  x_i[c * rows + row][0 .. inner) .
 *                                                     w_i[column][0 .. inner)
 *
 * PE i has its part of `inner` of the input and of the weights, as in a layer whose inputs are
 * split among PEs. bf16; products in float; sums of PEs in bf16, rounded after each PE. Two
 * variants, the same functions and the same check:
 *     serial      two launches: multiply all tiles; send and add all tiles
 *     overlapped  one kernel: each block sends its tile, then multiplies the next one
 *
 * Shapes (bf16, inner fastest; n PEs; a chunk is the n_tiles tiles of one owner)
 *     x        [epoch % 2][n * rows][inner]
 *     w        [columns][inner]
 *     out      [epoch % 2][tile][TILE][TILE]  symmetric: own rows; a tile lies in one piece, so
 *                                             that one bulk operation adds it
 *     partial  [owner][tile][TILE][TILE]      the serial variant's products
 *     turn     [owner][tile]                  symmetric uint64
 *     done     [block]                        uint64: epochs that this block has finished
 *
 * Who adds when
 *     In step s PE me multiplies the chunk of PE me - 1 - s, its own one last. So in each step each
 *     owner receives from one PE, and PE me - 1 sent the same tile a step before. The first PE,
 *     c + 1, puts its tile, which overwrites the old sum; the others add theirs. Additions by the
 *     bulk-copy engine are atomic within one GPU only (bulk.h), so a PE adds to a tile when it has
 *     its turn: PE me - 1 gives it the turn when its own tile is complete at the owner (bulk_wait,
 *     quiet). The owner is the last: when its kernel has ended, its sums are complete.
 *
 * Who signals whom
 *     word                writer     value  reader                   reset
 *     turn[owner][tile]   PE me - 1  epoch  the block with the tile  never: done[block] + 1 is next
 *     out[e % 2] of PE c may be overwritten in epoch e + 2. PE c + 1, which does that, has finished
 *     epoch e + 1, in which PE c gave it the turn for its own chunk. PE c did so after its epoch e,
 *     whose kernel had ended with the last additions to out[e % 2]. So two buffers need no credits.
 *     Epochs are in device memory, so a kernel launched again, also in a replayed CUDA graph,
 *     continues with the next epoch.
 *
 * Grid, all blocks resident: tiles are dealt out to blocks in the order of steps. The tile that a
 * block waits for is of an earlier step, so the earliest tile that is not complete never waits.
 * On a GPU two blocks share an SM: while one waits for its turn or its tile, the other multiplies.
 *
 * To a PE behind a NIC the calls are the same, but no NIC adds bf16: each word of two elements
 * takes two round trips. A program for such peers puts tiles to a buffer for each sender and lets
 * the owner add them.
 *
 *     shmem-launch -n 4 ./gemm_reducescatter [ROWS COLUMNS INNER] */
#include <shmem_dev/bulk.h>
#include "gemm_run.h"

#define LIMIT_NS 20000000000ull
#define TILE_NELEMS (GEMM_TILE * GEMM_TILE)
#define TILE_NBYTES (TILE_NELEMS * sizeof(bf16_t))

/* What a launch does with each tile. */
enum phase { MULTIPLY = 1, REDUCE = 2 };

/* When a tile was multiplied, could be sent, and was complete at its owner: nanoseconds. */
typedef struct tile_times {
	uint64_t multiplied, turn, complete;
} tile_times_t;

typedef struct params {
	shmemd_ctx_t ctx;
	bf16_t *x;           /* [epoch % 2][n * rows][inner] */
	bf16_t *w;           /* [columns][inner] */
	bf16_t *out;         /* [epoch % 2][tile][TILE][TILE] */
	bf16_t *partial;     /* [owner][tile][TILE][TILE] */
	uint64_t *turn;      /* [owner][tile] */
	uint64_t *done;      /* [block] */
	int *status;         /* [block], of its first failure */
	uint64_t *began;     /* [block], nanoseconds, of the last epoch */
	tile_times_t *times; /* [owner][tile], of the last epoch */
	uint32_t rows, columns, inner;
	uint32_t n_tiles; /* of a chunk */
	uint32_t phases;  /* of this launch */
} params_t;

/* Multiply a tile of the chunk of PE owner and store it to `to`. */
SHMEMD_FN void multiply_tile(const params_t *p, uint64_t epoch, int owner, uint32_t tile,
			     gemm_chunk_t *shared, bf16_t *to)
{
	uint32_t n_columns = p->columns / GEMM_TILE;
	size_t row = (size_t)(epoch % 2) * (size_t)shmemd_n_pes(&p->ctx) + (size_t)owner;
	gemm_sums_t sums;

	row = row * p->rows + tile / n_columns * GEMM_TILE;
	gemm_multiply(&sums, p->x + row * p->inner,
		      p->w + (size_t)(tile % n_columns) * GEMM_TILE * p->inner, p->inner, shared);
	gemm_store(&sums, to, GEMM_TILE);
}

/* The serial variant's second launch: fetch the tile that the first one has stored. */
SHMEMD_FN void load_tile(const bf16_t *from, gemm_chunk_t *shared)
{
	uint32_t i;

	for (i = shmemd_thread_index(); i < TILE_NBYTES / sizeof(*shared); i += shmemd_n_threads())
		shared[i] = ((const gemm_chunk_t *)(const void *)from)[i];
}

/* snippet: reduce */
/* Add the tile in shared memory to its owner's, when it is this PE's turn. On return the tile is
 * complete there, and shared memory is free. */
SHMEMD_FN int reduce_tile(const params_t *p, uint64_t epoch, int step, int owner, uint32_t tile,
			  const gemm_chunk_t *shared)
{
	int n = shmemd_n_pes(&p->ctx), next = (shmemd_my_pe(&p->ctx) + 1) % n, status = SHMEMD_OK;
	uint64_t *turn = p->turn + (size_t)owner * p->n_tiles + tile;
	bf16_t *dst = p->out + ((size_t)(epoch % 2) * p->n_tiles + tile) * TILE_NELEMS;

	if (step > 0)
		status = shmemd_signal_wait_until_for_block(&p->ctx, turn, SHMEMD_CMP_GE, epoch,
							    LIMIT_NS);
	if (status != SHMEMD_OK)
		return status;
	if (shmemd_thread_index() == 0)
		p->times[(size_t)owner * p->n_tiles + tile].turn = gemm_now();
	if (step == 0)
		shmemd_put_tile_bulk_block(&p->ctx, dst, shared, TILE_NBYTES, owner);
	else
		shmemd_add_tile_bulk_block(&p->ctx, dst, shared, TILE_NELEMS, SHMEMD_BULK_BF16,
					   owner);
	shmemd_bulk_wait_block();
	/* A fence is not enough: the next PE adds at the owner, a third PE, where this tile must
	 * be complete before. */
	status = shmemd_quiet_leader_block(&p->ctx);
	if (status == SHMEMD_OK && step < n - 1 && shmemd_thread_index() == 0)
		shmemd_signal_op(&p->ctx, turn, epoch, SHMEMD_SIGNAL_SET, next);
	return status;
}
/* end */

GEMM_KERNEL(gemm_reducescatter, params_t, p)
{
	SHMEMD_SHARED(gemm_chunk_t, GEMM_CHUNKS, shared);
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), status = SHMEMD_OK;
	uint32_t block = shmemd_block_index(), i;
	uint64_t epoch = p.done[block] + 1;

	if (shmemd_thread_index() == 0)
		p.began[block] = gemm_now();
	for (i = block; i < (uint32_t)n * p.n_tiles && status == SHMEMD_OK;
	     i += shmemd_n_blocks()) {
		int step = (int)(i / p.n_tiles), owner = (me + 2 * n - 1 - step) % n;
		uint32_t tile = i % p.n_tiles;
		size_t at = (size_t)owner * p.n_tiles + tile;
		bf16_t *partial = p.partial + at * TILE_NELEMS;

		if (p.phases & MULTIPLY)
			multiply_tile(&p, epoch, owner, tile, shared,
				      p.phases & REDUCE ? (bf16_t *)shared : partial);
		else
			load_tile(partial, shared);
		if (shmemd_thread_index() == 0)
			p.times[at].multiplied = gemm_now();
		if (p.phases & REDUCE)
			status = reduce_tile(&p, epoch, step, owner, tile, shared);
		if (status == SHMEMD_OK && shmemd_thread_index() == 0)
			p.times[at].complete = gemm_now();
	}
	if (status != SHMEMD_OK)
		p.status[block] = status;
	shmemd_group_sync(shmemd_block()); /* all threads have read done */
	if (shmemd_thread_index() == 0 && p.phases & REDUCE)
		p.done[block] = epoch;
}

/* ---- host ---- */

typedef struct example {
	shmemh_t *job;
	params_t p;
	uint32_t n_blocks;
} example_t;

static int launch_phases(example_t *e, uint32_t phases, shmemd_stream_t stream)
{
	e->p.phases = phases;
	RUN_TRY(e->job, run_device(shmemd_launch_resident(gemm_reducescatter, e->n_blocks,
							  GEMM_THREADS, 0, stream, e->p)));
	return 0;
}

static int launch(void *arg, int is_overlapped, shmemd_stream_t stream)
{
	example_t *e = (example_t *)arg;

	if (is_overlapped)
		return launch_phases(e, MULTIPLY | REDUCE, stream);
	return launch_phases(e, MULTIPLY, stream) || launch_phases(e, REDUCE, stream);
}

static int alloc(example_t *e, const gemm_sizes_t *s)
{
	size_t n = (size_t)shmemh_n_pes(e->job), i, x = n * s->rows * s->inner;
	size_t out = (size_t)s->rows * s->columns, width = sizeof(bf16_t);
	uint32_t resident, first_k = (uint32_t)shmemh_my_pe(e->job) * s->inner;
	shmemh_t *job = e->job;
	params_t *p = &e->p;

	p->rows = s->rows;
	p->columns = s->columns;
	p->inner = s->inner;
	p->n_tiles = (uint32_t)(out / TILE_NELEMS);
	RUN_TRY(job,
		run_device(shmemd_resident_blocks(gemm_reducescatter, GEMM_THREADS, 0, &resident)));
	if (gemm_blocks(job, resident, 4, &e->n_blocks) != 0)
		return 1;
	RUN_TRY(job, shmemh_calloc(job, 2 * x, width, (void **)&p->x));
	RUN_TRY(job, shmemh_calloc(job, (size_t)s->columns * s->inner, width, (void **)&p->w));
	RUN_TRY(job, shmemh_calloc(job, 2 * out, width, (void **)&p->out));
	RUN_TRY(job, shmemh_calloc(job, n * out, width, (void **)&p->partial));
	RUN_TRY(job, shmemh_calloc(job, n * p->n_tiles, sizeof(*p->turn), (void **)&p->turn));
	RUN_TRY(job, shmemh_calloc(job, e->n_blocks, sizeof(*p->done), (void **)&p->done));
	RUN_TRY(job, shmemh_calloc(job, e->n_blocks, sizeof(*p->status), (void **)&p->status));
	RUN_TRY(job, shmemh_calloc(job, e->n_blocks, sizeof(*p->began), (void **)&p->began));
	RUN_TRY(job, shmemh_calloc(job, n * p->n_tiles, sizeof(*p->times), (void **)&p->times));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p->ctx));
	for (i = 0; i < 2; i++) {
		if (gemm_fill(job, p->x + i * x, (uint32_t)i, 0, (uint32_t)n * s->rows, first_k,
			      s->inner))
			return 1;
	}
	return gemm_fill(job, p->w, GEMM_WEIGHTS, 0, s->columns, first_k, s->inner);
}

/* A line of the time line: the chunk of one owner. */
static void print_chunk(int step, int owner, const tile_times_t *t, uint32_t n_tiles,
			uint64_t began)
{
	uint64_t multiplied = t[0].multiplied, first = t[0].complete, last = first, waited = 0;
	uint32_t i;

	for (i = 0; i < n_tiles; i++) {
		multiplied = t[i].multiplied < multiplied ? t[i].multiplied : multiplied;
		first = t[i].complete < first ? t[i].complete : first;
		last = t[i].complete > last ? t[i].complete : last;
		waited += t[i].turn - t[i].multiplied;
	}
	printf("%6d  %5d  %16.1f  %14.1f  %13.1f  %15.1f\n", step, owner,
	       gemm_us(began, multiplied), gemm_us(began, first), gemm_us(began, last),
	       (double)waited * 1e-3 / n_tiles);
}

/* When tiles of PE 0 were multiplied, and complete at their owners, in the last epoch. */
static int print_time_line(const example_t *e)
{
	const params_t *p = &e->p;
	int n = shmemh_n_pes(e->job), step;
	size_t nbytes = p->n_tiles * sizeof(tile_times_t);
	tile_times_t *times = (tile_times_t *)malloc(nbytes);
	uint64_t began = 0, last;

	if (times == NULL || gemm_span(e->job, p->began, e->n_blocks, &began, &last) != 0)
		return 1;
	printf("PE 0, us since the kernel began; mean wait of a tile for its turn:\n");
	printf("  step  owner  first multiplied  first complete  last complete  waited for turn\n");
	for (step = 0; step < n; step++) {
		int owner = (2 * n - 1 - step) % n;

		RUN_TRY(e->job, run_copy(times, p->times + (size_t)owner * p->n_tiles, nbytes));
		print_chunk(step, owner, times, p->n_tiles, began);
	}
	free(times);
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	gemm_sizes_t large = {1024, 8192, 2048}, s;
	gemm_program_t g;
	example_t e;
	uint32_t n = (uint32_t)shmemh_n_pes(job);

	memset(&e, 0, sizeof(e));
	memset(&g, 0, sizeof(g));
	e.job = g.job = job;
	if (gemm_sizes(job, argc, argv, large, &s) != 0 || alloc(&e, &s) != 0)
		return 1;
	g.problem.first_row = (uint32_t)shmemh_my_pe(job) * s.rows;
	g.problem.rows = s.rows;
	g.problem.columns = s.columns;
	g.problem.inner = n * s.inner;
	g.problem.is_tiled = 1;
	g.launch = launch;
	g.arg = &e;
	g.result = e.p.out;
	g.status = e.p.status;
	g.n_blocks = e.n_blocks;
	if (shmemh_my_pe(job) == 0)
		printf("gemm_reducescatter: %u rows to each of %u PEs, %u columns, sums of %u "
		       "products of each PE; %u blocks\n",
		       s.rows, n, s.columns, s.inner, e.n_blocks);
	if (gemm_run(&g, "gemm_reducescatter") != 0)
		return 1;
	if (shmemh_my_pe(job) == 0 && print_time_line(&e) != 0)
		return 1;
	return run_print_channels(job);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
