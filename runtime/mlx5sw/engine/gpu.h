/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory of a GPU, by copies. To start one and to wait for it costs as much as hundreds of
 * kilobytes take, so one wait serves for as much as can be: for the packets of a message that have
 * come, for the results of READs and atomics that have come, for the bytes of a message's packets
 * that a queue pair sends in one turn.
 *
 * What was written is there after mlx5swi_gpu_settle, and who may see something that says so calls
 * that first: before a completion or a response, before the next message or atomic (a kernel may
 * poll for either), and before others have the lock. Until then the order of bytes is open, as it
 * is for those of one WRITE and for what is fetched. */
#ifndef MLX5SW_GPU_H
#define MLX5SW_GPU_H

#include "mlx5sw/engine/step.h"

/* p: mlx5swi_is_gpu said yes. Reads are done when they return, after all writes. ahead: so many
 * bytes from p on may be read now, for calls that follow until mlx5swi_gpu_forget. */
void mlx5swi_gpu_read(void *dst, const void *p, size_t nbytes, size_t ahead);
void mlx5swi_gpu_forget(void);
void mlx5swi_gpu_write(void *p, const void *src, size_t nbytes);
/* Both halves of an atomic: after and before all other writes. */
void mlx5swi_gpu_word_read(void *dst, const void *p, size_t width);
void mlx5swi_gpu_word_write(void *p, const void *src, size_t width);
void mlx5swi_gpu_settle_all(void);
typedef struct mlx5swi_gpu_counters {
	uint64_t n_copies, n_waits, waited_ns;
} mlx5swi_gpu_counters_t;
mlx5swi_gpu_counters_t mlx5swi_gpu_query(void); /* of this process */
void mlx5swi_gpu_close(void);

static inline void mlx5swi_gpu_settle(void)
{
	if (mlx5swi_w->engine && mlx5swi_w->engine->gpus_written)
		mlx5swi_gpu_settle_all();
}

#endif
