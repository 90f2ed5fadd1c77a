/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_CUDA_DMABUF_H
#define SHMEMHI_CUDA_DMABUF_H

#include "cuda/ctx.h"

/* Export GPU memory as a dma-buf, for import by other devices; the caller closes it.
 * Returns  a descriptor; -1: a line in err. */
int shmemhi_cuctx_dmabuf(shmemhi_cuctx_t *c, const void *ptr, size_t nbytes, shmemhi_err_t *err);

#endif
