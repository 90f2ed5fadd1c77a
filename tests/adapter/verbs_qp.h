/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queue pairs of verbs for tests, on a context with a completion queue. */
#ifndef ADAPTER_VERBS_QP_H
#define ADAPTER_VERBS_QP_H

#include "verbs.h"

static struct ibv_cq *cq;

static inline int queues_setup(void **state)
{
	fabric_setup(state);
	assert_non_null(cq = ibv_create_cq(ctx, 15, NULL, NULL, 0));
	return 0;
}

static inline struct ibv_qp_init_attr_ex qp_attr(void)
{
	return (struct ibv_qp_init_attr_ex){.send_cq = cq,
					    .recv_cq = cq,
					    .cap = {.max_send_wr = 16, .max_send_sge = 1},
					    .qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = pd};
}

static inline struct ibv_qp *make_qp(void)
{
	struct ibv_qp_init_attr_ex attr = qp_attr();
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static inline struct mlx5dv_qp show(struct ibv_qp *qp)
{
	struct mlx5dv_qp out = {.comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET |
					     MLX5DV_QP_MASK_RAW_QP_HANDLES};
	struct mlx5dv_obj obj = {.qp = {.in = qp, .out = &out}};

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	return out;
}

#endif
