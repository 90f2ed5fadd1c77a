/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on elements of type char. Written by generate.py, not by hand.
 * Each function has the contract of the byte or word form that its body calls; if it calls none,
 * that of the form which the comment above it names. nelems counts elements. */
#ifndef SHMEMD_TYPED_CHAR_H
#define SHMEMD_TYPED_CHAR_H

#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/strided.h>

/* As shmemd_putmem and shmemd_putmem_nbi, in each scope. */
SHMEMD_FN void shmemd_char_put(const shmemd_ctx_t *ctx, char *dst, const char *src, size_t nelems,
			       int pe SHMEMD_SITE)
{
	shmemd_putmem(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
				    size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_warp(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
				     size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_block(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_group(const shmemd_ctx_t *ctx, shmemd_group_t g, char *dst,
				     const char *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_group(ctx, g, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_nbi(const shmemd_ctx_t *ctx, char *dst, const char *src,
				   size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_nbi_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
					size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_warp(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_nbi_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
					 size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_block(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, char *dst,
					 const char *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_group(ctx, g, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

/* As shmemd_getmem and shmemd_getmem_nbi, in each scope. */
SHMEMD_FN int shmemd_char_get(const shmemd_ctx_t *ctx, char *dst, const char *src, size_t nelems,
			      int pe SHMEMD_SITE)
{
	return shmemd_getmem(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_char_get_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
				   size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_warp(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_char_get_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
				    size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_block(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_char_get_group(const shmemd_ctx_t *ctx, shmemd_group_t g, char *dst,
				    const char *src, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_group(ctx, g, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_get_nbi(const shmemd_ctx_t *ctx, char *dst, const char *src,
				   size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_get_nbi_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
					size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_warp(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_get_nbi_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
					 size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_block(ctx, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_get_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, char *dst,
					 const char *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_group(ctx, g, dst, src, nelems * sizeof(char), pe SHMEMD_PASS);
}

/* As shmemd_putmem_signal and shmemd_putmem_signal_nbi, in each scope. */
SHMEMD_FN void shmemd_char_put_signal(const shmemd_ctx_t *ctx, char *dst, const char *src,
				      size_t nelems, uint64_t *sig, uint64_t value, int op,
				      int pe SHMEMD_SITE)
{
	shmemd_putmem_signal(ctx, dst, src, nelems * sizeof(char), sig, value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_signal_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
					   size_t nelems, uint64_t *sig, uint64_t value, int op,
					   int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_warp(ctx, dst, src, nelems * sizeof(char), sig, value, op,
				  pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_signal_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
					    size_t nelems, uint64_t *sig, uint64_t value, int op,
					    int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_block(ctx, dst, src, nelems * sizeof(char), sig, value, op,
				   pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_signal_group(const shmemd_ctx_t *ctx, shmemd_group_t g, char *dst,
					    const char *src, size_t nelems, uint64_t *sig,
					    uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_group(ctx, g, dst, src, nelems * sizeof(char), sig, value, op,
				   pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_signal_nbi(const shmemd_ctx_t *ctx, char *dst, const char *src,
					  size_t nelems, uint64_t *sig, uint64_t value, int op,
					  int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi(ctx, dst, src, nelems * sizeof(char), sig, value, op,
				 pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_signal_nbi_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
					       size_t nelems, uint64_t *sig, uint64_t value, int op,
					       int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_warp(ctx, dst, src, nelems * sizeof(char), sig, value, op,
				      pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_signal_nbi_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
						size_t nelems, uint64_t *sig, uint64_t value,
						int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_block(ctx, dst, src, nelems * sizeof(char), sig, value, op,
				       pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_put_signal_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
						char *dst, const char *src, size_t nelems,
						uint64_t *sig, uint64_t value, int op,
						int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_group(ctx, g, dst, src, nelems * sizeof(char), sig, value, op,
				       pe SHMEMD_PASS);
}

/* As shmemd_iputmem, in each scope. */
SHMEMD_FN void shmemd_char_iput(const shmemd_ctx_t *ctx, char *dst, const char *src,
				ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				int pe SHMEMD_SITE)
{
	shmemd_iputmem(ctx, dst, src, dst_stride, src_stride, sizeof(char), nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_iput_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
				     ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				     int pe SHMEMD_SITE)
{
	shmemd_iputmem_warp(ctx, dst, src, dst_stride, src_stride, sizeof(char), nelems,
			    pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_iput_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
				      ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				      int pe SHMEMD_SITE)
{
	shmemd_iputmem_block(ctx, dst, src, dst_stride, src_stride, sizeof(char), nelems,
			     pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_char_iput_group(const shmemd_ctx_t *ctx, shmemd_group_t g, char *dst,
				      const char *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				      size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_iputmem_group(ctx, g, dst, src, dst_stride, src_stride, sizeof(char), nelems,
			     pe SHMEMD_PASS);
}

/* As shmemd_igetmem, in each scope. */
SHMEMD_FN int shmemd_char_iget(const shmemd_ctx_t *ctx, char *dst, const char *src,
			       ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
			       int pe SHMEMD_SITE)
{
	return shmemd_igetmem(ctx, dst, src, dst_stride, src_stride, sizeof(char), nelems,
			      pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_char_iget_warp(const shmemd_ctx_t *ctx, char *dst, const char *src,
				    ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				    int pe SHMEMD_SITE)
{
	return shmemd_igetmem_warp(ctx, dst, src, dst_stride, src_stride, sizeof(char), nelems,
				   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_char_iget_block(const shmemd_ctx_t *ctx, char *dst, const char *src,
				     ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
				     int pe SHMEMD_SITE)
{
	return shmemd_igetmem_block(ctx, dst, src, dst_stride, src_stride, sizeof(char), nelems,
				    pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_char_iget_group(const shmemd_ctx_t *ctx, shmemd_group_t g, char *dst,
				     const char *src, ptrdiff_t dst_stride, ptrdiff_t src_stride,
				     size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_igetmem_group(ctx, g, dst, src, dst_stride, src_stride, sizeof(char), nelems,
				    pe SHMEMD_PASS);
}

/* As shmemd_p_u8 and shmemd_g_u8. */
SHMEMD_FN void shmemd_char_p(const shmemd_ctx_t *ctx, char *dst, char value, int pe SHMEMD_SITE)
{
	shmemd_p_u8(ctx, (uint8_t *)dst, (uint8_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_char_g(const shmemd_ctx_t *ctx, char *value, const char *src,
			    int pe SHMEMD_SITE)
{
	return shmemd_g_u8(ctx, (uint8_t *)value, (const uint8_t *)src, pe SHMEMD_PASS);
}

#endif
