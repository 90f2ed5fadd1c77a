/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Functions that the files of core/ call in each other. */
#ifndef SHMEMHI_CORE_CORE_H
#define SHMEMHI_CORE_CORE_H

#include "job/job.h"

/* Phase: the sync memory of all slots for teams; the world and node team with their device tables;
 * then the threads of fail-over. close stops these first. */
int shmemhi_teams_open(shmemh_t *job);
void shmemhi_teams_close(shmemh_t *job);

/* Free what the copy of a job in a forked child holds of teams. */
void shmemhi_teams_free_copy(shmemh_t *job);

/* Fill team->ctx from the other fields of the team, and copy it to device memory. Not
 * collective. */
int shmemhi_team_write_ctx(shmemh_t *job, shmemhi_team_t *team);

/* Log, at level info, how this PE is set up: heap, GPU, how it reaches each peer, NICs. */
void shmemhi_log_setup(const shmemh_t *job);

/* Phase: error latch and record. */
int shmemhi_latch_open(shmemh_t *job);
void shmemhi_latch_close(shmemh_t *job);

/* Free the memory of the trace, to which the latch no longer points when this is called. */
void shmemhi_trace_close(shmemh_t *job);

/* Log the error record, if it has an error that the program never read. */
void shmemhi_log_unread_error(const shmemh_t *job);

#endif
