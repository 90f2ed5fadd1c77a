/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Errors and flushes: five properties that software often gets wrong, and the order of completions.
 */
#include <endian.h>
#include "pair.h"
#include "mlx5sw/inject/fault.h"
#include "mlx5sw/engine/requester.h"

static void start_filled(const mlx5sw_config_t *cfg, const adapter_spec_t *spec)
{
	start(cfg, spec);
	memset(a.memory, 0x11, 4096);
}

/* A WRITE that the responder refuses. */
static uint16_t bad_rkey(uint8_t flags)
{
	adapter_wqe_t w;

	adapter_control(&w, &a, OP_WRITE, 0, flags);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey ^ 0xff);
	adapter_data(&w, 8, a.mr->lkey, (uintptr_t)a.memory);
	return adapter_post(&a, &w);
}

static uint16_t good(uint8_t flags)
{
	return adapter_write(&a, &b, 0, 1000, 8, flags);
}

static void errors_complete_all(void **state)
{
	(void)state;
	start_filled(NULL, NULL);
	good(0);
	good(SIGNALLED);
	good(0);
	good(0x04); /* requests a CQE only on the first error */
	bad_rkey(0);
	good(0);
	good(SIGNALLED);
	good(0x04);
	go();
	adapter_expect(&a, 1, OP_WRITE);
	adapter_expect_error(&a, 4, 0x13, 0x88);
	for (uint16_t i = 5; i < 8; i++)
		adapter_expect_error(&a, i, 0x05, 0xf9);
	adapter_expect_none(&a);
	assert_int_equal(a.qp->counters.error_cqes, 4);
	assert_int_equal(b.qp->counters.executed, 4);
	adapter_stop();
}

static void record_counts_in_err(void **state)
{
	mlx5swi_send_state_t s;

	(void)state;
	start_filled(NULL, NULL);
	good(SIGNALLED);
	bad_rkey(SIGNALLED);
	good(SIGNALLED);
	good(SIGNALLED);
	adapter_doorbell(&a, 4); /* without a record */
	adapter_idle();
	assert_int_equal(a.qp->state, MLX5SWI_ERR);
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_none(&a);
	mlx5swi_qp_error(a.qp, 0x15, 0x81); /* the first cause is kept */
	s = adapter_send_state(&a);
	assert_int_equal(s.hw_counter, 1);
	assert_int_equal(s.sw_counter, 0);
	/* If the record is raised later, the missing WQEs are flushed, up to the record. */
	adapter_record(&a, 3);
	adapter_doorbell(&a, 4);
	adapter_idle();
	adapter_expect_error(&a, 1, 0x13, 0x88);
	adapter_expect_error(&a, 2, 0x05, 0xf9);
	adapter_expect_none(&a);
	adapter_record(&a, 4);
	adapter_doorbell(&a, 4);
	adapter_idle();
	adapter_expect_error(&a, 3, 0x05, 0xf9);
	adapter_expect_none(&a);
	s = adapter_send_state(&a);
	assert_int_equal(s.hw_counter, s.sw_counter);
	adapter_stop();
}

/* With the device's real times: a program that polls at once reads the cause, one that polls later
 * does not. */
static void collapsed_cq_loses_the_cause(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 1, .is_collapsed = 1};
	mlx5sw_config_t cfg = adapter_config();
	adapter_cqe_t cqe;

	(void)state;
	cfg.timing = MLX5SW_TIMING_CX6;
	start_filled(&cfg, &spec);
	good(SIGNALLED);
	bad_rkey(SIGNALLED);
	good(SIGNALLED);
	good(SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	cqe = adapter_slot(&a, 0);
	assert_true(cqe.opcode == CQE_REQ_ERR && cqe.counter == 1 && cqe.syndrome == 0x13);
	adapter_clock = mlx5sw_next_time();
	adapter_step();
	cqe = adapter_slot(&a, 0);
	assert_true(cqe.opcode == CQE_REQ_ERR && cqe.counter == 2 && cqe.syndrome == 0x05);
	adapter_idle();
	cqe = adapter_slot(&a, 0);
	assert_true(cqe.opcode == CQE_REQ_ERR && cqe.counter == 3 && cqe.syndrome == 0x05);
	adapter_stop();
}

/* The device does not read a record at once that is raised later. */
static void record_raised_in_err_takes_a_while(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.timing = MLX5SW_TIMING_CX6;
	start_filled(&cfg, NULL);
	adapter_error(&a);
	adapter_idle();
	adapter_clock += 1000000;
	good(0);
	adapter_ring(&a);
	adapter_step();
	adapter_expect_none(&a);
	adapter_idle();
	adapter_expect_error(&a, 0, 0x05, 0xf5);
	adapter_stop();
}

/* Responses are lost from a given one on. */
static void executed_but_not_completed(void **state)
{
	mlx5swi_rule_t rule = {.fault = MLX5SWI_DROP,
			       .host = 1,
			       .device = MLX5SWI_ANY,
			       .qpn = MLX5SWI_ANY,
			       .kind = 1u << MLX5SWI_ACK,
			       .index = MLX5SWI_ANY,
			       .opcode = MLX5SWI_ANY,
			       .after = 3,
			       .left = UINT64_MAX};
	uint16_t i;

	(void)state;
	start_filled(NULL, NULL);
	mlx5swi_rule_add(&rule);
	for (i = 0; i < 10; i++) {
		good(SIGNALLED);
		adapter_ring(&a);
		adapter_step();
	}
	adapter_idle();
	assert_int_equal(b.qp->counters.executed, 10);
	for (i = 0; i < 3; i++)
		adapter_expect(&a, i, OP_WRITE);
	adapter_expect_error(&a, 3, 0x15, 0x81);
	for (i = 4; i < 10; i++)
		adapter_expect_error(&a, i, 0x05, 0xf9);
	adapter_expect_none(&a);
	adapter_stop();
}

static void device_uses_its_own_counter(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.start_index = 65530;
	start_filled(&cfg, NULL);
	for (uint32_t i = 0; i < 20; i++) {
		good(SIGNALLED);
		go();
		adapter_expect(&a, (uint16_t)(65530 + i), OP_WRITE);
	}
	adapter_reset(&a);
	adapter_reset(&b);
	adapter_connect(&a, &b);
	good(SIGNALLED);
	go();
	adapter_expect(&a, 65530, OP_WRITE); /* where this adapter starts after reset */
	adapter_expect_clean();
	adapter_stop();
}

static void local_2err(void **state)
{
	(void)state;
	start_filled(NULL, NULL);
	adapter_error(&a);
	adapter_idle();
	adapter_expect_none(&a); /* no WQE was outstanding */
	adapter_stop();

	start_filled(NULL, NULL);
	good(SIGNALLED);
	go();
	for (unsigned i = 0; i < 3; i++)
		good(SIGNALLED);
	adapter_record(&a, a.pi);
	adapter_error(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 1, 0x05, 0xf5);
	adapter_expect_error(&a, 2, 0x05, 0xf9);
	adapter_expect_error(&a, 3, 0x05, 0xf9);
	adapter_expect_none(&a);
	good(0); /* also later ones */
	adapter_ring(&a);
	adapter_idle();
	adapter_expect_error(&a, 4, 0x05, 0xf9);
	adapter_expect_none(&a);
	adapter_stop();
}

/* WQEs of several WQEBBs, across the end of the ring, half of them never fetched. */
static void flush_by_wqe(void **state)
{
	const adapter_spec_t spec = {.sq_wqebbs = 16};
	const uint64_t operands[4] = {1, 2, 3, 4};
	uint16_t at[8];

	(void)state;
	start_filled(NULL, &spec);
	for (unsigned i = 0; i < 13; i++)
		good(0);
	good(SIGNALLED);
	go();
	adapter_expect(&a, 13, OP_WRITE);
	at[0] = bad_rkey(0);
	at[1] = adapter_atomic(&a, &b, OP_MASKED_CS, 8, operands, 64, 800, 0); /* 15, and 0 */
	at[2] = adapter_nop(&a, 0);
	go();
	at[3] = adapter_write_inline(&a, &b, 0, a.memory, 256, 0);
	at[4] = good(0);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect_error(&a, at[0], 0x13, 0x88);
	for (unsigned i = 1; i < 5; i++)
		adapter_expect_error(&a, at[i], 0x05, 0xf9);
	adapter_expect_none(&a);
	assert_int_equal(at[4] + 1, a.pi);
	assert_int_equal(adapter_send_state(&a).hw_counter, a.pi);
	adapter_stop();
}

/* An unwritten WQE may seem to have 16 WQEBBs: the flush ends at the record. */
static void flush_of_unwritten_wqebbs(void **state)
{
	mlx5swi_send_state_t s;

	(void)state;
	start_filled(NULL, NULL);
	adapter_error(&a);
	memset(a.sq, 0xff, 64);
	adapter_record(&a, 1);
	adapter_doorbell(&a, 1);
	adapter_idle();
	adapter_expect_error(&a, 0, 0x05, 0xf5);
	adapter_expect_none(&a);
	s = adapter_send_state(&a);
	assert_int_equal(s.hw_counter, s.sw_counter);
	adapter_stop();
}

/* An acknowledged request is complete, even if its completion is delayed. */
static void late_success_before_flush(void **state)
{
	const mlx5swi_rule_t rule = {.fault = MLX5SWI_DELAY_CQE,
				     .host = MLX5SWI_ANY,
				     .device = MLX5SWI_ANY,
				     .qpn = MLX5SWI_ANY,
				     .index = 0,
				     .opcode = MLX5SWI_ANY,
				     .left = 1,
				     .ns = 1000000};
	uint64_t n_sent;

	(void)state;
	start_filled(NULL, NULL);
	mlx5swi_rule_add(&rule);
	good(SIGNALLED);
	good(SIGNALLED);
	bad_rkey(SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	n_sent = a.qp->counters.packets_sent;
	good(SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	/* the queue pair has already failed */
	assert_int_equal(a.qp->counters.packets_sent, n_sent);
	adapter_error(&a);
	adapter_step();
	adapter_expect_none(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_WRITE);
	adapter_expect_error(&a, 2, 0x05, 0xf5);
	adapter_expect_error(&a, 3, 0x05, 0xf9);
	adapter_expect_none(&a);
	adapter_stop();
}

/* A local 2ERR right before a WQE, or its failure, while earlier ones are in flight. */
static void failure_or_stop_at_a_wqe(void **state)
{
	mlx5swi_rule_t rule = {.host = MLX5SWI_ANY,
			       .device = MLX5SWI_ANY,
			       .qpn = MLX5SWI_ANY,
			       .index = 3,
			       .opcode = MLX5SWI_ANY,
			       .left = 1,
			       .syndrome = 0x15,
			       .vendor = 0x81};
	adapter_cqe_t cqe;

	(void)state;
	for (rule.fault = MLX5SWI_FAIL_WQE; rule.fault <= MLX5SWI_STOP_AT_WQE; rule.fault++) {
		uint32_t n_good = 0;

		start_filled(NULL, NULL);
		mlx5swi_rule_add(&rule);
		for (unsigned i = 0; i < 6; i++)
			good(SIGNALLED);
		go();
		assert_int_equal(b.qp->counters.executed, 3);
		while (adapter_slot(&a, n_good).opcode == CQE_REQ && adapter_poll(&a, &cqe))
			n_good++;
		if (rule.fault == MLX5SWI_FAIL_WQE) {
			assert_int_equal(n_good, 3);
			adapter_expect_error(&a, 3, 0x15, 0x81);
		} else {
			adapter_expect_error(&a, (uint16_t)n_good, 0x05, 0xf5);
		}
		for (uint16_t i = (uint16_t)(a.ci); i < 6; i++)
			adapter_expect_error(&a, i, 0x05, 0xf9);
		adapter_expect_none(&a);
		adapter_stop();
	}
}

/* An error completion waits for the responses of all earlier requests. */
static void error_waits_for_earlier_responses(void **state)
{
	(void)state;
	start_filled(NULL, NULL);
	adapter_read(&a, &b, 0, 0, 40000, SIGNALLED);
	good(SIGNALLED);
	adapter_nop(&a, SIGNALLED);
	adapter_write(&a, &b, ADAPTER_NBYTES, 0, 8, SIGNALLED); /* outside of its memory */
	good(SIGNALLED);
	go();
	adapter_expect(&a, 0, OP_READ);
	adapter_expect(&a, 1, OP_WRITE);
	adapter_expect(&a, 2, OP_NOP);
	adapter_expect_error(&a, 3, 0x04, 0x53);
	adapter_expect_error(&a, 4, 0x05, 0xf9);
	adapter_expect_none(&a);
	adapter_stop();
}

static void peer_silent(void **state)
{
	static const int timings[] = {MLX5SW_TIMING_SPEC, MLX5SW_TIMING_CX6, MLX5SW_TIMING_FAST};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		mlx5sw_config_t cfg = adapter_config();

		cfg.timing = (uint8_t)timings[i];
		start_filled(&cfg, NULL);
		adapter_error(&b);
		good(0);
		good(0);
		go();
		adapter_expect_error(&a, 0, 0x15, 0x81);
		adapter_expect_error(&a, 1, 0x05, 0xf9);
		adapter_expect_none(&a);
		adapter_stop();
	}
}

/* How often a request is sent in total, and how long that takes on the device's clock. */
static uint64_t silence(int timing, uint8_t timeout, uint8_t retries, uint64_t *n_sent)
{
	mlx5sw_config_t cfg = adapter_config();
	mlx5swi_qp_attr_t attr;
	uint64_t before;

	cfg.timing = (uint8_t)timing;
	adapter_start(&cfg);
	adapter_make(&a, NULL);
	adapter_init(&a);
	attr = adapter_attr(&a, &a);
	attr.remote_qpn++;
	attr.path.ack_timeout = timeout;
	attr.retry_count = retries;
	adapter_modify(&a, &attr);
	adapter_write(&a, &a, 0, 0, 8, 0);
	adapter_ring(&a);
	before = adapter_clock;
	adapter_idle();
	*n_sent = a.qp->counters.packets_sent;
	before = adapter_clock - before;
	if (timeout)
		adapter_expect_error(&a, 0, 0x15, 0x81);
	adapter_expect_none(&a);
	adapter_stop();
	return before;
}

static void retries_and_timers(void **state)
{
	const uint64_t ms = 1000000;
	uint64_t n, t;

	(void)state;
	for (uint8_t retries = 0; retries < 8; retries++) {
		t = silence(MLX5SW_TIMING_SPEC, 10, retries, &n);
		assert_int_equal(n, retries + 1);
		assert_in_range(t, (retries + 1) * (4096ull << 10),
				(retries + 2) * (4096ull << 10));
		silence(MLX5SW_TIMING_FAST, 10, retries, &n);
		assert_int_equal(n, retries + 1);
	}
	/* As measured on a ConnectX-6: 3.5 to 3.76 s, 57 to 60 s. */
	assert_in_range(silence(MLX5SW_TIMING_CX6, 14, 7, &n), 3500 * ms, 3760 * ms);
	assert_in_range(n, 4 + 5, 11 + 7);
	assert_in_range(silence(MLX5SW_TIMING_CX6, 20, 7, &n), 57000 * ms, 60000 * ms);
	silence(MLX5SW_TIMING_CX6, 14, 0, &n);
	assert_int_equal(n, 1);
	/* 0: it waits forever. */
	assert_int_equal(silence(MLX5SW_TIMING_SPEC, 0, 7, &n), 0);
	assert_int_equal(n, 1);
}

static void permission(void **state)
{
	const uint64_t operands[2] = {1, 0};

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		start_filled(NULL, NULL);
		good(SIGNALLED);
		go();
		adapter_expect(&a, 0, OP_WRITE);
		b.qp->attr.rwe = kind != 0;
		b.qp->attr.rre = kind != 1;
		b.qp->attr.rae = kind != 2;
		if (kind == 0)
			good(0);
		else if (kind == 1)
			adapter_read(&a, &b, 0, 0, 8, 0);
		else
			adapter_atomic(&a, &b, OP_FA, 8, operands, 0, 800, 0);
		go();
		adapter_expect_error(&a, 1, 0x12, 0x8a);
		adapter_expect_none(&a);
		assert_int_equal(b.qp->state, MLX5SWI_ERR);
		adapter_stop();
	}
}

static uint16_t write_imm(uint8_t flags)
{
	adapter_wqe_t w;

	adapter_control(&w, &a, OP_WRITE_IMM, 0, flags);
	memcpy(w.bytes + 12, "\x01\x02\x03\x04", 4);
	adapter_remote(&w, (uintptr_t)b.memory + 1000, b.mr->rkey);
	adapter_data(&w, 3000, a.mr->lkey, (uintptr_t)a.memory);
	return adapter_post(&a, &w);
}

static void receiver_not_ready(void **state)
{
	(void)state;
	start_filled(NULL, NULL);
	write_imm(0);
	good(0);
	go();
	adapter_expect_error(&a, 0, 0x16, 0x87);
	adapter_expect_error(&a, 1, 0x05, 0xf9);
	adapter_expect_none(&a);
	assert_int_equal(b.qp->state, MLX5SWI_RTS);
	adapter_stop();
}

static void error_while_the_receiver_is_not_ready(void **state)
{
	(void)state;
	start_filled(NULL, NULL);
	write_imm(0);
	adapter_ring(&a);
	adapter_step();
	adapter_error(&a);
	adapter_idle();
	adapter_expect_error(&a, 0, 0x05, 0xf5);
	adapter_stop();
}

/* 7: without a limit. */
static void receiver_ready_much_later(void **state)
{
	const adapter_spec_t receiver = {.host = 1, .rq_wqes = 4};

	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &receiver);
	adapter_connect(&a, &b);
	a.qp->attr.rnr_retry = 7;
	mlx5swi_progress(a.qp);
	write_imm(SIGNALLED);
	adapter_ring(&a);
	for (unsigned i = 0; i < 100; i++) {
		adapter_step();
		adapter_clock = mlx5sw_next_time();
	}
	assert_int_equal(a.qp->state, MLX5SWI_RTS);
	b.dbr[0] = htobe32(1);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE_IMM);
	adapter_stop();
}

static void receiver_ready_later(void **state)
{
	const adapter_spec_t receiver = {.host = 1, .rq_wqes = 4};
	adapter_cqe_t cqe;

	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &receiver);
	adapter_connect(&a, &b);
	memset(a.memory, 0x11, 4096);
	write_imm(SIGNALLED);
	adapter_ring(&a);
	for (unsigned i = 0; i < 3; i++) {
		adapter_step();
		adapter_clock = mlx5sw_next_time();
	}
	adapter_expect_none(&a);
	b.dbr[0] = htobe32(1);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE_IMM);
	assert_true(adapter_poll(&b, &cqe));
	assert_int_equal(cqe.opcode, 1);
	assert_int_equal(cqe.imm, 0x01020304);
	assert_int_equal(cqe.nbytes, 3000);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_complete_all),
		cmocka_unit_test(record_counts_in_err),
		cmocka_unit_test(record_raised_in_err_takes_a_while),
		cmocka_unit_test(collapsed_cq_loses_the_cause),
		cmocka_unit_test(executed_but_not_completed),
		cmocka_unit_test(device_uses_its_own_counter),
		cmocka_unit_test(local_2err),
		cmocka_unit_test(flush_by_wqe),
		cmocka_unit_test(flush_of_unwritten_wqebbs),
		cmocka_unit_test(late_success_before_flush),
		cmocka_unit_test(failure_or_stop_at_a_wqe),
		cmocka_unit_test(error_waits_for_earlier_responses),
		cmocka_unit_test(peer_silent),
		cmocka_unit_test(retries_and_timers),
		cmocka_unit_test(permission),
		cmocka_unit_test(receiver_not_ready),
		cmocka_unit_test(error_while_the_receiver_is_not_ready),
		cmocka_unit_test(receiver_ready_later),
		cmocka_unit_test(receiver_ready_much_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
