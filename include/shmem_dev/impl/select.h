/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Check the arguments of an operation and select its transport: the PE is mapped, or a NIC reaches
 * it, or neither. */
#ifndef SHMEMD_IMPL_SELECT_H
#define SHMEMD_IMPL_SELECT_H

#include <shmem_dev/impl/op.h>
#include <shmem_dev/impl/nic.h>

#ifdef SHMEMD_NO_NIC
#define SHMEMDI_WITH_NIC 0
#else
#define SHMEMDI_WITH_NIC 1
#endif

/* Can a NIC reach the members? All or none: the runtime connects all of them. */
SHMEMD_FN int shmemdi_nic_is_connected(const shmemd_ctx_t *ctx)
{
	return SHMEMDI_WITH_NIC && (ctx->flags & SHMEMD_CTX_NIC);
}

/* What a function out of line needs of the context in order to post. The caller takes it from its
 * context, which is in registers or in the constant bank. The function would load it from the copy
 * in memory, which takes a trip each time, since the acquire of every posting invalidates the L1.
 */
typedef struct shmemdi_target_t {
	shmemdi_ep_t ep; /* the context's channel to the PE; no channel and no keys without a NIC */
	int may_be_mapped; /* 0: by NIC */
} shmemdi_target_t;

/* In check builds a context that is not filled, or a pe that is no member, gives a target without
 * addresses: the function that takes it refuses both before it uses the channel. */
SHMEMD_FN shmemdi_target_t shmemdi_target(const shmemd_ctx_t *ctx, int pe)
{
	shmemdi_target_t target = {{{0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0}, 0};

	if (SHMEMDI_CHECKING && (!shmemdi_is_filled(ctx) || (uint32_t)pe >= (uint32_t)ctx->n_pes))
		return target;
	target.ep = shmemdi_ep_k(ctx, pe, ctx->channel);
	target.may_be_mapped = !SHMEMDI_WITH_NIC || shmemdi_may_be_mapped(ctx, pe);
	return target;
}

/* By NIC, on channel k. */
SHMEMD_FN shmemdi_target_t shmemdi_target_by_nic(const shmemd_ctx_t *ctx, int pe, uint32_t k)
{
	shmemdi_target_t target = {shmemdi_ep_k(ctx, pe, k), 0};
	return target;
}

/* What names the context's channel to pe, for a function that waits for a round trip: it can load
 * the rest first. Of a context that is not filled it names none, as shmemdi_target. */
SHMEMD_FN shmemdi_ref_t shmemdi_target_ref(const shmemd_ctx_t *ctx, int pe)
{
	int is_none = SHMEMDI_CHECKING && !shmemdi_is_filled(ctx);
	shmemdi_ref_t ref = {is_none ? 0 : ctx->device_copy, pe, is_none ? 0 : ctx->channel};

	return ref;
}

/* The context in memory is on channel 0: copy it to *copy, set channel k, the caller's, there, and
 * return copy. Without the NIC path return device_copy itself. */
SHMEMD_FN const shmemd_ctx_t *shmemdi_on_channel(const shmemd_ctx_t *device_copy, uint32_t k,
						 shmemd_ctx_t *copy)
{
	if (!SHMEMDI_WITH_NIC)
		return device_copy;
	*copy = *device_copy;
	copy->channel = k;
	return copy;
}

/* An error of selecting a transport. Out of line, so that call sites do not set up the arguments of
 * a record. */
SHMEMD_FN_CALL int shmemdi_no_way(const shmemd_ctx_t *device_copy, shmemdi_call_t call, int status,
				  int pe, const void *sym)
{
	return shmemdi_record(device_copy, call, status, pe, sym, 0, 0);
}

/* Select the transport: *base gets the address at which this PE maps pe's heap, or NULL for the
 * NIC. */
SHMEMD_FN int shmemdi_select(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym, int pe,
			     int may_be_mapped, char **base)
{
	*base = 0;
	if (SHMEMDI_WITH_NIC && !may_be_mapped)
		return SHMEMD_OK;
	*base = shmemdi_p2p_base_of_member(ctx, pe);
	if (*base || shmemdi_nic_is_connected(ctx))
		return SHMEMD_OK;
	return shmemdi_no_way(ctx->device_copy, call, SHMEMD_ERR_UNREACHABLE, pe, sym);
}

/* This PE's side of a transfer: src of a put, dst of a get. On the CPU its first byte can be read;
 * on GPUs it is not NULL. */
SHMEMD_FN int shmemdi_check_local(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
#ifdef SHMEMD_CHECK
	if (op.nbytes && !(op.local && shmemd_arch_is_readable(op.local, 1)))
		return shmemdi_mistake(ctx, op.call,
				       op.call.op == SHMEMD_OP_GET ? SHMEMD_MISTAKE_DST
								   : SHMEMD_MISTAKE_SRC,
				       (uintptr_t)op.local, op.nbytes);
#else
	(void)ctx;
	(void)op;
#endif
	return SHMEMD_OK;
}

/* The two sides do not overlap. They can only where the PE is the caller's own. */
SHMEMD_FN int shmemdi_check_apart(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
#ifdef SHMEMD_CHECK
	uintptr_t sym = (uintptr_t)op.sym, local = (uintptr_t)op.local;
	uint64_t apart = sym < local ? local - sym : sym - local;

	if (op.pe == ctx->my_pe && apart < op.nbytes)
		return shmemdi_mistake(ctx, op.call, SHMEMD_MISTAKE_OVERLAP, apart, op.nbytes);
#else
	(void)ctx;
	(void)op;
#endif
	return SHMEMD_OK;
}

/* No byte of the signal word is one of the data. */
SHMEMD_FN int shmemdi_check_signal_apart(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					 shmemdi_signal_t sig)
{
#ifdef SHMEMD_CHECK
	uintptr_t word = (uintptr_t)sig.word, dst = (uintptr_t)op.sym;

	if (op.nbytes && word < dst + op.nbytes && dst < word + 8)
		return shmemdi_mistake(ctx, op.call, SHMEMD_MISTAKE_SIGNAL, word - dst, op.nbytes);
#else
	(void)ctx;
	(void)op;
	(void)sig;
#endif
	return SHMEMD_OK;
}

/* Check the arguments of a transfer, but not whether its sides overlap. */
SHMEMD_FN int shmemdi_check_transfer(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	int status = shmemdi_check_op(ctx, op);

	if (status == SHMEMD_OK)
		status = shmemdi_check_when(ctx, op.call, op.when);
	if (status == SHMEMD_OK)
		status = shmemdi_check_pe(ctx, op.call, op.pe);
	if (status == SHMEMD_OK)
		status = shmemdi_check_range(ctx, op.call, op.sym, op.nbytes);
	return status ? status : shmemdi_check_local(ctx, op);
}

/* Check the arguments of an operation, and select its transport: *base as shmemdi_select. */
SHMEMD_FN int shmemdi_check_select_given(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					 int may_be_mapped, char **base)
{
	int status = shmemdi_check_transfer(ctx, op);

	if (SHMEMDI_CHECKING && status == SHMEMD_OK)
		status = shmemdi_check_apart(ctx, op);
	return status ? status : shmemdi_select(ctx, op.call, op.sym, op.pe, may_be_mapped, base);
}

SHMEMD_FN int shmemdi_check_select(const shmemd_ctx_t *ctx, shmemdi_op_t op, char **base)
{
	if (SHMEMDI_CHECKING && shmemdi_check_ctx(ctx, op.call) != SHMEMD_OK)
		return SHMEMD_ERR_BAD_CONTEXT;
	return shmemdi_check_select_given(ctx, op, shmemdi_may_be_mapped(ctx, op.pe), base);
}

/* The same for a word. */
SHMEMD_FN int shmemdi_check_select_word_given(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					      int may_be_mapped, char **base)
{
	int status = shmemdi_check_when(ctx, op.call, op.when);

	if (status == SHMEMD_OK)
		status = shmemdi_check_pe(ctx, op.call, op.pe);
	if (status == SHMEMD_OK)
		status = shmemdi_check_word(ctx, op.call, op.sym, (uint32_t)op.nbytes);
	return status ? status : shmemdi_select(ctx, op.call, op.sym, op.pe, may_be_mapped, base);
}

SHMEMD_FN int shmemdi_check_select_word(const shmemd_ctx_t *ctx, shmemdi_op_t op, char **base)
{
	if (SHMEMDI_CHECKING && shmemdi_check_ctx(ctx, op.call) != SHMEMD_OK)
		return SHMEMD_ERR_BAD_CONTEXT;
	return shmemdi_check_select_word_given(ctx, op, shmemdi_may_be_mapped(ctx, op.pe), base);
}

/* A word that will be read-modify-written. All members of the team use their SMs, or all use the
 * NIC of the target, even for a word of the calling PE; the two are not atomic to each other.
 * flags: of the context. *base: from shmemdi_select; set to NULL unless the SMs are to be used. */
SHMEMD_FN int shmemdi_select_amo(const shmemd_ctx_t *ctx, uint32_t flags, shmemdi_call_t call,
				 const void *sym, int pe, char **base)
{
	if (flags & SHMEMD_CTX_SM_ATOMICS)
		return SHMEMD_OK;
	*base = 0;
	if (SHMEMDI_WITH_NIC && flags & SHMEMD_CTX_NIC)
		return SHMEMD_OK;
	return shmemdi_no_way(ctx->device_copy, call, SHMEMD_ERR_NO_ATOMICS, pe, sym);
}

/* A signal word that sig changes: checked, and its transport selected. *base gets where this PE
 * maps the heap, or NULL for the NIC. */
SHMEMD_FN int shmemdi_check_select_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					  shmemdi_signal_t sig, char **base)
{
	int status = shmemdi_check_enum(ctx, op.call, sig.op, SHMEMD_SIGNAL_ADD);

	op.sym = (char *)sig.word;
	op.nbytes = 8;
	if (status == SHMEMD_OK)
		status = shmemdi_check_select_word(ctx, op, base);
	if (status != SHMEMD_OK || sig.op != SHMEMD_SIGNAL_ADD)
		return status;
	return shmemdi_select_amo(ctx, ctx->flags, op.call, op.sym, op.pe, base);
}

/* Data, and a signal unless sig.op is -1: nothing is written if the signal could not follow. The
 * data take the signal's transport, except in a large put_signal of stream.h, which orders the two
 * kernels by a fence. Otherwise an RDMA atomic could overtake earlier stores, and a store could
 * overtake earlier RDMA writes. */
SHMEMD_FN int shmemdi_check_select_put_given(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					     shmemdi_signal_t sig, uint32_t flags,
					     int may_be_mapped, char **base)
{
	int status = shmemdi_check_select_given(ctx, op, may_be_mapped, base);

	if (status == SHMEMD_OK && sig.op >= 0)
		status = shmemdi_check_word(ctx, op.call, sig.word, 8);
	if (SHMEMDI_CHECKING && status == SHMEMD_OK && sig.op >= 0)
		status = shmemdi_check_signal_apart(ctx, op, sig);
	if (status != SHMEMD_OK || sig.op != SHMEMD_SIGNAL_ADD)
		return status;
	return shmemdi_select_amo(ctx, flags, op.call, sig.word, op.pe, base);
}

SHMEMD_FN int shmemdi_check_select_put_signal(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					      shmemdi_signal_t sig, char **base)
{
	int status;

	if (SHMEMDI_CHECKING && shmemdi_check_ctx(ctx, op.call) != SHMEMD_OK)
		return SHMEMD_ERR_BAD_CONTEXT;
	status = shmemdi_check_enum(ctx, op.call, sig.op, SHMEMD_SIGNAL_ADD);
	return status ? status
		      : shmemdi_check_select_put_given(ctx, op, sig, ctx->flags,
						       shmemdi_may_be_mapped(ctx, op.pe), base);
}

#endif
