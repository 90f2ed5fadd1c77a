/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* fence and quiet of a group, over both transports. */
#ifndef SHMEMD_IMPL_ORDER_H
#define SHMEMD_IMPL_ORDER_H

#include <shmem_dev/impl/xport.h>

/* Order. Each thread that may signal afterwards fences for itself after the group sync: its fence
 * then covers what all threads did before, and is followed by its own later stores. A fence by the
 * leader alone does not order the others' later stores in the PTX model: a release pattern is fence
 * and store of one thread (tests/sim/test_litmus.c, "barrier, fence of one, barrier, another's
 * signal"). So it is enough only where the leader alone signals. On an H200 a quiet of 1024 threads
 * takes 1.48 us if all fence, and 0.99 us if one does (bare kernels).
 *
 * A channel keeps its order by itself, and what was stored before a WQE is ordered before it by
 * this fence. What is left is stores after RDMA operations, where one PE is reached by both
 * transports. */

/* Which threads of a group may signal after its fence or quiet. A constant at each call. */
enum shmemdi_signallers { SHMEMDI_ALL_SIGNAL, SHMEMDI_LEADER_SIGNALS };

/* Is this thread at the end of the group? Without the rank, as shmemdi_leads: on GPUs a block of
 * several rows has several threads at the end, the last of each row. */
SHMEMD_FN int shmemdi_is_at_end(shmemd_group_t g)
{
	return g.bar == 0 ? shmemd_arch_may_end_block() : g.rank == g.size - 1;
}

SHMEMD_FN int shmemdi_may_signal(shmemd_group_t g, int signallers)
{
	return signallers == SHMEMDI_ALL_SIGNAL || shmemdi_leads(g);
}

SHMEMD_FN void shmemdi_fence(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			     int signallers)
{
	shmemdi_quiet_t flush = {call, g, shmemdi_limit_default(ctx, SHMEMDI_ANY_PE),
				 SHMEMDI_CHECKING && !shmemdi_is_filled(ctx) ? 0 : ctx->channel, 1};
	int status = shmemdi_check_group(ctx, call, g);

	if (SHMEMDI_CHECKING && status != SHMEMD_OK) {
		shmemdi_latch(ctx, status);
		return;
	}
	shmemd_group_sync(g);
	if (shmemdi_may_signal(g, signallers))
		shmemd_arch_fence_order();
	if (!(ctx->flags & SHMEMD_CTX_MIXED_TRANSPORT))
		return;
	status = shmemdi_quiet_nic_part(ctx, flush);
	shmemdi_latch(ctx, status);
	shmemd_group_sync(g);
	shmemd_arch_fence_order();
}

/* Read the error latch, relaxed: this thread's own errors, and those that happened before. Before a
 * fence or wait, whose latency then hides this load's. */
SHMEMD_FN uint32_t shmemdi_latch_peek(const shmemd_ctx_t *ctx)
{
	return shmemd_arch_ld_relaxed_u32(&ctx->latch->status);
}

/* The status, which is the same in all threads of the group, or else what any of them peeked; also
 * a group sync. A latched status stays, so that reading it again finds it. One vote for both. */
SHMEMD_FN int shmemdi_latch_agree(const shmemd_ctx_t *ctx, shmemd_group_t g, int status,
				  uint32_t peeked)
{
	if (g.bar == SHMEMDI_BAR_NONE)
		return status ? status : (int)peeked;
	if (!shmemd_group_any(g, ((uint32_t)status | peeked) != 0))
		return SHMEMD_OK;
	return status ? status : (int)shmemd_arch_ld_relaxed_u32(&ctx->latch->status);
}

/* Complete what NICs carry; the same status in all threads. Every thread fences at the end: it may
 * store to mapped memory next, and other threads have polled the completions. */
SHMEMD_FN int shmemdi_quiet_nic(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				shmemdi_limit_t limit, uint32_t k)
{
	shmemdi_quiet_t all = {call, g, limit, k, 0};
	int status;

	status = shmemdi_agree(g, shmemdi_quiet_nic_part(ctx, all));
	shmemd_arch_fence_order();
	return status;
}

/* The later loads of all threads are ordered even if only the leader has fenced: the group sync at
 * the end orders them after its sequentially consistent fence (tests/sim/test_litmus.c, "SB
 * fence.sc of another thread, between barriers"). */
SHMEMD_FN int shmemdi_quiet(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			    int signallers)
{
	uint32_t peeked = 0;
	int status = shmemdi_check_group(ctx, call, g);

	if (SHMEMDI_CHECKING && status != SHMEMD_OK)
		return status;
	shmemdi_check_sources(ctx, call);
	/* After the group sync the latch has the errors of all threads. If all threads fence, all
	 * load it: to choose one would take longer. Else a thread at the end of the group loads it:
	 * the leader, usually in another warp of a block, does not wait for that load. */
	shmemd_group_sync(g);
	if (signallers == SHMEMDI_ALL_SIGNAL || shmemdi_is_at_end(g))
		peeked = shmemdi_latch_peek(ctx);
	if (shmemdi_may_signal(g, signallers))
		shmemd_arch_fence_quiet();
	/* Never true. It ends the basic block, as in shmemdi_sync_steps: else a unit without the
	 * NIC path tests what was loaded before the fence. In others the next test ends it. */
	if (!SHMEMDI_WITH_NIC && SHMEMD_ARCH_UNLIKELY(shmemd_arch_opaque_zero()))
		return SHMEMD_OK;
	/* This case has a vote of its own, since one on SHMEMD_OK takes fewer instructions. */
	if (!shmemdi_nic_is_connected(ctx))
		return shmemdi_latch_agree(ctx, g, SHMEMD_OK, peeked);
	status = shmemdi_quiet_nic(ctx, call, g, shmemdi_limit_default(ctx, SHMEMDI_ANY_PE),
				   ctx->channel);
	return shmemdi_latch_agree(ctx, g, status, peeked);
}

#endif
