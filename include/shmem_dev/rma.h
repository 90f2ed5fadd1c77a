/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Remote memory access: put and get of bytes, p and g of single values. Completion words (posted,
 * reusable, visible, complete) are defined in order.h; typed names are in typed.h, which
 * shmem_dev.h does not include.
 *
 * Calls on a PE behind a NIC have further errors: ERR_REFUSED, ERR_PATH, ERR_PEER, ERR_LOST when
 * the channel has failed; if they wait also ERR_PEER when the PE has died or left, and ERR_TIMEOUT.
 * A get into the symmetric heap that ended with ERR_TIMEOUT is still under way, and may write dst
 * until a quiet succeeds. One into other memory has ended then, with all, a part or nothing of dst
 * written. What a group posts without waiting is covered by a quiet of the same group, or of a
 * thread that synchronised with it. */
#ifndef SHMEMD_RMA_H
#define SHMEMD_RMA_H

#include <shmem_dev/impl/xport.h>
#include <shmem_dev/impl/traced.h>

/* Write nbytes from src on this PE to dst on PE pe.
 *
 * Callers  one thread.
 * dst      symmetric address; [dst, dst + nbytes) inside one allocation. Any alignment; fastest if
 *          dst and src are equally misaligned to 16 bytes.
 * src      any memory this thread reads, not overlapping dst. What other threads wrote to it must
 *          be visible to all callers already (a group sync). By NIC, a src outside of the symmetric
 *          heap takes a WQE for each 28 bytes.
 * nbytes   0 or more; 0 writes nothing.
 * pe       0 .. n_pes - 1 of the context's team; this PE too.
 * Returns  when src is reusable, in all calling threads. A thread of pe sees the data after it has
 *          acquired a signal or flag that was sent after a fence or quiet here (order.h).
 * Errors   latched, quiet returns them: ERR_UNREACHABLE; check builds: ERR_BAD_PE,
 *          ERR_NOT_SYMMETRIC, ERR_BAD_ARGUMENT (threads of the group are missing or in another
 *          call, a thread calls that is not in it, lanes pass different arguments, src is NULL,
 *          or src overlaps dst). By NIC also ERR_REFUSED, ERR_PATH, ERR_PEER, ERR_LOST: the
 *          channel has failed; ERR_TIMEOUT: src stays in use until quiet succeeds.
 * Source   OpenSHMEM 1.5 shmem_putmem.
 */
SHMEMD_FN void shmemd_putmem(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
			     int pe SHMEMD_SITE)
{
	shmemdi_put(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_thread(), dst, src, nbytes, pe));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_putmem_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_warp(), dst, src, nbytes, pe));
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_putmem_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_block(), dst, src, nbytes, pe));
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_putmem_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				   const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), g, dst, src, nbytes, pe));
}

/* Write nbytes from src on this PE to dst on PE pe; do not wait for completion.
 *
 * Callers  one thread.
 * dst, src, nbytes, pe  as shmemd_putmem.
 * Returns  when posted. src is reusable, and the data complete at pe, after quiet.
 * Errors   latched as for shmemd_putmem, but not ERR_TIMEOUT.
 * Source   OpenSHMEM 1.5 shmem_putmem_nbi.
 */
SHMEMD_FN void shmemd_putmem_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
				 int pe SHMEMD_SITE)
{
	shmemdi_put_unsynced(
		ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_thread(), dst, src, nbytes, pe));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_putmem_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				      size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_unsynced(ctx,
			     shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_warp(), dst, src, nbytes, pe));
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_putmem_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				       size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_unsynced(ctx,
			     shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_block(), dst, src, nbytes, pe));
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_putmem_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				       const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_unsynced(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), g, dst, src, nbytes, pe));
}

/* Read nbytes at src on PE pe into dst on this PE.
 *
 * Callers  one thread.
 * dst      any memory this thread writes, not overlapping src. Other threads of the group have
 *          finished their accesses to it: a group sync before the call. By NIC, a dst
 *          outside of the symmetric heap is fetched in round trips of 64 bytes, one after another,
 *          by the nbi form too.
 * src      symmetric address; [src, src + nbytes) inside one allocation. Any alignment; fastest if
 *          dst and src are equally misaligned to 16 bytes.
 * nbytes   0 or more.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  SHMEMD_OK when all calling threads see the data in dst. These are ordinary reads: to
 *          read what pe writes meanwhile, use shmemd_g or wait for a signal first.
 * Errors   returned, equal in all threads: ERR_UNREACHABLE; check builds: ERR_BAD_PE,
 *          ERR_NOT_SYMMETRIC, ERR_BAD_ARGUMENT. After one of these errors dst is unchanged; for
 *          errors by NIC see the top.
 * Source   OpenSHMEM 1.5 shmem_getmem.
 */
SHMEMD_FN int shmemd_getmem(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
			    int pe SHMEMD_SITE)
{
	return shmemdi_get(ctx,
			   shmemdi_op(SHMEMDI_CALLER(GET), shmemd_thread(), src, dst, nbytes, pe));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_getmem_warp(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
				 int pe SHMEMD_SITE)
{
	return shmemdi_get(ctx,
			   shmemdi_op(SHMEMDI_CALLER(GET), shmemd_warp(), src, dst, nbytes, pe));
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_getmem_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  size_t nbytes, int pe SHMEMD_SITE)
{
	return shmemdi_get(ctx,
			   shmemdi_op(SHMEMDI_CALLER(GET), shmemd_block(), src, dst, nbytes, pe));
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_getmem_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				  const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	return shmemdi_get(ctx, shmemdi_op(SHMEMDI_CALLER(GET), g, src, dst, nbytes, pe));
}

/* Read nbytes at src on PE pe into dst on this PE; do not wait.
 *
 * Callers  one thread.
 * dst, src, nbytes, pe  as shmemd_getmem.
 * Returns  when posted. dst holds the data after quiet, and belongs to the operation until then.
 * Errors   latched, quiet returns them: those of shmemd_getmem.
 * Source   OpenSHMEM 1.5 shmem_getmem_nbi.
 */
SHMEMD_FN void shmemd_getmem_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
				 int pe SHMEMD_SITE)
{
	shmemdi_get_nbi(ctx,
			shmemdi_op(SHMEMDI_CALLER(GET), shmemd_thread(), src, dst, nbytes, pe));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_getmem_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				      size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_get_nbi(ctx, shmemdi_op(SHMEMDI_CALLER(GET), shmemd_warp(), src, dst, nbytes, pe));
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_getmem_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				       size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_get_nbi(ctx, shmemdi_op(SHMEMDI_CALLER(GET), shmemd_block(), src, dst, nbytes, pe));
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_getmem_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				       const void *src, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_get_nbi(ctx, shmemdi_op(SHMEMDI_CALLER(GET), g, src, dst, nbytes, pe));
}

/* Write one value to *dst on PE pe. Never torn: a reader sees the old or the new value.
 *
 * Callers  one thread.
 * dst      symmetric address, aligned to its size.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  when posted; complete at pe after quiet.
 * Errors   latched: ERR_UNREACHABLE; check builds: ERR_BAD_PE, ERR_NOT_SYMMETRIC, ERR_UNALIGNED.
 * Source   OpenSHMEM 1.5 shmem_p.
 */
SHMEMD_FN void shmemd_p_u8(const shmemd_ctx_t *ctx, uint8_t *dst, uint8_t value, int pe SHMEMD_SITE)
{
	shmemdi_p(ctx, shmemdi_op_word(SHMEMDI_CALLER(P), dst, 1, pe), value);
}

/* As above, 16 bits. */
SHMEMD_FN void shmemd_p_u16(const shmemd_ctx_t *ctx, uint16_t *dst, uint16_t value,
			    int pe SHMEMD_SITE)
{
	shmemdi_p(ctx, shmemdi_op_word(SHMEMDI_CALLER(P), dst, 2, pe), value);
}

/* As above, 32 bits. */
SHMEMD_FN void shmemd_p_u32(const shmemd_ctx_t *ctx, uint32_t *dst, uint32_t value,
			    int pe SHMEMD_SITE)
{
	shmemdi_p(ctx, shmemdi_op_word(SHMEMDI_CALLER(P), dst, 4, pe), value);
}

/* As above, 64 bits. */
SHMEMD_FN void shmemd_p_u64(const shmemd_ctx_t *ctx, uint64_t *dst, uint64_t value,
			    int pe SHMEMD_SITE)
{
	shmemdi_p(ctx, shmemdi_op_word(SHMEMDI_CALLER(P), dst, 8, pe), value);
}

/* Read one value at *src on PE pe. Never torn, and not cached: repeated calls see new values.
 *
 * Callers  one thread.
 * value    receives it; untouched on error.
 * src      symmetric address, aligned to its size.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  SHMEMD_OK when *value is set. Relaxed: orders nothing else.
 * Errors   ERR_UNREACHABLE; check builds: ERR_BAD_PE, ERR_NOT_SYMMETRIC, ERR_UNALIGNED.
 * Source   OpenSHMEM 1.5 shmem_g; the value comes through a pointer, and the status as the
 *          result.
 */
SHMEMD_FN int shmemd_g_u8(const shmemd_ctx_t *ctx, uint8_t *value, const uint8_t *src,
			  int pe SHMEMD_SITE)
{
	return shmemdi_g(ctx, shmemdi_op_word(SHMEMDI_CALLER(G), src, 1, pe), value);
}

/* As above, 16 bits. */
SHMEMD_FN int shmemd_g_u16(const shmemd_ctx_t *ctx, uint16_t *value, const uint16_t *src,
			   int pe SHMEMD_SITE)
{
	return shmemdi_g(ctx, shmemdi_op_word(SHMEMDI_CALLER(G), src, 2, pe), value);
}

/* As above, 32 bits. */
SHMEMD_FN int shmemd_g_u32(const shmemd_ctx_t *ctx, uint32_t *value, const uint32_t *src,
			   int pe SHMEMD_SITE)
{
	return shmemdi_g(ctx, shmemdi_op_word(SHMEMDI_CALLER(G), src, 4, pe), value);
}

/* As above, 64 bits. */
SHMEMD_FN int shmemd_g_u64(const shmemd_ctx_t *ctx, uint64_t *value, const uint64_t *src,
			   int pe SHMEMD_SITE)
{
	return shmemdi_g(ctx, shmemdi_op_word(SHMEMDI_CALLER(G), src, 8, pe), value);
}

#endif
