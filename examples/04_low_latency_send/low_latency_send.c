/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Sends tokens to their experts with low latency: the first half of a mixture of experts. Experts
 * are spread over the PEs, EXPERTS on each. A token's row is sent to TOP_K of them; the number of
 * rows for an expert is not known in advance.
 *
 * A step has two halves, each a launch, or both in one:
 *     send    Block b serves one expert of one PE. Its warps send that expert's rows in turn, on
 *             channel expert % channels; few of them ring a doorbell. When all rows are posted, one
 *             thread sends their number, ordered after them, and rings.
 *     take    Block b serves one expert of this PE and one PE that sends to it. It waits for the
 *             number of rows and packs them after those of lower PEs.
 * Between the launches other kernels may run: no thread of the GPU waits while rows travel.
 *
 * Shapes (one allocation each, on every PE; n PEs)
 *     rows    [step % 2][token][ROW_NELEMS]   uint32: token's number, payload
 *     experts [token][TOP_K]                  uint32: targets; the first EXPERTS on PE 0
 *     in      [step % 2][expert][from pe][MAX_TOKENS][ROW_NELEMS]   uint32: rows received
 *     count   [step % 2][expert][from pe]     uint64: rows received + 1; 0: some are missing
 *     out     [expert][n * MAX_TOKENS][ROW_NELEMS]   uint32: rows by PE and token, without gaps
 *     ranges  [expert][from pe]               uint64: first row in out << 32 | number of rows
 *     steps   [block]                         uint64: steps that this block has taken
 *
 * Who signals whom
 *     word                    writer        value     reader              reset
 *     count[step % 2][e][pe]  PE pe (SET)   rows + 1  blocks of expert e  to 0 by its own PE, in
 *                                                                         send of the previous step
 *     The count arrives after the rows because it is sent on their channel. It is a SET, not an
 *     ADD: the word has one writer, so no sum is needed; a SET needs no atomics and uses the rows'
 *     transport, stores or RDMA; and a repeated SET has no effect.
 *
 * Why no credits are needed. In each step each PE sends a count for each expert, also of 0 rows,
 * and waits for all counts sent to it. A PE that sends to PE p in step s + 1 has taken step s, and
 * so has received the count that p sent in step s. Before p sent that count,
 *     the same thread of p had reset the count of step s + 1: it cannot erase a new one;
 *     p had taken step s - 1: its in[(s + 1) % 2] may be overwritten.
 * The count does not show that p has taken step s itself, so there are two buffers.
 * The rows[s % 2] of a PE have been read when the PE has taken step s + 1: every PE that sent in
 * that step had received the counts after these rows. So rows may be rewritten in step s + 2, and
 * the kernels wait for completions only at the end.
 * (A NIC whose request is not acknowledged in time may read a row again. The target drops the
 * repetition.)
 *
 * All PEs launch equally many steps, including those without tokens, and no send before the take of
 * the previous step. If a PE launches one step less, the others wait for its counts until their
 * limit; if one more, its counts are taken for those of the others' next step. Steps are counted in
 * device memory: a kernel launched again, also in a replayed CUDA graph, continues.
 *
 * Grid: n * EXPERTS blocks of THREADS threads. In take, a block waits for what several blocks of
 * another PE send: with both halves in one launch all blocks must be resident at once.
 * Leaves out: the way back (combine), narrow types, tokens without an expert.
 *
 *     shmem-launch -n 4 ./low_latency_send */
#include <string.h>
#include "report.h"
#include "run.h"
#include "workload.h"

#define RING_EVERY 8 /* rows: the NIC begins to send while other rows are being posted */
#define THREADS 64
#define LIMIT_NS 20000000000ull

enum { SEND = 1, TAKE = 2 };

typedef struct params {
	shmemd_ctx_t ctx;
	uint32_t *rows;
	uint32_t *experts;
	uint32_t *in;
	uint64_t *count;
	uint32_t *out;
	uint64_t *ranges;
	uint64_t *steps;
	int *status; /* [block] */
	uint32_t n_tokens;
	uint32_t n_channels; /* at least 1 */
	uint32_t halves;     /* SEND, TAKE or both */
} params_t;

SHMEMD_FN uint32_t *row_out(const params_t *p, uint64_t step, uint32_t token)
{
	return p->rows + ((size_t)(step % 2) * MAX_TOKENS + token) * ROW_NELEMS;
}

/* Index of (step % 2, expert of this PE, from PE) in arrays of that shape. */
SHMEMD_FN size_t place(const params_t *p, uint64_t step, uint32_t expert, int from)
{
	return ((size_t)(step % 2) * EXPERTS + expert) * (size_t)shmemd_n_pes(&p->ctx) +
	       (size_t)from;
}

SHMEMD_FN uint32_t *row_in(const params_t *p, uint64_t step, uint32_t expert, int from)
{
	return p->in + place(p, step, expert, from) * MAX_TOKENS * ROW_NELEMS;
}

/* Stands for the work that makes rows, for example quantisation. */
SHMEMD_KERNEL(make_rows, params_t, p)
{
	uint64_t step = p.steps[0] + 1;
	uint32_t token, i;

	for (token = shmemd_block_index(); token < p.n_tokens; token += shmemd_n_blocks()) {
		for (i = shmemd_thread_index(); i < ROW_NELEMS; i += shmemd_n_threads())
			row_out(&p, step, token)[i] = ELEMENT(shmemd_my_pe(&p.ctx), token, i, step);
	}
}

/* Every warp counts all rows of the expert, and sends those that fall to it. */
SHMEMD_FN uint32_t send_rows(const params_t *p, const shmemd_ctx_t *channel, uint64_t step,
			     uint32_t expert, int to)
{
	uint32_t warp = shmemd_thread_index() / 32, n_warps = shmemd_n_threads() / 32;
	uint32_t *in = row_in(p, step, expert, shmemd_my_pe(&p->ctx));
	uint32_t slot = 0, i;

	for (i = 0; i < p->n_tokens * TOP_K; i++) {
		if (p->experts[i] != (uint32_t)to * EXPERTS + expert)
			continue;
		if (slot % n_warps == warp)
			shmemd_channel_put_nbi_warp(channel, in + (size_t)slot * ROW_NELEMS,
						    row_out(p, step, i / TOP_K), ROW_NBYTES, to,
						    (slot + 1) % RING_EVERY ? SHMEMD_RING_DEFERRED
									    : SHMEMD_RING_NOW);
		slot++;
	}
	return slot;
}

SHMEMD_FN void send_role(const params_t *p, uint64_t step)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx);
	uint32_t expert = shmemd_block_index() % EXPERTS, n_rows;
	int to = (me + 1 + (int)(shmemd_block_index() / EXPERTS)) % n;
	shmemd_ctx_t channel = shmemd_ctx_channel(&p->ctx, expert % p->n_channels);

	n_rows = send_rows(p, &channel, step, expert, to);
	shmemd_group_sync(shmemd_block()); /* all rows are posted */
	if (shmemd_thread_index() == 0) {
		/* reset before the count that allows `to` to write it */
		p->count[place(p, step + 1, expert, to)] = 0;
		shmemd_channel_signal_set(&channel, p->count + place(p, step, expert, me),
					  n_rows + 1, to, SHMEMD_RING_NOW);
	}
}

/* The rows from one PE follow those of lower PEs. */
SHMEMD_FN int take_role(const params_t *p, uint64_t step)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx), pe, status;
	uint32_t expert = shmemd_block_index() % EXPERTS;
	int from = (me + n - 1 - (int)(shmemd_block_index() / EXPERTS)) % n;
	uint64_t base = 0, n_rows = 0, i;
	const uint32_t *in = row_in(p, step, expert, from);
	uint32_t *out = p->out + (size_t)expert * (size_t)n * MAX_TOKENS * ROW_NELEMS;

	for (pe = 0; pe <= from; pe++) {
		const uint64_t *count = p->count + place(p, step, expert, pe);

		status = shmemd_signal_wait_until_for_block(&p->ctx, count, SHMEMD_CMP_NE, 0,
							    LIMIT_NS);
		if (status != SHMEMD_OK)
			return status;
		base += n_rows;
		n_rows = *count - 1;
	}
	for (i = shmemd_thread_index(); i < n_rows * ROW_NELEMS; i += shmemd_n_threads())
		out[base * ROW_NELEMS + i] = in[i];
	if (shmemd_thread_index() == 0)
		p->ranges[place(p, 0, expert, from)] = base << 32 | n_rows;
	return SHMEMD_OK;
}

SHMEMD_KERNEL(dispatch, params_t, p)
{
	uint32_t block = shmemd_block_index();
	uint64_t step = p.steps[block] + 1;

	if (p.halves & SEND)
		send_role(&p, step);
	if (p.halves & TAKE) {
		int status = take_role(&p, step);

		shmemd_group_sync(shmemd_block()); /* all threads have read steps */
		if (shmemd_thread_index() == 0) {
			p.status[block] = status;
			p.steps[block] = step;
		}
	}
}

/* Block k waits for channel k. After it, failed requests are in the error record. */
SHMEMD_KERNEL(finish, params_t, p)
{
	shmemd_ctx_t channel = shmemd_ctx_channel(&p.ctx, shmemd_block_index());

	(void)shmemd_quiet_warp(&channel);
}

static int launch(shmemh_t *job, params_t *p, uint32_t halves)
{
	uint32_t n_blocks = (uint32_t)shmemh_n_pes(job) * EXPERTS;

	p->halves = halves;
	RUN_TRY(job, run_device(shmemd_launch(dispatch, n_blocks, THREADS, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	return 0;
}

/* One step: one launch, or two between which other kernels may run. */
static int dispatch_step(shmemh_t *job, params_t *p, uint64_t step)
{
	RUN_TRY(job, run_device(shmemd_launch(make_rows, EXPERTS, THREADS, 0, NULL, *p)));
	if (step % 2 == 0)
		return launch(job, p, SEND | TAKE);
	if (launch(job, p, SEND) != 0)
		return 1;
	return launch(job, p, TAKE);
}

/* Check the status with which each block's take ended. */
static int check_status(shmemh_t *job, const params_t *p)
{
	int i, status, n_blocks = shmemh_n_pes(job) * EXPERTS;

	for (i = 0; i < n_blocks; i++) {
		RUN_TRY(job, run_copy(&status, p->status + i, sizeof(status)));
		RUN_TRY(job, status);
	}
	return 0;
}

/* All steps, each checked. */
static int run_steps(shmemh_t *job, params_t *p, result_t *result)
{
	uint32_t experts[MAX_TOKENS * TOP_K] = {0};
	int n = shmemh_n_pes(job);
	uint64_t step;
	double us;

	for (step = 1; step <= STEPS; step++) {
		p->n_tokens = route(shmemh_my_pe(job), step, n, experts);
		RUN_TRY(job, run_copy(p->experts, experts, sizeof(experts)));
		result->sent += (int)(p->n_tokens * TOP_K);
		us = run_time_us();
		if (dispatch_step(job, p, step) != 0)
			return 1;
		us = run_time_us() - us;
		result->us = step == 1 || us < result->us ? us : result->us;
		if (check_status(job, p) != 0 ||
		    check_step(job, p->out, p->ranges, step, result) != 0)
			return 1;
	}
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	size_t n_blocks = (size_t)shmemh_n_pes(job) * EXPERTS;
	result_t result;
	params_t p;

	(void)argc, (void)argv;
	memset(&result, 0, sizeof(result));
	memset(&p, 0, sizeof(p));
	run_platform(result.platform, sizeof(result.platform));
	p.n_channels = shmemh_channels(job) > 0 ? (uint32_t)shmemh_channels(job) : 1;
	RUN_TRY(job, shmemh_calloc(job, 2 * MAX_TOKENS, ROW_NBYTES, (void **)&p.rows));
	RUN_TRY(job,
		shmemh_calloc(job, MAX_TOKENS * TOP_K, sizeof(*p.experts), (void **)&p.experts));
	RUN_TRY(job, shmemh_calloc(job, 2 * n_blocks * MAX_TOKENS, ROW_NBYTES, (void **)&p.in));
	RUN_TRY(job, shmemh_calloc(job, 2 * n_blocks, sizeof(*p.count), (void **)&p.count));
	RUN_TRY(job, shmemh_calloc(job, n_blocks * MAX_TOKENS, ROW_NBYTES, (void **)&p.out));
	RUN_TRY(job, shmemh_calloc(job, n_blocks, sizeof(*p.ranges), (void **)&p.ranges));
	RUN_TRY(job, shmemh_calloc(job, n_blocks, sizeof(*p.steps), (void **)&p.steps));
	RUN_TRY(job, shmemh_calloc(job, n_blocks, sizeof(*p.status), (void **)&p.status));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	if (run_steps(job, &p, &result) != 0 || count_requests(job, STEPS * EXPERTS, &result) != 0)
		return 1;
	RUN_TRY(job, run_device(shmemd_launch(finish, p.n_channels, 32, 0, NULL, p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, shmemh_error_get(job, NULL));
	if (report(job, &result) != 0)
		return 1;
	return run_print_channels(job);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
