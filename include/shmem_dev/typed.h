/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* OpenSHMEM's typed names: shmemd_<type>_<operation>, for all types. shmem_dev.h does not include
 * them: include this header, or only its parts for the types that you use. */
#ifndef SHMEMD_TYPED_H
#define SHMEMD_TYPED_H

#include <shmem_dev/typed/char.h>
#include <shmem_dev/typed/double.h>
#include <shmem_dev/typed/float.h>
#include <shmem_dev/typed/int.h>
#include <shmem_dev/typed/int16.h>
#include <shmem_dev/typed/int32.h>
#include <shmem_dev/typed/int64.h>
#include <shmem_dev/typed/int8.h>
#include <shmem_dev/typed/long.h>
#include <shmem_dev/typed/longlong.h>
#include <shmem_dev/typed/ptrdiff.h>
#include <shmem_dev/typed/schar.h>
#include <shmem_dev/typed/short.h>
#include <shmem_dev/typed/size.h>
#include <shmem_dev/typed/uchar.h>
#include <shmem_dev/typed/uint.h>
#include <shmem_dev/typed/uint16.h>
#include <shmem_dev/typed/uint32.h>
#include <shmem_dev/typed/uint64.h>
#include <shmem_dev/typed/uint8.h>
#include <shmem_dev/typed/ulong.h>
#include <shmem_dev/typed/ulonglong.h>
#include <shmem_dev/typed/ushort.h>

/* clang-format off */

/* The list of types, from which typed/generate.py writes those headers: X(name, type, bits, kind,
 * class, ...). kind: suffix of the word form. class: how a value becomes bits, INT or FLT.
 * OpenSHMEM 1.5 has these sets, each inside the next (tables 6, 5, 4, 3): bitwise atomics; standard
 * atomics and waits; extended atomics; RMA. Left out: long double, which GPUs do not have. */
#define SHMEMD_BITWISE_TYPES(X, ...) \
	X(uint,      unsigned int,       32, u32, INT, __VA_ARGS__) \
	X(ulong,     unsigned long,      64, u64, INT, __VA_ARGS__) \
	X(ulonglong, unsigned long long, 64, u64, INT, __VA_ARGS__) \
	X(int32,     int32_t,            32, s32, INT, __VA_ARGS__) \
	X(int64,     int64_t,            64, s64, INT, __VA_ARGS__) \
	X(uint32,    uint32_t,           32, u32, INT, __VA_ARGS__) \
	X(uint64,    uint64_t,           64, u64, INT, __VA_ARGS__)

/* Types of the standard atomics and of waits: those above, and these. */
#define SHMEMD_STANDARD_TYPES(X, ...) SHMEMD_BITWISE_TYPES(X, __VA_ARGS__) \
	X(int,       int,                32, s32, INT, __VA_ARGS__) \
	X(long,      long,               64, s64, INT, __VA_ARGS__) \
	X(longlong,  long long,          64, s64, INT, __VA_ARGS__) \
	X(size,      size_t,             64, u64, INT, __VA_ARGS__) \
	X(ptrdiff,   ptrdiff_t,          64, s64, INT, __VA_ARGS__)

/* Floating-point types. */
#define SHMEMD_FLOAT_TYPES(X, ...) \
	X(float,     float,              32, f32, FLT, __VA_ARGS__) \
	X(double,    double,             64, f64, FLT, __VA_ARGS__)

/* Types of the extended atomics: fetch, set, swap. */
#define SHMEMD_EXTENDED_TYPES(X, ...) \
	SHMEMD_STANDARD_TYPES(X, __VA_ARGS__) SHMEMD_FLOAT_TYPES(X, __VA_ARGS__)

/* Types of put, get, put_signal, their nbi and strided forms, p and g: all. */
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

/* Put, get, put_signal, iput, iget, p and g only: no atomics and no waits. typed.h does not include
 * their headers, because those include CUDA's cuda_fp16.h and cuda_bf16.h: include typed/half.h or
 * typed/bfloat16.h, in CUDA or C++. */
#define SHMEMD_CUDA_TYPES(X, ...) \
	X(half,      __half,             16, u16, FLT, __VA_ARGS__) \
	X(bfloat16,  __nv_bfloat16,      16, u16, FLT, __VA_ARGS__)

/* clang-format on */

#endif
