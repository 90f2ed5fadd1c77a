/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* drive.ptx is made of this file by make_ptx.sh. */
#include <shmem_dev/impl/cqe.h>
#include <shmem_dev/impl/wqe.h>
#include "drive.h"

static __device__ void ring(const shmemhi_drive_t *p, uint32_t index)
{
	shmemd_arch_fence_before_record();
	shmemd_arch_st_relaxed_u32((void *)p->record, shmemd_arch_bswap32(index & 0xffff));
	shmemd_arch_fence_before_doorbell();
	shmemd_arch_st_mmio_u64((void *)p->doorbell, shmemdi_doorbell(index, p->qpn_be));
}

/* Wait for CQE number `cqe`. Returns its last 8 bytes; of an invalid CQE: the time is over. */
static __device__ uint64_t await(const shmemhi_drive_t *p, uint32_t cqe, uint64_t start)
{
	const char *at = (const char *)p->cqes + (size_t)(cqe & (p->depth - 1)) * SHMEMD_CQE_NBYTES;
	uint64_t tail;

	do {
		tail = shmemd_arch_ld_relaxed_u64(at + SHMEMD_CQE_TAIL);
		if (shmemdi_cqe_is(tail, cqe, p->depth)) {
			shmemd_arch_fence_acquire();
			return tail;
		}
	} while (shmemd_arch_time_ns() - start < p->timeout_ns);
	return ~(uint64_t)0;
}

extern "C" __global__ void shmemhi_drive(const __grid_constant__ shmemhi_drive_t p)
{
	shmemhi_drive_report_t *report = (shmemhi_drive_report_t *)p.report;
	uint64_t start = shmemd_arch_time_ns();

	for (uint32_t i = 0; i < p.n; i++) {
		uint64_t tail;

		ring(&p, p.index + 2 * (i + 1));
		tail = await(&p, p.first_cqe + i, start);
		if (shmemdi_cqe_opcode(tail) != SHMEMD_CQE_REQ) {
			report->opcode = shmemdi_cqe_opcode(tail);
			return;
		}
		report->n_done++;
		report->n_wrong += shmemd_arch_ld_relaxed_u64((void *)p.word) != p.expected + i;
	}
}
