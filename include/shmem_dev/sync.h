/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Synchronising the PEs of the context's team. All-to-all flags: a sync takes the latency of one
 * message, a barrier by NIC a round trip more, for its quiet. impl/flagsync.h says why it is
 * correct. */
#ifndef SHMEMD_SYNC_H
#define SHMEMD_SYNC_H

#include <shmem_dev/impl/flagsync.h>
#include <shmem_dev/impl/traced.h>

/* Wait until all PEs of the context's team have called sync. What a PE's calling threads wrote
 * with ordinary stores before it, to their own memory or by mapped puts, is visible to all after
 * it; it does not complete operations (barrier does).
 *
 * Callers  one thread of each PE of the team; at most one call per PE and team at a time.
 *          Successive calls on a team may use different threads and scopes if the program orders
 *          them.
 * Returns  SHMEMD_OK when all have arrived.
 * Errors   equal in all calling threads: ERR_PEER: a member died or left first, or fail-over
 *          found no path to it; ERR_TIMEOUT: the default limit (SHMEMH_TIMEOUT) passed, the record
 *          names a missing PE; ERR_UNREACHABLE; by NIC ERR_REFUSED, ERR_PATH, ERR_PEER, ERR_LOST: a
 *          channel has failed, so that a flag could not be sent. They are in the error record, not
 *          latched. After ERR_TIMEOUT call the same again: it continues, and others may not see
 *          what was written or sent since the first call.
 *          Check builds: ERR_COLLECTIVE: a member called barrier instead; ERR_BAD_ARGUMENT:
 *          threads of the group are missing, or a thread calls that is not in it.
 * Source   OpenSHMEM 1.5 shmem_team_sync.
 */
SHMEMD_FN int shmemd_sync(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), shmemd_thread(),
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_sync_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), shmemd_warp(),
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_sync_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), shmemd_block(),
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_sync_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), g,
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_sync with a time limit instead of the default one.
 *
 * Callers  as shmemd_sync. PEs may use different limits, or the form without.
 * ns       nanoseconds that at least pass before ERR_TIMEOUT (wait.h). By NIC, waits for space in a
 *          queue keep the default limit (SHMEMH_TIMEOUT).
 * Returns  as shmemd_sync; this ERR_TIMEOUT is expected and not recorded. Call again to go on.
 */
SHMEMD_FN int shmemd_sync_for(const shmemd_ctx_t *ctx, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), shmemd_thread(), shmemdi_limit_for(ns));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_sync_for_warp(const shmemd_ctx_t *ctx, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), shmemd_warp(), shmemdi_limit_for(ns));
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_sync_for_block(const shmemd_ctx_t *ctx, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), shmemd_block(), shmemdi_limit_for(ns));
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_sync_for_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
				    uint64_t ns SHMEMD_SITE)
{
	return shmemdi_sync(ctx, SHMEMDI_CALLER(SYNC), g, shmemdi_limit_for(ns));
}

/* quiet, then sync: all operations of the calling threads are complete, and those of all PEs
 * visible to all, when it returns. By NIC this covers the context's channel only: a program that
 * uses other channels calls quiet with their contexts first.
 *
 * Callers  as shmemd_sync; also covered are operations of other threads that happened before the
 *          call.
 * Returns  SHMEMD_OK, or the first of these, equal in all calling threads:
 *          1. ERR_TIMEOUT of this PE's own quiet. Its flags are not sent: the other PEs wait until
 *             this PE repeats the call, or for their own limits.
 *          2. The error of the sync.
 *          3. Another error of a quiet, of this PE or of any other: then no member returns
 *             SHMEMD_OK. (Except if a member's quiet succeeded, its call ended with ERR_TIMEOUT
 *             while it waited for flags, and the quiet of the repeated call fails: other members
 *             may have returned SHMEMD_OK by then. What that member had sent before its first call
 *             is complete.)
 *          4. The error latched on this PE, as quiet returns it. Other PEs do not see it.
 * Errors   as shmemd_sync and shmemd_quiet.
 * Source   OpenSHMEM 1.5 shmem_barrier_all, here of any team.
 */
SHMEMD_FN int shmemd_barrier(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), shmemd_thread(),
			       shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_barrier_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), shmemd_warp(),
			       shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_barrier_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), shmemd_block(),
			       shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_barrier_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), g,
			       shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_barrier with a time limit instead of the default one.
 *
 * Callers  as shmemd_barrier. PEs may use different limits, or the form without.
 * ns       nanoseconds that at least pass before ERR_TIMEOUT (wait.h). By NIC, waits for space in a
 *          queue keep the default limit (SHMEMH_TIMEOUT).
 * Returns  as shmemd_barrier; this ERR_TIMEOUT is expected and not recorded. Call again to go on.
 */
SHMEMD_FN int shmemd_barrier_for(const shmemd_ctx_t *ctx, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), shmemd_thread(),
			       shmemdi_limit_for(ns));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_barrier_for_warp(const shmemd_ctx_t *ctx, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), shmemd_warp(), shmemdi_limit_for(ns));
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_barrier_for_block(const shmemd_ctx_t *ctx, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), shmemd_block(), shmemdi_limit_for(ns));
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_barrier_for_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
				       uint64_t ns SHMEMD_SITE)
{
	return shmemdi_barrier(ctx, SHMEMDI_CALLER(BARRIER), g, shmemdi_limit_for(ns));
}

/* As shmemd_sync, for the world team only.
 *
 * Callers  as shmemd_sync: one thread of each PE of the job.
 * ctx      a context of SHMEMH_TEAM_WORLD.
 * Returns  as shmemd_sync.
 * Errors   as shmemd_sync; ERR_BAD_ARGUMENT in every build: the context's team does not have all
 *          PEs of the job with their world numbers. Another team that has them, such as the node
 *          team of a job on one node, is not refused: PEs that pass its context and PEs that pass
 *          one of the world team then wait for each other.
 * Source   OpenSHMEM 1.5 shmem_sync_all.
 */
SHMEMD_FN int shmemd_sync_all(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_sync_all(ctx, SHMEMDI_CALLER(SYNC), shmemd_thread());
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_sync_all_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_sync_all(ctx, SHMEMDI_CALLER(SYNC), shmemd_warp());
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_sync_all_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_sync_all(ctx, SHMEMDI_CALLER(SYNC), shmemd_block());
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_sync_all_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	return shmemdi_sync_all(ctx, SHMEMDI_CALLER(SYNC), g);
}

/* As shmemd_barrier, for the world team only.
 *
 * Callers  as shmemd_barrier: one thread of each PE of the job.
 * ctx      a context of SHMEMH_TEAM_WORLD.
 * Returns  as shmemd_barrier.
 * Errors   as shmemd_barrier; ERR_BAD_ARGUMENT in every build, as for shmemd_sync_all.
 * Source   OpenSHMEM 1.5 shmem_barrier_all.
 */
SHMEMD_FN int shmemd_barrier_all(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_barrier_all(ctx, SHMEMDI_CALLER(BARRIER), shmemd_thread());
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_barrier_all_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_barrier_all(ctx, SHMEMDI_CALLER(BARRIER), shmemd_warp());
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_barrier_all_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_barrier_all(ctx, SHMEMDI_CALLER(BARRIER), shmemd_block());
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_barrier_all_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	return shmemdi_barrier_all(ctx, SHMEMDI_CALLER(BARRIER), g);
}

#endif
