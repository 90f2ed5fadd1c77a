/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rules that the adapter breaks on request (mlx5sw_unlike) and that are tested here byte by byte;
 * tests/selftest/unlike.sh shows that the self-test finds each. */
#include "pair.h"

#define NBYTES 2051u /* three packets of at most 1024 bytes */

static void start_unlike(uint32_t rule)
{
	mlx5sw_config_t cfg = adapter_config();

	cfg.unlike = rule;
	start(&cfg, NULL);
	fill(a.memory, 4096);
	fill(b.memory + 10000, 4096);
}

/* The last byte of the message arrives, with another value; that of even length is right. */
static void last_byte_of_a_write(void **state)
{
	(void)state;
	start_unlike(MLX5SW_UNLIKE_WRITE);
	b.memory[NBYTES] = 0xee;
	adapter_write(&a, &b, 0, 0, NBYTES, SIGNALLED);
	adapter_write(&a, &b, 0, 5000, NBYTES - 1, SIGNALLED);
	go();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_WRITE);
	assert_memory_equal(b.memory, a.memory, NBYTES - 1);
	assert_int_equal(b.memory[NBYTES - 1], (uint8_t)~a.memory[NBYTES - 1]);
	assert_int_equal(b.memory[NBYTES], 0xee);
	assert_memory_equal(b.memory + 5000, a.memory, NBYTES - 1);
	end();
}

/* The last byte of the message, and of no other packet of it, stays as it was. */
static void last_byte_of_a_read(void **state)
{
	(void)state;
	start_unlike(MLX5SW_UNLIKE_READ);
	memset(a.memory + 20000, 0xee, 2 * NBYTES);
	b.memory[10000 + NBYTES - 1] = 0x11;
	adapter_read(&a, &b, 20000, 10000, NBYTES, SIGNALLED);
	adapter_read(&a, &b, 30000, 10000, NBYTES - 1, SIGNALLED);
	go();
	adapter_expect(&a, 0, OP_READ);
	adapter_expect(&a, 1, OP_READ);
	assert_memory_equal(a.memory + 20000, b.memory + 10000, NBYTES - 1);
	assert_int_equal(a.memory[20000 + NBYTES - 1], 0xee);
	assert_memory_equal(a.memory + 30000, b.memory + 10000, NBYTES - 1);
	end();
}

/* The response of the READ takes the place of the acknowledgement, with which the WRITE would be
 * placed. Deregistration places it: the program may free the memory next. */
static void dereg_places_what_no_read_has_pushed(void **state)
{
	(void)state;
	start_unlike(MLX5SW_UNLIKE_READ_QUIET);
	memset(b.memory, 0xee, 64);
	adapter_write(&a, &b, 0, 0, 64, 0);
	adapter_read(&a, &b, 20000, 0, 64, SIGNALLED);
	go();
	adapter_expect(&a, 1, OP_READ);
	assert_memory_equal(a.memory + 20000, b.memory, 64);
	assert_int_equal(b.memory[0], 0xee);
	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	assert_memory_equal(b.memory, a.memory, 64);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_byte_of_a_write),
		cmocka_unit_test(last_byte_of_a_read),
		cmocka_unit_test(dereg_places_what_no_read_has_pushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
