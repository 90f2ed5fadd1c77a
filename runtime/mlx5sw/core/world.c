/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The world and its lock. */
#include "mlx5sw/core/core.h"

mlx5swi_world_t *mlx5swi_w;

static int n_waiting; /* threads that wait for the lock */

void mlx5swi_lock(void)
{
	__atomic_add_fetch(&n_waiting, 1, __ATOMIC_RELAXED);
	mlx5swi_w->hooks.lock(mlx5swi_w->hooks.arg);
	__atomic_sub_fetch(&n_waiting, 1, __ATOMIC_RELAXED);
}

bool mlx5swi_lock_is_wanted(void)
{
	return __atomic_load_n(&n_waiting, __ATOMIC_RELAXED) > 0;
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
