/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The memory by which kernels reach and synchronise the members of one team. Nothing here is
 * collective. */
#include <stdlib.h>
#include <string.h>
#include "core/team.h"
#include "ib/ib.h"
#include "mem/mem.h"

static int compare_pes(const void *a, const void *b)
{
	return *(const int32_t *)a - *(const int32_t *)b;
}

void shmemhi_team_sort(int32_t *roster, const int *members, int n)
{
	for (int i = 0; i < n; i++)
		roster[i] = members[i];
	qsort(roster, (size_t)n, sizeof *roster, compare_pes);
}

static int copy_members(shmemh_t *job, shmemhi_team_t *team, const int *members, int n)
{
	team->world_pe = calloc((size_t)n, sizeof *team->world_pe);
	team->roster = calloc((size_t)n, sizeof *team->roster);
	if (!team->world_pe || !team->roster)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "team: no memory for %d PEs",
				    n);
	for (int i = 0; i < n; i++) {
		if (members[i] == job->pe)
			team->my_pe = i;
		team->world_pe[i] = members[i];
	}
	shmemhi_team_sort(team->roster, members, n);
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

		if (shmemhi_mem_is_for_kernels(job, pe))
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

int shmemhi_team_fill(shmemh_t *job, shmemhi_team_t *team, const int *members, int n)
{
	int status = copy_members(job, team, members, n);

	if (status == SHMEMH_OK)
		status = write_peers(job, team);
	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(job, sizeof *team->abort_word,
					      (void **)&team->abort_word, &job->err);
	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(job, (size_t)n * sizeof *team->causes,
					      (void **)&team->causes, &job->err);
	/* A team that had the slot before has left its numbers there. */
	if (status == SHMEMH_OK)
		status = shmemhi_heap_zero(job, team->sync,
					   SHMEMD_SYNC_WORDS((size_t)n) * sizeof *team->sync);
	return status;
}

void shmemhi_team_drop(shmemh_t *job, shmemhi_team_t *team)
{
	static const shmemd_ctx_t none;

	if (team->device_copy && team->n_pes)
		shmemhi_dev_write(job, team->device_copy, &none, sizeof none);
	if (team->peers)
		shmemhi_dev_free(job, team->peers);
	if (team->abort_word)
		shmemhi_pinned_free(job, team->abort_word);
	if (team->causes)
		shmemhi_pinned_free(job, team->causes);
	free(team->world_pe);
	free(team->roster);
	*team = (shmemhi_team_t){.sync = team->sync,
				 .device_copy = team->device_copy,
				 .generation = team->generation};
}

/* Find the shortest range of members that includes every member mapped on this PE. */
static void find_mapped(const shmemh_t *job, shmemhi_team_t *team)
{
	team->first_mapped = 0;
	team->mapped_span = 0;
	for (int i = 0; i < team->n_pes; i++) {
		if (!shmemhi_mem_is_for_kernels(job, team->world_pe[i]))
			continue;
		if (team->mapped_span == 0)
			team->first_mapped = i;
		team->mapped_span = i + 1 - team->first_mapped;
	}
}

/* Are team PE numbers equal to world PE numbers? Kernels then translate none. */
static bool is_world(const shmemh_t *job, const shmemhi_team_t *team)
{
	if (team->n_pes != job->n_pes)
		return false;
	for (int i = 0; i < team->n_pes; i++)
		if (team->world_pe[i] != i)
			return false;
	return true;
}

/* Add the flags that the members have not agreed on: how this PE reaches the members, which may
 * differ between them, and whether team PE numbers equal world PE numbers. */
static void add_own_flags(const shmemh_t *job, shmemhi_team_t *team)
{
	int n_nic = 0;

	if (is_world(job, team))
		team->ctx_flags |= SHMEMD_CTX_WORLD_NUMBERS;
	for (int i = 0; i < team->n_pes; i++)
		n_nic += shmemhi_ib_reaches(job, team->world_pe[i]);
	team->mapped_span = team->n_pes;
	if (!n_nic)
		return;
	find_mapped(job, team);
	team->ctx_flags |= SHMEMD_CTX_NIC | shmemhi_ib_ctx_flags(job);
	if (team->mapped_span && !(team->ctx_flags & SHMEMD_CTX_SM_ATOMICS))
		team->ctx_flags |= SHMEMD_CTX_MIXED_TRANSPORT;
}

int shmemhi_team_finish(shmemh_t *job, shmemhi_team_t *team)
{
	add_own_flags(job, team);
	return shmemhi_team_write_ctx(job, team);
}
