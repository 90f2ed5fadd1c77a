/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Atomic updates of 32- and 64-bit words. Atomic to each other and to signal ADD when done through
 * contexts of one team; the program must order a put or p to the same word. All are relaxed: they
 * order no other operation (fence and quiet do).
 *
 * If all of the context's team is mapped with native atomics (SHMEMD_CTX_SM_ATOMICS), the SMs do
 * them. Else the NIC of the target does, for the whole team, and also for this PE's own words. The
 * two are not atomic to each other: use a word through contexts of one team only.
 *
 * By NIC every call may also end with ERR_REFUSED, ERR_PATH, ERR_PEER or ERR_LOST: the channel has
 * failed, or a wait has ended with ERR_PEER since the PE died or left. Calls that return nothing
 * latch that status, and have posted nothing then. Calls that wait may end with such a status, or
 * with ERR_TIMEOUT, while the update is under way: the caller cannot know whether the update was
 * made, and a repeated call may make it twice. Where faults of paths are tolerated (SHMEMD_CTX_FT)
 * a call that fetches may return ERR_AMBIGUOUS: its atomic was carried out once, and the old value
 * is lost. After ERR_AMBIGUOUS a floating-point add may or may not have been made. */
#ifndef SHMEMD_AMO_H
#define SHMEMD_AMO_H

#include <shmem_dev/impl/xport.h>
#include <shmem_dev/impl/traced.h>

/* Set *dst on PE pe to value.
 *
 * Callers  one thread.
 * dst      symmetric address, aligned to its size.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  when posted; complete at pe after quiet.
 * Errors   latched: ERR_UNREACHABLE, ERR_NO_ATOMICS; check builds: ERR_BAD_PE, ERR_NOT_SYMMETRIC,
 *          ERR_UNALIGNED.
 * Source   OpenSHMEM 1.5, atomic memory operations.
 */
SHMEMD_FN void shmemd_atomic_set_u32(const shmemd_ctx_t *ctx, uint32_t *dst, uint32_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe), SHMEMDI_AMO_SET,
		    value);
}

/* As above: *dst = value, 64 bits. */
SHMEMD_FN void shmemd_atomic_set_u64(const shmemd_ctx_t *ctx, uint64_t *dst, uint64_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe), SHMEMDI_AMO_SET,
		    value);
}

/* As above: *dst += value, 32 bits. */
SHMEMD_FN void shmemd_atomic_add_u32(const shmemd_ctx_t *ctx, uint32_t *dst, uint32_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe), SHMEMDI_AMO_ADD,
		    value);
}

/* As above: *dst += value, 64 bits. */
SHMEMD_FN void shmemd_atomic_add_u64(const shmemd_ctx_t *ctx, uint64_t *dst, uint64_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe), SHMEMDI_AMO_ADD,
		    value);
}

/* As above: *dst &= value, 32 bits. */
SHMEMD_FN void shmemd_atomic_and_u32(const shmemd_ctx_t *ctx, uint32_t *dst, uint32_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe), SHMEMDI_AMO_AND,
		    value);
}

/* As above: *dst &= value, 64 bits. */
SHMEMD_FN void shmemd_atomic_and_u64(const shmemd_ctx_t *ctx, uint64_t *dst, uint64_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe), SHMEMDI_AMO_AND,
		    value);
}

/* As above: *dst |= value, 32 bits. */
SHMEMD_FN void shmemd_atomic_or_u32(const shmemd_ctx_t *ctx, uint32_t *dst, uint32_t value,
				    int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe), SHMEMDI_AMO_OR,
		    value);
}

/* As above: *dst |= value, 64 bits. */
SHMEMD_FN void shmemd_atomic_or_u64(const shmemd_ctx_t *ctx, uint64_t *dst, uint64_t value,
				    int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe), SHMEMDI_AMO_OR,
		    value);
}

/* As above: *dst ^= value, 32 bits. */
SHMEMD_FN void shmemd_atomic_xor_u32(const shmemd_ctx_t *ctx, uint32_t *dst, uint32_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe), SHMEMDI_AMO_XOR,
		    value);
}

/* As above: *dst ^= value, 64 bits. */
SHMEMD_FN void shmemd_atomic_xor_u64(const shmemd_ctx_t *ctx, uint64_t *dst, uint64_t value,
				     int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe), SHMEMDI_AMO_XOR,
		    value);
}

/* As above: ++*dst, 32 bits. */
SHMEMD_FN void shmemd_atomic_inc_u32(const shmemd_ctx_t *ctx, uint32_t *dst, int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe), SHMEMDI_AMO_ADD, 1);
}

/* As above: ++*dst, 64 bits. */
SHMEMD_FN void shmemd_atomic_inc_u64(const shmemd_ctx_t *ctx, uint64_t *dst, int pe SHMEMD_SITE)
{
	shmemdi_amo(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe), SHMEMDI_AMO_ADD, 1);
}

/* Read *src on PE pe.
 *
 * Callers  one thread.
 * old      receives the value before the update; untouched on error.
 * src      symmetric address, aligned to its size.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  SHMEMD_OK when *old is set; an update is complete then. Relaxed: orders nothing else.
 * Errors   ERR_UNREACHABLE, ERR_NO_ATOMICS; check builds: ERR_BAD_PE, ERR_NOT_SYMMETRIC,
 *          ERR_UNALIGNED. After one of these errors nothing was updated; for errors by NIC see the
 *          top.
 * Source   OpenSHMEM 1.5, atomic memory operations; the value comes through a pointer, and
 *          the status as the result.
 */
SHMEMD_FN int shmemd_atomic_fetch_u32(const shmemd_ctx_t *ctx, uint32_t *old, const uint32_t *src,
				      int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), src, 4, pe),
				 SHMEMDI_AMO_FETCH, old, 0, 0);
}

/* As above, 64 bits. */
SHMEMD_FN int shmemd_atomic_fetch_u64(const shmemd_ctx_t *ctx, uint64_t *old, const uint64_t *src,
				      int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), src, 8, pe),
				 SHMEMDI_AMO_FETCH, old, 0, 0);
}

/* As above: *dst = value, 32 bits. */
SHMEMD_FN int shmemd_atomic_swap_u32(const shmemd_ctx_t *ctx, uint32_t *old, uint32_t *dst,
				     uint32_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_SET, old, value, 0);
}

/* As above: *dst = value, 64 bits. */
SHMEMD_FN int shmemd_atomic_swap_u64(const shmemd_ctx_t *ctx, uint64_t *old, uint64_t *dst,
				     uint64_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_SET, old, value, 0);
}

/* As above: *dst += value, 32 bits. */
SHMEMD_FN int shmemd_atomic_fetch_add_u32(const shmemd_ctx_t *ctx, uint32_t *old, uint32_t *dst,
					  uint32_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_ADD, old, value, 0);
}

/* As above: *dst += value, 64 bits. */
SHMEMD_FN int shmemd_atomic_fetch_add_u64(const shmemd_ctx_t *ctx, uint64_t *old, uint64_t *dst,
					  uint64_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_ADD, old, value, 0);
}

/* As above: *dst &= value, 32 bits. */
SHMEMD_FN int shmemd_atomic_fetch_and_u32(const shmemd_ctx_t *ctx, uint32_t *old, uint32_t *dst,
					  uint32_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_AND, old, value, 0);
}

/* As above: *dst &= value, 64 bits. */
SHMEMD_FN int shmemd_atomic_fetch_and_u64(const shmemd_ctx_t *ctx, uint64_t *old, uint64_t *dst,
					  uint64_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_AND, old, value, 0);
}

/* As above: *dst |= value, 32 bits. */
SHMEMD_FN int shmemd_atomic_fetch_or_u32(const shmemd_ctx_t *ctx, uint32_t *old, uint32_t *dst,
					 uint32_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_OR, old, value, 0);
}

/* As above: *dst |= value, 64 bits. */
SHMEMD_FN int shmemd_atomic_fetch_or_u64(const shmemd_ctx_t *ctx, uint64_t *old, uint64_t *dst,
					 uint64_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_OR, old, value, 0);
}

/* As above: *dst ^= value, 32 bits. */
SHMEMD_FN int shmemd_atomic_fetch_xor_u32(const shmemd_ctx_t *ctx, uint32_t *old, uint32_t *dst,
					  uint32_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_XOR, old, value, 0);
}

/* As above: *dst ^= value, 64 bits. */
SHMEMD_FN int shmemd_atomic_fetch_xor_u64(const shmemd_ctx_t *ctx, uint64_t *old, uint64_t *dst,
					  uint64_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_XOR, old, value, 0);
}

/* As above: ++*dst, 32 bits. */
SHMEMD_FN int shmemd_atomic_fetch_inc_u32(const shmemd_ctx_t *ctx, uint32_t *old, uint32_t *dst,
					  int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_ADD, old, 1, 0);
}

/* As above: ++*dst, 64 bits. */
SHMEMD_FN int shmemd_atomic_fetch_inc_u64(const shmemd_ctx_t *ctx, uint64_t *old, uint64_t *dst,
					  int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_ADD, old, 1, 0);
}

/* As above: if *dst == cond, *dst = value; 32 bits. It was stored if *old == cond. */
SHMEMD_FN int shmemd_atomic_compare_swap_u32(const shmemd_ctx_t *ctx, uint32_t *old, uint32_t *dst,
					     uint32_t cond, uint32_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_CAS, old, value, cond);
}

/* As above: if *dst == cond, *dst = value; 64 bits. It was stored if *old == cond. */
SHMEMD_FN int shmemd_atomic_compare_swap_u64(const shmemd_ctx_t *ctx, uint64_t *old, uint64_t *dst,
					     uint64_t cond, uint64_t value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_CAS, old, value, cond);
}

/* Add to a float on PE pe, rounding to nearest even. Over mapped memory NVIDIA GPUs flush subnormal
 * operands and sums to zero; by NIC they are kept, unless the unit is compiled with -ftz=true.
 *
 * Callers  one thread.
 * dst      symmetric address, 4-byte aligned.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  SHMEMD_OK when posted; complete at pe after quiet. By NIC, which cannot add floats, it
 *          is a loop of compare-and-swaps: complete on return, and it can fail.
 * Errors   those of the fetching atomics.
 */
SHMEMD_FN int shmemd_atomic_add_f32(const shmemd_ctx_t *ctx, float *dst, float value,
				    int pe SHMEMD_SITE)
{
	return shmemdi_amo_float(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 shmemdi_bits_f32(value));
}

/* As above, double, 8-byte aligned; subnormals are kept. */
SHMEMD_FN int shmemd_atomic_add_f64(const shmemd_ctx_t *ctx, double *dst, double value,
				    int pe SHMEMD_SITE)
{
	return shmemdi_amo_float(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 shmemdi_bits_f64(value));
}

/* As shmemd_atomic_add_f32; *old receives the value before. */
SHMEMD_FN int shmemd_atomic_fetch_add_f32(const shmemd_ctx_t *ctx, float *old, float *dst,
					  float value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 4, pe),
				 SHMEMDI_AMO_ADDF, old, shmemdi_bits_f32(value), 0);
}

/* As shmemd_atomic_add_f64; *old receives the value before. */
SHMEMD_FN int shmemd_atomic_fetch_add_f64(const shmemd_ctx_t *ctx, double *old, double *dst,
					  double value, int pe SHMEMD_SITE)
{
	return shmemdi_amo_fetch(ctx, shmemdi_op_word(SHMEMDI_CALLER(ATOMIC), dst, 8, pe),
				 SHMEMDI_AMO_ADDF, old, shmemdi_bits_f64(value), 0);
}

#endif
