/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations from doorbell to completion, and rows R of the adapter's table. */
#include "pair.h"
#include "mlx5sw/inject/fault.h"

static void write_of_each_length(void **state)
{
	(void)state;
	start(NULL, NULL);
	fill(a.memory, 8192);
	for (uint32_t n = 0; n < 4100; n = n < 70 ? n + 1 : n + 337) {
		memset(b.memory, 0xee, 8192);
		uint16_t index = adapter_write(&a, &b, 5, 9, n, SIGNALLED);
		go();
		adapter_expect(&a, index, OP_WRITE);
		assert_memory_equal(b.memory + 9, a.memory + 5, n);
		assert_int_equal(b.memory[8], 0xee);
		assert_int_equal(b.memory[9 + n], 0xee);
	}
	end();
}

static void read_of_each_length(void **state)
{
	(void)state;
	start(NULL, NULL);
	fill(b.memory, 8192);
	for (uint32_t n = 1; n < 4100; n = n < 70 ? n + 1 : n + 337) {
		memset(a.memory, 0xee, 8192);
		uint16_t index = adapter_read(&a, &b, 5, 9, n, SIGNALLED);
		go();
		adapter_expect(&a, index, OP_READ);
		assert_memory_equal(a.memory + 5, b.memory + 9, n);
		assert_int_equal(a.memory[4], 0xee);
		assert_int_equal(a.memory[5 + n], 0xee);
	}
	end();
}

static void write_from_a_list(void **state)
{
	adapter_wqe_t w;

	(void)state;
	start(NULL, NULL);
	fill(a.memory, 60000);
	adapter_control(&w, &a, OP_WRITE, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
	for (uint32_t i = 0; i < 61; i++)
		adapter_data(&w, 100 + i, a.mr->lkey, (uintptr_t)a.memory + 777 * i);
	adapter_post(&a, &w);
	go();
	adapter_expect(&a, 0, OP_WRITE);
	for (uint32_t i = 0, to = 0; i < 61; to += 100 + i, i++)
		assert_memory_equal(b.memory + to, a.memory + 777 * i, 100 + i);
	end();
}

static void qp_connected_to_itself(void **state)
{
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_connect(&a, &a);
	fill(a.memory, 4000);
	adapter_write(&a, &a, 0, 10000, 4000, SIGNALLED);
	adapter_read(&a, &a, 20000, 10000, 4000, SIGNALLED);
	go();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_READ);
	assert_memory_equal(a.memory + 20000, a.memory, 4000);
	end();
}

/* NOPs with other sizes than 1; a DUMP checks its key. */
static void local_operations(void **state)
{
	adapter_wqe_t w;

	(void)state;
	start(NULL, NULL);
	adapter_nop(&a, 0);
	adapter_control(&w, &a, OP_NOP, 0, SIGNALLED);
	adapter_set_ds(&w, w.ds = 2);
	adapter_post(&a, &w);
	adapter_control(&w, &a, OP_DUMP, 0, SIGNALLED | FENCED);
	adapter_data(&w, 1000, a.mr->lkey, (uintptr_t)a.memory);
	adapter_post(&a, &w);
	go();
	adapter_expect(&a, 1, OP_NOP);
	adapter_expect(&a, 2, OP_DUMP);
	assert_int_equal(a.qp->counters.packets_sent, 0);
	adapter_control(&w, &a, OP_DUMP, 0, 0);
	adapter_data(&w, 8, a.mr->lkey, (uintptr_t)a.memory + ADAPTER_NBYTES);
	adapter_post(&a, &w);
	go();
	adapter_expect_error(&a, 3, 0x04, 0x53);
	end();
}

/* One PSN for each packet, also for a WRITE of zero bytes. */
static void psns(void **state)
{
	const uint64_t operands[2] = {1, 0};
	uint32_t psn;

	(void)state;
	start(NULL, NULL);
	psn = adapter_send_state(&a).next_send_psn;
	adapter_write(&a, &b, 0, 0, 0, 0);
	adapter_write(&a, &b, 0, 0, 1, 0);
	adapter_write(&a, &b, 0, 0, 1024, 0);
	adapter_write(&a, &b, 0, 0, 1025, 0);
	adapter_read(&a, &b, 0, 0, 5000, 0);
	adapter_atomic(&a, &b, OP_FA, 8, operands, 0, 800, 0);
	adapter_nop(&a, SIGNALLED);
	go();
	adapter_expect(&a, 6, OP_NOP);
	assert_int_equal(adapter_send_state(&a).next_send_psn, psn + 1 + 1 + 1 + 2 + 5 + 1);
	assert_int_equal(adapter_send_state(&a).last_acked_psn, psn + 10);
	assert_int_equal(adapter_send_state(&a).ssn, 6);
	end();
}

static void psn_wraps(void **state)
{
	mlx5swi_qp_attr_t attr;

	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_init(&a);
	attr = adapter_attr(&a, &a);
	attr.next_send_psn = attr.next_rcv_psn = 0xfffffd;
	adapter_modify(&a, &attr);
	fill(a.memory, 20000);
	adapter_packets(MLX5SWI_DROP, 0, 4, 1);
	adapter_write(&a, &a, 0, 30000, 10000, SIGNALLED);
	adapter_read(&a, &a, 50000, 30000, 10000, SIGNALLED);
	go();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_READ);
	assert_memory_equal(a.memory + 50000, a.memory, 10000);
	assert_int_equal(adapter_send_state(&a).next_send_psn, 17);
	end();
}

/* READs and atomics are in flight up to the peer's limit; the others wait. */
static void reads_in_flight(void **state)
{
	const uint64_t operands[2] = {1, 0};
	mlx5swi_qp_attr_t attr;

	(void)state;
	for (uint8_t log = 0; log <= 3; log++) {
		adapter_start(NULL);
		adapter_make(&a, NULL);
		adapter_init(&a);
		attr = adapter_attr(&a, &a);
		attr.log_sra_max = attr.log_rra_max = log;
		adapter_modify(&a, &attr);
		adapter_packets(MLX5SWI_HOLD, 1u << MLX5SWI_READ_DATA | 1u << MLX5SWI_ATOMIC_DATA,
				0, UINT64_MAX);
		for (unsigned i = 0; i < 20; i++)
			if (i % 2)
				adapter_read(&a, &a, 0, 100, 8, 0);
			else
				adapter_atomic(&a, &a, OP_FA, 8, operands, 64, 800, 0);
		adapter_nop(&a, SIGNALLED);
		adapter_ring(&a);
		adapter_step();
		assert_int_equal(a.qp->counters.packets_sent - a.qp->counters.packets_resent,
				 1u << log);
		adapter_release();
		adapter_idle();
		adapter_expect(&a, 20, OP_NOP);
		end();
	}
}

/* PSNs are unambiguous as long as fewer than half of them are in flight. */
static void psns_in_flight(void **state)
{
	const uint32_t nbytes = 1u << 30; /* 2^22 packets of 256 bytes */
	mlx5swi_mr_t *mr;
	adapter_wqe_t w;

	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &(adapter_spec_t){.host = 1});
	adapter_connect(&a, &b);
	a.qp->attr.mtu = 1;
	a.qp->attr.retry_count = 0;
	assert_int_equal(mlx5swi_mr_create((mlx5swi_pd_t *)a.pd, a.memory, nbytes, 0,
					   IBV_ACCESS_LOCAL_WRITE, &mr),
			 0);
	adapter_packets(MLX5SWI_DROP, 0, 0, UINT64_MAX);
	for (unsigned i = 0; i < 3; i++) {
		adapter_control(&w, &a, OP_READ, 0, 0);
		adapter_remote(&w, 0, b.mr->rkey);
		adapter_data(&w, nbytes, mr->key, 0);
		adapter_post(&a, &w);
	}
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(a.qp->counters.packets_sent, 1);
	adapter_stop();
}

/* A fence waits for earlier READs and atomics; other WQEs do not. */
static void fences(void **state)
{
	(void)state;
	for (uint8_t mode = 0; mode < 5; mode++) {
		start(NULL, NULL);
		adapter_packets(MLX5SWI_HOLD, 1u << MLX5SWI_READ_DATA, 0, UINT64_MAX);
		fill(a.memory, 64);
		adapter_read(&a, &b, 1000, 1000, 8, 0);
		adapter_write(&a, &b, 0, 1000, 8, (uint8_t)(SIGNALLED | mode << 5));
		adapter_ring(&a);
		adapter_step();
		assert_int_equal(b.qp->counters.executed, mode >= 2 ? 1 : 2);
		adapter_release();
		adapter_idle();
		adapter_expect(&a, 1, OP_WRITE);
		assert_memory_equal(b.memory + 1000, a.memory, 8);
		end();
	}
}

/* Early: with its doorbell; late: when all earlier WQEs have begun. */
static void fetched_no_earlier_than_needed(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.lint = MLX5SW_LINT_OFF;
	for (int is_late = 0; is_late < 2; is_late++) {
		cfg.chaos = is_late ? MLX5SW_CHAOS_FETCH : 0;
		start(&cfg, NULL);
		adapter_packets(MLX5SWI_HOLD, 1u << MLX5SWI_READ_DATA, 0, UINT64_MAX);
		adapter_read(&a, &b, 0, 0, 8, 0);
		adapter_nop(&a, FENCED);
		adapter_write_inline(&a, &b, 1000, "old text", 8, SIGNALLED);
		adapter_ring(&a);
		adapter_step();
		memcpy(a.sq + 2 * 64 + 36, "new text", 8);
		adapter_release();
		adapter_idle();
		adapter_expect(&a, 2, OP_WRITE);
		assert_memory_equal(b.memory + 1000, is_late ? "new text" : "old text", 8);
		adapter_stop();
	}
}

static void overwritten_before_completion(void **state)
{
	(void)state;
	start(NULL, NULL);
	adapter_packets(MLX5SWI_DELAY, 1u << MLX5SWI_ACK, 0, 1);
	adapter_write(&a, &b, 0, 1000, 8, SIGNALLED);
	mlx5swi_rules_clear();
	adapter_packets(MLX5SWI_DROP, 1u << MLX5SWI_ACK, 0, 1);
	adapter_ring(&a);
	adapter_step();
	adapter_expect_none(&a);
	a.sq[40]++;
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	assert_int_equal(adapter_reported("R1"), 1);
	adapter_stop();
}

/* Fetched late, and again: the content of the ring at that time is executed. */
static void late_fetch_sees_the_new_content(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	unsigned n_new = 0;

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_FETCH;
	cfg.lint = MLX5SW_LINT_REPORT;
	for (unsigned seed = 1; seed <= 40; seed++) {
		start(&cfg, NULL);
		adapter_seed = seed;
		adapter_packets(MLX5SWI_DROP, 1u << MLX5SWI_WRITE, 0, 1);
		adapter_write_inline(&a, &b, 1000, "old text", 8, SIGNALLED);
		adapter_ring(&a);
		adapter_step();
		memcpy(a.sq + 36, "new text", 8);
		adapter_idle();
		adapter_expect(&a, 0, OP_WRITE);
		assert_int_equal(adapter_reported("R1"), 1);
		n_new += memcmp(b.memory + 1000, "new text", 8) == 0;
		adapter_stop();
	}
	assert_in_range(n_new, 5, 35);
}

/* After it has begun, a WQE cannot become another operation, or longer. */
static void late_fetch_of_something_else(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	unsigned n_failed = 0;

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_FETCH;
	cfg.lint = MLX5SW_LINT_REPORT;
	for (unsigned seed = 1; seed <= 40; seed++) {
		adapter_cqe_t cqe;

		start(&cfg, NULL);
		adapter_seed = seed;
		adapter_packets(MLX5SWI_DROP, 1u << MLX5SWI_WRITE, 0, 1);
		adapter_write_inline(&a, &b, 1000, "old text", 8, SIGNALLED);
		adapter_ring(&a);
		adapter_step();
		if (seed % 2)
			a.sq[3] = OP_WRITE_IMM;
		else
			a.sq[35] = 12; /* bytes; they still fit */
		adapter_idle();
		assert_true(adapter_poll(&a, &cqe));
		if (cqe.opcode == CQE_REQ_ERR)
			assert_int_equal(cqe.syndrome, 0x02);
		n_failed += cqe.opcode == CQE_REQ_ERR;
		adapter_stop();
	}
	assert_in_range(n_failed, 5, 35);
}

static uint16_t five_wqebbs(uint32_t to, const char *text)
{
	char payload[256] = {0};

	strcpy(payload, text);
	return adapter_write_inline(&a, &b, to, payload, sizeof(payload), SIGNALLED);
}

/* For WQEs that are not complete the device keeps the content that it fetched. */
static void device_keeps_its_own(void **state)
{
	const adapter_spec_t spec = {.sq_wqebbs = 8};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		start(NULL, &spec);
		adapter_packets(MLX5SWI_DROP, 1u << MLX5SWI_WRITE, 0, 8);
		for (uint32_t i = 0; i < 8 - 2 * n; i++)
			adapter_write_inline(&a, &b, 1000 + 8 * i, "old text", 8, SIGNALLED);
		adapter_ring(&a);
		adapter_step();
		five_wqebbs(4000, "new text");
		adapter_ring(&a);
		adapter_idle();
		for (uint32_t i = 0; i < 8 - 2 * n; i++) {
			adapter_expect(&a, (uint16_t)i, OP_WRITE);
			assert_memory_equal(b.memory + 1000 + 8 * i, "old text", 8);
		}
		assert_memory_equal(b.memory + 4000, "new text", 8);
		assert_int_equal(adapter_reported("R2"), 1);
		adapter_stop();
	}
}

static void more_than_the_queue_holds(void **state)
{
	(void)state;
	start(NULL, NULL);
	adapter_packets(MLX5SWI_HOLD, 1u << MLX5SWI_ACK, 0, UINT64_MAX);
	for (unsigned i = 0; i < 60; i++)
		adapter_write(&a, &b, 0, 1000, 8, 0);
	adapter_ring(&a);
	adapter_step();
	for (unsigned i = 0; i < 5; i++)
		adapter_write(&a, &b, 0, 1000, 8, 0);
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(adapter_reported("R2"), 1);
	assert_int_equal(b.qp->counters.executed, 64);
	adapter_stop();
}

/* A WQE of five WQEBBs at each place of a ring of eight. */
static void wqe_across_the_end(void **state)
{
	const adapter_spec_t spec = {.sq_wqebbs = 8};

	(void)state;
	start(NULL, &spec);
	fill(a.memory, 1024);
	for (unsigned i = 0; i < 100; i++) {
		memset(b.memory, 0, 256);
		uint16_t index = adapter_write_inline(&a, &b, 0, a.memory + i, 256, SIGNALLED);
		adapter_nop(&a, SIGNALLED);
		go();
		adapter_expect(&a, index, OP_WRITE);
		adapter_expect(&a, (uint16_t)(index + 5), OP_NOP);
		assert_memory_equal(b.memory, a.memory + i, 256);
	}
	end();
}

/* The largest queue, and an index that wraps. */
static void wqe_index_wraps(void **state)
{
	const adapter_spec_t spec = {.sq_wqebbs = 32768, .cq_entries = 1024};
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.start_index = 60000;
	start(&cfg, &spec);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 32768; i++)
			adapter_nop(&a, i % 128 == 127 ? SIGNALLED : 0);
		go();
		for (unsigned i = 127; i < 32768; i += 128)
			adapter_expect(&a, (uint16_t)(60000 + 32768 * round + i), OP_NOP);
	}
	assert_int_equal(a.qp->counters.wqes, 5 * 32768);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_of_each_length),
		cmocka_unit_test(read_of_each_length),
		cmocka_unit_test(write_from_a_list),
		cmocka_unit_test(qp_connected_to_itself),
		cmocka_unit_test(local_operations),
		cmocka_unit_test(psns),
		cmocka_unit_test(psn_wraps),
		cmocka_unit_test(reads_in_flight),
		cmocka_unit_test(psns_in_flight),
		cmocka_unit_test(fences),
		cmocka_unit_test(fetched_no_earlier_than_needed),
		cmocka_unit_test(overwritten_before_completion),
		cmocka_unit_test(late_fetch_sees_the_new_content),
		cmocka_unit_test(late_fetch_of_something_else),
		cmocka_unit_test(device_keeps_its_own),
		cmocka_unit_test(more_than_the_queue_holds),
		cmocka_unit_test(wqe_across_the_end),
		cmocka_unit_test(wqe_index_wraps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
