/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Look-up of objects by the numbers that commands contain. The number of an object of another
 * context is refused like an unknown one. */
#include "mlx5sw/devx/devx.h"

static void *find(const mlx5swi_command_t *cmd, const mlx5swi_table_t *t, uint32_t number,
		  size_t ctx_at, const char *kind)
{
	char *object = mlx5swi_table_get(t, number);

	if (object && *(mlx5swi_context_t **)(void *)(object + ctx_at) == cmd->ctx)
		return object;
	mlx5swi_refuse(MLX5SWI_BAD_RESOURCE, "%s 0x%x: none in this context", kind, number);
	return NULL;
}

mlx5swi_uar_t *mlx5swi_cmd_uar(const mlx5swi_command_t *cmd, uint32_t number)
{
	return find(cmd, &cmd->ctx->dev->uars, number, offsetof(mlx5swi_uar_t, ctx), "UAR");
}

mlx5swi_pd_t *mlx5swi_cmd_pd(const mlx5swi_command_t *cmd, uint32_t number)
{
	return find(cmd, &cmd->ctx->dev->pds, number, offsetof(mlx5swi_pd_t, ctx), "PD");
}

mlx5swi_umem_t *mlx5swi_cmd_umem(const mlx5swi_command_t *cmd, uint32_t number)
{
	return find(cmd, &cmd->ctx->dev->umems, number, offsetof(mlx5swi_umem_t, ctx), "umem");
}

mlx5swi_cq_t *mlx5swi_cmd_cq(const mlx5swi_command_t *cmd, uint32_t number)
{
	return find(cmd, &cmd->ctx->dev->cqs, number, offsetof(mlx5swi_cq_t, ctx), "CQ");
}

uint32_t *mlx5swi_cmd_record(const mlx5swi_umem_t *umem, uint64_t offset)
{
	if (umem->nbytes < 8 || offset > umem->nbytes - 8 || ((uintptr_t)umem->p + offset) % 8 != 0)
		return NULL;
	return (uint32_t *)(void *)(umem->p + offset);
}

uint8_t *mlx5swi_cmd_ring(const mlx5swi_ring_place_t *at, size_t *nbytes)
{
	uint64_t skip = ((uint64_t)MLX5SWI_PAGE << at->log_page_size) / 64 * at->page_offset;

	if (at->offset > at->umem->nbytes || skip > at->umem->nbytes - at->offset)
		return NULL;
	*nbytes = at->umem->nbytes - at->offset - skip;
	return at->umem->p + at->offset + skip;
}
