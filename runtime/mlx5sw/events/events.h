/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Events from devices to programs, by verbs and by DevX. */
#ifndef MLX5SW_EVENTS_H
#define MLX5SW_EVENTS_H

#include "mlx5sw/core/core.h"

/* events.c, eqe.c */
struct mlx5swi_events *mlx5swi_events_new(mlx5swi_context_t *ctx); /* opens ctx->async_fd */
void mlx5swi_events_free(mlx5swi_context_t *ctx);
void mlx5swi_event_port(mlx5swi_port_t *port, int ibv_event_type); /* to every open context */
/* A port is up if its device is alive and neither of these has taken it down: a control line
 * (port_set), the port's interface (port_set_link). Both send the event if the state changes. */
void mlx5swi_port_set(mlx5swi_port_t *port, int is_up);
void mlx5swi_port_set_link(mlx5swi_port_t *port, int is_up);
void mlx5swi_event_device(mlx5swi_device_t *dev, int ibv_event_type);
#define MLX5SWI_EQE_COMPLETION 0 /* types of EQEs */
#define MLX5SWI_EQE_COMM_EST 2
#define MLX5SWI_EQE_SQ_DRAINED 3
#define MLX5SWI_EQE_CQ_ERROR 4
#define MLX5SWI_EQE_WQ_CATAS 5
#define MLX5SWI_EQE_INTERNAL 8
#define MLX5SWI_EQE_PORT 9
#define MLX5SWI_EQE_WQ_INVALID 0x10
#define MLX5SWI_EQE_WQ_ACCESS 0x11
#define MLX5SWI_EQE_LAST_WQE 0x13
void mlx5swi_event_qp(mlx5swi_qp_t *qp, uint8_t eqe_type);
void mlx5swi_event_cq(mlx5swi_cq_t *cq, uint8_t eqe_type, uint8_t syndrome);
void mlx5swi_events_forget(void *object); /* a QP or CQ is about to be freed */

/* events.c: queue an event for the program. Without memory it is lost. */
void mlx5swi_events_enqueue(mlx5swi_context_t *ctx, const struct ibv_async_event *ib);
/* Wait until the program has no event of this QP or CQ that it has not acknowledged. Requires the
 * lock, and releases it while it waits. */
void mlx5swi_events_wait(const void *object);

/* channels.c: the same events for channels of DevX. */
void mlx5swi_channels_notify(mlx5swi_context_t *ctx, const void *object, const uint8_t eqe[64]);
void mlx5swi_channels_forget(mlx5swi_context_t *ctx, const void *object);
void mlx5swi_channels_free(mlx5swi_context_t *ctx);

#define MLX5SWI_EQE_TYPE 1 /* offsets in an EQE */
#define MLX5SWI_EQE_SUB_TYPE 3

/* A descriptor that is readable while events are pending. */
typedef struct mlx5swi_readiness {
	int fd; /* -1: none: a scheduler drives the devices, or no descriptor was available */
	uint8_t is_set;
} mlx5swi_readiness_t;
void mlx5swi_readiness_open(mlx5swi_readiness_t *r);
void mlx5swi_readiness_close(mlx5swi_readiness_t *r);
void mlx5swi_readiness_set(mlx5swi_readiness_t *r, int is_set);
/* Wait until it is set; call without the lock. Returns 0 or an errno value; EAGAIN: no thread runs
 * the devices, there is no descriptor, or the program has set O_NONBLOCK. */
int mlx5swi_readiness_wait(const mlx5swi_readiness_t *r);

#endif
