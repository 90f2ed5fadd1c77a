/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Implements the public operations: check the arguments, select the transport, execute. A peer
 * whose memory is mapped is reached by loads and stores, another one by RDMA.
 *
 * Functions return a status, and record errors; those of public functions that return nothing latch
 * the status. All threads of a group take the same branch: arguments are equal. On the NIC
 * path the first thread of a group posts for all of it. */
#ifndef SHMEMD_IMPL_XPORT_H
#define SHMEMD_IMPL_XPORT_H

#include <shmem_dev/impl/entry.h>
#include <shmem_dev/impl/check.h>
#include <shmem_dev/impl/poll.h>

/* Can a NIC reach the members? All or none: the runtime connects all of them. */
SHMEMD_FN int shmemdi_has_nic(const shmemd_ctx_t *ctx)
{
	return SHMEMDI_HAS_NIC && (ctx->flags & SHMEMD_CTX_NIC);
}

/* An error of selecting a transport. Apart, since each call site would have the arguments. */
SHMEMD_FN_COLD int shmemdi_no_way(const shmemd_ctx_t *self, shmemdi_call_t call, int status, int pe,
				  const void *sym)
{
	return shmemdi_record(self, call, status, pe, sym, 0, 0);
}

/* Select the transport: *base gets the address at which this PE maps pe's heap, or NULL for the
 * NIC. */
SHMEMD_FN int shmemdi_select(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym, int pe,
			     char **base)
{
	*base = 0;
	if (SHMEMDI_HAS_NIC && !shmemdi_may_be_mapped(ctx, pe))
		return SHMEMD_OK;
	*base = shmemdi_p2p_base_in_range(ctx, pe);
	if (*base || shmemdi_has_nic(ctx))
		return SHMEMD_OK;
	return shmemdi_no_way(ctx->self, call, SHMEMD_ERR_UNREACHABLE, pe, sym);
}

/* Check the arguments of an operation, and select its transport: *base as shmemdi_select. */
SHMEMD_FN int shmemdi_reach(const shmemd_ctx_t *ctx, shmemdi_op_t op, char **base)
{
	int status = shmemdi_check_op(ctx, op);

	if (status == SHMEMD_OK)
		status = shmemdi_check_when(ctx, op.call, op.when);
	if (status == SHMEMD_OK)
		status = shmemdi_check_pe(ctx, op.call, op.pe);
	if (status == SHMEMD_OK)
		status = shmemdi_check_range(ctx, op.call, op.sym, op.nbytes);
	return status ? status : shmemdi_select(ctx, op.call, op.sym, op.pe, base);
}

/* The same for a word. */
SHMEMD_FN int shmemdi_reach_word(const shmemd_ctx_t *ctx, shmemdi_op_t op, char **base)
{
	int status = shmemdi_check_when(ctx, op.call, op.when);

	if (status == SHMEMD_OK)
		status = shmemdi_check_pe(ctx, op.call, op.pe);
	if (status == SHMEMD_OK)
		status = shmemdi_check_word(ctx, op.call, op.sym, (uint32_t)op.nbytes);
	return status ? status : shmemdi_select(ctx, op.call, op.sym, op.pe, base);
}

/* A word that will be read-modify-written: in the whole team by SMs, or in the whole team by the
 * target's NIC, its own PE included; the two are not atomic to each other. base: as mapped. */
SHMEMD_FN int shmemdi_select_amo(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym,
				 int pe, char **base)
{
	if (ctx->flags & SHMEMD_CTX_SM_ATOMICS)
		return SHMEMD_OK;
	*base = 0;
	if (shmemdi_has_nic(ctx))
		return SHMEMD_OK;
	return shmemdi_no_way(ctx->self, call, SHMEMD_ERR_NO_ATOMICS, pe, sym);
}

SHMEMD_FN int shmemdi_reach_amo(const shmemd_ctx_t *ctx, shmemdi_op_t op, char **base)
{
	int status = shmemdi_reach_word(ctx, op, base);

	return status ? status : shmemdi_select_amo(ctx, op.call, op.sym, op.pe, base);
}

/* The distance to the heap of a mapped PE, seen at base. */
SHMEMD_FN int64_t shmemdi_base_shift(const shmemd_ctx_t *ctx, const char *base)
{
	return (int64_t)((uintptr_t)base - (uintptr_t)ctx->heap);
}

/* Put to any PE. Returns 1 if it is mapped, and *shift is the distance to its heap. Else all is
 * done: by NIC, or refused. */
SHMEMD_FN int shmemdi_put_any(const shmemd_ctx_t *ctx, shmemdi_op_t op, int64_t *shift)
{
	char *base;
	int status = shmemdi_reach(ctx, op, &base);

	if (status == SHMEMD_OK)
		shmemdi_keep_source(op);
	if (status == SHMEMD_OK && base) {
		*shift = shmemdi_base_shift(ctx, base);
		return 1;
	}
	if (status == SHMEMD_OK)
		status = shmemdi_by_nic_put(shmemdi_ep(ctx, op.pe), op, shmemdi_no_signal());
	shmemdi_latch(ctx, status);
	return 0;
}

SHMEMD_FN void shmemdi_put_nbi(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	int64_t shift = 0;

	if (shmemdi_uses_stride(ctx, op))
		shift = shmemdi_stride_shift(ctx, op.pe);
	else if (!shmemdi_put_any(ctx, op, &shift))
		return;
	shmemdi_put_part(op, shift);
}

SHMEMD_FN void shmemdi_put(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	op.is_blocking = 1;
	shmemdi_put_nbi(ctx, op);
	/* It orders memory, too: a load of src could otherwise read what another thread of the
	 * group writes there afterwards. */
	shmemd_group_sync(op.g);
}

SHMEMD_FN void shmemdi_get_nbi(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	int64_t shift;
	int status;
	char *base;

	if (shmemdi_uses_stride(ctx, op)) {
		shift = shmemdi_stride_shift(ctx, op.pe);
	} else {
		status = shmemdi_reach(ctx, op, &base);
		if (status != SHMEMD_OK || !base) {
			if (status == SHMEMD_OK)
				status = shmemdi_by_nic_get(ctx, op);
			shmemdi_latch(ctx, status);
			return;
		}
		shift = shmemdi_base_shift(ctx, base);
	}
	shmemdi_get_part(op, shift);
}

SHMEMD_FN int shmemdi_get(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	int64_t shift;
	int status;
	char *base;

	op.is_blocking = 1;
	if (shmemdi_uses_stride(ctx, op)) {
		shift = shmemdi_stride_shift(ctx, op.pe);
	} else {
		status = shmemdi_reach(ctx, op, &base);
		if (status != SHMEMD_OK)
			return status;
		if (!base)
			return shmemdi_agree(op.g, shmemdi_by_nic_get(ctx, op));
		shift = shmemdi_base_shift(ctx, base);
	}
	shmemdi_get_part(op, shift);
	shmemd_group_sync(op.g);
	return SHMEMD_OK;
}

/* One word */

/* A word of `width` bytes, accessed by the calling thread. */
SHMEMD_FN shmemdi_op_t shmemdi_op_word(shmemdi_call_t call, const void *sym, uint32_t width, int pe)
{
	return shmemdi_op(call, shmemd_thread(), sym, 0, width, pe);
}

SHMEMD_FN void shmemdi_p(const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t bits)
{
	char *base;
	int status;

	if (shmemdi_uses_stride(ctx, op)) {
		shmemdi_p2p_store(shmemdi_strided_at(ctx, op.sym, op.pe), bits,
				  (uint32_t)op.nbytes);
		return;
	}
	status = shmemdi_reach_word(ctx, op, &base);
	if (status == SHMEMD_OK && base)
		shmemdi_p2p_store(shmemdi_p2p_at(ctx, base, op.sym), bits, (uint32_t)op.nbytes);
	else if (status == SHMEMD_OK)
		status = shmemdi_by_nic_word(shmemdi_ep(ctx, op.pe), op, SHMEMDI_AMO_STORE, bits);
	shmemdi_latch(ctx, status);
}

SHMEMD_FN int shmemdi_g(const shmemd_ctx_t *ctx, shmemdi_op_t op, void *value)
{
	char *base;
	shmemdi_result_t r = {0, SHMEMD_OK};

	if (shmemdi_uses_stride(ctx, op)) {
		r.value = shmemdi_p2p_load(shmemdi_strided_at(ctx, op.sym, op.pe),
					   (uint32_t)op.nbytes);
		shmemdi_bits_out(value, r.value, (uint32_t)op.nbytes);
		return SHMEMD_OK;
	}
	r.status = shmemdi_reach_word(ctx, op, &base);
	if (r.status == SHMEMD_OK)
		shmemdi_sources_drop();
	if (r.status == SHMEMD_OK && base)
		r.value = shmemdi_p2p_load(shmemdi_p2p_at(ctx, base, op.sym), (uint32_t)op.nbytes);
	else if (r.status == SHMEMD_OK)
		r = shmemdi_by_nic_fetch(ctx, op, SHMEMDI_AMO_FETCH, 0, 0);
	if (r.status == SHMEMD_OK)
		shmemdi_bits_out(value, r.value, (uint32_t)op.nbytes);
	return r.status;
}

/* Signals */

SHMEMD_FN int shmemdi_reach_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig,
				   char **base)
{
	int status = shmemdi_check_enum(ctx, op.call, sig.op, SHMEMD_SIGNAL_ADD);

	if (status != SHMEMD_OK)
		return status;
	op.sym = (char *)sig.word;
	op.nbytes = 8;
	if (sig.op == SHMEMD_SIGNAL_ADD)
		return shmemdi_reach_amo(ctx, op, base);
	return shmemdi_reach_word(ctx, op, base);
}

/* Before stores to mapped memory of a PE that is also sent RDMA operations: complete what this
 * thread, or a thread that synchronised with it, has sent. Costs a round trip only if there was
 * anything. */
SHMEMD_FN int shmemdi_flush_before_store(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe)
{
	if (!(ctx->flags & SHMEMD_CTX_MIXED_TRANSPORT))
		return SHMEMD_OK;
	return shmemdi_by_nic_flush(ctx->self, call, pe, ctx->channel);
}

SHMEMD_FN void shmemdi_signal_op(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig)
{
	char *base;
	int status;

	if (shmemdi_uses_stride(ctx, op) &&
	    (sig.op != SHMEMD_SIGNAL_ADD || ctx->flags & SHMEMD_CTX_SM_ATOMICS)) {
		shmemdi_p2p_signal(shmemdi_strided_at(ctx, sig.word, op.pe), sig.value, sig.op);
		return;
	}
	status = shmemdi_reach_signal(ctx, op, sig, &base);
	if (status == SHMEMD_OK && base)
		shmemdi_p2p_signal(shmemdi_p2p_at(ctx, base, sig.word), sig.value, sig.op);
	else if (status == SHMEMD_OK && sig.op == SHMEMD_SIGNAL_ADD)
		status =
			shmemdi_by_nic_word(shmemdi_ep(ctx, op.pe), op, SHMEMDI_AMO_ADD, sig.value);
	else if (status == SHMEMD_OK)
		status = shmemdi_by_nic_word(shmemdi_ep(ctx, op.pe), op, SHMEMDI_AMO_STORE,
					     sig.value);
	shmemdi_latch(ctx, status);
}

/* Data and signal: nothing is written if the signal could not follow. The data take the signal's
 * transport. Otherwise an RDMA atomic could overtake earlier stores, and a store could overtake
 * earlier RDMA writes. */
SHMEMD_FN int shmemdi_reach_put_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				       shmemdi_signal_t sig, char **base)
{
	int status = shmemdi_check_enum(ctx, op.call, sig.op, SHMEMD_SIGNAL_ADD);

	if (status == SHMEMD_OK)
		status = shmemdi_reach(ctx, op, base);
	if (status == SHMEMD_OK)
		status = shmemdi_check_word(ctx, op.call, sig.word, 8);
	if (status != SHMEMD_OK || sig.op != SHMEMD_SIGNAL_ADD)
		return status;
	return shmemdi_select_amo(ctx, op.call, sig.word, op.pe, base);
}

/* Before an atomic that stands for a signal: order this thread's stores to mapped memory of pe, and
 * those of threads that it has synchronised with. Also if the atomic goes by NIC: the fences of its
 * posting may have the scope of this GPU, and the stores went to another one. */
SHMEMD_FN void shmemdi_fence_stores(const shmemd_ctx_t *ctx, int pe)
{
	if (ctx->flags & (SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_MIXED_TRANSPORT) &&
	    shmemdi_p2p_base(ctx, pe))
		shmemd_arch_fence_before_signal();
}

/* Send a signal ordered after all that this thread, or a thread that it synchronised with, has sent
 * to op.pe on the context's channel, and after its stores to any memory. If the channel has failed,
 * send nothing. base: where this PE maps the heap of op.pe, or NULL if the signal goes by NIC. The
 * caller has checked the arguments.
 *
 * By NIC, too, the fence has the scope of the system: with SHMEMD_CTX_QUEUES_ON_GPU the fences of
 * posting have that of this GPU, and the stores may have gone to other memory. */
SHMEMD_FN int shmemdi_signal_behind(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig,
				    char *base)
{
	int kind = sig.op == SHMEMD_SIGNAL_ADD ? SHMEMDI_AMO_ADD : SHMEMDI_AMO_STORE;
	int status = base ? shmemdi_flush_before_store(ctx, op.call, op.pe) : SHMEMD_OK;

	if (status != SHMEMD_OK)
		return status;
	shmemd_arch_fence_before_signal();
	if (!base)
		return shmemdi_by_nic_word(shmemdi_ep(ctx, op.pe),
					   shmemdi_op_word(op.call, sig.word, 8, op.pe), kind,
					   sig.value);
	shmemdi_p2p_signal(shmemdi_p2p_at(ctx, base, sig.word), sig.value, sig.op);
	return SHMEMD_OK;
}

/* As shmemdi_put_any, with a signal. If the signal is stored and the team has mixed transport, what
 * was sent by RDMA on this channel before is completed first, or nothing is sent. */
SHMEMD_FN int shmemdi_put_signal_any(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig,
				     int64_t *shift)
{
	char *base;
	int status = shmemdi_reach_put_signal(ctx, op, sig, &base);

	if (status == SHMEMD_OK)
		shmemdi_keep_source(op);
	if (status == SHMEMD_OK && !base) {
		if (sig.op == SHMEMD_SIGNAL_ADD) /* a PE that is mapped is reached by NIC for it */
			shmemdi_fence_stores(ctx, op.pe);
		status = shmemdi_by_nic_put(shmemdi_ep(ctx, op.pe), op, sig);
		shmemdi_latch(ctx, status);
		if (op.is_blocking)
			shmemd_group_sync(op.g);
		return 0;
	}
	if (status == SHMEMD_OK && ctx->flags & SHMEMD_CTX_MIXED_TRANSPORT) {
		/* The leader latches its status before the vote, so that all threads find it. */
		if (op.g.rank == 0) {
			status = shmemdi_by_nic_flush(ctx->self, op.call, op.pe, ctx->channel);
			shmemdi_latch(ctx, status);
		}
		if (shmemd_group_any(op.g, status != SHMEMD_OK))
			return 0;
	}
	if (status == SHMEMD_OK) {
		*shift = shmemdi_base_shift(ctx, base);
		return 1;
	}
	shmemdi_latch(ctx, status);
	return 0;
}

/* Is the heap of the PE mapped at the constant stride, and nothing to be flushed before? */
SHMEMD_FN int shmemdi_signals_at_stride(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					shmemdi_signal_t sig)
{
	uint32_t flags = ctx->flags & (SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_MIXED_TRANSPORT);

	if (sig.op == SHMEMD_SIGNAL_ADD ? flags != SHMEMD_CTX_SM_ATOMICS
					: flags & SHMEMD_CTX_MIXED_TRANSPORT)
		return 0;
	return shmemdi_uses_stride(ctx, op);
}

/* By stores the blocking and the nbi form are the same: after the group sync no thread reads src
 * any more. No sync after the signal: all threads would wait for the leader's fence, a round trip.
 * Leaving the sync to the first warp where it alone copies gained nothing for 16 bytes by a block
 * (H200): the tests take as long.
 *
 * The group sync makes the leader's fence cover the stores of all threads. Without it a slow lane's
 * data would still be in flight when the receiver sees the signal; without the fence, so would the
 * leader's own. */
SHMEMD_FN void shmemdi_put_signal_nbi(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				      shmemdi_signal_t sig)
{
	int64_t shift = 0;

	if (shmemdi_signals_at_stride(ctx, op, sig))
		shift = shmemdi_stride_shift(ctx, op.pe);
	else if (!shmemdi_put_signal_any(ctx, op, sig, &shift))
		return;
	shmemdi_put_part(op, shift);
	shmemd_group_sync(op.g);
	if (op.g.rank != 0)
		return;
	shmemd_arch_fence_before_signal();
	shmemdi_p2p_signal(shmemdi_shifted(sig.word, shift), sig.value, sig.op);
}

SHMEMD_FN void shmemdi_put_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig)
{
	op.is_blocking = 1;
	shmemdi_put_signal_nbi(ctx, op, sig);
}

/* Atomics */

SHMEMD_FN int shmemdi_red_at(char *to, shmemdi_op_t op, int kind, uint64_t value)
{
	if (op.nbytes == 4)
		shmemdi_p2p_red4(to, kind, (uint32_t)value);
	else
		shmemdi_p2p_red8(to, kind, value);
	return SHMEMD_OK;
}

SHMEMD_FN int shmemdi_amo(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind, uint64_t value)
{
	char *base;
	int status;

	if (shmemdi_uses_stride(ctx, op) && ctx->flags & SHMEMD_CTX_SM_ATOMICS)
		return shmemdi_red_at(shmemdi_strided_at(ctx, op.sym, op.pe), op, kind, value);
	status = shmemdi_reach_amo(ctx, op, &base);
	if (status != SHMEMD_OK)
		return status;
	if (!base)
		return shmemdi_by_nic_amo(shmemdi_ep(ctx, op.pe), op, kind, value);
	return shmemdi_red_at(shmemdi_p2p_at(ctx, base, op.sym), op, kind, value);
}

SHMEMD_FN int shmemdi_amo_fetch(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind, void *old,
				uint64_t value, uint64_t cond)
{
	char *base;
	shmemdi_result_t r = {0, SHMEMD_OK};

	r.status = shmemdi_reach_amo(ctx, op, &base);
	if (r.status == SHMEMD_OK && !base)
		r = shmemdi_by_nic_fetch(ctx, op, kind, value, cond);
	else if (r.status == SHMEMD_OK && op.nbytes == 4)
		r.value = shmemdi_p2p_atom4(shmemdi_p2p_at(ctx, base, op.sym), kind,
					    (uint32_t)value, (uint32_t)cond);
	else if (r.status == SHMEMD_OK)
		r.value = shmemdi_p2p_atom8(shmemdi_p2p_at(ctx, base, op.sym), kind, value, cond);
	if (r.status == SHMEMD_OK)
		shmemdi_bits_out(old, r.value, (uint32_t)op.nbytes);
	return r.status;
}

/* Ordered after everything that was sent on the channel. RDMA operations are so by themselves. */
SHMEMD_FN int shmemdi_amo_ordered(const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t value)
{
	if (shmemdi_check_pe(ctx, op.call, op.pe) == SHMEMD_OK)
		shmemdi_fence_stores(ctx, op.pe);
	return shmemdi_amo(ctx, op, SHMEMDI_AMO_ADD, value);
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
	int status; /* of the check of pe; latched if the call returns no status */
	int has_nic;
} shmemdi_explicit_t;

SHMEMD_FN shmemdi_explicit_t shmemdi_explicit(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe)
{
	shmemdi_explicit_t q;

	q.call = call;
	q.status = shmemdi_check_pe(ctx, call, pe);
	q.has_nic = q.status == SHMEMD_OK && shmemdi_has_nic(ctx);
	if (q.has_nic)
		q.chan = shmemdi_chan(ctx, pe, ctx->channel);
	if (call.op == SHMEMD_OP_NONE)
		shmemdi_latch(ctx, q.status);
	return q;
}

#endif
