/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Load and launch a kernel of the runtime's own, whose PTX is part of the library (ptx.S). */
#ifndef SHMEMHI_KERNELS_LAUNCH_H
#define SHMEMHI_KERNELS_LAUNCH_H

#include "cuda/ctx.h"

typedef struct shmemhi_kernel {
	void *module, *function;
} shmemhi_kernel_t;

/* Returns SHMEMH_OK; ERR_CUDA; ERR_NO_MEMORY. */
int shmemhi_kernel_load(shmemhi_cuctx_t *c, const char *ptx, const char *name,
			shmemhi_kernel_t *kernel, shmemhi_err_t *err);

/* Not while it runs. */
void shmemhi_kernel_unload(shmemhi_cuctx_t *c, shmemhi_kernel_t *kernel);

/* Launch one block of n_threads. parameter: of the kernel, copied. Returns SHMEMH_OK, and the
 * kernel runs; ERR_CUDA; ERR_NO_MEMORY. */
int shmemhi_kernel_launch(shmemhi_cuctx_t *c, const shmemhi_kernel_t *kernel, unsigned n_threads,
			  void *parameter, shmemhi_cu_stream_t stream, shmemhi_err_t *err);

#endif
