/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* An order for the service (runtime/kernels/serve.h): to end the only channel of a context. */
#ifndef SERVICE_CASE_H
#define SERVICE_CASE_H

#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/abi/replay.h>
#include <string.h>

enum { SERVICE_DEPTH = 64 };

/* Memory of the context and of its channel, in one piece. */
typedef struct service_memory {
	shmemd_ctx_t ctx;
	shmemd_latch_t latch;
	char pad[128 - (sizeof(shmemd_ctx_t) + sizeof(shmemd_latch_t)) % 128];
	shmemd_channel_t channel;
} service_memory_t;

/* at: where kernels find it. order, faults: pinned. */
static inline void service_fill(service_memory_t *m, service_memory_t *at,
				shmemd_switch_order_t *order, shmemd_faults_t *faults)
{
	memset(m, 0, sizeof(*m));
	m->ctx.device_copy = &at->ctx;
	m->ctx.latch = &at->latch;
	m->ctx.channels = &at->channel;
	m->ctx.n_pes = 1;
	m->ctx.n_channels = m->ctx.n_world = 1;
	m->ctx.geometry = SHMEMD_GEOMETRY(0, 6, 0, 0);
	m->ctx.flags = SHMEMD_CTX_NIC | SHMEMD_CTX_WORLD_NUMBERS | SHMEMD_CTX_FT;
	m->ctx.switch_order = order;
	m->ctx.faults = faults;
}

/* Order the end of the channel with a status. */
static inline void service_order(shmemd_switch_order_t *order, int status)
{
	order->announced = (uint32_t)order->number + 1;
	order->path = SHMEMD_PATH_FAILED(status);
	__atomic_store_n(&order->number, order->number + 1, __ATOMIC_RELEASE);
}

static inline int service_is_done(const shmemd_switch_order_t *order)
{
	return __atomic_load_n(&order->carried_out, __ATOMIC_ACQUIRE) == order->number;
}

#endif
