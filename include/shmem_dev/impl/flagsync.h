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
 *   quiet has changed: a queue whose completions do not come would fill up with them. (Where
 *   has_nic is 0 they are stored again, which changes nothing.) A waits on for the flags that are
 *   missing. Others may have finished e and sent e + 1 meanwhile.
 *   Several polling threads. Each acquires the flags that it polled; the vote after the polls
 *   orders the accesses of all threads after these acquires. Each signalling thread fences after
 *   the entry group sync, which makes the fence cover the stores of all threads.
 *   `number` and `last_flag`. Threads read them between the entry sync and that vote; the leader
 *   writes them after the vote and before it arrives at the entry sync of the next call. So no
 *   thread reads the new values in this call or the old ones in the next. */
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

/* A store, or a WRITE of 8 bytes: neither is torn. */
SHMEMD_FN int shmemdi_flag_send(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe, uint64_t *own,
				uint64_t flag)
{
	char *base;
	int status = shmemdi_select(ctx, call, own, pe, shmemdi_may_be_mapped(ctx, pe), &base);

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

/* The word that this PE writes on every other member. */
SHMEMD_FN uint64_t *shmemdi_flag_own(const shmemd_ctx_t *ctx)
{
	return &ctx->sync[SHMEMD_SYNC_FLAGS + ctx->my_pe];
}

/* The same word, mapped, on the first member to which this thread sends a flag; on this PE itself
 * if the thread sends none. For has_nic 0, where all members are mapped. */
SHMEMD_FN char *shmemdi_flag_first(const shmemd_ctx_t *ctx, shmemd_group_t g)
{
	int i = (int)g.rank + 1;

	return shmemdi_p2p_mapped(ctx, shmemdi_flag_own(ctx),
				  i < ctx->n_pes ? shmemdi_other(ctx, i) : ctx->my_pe);
}

/* Flags to this thread's share of the members, all of them mapped. first: shmemdi_flag_first.
 *
 * Not unrolled: the compiler unrolls for four members, and a thread with fewer then jumps over the
 * rest, which took 0.2 us more in a team of two (H200). */
SHMEMD_FN void shmemdi_flags_store(const shmemd_ctx_t *ctx, shmemd_group_t g, char *first,
				   uint64_t flag)
{
	int i = (int)g.rank + 1;

	if (i < ctx->n_pes)
		shmemd_arch_st_relaxed_u64(first, flag);
	SHMEMD_ARCH_NO_UNROLL
	while ((i += (int)g.size) < ctx->n_pes)
		shmemd_arch_st_relaxed_u64(
			shmemdi_p2p_mapped(ctx, shmemdi_flag_own(ctx), shmemdi_other(ctx, i)),
			flag);
}

/* The same where NICs reach members. */
SHMEMD_FN int shmemdi_flags_send(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				 uint64_t flag)
{
	int status = SHMEMD_OK, now, i;

	SHMEMD_ARCH_NO_UNROLL
	for (i = (int)g.rank + 1; i < ctx->n_pes; i += (int)g.size) {
		now = shmemdi_flag_send(ctx, call, shmemdi_other(ctx, i), shmemdi_flag_own(ctx),
					flag);
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

/* Is the member's word the flag, or that of a later sync? */
SHMEMD_FN shmemdi_cond_t shmemdi_flag_cond(const shmemd_ctx_t *ctx, int pe, uint64_t flag)
{
	return shmemdi_cond(&ctx->sync[SHMEMD_SYNC_FLAGS + pe], SHMEMDI_U64, SHMEMD_CMP_GE,
			    SHMEMD_SYNC_FLAG(SHMEMD_SYNC_FLAG_NUMBER(flag), 0, 0, 0));
}

/* Wait for the flags of this thread's share of the members. *quiet gets the first status of a quiet
 * that has failed. If has_nic is 0, the clock is read right after the first failed poll, since in
 * most cases shmemdi_flags_come has polled before. */
SHMEMD_FN int shmemdi_flags_wait(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				 uint64_t flag, shmemdi_limit_t limit, int has_nic, int *quiet)
{
	uint64_t seen;
	shmemdi_spin_t spin = shmemdi_spin(limit);
	int status = SHMEMD_OK;
	int i;

	if (!has_nic)
		spin.polls = SHMEMDI_POLLS_PER_LOOK - 1;
	SHMEMD_ARCH_NO_UNROLL
	for (i = (int)g.rank + 1; i < ctx->n_pes && status == SHMEMD_OK; i += (int)g.size) {
		int pe = shmemdi_other(ctx, i);

		spin.pe = pe;
		status = shmemdi_wait_loop(ctx, call, shmemdi_flag_cond(ctx, pe, flag), &spin,
					   has_nic, &seen);
		if (status == SHMEMD_OK)
			status = shmemdi_flag_check(ctx, call, pe, seen, flag);
		if (shmemdi_flags_have_status(has_nic) && status == SHMEMD_OK &&
		    *quiet == SHMEMD_OK)
			*quiet = shmemdi_flag_status(ctx, call, pe, seen, flag);
	}
	return status;
}

/* Do the flags of this thread's share of the members arrive within the first polls, and carry no
 * status? Nearly every sync executes no more than this, so it has no clock, no limit and no error
 * record: with these in the loop a barrier by a warp took 0.07 us longer (H200). */
SHMEMD_FN int shmemdi_flags_come(const shmemd_ctx_t *ctx, shmemd_group_t g, uint64_t flag,
				 int has_status)
{
	int come = !SHMEMDI_CHECKING; /* in a check build shmemdi_flags_wait checks each flag */
	uint64_t seen;
	int i;

	SHMEMD_ARCH_NO_UNROLL
	for (i = (int)g.rank + 1; i < ctx->n_pes && come; i += (int)g.size) {
		come = shmemdi_polls(shmemdi_flag_cond(ctx, shmemdi_other(ctx, i), flag), &seen);
		if (has_status && SHMEMD_SYNC_FLAG_STATUSES(seen))
			come = 0;
	}
	return come;
}

/* Wait for all flags of this thread's share of the members, also those that have arrived already.
 * Returns status | quiet << 4 of shmemdi_flags_wait. */
SHMEMD_FN_CALL int shmemdi_flags_wait_long(const shmemd_ctx_t *device_copy, shmemdi_call_t call,
					   shmemd_group_t g, uint64_t flag, shmemdi_limit_t limit)
{
	int quiet = SHMEMD_OK;
	int status = shmemdi_flags_wait(device_copy, call, g, flag, limit, 0, &quiet);

	return status | quiet << 4;
}

/* Send the flags and wait for those of the others, all of them mapped. first: shmemdi_flag_first.
 */
SHMEMD_FN int shmemdi_flags_exchange(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				     char *first, uint64_t flag, shmemdi_limit_t limit, int *quiet)
{
	int outcome;

	shmemdi_flags_store(ctx, g, first, flag);
	if (SHMEMD_ARCH_LIKELY(shmemdi_flags_come(ctx, g, flag, shmemdi_flags_have_status(0))))
		return SHMEMD_OK;
	outcome = shmemdi_flags_wait_long(ctx->device_copy, call, g, flag, limit);
	*quiet = outcome >> 4;
	return outcome & 15;
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

/* The flag of sync `next`; last: 0 if flags carry no status.
 *
 * The difference keeps both halves of the flag together (a sum becomes an OR of each half): ptxas
 * 13.0 spills the lower half of a shifted value alone, computes the upper one again, and then loads
 * both from the stack, where the upper one never was (tests/gpu/spills.py). A member that sends
 * such a flag lets the others through before it has arrived. */
SHMEMD_FN uint64_t shmemdi_flag_make(shmemdi_call_t call, uint64_t next, uint64_t last, int quiet)
{
	return SHMEMD_SYNC_FLAG(next, shmemdi_flag_before(last, next), quiet, call.op) -
	       shmemd_arch_opaque_zero();
}

/* The error of a barrier in which all have arrived and some thread has found an error: the highest
 * status of a quiet, or else the one latched. A latched status stays, so that every thread reads
 * what one has peeked. */
SHMEMD_FN int shmemdi_barrier_error(const shmemd_ctx_t *ctx, shmemd_group_t g, int quiet,
				    int has_status)
{
	int status = has_status ? shmemdi_highest(g, quiet) : SHMEMD_OK;

	return status ? status : (int)shmemdi_latch_peek(ctx);
}

/* After a quiet that failed the flags are sent all the same: the other members would otherwise wait
 * for ever. The flags carry its status, and every member that has not returned yet returns it: no
 * member may return SHMEMD_OK from a barrier before which operations were lost. After a quiet that
 * timed out no flag is sent: it may succeed when the call is repeated. k: the channel that a
 * barrier completes.
 *
 * If no NIC is in use, a thread of a block or of a run of warps whose rank is n_pes or more, which
 * has no flag to send, executes nothing here but the group syncs, and in a barrier the fence: each
 * instruction costs 8 cycles of the SM when 32 warps of a block execute it. If the group is one
 * warp (SHMEMDI_BAR_WARP), all its lanes execute what those with a flag to send execute: with a
 * test of the rank, and without the branch that is never true, a barrier by a warp took 0.1 to
 * 0.2 us longer (H200). */
SHMEMD_FN int shmemdi_sync_steps(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				 shmemdi_limit_t limit, uint32_t k, uint32_t peeked, int has_nic)
{
	uint64_t *number = &ctx->sync[SHMEMD_SYNC_NUMBER];
	uint64_t *last_flag = &ctx->sync[SHMEMD_SYNC_LAST];
	uint64_t passed = 0, next = 0, flag = 0, last = 0;
	char *first = (char *)0;
	int quiet = SHMEMD_OK, status = SHMEMD_OK, has_error;
	int has_status = shmemdi_flags_have_status(has_nic);
	int is_in_one_warp = g.bar == SHMEMDI_BAR_NONE || g.bar == SHMEMDI_BAR_WARP;
	int may_signal = is_in_one_warp || g.rank < (uint32_t)ctx->n_pes;
	int has_part = has_nic || may_signal;

	shmemd_group_sync(g);
	if (has_part) { /* before the fence, whose latency hides that of the loads */
		passed = shmemd_arch_ld_relaxed_u64(number);
		if (has_status)
			last = shmemd_arch_ld_relaxed_u64(last_flag);
		if (!has_nic)
			first = shmemdi_flag_first(ctx, g);
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
		next = passed + 1;
		flag = shmemdi_flag_make(call, next, has_status ? last : 0, quiet);
		if (!has_nic)
			status = shmemdi_flags_exchange(ctx, call, g, first, flag, limit, &quiet);
		else if (last != flag)
			status = shmemdi_flags_send(ctx, call, g, flag);
		if (has_nic && status == SHMEMD_OK)
			status = shmemdi_flags_wait(ctx, call, g, flag, limit, 1, &quiet);
	}
	/* One vote for all errors. A barrier by a block with another vote for the latch took 0.07
	 * us longer (H200). */
	has_error = shmemd_group_any(g, (status | quiet | (int)peeked) != 0);
	if (SHMEMD_ARCH_UNLIKELY(has_error))
		status = shmemdi_highest(g, status);
	if (has_status && g.rank == 0 && (status == SHMEMD_OK || status == SHMEMD_ERR_TIMEOUT))
		shmemd_arch_st_relaxed_u64(last_flag, flag);
	if (g.rank == 0 && status == SHMEMD_OK)
		shmemd_arch_st_relaxed_u64(number, next);
	if (has_error && status == SHMEMD_OK && call.op == SHMEMD_OP_BARRIER)
		status = shmemdi_barrier_error(ctx, g, quiet, has_status);
	return status;
}

/* Where NICs reach members: a call, since it waits for the network anyway. */
SHMEMD_FN_CALL int shmemdi_sync_nic(const shmemd_ctx_t *device_copy, shmemdi_call_t call,
				    shmemd_group_t g, shmemdi_limit_t limit, uint32_t k,
				    uint32_t peeked)
{
	return shmemdi_sync_steps(device_copy, call, g, limit, k, peeked, 1);
}

SHMEMD_FN int shmemdi_sync_or_barrier(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				      shmemd_group_t g, shmemdi_limit_t limit, uint32_t peeked)
{
	uint32_t nic = SHMEMDI_WITH_NIC ? SHMEMD_CTX_NIC : 0;
	int status = shmemdi_check_group(ctx, call, g);

	if (status != SHMEMD_OK)
		return status;
	shmemdi_check_sources(ctx, call);
	if ((ctx->flags & (nic | SHMEMD_CTX_ALL_MAPPED)) == SHMEMD_CTX_ALL_MAPPED)
		return shmemdi_sync_steps(ctx, call, g, limit, 0, peeked, 0);
	if (shmemdi_nic_is_connected(ctx))
		return shmemdi_sync_nic(ctx->device_copy, call, g, limit, ctx->channel, peeked);
	return shmemdi_record(ctx->device_copy, call, SHMEMD_ERR_UNREACHABLE, -1, ctx->sync, 0, 0);
}

SHMEMD_FN int shmemdi_sync(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			   shmemdi_limit_t limit)
{
	return shmemdi_sync_or_barrier(ctx, call, g, limit, 0);
}

SHMEMD_FN int shmemdi_barrier(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
			      shmemdi_limit_t limit)
{
#ifdef SHMEMD_CHECK
	if (shmemdi_check_ctx(ctx, call) != SHMEMD_OK)
		return SHMEMD_ERR_BAD_CONTEXT;
	shmemdi_check_sources(ctx, call);
#endif
	return shmemdi_sync_or_barrier(ctx, call, g, limit, shmemdi_latch_peek(ctx));
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
		      : shmemdi_sync(ctx, call, g, shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemdi_barrier_all(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g)
{
	int status = shmemdi_check_all(ctx, call);

	return status ? status
		      : shmemdi_barrier(ctx, call, g, shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

#endif
