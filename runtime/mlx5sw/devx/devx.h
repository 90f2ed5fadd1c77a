/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Commands of the PRM, as mlx5dv_devx_ functions carry them. */
#ifndef MLX5SW_DEVX_H
#define MLX5SW_DEVX_H

#include <stddef.h>
#include "mlx5sw/control/control.h"
#include "mlx5sw/devx/prm.h"

typedef struct mlx5swi_command {
	mlx5swi_context_t *ctx;
	const uint8_t *in;
	uint8_t *out; /* zeros, except for the fields that the command writes */
	size_t in_nbytes, out_nbytes;
	mlx5swi_qp_t *qp; /* the QP that the command is about */
	mlx5swi_cq_t *cq;
	struct mlx5dv_devx_obj *made; /* the object that the command created */
} mlx5swi_command_t;

/* Each returns a status. in and out are at least as long as the table in devx.c says. */
int mlx5swi_cmd_create_cq(mlx5swi_command_t *cmd);
int mlx5swi_cmd_query_cq(mlx5swi_command_t *cmd);
int mlx5swi_cmd_create_qp(mlx5swi_command_t *cmd);
int mlx5swi_cmd_query_qp(mlx5swi_command_t *cmd);
int mlx5swi_cmd_change_qp(mlx5swi_command_t *cmd);
int mlx5swi_cmd_create_mkey(mlx5swi_command_t *cmd);
int mlx5swi_cmd_alloc_pd(mlx5swi_command_t *cmd);
int mlx5swi_cmd_query_hca_cap(mlx5swi_command_t *cmd);
int mlx5swi_cmd_query_roce_address(mlx5swi_command_t *cmd);
int mlx5swi_cmd_query_hca_vport(mlx5swi_command_t *cmd);

/* Objects of the command's context by their numbers; NULL: refused (BAD_RESOURCE). */
mlx5swi_pd_t *mlx5swi_cmd_pd(const mlx5swi_command_t *cmd, uint32_t number);
mlx5swi_uar_t *mlx5swi_cmd_uar(const mlx5swi_command_t *cmd, uint32_t number);
mlx5swi_umem_t *mlx5swi_cmd_umem(const mlx5swi_command_t *cmd, uint32_t number);
mlx5swi_cq_t *mlx5swi_cmd_cq(const mlx5swi_command_t *cmd, uint32_t number);

/* A doorbell record in a umem; NULL: outside of it, or not aligned to 8 bytes. */
uint32_t *mlx5swi_cmd_record(const mlx5swi_umem_t *umem, uint64_t offset);

/* The position of a ring in its umem. mlx5swi_cmd_ring returns NULL if it is outside. *nbytes:
 * bytes from the ring's start to the umem's end. */
typedef struct mlx5swi_ring_place {
	const mlx5swi_umem_t *umem;
	uint64_t offset;
	uint32_t log_page_size; /* relative to 4 KiB */
	uint32_t page_offset;   /* in units of 1/64 of a page */
} mlx5swi_ring_place_t;
uint8_t *mlx5swi_cmd_ring(const mlx5swi_ring_place_t *at, size_t *nbytes);

/* state.c: ads.stat_rate for a rate of verbs. */
uint8_t mlx5swi_rate_code(uint8_t rate);

#endif
