/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* sync and barrier of a team by all-to-all flags in the team's sync memory (abi/ctx.h).
 *
 * In its sync e (the first is 1) a PE stores flag e into its own word on every other member, waits
 * until its words from all others are >= e, and then sets `number` to e. Each word has one writer.
 *
 * Interleavings considered
 *   Fast peer. B finishes sync e and enters e + 1 while A still polls for e: A's word from B goes
 *   from e to e + 1 while A polls it; >= accepts both. B cannot finish e + 1 before A sends e + 1,
 *   that is, before A finished e: no word is ever two ahead.
 *   Reuse. A word's number only grows, since a PE sends e + 1 only after it finished e; nothing is
 *   reset. To store e + 1 over e loses nothing: a reader that still waits for flag e accepts e + 1,
 *   too.
 *   Timeout and repetition. A times out in e with its flags sent. `number` stays e - 1, so the
 *   repetition is for the same flags. They are not sent again, unless the status of a barrier's
 *   quiet has changed: a queue whose completions do not come would fill up with them. (Flags
 *   without a status are stored again, which changes nothing.) A waits on for the flags that are
 *   missing. Others may have finished e and sent e + 1 meanwhile.
 *   Several polling threads. Each acquires the flags it polled; the group sync in shmemdi_agree
 *   hands that on to all. Each signalling thread fences after the entry group sync, which makes
 *   the fence cover the stores of all threads.
 *   `number` and `last_flag`. The threads of the group that use them read them between the entry
 *   sync and the agreement; the leader writes them after the agreement, and goes through the next
 *   call's entry sync later still: no thread reads the new values in this call or the old ones in
 *   the next. */
#ifndef SHMEMD_IMPL_FLAGSYNC_H
#define SHMEMD_IMPL_FLAGSYNC_H

#include <shmem_dev/impl/order.h>
#include <shmem_dev/impl/poll.h>

/* A flag for a member behind a NIC. Always on channel 0, or successive syncs on different channels
 * would overtake each other, and a word could shrink. */
SHMEMD_FN int shmemdi_nic_flag(const shmemd_ctx_t *device_copy, shmemdi_call_t call, int pe,
			       uint64_t *sym, uint64_t flag)
{
	shmemdi_word_t word = {sym, flag, 8, SHMEMDI_WORD_STORE};
	shmemdi_how_t how = {SHMEMD_RING_DEFAULT, 0, 0, 0};
	shmemdi_ref_t ref = {device_copy, pe, 0};

	return shmemdi_nic_word_lanes(ref, call, word, how);
}

/* A store, or a WRITE of 8 bytes: neither is torn. Without a NIC all members are mapped. */
SHMEMD_FN int shmemdi_flag_send(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe, uint64_t *own,
				uint64_t flag, int has_nic)
{
	char *base;
	int status;

	if (!has_nic) {
		shmemd_arch_st_relaxed_u64(shmemdi_p2p_mapped(ctx, own, pe), flag);
		return SHMEMD_OK;
	}
	status = shmemdi_select(ctx, call, own, pe, shmemdi_may_be_mapped(ctx, pe), &base);
	if (status == SHMEMD_OK && base)
		shmemd_arch_st_relaxed_u64(shmemdi_p2p_at(ctx, base, own), flag);
	else if (status == SHMEMD_OK)
		status = shmemdi_nic_flag(ctx, call, pe, own, flag);
	return status;
}

/* The other members in turn, i from 1 to n_pes - 1: each PE begins with the next one, so that not
 * all send to the same PE first. */
SHMEMD_FN int shmemdi_other(const shmemd_ctx_t *ctx, int i)
{
	int pe = ctx->my_pe + i;

	return pe < ctx->n_pes ? pe : pe - ctx->n_pes;
}

/* Not unrolled: the compiler unrolls for four members, and a thread with fewer then jumps over the
 * rest, which took 0.2 us more in a team of two (H200). */
SHMEMD_FN int shmemdi_flags_send(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				 uint64_t flag, int has_nic)
{
	uint64_t *own = &ctx->sync[SHMEMD_SYNC_FLAGS + ctx->my_pe];
	int status = SHMEMD_OK, now, i;

	SHMEMD_ARCH_NO_UNROLL
	for (i = (int)g.rank + 1; i < ctx->n_pes; i += (int)g.size) {
		now = shmemdi_flag_send(ctx, call, shmemdi_other(ctx, i), own, flag, has_nic);
		status = status ? status : now;
	}
	return status;
}

/* Is the member in the same sync, but in another collective? A member whose flag has a later number
 * has finished this sync; in a check build it compared the collectives there, and they were the
 * same. */
SHMEMD_FN int shmemdi_flag_check(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe,
				 uint64_t seen, uint64_t flag)
{
	if (!SHMEMDI_CHECKING || SHMEMD_SYNC_FLAG_NUMBER(seen) != SHMEMD_SYNC_FLAG_NUMBER(flag) ||
	    SHMEMD_SYNC_FLAG_OP(seen) == SHMEMD_SYNC_FLAG_OP(flag))
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_COLLECTIVE, pe, ctx->sync,
			      SHMEMD_SYNC_FLAG_OP(seen), SHMEMD_SYNC_FLAG_OP(flag));
}

/* The status of a member's quiet in this sync, recorded if it is an error. The flag may already be
 * that of the member's next sync. It carries the status of both: its own (STATUS), and that of this
 * one (BEFORE). */
SHMEMD_FN int shmemdi_flag_status(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe,
				  uint64_t seen, uint64_t flag)
{
	int is_next = SHMEMD_SYNC_FLAG_NUMBER(seen) != SHMEMD_SYNC_FLAG_NUMBER(flag);
	int status = (int)(is_next ? SHMEMD_SYNC_FLAG_BEFORE(seen) : SHMEMD_SYNC_FLAG_STATUS(seen));

	if (status != SHMEMD_OK)
		shmemdi_record(ctx->device_copy, call, status, pe, ctx->sync,
			       SHMEMD_SYNC_FLAG_NUMBER(seen), 0);
	return status;
}

/* Do the flags carry statuses? In a unit with the NIC path, not if the job has no NICs, where no
 * quiet fails. In a unit with SHMEMD_NO_NIC always: it may run in a job with NICs, where the
 * barrier of another unit may have failed. */
SHMEMD_FN int shmemdi_flags_have_status(int has_nic)
{
	return has_nic || !SHMEMDI_WITH_NIC;
}

/* Wait for the flags of this thread's share of the members. *quiet gets the first status of a quiet
 * that has failed. */
SHMEMD_FN int shmemdi_flags_wait(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				 uint64_t flag, shmemdi_limit_t limit, int has_nic, int *quiet)
{
	uint64_t least = SHMEMD_SYNC_FLAG(SHMEMD_SYNC_FLAG_NUMBER(flag), 0, 0, 0), seen;
	shmemdi_spin_t spin = shmemdi_spin(limit);
	int status = SHMEMD_OK;
	int i;

	SHMEMD_ARCH_NO_UNROLL
	for (i = (int)g.rank + 1; i < ctx->n_pes && status == SHMEMD_OK; i += (int)g.size) {
		int pe = shmemdi_other(ctx, i);
		const uint64_t *word = &ctx->sync[SHMEMD_SYNC_FLAGS + pe];

		spin.pe = pe;
		status = shmemdi_wait_seen(ctx, call,
					   shmemdi_cond(word, SHMEMDI_U64, SHMEMD_CMP_GE, least),
					   &spin, has_nic, &seen);
		if (status == SHMEMD_OK)
			status = shmemdi_flag_check(ctx, call, pe, seen, flag);
		if (shmemdi_flags_have_status(has_nic) && status == SHMEMD_OK &&
		    *quiet == SHMEMD_OK)
			*quiet = shmemdi_flag_status(ctx, call, pe, seen, flag);
	}
	return status;
}

/* Before the flags. call.op SHMEMD_OP_BARRIER completes the group's operations: every thread
 * fences, as in quiet, and the threads that signal need no other fence. In one place for all
 * threads: lanes that fence in two places wait for one fence after the other. */
SHMEMD_FN void shmemdi_fence_before_flags(shmemdi_call_t call, int may_signal)
{
	if (call.op == SHMEMD_OP_BARRIER)
		shmemd_arch_fence_quiet();
	else if (may_signal)
		shmemd_arch_fence_before_signal();
}

/* The status of the sync before `next`. The flag that was sent last is that of sync next - 1, and
 * has it in STATUS; or this call repeats a sync that timed out: then the flag is that of `next`,
 * and has it in BEFORE. In a job without NICs the word may also be that of an earlier sync, or 0,
 * since a unit with the NIC path does not write it there: both say OK, as all flags of such a job.
 */
SHMEMD_FN uint32_t shmemdi_flag_before(uint64_t last, uint64_t next)
{
	return SHMEMD_SYNC_FLAG_NUMBER(last) == next ? SHMEMD_SYNC_FLAG_BEFORE(last)
						     : SHMEMD_SYNC_FLAG_STATUS(last);
}

/* A quiet that failed does not keep the flags back: the other members would wait for ever. They
 * carry its status instead, and every member that has not returned yet returns it: no member may
 * take a barrier for passed before which operations were lost. A quiet that timed out keeps them
 * back: it may still succeed when the call is repeated. k: the channel that a barrier completes.
 *
 * If no NIC is in use, a thread of a block or of a run of warps whose rank is n_pes or more, which
 * has no flag to send, executes nothing here but the group syncs, and in a barrier the fence: each
 * instruction costs 8 cycles of the SM when 32 warps of a block execute it. If the group is one
 * warp (SHMEMDI_BAR_WARP), all its lanes execute what those with a flag to send execute: with a
 * test of the rank, and without the branch that is never true, a barrier by a warp took 0.1 to
 * 0.2 us longer (H200). */
SHMEMD_FN int shmemdi_sync_steps(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				 shmemdi_limit_t limit, uint32_t k, int has_nic)
{
	uint64_t *number = &ctx->sync[SHMEMD_SYNC_NUMBER];
	uint64_t *last_flag = &ctx->sync[SHMEMD_SYNC_LAST];
	uint64_t passed = 0, next = 0, flag = 0, last = 0;
	int quiet = SHMEMD_OK, status = SHMEMD_OK;
	int has_status = shmemdi_flags_have_status(has_nic);
	int is_in_one_warp = g.bar == SHMEMDI_BAR_NONE || g.bar == SHMEMDI_BAR_WARP;
	int may_signal = is_in_one_warp || g.rank < (uint32_t)ctx->n_pes;
	int has_part = has_nic || may_signal;

	shmemd_group_sync(g);
	if (has_part) { /* before the fence, whose latency hides that of the loads */
		passed = shmemd_arch_ld_relaxed_u64(number);
		if (has_status)
			last = shmemd_arch_ld_relaxed_u64(last_flag);
	}
	shmemdi_fence_before_flags(call, may_signal);
	/* Never true. It ends the basic block: else ptxas may place what needs the load before the
	 * fence, which then begins 300 cycles later. */
	if (is_in_one_warp && SHMEMD_ARCH_UNLIKELY(shmemd_arch_opaque_zero()))
		return SHMEMD_OK;
	if (has_nic && call.op == SHMEMD_OP_BARRIER)
		quiet = shmemdi_quiet_nic(ctx, call, g, limit, k);
	if (quiet == SHMEMD_ERR_TIMEOUT)
		return quiet;
	if (has_part) {
		uint32_t before;

		next = passed + 1;
		before = has_status ? shmemdi_flag_before(last, next) : 0;
		/* The difference keeps both halves of the flag together (a sum becomes an OR of
		 * each half): ptxas 13.0 spills the lower half of a shifted value alone, computes
		 * the upper one again, and then loads both from the stack, where the upper one
		 * never was (tests/gpu/spills.py). A member that sends such a flag lets the others
		 * through before it has arrived. */
		flag = SHMEMD_SYNC_FLAG(next, before, quiet, call.op) - shmemd_arch_opaque_zero();
		if (!has_status || last != flag)
			status = shmemdi_flags_send(ctx, call, g, flag, has_nic);
		if (status == SHMEMD_OK)
			status = shmemdi_flags_wait(ctx, call, g, flag, limit, has_nic, &quiet);
	}
	status = shmemdi_agree(g, status);
	if (has_status && g.rank == 0 && (status == SHMEMD_OK || status == SHMEMD_ERR_TIMEOUT))
		shmemd_arch_st_relaxed_u64(last_flag, flag);
	if (g.rank == 0 && status == SHMEMD_OK)
		shmemd_arch_st_relaxed_u64(number, next);
	if (status == SHMEMD_OK && has_status && call.op == SHMEMD_OP_BARRIER)
		status = shmemdi_agree(g, quiet);
	return status;
}

/* Where NICs reach members: a call, since it waits for the network anyway. */
SHMEMD_FN_CALL int shmemdi_sync_nic(const shmemd_ctx_t *device_copy, shmemdi_call_t call,
				    shmemd_group_t g, shmemdi_limit_t limit, uint32_t k)
{
	return shmemdi_sync_steps(device_copy, call, g, limit, k, 1);
}

SHMEMD_FN int shmemdi_sync_or_barrier(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				      shmemd_group_t g, shmemdi_limit_t limit)
{
	uint32_t nic = SHMEMDI_WITH_NIC ? SHMEMD_CTX_NIC : 0;
	int status = shmemdi_check_group(ctx, call, g);

	if (status != SHMEMD_OK)
		return status;
	shmemdi_check_sources(ctx, call);
	if ((ctx->flags & (nic | SHMEMD_CTX_ALL_MAPPED)) == SHMEMD_CTX_ALL_MAPPED)
		return shmemdi_sync_steps(ctx, call, g, limit, 0, 0);
	if (shmemdi_nic_is_connected(ctx))
		return shmemdi_sync_nic(ctx->device_copy, call, g, limit, ctx->channel);
	return shmemdi_record(ctx->device_copy, call, SHMEMD_ERR_UNREACHABLE, -1, ctx->sync, 0, 0);
}

SHMEMD_FN int shmemdi_barrier(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			      shmemdi_limit_t limit)
{
	uint32_t peeked;
	int status;

#ifdef SHMEMD_CHECK
	if (shmemdi_check_ctx(ctx, call) != SHMEMD_OK)
		return SHMEMD_ERR_BAD_CONTEXT;
	shmemdi_check_sources(ctx, call);
#endif
	peeked = shmemdi_latch_peek(ctx);
	status = shmemdi_sync_or_barrier(ctx, call, g, limit);
	if (SHMEMDI_CHECKING && status != SHMEMD_OK) /* the group may be bad */
		return status;
	return shmemdi_latch_agree(ctx, g, status, peeked);
}

/* The *_all forms are for the world team. In every build: with the context of a smaller team they
 * would return before the other PEs have arrived. */
SHMEMD_FN int shmemdi_check_all(const shmemd_ctx_t *ctx, shmemdi_call_t call)
{
	int status = shmemdi_check_ctx(ctx, call);

	if (status != SHMEMD_OK)
		return status;
	if (ctx->flags & SHMEMD_CTX_WORLD_NUMBERS)
		return SHMEMD_OK;
	return shmemdi_record(ctx->device_copy, call, SHMEMD_ERR_BAD_ARGUMENT, -1,
			      (const void *)(uintptr_t)SHMEMD_MISTAKE_TEAM, (uint64_t)ctx->n_pes,
			      0);
}

SHMEMD_FN int shmemdi_sync_all(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g)
{
	int status = shmemdi_check_all(ctx, call);

	return status ? status
		      : shmemdi_sync_or_barrier(ctx, call, g,
						shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemdi_barrier_all(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g)
{
	int status = shmemdi_check_all(ctx, call);

	return status ? status
		      : shmemdi_barrier(ctx, call, g, shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

#endif
