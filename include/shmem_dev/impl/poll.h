/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Test a word of this PE's memory, or wait until it satisfies a comparison. */
#ifndef SHMEMD_IMPL_POLL_H
#define SHMEMD_IMPL_POLL_H

#include <shmem_dev/group.h>
#include <shmem_dev/impl/check.h>
#include <shmem_dev/impl/switch.h>

/* How to read the word. */
enum shmemdi_word_type { SHMEMDI_U32, SHMEMDI_S32, SHMEMDI_U64, SHMEMDI_S64 };

/* `*addr cmp value`; value widened to 64 bits the way its type widens. */
typedef struct shmemdi_cond_t {
	const void *addr;
	int type; /* shmemdi_word_type: a constant in inline callers, where it folds away */
	int cmp;  /* shmemd_cmp */
	uint64_t value;
} shmemdi_cond_t;

SHMEMD_FN shmemdi_cond_t shmemdi_cond(const void *addr, int type, int cmp, uint64_t value)
{
	shmemdi_cond_t c = {addr, type, cmp, value};
	return c;
}

SHMEMD_FN uint32_t shmemdi_word_width(int type)
{
	return type == SHMEMDI_U32 || type == SHMEMDI_S32 ? 4 : 8;
}

SHMEMD_FN int shmemdi_cond_check(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_cond_t c)
{
	int status = shmemdi_check_word(ctx, call, c.addr, shmemdi_word_width(c.type));

	return status ? status : shmemdi_check_enum(ctx, call, c.cmp, SHMEMD_CMP_LE);
}

/* A word of 32 bits of that type. */
SHMEMD_FN uint64_t shmemdi_widened(int type, uint32_t word)
{
	return type == SHMEMDI_S32 ? (uint64_t)(int64_t)(int32_t)word : word;
}

SHMEMD_FN uint64_t shmemdi_cond_load(shmemdi_cond_t c)
{
	if (shmemdi_word_width(c.type) == 8)
		return shmemd_arch_ld_relaxed_u64(c.addr);
	return shmemdi_widened(c.type, shmemd_arch_ld_relaxed_u32(c.addr));
}

SHMEMD_FN int shmemdi_compare(uint64_t a, int cmp, uint64_t b)
{
	switch (cmp) {
	case SHMEMD_CMP_EQ:
		return a == b;
	case SHMEMD_CMP_NE:
		return a != b;
	case SHMEMD_CMP_GT:
		return a > b;
	case SHMEMD_CMP_GE:
		return a >= b;
	case SHMEMD_CMP_LT:
		return a < b;
	default:
		return a <= b;
	}
}

/* Compare once, relaxed. *seen gets the word. */
SHMEMD_FN int shmemdi_holds(shmemdi_cond_t c, uint64_t *seen)
{
	/* Signed order is unsigned order with the sign bit flipped. */
	uint64_t flip =
		c.type == SHMEMDI_S32 || c.type == SHMEMDI_S64 ? (uint64_t)1 << 63 : (uint64_t)0;

	*seen = shmemdi_cond_load(c);
	return shmemdi_compare(*seen ^ flip, c.cmp, c.value ^ flip);
}

/* After a comparison that succeeded: the acquire of shmemdi_poll. */
SHMEMD_FN void shmemdi_held(void)
{
	shmemdi_sources_drop();
	shmemd_arch_fence_acquire();
}

/* Test once, also in a poll loop. *seen gets the word. Relaxed, and a fence only after success:
 * each acquire load invalidates the L1 of its SM. Measured on an H200, one warp polling beside
 * warps that sum an array in the L1: those run 4 times slower with acquire polls, unchanged with
 * relaxed ones.
 *
 * The relaxed load and the fence after it are an acquire pattern of the PTX model: it synchronises
 * with the release pattern whose store the load has read (tests/sim/test_litmus.c, "MP release,
 * fence.acquire"). The fence costs 16 cycles on an H200. A second load with acquire, whose value
 * must be compared again, costs 0.14 us. */
SHMEMD_FN int shmemdi_poll(shmemdi_cond_t c, uint64_t *seen)
{
	if (!shmemdi_holds(c, seen))
		return 0;
	shmemdi_held();
	return 1;
}

/* Wait with checks of the clock and of failed PEs. *seen gets the last value.
 *
 * helps, a constant at each call: carry out orders to switch a channel meanwhile. A call that posts
 * contains that code anyway. Waits of wait.h, wait_sets.h, signal.h and packed.h do not, so that a
 * kernel that only waits needs 24 registers and not 64. If all threads are in those, the order
 * waits until the host launches a kernel that calls shmemdi_service_once.
 *
 * The last look after a failure makes the outcome definite: a signal that a PE sent before it left
 * or died makes the wait succeed, although the abort word was set between the loop's load of the
 * word and that of the abort word. */
SHMEMD_FN int shmemdi_wait_loop(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_cond_t c,
				shmemdi_spin_t *spin, int helps, uint64_t *seen)
{
	int status = SHMEMD_OK;

	while (!shmemdi_poll(c, seen)) {
		status = helps ? shmemdi_wait_step(ctx, spin) : shmemdi_spin_step(ctx, spin);
		if (status != SHMEMD_OK)
			break;
	}
	if (status == SHMEMD_OK || shmemdi_poll(c, seen))
		return SHMEMD_OK;
	if (shmemdi_spin_is_to_record(spin, status))
		shmemdi_record(ctx->device_copy, call, status, spin->pe, c.addr, *seen, c.value);
	return status;
}

/* The first polls, which are enough for most waits, have a loop of their own without the checks:
 * then little code lies between the poll that succeeds and the caller's next instruction. The loop
 * has one exit: where the condition differs between lanes, each further exit costs a barrier of
 * convergence behind the loop. The checks begin with the next poll. */
SHMEMD_FN int shmemdi_polls(shmemdi_cond_t c, uint64_t *seen)
{
	uint32_t left = SHMEMDI_POLLS_PER_LOOK;
	int holds;

	SHMEMD_ARCH_NO_UNROLL
	do {
		holds = shmemdi_holds(c, seen);
		if (!holds)
			shmemd_arch_spin_hint();
		left--;
	} while (!holds & (left != 0));
	if (!SHMEMD_ARCH_LIKELY(holds))
		return 0;
	shmemdi_held();
	return 1;
}

SHMEMD_FN int shmemdi_wait_seen(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_cond_t c,
				shmemdi_spin_t *spin, int helps, uint64_t *seen)
{
	if (shmemdi_polls(c, seen))
		return SHMEMD_OK;
	spin->polls = SHMEMDI_POLLS_PER_LOOK - 1;
	return shmemdi_wait_loop(ctx, call, c, spin, helps, seen);
}

/* A wait after its first polls, as a call. */
SHMEMD_FN_CALL int shmemdi_wait_long(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_cond_t c,
				     shmemdi_limit_t limit)
{
	shmemdi_spin_t spin = shmemdi_spin(limit);
	uint64_t seen;

	spin.polls = SHMEMDI_POLLS_PER_LOOK - 1;
	return shmemdi_wait_loop(ctx, call, c, &spin, 0, &seen);
}

/* Wait by the calling thread. */
SHMEMD_FN int shmemdi_wait(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_cond_t c,
			   shmemdi_limit_t limit)
{
	int status = shmemdi_cond_check(ctx, call, c);
	uint64_t seen;

	if (status != SHMEMD_OK || shmemdi_polls(c, &seen))
		return status;
	return shmemdi_wait_long(ctx->device_copy, call, c, limit);
}

/* The highest status of the group, in all its threads; also a group sync. Bit by bit from the top:
 * a thread that lacks a bit that another has drops out, so the result is a status that some thread
 * really had. */
SHMEMD_FN int shmemdi_highest(shmemd_group_t g, int status)
{
	int agreed = 0;
	int bit;

	if (g.bar == SHMEMDI_BAR_NONE)
		return status;
	SHMEMD_ARCH_NO_UNROLL
	for (bit = 8; bit > 0; bit >>= 1) {
		if (!shmemd_group_any(g, status & bit))
			continue;
		agreed |= bit;
		if (!(status & bit))
			status = 0;
	}
	return agreed;
}

SHMEMD_STATIC_ASSERT(SHMEMD_N_STATUSES <= 16, "shmemdi_highest passes 4 bits of a status");

/* The same, with one vote when all are fine. */
SHMEMD_FN int shmemdi_agree(shmemd_group_t g, int status)
{
	return shmemd_group_any(g, status != SHMEMD_OK) ? shmemdi_highest(g, status) : SHMEMD_OK;
}

/* Wait by the leader, for the group: its acquire and the group sync after it order the accesses
 * of all threads. */
SHMEMD_FN int shmemdi_wait_group(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				 shmemdi_cond_t c, shmemdi_limit_t limit)
{
	int status = shmemdi_check_group(ctx, call, g);

	if (SHMEMDI_CHECKING && status != SHMEMD_OK)
		return status;
	if (g.rank == 0)
		status = shmemdi_wait(ctx, call, c, limit);
	return shmemdi_agree(g, status);
}

/* Wait for the one PE that can make the condition true. */
SHMEMD_FN int shmemdi_wait_from(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_cond_t c,
				int pe)
{
	int status = shmemdi_check_pe(ctx, call, pe);

	return status ? status : shmemdi_wait(ctx, call, c, shmemdi_limit_default(ctx, pe));
}

/* One test, for functions that return no status: bad arguments are latched, and the result is 0. */
SHMEMD_FN int shmemdi_test_once(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_cond_t c)
{
	int status = shmemdi_cond_check(ctx, call, c);
	uint64_t seen;

	shmemdi_latch(ctx, status);
	return status == SHMEMD_OK && shmemdi_poll(c, &seen);
}

SHMEMD_FN uint64_t shmemdi_fetch_own(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				     const uint64_t *word)
{
	int status = shmemdi_check_word(ctx, call, word, 8);

	shmemdi_latch(ctx, status);
	if (status != SHMEMD_OK)
		return 0;
	shmemdi_sources_drop();
	return shmemd_arch_ld_acquire_u64(word);
}

#endif
