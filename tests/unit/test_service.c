/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The service (runtime/kernels) in the emulator: orders are carried out by a thread of the host,
 * also while the emulator runs. On a GPU: tests/gpu/test_service_gpu.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <shmem_sim.h>
#include "../common/service_case.h"
#include "kernels/serve.h"

static service_memory_t memory;
static shmemd_switch_order_t order;
static shmemd_faults_t faults;
static shmemhi_service_t service;
static shmemhi_err_t err;

static int open_service(void **state)
{
	(void)state;
	assert_string_equal(shmemsim_report(), ""); /* so that the library is loaded */
	memset(&order, 0, sizeof order);
	service_fill(&memory, &memory, &order, &faults);
	return shmemhi_service_open(&service, NULL, &memory.ctx, &err);
}

static int close_service(void **state)
{
	(void)state;
	shmemhi_service_close(&service);
	return 0;
}

static void carries_out(void **state)
{
	(void)state;
	service_order(&order, SHMEMD_ERR_LOST);
	assert_int_equal(shmemhi_service_step(&service, &err), SHMEMH_OK);
	assert_true(service_is_done(&order));
	assert_int_equal(SHMEMD_PATH_STATUS(memory.channel.path), SHMEMD_ERR_LOST);
}

static void without_an_order(void **state)
{
	(void)state;
	assert_int_equal(shmemhi_service_step(&service, &err), SHMEMH_OK);
	assert_int_equal(order.carried_out, 0);
	assert_int_equal(memory.channel.path, 0);
}

/* A poster has the turn, and does not wait: the order waits. */
static void turn_is_taken(void **state)
{
	(void)state;
	service_order(&order, 0);
	order.path = SHMEMD_PATH_WORD(1, 0x123, 0, 0);
	memory.channel.resv = SHMEMD_RESV_ADD(1, 1);
	assert_int_equal(shmemhi_service_step(&service, &err), SHMEMH_OK);
	assert_false(service_is_done(&order));
	assert_int_equal(SHMEMD_READY_EPOCH(memory.channel.ready), 0);
}

static void *serve(void *is_over)
{
	while (!__atomic_load_n((int *)is_over, __ATOMIC_ACQUIRE))
		(void)shmemhi_service_step(&service, &err);
	return NULL;
}

/* By a thread of its own, as by the runtime's. */
static void by_another_thread(void **state)
{
	pthread_t thread;
	int is_over = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, serve, &is_over), 0);
	for (int i = 0; i < 1000; i++) {
		service_order(&order, SHMEMD_ERR_PEER);
		while (!service_is_done(&order))
			;
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(SHMEMD_PATH_STATUS(memory.channel.path), SHMEMD_ERR_PEER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(carries_out, open_service, close_service),
		cmocka_unit_test_setup_teardown(without_an_order, open_service, close_service),
		cmocka_unit_test_setup_teardown(turn_is_taken, open_service, close_service),
		cmocka_unit_test_setup_teardown(by_another_thread, open_service, close_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
