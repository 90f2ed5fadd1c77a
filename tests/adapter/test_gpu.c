/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* GPU memory, with a driver that executes copies as late as it may (cuda/fake_cuda.h): all data is
 * in place when it is announced, and the number of waits is as small as expected. */
#include "cuda/fake_cuda.h"
#include "fixture_fault.h"
#include "mlx5sw/engine/step.h"
#include "pair.h"

enum { BIG = 40000 };

static uint8_t data[ADAPTER_NBYTES], got[ADAPTER_NBYTES];
static unsigned n_announced;

/* Check that the data that a completion announces is in place. */
static void checked_store(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	mlx5sw_hooks_t plain;

	if (access == MLX5SW_CQE || access == MLX5SW_CQE_OWNER) {
		assert_int_equal(fake_cuda_pending(), 0);
		assert_int_equal(mlx5swi_w->engine->gpus_written, 0);
		n_announced++;
	}
	mlx5swi_plain_hooks(&plain);
	plain.store(arg, dst, src, nbytes, access);
}

static void move_to_gpu(adapter_end_t *e)
{
	e->memory = fake_cuda_alloc(ADAPTER_NBYTES);
	e->mr = ibv_reg_mr(e->pd, e->memory, ADAPTER_NBYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(e->mr);
}

static void begin(const mlx5sw_config_t *cfg)
{
	start(cfg, NULL);
	move_to_gpu(&a);
	move_to_gpu(&b);
	mlx5swi_w->hooks.store = checked_store;
	fill(data, sizeof(data));
	fake_cuda_put(a.memory, data, sizeof(data));
	n_announced = 0;
	fake_cuda_waits();
}

static void finish(void)
{
	end();
	fake_cuda_free(a.memory);
	fake_cuda_free(b.memory);
}

static uint64_t word(const adapter_end_t *e, uint32_t at)
{
	uint64_t v;

	fake_cuda_get(&v, e->memory + at, sizeof(v));
	return v;
}

static void arrived(const adapter_end_t *e, uint32_t at, const uint8_t *want, uint32_t nbytes)
{
	fake_cuda_get(got, e->memory, sizeof(got));
	assert_memory_equal(got + at, want, nbytes);
}

/* One wait for the source, one for the received packets. */
static void write_of_many_packets(void **state)
{
	(void)state;
	begin(NULL);
	const uint16_t at = adapter_write(&a, &b, 3, 77, BIG, SIGNALLED);
	go();
	adapter_expect(&a, at, OP_WRITE);
	arrived(&b, 77, data + 3, BIG);
	assert_int_equal(word(&b, 77 + BIG), 0);
	assert_in_range(fake_cuda_waits(), 2, 4);
	finish();
}

static void read_of_many_packets(void **state)
{
	(void)state;
	begin(NULL);
	fake_cuda_put(b.memory, data, sizeof(data));
	const uint16_t at = adapter_read(&a, &b, 5, 130, BIG, SIGNALLED);
	go();
	adapter_expect(&a, at, OP_READ);
	arrived(&a, 5, data + 130, BIG);
	assert_in_range(fake_cuda_waits(), 2, 8);
	finish();
}

/* A kernel may poll for the second message, then read the first. */
static void messages_one_after_the_other(void **state)
{
	const uint64_t flag = 1;

	(void)state;
	begin(NULL);
	adapter_write(&a, &b, 0, 0, 100, 0);
	adapter_write_inline(&a, &b, 1000, &flag, sizeof(flag), 0);
	adapter_write(&a, &b, 0, 2000, 5000, 0);
	const uint16_t at = adapter_atomic(&a, &b, OP_FA, 8, &flag, 60000, 8000, SIGNALLED);
	go();
	adapter_expect(&a, at, OP_FA);
	assert_in_range(fake_cuda_written(b.memory + 99), 1, UINT32_MAX);
	assert_true(fake_cuda_written(b.memory + 1000) > fake_cuda_written(b.memory + 99));
	assert_true(fake_cuda_written(b.memory + 2000) > fake_cuda_written(b.memory + 1000));
	assert_true(fake_cuda_written(b.memory + 8000) > fake_cuda_written(b.memory + 6999));
	finish();
}

static void atomics_on_one_word(void **state)
{
	(void)state;
	begin(NULL);
	for (uint64_t i = 0; i < 8; i++) {
		const uint64_t add = 1u << i;

		adapter_atomic(&a, &b, OP_FA, 8, &add, (uint32_t)(8 * i), 512,
			       i == 7 ? SIGNALLED : 0);
	}
	go();
	adapter_expect(&a, 7, OP_FA);
	assert_int_equal(word(&b, 512), 255);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(word(&a, 8 * i), (1u << i) - 1);
	assert_in_range(fake_cuda_waits(), 2, 12);
	finish();
}

/* Atomics on several words, and between WRITEs to them and READs of them. */
static void atomics_between_others(void **state)
{
	const uint64_t one = 1, start = 100;

	(void)state;
	begin(NULL);
	for (uint32_t i = 0; i < 3; i++) {
		adapter_atomic(&a, &b, OP_FA, 8, &one, 0, 512, 0);
		adapter_atomic(&a, &b, OP_FA, 8, &one, 8, 520, 0);
		adapter_write_inline(&a, &b, 512, &start, sizeof(start), 0);
		adapter_atomic(&a, &b, OP_FA, 8, &one, 16, 512, 0);
		adapter_read(&a, &b, 24, 512, 16, FENCED);
	}
	const uint16_t at = adapter_nop(&a, SIGNALLED);
	go();
	adapter_expect(&a, at, OP_NOP);
	assert_int_equal(word(&a, 0), 101);
	assert_int_equal(word(&a, 8), 2);
	assert_int_equal(word(&a, 16), 100);
	assert_int_equal(word(&a, 24), 101);
	assert_int_equal(word(&a, 32), 3);
	assert_int_equal(word(&b, 512), 101);
	finish();
}

static void source_past_its_end(void **state)
{
	adapter_wqe_t w;

	(void)state;
	begin(NULL);
	adapter_control(&w, &a, OP_WRITE, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
	adapter_data(&w, 3000, a.mr->lkey, (uintptr_t)a.memory + ADAPTER_NBYTES - 1024);
	const uint16_t at = adapter_post(&a, &w);
	go();
	adapter_expect_error(&a, at, 0x04, 0x53);
	arrived(&b, 0, data + ADAPTER_NBYTES - 1024, 1024);
	assert_int_equal(word(&b, 1024), 0);
	finish();
}

static void write_cut_at_a_byte(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("cut write nbytes=13 n=1");
	const uint16_t at = adapter_write(&a, &b, 0, 0, 64, SIGNALLED);
	go();
	adapter_expect_error(&a, at, NO_ACCESS);
	fake_cuda_get(got, b.memory, 64);
	assert_memory_equal(got, data, 13);
	assert_int_equal(got[13], 0);
	finish();
}

/* Each packet is read, sent, lost, and read again when it is sent again. */
static void lost_packets(void **state)
{
	(void)state;
	begin(NULL);
	fault_control("drop packet kind=request n=5");
	fault_control("drop packet kind=ack n=1");
	const uint16_t at = adapter_write(&a, &b, 9, 9, BIG, SIGNALLED);
	go();
	adapter_expect(&a, at, OP_WRITE);
	arrived(&b, 9, data + 9, BIG);
	finish();
}

/* It reads as zeros. */
static void region_memory_freed_early(void **state)
{
	static const uint8_t zeros[64];

	(void)state;
	begin(NULL);
	fake_cuda_free(b.memory);
	adapter_write(&a, &b, 0, 0, BIG, 0);
	const uint16_t at = adapter_read(&a, &b, 0, 0, 64, SIGNALLED);
	go();
	adapter_expect(&a, at, OP_READ);
	arrived(&a, 0, zeros, sizeof(zeros));
	finish();
}

/* Segments in any order, queues and packets in random order: the final bytes are the same. */
static void random_placement_and_order(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_ATOMIC;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const uint64_t one = 1;

		begin(&cfg);
		adapter_seed = seed;
		adapter_write(&a, &b, 1, 2, 9000, 0);
		adapter_atomic(&a, &b, OP_FA, 8, &one, 64000, 16000, 0);
		adapter_atomic(&a, &b, OP_FA, 8, &one, 64008, 16000, 0);
		const uint16_t at = adapter_read(&a, &b, 20000, 0, 9008, SIGNALLED);
		go();
		adapter_expect(&a, at, OP_READ);
		arrived(&b, 2, data + 1, 9000);
		arrived(&a, 20002, data + 1, 9000);
		assert_int_equal(word(&b, 16000), 2);
		assert_int_equal(word(&a, 64008), 1);
		finish();
	}
}

/* The adapter allocates two buffers, makes a stream, and allocates memory to warm up. If one of
 * these calls fails, it keeps nothing, and the next registration tries again. */
static void first_use_fails(void **state)
{
	enum { N_CALLS = 4, N_HELD = 3 };

	(void)state;
	for (unsigned n = 1; n <= N_CALLS; n++) {
		adapter_start(NULL);
		uint8_t *p = fake_cuda_alloc(64);
		fake_cuda_fail(n);
		assert_false(mlx5swi_is_gpu(p));
		assert_int_equal(fake_cuda_held(), 0);
		fake_cuda_fail(n);
		assert_false(mlx5swi_is_gpu(p));
		assert_int_equal(fake_cuda_held(), 0);
		fake_cuda_fail(0);
		assert_true(mlx5swi_is_gpu(p));
		assert_true(mlx5swi_is_gpu(p));
		assert_int_equal(fake_cuda_held(), N_HELD);
		adapter_stop();
		assert_int_equal(fake_cuda_held(), 0);
		fake_cuda_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_of_many_packets),
		cmocka_unit_test(read_of_many_packets),
		cmocka_unit_test(messages_one_after_the_other),
		cmocka_unit_test(atomics_on_one_word),
		cmocka_unit_test(atomics_between_others),
		cmocka_unit_test(source_past_its_end),
		cmocka_unit_test(write_cut_at_a_byte),
		cmocka_unit_test(lost_packets),
		cmocka_unit_test(region_memory_freed_early),
		cmocka_unit_test(random_placement_and_order),
		cmocka_unit_test(first_use_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
