/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The state of fail-over (ib/failover.h) of a PE with one peer, without NICs. */
#ifndef TESTS_UNIT_FAILOVER_STATE_H
#define TESTS_UNIT_FAILOVER_STATE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "ib/failover.h"
#include "ib/prm.h"
#include "mem/state.h"
#include "stderr_log.h"

static shmemh_t job;
static shmemhi_ib_t ib;
static shmemhi_failover_t failover;
static shmemhi_route_t routes[2]; /* to PE 0, to PE 1; the tests use the second */
static shmemhi_slot_t slots[5];

/* The endpoint of a path, newest first; fenced. */
static inline shmemhi_endpoint_t *add(uint32_t path, int was_connected)
{
	shmemhi_endpoint_t *e = calloc(1, sizeof *e);

	assert_non_null(e);
	e->link = &e->own;
	e->own.was_connected = was_connected;
	e->slot = &slots[path];
	e->slot->is_busy = 1;
	e->path = path;
	e->has_path = e->is_fenced = 1;
	e->next = routes[1].endpoints;
	routes[1].endpoints = e;
	return e;
}

static inline int setup(void **state)
{
	(void)state;
	memset(&ib, 0, sizeof ib);
	memset(&failover, 0, sizeof failover);
	memset(routes, 0, sizeof routes);
	failover.job = &job;
	failover.ib = &ib;
	routes[1].used = routes[1].ordered = add(0, 1);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	for (shmemhi_endpoint_t *e = routes[1].endpoints, *next; e; e = next) {
		next = e->next;
		free(e);
	}
	return 0;
}

static inline int refuse_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t in_nbytes,
				void *out, size_t out_nbytes)
{
	const uint8_t *opcode = in;

	(void)obj;
	(void)in_nbytes;
	(void)out;
	(void)out_nbytes;
	if ((opcode[0] << 8 | opcode[1]) == SHMEMHI_2ERR_QP)
		return 0;
	errno = EINVAL;
	return EINVAL;
}

/* Two ports that are up. */
static inline void set_up_ports(void)
{
	static shmemhi_open_port_t ports[2] = {{.number = 1}, {.number = 1}};
	static shmemhi_resolved_t resolved[SHMEMHI_COLUMNS * 2];

	memset(resolved, 0, sizeof resolved);
	failover.resolved = resolved;
	job.n_pes = 2;
	ib.n_channels = 1;
	ib.lib.obj_modify = refuse_modify;
	failover.routes = routes;
	for (int i = 0; i < 2; i++) {
		failover.ports[i].open = &ports[i];
		failover.ports[i].is_up = 1;
	}
}

#endif
