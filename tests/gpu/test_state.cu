/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* state.h: two units, each with its own copy of the context. Kernels without the context as a
 * parameter reach the other PEs; an upload in one unit does not affect the other. */
#include <stdio.h>
#include <shmem_dev/state.h>
#include "run.h"
#include "state_unit.h"

#define LIMIT_NS 20000000000ull

/* Send this PE's number + 1 to the next PE. */
static __global__ void send_number(uint32_t *word, int *status)
{
	const shmemd_ctx_t *ctx = shmemd_state();
	int me = shmemd_my_pe(ctx);

	shmemd_p_u32(ctx, word, (uint32_t)me + 1, (me + 1) % shmemd_n_pes(ctx));
	*status = shmemd_barrier_for(ctx, LIMIT_NS);
}

static int expect(const char *what, int got, int want)
{
	if (got != want)
		fprintf(stderr, "%s: %d instead of %d\n", what, got, want);
	return got != want;
}

static int look(shmemh_t *job, int *n_pes, const char *what, int want)
{
	int seen;

	RUN_TRY(job, run_device(state_unit_look(n_pes)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, run_copy(&seen, n_pes, sizeof(seen)));
	return expect(what, seen, want);
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	int n = shmemh_n_pes(job), me = shmemh_my_pe(job), seen;
	shmemd_ctx_t ctx;
	uint32_t *word;
	int *out;

	(void)argc, (void)argv;
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*word), (void **)&word));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*out), (void **)&out));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &ctx));
	RUN_TRY(job, run_device(shmemd_state_set(&ctx)));
	send_number<<<1, 1>>>(word, out);
	RUN_TRY(job, run_device(cudaGetLastError()));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, run_copy(&seen, out, sizeof(seen)));
	RUN_TRY(job, seen);
	RUN_TRY(job, run_copy(&seen, word, sizeof(seen)));
	if (expect("received from the previous PE", seen, (me + n - 1) % n + 1))
		return 1;
	if (look(job, out, "the other unit before its upload", 0))
		return 1;
	RUN_TRY(job, run_device(state_unit_set(&ctx)));
	return look(job, out, "the other unit after its upload", n);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
