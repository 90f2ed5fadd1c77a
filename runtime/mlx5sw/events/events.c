/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Events of devices for ibv_get_async_event. */
#include "mlx5sw/events/events.h"

#include <stdlib.h>
#include <time.h>

typedef struct event {
	struct event *next;
	struct ibv_async_event ib;
} event_t;

struct mlx5swi_events {
	mlx5swi_readiness_t readiness; /* set while events are pending */
	event_t *pending, **pending_end;
	event_t *unacked; /* returned to the program, not yet acknowledged */
};

/* The QP or CQ that an event is about; NULL: it is about a port or the device. */
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
	mlx5swi_readiness_open(&events->readiness);
	ctx->vctx.context.async_fd = events->readiness.fd;
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
	mlx5swi_readiness_close(&events->readiness);
	free(events);
	ctx->events = NULL;
}

/* Without memory the event is lost, as on a device whose event queue is full. */
void mlx5swi_events_enqueue(mlx5swi_context_t *ctx, const struct ibv_async_event *ib)
{
	struct mlx5swi_events *events = ctx->events;
	event_t *e = malloc(sizeof(*e));

	if (!e)
		return;
	e->next = NULL;
	e->ib = *ib;
	*events->pending_end = e;
	events->pending_end = &e->next;
	mlx5swi_readiness_set(&events->readiness, 1);
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
	mlx5swi_readiness_set(&events->readiness, events->pending != NULL);
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
		err = mlx5swi_readiness_wait(&ctx->events->readiness);
		if (err) {
			errno = err;
			return -1;
		}
	}
}

/* Search all contexts: the event does not identify its own. */
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
			     "ibv_ack_async_event: event %d was not returned, or is "
			     "acknowledged already",
			     (int)event->event_type);
	}
	mlx5swi_unlock();
}

static bool is_unacked(const void *object)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		for (mlx5swi_context_t *c = mlx5swi_w->devices[i].contexts; c; c = c->next)
			for (const event_t *e = c->events->unacked; e; e = e->next)
				if (object_of(&e->ib) == object)
					return true;
	return false;
}

void mlx5swi_events_wait(const void *object)
{
	const struct timespec pause = {.tv_nsec = 100000};

	while (is_unacked(object)) {
		mlx5swi_unlock();
		if (mlx5swi_w->has_thread) /* otherwise the hooks let other threads run */
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
	mlx5swi_readiness_set(&events->readiness, events->pending != NULL);
	mlx5swi_channels_forget(ctx, object);
}

void mlx5swi_events_forget(void *object)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		for (mlx5swi_context_t *c = mlx5swi_w->devices[i].contexts; c; c = c->next)
			forget(c, object);
}
