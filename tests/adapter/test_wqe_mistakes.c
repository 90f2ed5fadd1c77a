/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mistakes in WQEs, rows W1 to W8 of the adapter's table: the device's behaviour and the report of
 * lint. */
#include <endian.h>
#include "wqe_mistakes.h"

static void ds_of_zero(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "12345678", 8);
	adapter_set_ds(&w, 0);
	fails(0x02, 0);
	ends_with("W1");
}

static void ds_too_large(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "12345678", 8);
	adapter_set_ds(&w, 4);
	fails(0x02, 0);
	ends_with("W1");
}

static void ds_of_other_wqebbs(void **state)
{
	(void)state;
	begin();
	/* By its ds the second WQE has 2 WQEBBs, and one was written: the third WQEBB has half of
	 * the fourth WQE. */
	adapter_control(&w, &a, OP_NOP, 0, 0);
	adapter_set_ds(&w, 5);
	w.ds = 1;
	adapter_post(&a, &w);
	adapter_write_inline(&a, &b, 3000, "a message of more than one WQEBB, which goes on", 44,
			     0);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 3, 0x02, 0);
	adapter_expect_none(&a);
	ends_with("W2");
}

/* By its ds the last produced WQE has more WQEBBs than were produced. */
static void past_the_producer(void **state)
{
	(void)state;
	begin();
	adapter_control(&w, &a, OP_NOP, 0, SIGNALLED);
	adapter_set_ds(&w, 5);
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_NOP);
	adapter_expect_none(&a);
	assert_int_equal(a.qp->counters.wqes, 2);
	assert_int_equal(a.qp->counters.wqebbs, 3);
	ends_with("W2");
}

static void longer_than_the_queue(void **state)
{
	const adapter_spec_t spec = {.sq_wqebbs = 2};

	(void)state;
	start(NULL, &spec);
	adapter_control(&w, &a, OP_NOP, 0, SIGNALLED);
	adapter_set_ds(&w, 9);
	adapter_post(&a, &w);
	a.pi = 2;
	adapter_ring(&a);
	adapter_idle();
	adapter_expect_error(&a, 0, 0x02, 0);
	adapter_expect_none(&a);
	adapter_stop();
}

/* A wrong WQE is reported once while it waits for earlier ones. */
static void report_appears_once(void **state)
{
	(void)state;
	begin();
	adapter_read(&a, &b, 0, 0, 60000, SIGNALLED);
	adapter_control(&w, &a, OP_UMR, 0, 0);
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_READ);
	adapter_expect_error(&a, 2, 0x02, 0);
	assert_non_null(strstr(mlx5sw_report(0), "(1 times)"));
	ends_with("W3");
}

static void unknown_opcode(void **state)
{
	static const uint8_t opcodes[][2] = {{0x0a, 0},     {OP_UMR, 0},         {0x0f, 0},
					     {0xff, 0xff},  {OP_WRITE, 1},       {OP_MASKED_CS, 0},
					     {OP_FA, 0x09}, {OP_MASKED_FA, 0x0a}};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		begin();
		adapter_control(&w, &a, opcodes[i][0], opcodes[i][1], 0);
		adapter_remote(&w, remote(3000), b.mr->rkey);
		adapter_data(&w, 8, a.mr->lkey, local(0));
		fails(0x02, 0);
		ends_with("W3");
	}
}

/* A WQEBB that was half written when the doorbell arrived. */
static void stale_wqebb(void **state)
{
	(void)state;
	begin();
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	memset(w.bytes, 0, 16); /* NOP with ds 0: a zeroed ring */
	fails(0x02, 0);
	ends_with("W1");
}

static void little_endian(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, htobe32(a.mr->lkey), local(0));
	fails(0x04, 0x52);
	ends_with("W4");

	begin();
	write_to(3000);
	adapter_data(&w, htobe32(8), a.mr->lkey, local(ADAPTER_NBYTES - 500));
	fails(0x04, 0x53);
	ends_with("W4");

	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey, htobe64(local(0)));
	fails(0x04, 0x53);
	ends_with("W4");
}

static void little_endian_remote(void **state)
{
	(void)state;
	begin();
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(3000), htobe32(b.mr->rkey));
	adapter_data(&w, 8, a.mr->lkey, local(0));
	fails(0x13, 0x88);
	ends_with("W4");

	begin();
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, htobe64(remote(3000)), b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	fails(0x13, 0x88);
	ends_with("W4");

	begin(); /* wrong, but not by byte order */
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(ADAPTER_NBYTES), b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	fails(0x13, 0x88);
	ends_with(NULL);
}

static void index_field(void **state)
{
	(void)state;
	begin();
	adapter_control(&w, &a, OP_WRITE, 0, SIGNALLED);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	w.bytes[2] = 77;
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_WRITE); /* the device's own counter */
	assert_int_equal(b.memory[3000], 0x11);
	assert_true(mlx5sw_failed());
	ends_with("W5");
}

static void other_qpn(int lint)
{
	mlx5sw_config_t cfg = adapter_config();

	cfg.lint = (uint8_t)lint;
	start(&cfg, NULL);
	before();
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	w.bytes[6] ^= 1;
}

static void qpn_field(void **state)
{
	(void)state;
	other_qpn(MLX5SW_LINT_STRICT);
	fails(0x02, 0);
	ends_with("W6");
	other_qpn(MLX5SW_LINT_REPORT);
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_none(&a);
	assert_int_equal(b.memory[3000], 0x11);
	ends_with("W6");
}

static void unknown_lkey(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey ^ 1, local(0));
	fails(0x04, 0x52);
	ends_with(NULL);
}

/* Of an atomic, which is not executed. */
static void unknown_lkey_of_a_result(void **state)
{
	const uint64_t one = 1;

	(void)state;
	begin();
	adapter_control(&w, &a, OP_FA, 0, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_operands(&w, &one, 1, 8);
	adapter_data(&w, 8, a.mr->lkey ^ 1, local(0));
	fails(0x04, 0x52);
	assert_int_equal(b.memory[3000], 0);
	ends_with(NULL);
}

static void lkey_of_another_pd(void **state)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	(void)state;
	begin();
	pd = ibv_alloc_pd(a.ctx);
	mr = ibv_reg_mr(pd, a.memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	write_to(3000);
	adapter_data(&w, 8, mr->lkey, local(0));
	fails(0x04, 0x52);
	ends_with(NULL);
}

static void past_the_end(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey, local(ADAPTER_NBYTES - 7));
	fails(0x04, 0x53);
	ends_with(NULL);
}

/* The packets before the one that cannot be read have been sent. */
static void past_the_end_in_the_middle(void **state)
{
	(void)state;
	begin();
	memset(a.memory + ADAPTER_NBYTES - 1024, 0x22, 1024);
	write_to(8000);
	adapter_data(&w, 3000, a.mr->lkey, local(ADAPTER_NBYTES - 1024));
	fails(0x04, 0x53);
	assert_int_equal(b.memory[8000 + 1023], 0x22);
	assert_int_equal(b.memory[8000 + 1024], 0);
	ends_with(NULL);
}

/* The request is sent, and later ones too, since only the response fails. */
static void no_local_write(void **state)
{
	const uint64_t one = 1;
	struct ibv_mr *mr;

	(void)state;
	begin();
	mr = ibv_reg_mr(a.pd, a.memory, 4096, 0);
	adapter_control(&w, &a, OP_READ, 0, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_data(&w, 8, mr->lkey, local(0));
	fails_alone(0x04, 0x33);
	adapter_stop();

	begin();
	mr = ibv_reg_mr(a.pd, a.memory, 4096, 0);
	adapter_control(&w, &a, OP_FA, 0, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_operands(&w, &one, 1, 8);
	adapter_data(&w, 8, mr->lkey, local(0));
	fails_alone(0x04, 0x33);
	assert_int_equal(b.memory[3000], 1);
	ends_with(NULL);
}

static void inline_past_ds(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "1234567890123456", 16);
	adapter_set_ds(&w, 3);
	fails(0x02, 0);
	ends_with("W8");
}

/* Without the flag the payload is decoded as a key and an address. */
static void no_inline_flag(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "12345678", 8);
	w.bytes[32] = 0;
	fails(0x04, 0x52);
	ends_with("W8");
}

static void inline_flag_in_a_list(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	adapter_inline(&w, "12345678", 8);
	fails(0x02, 0);
	ends_with("W8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ds_of_zero),
		cmocka_unit_test(ds_too_large),
		cmocka_unit_test(ds_of_other_wqebbs),
		cmocka_unit_test(past_the_producer),
		cmocka_unit_test(longer_than_the_queue),
		cmocka_unit_test(report_appears_once),
		cmocka_unit_test(unknown_opcode),
		cmocka_unit_test(stale_wqebb),
		cmocka_unit_test(little_endian),
		cmocka_unit_test(little_endian_remote),
		cmocka_unit_test(index_field),
		cmocka_unit_test(qpn_field),
		cmocka_unit_test(unknown_lkey),
		cmocka_unit_test(unknown_lkey_of_a_result),
		cmocka_unit_test(lkey_of_another_pd),
		cmocka_unit_test(past_the_end),
		cmocka_unit_test(past_the_end_in_the_middle),
		cmocka_unit_test(no_local_write),
		cmocka_unit_test(inline_past_ds),
		cmocka_unit_test(no_inline_flag),
		cmocka_unit_test(inline_flag_in_a_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
