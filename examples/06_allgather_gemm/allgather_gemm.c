/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* All-gather and matrix product in one kernel: tiles of the product begin as the rows they need
 * arrive, while other rows are still on their way.
 *
 *     y[from][row][column]  =  x[from][row][0 .. inner) . w[column][0 .. inner)
 *
 * PE `from` has the rows x[from], each PE its own w, as in a layer whose columns are split among
 * PEs. bf16, sums in float. Two variants, the same functions and the same check:
 *     serial      two launches: gather all rows; multiply
 *     overlapped  one kernel: some blocks send, the others multiply
 *
 * Shapes (bf16, inner fastest; n PEs; a panel is GEMM_TILE rows)
 *     x        [epoch % 2][rows][inner]           symmetric, since a NIC may read it: own rows
 *     in       [epoch % 2][from pe][rows][inner]  symmetric: rows of the other PEs
 *     w        [columns][inner]
 *     y        [epoch % 2][from pe][rows][columns]
 *     sig      [from pe][panel]  symmetric uint64
 *     done     [block]           uint64: epochs that this block has finished
 *
 * Who signals whom
 *     Each sender of PE pe adds the rows of its slice to sig[pe][panel]. A block with tiles of the
 *     panel waits until the word has reached GEMM_TILE * epoch. The words are never reset: the
 *     epoch of a launch is done + 1.
 *     in[e % 2] of PE b may be overwritten in epoch e + 2. PE a, which then overwrites it, has
 *     finished epoch e + 1, in which it received signals of b. b sent these after the kernel of its
 *     own epoch e had ended. So two buffers need no credits. Epochs are in device memory, so a
 *     kernel launched again, also in a replayed CUDA graph, continues with the next epoch.
 *
 * Grid, all blocks resident
 *     n_senders  send own panels, to PE me - 1 first. All warps that send share each panel, so that
 *                panels arrive one after the other, the first one early. One thread of a warp
 *                drives the bulk-copy engine, which leaves the SM to the block beside it. Then
 *                quiet: after it the program may overwrite x. In the first of these blocks the
 *                warp after those that send notes when the panels of PE me + 1 + lane arrive; the
 *                gathering launch so ends only when all rows are here
 *     others     multiply. Tiles are dealt out in a fixed order: own rows, then those of PE
 *                me + 1, which sends to this PE first, and so on. A block waits for the panel of
 *                its tile, reads it, and signals nothing, so it delays no other block or PE
 *
 *     shmem-launch -n 4 ./allgather_gemm [ROWS COLUMNS INNER] */
#include <shmem_dev/bulk.h>
#include "gemm_run.h"

#define LIMIT_NS 20000000000ull

/* SENDERS: blocks that send while others multiply: few. With two PEs and the sizes for GPUs, 8 of
 * them and a block for each of the 256 tiles are just the 264 blocks that an H100 holds at once.
 * SENDERS_ALONE: blocks of a launch that only sends. SEND_WARPS: warps of each that send. */
#ifdef __CUDACC__
#define SENDERS 8
#define SENDERS_ALONE 32
#define SEND_WARPS 2
#else
#define SENDERS 2
#define SENDERS_ALONE 4
#define SEND_WARPS 1
#endif

typedef struct params {
	shmemd_ctx_t ctx;
	bf16_t *x;      /* [epoch % 2][rows][inner] */
	bf16_t *in;     /* [epoch % 2][from pe][rows][inner] */
	bf16_t *w;      /* [columns][inner] */
	bf16_t *y;      /* [epoch % 2][from pe][rows][columns] */
	uint64_t *sig;  /* [from pe][panel] */
	uint64_t *done; /* [block] */
	int *status;    /* [block], of its first failure */
	/* nanoseconds, of the last epoch */
	uint64_t *began;   /* [block] */
	uint64_t *seen_at; /* [from pe][panel]: by the watching thread */
	uint64_t *tile_at; /* [from pe][panel][column tile]: it was stored */
	uint32_t rows, columns, inner;
	uint32_t n_panels; /* of a PE: rows / GEMM_TILE */
	uint32_t n_senders;
	uint32_t is_last; /* of the launches of an epoch */
} params_t;

/* The rows of a panel: own ones where they are, others where they arrive. */
SHMEMD_FN bf16_t *panel_of(const params_t *p, uint64_t epoch, int from, uint32_t panel, int is_own)
{
	size_t slot = (size_t)(epoch % 2);

	if (!is_own)
		slot = slot * (size_t)shmemd_n_pes(&p->ctx) + (size_t)from;
	return (is_own ? p->x : p->in) + (slot * p->rows + panel * GEMM_TILE) * p->inner;
}

/* snippet: send */
SHMEMD_FN int send_role(const params_t *p, uint64_t epoch, uint32_t rank, gemm_chunk_t *shared)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx);
	uint32_t n_slices = p->n_senders * SEND_WARPS, first = rank * GEMM_TILE / n_slices, i;
	uint32_t rows = (rank + 1) * GEMM_TILE / n_slices - first;
	size_t at = (size_t)first * p->inner, nbytes = (size_t)rows * p->inner * sizeof(bf16_t);

	for (i = 0; i < (uint32_t)(n - 1) * p->n_panels; i++) {
		uint32_t panel = i % p->n_panels;
		int to = (me + n - 1 - (int)(i / p->n_panels)) % n;

		shmemd_putmem_bulk_warp(&p->ctx, panel_of(p, epoch, me, panel, 0) + at,
					panel_of(p, epoch, me, panel, 1) + at, nbytes, to,
					shared + rank % SEND_WARPS * (GEMM_CHUNKS / SEND_WARPS),
					GEMM_CHUNKS / SEND_WARPS * sizeof(*shared));
		shmemd_fence_leader_warp(&p->ctx);
		if (shmemd_thread_index() % 32 == 0)
			shmemd_signal_op(&p->ctx, p->sig + (uint32_t)me * p->n_panels + panel, rows,
					 SHMEMD_SIGNAL_ADD, to);
	}
	return shmemd_quiet_warp(&p->ctx);
}
/* end */

/* Each lane waits for the panels of one PE, or of a few. */
SHMEMD_FN int watch_role(const params_t *p, uint64_t epoch)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx), status = SHMEMD_OK, i;
	uint32_t panel;

	for (i = (int)shmemd_thread_index() % 32; i < n - 1; i += 32) {
		uint32_t first = (uint32_t)((me + 1 + i) % n) * p->n_panels;

		for (panel = 0; panel < p->n_panels && status == SHMEMD_OK; panel++) {
			status = shmemd_signal_wait_until_for(&p->ctx, p->sig + first + panel,
							      SHMEMD_CMP_GE, epoch * GEMM_TILE,
							      LIMIT_NS);
			p->seen_at[first + panel] = gemm_now();
		}
	}
	return status;
}

/* snippet: multiply */
SHMEMD_FN int multiply_role(const params_t *p, uint64_t epoch, uint32_t rank, uint32_t n_blocks,
			    gemm_chunk_t *shared)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx), status = SHMEMD_OK;
	uint32_t n_columns = p->columns / GEMM_TILE, i;

	for (i = rank; i < (uint32_t)n * p->n_panels * n_columns; i += n_blocks) {
		uint32_t panel = i / n_columns % p->n_panels, column = i % n_columns;
		int from = (me + (int)(i / n_columns / p->n_panels)) % n;
		uint32_t at = (uint32_t)from * p->n_panels + panel;
		size_t row = (size_t)(epoch % 2) * (size_t)n * p->rows + (size_t)at * GEMM_TILE;
		gemm_sums_t sums;

		if (from != me)
			status = shmemd_signal_wait_until_for_block(
				&p->ctx, p->sig + at, SHMEMD_CMP_GE, epoch * GEMM_TILE, LIMIT_NS);
		if (status != SHMEMD_OK)
			break;
		gemm_multiply(&sums, panel_of(p, epoch, from, panel, from == me),
			      p->w + (size_t)column * GEMM_TILE * p->inner, p->inner, shared);
		gemm_store(&sums, p->y + row * p->columns + column * GEMM_TILE, p->columns);
		if (shmemd_thread_index() == 0)
			p->tile_at[(size_t)at * n_columns + column] = gemm_now();
	}
	return status;
}
/* end */

GEMM_KERNEL(allgather_gemm, params_t, p)
{
	SHMEMD_SHARED(gemm_chunk_t, GEMM_CHUNKS, shared);
	uint32_t block = shmemd_block_index(), warp = shmemd_thread_index() / 32;
	uint64_t epoch = p.done[block] + 1;
	int status = SHMEMD_OK;

	if (shmemd_thread_index() == 0)
		p.began[block] = gemm_now();
	if (block >= p.n_senders)
		status = multiply_role(&p, epoch, block - p.n_senders,
				       shmemd_n_blocks() - p.n_senders, shared);
	else if (warp < SEND_WARPS)
		status = send_role(&p, epoch, block * SEND_WARPS + warp, shared);
	else if (block == 0 && warp == SEND_WARPS)
		status = watch_role(&p, epoch);
	if (status != SHMEMD_OK)
		p.status[block] = status;
	shmemd_group_sync(shmemd_block()); /* all threads have read done */
	if (shmemd_thread_index() == 0 && p.is_last)
		p.done[block] = epoch;
}

/* ---- host ---- */

typedef struct example {
	shmemh_t *job;
	params_t p;
	uint32_t n_blocks, n_alone; /* of a launch; of one that only sends */
} example_t;

static int launch_roles(example_t *e, uint32_t n_blocks, uint32_t n_senders, int is_last,
			shmemd_stream_t stream)
{
	params_t p = e->p;

	p.n_senders = n_senders;
	p.is_last = (uint32_t)is_last;
	RUN_TRY(e->job, run_device(shmemd_launch_resident(allgather_gemm, n_blocks, GEMM_THREADS, 0,
							  stream, p)));
	return 0;
}

static int launch(void *arg, int is_overlapped, shmemd_stream_t stream)
{
	example_t *e = (example_t *)arg;

	if (is_overlapped)
		return launch_roles(e, e->n_blocks, SENDERS, 1, stream);
	return launch_roles(e, e->n_alone, e->n_alone, 0, stream) ||
	       launch_roles(e, e->n_blocks, 0, 1, stream);
}

static int alloc(example_t *e, const gemm_sizes_t *s)
{
	size_t n = (size_t)shmemh_n_pes(e->job), panels = n * (s->rows / GEMM_TILE), i;
	size_t width = sizeof(bf16_t), x = (size_t)s->rows * s->inner;
	shmemh_t *job = e->job;
	params_t *p = &e->p;
	uint32_t resident, me = (uint32_t)shmemh_my_pe(job);

	p->rows = s->rows;
	p->columns = s->columns;
	p->inner = s->inner;
	p->n_panels = s->rows / GEMM_TILE;
	RUN_TRY(job,
		run_device(shmemd_resident_blocks(allgather_gemm, GEMM_THREADS, 0, &resident)));
	if (gemm_blocks(job, resident, SENDERS + 4, &e->n_blocks) != 0)
		return 1;
	e->n_alone = e->n_blocks < SENDERS_ALONE ? e->n_blocks : SENDERS_ALONE;
	RUN_TRY(job, shmemh_calloc(job, 2 * x, width, (void **)&p->x));
	RUN_TRY(job, shmemh_calloc(job, 2 * n * x, width, (void **)&p->in));
	RUN_TRY(job, shmemh_calloc(job, (size_t)s->columns * s->inner, width, (void **)&p->w));
	RUN_TRY(job, shmemh_calloc(job, 2 * n * s->rows * s->columns, width, (void **)&p->y));
	RUN_TRY(job, shmemh_calloc(job, panels, sizeof(*p->sig), (void **)&p->sig));
	RUN_TRY(job, shmemh_calloc(job, e->n_blocks, sizeof(*p->done), (void **)&p->done));
	RUN_TRY(job, shmemh_calloc(job, e->n_blocks, sizeof(*p->status), (void **)&p->status));
	RUN_TRY(job, shmemh_calloc(job, e->n_blocks, sizeof(*p->began), (void **)&p->began));
	RUN_TRY(job, shmemh_calloc(job, panels, sizeof(uint64_t), (void **)&p->seen_at));
	RUN_TRY(job, shmemh_calloc(job, panels * (s->columns / GEMM_TILE), sizeof(uint64_t),
				   (void **)&p->tile_at));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p->ctx));
	for (i = 0; i < 2; i++) {
		if (gemm_fill(job, p->x + i * x, (uint32_t)i, me * s->rows, s->rows, 0, s->inner))
			return 1;
	}
	return gemm_fill(job, p->w, GEMM_WEIGHTS, me * s->columns, s->columns, 0, s->inner);
}

/* Print for each panel, in the last epoch, when the watching thread of PE 0 had seen it, and when
 * the first and the last of its tiles were stored. The thread waits for the panels of a PE one
 * after another, so a tile may be stored before the thread has seen its panel. */
static int print_time_line(const example_t *e)
{
	const params_t *p = &e->p;
	uint32_t n_columns = p->columns / GEMM_TILE, i;
	uint64_t began, seen, first, last;

	if (gemm_span(e->job, p->began, e->n_blocks, &began, &last) != 0)
		return 1;
	printf("PE 0, us since the kernel began:\n");
	printf("  from PE  panel      seen  first tile  last tile\n");
	for (i = 0; i < (uint32_t)shmemh_n_pes(e->job) * p->n_panels; i++) {
		char text[16] = "own";

		RUN_TRY(e->job, run_copy(&seen, p->seen_at + i, sizeof(seen)));
		if (gemm_span(e->job, p->tile_at + i * n_columns, n_columns, &first, &last) != 0)
			return 1;
		if (i >= p->n_panels)
			snprintf(text, sizeof(text), "%.1f", gemm_us(began, seen));
		printf("%9u  %5u  %8s  %10.1f  %9.1f\n", i / p->n_panels, i % p->n_panels, text,
		       gemm_us(began, first), gemm_us(began, last));
	}
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	gemm_sizes_t large = {1024, 2048, 8192}, s;
	gemm_program_t g;
	example_t e;
	uint32_t n = (uint32_t)shmemh_n_pes(job);

	memset(&e, 0, sizeof(e));
	memset(&g, 0, sizeof(g));
	e.job = g.job = job;
	if (gemm_sizes(job, argc, argv, large, &s) != 0 || alloc(&e, &s) != 0)
		return 1;
	g.problem.rows = n * s.rows;
	g.problem.columns = s.columns;
	g.problem.first_column = (uint32_t)shmemh_my_pe(job) * s.columns;
	g.problem.inner = s.inner;
	g.launch = launch;
	g.arg = &e;
	g.result = e.p.y;
	g.input = e.p.in;
	g.input_nbytes = 2 * (size_t)n * s.rows * s.inner * sizeof(bf16_t);
	g.status = e.p.status;
	g.n_blocks = e.n_blocks;
	if (shmemh_my_pe(job) == 0)
		printf("allgather_gemm: %u rows of each of %u PEs, %u columns on each, sums of %u "
		       "products; %u blocks, %d of them send\n",
		       s.rows, n, s.columns, s.inner, e.n_blocks, SENDERS);
	if (gemm_run(&g, "allgather_gemm") != 0)
		return 1;
	if (shmemh_my_pe(job) == 0 && print_time_line(&e) != 0)
		return 1;
	return run_print_channels(job);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
