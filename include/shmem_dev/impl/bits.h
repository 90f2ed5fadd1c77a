/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Words of 1 to 8 bytes as their bits in a uint64_t, so that one body serves every width. The
 * width is a constant at each call: the switches fold away. */
#ifndef SHMEMD_IMPL_BITS_H
#define SHMEMD_IMPL_BITS_H

#include <shmem_dev/arch/arch.h>
#if !defined(__CUDACC_RTC__) /* NVRTC has memcpy built in, and no C headers */
#include <string.h>
#endif

/* Typed names pass pointers to long, long long or float where the word form has uint64_t or
 * uint32_t, so results are stored by types that may alias any other. (A copy by memcpy becomes one
 * store of each byte for sm_90, since nvcc 13.0 does not derive the alignment of value.) */
typedef uint16_t __attribute__((__may_alias__)) shmemdi_any_u16;
typedef uint32_t __attribute__((__may_alias__)) shmemdi_any_u32;
typedef uint64_t __attribute__((__may_alias__)) shmemdi_any_u64;

/* value: where the word goes, aligned to its width. */
SHMEMD_FN void shmemdi_bits_out(void *value, uint64_t bits, uint32_t width)
{
	switch (width) {
	case 1:
		*(uint8_t *)value = (uint8_t)bits;
		break;
	case 2:
		*(shmemdi_any_u16 *)value = (uint16_t)bits;
		break;
	case 4:
		*(shmemdi_any_u32 *)value = (uint32_t)bits;
		break;
	default:
		*(shmemdi_any_u64 *)value = bits;
	}
}

SHMEMD_FN uint32_t shmemdi_bits_f32(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, 4);
	return bits;
}

SHMEMD_FN uint64_t shmemdi_bits_f64(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, 8);
	return bits;
}

SHMEMD_FN float shmemdi_f32(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;
	memcpy(&value, &low, 4);
	return value;
}

SHMEMD_FN double shmemdi_f64(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, 8);
	return value;
}

#endif
