/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which endpoints of a channel are destroyed, and which must be left (ib/standby.h). No NIC. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ib/standby.h"
#include "mem/state.h"

static shmemh_t job;
static shmemhi_ib_t ib;
static shmemhi_standby_t standby;
static shmemhi_route_t routes[2]; /* to PE 0, to PE 1; the tests use the second */
static shmemhi_slot_t slots[4];

/* The endpoint of a path, newest first; fenced. */
static shmemhi_endpoint_t *add(uint32_t path, int is_connected)
{
	shmemhi_endpoint_t *e = calloc(1, sizeof *e);

	assert_non_null(e);
	e->link = &e->own;
	e->own.is_connected = is_connected;
	e->slot = &slots[path];
	e->slot->is_busy = 1;
	e->path = path;
	e->has_path = e->is_fenced = 1;
	e->next = routes[1].endpoints;
	routes[1].endpoints = e;
	return e;
}

static int setup(void **state)
{
	(void)state;
	memset(&ib, 0, sizeof ib);
	memset(&standby, 0, sizeof standby);
	memset(routes, 0, sizeof routes);
	standby.job = &job;
	standby.ib = &ib;
	routes[1].used = routes[1].ordered = add(0, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (shmemhi_endpoint_t *e = routes[1].endpoints, *next; e; e = next) {
		next = e->next;
		free(e);
	}
	return 0;
}

/* What the device has counted in an order is the value of its CARRIED_OUT. */
static void counts_of_an_order(void **state)
{
	const shmemhi_switch_action_t end = {SHMEMHI_ACT_END, 0, 0, SHMEMD_ERR_PEER};
	static shmemd_switch_order_t word;
	shmemhi_switch_event_t result = {-1, 0, 0};

	(void)state;
	ib.n_channels = 1;
	job.n_pes = 2;
	standby.routes = routes;
	standby.order = &word;
	assert_false(shmemhi_failover_ops.execute(&standby, 1, 0, &end, &result));
	word.replayed = 17;
	word.ambiguous = 3;
	assert_false(shmemhi_failover_ops.execute(&standby, 1, 0, &end, &result));
	word.carried_out = word.number;
	assert_true(shmemhi_failover_ops.execute(&standby, 1, 0, &end, &result));
	assert_int_equal(result.kind, SHMEMHI_EV_CARRIED_OUT);
	assert_int_equal(result.value, SHMEMHI_FAULT_CARRIED(17, 3));
}

/* WQEBBs of a channel, where the host can load its words. */
static void progress_of_a_channel(void **state)
{
	static uint64_t words[2 * SHMEMD_CHANNEL_NBYTES(SHMEMD_MIN_DEPTH) / sizeof(uint64_t)];
	static shmemhi_link_t links[2]; /* to PE 0, to PE 1 */
	static shmemhi_open_port_t nic;
	static shmemhi_mem_t mem;
	shmemd_channel_t *channel;
	shmemhi_fault_path_t about;

	(void)state;
	ib.n_channels = 1;
	ib.depth = SHMEMD_MIN_DEPTH;
	ib.channels = (char *)words;
	ib.links = links;
	job.n_pes = 2;
	job.mem = &mem;
	job.ib = &ib;
	standby.routes = routes;
	standby.ports[0].nic = &nic;
	channel = shmemhi_channel(&ib, &links[1]);
	channel->done = SHMEMD_DONE_WORD(((uint64_t)1 << 32) - 3, 0);
	channel->ready = SHMEMD_READY_WORD(2, 0, SHMEMD_READY_RUNG);
	shmemhi_failover_ops.describe(&standby, 1, 0, 0, &about);
	assert_true(about.has_counts);
	assert_int_equal(about.posted, ((uint64_t)1 << 32) + 2);
	assert_int_equal(about.completed, ((uint64_t)1 << 32) - 3);
	/* Memory of a GPU is not read. */
	mem.cuctx = (shmemhi_cuctx_t *)&mem;
	shmemhi_failover_ops.describe(&standby, 1, 0, 0, &about);
	assert_false(about.has_counts);
	memset(&job, 0, sizeof job);
}

/* The order for path 1 waits for one of another channel, path 1 fails, and path 2 is offered. */
static void endpoint_that_awaits_its_order(void **state)
{
	shmemhi_endpoint_t *first = add(1, 1), *second = add(2, 1);

	(void)state;
	routes[1].current = second;
	shmemhi_reap(&standby, &routes[1]);
	assert_int_equal(slots[1].is_busy, 1);
	routes[1].ordered = first;
	shmemhi_reap(&standby, &routes[1]);
	assert_int_equal(slots[0].is_busy, 1);
	routes[1].used = first;
	routes[1].ordered = second;
	shmemhi_reap(&standby, &routes[1]);
	assert_int_equal(slots[0].is_busy, 0);
	assert_int_equal(slots[1].is_busy, 1);
	routes[1].used = second;
	shmemhi_reap(&standby, &routes[1]);
	assert_int_equal(slots[1].is_busy, 0);
	assert_int_equal(slots[2].is_busy, 1);
}

/* A path that was never connected gets no order. */
static void endpoint_without_an_order(void **state)
{
	(void)state;
	add(1, 0);
	routes[1].current = add(2, 1);
	shmemhi_reap(&standby, &routes[1]);
	assert_int_equal(slots[1].is_busy, 0);
	assert_int_equal(slots[0].is_busy, 1);
}

/* A NIC that has failed is left, even if there is no other. */
static void fatal_port(void **state)
{
	(void)state;
	standby.ports[0].is_up = 1;
	assert_int_equal(shmemhi_must_leave(&standby, routes[1].used), 0);
	standby.ports[0].is_fatal = 1;
	assert_int_equal(shmemhi_must_leave(&standby, routes[1].used), SHMEMH_FAULT_BY_DEVICE);
	standby.ports[0].is_fatal = 0;
	standby.column = 1;
	assert_int_equal(shmemhi_must_leave(&standby, routes[1].used), SHMEMH_FAULT_BY_MOVE);
	standby.ports[0].is_up = 0;
	assert_int_equal(shmemhi_must_leave(&standby, routes[1].used), SHMEMH_FAULT_BY_PORT);
	standby.column = 0;
	standby.ports[0].generation = 1;
	assert_int_equal(shmemhi_must_leave(&standby, routes[1].used), SHMEMH_FAULT_BY_ADDRESS);
}

static int refuse_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t in_nbytes, void *out,
			 size_t out_nbytes)
{
	(void)obj;
	(void)in;
	(void)in_nbytes;
	(void)out;
	(void)out_nbytes;
	errno = EINVAL;
	return EINVAL;
}

/* Two ports that cannot be connected: after the second failure the end whose turn it is takes its
 * other port, and the next path is not prepared at once. */
static void ports_that_cannot_be_connected(void **state)
{
	const shmemhi_fault_ops_t *ops = &shmemhi_failover_ops;
	shmemhi_switch_action_t connect = {.kind = SHMEMHI_ACT_CONNECT, .path = 2};
	shmemhi_switch_action_t prepare = {.kind = SHMEMHI_ACT_PREPARE, .path = 3};
	shmemhi_open_port_t nics[2] = {{.port = 1}, {.port = 1}};
	shmemhi_switch_event_t result;

	(void)state;
	job.n_pes = 2;
	ib.n_channels = 1;
	ib.lib.obj_modify = refuse_modify;
	standby.routes = routes;
	for (int i = 0; i < 2; i++) {
		standby.ports[i].nic = &nics[i];
		standby.ports[i].is_up = 1;
	}
	for (int i = 0; i < 2; i++) {
		routes[1].current = add(2, 0);
		routes[1].current->is_fenced = 0;
		routes[1].current->stage = SHMEMHI_IN_INIT;
		routes[1].current->own.nic = &nics[0];
		assert_int_equal(standby.column, 0);
		assert_true(ops->execute(&standby, 1, 0, &connect, &result));
		assert_int_equal(result.kind, SHMEMHI_EV_FAULT);
		assert_false(ops->execute(&standby, 1, 0, &prepare, &result));
	}
	assert_int_equal(standby.column, 1); /* path 2: the lower PE */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_of_an_order, setup, teardown),
		cmocka_unit_test_setup_teardown(progress_of_a_channel, setup, teardown),
		cmocka_unit_test_setup_teardown(endpoint_that_awaits_its_order, setup, teardown),
		cmocka_unit_test_setup_teardown(endpoint_without_an_order, setup, teardown),
		cmocka_unit_test_setup_teardown(fatal_port, setup, teardown),
		cmocka_unit_test_setup_teardown(ports_that_cannot_be_connected, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
