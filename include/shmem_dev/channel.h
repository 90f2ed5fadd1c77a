/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Explicit channels, for kernels that choose which threads share a queue, when doorbells are rung
 * and which completions are waited for.
 *
 * A job has SHMEMH_CHANNELS channels to each PE (shmemh_channels). Each is a first-in first-out
 * queue by NIC: what one thread, or threads that synchronised, send on one channel through contexts
 * of one team arrives in that order. Different channels are not ordered. A context works on one of
 * them to each PE: channel 0, or the one of shmemd_ctx_channel. All other headers work on the
 * context's channel, too, but for the flags of sync.h, which are always sent on channel 0.
 *
 * To a PE whose memory is mapped, puts and SET signals are stores, which need no doorbell and no
 * poll. ADD is an atomic of the SM only with SHMEMD_CTX_SM_ATOMICS, that is, never in a team with a
 * member that is not mapped; otherwise it is posted to the channel, also for a mapped PE, and its
 * doorbell follows `when`. The data of a put_signal with ADD are then posted, too.
 *
 * Every call here works for mapped PEs: an add or a signal of this header follows the earlier calls
 * of the thread, and of threads that it synchronised with. Without a fence, puts have no order
 * among themselves, and p, signal_op and atomics have none after puts.
 *
 *	shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, expert);
 *	shmemd_channel_put_nbi_warp(&q, dst, src, nbytes, pe, SHMEMD_RING_DEFERRED);
 *	...
 *	__syncwarp();                                    the add follows the stores of all lanes
 *	if (lane == 0)
 *		shmemd_channel_add_u64(&q, count, 1, pe, SHMEMD_RING_NOW);
 */
#ifndef SHMEMD_CHANNEL_H
#define SHMEMD_CHANNEL_H

#include <shmem_dev/impl/xport.h>
#include <shmem_dev/impl/traced.h>

/* The same context on channel k.
 *
 * Callers  any thread. Keep the result in a local variable; it costs registers only where used.
 * k        0 .. shmemh_channels - 1; any number if the job has none.
 * Returns  the context; in check builds on channel 0 if k is out of range (recorded, latched), and
 *          one that later calls refuse if the context is refused.
 * Source   OpenSHMEM 1.5 contexts.
 */
SHMEMD_FN shmemd_ctx_t shmemd_ctx_channel(const shmemd_ctx_t *ctx, uint32_t k SHMEMD_SITE)
{
#ifdef SHMEMD_CHECK
	if (shmemdi_check_ctx(ctx, SHMEMDI_CALLER(NONE)) != SHMEMD_OK)
		return shmemdi_no_ctx();
#endif
	shmemd_ctx_t copy = *ctx;
	int status = SHMEMD_OK;

	if (ctx->n_channels)
		status = shmemdi_check_channel(ctx, SHMEMDI_CALLER(NONE), k);
	shmemdi_latch(ctx, status);
	copy.channel = status ? 0 : k;
	return copy;
}

/* Write nbytes from src to dst on PE pe; do not wait for completion.
 *
 * Callers  all 32 threads of a warp, converged, with equal arguments.
 * dst, src, nbytes, pe  as shmemd_putmem. By NIC, src in the symmetric heap is read by the NIC,
 *          or, up to SHMEMH_IB_INLINE bytes, by the calling warp; other memory travels within WQEs,
 *          28 bytes each.
 * when     SHMEMD_RING_DEFAULT, _NOW or _DEFERRED. After _DEFERRED the data go out with the next
 *          call on this channel that rings, or when a thread waits for a completion of this channel
 *          (quiet, shmemd_channel_poll) or, if less than half of the queue is free, for space of it
 *          (shmemd_channel_space). A wait for a signal rings no doorbell: if both PEs defer all
 *          their posts and then wait for each other's signal, neither is sent.
 * Returns  when posted; src is reusable and the data complete at pe after quiet.
 * Errors   latched, as shmemd_putmem, but not ERR_TIMEOUT; check builds: ERR_BAD_ARGUMENT also for
 *          `when`. By NIC ERR_REFUSED, ERR_PATH, ERR_PEER, ERR_LOST: the channel had failed before
 *          the call, or failed while the call waited for space in its queue.
 */
SHMEMD_FN void shmemd_channel_put_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
					   size_t nbytes, int pe, int when SHMEMD_SITE)
{
	shmemdi_put_unsynced(ctx, shmemdi_op_when(shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_warp(),
							     dst, src, nbytes, pe),
						  when));
}

/* Add to *dst on PE pe, ordered after all that was sent on this channel before; the old value is
 * not returned.
 *
 * Callers  one thread.
 * dst      symmetric address, aligned to its size.
 * pe       0 .. n_pes - 1 of the context's team.
 * when     as shmemd_channel_put_nbi_warp.
 * Returns  when posted; complete at pe after quiet.
 * Errors   latched, as shmemd_atomic_add_u32.
 */
SHMEMD_FN void shmemd_channel_add_u32(const shmemd_ctx_t *ctx, uint32_t *dst, uint32_t value,
				      int pe, int when SHMEMD_SITE)
{
	shmemdi_op_t op = shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe);

	shmemdi_amo_ordered(ctx, shmemdi_op_when(op, when), value);
}

/* As above, 64 bits. */
SHMEMD_FN void shmemd_channel_add_u64(const shmemd_ctx_t *ctx, uint64_t *dst, uint64_t value,
				      int pe, int when SHMEMD_SITE)
{
	shmemdi_op_t op = shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe);

	shmemdi_amo_ordered(ctx, shmemdi_op_when(op, when), value);
}

/* Set the signal word sig on PE pe, ordered after all that was sent on this channel before.
 *
 * Callers  one thread.
 * sig, value, pe  as shmemd_signal_op with SHMEMD_SIGNAL_SET.
 * when     as shmemd_channel_put_nbi_warp.
 * Returns  when posted.
 * Errors   latched, as shmemd_signal_op.
 */
SHMEMD_FN void shmemd_channel_signal_set(const shmemd_ctx_t *ctx, uint64_t *sig, uint64_t value,
					 int pe, int when SHMEMD_SITE)
{
	shmemdi_op_t op = shmemdi_op_word(SHMEMDI_CALLER(SIGNAL), sig, 8, pe);

	shmemdi_signal_ordered(ctx, shmemdi_op_when(op, when),
			       shmemdi_signal(sig, value, SHMEMD_SIGNAL_SET));
}

/* Ring the doorbell for all that is posted to PE pe on this channel. Does nothing if no NIC is used
 * or the doorbell has been rung for all of it.
 *
 * Callers  one thread.
 * pe       0 .. n_pes - 1 of the context's team.
 * Errors   check builds: ERR_BAD_PE, latched, and nothing is rung.
 */
SHMEMD_FN void shmemd_channel_ring(const shmemd_ctx_t *ctx, int pe SHMEMD_SITE)
{
	shmemdi_explicit_t q = shmemdi_explicit(ctx, SHMEMDI_CALLER(NONE), pe);

	if (q.has_nic)
		shmemdi_ring_published(&q.chan);
}

/* How much has been posted to PE pe on this channel: WQEBBs of 64 bytes since the job began, mod
 * 2^47.
 *
 * Callers  any thread.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  a place in the queue for shmemd_channel_poll. It covers what the caller has posted, and
 *          what other threads posted in calls that happened before this one. 0: no NIC is used, or
 *          in check builds pe is out of range (latched).
 */
SHMEMD_FN uint64_t shmemd_channel_posted(const shmemd_ctx_t *ctx, int pe SHMEMD_SITE)
{
	shmemdi_explicit_t q = shmemdi_explicit(ctx, SHMEMDI_CALLER(NONE), pe);

	return q.has_nic ? shmemdi_cq_place(&q.chan) : 0;
}

/* Has the NIC completed everything before a place? If so, sources are reusable; only a quiet makes
 * the data visible at pe. Reads the CQEs that are there, unless another thread is doing so, and
 * rings the doorbell if it does not cover the place yet. Every 2048th call that finds something
 * incomplete (in the emulator every 64th), of this function or of shmemd_channel_space, also
 * carries out a pending switch order, and then takes as long as the switch. So a loop of these
 * calls ends although no service kernel can run.
 *
 * Callers  one thread.
 * pe       0 .. n_pes - 1 of the context's team.
 * place    from shmemd_channel_posted.
 * is_done  receives 1: sources of puts before place are reusable and results of gets are there;
 *          0: not yet.
 * Returns  SHMEMD_OK; ERR_REFUSED, ERR_PATH, ERR_PEER, ERR_LOST: the channel failed, and why. Check
 *          builds: ERR_BAD_PE.
 */
SHMEMD_FN int shmemd_channel_poll(const shmemd_ctx_t *ctx, int pe, uint64_t place,
				  int *is_done SHMEMD_SITE)
{
	shmemdi_explicit_t q = shmemdi_explicit(ctx, SHMEMDI_CALLER(QUIET), pe);

	*is_done = q.status == SHMEMD_OK;
	if (q.has_nic)
		q.status = shmemdi_cq_poll_place(&q.chan, q.call, place, is_done);
	if (*is_done)
		shmemdi_sources_drop();
	return q.status;
}

/* quiet for what was sent to one PE on this channel.
 *
 * Callers  one thread.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  as shmemd_quiet, of this channel alone, but never a latched status of an earlier call.
 *          Check builds: also ERR_BAD_PE.
 */
SHMEMD_FN int shmemd_channel_quiet(const shmemd_ctx_t *ctx, int pe SHMEMD_SITE)
{
	shmemdi_explicit_t q = shmemdi_explicit(ctx, SHMEMDI_CALLER(QUIET), pe);

	shmemdi_check_sources(ctx, q.call);
	shmemd_arch_fence_quiet();
	if (q.has_nic)
		q.status = shmemdi_flush_channel_to(ctx->device_copy, q.call, pe, ctx->channel);
	shmemd_arch_fence_order();
	return q.status;
}

/* WQEBBs that can be posted to PE pe on this channel without waiting, if no other thread posts. A
 * signal or an add takes one, a put from the symmetric heap one for each part that lies in one
 * memory region at both ends and has at most 1 GiB, a put from other memory one for each 28 bytes;
 * a put with a signal one more. With less than half of the queue free it rings a deferred doorbell,
 * so that a loop that waits for up to half a queue ends.
 *
 * Callers  one thread.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  a number up to SHMEMH_IB_DEPTH; UINT32_MAX: no NIC is used, the channel has failed and
 *          sends nothing, or in check builds pe is out of range (latched).
 */
SHMEMD_FN uint32_t shmemd_channel_space(const shmemd_ctx_t *ctx, int pe SHMEMD_SITE)
{
	shmemdi_explicit_t q = shmemdi_explicit(ctx, SHMEMDI_CALLER(NONE), pe);

	return q.has_nic ? shmemdi_cq_space(&q.chan, q.call) : UINT32_MAX;
}

#endif
