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
 * uint32_t; results are therefore copied out, not stored through the pointer's type. */
SHMEMD_FN void shmemdi_bits_out(void *value, uint64_t bits, uint32_t width)
{
	uint8_t b8 = (uint8_t)bits;
	uint16_t b16 = (uint16_t)bits;
	uint32_t b32 = (uint32_t)bits;

	switch (width) {
	case 1:
		memcpy(value, &b8, 1);
		break;
	case 2:
		memcpy(value, &b16, 2);
		break;
	case 4:
		memcpy(value, &b32, 4);
		break;
	default:
		memcpy(value, &bits, 8);
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
