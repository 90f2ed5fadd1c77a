/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Teams: ordered sets of PEs. A context belongs to one team and counts PEs by that team. Two exist
 * from the start, a program makes others.
 *
 * A PE can be in SHMEMH_TEAMS_MAX teams at a time. Its handles are its own: other members may have
 * other values for the same team. A handle is used again only after 33 million teams (2^25 - 2) of
 * one slot, so a call with the handle of a destroyed team is refused with a line.
 *
 * The calls that make, use and destroy teams are collective over the members that they name, and
 * agree by the bootstrap. Other PEs have no part in them. If a call fails on one member, it fails
 * on all of them, and nothing is left of it; only a PE that is cut off during the call may fail
 * alone. Members make their calls in the same order: if a member makes a call after the others'
 * call has ended with ERR_TIMEOUT, the call fails on that member, too.
 *
 * A member that died or left is not waited for. So these calls work, in contrast to shmemh_barrier,
 * shmemh_allgather and shmemh_malloc, after a PE is gone: the others make a team, of which no gone
 * PE can be a member, and kernels with its context do not depend on that PE. shmemh_error_clear
 * removes what earlier kernels latched; memory that was allocated before stays usable;
 * shmemh_finalize waits for no PE then, so call shmemh_team_barrier before it. If the process with
 * the hub has died, PEs are cut off from each other, and only teams of one PE can be made. */
#ifndef SHMEMH_TEAM_H
#define SHMEMH_TEAM_H

#include <shmem_host/init.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A team of this PE: valid in this process, from the call that made it to shmemh_team_destroy. */
typedef int32_t shmemh_team_t;

#define SHMEMH_TEAMS_MAX 64 /* of a PE at a time, world and node included */

#define SHMEMH_TEAM_INVALID (-1) /* no team: the caller is not a member */
#define SHMEMH_TEAM_WORLD 0      /* every PE of the job */
#define SHMEMH_TEAM_NODE                                                                           \
	1 /* PEs that all map each other's memory. Candidates have equal SHMEMH_NODE_ID, or, if    \
	     that is not set, equal boot id and network namespace. Those of different processes \
	     prove it by mapping: with GPU memory each pair, with host memory each PE the       \
	     memory of the lowest one */

/* This PE's number in a team and the team's size; -1 for a team that does not exist. Any thread,
 * but not while the team is destroyed. */
SHMEMH_API int shmemh_team_my_pe(const shmemh_t *job, shmemh_team_t team);
SHMEMH_API int shmemh_team_n_pes(const shmemh_t *job, shmemh_team_t team);

/* Number in team dst of the PE that is pe in team src; -1 if it is not a member. Any thread,
 * but not while one of the teams is destroyed. */
SHMEMH_API int shmemh_team_translate_pe(const shmemh_t *job, shmemh_team_t src, int pe,
					shmemh_team_t dst);

/* Make a team of the parent's PEs start, start + stride, .., size of them, which get the numbers 0,
 * 1, .. in this order. Collective over the parent.
 *
 * start    number in the parent.
 * stride   may be negative; 0 only with size 1.
 * size     1 or more.
 * team     receives the handle; on PEs of the parent that are no members, and after a failure,
 *          SHMEMH_TEAM_INVALID.
 * Returns  SHMEMH_OK, also on those PEs, which do not learn of a failure among the members;
 *          ERR_ARGUMENT (no such parent: the other PEs get ERR_TIMEOUT; start, stride or size
 *          leaves the parent, text has the value; team is NULL); ERR_MISMATCH (members of the
 *          parent pass different arguments, or make another call on it; text has both);
 *          ERR_NO_MEMORY (a member is in SHMEMH_TEAMS_MAX teams, or no slot is free on all of
 *          them; or no memory); ERR_PEER (a PE that would be a member is gone; text names it);
 *          ERR_TIMEOUT (SHMEMH_BOOT_TIMEOUT, text names who is missing); ERR_BOOTSTRAP
 *          (attr.boot has no gather_some); ERR_CUDA; ERR_SYSTEM.
 * Source   OpenSHMEM 1.6 shmem_team_split_strided.
 */
SHMEMH_API int shmemh_team_split_strided(shmemh_t *job, shmemh_team_t parent, int start, int stride,
					 int size, shmemh_team_t *team);

/* Arrange the parent's PEs in rows of xrange, the last of which may be shorter, and make each row
 * and each column a team. PE i of the parent gets number i % xrange in its row's team, x, and
 * i / xrange in its column's team, y. Collective over the parent.
 *
 * xrange   1 or more; larger than the parent: as its size.
 * x, y     receive the handles; after a failure both are SHMEMH_TEAM_INVALID.
 * Returns  as shmemh_team_split_strided. All PEs that pass a valid parent get the same status.
 * Source   OpenSHMEM 1.6 shmem_team_split_2d.
 */
SHMEMH_API int shmemh_team_split_2d(shmemh_t *job, shmemh_team_t parent, int xrange,
				    shmemh_team_t *x, shmemh_team_t *y);

/* Make a team of any PEs. Collective over the listed PEs alone: calls with lists of the same PEs
 * belong together.
 *
 * pes      [n_pes] numbers in the world team, each once, the calling PE's among them; equal on all
 *          members. pes[i] gets number i in the team.
 * team     receives the handle; after a failure SHMEMH_TEAM_INVALID.
 * Returns  as shmemh_team_split_strided; ERR_ARGUMENT for a list that cannot be a team, on the PE
 *          that passes it (the others get ERR_TIMEOUT); ERR_MISMATCH for lists of the same PEs in
 *          different order. PEs that pass different sets wait for each other until ERR_TIMEOUT.
 */
SHMEMH_API int shmemh_team_create(shmemh_t *job, const int *pes, int n_pes, shmemh_team_t *team);

/* Destroy a team that one of the calls above has made, and release what it has. Collective over its
 * members that are not gone. No kernel with its context is running on any member, and what such
 * kernels posted is complete. shmemh_finalize destroys the teams that are left.
 *
 * team     SHMEMH_TEAM_INVALID: no operation, and not collective.
 * Returns  SHMEMH_OK; ERR_ARGUMENT (no such team, destroyed before, or one that exists from the
 *          start); ERR_MISMATCH, ERR_TIMEOUT, ERR_NO_MEMORY (of the hub), ERR_BOOTSTRAP: the team
 *          exists as before; ERR_PEER: this PE is cut off from the others, and has released what
 *          it had.
 */
SHMEMH_API int shmemh_team_destroy(shmemh_t *job, shmemh_team_t team);

/* Host barrier over the members of a team. Says nothing about kernels: synchronise streams first.
 * Returns  SHMEMH_OK; ERR_PEER (a member is gone, text names it: all others have come; or this PE
 *          is cut off from the others); ERR_ARGUMENT; ERR_MISMATCH; ERR_TIMEOUT; ERR_NO_MEMORY (of
 *          the hub); ERR_BOOTSTRAP.
 */
SHMEMH_API int shmemh_team_barrier(shmemh_t *job, shmemh_team_t team);

#ifdef __cplusplus
}
#endif

#endif
