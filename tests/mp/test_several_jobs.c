/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Several jobs one after another in the same processes, of the same size and of other sizes; a
 * failed init between them has no effect on later ones. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

typedef struct again_params {
	shmemd_ctx_t ctx;
	uint64_t *word; /* [1] written by the previous PE */
	int *status;
} again_params_t;

SHMEMD_KERNEL(again_kernel, again_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx);

	shmemd_p_u64(&p.ctx, p.word, 1000 + (uint64_t)me, (me + 1) % n);
	scope_report(p.status, 0, shmemd_barrier_for(&p.ctx, PES_LIMIT_NS));
}

/* Use the job: memory, a kernel, the host barrier. */
static int use_job(pes_t *pes, shmemh_t *job, int pe, int n_pes)
{
	again_params_t p;
	uint64_t word;
	int status;

	PES_EQ(pes, shmemh_my_pe(job), pe);
	PES_EQ(pes, shmemh_n_pes(job), n_pes);
	PES_TRY(pes, shmemh_calloc(job, 1, sizeof(*p.word), (void **)&p.word));
	PES_TRY(pes, shmemh_calloc(job, 1, sizeof(int), (void **)&p.status));
	PES_TRY(pes, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	PES_TRY(pes, run_device(shmemd_launch(again_kernel, 1, 1, 0, NULL, p)));
	PES_TRY(pes, run_device(shmemd_stream_sync(NULL)));
	PES_TRY(pes, run_copy(&status, p.status, sizeof(status)));
	PES_TRY(pes, run_copy(&word, p.word, sizeof(word)));
	PES_EQ(pes, status, 0);
	PES_EQ(pes, word, 1000 + (pe + n_pes - 1) % n_pes);
	PES_TRY(pes, shmemh_free(job, p.word));
	return 0;
}

/* A job of the PEs pe < n_pes of the harness's job, by a unique id that PE 0 made; each other PE
 * has a job of its own meanwhile. */
static int small_job(pes_t *pes, const shmemh_uniqueid_t *id, int n_pes)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	int in_it = pes->pe < n_pes;
	shmemh_t *job;

	if (in_it) {
		attr.uniqueid = id;
		attr.pe = pes->pe;
		attr.n_pes = n_pes;
	} else {
		attr.n_pes = 1;
		attr.uniqueid = &id[1 + pes->pe];
	}
	PES_TRY(pes, shmemh_init(&attr, &job));
	if (use_job(pes, job, in_it ? pes->pe : 0, in_it ? n_pes : 1))
		return 1;
	PES_TRY(pes, shmemh_finalize(job));
	return 0;
}

/* Ids for one round, the same on all PEs: [0] of the job of n_pes, [1 + pe] of pe's own. */
static int make_ids(pes_t *pes, shmemh_uniqueid_t *ids, int n_pes)
{
	shmemh_uniqueid_t mine[2], *all;
	int pe;

	memset(mine, 0, sizeof(mine));
	if (pes->pe == 0)
		PES_TRY(pes, shmemh_get_uniqueid(n_pes, &mine[0]));
	if (pes->pe >= n_pes)
		PES_TRY(pes, shmemh_get_uniqueid(1, &mine[1]));
	all = (shmemh_uniqueid_t *)calloc((size_t)pes->n_pes, sizeof(mine));
	PES_TRY(pes, shmemh_allgather(pes->job, mine, all, sizeof(mine)));
	ids[0] = all[0];
	for (pe = 0; pe < pes->n_pes; pe++)
		ids[1 + pe] = all[2 * pe + 1];
	free(all);
	return 0;
}

/* The harness's job continues while the others run: jobs are independent. */
static int jobs_beside_each_other(pes_t *pes)
{
	shmemh_uniqueid_t *ids = (shmemh_uniqueid_t *)calloc((size_t)pes->n_pes + 1, sizeof(*ids));
	int n, result = 0;

	if (pes->is_emulated) {
		free(ids);
		return pes_skip(pes, "the emulator's PEs cannot wait for a hub of their own");
	}
	for (n = pes->n_pes; n > 0 && result == 0; n--)
		result = make_ids(pes, ids, n) || small_job(pes, ids, n);
	free(ids);
	return result;
}

/* finalize, a failed init, init: the second job of these processes works like the first. */
static int finalize_and_init_again(pes_t *pes)
{
	shmemh_uniqueid_t *ids = (shmemh_uniqueid_t *)calloc((size_t)pes->n_pes + 1, sizeof(*ids));
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job = NULL;
	int round, result = 0;

	if (pes->is_emulated) {
		free(ids);
		return pes_skip(pes, "one job per run of the emulator");
	}
	for (round = 0; round < 3 && result == 0; round++) {
		if (make_ids(pes, ids, pes->n_pes))
			return 1;
		PES_TRY(pes, shmemh_finalize(pes->job));
		attr.uniqueid = ids;
		attr.pe = -5;
		attr.n_pes = pes->n_pes;
		PES_EQ(pes, shmemh_init(&attr, &job), SHMEMH_ERR_ARGUMENT);
		PES_CHECK(pes, job == NULL && strstr(shmemh_error_text(NULL), "-5") != NULL);
		attr.pe = pes->pe;
		pes->job = NULL;
		PES_TRY(pes, shmemh_init(&attr, &pes->job));
		result = use_job(pes, pes->job, pes->pe, pes->n_pes);
	}
	free(ids);
	return result;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(jobs_beside_each_other),
		PES_TEST(finalize_and_init_again),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
