/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mistakes in WQEs, rows W and R of the adapter's table: what the device does, what lint says. */
#include <endian.h>
#include "fixture.h"

static adapter_end_t a, b;
static adapter_wqe_t w;

static void start(const mlx5sw_config_t *cfg, const adapter_spec_t *spec)
{
	const adapter_spec_t other = {.host = 1};

	adapter_start(cfg);
	adapter_make(&a, spec);
	adapter_make(&b, &other);
	adapter_connect(&a, &b);
}

static uint64_t local(uint32_t offset)
{
	return (uintptr_t)a.memory + offset;
}

static uint64_t remote(uint32_t offset)
{
	return (uintptr_t)b.memory + offset;
}

/* A WRITE without its last segments. */
static void write_to(uint32_t offset)
{
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(offset), b.mr->rkey);
}

/* w is posted between two right WRITEs and fails so. */
static void fails_alone(uint8_t syndrome, uint8_t vendor)
{
	const uint32_t n = w.ds ? (w.ds + 3) / 4 : 1;

	adapter_post(&a, &w);
	adapter_write(&a, &b, 0, 2000, 8, 0);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 1, syndrome, vendor);
	adapter_expect_error(&a, (uint16_t)(1 + n), 0x05, 0xf9);
	adapter_expect_none(&a);
	assert_int_equal(a.qp->state, MLX5SWI_ERR);
	assert_int_equal(b.memory[1000], 0x11);
}

/* And nothing after it is executed. */
static void fails(uint8_t syndrome, uint8_t vendor)
{
	fails_alone(syndrome, vendor);
	assert_int_equal(b.memory[2000], 0);
}

static void before(void)
{
	memset(a.memory, 0x11, 4096);
	adapter_write(&a, &b, 0, 1000, 8, SIGNALLED);
}

static void begin(void)
{
	start(NULL, NULL);
	before();
}

static void ends_with(const char *row)
{
	if (row)
		assert_int_equal(adapter_reported(row), 1);
	else
		adapter_expect_clean();
	adapter_stop();
}

static void w1_ds_of_zero(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "12345678", 8);
	adapter_set_ds(&w, 0);
	fails(0x02, 0);
	ends_with("W1");
}

static void w1_ds_too_large(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "12345678", 8);
	adapter_set_ds(&w, 4);
	fails(0x02, 0);
	ends_with("W1");
}

static void w2_ds_of_other_blocks(void **state)
{
	(void)state;
	begin();
	/* The second WQE says 2 blocks, and one was written: in the third is half of the fourth. */
	adapter_control(&w, &a, OP_NOP, 0, 0);
	adapter_set_ds(&w, 5);
	w.ds = 1;
	adapter_post(&a, &w);
	adapter_write_inline(&a, &b, 3000, "a message of more than one block, which goes on", 44,
			     0);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 3, 0x02, 0);
	adapter_expect_none(&a);
	ends_with("W2");
}

/* The last one that was produced says more blocks than that. */
static void w2_past_the_producer(void **state)
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
	assert_int_equal(a.qp->counters.blocks, 3);
	ends_with("W2");
}

static void w2_longer_than_the_queue(void **state)
{
	const adapter_spec_t spec = {.sq_blocks = 2};

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

/* While it waits for those before, a wrong one is looked at once. */
static void w3_reported_once(void **state)
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

static void w3_unknown_opcode(void **state)
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

/* A block that was written by half when the doorbell came. */
static void w3_stale_block(void **state)
{
	(void)state;
	begin();
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	memset(w.bytes, 0, 16); /* NOP with ds 0: zeroed ring */
	fails(0x02, 0);
	ends_with("W1");
}

static void w4_little_endian(void **state)
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

static void w4_little_endian_rkey(void **state)
{
	(void)state;
	begin();
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(3000), htobe32(b.mr->rkey));
	adapter_data(&w, 8, a.mr->lkey, local(0));
	fails(0x13, 0x88);
	adapter_stop();
}

static void w5_index_field(void **state)
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

static void w6_qpn_field(void **state)
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

static void w7_unknown_lkey(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey ^ 1, local(0));
	fails(0x04, 0x52);
	ends_with(NULL);
}

/* Of an atomic: it is not executed. */
static void w7_unknown_lkey_of_a_result(void **state)
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

static void w7_lkey_of_another_pd(void **state)
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

static void w7_past_the_end(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey, local(ADAPTER_NBYTES - 7));
	fails(0x04, 0x53);
	ends_with(NULL);
}

/* Packets before the one that cannot be read have gone out. */
static void w7_past_the_end_in_the_middle(void **state)
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

/* The request goes out, and others after it, since only the answer fails. */
static void w7_no_local_write(void **state)
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

static void w8_inline_past_ds(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "1234567890123456", 16);
	adapter_set_ds(&w, 3);
	fails(0x02, 0);
	ends_with("W8");
}

/* Without the flag the payload is read as a key and an address. */
static void w8_no_inline_flag(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_inline(&w, "12345678", 8);
	w.bytes[32] = 0;
	fails(0x04, 0x52);
	ends_with("W8");
}

static void w8_inline_flag_in_a_list(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	adapter_inline(&w, "12345678", 8);
	fails(0x02, 0);
	ends_with("W8");
}

static void w9_segment_of_zero_bytes(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 0, a.mr->lkey, local(0));
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_none(&a);
	assert_int_equal(b.memory[3000], 0);
	ends_with("W9");
}

static void w10_message_too_long(void **state)
{
	mlx5swi_qp_attr_t attr;

	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &(adapter_spec_t){.host = 1});
	adapter_init(&a);
	adapter_init(&b);
	attr = adapter_attr(&a, &b);
	attr.log_msg_max = 10;
	adapter_modify(&a, &attr);
	attr = adapter_attr(&b, &a);
	adapter_modify(&b, &attr);
	before();
	write_to(3000);
	adapter_data(&w, 1025, a.mr->lkey, local(0));
	fails(0x01, 0);
	ends_with(NULL);
}

static void w11_masked_cs_with_a_short_ds(void **state)
{
	const uint64_t operands[4] = {1, 2, 3, 4};

	(void)state;
	begin();
	adapter_control(&w, &a, OP_MASKED_CS, 0x09, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_operands(&w, operands, 4, 8);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	adapter_set_ds(&w, 4);
	w.ds = 4;
	fails(0x02, 0);
	ends_with("W11");
}

static void w11_data_segment_in_the_first_block(void **state)
{
	const uint64_t operands[2] = {1, 2};

	(void)state;
	begin();
	adapter_control(&w, &a, OP_MASKED_CS, 0x09, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_operands(&w, operands, 2, 8);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	fails(0x02, 0);
	ends_with("W11");
}

static void w11_atomic_of_another_width_than_its_data(void **state)
{
	const uint64_t one = 1;

	(void)state;
	begin();
	adapter_control(&w, &a, OP_FA, 0, 0);
	adapter_remote(&w, remote(3000), b.mr->rkey);
	adapter_operands(&w, &one, 1, 8);
	adapter_data(&w, 4, a.mr->lkey, local(0));
	fails(0x01, 0);
	ends_with("W1");
}

/* The device executes what is written: half-swapped operands give other results, not errors. */
static void w12_operands_not_swapped(void **state)
{
	const uint64_t right[2] = {3, 0x00000080}, wrong[2] = {3, htobe32(0x00000080)};
	uint32_t word = 0x000000fe;

	(void)state;
	begin();
	memcpy(b.memory + 3000, &word, 4);
	memcpy(b.memory + 3004, &word, 4);
	adapter_atomic(&a, &b, OP_MASKED_FA, 4, right, 64, 3000, SIGNALLED);
	adapter_atomic(&a, &b, OP_MASKED_FA, 4, wrong, 64, 3004, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_MASKED_FA);
	adapter_expect(&a, 2, OP_MASKED_FA);
	memcpy(&word, b.memory + 3000, 4);
	assert_int_equal(word, 0x00000001);
	memcpy(&word, b.memory + 3004, 4);
	assert_int_equal(word, 0x00000101);
	ends_with(NULL);
}

static void sign(adapter_wqe_t *s)
{
	uint8_t x = 0xff;

	for (uint32_t i = 0; i < 16 * s->ds; i++)
		x ^= s->bytes[i];
	s->bytes[8] = x;
}

static void w13_signature(void **state)
{
	const adapter_spec_t spec = {.is_signed = 1};

	(void)state;
	for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
		start(NULL, &spec);
		adapter_control(&w, &a, OP_WRITE, 0, SIGNALLED);
		adapter_remote(&w, remote(1000), b.mr->rkey);
		adapter_inline(&w, "a message of more than one block, which goes on", 44);
		sign(&w);
		w.bytes[70] ^= (uint8_t)is_wrong;
		adapter_post(&a, &w);
		adapter_ring(&a);
		adapter_idle();
		if (is_wrong)
			adapter_expect_error(&a, 0, 0x02, 0);
		else
			adapter_expect(&a, 0, OP_WRITE);
		assert_int_equal(b.memory[1000], is_wrong ? 0 : 'a');
		ends_with(is_wrong ? "W13" : NULL);
	}
}

static void w14_reserved_bytes(void **state)
{
	(void)state;
	begin();
	write_to(3000);
	adapter_data(&w, 8, a.mr->lkey, local(0));
	w.bytes[16 + 15] = 1;
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	assert_int_equal(b.memory[3000], 0x11);
	ends_with("W14");
}

static void w15_atomic_not_aligned(void **state)
{
	const uint64_t operands[2] = {1, 0};

	(void)state;
	for (uint32_t off = 1; off < 8; off++) {
		begin();
		adapter_control(&w, &a, OP_FA, 0, 0);
		adapter_remote(&w, remote(3000 + off), b.mr->rkey);
		adapter_operands(&w, operands, 1, 8);
		adapter_data(&w, 8, a.mr->lkey, local(0));
		fails(0x12, 0x8a);
		ends_with(NULL);
	}
	begin();
	adapter_atomic(&a, &b, OP_MASKED_FA, 4, operands, 0, 3004, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_MASKED_FA);
	ends_with(NULL);
}

static void w16_atomic_mode(void **state)
{
	const uint64_t operands[2] = {1, 0};

	(void)state;
	for (uint8_t mode = 0; mode < 3; mode++) {
		begin();
		a.qp->attr.atomic_mode = mode;
		adapter_control(&w, &a, OP_MASKED_FA, 0x08, 0);
		adapter_remote(&w, remote(3000), b.mr->rkey);
		adapter_operands(&w, operands, 2, 4);
		adapter_data(&w, 4, a.mr->lkey, local(0));
		fails(0x02, 0);
		ends_with(NULL);
	}
	begin();
	a.qp->attr.atomic_mode = 2; /* 8 bytes */
	adapter_atomic(&a, &b, OP_FA, 8, operands, 0, 3000, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_FA);
	ends_with(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(w1_ds_of_zero),
		cmocka_unit_test(w1_ds_too_large),
		cmocka_unit_test(w2_ds_of_other_blocks),
		cmocka_unit_test(w2_past_the_producer),
		cmocka_unit_test(w2_longer_than_the_queue),
		cmocka_unit_test(w3_reported_once),
		cmocka_unit_test(w3_unknown_opcode),
		cmocka_unit_test(w3_stale_block),
		cmocka_unit_test(w4_little_endian),
		cmocka_unit_test(w4_little_endian_rkey),
		cmocka_unit_test(w5_index_field),
		cmocka_unit_test(w6_qpn_field),
		cmocka_unit_test(w7_unknown_lkey),
		cmocka_unit_test(w7_unknown_lkey_of_a_result),
		cmocka_unit_test(w7_lkey_of_another_pd),
		cmocka_unit_test(w7_past_the_end),
		cmocka_unit_test(w7_past_the_end_in_the_middle),
		cmocka_unit_test(w7_no_local_write),
		cmocka_unit_test(w8_inline_past_ds),
		cmocka_unit_test(w8_no_inline_flag),
		cmocka_unit_test(w8_inline_flag_in_a_list),
		cmocka_unit_test(w9_segment_of_zero_bytes),
		cmocka_unit_test(w10_message_too_long),
		cmocka_unit_test(w11_masked_cs_with_a_short_ds),
		cmocka_unit_test(w11_data_segment_in_the_first_block),
		cmocka_unit_test(w11_atomic_of_another_width_than_its_data),
		cmocka_unit_test(w12_operands_not_swapped),
		cmocka_unit_test(w13_signature),
		cmocka_unit_test(w14_reserved_bytes),
		cmocka_unit_test(w15_atomic_not_aligned),
		cmocka_unit_test(w16_atomic_mode),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
