/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory of a GPU, by copies. */
#ifndef MLX5SW_GPU_H
#define MLX5SW_GPU_H

#include "mlx5sw/engine/engine.h"

/* Done when they return. p: mlx5swi_is_gpu said yes. */
void mlx5swi_gpu_read(void *dst, const void *p, size_t nbytes);
void mlx5swi_gpu_write(void *p, const void *src, size_t nbytes);
void mlx5swi_gpu_close(void);

#endif
