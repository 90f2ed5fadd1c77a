/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Parts of shmem-info. */
#ifndef SHMEMHI_TOOLS_INFO_H
#define SHMEMHI_TOOLS_INFO_H

#include "base/options.h"
#include "cuda/dl.h"

void info_line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A GPU's ways to let NICs reach its memory. */
void info_gpu_rdma(const shmemhi_cuda_t *cuda, int gpu);

/* NICs, and what of the system they need. cuda: NULL: no driver. */
void info_rdma(const shmemhi_options_t *opt, const shmemhi_cuda_t *cuda, int n_gpus);

#endif
