/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Creating and changing objects, for verbs and DevX. */
#ifndef MLX5SW_CONTROL_H
#define MLX5SW_CONTROL_H

#include "mlx5sw/core/core.h"

/* world.c */
int mlx5swi_world_ready(void); /* start by the environment if nobody has; 0 or an errno value */

/* uar.c */
mlx5swi_uar_t *mlx5swi_uar_new(mlx5swi_context_t *ctx); /* NULL: no memory */
int mlx5swi_uar_destroy(mlx5swi_uar_t *uar);            /* status: BUSY while used */

/* cq.c. spec: the objects that it refers to exist; all other values are checked. */
typedef struct mlx5swi_cq_spec {
	uint8_t *buf;
	size_t buf_nbytes; /* from buf on */
	uint32_t *dbr;     /* NULL: outside of its memory, or not aligned: refused */
	uint8_t buf_is_gpu, dbr_is_gpu;
	uint32_t log_size, eqn;
	int is_collapsed, ignores_overrun;
	mlx5swi_uar_t *uar;
	mlx5swi_umem_t *umem, *dbr_umem; /* NULL: not by umem */
} mlx5swi_cq_spec_t;
int mlx5swi_cq_create(mlx5swi_context_t *ctx, const mlx5swi_cq_spec_t *spec, mlx5swi_cq_t **out);
int mlx5swi_cq_destroy(mlx5swi_cq_t *cq); /* BUSY while a QP uses it; frees *cq */

/* qp.c. The format of a QP context, which has other values than the capability. */
enum mlx5swi_ts_format { MLX5SWI_TS_FREE_RUNNING, MLX5SWI_TS_DEFAULT, MLX5SWI_TS_REAL_TIME };
typedef struct mlx5swi_qp_spec {
	mlx5swi_pd_t *pd;
	mlx5swi_cq_t *send_cq, *recv_cq;
	uint8_t *sq, *rq;            /* NULL: none */
	size_t sq_nbytes, rq_nbytes; /* of the memory from there on */
	uint32_t sq_blocks, rq_wqes, rq_stride;
	uint32_t *dbr;
	uint8_t ring_is_gpu, dbr_is_gpu;
	mlx5swi_uar_t *uar;
	uint32_t user_index;
	int has_no_dbr, is_signed;
	uint8_t ts_format;
	mlx5swi_umem_t *umem, *dbr_umem;
} mlx5swi_qp_spec_t;
int mlx5swi_qp_create(mlx5swi_context_t *ctx, const mlx5swi_qp_spec_t *spec, mlx5swi_qp_t **out);
int mlx5swi_qp_destroy(mlx5swi_qp_t *qp); /* frees *qp */

#define MLX5SWI_BY_COMMAND (1u << 31) /* in given: DevX may move the path of a QP in RTS */

/* state.c: a transition. Checks whether `given` has all attributes that the transition needs and
 * only those that it allows, then their ranges; after an error nothing has changed. Attributes
 * that the transition does not allow are refused (verbs) or were not given (DevX: unset optional
 * bits). */
int mlx5swi_qp_modify(mlx5swi_qp_t *qp, int to, const mlx5swi_qp_attr_t *attr, uint32_t given);
bool mlx5swi_is_rate(uint8_t rate);           /* of verbs: none, or one of those from 2.5 Gb/s on */
void mlx5swi_qp_reset_attr(mlx5swi_qp_t *qp); /* as after 2RST */

/* mr.c */
int mlx5swi_mr_create(mlx5swi_pd_t *pd, uint8_t *p, uint64_t nbytes, uint64_t iova, uint32_t access,
		      mlx5swi_mr_t **out);
int mlx5swi_mr_destroy(mlx5swi_mr_t *mr); /* frees *mr */
/* The memory of a bound dma-buf; NULL: fd was not bound, or its memory is shorter. */
uint8_t *mlx5swi_dmabuf(int fd, uint64_t offset, uint64_t nbytes, int *is_gpu);
void mlx5swi_dmabufs_free(void); /* the world ends */
/* Is all of it mapped? The Linux driver finds that out when it pins the pages. Always true
 * without a thread: addresses may be those of a scheduler. */
bool mlx5swi_is_mapped(const uint8_t *p, uint64_t nbytes);

#endif
