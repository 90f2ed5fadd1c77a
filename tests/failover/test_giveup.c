/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A PE loses both its ports for good, and the others send to it. When SHMEMH_FT_GIVEUP has passed,
 * every wait for it ends, and so does each of its own, with SHMEMD_ERR_PEER and a cause that says
 * that the PE may be alive; the other PEs go on with each other. The waits are for a signal that
 * nobody sends: only the end of the channels can end them. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <mlx5sw.h>
#include "pes.h"

#define LOST 0 /* the PE without ports */
#define N_RESULTS 8

typedef struct giveup_params {
	shmemd_ctx_t ctx;
	uint64_t *silent; /* signal that nobody sends */
	uint64_t *sent;   /* signal that the other PEs send */
	uint64_t *results;
	int *status;
} giveup_params_t;

/* Each wait without a limit, since a limit would end it too. */
SHMEMD_KERNEL(giveup_kernel, giveup_params_t, p)
{
	const shmemd_ctx_t *ctx = &p.ctx;
	int me = shmemd_my_pe(ctx), n = shmemd_n_pes(ctx);
	int peer = me == LOST ? 1 : LOST, next = me + 1 < n ? me + 1 : 1;

	if (me != LOST)
		shmemd_signal_op(ctx, p.sent, 1, SHMEMD_SIGNAL_ADD, LOST);
	p.results[0] =
		(uint64_t)shmemd_signal_wait_until_from(ctx, p.silent, SHMEMD_CMP_GE, 1, peer);
	p.results[1] = (uint64_t)shmemd_signal_wait_until(ctx, p.silent, SHMEMD_CMP_GE, 1);
	p.results[2] = (uint64_t)shmemd_sync(ctx);
	p.results[3] = shmemd_failed_cause(ctx);
	p.results[4] = (uint64_t)(int64_t)shmemd_failed_pe(ctx);
	/* PEs whose ports are up still reach each other: 1 -> 2 -> 3 -> 1. */
	if (me == LOST || n < 3)
		return;
	shmemd_signal_op(ctx, p.sent, 1, SHMEMD_SIGNAL_ADD, next);
	p.results[5] = (uint64_t)shmemd_signal_wait_until_from(ctx, p.sent, SHMEMD_CMP_GE, 1,
							       me > 1 ? me - 1 : n - 1);
}

static int set_ports(const char *how)
{
	char line[64], answer[256];
	int failed = 0;

	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof line, "port %s mlx5_%d", how, i);
		failed |= mlx5sw_control(line, answer, sizeof answer) != 0;
	}
	return failed;
}

/* Waits end first, then the device is ordered to end the channels one after another. */
static int check_channels(pes_t *pes, int peer)
{
	const struct timespec ms = {0, 1000000};

	for (int k = 0; k < shmemh_channels(pes->job); k++) {
		shmemh_fault_info_t info;

		info.size = sizeof info;
		PES_TRY(pes, shmemh_fault_get(pes->job, peer, k, &info));
		while (info.state != SHMEMH_FAULT_ENDED) {
			nanosleep(&ms, NULL);
			PES_TRY(pes, shmemh_fault_get(pes->job, peer, k, &info));
		}
		PES_EQ(pes, info.status, SHMEMD_ERR_PEER);
		PES_EQ(pes, info.cause, SHMEMH_FAULT_BY_GIVEUP);
	}
	return 0;
}

static int waits_end(pes_t *pes)
{
	giveup_params_t p;
	const uint64_t *results;

	if (shmemh_fault_policy(pes->job, NULL, 0) != SHMEMH_FAULT_EXACT)
		return pes_skip(pes, "needs SHMEMH_FT=exact");
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.silent, uint64_t, 1, 0);
	PES_ALLOC(pes, p.sent, uint64_t, 1, 0);
	PES_ALLOC(pes, p.results, uint64_t, N_RESULTS, 0);
	if (pes->pe == LOST)
		PES_EQ(pes, set_ports("down"), 0);
	/* Only requests without an answer show that a path is lost: they are posted after that. */
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, giveup_kernel, 1, 1, p);
	results = (const uint64_t *)pes_read(pes, p.results, N_RESULTS * sizeof(uint64_t));
	if (!results)
		return 1;
	for (int i = 0; i < 3; i++)
		PES_EQ(pes, results[i], SHMEMD_ERR_PEER);
	PES_EQ(pes, results[3], SHMEMD_CAUSE_NO_PATH);
	if (pes->pe != LOST)
		PES_EQ(pes, results[4], LOST);
	PES_EQ(pes, results[5], SHMEMD_OK);
	/* All channels have ended at both ends; the host of that PE is still in the job. */
	PES_EQ(pes, shmemh_pe_cause(pes->job, LOST), SHMEMD_CAUSE_NONE);
	return pes->pe == LOST ? check_channels(pes, 1) : check_channels(pes, LOST);
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(waits_end)};

	setenv("SHMEMH_FT_GIVEUP", "2s", 0);
	setenv("SHMEMH_IB_RETRIES", "1", 0);
	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
