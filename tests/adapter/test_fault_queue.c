/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Faults of queues, devices and commands. */
#include <endian.h>
#include "fixture_devx.h"
#include "fixture_fault.h"

static adapter_end_t a, b;

static void begin(const adapter_spec_t *peer)
{
	const adapter_spec_t usual = {.host = 1};
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, peer ? peer : &usual);
	adapter_connect(&a, &b);
	memset(a.memory, 0xaa, ADAPTER_NBYTES);
}

/* n WRITEs of one byte each, to bytes 0, 1 and so on. */
static void post(uint32_t n, uint8_t flags)
{
	for (uint32_t i = 0; i < n; i++)
		adapter_write(&a, &b, i, i, 1, flags);
}

static void run(void)
{
	adapter_ring(&a);
	adapter_idle();
}

static void expect_written(uint32_t n)
{
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(b.memory[i], i < n ? 0xaa : 0);
}

static void retries_exceeded_at_a_wqe(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("fail wqe syndrome=0x15 vendor=0x81 qp=0x%x wqebb=1", a.qp->qpn);
	post(3, SIGNALLED);
	run();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 1, RETRIES);
	adapter_expect_error(&a, 2, FLUSHED);
	adapter_expect_none(&a);
	expect_written(1);
	adapter_stop();
}

/* Selects by operation, and not for other queue pairs. */
static void failure_at_an_operation(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("fail wqe syndrome=0x15 vendor=0x81 qp=0x%x", b.qp->qpn);
	fault_control("fail wqe syndrome=0x04 vendor=0x52 opcode=0x10 after=1");
	post(1, SIGNALLED);
	adapter_read(&a, &b, 0, 0, 8, SIGNALLED);
	const uint16_t at = adapter_read(&a, &b, 0, 0, 8, SIGNALLED);
	run();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_READ);
	adapter_expect_error(&a, at, LOCAL_KEY);
	adapter_stop();
}

static void one_completion_lost(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("lose cqe wqebb=1 n=1");
	post(3, SIGNALLED);
	run();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 2, OP_WRITE);
	expect_written(3);
	assert_int_equal(a.qp->state, MLX5SWI_RTS);
	adapter_stop();
}

/* Completions of errors are lost, too: only a query shows the failure. */
static void all_completions_lost(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("lose cqe qp=0x%x", a.qp->qpn);
	post(3, SIGNALLED);
	run();
	fault_control("qp err qp=0x%x", a.qp->qpn);
	post(1, SIGNALLED);
	run();
	adapter_expect_none(&a);
	expect_written(3);
	const mlx5swi_send_state_t s = adapter_send_state(&a);
	assert_int_equal(s.hw_counter, 4);
	assert_int_equal(s.sw_counter, 4);
	assert_int_equal(a.qp->counters.error_cqes, 0);
	adapter_stop();
}

static void completion_of_a_receive_lost(void **state)
{
	const adapter_spec_t spec = {.host = 1, .rq_wqes = 4};
	adapter_wqe_t w = {.ds = 0};
	(void)state;
	begin(&spec);
	fault_control("lose cqe host=1");
	b.dbr[0] = htobe32(1);
	adapter_control(&w, &a, OP_WRITE_IMM, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, (uintptr_t)a.memory);
	const uint16_t at = adapter_post(&a, &w);
	run();
	adapter_expect(&a, at, OP_WRITE_IMM);
	adapter_expect_none(&b);
	adapter_stop();
}

static void completion_late_by_a_time(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("delay cqe ns=700 wqebb=1");
	post(3, SIGNALLED);
	const uint64_t before = adapter_clock;
	adapter_ring(&a);
	adapter_step();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_none(&a);
	expect_written(3);
	adapter_idle();
	assert_int_equal(adapter_clock, before + 700);
	adapter_expect(&a, 1, OP_WRITE);
	adapter_expect(&a, 2, OP_WRITE);
	adapter_stop();
}

static void completion_late_until_released(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("hold cqe wqebb=1 n=1");
	post(3, SIGNALLED);
	run();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_none(&a);
	assert_string_equal(fault_answer("release cqes host=0"), "1 hit\n");
	adapter_idle();
	adapter_expect(&a, 1, OP_WRITE);
	adapter_expect(&a, 2, OP_WRITE);
	fault_refused("release cqes", "'release cqes': no object matches\n");
	adapter_stop();
}

/* Until its completion is written, the WQEBBs of a WQE are not free, even if the program has
 * produced more. */
static void late_completion_keeps_its_place(void **state)
{
	const adapter_spec_t small = {.sq_wqebbs = 4}, peer = {.host = 1};
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, &small);
	adapter_make(&b, &peer);
	adapter_connect(&a, &b);
	fault_control("hold cqe n=1");
	post(1, SIGNALLED);
	post(3, 0);
	run();
	post(1, SIGNALLED);
	run();
	assert_int_equal(a.qp->counters.wqes, 4);
	fault_control("release cqes");
	adapter_idle();
	assert_int_equal(a.qp->counters.wqes, 5);
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 4, OP_WRITE);
	adapter_stop();
}

/* Completions of errors are not delayed, nor do they use up a rule. */
static void error_completions_are_not_delayed(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("delay cqe ns=700 n=1");
	fault_control("qp err host=0");
	post(1, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	adapter_expect_error(&a, 0, LOCAL_STOP);
	assert_string_equal(fault_answer("list rules"), "delay cqe ns=700 n=1: hit 0, goes on\n");
	adapter_stop();
}

/* The counter is nearly a full 16-bit wrap old when the completion is written. */
static void completion_with_an_old_counter(void **state)
{
	const adapter_spec_t collapsed = {.is_collapsed = 1, .cq_entries = 1};
	const adapter_spec_t peer = {.host = 1};
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, &collapsed);
	adapter_make(&b, &peer);
	adapter_connect(&a, &b);
	for (uint32_t i = 0; i < 0x10000 - 32; i++) {
		adapter_nop(&a, i == 3 ? 0 : SIGNALLED);
		run();
	}
	fault_control("hold cqe n=1");
	const uint16_t held = adapter_nop(&a, SIGNALLED);
	for (uint32_t i = 0; i < 40; i++)
		adapter_nop(&a, SIGNALLED);
	run();
	assert_int_equal(adapter_slot(&a, 0).counter, (uint16_t)(held - 1));
	fault_control("release cqes");
	adapter_idle();
	assert_int_equal(adapter_slot(&a, 0).counter, (uint16_t)(held + 40)); /* 8: wrapped */
	adapter_stop();
}

static void requester_to_err(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("drop packet kind=ack n=1"); /* all three are in flight */
	post(3, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	assert_string_equal(fault_answer("qp err host=0"), "1 hit\n");
	adapter_idle();
	adapter_expect_error(&a, 0, LOCAL_STOP);
	adapter_expect_error(&a, 1, FLUSHED);
	adapter_expect_error(&a, 2, FLUSHED);
	expect_written(3); /* the requests were executed */
	assert_int_equal(b.qp->state, MLX5SWI_RTS);
	adapter_stop();
}

static void stop_at_a_wqe(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("stop wqe wqebb=2");
	post(1, SIGNALLED);
	run();
	post(3, SIGNALLED);
	run();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 1, LOCAL_STOP); /* it has no response yet */
	adapter_expect_error(&a, 2, FLUSHED);
	adapter_expect_error(&a, 3, FLUSHED);
	assert_int_equal(b.qp->counters.executed, 2);
	adapter_stop();
}

static void responder_to_err(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("qp err host=1");
	post(1, SIGNALLED);
	run();
	adapter_expect_error(&a, 0, RETRIES);
	expect_written(0);
	adapter_stop();
}

static void both_ends_to_err(void **state)
{
	(void)state;
	begin(NULL);
	assert_string_equal(fault_answer("qp err"), "2 hit\n");
	post(1, SIGNALLED);
	run();
	adapter_expect_error(&a, 0, LOCAL_STOP);
	expect_written(0);
	adapter_stop();
}

/* S11: a waiter for a completion would wait forever; a query shows the state. */
static void error_without_completion(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("drop packet kind=ack n=1");
	post(3, SIGNALLED);
	adapter_doorbell(&a, a.pi); /* without a record */
	adapter_step();
	fault_control("qp err qp=0x%x", a.qp->qpn);
	adapter_idle();
	adapter_expect_none(&a);
	assert_int_equal(a.qp->state, MLX5SWI_ERR);
	assert_int_equal(adapter_send_state(&a).sw_counter, 0);
	expect_written(3);
	run(); /* with the record */
	adapter_expect_error(&a, 0, LOCAL_STOP);
	adapter_expect_error(&a, 1, FLUSHED);
	adapter_expect_error(&a, 2, FLUSHED);
	adapter_stop();
}

static void other_queue_pairs_go_on(void **state)
{
	adapter_end_t c, d;
	(void)state;
	begin(NULL);
	adapter_make(&c, &(adapter_spec_t){.with = &a});
	adapter_make(&d, &(adapter_spec_t){.with = &b});
	adapter_connect(&c, &d);
	fault_control("qp err qp=0x%x", b.qp->qpn);
	post(1, SIGNALLED);
	run();
	adapter_expect_error(&a, 0, RETRIES);
	c.ci = a.ci; /* they share the CQ */
	const uint16_t at = adapter_write(&c, &d, 0, 0, 8, SIGNALLED);
	adapter_ring(&c);
	adapter_idle();
	adapter_expect(&c, at, OP_WRITE);
	assert_int_equal(d.memory[0], 0xaa);
	adapter_stop();
}

static void device_fatal(void **state)
{
	(void)state;
	begin(NULL);
	post(1, SIGNALLED);
	adapter_ring(&a);
	fault_control("device fatal host=0 mlx5_0");
	fault_event(a.ctx, IBV_EVENT_DEVICE_FATAL);
	fault_no_event(b.ctx);
	adapter_idle();
	assert_int_equal(a.qp->counters.doorbells, 0);
	expect_written(0);
	adapter_expect_none(&a);
	fault_refused("device fatal host=0", "'device fatal': no object matches\n");
	fault_refused("port up host=0", "'port up': no object matches\n");
	fault_no_event(a.ctx);
	const uint16_t at = adapter_write(&b, &a, 0, 0, 8, SIGNALLED);
	adapter_ring(&b);
	adapter_idle();
	adapter_expect_error(&b, at, RETRIES);
	adapter_stop();
}

/* Packets that have arrived and are not processed yet are lost. */
static void packet_in_the_port(void **state)
{
	(void)state;
	begin(NULL);
	adapter_write(&b, &a, 0, 0, 8, SIGNALLED);
	adapter_ring(&b);
	mlx5sw_step();
	assert_non_null(a.qp->dev->port.in);
	fault_control("device fatal host=0");
	adapter_idle();
	assert_int_equal(a.qp->counters.executed, 0);
	adapter_stop();
}

/* With requests in flight: no completion is written, not even of their failure. */
static void no_completions(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("drop packet kind=ack");
	post(2, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	fault_control("device fatal host=0");
	adapter_idle();
	adapter_expect_none(&a);
	assert_int_equal(a.qp->counters.error_cqes, 0);
	adapter_stop();
}

static void doorbell_lost(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("lose doorbell host=0 n=1");
	post(1, SIGNALLED);
	run();
	adapter_expect_none(&a);
	expect_written(0);
	run(); /* the same value again */
	adapter_expect(&a, 0, OP_WRITE);
	expect_written(1);
	adapter_stop();
}

static void query_fails(void **state)
{
	uint8_t in[MAILBOX_NBYTES], out[MAILBOX_NBYTES] = {0};
	uint32_t qpn;
	devx_t d;
	(void)state;
	devx_open(&d, NULL);
	devx_cq_mailbox(&d, in);
	d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
	devx_qp_mailbox(&d, in);
	struct mlx5dv_devx_obj *qp = devx_create(&d, in, sizeof(in), &qpn);
	fault_control("fail command opcode=0x50b status=1 syndrome=0xabcdef n=1");
	memset(in, 0, 16);
	put_bits(in, 0, 16, 0x50b);
	put_bits(in, 0x48, 24, qpn);
	assert_int_not_equal(mlx5dv_devx_obj_query(qp, in, 16, out, sizeof(out)), 0);
	assert_int_equal(out[0], 1);
	assert_int_equal(get_bits(out, 0x20, 32), 0xabcdef);
	devx_query_qp(qp, qpn, out); /* the next query succeeds */
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
	devx_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retries_exceeded_at_a_wqe),
		cmocka_unit_test(failure_at_an_operation),
		cmocka_unit_test(one_completion_lost),
		cmocka_unit_test(all_completions_lost),
		cmocka_unit_test(completion_of_a_receive_lost),
		cmocka_unit_test(completion_late_by_a_time),
		cmocka_unit_test(completion_late_until_released),
		cmocka_unit_test(late_completion_keeps_its_place),
		cmocka_unit_test(error_completions_are_not_delayed),
		cmocka_unit_test(completion_with_an_old_counter),
		cmocka_unit_test(requester_to_err),
		cmocka_unit_test(stop_at_a_wqe),
		cmocka_unit_test(responder_to_err),
		cmocka_unit_test(both_ends_to_err),
		cmocka_unit_test(error_without_completion),
		cmocka_unit_test(other_queue_pairs_go_on),
		cmocka_unit_test(device_fatal),
		cmocka_unit_test(packet_in_the_port),
		cmocka_unit_test(no_completions),
		cmocka_unit_test(doorbell_lost),
		cmocka_unit_test(query_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
