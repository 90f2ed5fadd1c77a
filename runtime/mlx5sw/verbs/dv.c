/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queries of libmlx5 about objects of verbs. */
#include "mlx5sw/verbs/entry.h"

#include <string.h>

#define MAX_DYNAMIC_BFREGS 512
#define KNOWN_TYPES (MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_AH | MLX5DV_OBJ_PD)

/* comp_mask: on input the fields that the caller requests, on output those that were set. */
static void show_qp(const mlx5swi_qp_t *qp, struct mlx5dv_qp *out)
{
	uint64_t wanted = out->comp_mask;

	out->comp_mask = 0;
	out->dbrec = (__be32 *)qp->dbr;
	out->sq.buf = qp->sq;
	out->sq.wqe_cnt = qp->sq_wqebbs;
	out->sq.stride = MLX5SWI_WQEBB;
	out->rq.buf = qp->rq ? qp->rq : qp->sq;
	out->rq.wqe_cnt = qp->rq_wqes;
	out->rq.stride = qp->rq_stride;
	out->bf.reg = qp->reg;
	out->bf.size = 0; /* the page is not write-combining, so it takes doorbells only */
	if (wanted & MLX5DV_QP_MASK_UAR_MMAP_OFFSET) {
		out->uar_mmap_offset = qp->uar->dv.mmap_off;
		out->comp_mask |= MLX5DV_QP_MASK_UAR_MMAP_OFFSET;
	}
}

static void show_cq(const mlx5swi_cq_t *cq, struct mlx5dv_cq *out)
{
	out->buf = cq->buf;
	out->dbrec = (__be32 *)cq->dbr;
	out->cqe_cnt = 1u << cq->log_size;
	out->cqe_size = MLX5SWI_WQEBB;
	out->cq_uar = NULL; /* would arm completion events, which are not modelled */
	out->cqn = cq->cqn;
	out->comp_mask = 0;
}

static int check_obj(const struct mlx5dv_obj *obj, uint64_t types)
{
	if (types & ~(uint64_t)KNOWN_TYPES)
		return mlx5swi_fail(EOPNOTSUPP, "mlx5dv_init_obj: types 0x%llx: QP, CQ, AH and PD",
				    (unsigned long long)types);
	if ((types & MLX5DV_OBJ_QP && (!obj->qp.in || !obj->qp.out)) ||
	    (types & MLX5DV_OBJ_CQ && (!obj->cq.in || !obj->cq.out)) ||
	    (types & MLX5DV_OBJ_AH && (!obj->ah.in || !obj->ah.out)) ||
	    (types & MLX5DV_OBJ_PD && (!obj->pd.in || !obj->pd.out)))
		return mlx5swi_fail(EINVAL, "mlx5dv_init_obj: types 0x%llx without in and out",
				    (unsigned long long)types);
	return 0;
}

static int init_obj(struct mlx5dv_obj *obj, uint64_t types)
{
	int err = check_obj(obj, types);

	if (err)
		return err;
	if (types & MLX5DV_OBJ_QP)
		show_qp((mlx5swi_qp_t *)obj->qp.in, obj->qp.out);
	if (types & MLX5DV_OBJ_CQ)
		show_cq((mlx5swi_cq_t *)obj->cq.in, obj->cq.out);
	if (types & MLX5DV_OBJ_AH)
		*obj->ah.out = (struct mlx5dv_ah){.av = &((mlx5swi_ah_t *)obj->ah.in)->av};
	if (types & MLX5DV_OBJ_PD)
		*obj->pd.out = (struct mlx5dv_pd){.pdn = ((mlx5swi_pd_t *)obj->pd.in)->pdn};
	return 0;
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
	mlx5swi_lock();
	return mlx5swi_leave(init_obj(obj, obj_type));
}

int mlx5dv_query_device(struct ibv_context *ctx_in, struct mlx5dv_context *attrs_out)
{
	uint64_t wanted = attrs_out->comp_mask;

	(void)ctx_in;
	attrs_out->version = 0;
	attrs_out->flags = MLX5DV_CONTEXT_FLAGS_CQE_V1;
	attrs_out->comp_mask = 0;
	if (wanted & MLX5DV_CONTEXT_MASK_CQE_COMPRESION) {
		memset(&attrs_out->cqe_comp_caps, 0, sizeof(attrs_out->cqe_comp_caps));
		attrs_out->comp_mask |= MLX5DV_CONTEXT_MASK_CQE_COMPRESION;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_DYN_BFREGS) {
		attrs_out->max_dynamic_bfregs = MAX_DYNAMIC_BFREGS;
		attrs_out->comp_mask |= MLX5DV_CONTEXT_MASK_DYN_BFREGS;
	}
	return 0;
}

int mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn)
{
	mlx5swi_lock();
	if (vector >= (uint32_t)context->num_comp_vectors)
		return mlx5swi_leave(mlx5swi_fail(EINVAL, "event queue of vector %u", vector));
	*eqn = MLX5SWI_EQN;
	return mlx5swi_leave(0);
}

MLX5SW_API int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *buf,
						 size_t buf_len)
{
	(void)context;
	(void)buf;
	(void)buf_len;
	mlx5swi_lock();
	return mlx5swi_leave(mlx5swi_fail(ENODEV, "the device has no data direct"));
}
