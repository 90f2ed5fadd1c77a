/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What devices tell programs, by ibv_get_async_event. */
#include "entry.h"

#include <stdlib.h>
#include <time.h>

/* Bytes of an EQE, beyond those of entry.h. */
#define EQE_CQN_OF_ERROR 0x20
#define EQE_PORT 0x28
#define EQE_CQ_SYNDROME 0x2b
#define EQE_QPN 0x38
#define EQE_CQN 0x38

typedef struct event {
	struct event *next;
	struct ibv_async_event ib;
} event_t;

struct mlx5swi_events {
	mlx5swi_signal_t signal; /* set while some are pending */
	event_t *pending, **pending_end;
	event_t *unacked; /* got, and not yet acknowledged */
};

/* The QP or CQ that an event is about; NULL: a port or the device. */
static const void *object_of(const struct ibv_async_event *e)
{
	switch (e->event_type) {
	case IBV_EVENT_CQ_ERR:
		return e->element.cq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return e->element.qp;
	default:
		return NULL;
	}
}

static void drop(event_t **at, const void *object)
{
	while (*at) {
		event_t *e = *at;

		if (object && object_of(&e->ib) != object) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		free(e);
	}
}

struct mlx5swi_events *mlx5swi_events_new(mlx5swi_context_t *ctx)
{
	struct mlx5swi_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->pending_end = &events->pending;
	mlx5swi_signal_open(&events->signal);
	ctx->vctx.context.async_fd = events->signal.fd;
	return events;
}

void mlx5swi_events_free(mlx5swi_context_t *ctx)
{
	struct mlx5swi_events *events = ctx->events;

	if (!events)
		return;
	mlx5swi_channels_free(ctx);
	drop(&events->pending, NULL);
	drop(&events->unacked, NULL);
	mlx5swi_signal_close(&events->signal);
	free(events);
	ctx->events = NULL;
}

/* An event for which there is no memory is lost, as one for which a device has no room. */
static void enqueue(mlx5swi_context_t *ctx, const struct ibv_async_event *ib)
{
	struct mlx5swi_events *events = ctx->events;
	event_t *e = malloc(sizeof(*e));

	if (!e)
		return;
	e->next = NULL;
	e->ib = *ib;
	*events->pending_end = e;
	events->pending_end = &e->next;
	mlx5swi_signal_set(&events->signal, 1);
}

static event_t *get(mlx5swi_context_t *ctx)
{
	struct mlx5swi_events *events = ctx->events;
	event_t *e = events->pending;

	if (!e)
		return NULL;
	events->pending = e->next;
	if (!events->pending)
		events->pending_end = &events->pending;
	mlx5swi_signal_set(&events->signal, events->pending != NULL);
	e->next = events->unacked;
	events->unacked = e;
	return e;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	mlx5swi_context_t *ctx = mlx5swi_context_of(context);

	for (;;) {
		event_t *e;
		int err;

		mlx5swi_lock();
		e = get(ctx);
		if (e)
			*event = e->ib;
		mlx5swi_unlock();
		if (e)
			return 0;
		err = mlx5swi_signal_wait(&ctx->events->signal);
		if (err) {
			errno = err;
			return -1;
		}
	}
}

/* Which context it came from the event itself does not say. */
static event_t **find_unacked(const struct ibv_async_event *ib)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		for (mlx5swi_context_t *c = mlx5swi_w->devices[i].contexts; c; c = c->next)
			for (event_t **at = &c->events->unacked; *at; at = &(*at)->next)
				if ((*at)->ib.event_type == ib->event_type &&
				    object_of(&(*at)->ib) == object_of(ib))
					return at;
	return NULL;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	event_t **at, *e;

	mlx5swi_lock();
	at = find_unacked(event);
	if (at) {
		e = *at;
		*at = e->next;
		free(e);
	} else {
		mlx5swi_fail(EINVAL,
			     "ibv_ack_async_event: event %d was not got, or is "
			     "acknowledged already",
			     (int)event->event_type);
	}
	mlx5swi_unlock();
}

static mlx5swi_context_t *context_of(const void *object)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		for (mlx5swi_context_t *c = mlx5swi_w->devices[i].contexts; c; c = c->next)
			for (const event_t *e = c->events->unacked; e; e = e->next)
				if (object_of(&e->ib) == object)
					return c;
	return NULL;
}

int mlx5swi_events_unacked(const void *object)
{
	return context_of(object) != NULL;
}

void mlx5swi_events_wait(const void *object)
{
	const struct timespec pause = {.tv_nsec = 100000};

	while (mlx5swi_events_unacked(object)) {
		mlx5swi_unlock();
		if (mlx5swi_w->has_thread) /* else the hooks let others run */
			nanosleep(&pause, NULL);
		mlx5swi_lock();
	}
}

static void forget(mlx5swi_context_t *ctx, const void *object)
{
	struct mlx5swi_events *events = ctx->events;

	drop(&events->pending, object);
	drop(&events->unacked, object);
	events->pending_end = &events->pending;
	while (*events->pending_end)
		events->pending_end = &(*events->pending_end)->next;
	mlx5swi_signal_set(&events->signal, events->pending != NULL);
	mlx5swi_channels_forget(ctx, object);
}

static void each_context(mlx5swi_device_t *dev, const struct ibv_async_event *ib,
			 const uint8_t eqe[64])
{
	for (mlx5swi_context_t *ctx = dev->contexts; ctx; ctx = ctx->next) {
		enqueue(ctx, ib);
		mlx5swi_channels_tell(ctx, NULL, eqe);
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

void mlx5swi_event_device(mlx5swi_device_t *dev, int ibv_event_type)
{
	struct ibv_async_event ib = {.event_type = (enum ibv_event_type)ibv_event_type};
	uint8_t eqe[64] = {[MLX5SWI_EQE_TYPE] = MLX5SWI_EQE_INTERNAL};

	each_context(dev, &ib, eqe);
}

/* -1: verbs have no such event. */
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

/* The software that made the object gets it, and by the way it made it. */
void mlx5swi_event_qp(mlx5swi_qp_t *qp, uint8_t eqe_type)
{
	struct ibv_async_event ib = {.element.qp = &qp->ib};
	uint8_t eqe[64] = {[MLX5SWI_EQE_TYPE] = eqe_type};
	int type = qp_event(eqe_type);

	put_number(&eqe[EQE_QPN], qp->qpn);
	if (!qp->is_verbs) {
		mlx5swi_channels_tell(qp->ctx, qp, eqe);
	} else if (type >= 0) {
		ib.event_type = (enum ibv_event_type)type;
		enqueue(qp->ctx, &ib);
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
		mlx5swi_channels_tell(cq->ctx, cq, eqe);
	else if (eqe_type == MLX5SWI_EQE_CQ_ERROR)
		enqueue(cq->ctx, &ib);
}

void mlx5swi_events_forget(void *object)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		for (mlx5swi_context_t *c = mlx5swi_w->devices[i].contexts; c; c = c->next)
			forget(c, object);
}
