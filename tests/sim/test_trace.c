/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The results of a failed search: a short list of choices that fails again, and a trace with
 * fibers, operations, memory and values. */
#include <stdlib.h>
#include "sim_test.h"

static uint32_t counter, arrived;
static uint64_t *heap;

/* Thread 0 of each block: load, add, store. The update is lost if the other block runs in between.
 */
static void loses_update(const void *params)
{
	(void)params;
	for (int i = 0; i < 20; i++) /* choices without an effect */
		(void)shmemd_arch_ld_relaxed_u32(&arrived);
	(void)shmemsim_choose(7);
	uint32_t v = shmemd_arch_ld_relaxed_u32(&counter);
	shmemd_arch_st_relaxed_u32(&counter, v + 1);
	if (shmemd_arch_atom_add_u32(&arrived, 1) == 2)
		CHECK(shmemd_arch_ld_acquire_u32(&counter) == 3);
}

static int lost_update(int pe, int n_pes, void *arg)
{
	(void)pe;
	(void)n_pes;
	(void)arg;
	counter = arrived = 0;
	return shmemsim_launch(loses_update, NULL, 0, 3, 1, 0, NULL) || shmemsim_sync(NULL);
}

/* The list that the last report prints. */
static void copy_list(char *text, size_t nbytes)
{
	const char *from = strstr(shmemsim_report(), "SHMEMSIM_REPLAY=");
	assert_non_null(from);
	from += strlen("SHMEMSIM_REPLAY=");
	size_t n = strcspn(from, "\n");
	assert_true(n < nbytes);
	memcpy(text, from, n);
	text[n] = '\0';
}

static size_t count(const char *text, char c)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == c;
	return n;
}

static void test_shrink(void **state)
{
	static const int policies[] = {SHMEMSIM_RANDOM, SHMEMSIM_PCT, SHMEMSIM_DFS};
	char list[256];
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT, again = SHMEMSIM_CONFIG_INIT;
		cfg.policy = policies[i];
		assert_bad(shmemsim_explore(&cfg, 100000, 1, lost_update, NULL, NULL),
			   "ld_acquire_u32(&counter) == 3");
		copy_list(list, sizeof(list));
		/* one or two suffice; shrinking finds a short list, not the shortest */
		assert_in_range(count(list, ':'), 1, 6);
		setenv("SHMEMSIM_REPLAY", list, 1);
		assert_int_equal(shmemsim_config_from_env(&again), 0);
		assert_bad(shmemsim_run(&again, 1, lost_update, NULL), "&counter) == 3");
		assert_bad(shmemsim_run(NULL, 1, lost_update, NULL), "scheduling: replay of");
		unsetenv("SHMEMSIM_REPLAY");
	}
}

static void test_bad_lists(void **state)
{
	static const char *const lists[] = {"",       "x",      "1,2",    "1,2:",     "1:2",
					    "1,2:3,", "1,2:3x", "1,-2:3", "1,70000:1"};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		setenv("SHMEMSIM_REPLAY", lists[i], 1);
		assert_bad(shmemsim_config_from_env(&cfg), "must be a list such as");
	}
	setenv("SHMEMSIM_REPLAY", "1,2:3,4:5", 1);
	assert_int_equal(shmemsim_config_from_env(&cfg), 0);
	unsetenv("SHMEMSIM_REPLAY");
	assert_int_equal(cfg.n_replay, 5);
	for (uint16_t i = 0; i < 5; i++)
		assert_int_equal(cfg.replay[i], i + 1);
}

/* More default decisions in a row than an entry of the list can hold. */
static unsigned picked[2];

static void decides_late(const void *params)
{
	(void)params;
	for (int i = 0; i < 70000; i++)
		(void)shmemd_arch_ld_relaxed_u32(&counter);
	picked[shmemd_arch_block()] = shmemsim_choose(1000);
}

static void test_long_list(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	const uint16_t *list;
	uint16_t copy[32];
	(void)state;
	cfg.policy = SHMEMSIM_PCT;
	cfg.depth = 1;
	picked[0] = picked[1] = 0;
	assert_good(run_kernel(&cfg, decides_late, NULL, 0, 2, 1));
	unsigned first[2] = {picked[0], picked[1]};
	size_t n = shmemsim_choices(&list);
	assert_in_range(n, 5, 32);
	memcpy(copy, list, n * sizeof(*list));
	cfg.policy = SHMEMSIM_REPLAY;
	cfg.replay = copy;
	cfg.n_replay = n;
	picked[0] = picked[1] = 0;
	assert_good(run_kernel(&cfg, decides_late, NULL, 0, 2, 1));
	assert_memory_equal(picked, first, sizeof(first));
	assert_int_not_equal(first[0] + first[1], 0);
}

static void shows_all(const void *params)
{
	uint64_t *at = *(uint64_t *const *)params;
	if (shmemd_arch_tid() == 0) {
		shmemd_arch_st_data_u64(&at[2], 77);
		shmemd_arch_st_release_u32(&counter, 5);
		shmemd_arch_red_add_u32(&counter, 4);
		(void)shmemd_arch_ld_data_u64(&at[2]);
	}
	shmemd_arch_fence_before_signal();
	shmemd_arch_bar_sync(3, 32);
	shmemd_arch_syncwarp();
	if (shmemd_arch_tid() == 0)
		shmemsim_fail("enough");
}

static void hums(void *arg)
{
	(void)arg;
	shmemd_arch_st_relaxed_u32(&arrived, 0x12345678);
}

static int shows(int pe, int n_pes, void *arg)
{
	static uint64_t memory[4];
	(void)pe;
	(void)n_pes;
	(void)arg;
	heap = memory;
	counter = arrived = 0;
	shmemsim_name(memory, sizeof(memory), "outer");
	shmemsim_name(&memory[1], 16, "inner");
	shmemsim_agent("wasp", hums, NULL);
	return shmemsim_launch(shows_all, &heap, sizeof(heap), 1, 32, 0, NULL) ||
	       shmemsim_sync(NULL);
}

static void test_lines(void **state)
{
	static const char *const lines[] = {
		"PE 0 kernel 0 block 0 thread 0: store inner+8 = 77",
		"block 0, 30 of threads 1 to 31: fence",
		"thread 0: store.release counter = 5",
		"thread 0: atomic counter 5 -> 9",
		"thread 0: load inner+8 = 77",
		"block 0, 30 of threads 1 to 31: barrier 0x3",
		"variables at the end: inner+8 = 77",
		"31 of threads 0 to 31: syncwarp 0xffffffff",
		"agent wasp: store.relaxed arrived = 0x12345678",
		"complete):",
	};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	cfg.trace = 1000;
	int bad = shmemsim_run(&cfg, 1, shows, NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_bad(bad, lines[i]);
	cfg.trace = 1;
	assert_bad(shmemsim_run(&cfg, 1, shows, NULL), "the last operations):");
	assert_bad(bad, ": syncwarp 0xffffffff");
	assert_null(strstr(shmemsim_report(), "barrier 0x3"));
	cfg.trace = 0;
	assert_bad(shmemsim_run(&cfg, 1, shows, NULL), "enough");
	assert_null(strstr(shmemsim_report(), "trace"));
}

/* The last line of a trace is not a poll that was repeated forever. */
static void waits_for_ever(const void *params)
{
	(void)params;
	shmemd_arch_st_relaxed_u32(&arrived, 3);
	while (shmemd_arch_ld_acquire_u32(&arrived) != 4)
		shmemd_arch_spin_hint();
}

static void test_idle(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	cfg.trace = 20;
	assert_bad(run_kernel(&cfg, waits_for_ever, NULL, 0, 1, 2), "livelock");
	assert_bad(1, "thread 1: store.relaxed arrived = 3");
}

/* A load that the trace leaves out, since all fibers only poll, does not change the last line. */
static void polls_then_reads(const void *params)
{
	(void)params;
	shmemd_arch_st_relaxed_u32(&arrived, 3);
	shmemd_arch_st_relaxed_u32(&counter, 7);
	for (int i = 0; i < 20 && shmemd_arch_ld_acquire_u32(&arrived) != 4; i++)
		shmemd_arch_spin_hint();
	CHECK(shmemd_arch_ld_acquire_u32(&counter) == 8);
}

/* A load of 16 bytes is shown by the first 8, as without weak memory. */
static _Alignas(16) uint64_t pair[2];

static void reads_16(const void *params)
{
	(void)params;
	shmemd_arch_st_data_u64(&pair[0], 11);
	shmemd_arch_st_data_u64(&pair[1], 22);
	(void)shmemd_arch_ld_data_v16(pair);
	shmemsim_fail("enough");
}

static void test_weak_values(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
#if SHMEMDI_CPU_TSAN
	skip(); /* no weak memory with thread sanitizer */
#endif
	cfg.trace = 20;
	cfg.weak = 1;
	assert_bad(run_kernel(&cfg, polls_then_reads, NULL, 0, 1, 1), "&counter) == 8");
	assert_bad(1, "thread 0: load.acquire arrived = 3");
	assert_null(strstr(shmemsim_report(), "arrived = 7"));
	assert_bad(run_kernel(&cfg, reads_16, NULL, 0, 1, 1), "thread 0: load pair");
	assert_bad(1, "load pair = 11");
}

/* All lanes of a warp do the same to words that lie side by side; lane 3 also something else. */
static void stores_rows(const void *params)
{
	uint64_t *at = *(uint64_t *const *)params;
	uint32_t lane = shmemd_arch_tid();
	shmemd_arch_st_relaxed_u64(&at[lane], 100 + lane);
	(void)shmemd_arch_ld_acquire_u32(&counter);
	if (lane == 3)
		shmemd_arch_fence_order();
	shmemd_arch_syncwarp();
	if (lane == 0 && shmemd_arch_ld_relaxed_u32(&arrived) == 9)
		shmemsim_fail("nine");
}

static int rows(int pe, int n_pes, void *arg)
{
	static uint64_t memory[32];
	(void)pe;
	(void)n_pes;
	(void)arg;
	heap = memory;
	arrived = 0;
	shmemsim_name(memory, sizeof(memory), "row");
	shmemd_arch_st_relaxed_u32(&arrived, 9);
	return shmemsim_launch(stores_rows, &heap, sizeof(heap), 1, 32, 0, NULL) ||
	       shmemsim_sync(NULL);
}

static void test_folded(void **state)
{
	static const char *const lines[] = {
		"threads 0 to 2: store.relaxed row to row+16 = 100 to 102",
		"thread 3: store.relaxed row+24 = 103",
		"thread 3: fence",
		"threads 4 to 31: store.relaxed row+32 to row+248 = 104 to 131",
		"variables at the end: row = 100, row+8 = 101,",
		"read last:\n  PE 0 kernel 0 block 0 thread 0: load.relaxed arrived = 9;",
		"= 9; written last in step 1, host of PE 0: store.relaxed arrived = 9",
	};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	cfg.trace = 1000;
	int bad = shmemsim_run(&cfg, 1, rows, NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_bad(bad, lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shrink),    cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_long_list), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_idle),      cmocka_unit_test(test_weak_values),
		cmocka_unit_test(test_folded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
