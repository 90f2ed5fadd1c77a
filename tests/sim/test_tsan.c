/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The order that thread sanitizer observes on fibers: fences, syncwarp, barriers and launches order
 * accesses, shuffles do not. The program runs itself once per case and checks for the sanitizer's
 * report. Without thread sanitizer there is nothing to test: exit status 77. */
#define SHMEMSIM_CUDA_DIALECT
#include "sim_test.h"
#include "../common/tsan_case.h"

static uint32_t data[64], more[64], sig;

static void wait_for(const uint32_t *word, uint32_t value)
{
	while (shmemd_arch_ld_acquire_u32(word) != value)
		shmemd_arch_spin_hint();
}

static int is_sender(void)
{
	return shmemd_arch_block() == 0;
}

static void read_data(void)
{
	wait_for(&sig, 1);
	CHECK(shmemd_arch_ld_data_u32(data) == 7);
}

static void fence_present(const void *params)
{
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(data, 7);
		shmemd_arch_fence_before_signal();
		shmemd_arch_st_relaxed_u32(&sig, 1);
	} else {
		read_data();
	}
}

static void fence_missing(const void *params)
{
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(data, 7);
		shmemd_arch_st_relaxed_u32(&sig, 1);
	} else {
		read_data();
	}
}

/* The fence is before the data instead of after it. */
static void fence_early(const void *params)
{
	(void)params;
	if (is_sender()) {
		shmemd_arch_fence_before_signal();
		shmemd_arch_st_data_u32(data, 7);
		shmemd_arch_st_relaxed_u32(&sig, 1);
	} else {
		read_data();
	}
}

static void release_store(const void *params)
{
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(data, 7);
		shmemd_arch_st_release_u32(&sig, 1);
	} else {
		read_data();
	}
}

static void atomic_signal(const void *params)
{
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(data, 7);
		shmemd_arch_fence_before_signal();
		shmemd_arch_red_add_u32(&sig, 1);
	} else {
		read_data();
	}
}

/* A relaxed poll, then a fence: equivalent to an acquire. */
static void fence_acquires(const void *params)
{
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(data, 7);
		shmemd_arch_st_release_u32(&sig, 1);
	} else {
		while (shmemd_arch_ld_relaxed_u32(&sig) != 1)
			shmemd_arch_spin_hint();
		shmemd_arch_fence_order();
		CHECK(shmemd_arch_ld_data_u32(data) == 7);
	}
}

static void relaxed_poll(const void *params)
{
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(data, 7);
		shmemd_arch_st_release_u32(&sig, 1);
	} else {
		while (shmemd_arch_ld_relaxed_u32(&sig) != 1)
			shmemd_arch_spin_hint();
		CHECK(shmemd_arch_ld_data_u32(data) == 7);
	}
}

/* A whole warp's data with its leader's fence: cumulative through syncwarp. */
static void warp_put(const void *params)
{
	uint32_t lane = shmemd_arch_lane();
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(&data[lane], lane);
		shmemd_arch_syncwarp();
		if (lane == 0) {
			shmemd_arch_fence_before_signal();
			shmemd_arch_st_relaxed_u32(&sig, 1);
		}
	} else {
		if (lane == 0)
			wait_for(&sig, 1);
		shmemd_arch_syncwarp();
		CHECK(shmemd_arch_ld_data_u32(&data[31 - lane]) == 31 - lane);
	}
}

static void warp_put_no_sync(const void *params)
{
	uint32_t lane = shmemd_arch_lane();
	(void)params;
	if (is_sender()) {
		shmemd_arch_st_data_u32(&data[lane], lane);
		if (lane == 31) { /* all others have stored by now */
			shmemd_arch_fence_before_signal();
			shmemd_arch_st_relaxed_u32(&sig, 1);
		}
	} else if (lane == 0) {
		wait_for(&sig, 1);
		CHECK(shmemd_arch_ld_data_u32(&data[5]) == 5);
	}
}

static void shuffle_orders_nothing(const void *params)
{
	uint32_t lane = shmemd_arch_lane(), *mine = &data[32 * shmemd_arch_block()];
	(void)params;
	shmemd_arch_st_data_u32(&mine[lane], lane);
	(void)shmemsim_coll(SHMEMSIM_SHFL, 0xffffffffu, lane, 0, 32);
	CHECK(shmemd_arch_ld_data_u32(&mine[31 - lane]) == 31 - lane);
}

static void syncwarp_orders(const void *params)
{
	uint32_t lane = shmemd_arch_lane(), *mine = &data[32 * shmemd_arch_block()];
	(void)params;
	for (uint32_t i = 0; i < 4; i++) {
		shmemd_arch_st_data_u32(&mine[lane], lane + i);
		shmemd_arch_syncwarp();
		CHECK(shmemd_arch_ld_data_u32(&mine[31 - lane]) == 31 - lane + i);
		shmemd_arch_syncwarp();
	}
}

static void barrier_orders(const void *params)
{
	static const char key;
	uint32_t *scratch = shmemsim_shared(&key, 64 * sizeof(*scratch));
	uint32_t tid = shmemd_arch_tid() % 64;
	(void)params;
	scratch[tid] = tid;
	shmemd_arch_bar_sync(0, shmemd_arch_ntids());
	CHECK(scratch[(tid + 1) % shmemd_arch_ntids()] == (tid + 1) % shmemd_arch_ntids());
}

/* Threads without synchronisation: run one after the other, even on the same stack, and still a
 * race. */
static void threads_are_unordered(const void *params)
{
	(void)params;
	more[0]++;
}

/* The agent is suspended when its run ends: the next run may write what it has read. */
static uint32_t plan;

static void agent(void *unused)
{
	(void)unused;
	while (plan)
		shmemd_arch_spin_hint();
}

static void beside_agent(const void *params)
{
	(void)params;
	shmemd_arch_spin_hint();
}

typedef struct test_case {
	const char *name;
	void (*kernel)(const void *params);
	int is_race;
} test_case_t;

static const test_case_t cases[] = {
	{"fence_present", fence_present, 0},
	{"fence_missing", fence_missing, 1},
	{"fence_early", fence_early, 1},
	{"release_store", release_store, 0},
	{"atomic_signal", atomic_signal, 0},
	{"fence_acquires", fence_acquires, 0},
	{"relaxed_poll", relaxed_poll, 1},
	{"warp_put", warp_put, 0},
	{"warp_put_no_sync", warp_put_no_sync, 1},
	{"shuffle_orders_nothing", shuffle_orders_nothing, 1},
	{"syncwarp_orders", syncwarp_orders, 0},
	{"barrier_orders", barrier_orders, 0},
	{"threads_are_unordered", threads_are_unordered, 1},
	{"beside_agent", beside_agent, 0},
};

#define N_CASES (sizeof(cases) / sizeof(cases[0]))
/* The host writes, a kernel reads and writes, a second kernel and the host read: no race. */
static int run_case(int pe, int n_pes, void *arg)
{
	const test_case_t *c = arg;
	uint32_t lanes = c->kernel == fence_present || c->kernel == fence_missing ||
					 c->kernel == fence_early || c->kernel == release_store ||
					 c->kernel == atomic_signal ||
					 c->kernel == fence_acquires || c->kernel == relaxed_poll
				 ? 1
				 : 32;
	(void)pe;
	(void)n_pes;
	plan++;
	if (c->kernel == beside_agent && shmemsim_agent("agent", agent, NULL))
		return 1;
	for (uint32_t i = 0; i < 3; i++) {
		data[0] = data[5] = sig = 0;
		if (shmemsim_launch(c->kernel, NULL, 0, 2, lanes, 0, NULL) || shmemsim_sync(NULL))
			return 1;
		more[1] = data[0] + data[5];
	}
	return 0;
}

static int child(const char *name)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	for (size_t i = 0; i < N_CASES; i++)
		if (strcmp(cases[i].name, name) == 0) {
			void *arg = (void *)(uintptr_t)&cases[i];
			int result = shmemsim_run(&cfg, 1, run_case, arg) ||
				     shmemsim_run(&cfg, 1, run_case, arg);
			fputs(shmemsim_report(), stderr);
			return result;
		}
	return 2;
}

static void test_cases(void **state)
{
	int bad = 0;
	(void)state;
	for (size_t i = 0; i < N_CASES; i++) {
		int status = tsan_case_status(cases[i].name);
		if (status != (cases[i].is_race ? RACE_STATUS : 0)) {
			print_error("%s: exit status %d\n", cases[i].name, status);
			bad++;
		}
	}
	assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
	if (!SHMEMDI_CPU_TSAN) {
		puts("skipped: not built with thread sanitizer");
		return 77;
	}
	return argc > 1 ? child(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
