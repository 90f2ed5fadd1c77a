/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completion queues: creation and destruction. The owner initialises the buffer. */
#include <stdlib.h>
#include "mlx5sw/control/control.h"
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/events/events.h"

static int check(const mlx5swi_device_t *dev, const mlx5swi_cq_spec_t *spec)
{
	uint64_t nbytes = (uint64_t)MLX5SWI_WQEBB << (spec->is_collapsed ? 0 : spec->log_size);

	if (spec->log_size > MLX5SWI_LOG_MAX_CQ_SZ)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "log_cq_size %u: at most %u",
				      spec->log_size, MLX5SWI_LOG_MAX_CQ_SZ);
	if ((uintptr_t)spec->buf % MLX5SWI_WQEBB != 0)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "CQ buffer %p: not aligned to %u bytes",
				      (void *)spec->buf, MLX5SWI_WQEBB);
	if (spec->buf_nbytes < nbytes)
		return mlx5swi_refuse(MLX5SWI_BAD_RESOURCE,
				      "CQ buffer of %zu bytes: the entries need %llu",
				      spec->buf_nbytes, (unsigned long long)nbytes);
	if (!spec->dbr)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "CQ doorbell record: not in its memory, "
							 "or not aligned to 8 bytes");
	if (spec->eqn != MLX5SWI_EQN)
		return mlx5swi_refuse(MLX5SWI_BAD_RESOURCE, "c_eqn %u: no such event queue",
				      spec->eqn);
	if (dev->cqs.n_used >= 1u << MLX5SWI_LOG_MAX_CQ)
		return mlx5swi_refuse(MLX5SWI_LIMIT, "2^%u CQs exist", MLX5SWI_LOG_MAX_CQ);
	return MLX5SWI_DONE;
}

static void hold(const mlx5swi_cq_t *cq, int n)
{
	cq->ctx->refs += (uint32_t)n;
	if (cq->uar)
		cq->uar->refs += (uint32_t)n;
	if (cq->umem)
		cq->umem->refs += (uint32_t)n;
	if (cq->dbr_umem)
		cq->dbr_umem->refs += (uint32_t)n;
}

int mlx5swi_cq_create(mlx5swi_context_t *ctx, const mlx5swi_cq_spec_t *spec, mlx5swi_cq_t **out)
{
	int status = check(ctx->dev, spec);
	mlx5swi_cq_t *cq = status ? NULL : calloc(1, sizeof(*cq));

	if (status)
		return status;
	if (!cq || mlx5swi_table_add(&ctx->dev->cqs, cq, &cq->cqn) != 0) {
		free(cq);
		return mlx5swi_refuse(MLX5SWI_NO_RESOURCES, "no memory for a CQ");
	}
	cq->ctx = ctx;
	cq->eqn = spec->eqn;
	cq->buf = spec->buf;
	cq->dbr = spec->dbr;
	cq->buf_is_gpu = spec->buf_is_gpu;
	cq->dbr_is_gpu = spec->dbr_is_gpu;
	cq->log_size = spec->log_size;
	cq->is_collapsed = spec->is_collapsed != 0;
	cq->ignores_overrun = spec->ignores_overrun != 0;
	cq->uar = spec->uar;
	cq->umem = spec->umem;
	cq->dbr_umem = spec->dbr_umem;
	hold(cq, 1);
	*out = cq;
	return MLX5SWI_DONE;
}

int mlx5swi_cq_destroy(mlx5swi_cq_t *cq)
{
	if (cq->refs)
		return mlx5swi_refuse(MLX5SWI_BUSY, "CQ 0x%x: %u queues use it", cq->cqn, cq->refs);
	mlx5swi_events_forget(cq);
	mlx5swi_table_remove(&cq->ctx->dev->cqs, cq->cqn);
	hold(cq, -1);
	free(cq);
	return MLX5SWI_DONE;
}
