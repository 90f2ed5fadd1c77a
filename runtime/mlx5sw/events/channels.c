/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Event channels of DevX: events of objects that DevX created, and events without an object. */
#include "mlx5sw/events/events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define EQE_NBYTES 64
#define MAX_QUEUED 1024
#define MAX_TYPES 32

typedef struct subscription {
	struct subscription *next;
	const void *object; /* a QP or CQ; NULL: events without an object */
	uint64_t cookie;
	int fd; /* -1: report by the channel; otherwise signal this descriptor */
	uint16_t n_types, types[MAX_TYPES];
	uint8_t is_queued; /* channel without data: equal events are queued once */
} subscription_t;

typedef struct queued {
	struct queued *next;
	uint64_t cookie;
	subscription_t *merged; /* of a channel without data; NULL: of one with data */
	uint8_t eqe[EQE_NBYTES];
} queued_t;

typedef struct mlx5swi_channel {
	struct mlx5dv_devx_event_channel dv;
	mlx5swi_context_t *ctx;
	struct mlx5swi_channel *next;
	mlx5swi_readiness_t readiness;
	subscription_t *subscriptions;
	queued_t *first, **end;
	uint32_t n_queued;
	uint8_t has_data, is_overrun;
} mlx5swi_channel_t;

static mlx5swi_channel_t *channel_new(mlx5swi_context_t *ctx, int flags)
{
	mlx5swi_channel_t *ch = calloc(1, sizeof(*ch));

	if (!ch) {
		mlx5swi_fail(ENOMEM, "no memory for an event channel");
		return NULL;
	}
	ch->ctx = ctx;
	ch->end = &ch->first;
	ch->has_data = !(flags & MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	mlx5swi_readiness_open(&ch->readiness);
	ch->dv.fd = ch->readiness.fd;
	ch->next = ctx->channels;
	ctx->channels = ch;
	ctx->refs++;
	return ch;
}

static void free_merged(mlx5swi_channel_t *ch, const subscription_t *of)
{
	for (queued_t **at = &ch->first; *at;) {
		queued_t *q = *at;

		if (q->merged != of) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		ch->n_queued--;
		free(q);
	}
	for (ch->end = &ch->first; *ch->end; ch->end = &(*ch->end)->next)
		;
	mlx5swi_readiness_set(&ch->readiness, ch->first || ch->is_overrun);
}

/* Remove every subscription to object; all: those to every object. Queued events with data remain.
 */
static void unsubscribe(mlx5swi_channel_t *ch, const void *object, int all)
{
	for (subscription_t **at = &ch->subscriptions; *at;) {
		subscription_t *s = *at;

		if (!all && s->object != object) {
			at = &s->next;
			continue;
		}
		free_merged(ch, s);
		*at = s->next;
		free(s);
	}
}

static void channel_free(mlx5swi_channel_t *ch)
{
	mlx5swi_channel_t **at = &ch->ctx->channels;

	while (*at != ch)
		at = &(*at)->next;
	*at = ch->next;
	unsubscribe(ch, NULL, 1);
	free_merged(ch, NULL);
	mlx5swi_readiness_close(&ch->readiness);
	ch->ctx->refs--;
	free(ch);
}

struct mlx5dv_devx_event_channel *
mlx5dv_devx_create_event_channel(struct ibv_context *context,
				 enum mlx5dv_devx_create_event_channel_flags flags)
{
	mlx5swi_channel_t *ch = NULL;
	int err = 0;

	mlx5swi_lock();
	if (flags & ~MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA)
		err = mlx5swi_fail(EINVAL, "event channel: flags 0x%x", (unsigned)flags);
	else if (!(ch = channel_new(mlx5swi_context_of(context), (int)flags)))
		err = ENOMEM;
	mlx5swi_leave(err);
	return ch ? &ch->dv : NULL;
}

void mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *channel)
{
	mlx5swi_lock();
	channel_free((mlx5swi_channel_t *)channel);
	mlx5swi_unlock();
}

void mlx5swi_channels_free(mlx5swi_context_t *ctx)
{
	while (ctx->channels)
		channel_free(ctx->channels);
}

void mlx5swi_channels_forget(mlx5swi_context_t *ctx, const void *object)
{
	for (mlx5swi_channel_t *ch = ctx->channels; ch; ch = ch->next)
		unsubscribe(ch, object, 0);
}

static bool is_type_of(const struct mlx5dv_devx_obj *obj, uint16_t type)
{
	switch (type) {
	case MLX5SWI_EQE_COMPLETION:
	case MLX5SWI_EQE_CQ_ERROR:
		return obj && obj->cq;
	case MLX5SWI_EQE_COMM_EST:
	case MLX5SWI_EQE_SQ_DRAINED:
	case MLX5SWI_EQE_WQ_CATAS:
	case MLX5SWI_EQE_WQ_INVALID:
	case MLX5SWI_EQE_WQ_ACCESS:
	case MLX5SWI_EQE_LAST_WQE:
		return obj && obj->qp;
	case MLX5SWI_EQE_INTERNAL:
	case MLX5SWI_EQE_PORT:
		return !obj;
	default:
		return false;
	}
}

static int subscribe(mlx5swi_channel_t *ch, const struct mlx5dv_devx_obj *obj, uint64_t cookie,
		     int fd, uint16_t nbytes, const uint16_t *types)
{
	uint16_t n = nbytes / sizeof(*types);
	subscription_t *s;

	if (!n || n > MAX_TYPES || nbytes % sizeof(*types))
		return mlx5swi_fail(EINVAL, "subscription: %u bytes of event types", nbytes);
	for (uint16_t i = 0; i < n; i++)
		if (!is_type_of(obj, types[i]))
			return mlx5swi_fail(EINVAL,
					    "subscription: event 0x%x does not exist for %s",
					    types[i], obj ? "such an object" : "no object");
	s = calloc(1, sizeof(*s));
	if (!s)
		return mlx5swi_fail(ENOMEM, "no memory for a subscription");
	s->object = obj ? obj->qp ? (const void *)obj->qp : obj->cq : NULL;
	s->cookie = cookie;
	s->fd = fd;
	s->n_types = n;
	memcpy(s->types, types, nbytes);
	s->next = ch->subscriptions;
	ch->subscriptions = s;
	return 0;
}

int mlx5dv_devx_subscribe_devx_event(struct mlx5dv_devx_event_channel *channel,
				     struct mlx5dv_devx_obj *obj, uint16_t events_sz,
				     uint16_t events_num[], uint64_t cookie)
{
	mlx5swi_lock();
	return mlx5swi_leave(
		subscribe((mlx5swi_channel_t *)channel, obj, cookie, -1, events_sz, events_num));
}

int mlx5dv_devx_subscribe_devx_event_fd(struct mlx5dv_devx_event_channel *channel, int fd,
					struct mlx5dv_devx_obj *obj, uint16_t event_num)
{
	mlx5swi_lock();
	return mlx5swi_leave(
		subscribe((mlx5swi_channel_t *)channel, obj, 0, fd, sizeof(event_num), &event_num));
}

static bool matches(const subscription_t *s, const void *object, uint8_t type)
{
	if (s->object != object)
		return false;
	for (uint16_t i = 0; i < s->n_types; i++)
		if (s->types[i] == type)
			return true;
	return false;
}

static void enqueue(mlx5swi_channel_t *ch, subscription_t *s, const uint8_t eqe[64])
{
	queued_t *q = NULL;

	if (s->is_queued)
		return;
	if (ch->n_queued < MAX_QUEUED)
		q = calloc(1, sizeof(*q));
	ch->is_overrun |= !q;
	if (q) {
		q->cookie = s->cookie;
		q->merged = ch->has_data ? NULL : s;
		memcpy(q->eqe, eqe, EQE_NBYTES);
		s->is_queued = !ch->has_data;
		*ch->end = q;
		ch->end = &q->next;
		ch->n_queued++;
	}
	mlx5swi_readiness_set(&ch->readiness, 1);
}

void mlx5swi_channels_notify(mlx5swi_context_t *ctx, const void *object, const uint8_t eqe[64])
{
	for (mlx5swi_channel_t *ch = ctx->channels; ch; ch = ch->next)
		for (subscription_t *s = ch->subscriptions; s; s = s->next)
			if (!matches(s, object, eqe[MLX5SWI_EQE_TYPE]))
				continue;
			else if (s->fd >= 0)
				eventfd_write(s->fd, 1);
			else
				enqueue(ch, s, eqe);
}

/* Take the first event of the channel, in the format of read(2); EAGAIN: there is none. */
static int get(mlx5swi_channel_t *ch, void *dst, size_t nbytes, ssize_t *n)
{
	queued_t *q = ch->first;

	*n = (ssize_t)(sizeof(q->cookie) + (ch->has_data ? EQE_NBYTES : 0));
	if (ch->is_overrun) {
		ch->is_overrun = 0;
		mlx5swi_readiness_set(&ch->readiness, q != NULL);
		return mlx5swi_fail(EOVERFLOW, "event channel: events were lost");
	}
	if (!q)
		return EAGAIN;
	if (nbytes < (size_t)*n)
		return mlx5swi_fail(EINVAL, "event of %zd bytes: %zu given", *n, nbytes);
	memcpy(dst, &q->cookie, sizeof(q->cookie));
	if (ch->has_data)
		memcpy((char *)dst + sizeof(q->cookie), q->eqe, EQE_NBYTES);
	if (q->merged)
		q->merged->is_queued = 0;
	ch->first = q->next;
	if (!ch->first)
		ch->end = &ch->first;
	ch->n_queued--;
	mlx5swi_readiness_set(&ch->readiness, ch->first != NULL);
	free(q);
	return 0;
}

ssize_t mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *channel,
			      struct mlx5dv_devx_async_event_hdr *event_data, size_t event_resp_len)
{
	mlx5swi_channel_t *ch = (mlx5swi_channel_t *)channel;
	ssize_t n;
	int err;

	do {
		mlx5swi_lock();
		err = get(ch, event_data, event_resp_len, &n);
		mlx5swi_unlock();
	} while (err == EAGAIN && !(err = mlx5swi_readiness_wait(&ch->readiness)));
	if (err) {
		errno = err;
		return -1;
	}
	return n;
}
