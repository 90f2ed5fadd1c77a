/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queue pairs without doorbell records: the doorbell's index is all that the device knows. */
#include "fixture.h"

static adapter_end_t a;

/* A queue pair without a record, connected to itself. */
static void start(void)
{
	mlx5sw_config_t cfg = adapter_config();
	const adapter_spec_t spec = {.has_no_dbr = 1};

	cfg.has_no_dbr = 1;
	adapter_start(&cfg);
	adapter_make(&a, &spec);
	adapter_connect(&a, &a);
}

static void doorbell_goes_back_without_a_record(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < 4; i++)
		adapter_write(&a, &a, 0, 1000, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_doorbell(&a, 2);
	adapter_idle();
	assert_int_equal(a.qp->counters.executed, 4);
	assert_int_equal(adapter_reported("D3"), 1);
	adapter_write(&a, &a, 0, 1000, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	assert_int_equal(a.qp->counters.executed, 5);
	adapter_stop();
}

static void register_of_queues_with_records(void **state)
{
	(void)state;
	start();
	adapter_write(&a, &a, 0, 1000, 8, SIGNALLED);
	adapter_register(a.uar->base_addr, 0x800, 1 << 8, a.qp->qpn << 8);
	adapter_idle();
	assert_int_equal(a.qp->counters.dropped, 1);
	assert_int_equal(a.qp->counters.executed, 0);
	assert_int_equal(adapter_reported("D13"), 1);
	adapter_doorbell(&a, a.pi);
	adapter_idle();
	assert_int_equal(a.qp->counters.executed, 1);
	adapter_expect(&a, 0, OP_WRITE);
	adapter_stop();
}

/* ERR uses the doorbell. */
static void no_record_in_err(void **state)
{
	(void)state;
	start();
	adapter_error(&a);
	adapter_write(&a, &a, 0, 1000, 8, 0);
	adapter_write(&a, &a, 0, 1000, 8, 0);
	adapter_doorbell(&a, a.pi);
	adapter_idle();
	adapter_expect_error(&a, 0, 0x05, 0xf5);
	adapter_expect_error(&a, 1, 0x05, 0xf9);
	adapter_expect_none(&a);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doorbell_goes_back_without_a_record),
		cmocka_unit_test(register_of_queues_with_records),
		cmocka_unit_test(no_record_in_err),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
