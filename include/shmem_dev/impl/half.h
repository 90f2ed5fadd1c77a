/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Sums of f16 and bf16, two in a word of 32 bits, in integer arithmetic and float: where no
 * instruction adds them atomically, a compare-and-swap stores such a sum. Rounded to nearest even:
 * float has at least twice the digits of either, and two more (24 = 2 * 11 + 2 for f16), so that
 * rounding its sum once more gives the right one. */
#ifndef SHMEMD_IMPL_HALF_H
#define SHMEMD_IMPL_HALF_H

#include <shmem_dev/impl/bits.h>

SHMEMD_FN float shmemdi_f16_widen(uint32_t h)
{
	uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, digits = h & 0x3ff;

	if (exponent == 31) /* infinite, or no number */
		return shmemdi_f32(sign | 0x7f800000 | digits << 13);
	if (exponent == 0) /* subnormal: multiples of 2^-24 */
		return sign ? -((float)digits * 5.9604644775390625e-8f)
			    : (float)digits * 5.9604644775390625e-8f;
	return shmemdi_f32(sign | (exponent + 112) << 23 | digits << 13);
}

SHMEMD_FN uint32_t shmemdi_f16_round(float value)
{
	uint32_t bits = shmemdi_bits_f32(value), sign = bits >> 16 & 0x8000;

	bits &= 0x7fffffff;
	if (bits > 0x7f800000)
		return sign | 0x7e00;
	if (bits >= 0x477ff000) /* 65520 */
		return sign | 0x7c00;
	if (bits < 0x38800000) /* 2^-14: the float addition rounds to multiples of 2^-24 */
		return sign | (shmemdi_bits_f32(shmemdi_f32(bits) + 0.5f) - 0x3f000000);
	return sign | (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
}

SHMEMD_FN float shmemdi_bf16_widen(uint32_t h)
{
	return shmemdi_f32(h << 16);
}

SHMEMD_FN uint32_t shmemdi_bf16_round(float value)
{
	uint32_t bits = shmemdi_bits_f32(value);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return bits >> 16;
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

SHMEMD_FN uint32_t shmemdi_f16_sum2(uint32_t a, uint32_t b)
{
	uint32_t lo =
		shmemdi_f16_round(shmemdi_f16_widen(a & 0xffff) + shmemdi_f16_widen(b & 0xffff));

	return lo | shmemdi_f16_round(shmemdi_f16_widen(a >> 16) + shmemdi_f16_widen(b >> 16))
			    << 16;
}

SHMEMD_FN uint32_t shmemdi_bf16_sum2(uint32_t a, uint32_t b)
{
	uint32_t lo =
		shmemdi_bf16_round(shmemdi_bf16_widen(a & 0xffff) + shmemdi_bf16_widen(b & 0xffff));

	return lo | shmemdi_bf16_round(shmemdi_bf16_widen(a >> 16) + shmemdi_bf16_widen(b >> 16))
			    << 16;
}

#endif
