/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* All-to-all fused with the work before and after it: every PE makes a row for every PE, sends it,
 * and works on the rows it receives.
 *
 *     row(from, to)[i]       =  from * 1000003 + to * 10007 + i * i + epoch        (mod 2^32)
 *     out[from][i] at PE me  =  3 * row(from, me)[i] + 1
 *
 * Two variants, same data, same check:
 *     host    two launches with host work between: make all rows; the host copies each row to its
 *             target and makes a barrier; work on all rows. Only if all PEs are mapped
 *     fused   one kernel: block b makes a row and sends it while the other blocks make theirs, then
 *             works on the row that it receives
 *
 * Shapes (one allocation each, on every PE; N = ROW_NELEMS, n PEs)
 *     rows  [to pe][N]             uint32, N fastest: rows to send
 *     in    [epoch % 2][from pe][N] uint32: rows received
 *     sig   [from pe]              uint64
 *     done  [block]                uint64: epochs that this block has finished
 *     out   [from pe][N]           uint32
 *
 * Who signals whom
 *     word      writer            value   reader                    reset
 *     sig[pe]   PE pe (put_signal) epoch  block (me - 1 - pe) % n   never: done[block] + 1 is next
 *     in[e % 2] may be overwritten in epoch e + 2: a PE that sends then has received, in epoch
 *     e + 1, the signal of its target, which had finished epoch e before. So two buffers need no
 *     credits. Epochs are in device memory, so a kernel launched again, also in a replayed CUDA
 *     graph, continues with the next epoch.
 *
 * Grid: n blocks of THREADS threads; block b sends to PE me + 1 + b, then receives from PE
 * me - 1 - b. It sends before it waits, and waits for the block of its own number on that PE. So
 * blocks need not run at the same time, if GPUs start them in the order of their numbers.
 * Leaves out: rows of different length.
 *
 *     shmem-launch -n 4 ./alltoall */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"

#define ROW_NELEMS 4096
#define ROW_NBYTES (ROW_NELEMS * sizeof(uint32_t))
#define THREADS 128
#define EPOCHS 4
#define LIMIT_NS 20000000000ull

typedef struct params {
	shmemd_ctx_t ctx;
	uint32_t *rows; /* [to pe][ROW_NELEMS] */
	uint32_t *in;   /* [epoch % 2][from pe][ROW_NELEMS] */
	uint64_t *sig;  /* [from pe] */
	uint64_t *done; /* [block] */
	uint32_t *out;  /* [from pe][ROW_NELEMS] */
	int *status;    /* [block] */
	uint64_t epoch; /* used by the host variant; the fused variant counts in done */
} params_t;

/* One element of a row: a macro, for host and device. */
#define ELEMENT(from, to, i, epoch)                                                                \
	((uint32_t)(from)*1000003u + (uint32_t)(to)*10007u + (i) * (i) + (uint32_t)(epoch))

SHMEMD_FN uint32_t *row_in(const params_t *p, uint64_t epoch, int from)
{
	size_t slot = (size_t)(epoch % 2) * (size_t)shmemd_n_pes(&p->ctx) + (size_t)from;

	return p->in + slot * ROW_NELEMS;
}

/* The threads of a block make the row for PE to. */
SHMEMD_FN void make_row(const params_t *p, int to, uint64_t epoch)
{
	uint32_t *row = p->rows + (size_t)to * ROW_NELEMS;
	uint32_t i;

	for (i = shmemd_thread_index(); i < ROW_NELEMS; i += shmemd_n_threads())
		row[i] = ELEMENT(shmemd_my_pe(&p->ctx), to, i, epoch);
	shmemd_group_sync(shmemd_block());
}

#define RESULT(element) (3u * (element) + 1u)

/* The threads of a block work on the row from PE from. */
SHMEMD_FN void take_row(const params_t *p, int from, uint64_t epoch)
{
	const uint32_t *row = row_in(p, epoch, from);
	uint32_t *out = p->out + (size_t)from * ROW_NELEMS;
	uint32_t i;

	for (i = shmemd_thread_index(); i < ROW_NELEMS; i += shmemd_n_threads())
		out[i] = RESULT(row[i]);
}

SHMEMD_FN void send_role(const params_t *p, uint64_t epoch)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx);
	int to = (me + 1 + (int)shmemd_block_index()) % n;

	make_row(p, to, epoch);
	shmemd_putmem_signal_block(&p->ctx, row_in(p, epoch, me), p->rows + (size_t)to * ROW_NELEMS,
				   ROW_NBYTES, p->sig + me, epoch, SHMEMD_SIGNAL_SET, to);
}

SHMEMD_FN int recv_role(const params_t *p, uint64_t epoch)
{
	int me = shmemd_my_pe(&p->ctx), n = shmemd_n_pes(&p->ctx);
	int from = (me + n - 1 - (int)shmemd_block_index()) % n;
	int status = shmemd_signal_wait_until_for_block(&p->ctx, p->sig + from, SHMEMD_CMP_GE,
							epoch, LIMIT_NS);

	if (status == SHMEMD_OK)
		take_row(p, from, epoch);
	return status;
}

SHMEMD_KERNEL(fused, params_t, p)
{
	uint32_t block = shmemd_block_index();
	uint64_t epoch = p.done[block] + 1;
	int status;

	send_role(&p, epoch);
	status = recv_role(&p, epoch);
	shmemd_group_sync(shmemd_block()); /* all threads have read done */
	if (shmemd_thread_index() == 0) {
		p.status[block] = status;
		p.done[block] = epoch;
	}
}

SHMEMD_KERNEL(make, params_t, p)
{
	make_row(&p, (int)shmemd_block_index(), p.epoch);
}

SHMEMD_KERNEL(take, params_t, p)
{
	take_row(&p, (int)shmemd_block_index(), p.epoch);
}

static int launch_fused(shmemh_t *job, params_t *p)
{
	uint32_t n = (uint32_t)shmemh_n_pes(job), i;
	int status;

	RUN_TRY(job, run_device(shmemd_launch(fused, n, THREADS, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	for (i = 0; i < n; i++) {
		RUN_TRY(job, run_copy(&status, p->status + i, sizeof(status)));
		RUN_TRY(job, status);
	}
	return 0;
}

static int launch_host(shmemh_t *job, params_t *p)
{
	int me = shmemh_my_pe(job), n = shmemh_n_pes(job), pe;
	size_t slot = ((size_t)(p->epoch % 2) * (size_t)n + (size_t)me) * ROW_NELEMS;

	RUN_TRY(job, run_device(shmemd_launch(make, (uint32_t)n, THREADS, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	for (pe = 0; pe < n; pe++) {
		RUN_TRY(job, run_copy(shmemh_ptr(job, p->in + slot, pe),
				      p->rows + (size_t)pe * ROW_NELEMS, ROW_NBYTES));
	}
	RUN_TRY(job, shmemh_barrier(job));
	RUN_TRY(job, run_device(shmemd_launch(take, (uint32_t)n, THREADS, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	return 0;
}

typedef struct way {
	int (*launch)(shmemh_t *job, params_t *p);
	double us; /* microseconds of the fastest epoch */
	int checks, passed;
} way_t;

/* Count the elements of out that the formula gives. */
static int count_right(const uint32_t *out, int me, int n, uint64_t epoch)
{
	int right = 0, from;
	uint32_t i;

	for (from = 0; from < n; from++) {
		for (i = 0; i < ROW_NELEMS; i++)
			right += *out++ == RESULT(ELEMENT(from, me, i, epoch));
	}
	return right;
}

/* EPOCHS launches of one variant, each checked. */
static int run_way(shmemh_t *job, params_t *p, way_t *way)
{
	int n = shmemh_n_pes(job);
	uint32_t *out = (uint32_t *)calloc((size_t)n, ROW_NBYTES);
	double start, us;

	if (out == NULL)
		return 1;
	for (p->epoch = 1; p->epoch <= EPOCHS; p->epoch++) {
		/* clear the values of the last epoch */
		RUN_TRY(job, run_copy(p->out, out, (size_t)n * ROW_NBYTES));
		RUN_TRY(job, shmemh_barrier(job));
		start = run_time_us();
		RUN_TRY(job, way->launch(job, p));
		us = run_time_us() - start;
		way->us = p->epoch == 1 || us < way->us ? us : way->us;
		RUN_TRY(job, run_copy(out, p->out, (size_t)n * ROW_NBYTES));
		way->checks += n * ROW_NELEMS;
		way->passed += count_right(out, shmemh_my_pe(job), n, p->epoch);
		memset(out, 0, (size_t)n * ROW_NBYTES);
	}
	free(out);
	return 0;
}

typedef struct result {
	char platform[48], host_us[16];
	double us;
	int checks, passed;
} result_t;

/* PE 0 prints the results of all PEs. Returns 0 if all checks of all PEs passed. */
static int report(shmemh_t *job, const result_t *result)
{
	int n = shmemh_n_pes(job), failed = 0, i;
	result_t *results = (result_t *)calloc((size_t)n, sizeof(*results));

	if (results == NULL)
		return 1;
	RUN_TRY(job, shmemh_allgather(job, result, results, sizeof(*result)));
	if (shmemh_my_pe(job) == 0) {
		printf("alltoall: rows of %zu bytes, each of %d PEs to each, %d epochs\n",
		       ROW_NBYTES, n, EPOCHS);
		printf("  PE  rows from  host us  fused us    elements right  ran on\n");
	}
	for (i = 0; i < n; i++) {
		failed |= results[i].passed != results[i].checks;
		if (shmemh_my_pe(job) == 0)
			printf("%4d     0 .. %d  %7s  %8.1f  %6d of %6d  %s\n", i, n - 1,
			       results[i].host_us, results[i].us, results[i].passed,
			       results[i].checks, results[i].platform);
	}
	if (shmemh_my_pe(job) == 0)
		printf("alltoall: %s\n", failed ? "WRONG VALUES" : "every value is right");
	free(results);
	return failed;
}

/* Returns whether every PE has the memory of all other PEs mapped. */
static int all_mapped(shmemh_t *job, const void *ptr)
{
	int n = shmemh_n_pes(job), mine = 1, all = 1, pe;
	int *each = (int *)calloc((size_t)n, sizeof(*each));

	for (pe = 0; pe < n; pe++)
		mine &= shmemh_ptr(job, ptr, pe) != NULL;
	if (each == NULL || shmemh_allgather(job, &mine, each, sizeof(mine)) != SHMEMH_OK)
		all = 0;
	for (pe = 0; all && pe < n; pe++)
		all &= each[pe];
	free(each);
	return all;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	size_t n = (size_t)shmemh_n_pes(job);
	way_t host = {launch_host, 0, 0, 0}, fused = {launch_fused, 0, 0, 0};
	result_t result;
	params_t p;

	(void)argc, (void)argv;
	memset(&result, 0, sizeof(result));
	run_platform(result.platform, sizeof(result.platform));
	RUN_TRY(job, shmemh_calloc(job, n, ROW_NBYTES, (void **)&p.rows));
	RUN_TRY(job, shmemh_calloc(job, 2 * n, ROW_NBYTES, (void **)&p.in));
	RUN_TRY(job, shmemh_calloc(job, n, sizeof(*p.sig), (void **)&p.sig));
	RUN_TRY(job, shmemh_calloc(job, n, sizeof(*p.done), (void **)&p.done));
	RUN_TRY(job, shmemh_calloc(job, n, ROW_NBYTES, (void **)&p.out));
	RUN_TRY(job, shmemh_calloc(job, n, sizeof(*p.status), (void **)&p.status));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	snprintf(result.host_us, sizeof(result.host_us), "-");
	if (all_mapped(job, p.in)) {
		RUN_TRY(job, run_way(job, &p, &host));
		snprintf(result.host_us, sizeof(result.host_us), "%.1f", host.us);
	}
	RUN_TRY(job, run_way(job, &p, &fused));
	result.us = fused.us;
	result.checks = host.checks + fused.checks;
	result.passed = host.passed + fused.passed;
	if (report(job, &result) != 0)
		return 1;
	return run_print_channels(job);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
