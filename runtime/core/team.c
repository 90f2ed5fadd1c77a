/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Teams: their members, and the memory by which kernels reach and synchronise the members. */
#include <stdlib.h>
#include "core/core.h"
#include "ib/ib.h"
#include "mem/mem.h"

/* NULL: no such team, or the job is refused. */
static const shmemhi_team_t *find(const shmemh_t *job, shmemh_team_t team, const char *call)
{
	if (shmemhi_refused(job, call) || team < 0 || team >= SHMEMHI_MAX_TEAMS ||
	    !job->teams[team].n_pes)
		return NULL;
	return &job->teams[team];
}

int shmemh_team_my_pe(const shmemh_t *job, shmemh_team_t team)
{
	const shmemhi_team_t *t = find(job, team, "team_my_pe");

	return t ? t->my_pe : -1;
}

int shmemh_team_n_pes(const shmemh_t *job, shmemh_team_t team)
{
	const shmemhi_team_t *t = find(job, team, "team_n_pes");

	return t ? t->n_pes : -1;
}

int shmemh_team_translate_pe(const shmemh_t *job, shmemh_team_t src, int pe, shmemh_team_t dst)
{
	const shmemhi_team_t *s = find(job, src, "team_translate_pe");
	const shmemhi_team_t *d = s ? find(job, dst, "team_translate_pe") : NULL;

	if (!d || pe < 0 || pe >= s->n_pes)
		return -1;
	for (int i = 0; i < d->n_pes; i++)
		if (d->world_pe[i] == s->world_pe[pe])
			return i;
	return -1;
}

/* Fill the members of a team: all PEs, or those whose memory is mapped here. */
static int choose_members(shmemh_t *job, shmemhi_team_t *team, int mapped_only)
{
	int n = 0;

	team->world_pe = calloc((size_t)job->n_pes, sizeof *team->world_pe);
	if (!team->world_pe)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "team: no memory for %d PEs",
				    job->n_pes);
	for (int pe = 0; pe < job->n_pes; pe++) {
		if (mapped_only && !shmemhi_mem_is_mapped(job, pe))
			continue;
		if (pe == job->pe)
			team->my_pe = n;
		team->world_pe[n++] = pe;
	}
	team->n_pes = n;
	return SHMEMH_OK;
}

/* Write the table that kernels index by team PE, and set the flags that describe all members. */
static int write_peers(shmemh_t *job, shmemhi_team_t *team)
{
	size_t nbytes = (size_t)team->n_pes * sizeof(shmemd_peer_t);
	shmemd_peer_t *peers = calloc((size_t)team->n_pes, sizeof *peers);
	int status;

	if (!peers)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "team: no memory for %d PEs",
				    team->n_pes);
	team->ctx_flags = SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_ALL_MAPPED;
	for (int i = 0; i < team->n_pes; i++) {
		int pe = team->world_pe[i];

		if (!job->opt.disable_p2p)
			peers[i].base = shmemhi_mem_base(job, pe);
		peers[i].world_pe = pe;
		if (!peers[i].base)
			team->ctx_flags &= ~(SHMEMD_CTX_ALL_MAPPED | SHMEMD_CTX_SM_ATOMICS);
		if (!shmemhi_mem_has_atomics(job, pe))
			team->ctx_flags &= ~SHMEMD_CTX_SM_ATOMICS;
	}
	status = shmemhi_dev_alloc(job, nbytes, (void **)&team->peers);
	if (status == SHMEMH_OK)
		status = shmemhi_dev_write(job, team->peers, peers, nbytes);
	free(peers);
	return status;
}

static int make_local(shmemh_t *job, shmemhi_team_t *team, int mapped_only)
{
	int status = choose_members(job, team, mapped_only);

	if (status == SHMEMH_OK)
		status = write_peers(job, team);
	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(job, sizeof *team->abort_word,
					      (void **)&team->abort_word, &job->err);
	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(job, (size_t)team->n_pes * sizeof *team->causes,
					      (void **)&team->causes, &job->err);
	if (status == SHMEMH_OK)
		status = shmemhi_dev_alloc(job, sizeof *team->self, (void **)&team->self);
	return status;
}

static void drop(shmemh_t *job, shmemhi_team_t *team)
{
	if (team->peers)
		shmemhi_dev_free(job, team->peers);
	if (team->abort_word)
		shmemhi_pinned_free(job, team->abort_word);
	if (team->causes)
		shmemhi_pinned_free(job, team->causes);
	if (team->self)
		shmemhi_dev_free(job, team->self);
	free(team->world_pe);
	*team = (shmemhi_team_t){0};
}

/* AND the flags of all members, so that they are equal on every PE: a word must not be updated
 * by one mechanism on one PE and by another elsewhere. */
static int agree_flags(shmemh_t *job)
{
	uint32_t mine[SHMEMHI_MAX_TEAMS];
	uint32_t(*all)[SHMEMHI_MAX_TEAMS] = calloc((size_t)job->n_pes, sizeof mine);
	int status =
		shmemhi_agree(job, all ? SHMEMH_OK
				       : shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
						      "team: no memory for %d PEs", job->n_pes));

	for (int t = 0; t < SHMEMHI_MAX_TEAMS; t++)
		mine[t] = job->teams[t].ctx_flags;
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, mine, all, sizeof mine);
	for (int t = 0; status == SHMEMH_OK && t < SHMEMHI_MAX_TEAMS; t++)
		for (int i = 0; i < job->teams[t].n_pes; i++)
			job->teams[t].ctx_flags &= all[job->teams[t].world_pe[i]][t];
	free(all);
	return status;
}

/* Find the shortest range of members that includes every member mapped on this PE. */
static void find_mapped(const shmemh_t *job, shmemhi_team_t *team)
{
	team->first_mapped = 0;
	team->n_mapped = 0;
	for (int i = 0; i < team->n_pes && !job->opt.disable_p2p; i++) {
		if (!shmemhi_mem_is_mapped(job, team->world_pe[i]))
			continue;
		if (team->n_mapped == 0)
			team->first_mapped = i;
		team->n_mapped = i + 1 - team->first_mapped;
	}
}

/* Add the flags that may differ between PEs: how this PE reaches the members, and whether team
 * PE numbers equal world PE numbers. */
static void add_own_flags(const shmemh_t *job, shmemhi_team_t *team)
{
	int n_nic = 0;

	if (team->n_pes == job->n_pes) /* members are in ascending order */
		team->ctx_flags |= SHMEMD_CTX_WORLD;
	for (int i = 0; i < team->n_pes; i++)
		n_nic += shmemhi_ib_reaches(job, team->world_pe[i]);
	team->n_mapped = team->n_pes;
	if (!n_nic)
		return;
	find_mapped(job, team);
	team->ctx_flags |= SHMEMD_CTX_NIC | shmemhi_ib_ctx_flags(job);
	if (team->n_mapped && !(team->ctx_flags & SHMEMD_CTX_SM_ATOMICS))
		team->ctx_flags |= SHMEMD_CTX_MIXED_TRANSPORT;
}

/* Write the contexts for kernels, with the agreed flags. */
static int write_ctxs(shmemh_t *job)
{
	int status = SHMEMH_OK;

	for (int t = 0; t < SHMEMHI_MAX_TEAMS && status == SHMEMH_OK; t++) {
		add_own_flags(job, &job->teams[t]);
		status = shmemhi_team_write_ctx(job, &job->teams[t]);
	}
	return shmemhi_agree(job, status);
}

/* PEs that share a GPU work, but their kernels are time-sliced in milliseconds. The lowest PE of
 * each GPU warns once. */
static void warn_shared_gpu(shmemh_t *job)
{
	shmemh_heap_info_t info = {.size = sizeof info};
	int others = 0;

	if (shmemh_heap_info(job, &info) != SHMEMH_OK || info.kind != SHMEMH_HEAP_GPU)
		return;
	for (int pe = 0; pe < job->n_pes; pe++) {
		if (pe == job->pe || !shmemhi_mem_same_gpu(job, pe))
			continue;
		if (pe < job->pe)
			return;
		others++;
	}
	if (others)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "PEs on this PE's GPU: %d. Their kernels are time-sliced, so waits for "
			    "each "
			    "other are slow; one PE per GPU is normal",
			    others + 1);
}

int shmemhi_teams_open(shmemh_t *job)
{
	size_t nbytes = SHMEMD_SYNC_WORDS((size_t)job->n_pes) * sizeof(uint64_t);
	int status = SHMEMH_OK;

	/* Sync memory has the same offset and size on all PEs. Node teams differ in size, so
	 * each takes the size of the world team. */
	for (int t = 0; t < SHMEMHI_MAX_TEAMS && status == SHMEMH_OK; t++)
		status = shmemhi_heap_take(job, nbytes, (void **)&job->teams[t].sync);
	if (status != SHMEMH_OK)
		return status;
	for (int t = 0; t < SHMEMHI_MAX_TEAMS && status == SHMEMH_OK; t++)
		status = make_local(job, &job->teams[t], t == SHMEMH_TEAM_NODE);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = agree_flags(job);
	if (status == SHMEMH_OK)
		status = write_ctxs(job);
	if (status != SHMEMH_OK) {
		shmemhi_teams_close(job);
		return status;
	}
	status = shmemhi_agree(job, shmemhi_ib_ready(job, job->teams[SHMEMH_TEAM_WORLD].self));
	if (status != SHMEMH_OK) {
		shmemhi_teams_close(job);
		return status;
	}
	warn_shared_gpu(job);
	return SHMEMH_OK;
}

void shmemhi_teams_close(shmemh_t *job)
{
	shmemhi_ib_unready(job);
	/* The monitor iterates over the teams under this lock when a PE dies or leaves. */
	pthread_mutex_lock(&job->gone_lock);
	for (int t = 0; t < SHMEMHI_MAX_TEAMS; t++)
		drop(job, &job->teams[t]);
	pthread_mutex_unlock(&job->gone_lock);
}
