/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "mlx5sw/engine/unlike.h"

#define READS_UNTIL_LATE 2u

void mlx5swi_unlike_operands(const mlx5swi_packet_t *p, uint64_t old, uint64_t operands[4])
{
	const uint64_t ones = UINT64_MAX;

	for (int i = 0; i < 4; i++)
		operands[i] = p->operands[i];
	switch (p->opcode) {
	case MLX5_OPCODE_ATOMIC_FA:
		if (mlx5swi_is_unlike(MLX5SW_UNLIKE_ADD_8))
			operands[0] = (uint32_t)operands[0];
		break;
	case MLX5_OPCODE_ATOMIC_CS:
		if (mlx5swi_is_unlike(MLX5SW_UNLIKE_CAS_8))
			operands[1] = old;
		break;
	case MLX5_OPCODE_ATOMIC_MASKED_FA:
		if (mlx5swi_is_unlike(p->width == 4 ? MLX5SW_UNLIKE_MASKED_ADD_4
						    : MLX5SW_UNLIKE_MASKED_ADD_8))
			operands[1] = 0;
		break;
	case MLX5_OPCODE_ATOMIC_MASKED_CS:
		if (p->width == 4 && mlx5swi_is_unlike(MLX5SW_UNLIKE_MASKED_CAS_4))
			operands[2] = ones;
		if (p->width == 8 && mlx5swi_is_unlike(MLX5SW_UNLIKE_MASKED_CAS_8))
			operands[3] = ones;
	}
}

bool mlx5swi_unlike_loses(mlx5swi_device_t *dev, const uint8_t *p)
{
	mlx5swi_world_t *w = mlx5swi_w;
	bool is_other = w->last_word == p && w->last_updater != dev;

	w->last_word = p;
	w->last_updater = dev;
	return is_other && mlx5swi_is_unlike(MLX5SW_UNLIKE_TWO_PORTS);
}

bool mlx5swi_unlike_keeps(mlx5swi_qp_t *qp, mlx5swi_packet_t *p)
{
	mlx5swi_device_t *dev = qp->dev;

	if (!mlx5swi_is_unlike(MLX5SW_UNLIKE_LATE_WRITE) || qp->state != MLX5SWI_ERR ||
	    p->kind != MLX5SWI_WRITE || dev->late)
		return false;
	dev->late = p;
	dev->late_qp = qp;
	dev->n_late_reads = 0;
	return true;
}

void mlx5swi_unlike_read(mlx5swi_device_t *dev)
{
	mlx5swi_packet_t *p = dev->late;
	mlx5swi_mr_t *mr;
	uint8_t *to;

	if (!p || ++dev->n_late_reads < READS_UNTIL_LATE)
		return;
	dev->late = NULL;
	if (p->dma_nbytes &&
	    mlx5swi_key_check(dev, dev->late_qp->pd, p->rkey, p->raddr, p->dma_nbytes,
			      IBV_ACCESS_REMOTE_WRITE, &mr, &to) == MLX5SWI_KEY_OK)
		mlx5swi_payload_write(mr, to, p->data, p->dma_nbytes);
	mlx5swi_packet_free(p);
}

void mlx5swi_unlike_forget(mlx5swi_qp_t *qp)
{
	if (!qp->dev->late || qp->dev->late_qp != qp)
		return;
	mlx5swi_packet_free(qp->dev->late);
	qp->dev->late = NULL;
}
