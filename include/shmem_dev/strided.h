/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Strided put and get: elements that lie apart in memory, as a column of a matrix does. shmem_dev.h
 * does not include this header. The typed names (shmemd_float_iput) are in typed.h, those by size
 * (shmemd_iput32) in sized.h.
 *
 * Cost. Mapped: each thread of the group copies whole elements, one after another. By NIC: one or
 * more work requests for each element, which the first 32 threads of the group post, with one
 * doorbell for those that they post together. An element takes one request for each part of it that
 * lies in one memory region at both ends; if this PE's side is not registered (outside of the
 * symmetric heap), a put takes one for each 28 bytes, and a get one for each 64 bytes. Each request
 * is a message of its own, so a put of data that was packed before costs less if elements are small
 * and many. If both strides are 1, the call is one put or get. */
#ifndef SHMEMD_STRIDED_H
#define SHMEMD_STRIDED_H

#include <shmem_dev/impl/strided.h>

/* Write nelems elements of width bytes from src on this PE to dst on PE pe: element i is read at
 * src + i * src_stride and written at dst + i * dst_stride, counted in elements.
 *
 * Callers  one thread.
 * dst      symmetric address; all elements inside one allocation. An element of 4 or 8 bytes that
 *          is aligned at both ends arrives whole, unless both strides are 1 and there are several:
 *          the call is one put then (wait.h). Others may be seen in parts.
 * src      any memory this thread reads, not overlapping dst. What other threads wrote to it must
 *          be visible to all callers already (a group sync). By NIC, a src outside of the symmetric
 *          heap takes a WQE for each 28 bytes of an element.
 * dst_stride, src_stride  1 or more; 1: no gaps.
 * width    bytes of an element.
 * nelems   0 or more; 0 writes nothing.
 * pe       0 .. n_pes - 1 of the context's team; this PE too.
 * Returns  when src is reusable, in all calling threads; what is between the elements of dst is
 *          not written. A thread of pe sees the data after it has acquired a signal or flag that
 *          was sent after a fence or quiet here (order.h).
 * Errors   latched, quiet returns them: those of shmemd_putmem, and in every build
 *          ERR_BAD_ARGUMENT: a stride below 1, and nothing was written. After an error by NIC
 *          some of the elements may have been written.
 * Source   OpenSHMEM 1.5 shmem_iput.
 */
SHMEMD_FN void shmemd_iputmem(const shmemd_ctx_t *ctx, void *dst, const void *src,
			      ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t width,
			      size_t nelems, int pe SHMEMD_SITE)
{
	shmemdi_iput(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_thread(), dst, src, width, pe),
		     dst_stride, src_stride, nelems);
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_iputmem_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t width,
				   size_t nelems, int pe SHMEMD_SITE)
{
	shmemdi_iput(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_warp(), dst, src, width, pe),
		     dst_stride, src_stride, nelems);
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_iputmem_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				    ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t width,
				    size_t nelems, int pe SHMEMD_SITE)
{
	shmemdi_iput(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_block(), dst, src, width, pe),
		     dst_stride, src_stride, nelems);
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_iputmem_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				    const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				    size_t width, size_t nelems, int pe SHMEMD_SITE)
{
	shmemdi_iput(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), g, dst, src, width, pe), dst_stride,
		     src_stride, nelems);
}

/* Read nelems elements of width bytes at src on PE pe into dst on this PE: element i is read at
 * src + i * src_stride and written at dst + i * dst_stride, counted in elements.
 *
 * Callers  one thread.
 * dst      any memory this thread writes, not overlapping src. By NIC, a dst outside of the
 *          symmetric heap is fetched in round trips of at most 64 bytes and one element, one after
 *          another in each thread.
 * src      symmetric address; all elements inside one allocation.
 * dst_stride, src_stride, width, nelems, pe  as shmemd_iputmem.
 * Returns  SHMEMD_OK when all calling threads see the data in dst; what is between the elements of
 *          dst is unchanged. These are ordinary reads, as those of shmemd_getmem.
 * Errors   returned, equal in all threads: those of shmemd_getmem, and in every build
 *          ERR_BAD_ARGUMENT: a stride below 1. After an error by NIC some elements may have
 *          been written, and others may still be under way, until a quiet succeeds.
 * Source   OpenSHMEM 1.5 shmem_iget.
 */
SHMEMD_FN int shmemd_igetmem(const shmemd_ctx_t *ctx, void *dst, const void *src,
			     ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t width,
			     size_t nelems, int pe SHMEMD_SITE)
{
	return shmemdi_iget(ctx,
			    shmemdi_op(SHMEMDI_CALLER(GET), shmemd_thread(), src, dst, width, pe),
			    dst_stride, src_stride, nelems);
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_igetmem_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t width,
				  size_t nelems, int pe SHMEMD_SITE)
{
	return shmemdi_iget(ctx,
			    shmemdi_op(SHMEMDI_CALLER(GET), shmemd_warp(), src, dst, width, pe),
			    dst_stride, src_stride, nelems);
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_igetmem_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t width,
				   size_t nelems, int pe SHMEMD_SITE)
{
	return shmemdi_iget(ctx,
			    shmemdi_op(SHMEMDI_CALLER(GET), shmemd_block(), src, dst, width, pe),
			    dst_stride, src_stride, nelems);
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_igetmem_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				   const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				   size_t width, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemdi_iget(ctx, shmemdi_op(SHMEMDI_CALLER(GET), g, src, dst, width, pe),
			    dst_stride, src_stride, nelems);
}

#endif
