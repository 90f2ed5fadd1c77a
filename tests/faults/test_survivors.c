/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A PE is killed while the others' kernels wait for it. The others make teams without it, and their
 * kernels work on these as on any other team. Run without a launcher: the program starts its PEs
 * itself. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mocka.h"
#include "pes.h"
#include "copies.h"

#define N_PES 4
#define GONE 1
#define N_RESULTS 5
#define SECONDS 60 /* limit of the job: the machine may be slow */

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *word; /* [N_PES] by p, of member */
	uint64_t *sum;  /* [1] */
	uint64_t *sig;  /* [1] */
	int *result;    /* [N_RESULTS] */
	uint64_t round; /* from 1 */
} params_t;

/* Ends because a member is gone. */
SHMEMD_KERNEL(wait_kernel, params_t, p)
{
	p.result[0] = shmemd_signal_wait_until(&p.ctx, p.sig, SHMEMD_CMP_NE, 0);
	p.result[1] = shmemd_barrier(&p.ctx);
}

/* All members write to all of them. */
SHMEMD_KERNEL(work_kernel, params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), pe;

	for (pe = 0; pe < n; pe++) {
		shmemd_p_u64(&p.ctx, p.word + me, p.round * 100 + (uint64_t)me, pe);
		shmemd_atomic_add_u64(&p.ctx, p.sum, (uint64_t)me + 1, pe);
	}
	p.result[0] = shmemd_barrier_for(&p.ctx, PES_LIMIT_NS);
	shmemd_signal_op(&p.ctx, p.sig, 1, SHMEMD_SIGNAL_ADD, (me + 1) % n);
	p.result[1] =
		shmemd_signal_wait_until_for(&p.ctx, p.sig, SHMEMD_CMP_GE, p.round, PES_LIMIT_NS);
	p.result[2] = shmemd_sync_for(&p.ctx, PES_LIMIT_NS);
	p.result[3] = shmemd_failed_pe(&p.ctx) + 1;
	p.result[4] = shmemd_quiet(&p.ctx);
}

/* Run a kernel and compare its results. Returns 0, or 1 after printing a line. */
static int check_results(shmemh_t *job, const params_t *p, const int *want, int n)
{
	int result[N_RESULTS], i;

	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, run_copy(result, p->result, sizeof(result)));
	for (i = 0; i < n && result[i] == want[i]; i++)
		;
	if (i == n)
		return 0;
	fprintf(stderr, "PE %d: result[%d] is %d, not %d\n", shmemh_my_pe(job), i, result[i],
		want[i]);
	return 1;
}

/* A team of these PEs works. sums: of all rounds so far on this PE. */
static int work(shmemh_t *job, params_t *p, const int *pes, int n, uint64_t *sums)
{
	static const int want[N_RESULTS] = {0, 0, 0, 0, 0};
	uint64_t word[N_PES], sum;
	shmemh_team_t team;
	int i;

	p->round++;
	RUN_TRY(job, shmemh_team_create(job, pes, n, &team));
	RUN_TRY(job, shmemh_ctx_get(job, team, &p->ctx));
	RUN_TRY(job, run_device(shmemd_launch(work_kernel, 1, 1, 0, NULL, *p)));
	if (check_results(job, p, want, N_RESULTS))
		return 1;
	RUN_TRY(job, run_copy(word, p->word, sizeof(word)));
	RUN_TRY(job, run_copy(&sum, p->sum, sizeof(sum)));
	*sums += (uint64_t)(n * (n + 1) / 2);
	for (i = 0; i < n; i++)
		if (word[i] != p->round * 100 + (uint64_t)i)
			return run_failed(NULL, "word", (int)word[i], __FILE__, __LINE__);
	if (sum != *sums)
		return run_failed(NULL, "sum", (int)sum, __FILE__, __LINE__);
	RUN_TRY(job, shmemh_team_barrier(job, team));
	RUN_TRY(job, shmemh_team_destroy(job, team));
	return 0;
}

/* What fails with a team that the dead PE belongs to, and names it. */
static int expect_gone(shmemh_t *job, int status, const char *call, int line)
{
	if (status == SHMEMH_ERR_PEER && strstr(shmemh_error_text(job), "PE 1") != NULL)
		return 0;
	return run_failed(job, call, status, __FILE__, line);
}

#define EXPECT_GONE(job, call)                                                                     \
	do {                                                                                       \
		if (expect_gone(job, call, #call, __LINE__))                                       \
			return 1;                                                                  \
	} while (0)

static int survive(shmemh_t *job, params_t *p, shmemh_team_t pair)
{
	static const int dead[] = {SHMEMD_ERR_PEER, SHMEMD_ERR_PEER}, others[] = {3, 0, 2};
	uint64_t sums = 0;
	shmemh_team_t team;

	RUN_TRY(job, run_device(shmemd_launch(wait_kernel, 1, 1, 0, NULL, *p)));
	if (check_results(job, p, dead, 2))
		return 1;
	RUN_TRY(job, shmemh_error_clear(job));
	EXPECT_GONE(job, shmemh_barrier(job));
	EXPECT_GONE(job, shmemh_team_barrier(job, SHMEMH_TEAM_WORLD));
	EXPECT_GONE(job, shmemh_team_split_strided(job, SHMEMH_TEAM_WORLD, 3, -1, 4, &team));
	if (pair != SHMEMH_TEAM_INVALID)
		RUN_TRY(job, shmemh_team_destroy(job, pair));
	if (work(job, p, others, 3, &sums) || work(job, p, others, 3, &sums))
		return 1;
	RUN_TRY(job, shmemh_team_split_strided(job, SHMEMH_TEAM_WORLD, 2, 1, 2, &team));
	if ((team != SHMEMH_TEAM_INVALID) != (shmemh_my_pe(job) >= 2))
		return run_failed(job, "split", team, __FILE__, __LINE__);
	return shmemh_finalize(job) != SHMEMH_ERR_PEER;
}

static int one_pe(void)
{
	shmemh_team_t pair = SHMEMH_TEAM_INVALID;
	shmemh_t *job;
	params_t p;

	if (run_pick_gpu() != 0 || run_join(NULL, &job) != SHMEMH_OK)
		return 1;
	memset(&p, 0, sizeof(p));
	RUN_TRY(job, shmemh_calloc(job, N_PES, sizeof(uint64_t), (void **)&p.word));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(uint64_t), (void **)&p.sum));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(uint64_t), (void **)&p.sig));
	RUN_TRY(job, shmemh_calloc(job, N_RESULTS, sizeof(int), (void **)&p.result));
	RUN_TRY(job, shmemh_team_split_strided(job, SHMEMH_TEAM_WORLD, 0, 1, 2, &pair));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	RUN_TRY(job, shmemh_barrier(job));
	if (shmemh_my_pe(job) == GONE) {
		usleep(100000); /* so that the other PEs are most likely in their kernels */
		raise(SIGKILL);
	}
	return survive(job, &p, pair);
}

static void survivors_go_on(void **state)
{
	copy_end_t ends[N_PES];
	int i, failed = 0;

	(void)state;
	assert_int_equal(copies_run("pe", N_PES, N_PES, SECONDS, ends), 0);
	for (i = 0; i < N_PES; i++)
		failed |= ends[i].is_late || ends[i].status != 0 ||
			  ends[i].signal != (i == GONE ? SIGKILL : 0);
	if (failed)
		copies_print(ends, N_PES);
	assert_false(failed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(survivors_go_on)};

	if (argc == 2 && strcmp(argv[1], "pe") == 0)
		return one_pe();
	setenv("SHMEMH_DEBUG", "off", 0); /* failures are printed with their text */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
