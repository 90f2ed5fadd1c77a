/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What every ABI header needs: fixed-width types, the layout assertion, the ABI version. */
#ifndef SHMEMD_ABI_BASE_H
#define SHMEMD_ABI_BASE_H

#if defined(__CUDACC_RTC__)
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
using cuda::std::int16_t;
using cuda::std::int32_t;
using cuda::std::int64_t;
using cuda::std::int8_t;
using cuda::std::ptrdiff_t;
using cuda::std::size_t;
using cuda::std::uint16_t;
using cuda::std::uint32_t;
using cuda::std::uint64_t;
using cuda::std::uint8_t;
using cuda::std::uintptr_t;
#else
#include <stddef.h>
#include <stdint.h>
#endif

/* A condition that the compiler checks, in C and in C++. */
#ifdef __cplusplus
#define SHMEMD_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define SHMEMD_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/* A field's place. NVRTC 13.0 has no constant offsetof; the host compilers check for it. */
#if defined(__CUDACC_RTC__)
#define SHMEMD_ASSERT_AT(type, field, nbytes)
#else
#define SHMEMD_ASSERT_AT(type, field, nbytes)                                                      \
	SHMEMD_STATIC_ASSERT(offsetof(type, field) == (nbytes), "ABI: " #type "." #field)
#endif

/* The host runtime fills a context with the ABI it was built with; device code was compiled
 * with the ABI of the headers it included. A larger minor only appends fields, so a host serves
 * device code of the same major and an equal or smaller minor; shmemh_ctx_get refuses every other
 * pair. */
#define SHMEMD_ABI_MAJOR 2
#define SHMEMD_ABI_MINOR 0
#define SHMEMD_ABI_VERSION ((uint32_t)(SHMEMD_ABI_MAJOR << 16 | SHMEMD_ABI_MINOR))

/* The macro shmemh_ctx_get adds this bit to the version that it passes if the calling unit defines
 * SHMEMD_NO_NIC. */
#define SHMEMD_ABI_NO_NIC 0x80000000u

/* Structs cross between a 64-bit host and the device by plain copy. */
SHMEMD_STATIC_ASSERT(sizeof(void *) == 8, "shmem_dev needs 64-bit pointers");

#endif
