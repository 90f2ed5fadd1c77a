/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Interactions between parts of the device: a response arrives while other work is pending. */
#include <endian.h>
#include <sys/mman.h>
#include "fixture.h"
#include "fixture_fault.h"
#include "mlx5sw/inject/fault.h"

enum { MTU = 1024 };

static adapter_end_t a, b;

static void begin(const mlx5sw_config_t *cfg)
{
	adapter_start(cfg);
	adapter_pair(&a, &b);
}

static void connect_by(const mlx5swi_qp_attr_t *to_b, const mlx5swi_qp_attr_t *to_a)
{
	adapter_init(&a);
	adapter_init(&b);
	adapter_modify(&b, to_a);
	adapter_modify(&a, to_b);
}

static void add_rule(int fault, uint32_t kinds, uint64_t after, uint64_t n)
{
	const mlx5swi_rule_t rule = {.fault = fault,
				     .host = MLX5SWI_ANY,
				     .device = MLX5SWI_ANY,
				     .qpn = MLX5SWI_ANY,
				     .index = MLX5SWI_ANY,
				     .opcode = MLX5SWI_ANY,
				     .kind = kinds,
				     .after = after,
				     .left = n};

	assert_int_equal(mlx5swi_rule_add(&rule), 0);
}

static uint16_t write_imm(void)
{
	adapter_wqe_t w;

	adapter_control(&w, &a, OP_WRITE_IMM, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, (uintptr_t)a.memory);
	return adapter_post(&a, &w);
}

/* A receiver that is not ready answers the first request only: the requests after it are not lost,
 * and use none of the retries. */
static void waiting_for_the_receiver_costs_no_retries(void **state)
{
	const adapter_spec_t receiver = {.host = 1, .rq_wqes = 4};

	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &receiver);
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	to_b.rnr_retry = 7; /* forever */
	connect_by(&to_b, &to_a);
	write_imm();
	for (uint32_t i = 1; i < 4; i++)
		adapter_write(&a, &b, 0, 8 * i, 8, SIGNALLED);
	adapter_ring(&a);
	for (unsigned i = 0; i < 100; i++) {
		adapter_step();
		adapter_clock = mlx5sw_next_time();
	}
	assert_int_equal(a.qp->state, MLX5SWI_RTS);
	assert_int_equal(adapter_send_state(&a).retries_left, 7);
	b.dbr[0] = htobe32(1);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE_IMM);
	for (uint16_t i = 1; i < 4; i++)
		adapter_expect(&a, i, OP_WRITE);
	adapter_stop();
}

/* Repetitions arrive late and all at once, followed by a new READ. */
static void repetitions_leave_room_for_a_request(void **state)
{
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &(adapter_spec_t){.host = 1});
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	to_b.log_sra_max = to_a.log_rra_max = 0;
	connect_by(&to_b, &to_a);
	memset(b.memory, 0xbb, 64);
	add_rule(MLX5SWI_HOLD, 1u << MLX5SWI_READ, 0, 3);
	adapter_read(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	for (int i = 0; i < 10; i++) { /* the request is held three times, and arrives once */
		adapter_step();
		if (adapter_slot(&a, 0).opcode != CQE_INVALID)
			break;
		adapter_clock = mlx5sw_next_time();
	}
	adapter_expect(&a, 0, OP_READ);
	mlx5swi_release_held();
	for (uint32_t i = 1; i < 5; i++)
		adapter_read(&a, &b, 8 * i, 8 * i, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	for (uint16_t i = 1; i < 5; i++)
		adapter_expect(&a, i, OP_READ);
	assert_memory_equal(a.memory, b.memory, 40);
	adapter_stop();
}

static void reconnect(uint32_t psn)
{
	adapter_reset(&a);
	adapter_reset(&b);
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);

	to_b.next_send_psn = to_a.next_rcv_psn = psn;
	connect_by(&to_b, &to_a);
}

/* A device that executes repeated WRITEs again does so only for the current connection. */
static void packets_of_an_earlier_connection_are_not_repetitions(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_DUP_WRITE;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		begin(&cfg);
		adapter_seed = seed;
		const uint32_t old = a.qp->attr.next_send_psn;
		memset(a.memory, 0xaa, 8);
		add_rule(MLX5SWI_HOLD, 1u << MLX5SWI_WRITE, 0, UINT64_MAX);
		adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
		adapter_ring(&a);
		adapter_idle();
		mlx5swi_rules_clear();
		reconnect(old + 0x1000);
		mlx5swi_release_held();
		adapter_idle();
		assert_int_equal(b.memory[0], 0);
		adapter_stop();
	}
}

/* The first error is reported, however long the completion before it is delayed. */
static void first_error_is_reported(void **state)
{
	adapter_wqe_t w;

	(void)state;
	begin(NULL);
	fault_control("hold cqe n=1");
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_control(&w, &a, OP_WRITE, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey ^ 0xff);
	adapter_data(&w, 8, a.mr->lkey, (uintptr_t)a.memory);
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect_none(&a);
	fault_control("release cqes");
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 1, NO_ACCESS);
	adapter_stop();
}

/* Random delays do not lose completions: a WQE that fails before it is sent is pending work. */
static void late_completions_come(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_ORDER;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		adapter_wqe_t w;

		begin(&cfg);
		adapter_seed = seed;
		for (int i = 0; i < 4; i++)
			adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
		adapter_read(&a, &b, 64, 64, 8, SIGNALLED);
		adapter_control(&w, &a, OP_WRITE, 0, FENCED);
		adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
		adapter_data(&w, 8, a.mr->lkey ^ 0xff, (uintptr_t)a.memory);
		adapter_post(&a, &w);
		adapter_ring(&a);
		adapter_idle();
		for (uint16_t i = 0; i < 4; i++)
			adapter_expect(&a, i, OP_WRITE);
		adapter_expect(&a, 4, OP_READ);
		adapter_expect_error(&a, 5, LOCAL_KEY);
		adapter_stop();
	}
}

static int n_halves;

static void count_halves(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	(void)arg;
	n_halves += access == MLX5SW_ATOMIC;
	memcpy(dst, src, nbytes);
}

/* The result of an atomic is written like other payload, to any address: it is not half of an
 * atomic update. */
static void result_of_an_atomic_is_payload(void **state)
{
	uint64_t old;

	(void)state;
	begin(NULL);
	mlx5swi_w->hooks.store = count_halves;
	n_halves = 0;
	memset(b.memory, 0x11, 8);
	adapter_atomic(&a, &b, OP_FA, 8, (uint64_t[4]){1}, 65, 0, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_FA);
	memcpy(&old, a.memory + 65, 8);
	assert_int_equal(old, 0x1111111111111111);
	assert_int_equal(n_halves, 1);
	adapter_stop();
}

static void forge_read(uint32_t psn, uint32_t n, const uint8_t *from, const struct ibv_mr *mr)
{
	mlx5swi_packet_t *p = mlx5swi_packet_new(a.qp, MLX5SWI_READ, 0);

	assert_non_null(p);
	p->flags = MLX5SWI_FIRST | MLX5SWI_LAST;
	p->psn = psn;
	p->raddr = (uintptr_t)from;
	p->rkey = mr->rkey;
	p->dma_nbytes = n * 256;
	mlx5swi_port_send(&a.qp->dev->port, p);
	while (mlx5sw_step())
		;
}

static uint64_t add(uint32_t psn)
{
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b);
	uint64_t old;

	adapter_reset(&a);
	to_b.mtu = 1;
	to_b.next_send_psn = psn;
	adapter_init(&a);
	adapter_modify(&a, &to_b);
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_ATOMIC_DATA, 0, 1);
	adapter_atomic(&a, &b, OP_FA, 8, (uint64_t[4]){1}, 64, 0, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_FA);
	memcpy(&old, a.memory + 64, 8);
	return old;
}

/* Two atomics with the same PSN, 2^24 packets apart. */
static void last_atomic_of_a_psn_is_repeated(void **state)
{
	enum { N = 1 << 22, NBYTES = 1 << 30 };
	uint8_t *memory =
		mmap(NULL, NBYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &(adapter_spec_t){.host = 1});
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	to_a.mtu = to_b.mtu = 1;
	connect_by(&to_b, &to_a);
	const uint32_t psn = to_b.next_send_psn;
	struct ibv_mr *mr = ibv_reg_mr(b.pd, memory, NBYTES, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(add(psn), 0);
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_READ_DATA, 0, UINT64_MAX);
	for (uint32_t i = 0; i < 4; i++)
		forge_read(psn + 1 + i * N, i < 3 ? N : N - 1, memory, mr);
	assert_int_equal(add(psn), 1);
	adapter_stop();
	munmap(memory, NBYTES);
}

/* The register is a word in memory: of two doorbells between two polls only the second one is still
 * there. A NIC receives both. */
static void queue_pairs_that_share_a_register(void **state)
{
	adapter_end_t c, d, *const all[] = {&a, &c, &d};

	(void)state;
	for (int mode = MLX5SW_DOORBELLS_HYBRID; mode <= MLX5SW_DOORBELLS_DB; mode++) {
		mlx5sw_config_t cfg = adapter_config();

		cfg.doorbells = (uint8_t)mode;
		begin(&cfg);
		for (int i = 1; i < 3; i++) {
			adapter_make(all[i], &(adapter_spec_t){.with = &a, .is_rung_with = 1});
			adapter_connect(all[i], all[i]);
		}
		for (int n = 1; n <= 3; n++) {
			adapter_nop(&a, 0);
			adapter_nop(&c, 0);
			adapter_ring(&a);
			adapter_ring(&c);
			adapter_step();
			assert_int_equal(a.qp->counters.wqes, n);
			assert_int_equal(c.qp->counters.wqes, n);
		}
		assert_int_equal(d.qp->counters.doorbells, 0);
		mlx5swi_qp_destroy(c.qp); /* from the middle of those of the register */
		adapter_nop(&a, 0);
		adapter_nop(&d, 0);
		adapter_ring(&a);
		adapter_ring(&d);
		adapter_step();
		assert_int_equal(a.qp->counters.wqes, 4);
		assert_int_equal(d.qp->counters.wqes, 1);
		adapter_expect_clean();
		adapter_stop();
	}
}

/* Records of queue pairs that do not send count as no doorbell, nor does that of one never rung. */
static void records_that_are_not_rung(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	adapter_end_t c, d;

	(void)state;
	cfg.start_index = 0xfff0;
	begin(&cfg);
	adapter_make(&c, &(adapter_spec_t){.with = &a, .is_rung_with = 1});
	adapter_make(&d, &(adapter_spec_t){.with = &a, .is_rung_with = 1});
	adapter_connect(&c, &c);
	adapter_record(&d, 5); /* still in RESET */
	adapter_nop(&a, 0);
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(a.qp->counters.wqes, 1);
	assert_int_equal(c.qp->counters.doorbells + d.qp->counters.doorbells, 0);
	adapter_expect_clean();
	adapter_stop();
}

/* The device has not polled between a doorbell and a command for its queue pair. A NIC receives the
 * doorbell first. */
static void rung_before(void (*command)(adapter_end_t *))
{
	for (int mode = MLX5SW_DOORBELLS_HYBRID; mode <= MLX5SW_DOORBELLS_DB; mode++) {
		mlx5sw_config_t cfg = adapter_config();

		cfg.doorbells = (uint8_t)mode;
		begin(&cfg);
		adapter_nop(&a, 0);
		adapter_ring(&a);
		command(&a);
		adapter_idle();
		adapter_expect_clean();
		adapter_stop();
	}
}

static void destroy(adapter_end_t *e)
{
	mlx5swi_qp_destroy(e->qp);
}

static void rung_before_destroy(void **state)
{
	(void)state;
	rung_before(destroy);
}

static void rung_before_reset(void **state)
{
	(void)state;
	rung_before(adapter_reset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_for_the_receiver_costs_no_retries),
		cmocka_unit_test(repetitions_leave_room_for_a_request),
		cmocka_unit_test(packets_of_an_earlier_connection_are_not_repetitions),
		cmocka_unit_test(first_error_is_reported),
		cmocka_unit_test(late_completions_come),
		cmocka_unit_test(result_of_an_atomic_is_payload),
		cmocka_unit_test(last_atomic_of_a_psn_is_repeated),
		cmocka_unit_test(queue_pairs_that_share_a_register),
		cmocka_unit_test(records_that_are_not_rung),
		cmocka_unit_test(rung_before_destroy),
		cmocka_unit_test(rung_before_reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
