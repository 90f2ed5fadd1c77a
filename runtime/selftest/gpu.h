/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* For rows that need a GPU: the first GPU that CUDA shows, attached, and the kernel that drives
 * queues. */
#ifndef SHMEMHI_SELFTEST_GPU_H
#define SHMEMHI_SELFTEST_GPU_H

#include "cuda/ctx.h"
#include "kernels/drive.h"
#include "kernels/launch.h"

typedef struct shmemhi_rig_gpu {
	shmemhi_cuctx_t c;
	shmemhi_kernel_t kernel;
} shmemhi_rig_gpu_t;

/* Returns  1; 0: there is none; ERR_CUDA, ERR_NO_MEMORY (a line in err). Call close after all but
 * 0. */
int shmemhi_rig_gpu_open(shmemhi_rig_gpu_t *gpu, shmemhi_err_t *err);
void shmemhi_rig_gpu_close(shmemhi_rig_gpu_t *gpu);

/* Run the kernel and wait for its end. Returns SHMEMH_OK; ERR_CUDA; ERR_NO_MEMORY. */
int shmemhi_rig_gpu_drive(shmemhi_rig_gpu_t *gpu, const shmemhi_drive_t *drive, shmemhi_err_t *err);

#endif
