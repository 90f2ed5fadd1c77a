/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mistakes with slots and memory that a device does not notice. */
#include <stdio.h>
#include "fixture_fault.h"

enum { BLOCKS = 8 };

static adapter_end_t a, b;

static void begin(uint32_t chaos)
{
	const adapter_spec_t spec = {.sq_blocks = BLOCKS}, peer = {.host = 1};
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

/* The only report is of this row, this queue pair and this block. */
static void expect_report(const char *row, uint16_t index)
{
	char want[100];
	assert_true(mlx5sw_failed());
	assert_null(mlx5sw_report(1));
	snprintf(want, sizeof(want), "%s: host 0 mlx5_0 QP 0x%x block %u: ", row, a.qp->qpn, index);
	if (strncmp(mlx5sw_report(0), want, strlen(want)) != 0)
		fail_msg("%s", mlx5sw_report(0));
}

/* The second block is the first WQE's, by whoever wrote it, but not by its ds. */
static void w2_names_the_wqe_before(void **state)
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
			strstr(line, " block 1: no WQE starts here, but the one at block 0 takes 1 "
				     "by its ds") != NULL;
	assert_int_equal(found, 1);
	adapter_stop();
}

static void r3_no_completion_can_free_a_slot(void **state)
{
	(void)state;
	begin(0);
	post(BLOCKS - 1, 0);
	adapter_expect_clean(); /* the next one may ask for one */
	post(1, 0);
	expect_report("R3", BLOCKS - 1);
	adapter_stop();
	begin(0);
	for (int i = 0; i < 3; i++) {
		post(BLOCKS - 1, 0);
		post(1, SIGNALLED);
	}
	adapter_expect_clean();
	adapter_stop();
}

/* A slot that is written in part: the device sees what was there before, or that it was not. */
static void r7_slot_written_in_part(void **state)
{
	(void)state;
	for (int is_poisoned = 0; is_poisoned < 2; is_poisoned++) {
		begin(is_poisoned ? MLX5SW_CHAOS_POISON : 0);
		for (uint32_t i = 0; i < 3 * BLOCKS; i++) { /* whole ones do no harm */
			post(1, SIGNALLED);
			adapter_expect(&a, (uint16_t)i, OP_WRITE);
		}
		assert_int_equal(a.sq[0], is_poisoned ? 0xc1 : 0);
		a.sq[1] = 3 * BLOCKS >> 8; /* the index alone is new */
		a.sq[2] = 3 * BLOCKS & 0xff;
		a.pi++;
		adapter_ring(&a);
		adapter_idle();
		if (is_poisoned)
			adapter_expect_error(&a, 3 * BLOCKS, 0x02, 0);
		else
			adapter_expect(&a, 3 * BLOCKS, OP_WRITE);
		adapter_stop();
	}
}

/* Before the completion says that the slots may be written; each block, across the end, too. */
static void r7_before_the_completion(void **state)
{
	(void)state;
	begin(MLX5SW_CHAOS_POISON);
	post(BLOCKS - 2, SIGNALLED);
	fault_tell("hold cqe n=1");
	adapter_write_inline(&a, &b, 0, a.memory, 200, SIGNALLED); /* blocks 6, 7, 0, 1 */
	adapter_ring(&a);
	adapter_idle();
	for (uint32_t i = 0; i < BLOCKS * 64; i++)
		assert_int_equal(a.sq[i], 0xc1);
	a.sq[6 * 64] = 0x11;
	fault_tell("release cqes");
	adapter_idle();
	assert_int_equal(a.sq[6 * 64], 0x11); /* not again */
	assert_memory_equal(b.memory, a.memory, 200);
	adapter_stop();
}

/* The one that sends needs it as long as it may have to send again. */
static void m3_dereg_before_the_completion(void **state)
{
	(void)state;
	begin(0);
	post(1, SIGNALLED);
	fault_tell("drop packet kind=write n=1");
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

static void m3_dereg_after_it(void **state)
{
	(void)state;
	begin(0);
	post(2, SIGNALLED);
	adapter_write_inline(&a, &b, 0, a.memory, 8, 0); /* needs none */
	adapter_ring(&a);
	assert_int_equal(ibv_dereg_mr(a.mr), 0);
	adapter_idle();
	adapter_expect_clean();
	adapter_stop();
}

/* What is sent again is read again. */
static void m8_buffer_reused_before_the_completion(void **state)
{
	(void)state;
	begin(0);
	fault_tell("drop packet kind=write n=1");
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
		cmocka_unit_test(w2_names_the_wqe_before),
		cmocka_unit_test(r3_no_completion_can_free_a_slot),
		cmocka_unit_test(r7_slot_written_in_part),
		cmocka_unit_test(r7_before_the_completion),
		cmocka_unit_test(m3_dereg_before_the_completion),
		cmocka_unit_test(m3_dereg_after_it),
		cmocka_unit_test(m8_buffer_reused_before_the_completion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
