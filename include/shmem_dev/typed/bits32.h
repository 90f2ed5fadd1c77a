/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on elements of 32 bits. Written by generate.py, not by hand.
 * Each function has the contract of the byte or word form that its body calls; if it calls none,
 * that of the form which the comment above it names. nelems counts elements. */
#ifndef SHMEMD_TYPED_BITS32_H
#define SHMEMD_TYPED_BITS32_H

#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/strided.h>

/* As shmemd_putmem and shmemd_putmem_nbi, in each scope. */
SHMEMD_FN void shmemd_put32(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
			    int pe SHMEMD_SITE)
{
	shmemd_putmem(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_warp(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				 int pe SHMEMD_SITE)
{
	shmemd_putmem_warp(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_block(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				  const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_group(ctx, g, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				     size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_warp(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				      size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_block(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				      const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_group(ctx, g, dst, src, nelems * 4, pe SHMEMD_PASS);
}

/* As shmemd_getmem and shmemd_getmem_nbi, in each scope. */
SHMEMD_FN int shmemd_get32(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
			   int pe SHMEMD_SITE)
{
	return shmemd_getmem(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_get32_warp(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				int pe SHMEMD_SITE)
{
	return shmemd_getmem_warp(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_get32_block(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				 int pe SHMEMD_SITE)
{
	return shmemd_getmem_block(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_get32_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				 const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_group(ctx, g, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get32_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nelems,
				int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get32_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				     size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_warp(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get32_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				      size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_block(ctx, dst, src, nelems * 4, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_get32_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				      const void *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_group(ctx, g, dst, src, nelems * 4, pe SHMEMD_PASS);
}

/* As shmemd_putmem_signal and shmemd_putmem_signal_nbi, in each scope. */
SHMEMD_FN void shmemd_put32_signal(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   size_t nelems, uint64_t *sig, uint64_t value, int op,
				   int pe SHMEMD_SITE)
{
	shmemd_putmem_signal(ctx, dst, src, nelems * 4, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_signal_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
					size_t nelems, uint64_t *sig, uint64_t value, int op,
					int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_warp(ctx, dst, src, nelems * 4, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_signal_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
					 size_t nelems, uint64_t *sig, uint64_t value, int op,
					 int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_block(ctx, dst, src, nelems * 4, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_signal_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					 const void *src, size_t nelems, uint64_t *sig,
					 uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_group(ctx, g, dst, src, nelems * 4, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_signal_nbi(const shmemd_ctx_t *ctx, void *dst, const void *src,
				       size_t nelems, uint64_t *sig, uint64_t value, int op,
				       int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi(ctx, dst, src, nelems * 4, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_signal_nbi_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
					    size_t nelems, uint64_t *sig, uint64_t value, int op,
					    int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_warp(ctx, dst, src, nelems * 4, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_signal_nbi_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
					     size_t nelems, uint64_t *sig, uint64_t value, int op,
					     int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_block(ctx, dst, src, nelems * 4, sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_put32_signal_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					     const void *src, size_t nelems, uint64_t *sig,
					     uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_group(ctx, g, dst, src, nelems * 4, sig, value, op,
				       pe SHMEMD_PASS);
}

/* As shmemd_iputmem, in each scope. */
SHMEMD_FN void shmemd_iput32(const shmemd_ctx_t *ctx, void *dst, const void *src,
			     ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
			     int pe SHMEMD_SITE)
{
	shmemd_iputmem(ctx, dst, src, dst_stride, src_stride, 4, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_iput32_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				  int pe SHMEMD_SITE)
{
	shmemd_iputmem_warp(ctx, dst, src, dst_stride, src_stride, 4, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_iput32_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				   ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				   int pe SHMEMD_SITE)
{
	shmemd_iputmem_block(ctx, dst, src, dst_stride, src_stride, 4, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_iput32_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				   const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				   size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_iputmem_group(ctx, g, dst, src, dst_stride, src_stride, 4, nelems, pe SHMEMD_PASS);
}

/* As shmemd_igetmem, in each scope. */
SHMEMD_FN int shmemd_iget32(const shmemd_ctx_t *ctx, void *dst, const void *src,
			    ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
			    int pe SHMEMD_SITE)
{
	return shmemd_igetmem(ctx, dst, src, dst_stride, src_stride, 4, nelems, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_iget32_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				 ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				 int pe SHMEMD_SITE)
{
	return shmemd_igetmem_warp(ctx, dst, src, dst_stride, src_stride, 4, nelems,
				   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_iget32_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				  int pe SHMEMD_SITE)
{
	return shmemd_igetmem_block(ctx, dst, src, dst_stride, src_stride, 4, nelems,
				    pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_iget32_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				  const void *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				  size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_igetmem_group(ctx, g, dst, src, dst_stride, src_stride, 4, nelems,
				    pe SHMEMD_PASS);
}

#endif
