/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on elements of type int32_t. Written by generate.py, not by hand.
 * Each function is one call of the byte or word form in its body, whose contract applies. nelems
 * counts elements. */
#ifndef SHMEMD_TYPED_INT32_H
#define SHMEMD_TYPED_INT32_H

#include <shmem_dev/amo.h>
#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/wait.h>

/* As shmemd_putmem and shmemd_putmem_nbi, in each scope. */
SHMEMD_FN void shmemd_int32_put(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_warp(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				     size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_warp(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_block(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				      size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_block(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_group(const shmemd_ctx_t *ctx, shmemd_group_t g, int32_t *dst,
				      const int32_t *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_group(ctx, g, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_nbi(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				    size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_nbi_warp(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
					 size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_warp(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_nbi_block(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
					  size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_block(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, int32_t *dst,
					  const int32_t *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_putmem_nbi_group(ctx, g, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

/* As shmemd_getmem and shmemd_getmem_nbi, in each scope. */
SHMEMD_FN int shmemd_int32_get(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
			       size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_get_warp(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				    size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_warp(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_get_block(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				     size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_block(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_get_group(const shmemd_ctx_t *ctx, shmemd_group_t g, int32_t *dst,
				     const int32_t *src, size_t nelems, int pe SHMEMD_SITE)
{
	return shmemd_getmem_group(ctx, g, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_get_nbi(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				    size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_get_nbi_warp(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
					 size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_warp(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_get_nbi_block(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
					  size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_block(ctx, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_get_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g, int32_t *dst,
					  const int32_t *src, size_t nelems, int pe SHMEMD_SITE)
{
	shmemd_getmem_nbi_group(ctx, g, dst, src, nelems * sizeof(int32_t), pe SHMEMD_PASS);
}

/* As shmemd_putmem_signal and shmemd_putmem_signal_nbi, in each scope. */
SHMEMD_FN void shmemd_int32_put_signal(const shmemd_ctx_t *ctx, int32_t *dst, const int32_t *src,
				       size_t nelems, uint64_t *sig, uint64_t value, int op,
				       int pe SHMEMD_SITE)
{
	shmemd_putmem_signal(ctx, dst, src, nelems * sizeof(int32_t), sig, value, op,
			     pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_signal_warp(const shmemd_ctx_t *ctx, int32_t *dst,
					    const int32_t *src, size_t nelems, uint64_t *sig,
					    uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_warp(ctx, dst, src, nelems * sizeof(int32_t), sig, value, op,
				  pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_signal_block(const shmemd_ctx_t *ctx, int32_t *dst,
					     const int32_t *src, size_t nelems, uint64_t *sig,
					     uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_block(ctx, dst, src, nelems * sizeof(int32_t), sig, value, op,
				   pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_signal_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
					     int32_t *dst, const int32_t *src, size_t nelems,
					     uint64_t *sig, uint64_t value, int op,
					     int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_group(ctx, g, dst, src, nelems * sizeof(int32_t), sig, value, op,
				   pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_signal_nbi(const shmemd_ctx_t *ctx, int32_t *dst,
					   const int32_t *src, size_t nelems, uint64_t *sig,
					   uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi(ctx, dst, src, nelems * sizeof(int32_t), sig, value, op,
				 pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_signal_nbi_warp(const shmemd_ctx_t *ctx, int32_t *dst,
						const int32_t *src, size_t nelems, uint64_t *sig,
						uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_warp(ctx, dst, src, nelems * sizeof(int32_t), sig, value, op,
				      pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_signal_nbi_block(const shmemd_ctx_t *ctx, int32_t *dst,
						 const int32_t *src, size_t nelems, uint64_t *sig,
						 uint64_t value, int op, int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_block(ctx, dst, src, nelems * sizeof(int32_t), sig, value, op,
				       pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_put_signal_nbi_group(const shmemd_ctx_t *ctx, shmemd_group_t g,
						 int32_t *dst, const int32_t *src, size_t nelems,
						 uint64_t *sig, uint64_t value, int op,
						 int pe SHMEMD_SITE)
{
	shmemd_putmem_signal_nbi_group(ctx, g, dst, src, nelems * sizeof(int32_t), sig, value, op,
				       pe SHMEMD_PASS);
}

/* As shmemd_p_u32 and shmemd_g_u32. */
SHMEMD_FN void shmemd_int32_p(const shmemd_ctx_t *ctx, int32_t *dst, int32_t value,
			      int pe SHMEMD_SITE)
{
	shmemd_p_u32(ctx, (uint32_t *)dst, (uint32_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_g(const shmemd_ctx_t *ctx, int32_t *value, const int32_t *src,
			     int pe SHMEMD_SITE)
{
	return shmemd_g_u32(ctx, (uint32_t *)value, (const uint32_t *)src, pe SHMEMD_PASS);
}

/* As shmemd_wait_until_s32, shmemd_wait_until_for_s32 and shmemd_test_s32. */
SHMEMD_FN int shmemd_int32_wait_until(const shmemd_ctx_t *ctx, const int32_t *ivar, int cmp,
				      int32_t value SHMEMD_SITE)
{
	return shmemd_wait_until_s32(ctx, (const int32_t *)ivar, cmp, value SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_wait_until_for(const shmemd_ctx_t *ctx, const int32_t *ivar, int cmp,
					  int32_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemd_wait_until_for_s32(ctx, (const int32_t *)ivar, cmp, value, ns SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_test(const shmemd_ctx_t *ctx, const int32_t *ivar, int cmp,
				int32_t value SHMEMD_SITE)
{
	return shmemd_test_s32(ctx, (const int32_t *)ivar, cmp, value SHMEMD_PASS);
}

/* As shmemd_atomic_set_u32 and those below it: no result. */
SHMEMD_FN void shmemd_int32_atomic_set(const shmemd_ctx_t *ctx, int32_t *dst, int32_t value,
				       int pe SHMEMD_SITE)
{
	shmemd_atomic_set_u32(ctx, (uint32_t *)dst, (uint32_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_atomic_add(const shmemd_ctx_t *ctx, int32_t *dst, int32_t value,
				       int pe SHMEMD_SITE)
{
	shmemd_atomic_add_u32(ctx, (uint32_t *)dst, (uint32_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_atomic_and(const shmemd_ctx_t *ctx, int32_t *dst, int32_t value,
				       int pe SHMEMD_SITE)
{
	shmemd_atomic_and_u32(ctx, (uint32_t *)dst, (uint32_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_atomic_or(const shmemd_ctx_t *ctx, int32_t *dst, int32_t value,
				      int pe SHMEMD_SITE)
{
	shmemd_atomic_or_u32(ctx, (uint32_t *)dst, (uint32_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_atomic_xor(const shmemd_ctx_t *ctx, int32_t *dst, int32_t value,
				       int pe SHMEMD_SITE)
{
	shmemd_atomic_xor_u32(ctx, (uint32_t *)dst, (uint32_t)value, pe SHMEMD_PASS);
}

SHMEMD_FN void shmemd_int32_atomic_inc(const shmemd_ctx_t *ctx, int32_t *dst, int pe SHMEMD_SITE)
{
	shmemd_atomic_inc_u32(ctx, (uint32_t *)dst, pe SHMEMD_PASS);
}

/* As shmemd_atomic_fetch_u32 and those below it: *old receives the value before. */
SHMEMD_FN int shmemd_int32_atomic_fetch(const shmemd_ctx_t *ctx, int32_t *old, const int32_t *src,
					int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_u32(ctx, (uint32_t *)old, (const uint32_t *)src, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_atomic_swap(const shmemd_ctx_t *ctx, int32_t *old, int32_t *dst,
				       int32_t value, int pe SHMEMD_SITE)
{
	return shmemd_atomic_swap_u32(ctx, (uint32_t *)old, (uint32_t *)dst, (uint32_t)value,
				      pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_atomic_fetch_add(const shmemd_ctx_t *ctx, int32_t *old, int32_t *dst,
					    int32_t value, int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_add_u32(ctx, (uint32_t *)old, (uint32_t *)dst, (uint32_t)value,
					   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_atomic_fetch_and(const shmemd_ctx_t *ctx, int32_t *old, int32_t *dst,
					    int32_t value, int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_and_u32(ctx, (uint32_t *)old, (uint32_t *)dst, (uint32_t)value,
					   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_atomic_fetch_or(const shmemd_ctx_t *ctx, int32_t *old, int32_t *dst,
					   int32_t value, int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_or_u32(ctx, (uint32_t *)old, (uint32_t *)dst, (uint32_t)value,
					  pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_atomic_fetch_xor(const shmemd_ctx_t *ctx, int32_t *old, int32_t *dst,
					    int32_t value, int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_xor_u32(ctx, (uint32_t *)old, (uint32_t *)dst, (uint32_t)value,
					   pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_atomic_fetch_inc(const shmemd_ctx_t *ctx, int32_t *old, int32_t *dst,
					    int pe SHMEMD_SITE)
{
	return shmemd_atomic_fetch_inc_u32(ctx, (uint32_t *)old, (uint32_t *)dst, pe SHMEMD_PASS);
}

SHMEMD_FN int shmemd_int32_atomic_compare_swap(const shmemd_ctx_t *ctx, int32_t *old, int32_t *dst,
					       int32_t cond, int32_t value, int pe SHMEMD_SITE)
{
	return shmemd_atomic_compare_swap_u32(ctx, (uint32_t *)old, (uint32_t *)dst, (uint32_t)cond,
					      (uint32_t)value, pe SHMEMD_PASS);
}

#endif
