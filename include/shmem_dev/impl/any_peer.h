/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What an operation calls unless it only accesses a heap that is mapped at the constant stride:
 * checks of the arguments, the choice of the transport, the NIC path. Operations call these
 * functions for PEs that are mapped elsewhere or not at all; for atomics, and for puts with a
 * signal that is added, in a team without SHMEMD_CTX_SM_ATOMICS; for signals that are stored after
 * data in a team of mixed transport; and always in check builds.
 *
 * By default they are out of line, one copy for a unit, except that a thread that posts a put, a
 * signal or a shmemd_channel_add_u64 for itself reserves inline (shmemdi_put_of_thread,
 * shmemdi_word_at_call). In a call that returns nothing (put, word) these functions latch the
 * status, so that the path to a mapped PE (impl/xport.h), which calls none of them, tests no
 * status. That path is a comparison and the access, and a loop keeps their operands in registers.
 * With the choice of the transport and the test of a status at each call, on an H100 a loop of p to
 * a mapped PE took twice as long, one of fetching atomics 1.3 times.
 *
 * Functions that post take from the caller all that they need of the context (shmemdi_target_t),
 * which the caller has in registers or in the constant bank. For a simple operation
 * (shmemdi_is_simple) that does not take the slow path, they load none of it from the copy in
 * memory between the reservation and the doorbell: the acquire of the posting before has
 * invalidated the L1, so that each load would wait for a trip to memory. With a context of a team
 * without SHMEMD_CTX_WORLD_NUMBERS the caller first loads the world number of the PE from
 * `peers`. These functions are called directly: ptxas then passes their operands in registers, and
 * they save none. A call through a pointer follows the calling convention of CUDA, and saves some
 * 50 registers in local memory, so that a post took 1.4 times as long (H100). What is seldom called
 * or waits for a trip over the network is called through a pointer nevertheless
 * (SHMEMD_ARCH_INDIRECT), so that its registers do not count in the callers' loops: gets, fetches,
 * flushes, quiets, a thread's wait for a CQE, posts for coalesced lanes or on the slow path. Most
 * of these load the context's copy.
 *
 * SHMEMD_NIC_INLINE has the functions that post inline, with the caller's context. SHMEMD_NO_NIC
 * has all of them inline, and no NIC path in them. */
#ifndef SHMEMD_IMPL_ANY_PEER_H
#define SHMEMD_IMPL_ANY_PEER_H

#include <shmem_dev/impl/get.h>
#include <shmem_dev/impl/quiet.h>
#include <shmem_dev/impl/select.h>

/* SHMEMDI_BY_POINTER(f): f, to be called through a pointer; in a unit with SHMEMD_NO_NIC, where f
 * has no NIC path, directly. */
#ifdef SHMEMD_NO_NIC
#define SHMEMDI_BY_POINTER(f) f
#else
#define SHMEMDI_BY_POINTER(f) SHMEMD_ARCH_INDIRECT(f)
#endif

/* The context to hand to functions that post, and to functions that wait: the caller's where they
 * are inline, else the copy in memory. Check builds pass the caller's, since it is checked, too. */
#if defined(SHMEMD_NO_NIC) || defined(SHMEMD_CHECK)
#define SHMEMDI_POST_CTX(ctx) (ctx)
#define SHMEMDI_WAIT_CTX(ctx) (ctx)
#elif defined(SHMEMD_NIC_INLINE)
#define SHMEMDI_POST_CTX(ctx) (ctx)
#define SHMEMDI_WAIT_CTX(ctx) ((ctx)->device_copy)
#else
#define SHMEMDI_POST_CTX(ctx) ((ctx)->device_copy)
#define SHMEMDI_WAIT_CTX(ctx) ((ctx)->device_copy)
#endif

/* put */

/* Latch a status, and return it. */
SHMEMD_FN int shmemdi_latched(const shmemd_ctx_t *ctx, int status)
{
	return SHMEMD_ARCH_UNLIKELY(status != SHMEMD_OK)
		       ? SHMEMD_ARCH_INDIRECT(shmemdi_latch_apart)(ctx, status)
		       : status;
}

SHMEMD_FN shmemdi_how_t shmemdi_op_how(const shmemdi_op_t *op, int not_coalesced)
{
	shmemdi_how_t how = {(uint8_t)op->when, (uint8_t)op->is_blocking, 0,
			     (uint8_t)not_coalesced};
	return how;
}

/* Before an atomic that stands for a signal, or that adds a tile: order this thread's stores to
 * mapped memory of pe, and those of threads that it has synchronised with. Also if the atomic goes
 * by NIC: the fences of its posting may have the scope of this GPU, and the stores went to another
 * one. */
SHMEMD_FN void shmemdi_fence_stores(const shmemd_ctx_t *ctx, uint32_t flags, int pe)
{
	if (flags & (SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_MIXED_TRANSPORT) &&
	    shmemdi_p2p_base(ctx, pe))
		shmemd_arch_fence_before_signal();
}

/* Before a put by NIC whose signal is an addition: the PE may be mapped, and the put goes by NIC
 * only because its signal does. */
SHMEMD_FN void shmemdi_fence_before_add(const shmemd_ctx_t *ctx, shmemdi_target_t target, int pe,
					shmemdi_signal_t sig)
{
	if (sig.op == SHMEMD_SIGNAL_ADD)
		shmemdi_fence_stores(ctx, target.ep.c.flags, pe);
}

/* shmemdi_flush_channel, out of line, for a channel that the caller names. */
SHMEMD_FN_ANY_PEER_WAIT int shmemdi_flush_channel_apart(shmemdi_ref_t ref, shmemdi_call_t call)
{
	shmemdi_ep_t ep;

	if (!SHMEMDI_WITH_NIC)
		return SHMEMD_OK;
	shmemdi_ep_load(ref, &ep);
	return shmemdi_flush_channel(&ep, call, shmemdi_limit_default(ref.ctx, ref.pe));
}

/* Complete what channel k to pe carries: a call of the function above. */
SHMEMD_FN int shmemdi_flush_channel_to(const shmemd_ctx_t *device_copy, shmemdi_call_t call, int pe,
				       uint32_t k)
{
	shmemdi_ref_t ref = {device_copy, pe, k};

	return SHMEMDI_BY_POINTER(shmemdi_flush_channel_apart)(ref, call);
}

/* Before stores to mapped memory of a PE that is also sent RDMA operations: complete what this
 * thread, or a thread that synchronised with it, has sent to it on the context's channel. Costs a
 * round trip only if there was anything. */
SHMEMD_FN int shmemdi_flush_before_store(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe)
{
	if (!(ctx->flags & SHMEMD_CTX_MIXED_TRANSPORT))
		return SHMEMD_OK;
	return shmemdi_flush_channel_to(ctx->device_copy, call, pe, ctx->channel);
}

/* Which transport carries a put or get. */
enum shmemdi_outcome {
	SHMEMDI_NOT_STARTED, /* none: a check failed, or there is no transport */
	SHMEMDI_BY_NIC,      /* the NIC. shmemdi_put_prepare posts nothing; functions that post have
				posted what there was to post, or the post has failed */
	SHMEMDI_MAPPED       /* the group copies */
};

typedef struct shmemdi_transfer_t {
	int64_t shift; /* MAPPED: the distance to the heap of the PE */
	int outcome;
	int status; /* of a put also latched */
} shmemdi_transfer_t;

/* Check a put, with a signal unless sig.op is -1, and select its transport: BY_NIC, MAPPED or
 * NOT_STARTED. To a mapped PE store nothing: the caller copies the data, and then stores or adds
 * the signal. Before a signal that is to be stored, if the team has mixed transport, the leader
 * completes what was sent by RDMA on this channel; only the leader's status says whether that
 * failed, so the caller votes (shmemdi_agree_flushed). Latches the status.
 *
 * No group sync here, but in check builds: the group's barrier is no constant in a function out of
 * line, and ptxas would count all 16 barriers as used. */
SHMEMD_FN_ANY_PEER shmemdi_transfer_t shmemdi_put_prepare(const shmemd_ctx_t *ctx,
							  shmemdi_target_t target, shmemdi_op_t op,
							  shmemdi_signal_t sig)
{
	shmemdi_transfer_t transfer = {0, SHMEMDI_NOT_STARTED, SHMEMD_OK};
	uint32_t flags = target.ep.c.flags;
	char *base;

	transfer.status =
		shmemdi_check_select_put_given(ctx, op, sig, flags, target.may_be_mapped, &base);
	if (transfer.status == SHMEMD_OK) {
		shmemdi_keep_source(op);
		transfer.outcome = base ? SHMEMDI_MAPPED : SHMEMDI_BY_NIC;
		transfer.shift = base ? shmemdi_base_shift(ctx, base) : 0;
		if (base && sig.op >= 0 && op.g.rank == 0 && flags & SHMEMD_CTX_MIXED_TRANSPORT)
			transfer.status = shmemdi_flush_channel_to(ctx->device_copy, op.call, op.pe,
								   target.ep.c.k);
	}
	shmemdi_latch(ctx, transfer.status);
	return transfer;
}

/* A put by a group. By NIC its first thread posts, and waits if the put blocks. Latches the status.
 * may_be_mapped is tested first: to a PE that only a NIC reaches there is nothing to select, and
 * each instruction before the reservation delays the posting. */
SHMEMD_FN_ANY_PEER shmemdi_transfer_t shmemdi_put_of_group(const shmemd_ctx_t *ctx,
							   shmemdi_target_t target, shmemdi_op_t op,
							   shmemdi_signal_t sig)
{
	shmemdi_put_t put = {op.sym, op.local, op.nbytes, sig, shmemdi_op_how(&op, 1)};
	shmemdi_transfer_t transfer = {0, SHMEMDI_BY_NIC, SHMEMD_OK};

	if (SHMEMDI_CHECKING || !SHMEMDI_WITH_NIC || target.may_be_mapped)
		transfer = shmemdi_put_prepare(ctx, target, op, sig);
	if (!SHMEMDI_WITH_NIC || transfer.outcome != SHMEMDI_BY_NIC)
		return transfer;
	if (op.g.rank == 0) {
		shmemdi_fence_before_add(ctx, target, op.pe, sig);
		transfer.status = shmemdi_latched(
			target.ep.c.ctx, shmemdi_nic_put_leader(&target.ep, op.call, &put));
	}
	if (op.g.rank < 32)
		shmemdi_warp_rejoin(op.g);
	return transfer;
}

/* A simple put by NIC, by a thread alone that has reserved for it and loaded its keys. Latches what
 * it returns. */
SHMEMD_FN_ANY_PEER int shmemdi_put_post(shmemdi_ep_t ep, shmemdi_call_t call, shmemdi_put_t put,
					shmemdi_reservation_t reserved, shmemdi_put_keys_t keys)
{
	shmemdi_ticket_t ticket;
	int must_wait;
	int status =
		shmemdi_nic_put_post(&ep, call, &put, &reserved, keys,
				     shmemdi_thread_zero(reserved.line.path), &ticket, &must_wait);

	if (must_wait)
		status = SHMEMD_ARCH_INDIRECT(shmemdi_cq_wait)(
			shmemdi_ref(&ep.c), call, ticket, shmemdi_limit_default(ep.c.ctx, ep.c.pe));
	return shmemdi_latched(ep.c.ctx, status);
}

/* By NIC, for a thread that puts for itself. Latches what it returns.
 *
 * The reservation and the strong loads are made here, and a function without them does the rest; if
 * the put blocks, that function makes a weak load, of the time limit. ptxas puts a YIELD at the
 * entry of a function that has strong loads, or atomics that return a value. If some lanes of a
 * warp call it, as in `if (lane == 0) shmemd_putmem_nbi(...)`, the YIELD releases the lanes that
 * wait for this one to return, and the next __syncwarp has to collect them. (A p has it: it takes
 * some 2330 cycles, and 2090 without. H200, nvcc 13.0.) */
SHMEMD_FN int shmemdi_put_of_thread(shmemdi_target_t target, shmemdi_op_t op, shmemdi_signal_t sig)
{
	shmemdi_put_t put = {op.sym, op.local, op.nbytes, sig,
			     shmemdi_op_how(&op, shmemd_arch_is_alone())};
	shmemdi_reservation_t reserved;

	if (shmemdi_put_wqebbs(&put) == 0)
		return SHMEMD_OK;
	if (!put.how.not_coalesced)
		return shmemdi_latched(target.ep.c.ctx,
				       SHMEMD_ARCH_INDIRECT(shmemdi_nic_put_lanes)(
					       shmemdi_ref(&target.ep.c), op.call, put));
	shmemdi_nic_put_reserve(&target.ep, &put, &reserved, shmemd_arch_opaque_zero());
	if (SHMEMD_ARCH_UNLIKELY(!shmemdi_is_simple(&target.ep, &put)))
		return shmemdi_latched(
			target.ep.c.ctx,
			shmemdi_nic_put_hand_over(&target.ep, op.call, &put, &reserved));
	return shmemdi_put_post(target.ep, op.call, put, reserved,
				shmemdi_put_keys(&target.ep, &put));
}

/* A put to the PE of `target`. If outcome is MAPPED, the caller copies (shmemdi_put_prepare). */
SHMEMD_FN shmemdi_transfer_t shmemdi_put_to_target(const shmemd_ctx_t *ctx, shmemdi_target_t target,
						   shmemdi_op_t op, shmemdi_signal_t sig)
{
	shmemdi_transfer_t transfer = {0, SHMEMDI_BY_NIC, SHMEMD_OK};

	if (op.g.bar != SHMEMDI_BAR_NONE)
		return shmemdi_put_of_group(SHMEMDI_POST_CTX(ctx), target, op, sig);
	if (SHMEMDI_CHECKING || !SHMEMDI_WITH_NIC || target.may_be_mapped)
		transfer = shmemdi_put_prepare(SHMEMDI_POST_CTX(ctx), target, op, sig);
	if (SHMEMDI_WITH_NIC && transfer.outcome == SHMEMDI_BY_NIC) {
		shmemdi_fence_before_add(ctx, target, op.pe, sig);
		transfer.status = shmemdi_put_of_thread(target, op, sig);
	}
	return transfer;
}

/* The same to any PE, on the channel of the context. */
SHMEMD_FN shmemdi_transfer_t shmemdi_put_any(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					     shmemdi_signal_t sig)
{
	return shmemdi_put_to_target(ctx, shmemdi_target(ctx, op.pe), op, sig);
}

/* The same by NIC, for callers that have checked the put: to a PE that is not mapped, or before a
 * signal that a NIC adds. Check builds check it again. */
SHMEMD_FN int shmemdi_put_by_nic(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	return shmemdi_put_to_target(ctx, shmemdi_target_by_nic(ctx, op.pe, ctx->channel), op,
				     shmemdi_no_signal())
		.status;
}

/* get */

/* By NIC, called by all threads of op.g: the first one posts. Into memory that is not registered it
 * is complete when the threads of the first warp return. */
SHMEMD_FN int shmemdi_nic_get_group(shmemdi_ref_t ref, shmemdi_op_t op)
{
	int status = SHMEMD_OK;

	if (!SHMEMDI_WITH_NIC)
		return SHMEMD_ERR_UNREACHABLE;
	if (op.g.rank >= 32 || op.nbytes == 0)
		return SHMEMD_OK;
	if (op.g.rank == 0)
		status = shmemdi_nic_get(ref, op.call, op.local, op.sym, op.nbytes,
					 shmemdi_op_how(&op, op.g.bar != SHMEMDI_BAR_NONE));
	shmemdi_warp_rejoin(op.g);
	return status;
}

/* Check a get and select its transport. From a PE behind a NIC, post it, and wait if it blocks or
 * its destination is not registered. From a mapped PE (outcome MAPPED) load nothing: the caller
 * copies the data. Latches nothing. */
SHMEMD_FN_ANY_PEER_WAIT shmemdi_transfer_t shmemdi_get_any(const shmemd_ctx_t *ctx,
							   shmemdi_ref_t ref, shmemdi_op_t op)
{
	shmemdi_transfer_t transfer = {0, SHMEMDI_NOT_STARTED, SHMEMD_OK};
	char *base;

	transfer.status = shmemdi_check_select(ctx, op, &base);
	if (transfer.status != SHMEMD_OK)
		return transfer;
	transfer.outcome = base ? SHMEMDI_MAPPED : SHMEMDI_BY_NIC;
	if (base)
		transfer.shift = shmemdi_base_shift(ctx, base);
	else
		transfer.status = shmemdi_nic_get_group(ref, op);
	return transfer;
}

/* The same from a PE that is not mapped, for callers that have checked the get. */
SHMEMD_FN int shmemdi_get_unmapped(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	return SHMEMDI_BY_POINTER(shmemdi_get_any)(SHMEMDI_WAIT_CTX(ctx),
						   shmemdi_target_ref(ctx, op.pe), op)
		.status;
}

/* Words */

/* Store or update a mapped word. */
SHMEMD_FN void shmemdi_word_at(char *to, shmemdi_op_t op, int kind, uint64_t value)
{
	if (kind == SHMEMDI_WORD_STORE)
		shmemdi_p2p_store(to, value, (uint32_t)op.nbytes);
	else if (op.nbytes == 4)
		shmemdi_p2p_red4(to, kind, (uint32_t)value);
	else
		shmemdi_p2p_red8(to, kind, value);
}

/* How a thread posts a word. */
SHMEMD_FN shmemdi_how_t shmemdi_word_how(int when)
{
	shmemdi_how_t how = {(uint8_t)when, 0, 0, (uint8_t)shmemd_arch_is_alone()};
	return how;
}

/* By NIC, by converged lanes together. Latches what it returns. */
SHMEMD_FN int shmemdi_word_of_lanes(const shmemdi_ep_t *ep, shmemdi_call_t call,
				    shmemdi_word_t word, shmemdi_how_t how)
{
	return shmemdi_latched(ep->c.ctx, SHMEMD_ARCH_INDIRECT(shmemdi_nic_word_lanes)(
						  shmemdi_ref(&ep->c), call, word, how));
}

/* By NIC, by a thread that has reserved for a word of 8 bytes and loaded its keys. Each latches
 * what it returns. Two functions: with the kind as a constant a WQE takes less than half the
 * instructions. */
SHMEMD_FN_ANY_PEER int shmemdi_store_post(shmemdi_ep_t ep, shmemdi_call_t call, shmemdi_word_t word,
					  shmemdi_how_t how, shmemdi_reservation_t reserved,
					  shmemdi_put_keys_t keys)
{
	reserved.wqebbs = 1;
	return shmemdi_nic_word_post(&ep, call, word, 0, how, &reserved, keys);
}

SHMEMD_FN_ANY_PEER int shmemdi_add8_post(shmemdi_ep_t ep, shmemdi_call_t call, shmemdi_word_t word,
					 shmemdi_how_t how, shmemdi_reservation_t reserved,
					 shmemdi_put_keys_t keys)
{
	word.kind = SHMEMDI_AMO_ADD;
	word.width = 8;
	reserved.wqebbs = 1;
	return shmemdi_nic_word_post(&ep, call, word, 1, how, &reserved, keys);
}

/* A signal or an addition of 8 bytes by NIC. The loads of a thread alone are inline, as those of
 * shmemdi_put_of_thread. */
SHMEMD_FN int shmemdi_word_at_call(const shmemdi_ep_t *ep, shmemdi_call_t call, shmemdi_word_t word,
				   int when)
{
	shmemdi_how_t how = shmemdi_word_how(when);
	shmemdi_reservation_t reserved;
	shmemdi_put_keys_t keys;

	if (!how.not_coalesced)
		return shmemdi_word_of_lanes(ep, call, word, how);
	shmemdi_sq_reserve(&ep->c, &reserved, 1, 1, shmemd_arch_opaque_zero());
	keys = shmemdi_word_keys(ep, word);
	if (word.kind == SHMEMDI_WORD_STORE)
		return shmemdi_store_post(*ep, call, word, how, reserved, keys);
	return shmemdi_add8_post(*ep, call, word, how, reserved, keys);
}

/* A word by NIC, all in one function, which has the YIELD (shmemdi_put_of_thread): a p, an atomic.
 * Inline at each call, the strong loads would put a YIELD into each loop around it, and the
 * operands of the rest would take registers from the loop. To a mapped PE one thread then made 14.9
 * million p a second, not 17.9, and 12.2 million additions, not 20.5; 1024 threads made 5.1 billion
 * p a second, not 7.8 (to a PE on the same GPU), and 4.4 billion additions to one word of another
 * GPU, not 6.9 (H200, nvcc 13.0). By NIC a p takes 2330 cycles in this function, as
 * long as a put. An addition takes 2550 in it, and 2230 inline. So signals, and
 * shmemd_channel_add_u64, which is for the NIC path, are posted inline (shmemdi_word_at_call). With
 * SHMEMD_NIC_INLINE all are. */
SHMEMD_FN int shmemdi_word_whole(const shmemdi_ep_t *ep, shmemdi_call_t call, shmemdi_word_t word,
				 int is_amo, int when)
{
	shmemdi_how_t how = shmemdi_word_how(when);
	shmemdi_reservation_t reserved;
	shmemdi_put_keys_t keys;

	if (!how.not_coalesced)
		return shmemdi_word_of_lanes(ep, call, word, how);
	shmemdi_sq_reserve(&ep->c, &reserved, shmemdi_word_wqebbs(word), 1,
			   shmemd_arch_opaque_zero());
	keys = shmemdi_word_keys(ep, word);
	return shmemdi_nic_word_post(ep, call, word, is_amo, how, &reserved, keys);
}

SHMEMD_FN_ANY_PEER int shmemdi_p_by_nic(shmemdi_ep_t ep, shmemdi_call_t call, shmemdi_word_t word,
					int when)
{
	word.kind = SHMEMDI_WORD_STORE;
	return shmemdi_word_whole(&ep, call, word, 0, when);
}

SHMEMD_FN_ANY_PEER int shmemdi_add8_by_nic(shmemdi_ep_t ep, shmemdi_call_t call,
					   shmemdi_word_t word, int when)
{
	word.kind = SHMEMDI_AMO_ADD;
	word.width = 8;
	return shmemdi_word_whole(&ep, call, word, 1, when);
}

SHMEMD_FN_ANY_PEER int shmemdi_update_by_nic(shmemdi_ep_t ep, shmemdi_call_t call,
					     shmemdi_word_t word, int when)
{
	return shmemdi_word_whole(&ep, call, word, 1, when);
}

/* at_call: as shmemdi_word_any. */
SHMEMD_FN int shmemdi_word_by_nic(const shmemdi_ep_t *ep, shmemdi_call_t call, shmemdi_word_t word,
				  int when, int at_call)
{
	if (at_call)
		return shmemdi_word_at_call(ep, call, word, when);
	if (word.kind == SHMEMDI_WORD_STORE)
		return shmemdi_p_by_nic(*ep, call, word, when);
	if (word.kind == SHMEMDI_AMO_ADD && word.width == 8)
		return shmemdi_add8_by_nic(*ep, call, word, when);
	return shmemdi_update_by_nic(*ep, call, word, when);
}

#define SHMEMDI_USE_NIC (-1) /* beside enum shmemd_status */

/* Check the access to a word, and select its transport. To a mapped PE, store or update the word.
 * Latches the status, and returns it, or SHMEMDI_USE_NIC. */
SHMEMD_FN_ANY_PEER int shmemdi_word_mapped(const shmemd_ctx_t *ctx, uint32_t flags,
					   int may_be_mapped, shmemdi_op_t op, int kind,
					   uint64_t value)
{
	char *base;
	int status = shmemdi_check_select_word_given(ctx, op, may_be_mapped, &base);

	if (status == SHMEMD_OK && kind != SHMEMDI_WORD_STORE)
		status = shmemdi_select_amo(ctx, flags, op.call, op.sym, op.pe, &base);
	shmemdi_latch(ctx, status);
	if (status != SHMEMD_OK)
		return status;
	if (!base)
		return SHMEMDI_USE_NIC;
	shmemdi_word_at(shmemdi_p2p_at(ctx, base, op.sym), op, kind, value);
	return SHMEMD_OK;
}

/* A word of op.nbytes bytes at any PE: stored or updated, as kind (shmemdi_word_kind) says, except
 * ADDF. Latches what it returns: if the caller did so, the path to a mapped PE would test the
 * status, too. at_call, a constant at each call: by NIC it is posted there (shmemdi_word_at_call),
 * and is a store or addition of 8 bytes. */
SHMEMD_FN int shmemdi_word_any(const shmemd_ctx_t *ctx, shmemdi_target_t target, shmemdi_op_t op,
			       int kind, uint64_t value, int at_call)
{
	shmemdi_word_t word = {op.sym, value, (uint32_t)op.nbytes, kind};
	int status = SHMEMDI_USE_NIC;

	if (SHMEMDI_CHECKING || !SHMEMDI_WITH_NIC || target.may_be_mapped)
		status = shmemdi_word_mapped(SHMEMDI_POST_CTX(ctx),
					     SHMEMDI_CHECKING ? target.ep.c.flags : ctx->flags,
					     target.may_be_mapped, op, kind, value);
	if (!SHMEMDI_WITH_NIC || status != SHMEMDI_USE_NIC)
		return status;
	return shmemdi_word_by_nic(&target.ep, op.call, word, op.when, at_call);
}

/* The old value of a mapped word, which kind (shmemdi_word_kind) updates; FETCH and LOAD only read
 * it. */
SHMEMD_FN uint64_t shmemdi_fetch_at(char *at, shmemdi_op_t op, int kind, uint64_t value,
				    uint64_t cond)
{
	if (kind == SHMEMDI_WORD_LOAD)
		return shmemdi_word_load(at, (uint32_t)op.nbytes);
	if (op.nbytes == 4)
		return shmemdi_p2p_atom4(at, kind, (uint32_t)value, (uint32_t)cond);
	return shmemdi_p2p_atom8(at, kind, value, cond);
}

/* The same of a word at any PE: checked, and its transport selected. Latches nothing. */
SHMEMD_FN_ANY_PEER_WAIT shmemdi_result_t shmemdi_fetch_any(const shmemd_ctx_t *ctx,
							   shmemdi_ref_t ref, shmemdi_op_t op,
							   int kind, uint64_t value, uint64_t cond)
{
	shmemdi_result_t r = {0, SHMEMD_OK};
	char *base;

	r.status = shmemdi_check_select_word(ctx, op, &base);
	if (r.status == SHMEMD_OK && kind != SHMEMDI_WORD_LOAD)
		r.status = shmemdi_select_amo(ctx, ctx->flags, op.call, op.sym, op.pe, &base);
	if (r.status != SHMEMD_OK)
		return r;
	if (kind == SHMEMDI_WORD_LOAD)
		shmemdi_sources_drop();
	if (base)
		r.value =
			shmemdi_fetch_at(shmemdi_p2p_at(ctx, base, op.sym), op, kind, value, cond);
	else if (SHMEMDI_WITH_NIC)
		r = shmemdi_nic_fetch(ref, op.call, op.sym, (uint32_t)op.nbytes, kind, value, cond);
	else
		r.status = SHMEMD_ERR_UNREACHABLE;
	return r;
}

/* Quiet */

/* This thread's part of a quiet of the channels. */
SHMEMD_FN int shmemdi_quiet_nic_part(const shmemd_ctx_t *ctx, shmemdi_quiet_t q)
{
	return SHMEMDI_WITH_NIC
		       ? SHMEMD_ARCH_INDIRECT(shmemdi_flush_used_channels)(ctx->device_copy, q)
		       : SHMEMD_OK;
}

#endif
