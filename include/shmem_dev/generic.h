/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations without a type in their names: shmemd_put(&ctx, dst, src, nelems, pe) calls
 * shmemd_float_put if dst is a float *. The contract is that of the typed function, in typed.h or
 * in the header that it names. shmem_dev.h does not include this header.
 *
 * In C they are macros with _Generic, in CUDA and C++ overloads. The type is that of the elements
 * that the operation changes, reads or waits for; const makes no difference. It may be any of
 * C's arithmetic types but _Bool, long double and complex ones. Waits, tests and the atomics inc,
 * fetch_inc and compare_swap take int, long, long long and their unsigned types; set, fetch, swap,
 * add and fetch_add take these, and float and double; and, or and xor, and their fetch forms, take
 * the unsigned ones, int32_t and int64_t. In CUDA and C++ also __half and __nv_bfloat16, for put,
 * get, put_signal, iput, iget, p and g, if typed/half.h and typed/bfloat16.h are included first.
 * For elements of another type use shmemd_putmem, or a size (sized.h): a compiler refuses them
 * here, and names the operation and the type. */
#ifndef SHMEMD_GENERIC_H
#define SHMEMD_GENERIC_H

#include <shmem_dev/typed.h>

/* clang-format off */

/* X(name, type, operation) for each type of the language; fixed widths are among these. */
#define SHMEMDI_WAIT_NAMES(X, operation) \
	X(int, int, operation) \
	X(uint, unsigned int, operation) \
	X(long, long, operation) \
	X(ulong, unsigned long, operation) \
	X(longlong, long long, operation) \
	X(ulonglong, unsigned long long, operation)

#define SHMEMDI_AMO_NAMES(X, operation) SHMEMDI_WAIT_NAMES(X, operation) \
	X(float, float, operation) \
	X(double, double, operation)

/* OpenSHMEM has and, or, xor for unsigned types and those of fixed width. */
#define SHMEMDI_BITWISE_NAMES(X, operation) \
	X(int32, int32_t, operation) \
	X(uint, unsigned int, operation) \
	X(int64, int64_t, operation) \
	X(ulong, unsigned long, operation) \
	X(ulonglong, unsigned long long, operation)

#define SHMEMDI_RMA_NAMES(X, operation) SHMEMDI_AMO_NAMES(X, operation) \
	X(char, char, operation) \
	X(schar, signed char, operation) \
	X(uchar, unsigned char, operation) \
	X(short, short, operation) \
	X(ushort, unsigned short, operation) \
	SHMEMDI_HALF_NAMES(X, operation) SHMEMDI_BFLOAT16_NAMES(X, operation)

#ifdef SHMEMD_TYPED_HALF_H
#define SHMEMDI_HALF_NAMES(X, operation) X(half, __half, operation)
#else
#define SHMEMDI_HALF_NAMES(X, operation)
#endif
#ifdef SHMEMD_TYPED_BFLOAT16_H
#define SHMEMDI_BFLOAT16_NAMES(X, operation) X(bfloat16, __nv_bfloat16, operation)
#else
#define SHMEMDI_BFLOAT16_NAMES(X, operation)
#endif

#ifndef __cplusplus

typedef struct shmemdi_no_type shmemdi_no_type_t;

/* The function for elements of the type of *pointer. The first association matches nothing; it
 * stands before the comma. */
#define SHMEMDI_CASE(name, type, operation) , type: shmemd_##name##_##operation
#define SHMEMDI_SELECT(SET, pointer, operation) \
	_Generic(*(pointer), shmemdi_no_type_t *: 0 SHMEMDI_##SET##_NAMES(SHMEMDI_CASE, operation))

/* As shmemd_putmem and its nbi form, in each scope; nelems elements. */
#define shmemd_put(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put)(ctx, dst, src, nelems, pe)
#define shmemd_put_warp(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put_warp)(ctx, dst, src, nelems, pe)
#define shmemd_put_block(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put_block)(ctx, dst, src, nelems, pe)
#define shmemd_put_group(ctx, g, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put_group)(ctx, g, dst, src, nelems, pe)
#define shmemd_put_nbi(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put_nbi)(ctx, dst, src, nelems, pe)
#define shmemd_put_nbi_warp(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put_nbi_warp)(ctx, dst, src, nelems, pe)
#define shmemd_put_nbi_block(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put_nbi_block)(ctx, dst, src, nelems, pe)
#define shmemd_put_nbi_group(ctx, g, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, put_nbi_group)(ctx, g, dst, src, nelems, pe)

/* As shmemd_getmem and its nbi form, in each scope; nelems elements. */
#define shmemd_get(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get)(ctx, dst, src, nelems, pe)
#define shmemd_get_warp(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get_warp)(ctx, dst, src, nelems, pe)
#define shmemd_get_block(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get_block)(ctx, dst, src, nelems, pe)
#define shmemd_get_group(ctx, g, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get_group)(ctx, g, dst, src, nelems, pe)
#define shmemd_get_nbi(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get_nbi)(ctx, dst, src, nelems, pe)
#define shmemd_get_nbi_warp(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get_nbi_warp)(ctx, dst, src, nelems, pe)
#define shmemd_get_nbi_block(ctx, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get_nbi_block)(ctx, dst, src, nelems, pe)
#define shmemd_get_nbi_group(ctx, g, dst, src, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, get_nbi_group)(ctx, g, dst, src, nelems, pe)

/* As shmemd_putmem_signal and its nbi form, in each scope; nelems elements. */
#define shmemd_put_signal(ctx, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal)(ctx, dst, src, nelems, sig, value, op, pe)
#define shmemd_put_signal_warp(ctx, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal_warp)(ctx, dst, src, nelems, sig, value, op, pe)
#define shmemd_put_signal_block(ctx, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal_block)(ctx, dst, src, nelems, sig, value, op, pe)
#define shmemd_put_signal_group(ctx, g, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal_group)(ctx, g, dst, src, nelems, sig, value, op, pe)
#define shmemd_put_signal_nbi(ctx, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal_nbi)(ctx, dst, src, nelems, sig, value, op, pe)
#define shmemd_put_signal_nbi_warp(ctx, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal_nbi_warp)(ctx, dst, src, nelems, sig, value, op, pe)
#define shmemd_put_signal_nbi_block(ctx, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal_nbi_block)(ctx, dst, src, nelems, sig, value, op, pe)
#define shmemd_put_signal_nbi_group(ctx, g, dst, src, nelems, sig, value, op, pe) \
	SHMEMDI_SELECT(RMA, dst, put_signal_nbi_group)(ctx, g, dst, src, nelems, sig, value, op, pe)

/* As shmemd_iputmem and shmemd_igetmem, in each scope. */
#define shmemd_iput(ctx, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iput)(ctx, dst, src, dst_stride, src_stride, nelems, pe)
#define shmemd_iput_warp(ctx, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iput_warp)(ctx, dst, src, dst_stride, src_stride, nelems, pe)
#define shmemd_iput_block(ctx, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iput_block)(ctx, dst, src, dst_stride, src_stride, nelems, pe)
#define shmemd_iput_group(ctx, g, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iput_group)(ctx, g, dst, src, dst_stride, src_stride, nelems, pe)
#define shmemd_iget(ctx, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iget)(ctx, dst, src, dst_stride, src_stride, nelems, pe)
#define shmemd_iget_warp(ctx, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iget_warp)(ctx, dst, src, dst_stride, src_stride, nelems, pe)
#define shmemd_iget_block(ctx, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iget_block)(ctx, dst, src, dst_stride, src_stride, nelems, pe)
#define shmemd_iget_group(ctx, g, dst, src, dst_stride, src_stride, nelems, pe) \
	SHMEMDI_SELECT(RMA, dst, iget_group)(ctx, g, dst, src, dst_stride, src_stride, nelems, pe)

/* As shmemd_p_u64 and shmemd_g_u64. */
#define shmemd_p(ctx, dst, value, pe) SHMEMDI_SELECT(RMA, dst, p)(ctx, dst, value, pe)
#define shmemd_g(ctx, value, src, pe) SHMEMDI_SELECT(RMA, value, g)(ctx, value, src, pe)

/* As shmemd_wait_until_u64, shmemd_wait_until_for_u64 and shmemd_test_u64. */
#define shmemd_wait_until(ctx, ivar, cmp, value) \
	SHMEMDI_SELECT(WAIT, ivar, wait_until)(ctx, ivar, cmp, value)
#define shmemd_wait_until_for(ctx, ivar, cmp, value, ns) \
	SHMEMDI_SELECT(WAIT, ivar, wait_until_for)(ctx, ivar, cmp, value, ns)
#define shmemd_test(ctx, ivar, cmp, value) SHMEMDI_SELECT(WAIT, ivar, test)(ctx, ivar, cmp, value)

/* As the functions for uint64_t in wait_sets.h. */
#define shmemd_wait_until_all(ctx, ivars, nelems, mask, cmp, value) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_all)(ctx, ivars, nelems, mask, cmp, value)
#define shmemd_wait_until_all_for(ctx, ivars, nelems, mask, cmp, value, ns) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_all_for)(ctx, ivars, nelems, mask, cmp, value, ns)
#define shmemd_wait_until_all_vector(ctx, ivars, nelems, mask, cmp, values) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_all_vector)(ctx, ivars, nelems, mask, cmp, values)
#define shmemd_wait_until_all_vector_for(ctx, ivars, nelems, mask, cmp, values, ns) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_all_vector_for) \
		(ctx, ivars, nelems, mask, cmp, values, ns)
#define shmemd_wait_until_any(ctx, index, ivars, nelems, mask, cmp, value) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_any)(ctx, index, ivars, nelems, mask, cmp, value)
#define shmemd_wait_until_any_for(ctx, index, ivars, nelems, mask, cmp, value, ns) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_any_for) \
		(ctx, index, ivars, nelems, mask, cmp, value, ns)
#define shmemd_wait_until_any_vector(ctx, index, ivars, nelems, mask, cmp, values) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_any_vector) \
		(ctx, index, ivars, nelems, mask, cmp, values)
#define shmemd_wait_until_any_vector_for(ctx, index, ivars, nelems, mask, cmp, values, ns) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_any_vector_for) \
		(ctx, index, ivars, nelems, mask, cmp, values, ns)
#define shmemd_wait_until_some(ctx, count, ivars, nelems, indices, mask, cmp, value) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_some) \
		(ctx, count, ivars, nelems, indices, mask, cmp, value)
#define shmemd_wait_until_some_for(ctx, count, ivars, nelems, indices, mask, cmp, value, ns) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_some_for) \
		(ctx, count, ivars, nelems, indices, mask, cmp, value, ns)
#define shmemd_wait_until_some_vector(ctx, count, ivars, nelems, indices, mask, cmp, values) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_some_vector) \
		(ctx, count, ivars, nelems, indices, mask, cmp, values)
#define shmemd_wait_until_some_vector_for(ctx, count, ivars, nelems, indices, mask, cmp, values, \
					  ns) \
	SHMEMDI_SELECT(WAIT, ivars, wait_until_some_vector_for) \
		(ctx, count, ivars, nelems, indices, mask, cmp, values, ns)
#define shmemd_test_all(ctx, ivars, nelems, mask, cmp, value) \
	SHMEMDI_SELECT(WAIT, ivars, test_all)(ctx, ivars, nelems, mask, cmp, value)
#define shmemd_test_all_vector(ctx, ivars, nelems, mask, cmp, values) \
	SHMEMDI_SELECT(WAIT, ivars, test_all_vector)(ctx, ivars, nelems, mask, cmp, values)
#define shmemd_test_any(ctx, ivars, nelems, mask, cmp, value) \
	SHMEMDI_SELECT(WAIT, ivars, test_any)(ctx, ivars, nelems, mask, cmp, value)
#define shmemd_test_any_vector(ctx, ivars, nelems, mask, cmp, values) \
	SHMEMDI_SELECT(WAIT, ivars, test_any_vector)(ctx, ivars, nelems, mask, cmp, values)
#define shmemd_test_some(ctx, ivars, nelems, indices, mask, cmp, value) \
	SHMEMDI_SELECT(WAIT, ivars, test_some)(ctx, ivars, nelems, indices, mask, cmp, value)
#define shmemd_test_some_vector(ctx, ivars, nelems, indices, mask, cmp, values) \
	SHMEMDI_SELECT(WAIT, ivars, test_some_vector) \
		(ctx, ivars, nelems, indices, mask, cmp, values)

/* As shmemd_atomic_set_u64 and those below it. The add of float and double returns a status. */
#define shmemd_atomic_set(ctx, dst, value, pe) \
	SHMEMDI_SELECT(AMO, dst, atomic_set)(ctx, dst, value, pe)
#define shmemd_atomic_add(ctx, dst, value, pe) \
	SHMEMDI_SELECT(AMO, dst, atomic_add)(ctx, dst, value, pe)
#define shmemd_atomic_and(ctx, dst, value, pe) \
	SHMEMDI_SELECT(BITWISE, dst, atomic_and)(ctx, dst, value, pe)
#define shmemd_atomic_or(ctx, dst, value, pe) \
	SHMEMDI_SELECT(BITWISE, dst, atomic_or)(ctx, dst, value, pe)
#define shmemd_atomic_xor(ctx, dst, value, pe) \
	SHMEMDI_SELECT(BITWISE, dst, atomic_xor)(ctx, dst, value, pe)
#define shmemd_atomic_inc(ctx, dst, pe) SHMEMDI_SELECT(WAIT, dst, atomic_inc)(ctx, dst, pe)

/* As shmemd_atomic_fetch_u64 and those below it. */
#define shmemd_atomic_fetch(ctx, old, src, pe) \
	SHMEMDI_SELECT(AMO, old, atomic_fetch)(ctx, old, src, pe)
#define shmemd_atomic_swap(ctx, old, dst, value, pe) \
	SHMEMDI_SELECT(AMO, dst, atomic_swap)(ctx, old, dst, value, pe)
#define shmemd_atomic_fetch_add(ctx, old, dst, value, pe) \
	SHMEMDI_SELECT(AMO, dst, atomic_fetch_add)(ctx, old, dst, value, pe)
#define shmemd_atomic_fetch_and(ctx, old, dst, value, pe) \
	SHMEMDI_SELECT(BITWISE, dst, atomic_fetch_and)(ctx, old, dst, value, pe)
#define shmemd_atomic_fetch_or(ctx, old, dst, value, pe) \
	SHMEMDI_SELECT(BITWISE, dst, atomic_fetch_or)(ctx, old, dst, value, pe)
#define shmemd_atomic_fetch_xor(ctx, old, dst, value, pe) \
	SHMEMDI_SELECT(BITWISE, dst, atomic_fetch_xor)(ctx, old, dst, value, pe)
#define shmemd_atomic_fetch_inc(ctx, old, dst, pe) \
	SHMEMDI_SELECT(WAIT, dst, atomic_fetch_inc)(ctx, old, dst, pe)
#define shmemd_atomic_compare_swap(ctx, old, dst, cond, value, pe) \
	SHMEMDI_SELECT(WAIT, dst, atomic_compare_swap)(ctx, old, dst, cond, value, pe)

#else

/* Overloads of an operation for each type of SET, with the parameters of SHAPE. For other types
 * there is only a deleted function: a compiler's message then begins with the operation and the
 * type, and not with a list of overloads. */
#define SHMEMDI_OVERLOADS(SET, SHAPE, operation) \
	template <typename T> void shmemd_##operation(SHMEMDI_SHAPE_##SHAPE(T)) = delete; \
	SHMEMDI_##SET##_NAMES(SHMEMDI_OVERLOAD_##SHAPE, operation)

#define SHMEMDI_SHAPE_DATA(T) \
	const shmemd_ctx_t *ctx, T *dst, const T *src, size_t nelems, int pe
#define SHMEMDI_OVERLOAD_DATA(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_DATA(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, dst, src, nelems, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, DATA, put)
SHMEMDI_OVERLOADS(RMA, DATA, put_warp)
SHMEMDI_OVERLOADS(RMA, DATA, put_block)
SHMEMDI_OVERLOADS(RMA, DATA, put_nbi)
SHMEMDI_OVERLOADS(RMA, DATA, put_nbi_warp)
SHMEMDI_OVERLOADS(RMA, DATA, put_nbi_block)
SHMEMDI_OVERLOADS(RMA, DATA, get)
SHMEMDI_OVERLOADS(RMA, DATA, get_warp)
SHMEMDI_OVERLOADS(RMA, DATA, get_block)
SHMEMDI_OVERLOADS(RMA, DATA, get_nbi)
SHMEMDI_OVERLOADS(RMA, DATA, get_nbi_warp)
SHMEMDI_OVERLOADS(RMA, DATA, get_nbi_block)

#define SHMEMDI_SHAPE_DATA_GROUP(T) \
	const shmemd_ctx_t *ctx, shmemd_group_t g, T *dst, const T *src, size_t nelems, int pe
#define SHMEMDI_OVERLOAD_DATA_GROUP(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_DATA_GROUP(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, g, dst, src, nelems, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, DATA_GROUP, put_group)
SHMEMDI_OVERLOADS(RMA, DATA_GROUP, put_nbi_group)
SHMEMDI_OVERLOADS(RMA, DATA_GROUP, get_group)
SHMEMDI_OVERLOADS(RMA, DATA_GROUP, get_nbi_group)

#define SHMEMDI_SHAPE_SIGNAL(T) \
	const shmemd_ctx_t *ctx, T *dst, const T *src, size_t nelems, uint64_t *sig, \
	uint64_t value, int op, int pe
#define SHMEMDI_OVERLOAD_SIGNAL(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SIGNAL(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, dst, src, nelems, sig, value, op, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, SIGNAL, put_signal)
SHMEMDI_OVERLOADS(RMA, SIGNAL, put_signal_warp)
SHMEMDI_OVERLOADS(RMA, SIGNAL, put_signal_block)
SHMEMDI_OVERLOADS(RMA, SIGNAL, put_signal_nbi)
SHMEMDI_OVERLOADS(RMA, SIGNAL, put_signal_nbi_warp)
SHMEMDI_OVERLOADS(RMA, SIGNAL, put_signal_nbi_block)

#define SHMEMDI_SHAPE_SIGNAL_GROUP(T) \
	const shmemd_ctx_t *ctx, shmemd_group_t g, T *dst, const T *src, size_t nelems, \
	uint64_t *sig, uint64_t value, int op, int pe
#define SHMEMDI_OVERLOAD_SIGNAL_GROUP(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SIGNAL_GROUP(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, g, dst, src, nelems, sig, value, op, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, SIGNAL_GROUP, put_signal_group)
SHMEMDI_OVERLOADS(RMA, SIGNAL_GROUP, put_signal_nbi_group)

#define SHMEMDI_SHAPE_STRIDED(T) \
	const shmemd_ctx_t *ctx, T *dst, const T *src, ptrdiff_t dst_stride, ptrdiff_t src_stride, \
	size_t nelems, int pe
#define SHMEMDI_OVERLOAD_STRIDED(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_STRIDED(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, dst, src, dst_stride, src_stride, nelems, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, STRIDED, iput)
SHMEMDI_OVERLOADS(RMA, STRIDED, iput_warp)
SHMEMDI_OVERLOADS(RMA, STRIDED, iput_block)
SHMEMDI_OVERLOADS(RMA, STRIDED, iget)
SHMEMDI_OVERLOADS(RMA, STRIDED, iget_warp)
SHMEMDI_OVERLOADS(RMA, STRIDED, iget_block)

#define SHMEMDI_SHAPE_STRIDED_GROUP(T) \
	const shmemd_ctx_t *ctx, shmemd_group_t g, T *dst, const T *src, ptrdiff_t dst_stride, \
	ptrdiff_t src_stride, size_t nelems, int pe
#define SHMEMDI_OVERLOAD_STRIDED_GROUP(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_STRIDED_GROUP(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, g, dst, src, dst_stride, src_stride, nelems, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, STRIDED_GROUP, iput_group)
SHMEMDI_OVERLOADS(RMA, STRIDED_GROUP, iget_group)

#define SHMEMDI_SHAPE_P(T) \
	const shmemd_ctx_t *ctx, T *dst, T value, int pe
#define SHMEMDI_OVERLOAD_P(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_P(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, dst, value, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, P, p)

#define SHMEMDI_SHAPE_G(T) \
	const shmemd_ctx_t *ctx, T *value, const T *src, int pe
#define SHMEMDI_OVERLOAD_G(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_G(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, value, src, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(RMA, G, g)

#define SHMEMDI_SHAPE_WAIT(T) \
	const shmemd_ctx_t *ctx, const T *ivar, int cmp, T value
#define SHMEMDI_OVERLOAD_WAIT(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_WAIT(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, ivar, cmp, value SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, WAIT, wait_until)
SHMEMDI_OVERLOADS(WAIT, WAIT, test)

#define SHMEMDI_SHAPE_WAIT_FOR(T) \
	const shmemd_ctx_t *ctx, const T *ivar, int cmp, T value, uint64_t ns
#define SHMEMDI_OVERLOAD_WAIT_FOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_WAIT_FOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, ivar, cmp, value, ns SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, WAIT_FOR, wait_until_for)

#define SHMEMDI_SHAPE_ALL(T) \
	const shmemd_ctx_t *ctx, const T *ivars, size_t nelems, const int *mask, int cmp, T value
#define SHMEMDI_OVERLOAD_ALL(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ALL(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, ivars, nelems, mask, cmp, value SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ALL, wait_until_all)
SHMEMDI_OVERLOADS(WAIT, ALL, test_all)
SHMEMDI_OVERLOADS(WAIT, ALL, test_any)

#define SHMEMDI_SHAPE_ALL_FOR(T) \
	const shmemd_ctx_t *ctx, const T *ivars, size_t nelems, const int *mask, int cmp, T value, \
	uint64_t ns
#define SHMEMDI_OVERLOAD_ALL_FOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ALL_FOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, ivars, nelems, mask, cmp, value, ns SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ALL_FOR, wait_until_all_for)

#define SHMEMDI_SHAPE_ALL_VECTOR(T) \
	const shmemd_ctx_t *ctx, const T *ivars, size_t nelems, const int *mask, int cmp, \
	const T *values
#define SHMEMDI_OVERLOAD_ALL_VECTOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ALL_VECTOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, ivars, nelems, mask, cmp, values SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ALL_VECTOR, wait_until_all_vector)
SHMEMDI_OVERLOADS(WAIT, ALL_VECTOR, test_all_vector)
SHMEMDI_OVERLOADS(WAIT, ALL_VECTOR, test_any_vector)

#define SHMEMDI_SHAPE_ALL_VECTOR_FOR(T) \
	const shmemd_ctx_t *ctx, const T *ivars, size_t nelems, const int *mask, int cmp, \
	const T *values, uint64_t ns
#define SHMEMDI_OVERLOAD_ALL_VECTOR_FOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ALL_VECTOR_FOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, ivars, nelems, mask, cmp, values, ns SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ALL_VECTOR_FOR, wait_until_all_vector_for)

#define SHMEMDI_SHAPE_ANY(T) \
	const shmemd_ctx_t *ctx, size_t *index, const T *ivars, size_t nelems, const int *mask, \
	int cmp, T value
#define SHMEMDI_OVERLOAD_ANY(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ANY(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, index, ivars, nelems, mask, cmp, value SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ANY, wait_until_any)

#define SHMEMDI_SHAPE_ANY_FOR(T) \
	const shmemd_ctx_t *ctx, size_t *index, const T *ivars, size_t nelems, const int *mask, \
	int cmp, T value, uint64_t ns
#define SHMEMDI_OVERLOAD_ANY_FOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ANY_FOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, index, ivars, nelems, mask, cmp, value, ns SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ANY_FOR, wait_until_any_for)

#define SHMEMDI_SHAPE_ANY_VECTOR(T) \
	const shmemd_ctx_t *ctx, size_t *index, const T *ivars, size_t nelems, const int *mask, \
	int cmp, const T *values
#define SHMEMDI_OVERLOAD_ANY_VECTOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ANY_VECTOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, index, ivars, nelems, mask, cmp, values SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ANY_VECTOR, wait_until_any_vector)

#define SHMEMDI_SHAPE_ANY_VECTOR_FOR(T) \
	const shmemd_ctx_t *ctx, size_t *index, const T *ivars, size_t nelems, const int *mask, \
	int cmp, const T *values, uint64_t ns
#define SHMEMDI_OVERLOAD_ANY_VECTOR_FOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_ANY_VECTOR_FOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, index, ivars, nelems, mask, cmp, values, ns SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, ANY_VECTOR_FOR, wait_until_any_vector_for)

#define SHMEMDI_SHAPE_SOME(T) \
	const shmemd_ctx_t *ctx, size_t *count, const T *ivars, size_t nelems, size_t *indices, \
	const int *mask, int cmp, T value
#define SHMEMDI_OVERLOAD_SOME(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SOME(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, count, ivars, nelems, indices, mask, cmp, value SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, SOME, wait_until_some)

#define SHMEMDI_SHAPE_TEST_SOME(T) \
	const shmemd_ctx_t *ctx, const T *ivars, size_t nelems, size_t *indices, const int *mask, \
	int cmp, T value
#define SHMEMDI_OVERLOAD_TEST_SOME(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_TEST_SOME(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, ivars, nelems, indices, mask, cmp, value SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, TEST_SOME, test_some)

#define SHMEMDI_SHAPE_SOME_FOR(T) \
	const shmemd_ctx_t *ctx, size_t *count, const T *ivars, size_t nelems, size_t *indices, \
	const int *mask, int cmp, T value, uint64_t ns
#define SHMEMDI_OVERLOAD_SOME_FOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SOME_FOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, count, ivars, nelems, indices, mask, cmp, value, ns SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, SOME_FOR, wait_until_some_for)

#define SHMEMDI_SHAPE_SOME_VECTOR(T) \
	const shmemd_ctx_t *ctx, size_t *count, const T *ivars, size_t nelems, size_t *indices, \
	const int *mask, int cmp, const T *values
#define SHMEMDI_OVERLOAD_SOME_VECTOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SOME_VECTOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, count, ivars, nelems, indices, mask, cmp, values SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, SOME_VECTOR, wait_until_some_vector)

#define SHMEMDI_SHAPE_TEST_SOME_VECTOR(T) \
	const shmemd_ctx_t *ctx, const T *ivars, size_t nelems, size_t *indices, const int *mask, \
	int cmp, const T *values
#define SHMEMDI_OVERLOAD_TEST_SOME_VECTOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_TEST_SOME_VECTOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, ivars, nelems, indices, mask, cmp, values SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, TEST_SOME_VECTOR, test_some_vector)

#define SHMEMDI_SHAPE_SOME_VECTOR_FOR(T) \
	const shmemd_ctx_t *ctx, size_t *count, const T *ivars, size_t nelems, size_t *indices, \
	const int *mask, int cmp, const T *values, uint64_t ns
#define SHMEMDI_OVERLOAD_SOME_VECTOR_FOR(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SOME_VECTOR_FOR(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation( \
			ctx, count, ivars, nelems, indices, mask, cmp, values, ns SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, SOME_VECTOR_FOR, wait_until_some_vector_for)

#define SHMEMDI_SHAPE_SET(T) \
	const shmemd_ctx_t *ctx, T *dst, T value, int pe
#define SHMEMDI_OVERLOAD_SET(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SET(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, dst, value, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(AMO, SET, atomic_set)
SHMEMDI_OVERLOADS(AMO, SET, atomic_add)

SHMEMDI_OVERLOADS(BITWISE, SET, atomic_and)
SHMEMDI_OVERLOADS(BITWISE, SET, atomic_or)
SHMEMDI_OVERLOADS(BITWISE, SET, atomic_xor)

#define SHMEMDI_SHAPE_INC(T) \
	const shmemd_ctx_t *ctx, T *dst, int pe
#define SHMEMDI_OVERLOAD_INC(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_INC(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, dst, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, INC, atomic_inc)

#define SHMEMDI_SHAPE_FETCH(T) \
	const shmemd_ctx_t *ctx, T *old, const T *src, int pe
#define SHMEMDI_OVERLOAD_FETCH(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_FETCH(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, old, src, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(AMO, FETCH, atomic_fetch)

#define SHMEMDI_SHAPE_SWAP(T) \
	const shmemd_ctx_t *ctx, T *old, T *dst, T value, int pe
#define SHMEMDI_OVERLOAD_SWAP(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_SWAP(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, old, dst, value, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(AMO, SWAP, atomic_swap)
SHMEMDI_OVERLOADS(AMO, SWAP, atomic_fetch_add)

SHMEMDI_OVERLOADS(BITWISE, SWAP, atomic_fetch_and)
SHMEMDI_OVERLOADS(BITWISE, SWAP, atomic_fetch_or)
SHMEMDI_OVERLOADS(BITWISE, SWAP, atomic_fetch_xor)

#define SHMEMDI_SHAPE_FETCH_INC(T) \
	const shmemd_ctx_t *ctx, T *old, T *dst, int pe
#define SHMEMDI_OVERLOAD_FETCH_INC(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_FETCH_INC(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, old, dst, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, FETCH_INC, atomic_fetch_inc)

#define SHMEMDI_SHAPE_CAS(T) \
	const shmemd_ctx_t *ctx, T *old, T *dst, T cond, T value, int pe
#define SHMEMDI_OVERLOAD_CAS(name, T, operation) \
	SHMEMD_FN auto shmemd_##operation(SHMEMDI_SHAPE_CAS(T) SHMEMD_SITE) \
	{ \
		return shmemd_##name##_##operation(ctx, old, dst, cond, value, pe SHMEMD_PASS); \
	}
SHMEMDI_OVERLOADS(WAIT, CAS, atomic_compare_swap)

#endif

/* clang-format on */

#endif
