/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Weak-memory mode beyond the litmus table: order made by the emulator itself, uninstrumented code,
 * access sizes, progress, repetition. */
#include <stdlib.h>
#include "sim_test.h"

#define N_SCHEDULES 500

static _Alignas(64) union {
	uint64_t u64[8];
	uint32_t u32[16];
	uint8_t u8[64];
} mem;
static uint32_t digest;

static shmemsim_config_t weak(uint64_t seed)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = SHMEMSIM_RANDOM;
	cfg.seed = seed;
	cfg.weak = 1;
	return cfg;
}

static void run_many(void (*kernel)(const void *), uint32_t blocks, uint32_t threads)
{
	for (uint64_t seed = 1; seed <= N_SCHEDULES; seed++) {
		shmemsim_config_t cfg = weak(seed);
		memset(&mem, 0, sizeof(mem));
		assert_good(run_kernel(&cfg, kernel, NULL, 0, blocks, threads));
	}
}

/* A poll loop ends although each poll may read an old value, also if no other fiber runs any more.
 */
static void polls(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0)
		for (uint32_t i = 1; i <= 5; i++)
			shmemd_arch_st_relaxed_u32(&mem.u32[0], i);
	else
		while (shmemd_arch_ld_relaxed_u32(&mem.u32[0]) != 5)
			shmemd_arch_spin_hint();
}

/* A 64-bit load never mixes old and new halves, though each half was also written alone. */
static void halves(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0) {
		shmemd_arch_st_relaxed_u64(&mem.u64[0], 0x100000001u);
		shmemd_arch_st_relaxed_u32(&mem.u32[0], 2);
		shmemd_arch_st_relaxed_u64(&mem.u64[0], 0x300000003u);
		return;
	}
	uint64_t v = shmemd_arch_ld_relaxed_u64(&mem.u64[0]);
	CHECK(v == 0 || v == 0x100000001u || v == 0x100000002u || v == 0x300000003u);
}

/* Two threads write neighbouring bytes; no write is lost or undone. */
static void bytes(const void *params)
{
	uint32_t tid = shmemd_arch_tid();
	(void)params;
	for (uint8_t i = 1; i < 6; i++) {
		shmemd_arch_st_data_u8(&mem.u8[tid], i);
		CHECK(shmemd_arch_ld_data_u8(&mem.u8[tid]) == i);
	}
	(void)shmemsim_bar(0, 0, 0, NULL);
	for (uint32_t i = 0; i < shmemd_arch_ntids(); i++)
		CHECK(shmemd_arch_ld_data_u8(&mem.u8[i]) == 5);
	CHECK((uint32_t)shmemd_arch_ld_data_u64(&mem.u64[0]) == 0x05050505u);
}

/* The halves of a 16-byte access may be of different age. */
static uint32_t n_torn;

static void sixteen(const void *params)
{
	shmemd_v16_t one = {1, 1};
	(void)params;
	if (shmemd_arch_block() == 0) {
		shmemd_arch_st_data_v16(&mem, one);
		return;
	}
	shmemd_v16_t v = shmemd_arch_ld_data_v16(&mem);
	CHECK(v.lo <= 1 && v.hi <= 1);
	n_torn += v.lo != v.hi;
}

/* Scratch memory of a block belonged to another block before: none of its old values may be read.
 */
static void scratch(const void *params)
{
	static const char key;
	uint32_t *word = shmemsim_shared(&key, 4);
	(void)params;
	if (shmemd_arch_tid() == 0)
		shmemd_arch_st_data_u32(word, 7);
	shmemd_arch_bar_sync(0, 64);
	CHECK(shmemd_arch_ld_data_u32(word) == 7);
	shmemd_arch_bar_sync(0, 64);
	if (shmemd_arch_tid() == 0) {
		shmemd_arch_st_data_u32(word, 8);
		*word = 9; /* an ordinary write, which the emulator does not observe */
	}
	shmemd_arch_bar_sync(0, 64);
	CHECK(shmemd_arch_ld_data_u32(word) == 9);
}

/* Writes to a flag's neighbours, in the same 8 bytes, do not drop its last write. */
static void neighbours(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0) {
		shmemd_arch_st_data_u32(&mem.u32[4], 7);
		shmemd_arch_st_release_u32(&mem.u32[0], 1);
	} else if (shmemd_arch_block() == 1) {
		for (uint32_t i = 1; i < 7; i++)
			shmemd_arch_st_relaxed_u32(&mem.u32[1], i);
	} else if (shmemd_arch_ld_acquire_u32(&mem.u32[0])) {
		CHECK(shmemd_arch_ld_data_u32(&mem.u32[4]) == 7);
	}
}

/* The same with more single bytes than the emulator records writes. */
static void byte_flags(const void *params)
{
	uint32_t block = shmemd_arch_block();
	(void)params;
	if (block < 8) {
		shmemd_arch_st_data_u32(&mem.u32[2 + block], 7);
		shmemd_arch_fence_before_signal();
		shmemd_arch_st_relaxed_u8(&mem.u8[block], 1);
		return;
	}
	for (uint32_t i = 0; i < 8; i++) {
		uint8_t seen = shmemd_arch_ld_relaxed_u8(&mem.u8[i]);
		shmemd_arch_fence_order();
		CHECK(!seen || shmemd_arch_ld_data_u32(&mem.u32[2 + i]) == 7);
	}
}

/* As many bytes, ordered only within the block of one writer and the reader. */
static void byte_flags_of_block(const void *params)
{
	uint32_t block = shmemd_arch_block(), tid = shmemd_arch_tid();
	uint8_t seen = 1;
	(void)params;
	if (block == 0 && tid == 0) {
		shmemd_arch_st_data_u32(&mem.u32[4], 7);
		shmemdi_cpu_fence(SHMEMSIM_FENCE | SHMEMSIM_SCOPE_CTA);
		(void)shmemsim_access(&mem.u8[0], 1, SHMEMSIM_ST_RELAXED | SHMEMSIM_SCOPE_CTA,
				      &seen);
		mem.u8[0] = seen;
	} else if (block == 0) {
		(void)shmemsim_access(&mem.u8[0], 1, SHMEMSIM_LD_RELAXED | SHMEMSIM_SCOPE_CTA,
				      &seen);
		shmemdi_cpu_fence(SHMEMSIM_FENCE | SHMEMSIM_SCOPE_CTA);
		CHECK(!seen || shmemd_arch_ld_data_u32(&mem.u32[4]) == 7);
	} else if (tid == 0) {
		shmemd_arch_st_data_u8(&mem.u8[block], 1);
	}
}

/* The first load of a flag's neighbour covers the flag too: the flag still synchronises. */
static void wide_look(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 0) {
		shmemd_arch_st_data_u32(&mem.u32[4], 7);
		shmemd_arch_st_release_u32(&mem.u32[0], 1);
	} else if (shmemd_arch_block() == 1) {
		(void)shmemd_arch_ld_data_u64(&mem.u64[0]);
	} else if (shmemd_arch_ld_acquire_u32(&mem.u32[0])) {
		CHECK(shmemd_arch_ld_data_u32(&mem.u32[4]) == 7);
	}
}

/* A flag far behind the words that the emulator keeps older values of still orders. */
static uint32_t many[32768];

static void many_words(const void *params)
{
	uint32_t *flag = &many[sizeof(many) / sizeof(many[0]) - 1];

	(void)params;
	(void)shmemd_arch_ld_relaxed_u32(&mem.u32[0]);
	for (uint32_t *p = many; p < flag - 2; p += 2)
		(void)shmemd_arch_ld_relaxed_u32(p);
	if (shmemd_arch_block() == 0) {
		shmemd_arch_st_relaxed_u32(&mem.u32[0], 7);
		shmemd_arch_fence_before_signal();
		shmemd_arch_st_relaxed_u32(flag, 1);
		return;
	}
	while (!shmemd_arch_ld_relaxed_u32(flag))
		shmemd_arch_spin_hint();
	shmemd_arch_fence_acquire();
	CHECK(shmemd_arch_ld_relaxed_u32(&mem.u32[0]) == 7);
}

static void test_many_words(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		shmemsim_config_t cfg = weak(seed);

		memset(&mem, 0, sizeof(mem));
		memset(many, 0, sizeof(many));
		assert_good(run_kernel(&cfg, many_words, NULL, 0, 2, 1));
	}
}

static void test_kernels(void **state)
{
	(void)state;
	n_torn = 0;
	run_many(polls, 3, 1);
	run_many(halves, 3, 1);
	run_many(bytes, 1, 4);
	run_many(sixteen, 2, 1);
	assert_in_range(n_torn, 1, N_SCHEDULES - 1);
	run_many(scratch, 2, 64);
	run_many(neighbours, 3, 1);
	run_many(byte_flags, 10, 1);
	run_many(byte_flags_of_block, 6, 2);
	run_many(wide_look, 3, 1);
}

/* Agents are separate threads: a store of one does not continue a release sequence of another. */
static uint32_t n_stale, n_ended;

static void releases(void *unused)
{
	(void)unused;
	shmemd_arch_st_data_u32(&mem.u32[4], 7);
	shmemd_arch_st_release_u32(&mem.u32[0], 1);
	shmemd_arch_atom_add_u32(&n_ended, 1);
}

static void overwrites(void *unused)
{
	(void)unused;
	if (shmemd_arch_ld_relaxed_u32(&mem.u32[0]) == 1)
		shmemd_arch_st_relaxed_u32(&mem.u32[0], 2);
	shmemd_arch_atom_add_u32(&n_ended, 1);
}

static void reads_data(void *unused)
{
	(void)unused;
	if (shmemd_arch_ld_acquire_u32(&mem.u32[0]) == 2)
		n_stale += shmemd_arch_ld_data_u32(&mem.u32[4]) == 0;
	shmemd_arch_atom_add_u32(&n_ended, 1);
}

static int start_agents(int pe, int n_pes, void *arg)
{
	(void)pe, (void)n_pes, (void)arg;
	n_ended = 0;
	CHECK(!shmemsim_agent("releases", releases, NULL) &&
	      !shmemsim_agent("overwrites", overwrites, NULL) &&
	      !shmemsim_agent("reads", reads_data, NULL));
	while (shmemd_arch_ld_relaxed_u32(&n_ended) != 3)
		shmemd_arch_spin_hint();
	return 0;
}

static void test_agents(void **state)
{
	(void)state;
	n_stale = 0;
	for (uint64_t seed = 1; seed <= 10 * N_SCHEDULES; seed++) {
		shmemsim_config_t cfg = weak(seed);
		memset(&mem, 0, sizeof(mem));
		assert_good(shmemsim_run(&cfg, 1, start_agents, NULL));
	}
	assert_in_range(n_stale, 1, 10 * N_SCHEDULES);
}

/* Data, perhaps a fence, then a flag; the reader of the flag requires that the data is ordered. */
static void sends(const void *params)
{
	int is_fenced = *(const int *)params;
	uint64_t v = 0;
	if (shmemd_arch_block() == 0) {
		shmemd_arch_st_data_u64(&mem.u64[4], 7);
		if (is_fenced)
			shmemd_arch_fence_before_signal();
		shmemd_arch_st_relaxed_u64(&mem.u64[0], 1);
		return;
	}
	while (!shmemd_arch_ld_acquire_u64(&mem.u64[0]))
		shmemd_arch_spin_hint();
	CHECK(shmemsim_access(&mem.u64[4], 8, SHMEMSIM_LD_RELAXED | SHMEMSIM_ORDERED, &v) ==
		      SHMEMSIM_GIVEN &&
	      v == 7);
}

/* A missing fence fails in any schedule, also if the newest value would be read. */
static void test_ordered_loads(void **state)
{
	(void)state;
	for (int is_fenced = 0; is_fenced < 2; is_fenced++)
		for (int policy = SHMEMSIM_ROUND_ROBIN; policy <= SHMEMSIM_RANDOM; policy++) {
			shmemsim_config_t cfg = weak(1);
			cfg.policy = policy;
			memset(&mem, 0, sizeof(mem));
			int bad = run_kernel(&cfg, sends, &is_fenced, sizeof(is_fenced), 2, 1);
			if (is_fenced)
				assert_good(bad);
			else
				assert_bad(bad, "mem+32: no fence makes the newest value 0x7");
		}
}

static int names_mem(int pe, int n_pes, void *arg)
{
	(void)pe;
	(void)n_pes;
	(void)arg;
	shmemsim_name(&mem, sizeof(mem), "earlier");
	return 0;
}

/* A name is valid until the end of its run, also if the next run has no trace. */
static void test_names_of_earlier_run(void **state)
{
	static const int is_fenced = 0;
	shmemsim_config_t cfg = weak(1);
	(void)state;
	cfg.trace = 1;
	assert_good(shmemsim_run(&cfg, 1, names_mem, NULL));
	cfg.trace = 0;
	memset(&mem, 0, sizeof(mem));
	assert_bad(run_kernel(&cfg, sends, &is_fenced, sizeof(is_fenced), 2, 1),
		   "mem+32: no fence makes the newest value 0x7");
}

static void adds_one(const void *params)
{
	(void)params;
	if (shmemd_arch_block() + shmemd_arch_tid() == 0)
		shmemd_arch_st_data_u32(&mem.u32[0], shmemd_arch_ld_data_u32(&mem.u32[0]) + 1);
}

/* Kernels of one stream, the host between them, the other PE after a gather. */
static int launches(int pe, int n_pes, void *arg)
{
	const shmemh_boot_t *b = shmemsim_boot();
	uint32_t all[2];
	char text[64];
	(void)n_pes;
	(void)arg;
	for (int turn = 0; turn < 2; turn++) {
		if (turn == pe) {
			for (int i = 0; i < 3; i++)
				CHECK(!shmemsim_launch(adds_one, NULL, 0, 1, 2, 0, NULL));
			CHECK(!shmemsim_sync(NULL));
			CHECK(mem.u32[0] == (uint32_t)turn * 5 + 3);
			mem.u32[0]++;
			CHECK(!shmemsim_launch(adds_one, NULL, 0, 2, 1, 0, NULL));
			CHECK(!shmemsim_sync(NULL));
		}
		CHECK(!b->allgather(b->state, &pe, all, sizeof(pe), text, sizeof(text)));
	}
	return 0;
}

static void test_launches(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= N_SCHEDULES; seed++) {
		shmemsim_config_t cfg = weak(seed);
		memset(&mem, 0, sizeof(mem));
		assert_good(shmemsim_run(&cfg, 2, launches, NULL));
		assert_int_equal(mem.u32[0], 10);
	}
}

/* Record the values that its loads return. */
static void reads(const void *params)
{
	(void)params;
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t v = shmemd_arch_ld_relaxed_u32(&mem.u32[2 * (i % 3)]);
		digest = (digest ^ v) * 16777619u;
		shmemd_arch_st_relaxed_u32(&mem.u32[2 * (i % 3)], v + shmemd_arch_block());
	}
}

static uint32_t digest_of(const shmemsim_config_t *cfg)
{
	digest = 1;
	memset(&mem, 0, sizeof(mem));
	assert_good(run_kernel(cfg, reads, NULL, 0, 3, 1));
	return digest;
}

static void test_repeat(void **state)
{
	int differ = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		shmemsim_config_t cfg = weak(seed), strong = weak(seed);
		const uint16_t *list;
		uint32_t first = digest_of(&cfg);
		size_t n = shmemsim_choices(&list);
		uint16_t *copy = malloc(n * sizeof(*copy));
		assert_non_null(copy);
		memcpy(copy, list, n * sizeof(*copy));
		assert_int_equal(digest_of(&cfg), first);
		strong.weak = 0;
		differ += digest_of(&strong) != first;
		cfg.policy = SHMEMSIM_REPLAY;
		cfg.replay = copy;
		cfg.n_replay = n;
		assert_int_equal(digest_of(&cfg), first);
		free(copy);
	}
	assert_in_range(differ, 40, 50);
}

static void fails(const void *params)
{
	(void)params;
	shmemsim_fail("stop");
}

static void test_environment(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_int_equal(cfg.weak, 0);
	setenv("SHMEMSIM_WEAK", "1", 1);
	assert_int_equal(shmemsim_config_from_env(&cfg), 0);
	assert_int_equal(cfg.weak, 1);
	assert_bad(run_kernel(&cfg, fails, NULL, 0, 1, 1), "SHMEMSIM_WEAK=1");
	setenv("SHMEMSIM_WEAK", "2", 1);
	assert_bad(shmemsim_config_from_env(&cfg), "SHMEMSIM_WEAK=2: must be a number from 0 to 1");
	unsetenv("SHMEMSIM_WEAK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),     cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_agents),      cmocka_unit_test(test_ordered_loads),
		cmocka_unit_test(test_launches),    cmocka_unit_test(test_repeat),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_names_of_earlier_run),
	};
#if SHMEMDI_CPU_TSAN
	shmemsim_config_t cfg = weak(1);
	if (run_kernel(&cfg, polls, NULL, 0, 1, 1) == 0 ||
	    !strstr(shmemsim_report(), "weak memory cannot be combined with thread sanitizer"))
		return 1;
	print_message("skipped: weak memory cannot be combined with thread sanitizer\n");
	return 77;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
