/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Messages by RDMA between PE 0 and PE 1: puts per second, and round-trip times. The same source
 * runs on CPU and on GPUs. Also counts WQEBBs and doorbells of each operation.
 *
 * Each row runs REPEATS times, for about a fifth of a second each; the program ends by itself
 * within 20 seconds. At the end it checks the bytes of the puts and the sum of the adds.
 *
 * Shapes (one allocation each, on every PE)
 *     data    [MAX_THREADS][MAX_NBYTES]  bytes put; not read before the launch ends
 *     src     [MAX_THREADS][MAX_NBYTES]  source; one value
 *     signal  [1]  uint64, + 1 for each message of the ping-pong, set by the other PE
 *     sum     [1]  uint64, of PE 1: target of PE 0's adds
 *     rounds  [1]  uint64, own: ping-pongs of earlier launches
 *
 *     SHMEMH_DISABLE_P2P=1 shmem-launch -n 2 ./messages */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"

#define REPEATS 5
#define TARGET_US 200e3
#define FIRST_OPS 64
#define MAX_OPS (1 << 20)
#define MAX_THREADS 32
#define MAX_NBYTES 4096
#define LIMIT_NS 10000000000ull

enum op { PUT, PING_PONG, FETCH_ADD };

typedef struct params {
	shmemd_ctx_t ctx;
	uint8_t *data, *src;
	uint64_t *signal, *sum, *rounds;
	int *status;      /* first non-zero status of an operation */
	uint64_t n_ops;   /* operations of each thread */
	uint64_t n_added; /* sum that the host expects after all launches so far */
	uint32_t nbytes;
	int op;
} params_t;

typedef struct row {
	const char *name;
	uint32_t nbytes, n_threads;
	int op;
} row_t;

static const row_t rows[] = {
	{"put_nbi", 8, 1, PUT},
	{"put_nbi", 8, 32, PUT},
	{"put_nbi", 4096, 1, PUT},
	{"put_nbi", 4096, 32, PUT},
	{"put_signal, round trip", 8, 1, PING_PONG},
	{"put_signal, round trip", 4096, 1, PING_PONG},
	{"fetch_add", 8, 1, FETCH_ADD},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

SHMEMD_FN int put(const params_t *p)
{
	size_t at = (size_t)shmemd_thread_index() * MAX_NBYTES;
	uint64_t i;

	for (i = 0; i < p->n_ops; i++)
		shmemd_putmem_nbi(&p->ctx, p->data + at, p->src + at, p->nbytes, 1);
	return shmemd_quiet(&p->ctx);
}

SHMEMD_FN int ping_pong(const params_t *p)
{
	int other = 1 - shmemd_my_pe(&p->ctx), status = SHMEMD_OK;
	uint64_t base = *p->rounds, i;

	for (i = 1; i <= p->n_ops && status == SHMEMD_OK; i++) {
		if (other == 1)
			shmemd_putmem_signal(&p->ctx, p->data, p->src, p->nbytes, p->signal,
					     base + i, SHMEMD_SIGNAL_SET, other);
		status = shmemd_signal_wait_until_for(&p->ctx, p->signal, SHMEMD_CMP_GE, base + i,
						      LIMIT_NS);
		if (other == 0 && status == SHMEMD_OK)
			shmemd_putmem_signal(&p->ctx, p->data, p->src, p->nbytes, p->signal,
					     base + i, SHMEMD_SIGNAL_SET, other);
	}
	*p->rounds = base + p->n_ops;
	return status != SHMEMD_OK ? status : shmemd_quiet(&p->ctx);
}

SHMEMD_FN int fetch_add(const params_t *p)
{
	int status = SHMEMD_OK;
	uint64_t old, i;

	for (i = 0; i < p->n_ops && status == SHMEMD_OK; i++)
		status = shmemd_atomic_fetch_add_u64(&p->ctx, &old, p->sum, 1, 1);
	return status;
}

SHMEMD_KERNEL(measure, params_t, p)
{
	int status = SHMEMD_OK;

	if (p.op == PING_PONG)
		status = ping_pong(&p);
	else if (shmemd_my_pe(&p.ctx) == 0)
		status = p.op == PUT ? put(&p) : fetch_add(&p);
	if (status != SHMEMD_OK)
		*p.status = status;
}

/* One launch on all PEs; *us: time of PE 0. */
static int launch(shmemh_t *job, params_t *p, const row_t *row, uint64_t n_ops, double *us)
{
	double all[2], start;
	int status;

	p->n_ops = n_ops;
	p->op = row->op;
	p->nbytes = row->nbytes;
	RUN_TRY(job, shmemh_barrier(job));
	start = run_time_us();
	RUN_TRY(NULL, run_device(shmemd_launch(measure, 1, row->n_threads, 0, NULL, *p)));
	RUN_TRY(NULL, run_device(shmemd_stream_sync(NULL)));
	*us = run_time_us() - start;
	RUN_TRY(NULL, run_copy(&status, p->status, sizeof(status)));
	RUN_TRY(job, status);
	p->n_added += row->op == FETCH_ADD ? n_ops : 0;
	RUN_TRY(job, shmemh_allgather(job, us, all, sizeof(*us)));
	*us = all[0];
	return 0;
}

/* Sum the counters of this PE's channels to the other PE. */
static int count(shmemh_t *job, uint64_t *wqebbs, uint64_t *doorbells)
{
	int k;

	*wqebbs = *doorbells = 0;
	for (k = 0; k < shmemh_channels(job); k++) {
		shmemh_channel_counters_t c;

		memset(&c, 0, sizeof(c));
		c.size = sizeof(c);
		RUN_TRY(job, shmemh_channel_counters(job, 1 - shmemh_my_pe(job), k, &c));
		*wqebbs += c.posted;
		*doorbells += c.doorbells;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Choose a number of operations that takes TARGET_US, from a run that takes at least a tenth of it.
 */
static int choose(shmemh_t *job, params_t *p, const row_t *row, uint64_t *n_ops)
{
	double us = 0;

	for (*n_ops = FIRST_OPS; *n_ops < MAX_OPS; *n_ops *= 4) {
		if (launch(job, p, row, *n_ops, &us) != 0)
			return 1;
		if (us >= TARGET_US / 10)
			break;
	}
	*n_ops = (uint64_t)((double)*n_ops * TARGET_US / us) + 1;
	*n_ops = *n_ops < MAX_OPS ? *n_ops : MAX_OPS;
	return 0;
}

static void print(const row_t *row, const double *us, uint64_t n_ops, double wqebbs,
		  double doorbells)
{
	double median = us[REPEATS / 2] / (double)n_ops;

	printf("%-27s %5u B %3u threads %9.2f us (%.2f .. %.2f) %10.0f /s %6.2f WQEBBs "
	       "%6.3f doorbells\n",
	       row->name, row->nbytes, row->n_threads, median, us[0] / (double)n_ops,
	       us[REPEATS - 1] / (double)n_ops, 1e6 / median, wqebbs / (double)n_ops / REPEATS,
	       doorbells / (double)n_ops / REPEATS);
	fflush(stdout);
}

static int run_row(shmemh_t *job, params_t *p, const row_t *row)
{
	uint64_t n_ops, wqebbs[2], doorbells[2];
	double us[REPEATS];
	int i;

	if (choose(job, p, row, &n_ops) != 0 || count(job, &wqebbs[0], &doorbells[0]) != 0)
		return 1;
	for (i = 0; i < REPEATS; i++) {
		if (launch(job, p, row, n_ops, &us[i]) != 0)
			return 1;
	}
	if (count(job, &wqebbs[1], &doorbells[1]) != 0)
		return 1;
	qsort(us, REPEATS, sizeof(us[0]), compare);
	if (shmemh_my_pe(job) == 0)
		print(row, us, n_ops * row->n_threads, (double)(wqebbs[1] - wqebbs[0]),
		      (double)(doorbells[1] - doorbells[0]));
	return 0;
}

/* Check the bytes of the last row of puts, and the sum of the fetch-adds. */
static int check(shmemh_t *job, const params_t *p)
{
	static uint8_t got[MAX_THREADS * MAX_NBYTES];
	uint64_t sum, i;

	if (shmemh_my_pe(job) == 0)
		return 0;
	RUN_TRY(NULL, run_copy(got, p->data, sizeof(got)));
	RUN_TRY(NULL, run_copy(&sum, p->sum, sizeof(sum)));
	for (i = 0; i < sizeof(got) && got[i] == 0x5a; i++)
		;
	if (i == sizeof(got) && sum == p->n_added)
		return 0;
	fprintf(stderr, "messages: byte %llu is wrong, or the sum: %llu, not %llu\n",
		(unsigned long long)i, (unsigned long long)sum, (unsigned long long)p->n_added);
	return 1;
}

static int allocate(shmemh_t *job, params_t *p)
{
	static uint8_t src[MAX_THREADS * MAX_NBYTES];

	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p->ctx));
	RUN_TRY(job, shmemh_calloc(job, MAX_THREADS, MAX_NBYTES, (void **)&p->data));
	RUN_TRY(job, shmemh_calloc(job, MAX_THREADS, MAX_NBYTES, (void **)&p->src));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p->signal), (void **)&p->signal));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p->sum), (void **)&p->sum));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p->rounds), (void **)&p->rounds));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p->status), (void **)&p->status));
	memset(src, 0x5a, sizeof(src));
	RUN_TRY(NULL, run_copy(p->src, src, sizeof(src)));
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	params_t p;
	size_t i;

	(void)argc, (void)argv;
	memset(&p, 0, sizeof(p));
	if (shmemh_n_pes(job) != 2 || shmemh_channels(job) == 0) {
		fprintf(stderr, "messages: needs 2 PEs that reach each other by RDMA: "
				"SHMEMH_DISABLE_P2P=1 shmem-launch -n 2 ./messages\n");
		return 1;
	}
	if (allocate(job, &p) != 0)
		return 1;
	for (i = 0; i < N_ROWS; i++) {
		if (run_row(job, &p, &rows[i]) != 0)
			return 1;
	}
	RUN_TRY(job, shmemh_barrier(job));
	return check(job, &p);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
