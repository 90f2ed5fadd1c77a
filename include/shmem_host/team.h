/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Teams: ordered sets of PEs. A context belongs to one team and counts PEs by that team. Two exist
 * from the start. */
#ifndef SHMEMH_TEAM_H
#define SHMEMH_TEAM_H

#include <shmem_host/init.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t shmemh_team_t;

#define SHMEMH_TEAM_INVALID (-1)
#define SHMEMH_TEAM_WORLD 0 /* every PE of the job */
#define SHMEMH_TEAM_NODE                                                                           \
	1 /* PEs that all map each other's memory. Candidates have equal SHMEMH_NODE_ID, or, if \
	     that is not set, equal boot id and network namespace; each pair proves it by mapping */

/* This PE's number in a team and the team's size; -1 for a team that does not exist. Any thread. */
SHMEMH_API int shmemh_team_my_pe(const shmemh_t *job, shmemh_team_t team);
SHMEMH_API int shmemh_team_n_pes(const shmemh_t *job, shmemh_team_t team);

/* Number in team dst of the PE that is pe in team src; -1 if it is not a member. Any thread. */
SHMEMH_API int shmemh_team_translate_pe(const shmemh_t *job, shmemh_team_t src, int pe,
					shmemh_team_t dst);

#ifdef __cplusplus
}
#endif

#endif
