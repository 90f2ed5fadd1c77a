/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Waiting for a word of this PE's own memory to change. A wait ends by success, when a PE has died,
 * has left or cannot be reached any more, or by a time limit if one is set; by default none is
 * (impl/spin.h).
 *
 * A call with `_for` in its name, here and in the other headers, compares the time with its limit
 * `ns` at every 64th poll of a word or slot. So with ns = 0 a wait ends after some 65 polls. The
 * calls of wait_sets.h count passes over their array in place of polls, as it says there. The limit
 * is that of each wait: a barrier over NICs waits for one channel after the other, then for flags,
 * and counts each from its beginning. */
#ifndef SHMEMD_WAIT_H
#define SHMEMD_WAIT_H

#include <shmem_dev/impl/poll.h>
#include <shmem_dev/impl/traced.h>

/* Wait until `*ivar cmp value` holds for a word of this PE that other PEs update by p, signal_op or
 * atomic, or by a put of this word alone: exactly its 4 or 8 bytes, src aligned to as many. Such a
 * put is an update like a p by the first thread of the group that calls it: one strong store, or
 * one WRITE of a NIC. A larger put must not contain the word: its stores are weak, so the waiter's
 * load races with them, whatever fence follows. Put the data first, then update the word by p,
 * signal_op or an atomic after a fence, or use put_signal.
 *
 * Callers  one thread.
 * ivar     symmetric address, aligned to its size.
 * cmp      SHMEMD_CMP_EQ, NE, GT, GE, LT or LE, in the type of the word.
 * Returns  SHMEMD_OK. What its writer ordered before the update (fence) is visible to the caller.
 * Errors   ERR_PEER: a PE of the team died or left, or fail-over found no path to it, and the word
 *          did not satisfy the comparison even then; ERR_TIMEOUT: the default limit
 *          (SHMEMH_TIMEOUT) passed. Both are in the error record, not latched; the wait may be
 *          repeated. Check builds: ERR_NOT_SYMMETRIC, ERR_UNALIGNED, ERR_BAD_ARGUMENT.
 * Source   OpenSHMEM 1.5 shmem_wait_until.
 */
SHMEMD_FN int shmemd_wait_until_u32(const shmemd_ctx_t *ctx, const uint32_t *ivar, int cmp,
				    uint32_t value SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT), shmemdi_cond(ivar, SHMEMDI_U32, cmp, value),
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, int32_t. */
SHMEMD_FN int shmemd_wait_until_s32(const shmemd_ctx_t *ctx, const int32_t *ivar, int cmp,
				    int32_t value SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT),
			    shmemdi_cond(ivar, SHMEMDI_S32, cmp, (uint64_t)(int64_t)value),
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, uint64_t. */
SHMEMD_FN int shmemd_wait_until_u64(const shmemd_ctx_t *ctx, const uint64_t *ivar, int cmp,
				    uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT), shmemdi_cond(ivar, SHMEMDI_U64, cmp, value),
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, int64_t. */
SHMEMD_FN int shmemd_wait_until_s64(const shmemd_ctx_t *ctx, const int64_t *ivar, int cmp,
				    int64_t value SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT),
			    shmemdi_cond(ivar, SHMEMDI_S64, cmp, (uint64_t)value),
			    shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_wait_until with a time limit instead of the default one.
 *
 * Callers  one thread.
 * ivar, cmp, value  as shmemd_wait_until.
 * ns       nanoseconds that at least pass before ERR_TIMEOUT; 0: after some 65 polls.
 * Returns  as shmemd_wait_until; this ERR_TIMEOUT is expected and not recorded.
 */
SHMEMD_FN int shmemd_wait_until_for_u32(const shmemd_ctx_t *ctx, const uint32_t *ivar, int cmp,
					uint32_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT), shmemdi_cond(ivar, SHMEMDI_U32, cmp, value),
			    shmemdi_limit_for(ns));
}

/* As above, int32_t. */
SHMEMD_FN int shmemd_wait_until_for_s32(const shmemd_ctx_t *ctx, const int32_t *ivar, int cmp,
					int32_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT),
			    shmemdi_cond(ivar, SHMEMDI_S32, cmp, (uint64_t)(int64_t)value),
			    shmemdi_limit_for(ns));
}

/* As above, uint64_t. */
SHMEMD_FN int shmemd_wait_until_for_u64(const shmemd_ctx_t *ctx, const uint64_t *ivar, int cmp,
					uint64_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT), shmemdi_cond(ivar, SHMEMDI_U64, cmp, value),
			    shmemdi_limit_for(ns));
}

/* As above, int64_t. */
SHMEMD_FN int shmemd_wait_until_for_s64(const shmemd_ctx_t *ctx, const int64_t *ivar, int cmp,
					int64_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait(ctx, SHMEMDI_CALLER(WAIT),
			    shmemdi_cond(ivar, SHMEMDI_S64, cmp, (uint64_t)value),
			    shmemdi_limit_for(ns));
}

/* Load the word once: does `*ivar cmp value` hold now?
 *
 * Callers  one thread.
 * ivar, cmp, value  as shmemd_wait_until.
 * Returns  1 or 0. After 1 the data is visible as after a wait. Check builds: 0 for bad arguments,
 *          which are recorded and latched.
 * Source   OpenSHMEM 1.5 shmem_test. A loop around test is not bounded: prefer the wait.
 */
SHMEMD_FN int shmemd_test_u32(const shmemd_ctx_t *ctx, const uint32_t *ivar, int cmp,
			      uint32_t value SHMEMD_SITE)
{
	return shmemdi_test_once(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_cond(ivar, SHMEMDI_U32, cmp, value));
}

/* As above, int32_t. */
SHMEMD_FN int shmemd_test_s32(const shmemd_ctx_t *ctx, const int32_t *ivar, int cmp,
			      int32_t value SHMEMD_SITE)
{
	return shmemdi_test_once(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_cond(ivar, SHMEMDI_S32, cmp, (uint64_t)(int64_t)value));
}

/* As above, uint64_t. */
SHMEMD_FN int shmemd_test_u64(const shmemd_ctx_t *ctx, const uint64_t *ivar, int cmp,
			      uint64_t value SHMEMD_SITE)
{
	return shmemdi_test_once(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_cond(ivar, SHMEMDI_U64, cmp, value));
}

/* As above, int64_t. */
SHMEMD_FN int shmemd_test_s64(const shmemd_ctx_t *ctx, const int64_t *ivar, int cmp,
			      int64_t value SHMEMD_SITE)
{
	return shmemdi_test_once(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_cond(ivar, SHMEMDI_S64, cmp, (uint64_t)value));
}

#endif
