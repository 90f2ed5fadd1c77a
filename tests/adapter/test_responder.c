/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Requests that a responder refuses, drops and answers. */
#include "fixture.h"
#include "mlx5sw/inject/fault.h"
#include <endian.h>
#include <stdlib.h>

enum { INVALID_REQUEST = 0x12, ACCESS = 0x13, RETRY = 0x15, RNR = 0x16, FLUSHED = 0x05 };
enum { MTU = 1024 };

static adapter_end_t a, b;

static void begin(void)
{
	adapter_start(NULL);
	adapter_pair(&a, &b);
	memset(a.memory, 0xaa, ADAPTER_NBYTES);
}

static mlx5swi_receive_state_t received(const adapter_end_t *e)
{
	mlx5swi_receive_state_t s;
	mlx5swi_responder_query(e->qp, &s);
	return s;
}

static void run(void)
{
	adapter_ring(&a);
	adapter_idle();
}

/* Post a READ or WRITE of nbytes to [va, va + nbytes) by rkey. Returns its syndrome; 0: success. */
static uint8_t ends_with(uint8_t opcode, uint64_t va, uint32_t rkey, uint32_t nbytes)
{
	adapter_wqe_t w = {.ds = 0};
	adapter_cqe_t cqe;
	adapter_control(&w, &a, opcode, 0, SIGNALLED);
	adapter_remote(&w, va, rkey);
	if (nbytes)
		adapter_data(&w, nbytes, a.mr->lkey, (uintptr_t)a.memory);
	adapter_post(&a, &w);
	run();
	assert_true(adapter_poll(&a, &cqe));
	return cqe.opcode == CQE_REQ ? 0 : cqe.syndrome;
}

static uint8_t fresh_ends_with(uint8_t opcode, uint64_t offset, uint32_t rkey_xor, uint32_t nbytes)
{
	begin();
	uint8_t s = ends_with(opcode, (uintptr_t)b.memory + offset, b.mr->rkey ^ rkey_xor, nbytes);
	assert_int_equal(b.qp->state, s ? MLX5SWI_ERR : MLX5SWI_RTS);
	adapter_stop();
	return s;
}

static void key_and_range(void **state)
{
	(void)state;
	const uint64_t end = ADAPTER_NBYTES;
	const uint8_t ops[] = {OP_WRITE, OP_READ};
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fresh_ends_with(ops[i], 0, 0, 64), 0);
		assert_int_equal(fresh_ends_with(ops[i], end - 64, 0, 64), 0);
		assert_int_equal(fresh_ends_with(ops[i], end - 63, 0, 64), ACCESS);
		assert_int_equal(fresh_ends_with(ops[i], end, 0, 1), ACCESS);
		assert_int_equal(fresh_ends_with(ops[i], (uint64_t)-1, 0, 1), ACCESS);
		assert_int_equal(fresh_ends_with(ops[i], 0, 0x01, 64), ACCESS);  /* variant */
		assert_int_equal(fresh_ends_with(ops[i], 0, 0x100, 64), ACCESS); /* index */
	}
	/* No byte is accessed, so the key does not matter. */
	assert_int_equal(fresh_ends_with(OP_WRITE, end + 5, 0x100, 0), 0);
}

static void address_wraps(void **state)
{
	(void)state;
	begin();
	assert_int_equal(ends_with(OP_WRITE, UINT64_MAX - 31, b.mr->rkey, 64), ACCESS);
	adapter_stop();
}

static void rights_of_the_mr(void **state)
{
	(void)state;
	const struct {
		uint8_t access, opcode;
	} rows[] = {
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, OP_WRITE},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, OP_READ},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, OP_FA},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const adapter_spec_t spec = {.host = 1, .access = rows[i].access};
		const uint64_t add[2] = {1, 0};
		adapter_start(NULL);
		adapter_make(&a, NULL);
		adapter_make(&b, &spec);
		adapter_connect(&a, &b);
		uint16_t at = rows[i].opcode == OP_WRITE ? adapter_write(&a, &b, 0, 0, 8, SIGNALLED)
			      : rows[i].opcode == OP_READ
				      ? adapter_read(&a, &b, 0, 0, 8, SIGNALLED)
				      : adapter_atomic(&a, &b, OP_FA, 8, add, 0, 0, SIGNALLED);
		run();
		adapter_expect_error(&a, at, ACCESS, 0x88);
		adapter_stop();
	}
}

static void key_of_another_pd(void **state)
{
	(void)state;
	begin();
	struct ibv_pd *pd = ibv_alloc_pd(b.ctx);
	struct ibv_mr *mr =
		ibv_reg_mr(pd, b.memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(mr);
	assert_int_equal(ends_with(OP_WRITE, (uintptr_t)b.memory, mr->rkey, 8), ACCESS);
	adapter_stop();
}

static void partial_write(void **state)
{
	(void)state;
	begin();
	const uint32_t to = ADAPTER_NBYTES - 2 * MTU - 100;
	uint16_t at = adapter_write(&a, &b, 0, to, 3 * MTU, SIGNALLED);
	run();
	adapter_expect_error(&a, at, ACCESS, 0x88);
	for (uint32_t i = to; i < ADAPTER_NBYTES; i++)
		assert_int_equal(b.memory[i], i < to + 2 * MTU ? 0xaa : 0);
	assert_int_equal(received(&b).rmsn, 0);
	assert_int_equal(received(&b).next_rcv_psn, a.qp->attr.next_send_psn + 2);
	adapter_stop();
}

static void partial_write_at_a_byte(void **state)
{
	(void)state;
	const mlx5swi_rule_t rule = {.fault = MLX5SWI_PARTIAL,
				     .host = MLX5SWI_ANY,
				     .device = MLX5SWI_ANY,
				     .qpn = MLX5SWI_ANY,
				     .index = MLX5SWI_ANY,
				     .opcode = MLX5SWI_ANY,
				     .left = 1,
				     .nbytes = 13};
	begin();
	assert_int_equal(mlx5swi_rule_add(&rule), 0);
	uint16_t at = adapter_write(&a, &b, 0, 0, 64, SIGNALLED);
	run();
	adapter_expect_error(&a, at, ACCESS, 0x88);
	assert_int_equal(b.memory[12], 0xaa);
	assert_int_equal(b.memory[13], 0);
	adapter_stop();
}

static void permission_comes_before_the_key(void **state)
{
	(void)state;
	const uint64_t add[2] = {1, 0};
	for (int i = 0; i < 3; i++) {
		begin();
		b.qp->attr.rwe = i != 0;
		b.qp->attr.rre = i != 1;
		b.qp->attr.rae = i != 2;
		b.mr->rkey ^= 0x100; /* also wrong */
		uint16_t at = i == 0   ? adapter_write(&a, &b, 0, 0, 8, SIGNALLED)
			      : i == 1 ? adapter_read(&a, &b, 0, 0, 8, SIGNALLED)
				       : adapter_atomic(&a, &b, OP_FA, 8, add, 0, 0, SIGNALLED);
		run();
		adapter_expect_error(&a, at, INVALID_REQUEST, 0x8a);
		assert_int_equal(b.qp->state, MLX5SWI_ERR);
		assert_int_equal(b.qp->counters.executed, 0);
		adapter_stop();
	}
}

static void dereg_under_traffic(void **state)
{
	(void)state;
	begin();
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	run();
	adapter_expect(&a, 0, OP_WRITE);
	uint16_t at = adapter_write(&a, &b, 0, 8, 8, SIGNALLED);
	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	run();
	adapter_expect_error(&a, at, ACCESS, 0x88);
	assert_int_equal(b.memory[0], 0xaa);
	assert_int_equal(b.memory[8], 0);
	adapter_stop();
}

/* The memory of a READ is deregistered while its response is being sent. */
static void dereg_within_a_read(void **state)
{
	(void)state;
	begin();
	uint16_t at = adapter_read(&a, &b, 0, 0, 40 * MTU, SIGNALLED);
	adapter_ring(&a);
	for (int i = 0; i < 4 && a.memory[0] == 0xaa; i++)
		mlx5sw_step();
	assert_int_equal(a.memory[39 * MTU], 0xaa);
	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	adapter_idle();
	adapter_expect_error(&a, at, ACCESS, 0x88);
	adapter_stop();
}

static void addresses_by_iova(void **state)
{
	(void)state;
	begin();
	struct ibv_mr *mr = ibv_reg_mr_iova(b.pd, b.memory + 4096, 4096, 0,
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(mr);
	assert_int_equal(ends_with(OP_WRITE, 16, mr->rkey, 8), 0);
	assert_int_equal(b.memory[4096 + 16], 0xaa);
	assert_int_equal(ends_with(OP_WRITE, (uintptr_t)b.memory + 4096, mr->rkey, 8), ACCESS);
	adapter_stop();
}

/* Other traffic of the pair ends with the queue pair that has refused. */
static void nak_ends_the_responder(void **state)
{
	(void)state;
	begin();
	assert_int_equal(ends_with(OP_WRITE, (uintptr_t)b.memory, b.mr->rkey ^ 1, 8), ACCESS);
	uint16_t at = adapter_write(&b, &a, 0, 0, 8, 0);
	adapter_ring(&b);
	adapter_idle();
	adapter_expect_error(&b, at, FLUSHED, 0xf9);
	adapter_stop();
}

/* Responses stay in order: READs before a refused request are answered. */
static void nak_follows_earlier_responses(void **state)
{
	(void)state;
	begin();
	memset(b.memory, 0x5b, 64);
	uint16_t read = adapter_read(&a, &b, 0, 0, 64, SIGNALLED);
	b.mr->rkey ^= 1;
	uint16_t bad = adapter_read(&a, &b, 64, 0, 64, SIGNALLED);
	run();
	adapter_expect(&a, read, OP_READ);
	adapter_expect_error(&a, bad, ACCESS, 0x88);
	assert_int_equal(a.memory[63], 0x5b);
	assert_int_equal(a.memory[64], 0xaa);
	adapter_stop();
}

/* Two requests to refuse, one of them while a response is being sent: the first is refused, once.
 */
static void one_nak(void **state)
{
	(void)state;
	const mlx5swi_rule_t count = {.fault = MLX5SWI_DUPLICATE,
				      .host = 1,
				      .device = MLX5SWI_ANY,
				      .qpn = MLX5SWI_ANY,
				      .index = MLX5SWI_ANY,
				      .opcode = MLX5SWI_ANY,
				      .kind = 1u << MLX5SWI_ACK,
				      .left = UINT64_MAX};
	begin();
	assert_int_equal(mlx5swi_rule_add(&count), 0);
	uint16_t at = adapter_read(&a, &b, 0, 0, 40 * MTU, SIGNALLED);
	adapter_ring(&a);
	mlx5sw_step();
	adapter_read(&a, &b, 0, 0, 8, SIGNALLED);
	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	run();
	adapter_expect_error(&a, at, ACCESS, 0x88);
	assert_int_equal(mlx5swi_rules()->n_hits, 1);
	adapter_stop();
}

static void err_sends_no_responses(void **state)
{
	(void)state;
	const mlx5swi_rule_t lose = {.fault = MLX5SWI_DROP,
				     .host = 1,
				     .device = MLX5SWI_ANY,
				     .qpn = MLX5SWI_ANY,
				     .index = MLX5SWI_ANY,
				     .opcode = MLX5SWI_ANY,
				     .kind = 1u << MLX5SWI_ACK,
				     .left = 1};
	begin();
	assert_int_equal(mlx5swi_rule_add(&lose), 0);
	uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(b.memory[0], 0xaa);
	adapter_error(&b); /* responses that it would repeat are not repeated */
	adapter_idle();
	adapter_expect_error(&a, at, RETRY, 0x81);
	adapter_stop();
}

/* In INIT no packet is accepted, not even one without a source. */
static void init_accepts_no_packets(void **state)
{
	const adapter_spec_t spec = {.host = 1};
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	adapter_init(&b);
	mlx5swi_packet_t *p = mlx5swi_packet_new(a.qp, MLX5SWI_ATOMIC, 0);
	p->dqpn = b.qp->qpn;
	p->sqpn = 0;
	p->raddr = (uintptr_t)b.memory;
	p->rkey = b.mr->rkey;
	p->width = 8;
	mlx5swi_port_arrive(&b.qp->dev->port, p);
	adapter_idle();
	assert_int_equal(b.qp->counters.packets_received, 0);
	adapter_stop();
}

static uint16_t write_imm(uint32_t imm)
{
	adapter_wqe_t w = {.ds = 0};
	adapter_control(&w, &a, OP_WRITE_IMM, 0, SIGNALLED);
	imm = htobe32(imm);
	memcpy(w.bytes + 12, &imm, sizeof(imm));
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
	adapter_data(&w, 2 * MTU, a.mr->lkey, (uintptr_t)a.memory);
	return adapter_post(&a, &w);
}

static void receiver_not_ready(void **state)
{
	const adapter_spec_t spec = {.host = 1, .rq_wqes = 4};
	adapter_cqe_t cqe;
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	adapter_connect(&a, &b);
	uint16_t at = write_imm(0x12345678);
	b.dbr[0] = htobe32(0xffff); /* behind the first index */
	adapter_ring(&a);
	adapter_step();
	adapter_expect_none(&a);
	assert_int_equal(b.qp->state, MLX5SWI_RTS);
	b.dbr[0] = htobe32(1);
	adapter_idle();
	adapter_expect(&a, at, OP_WRITE_IMM);
	assert_true(adapter_poll(&b, &cqe));
	assert_int_equal(cqe.opcode, 1);
	assert_int_equal(cqe.imm, 0x12345678);
	assert_int_equal(cqe.nbytes, 2 * MTU);
	assert_int_equal(cqe.counter, 0);
	at = write_imm(1);
	run();
	adapter_expect_error(&a, at, RNR, 0x87);
	adapter_stop();
}

static void receives_are_flushed(void **state)
{
	const adapter_spec_t spec = {.host = 1, .rq_wqes = 4};
	adapter_cqe_t cqe;
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	adapter_connect(&a, &b);
	b.dbr[0] = htobe32(3);
	adapter_error(&b);
	adapter_idle();
	for (int i = 0; i < 3; i++) {
		assert_true(adapter_poll(&b, &cqe));
		assert_int_equal(cqe.opcode, 14);
		assert_int_equal(cqe.syndrome, FLUSHED);
		assert_int_equal(cqe.counter, i);
	}
	adapter_expect_none(&b);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_and_range),
		cmocka_unit_test(address_wraps),
		cmocka_unit_test(rights_of_the_mr),
		cmocka_unit_test(key_of_another_pd),
		cmocka_unit_test(partial_write),
		cmocka_unit_test(partial_write_at_a_byte),
		cmocka_unit_test(permission_comes_before_the_key),
		cmocka_unit_test(dereg_under_traffic),
		cmocka_unit_test(dereg_within_a_read),
		cmocka_unit_test(addresses_by_iova),
		cmocka_unit_test(nak_ends_the_responder),
		cmocka_unit_test(nak_follows_earlier_responses),
		cmocka_unit_test(one_nak),
		cmocka_unit_test(err_sends_no_responses),
		cmocka_unit_test(init_accepts_no_packets),
		cmocka_unit_test(receiver_not_ready),
		cmocka_unit_test(receives_are_flushed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
