/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Access to GPU memory by copies. Starting a copy and waiting for it takes as long as copying
 * hundreds of kilobytes, so one wait covers as much as possible: the packets of a message that have
 * arrived, the results of READs and atomics that have arrived, the bytes of a message that a queue
 * pair sends in one turn.
 *
 * Written bytes are in memory after mlx5swi_gpu_flush. The engine calls it before anything that
 * makes the bytes observable: before a completion or a response, before the next message or an
 * atomic on another word (a kernel may poll for either), and before it releases the lock. Until
 * then the order of bytes is undefined, as within one WRITE. */
#ifndef MLX5SW_GPU_H
#define MLX5SW_GPU_H

#include "mlx5sw/engine/step.h"

/* p: memory for which mlx5swi_is_gpu returned true. A read is complete on return, and includes all
 * earlier writes; bytes that cannot be copied read as zeros. ahead: so many bytes from p on may be
 * read now, for later calls until mlx5swi_gpu_forget. */
void mlx5swi_gpu_read(void *dst, const void *p, size_t nbytes, size_t ahead);
void mlx5swi_gpu_forget(void);
void mlx5swi_gpu_write(void *p, const void *src, size_t nbytes);
/* The load and the store of an atomic: after all earlier writes, before all later ones. */
void mlx5swi_gpu_word_read(void *dst, const void *p, size_t width);
void mlx5swi_gpu_word_write(void *p, const void *src, size_t width);
void mlx5swi_gpu_flush_all(void);
typedef struct mlx5swi_gpu_counters {
	uint64_t n_copies, n_waits, waited_ns;
} mlx5swi_gpu_counters_t;
mlx5swi_gpu_counters_t mlx5swi_gpu_query(void); /* counters of this process */
void mlx5swi_gpu_close(void);

static inline void mlx5swi_gpu_flush(void)
{
	if (mlx5swi_w->engine && mlx5swi_w->engine->gpus_written)
		mlx5swi_gpu_flush_all();
}

#endif
