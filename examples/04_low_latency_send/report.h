/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The checks of low_latency_send after each step, and its report. */
#ifndef EXAMPLES_REPORT_H
#define EXAMPLES_REPORT_H

#include <stdio.h>
#include <stdlib.h>
#include "run.h"
#include "workload.h"

typedef struct result {
	char platform[48];
	double us; /* microseconds of the fastest step */
	uint64_t doorbells;
	int sent, by_nic;
	tally_t tally;
} result_t;

/* Check the results of a step in this PE's memory. */
static int check_step(shmemh_t *job, const uint32_t *out, const uint64_t *ranges, uint64_t step,
		      result_t *result)
{
	int me = shmemh_my_pe(job), n = shmemh_n_pes(job);
	size_t n_blocks = (size_t)n * EXPERTS, nbytes = n_blocks * MAX_TOKENS * ROW_NBYTES;
	uint32_t *host_out = (uint32_t *)malloc(nbytes);
	uint64_t *host_ranges = (uint64_t *)malloc(n_blocks * sizeof(*ranges));

	if (host_out == NULL || host_ranges == NULL)
		return 1;
	RUN_TRY(job, run_copy(host_out, out, nbytes));
	RUN_TRY(job, run_copy(host_ranges, ranges, n_blocks * sizeof(*ranges)));
	check(host_out, host_ranges, me, n, step, &result->tally);
	free(host_out);
	free(host_ranges);
	return 0;
}

/* Every row and every count sent by RDMA is one request; each PE was sent n_numbers counts. */
static int count_requests(shmemh_t *job, uint64_t n_numbers, result_t *result)
{
	shmemh_channel_counters_t c;
	uint64_t requests;
	int pe, k;

	for (pe = 0; pe < shmemh_n_pes(job); pe++) {
		requests = 0;
		for (k = 0; k < shmemh_channels(job); k++) {
			c.size = sizeof(c);
			RUN_TRY(job, shmemh_channel_counters(job, pe, k, &c));
			requests += c.requests;
			result->doorbells += c.doorbells;
		}
		if (requests > 0)
			result->by_nic += (int)(requests - n_numbers);
	}
	return 0;
}

/* PE 0 prints the results of all PEs. Returns 0 if all checks of all PEs passed. */
static int report(shmemh_t *job, const result_t *result)
{
	int n = shmemh_n_pes(job), failed = 0, i;
	result_t *results = (result_t *)calloc((size_t)n, sizeof(*results));
	const result_t *r;

	if (results == NULL)
		return 1;
	RUN_TRY(job, shmemh_allgather(job, result, results, sizeof(*result)));
	if (shmemh_my_pe(job) == 0) {
		printf("low_latency_send: rows of %zu bytes to %d of %d experts, %d PEs, "
		       "%d steps\n",
		       ROW_NBYTES, TOP_K, n * EXPERTS, n, STEPS);
		printf("  PE  rows sent  by NIC  doorbells/row  us/step  rows and ranges right  "
		       "ran on\n");
	}
	for (i = 0; i < n; i++) {
		char each[16] = "-";

		r = &results[i];
		failed |= r->tally.passed != r->tally.checks;
		if (r->by_nic > 0)
			snprintf(each, sizeof(each), "%.2f", (double)r->doorbells / r->by_nic);
		if (shmemh_my_pe(job) == 0)
			printf("%4d  %9d  %6d  %13s  %7.1f  %9d of %8d  %s\n", i, r->sent,
			       r->by_nic, each, r->us, r->tally.passed, r->tally.checks,
			       r->platform);
	}
	if (shmemh_my_pe(job) == 0)
		printf("low_latency_send: %s\n", failed ? "WRONG VALUES" : "every value is right");
	free(results);
	return failed;
}

#endif
