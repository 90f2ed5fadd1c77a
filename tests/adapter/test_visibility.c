/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Orders in which the device may execute, and orders in which it may not. Each "may" has a schedule
 * that shows it; each "never" holds in all schedules that are tried. */
#include "fixture.h"
#include <endian.h>

enum { N_SEEDS = 2000 };
enum { DATA = 0, SIGNAL = 4096 };

static adapter_end_t a, b, c, d; /* c and d: a second pair */

static uint64_t word(const adapter_end_t *e, uint32_t offset)
{
	uint64_t v;
	memcpy(&v, e->memory + offset, sizeof(v));
	return v;
}

static void begin(uint64_t seed, uint32_t chaos, uint32_t n_devices)
{
	mlx5sw_config_t cfg = adapter_config();
	cfg.chaos = chaos;
	cfg.n_devices = n_devices;
	adapter_start(&cfg);
	adapter_seed = seed;
	adapter_pair(&a, &b);
	memset(a.memory, 0xaa, ADAPTER_NBYTES);
}

/* Returns whether a schedule shows the property. */
typedef int shows_t(uint64_t seed, uint32_t argument);

static int count(shows_t *shows, uint32_t argument)
{
	int n = 0;
	for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
		n += shows(seed, argument);
		adapter_stop();
	}
	return n;
}

/* Check after each step of a schedule. Returns 1 if is_seen was true at one of them. */
static int happens(int (*is_seen)(void))
{
	for (int n = 0; n < 10000; n++) {
		if (is_seen())
			return 1;
		if (!mlx5sw_step())
			return 0;
	}
	fail_msg("%s", "the device never becomes idle");
	return 0;
}

/* One WRITE of four words */

static int only_last(void)
{
	return word(&b, DATA + 24) && !word(&b, DATA);
}

static int only_first(void)
{
	return word(&b, DATA) && !word(&b, DATA + 24);
}

static int is_torn(void)
{
	uint64_t v = word(&b, DATA + 8);
	return v && v != 0xaaaaaaaaaaaaaaaau;
}

static int completed_early(void)
{
	return adapter_slot(&a, 0).opcode == CQE_REQ && !word(&b, DATA);
}

static int (*const sights[])(void) = {only_last, only_first, is_torn, completed_early};

static int one_write(uint64_t seed, uint32_t sight)
{
	begin(seed, MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_ORDER, 1);
	adapter_write(&a, &b, DATA, DATA, 32, SIGNALLED);
	adapter_ring(&a);
	return happens(sights[sight]);
}

static void bytes_of_a_write_come_in_any_order(void **state)
{
	(void)state;
	assert_true(count(one_write, 0) > 0);
	assert_true(count(one_write, 1) > 0);
	assert_int_equal(count(one_write, 2), 0);
}

static void completion_may_precede_placement(void **state)
{
	(void)state;
	assert_true(count(one_write, 3) > 0);
}

/* Data, then a signal. The signal is always in the second half of b's memory. */

enum how { BY_WRITE, BY_ATOMIC, BY_OTHER_QP };

#define RELAXED_DATA 0x10u
#define RELAXED_SIGNAL 0x20u

static int signalled_early(void)
{
	return word(&b, SIGNAL) && !word(&b, DATA);
}

static void relax(uint32_t offset, adapter_end_t *view)
{
	*view = b;
	view->mr = ibv_reg_mr(b.pd, b.memory + offset, 4096,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING);
	assert_non_null(view->mr);
}

static void second_pair(void)
{
	const adapter_spec_t with_a = {.with = &a}, with_b = {.host = 1, .with = &b};
	adapter_make(&c, &with_a);
	adapter_make(&d, &with_b);
	adapter_connect(&c, &d);
}

static int data_and_signal(uint64_t seed, uint32_t how)
{
	const uint64_t one[2] = {1, 0};
	adapter_end_t data, signal;
	begin(seed, MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_ATOMIC, 1);
	data = signal = b;
	if (how & RELAXED_DATA)
		relax(DATA, &data);
	if (how & RELAXED_SIGNAL)
		relax(SIGNAL, &signal);
	if ((how & 15) == BY_OTHER_QP)
		second_pair();
	adapter_write(&a, &data, DATA, DATA, 64, 0);
	if ((how & 15) == BY_WRITE)
		adapter_write(&a, &signal, SIGNAL, SIGNAL, 8, 0);
	else if ((how & 15) == BY_ATOMIC)
		adapter_atomic(&a, &signal, OP_FA, 8, one, 8192, SIGNAL, 0);
	else
		adapter_write(&c, &signal, SIGNAL, SIGNAL, 8, 0);
	adapter_ring(&a);
	if ((how & 15) == BY_OTHER_QP)
		adapter_ring(&c);
	return happens(signalled_early);
}

static void writes_of_a_queue_pair_stay_in_order(void **state)
{
	(void)state;
	assert_int_equal(count(data_and_signal, BY_WRITE), 0);
	assert_int_equal(count(data_and_signal, BY_ATOMIC), 0);
}

static void signal_in_relaxed_ordering_memory(void **state)
{
	(void)state;
	assert_true(count(data_and_signal, BY_WRITE | RELAXED_DATA | RELAXED_SIGNAL) > 0);
	/* A strictly ordered WRITE waits for all earlier ones, and so does an atomic. */
	assert_int_equal(count(data_and_signal, BY_WRITE | RELAXED_DATA), 0);
	assert_int_equal(count(data_and_signal, BY_ATOMIC | RELAXED_DATA), 0);
	assert_true(count(data_and_signal, BY_ATOMIC | RELAXED_DATA | RELAXED_SIGNAL) > 0);
}

static void signal_on_another_queue_pair(void **state)
{
	(void)state;
	assert_true(count(data_and_signal, BY_OTHER_QP) > 0);
}

/* A WRITE with immediate data */

static int received_early(void)
{
	return adapter_slot(&b, 0).opcode == 1 && word(&b, DATA + 24) != 0xaaaaaaaaaaaaaaaau;
}

static int write_imm(uint64_t seed, uint32_t argument)
{
	const adapter_spec_t spec = {.host = 1, .rq_wqes = 4};
	mlx5sw_config_t cfg = adapter_config();
	adapter_wqe_t w = {.ds = 0};
	(void)argument;
	cfg.chaos = MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_PLACE;
	adapter_start(&cfg);
	adapter_seed = seed;
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	adapter_connect(&a, &b);
	memset(a.memory, 0xaa, 4096);
	adapter_control(&w, &a, OP_WRITE_IMM, 0, 0);
	adapter_remote(&w, (uintptr_t)b.memory + DATA, b.mr->rkey);
	adapter_data(&w, 2080, a.mr->lkey, (uintptr_t)a.memory);
	adapter_post(&a, &w);
	b.dbr[0] = htobe32(1);
	adapter_ring(&a);
	return happens(received_early);
}

static void receive_completion_follows_its_data(void **state)
{
	(void)state;
	assert_int_equal(count(write_imm, 0), 0);
}

/* READs */

static int read_and_write(uint64_t seed, uint32_t chaos)
{
	begin(seed, chaos, 1);
	adapter_read(&a, &b, 8192, DATA, 8, SIGNALLED);
	adapter_write(&a, &b, DATA, DATA, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_READ);
	adapter_expect(&a, 1, OP_WRITE);
	return word(&a, 8192) != 0;
}

static void read_may_see_a_later_write(void **state)
{
	(void)state;
	assert_int_equal(count(read_and_write, 0), 0);
	assert_true(count(read_and_write, MLX5SW_CHAOS_ORDER) > 0);
}

static int write_and_read(uint64_t seed, uint32_t chaos)
{
	begin(seed, chaos, 1);
	adapter_write(&a, &b, DATA, DATA, 64, 0);
	adapter_read(&a, &b, 8192, DATA + 56, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 1, OP_READ);
	return word(&a, 8192) != 0xaaaaaaaaaaaaaaaau;
}

static void read_returns_earlier_writes(void **state)
{
	(void)state;
	assert_int_equal(count(write_and_read, MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_PLACE), 0);
}

/* Atomics: two queue pairs add to one word of host 1, by one device or by two. */

static int add_twice(uint64_t seed, uint32_t argument)
{
	const uint32_t n_devices = argument & 15;
	const adapter_spec_t other = {.host = 0, .device = n_devices - 1};
	const adapter_spec_t target = {.host = 1, .device = n_devices - 1};
	const uint64_t one[2] = {1, 0};
	begin(seed, MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_ATOMIC, n_devices);
	adapter_make(&c, &other);
	adapter_make(&d, &target);
	adapter_connect(&c, &d);
	d.memory = b.memory;
	d.mr = ibv_reg_mr(d.pd, b.memory, 4096,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
				  (argument & RELAXED_DATA ? IBV_ACCESS_RELAXED_ORDERING : 0));
	adapter_atomic(&a, &b, OP_FA, 8, one, 8192, DATA, SIGNALLED);
	adapter_atomic(&c, &d, OP_FA, 8, one, 8192, DATA, SIGNALLED);
	adapter_ring(&a);
	adapter_ring(&c);
	adapter_idle();
	adapter_expect(&a, 0, OP_FA);
	adapter_expect(&c, 0, OP_FA);
	return word(&b, DATA) != 2;
}

static void atomics_are_atomic_within_a_device_alone(void **state)
{
	(void)state;
	assert_int_equal(count(add_twice, 1), 0);
	assert_int_equal(count(add_twice, 1 | RELAXED_DATA), 0);
	assert_true(count(add_twice, 2) > 0);
}

/* The next world begins when memory of the last one may already be freed. */

static void ended_world_places_nothing(void **state)
{
	(void)state;
	uint64_t seed = 1;
	while (!one_write(seed, 3)) {
		adapter_stop();
		seed++;
	}
	mlx5sw_stop();
	assert_int_equal(word(&b, DATA), 0);
	adapter_start(NULL);
	adapter_stop();
}

static void world_ends_within_an_atomic(void **state)
{
	(void)state;
	const mlx5sw_config_t cfg = adapter_config();
	const uint64_t one[2] = {1, 0};
	begin(1, MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_ATOMIC, 1);
	adapter_atomic(&a, &b, OP_FA, 8, one, 8192, DATA, 0);
	adapter_ring(&a);
	mlx5swi_device_t *dev = b.qp->dev;
	while (!dev->half_atomic)
		assert_true(mlx5sw_step() > 0);
	assert_int_equal(mlx5sw_start(&cfg, NULL), 0);
	assert_null(mlx5swi_device(1, 0)->half_atomic);
	assert_int_equal(word(&b, DATA), 0);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_a_write_come_in_any_order),
		cmocka_unit_test(completion_may_precede_placement),
		cmocka_unit_test(writes_of_a_queue_pair_stay_in_order),
		cmocka_unit_test(signal_in_relaxed_ordering_memory),
		cmocka_unit_test(signal_on_another_queue_pair),
		cmocka_unit_test(receive_completion_follows_its_data),
		cmocka_unit_test(read_may_see_a_later_write),
		cmocka_unit_test(read_returns_earlier_writes),
		cmocka_unit_test(atomics_are_atomic_within_a_device_alone),
		cmocka_unit_test(ended_world_places_nothing),
		cmocka_unit_test(world_ends_within_an_atomic),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
