/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Start and end of the world. A scheduler starts a world for each of its runs, tens of thousands
 * per second: devices, tables and pages of the previous one are reused. */
#include "mlx5sw/inject/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/control/control.h"
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/events/events.h"

/* First number of each kind of object: all different, so that a number used as one of another kind
 * is mostly refused. */
enum { FIRST_PD = 0x10, FIRST_UAR = 0x20, FIRST_UMEM = 0x40, FIRST_CQ = 0x400 };
enum { FIRST_QP = 0x1000, FIRST_MR = 0x2000 };

static bool is_config(const mlx5sw_config_t *cfg)
{
	return cfg && cfg->size == sizeof(*cfg) && cfg->n_hosts >= 1 &&
	       cfg->n_hosts <= MLX5SWI_MAX_HOSTS && cfg->n_devices >= 1 &&
	       cfg->n_devices <= MLX5SWI_MAX_DEVICES && cfg->link_layer <= MLX5SW_INFINIBAND &&
	       cfg->doorbells <= MLX5SW_DOORBELLS_DB && cfg->timing <= MLX5SW_TIMING_FAST &&
	       cfg->lint <= MLX5SW_LINT_STRICT && (cfg->chaos & ~MLX5SWI_CHAOS_ALL) == 0 &&
	       cfg->is_routed <= 1 && cfg->has_no_dbr <= 1 &&
	       cfg->timestamps <= MLX5SW_TIMESTAMPS_BOTH && cfg->requires_grh <= 1 &&
	       cfg->unlike <= MLX5SW_UNLIKE_GPU_QUEUE;
}

static bool are_hooks(const mlx5sw_hooks_t *h)
{
	return !h || (h->size == sizeof(*h) && h->now && h->choose && h->host && h->take &&
		      h->load && h->store && h->lock && h->unlock);
}

/* Objects of a device. An object is freed before those that it refers to. */

static void free_uar(void *object)
{
	mlx5swi_uar_destroy(object);
}

static void free_mr(void *object)
{
	mlx5swi_mr_destroy(object);
}

/* A ring that the program's allocator returned belongs to the program. */
static void free_cq(void *object)
{
	mlx5swi_cq_t *cq = object;

	free(cq->owned);
	free(cq->owned_dbr);
	mlx5swi_cq_destroy(cq);
}

static void free_qp(void *object)
{
	mlx5swi_qp_t *qp = object;

	free(qp->owned);
	free(qp->owned_dbr);
	mlx5swi_qp_free(qp);
}

static void empty(mlx5swi_table_t *t, void (*release)(void *object))
{
	for (uint32_t i = 0; i < t->n && t->n_used; i++) {
		void *object = t->at[i];

		if (!object)
			continue;
		release(object);
		mlx5swi_table_remove(t, t->first + i);
	}
	mlx5swi_table_reuse(t);
}

static void device_empty(mlx5swi_device_t *dev)
{
	mlx5swi_context_t *ctx;

	empty(&dev->qps, free_qp);
	empty(&dev->cqs, free_cq);
	empty(&dev->mrs, free_mr);
	empty(&dev->umems, free);
	empty(&dev->uars, free_uar);
	empty(&dev->pds, free);
	empty(&dev->handles, free);
	while ((ctx = dev->contexts)) {
		dev->contexts = ctx->next;
		mlx5swi_events_free(ctx);
		free(ctx);
	}
}

static void objects_free(void)
{
	mlx5swi_engine_stop(); /* no placement follows: its memory may have been freed */
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		device_empty(&mlx5swi_w->devices[i]);
	mlx5swi_faults_stop();
	mlx5swi_lint_stop();
	mlx5swi_dmabufs_free();
}

static void devices_free(void)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++) {
		mlx5swi_device_t *dev = &mlx5swi_w->devices[i];
		mlx5swi_table_t *tables[] = {&dev->pds, &dev->uars, &dev->umems,  &dev->mrs,
					     &dev->cqs, &dev->qps,  &dev->handles};

		for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++)
			mlx5swi_table_free(tables[k]);
	}
	free(mlx5swi_w->devices);
	mlx5swi_w->devices = NULL;
	mlx5swi_w->n_hosts = mlx5swi_w->n_devices = 0;
}

static void device_name(mlx5swi_device_t *dev, uint32_t number)
{
	struct ibv_device *ib = &dev->ib;

	ib->node_type = IBV_NODE_CA;
	ib->transport_type = IBV_TRANSPORT_IB;
	snprintf(ib->name, sizeof(ib->name), "mlx5_%u", dev->index);
	snprintf(ib->dev_name, sizeof(ib->dev_name), "uverbs%u", dev->index);
	snprintf(ib->dev_path, sizeof(ib->dev_path), "/sys/class/infiniband_verbs/uverbs%u",
		 dev->index);
	snprintf(ib->ibdev_path, sizeof(ib->ibdev_path), "/sys/class/infiniband/mlx5_%u",
		 dev->index);
	dev->pds.first = FIRST_PD;
	dev->uars.first = FIRST_UAR;
	dev->umems.first = FIRST_UMEM;
	dev->mrs.first = FIRST_MR + 0x100 * number;
	dev->cqs.first = FIRST_CQ;
	dev->qps.first = FIRST_QP + 0x100 * number;
}

/* Keep names and tables if the number of devices is the same as before. */
static int devices_make(const mlx5sw_config_t *cfg)
{
	uint32_t n = cfg->n_hosts * cfg->n_devices;

	if (mlx5swi_w->n_hosts == cfg->n_hosts && mlx5swi_w->n_devices == cfg->n_devices)
		return 0;
	devices_free();
	mlx5swi_w->devices = calloc(n, sizeof(*mlx5swi_w->devices));
	if (!mlx5swi_w->devices)
		return ENOMEM;
	mlx5swi_w->n_hosts = cfg->n_hosts;
	mlx5swi_w->n_devices = cfg->n_devices;
	for (uint32_t i = 0; i < n; i++) {
		mlx5swi_w->devices[i].index = i % cfg->n_devices;
		device_name(&mlx5swi_w->devices[i], i);
	}
	return 0;
}

static void device_reset(mlx5swi_device_t *dev, uint32_t host)
{
	dev->host = host;
	dev->is_fatal = 0;
	dev->active = NULL;
	dev->n_commands = 0;
	memset(&dev->port, 0, sizeof(dev->port));
	dev->port.dev = dev;
	dev->port.in_end = &dev->port.in;
	mlx5swi_port_init(&dev->port);
}

static void world_free(void)
{
	uint8_t *page;

	devices_free();
	while ((page = mlx5swi_w->pages)) {
		memcpy(&mlx5swi_w->pages, page, sizeof(mlx5swi_w->pages));
		free(page);
	}
	free(mlx5swi_w);
	mlx5swi_w = NULL;
}

/* Requires that cfg and hooks are set and that the world is empty. */
static int world_start(int has_thread)
{
	mlx5swi_world_t *w = mlx5swi_w;
	int err;

	w->has_thread = has_thread;
	memset(w->places, 0, sizeof(w->places));
	w->n_places = 1;
	err = mlx5swi_engine_start();
	if (err)
		return err;
	if (!(err = devices_make(&w->cfg)) && has_thread)
		err = mlx5swi_links_open();
	if (!err) {
		for (uint32_t i = 0; i < w->n_hosts * w->n_devices; i++)
			device_reset(&w->devices[i], w->places[0].host + i / w->n_devices);
		err = mlx5swi_faults_start();
	}
	if (!err && (err = mlx5swi_lint_start()))
		mlx5swi_faults_stop();
	if (err && has_thread)
		mlx5swi_links_close();
	if (err)
		mlx5swi_engine_stop();
	return err;
}

void mlx5sw_stop(void)
{
	if (!mlx5swi_w)
		return;
	if (mlx5swi_w->has_thread) {
		mlx5swi_socket_stop();
		mlx5swi_thread_stop();
		mlx5swi_links_close();
	}
	objects_free();
	world_free();
}

int mlx5sw_start(const mlx5sw_config_t *cfg, const mlx5sw_hooks_t *hooks)
{
	int err;

	if (!is_config(cfg) || !are_hooks(hooks))
		return EINVAL;
	if (mlx5swi_w && mlx5swi_w->has_thread)
		mlx5sw_stop();
	if (mlx5swi_w)
		objects_free();
	else
		mlx5swi_w = calloc(1, sizeof(*mlx5swi_w));
	if (!mlx5swi_w)
		return ENOMEM;
	mlx5swi_w->cfg = *cfg;
	mlx5swi_w->is_driven = hooks != NULL;
	if (hooks)
		mlx5swi_w->hooks = *hooks;
	else
		mlx5swi_plain_hooks(&mlx5swi_w->hooks);
	err = world_start(0);
	if (err)
		world_free();
	return err;
}

/* Start one process of a fabric: a thread runs its devices. */
static int process_start(const mlx5sw_config_t *cfg)
{
	int err;

	mlx5swi_w = calloc(1, sizeof(*mlx5swi_w));
	if (!mlx5swi_w)
		return ENOMEM;
	mlx5swi_w->cfg = *cfg;
	mlx5swi_plain_hooks(&mlx5swi_w->hooks);
	err = world_start(1);
	if (!err) /* execute script lines that are due at once before the first call */
		(void)mlx5swi_script_run();
	if (!err && (err = mlx5swi_thread_start())) {
		mlx5swi_links_close();
		objects_free();
	}
	if (err)
		world_free();
	else
		mlx5swi_socket_start();
	return err;
}

int mlx5swi_world_ready(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!mlx5swi_w) {
		err = mlx5sw_config_from_env(&cfg);
		if (!err)
			err = process_start(&cfg) ? ENODEV : 0;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int mlx5sw_control(const char *line, char *answer, size_t nbytes)
{
	int bad = mlx5swi_world_ready();
	if (nbytes)
		answer[0] = 0;
	if (bad)
		return bad;
	mlx5swi_lock();
	bad = mlx5swi_console(line, 0, answer, nbytes);
	mlx5swi_unlock();
	return bad;
}
