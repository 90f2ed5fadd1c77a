/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queue pairs: creation and destruction. */
#include "mlx5sw/control/control.h"
#include "mlx5sw/engine/faults.h"
#include "mlx5sw/events/events.h"

#include <stdlib.h>

#define REGISTER 0x800u           /* offset of the register in its page */
#define REGISTER_NO_RECORD 0x600u /* the same for a QP without doorbell records */

static int check_ring(const char *name, const uint8_t *p, size_t have, uint64_t need)
{
	if (!p)
		return MLX5SWI_DONE;
	if ((uintptr_t)p % MLX5SWI_WQEBB != 0)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "%s ring %p: not aligned to %u bytes",
				      name, (const void *)p, MLX5SWI_WQEBB);
	if (have < need)
		return mlx5swi_refuse(MLX5SWI_BAD_RESOURCE,
				      "%s ring of %zu bytes: its WQEs need %llu", name, have,
				      (unsigned long long)need);
	return MLX5SWI_DONE;
}

/* Without real-time timestamps the field is reserved. */
static bool has_format(uint8_t format)
{
	if (mlx5swi_is_unlike(MLX5SW_UNLIKE_TS_FORMAT))
		return format < MLX5SWI_TS_REAL_TIME;
	switch (mlx5swi_w->cfg.timestamps) {
	case MLX5SW_TIMESTAMPS_FREE_RUNNING:
		return format == MLX5SWI_TS_FREE_RUNNING;
	case MLX5SW_TIMESTAMPS_REAL_TIME:
		return format == MLX5SWI_TS_DEFAULT || format == MLX5SWI_TS_REAL_TIME;
	default:
		return format <= MLX5SWI_TS_REAL_TIME;
	}
}

static int check(const mlx5swi_device_t *dev, const mlx5swi_qp_spec_t *spec)
{
	uint64_t wqebbs = spec->sq ? spec->sq_wqebbs : 1;
	int status;

	if (wqebbs == 0 || (wqebbs & (wqebbs - 1)) || wqebbs > 1u << MLX5SWI_LOG_MAX_QP_SZ)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "%llu WQEBBs of send queue: a power of two, at most 2^%u",
				      (unsigned long long)wqebbs, MLX5SWI_LOG_MAX_QP_SZ);
	status = check_ring("send", spec->sq, spec->sq_nbytes, wqebbs * MLX5SWI_WQEBB);
	if (!status)
		status = check_ring("receive", spec->rq, spec->rq_nbytes,
				    (uint64_t)spec->rq_wqes * spec->rq_stride);
	if (status)
		return status;
	if (!spec->has_no_dbr && !spec->dbr)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "QP doorbell record: not in its memory, "
							 "or not aligned to 8 bytes");
	if (spec->has_no_dbr && !mlx5swi_w->cfg.has_no_dbr)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "send_dbr_mode 1: not a capability of this device");
	if (!has_format(spec->ts_format))
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "ts_format %u: not a capability of this device, whose "
				      "sq_ts_format and qp_ts_format are %u",
				      spec->ts_format, mlx5swi_ts_capability());
	if (dev->qps.n_used >= 1u << MLX5SWI_LOG_MAX_QP)
		return mlx5swi_refuse(MLX5SWI_LIMIT, "2^%u QPs exist", MLX5SWI_LOG_MAX_QP);
	return MLX5SWI_DONE;
}

static void hold(const mlx5swi_qp_t *qp, int n)
{
	qp->ctx->refs += (uint32_t)n;
	qp->pd->refs += (uint32_t)n;
	qp->uar->refs += (uint32_t)n;
	if (qp->send_cq) {
		qp->send_cq->refs += (uint32_t)n;
		qp->send_cq->n_senders += (uint32_t)n;
	}
	if (qp->recv_cq)
		qp->recv_cq->refs += (uint32_t)n;
	if (qp->umem)
		qp->umem->refs += (uint32_t)n;
	if (qp->dbr_umem)
		qp->dbr_umem->refs += (uint32_t)n;
}

static void join_uar(mlx5swi_qp_t *qp)
{
	qp->next_of_uar = qp->uar->qps;
	qp->uar->qps = qp;
}

static void leave_uar(const mlx5swi_qp_t *qp)
{
	mlx5swi_qp_t **at = &qp->uar->qps;

	while (*at != qp)
		at = &(*at)->next_of_uar;
	*at = qp->next_of_uar;
}

static void fill(mlx5swi_qp_t *qp, mlx5swi_context_t *ctx, const mlx5swi_qp_spec_t *spec)
{
	qp->ctx = ctx;
	qp->dev = ctx->dev;
	qp->pd = spec->pd;
	qp->send_cq = spec->send_cq;
	qp->recv_cq = spec->recv_cq;
	qp->sq = spec->sq;
	qp->sq_wqebbs = spec->sq_wqebbs;
	qp->rq = spec->rq;
	qp->rq_wqes = spec->rq_wqes;
	qp->rq_stride = spec->rq_stride;
	qp->dbr = spec->dbr;
	qp->ring_is_gpu = spec->ring_is_gpu;
	qp->dbr_is_gpu = spec->dbr_is_gpu;
	qp->uar = spec->uar;
	qp->reg = spec->uar->page + (spec->has_no_dbr ? REGISTER_NO_RECORD : REGISTER);
	qp->user_index = spec->user_index;
	qp->has_no_dbr = spec->has_no_dbr != 0;
	qp->is_signed = spec->is_signed != 0;
	qp->ts_format = spec->ts_format;
	qp->umem = spec->umem;
	qp->dbr_umem = spec->dbr_umem;
	qp->state = MLX5SWI_RST;
}

static void release(mlx5swi_qp_t *qp)
{
	if (qp->requester)
		mlx5swi_requester_free(qp);
	if (qp->responder)
		mlx5swi_responder_free(qp);
	mlx5swi_table_remove(&qp->dev->qps, qp->qpn);
	free(qp);
}

int mlx5swi_qp_create(mlx5swi_context_t *ctx, const mlx5swi_qp_spec_t *spec, mlx5swi_qp_t **out)
{
	int status = check(ctx->dev, spec);
	mlx5swi_qp_t *qp = status ? NULL : calloc(1, sizeof(*qp));

	if (status)
		return status;
	if (!qp || mlx5swi_table_add(&ctx->dev->qps, qp, &qp->qpn) != 0) {
		free(qp);
		return mlx5swi_refuse(MLX5SWI_NO_RESOURCES, "no memory for a QP");
	}
	fill(qp, ctx, spec);
	qp->requester = mlx5swi_requester_new(qp);
	qp->responder = mlx5swi_responder_new(qp);
	if (!qp->requester || !qp->responder) {
		release(qp);
		return mlx5swi_refuse(MLX5SWI_NO_RESOURCES, "no memory for a QP");
	}
	mlx5swi_qp_reset_attr(qp);
	if (qp->send_cq && qp->send_cq->is_collapsed && qp->send_cq->n_senders)
		mlx5swi_lint(
			"C11", qp, -1,
			"collapsed CQ 0x%x already reports for another send queue: completions "
			"of one queue hide those of the other",
			qp->send_cq->cqn);
	hold(qp, 1);
	join_uar(qp);
	*out = qp;
	return MLX5SWI_DONE;
}

void mlx5swi_qp_free(mlx5swi_qp_t *qp)
{
	mlx5swi_qp_forget(qp);
	mlx5swi_events_forget(qp);
	leave_uar(qp);
	hold(qp, -1);
	release(qp);
}

int mlx5swi_qp_destroy(mlx5swi_qp_t *qp)
{
	/* A doorbell that was written before the command reaches a NIC before it. The device's
	 * thread may not have run since (row D4). */
	mlx5swi_doorbells_take(qp->uar);
	mlx5swi_qp_free(qp);
	return MLX5SWI_DONE;
}
