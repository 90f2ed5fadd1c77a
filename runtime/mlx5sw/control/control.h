/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Creating and changing objects, for verbs and DevX. */
#ifndef MLX5SW_CONTROL_H
#define MLX5SW_CONTROL_H

#include "mlx5sw/core/core.h"

/* world.c */
/* Start the world from the environment if no thread has started it. Returns 0 or an errno value. */
int mlx5swi_world_ready(void);

/* uar.c */
/* NULL: no memory, or all MLX5SWI_MAX_UARS exist */
mlx5swi_uar_t *mlx5swi_uar_new(mlx5swi_context_t *ctx);
/* Returns a status: BUSY while a queue uses the page. */
int mlx5swi_uar_destroy(mlx5swi_uar_t *uar);

/* cq.c. The objects that spec refers to exist; cq.c checks all other values. */
typedef struct mlx5swi_cq_spec {
	uint8_t *buf;
	size_t buf_nbytes; /* bytes from buf to the end of its memory */
	uint32_t *dbr;     /* NULL: outside of its memory or not aligned, so it is refused */
	uint8_t buf_is_gpu, dbr_is_gpu;
	uint32_t log_size, eqn;
	int is_collapsed, ignores_overrun;
	mlx5swi_uar_t *uar;
	mlx5swi_umem_t *umem, *dbr_umem; /* NULL: not created with a umem */
} mlx5swi_cq_spec_t;
int mlx5swi_cq_create(mlx5swi_context_t *ctx, const mlx5swi_cq_spec_t *spec, mlx5swi_cq_t **out);
int mlx5swi_cq_destroy(mlx5swi_cq_t *cq); /* BUSY while a QP uses the CQ; frees *cq */

/* qp.c. Timestamp formats as a QP context encodes them; the capability encodes them differently. */
enum mlx5swi_ts_format { MLX5SWI_TS_FREE_RUNNING, MLX5SWI_TS_DEFAULT, MLX5SWI_TS_REAL_TIME };
typedef struct mlx5swi_qp_spec {
	mlx5swi_pd_t *pd;
	mlx5swi_cq_t *send_cq, *recv_cq;
	uint8_t *sq, *rq;            /* NULL: none */
	size_t sq_nbytes, rq_nbytes; /* bytes from sq or rq to the end of its memory */
	uint32_t sq_wqebbs, rq_wqes, rq_stride;
	uint32_t *dbr;
	uint8_t ring_is_gpu, dbr_is_gpu;
	mlx5swi_uar_t *uar;
	uint32_t user_index;
	int has_no_dbr, is_signed;
	uint8_t ts_format;
	mlx5swi_umem_t *umem, *dbr_umem;
} mlx5swi_qp_spec_t;
int mlx5swi_qp_create(mlx5swi_context_t *ctx, const mlx5swi_qp_spec_t *spec, mlx5swi_qp_t **out);
int mlx5swi_qp_destroy(mlx5swi_qp_t *qp); /* the command; frees *qp */
void mlx5swi_qp_free(mlx5swi_qp_t *qp);   /* when the device ends */

/* flag in `given`: a DevX command may change the path of a QP in RTS */
#define MLX5SWI_BY_COMMAND (1u << 31)

/* state.c: a state transition. Checks that `given` contains all attributes that the transition
 * requires and no others than it allows, then their ranges. After an error nothing has changed.
 * Verbs refuse attributes that the transition does not allow. DevX uses only fields that its
 * command requires or whose optional bit is set, and refuses optional bits that the command does
 * not have. */
int mlx5swi_qp_modify(mlx5swi_qp_t *qp, int to, const mlx5swi_qp_attr_t *attr, uint32_t given);
/* true: verbs' "no limit", or a rate from 2.5 Gb/s on */
bool mlx5swi_is_rate(uint8_t rate);
void mlx5swi_qp_reset_attr(mlx5swi_qp_t *qp); /* the attributes that a QP has after 2RST */

/* mr.c */
int mlx5swi_mr_create(mlx5swi_pd_t *pd, uint8_t *p, uint64_t nbytes, uint64_t iova, uint32_t access,
		      mlx5swi_mr_t **out);
int mlx5swi_mr_destroy(mlx5swi_mr_t *mr); /* frees *mr */
/* The memory of a dma-buf; NULL: the program has not bound fd, or its memory is shorter. */
uint8_t *mlx5swi_dmabuf(int fd, uint64_t offset, uint64_t nbytes, int *is_gpu);
void mlx5swi_dmabufs_free(void); /* called when the world ends */
/* Returns whether all of [p, p + nbytes) is mapped. The Linux driver checks this when it pins the
 * pages. Always true for GPU memory, and after mlx5sw_start: the addresses may then be a
 * scheduler's. */
bool mlx5swi_is_mapped(const uint8_t *p, uint64_t nbytes);

#endif
