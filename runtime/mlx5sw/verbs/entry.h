/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Functions that the entry points of verbs and mlx5dv share. */
#ifndef MLX5SW_ENTRY_H
#define MLX5SW_ENTRY_H

#include <errno.h>
#include <stddef.h>
#include "mlx5sw/control/control.h"

/* pd.c: memory of rings and records, from the allocator of a parent domain if it has one. Call
 * without the lock: the allocator is the program's. type: MLX5DV_RES_TYPE_. */
typedef struct mlx5swi_buffer {
	uint8_t *p;
	void *owned; /* NULL: the program's allocator owns it */
} mlx5swi_buffer_t;
int mlx5swi_buffer_alloc(mlx5swi_pd_t *pd, size_t nbytes, size_t alignment, uint64_t type,
			 mlx5swi_buffer_t *buffer); /* 0 or an errno value */
void mlx5swi_buffer_free(mlx5swi_pd_t *pd, mlx5swi_buffer_t *buffer, uint64_t type);
/* Requires the lock. Returns 0, or EOPNOTSUPP: the allocator returned GPU memory for one of them,
 * which verbs would initialise and reset with CPU stores. what: for the message. */
int mlx5swi_check_buffers(const char *what, const mlx5swi_buffer_t *ring,
			  const mlx5swi_buffer_t *record);

/* ah.c: convert a path to that of a QP context, and check it. Returns 0 or an errno value. */
int mlx5swi_path_of(const mlx5swi_context_t *ctx, const struct ibv_ah_attr *attr,
		    mlx5swi_path_t *path);

/* cq.c, qp.c: entry points in the extended context. */
struct ibv_cq_ex *mlx5swi_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr);
struct ibv_qp *mlx5swi_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* the operations that refuse ibv_post_send and similar calls */
void mlx5swi_queue_ops(struct ibv_context *context);

/* pd.c */
struct ibv_pd *mlx5swi_alloc_parent_domain(struct ibv_context *context,
					   struct ibv_parent_domain_init_attr *attr);
struct ibv_td *mlx5swi_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int mlx5swi_dealloc_td(struct ibv_td *td);

/* query.c */
int mlx5swi_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		       size_t nbytes);
int mlx5swi_query_device_ex(struct ibv_context *context,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t nbytes);

#endif
