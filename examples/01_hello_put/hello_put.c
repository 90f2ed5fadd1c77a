/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A kernel of every PE writes into the next PE: inbox at PE (me + 1) % n = "hello from PE me".
 * Grid: one block of one warp, all of it calls put and barrier. `shmem-launch -n 2 ./hello_put`
 * prints
 *     PE 0 of 2 read: hello from PE 1
 *     PE 1 of 2 read: hello from PE 0
 */
#include <stdio.h>
#include "run.h"

#define NBYTES 32
#define LIMIT_NS 10000000000ull

/* snippet: kernel */
typedef struct params {
	shmemd_ctx_t ctx;
	char *inbox;  /* [NBYTES], symmetric; written by the PE before this one */
	char *outbox; /* [NBYTES] */
	int *status;  /* what the barrier returned */
} params_t;

SHMEMD_KERNEL(hello, params_t, p)
{
	int status, next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);

	shmemd_putmem_warp(&p.ctx, p.inbox, p.outbox, NBYTES, next);
	status = shmemd_barrier_for_warp(&p.ctx, LIMIT_NS);
	if (shmemd_thread_index() == 0)
		*p.status = status;
}
/* end */

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	char text[NBYTES] = "";
	params_t p;
	int status;

	(void)argc, (void)argv;
	/* snippet: host */
	RUN_TRY(job, shmemh_calloc(job, 1, NBYTES, (void **)&p.inbox));
	RUN_TRY(job, shmemh_calloc(job, 1, NBYTES, (void **)&p.outbox));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(int), (void **)&p.status));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	snprintf(text, sizeof(text), "hello from PE %d", shmemh_my_pe(job));
	RUN_TRY(job, run_copy(p.outbox, text, NBYTES));
	RUN_TRY(job, run_device(shmemd_launch(hello, 1, 32, 0, NULL, p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	/* end */
	RUN_TRY(job, run_copy(&status, p.status, sizeof(status)));
	RUN_TRY(job, status);
	RUN_TRY(job, run_copy(text, p.inbox, NBYTES));
	printf("PE %d of %d read: %s\n", shmemh_my_pe(job), shmemh_n_pes(job), text);
	return run_print_channels(job);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
