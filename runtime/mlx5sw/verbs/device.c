/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The list of devices; opening and closing a device. */
#include "mlx5sw/verbs/entry.h"
#include "mlx5sw/events/events.h"

#include <stdlib.h>
#include <string.h>

static uint32_t caller_host(void)
{
	const mlx5sw_hooks_t *h = &mlx5swi_w->hooks;

	return (uint32_t)h->host(h->arg);
}

/* The devices of the caller's host. */
static struct ibv_device **list_devices(uint32_t *n)
{
	struct ibv_device **list = calloc(mlx5swi_w->n_devices + 1, sizeof(*list));
	uint32_t host = caller_host();

	for (*n = 0; list && *n < mlx5swi_w->n_devices; ++*n) {
		mlx5swi_device_t *dev = mlx5swi_device(host, *n);

		if (!dev)
			break;
		list[*n] = &dev->ib;
	}
	return list;
}

#undef ibv_get_device_list
struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list;
	uint32_t n = 0;
	int err = mlx5swi_world_ready();

	if (num_devices)
		*num_devices = 0;
	if (err) {
		errno = err;
		return NULL;
	}
	mlx5swi_lock();
	list = list_devices(&n);
	mlx5swi_leave(list ? 0 : mlx5swi_fail(ENOMEM, "no memory for a list of devices"));
	if (num_devices)
		*num_devices = (int)n;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)((mlx5swi_device_t *)device)->index + 1;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	__be64 guid;

	memcpy(&guid, &((mlx5swi_device_t *)device)->port.gids[0].raw[8], sizeof(guid));
	return guid;
}

static void set_ops(struct verbs_context *v)
{
	v->sz = sizeof(*v);
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v->query_port = mlx5swi_query_port;
	v->query_device_ex = mlx5swi_query_device_ex;
	v->create_cq_ex = mlx5swi_create_cq_ex;
	v->create_qp_ex = mlx5swi_create_qp_ex;
	v->alloc_parent_domain = mlx5swi_alloc_parent_domain;
	v->alloc_td = mlx5swi_alloc_td;
	v->dealloc_td = mlx5swi_dealloc_td;
	mlx5swi_queue_ops(&v->context);
}

static int open_device(mlx5swi_device_t *dev, mlx5swi_context_t **out)
{
	mlx5swi_context_t *ctx = calloc(1, sizeof(*ctx));

	if (!ctx || !(ctx->events = mlx5swi_events_new(ctx))) {
		free(ctx);
		return mlx5swi_fail(ENOMEM, "%s: no memory for a context", dev->ib.name);
	}
	set_ops(&ctx->vctx);
	ctx->vctx.context.device = &dev->ib;
	ctx->vctx.context.cmd_fd = -1;
	ctx->vctx.context.num_comp_vectors = 1;
	pthread_mutex_init(&ctx->vctx.context.mutex, NULL);
	ctx->dev = dev;
	ctx->next = dev->contexts;
	dev->contexts = ctx;
	*out = ctx;
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	mlx5swi_context_t *ctx = NULL;

	mlx5swi_lock();
	mlx5swi_leave(open_device((mlx5swi_device_t *)device, &ctx));
	return ctx ? &ctx->vctx.context : NULL;
}

static int close_device(mlx5swi_context_t *ctx)
{
	mlx5swi_context_t **at = &ctx->dev->contexts;

	if (ctx->refs)
		return mlx5swi_fail(EBUSY, "%s: %u objects of the context are left",
				    ctx->dev->ib.name, ctx->refs);
	while (*at != ctx)
		at = &(*at)->next;
	*at = ctx->next;
	mlx5swi_events_free(ctx);
	pthread_mutex_destroy(&ctx->vctx.context.mutex);
	free(ctx);
	return 0;
}

int ibv_close_device(struct ibv_context *context)
{
	mlx5swi_lock();
	return mlx5swi_leave(close_device(mlx5swi_context_of(context)));
}

int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	const mlx5swi_device_t *dev = (mlx5swi_device_t *)device;

	return mlx5swi_w && dev >= mlx5swi_w->devices &&
	       dev < mlx5swi_w->devices + mlx5swi_w->n_hosts * mlx5swi_w->n_devices;
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	int err = 0;

	mlx5swi_lock();
	if (attr->comp_mask || attr->flags & ~(uint32_t)MLX5DV_CONTEXT_FLAGS_DEVX)
		err = mlx5swi_fail(EINVAL, "mlx5dv_open_device: flags 0x%x, comp_mask 0x%llx",
				   attr->flags, (unsigned long long)attr->comp_mask);
	mlx5swi_leave(err);
	return err ? NULL : ibv_open_device(device);
}
