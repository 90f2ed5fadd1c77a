/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Control lines: the parsed request, and the actions. */
#ifndef MLX5SW_CONSOLE_H
#define MLX5SW_CONSOLE_H

#include "mlx5sw/inject/fault.h"

typedef struct answer {
	char *text; /* cut to nbytes, terminated */
	size_t nbytes, n;
} answer_t;

void mlx5swi_print(answer_t *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A line's key=value pairs. */
typedef struct request {
	mlx5swi_rule_t rule; /* also selects the device and the QP */
	uint32_t key;        /* key of an MR, or MLX5SWI_ANY */
	uint32_t first_qp;   /* host kill: reset the QPs; 0: lose the MRs instead */
} request_t;

/* action.c. Actions on a device return how many devices, QPs, MRs or delayed CQEs they hit. */
unsigned mlx5swi_port_down(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_port_up(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_device_kill(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_gid_change(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_lid_change(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_qps_stop(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_mrs_lose(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_host_kill(mlx5swi_device_t *dev, const request_t *r);
unsigned mlx5swi_cqes_release(mlx5swi_device_t *dev, const request_t *r);
/* Queries */
void mlx5swi_list_rules(answer_t *a);
void mlx5swi_list_reports(answer_t *a);
void mlx5swi_show_status(answer_t *a, const mlx5swi_device_t *dev, const request_t *r);

#endif
