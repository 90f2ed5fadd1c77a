/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on elements of 128 bits. Written by generate.py, not by hand.
 * Each function has the contract of the byte or word form that its body calls; if it calls none,
 * that of the form which the comment above it names. nelems counts elements. */
#ifndef SHMEMD_TYPED_BITS128_H
#define SHMEMD_TYPED_BITS128_H

#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/strided.h>

/* As shmemd_putmem and shmemd_putmem_nbi, in each scope. */
SHMEMD_FN void shmemd_put128(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
			     int pe SHMEMD_SITE)
{
	shmemd_putmem(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_warp(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_block(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				   const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_group(ctx, g, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				 int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				      size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_warp(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				       size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_block(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				       const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_group(ctx, g, dst, src, nelems * 16, pe SHMEMD_PASS);
}

/* As shmemd_getmem and shmemd_getmem_nbi, in each scope. */
SHMEMD_FN int shmemd_get128(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
			    int pe SHMEMD_SITE)
{
	return shmemd_getmem(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_get128_warp(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				 int pe SHMEMD_SITE)
{
	return shmemd_getmem_warp(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_get128_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_block(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_get128_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				  const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_group(ctx, g, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get128_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				 int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get128_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				      size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_warp(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get128_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				       size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_block(ctx, dst, src, nelems * 16, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get128_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				       const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_group(ctx, g, dst, src, nelems * 16, pe SHMEMD_PASS);
}

/* As shmemd_putmem_signal and shmemd_putmem_signal_nbi, in each scope. */
SHMEMD_FN void shmemd_put128_signal(const shmemd_ctx_t *ctx, void *dst, const void *src,
				    size_t nelems, uint64_t *sig, uint64_t value, int op,
				    int pe SHMEMD_SITE)
{
	shmemd_putmem_signal(ctx, dst, src, nelems * 16, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_signal_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
					 size_t nelems, uint64_t *sig, uint64_t value, int op,
					 int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_warp(ctx, dst, src, nelems * 16, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_signal_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
					  size_t nelems, uint64_t *sig, uint64_t value, int op,
					  int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_block(ctx, dst, src, nelems * 16, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_signal_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					  const void *src, size_t nelems, uint64_t *sig,
					  uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_group(ctx, g, dst, src, nelems * 16, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_signal_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src,
					size_t nelems, uint64_t *sig, uint64_t value, int op,
					int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi(ctx, dst, src, nelems * 16, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_signal_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
					     size_t nelems, uint64_t *sig, uint64_t value, int op,
					     int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_warp(ctx, dst, src, nelems * 16, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_signal_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
					      size_t nelems, uint64_t *sig, uint64_t value, int op,
					      int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_block(ctx, dst, src, nelems * 16, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put128_signal_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					      const void *src, size_t nelems, uint64_t *sig,
					      uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_group(ctx, g, dst, src, nelems * 16, sig, value, op,
				       pe SHMEMD_PASS);
}

/* As shmemd_iputmem, in each scope. */
SHMEMD_FN void shmemd_iput128(const shmemd_ctx_t *ctx, void *dst, const void *src,
			      ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
			      int pe SHMEMD_SITE)
{
	shmemd_iputmem(ctx, dst, src, dst_stride, src_stride, 16, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_iput128_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				   int pe SHMEMD_SITE)
{
	shmemd_iputmem_warp(ctx, dst, src, dst_stride, src_stride, 16, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_iput128_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				    ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				    int pe SHMEMD_SITE)
{
	shmemd_iputmem_block(ctx, dst, src, dst_stride, src_stride, 16, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_iput128_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				    const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				    size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_iputmem_group(ctx, g, dst, src, dst_stride, src_stride, 16, nelems, pe SHMEMD_PASS);
}

/* As shmemd_igetmem, in each scope. */
SHMEMD_FN int shmemd_iget128(const shmemd_ctx_t *ctx, void *dst, const void *src,
			     ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
			     int pe SHMEMD_SITE)
{
	return shmemd_igetmem(ctx, dst, src, dst_stride, src_stride, 16, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_iget128_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				  int pe SHMEMD_SITE)
{
	return shmemd_igetmem_warp(ctx, dst, src, dst_stride, src_stride, 16, nelems,
				   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_iget128_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				   int pe SHMEMD_SITE)
{
	return shmemd_igetmem_block(ctx, dst, src, dst_stride, src_stride, 16, nelems,
				    pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_iget128_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				   const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				   size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_igetmem_group(ctx, g, dst, src, dst_stride, src_stride, 16, nelems,
				    pe SHMEMD_PASS);
}

#endif
