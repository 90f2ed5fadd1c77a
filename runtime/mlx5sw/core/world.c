/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The world and its lock. */
#include "mlx5sw/core/core.h"

mlx5swi_world_t *mlx5swi_w;

void mlx5swi_lock(void)
{
	mlx5swi_w->hooks.lock(mlx5swi_w->hooks.arg);
}

void mlx5swi_unlock(void)
{
	mlx5swi_w->before_unlock();
	mlx5swi_w->hooks.unlock(mlx5swi_w->hooks.arg);
}

mlx5swi_device_t *mlx5swi_device(uint32_t host, uint32_t index)
{
	if (host >= mlx5swi_w->n_hosts || index >= mlx5swi_w->n_devices)
		return NULL;
	return &mlx5swi_w->devices[host * mlx5swi_w->n_devices + index];
}
