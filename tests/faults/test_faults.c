/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* PEs that never join, are killed, or leave while the others' kernels wait without a limit. Run
 * without a launcher: the program starts its PEs itself. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mocka.h"
#include "pes.h"
#include "scopes.h"
#include "copies.h"

#define N_PES 4
#define GONE (N_PES - 1)
#define N_RESULTS 9

#define SECONDS 60 /* limit of the job: the machine may be slow */

/* The deadline of host collectives in tests that let it expire. With GPUs it takes seconds until a
 * PE joins. */
#ifdef __CUDACC__
#define DEADLINE "20s"
#else
#define DEADLINE "1s"
#endif

typedef struct wait_params {
	shmemd_ctx_t ctx;
	uint64_t *sig; /* [1] no PE sets it before it is set to 9 */
	int *result;   /* [N_RESULTS] */
	int scope;
} wait_params_t;

/* Waits without a limit, in one scope after the other: each ends because a PE is gone. */
SHMEMD_KERNEL(wait_kernel, wait_params_t, p)
{
	int status;

	if (!scope_has(p.scope))
		return;
	SCOPED_INT(status, p.scope, shmemd_signal_wait_until, &p.ctx, p.sig, SHMEMD_CMP_NE, 0);
	if (scope_group(p.scope).rank != 0)
		return;
	p.result[0] = status;
	p.result[1] = shmemd_signal_wait_until_for(&p.ctx, p.sig, SHMEMD_CMP_NE, 0, PES_LIMIT_NS);
	p.result[2] = shmemd_wait_until_u64(&p.ctx, p.sig, SHMEMD_CMP_NE, 0);
	p.result[3] = shmemd_signal_wait_until_from(&p.ctx, p.sig, SHMEMD_CMP_NE, 0, GONE);
	p.result[4] = shmemd_sync(&p.ctx);
	p.result[5] = shmemd_barrier(&p.ctx);
	p.result[6] = shmemd_failed_pe(&p.ctx);
	p.result[7] = shmemd_failed_cause(&p.ctx);
}

/* A wait for a living PE (here: this one) continues although another PE is gone. */
SHMEMD_KERNEL(from_kernel, wait_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), i;

	if (shmemd_block_index() == 0) {
		p.result[8] = shmemd_signal_wait_until_from(&p.ctx, p.sig, SHMEMD_CMP_EQ, 9, me);
		return;
	}
	for (i = 0; i < 1000; i++)
		shmemd_test_u64(&p.ctx, p.sig, SHMEMD_CMP_EQ, 1);
	shmemd_signal_op(&p.ctx, p.sig, 9, SHMEMD_SIGNAL_SET, me);
}

/* Run a survivor's kernels and check their results. Returns 0, or 1 after printing a line. */
static int survive(shmemh_t *job, wait_params_t *p, int cause)
{
	const int want[N_RESULTS] = {SHMEMD_ERR_PEER,
				     SHMEMD_ERR_PEER,
				     SHMEMD_ERR_PEER,
				     SHMEMD_ERR_PEER,
				     SHMEMD_ERR_PEER,
				     SHMEMD_ERR_PEER,
				     GONE,
				     cause,
				     SHMEMD_OK};
	int result[N_RESULTS], i, failed = 0;
	shmemd_error_t err;

	RUN_TRY(job, run_device(shmemd_launch(wait_kernel, 1, SCOPE_NTHREADS, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, run_device(shmemd_launch(from_kernel, 2, 1, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, run_copy(result, p->result, sizeof(result)));
	for (i = 0; i < N_RESULTS; i++) {
		if (result[i] != want[i]) {
			fprintf(stderr, "result[%d] is %d, not %d\n", i, result[i], want[i]);
			failed = 1;
		}
	}
	if (shmemh_error_get(job, &err) != SHMEMD_ERR_PEER || err.pe != GONE ||
	    shmemh_pe_cause(job, GONE) != cause) {
		fprintf(stderr, "record: status %u, PE %d; cause %d\n", err.status, err.pe,
			shmemh_pe_cause(job, GONE));
		failed = 1;
	}
	return failed;
}

/* After a death the host's collectives return an error at once, free works locally, and finalize
 * waits for no PE. */
static int go_home(shmemh_t *job, wait_params_t *p, int cause)
{
	char name[8];
	int status;

	if (cause == SHMEMD_CAUSE_LEFT)
		/* the collective that the leaving PE abandoned: it times out on all PEs */
		shmemh_barrier(job);
	status = shmemh_barrier(job);
	snprintf(name, sizeof(name), "PE %d", GONE);
	if (status != SHMEMH_ERR_PEER || strstr(shmemh_error_text(job), name) == NULL)
		return run_failed(job, "shmemh_barrier", status, __FILE__, __LINE__);
	status = shmemh_free(job, p->sig);
	if (status != SHMEMH_ERR_PEER)
		return run_failed(job, "shmemh_free", status, __FILE__, __LINE__);
	status = shmemh_finalize(job);
	if (status != SHMEMH_ERR_PEER)
		return run_failed(NULL, "shmemh_finalize", status, __FILE__, __LINE__);
	return 0;
}

/* One PE of killed_during_wait and left_during_wait. */
static int waiting_pe(int cause)
{
	wait_params_t p;
	shmemh_t *job;

	if (run_pick_gpu() != 0 || run_join(NULL, &job) != SHMEMH_OK)
		return 1;
	memset(&p, 0, sizeof(p));
	p.scope = shmemh_my_pe(job) % SCOPE_COUNT;
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p.sig), (void **)&p.sig));
	RUN_TRY(job, shmemh_calloc(job, N_RESULTS, sizeof(int), (void **)&p.result));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	RUN_TRY(job, shmemh_barrier(job));
	if (shmemh_my_pe(job) == GONE) {
		usleep(100000); /* so that the other PEs are most likely in their kernels */
		if (cause == SHMEMD_CAUSE_DIED)
			raise(SIGKILL);
		return shmemh_finalize(job) != SHMEMH_ERR_TIMEOUT;
	}
	return survive(job, &p, cause) || go_home(job, &p, cause);
}

/* One PE of missing_pe: init ends with the deadline, and its line names the PE that did not join.
 */
static int early_pe(void)
{
	shmemh_t *job;
	int status;

	if (run_pick_gpu() != 0)
		return 1;
	status = shmemh_init(NULL, &job);
	fprintf(stderr, "%s\n", shmemh_error_text(NULL));
	return status != SHMEMH_ERR_TIMEOUT || job != NULL ||
	       strstr(shmemh_error_text(NULL), "2") == NULL;
}

/* Check the ends of the PEs: exit status 0, but PE killed (or none: -1) by SIGKILL. */
static void check_ends(const copy_end_t *ends, int n, int killed)
{
	int i, failed = 0;

	for (i = 0; i < n; i++)
		failed |= ends[i].is_late || ends[i].status != 0 ||
			  ends[i].signal != (i == killed ? SIGKILL : 0);
	if (failed)
		copies_print(ends, n);
	assert_false(failed);
}

static void missing_pe(void **state)
{
	copy_end_t ends[2];

	(void)state;
	setenv("SHMEMH_BOOT_TIMEOUT", DEADLINE, 1);
	assert_int_equal(copies_run("early", 3, 2, SECONDS, ends), 0);
	unsetenv("SHMEMH_BOOT_TIMEOUT");
	check_ends(ends, 2, -1);
}

static void killed_during_wait(void **state)
{
	copy_end_t ends[N_PES];

	(void)state;
	assert_int_equal(copies_run("killed", N_PES, N_PES, SECONDS, ends), 0);
	check_ends(ends, N_PES, GONE);
}

static void left_during_wait(void **state)
{
	copy_end_t ends[N_PES];

	(void)state;
	setenv("SHMEMH_BOOT_TIMEOUT", DEADLINE, 1); /* finalize waits so long for the others */
	assert_int_equal(copies_run("left", N_PES, N_PES, SECONDS, ends), 0);
	unsetenv("SHMEMH_BOOT_TIMEOUT");
	check_ends(ends, N_PES, -1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_pe),
		cmocka_unit_test(killed_during_wait),
		cmocka_unit_test(left_during_wait),
	};

	if (argc == 2 && strcmp(argv[1], "early") == 0)
		return early_pe();
	if (argc == 2 && strcmp(argv[1], "killed") == 0)
		return waiting_pe(SHMEMD_CAUSE_DIED);
	if (argc == 2 && strcmp(argv[1], "left") == 0)
		return waiting_pe(SHMEMD_CAUSE_LEFT);
	setenv("SHMEMH_DEBUG", "off", 0); /* failures are printed with their text */
	if (argc == 2)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
