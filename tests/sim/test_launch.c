/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Launches: shapes, identity, streams, early exit, scratch, virtual time, agents. */
#include "sim_test.h"

#define MAX_THREADS 4096

static uint32_t visits[MAX_THREADS];

typedef struct shape {
	uint32_t grid[3], block[3];
} shape_t;

static void identity_kernel(const void *params)
{
	const shape_t *s = params;
	const shmemsim_thread_t *me = shmemsim_self;
	CHECK(shmemd_arch_ntids() == s->block[0] * s->block[1] * s->block[2]);
	CHECK(shmemd_arch_nblocks() == s->grid[0] * s->grid[1] * s->grid[2]);
	CHECK(shmemd_arch_lane() == shmemd_arch_tid() % 32);
	CHECK(me->thread_idx[0] +
		      s->block[0] * (me->thread_idx[1] + s->block[1] * me->thread_idx[2]) ==
	      shmemd_arch_tid());
	CHECK(me->block_idx[0] + s->grid[0] * (me->block_idx[1] + s->grid[1] * me->block_idx[2]) ==
	      shmemd_arch_block());
	visits[shmemd_arch_block() * shmemd_arch_ntids() + shmemd_arch_tid()]++;
}

static int launch_shape(int pe, int n_pes, void *arg)
{
	const shape_t *s = arg;
	(void)pe;
	(void)n_pes;
	return shmemsim_launch_3d(identity_kernel, s, sizeof(*s), s->grid, s->block, 0, NULL) ||
	       shmemsim_sync(NULL);
}

static void test_shapes(void **state)
{
	static const shape_t shapes[] = {
		{{1, 1, 1}, {1, 1, 1}}, {{4, 1, 1}, {256, 1, 1}}, {{1, 1, 1}, {1024, 1, 1}},
		{{2, 3, 2}, {5, 3, 2}}, {{1, 1, 1}, {33, 1, 1}},
	};
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		shape_t s = shapes[i];
		uint32_t n =
			s.grid[0] * s.grid[1] * s.grid[2] * s.block[0] * s.block[1] * s.block[2];
		memset(visits, 0, sizeof(visits));
		assert_good(shmemsim_run(&cfg, 1, launch_shape, &s));
		for (uint32_t t = 0; t < MAX_THREADS; t++)
			assert_int_equal(visits[t], t < n);
	}
}

static void nothing(const void *params)
{
	(void)params;
}

static void launches_again(const void *params)
{
	(void)params;
	shmemsim_launch(nothing, NULL, 0, 1, 1, 0, NULL);
}

static int bad_launches(int pe, int n_pes, void *arg)
{
	static const uint32_t grids[2][3] = {{1u << 22, 1u << 21, 1u << 21},
					     {1u << 31, (1u << 31) + 1, 4}};
	static const uint32_t one[3] = {1, 1, 1};

	(void)pe;
	(void)n_pes;
	(void)arg;
	CHECK(shmemsim_launch(nothing, NULL, 0, 1, 1025, 0, NULL) == 1);
	CHECK(strstr(shmemsim_report(), "more than 1024 threads in a block (1025)"));
	CHECK(shmemsim_launch(nothing, NULL, 0, 0, 32, 0, NULL) == 1);
	CHECK(strstr(shmemsim_report(), "0 x 1 x 1 blocks of 32 x 1 x 1 threads: each dimension"));
	CHECK(shmemsim_launch(nothing, NULL, 0, 1, 0, 0, NULL) == 1);
	CHECK(strstr(shmemsim_report(), "1 x 1 x 1 blocks of 0 x 1 x 1 threads: each dimension"));
	CHECK(shmemsim_launch(NULL, NULL, 0, 1, 32, 0, NULL) == 1);
	CHECK(shmemsim_launch(nothing, NULL, 0, 1u << 31, 1024, 0, NULL) == 1);
	/* 2^64 blocks, and 2^64 + 2^48: 0 and 2^48 if they were counted by 64 bits */
	CHECK(shmemsim_launch_3d(nothing, NULL, 0, grids[0], one, 0, NULL) == 1);
	CHECK(strstr(shmemsim_report(), "in a grid; blocks (4294967295)"));
	CHECK(shmemsim_launch_3d(nothing, NULL, 0, grids[1], one, 0, NULL) == 1);
	CHECK(strstr(shmemsim_report(), "in a grid; blocks (4294967295)"));
	CHECK(shmemsim_launch(launches_again, NULL, 0, 1, 1, 0, NULL) == 0);
	CHECK(shmemsim_sync(NULL) == 0);
	CHECK(strstr(shmemsim_report(), "from within a kernel"));
	return 0;
}

static void test_bad_launches(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_good(shmemsim_run(&cfg, 1, bad_launches, NULL));
}

/* Streams: kernels of one stream run in order, kernels of two streams run concurrently. */

static uint32_t word;

static void add_then_double(const void *params)
{
	const uint32_t *add = params;
	for (int i = 0; i < 10; i++)
		shmemsim_yield();
	word = 2 * (word + *add);
}

static void wait_word(const void *params)
{
	const uint32_t *value = params;
	while (shmemd_arch_ld_acquire_u32(&word) != *value)
		shmemd_arch_spin_hint();
}

static void set_word(const void *params)
{
	const uint32_t *value = params;
	shmemd_arch_st_release_u32(&word, *value);
}

static int streams(int pe, int n_pes, void *arg)
{
	int a, b;
	(void)pe;
	(void)n_pes;
	(void)arg;
	word = 0;
	for (uint32_t i = 1; i <= 3; i++) /* params are copied: i changes while the kernels run */
		CHECK(shmemsim_launch(add_then_double, &i, sizeof(i), 1, 1, 0, &a) == 0);
	CHECK(shmemsim_sync(&a) == 0);
	CHECK(word == 2 * (2 * (2 * 1 + 2) + 3));
	uint32_t seven = 7;
	CHECK(shmemsim_launch(wait_word, &seven, sizeof(seven), 1, 32, 0, &a) == 0);
	CHECK(shmemsim_launch(set_word, &seven, sizeof(seven), 1, 1, 0, &b) == 0);
	CHECK(shmemsim_sync(&a) == 0 && shmemsim_sync(&b) == 0);
	CHECK(shmemsim_sync(&seven) == 0); /* a stream that was never used */
	return 0;
}

static void test_streams(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_good(shmemsim_run(&cfg, 1, streams, NULL));
}

/* Odd lanes exit; barriers and collectives of the others do not wait for them. */
static void early_exit(const void *params)
{
	(void)params;
	if (shmemd_arch_tid() % 2)
		return;
	shmemd_arch_syncwarp();
	CHECK(shmemd_arch_warp_any(shmemd_arch_tid() == 0) == (shmemd_arch_tid() < 32));
	shmemd_arch_bar_sync(0, shmemd_arch_ntids());
	if (shmemd_arch_tid() == 0)
		return;
	shmemd_arch_bar_sync(0, shmemd_arch_ntids());
}

/* One thread exits while all others already wait for it. */
static void late_exit(const void *params)
{
	(void)params;
	if (shmemd_arch_tid() == 40) {
		for (int i = 0; i < 5; i++)
			shmemsim_yield();
		return;
	}
	shmemd_arch_bar_sync(0, shmemd_arch_ntids());
}

static void test_early_exit(void **state)
{
	(void)state;
	assert_good(run_kernel(NULL, early_exit, NULL, 0, 2, 64));
	assert_good(run_kernel(NULL, late_exit, NULL, 0, 2, 64));
}

static void scratch(const void *params)
{
	static const char key_a, key_b;
	uint32_t *a = shmemsim_shared(&key_a, 64 * sizeof(*a));
	uint64_t *b = shmemsim_shared(&key_b, sizeof(*b));
	uint32_t *dynamic = shmemsim_dynamic_shared();
	uint32_t tid = shmemd_arch_tid();
	(void)params;
	a[tid] = tid + 100 * shmemd_arch_block();
	dynamic[tid] = tid;
	if (tid == 0)
		*b = shmemd_arch_block();
	shmemd_arch_bar_sync(0, 64);
	CHECK(a[63 - tid] == 63 - tid + 100 * shmemd_arch_block());
	CHECK(dynamic[63 - tid] == 63 - tid);
	CHECK(*b == shmemd_arch_block());
}

static int scratch_pe(int pe, int n_pes, void *arg)
{
	(void)pe;
	(void)n_pes;
	(void)arg;
	return shmemsim_launch(scratch, NULL, 0, 3, 64, 64 * sizeof(uint32_t), NULL) ||
	       shmemsim_sync(NULL);
}

static void scratch_sizes(const void *params)
{
	static const char key;
	(void)params;
	shmemsim_shared(&key, 8 + shmemd_arch_tid());
}

static void no_dynamic(const void *params)
{
	(void)params;
	CHECK(shmemsim_dynamic_shared() == NULL);
}

static void test_scratch(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_good(shmemsim_run(&cfg, 2, scratch_pe, NULL));
	assert_good(run_kernel(NULL, no_dynamic, NULL, 0, 1, 1));
	assert_bad(run_kernel(NULL, scratch_sizes, NULL, 0, 1, 2),
		   "requests 9 bytes, another thread has requested 8");
}

/* A poll loop with a limit of two seconds ends, in virtual time, and reads the clock only at times,
 * as the library's loops do. */
static void two_seconds(const void *params)
{
	uint64_t start = shmemd_arch_time_ns();
	(void)params;
	for (unsigned turn = 1; shmemd_arch_ld_acquire_u32(&word) != 1; turn++) {
		shmemd_arch_spin_hint();
		if (turn % 64 == 0 && shmemd_arch_time_ns() - start >= 2000000000u)
			return;
	}
}

static void sleeps(const void *params)
{
	uint64_t start = shmemd_arch_time_ns();
	(void)params;
	shmemsim_sleep(1000000u * (1 + shmemd_arch_tid()));
	CHECK(shmemd_arch_time_ns() - start >= 1000000u * (1 + shmemd_arch_tid()));
	CHECK(shmemd_arch_time_ns() - start < 1000000u * (2 + shmemd_arch_tid()));
}

static void test_virtual_time(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	word = 0;
	cfg.max_steps = 1000000; /* in few polls: the clock's jumps grow */
	assert_good(run_kernel(&cfg, two_seconds, NULL, 0, 1, 64));
	assert_good(run_kernel(NULL, sleeps, NULL, 0, 2, 32));
}

/* An agent answers requests of the PEs; it does not keep the run alive. */

static uint32_t request[2], answer[2];

static void server(void *arg)
{
	uint32_t pe = *(const uint32_t *)arg, seen = 0;
	for (;;) {
		while (shmemd_arch_ld_acquire_u32(&request[pe]) == seen)
			shmemd_arch_spin_hint();
		seen = shmemd_arch_ld_acquire_u32(&request[pe]);
		shmemd_arch_st_release_u32(&answer[pe], seen * seen);
	}
}

static int asks(int pe, int n_pes, void *arg)
{
	static const uint32_t pes[2] = {0, 1};
	(void)n_pes;
	(void)arg;
	CHECK(shmemsim_agent("server", server, (void *)(uintptr_t)&pes[pe]) == 0);
	for (uint32_t i = 1; i < 20; i++) {
		shmemd_arch_st_release_u32(&request[pe], i);
		while (shmemd_arch_ld_acquire_u32(&answer[pe]) != i * i)
			shmemd_arch_spin_hint();
	}
	return 0;
}

static void test_agents(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	memset(request, 0, sizeof(request));
	memset(answer, 0, sizeof(answer));
	assert_good(shmemsim_run(&cfg, 2, asks, NULL));
	assert_int_equal(shmemsim_agent("late", server, NULL), 1);
}

static int returns_pe(int pe, int n_pes, void *arg)
{
	(void)arg;
	return pe == n_pes - 1 ? 3 : 0;
}

static int nested(int pe, int n_pes, void *arg)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)pe;
	(void)n_pes;
	(void)arg;
	return shmemsim_run(&cfg, 1, returns_pe, NULL) != 1;
}

static void test_run_results(void **state)
{
	static const uint16_t list[] = {18};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_bad(shmemsim_run(&cfg, 4, returns_pe, NULL), "PE 3 returned 3");
	assert_bad(shmemsim_run(&cfg, 0, returns_pe, NULL), "with 0 PEs");
	assert_good(shmemsim_run(&cfg, 1, nested, NULL));
	cfg.policy = 17;
	assert_bad(shmemsim_run(&cfg, 1, returns_pe, NULL), "no scheduling policy 17");
	cfg.policy = SHMEMSIM_REPLAY;
	cfg.replay = list;
	cfg.n_replay = 1;
	assert_bad(shmemsim_run(&cfg, 1, returns_pe, NULL), "list begins with 18, which is no");
	cfg.size--;
	assert_bad(shmemsim_run(&cfg, 1, returns_pe, NULL), "SHMEMSIM_CONFIG_INIT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),  cmocka_unit_test(test_bad_launches),
		cmocka_unit_test(test_streams), cmocka_unit_test(test_early_exit),
		cmocka_unit_test(test_scratch), cmocka_unit_test(test_virtual_time),
		cmocka_unit_test(test_agents),  cmocka_unit_test(test_run_results),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
