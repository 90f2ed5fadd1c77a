/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Ordering and completing operations, and the words for how far an operation has come. All
 * headers use these words for it, and no others. (Of a WQE or WQEBB, complete means less: its CQE
 * says success.)
 *
 *   posted        The stores have been executed, or the WQEs are published on a channel whose
 *                 doorbell may still be left to another thread. Nothing else is promised. A put_nbi
 *                 or get_nbi of a group is posted when it has returned in all threads of the group:
 *                 over mapped memory each thread copies a part, and returns without waiting for the
 *                 others. A put_signal of a group is posted when it has returned in the thread of
 *                 rank 0; the other threads may return earlier.
 *   reusable      The source buffer was read and may change. A blocking put returns with this.
 *   ordered       Visible at the target no later than anything sent to the same target afterwards.
 *                 By fence, and inside put_signal.
 *   visible       If a signal or flag was sent after the operation, a thread of the target that
 *                 acquires it (waits for it) then reads the new data.
 *   complete      Performed at the target, and results delivered here: by quiet. If any PE sends
 *                 a signal or flag after the quiet, by whichever transport, a thread of any PE
 *                 that acquires it then finds the data. A put can be such a flag only if it
 *                 writes exactly one aligned word of 4 or 8 bytes (wait.h).
 *   synchronised  All PEs of the team have arrived, and what they wrote or sent before is visible
 *                 to all: by sync (stores to own memory, and mapped puts) and barrier (also
 *                 everything sent, by NIC on the context's channel).
 *
 * Which thread of a group may announce what the group sent? After fence, quiet and barrier of a
 * warp, block or group: each of its threads, since each has fenced. After fence_leader and
 * quiet_leader: the thread of rank 0, and another one after a fence of its own. All of these begin
 * with a group sync, so the puts of all threads come before the fence. If one thread calls
 * shmemd_fence or shmemd_quiet for the group, the program syncs the group before it, after the puts
 * (shmemd_group_sync); then only that thread may send the signal, unless another one fences first.
 *
 * What a program does so that another PE may read data:
 *   Sender     put_signal; or put, fence, signal by the thread that fenced, on the same channel; or
 *              quiet, then any signal or flag. What other threads of a group put is covered if the
 *              group is synchronised between their puts and the fence. The last doorbell of the
 *              channel is not left deferred (channel.h).
 *   Receiver   a wait of signal.h, wait.h or wait_sets.h that returned SHMEMD_OK, a test that found
 *              what it asked for, or shmemd_signal_fetch; in this thread, or in another one before
 *              a group sync. Then ordinary loads.
 *
 * These words apply to ordinary loads, stores and atomics. A kernel that waits for data must not
 * read them through __ldg or a const __restrict__ pointer, which may use a cache that no wait
 * invalidates. A kernel that reads or writes them by TMA of its own calls shmemd_bulk_fence
 * (bulk.h) between the wait and that access. The calls of bulk.h contain this fence.
 */
#ifndef SHMEMD_ORDER_H
#define SHMEMD_ORDER_H

#include <shmem_dev/impl/order.h>
#include <shmem_dev/impl/traced.h>

/* Order: what this thread sent to a PE before the call becomes visible there before what it sends
 * to that PE afterwards; by NIC on the context's channel only. For put, p, signal_op, signals and
 * atomics. Promises no completion. Where a PE is reached both by stores and by NIC
 * (SHMEMD_CTX_MIXED_TRANSPORT) it waits for what was sent to that PE by NIC: a round trip.
 * For operations through contexts of one team: two teams may reach one PE by different transports,
 * and between their operations only a quiet makes an order: of either context, in a unit with the
 * NIC path.
 *
 * Callers  one thread. It covers also the operations of other threads that happened before this
 *          call (through a group sync or an acquire).
 * Errors   latched, and the order is not established then: those of shmemd_quiet, where it waits
 *          for a NIC. Check builds: also ERR_BAD_ARGUMENT: threads of the group are missing, or a
 *          thread calls that is not in it.
 * Source   OpenSHMEM 1.5 shmem_fence.
 */
SHMEMD_FN void shmemd_fence(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	shmemdi_fence(ctx, SHMEMDI_CALLER(FENCE), shmemd_thread(), SHMEMDI_ALL_SIGNAL);
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_fence_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	shmemdi_fence(ctx, SHMEMDI_CALLER(FENCE), shmemd_warp(), SHMEMDI_ALL_SIGNAL);
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_fence_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	shmemdi_fence(ctx, SHMEMDI_CALLER(FENCE), shmemd_block(), SHMEMDI_ALL_SIGNAL);
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_fence_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	shmemdi_fence(ctx, SHMEMDI_CALLER(FENCE), g, SHMEMDI_ALL_SIGNAL);
}

/* As shmemd_fence_warp, but only for what the warp's thread 0 sends after it: cheaper in a team
 * without mixed transport (SHMEMD_CTX_MIXED_TRANSPORT), since one thread fences for all. It covers
 * what all threads of the warp sent before. Another thread that signals afterwards calls
 * shmemd_fence first.
 *
 * Callers  all 32 threads of a warp, converged, with equal arguments.
 */
SHMEMD_FN void shmemd_fence_leader_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	shmemdi_fence(ctx, SHMEMDI_CALLER(FENCE), shmemd_warp(), SHMEMDI_LEADER_SIGNALS);
}

/* As above, called by all threads of a block; its thread of rank 0 signals. */
SHMEMD_FN void shmemd_fence_leader_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	shmemdi_fence(ctx, SHMEMDI_CALLER(FENCE), shmemd_block(), SHMEMDI_LEADER_SIGNALS);
}

/* As above, called by all threads of group g; its thread of rank 0 signals. */
SHMEMD_FN void shmemd_fence_leader_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	shmemdi_fence(ctx, SHMEMDI_CALLER(FENCE), g, SHMEMDI_LEADER_SIGNALS);
}

/* Complete all operations of this thread on all PEs of the context's team, nbi ones included; of
 * those by NIC, the ones sent on the context's channel. In a unit with SHMEMD_NO_NIC quiet and
 * barrier do not complete what other units sent by NIC, not even to PEs of this team: through a
 * context of a team with unmapped members, for instance, atomics may go by NIC to a mapped PE.
 *
 * Callers  one thread. It covers also the operations of other threads that happened before this
 *          call (through a group sync or an acquire).
 * Returns  SHMEMD_OK when complete. If a channel could not be completed, its status: ERR_TIMEOUT
 *          (SHMEMH_TIMEOUT passed: nothing is lost, call again), ERR_PEER, ERR_PATH, ERR_REFUSED or
 *          ERR_LOST; the operations on all other channels are complete. Else the first error that
 *          any thread of this PE latched, through any context, since shmemh_init or the last
 *          shmemh_error_clear; it stays latched, and all else is complete. Equal in all calling
 *          threads. The error record keeps the first error that any call of this PE recorded, which
 *          may be an earlier one that was returned and not latched. Check builds: also
 *          ERR_BAD_ARGUMENT: threads of the group are missing, or a thread calls that is not in it.
 * Source   OpenSHMEM 1.5 shmem_quiet. Two PEs that p, quiet and g cannot both miss the other's p
 *          (sequentially consistent fence).
 */
SHMEMD_FN int shmemd_quiet(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_quiet(ctx, SHMEMDI_CALLER(QUIET), shmemd_thread(), SHMEMDI_ALL_SIGNAL);
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_quiet_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_quiet(ctx, SHMEMDI_CALLER(QUIET), shmemd_warp(), SHMEMDI_ALL_SIGNAL);
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_quiet_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_quiet(ctx, SHMEMDI_CALLER(QUIET), shmemd_block(), SHMEMDI_ALL_SIGNAL);
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_quiet_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	return shmemdi_quiet(ctx, SHMEMDI_CALLER(QUIET), g, SHMEMDI_ALL_SIGNAL);
}

/* As shmemd_quiet_warp, but only the warp's thread 0 may send a signal or flag that announces the
 * data: cheaper in jobs without NICs, since one thread fences for all. It completes the
 * operations of all threads of the warp, whose own loads come after it, too. Another thread that
 * signals afterwards calls shmemd_fence first.
 *
 * Callers  all 32 threads of a warp, converged, with equal arguments.
 * Returns  as shmemd_quiet.
 */
SHMEMD_FN int shmemd_quiet_leader_warp(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_quiet(ctx, SHMEMDI_CALLER(QUIET), shmemd_warp(), SHMEMDI_LEADER_SIGNALS);
}

/* As above, called by all threads of a block; its thread of rank 0 signals. */
SHMEMD_FN int shmemd_quiet_leader_block(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_quiet(ctx, SHMEMDI_CALLER(QUIET), shmemd_block(), SHMEMDI_LEADER_SIGNALS);
}

/* As above, called by all threads of group g; its thread of rank 0 signals. */
SHMEMD_FN int shmemd_quiet_leader_group(const shmemd_ctx_t *ctx, shmemd_group_t g SHMEMD_SITE)
{
	return shmemdi_quiet(ctx, SHMEMDI_CALLER(QUIET), g, SHMEMDI_LEADER_SIGNALS);
}

#endif
