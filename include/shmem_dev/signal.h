/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Data with a signal, and waiting for signals. A signal word is a uint64_t in the symmetric heap.
 * Let its value only grow, and wait with GE for a number that the receiver keeps in memory from
 * launch to launch: then no reset can erase a signal that arrives early, and the kernel can be
 * launched again. */
#ifndef SHMEMD_SIGNAL_H
#define SHMEMD_SIGNAL_H

#include <shmem_dev/impl/poll.h>
#include <shmem_dev/impl/xport.h>
#include <shmem_dev/impl/traced.h>

/* Write nbytes from src to dst on PE pe, then update the signal word sig there: a waiter for
 * the signal sees the data. No fence is needed between the two, nor for earlier operations of this
 * thread (in the forms of a group: of the thread of rank 0) to the same PE through contexts of this
 * team (by NIC: on the same channel); what went through another team's context takes a quiet
 * (order.h). Those of other threads of the group, and what they stored to src, are covered if the
 * program synchronises the group between them and this call.
 *
 * Callers  one thread.
 * dst, src, nbytes, pe  as shmemd_putmem.
 * sig      symmetric address of the word, 8-byte aligned, not inside the data.
 * value    stored (SET) or added (ADD).
 * op       SHMEMD_SIGNAL_SET or SHMEMD_SIGNAL_ADD. Several writers of one word use ADD, through
 *          contexts of one team (amo.h); SET and ADD on one word may take different
 *          transports: the program must order them.
 * Returns  when src is reusable, in all calling threads; in the group's thread of rank 0 the signal
 *          is posted too. Before another thread updates sig again, or calls the form of quiet or
 *          fence for one thread, the program syncs the group.
 * Errors   latched, and neither data nor signal is sent: ERR_UNREACHABLE; ERR_NO_ATOMICS (ADD);
 *          check builds: ERR_BAD_PE, ERR_NOT_SYMMETRIC, ERR_UNALIGNED, ERR_BAD_ARGUMENT. By NIC
 *          also ERR_REFUSED, ERR_PATH, ERR_PEER, ERR_LOST: the channel has failed. If that was
 *          before the call, nothing is sent; if it fails during the call, data and signal may have
 *          been carried out, wholly or in part. A blocking call also ends its wait with ERR_PEER
 *          when the PE has died or left, or this PE was cut off: both are posted then. ERR_TIMEOUT:
 *          by NIC both are posted, and src stays in use until quiet succeeds. If pe is mapped, but
 *          also reached by NIC (SHMEMD_CTX_MIXED_TRANSPORT), a SET first completes what was sent to
 *          pe by NIC. If that ends with one of these five, ERR_TIMEOUT included, neither data nor
 *          signal is sent; after ERR_TIMEOUT the call may be repeated.
 * Source   OpenSHMEM 1.5 shmem_putmem_signal.
 */
SHMEMD_FN void shmemd_putmem_signal(const shmemd_ctx_t *ctx, void *dst, const void *src,
				    size_t nbytes, uint64_t *sig, uint64_t value, int op,
				    int pe SHMEMD_SITE)
{
	shmemdi_put_signal(
		ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), shmemd_thread(), dst, src, nbytes, pe),
		shmemdi_signal(sig, value, op));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_putmem_signal_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
					 size_t nbytes, uint64_t *sig, uint64_t value, int op,
					 int pe SHMEMD_SITE)
{
	shmemdi_put_signal(
		ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), shmemd_warp(), dst, src, nbytes, pe),
		shmemdi_signal(sig, value, op));
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_putmem_signal_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
					  size_t nbytes, uint64_t *sig, uint64_t value, int op,
					  int pe SHMEMD_SITE)
{
	shmemdi_put_signal(
		ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), shmemd_block(), dst, src, nbytes, pe),
		shmemdi_signal(sig, value, op));
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_putmem_signal_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					  const void *src, size_t nbytes, uint64_t *sig,
					  uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemdi_put_signal(ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), g, dst, src, nbytes, pe),
			   shmemdi_signal(sig, value, op));
}

/* As shmemd_putmem_signal; do not wait.
 *
 * Callers  one thread.
 * dst, src, nbytes, sig, value, op, pe  as shmemd_putmem_signal.
 * Returns  when posted, in the thread of rank 0; the others may return earlier. src is reusable
 *          after quiet.
 * Errors   latched as for shmemd_putmem_signal, or returned by quiet.
 * Source   OpenSHMEM 1.5 shmem_putmem_signal_nbi.
 */
SHMEMD_FN void shmemd_putmem_signal_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src,
					size_t nbytes, uint64_t *sig, uint64_t value, int op,
					int pe SHMEMD_SITE)
{
	shmemdi_put_and_signal(
		ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), shmemd_thread(), dst, src, nbytes, pe),
		shmemdi_signal(sig, value, op));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_putmem_signal_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
					     size_t nbytes, uint64_t *sig, uint64_t value, int op,
					     int pe SHMEMD_SITE)
{
	shmemdi_put_and_signal(
		ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), shmemd_warp(), dst, src, nbytes, pe),
		shmemdi_signal(sig, value, op));
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_putmem_signal_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
					      size_t nbytes, uint64_t *sig, uint64_t value, int op,
					      int pe SHMEMD_SITE)
{
	shmemdi_put_and_signal(
		ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), shmemd_block(), dst, src, nbytes, pe),
		shmemdi_signal(sig, value, op));
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_putmem_signal_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					      const void *src, size_t nbytes, uint64_t *sig,
					      uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemdi_put_and_signal(ctx, shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), g, dst, src, nbytes, pe),
			       shmemdi_signal(sig, value, op));
}

/* Update the signal word sig on PE pe. Relaxed: it may overtake earlier puts; call shmemd_fence
 * before it if it announces them.
 *
 * Callers  one thread.
 * sig, value, op, pe  as shmemd_putmem_signal.
 * Returns  when posted; complete at pe after quiet.
 * Errors   latched as for shmemd_putmem_signal.
 * Source   NVSHMEM nvshmemx_signal_op.
 */
SHMEMD_FN void shmemd_signal_op(const shmemd_ctx_t *ctx, uint64_t *sig, uint64_t value, int op,
				int pe SHMEMD_SITE)
{
	shmemdi_signal_op(ctx, shmemdi_op_word(SHMEMDI_CALLER(SIGNAL), sig, 8, pe),
			  shmemdi_signal(sig, value, op));
}

/* Read this PE's own signal word, with acquire: data announced by the value is visible to the
 * calling thread afterwards.
 *
 * Callers  one thread.
 * sig      symmetric address, 8-byte aligned.
 * Returns  the value; in check builds 0 for an address outside the heap or unaligned (recorded and
 *          latched).
 * Source   OpenSHMEM 1.5 shmem_signal_fetch.
 */
SHMEMD_FN uint64_t shmemd_signal_fetch(const shmemd_ctx_t *ctx, const uint64_t *sig SHMEMD_SITE)
{
	return shmemdi_fetch_own(ctx, SHMEMDI_CALLER(TEST), sig);
}

/* Wait until this PE's own signal word satisfies `*sig cmp value`.
 *
 * Callers  one thread.
 * sig      symmetric address, 8-byte aligned.
 * cmp      SHMEMD_CMP_EQ, NE, GT, GE, LT or LE; unsigned.
 * Returns  SHMEMD_OK; the data announced by the value seen is visible to all calling threads.
 * Errors   returned, equal in all threads: ERR_PEER: a PE of the team died or left, or fail-over
 *          found no path to it, and the word did not satisfy the comparison even then; ERR_TIMEOUT:
 *          the default limit (SHMEMH_TIMEOUT) passed. Both are in the error record, not latched;
 *          the wait may be repeated. Check builds: ERR_NOT_SYMMETRIC, ERR_UNALIGNED,
 *          ERR_BAD_ARGUMENT.
 * Source   OpenSHMEM 1.5 shmem_signal_wait_until.
 */
SHMEMD_FN int shmemd_signal_wait_until(const shmemd_ctx_t *ctx, const uint64_t *sig, int cmp,
				       uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), shmemd_thread(),
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_signal_wait_until_warp(const shmemd_ctx_t *ctx, const uint64_t *sig, int cmp,
					    uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), shmemd_warp(),
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_signal_wait_until_block(const shmemd_ctx_t *ctx, const uint64_t *sig, int cmp,
					     uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), shmemd_block(),
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_signal_wait_until_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					     const uint64_t *sig, int cmp,
					     uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), g,
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_signal_wait_until with a time limit instead of the default one.
 *
 * Callers  one thread.
 * sig, cmp, value  as shmemd_signal_wait_until.
 * ns       nanoseconds that at least pass before ERR_TIMEOUT (wait.h).
 * Returns  as shmemd_signal_wait_until; this ERR_TIMEOUT is expected and not recorded.
 */
SHMEMD_FN int shmemd_signal_wait_until_for(const shmemd_ctx_t *ctx, const uint64_t *sig, int cmp,
					   uint64_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), shmemd_thread(),
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_for(ns));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_signal_wait_until_for_warp(const shmemd_ctx_t *ctx, const uint64_t *sig,
						int cmp, uint64_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), shmemd_warp(),
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_for(ns));
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_signal_wait_until_for_block(const shmemd_ctx_t *ctx, const uint64_t *sig,
						 int cmp, uint64_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), shmemd_block(),
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_for(ns));
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_signal_wait_until_for_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
						 const uint64_t *sig, int cmp, uint64_t value,
						 uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_group(ctx, SHMEMDI_CALLER(WAIT), g,
				  shmemdi_cond(sig, SHMEMDI_U64, cmp, value),
				  shmemdi_limit_for(ns));
}

/* As shmemd_signal_wait_until, for a signal that only PE pe can send: the wait goes on if another
 * PE dies or leaves.
 *
 * Callers  one thread.
 * sig, cmp, value  as shmemd_signal_wait_until.
 * pe       the sender, 0 .. n_pes - 1 of the context's team.
 * Returns  as shmemd_signal_wait_until, ERR_PEER only if pe itself died or left, if this PE was
 *          cut off from it, or if fail-over found no path to it for SHMEMH_FT_GIVEUP; check builds
 *          also ERR_BAD_PE.
 */
SHMEMD_FN int shmemd_signal_wait_until_from(const shmemd_ctx_t *ctx, const uint64_t *sig, int cmp,
					    uint64_t value, int pe SHMEMD_SITE)
{
	return shmemdi_wait_from(ctx, SHMEMDI_CALLER(WAIT),
				 shmemdi_cond(sig, SHMEMDI_U64, cmp, value), pe);
}

#endif
