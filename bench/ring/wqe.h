/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* WQEs of the sequences with which the library is compared, as the mlx5 PRM defines them. */
#ifndef BENCH_RING_WQE_H
#define BENCH_RING_WQE_H

#include <stdint.h>

#define WQE_WRITE 0x08u
#define WQE_MASKED_ADD 0x15u
#define WQE_ADD_4 0x08000000u /* modifier of MASKED_ADD: operands of 4 bytes */
#define WQE_ADD_8 0x09000000u
#define WQE_ASK_CQE 8u
#define WQE_INLINE 0x80000000u

static __device__ __forceinline__ uint32_t wqe_be32(uint32_t x)
{
	return __byte_perm(x, 0, 0x0123);
}

/* An address, as two consecutive words of a segment. */
static __device__ __forceinline__ uint2 wqe_be64(uint64_t x)
{
	return make_uint2(wqe_be32((uint32_t)(x >> 32)), wqe_be32((uint32_t)x));
}

/* Control segment of a WQE of n_segments times 16 bytes. */
static __device__ __forceinline__ uint4 wqe_control(uint32_t opcode, uint32_t index, uint32_t qpn,
						    uint32_t n_segments, uint32_t imm)
{
	return make_uint4(wqe_be32((index & 0xffff) << 8 | opcode), wqe_be32(qpn << 8 | n_segments),
			  wqe_be32(WQE_ASK_CQE), imm);
}

static __device__ __forceinline__ uint4 wqe_remote(uint64_t address, uint32_t rkey)
{
	const uint2 be = wqe_be64(address);

	return make_uint4(be.x, be.y, rkey, 0);
}

static __device__ __forceinline__ uint4 wqe_local(uint64_t address, uint32_t lkey, uint32_t nbytes)
{
	const uint2 be = wqe_be64(address);

	return make_uint4(wqe_be32(nbytes), lkey, be.x, be.y);
}

/* The doorbell of a WQE: the first 8 bytes of its control segment. */
static __device__ __forceinline__ uint64_t wqe_doorbell(uint32_t first, uint32_t second)
{
	return (uint64_t)wqe_be32(second) << 32 | wqe_be32(first);
}

#endif
