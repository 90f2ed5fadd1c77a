/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* How teams are made: what team.c, team_build.c and team_split.c call in each other. */
#ifndef SHMEMHI_CORE_TEAM_H
#define SHMEMHI_CORE_TEAM_H

#include "core/core.h"

/* What a PE passes in a gather among the members of a team. */
typedef struct shmemhi_team_record {
	int32_t op;      /* the call under way, compared */
	int32_t args[3]; /* its arguments, compared */
	int32_t status;  /* of this PE so far */
	int32_t my_pe;   /* its number in the team that is made */
	uint32_t flags;  /* SHMEMD_CTX_* of that team, by how this PE reaches its members */
	uint32_t next;   /* shmemh.next_team_slot */
	uint64_t slots;  /* shmemh.team_slots */
} shmemhi_team_record_t;

/* Memory for the collective under way; one thread at a time calls collectives of a job. */
typedef struct shmemhi_team_scratch {
	shmemhi_team_record_t *records; /* [n_pes] as the roster of the gather */
	unsigned char *took_part;       /* [n_pes] likewise */
	int *members;                   /* [n_pes] world numbers of a team that is made */
	int32_t *roster;                /* [n_pes] the same in ascending order */
} shmemhi_team_scratch_t;

/* The team of a handle; NULL: there is none. */
shmemhi_team_t *shmemhi_team_find(const shmemh_t *job, shmemh_team_t handle);

/* Set the line for a call whose team does not exist. Returns ERR_ARGUMENT. */
int shmemhi_fail_no_team(shmemh_t *job, const char *call, shmemh_team_t handle);

/* Put a team that is complete into its slot, and return its handle. The table owns it then. */
shmemh_team_t shmemhi_team_publish(shmemh_t *job, shmemhi_team_t *team, int slot);

/* Take a team out of the table, release what it has, and free its slot. */
void shmemhi_team_remove(shmemh_t *job, shmemhi_team_t *team);

void shmemhi_team_sort(int32_t *roster, const int *members, int n);

/* Fill a team that has its sync memory and a place for its context: members, device tables, and
 * the flags by how this PE reaches the members; sync memory is zeroed. After a failure the caller
 * calls shmemhi_team_drop. */
int shmemhi_team_fill(shmemh_t *job, shmemhi_team_t *team, const int *members, int n);

/* After shmemhi_team_fill, once the flags are equal on all members: add the flags that need no
 * agreement, and write the context. */
int shmemhi_team_finish(shmemh_t *job, shmemhi_team_t *team);

/* Release what the team has, also after a failure of shmemhi_team_fill or shmemhi_team_finish. Its
 * sync memory stays, and its context in device memory is zeroed. */
void shmemhi_team_drop(shmemh_t *job, shmemhi_team_t *team);

#endif
