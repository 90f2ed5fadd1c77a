/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The bytes of WQEs (abi/mlx5.h). Pure: from values to words in registers; who stores them, and
 * where, is impl/sq.h.
 *
 * A WQE is a control segment, a remote address segment unless it is a DUMP, and what the operation
 * needs. Its field `ds` counts 16-byte units; the next WQE begins at the next WQEBB. Callers give
 * keys in big-endian byte order. */
#ifndef SHMEMD_IMPL_WQE_H
#define SHMEMD_IMPL_WQE_H

#include <shmem_dev/abi/mlx5.h>
#include <shmem_dev/arch/arch.h>

#define SHMEMDI_WQE_WORDS 20u /* five units: the longest, a masked compare-and-swap of 8 bytes */

typedef struct shmemdi_wqe {
	uint32_t w[SHMEMDI_WQE_WORDS]; /* as they lie in memory, on a little-endian machine */
} shmemdi_wqe_t;

/* The control segment of one WQE apart from its operation: place, queue pair, flags, request
 * number. */
typedef struct shmemdi_wqe_at {
	uint64_t index;   /* of its first WQEBB */
	uint32_t qpn_be;  /* SHMEMD_QPN_BE */
	uint32_t flags;   /* one byte: SHMEMD_MLX5_CQ_UPDATE, SHMEMD_MLX5_FENCE_MODE_FENCE */
	uint32_t request; /* its number, mod 2^24, stored in the `imm` field of the control segment:
			     the NIC ignores `imm` for opcodes without immediate, so the replay can
			     read it back */
} shmemdi_wqe_at_t;

/* Memory as a NIC addresses it. */
typedef struct shmemdi_mem_t {
	uint64_t addr;
	uint32_t key; /* big-endian */
} shmemdi_mem_t;

/* The index as in the first word of a WQE and of a doorbell: in bytes 1 and 2, big-endian. */
SHMEMD_FN uint32_t shmemdi_wqe_index(uint64_t index)
{
	return shmemd_arch_permute_bytes((uint32_t)index, 0x4014);
}

/* opmod, opcode: one byte each. */
SHMEMD_FN void shmemdi_wqe_control(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, uint32_t opmod,
				   uint32_t opcode, uint32_t ds)
{
	q->w[0] = shmemdi_wqe_index(at.index) | opcode << 24 | opmod;
	q->w[1] = at.qpn_be | ds << 24;
	q->w[2] = at.flags << 24;
	q->w[3] = shmemd_arch_permute_bytes(at.request, 0x0124);
}

SHMEMD_FN void shmemdi_wqe_u64(shmemdi_wqe_t *q, uint32_t word, uint64_t v)
{
	q->w[word] = shmemd_arch_bswap32((uint32_t)(v >> 32));
	q->w[word + 1] = shmemd_arch_bswap32((uint32_t)v);
}

SHMEMD_FN void shmemdi_wqe_remote(shmemdi_wqe_t *q, shmemdi_mem_t remote)
{
	shmemdi_wqe_u64(q, 4, remote.addr);
	q->w[6] = remote.key;
	q->w[7] = 0;
}

SHMEMD_FN void shmemdi_wqe_data(shmemdi_wqe_t *q, uint32_t word, shmemdi_mem_t local,
				uint32_t nbytes)
{
	q->w[word] = shmemd_arch_bswap32(nbytes);
	q->w[word + 1] = local.key;
	shmemdi_wqe_u64(q, word + 2, local.addr);
}

/* RDMA_WRITE or RDMA_READ, as opcode says, of nbytes, 1 .. SHMEMD_MLX5_MAX_MSG. */
SHMEMD_FN void shmemdi_wqe_transfer(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, uint32_t opcode,
				    shmemdi_mem_t remote, shmemdi_mem_t local, uint32_t nbytes)
{
	shmemdi_wqe_control(q, at, 0, opcode, 3);
	shmemdi_wqe_remote(q, remote);
	shmemdi_wqe_data(q, 8, local, nbytes);
}

SHMEMD_FN void shmemdi_wqe_write(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, shmemdi_mem_t remote,
				 shmemdi_mem_t local, uint32_t nbytes)
{
	shmemdi_wqe_transfer(q, at, SHMEMD_MLX5_RDMA_WRITE, remote, local, nbytes);
}

SHMEMD_FN void shmemdi_wqe_read(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, shmemdi_mem_t remote,
				shmemdi_mem_t local, uint32_t nbytes)
{
	shmemdi_wqe_transfer(q, at, SHMEMD_MLX5_RDMA_READ, remote, local, nbytes);
}

/* WRITE nbytes, 1 .. SHMEMD_MLX5_INLINE_MAX, that are words[0 ..]; the rest of words is ignored. */
SHMEMD_FN void shmemdi_wqe_write_inline(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, shmemdi_mem_t remote,
					const uint32_t words[7], uint32_t nbytes)
{
	uint32_t i;

	shmemdi_wqe_control(q, at, 0, SHMEMD_MLX5_RDMA_WRITE, nbytes <= 12 ? 3 : 4);
	shmemdi_wqe_remote(q, remote);
	q->w[8] = shmemd_arch_bswap32(nbytes | SHMEMD_MLX5_INLINE);
	for (i = 0; i < 7; i++)
		q->w[9 + i] = words[i];
}

/* Read nbytes of local memory and discard them, after all READs and atomics before it: their
 * results are in memory when the DUMP completes. */
SHMEMD_FN void shmemdi_wqe_dump(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, shmemdi_mem_t local,
				uint32_t nbytes)
{
	at.flags |= SHMEMD_MLX5_FENCE_MODE_FENCE;
	shmemdi_wqe_control(q, at, 0, SHMEMD_MLX5_DUMP, 2);
	shmemdi_wqe_data(q, 4, local, nbytes);
}

/* An atomic update as NICs have it. Plain: add (fetch-and-add) and compare-and-swap of 8 bytes.
 * Masked: add with `boundary`, in which each 1 stops a carry; compare-and-swap that swaps the bits
 * in swap_mask if the bits in compare_mask are equal to those of `compare`. */
typedef struct shmemdi_nic_amo_t {
	uint32_t opcode; /* SHMEMD_MLX5_ATOMIC_* */
	uint64_t value;  /* added or swapped in */
	uint64_t compare;
	uint64_t swap_mask;
	uint64_t compare_mask;
	uint64_t boundary;
} shmemdi_nic_amo_t;

/* WQEBBs of its WQE. */
SHMEMD_FN uint32_t shmemdi_nic_amo_wqebbs(uint32_t opcode, uint32_t width)
{
	return opcode == SHMEMD_MLX5_ATOMIC_MASKED_CS && width == 8 ? 2 : 1;
}

/* Is it a compare-and-swap? Otherwise it is an addition. */
SHMEMD_FN int shmemdi_nic_amo_swaps(const shmemdi_nic_amo_t *amo)
{
	return amo->opcode == SHMEMD_MLX5_ATOMIC_CS || amo->opcode == SHMEMD_MLX5_ATOMIC_MASKED_CS;
}

SHMEMD_FN void shmemdi_wqe_amo4(shmemdi_wqe_t *q, const shmemdi_nic_amo_t *amo)
{
	int swaps = shmemdi_nic_amo_swaps(amo);

	q->w[8] = shmemd_arch_bswap32((uint32_t)amo->value);
	q->w[9] = shmemd_arch_bswap32((uint32_t)(swaps ? amo->compare : amo->boundary));
	q->w[10] = shmemd_arch_bswap32(swaps ? (uint32_t)amo->swap_mask : 0);
	q->w[11] = shmemd_arch_bswap32(swaps ? (uint32_t)amo->compare_mask : 0);
}

/* Words 12 to 15 are masks of the masked compare-and-swap. In the other WQEs shmemdi_wqe_amo stores
 * the data segment there. */
SHMEMD_FN void shmemdi_wqe_amo8(shmemdi_wqe_t *q, const shmemdi_nic_amo_t *amo)
{
	uint64_t second = shmemdi_nic_amo_swaps(amo) ? amo->compare : amo->boundary;

	shmemdi_wqe_u64(q, 8, amo->value);
	shmemdi_wqe_u64(q, 10, amo->opcode == SHMEMD_MLX5_ATOMIC_FA ? 0 : second);
	shmemdi_wqe_u64(q, 12, amo->swap_mask);
	shmemdi_wqe_u64(q, 14, amo->compare_mask);
}

/* Update `width` bytes, 4 or 8; the old value goes to local memory. Of 4 bytes only the masked
 * opcodes exist. */
SHMEMD_FN void shmemdi_wqe_amo(shmemdi_wqe_t *q, shmemdi_wqe_at_t at, shmemdi_mem_t remote,
			       shmemdi_mem_t local, const shmemdi_nic_amo_t *amo, uint32_t width)
{
	int masked = amo->opcode == SHMEMD_MLX5_ATOMIC_MASKED_CS ||
		     amo->opcode == SHMEMD_MLX5_ATOMIC_MASKED_FA;
	uint32_t opmod = width == 4 ? SHMEMD_MLX5_OPMOD_4 : SHMEMD_MLX5_OPMOD_8;
	uint32_t units = 3 + shmemdi_nic_amo_wqebbs(amo->opcode, width), i;
	shmemdi_wqe_t data;

	shmemdi_wqe_control(q, at, masked ? opmod : 0, amo->opcode, units);
	shmemdi_wqe_remote(q, remote);
	if (width == 4)
		shmemdi_wqe_amo4(q, amo);
	else
		shmemdi_wqe_amo8(q, amo);
	/* The data segment is the fourth or the fifth unit of 16 bytes. All indices are constants:
	 * an index that is computed would keep the WQE in local memory, not in registers. */
	shmemdi_wqe_data(&data, 0, local, width);
	for (i = 0; i < 4; i++) {
		q->w[12 + i] = units == 4 ? data.w[i] : q->w[12 + i];
		q->w[16 + i] = units == 4 ? q->w[16 + i] : data.w[i];
	}
}

/* The 8 bytes of a doorbell that covers all WQEBBs before `index`: index and queue pair number, as
 * the first words of a control segment have them. In memory: index << 8, then QPN << 8. Without a
 * doorbell record the NIC takes this index. With one it reads the record; it may also take this
 * index if that is further ahead, and a doorbell works either way: record and doorbell have the
 * same index, or the record a later one. */
SHMEMD_FN uint64_t shmemdi_doorbell(uint64_t index, uint32_t qpn_be)
{
	return (uint64_t)qpn_be << 32 | shmemdi_wqe_index(index);
}

#endif
