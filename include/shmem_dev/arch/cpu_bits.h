/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Section 9 of arch.h, bits and the compiler, for the CPU. */
#ifndef SHMEMD_ARCH_CPU_BITS_H
#define SHMEMD_ARCH_CPU_BITS_H

#include <stdint.h>

#ifndef SHMEMD_FN
#define SHMEMD_FN static inline
#endif

SHMEMD_FN uint32_t shmemd_arch_bswap32(uint32_t v)
{
	return __builtin_bswap32(v);
}

SHMEMD_FN uint32_t shmemd_arch_permute_bytes(uint32_t v, uint32_t selector)
{
	uint32_t result = 0, i;

	for (i = 0; i < 4; i++)
		result |= (uint32_t)((uint64_t)v >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
	return result;
}

SHMEMD_FN uint32_t shmemd_arch_low_bits(uint32_t v, uint32_t n)
{
	return v & (((uint32_t)1 << n) - 1);
}

SHMEMD_FN uint64_t shmemd_arch_mad_wide(uint32_t a, uint32_t b, uint64_t c)
{
	return (uint64_t)a * b + c;
}

SHMEMD_FN int shmemd_arch_is_global(const void *p)
{
	(void)p;
	return 1;
}

SHMEMD_FN void *shmemd_arch_global_at(uintptr_t address)
{
	return (void *)address;
}

SHMEMD_FN void *shmemd_arch_as_local(const void *p)
{
	return (void *)(uintptr_t)p;
}

SHMEMD_FN uint32_t shmemd_arch_opaque_zero(void)
{
	return 0;
}

SHMEMD_FN uint32_t shmemd_arch_popc(uint32_t v)
{
	return (uint32_t)__builtin_popcount(v);
}

SHMEMD_FN uint32_t shmemd_arch_lowest(uint32_t v)
{
	return (uint32_t)__builtin_ctz(v);
}

#endif
