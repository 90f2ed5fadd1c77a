/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations of the public headers: check, find the way to the peer, go. A peer whose memory is
 * mapped is reached by loads and stores, another one by a NIC.
 *
 * Functions return a status and have recorded a failure; those of public functions that return
 * nothing latch it. All threads of a group take the same branch: arguments are equal. By a NIC, the
 * first warp of a group posts for all of it. */
#ifndef SHMEMD_IMPL_XPORT_H
#define SHMEMD_IMPL_XPORT_H

#include <shmem_dev/impl/check.h>
#include <shmem_dev/impl/flush.h>
#include <shmem_dev/impl/poll.h>

/* The mapped address of [sym, sym + nbytes) on pe, whose arguments are checked; NULL: by NIC. */
SHMEMD_FN int shmemdi_map(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym, int pe,
			  char **addr)
{
	*addr = shmemdi_p2p_addr(ctx, sym, pe);
	if (*addr || shmemdi_ib_reaches(ctx, pe))
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_UNREACHABLE, pe, sym, 0, 0);
}

SHMEMD_FN int shmemdi_reach(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			    const void *sym, size_t nbytes, int pe, char **addr)
{
	int status = shmemdi_check_group(ctx, call, g);

	if (status == SHMEMD_OK)
		status = shmemdi_check_pe(ctx, call, pe);
	if (status == SHMEMD_OK)
		status = shmemdi_check_range(ctx, call, sym, nbytes);
	return status ? status : shmemdi_map(ctx, call, sym, pe, addr);
}

SHMEMD_FN int shmemdi_reach_word(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym,
				 uint32_t width, int pe, char **addr)
{
	int status = shmemdi_check_pe(ctx, call, pe);

	if (status == SHMEMD_OK)
		status = shmemdi_check_word(ctx, call, sym, width);
	return status ? status : shmemdi_map(ctx, call, sym, pe, addr);
}

/* A word that will be read-modify-written: in the whole team by SMs, or in the whole team by the
 * target's NIC, its own PE included; the two are not atomic to each other. */
SHMEMD_FN int shmemdi_reach_amo(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym,
				uint32_t width, int pe, char **addr)
{
	int status = shmemdi_reach_word(ctx, call, sym, width, pe, addr);

	if (status != SHMEMD_OK || (ctx->flags & SHMEMD_CTX_SM_ATOMICS))
		return status;
	*addr = 0;
	if (shmemdi_ib_reaches(ctx, pe))
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_NO_ATOMICS, pe, sym, width, 0);
}

/* put and get; the blocking forms end with a group sync: for put, no thread of the group reads src
 * any more; for get, every thread sees all of dst. */

SHMEMD_FN shmemdi_ib_put_t shmemdi_put_by_nic(shmemd_group_t g, void *dst, const void *src,
					      size_t nbytes, int when)
{
	shmemdi_ib_put_t put = {(char *)dst,
				(const char *)src,
				nbytes,
				{0, 0, -1},
				g.bar != SHMEMDI_BAR_NONE,
				when,
				0,
				1};
	return put;
}

/* Does the calling thread post for its group; does it alone act for it? */
SHMEMD_FN int shmemdi_posts(shmemd_group_t g)
{
	return g.rank < 32;
}

SHMEMD_FN int shmemdi_leads(shmemd_group_t g)
{
	return g.rank == 0;
}

SHMEMD_FN_NIC int shmemdi_nic_put(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				  void *dst, const void *src, size_t nbytes, int pe, int when,
				  int is_wait)
{
	shmemdi_ib_put_t put = shmemdi_put_by_nic(g, dst, src, nbytes, when);
	shmemdi_chan_t c;
	int status;

	if (!shmemdi_posts(g) || !shmemdi_ib_open(ctx, call, pe, &c))
		return SHMEMD_OK;
	status = shmemdi_ib_put(&c, &put);
	if (status == SHMEMD_OK && is_wait && !put.is_inline && shmemdi_leads(g))
		status = shmemdi_ring_wait(&c, put.end);
	return status;
}

SHMEMD_FN void shmemdi_put_when(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				void *dst, const void *src, size_t nbytes, int pe, int when)
{
	char *to;
	int status = shmemdi_reach(ctx, call, g, dst, nbytes, pe, &to);

	if (status == SHMEMD_OK && to)
		shmemdi_copy(g, to, (const char *)src, nbytes);
	else if (status == SHMEMD_OK)
		status = shmemdi_nic_put(ctx, call, g, dst, src, nbytes, pe, when, 0);
	shmemdi_latch(ctx, status);
}

SHMEMD_FN void shmemdi_put_nbi(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			       void *dst, const void *src, size_t nbytes, int pe)
{
	shmemdi_put_when(ctx, call, g, dst, src, nbytes, pe, SHMEMD_RING_BATCH);
}

SHMEMD_FN void shmemdi_put(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			   void *dst, const void *src, size_t nbytes, int pe)
{
	char *to;
	int status = shmemdi_reach(ctx, call, g, dst, nbytes, pe, &to);

	if (status == SHMEMD_OK && to)
		shmemdi_copy(g, to, (const char *)src, nbytes);
	else if (status == SHMEMD_OK)
		status = shmemdi_nic_put(ctx, call, g, dst, src, nbytes, pe, SHMEMD_RING_BATCH, 1);
	shmemdi_latch(ctx, status);
	/* weakened unordered: wrong, but not in the emulator: a load of src could read what another
	 * thread writes there afterwards (load buffering, which the PTX model allows). */
	shmemd_group_sync(g);
}

/* Into the heap: READs by the group's first warp. Into other memory: by one thread, and complete on
 * return. */
SHMEMD_FN_NIC int shmemdi_nic_get(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				  void *dst, const void *src, size_t nbytes, int pe, int is_wait)
{
	shmemdi_chan_t c;
	uint64_t end = 0;
	int status;

	if (!shmemdi_posts(g) || nbytes == 0 || !shmemdi_ib_open(ctx, call, pe, &c))
		return SHMEMD_OK;
	if (!shmemdi_ib_knows(&c, dst))
		return shmemdi_leads(g)
			       ? shmemdi_ib_get_any(&c, (char *)dst, (const char *)src, nbytes)
			       : SHMEMD_OK;
	status = shmemdi_ib_get(&c, (char *)dst, (const char *)src, nbytes,
				g.bar != SHMEMDI_BAR_NONE, &end);
	if (status == SHMEMD_OK && is_wait && shmemdi_leads(g))
		status = shmemdi_ring_wait(&c, end);
	return status;
}

SHMEMD_FN void shmemdi_get_nbi(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			       void *dst, const void *src, size_t nbytes, int pe)
{
	char *from;
	int status = shmemdi_reach(ctx, call, g, src, nbytes, pe, &from);

	if (status == SHMEMD_OK && from)
		shmemdi_copy(g, (char *)dst, from, nbytes);
	else if (status == SHMEMD_OK)
		status = shmemdi_nic_get(ctx, call, g, dst, src, nbytes, pe, 0);
	shmemdi_latch(ctx, status);
}

SHMEMD_FN int shmemdi_get(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g, void *dst,
			  const void *src, size_t nbytes, int pe)
{
	char *from;
	int status = shmemdi_reach(ctx, call, g, src, nbytes, pe, &from);

	if (status == SHMEMD_OK && !from)
		return shmemdi_agree(g, shmemdi_nic_get(ctx, call, g, dst, src, nbytes, pe, 1));
	if (status == SHMEMD_OK)
		shmemdi_copy(g, (char *)dst, from, nbytes);
	shmemd_group_sync(g);
	return status;
}

/* One word */

SHMEMD_FN_NIC int shmemdi_nic_store(const shmemd_ctx_t *ctx, shmemdi_call_t call, uint32_t k,
				    void *dst, uint64_t bits, uint32_t width, int pe)
{
	shmemdi_chan_t c;

	if (!shmemdi_ib_open_k(ctx, call, pe, k, &c))
		return SHMEMD_OK;
	return shmemdi_ib_word_op(&c, dst, bits, width, 0, SHMEMD_RING_BATCH);
}

SHMEMD_FN void shmemdi_p(const shmemd_ctx_t *ctx, shmemdi_call_t call, void *dst, uint64_t bits,
			 uint32_t width, int pe)
{
	char *to;
	int status = shmemdi_reach_word(ctx, call, dst, width, pe, &to);

	if (status == SHMEMD_OK && to)
		shmemdi_p2p_store(to, bits, width);
	else if (status == SHMEMD_OK)
		status = shmemdi_nic_store(ctx, call, ctx->channel, dst, bits, width, pe);
	shmemdi_latch(ctx, status);
}

SHMEMD_FN int shmemdi_g(const shmemd_ctx_t *ctx, shmemdi_call_t call, void *value, const void *src,
			uint32_t width, int pe)
{
	char *from;
	uint64_t bits = 0;
	shmemdi_chan_t c;
	int status = shmemdi_reach_word(ctx, call, src, width, pe, &from);

	if (status == SHMEMD_OK && from)
		bits = shmemdi_p2p_load(from, width);
	else if (status == SHMEMD_OK && shmemdi_ib_open(ctx, call, pe, &c))
		status = shmemdi_ib_fetch(&c, src, width, 0, &bits);
	if (status == SHMEMD_OK)
		shmemdi_bits_out(value, bits, width);
	return status;
}

/* Signals */

typedef struct shmemdi_signal {
	uint64_t *word; /* symmetric */
	uint64_t value;
	int op; /* shmemd_signal */
} shmemdi_signal_t;

SHMEMD_FN shmemdi_signal_t shmemdi_signal(uint64_t *word, uint64_t value, int op)
{
	shmemdi_signal_t sig = {word, value, op};
	return sig;
}

SHMEMD_FN int shmemdi_reach_signal(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				   shmemdi_signal_t sig, int pe, char **addr)
{
	int status = shmemdi_check_enum(ctx, call, sig.op, SHMEMD_SIGNAL_ADD);

	if (status != SHMEMD_OK)
		return status;
	if (sig.op == SHMEMD_SIGNAL_ADD)
		return shmemdi_reach_amo(ctx, call, sig.word, 8, pe, addr);
	return shmemdi_reach_word(ctx, call, sig.word, 8, pe, addr);
}

/* Before stores to mapped memory of a PE that NICs reach, too: what this thread, or who
 * synchronised with it, has sent by NIC is there. Costs a round trip only if there was anything. */
SHMEMD_FN int shmemdi_settle(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe)
{
	shmemdi_chan_t c;

	if (!(ctx->flags & SHMEMD_CTX_BOTH_WAYS) || !shmemdi_ib_open(ctx, call, pe, &c))
		return SHMEMD_OK;
	return shmemdi_flush_channel(&c);
}

/* Data, if any, and signal in one posting. */
SHMEMD_FN_NIC int shmemdi_nic_put_signal(const shmemd_ctx_t *ctx, shmemdi_call_t call,
					 shmemd_group_t g, void *dst, const void *src,
					 size_t nbytes, shmemdi_signal_t sig, int pe, int when,
					 int is_wait)
{
	shmemdi_ib_put_t put = shmemdi_put_by_nic(g, dst, src, nbytes, when);
	shmemdi_chan_t c;
	int status;

	put.sig.word = sig.word;
	put.sig.value = sig.value;
	put.sig.op = sig.op;
	if (!shmemdi_posts(g) || !shmemdi_ib_open(ctx, call, pe, &c))
		return SHMEMD_OK;
	status = shmemdi_ib_put(&c, &put);
	if (status == SHMEMD_OK && is_wait && !put.is_inline && shmemdi_leads(g))
		status = shmemdi_ring_wait(&c, put.end);
	return status;
}

SHMEMD_FN void shmemdi_signal_when(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				   shmemdi_signal_t sig, int pe, int when)
{
	char *to;
	int status = shmemdi_reach_signal(ctx, call, sig, pe, &to);

	if (status == SHMEMD_OK && to)
		shmemdi_p2p_signal(to, sig.value, sig.op);
	else if (status == SHMEMD_OK)
		status = shmemdi_nic_put_signal(ctx, call, shmemd_thread(), 0, 0, 0, sig, pe, when,
						0);
	shmemdi_latch(ctx, status);
}

SHMEMD_FN void shmemdi_signal_op(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_signal_t sig,
				 int pe)
{
	shmemdi_signal_when(ctx, call, sig, pe, SHMEMD_RING_BATCH);
}

/* Both addresses are found first: nothing is written if the signal could not follow. The data go
 * the way of the signal: an atomic by NIC would overtake stores, and stores data by NIC.
 *
 * By stores the blocking and the nbi form are the same: behind the group sync no thread reads src
 * any more. No sync behind the signal: all threads would wait for the leader's fence, a round trip.
 *
 * The group sync makes the leader's fence cover the stores of all threads. Without it a slow lane's
 * data would still be in flight when the receiver sees the signal; without the fence, so would the
 * leader's own. */
SHMEMD_FN void shmemdi_put_signal_wait(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				       shmemd_group_t g, void *dst, const void *src, size_t nbytes,
				       shmemdi_signal_t sig, int pe, int is_wait)
{
	char *to, *word;
	int status = shmemdi_reach_signal(ctx, call, sig, pe, &word);

	if (status == SHMEMD_OK)
		status = shmemdi_reach(ctx, call, g, dst, nbytes, pe, &to);
	if (status == SHMEMD_OK && !word) {
		status = shmemdi_nic_put_signal(ctx, call, g, dst, src, nbytes, sig, pe,
						SHMEMD_RING_BATCH, is_wait);
		shmemdi_latch(ctx, status);
		if (is_wait)
			/* weakened unordered: wrong, but not in the emulator, as in shmemdi_put. */
			shmemd_group_sync(g);
		return;
	}
	shmemdi_latch(ctx, status);
	if (status != SHMEMD_OK)
		return;
	shmemdi_copy(g, to, (const char *)src, nbytes);
	shmemd_group_sync(g);
	if (g.rank != 0)
		return;
	status = shmemdi_settle(ctx, call, pe);
	shmemdi_latch(ctx, status);
	if (status != SHMEMD_OK)
		return;
	shmemd_arch_fence_before_signal();
	shmemdi_p2p_signal(word, sig.value, sig.op);
}

SHMEMD_FN void shmemdi_put_signal(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				  void *dst, const void *src, size_t nbytes, shmemdi_signal_t sig,
				  int pe)
{
	shmemdi_put_signal_wait(ctx, call, g, dst, src, nbytes, sig, pe, 1);
}

SHMEMD_FN void shmemdi_put_signal_nbi(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				      shmemd_group_t g, void *dst, const void *src, size_t nbytes,
				      shmemdi_signal_t sig, int pe)
{
	shmemdi_put_signal_wait(ctx, call, g, dst, src, nbytes, sig, pe, 0);
}

/* Atomics */

SHMEMD_FN int shmemdi_amo_when(const shmemd_ctx_t *ctx, shmemdi_call_t call, int kind, void *dst,
			       uint64_t value, uint32_t width, int pe, int when)
{
	char *to;
	shmemdi_chan_t c;
	int status = shmemdi_reach_amo(ctx, call, dst, width, pe, &to);

	if (status != SHMEMD_OK)
		return status;
	if (!to)
		return shmemdi_ib_open(ctx, call, pe, &c)
			       ? shmemdi_ib_amo_post(&c, kind, dst, value, width, when)
			       : SHMEMD_OK;
	if (width == 4)
		shmemdi_p2p_red4(to, kind, (uint32_t)value);
	else
		shmemdi_p2p_red8(to, kind, value);
	return SHMEMD_OK;
}

SHMEMD_FN int shmemdi_amo(const shmemd_ctx_t *ctx, shmemdi_call_t call, int kind, void *dst,
			  uint64_t value, uint32_t width, int pe)
{
	return shmemdi_amo_when(ctx, call, kind, dst, value, width, pe, SHMEMD_RING_BATCH);
}

SHMEMD_FN int shmemdi_amo_fetch(const shmemd_ctx_t *ctx, shmemdi_call_t call, int kind, void *old,
				const void *dst, uint64_t value, uint64_t cond, uint32_t width,
				int pe)
{
	char *to;
	shmemdi_chan_t c;
	int status = shmemdi_reach_amo(ctx, call, dst, width, pe, &to);

	if (status == SHMEMD_OK && !to) {
		if (shmemdi_ib_open(ctx, call, pe, &c))
			status = shmemdi_ib_amo_fetch(&c, kind, (void *)(uintptr_t)dst, value, cond,
						      width, &value);
	} else if (status == SHMEMD_OK && width == 4) {
		value = shmemdi_p2p_atom4(to, kind, (uint32_t)value, (uint32_t)cond);
	} else if (status == SHMEMD_OK) {
		value = shmemdi_p2p_atom8(to, kind, value, cond);
	}
	if (status == SHMEMD_OK)
		shmemdi_bits_out(old, value, width);
	return status;
}

/* What goes behind all that was sent on the channel: by NIC it does by itself; stores to mapped
 * memory need the fence. */

SHMEMD_FN int shmemdi_behind_amo(const shmemd_ctx_t *ctx, shmemdi_call_t call, void *dst,
				 uint64_t value, uint32_t width, int pe, int when)
{
	if (ctx->flags & SHMEMD_CTX_SM_ATOMICS && shmemdi_check_pe(ctx, call, pe) == SHMEMD_OK &&
	    ctx->peers[pe].base)
		shmemd_arch_fence_before_signal();
	return shmemdi_amo_when(ctx, call, SHMEMDI_AMO_ADD, dst, value, width, pe, when);
}

SHMEMD_FN void shmemdi_behind_signal(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				     shmemdi_signal_t sig, int pe, int when)
{
	if (shmemdi_check_pe(ctx, call, pe) == SHMEMD_OK && ctx->peers[pe].base) {
		int status = shmemdi_settle(ctx, call, pe);

		shmemdi_latch(ctx, status);
		if (status != SHMEMD_OK)
			return;
		shmemd_arch_fence_before_signal();
	}
	shmemdi_signal_when(ctx, call, sig, pe, when);
}

/* Order. Every thread fences for itself after the group sync: its fence then covers what all
 * threads did before, and is followed by its own later stores. A fence by the leader alone would
 * not order the others' later stores in the PTX model: a release pattern is fence and store of one
 * thread.
 *
 * A channel keeps its order by itself, and what was stored before a WQE is ordered before it by the
 * fence of its posting. What is left is stores after requests, where one PE is reached both ways.
 */

SHMEMD_FN void shmemdi_fence(const shmemd_ctx_t *ctx, shmemd_group_t g)
{
	shmemdi_flush_t both = {ctx, shmemdi_call(SHMEMD_OP_QUIET, 0, 0), g,
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE), 1};
	int status;

	shmemd_group_sync(g);
	shmemd_arch_fence_order();
	if (!(ctx->flags & SHMEMD_CTX_BOTH_WAYS))
		return;
	status = shmemdi_flush_all(&both);
	shmemdi_latch(ctx, status);
	shmemd_group_sync(g);
	shmemd_arch_fence_order();
}

/* The latch as the calling thread sees it: what it latched itself or what happened before. Read
 * before a fence or wait, whose latency then hides this load's. */
SHMEMD_FN uint32_t shmemdi_latch_peek(const shmemd_ctx_t *ctx)
{
	return shmemd_arch_ld_relaxed_u32(&ctx->latch->status);
}

/* What any thread of the group peeked, the same in all threads; also a group sync. A latched
 * status stays, so that reading it again finds it. */
SHMEMD_FN int shmemdi_latch_agree(const shmemd_ctx_t *ctx, shmemd_group_t g, uint32_t peeked)
{
	/* weakened unordered: harmless, the group sync that all callers do between the peek and
	 * here has ordered what was before it, the peeks included. */
	if (!shmemd_group_any(g, peeked != 0))
		return SHMEMD_OK;
	return (int)shmemd_arch_ld_relaxed_u32(&ctx->latch->status);
}

/* What NICs carry is complete; the same status in all threads. Every thread fences at the end: it
 * may store to mapped memory next, and has learned of the completions from others. */
SHMEMD_FN_NIC int shmemdi_nic_quiet(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				    shmemdi_limit_t limit)
{
	shmemdi_flush_t all = {ctx, call, g, limit, 0};
	int status;

	if (!(ctx->flags & SHMEMD_CTX_NIC))
		return SHMEMD_OK;
	status = shmemdi_agree(g, shmemdi_flush_all(&all));
	shmemd_arch_fence_order();
	return status;
}

SHMEMD_FN int shmemdi_quiet(const shmemd_ctx_t *ctx, shmemd_group_t g)
{
	uint32_t peeked = shmemdi_latch_peek(ctx);
	int status;

	shmemd_group_sync(g);
	shmemd_arch_fence_quiet();
	status = shmemdi_nic_quiet(ctx, shmemdi_call(SHMEMD_OP_QUIET, 0, 0), g,
				   shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
	return status ? status : shmemdi_latch_agree(ctx, g, peeked);
}

#endif
