/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* service.ptx is made of this file by make_ptx.sh. */
#include <shmem_dev/impl/switch.h>
#include "service.h"

/* One thread of the warp works; the switch is sequential. */
extern "C" __global__ void __launch_bounds__(32)
	shmemhi_service(const __grid_constant__ shmemhi_service_job_t job)
{
	if (threadIdx.x)
		return;
	while (!shmemd_arch_ld_relaxed_u32(job.stop) && shmemdi_service_once(job.ctx))
		shmemd_arch_spin_hint();
}
