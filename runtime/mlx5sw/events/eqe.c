/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Events of devices, both as an entry of an event queue and as an event of verbs. */
#include "mlx5sw/events/events.h"

/* Offsets in an EQE, beyond those of events.h. */
#define EQE_CQN_OF_ERROR 0x20
#define EQE_PORT 0x28
#define EQE_CQ_SYNDROME 0x2b
#define EQE_QPN 0x38
#define EQE_CQN 0x38

static void each_context(mlx5swi_device_t *dev, const struct ibv_async_event *ib,
			 const uint8_t eqe[64])
{
	for (mlx5swi_context_t *ctx = dev->contexts; ctx; ctx = ctx->next) {
		mlx5swi_events_enqueue(ctx, ib);
		mlx5swi_channels_notify(ctx, NULL, eqe);
	}
}

static uint8_t port_sub_type(int ibv_event_type)
{
	switch (ibv_event_type) {
	case IBV_EVENT_PORT_ERR:
		return 1;
	case IBV_EVENT_PORT_ACTIVE:
		return 4;
	case IBV_EVENT_LID_CHANGE:
		return 6;
	case IBV_EVENT_PKEY_CHANGE:
		return 7;
	case IBV_EVENT_GID_CHANGE:
		return 8;
	default:
		return 9; /* IBV_EVENT_CLIENT_REREGISTER */
	}
}

void mlx5swi_event_port(mlx5swi_port_t *port, int ibv_event_type)
{
	struct ibv_async_event ib = {.element.port_num = 1,
				     .event_type = (enum ibv_event_type)ibv_event_type};
	uint8_t eqe[64] = {[MLX5SWI_EQE_TYPE] = MLX5SWI_EQE_PORT,
			   [MLX5SWI_EQE_SUB_TYPE] = port_sub_type(ibv_event_type),
			   [EQE_PORT] = 1 << 4};

	each_context(port->dev, &ib, eqe);
}

static void port_update(mlx5swi_port_t *port)
{
	uint8_t is_up = !port->dev->is_fatal && !port->is_taken_down && !port->has_no_link;

	if (port->is_up == is_up)
		return;
	port->is_up = is_up;
	mlx5swi_event_port(port, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void mlx5swi_port_set(mlx5swi_port_t *port, int is_up)
{
	port->is_taken_down = !is_up;
	port_update(port);
}

void mlx5swi_port_set_link(mlx5swi_port_t *port, int is_up)
{
	port->has_no_link = !is_up;
	port_update(port);
}

void mlx5swi_event_device(mlx5swi_device_t *dev, int ibv_event_type)
{
	struct ibv_async_event ib = {.event_type = (enum ibv_event_type)ibv_event_type};
	uint8_t eqe[64] = {[MLX5SWI_EQE_TYPE] = MLX5SWI_EQE_INTERNAL};

	each_context(dev, &ib, eqe);
}

/* -1: verbs do not have this event. */
static int qp_event(uint8_t eqe_type)
{
	switch (eqe_type) {
	case MLX5SWI_EQE_COMM_EST:
		return IBV_EVENT_COMM_EST;
	case MLX5SWI_EQE_SQ_DRAINED:
		return IBV_EVENT_SQ_DRAINED;
	case MLX5SWI_EQE_WQ_CATAS:
		return IBV_EVENT_QP_FATAL;
	case MLX5SWI_EQE_WQ_INVALID:
		return IBV_EVENT_QP_REQ_ERR;
	case MLX5SWI_EQE_WQ_ACCESS:
		return IBV_EVENT_QP_ACCESS_ERR;
	case MLX5SWI_EQE_LAST_WQE:
		return IBV_EVENT_QP_LAST_WQE_REACHED;
	default:
		return -1;
	}
}

static void put_number(uint8_t *p, uint32_t number)
{
	p[1] = (uint8_t)(number >> 16);
	p[2] = (uint8_t)(number >> 8);
	p[3] = (uint8_t)number;
}

/* Deliver to the interface by which the program created the object. */
void mlx5swi_event_qp(mlx5swi_qp_t *qp, uint8_t eqe_type)
{
	struct ibv_async_event ib = {.element.qp = &qp->ib};
	uint8_t eqe[64] = {[MLX5SWI_EQE_TYPE] = eqe_type};
	int type = qp_event(eqe_type);

	put_number(&eqe[EQE_QPN], qp->qpn);
	if (!qp->is_verbs) {
		mlx5swi_channels_notify(qp->ctx, qp, eqe);
	} else if (type >= 0) {
		ib.event_type = (enum ibv_event_type)type;
		mlx5swi_events_enqueue(qp->ctx, &ib);
	}
}

void mlx5swi_event_cq(mlx5swi_cq_t *cq, uint8_t eqe_type, uint8_t syndrome)
{
	struct ibv_async_event ib = {.element.cq = &cq->ib, .event_type = IBV_EVENT_CQ_ERR};
	uint8_t eqe[64] = {[MLX5SWI_EQE_TYPE] = eqe_type};

	if (eqe_type == MLX5SWI_EQE_CQ_ERROR) {
		put_number(&eqe[EQE_CQN_OF_ERROR], cq->cqn);
		eqe[EQE_CQ_SYNDROME] = syndrome;
	} else {
		put_number(&eqe[EQE_CQN], cq->cqn);
	}
	if (cq->umem)
		mlx5swi_channels_notify(cq->ctx, cq, eqe);
	else if (eqe_type == MLX5SWI_EQE_CQ_ERROR)
		mlx5swi_events_enqueue(cq->ctx, &ib);
}
