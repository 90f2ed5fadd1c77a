/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A token passes through all PEs, LAPS times; each PE adds its number + 1 and sends the token on.
 *
 *     token after lap l at PE me  =  l * n (n + 1) / 2  +  (me + 1)(me + 2) / 2,   n PEs, l = 0 ..
 *
 * Shapes (one allocation each, on every PE)
 *     token   [1]     uint64, written by the previous PE
 *     signal  [1]     uint64, written by the previous PE
 *     laps    [1]     uint64, laps that this PE's kernels have completed; written by itself
 *     heard   [LAPS]  uint64, the values that this PE received, for the host
 *
 * Who signals whom
 *     word    writer            value         reader   reset
 *     signal  PE (me - 1) % n   + 1 a lap     PE me    never: laps determines the next value
 *     A kernel cannot count from the signal's value at its start: the previous PE may already have
 *     sent. A kernel launched again, also in a replayed CUDA graph, continues from laps.
 *     A token may be overwritten once its reader has sent it on: the next token reaches its writer
 *     only after it has passed through the reader.
 *
 * Grid: one block of one thread. PE 0 starts each lap, and the lap ends when the token is back at
 * PE 0. Leaves out: a payload larger than one word (03_alltoall has one).
 *
 *     shmem-launch -n 4 ./ring_signal */
#include <stdio.h>
#include <stdlib.h>
#include "run.h"

#define LAPS 10
#define LAUNCHES 2
#define LIMIT_NS 20000000000ull

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *token;
	uint64_t *signal;
	uint64_t *outbox; /* [1] source of the put */
	uint64_t *laps;
	uint64_t *heard; /* [LAPS] */
	int *status;     /* first non-zero status of a wait */
} params_t;

/* Add this PE's number + 1 to value and send it to the next PE. */
SHMEMD_FN void send_on(const params_t *p, uint64_t value)
{
	int me = shmemd_my_pe(&p->ctx);
	int next = (me + 1) % shmemd_n_pes(&p->ctx);

	*p->outbox = value + (uint64_t)me + 1;
	shmemd_putmem_signal(&p->ctx, p->token, p->outbox, sizeof(*p->token), p->signal, 1,
			     SHMEMD_SIGNAL_ADD, next);
}

SHMEMD_KERNEL(ring, params_t, p)
{
	uint64_t base = *p.laps;
	int starts = shmemd_my_pe(&p.ctx) == 0;
	int status, lap;

	for (lap = 0; lap < LAPS; lap++) {
		if (starts)
			send_on(&p, lap == 0 ? 0 : *p.token);
		status = shmemd_signal_wait_until_for(&p.ctx, p.signal, SHMEMD_CMP_GE,
						      base + (uint64_t)lap + 1, LIMIT_NS);
		if (status != SHMEMD_OK) {
			*p.status = status;
			return;
		}
		p.heard[lap] = *p.token;
		if (!starts)
			send_on(&p, *p.token);
	}
	*p.laps = base + LAPS;
}

/* The value that PE me receives in a lap, from the formula. */
static uint64_t expected(int lap, int me, int n)
{
	/* number of PEs that have added in this lap before me receives it */
	int before = me == 0 ? n : me;

	return (uint64_t)lap * (uint64_t)(n * (n + 1) / 2) + (uint64_t)(before * (before + 1) / 2);
}

typedef struct result {
	char platform[48];
	uint64_t last;
	double us; /* microseconds of a lap, including the launch */
	int from, checks, passed;
} result_t;

/* One launch: LAPS laps, checked. */
static int laps(shmemh_t *job, params_t *p, result_t *result)
{
	int me = shmemh_my_pe(job), n = shmemh_n_pes(job);
	uint64_t heard[LAPS];
	double start;
	int status, lap;

	RUN_TRY(job, shmemh_barrier(job));
	start = run_time_us();
	RUN_TRY(job, run_device(shmemd_launch(ring, 1, 1, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	result->us = (run_time_us() - start) / LAPS;
	RUN_TRY(job, run_copy(&status, p->status, sizeof(status)));
	RUN_TRY(job, status);
	RUN_TRY(job, run_copy(heard, p->heard, sizeof(heard)));
	for (lap = 0; lap < LAPS; lap++) {
		result->checks++;
		result->passed += heard[lap] == expected(lap, me, n);
	}
	result->last = heard[LAPS - 1];
	return 0;
}

/* PE 0 prints the results of all PEs. Returns 0 if all checks of all PEs passed. */
static int report(shmemh_t *job, const result_t *result)
{
	int n = shmemh_n_pes(job), failed = 0, i;
	result_t *results = (result_t *)calloc((size_t)n, sizeof(*results));

	if (results == NULL)
		return 1;
	RUN_TRY(job, shmemh_allgather(job, result, results, sizeof(*result)));
	if (shmemh_my_pe(job) == 0) {
		printf("ring_signal: a token, %d laps over %d PEs, launched %d times\n", LAPS, n,
		       LAUNCHES);
		printf("  PE  heard from  last value  us/lap  checks   ran on\n");
	}
	for (i = 0; i < n; i++) {
		failed |= results[i].passed != results[i].checks;
		if (shmemh_my_pe(job) == 0)
			printf("%4d  %10d  %10llu  %6.1f  %2d of %2d  %s\n", i, results[i].from,
			       (unsigned long long)results[i].last, results[i].us,
			       results[i].passed, results[i].checks, results[i].platform);
	}
	if (shmemh_my_pe(job) == 0)
		printf("ring_signal: %s\n", failed ? "WRONG VALUES" : "every value is right");
	free(results);
	return failed;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	int n = shmemh_n_pes(job), launch;
	result_t result = {"", 0, 0, 0, 0, 0};
	params_t p;

	(void)argc, (void)argv;
	run_platform(result.platform, sizeof(result.platform));
	result.from = (shmemh_my_pe(job) + n - 1) % n;
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p.token), (void **)&p.token));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p.signal), (void **)&p.signal));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p.outbox), (void **)&p.outbox));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p.laps), (void **)&p.laps));
	RUN_TRY(job, shmemh_calloc(job, LAPS, sizeof(*p.heard), (void **)&p.heard));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p.status), (void **)&p.status));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	for (launch = 0; launch < LAUNCHES; launch++) {
		if (laps(job, &p, &result) != 0)
			return 1;
	}
	if (report(job, &result) != 0)
		return 1;
	return run_print_channels(job);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
