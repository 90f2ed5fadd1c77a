/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rules that the responder breaks on request (mlx5sw_unlike). */
#ifndef MLX5SW_UNLIKE_H
#define MLX5SW_UNLIKE_H

#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/engine.h"

/* The operands with which the device executes an atomic whose word holds `old`. */
void mlx5swi_unlike_operands(const mlx5swi_packet_t *p, uint64_t old, uint64_t operands[4]);

/* MLX5SW_UNLIKE_TWO_PORTS: is the result of this atomic lost? Called for each. */
bool mlx5swi_unlike_loses(mlx5swi_device_t *dev, const uint8_t *p);

/* MLX5SW_UNLIKE_LATE_WRITE: keep a WRITE that the QP does not accept any more. Returns whether it
 * takes the packet. */
bool mlx5swi_unlike_keeps(mlx5swi_qp_t *qp, mlx5swi_packet_t *p);
/* A READ of this device is executed: the second one since then places what was kept. */
void mlx5swi_unlike_read(mlx5swi_device_t *dev);
/* The QP ends. */
void mlx5swi_unlike_forget(mlx5swi_qp_t *qp);

#endif
