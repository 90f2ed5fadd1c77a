/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Commands of completion queues. */
#include "mlx5sw/devx/devx.h"

#include "mlx5sw/engine/engine.h"

#define OVERRUN 9 /* cqc.status */

/* Refuse features that CQs of this device do not have. */
static int check_kind(const uint8_t *cqc)
{
	if (mlx5swi_field32(cqc, MLX5SWI_CQC_CQE_SZ) != 0)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "cqe_sz %u: only entries of 64 bytes",
				      mlx5swi_field32(cqc, MLX5SWI_CQC_CQE_SZ));
	if (mlx5swi_field32(cqc, MLX5SWI_CQC_CQE_COMP_EN))
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "cqe_comp_en: not a capability of this device");
	return MLX5SWI_DONE;
}

static int find_memory(const mlx5swi_command_t *cmd, const uint8_t *cqc, mlx5swi_cq_spec_t *spec)
{
	mlx5swi_ring_place_t at = {
		.offset = mlx5swi_field(cmd->in, MLX5SWI_IN_CQ_UMEM_OFFSET),
		.log_page_size = mlx5swi_field32(cqc, MLX5SWI_CQC_LOG_PAGE_SIZE),
		.page_offset = mlx5swi_field32(cqc, MLX5SWI_CQC_PAGE_OFFSET),
	};

	spec->umem = mlx5swi_cmd_umem(cmd, mlx5swi_field32(cmd->in, MLX5SWI_IN_CQ_UMEM_ID));
	if (!spec->umem)
		return MLX5SWI_BAD_RESOURCE;
	spec->dbr_umem = mlx5swi_cmd_umem(cmd, mlx5swi_field32(cqc, MLX5SWI_CQC_DBR_UMEM_ID));
	if (!spec->dbr_umem)
		return MLX5SWI_BAD_RESOURCE;
	spec->buf_is_gpu = spec->umem->is_gpu;
	spec->dbr_is_gpu = spec->dbr_umem->is_gpu;
	at.umem = spec->umem;
	spec->buf = mlx5swi_cmd_ring(&at, &spec->buf_nbytes);
	if (!spec->buf)
		return mlx5swi_refuse(MLX5SWI_BAD_RESOURCE,
				      "cq_umem_offset 0x%llx: outside of "
				      "its umem",
				      (unsigned long long)at.offset);
	spec->dbr = mlx5swi_cmd_record(spec->dbr_umem, mlx5swi_field(cqc, MLX5SWI_CQC_DBR_ADDR));
	return MLX5SWI_DONE;
}

int mlx5swi_cmd_create_cq(mlx5swi_command_t *cmd)
{
	const uint8_t *cqc = cmd->in + MLX5SWI_CQC_AT;
	mlx5swi_cq_spec_t spec = {
		.log_size = mlx5swi_field32(cqc, MLX5SWI_CQC_LOG_CQ_SIZE),
		.eqn = mlx5swi_field32(cqc, MLX5SWI_CQC_C_EQN),
		.is_collapsed = (int)mlx5swi_field32(cqc, MLX5SWI_CQC_CC),
		.ignores_overrun = (int)mlx5swi_field32(cqc, MLX5SWI_CQC_OI),
	};
	mlx5swi_cq_t *cq;
	int status = check_kind(cqc);

	if (status)
		return status;
	spec.uar = mlx5swi_cmd_uar(cmd, mlx5swi_field32(cqc, MLX5SWI_CQC_UAR_PAGE));
	if (!spec.uar)
		return MLX5SWI_BAD_RESOURCE;
	status = find_memory(cmd, cqc, &spec);
	if (!status)
		status = mlx5swi_cq_create(cmd->ctx, &spec, &cq);
	if (status)
		return status;
	cq->devx = (struct mlx5dv_devx_obj){.ctx = cmd->ctx, .cq = cq};
	cmd->made = &cq->devx;
	mlx5swi_set_field(cmd->out, MLX5SWI_OUT_NUMBER, cq->cqn);
	return MLX5SWI_DONE;
}

/* Read the consumer index from its record. Collapsed CQs have none. */
static uint32_t consumer(const mlx5swi_cq_t *cq)
{
	uint8_t be[4];

	mlx5swi_queue_load(cq->dbr_is_gpu, be, cq->dbr, sizeof(be), 0, MLX5SW_DBR);
	return (uint32_t)be[1] << 16 | (uint32_t)be[2] << 8 | be[3];
}

int mlx5swi_cmd_query_cq(mlx5swi_command_t *cmd)
{
	const mlx5swi_cq_t *cq = cmd->cq;
	uint8_t *cqc = cmd->out + MLX5SWI_CQC_AT;

	mlx5swi_set_field(cqc, MLX5SWI_CQC_STATUS, cq->state == MLX5SWI_CQ_GOOD ? 0 : OVERRUN);
	mlx5swi_set_field(cqc, MLX5SWI_CQC_CC, cq->is_collapsed);
	mlx5swi_set_field(cqc, MLX5SWI_CQC_OI, cq->ignores_overrun);
	mlx5swi_set_field(cqc, MLX5SWI_CQC_LOG_CQ_SIZE, cq->log_size);
	mlx5swi_set_field(cqc, MLX5SWI_CQC_UAR_PAGE, cq->uar ? cq->uar->id : 0);
	mlx5swi_set_field(cqc, MLX5SWI_CQC_C_EQN, cq->eqn);
	if (!cq->is_collapsed) {
		mlx5swi_set_field(cqc, MLX5SWI_CQC_CONSUMER_COUNTER, consumer(cq));
		mlx5swi_set_field(cqc, MLX5SWI_CQC_PRODUCER_COUNTER, cq->pi & 0xffffff);
	}
	if (cq->dbr_umem) {
		mlx5swi_set_field(cqc, MLX5SWI_CQC_DBR_UMEM_VALID, 1);
		mlx5swi_set_field(cqc, MLX5SWI_CQC_DBR_UMEM_ID, cq->dbr_umem->id);
		mlx5swi_set_field(cqc, MLX5SWI_CQC_DBR_ADDR,
				  (uint64_t)((uint8_t *)cq->dbr - cq->dbr_umem->p));
	}
	return MLX5SWI_DONE;
}
