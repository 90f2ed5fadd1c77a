/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Orders to switch: when the service carries them out, and when they are stuck (ib/failover.h). No
 * NIC. */
#include "failover_state.h"

/* A kernel for an order cannot be launched: one line, and the agent learns that the order is stuck,
 * as when the kernel finds no SM. */
static void service_that_cannot_be_launched(void **state)
{
	const shmemhi_fault_ops_t *ops = &shmemhi_failover_ops;
	const shmemhi_switch_action_t end = {SHMEMHI_ACT_END, 0, 0, SHMEMD_ERR_LOST};
	shmemhi_cuctx_t no_driver = {0};
	shmemd_switch_order_t order = {0};
	shmemhi_switch_event_t result;

	(void)state;
	set_up_ports();
	job.log.level = SHMEMHI_ERROR;
	failover.order = &order;
	failover.service.c = &no_driver;
	failover.has_service = 1;
	assert_false(ops->is_order_stuck(&failover));
	log_begin();
	assert_false(ops->execute(&failover, 1, 0, &end, &result));
	assert_false(ops->is_order_stuck(&failover));
	for (int i = 0; i < 2; i++) {
		failover.serve_at = 0;
		assert_false(ops->execute(&failover, 1, 0, &end, &result));
		assert_true(ops->is_order_stuck(&failover));
	}
	assert_int_equal(log_count("no kernel can be launched to switch channels"), 1);
	log_end();
	order.carried_out = order.number;
	assert_false(ops->is_order_stuck(&failover));
	/* Nor if there is no GPU: threads of the program carry it out at any time. */
	order.carried_out = 0;
	failover.has_service = 0;
	assert_false(ops->is_order_stuck(&failover));
}

static void give_end(shmemhi_switch_event_t *result)
{
	const shmemhi_switch_action_t end = {SHMEMHI_ACT_END, 0, 0, SHMEMD_ERR_LOST};

	routes[1].has_order = 0;
	assert_false(shmemhi_failover_ops.execute(&failover, 1, 0, &end, result));
	failover.serve_at = 0;
	assert_false(shmemhi_failover_ops.execute(&failover, 1, 0, &end, result));
}

/* An order is stuck once it has been in the word for the limit, and the next one has its own time.
 * So it is on a GPU whose service could not be opened. */
static void order_that_waits_for_the_limit(void **state)
{
	const shmemhi_fault_ops_t *ops = &shmemhi_failover_ops;
	shmemd_switch_order_t order = {0};
	shmemhi_cuctx_t gpu = {0};
	shmemhi_mem_t mem = {.cuctx = &gpu};
	shmemhi_switch_event_t result;

	(void)state;
	set_up_ports();
	job.opt.ft_giveup_ns = 30 * SHMEMHI_SECOND;
	job.mem = &mem;
	failover.order = &order;
	for (failover.has_service = 0; failover.has_service < 2; failover.has_service++) {
		for (int i = 0; i < 2; i++) {
			give_end(&result);
			assert_false(ops->is_order_stuck(&failover));
			failover.waits_since -= 30 * SHMEMHI_SECOND;
			assert_true(ops->is_order_stuck(&failover));
		}
		order.carried_out = order.number;
		assert_false(ops->is_order_stuck(&failover));
	}
	memset(&job, 0, sizeof job);
}

static int n_served;

/* In place of the emulator's. */
int shmemsim_serve(const struct shmemd_ctx *ctx)
{
	(void)ctx;
	n_served++;
	return 0;
}

static void give_and_serve(shmemhi_switch_event_t *result)
{
	const shmemhi_switch_action_t end = {SHMEMHI_ACT_END, 0, 0, SHMEMD_ERR_LOST};

	routes[1].has_order = 0;
	n_served = 0;
	assert_false(shmemhi_failover_ops.execute(&failover, 1, 0, &end, result));
	assert_false(shmemhi_failover_ops.execute(&failover, 1, 0, &end, result));
}

/* The program's threads have time to carry out an order; the next ones have none, if the service
 * had to do it. */
static void orders_that_follow_each_other(void **state)
{
	shmemd_switch_order_t order = {0};
	shmemhi_switch_event_t result;

	(void)state;
	set_up_ports();
	failover.order = &order;
	failover.has_service = 1;
	give_and_serve(&result);
	assert_true(failover.serve_at > failover.ordered_at);
	failover.serve_at = 0;
	assert_false(shmemhi_failover_ops.execute(
		&failover, 1, 0, &(shmemhi_switch_action_t){SHMEMHI_ACT_END, 0, 0, 0}, &result));
	assert_int_equal(n_served, 1);
	give_and_serve(&result);
	assert_int_equal(failover.serve_at, failover.ordered_at);
	assert_int_equal(n_served, 1);
	failover.served_at -= SHMEMHI_SECOND;
	give_and_serve(&result);
	assert_true(failover.serve_at > failover.ordered_at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(service_that_cannot_be_launched, setup, teardown),
		cmocka_unit_test_setup_teardown(order_that_waits_for_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(orders_that_follow_each_other, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
