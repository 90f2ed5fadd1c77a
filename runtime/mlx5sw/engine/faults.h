/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Faults: the functions of inject/ that the engine calls. */
#ifndef MLX5SW_FAULTS_H
#define MLX5SW_FAULTS_H

#include "mlx5sw/engine/engine.h"

/* inject/fault.c. The functions for events find a matching rule and count the event; if no rule was
 * ever added, they only test a pointer. On a device that has died all doorbells and completions are
 * lost, and all commands fail. */
bool mlx5swi_fault_packet(mlx5swi_port_t *port, mlx5swi_packet_t **p); /* true: it was taken */
bool mlx5swi_fault_doorbell(mlx5swi_qp_t *qp);                         /* true: it is lost */
/* Returns true if this completion is lost. *delay: nanoseconds until it may be written; UINT64_MAX:
 * until it is released. delay is NULL if the completion cannot be delayed. */
bool mlx5swi_fault_cqe(mlx5swi_qp_t *qp, const mlx5swi_cqe_t *cqe, uint64_t *delay);
/* Before a WQE is executed: returns the syndrome with which it fails, and sets *vendor; or returns
 * 0. */
uint8_t mlx5swi_fault_wqe(mlx5swi_qp_t *qp, uint16_t index, uint8_t opcode, uint8_t *vendor);
/* Before a WQE is executed: true if the QP goes to ERR here, as by a local 2ERR. */
bool mlx5swi_fault_stop(mlx5swi_qp_t *qp, uint16_t index, uint8_t opcode);
void mlx5swi_fault_failed(const mlx5swi_qp_t *qp); /* mlx5swi_qp_error calls it */
/* For a packet of a WRITE: bytes that are placed before the request is refused; UINT32_MAX: all. */
uint32_t mlx5swi_fault_place(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p);
/* For a command: the status with which it fails, or 0. *delay: how long it takes. */
int mlx5swi_fault_command(mlx5swi_device_t *dev, uint16_t opcode, uint32_t *syndrome,
			  uint64_t *delay);
/* execute the script's lines that are due and send the held packets that are due; returns how many
 */
unsigned mlx5swi_faults_run(void);
uint64_t mlx5swi_faults_deadline(void);
int mlx5swi_faults_start(void);
void mlx5swi_faults_stop(void);

#endif
