/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Small values whose arrival needs no other flag: a count, an offset, a pointer. A value of up to 8
 * bytes and a number, its epoch, travel to a slot of 16 bytes in one store instruction, or in one
 * WRITE. The two halves of the slot need not arrive together: each has the epoch, and the reader
 * waits for both. The sender needs no fence and no signal, and the receiver polls the slot itself:
 * less than half the latency of a put with a signal.
 *
 * A slot has one writer at a time. Its epochs differ from one value to the next (count them, and
 * carry the count along). A slot in memory of shmemh_calloc holds epoch 0, so the first value takes
 * another. One in memory of shmemh_malloc may hold any epoch, for instance one that was waited for
 * before that memory was freed: zero it first. A slot does not show whether it has been read:
 * before the writer writes the next value, it needs proof of that, such as an answer of the reader.
 * With two slots used in turn, value n + 1 takes the place of value n - 1, so an answer to value
 * n - 1 is enough. */
#ifndef SHMEMD_PACKED_H
#define SHMEMD_PACKED_H

#include <shmem_dev/impl/packed.h>
#include <shmem_dev/impl/traced.h>

/* A slot; read only by the functions below. Its address is a multiple of 16. */
typedef struct shmemd_packed {
	uint64_t half[2]; /* epoch << 32 | 4 bytes of the value */
} shmemd_packed_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_packed_t) == 16, "one instruction");

/* Write value and epoch to the slot dst on PE pe. Relaxed: orders nothing else.
 *
 * Callers  one thread. Lanes of a warp that call together, each with a slot of its own, share one
 *          request over mapped memory if their slots are neighbours, and by NIC one doorbell if
 *          they name one PE.
 * dst      symmetric address of the slot, a multiple of 16.
 * epoch    not that of the value before.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  when posted; complete at pe after quiet.
 * Errors   latched: ERR_UNREACHABLE; check builds: ERR_BAD_PE, ERR_NOT_SYMMETRIC, ERR_UNALIGNED. By
 *          NIC also ERR_REFUSED, ERR_PATH, ERR_PEER, ERR_LOST: the channel has failed.
 * Source   the LL protocol of NCCL, with 4 bytes and a flag in each 8.
 */
SHMEMD_FN void shmemd_put_packed(const shmemd_ctx_t *ctx, shmemd_packed_t *dst, uint64_t value,
				 uint32_t epoch, int pe SHMEMD_SITE)
{
	shmemdi_put_packed(ctx, shmemdi_op_word(SHMEMDI_CALLER(P), dst, 16, pe), value, epoch);
}

/* Does this PE's own slot hold that epoch?
 *
 * Callers  one thread.
 * value    receives the value of that epoch; untouched if 0 is returned.
 * slot     symmetric address of the slot, a multiple of 16.
 * Returns  1 or 0; in check builds 0 for an address outside the heap or unaligned (recorded and
 *          latched). Relaxed: orders nothing else.
 */
SHMEMD_FN int shmemd_test_packed(const shmemd_ctx_t *ctx, uint64_t *value,
				 const shmemd_packed_t *slot, uint32_t epoch SHMEMD_SITE)
{
	return shmemdi_packed_test(ctx, SHMEMDI_CALLER(TEST), value, slot, epoch);
}

/* Wait until this PE's own slot holds that epoch.
 *
 * Callers  one thread; lanes of a warp may wait together, each for a slot of its own.
 * value    receives the value of that epoch; untouched on error.
 * slot     symmetric address of the slot, a multiple of 16.
 * Returns  SHMEMD_OK. Relaxed: orders nothing else, so the value cannot announce other data.
 * Errors   returned: ERR_PEER: a PE of the team died or left, or fail-over found no path to it, and
 *          the slot did not hold the epoch even then; ERR_TIMEOUT: the default limit
 *          (SHMEMH_TIMEOUT) passed. Both are in the error record, not latched; the wait may be
 *          repeated. Check builds: ERR_NOT_SYMMETRIC, ERR_UNALIGNED.
 */
SHMEMD_FN int shmemd_wait_packed(const shmemd_ctx_t *ctx, uint64_t *value,
				 const shmemd_packed_t *slot, uint32_t epoch SHMEMD_SITE)
{
	return shmemdi_packed_wait(ctx, SHMEMDI_CALLER(WAIT), value, slot, epoch,
				   shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_wait_packed with a time limit instead of the default one.
 *
 * Callers  as shmemd_wait_packed.
 * value, slot, epoch  as shmemd_wait_packed.
 * ns       nanoseconds that at least pass before ERR_TIMEOUT (wait.h).
 * Returns  as shmemd_wait_packed; this ERR_TIMEOUT is expected and not recorded.
 */
SHMEMD_FN int shmemd_wait_packed_for(const shmemd_ctx_t *ctx, uint64_t *value,
				     const shmemd_packed_t *slot, uint32_t epoch,
				     uint64_t ns SHMEMD_SITE)
{
	return shmemdi_packed_wait(ctx, SHMEMDI_CALLER(WAIT), value, slot, epoch,
				   shmemdi_limit_for(ns));
}

#endif
