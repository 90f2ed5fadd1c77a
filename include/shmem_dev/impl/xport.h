/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Implements the public operations. To a PE whose heap is mapped at the constant stride an
 * operation is a few loads, stores and atomics, here (impl/op.h): atomics only in a team with
 * SHMEMD_CTX_SM_ATOMICS, puts with a signal only if shmemdi_signals_at_stride holds. For everything
 * else these functions call those of impl/any_peer.h, which check the arguments, select the
 * transport, and carry the operation out. But if they find that the peer of a put or get is mapped,
 * its data are copied here, and a signal after it is stored or added here.
 *
 * Functions return a status, and record errors; those of public functions that return nothing latch
 * the status. All threads of a group take the same branch: arguments are equal. On the NIC
 * path the first thread of a group posts for all of it. */
#ifndef SHMEMD_IMPL_XPORT_H
#define SHMEMD_IMPL_XPORT_H

#include <shmem_dev/impl/any_peer.h>
#include <shmem_dev/impl/poll.h>

/* A put, blocking if op.is_blocking. The group sync that ends a blocking one is shmemdi_put's.
 * Returns 0 if a check or the choice of the transport has refused it. */
SHMEMD_FN int shmemdi_put_start(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	shmemdi_transfer_t transfer;
	int64_t shift;

	if (shmemdi_uses_stride(ctx, op) & shmemdi_put_may_be_small(op) &&
	    shmemdi_put_small(ctx, op))
		return 1;
	if (shmemdi_uses_stride(ctx, op)) {
		shift = shmemdi_stride_shift(ctx, op.pe);
	} else {
		transfer = shmemdi_put_any(ctx, op, shmemdi_no_signal());
		if (transfer.outcome != SHMEMDI_MAPPED || op.nbytes == 0)
			return transfer.outcome != SHMEMDI_NOT_STARTED;
		shift = transfer.shift;
	}
	shmemdi_copy(op.g, shmemdi_shifted(op.sym, shift), op.local, op.nbytes, SHMEMDI_COPY_DEPTH);
	return 1;
}

SHMEMD_FN void shmemdi_put_unsynced(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	(void)shmemdi_put_start(ctx, op);
}

/* In check builds a put that is refused ends without the group sync: other threads of the group may
 * be in a call that has no sync to match it. */
SHMEMD_FN void shmemdi_put(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	int is_started;

	op.is_blocking = 1;
	is_started = shmemdi_put_start(ctx, op);
	if (SHMEMDI_CHECKING && !is_started)
		return;
	/* It orders memory, too: a load of src could otherwise read what another thread of the
	 * group writes there afterwards. */
	shmemd_group_sync(op.g);
}

/* If the PE is mapped (outcome MAPPED), the calling thread has copied its own part on return;
 * others of the group may still be copying. Else the status is that of the calling thread alone. */
SHMEMD_FN shmemdi_transfer_t shmemdi_get_unsynced(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	shmemdi_transfer_t transfer = {0, SHMEMDI_MAPPED, SHMEMD_OK};

	if (shmemdi_uses_stride(ctx, op) & shmemdi_op_is_small(op)) {
		shmemdi_get_small(ctx, op);
		return transfer;
	}
	if (shmemdi_uses_stride(ctx, op))
		transfer.shift = shmemdi_stride_shift(ctx, op.pe);
	else
		transfer = SHMEMDI_BY_POINTER(shmemdi_get_any)(SHMEMDI_WAIT_CTX(ctx),
							       shmemdi_target_ref(ctx, op.pe), op);
	if (transfer.outcome == SHMEMDI_MAPPED && op.nbytes)
		shmemdi_copy(op.g, op.local, shmemdi_shifted(op.sym, transfer.shift), op.nbytes,
			     SHMEMDI_COPY_DEPTH_MOST);
	return transfer;
}

SHMEMD_FN void shmemdi_get_nbi(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	shmemdi_transfer_t transfer = shmemdi_get_unsynced(ctx, op);

	if (transfer.outcome != SHMEMDI_MAPPED)
		shmemdi_latch(ctx, transfer.status);
}

SHMEMD_FN int shmemdi_get(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	shmemdi_transfer_t transfer;

	op.is_blocking = 1;
	transfer = shmemdi_get_unsynced(ctx, op);
	if (transfer.outcome == SHMEMDI_NOT_STARTED)
		return transfer.status;
	if (transfer.outcome == SHMEMDI_BY_NIC)
		return shmemdi_agree(op.g, transfer.status);
	shmemd_group_sync(op.g);
	return SHMEMD_OK;
}

/* One word */

/* A word of `width` bytes, accessed by the calling thread. */
SHMEMD_FN shmemdi_op_t shmemdi_op_word(shmemdi_call_t call, const void *sym, uint32_t width, int pe)
{
	return shmemdi_op(call, shmemd_thread(), sym, 0, width, pe);
}

/* Store or update a word. at_call: as shmemdi_word_any. */
SHMEMD_FN void shmemdi_store_or_update(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind,
				       uint64_t value, int at_call)
{
	if (shmemdi_word_uses_stride(ctx, op, kind))
		shmemdi_word_at(shmemdi_strided_at(ctx, op.sym, op.pe), op, kind, value);
	else
		(void)shmemdi_word_any(ctx, shmemdi_target(ctx, op.pe), op, kind, value, at_call);
}

/* The old value of a word, in *old unless the call fails. */
SHMEMD_FN int shmemdi_fetch(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind, void *old,
			    uint64_t value, uint64_t cond)
{
	shmemdi_result_t r;

	if (shmemdi_word_uses_stride(ctx, op, kind)) {
		r.value = shmemdi_fetch_at(shmemdi_strided_at(ctx, op.sym, op.pe), op, kind, value,
					   cond);
		shmemdi_bits_out(old, r.value, (uint32_t)op.nbytes);
		return SHMEMD_OK;
	}
	r = SHMEMDI_BY_POINTER(shmemdi_fetch_any)(
		SHMEMDI_WAIT_CTX(ctx), shmemdi_target_ref(ctx, op.pe), op, kind, value, cond);
	if (r.status == SHMEMD_OK)
		shmemdi_bits_out(old, r.value, (uint32_t)op.nbytes);
	return r.status;
}

SHMEMD_FN void shmemdi_p(const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t bits)
{
	shmemdi_store_or_update(ctx, op, SHMEMDI_WORD_STORE, bits, 0);
}

SHMEMD_FN int shmemdi_g(const shmemd_ctx_t *ctx, shmemdi_op_t op, void *value)
{
	return shmemdi_fetch(ctx, op, SHMEMDI_WORD_LOAD, value, 0, 0);
}

SHMEMD_FN void shmemdi_amo(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind, uint64_t value)
{
	shmemdi_store_or_update(ctx, op, kind, value, 0);
}

/* Add to a float or double. By NIC it is a loop of compare-and-swaps, and may fail. */
SHMEMD_FN int shmemdi_amo_float(const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t value)
{
	if (shmemdi_word_uses_stride(ctx, op, SHMEMDI_AMO_ADDF)) {
		shmemdi_word_at(shmemdi_strided_at(ctx, op.sym, op.pe), op, SHMEMDI_AMO_ADDF,
				value);
		return SHMEMD_OK;
	}
	return SHMEMDI_BY_POINTER(shmemdi_fetch_any)(SHMEMDI_WAIT_CTX(ctx),
						     shmemdi_target_ref(ctx, op.pe), op,
						     SHMEMDI_AMO_ADDF, value, 0)
		.status;
}

SHMEMD_FN int shmemdi_amo_fetch(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind, void *old,
				uint64_t value, uint64_t cond)
{
	return shmemdi_fetch(ctx, op, kind, old, value, cond);
}

/* Signals */

/* How a signal word changes (shmemdi_word_kind). */
SHMEMD_FN int shmemdi_signal_kind(shmemdi_signal_t sig)
{
	return sig.op == SHMEMD_SIGNAL_ADD ? SHMEMDI_AMO_ADD : SHMEMDI_WORD_STORE;
}

SHMEMD_FN void shmemdi_signal_op(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig)
{
	int status = shmemdi_check_enum(ctx, op.call, sig.op, SHMEMD_SIGNAL_ADD);

	op.sym = (char *)sig.word;
	op.nbytes = 8;
	if (!SHMEMDI_CHECKING || status == SHMEMD_OK)
		shmemdi_store_or_update(ctx, op, shmemdi_signal_kind(sig), sig.value, 1);
	else
		shmemdi_latch(ctx, status);
}

/* Send a signal ordered after all that this thread, or a thread that it synchronised with, has sent
 * to op.pe on the context's channel, and after its stores to any memory. By NIC: if the channel has
 * failed, send nothing. To a mapped PE in a team of mixed transport: send nothing if completing the
 * channel fails, also by its time limit. base: where this PE maps the heap of op.pe, or NULL if the
 * signal goes by NIC. The caller has checked the arguments.
 *
 * By NIC, too, the fence has the scope of the system: with SHMEMD_CTX_NIC_GPU_SCOPE the fences of
 * posting have that of this GPU, and the stores may have gone to other memory. */
SHMEMD_FN int shmemdi_signal_behind(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig,
				    char *base)
{
	int status = base ? shmemdi_flush_before_store(ctx, op.call, op.pe) : SHMEMD_OK;

	if (status != SHMEMD_OK)
		return status;
	shmemd_arch_fence_before_signal();
	if (base) {
		shmemdi_p2p_signal(shmemdi_p2p_at(ctx, base, sig.word), sig.value, sig.op);
		return SHMEMD_OK;
	}
	return shmemdi_word_any(ctx, shmemdi_target_by_nic(ctx, op.pe, ctx->channel),
				shmemdi_op_word(op.call, sig.word, 8, op.pe),
				shmemdi_signal_kind(sig), sig.value, 1);
}

/* Can the calling threads store the data and update the signal themselves, without shmemdi_put_any?
 * The PE's heap must be mapped at the constant stride. The team must not have mixed transport, in
 * which RDMA operations are completed before a signal is stored. For an ADD the team's atomics must
 * be those of the SMs. */
SHMEMD_FN int shmemdi_signals_at_stride(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					shmemdi_signal_t sig)
{
	return shmemdi_is_at_stride(ctx, op,
				    SHMEMDI_CHECKING ? 0
				    : sig.op == SHMEMD_SIGNAL_ADD
					    ? ctx->n_strided_amos
					    : ctx->n_strided_puts_with_signal);
}

/* A vote of the group: has shmemdi_put_any completed what had to be completed before data that are
 * followed by a stored signal? The leader has latched its status before the vote, so that a later
 * quiet of any of these threads returns it. */
SHMEMD_FN int shmemdi_agree_flushed(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				    shmemdi_transfer_t transfer)
{
	return !(ctx->flags & SHMEMD_CTX_MIXED_TRANSPORT) ||
	       !shmemd_group_any(op.g, transfer.status != SHMEMD_OK);
}

/* Copy the data of a put with a signal to a mapped PE; *shift gets the distance to its heap. To any
 * other PE post both. Returns 0 if there is nothing left to do: the NIC carries both, or the call
 * has failed. */
SHMEMD_FN int shmemdi_put_before_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					shmemdi_signal_t sig, int64_t *shift)
{
	int at_stride = shmemdi_signals_at_stride(ctx, op, sig);
	shmemdi_transfer_t transfer;

	if (at_stride & shmemdi_put_may_be_small(op) && shmemdi_put_small(ctx, op)) {
		*shift = shmemdi_stride_shift(ctx, op.pe);
		return 1;
	}
	if (at_stride) {
		*shift = shmemdi_stride_shift(ctx, op.pe);
	} else {
		transfer = shmemdi_put_any(ctx, op, sig);
		if (transfer.outcome == SHMEMDI_BY_NIC && op.is_blocking)
			shmemd_group_sync(op.g);
		if (transfer.outcome != SHMEMDI_MAPPED || !shmemdi_agree_flushed(ctx, op, transfer))
			return 0;
		*shift = transfer.shift;
		if (op.nbytes == 0)
			return 1;
	}
	shmemdi_copy(op.g, shmemdi_shifted(op.sym, *shift), op.local, op.nbytes,
		     SHMEMDI_COPY_DEPTH);
	return 1;
}

/* By stores the blocking and the nbi form are the same: after the group sync no thread reads src
 * any more. No sync after the signal: all threads would wait for the leader's fence, a round trip.
 * A variant in which only the first warp syncs if it alone copies gained nothing for 16 bytes by a
 * block (H200): the test for that case takes as long as the sync.
 *
 * The group sync makes the leader's fence cover the stores of all threads. Without it a slow lane's
 * data would still be in flight when the receiver sees the signal; without the fence, so would the
 * leader's own. */
SHMEMD_FN void shmemdi_put_and_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				      shmemdi_signal_t sig)
{
	int status = shmemdi_check_enum(ctx, op.call, sig.op, SHMEMD_SIGNAL_ADD);
	int64_t shift;

	if (SHMEMDI_CHECKING && status != SHMEMD_OK) {
		shmemdi_latch(ctx, status);
		return;
	}
	if (!shmemdi_put_before_signal(ctx, op, sig, &shift))
		return;
	shmemd_group_sync(op.g);
	if (op.g.rank != 0)
		return;
	shmemd_arch_fence_before_signal();
	shmemdi_p2p_signal(shmemdi_shifted(sig.word, shift), sig.value, sig.op);
}

SHMEMD_FN void shmemdi_put_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig)
{
	op.is_blocking = 1;
	shmemdi_put_and_signal(ctx, op, sig);
}

/* Ordered after everything that was sent on the channel. RDMA operations of one channel keep their
 * order; only stores to mapped memory need a fence. */
SHMEMD_FN void shmemdi_amo_ordered(const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t value)
{
	if (shmemdi_check_pe(ctx, op.call, op.pe) == SHMEMD_OK)
		shmemdi_fence_stores(ctx, ctx->flags, op.pe);
	shmemdi_store_or_update(ctx, op, SHMEMDI_AMO_ADD, value, op.nbytes == 8);
}

SHMEMD_FN void shmemdi_signal_ordered(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				      shmemdi_signal_t sig)
{
	if (shmemdi_check_pe(ctx, op.call, op.pe) == SHMEMD_OK && shmemdi_p2p_base(ctx, op.pe)) {
		int status = shmemdi_flush_before_store(ctx, op.call, op.pe);

		shmemdi_latch(ctx, status);
		if (status != SHMEMD_OK)
			return;
		shmemd_arch_fence_before_signal();
	}
	shmemdi_signal_op(ctx, op, sig);
}

/* An explicit channel. */

typedef struct shmemdi_explicit_t {
	shmemdi_chan_t chan; /* if has_nic */
	shmemdi_call_t call;
	int status; /* of the check of pe */
	int has_nic;
} shmemdi_explicit_t;

/* call.op SHMEMD_OP_NONE: for a call that returns no status, so that the check's is latched. */
SHMEMD_FN shmemdi_explicit_t shmemdi_explicit(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe)
{
	shmemdi_explicit_t q;

	q.call = call;
	q.status = shmemdi_check_pe(ctx, call, pe);
	q.has_nic = q.status == SHMEMD_OK && shmemdi_nic_is_connected(ctx);
	if (q.has_nic)
		q.chan = shmemdi_chan(ctx, pe, ctx->channel);
	if (call.op == SHMEMD_OP_NONE)
		shmemdi_latch(ctx, q.status);
	return q;
}

#endif
