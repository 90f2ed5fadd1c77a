/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mistakes with WQEBBs and memory that a device does not notice. */
#include <stdio.h>
#include "fixture_fault.h"

enum { WQEBBS = 8 };

static adapter_end_t a, b;

static void begin(uint32_t chaos)
{
	const adapter_spec_t spec = {.sq_wqebbs = WQEBBS}, peer = {.host = 1};
	mlx5sw_config_t cfg = adapter_config();
	cfg.chaos = chaos;
	adapter_start(&cfg);
	adapter_make(&a, &spec);
	adapter_make(&b, &peer);
	adapter_connect(&a, &b);
	memset(a.memory, 0xaa, ADAPTER_NBYTES);
}

static void post(uint32_t n, uint8_t flags)
{
	for (uint32_t i = 0; i < n; i++)
		adapter_write(&a, &b, 0, 0, 8, flags);
	adapter_ring(&a);
	adapter_idle();
}

/* Check that the only report has this row, queue pair and WQEBB. */
static void expect_report(const char *row, uint16_t index)
{
	char want[100];
	assert_true(mlx5sw_failed());
	assert_null(mlx5sw_report(1));
	snprintf(want, sizeof(want), "%s: host 0 mlx5_0 QP 0x%x WQEBB %u: ", row, a.qp->qpn, index);
	if (strncmp(mlx5sw_report(0), want, strlen(want)) != 0)
		fail_msg("%s", mlx5sw_report(0));
}

/* The second WQEBB belongs to the first WQE as the program wrote it, but not by its ds. */
static void wrong_ds_of_the_previous_wqe_is_reported(void **state)
{
	const char *line;
	int found = 0;
	(void)state;
	begin(0);
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	memset(a.sq + 64, 0x41, 64);
	a.pi++;
	adapter_nop(&a, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 1, 0x02, 0);
	for (unsigned i = 0; (line = mlx5sw_report(i)) != NULL; i++)
		found +=
			strstr(line, " WQEBB 1: no WQE starts here, but the one at WQEBB 0 takes 1 "
				     "by its ds") != NULL;
	assert_int_equal(found, 1);
	adapter_stop();
}

static void no_completion_can_free_a_wqebb(void **state)
{
	(void)state;
	begin(0);
	post(WQEBBS - 1, 0);
	adapter_expect_clean(); /* the next WQE may request a completion */
	post(1, 0);
	expect_report("R3", WQEBBS - 1);
	adapter_stop();
	begin(0);
	for (int i = 0; i < 3; i++) {
		post(WQEBBS - 1, 0);
		post(1, SIGNALLED);
	}
	adapter_expect_clean();
	adapter_stop();
}

/* A WQEBB that is written in part: the device finds old bytes, or that it was not written. */
static void wqebb_written_in_part(void **state)
{
	(void)state;
	for (int is_poisoned = 0; is_poisoned < 2; is_poisoned++) {
		begin(is_poisoned ? MLX5SW_CHAOS_POISON : 0);
		/* WQEBBs written as a whole cause no report */
		for (uint32_t i = 0; i < 3 * WQEBBS; i++) {
			post(1, SIGNALLED);
			adapter_expect(&a, (uint16_t)i, OP_WRITE);
		}
		assert_int_equal(a.sq[0], is_poisoned ? 0xc1 : 0);
		a.sq[1] = 3 * WQEBBS >> 8; /* only the index is new */
		a.sq[2] = 3 * WQEBBS & 0xff;
		a.pi++;
		adapter_ring(&a);
		adapter_idle();
		if (is_poisoned)
			adapter_expect_error(&a, 3 * WQEBBS, 0x02, 0);
		else
			adapter_expect(&a, 3 * WQEBBS, OP_WRITE);
		adapter_stop();
	}
}

/* Before the completion the program must not write to the WQEBBs; each WQEBB, also across the end.
 */
static void poison_before_the_completion(void **state)
{
	(void)state;
	begin(MLX5SW_CHAOS_POISON);
	post(WQEBBS - 2, SIGNALLED);
	fault_control("hold cqe n=1");
	adapter_write_inline(&a, &b, 0, a.memory, 200, SIGNALLED); /* WQEBBs 6, 7, 0, 1 */
	adapter_ring(&a);
	adapter_idle();
	for (uint32_t i = 0; i < WQEBBS * 64; i++)
		assert_int_equal(a.sq[i], 0xc1);
	a.sq[6 * 64] = 0x11;
	fault_control("release cqes");
	adapter_idle();
	assert_int_equal(a.sq[6 * 64], 0x11); /* not written again */
	assert_memory_equal(b.memory, a.memory, 200);
	adapter_stop();
}

/* The sender needs the memory as long as it may have to retransmit. */
static void dereg_before_the_completion(void **state)
{
	(void)state;
	begin(0);
	post(1, SIGNALLED);
	fault_control("drop packet kind=write n=1");
	const uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(ibv_dereg_mr(a.mr), 0);
	expect_report("M3", at);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, at, LOCAL_KEY);
	adapter_stop();
}

static void dereg_after_the_completion(void **state)
{
	(void)state;
	begin(0);
	post(2, SIGNALLED);
	adapter_write_inline(&a, &b, 0, a.memory, 8, 0); /* inline: needs no memory region */
	adapter_ring(&a);
	assert_int_equal(ibv_dereg_mr(a.mr), 0);
	adapter_idle();
	adapter_expect_clean();
	adapter_stop();
}

/* A retransmission reads the memory again. */
static void buffer_reused_before_the_completion(void **state)
{
	(void)state;
	begin(0);
	fault_control("drop packet kind=write n=1");
	const uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	memset(a.memory, 0xbb, 8);
	adapter_idle();
	adapter_expect(&a, at, OP_WRITE);
	assert_int_equal(b.memory[0], 0xbb);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_ds_of_the_previous_wqe_is_reported),
		cmocka_unit_test(no_completion_can_free_a_wqebb),
		cmocka_unit_test(wqebb_written_in_part),
		cmocka_unit_test(poison_before_the_completion),
		cmocka_unit_test(dereg_before_the_completion),
		cmocka_unit_test(dereg_after_the_completion),
		cmocka_unit_test(buffer_reused_before_the_completion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
