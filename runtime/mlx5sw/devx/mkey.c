/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* CREATE_MKEY over a umem, and ALLOC_PD. */
#include "mlx5sw/devx/devx.h"

#include <stdlib.h>

#define MTT 1 /* access_mode: pages */
#define ANY_QP 0xffffff

static uint32_t rights(const uint8_t *mkc)
{
	return (mlx5swi_field32(mkc, MLX5SWI_MKC_LW) ? (uint32_t)IBV_ACCESS_LOCAL_WRITE : 0) |
	       (mlx5swi_field32(mkc, MLX5SWI_MKC_RW) ? (uint32_t)IBV_ACCESS_REMOTE_WRITE : 0) |
	       (mlx5swi_field32(mkc, MLX5SWI_MKC_RR) ? (uint32_t)IBV_ACCESS_REMOTE_READ : 0) |
	       (mlx5swi_field32(mkc, MLX5SWI_MKC_A) ? (uint32_t)IBV_ACCESS_REMOTE_ATOMIC : 0) |
	       (mlx5swi_field32(mkc, MLX5SWI_MKC_RELAXED_WRITE)
			? (uint32_t)IBV_ACCESS_RELAXED_ORDERING
			: 0);
}

static int check_kind(const uint8_t *mkc)
{
	if (mlx5swi_field32(mkc, MLX5SWI_MKC_ACCESS_MODE) != MTT)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "access_mode %u: only pages of a umem (1)",
				      mlx5swi_field32(mkc, MLX5SWI_MKC_ACCESS_MODE));
	if (mlx5swi_field32(mkc, MLX5SWI_MKC_QPN) != ANY_QP)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "mkey of QP 0x%x: only of any (0xffffff)",
				      mlx5swi_field32(mkc, MLX5SWI_MKC_QPN));
	if (mlx5swi_field32(mkc, MLX5SWI_MKC_LENGTH64))
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "length64: a umem is not that long");
	if (!mlx5swi_field32(mkc, MLX5SWI_MKC_LR))
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "lr 0: a memory key always allows local reads here");
	return MLX5SWI_DONE;
}

int mlx5swi_cmd_create_mkey(mlx5swi_command_t *cmd)
{
	const uint8_t *mkc = cmd->in + MLX5SWI_MKC_AT;
	uint64_t offset = mlx5swi_field(cmd->in, MLX5SWI_IN_MKEY_UMEM_OFFSET);
	uint64_t nbytes = mlx5swi_field(mkc, MLX5SWI_MKC_LEN);
	mlx5swi_umem_t *umem;
	mlx5swi_pd_t *pd;
	mlx5swi_mr_t *mr;
	int status = check_kind(mkc);

	if (status)
		return status;
	pd = mlx5swi_cmd_pd(cmd, mlx5swi_field32(mkc, MLX5SWI_MKC_PD));
	if (!pd)
		return MLX5SWI_BAD_RESOURCE;
	umem = mlx5swi_cmd_umem(cmd, mlx5swi_field32(cmd->in, MLX5SWI_IN_MKEY_UMEM_ID));
	if (!umem)
		return MLX5SWI_BAD_RESOURCE;
	if (offset > umem->nbytes || nbytes > umem->nbytes - offset)
		return mlx5swi_refuse(MLX5SWI_BAD_RESOURCE,
				      "mkey of 0x%llx bytes at 0x%llx: "
				      "outside of its umem",
				      (unsigned long long)nbytes, (unsigned long long)offset);
	status = mlx5swi_mr_create(pd, umem->p + offset, nbytes,
				   mlx5swi_field(mkc, MLX5SWI_MKC_START_ADDR), rights(mkc), &mr);
	if (status)
		return status;
	mr->key = (mr->key & ~0xffu) | mlx5swi_field32(mkc, MLX5SWI_MKC_VARIANT);
	mr->is_gpu = umem->is_gpu;
	mr->devx = (struct mlx5dv_devx_obj){.ctx = cmd->ctx, .mr = mr, .umem = umem};
	umem->refs++;
	cmd->made = &mr->devx;
	mlx5swi_set_field(cmd->out, MLX5SWI_OUT_NUMBER, mr->key >> 8);
	return MLX5SWI_DONE;
}

int mlx5swi_cmd_alloc_pd(mlx5swi_command_t *cmd)
{
	mlx5swi_pd_t *pd = calloc(1, sizeof(*pd));

	if (!pd || mlx5swi_table_add(&cmd->ctx->dev->pds, pd, &pd->pdn) != 0) {
		free(pd);
		return mlx5swi_refuse(MLX5SWI_NO_RESOURCES, "no memory for a PD");
	}
	pd->ib.context = &cmd->ctx->vctx.context;
	pd->ib.handle = pd->pdn;
	pd->ctx = cmd->ctx;
	pd->ctx->refs++;
	pd->devx = (struct mlx5dv_devx_obj){.ctx = cmd->ctx, .pd = pd};
	cmd->made = &pd->devx;
	mlx5swi_set_field(cmd->out, MLX5SWI_OUT_NUMBER, pd->pdn);
	return MLX5SWI_DONE;
}
