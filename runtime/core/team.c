/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The table of teams, the two that exist from the start, and what a program asks about a team. */
#include <stdlib.h>
#include "core/team.h"
#include "ib/ib.h"
#include "mem/mem.h"

#define GENERATIONS (INT32_MAX / SHMEMHI_MAX_TEAMS - 1)

/* A handle is the team's slot and the generation of that slot, 0 for world and node. */
shmemhi_team_t *shmemhi_team_find(const shmemh_t *job, shmemh_team_t handle)
{
	const shmemhi_team_t *team;

	if (handle < 0)
		return NULL;
	team = &job->teams[handle % SHMEMHI_MAX_TEAMS];
	if (!team->n_pes || team->generation != (uint32_t)(handle / SHMEMHI_MAX_TEAMS))
		return NULL;
	return (shmemhi_team_t *)(uintptr_t)team;
}

/* The table is locked for queries, which any thread may call: the slot of a stale handle may be
 * written to meanwhile. Collectives need no lock, since their thread alone changes the table. */
static void lock(const shmemh_t *job)
{
	pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&job->teams_lock);
}

static void unlock(const shmemh_t *job)
{
	pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&job->teams_lock);
}

int shmemhi_fail_no_team(shmemh_t *job, const char *call, shmemh_team_t handle)
{
	if (handle == SHMEMH_TEAM_INVALID)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "%s: the team is SHMEMH_TEAM_INVALID: this PE is not a member",
				    call);
	return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
			    "%s: team %d does not exist: no call of this job has made it, or it "
			    "has been destroyed",
			    call, handle);
}

shmemh_team_t shmemhi_team_publish(shmemh_t *job, shmemhi_team_t *team, int slot)
{
	shmemhi_team_t *place = &job->teams[slot];

	team->generation = place->generation % GENERATIONS + 1;
	/* When a PE dies or leaves, the monitor sets the abort words of the teams in the table,
	 * under this lock. For PEs that are gone already, set that of this team now. */
	pthread_mutex_lock(&job->teams_lock);
	*place = *team;
	shmemhi_team_apply_gone(job, place);
	pthread_mutex_unlock(&job->teams_lock);
	return (shmemh_team_t)(place->generation * SHMEMHI_MAX_TEAMS + (uint32_t)slot);
}

/* Frees without the lock: a CUDA driver's free waits for running kernels, and the monitor or the
 * agent of fail-over, which would wait for the lock, may have to end these kernels' waits. */
void shmemhi_team_remove(shmemh_t *job, shmemhi_team_t *team)
{
	shmemhi_team_t old;

	pthread_mutex_lock(&job->teams_lock);
	old = *team;
	*team = (shmemhi_team_t){
		.sync = old.sync, .device_copy = old.device_copy, .generation = old.generation};
	pthread_mutex_unlock(&job->teams_lock);
	shmemhi_team_drop(job, &old);
	job->team_slots &= ~((uint64_t)1 << (team - job->teams));
}

int shmemh_team_my_pe(const shmemh_t *job, shmemh_team_t team)
{
	const shmemhi_team_t *t;
	int my_pe;

	if (shmemhi_refused(job, "team_my_pe"))
		return -1;
	lock(job);
	t = shmemhi_team_find(job, team);
	my_pe = t ? t->my_pe : -1;
	unlock(job);
	return my_pe;
}

int shmemh_team_n_pes(const shmemh_t *job, shmemh_team_t team)
{
	const shmemhi_team_t *t;
	int n_pes;

	if (shmemhi_refused(job, "team_n_pes"))
		return -1;
	lock(job);
	t = shmemhi_team_find(job, team);
	n_pes = t ? t->n_pes : -1;
	unlock(job);
	return n_pes;
}

static int translate(const shmemhi_team_t *src, int pe, const shmemhi_team_t *dst)
{
	if (!src || !dst || pe < 0 || pe >= src->n_pes)
		return -1;
	for (int i = 0; i < dst->n_pes; i++)
		if (dst->world_pe[i] == src->world_pe[pe])
			return i;
	return -1;
}

int shmemh_team_translate_pe(const shmemh_t *job, shmemh_team_t src, int pe, shmemh_team_t dst)
{
	int found;

	if (shmemhi_refused(job, "team_translate_pe"))
		return -1;
	lock(job);
	found = translate(shmemhi_team_find(job, src), pe, shmemhi_team_find(job, dst));
	unlock(job);
	return found;
}

/* Find the members of one of the first two teams, for which no messages are needed: all PEs, or
 * those whose memory is mapped here; and fill the team. */
static int make_local(shmemh_t *job, shmemhi_team_t *team, int mapped_only)
{
	int *members = job->team_scratch->members, n = 0;

	for (int pe = 0; pe < job->n_pes; pe++)
		if (!mapped_only || shmemhi_mem_is_mapped(job, pe))
			members[n++] = pe;
	return shmemhi_team_fill(job, team, members, n);
}

/* AND the flags of all members, so that they are equal on every PE: a word must not be updated
 * by one mechanism on one PE and by another elsewhere. */
static int agree_flags(shmemh_t *job)
{
	uint32_t mine[SHMEMHI_N_BUILTIN_TEAMS];
	uint32_t(*all)[SHMEMHI_N_BUILTIN_TEAMS] = calloc((size_t)job->n_pes, sizeof mine);
	int status =
		shmemhi_agree(job, all ? SHMEMH_OK
				       : shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
						      "team: no memory for %d PEs", job->n_pes));

	for (int t = 0; t < SHMEMHI_N_BUILTIN_TEAMS; t++)
		mine[t] = job->teams[t].ctx_flags;
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, mine, all, sizeof mine);
	for (int t = 0; status == SHMEMH_OK && t < SHMEMHI_N_BUILTIN_TEAMS; t++)
		for (int i = 0; i < job->teams[t].n_pes; i++)
			job->teams[t].ctx_flags &= all[job->teams[t].world_pe[i]][t];
	free(all);
	return status;
}

/* Write the contexts for kernels, with the agreed flags. */
static int write_ctxs(shmemh_t *job)
{
	int status = SHMEMH_OK;

	for (int t = 0; t < SHMEMHI_N_BUILTIN_TEAMS && status == SHMEMH_OK; t++)
		status = shmemhi_team_finish(job, &job->teams[t]);
	return shmemhi_agree(job, status);
}

/* PEs that share a GPU work, but without CUDA's Multi-Process Service their kernels are time-sliced
 * in milliseconds. Nothing here asks whether the service runs: the lowest PE of each GPU warns once
 * in either case. */
static void warn_shared_gpu(shmemh_t *job)
{
	int others = 0;

	/* Use mem/mem.h and not shmemh_heap_info, which refuses finalized jobs by address: a
	 * finalized job may have had this one's address, and init has not enlisted the new handle
	 * yet. */
	if (!shmemhi_mem_is_on_gpu(job))
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
			    "PEs on this PE's GPU: %d. Without CUDA's Multi-Process Service their "
			    "kernels are time-sliced, so waits for each other are slow; one PE per "
			    "GPU is normal",
			    others + 1);
}

static void free_scratch(shmemh_t *job)
{
	shmemhi_team_scratch_t *s = job->team_scratch;

	if (!s)
		return;
	free(s->records);
	free(s->took_part);
	free(s->members);
	free(s->roster);
	free(s);
	job->team_scratch = NULL;
}

/* Collectives of teams allocate nothing before they gather: a PE whose allocation failed would miss
 * the gather. */
static int alloc_scratch(shmemh_t *job)
{
	shmemhi_team_scratch_t *s = calloc(1, sizeof *s);
	size_t n = (size_t)job->n_pes;

	job->team_scratch = s;
	if (s) {
		s->records = calloc(n, sizeof *s->records);
		s->took_part = calloc(n, sizeof *s->took_part);
		s->members = calloc(n, sizeof *s->members);
		s->roster = calloc(n, sizeof *s->roster);
		if (s->records && s->took_part && s->members && s->roster)
			return SHMEMH_OK;
	}
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "team: no memory for %d PEs",
			    job->n_pes);
}

/* Sync memory for all teams that a PE may be in at a time: some PEs of a job cannot take symmetric
 * memory later without the others. A slot lies at the same offset on all PEs; its size is that of a
 * team of all PEs, in whole cache lines. */
static int take_sync(shmemh_t *job)
{
	size_t line = 128 / sizeof(uint64_t);
	size_t words = (SHMEMD_SYNC_WORDS((size_t)job->n_pes) + line - 1) / line * line;
	uint64_t *sync = NULL;
	int status =
		shmemhi_heap_take(job, words * sizeof *sync * SHMEMHI_MAX_TEAMS, (void **)&sync);

	for (int t = 0; status == SHMEMH_OK && t < SHMEMHI_MAX_TEAMS; t++)
		job->teams[t].sync = sync + (size_t)t * words;
	return status;
}

/* The contexts in device memory stay where they are for the life of the job: a kernel that uses the
 * context of a destroyed team finds a zeroed one there. */
static int alloc_device_copies(shmemh_t *job)
{
	int status = shmemhi_dev_alloc(job, sizeof *job->device_copies * SHMEMHI_MAX_TEAMS,
				       (void **)&job->device_copies);

	for (int t = 0; status == SHMEMH_OK && t < SHMEMHI_MAX_TEAMS; t++)
		job->teams[t].device_copy = job->device_copies + t;
	return status;
}

int shmemhi_teams_open(shmemh_t *job)
{
	int status = take_sync(job);

	if (status != SHMEMH_OK)
		return status;
	job->team_slots = ((uint64_t)1 << SHMEMHI_N_BUILTIN_TEAMS) - 1;
	status = alloc_scratch(job);
	if (status == SHMEMH_OK)
		status = alloc_device_copies(job);
	for (int t = 0; t < SHMEMHI_N_BUILTIN_TEAMS && status == SHMEMH_OK; t++)
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
	status = shmemhi_agree(
		job, shmemhi_ib_start_failover(job, job->teams[SHMEMH_TEAM_WORLD].device_copy));
	if (status != SHMEMH_OK) {
		shmemhi_teams_close(job);
		return status;
	}
	warn_shared_gpu(job);
	return SHMEMH_OK;
}

void shmemhi_teams_close(shmemh_t *job)
{
	shmemhi_ib_stop_failover(job);
	for (int t = 0; t < SHMEMHI_MAX_TEAMS; t++)
		shmemhi_team_remove(job, &job->teams[t]);
	if (job->device_copies)
		shmemhi_dev_free(job, job->device_copies);
	job->device_copies = NULL;
	free_scratch(job);
}

void shmemhi_teams_free_copy(shmemh_t *job)
{
	for (int t = 0; t < SHMEMHI_MAX_TEAMS; t++) {
		free(job->teams[t].world_pe);
		free(job->teams[t].roster);
	}
	free_scratch(job);
}
