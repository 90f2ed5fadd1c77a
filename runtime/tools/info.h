/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Parts of shmem-info. */
#ifndef SHMEMHI_TOOLS_INFO_H
#define SHMEMHI_TOOLS_INFO_H

#include "base/options.h"
#include "cuda/dl.h"

void info_line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print how NICs can access the memory of a GPU. */
void info_gpu_rdma(const shmemhi_cuda_t *cuda, int gpu);

/* Print the NICs and what they need of the system. cuda: NULL: no driver. */
void info_rdma(const shmemhi_options_t *opt, const shmemhi_cuda_t *cuda);

#endif
