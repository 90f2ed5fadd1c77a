/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* OpenSHMEM's typed names: shmemd_<T>_<op>. Each is one call of the byte or word form that the
 * comment above it names; contracts are there. nelems counts elements of T. */
#ifndef SHMEMD_TYPED_H
#define SHMEMD_TYPED_H

#include <shmem_dev/amo.h>
#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/wait.h>

/* clang-format off */

/* The one list: X(name, type, bits, kind, class, extra). kind: the word form's suffix. class: how
 * a value becomes bits. OpenSHMEM 1.5 has these sets, each inside the next (tables 6, 5, 4, 3):
 * bitwise atomics; standard atomics and waits; extended atomics; RMA. Left out: long double, which
 * GPUs do not have. */
#define SHMEMD_BITWISE_TYPES(X, ...) \
	X(uint,      unsigned int,       32, u32, INT, __VA_ARGS__) \
	X(ulong,     unsigned long,      64, u64, INT, __VA_ARGS__) \
	X(ulonglong, unsigned long long, 64, u64, INT, __VA_ARGS__) \
	X(int32,     int32_t,            32, s32, INT, __VA_ARGS__) \
	X(int64,     int64_t,            64, s64, INT, __VA_ARGS__) \
	X(uint32,    uint32_t,           32, u32, INT, __VA_ARGS__) \
	X(uint64,    uint64_t,           64, u64, INT, __VA_ARGS__)

#define SHMEMD_STANDARD_TYPES(X, ...) SHMEMD_BITWISE_TYPES(X, __VA_ARGS__) \
	X(int,       int,                32, s32, INT, __VA_ARGS__) \
	X(long,      long,               64, s64, INT, __VA_ARGS__) \
	X(longlong,  long long,          64, s64, INT, __VA_ARGS__) \
	X(size,      size_t,             64, u64, INT, __VA_ARGS__) \
	X(ptrdiff,   ptrdiff_t,          64, s64, INT, __VA_ARGS__)

#define SHMEMD_FLOAT_TYPES(X, ...) \
	X(float,     float,              32, f32, FLT, __VA_ARGS__) \
	X(double,    double,             64, f64, FLT, __VA_ARGS__)

#define SHMEMD_EXTENDED_TYPES(X, ...) \
	SHMEMD_STANDARD_TYPES(X, __VA_ARGS__) SHMEMD_FLOAT_TYPES(X, __VA_ARGS__)

#define SHMEMD_RMA_TYPES(X, ...) SHMEMD_EXTENDED_TYPES(X, __VA_ARGS__) \
	X(char,      char,                8, u8,  INT, __VA_ARGS__) \
	X(schar,     signed char,         8, s8,  INT, __VA_ARGS__) \
	X(uchar,     unsigned char,       8, u8,  INT, __VA_ARGS__) \
	X(short,     short,              16, s16, INT, __VA_ARGS__) \
	X(ushort,    unsigned short,     16, u16, INT, __VA_ARGS__) \
	X(int8,      int8_t,              8, s8,  INT, __VA_ARGS__) \
	X(int16,     int16_t,            16, s16, INT, __VA_ARGS__) \
	X(uint8,     uint8_t,             8, u8,  INT, __VA_ARGS__) \
	X(uint16,    uint16_t,           16, u16, INT, __VA_ARGS__)

#define SHMEMDI_CTX const shmemd_ctx_t *ctx
#define SHMEMDI_INT_BITS(B, value) ((uint##B##_t)(value))
#define SHMEMDI_FLT_BITS(B, value) shmemdi_bits_f##B(value)
#define SHMEMDI_P(B, p) ((uint##B##_t *)(p))
#define SHMEMDI_CP(B, p) ((const uint##B##_t *)(p))

/* shmemd_<T>_put, shmemd_<T>_put_nbi: shmemd_putmem, shmemd_putmem_nbi. S: the rest of the name. */
#define X_(N, T, B, K, C, S) SHMEMD_FN void shmemd_##N##_put##S(SHMEMDI_CTX, \
	T *dst, const T *src, size_t nelems, int pe SHMEMD_SITE) \
	{ shmemd_putmem##S(ctx, dst, src, nelems * sizeof(T), pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, )
SHMEMD_RMA_TYPES(X_, _warp)
SHMEMD_RMA_TYPES(X_, _block)
SHMEMD_RMA_TYPES(X_, _nbi)
SHMEMD_RMA_TYPES(X_, _nbi_warp)
SHMEMD_RMA_TYPES(X_, _nbi_block)
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN void shmemd_##N##_put##S(SHMEMDI_CTX, \
	shmemd_group_t g, T *dst, const T *src, size_t nelems, int pe SHMEMD_SITE) \
	{ shmemd_putmem##S(ctx, g, dst, src, nelems * sizeof(T), pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, _group)
SHMEMD_RMA_TYPES(X_, _nbi_group)
#undef X_

/* shmemd_<T>_get, shmemd_<T>_get_nbi: shmemd_getmem, shmemd_getmem_nbi. R: what it returns. */
#define X_(N, T, B, K, C, S, R, ret) SHMEMD_FN R shmemd_##N##_get##S(SHMEMDI_CTX, \
	T *dst, const T *src, size_t nelems, int pe SHMEMD_SITE) \
	{ ret shmemd_getmem##S(ctx, dst, src, nelems * sizeof(T), pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, , int, return)
SHMEMD_RMA_TYPES(X_, _warp, int, return)
SHMEMD_RMA_TYPES(X_, _block, int, return)
SHMEMD_RMA_TYPES(X_, _nbi, void, )
SHMEMD_RMA_TYPES(X_, _nbi_warp, void, )
SHMEMD_RMA_TYPES(X_, _nbi_block, void, )
#undef X_
#define X_(N, T, B, K, C, S, R, ret) SHMEMD_FN R shmemd_##N##_get##S(SHMEMDI_CTX, \
	shmemd_group_t g, T *dst, const T *src, size_t nelems, int pe SHMEMD_SITE) \
	{ ret shmemd_getmem##S(ctx, g, dst, src, nelems * sizeof(T), pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, _group, int, return)
SHMEMD_RMA_TYPES(X_, _nbi_group, void, )
#undef X_

/* shmemd_<T>_p, shmemd_<T>_g: shmemd_p_u<bits>, shmemd_g_u<bits>. */
#define X_(N, T, B, K, C, S) SHMEMD_FN void shmemd_##N##_p(SHMEMDI_CTX, T *dst, \
	T value, int pe SHMEMD_SITE) \
	{ shmemd_p_u##B(ctx, SHMEMDI_P(B, dst), SHMEMDI_##C##_BITS(B, value), pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, )
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_g(SHMEMDI_CTX, T *value, \
	const T *src, int pe SHMEMD_SITE) \
	{ return shmemd_g_u##B(ctx, SHMEMDI_P(B, value), SHMEMDI_CP(B, src), pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, )
#undef X_

/* shmemd_<T>_put_signal, shmemd_<T>_put_signal_nbi: shmemd_putmem_signal, .._nbi. */
#define X_(N, T, B, K, C, S) SHMEMD_FN void shmemd_##N##_put_signal##S(SHMEMDI_CTX, \
	T *dst, const T *src, size_t nelems, uint64_t *sig, uint64_t value, int op, int pe \
	SHMEMD_SITE) { shmemd_putmem_signal##S(ctx, dst, src, nelems * sizeof(T), sig, value, op, \
	pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, )
SHMEMD_RMA_TYPES(X_, _warp)
SHMEMD_RMA_TYPES(X_, _block)
SHMEMD_RMA_TYPES(X_, _nbi)
SHMEMD_RMA_TYPES(X_, _nbi_warp)
SHMEMD_RMA_TYPES(X_, _nbi_block)
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN void shmemd_##N##_put_signal##S(SHMEMDI_CTX, \
	shmemd_group_t g, T *dst, const T *src, size_t nelems, uint64_t *sig, uint64_t value, \
	int op, int pe SHMEMD_SITE) { shmemd_putmem_signal##S(ctx, g, dst, src, \
	nelems * sizeof(T), sig, value, op, pe SHMEMD_PASS); }
SHMEMD_RMA_TYPES(X_, _group)
SHMEMD_RMA_TYPES(X_, _nbi_group)
#undef X_

/* shmemd_<T>_wait_until, shmemd_<T>_wait_until_for, shmemd_<T>_test: shmemd_wait_until_<kind> .. */
#define SHMEMDI_WORD_u32 uint32_t
#define SHMEMDI_WORD_s32 int32_t
#define SHMEMDI_WORD_u64 uint64_t
#define SHMEMDI_WORD_s64 int64_t
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_##S(SHMEMDI_CTX, \
	const T *ivar, int cmp, T value SHMEMD_SITE) \
	{ return shmemd_##S##_##K(ctx, (const SHMEMDI_WORD_##K *)ivar, cmp, value SHMEMD_PASS); }
SHMEMD_STANDARD_TYPES(X_, wait_until)
SHMEMD_STANDARD_TYPES(X_, test)
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_##S(SHMEMDI_CTX, \
	const T *ivar, int cmp, T value, uint64_t ns SHMEMD_SITE) { return shmemd_##S##_##K(ctx, \
	(const SHMEMDI_WORD_##K *)ivar, cmp, value, ns SHMEMD_PASS); }
SHMEMD_STANDARD_TYPES(X_, wait_until_for)
#undef X_
#undef SHMEMDI_WORD_u32
#undef SHMEMDI_WORD_s32
#undef SHMEMDI_WORD_u64
#undef SHMEMDI_WORD_s64

/* shmemd_<T>_atomic_<op>: shmemd_atomic_<op>_u<bits>. */
#define X_(N, T, B, K, C, S) SHMEMD_FN void shmemd_##N##_atomic_##S(SHMEMDI_CTX, \
	T *dst, T value, int pe SHMEMD_SITE) { shmemd_atomic_##S##_u##B(ctx, SHMEMDI_P(B, dst), \
	SHMEMDI_##C##_BITS(B, value), pe SHMEMD_PASS); }
SHMEMD_EXTENDED_TYPES(X_, set)
SHMEMD_STANDARD_TYPES(X_, add)
SHMEMD_BITWISE_TYPES(X_, and)
SHMEMD_BITWISE_TYPES(X_, or)
SHMEMD_BITWISE_TYPES(X_, xor)
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN void shmemd_##N##_atomic_inc(SHMEMDI_CTX, \
	T *dst, int pe SHMEMD_SITE) \
	{ shmemd_atomic_inc_u##B(ctx, SHMEMDI_P(B, dst), pe SHMEMD_PASS); }
SHMEMD_STANDARD_TYPES(X_, )
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_atomic_fetch(SHMEMDI_CTX, \
	T *old, const T *src, int pe SHMEMD_SITE) { return shmemd_atomic_fetch_u##B(ctx, \
	SHMEMDI_P(B, old), SHMEMDI_CP(B, src), pe SHMEMD_PASS); }
SHMEMD_EXTENDED_TYPES(X_, )
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_atomic_fetch_inc(SHMEMDI_CTX, \
	T *old, T *dst, int pe SHMEMD_SITE) { return shmemd_atomic_fetch_inc_u##B(ctx, \
	SHMEMDI_P(B, old), SHMEMDI_P(B, dst), pe SHMEMD_PASS); }
SHMEMD_STANDARD_TYPES(X_, )
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_atomic_##S(SHMEMDI_CTX, \
	T *old, T *dst, T value, int pe SHMEMD_SITE) { return shmemd_atomic_##S##_u##B(ctx, \
	SHMEMDI_P(B, old), SHMEMDI_P(B, dst), SHMEMDI_##C##_BITS(B, value), pe SHMEMD_PASS); }
SHMEMD_EXTENDED_TYPES(X_, swap)
SHMEMD_STANDARD_TYPES(X_, fetch_add)
SHMEMD_BITWISE_TYPES(X_, fetch_and)
SHMEMD_BITWISE_TYPES(X_, fetch_or)
SHMEMD_BITWISE_TYPES(X_, fetch_xor)
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_atomic_compare_swap(SHMEMDI_CTX, T *old, \
	T *dst, T cond, T value, int pe SHMEMD_SITE) \
	{ return shmemd_atomic_compare_swap_u##B(ctx, SHMEMDI_P(B, old), SHMEMDI_P(B, dst), \
	(uint##B##_t)cond, (uint##B##_t)value, pe SHMEMD_PASS); }
SHMEMD_STANDARD_TYPES(X_, )
#undef X_

/* shmemd_float_atomic_add, shmemd_double_atomic_add, .._fetch_add: shmemd_atomic_add_f32 .. */
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_atomic_add(SHMEMDI_CTX, \
	T *dst, T value, int pe SHMEMD_SITE) \
	{ return shmemd_atomic_add_##K(ctx, dst, value, pe SHMEMD_PASS); }
SHMEMD_FLOAT_TYPES(X_, )
#undef X_
#define X_(N, T, B, K, C, S) SHMEMD_FN int shmemd_##N##_atomic_fetch_add(SHMEMDI_CTX, \
	T *old, T *dst, T value, int pe SHMEMD_SITE) \
	{ return shmemd_atomic_fetch_add_##K(ctx, old, dst, value, pe SHMEMD_PASS); }
SHMEMD_FLOAT_TYPES(X_, )
#undef X_

#endif
