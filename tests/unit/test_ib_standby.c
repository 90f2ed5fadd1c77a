/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which endpoints of a channel are destroyed, and which must be left (ib/standby.h). No NIC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ib/standby.h"

static shmemh_t job;
static shmemhi_ib_t ib;
static shmemhi_standby_t standby;
static shmemhi_route_t route;
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
	e->next = route.endpoints;
	route.endpoints = e;
	return e;
}

static int setup(void **state)
{
	(void)state;
	memset(&ib, 0, sizeof ib);
	memset(&standby, 0, sizeof standby);
	memset(&route, 0, sizeof route);
	standby.job = &job;
	standby.ib = &ib;
	route.used = route.ordered = add(0, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (shmemhi_endpoint_t *e = route.endpoints, *next; e; e = next) {
		next = e->next;
		free(e);
	}
	return 0;
}

/* The order for path 1 waits for one of another channel, path 1 fails, and path 2 is offered. */
static void endpoint_that_awaits_its_order(void **state)
{
	shmemhi_endpoint_t *first = add(1, 1), *second = add(2, 1);

	(void)state;
	route.current = second;
	shmemhi_reap(&standby, &route);
	assert_int_equal(slots[1].is_busy, 1);
	route.ordered = first;
	shmemhi_reap(&standby, &route);
	assert_int_equal(slots[0].is_busy, 1);
	route.used = first;
	route.ordered = second;
	shmemhi_reap(&standby, &route);
	assert_int_equal(slots[0].is_busy, 0);
	assert_int_equal(slots[1].is_busy, 1);
	route.used = second;
	shmemhi_reap(&standby, &route);
	assert_int_equal(slots[1].is_busy, 0);
	assert_int_equal(slots[2].is_busy, 1);
}

/* A path that was never connected gets no order. */
static void endpoint_without_an_order(void **state)
{
	(void)state;
	add(1, 0);
	route.current = add(2, 1);
	shmemhi_reap(&standby, &route);
	assert_int_equal(slots[1].is_busy, 0);
	assert_int_equal(slots[0].is_busy, 1);
}

/* A NIC that has failed is left, even if there is no other. */
static void fatal_port(void **state)
{
	(void)state;
	standby.ports[0].is_up = 1;
	assert_int_equal(shmemhi_must_leave(&standby, route.used), 0);
	standby.ports[0].is_fatal = 1;
	assert_int_equal(shmemhi_must_leave(&standby, route.used), SHMEMH_FAULT_BY_DEVICE);
	standby.ports[0].is_fatal = 0;
	standby.column = 1;
	assert_int_equal(shmemhi_must_leave(&standby, route.used), SHMEMH_FAULT_BY_MOVE);
	standby.ports[0].is_up = 0;
	assert_int_equal(shmemhi_must_leave(&standby, route.used), SHMEMH_FAULT_BY_PORT);
	standby.column = 0;
	standby.ports[0].generation = 1;
	assert_int_equal(shmemhi_must_leave(&standby, route.used), SHMEMH_FAULT_BY_ADDRESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(endpoint_that_awaits_its_order, setup, teardown),
		cmocka_unit_test_setup_teardown(endpoint_without_an_order, setup, teardown),
		cmocka_unit_test_setup_teardown(fatal_port, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
