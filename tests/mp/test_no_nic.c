/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A program compiled with SHMEMD_NO_NIC gets contexts of teams whose members are all mapped for
 * kernels, and none of a team with a member that only a NIC can reach. */
#define SHMEMD_NO_NIC
#include <stdio.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

typedef struct no_nic_params {
	shmemd_ctx_t ctx;
	uint64_t *words; /* [n_pes], symmetric: written by each PE of the team */
	int *status;
} no_nic_params_t;

SHMEMD_KERNEL(put_kernel, no_nic_params_t, p)
{
	int n = shmemd_n_pes(&p.ctx), me = shmemd_my_pe(&p.ctx), pe;

	for (pe = 0; pe < n; pe++)
		shmemd_p_u64(&p.ctx, p.words + me, (uint64_t)me + 1, pe);
	scope_report(p.status, 0, shmemd_barrier_for(&p.ctx, PES_LIMIT_NS));
	for (pe = 0; pe < n; pe++)
		scope_report(p.status, 1, p.words[pe] == (uint64_t)pe + 1 ? 0 : WRONG_VALUE);
}

/* The lowest world PE of the team that is not mapped for kernels of this PE; -1: none. */
static int unmapped_pe(const pes_t *pes, shmemh_team_t team)
{
	int member, pe;

	for (member = 0; member < shmemh_team_n_pes(pes->job, team); member++) {
		pe = shmemh_team_translate_pe(pes->job, team, member, SHMEMH_TEAM_WORLD);
		if (!pes_maps(pes, pe))
			return pe;
	}
	return -1;
}

static int is_refused(pes_t *pes, shmemh_team_t team, int pe)
{
	shmemd_ctx_t ctx, untouched;
	char line[160];

	memset(&ctx, 0x5a, sizeof(ctx));
	untouched = ctx;
	PES_EQ(pes, shmemh_ctx_get(pes->job, team, &ctx), SHMEMH_ERR_VERSION);
	PES_CHECK(pes, memcmp(&ctx, &untouched, sizeof(ctx)) == 0);
	snprintf(line, sizeof(line),
		 "ctx_get: only a NIC reaches PE %d from PE %d, and the caller was compiled with "
		 "SHMEMD_NO_NIC: compile it without",
		 pe, pes->pe);
	if (PES_CHECK(pes, strcmp(shmemh_error_text(pes->job), line) == 0))
		fprintf(stderr, "got: %s\nwanted: %s\n", shmemh_error_text(pes->job), line);
	return 0;
}

static int contexts_without_nic(pes_t *pes)
{
	shmemh_team_t teams[] = {SHMEMH_TEAM_WORLD, SHMEMH_TEAM_NODE};
	no_nic_params_t p;
	size_t i;

	memset(&p, 0, sizeof(p));
	p.status = pes->status;
	for (i = 0; i < sizeof(teams) / sizeof(teams[0]); i++) {
		int pe = unmapped_pe(pes, teams[i]);

		PES_ALLOC(pes, p.words, uint64_t, (size_t)pes->n_pes, 0);
		if (pe >= 0) {
			is_refused(pes, teams[i], pe);
			continue;
		}
		PES_TRY(pes, shmemh_ctx_get(pes->job, teams[i], &p.ctx));
		PES_RUN(pes, put_kernel, 1, 1, p);
	}
	return 0;
}

/* PE 1 acts as a member of which a quiet has failed, in a unit with the NIC path: its flag says so.
 * The others run the barrier. Afterwards the sync memory is as after any other sync. */
SHMEMD_KERNEL(failed_quiet_kernel, no_nic_params_t, p)
{
	uint64_t *sync = p.ctx.sync, next = sync[SHMEMD_SYNC_NUMBER] + 1;
	uint64_t flag = SHMEMD_SYNC_FLAG(next, 0, SHMEMD_ERR_REFUSED, SHMEMD_OP_BARRIER);
	int n = shmemd_n_pes(&p.ctx), me = shmemd_my_pe(&p.ctx), pe;

	if (me != 1) {
		if (shmemd_barrier_for(&p.ctx, PES_LIMIT_NS) != SHMEMD_ERR_REFUSED)
			scope_report(p.status, 0, WRONG_VALUE);
	} else {
		for (pe = 0; pe < n; pe++)
			shmemd_p_u64(&p.ctx, &sync[SHMEMD_SYNC_FLAGS + me], flag, pe);
		for (pe = 0; pe < n; pe++) {
			const uint64_t *word = &sync[SHMEMD_SYNC_FLAGS + pe];

			scope_report(p.status, 1,
				     shmemd_wait_until_for_u64(&p.ctx, word, SHMEMD_CMP_GE,
							       next << 16, PES_LIMIT_NS));
		}
		sync[SHMEMD_SYNC_NUMBER] = next;
		sync[SHMEMD_SYNC_LAST] = flag;
	}
	scope_report(p.status, 2, shmemd_barrier_for(&p.ctx, PES_LIMIT_NS));
	if (SHMEMD_SYNC_FLAG_NUMBER(sync[SHMEMD_SYNC_LAST]) != sync[SHMEMD_SYNC_NUMBER])
		scope_report(p.status, 3, WRONG_VALUE);
}

static int quiet_of_another_fails(pes_t *pes)
{
	no_nic_params_t p;

	memset(&p, 0, sizeof(p));
	p.status = pes->status;
	/* Without a context there is no barrier: contexts_without_nic has checked that it is
	 * refused. And a PE alone has no other member. */
	if (unmapped_pe(pes, SHMEMH_TEAM_WORLD) >= 0 || pes->n_pes < 2)
		return 0;
	PES_TRY(pes, shmemh_ctx_get(pes->job, SHMEMH_TEAM_WORLD, &p.ctx));
	PES_RUN(pes, failed_quiet_kernel, 1, 1, p);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(contexts_without_nic),
		PES_TEST(quiet_of_another_fails),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
