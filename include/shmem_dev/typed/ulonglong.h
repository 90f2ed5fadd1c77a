/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on elements of type unsigned long long. Written by generate.py, not by hand.
 * Each function has the contract of the byte or word form that its body calls; if it calls none,
 * that of the form which the comment above it names. nelems counts elements. */
#ifndef SHMEMD_TYPED_ULONGLONG_H
#define SHMEMD_TYPED_ULONGLONG_H

#include <shmem_dev/amo.h>
#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/strided.h>
#include <shmem_dev/wait.h>
#include <shmem_dev/wait_sets.h>

/* As shmemd_putmem and shmemd_putmem_nbi, in each scope. */
SHMEMD_FN void shmemd_ulonglong_put(const shmemd_ctx_t *ctx, unsigned long long *dst,
				    const unsigned long long *src, size_t nelems,
				    int pe SHMEMD_SITE)
{
	shmemd_putmem(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_warp(const shmemd_ctx_t *ctx, unsigned long long *dst,
					 const unsigned long long *src, size_t nelems,
					 int pe SHMEMD_SITE)
{
	shmemd_putmem_warp(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_block(const shmemd_ctx_t *ctx, unsigned long long *dst,
					  const unsigned long long *src, size_t nelems,
					  int pe SHMEMD_SITE)
{
	shmemd_putmem_block(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					  unsigned long long *dst, const unsigned long long *src,
					  size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_group(ctx, g, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_nbi(const shmemd_ctx_t *ctx, unsigned long long *dst,
					const unsigned long long *src, size_t nelems,
					int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_nbi_warp(const shmemd_ctx_t *ctx, unsigned long long *dst,
					     const unsigned long long *src, size_t nelems,
					     int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_warp(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_nbi_block(const shmemd_ctx_t *ctx, unsigned long long *dst,
					      const unsigned long long *src, size_t nelems,
					      int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_block(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					      unsigned long long *dst,
					      const unsigned long long *src, size_t nelems,
					      int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_group(ctx, g, dst, src, nelems * sizeof(unsigned long long),
				pe SHMEMD_PASS);
}

/* As shmemd_getmem and shmemd_getmem_nbi, in each scope. */
SHMEMD_FN int shmemd_ulonglong_get(const shmemd_ctx_t *ctx, unsigned long long *dst,
				   const unsigned long long *src, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_get_warp(const shmemd_ctx_t *ctx, unsigned long long *dst,
					const unsigned long long *src, size_t nelems,
					int pe SHMEMD_SITE)
{
	return shmemd_getmem_warp(ctx, dst, src, nelems * sizeof(unsigned long long),
				  pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_get_block(const shmemd_ctx_t *ctx, unsigned long long *dst,
					 const unsigned long long *src, size_t nelems,
					 int pe SHMEMD_SITE)
{
	return shmemd_getmem_block(ctx, dst, src, nelems * sizeof(unsigned long long),
				   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_get_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					 unsigned long long *dst, const unsigned long long *src,
					 size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_group(ctx, g, dst, src, nelems * sizeof(unsigned long long),
				   pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_get_nbi(const shmemd_ctx_t *ctx, unsigned long long *dst,
					const unsigned long long *src, size_t nelems,
					int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_get_nbi_warp(const shmemd_ctx_t *ctx, unsigned long long *dst,
					     const unsigned long long *src, size_t nelems,
					     int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_warp(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_get_nbi_block(const shmemd_ctx_t *ctx, unsigned long long *dst,
					      const unsigned long long *src, size_t nelems,
					      int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_block(ctx, dst, src, nelems * sizeof(unsigned long long), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_get_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					      unsigned long long *dst,
					      const unsigned long long *src, size_t nelems,
					      int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_group(ctx, g, dst, src, nelems * sizeof(unsigned long long),
				pe SHMEMD_PASS);
}

/* As shmemd_putmem_signal and shmemd_putmem_signal_nbi, in each scope. */
SHMEMD_FN void shmemd_ulonglong_put_signal(const shmemd_ctx_t *ctx, unsigned long long *dst,
					   const unsigned long long *src, size_t nelems,
					   uint64_t *sig, uint64_t value, int op,
					   int pe SHMEMD_SITE)
{
	shmemd_putmem_signal(ctx, dst, src, nelems * sizeof(unsigned long long), sig, value, op,
			     pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_signal_warp(const shmemd_ctx_t *ctx, unsigned long long *dst,
						const unsigned long long *src, size_t nelems,
						uint64_t *sig, uint64_t value, int op,
						int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_warp(ctx, dst, src, nelems * sizeof(unsigned long long), sig, value,
				  op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_signal_block(const shmemd_ctx_t *ctx, unsigned long long *dst,
						 const unsigned long long *src, size_t nelems,
						 uint64_t *sig, uint64_t value, int op,
						 int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_block(ctx, dst, src, nelems * sizeof(unsigned long long), sig, value,
				   op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_signal_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
						 unsigned long long *dst,
						 const unsigned long long *src, size_t nelems,
						 uint64_t *sig, uint64_t value, int op,
						 int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_group(ctx, g, dst, src, nelems * sizeof(unsigned long long), sig,
				   value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_signal_nbi(const shmemd_ctx_t *ctx, unsigned long long *dst,
					       const unsigned long long *src, size_t nelems,
					       uint64_t *sig, uint64_t value, int op,
					       int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi(ctx, dst, src, nelems * sizeof(unsigned long long), sig, value, op,
				 pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_signal_nbi_warp(const shmemd_ctx_t *ctx,
						    unsigned long long *dst,
						    const unsigned long long *src, size_t nelems,
						    uint64_t *sig, uint64_t value, int op,
						    int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_warp(ctx, dst, src, nelems * sizeof(unsigned long long), sig,
				      value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_signal_nbi_block(const shmemd_ctx_t *ctx,
						     unsigned long long *dst,
						     const unsigned long long *src, size_t nelems,
						     uint64_t *sig, uint64_t value, int op,
						     int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_block(ctx, dst, src, nelems * sizeof(unsigned long long), sig,
				       value, op, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_put_signal_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
						     unsigned long long *dst,
						     const unsigned long long *src, size_t nelems,
						     uint64_t *sig, uint64_t value, int op,
						     int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_group(ctx, g, dst, src, nelems * sizeof(unsigned long long), sig,
				       value, op, pe SHMEMD_PASS);
}

/* As shmemd_iputmem, in each scope. */
SHMEMD_FN void shmemd_ulonglong_iput(const shmemd_ctx_t *ctx, unsigned long long *dst,
				     const unsigned long long *src, ptrdiff_t dst_stride,
				     ptrdiff_t src_stride, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_iputmem(ctx, dst, src, dst_stride, src_stride, sizeof(unsigned long long), nelems,
		       pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_iput_warp(const shmemd_ctx_t *ctx, unsigned long long *dst,
					  const unsigned long long *src, ptrdiff_t dst_stride,
					  ptrdiff_t src_stride, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_iputmem_warp(ctx, dst, src, dst_stride, src_stride, sizeof(unsigned long long),
			    nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_iput_block(const shmemd_ctx_t *ctx, unsigned long long *dst,
					   const unsigned long long *src, ptrdiff_t dst_stride,
					   ptrdiff_t src_stride, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_iputmem_block(ctx, dst, src, dst_stride, src_stride, sizeof(unsigned long long),
			     nelems, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_iput_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					   unsigned long long *dst, const unsigned long long *src,
					   ptrdiff_t dst_stride, ptrdiff_t src_stride,
					   size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_iputmem_group(ctx, g, dst, src, dst_stride, src_stride, sizeof(unsigned long long),
			     nelems, pe SHMEMD_PASS);
}

/* As shmemd_igetmem, in each scope. */
SHMEMD_FN int shmemd_ulonglong_iget(const shmemd_ctx_t *ctx, unsigned long long *dst,
				    const unsigned long long *src, ptrdiff_t dst_stride,
				    ptrdiff_t src_stride, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_igetmem(ctx, dst, src, dst_stride, src_stride, sizeof(unsigned long long),
			      nelems, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_iget_warp(const shmemd_ctx_t *ctx, unsigned long long *dst,
					 const unsigned long long *src, ptrdiff_t dst_stride,
					 ptrdiff_t src_stride, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_igetmem_warp(ctx, dst, src, dst_stride, src_stride,
				   sizeof(unsigned long long), nelems, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_iget_block(const shmemd_ctx_t *ctx, unsigned long long *dst,
					  const unsigned long long *src, ptrdiff_t dst_stride,
					  ptrdiff_t src_stride, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_igetmem_block(ctx, dst, src, dst_stride, src_stride,
				    sizeof(unsigned long long), nelems, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_iget_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					  unsigned long long *dst, const unsigned long long *src,
					  ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems,
					  int pe SHMEMD_SITE)
{
	return shmemd_igetmem_group(ctx, g, dst, src, dst_stride, src_stride,
				    sizeof(unsigned long long), nelems, pe SHMEMD_PASS);
}

/* As shmemd_p_u64 and shmemd_g_u64. */
SHMEMD_FN void shmemd_ulonglong_p(const shmemd_ctx_t *ctx, unsigned long long *dst,
				  unsigned long long value, int pe SHMEMD_SITE)
{
	shmemd_p_u64(ctx, (uint64_t *)dst, (uint64_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_g(const shmemd_ctx_t *ctx, unsigned long long *value,
				 const unsigned long long *src, int pe SHMEMD_SITE)
{
	return shmemd_g_u64(ctx, (uint64_t *)value, (const uint64_t *)src, pe SHMEMD_PASS);
}

/* As shmemd_wait_until_u64, shmemd_wait_until_for_u64 and shmemd_test_u64. */
SHMEMD_FN int shmemd_ulonglong_wait_until(const shmemd_ctx_t *ctx, const unsigned long long *ivar,
					  int cmp, unsigned long long value SHMEMD_SITE)
{
	return shmemd_wait_until_u64(ctx, (const uint64_t *)ivar, cmp, value SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_wait_until_for(const shmemd_ctx_t *ctx,
					      const unsigned long long *ivar, int cmp,
					      unsigned long long value, uint64_t ns SHMEMD_SITE)
{
	return shmemd_wait_until_for_u64(ctx, (const uint64_t *)ivar, cmp, value, ns SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_test(const shmemd_ctx_t *ctx, const unsigned long long *ivar,
				    int cmp, unsigned long long value SHMEMD_SITE)
{
	return shmemd_test_u64(ctx, (const uint64_t *)ivar, cmp, value SHMEMD_PASS);
}

/* As shmemd_wait_until_all_u64 and those below it, and shmemd_test_all_u64. */
SHMEMD_FN int shmemd_ulonglong_wait_until_all(const shmemd_ctx_t *ctx,
					      const unsigned long long *ivars, size_t nelems,
					      const int *mask, int cmp,
					      unsigned long long value SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_all_for(const shmemd_ctx_t *ctx,
						  const unsigned long long *ivars, size_t nelems,
						  const int *mask, int cmp,
						  unsigned long long value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_for(ns));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_all_vector(const shmemd_ctx_t *ctx,
						     const unsigned long long *ivars, size_t nelems,
						     const int *mask, int cmp,
						     const unsigned long long *values SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_all_vector_for(const shmemd_ctx_t *ctx,
							 const unsigned long long *ivars,
							 size_t nelems, const int *mask, int cmp,
							 const unsigned long long *values,
							 uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_for(ns));
}

SHMEMD_FN int shmemd_ulonglong_test_all(const shmemd_ctx_t *ctx, const unsigned long long *ivars,
					size_t nelems, const int *mask, int cmp,
					unsigned long long value SHMEMD_SITE)
{
	return shmemdi_test_all(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value));
}

SHMEMD_FN int shmemd_ulonglong_test_all_vector(const shmemd_ctx_t *ctx,
					       const unsigned long long *ivars, size_t nelems,
					       const int *mask, int cmp,
					       const unsigned long long *values SHMEMD_SITE)
{
	return shmemdi_test_all(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values));
}

/* As shmemd_wait_until_any_u64 and those below it, and shmemd_test_any_u64. */
SHMEMD_FN int shmemd_ulonglong_wait_until_any(const shmemd_ctx_t *ctx, size_t *index,
					      const unsigned long long *ivars, size_t nelems,
					      const int *mask, int cmp,
					      unsigned long long value SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_any_for(const shmemd_ctx_t *ctx, size_t *index,
						  const unsigned long long *ivars, size_t nelems,
						  const int *mask, int cmp,
						  unsigned long long value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_for(ns));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_any_vector(const shmemd_ctx_t *ctx, size_t *index,
						     const unsigned long long *ivars, size_t nelems,
						     const int *mask, int cmp,
						     const unsigned long long *values SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_any_vector_for(const shmemd_ctx_t *ctx, size_t *index,
							 const unsigned long long *ivars,
							 size_t nelems, const int *mask, int cmp,
							 const unsigned long long *values,
							 uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_for(ns));
}

SHMEMD_FN size_t shmemd_ulonglong_test_any(const shmemd_ctx_t *ctx, const unsigned long long *ivars,
					   size_t nelems, const int *mask, int cmp,
					   unsigned long long value SHMEMD_SITE)
{
	return shmemdi_test_any(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value));
}

SHMEMD_FN size_t shmemd_ulonglong_test_any_vector(const shmemd_ctx_t *ctx,
						  const unsigned long long *ivars, size_t nelems,
						  const int *mask, int cmp,
						  const unsigned long long *values SHMEMD_SITE)
{
	return shmemdi_test_any(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values));
}

/* As shmemd_wait_until_some_u64 and those below it, and shmemd_test_some_u64. */
SHMEMD_FN int shmemd_ulonglong_wait_until_some(const shmemd_ctx_t *ctx, size_t *count,
					       const unsigned long long *ivars, size_t nelems,
					       size_t *indices, const int *mask, int cmp,
					       unsigned long long value SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value), indices,
				 shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_some_for(const shmemd_ctx_t *ctx, size_t *count,
						   const unsigned long long *ivars, size_t nelems,
						   size_t *indices, const int *mask, int cmp,
						   unsigned long long value,
						   uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value), indices,
				 shmemdi_limit_for(ns));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_some_vector(const shmemd_ctx_t *ctx, size_t *count,
						      const unsigned long long *ivars,
						      size_t nelems, size_t *indices,
						      const int *mask, int cmp,
						      const unsigned long long *values SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				 indices, shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

SHMEMD_FN int shmemd_ulonglong_wait_until_some_vector_for(const shmemd_ctx_t *ctx, size_t *count,
							  const unsigned long long *ivars,
							  size_t nelems, size_t *indices,
							  const int *mask, int cmp,
							  const unsigned long long *values,
							  uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				 indices, shmemdi_limit_for(ns));
}

SHMEMD_FN size_t shmemd_ulonglong_test_some(const shmemd_ctx_t *ctx,
					    const unsigned long long *ivars, size_t nelems,
					    size_t *indices, const int *mask, int cmp,
					    unsigned long long value SHMEMD_SITE)
{
	return shmemdi_test_some(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				 indices);
}

SHMEMD_FN size_t shmemd_ulonglong_test_some_vector(const shmemd_ctx_t *ctx,
						   const unsigned long long *ivars, size_t nelems,
						   size_t *indices, const int *mask, int cmp,
						   const unsigned long long *values SHMEMD_SITE)
{
	return shmemdi_test_some(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				 indices);
}

/* As shmemd_atomic_set_u64 and those below it: no result. */
SHMEMD_FN void shmemd_ulonglong_atomic_set(const shmemd_ctx_t *ctx, unsigned long long *dst,
					   unsigned long long value, int pe SHMEMD_SITE)
{
	shmemd_atomic_set_u64(ctx, (uint64_t *)dst, (uint64_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_atomic_add(const shmemd_ctx_t *ctx, unsigned long long *dst,
					   unsigned long long value, int pe SHMEMD_SITE)
{
	shmemd_atomic_add_u64(ctx, (uint64_t *)dst, (uint64_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_atomic_and(const shmemd_ctx_t *ctx, unsigned long long *dst,
					   unsigned long long value, int pe SHMEMD_SITE)
{
	shmemd_atomic_and_u64(ctx, (uint64_t *)dst, (uint64_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_atomic_or(const shmemd_ctx_t *ctx, unsigned long long *dst,
					  unsigned long long value, int pe SHMEMD_SITE)
{
	shmemd_atomic_or_u64(ctx, (uint64_t *)dst, (uint64_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_atomic_xor(const shmemd_ctx_t *ctx, unsigned long long *dst,
					   unsigned long long value, int pe SHMEMD_SITE)
{
	shmemd_atomic_xor_u64(ctx, (uint64_t *)dst, (uint64_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_ulonglong_atomic_inc(const shmemd_ctx_t *ctx, unsigned long long *dst,
					   int pe SHMEMD_SITE)
{
	shmemd_atomic_inc_u64(ctx, (uint64_t *)dst, pe SHMEMD_PASS);
}

/* As shmemd_atomic_fetch_u64 and those below it: *old receives the value before. */
SHMEMD_FN int shmemd_ulonglong_atomic_fetch(const shmemd_ctx_t *ctx, unsigned long long *old,
					    const unsigned long long *src, int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_u64(ctx, (uint64_t *)old, (const uint64_t *)src, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_atomic_swap(const shmemd_ctx_t *ctx, unsigned long long *old,
					   unsigned long long *dst, unsigned long long value,
					   int pe SHMEMD_SITE)
{
	return shmemd_atomic_swap_u64(ctx, (uint64_t *)old, (uint64_t *)dst, (uint64_t)value,
				      pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_atomic_fetch_add(const shmemd_ctx_t *ctx, unsigned long long *old,
						unsigned long long *dst, unsigned long long value,
						int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_add_u64(ctx, (uint64_t *)old, (uint64_t *)dst, (uint64_t)value,
					   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_atomic_fetch_and(const shmemd_ctx_t *ctx, unsigned long long *old,
						unsigned long long *dst, unsigned long long value,
						int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_and_u64(ctx, (uint64_t *)old, (uint64_t *)dst, (uint64_t)value,
					   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_atomic_fetch_or(const shmemd_ctx_t *ctx, unsigned long long *old,
					       unsigned long long *dst, unsigned long long value,
					       int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_or_u64(ctx, (uint64_t *)old, (uint64_t *)dst, (uint64_t)value,
					  pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_atomic_fetch_xor(const shmemd_ctx_t *ctx, unsigned long long *old,
						unsigned long long *dst, unsigned long long value,
						int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_xor_u64(ctx, (uint64_t *)old, (uint64_t *)dst, (uint64_t)value,
					   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_atomic_fetch_inc(const shmemd_ctx_t *ctx, unsigned long long *old,
						unsigned long long *dst, int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_inc_u64(ctx, (uint64_t *)old, (uint64_t *)dst, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_ulonglong_atomic_compare_swap(const shmemd_ctx_t *ctx, unsigned long long *old,
						   unsigned long long *dst, unsigned long long cond,
						   unsigned long long value, int pe SHMEMD_SITE)
{
	return shmemd_atomic_compare_swap_u64(ctx, (uint64_t *)old, (uint64_t *)dst, (uint64_t)cond,
					      (uint64_t)value, pe SHMEMD_PASS);
}

#endif
