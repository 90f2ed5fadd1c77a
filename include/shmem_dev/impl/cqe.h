/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The bytes of CQEs (abi/mlx5.h), and what an error means. Pure.
 *
 * The last 8 bytes of a CQE are read in one load, since they belong together: whether it is valid,
 * what it completes, and its opcode, which tells success from error. */
#ifndef SHMEMD_IMPL_CQE_H
#define SHMEMD_IMPL_CQE_H

#include <shmem_dev/abi/mlx5.h>
#include <shmem_dev/abi/status.h>
#include <shmem_dev/arch/arch.h>

SHMEMD_FN uint32_t shmemdi_cqe_opcode(uint64_t tail)
{
	return (uint32_t)(tail >> 60);
}

/* Is it CQE number `cqe` of a ring of `n` (a power of two)? The owner bit changes with each lap. */
SHMEMD_FN int shmemdi_cqe_is(uint64_t tail, uint32_t cqe, uint32_t n)
{
	uint32_t owner = (uint32_t)(tail >> 56) & 1;

	return shmemdi_cqe_opcode(tail) != SHMEMD_CQE_INVALID && owner == ((cqe & n) != 0);
}

/* Index of the first WQEBB of the WQE, mod 2^16. */
SHMEMD_FN uint16_t shmemdi_cqe_counter(uint64_t tail)
{
	uint32_t bytes = (uint32_t)(tail >> 32) & 0xffff;

	return (uint16_t)(bytes << 8 | bytes >> 8);
}

/* What the WQE was to do: shmemd_mlx5_opcode. */
SHMEMD_FN uint32_t shmemdi_cqe_wqe_opcode(uint64_t tail)
{
	return (uint32_t)tail & 0xff;
}

SHMEMD_FN uint32_t shmemdi_cqe_qpn(uint64_t tail)
{
	return shmemd_arch_bswap32((uint32_t)tail) & 0xffffff;
}

/* The status for the syndrome of an error CQE: ERR_PATH for a lost path, ERR_REFUSED for every
 * other error, mostly a mistake of the program (key, range, rights, alignment, length). Only a lost
 * path is a reason to switch to another one. */
SHMEMD_FN int shmemdi_syndrome_status(uint32_t syndrome)
{
	if (syndrome == SHMEMD_SYNDROME_WR_FLUSH || syndrome == SHMEMD_SYNDROME_RETRY_EXC ||
	    syndrome == SHMEMD_SYNDROME_RNR_RETRY_EXC)
		return SHMEMD_ERR_PATH;
	return SHMEMD_ERR_REFUSED;
}

/* The operation that the error record names for a WQE, from its opcode alone: PUT for every WRITE
 * (also of a p, a signal, a packed value or a flag of a sync), GET for every READ (also of a g, a
 * fetch or a quiet), ATOMIC for every atomic (also a signal that is added), QUIET for a DUMP, whose
 * WQE does not say whether it follows the READ of a get or a fetching atomic. */
SHMEMD_FN uint32_t shmemdi_wqe_op(uint32_t opcode)
{
	if (opcode == SHMEMD_MLX5_RDMA_WRITE)
		return SHMEMD_OP_PUT;
	if (opcode == SHMEMD_MLX5_RDMA_READ)
		return SHMEMD_OP_GET;
	return opcode == SHMEMD_MLX5_DUMP ? SHMEMD_OP_QUIET : SHMEMD_OP_ATOMIC;
}

#endif
