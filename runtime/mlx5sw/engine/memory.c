/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory that keys refer to, and memory of queues. */
#include <string.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/engine/gpu.h"

static const mlx5swi_pd_t *protection(const mlx5swi_pd_t *pd)
{
	return pd->parent ? pd->parent : pd;
}

int mlx5swi_key_check(mlx5swi_device_t *dev, const mlx5swi_pd_t *pd, uint32_t key, uint64_t va,
		      uint64_t nbytes, uint32_t rights, mlx5swi_mr_t **mr, uint8_t **p)
{
	mlx5swi_mr_t *m = mlx5swi_table_get(&dev->mrs, key >> 8);
	if (!m || m->key != key || m->is_lost || protection(m->pd) != protection(pd))
		return MLX5SWI_KEY_UNKNOWN;
	if ((m->access & rights) != rights)
		return MLX5SWI_KEY_RIGHTS;
	/* For an address below the start the difference wraps, and exceeds every size. */
	if (nbytes > m->nbytes || va - m->iova > m->nbytes - nbytes)
		return MLX5SWI_KEY_RANGE;
	*mr = m;
	*p = m->p + (va - m->iova);
	return MLX5SWI_KEY_OK;
}

void mlx5swi_payload_read(const mlx5swi_mr_t *mr, void *dst, const uint8_t *p, size_t nbytes,
			  size_t ahead, int access)
{
	size_t left = mr->nbytes - (size_t)(p - mr->p);
	if (mr->is_gpu)
		mlx5swi_gpu_read(dst, p, nbytes, ahead < left ? ahead : left);
	else
		mlx5swi_load(dst, p, nbytes, access);
}

void mlx5swi_payload_forget(void)
{
	mlx5swi_gpu_forget();
}

void mlx5swi_payload_flush(void)
{
	mlx5swi_gpu_flush();
}

void mlx5swi_payload_write(const mlx5swi_mr_t *mr, uint8_t *p, const void *src, size_t nbytes)
{
	if (mr->is_gpu)
		mlx5swi_gpu_write(p, src, nbytes);
	else
		mlx5swi_store(p, src, nbytes, MLX5SW_PAYLOAD);
}

void mlx5swi_queue_load(int is_gpu, void *dst, const void *src, size_t nbytes, size_t ahead,
			int access)
{
	if (!is_gpu) {
		mlx5swi_load(dst, src, nbytes, access);
		return;
	}
	mlx5swi_gpu_read(dst, src, nbytes, ahead);
	if (!ahead)
		mlx5swi_gpu_forget();
}

void mlx5swi_queue_store(int is_gpu, void *dst, const void *src, size_t nbytes, int access)
{
	mlx5swi_gpu_flush();
	if (is_gpu)
		mlx5swi_gpu_write(dst, src, nbytes);
	else
		mlx5swi_store(dst, src, nbytes, access);
}

uint64_t mlx5swi_word_read(const mlx5swi_mr_t *mr, const uint8_t *p, uint8_t width)
{
	union {
		uint32_t u32;
		uint64_t u64;
	} word;
	if (mr->is_gpu)
		mlx5swi_gpu_word_read(&word, p, width);
	else
		mlx5swi_load(&word, p, width, MLX5SW_ATOMIC);
	return width == 4 ? word.u32 : word.u64;
}

void mlx5swi_word_write(const mlx5swi_mr_t *mr, uint8_t *p, uint8_t width, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	const void *src = width == 4 ? (const void *)&narrow : &value;
	if (mr->is_gpu) {
		mlx5swi_gpu_word_write(p, src, width);
	} else {
		mlx5swi_gpu_flush();
		mlx5swi_store(p, src, width, MLX5SW_ATOMIC);
	}
}
