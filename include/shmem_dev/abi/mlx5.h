/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Numbers of the mlx5 adapter that threads and host use: opcodes, fields of WQEs and CQEs,
 * syndromes. All words of WQEs, CQEs, doorbells and doorbell records are big-endian.
 *
 * Source  rdma-core, providers/mlx5/mlx5dv.h; the Adapters Programmer's Reference Manual (PRM). */
#ifndef SHMEMD_ABI_MLX5_H
#define SHMEMD_ABI_MLX5_H

#include <shmem_dev/abi/base.h>

/* A send queue consists of basic blocks (WQEBB); a WQE takes 1 or 2 of them here. Indexes count
 * WQEBBs; the adapter has the low 16 bits of index - base (abi/queue.h). */
#define SHMEMD_WQEBB_NBYTES 64
#define SHMEMD_MAX_DEPTH 32768u /* WQEBBs: half of what 16 bits can tell apart */
#define SHMEMD_MIN_DEPTH 64u    /* WQEBBs: two for each lane of a warp */

/* Opcodes of the WQEs that are posted here, by the names of the PRM. */
enum shmemd_mlx5_opcode {
	SHMEMD_MLX5_NOP = 0x00,
	SHMEMD_MLX5_RDMA_WRITE = 0x08,
	SHMEMD_MLX5_RDMA_READ = 0x10,
	SHMEMD_MLX5_ATOMIC_CS = 0x11,
	SHMEMD_MLX5_ATOMIC_FA = 0x12,
	SHMEMD_MLX5_ATOMIC_MASKED_CS = 0x14,
	SHMEMD_MLX5_ATOMIC_MASKED_FA = 0x15,
	SHMEMD_MLX5_DUMP = 0x23, /* reads local memory and discards it */
};

#define SHMEMD_MLX5_OPMOD_4 0x08u /* masked atomics of 4 bytes */
#define SHMEMD_MLX5_OPMOD_8 0x09u /* masked atomics of 8 bytes */

/* Fields of the fm_ce_se byte, the lowest of the control segment's third word. */
#define SHMEMD_MLX5_CQ_UPDATE 0x08u /* a CQE also for success */
#define SHMEMD_MLX5_FENCE_MODE_FENCE                                                               \
	0x40u /* fence mode 2: starts after all earlier READs and atomics */

#define SHMEMD_MLX5_INLINE 0x80000000u          /* of a segment's byte count: the data follow */
#define SHMEMD_MLX5_INLINE_MAX 28u              /* bytes in a WQE of one WQEBB */
#define SHMEMD_MLX5_MAX_MSG ((uint64_t)1 << 30) /* bytes of one message */

/* CQE: 64 bytes. Its last 8 as they lie in memory: opcode of the WQE (1), QPN (3), index of the
 * WQE's first WQEBB (2), signature (1), opcode of the CQE and owner bit (1). */
#define SHMEMD_CQE_NBYTES 64
#define SHMEMD_CQE_TAIL 56
#define SHMEMD_CQE_SYNDROMES 48 /* 8 bytes; the 7th: vendor's, the 8th: syndrome */

/* Opcodes of CQEs: a request that succeeded, one that failed. */
enum shmemd_cqe_opcode {
	SHMEMD_CQE_REQ = 0,
	SHMEMD_CQE_REQ_ERR = 13,
	SHMEMD_CQE_INVALID = 15, /* nothing has been written there yet */
};

/* Syndromes of error CQEs, by the names of the PRM. */
enum shmemd_syndrome {
	SHMEMD_SYNDROME_LOCAL_LENGTH = 0x01,
	SHMEMD_SYNDROME_LOCAL_QP_OP = 0x02,
	SHMEMD_SYNDROME_LOCAL_PROT = 0x04,
	SHMEMD_SYNDROME_WR_FLUSH = 0x05,
	SHMEMD_SYNDROME_MW_BIND = 0x06,
	SHMEMD_SYNDROME_BAD_RESP = 0x10,
	SHMEMD_SYNDROME_LOCAL_ACCESS = 0x11,
	SHMEMD_SYNDROME_REMOTE_INVAL_REQ = 0x12,
	SHMEMD_SYNDROME_REMOTE_ACCESS = 0x13,
	SHMEMD_SYNDROME_REMOTE_OP = 0x14,
	SHMEMD_SYNDROME_RETRY_EXC = 0x15,
	SHMEMD_SYNDROME_RNR_RETRY_EXC = 0x16,
	SHMEMD_SYNDROME_REMOTE_ABORTED = 0x22,
};

/* The number of a queue pair as the first three bytes of a big-endian word; the same function leads
 * back. */
#define SHMEMD_QPN_BE(qpn) (((qpn) >> 16 & 0xffu) | ((qpn)&0xff00u) | ((qpn)&0xffu) << 16)

#endif
