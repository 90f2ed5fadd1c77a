/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations from doorbell to completion. */
#include "fixture.h"

static adapter_end_t a, b;

static void fill(uint8_t *p, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		p[i] = (uint8_t)(i * 31 + i / 251);
}

static void write_of_each_length(void **state)
{
	(void)state;
	adapter_start(NULL);
	adapter_pair(&a, &b);
	fill(a.memory, 8192);
	for (uint32_t n = 0; n < 4100; n = n < 70 ? n + 1 : n + 337) {
		memset(b.memory, 0xee, 8192);
		uint16_t index = adapter_write(&a, &b, 5, 9, n, SIGNALLED);
		adapter_ring(&a);
		adapter_idle();
		adapter_expect(&a, index, OP_WRITE);
		assert_memory_equal(b.memory + 9, a.memory + 5, n);
		assert_int_equal(b.memory[8], 0xee);
		assert_int_equal(b.memory[9 + n], 0xee);
	}
	adapter_expect_none(&a);
	adapter_expect_clean();
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_of_each_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
