/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mistakes in WQEs, rows W9 to W16 of the adapter's table. */
#include <endian.h>
#include "wqe_mistakes.h"

static void segment_of_zero_bytes(void **state)
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

static void message_too_long(void **state)
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

static void masked_cs_with_a_short_ds(void **state)
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

static void data_segment_in_the_first_wqebb(void **state)
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

static void atomic_of_another_width_than_its_data(void **state)
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

/* The device executes the WQE as written: half-swapped operands give other results, not errors. */
static void operands_not_swapped(void **state)
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

/* Software must swap a result of 4 bytes, and must not swap one of 8. */
static void result_of_4_bytes(void **state)
{
	const uint64_t add[2] = {1, 0}, wide = 0x0102030405060708;
	const uint8_t narrow[4] = {0xfe, 0xca, 0xad, 0x0b}, swapped[4] = {0x0b, 0xad, 0xca, 0xfe};
	const uint32_t after = 0x0badcaff;

	(void)state;
	begin();
	memcpy(b.memory + 3000, narrow, 4);
	memcpy(b.memory + 3008, &wide, 8);
	adapter_atomic(&a, &b, OP_MASKED_FA, 4, add, 64, 3000, SIGNALLED);
	adapter_atomic(&a, &b, OP_MASKED_FA, 8, add, 72, 3008, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_MASKED_FA);
	adapter_expect(&a, 2, OP_MASKED_FA);
	assert_memory_equal(b.memory + 3000, &after, 4);
	assert_memory_equal(a.memory + 64, swapped, 4);
	assert_memory_equal(a.memory + 72, &wide, 8);
	ends_with(NULL);
}

static void sign(adapter_wqe_t *s)
{
	uint8_t x = 0xff;

	for (uint32_t i = 0; i < 16 * s->ds; i++)
		x ^= s->bytes[i];
	s->bytes[8] = x;
}

static void wrong_signature(void **state)
{
	const adapter_spec_t spec = {.is_signed = 1};

	(void)state;
	for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
		start(NULL, &spec);
		adapter_control(&w, &a, OP_WRITE, 0, SIGNALLED);
		adapter_remote(&w, remote(1000), b.mr->rkey);
		adapter_inline(&w, "a message of more than one WQEBB, which goes on", 44);
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

static void reserved_bytes(void **state)
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

static void atomic_not_aligned(void **state)
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

static void atomic_mode_of_the_qp(void **state)
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
		cmocka_unit_test(segment_of_zero_bytes),
		cmocka_unit_test(message_too_long),
		cmocka_unit_test(masked_cs_with_a_short_ds),
		cmocka_unit_test(data_segment_in_the_first_wqebb),
		cmocka_unit_test(atomic_of_another_width_than_its_data),
		cmocka_unit_test(operands_not_swapped),
		cmocka_unit_test(result_of_4_bytes),
		cmocka_unit_test(wrong_signature),
		cmocka_unit_test(reserved_bytes),
		cmocka_unit_test(atomic_not_aligned),
		cmocka_unit_test(atomic_mode_of_the_qp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
