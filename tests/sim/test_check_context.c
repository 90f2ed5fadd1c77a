/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A check build ends the run of a kernel that passes a context that shmemh_ctx_get has not filled:
 * NULL, zeros, or other bytes. Some calls need a field of it early, such as its flags or the
 * address of its copy in device memory: they check it before that. */
#define SHMEMD_CHECK 1
#include "sim_test.h"
#include <shmem_dev/bulk.h>
#include <shmem_dev/grid.h>
#include <shmem_dev/packed.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/strided.h>
#include <shmem_dev/wait_sets.h>

static shmemd_ctx_t bytes;
static const shmemd_ctx_t *ctx;
static uint64_t words[8], value;
static uint32_t small, arrived;
static size_t found, indices[2];
static int is_done;

#define SLOT ((shmemd_packed_t *)(void *)words)

/* A kernel of one call, named for it; its threads are one warp. */
#define CALLS(name, ...)                                                                           \
	static void name(const void *params)                                                       \
	{                                                                                          \
		(void)params;                                                                      \
		(void)__VA_ARGS__;                                                                 \
	}

CALLS(my_pe, shmemd_my_pe(ctx))
CALLS(n_pes, shmemd_n_pes(ctx))
CALLS(world_pe, shmemd_world_pe(ctx, 0))
CALLS(ptr, shmemd_ptr(ctx, words, 0))
CALLS(puts_data, shmemd_putmem(ctx, words, words + 4, 8, 0))
CALLS(puts_warp, shmemd_putmem_warp(ctx, words, words + 4, 8, 0))
CALLS(puts_block, shmemd_putmem_block(ctx, words, words + 4, 8, 0))
CALLS(puts_nbi, shmemd_putmem_nbi(ctx, words, words + 4, 8, 0))
CALLS(gets, shmemd_getmem(ctx, words, words + 4, 8, 0))
CALLS(gets_warp, shmemd_getmem_warp(ctx, words, words + 4, 8, 0))
CALLS(gets_nbi, shmemd_getmem_nbi(ctx, words, words + 4, 8, 0))
CALLS(puts_signal, shmemd_putmem_signal(ctx, words, words + 4, 8, words + 7, 1, 0, 0))
CALLS(puts_signal_warp, shmemd_putmem_signal_warp(ctx, words, words + 4, 8, words + 7, 1, 1, 0))
CALLS(puts_word, shmemd_p_u64(ctx, words, 1, 0))
CALLS(gets_word, shmemd_g_u64(ctx, &value, words, 0))
CALLS(adds, shmemd_atomic_add_u64(ctx, words, 1, 0))
CALLS(adds_float, shmemd_atomic_add_f64(ctx, (double *)(void *)words, 1, 0))
CALLS(fetches, shmemd_atomic_fetch_add_u64(ctx, &value, words, 1, 0))
CALLS(fetches_small, shmemd_atomic_fetch_add_u32(ctx, &small, (uint32_t *)words, 1, 0))
CALLS(signals, shmemd_signal_op(ctx, words, 1, SHMEMD_SIGNAL_SET, 0))
CALLS(signals_add, shmemd_signal_op(ctx, words, 1, SHMEMD_SIGNAL_ADD, 0))
CALLS(signal_fetch, shmemd_signal_fetch(ctx, words))
CALLS(waits_signal, shmemd_signal_wait_until(ctx, words, SHMEMD_CMP_EQ, 0))
CALLS(waits_signal_warp, shmemd_signal_wait_until_warp(ctx, words, SHMEMD_CMP_EQ, 0))
CALLS(waits, shmemd_wait_until_u64(ctx, words, SHMEMD_CMP_EQ, 0))
CALLS(tests, shmemd_test_u64(ctx, words, SHMEMD_CMP_EQ, 0))
CALLS(fences, shmemd_fence(ctx))
CALLS(fences_warp, shmemd_fence_warp(ctx))
CALLS(quiets, shmemd_quiet(ctx))
CALLS(syncs, shmemd_sync(ctx))
CALLS(syncs_block, shmemd_sync_block(ctx))
CALLS(syncs_all, shmemd_sync_all(ctx))
CALLS(barriers, shmemd_barrier(ctx))
CALLS(barriers_all, shmemd_barrier_all(ctx))
CALLS(channel, shmemd_ctx_channel(ctx, 0).channel)
CALLS(channel_puts, shmemd_channel_put_nbi_warp(ctx, words, words + 4, 8, 0, SHMEMD_RING_NOW))
CALLS(channel_adds, shmemd_channel_add_u64(ctx, words, 1, 0, SHMEMD_RING_NOW))
CALLS(channel_signals, shmemd_channel_signal_set(ctx, words, 1, 0, SHMEMD_RING_NOW))
CALLS(channel_rings, shmemd_channel_ring(ctx, 0))
CALLS(channel_posted, shmemd_channel_posted(ctx, 0))
CALLS(channel_polls, shmemd_channel_poll(ctx, 0, 0, &is_done))
CALLS(channel_quiets, shmemd_channel_quiet(ctx, 0))
CALLS(channel_space, shmemd_channel_space(ctx, 0))
CALLS(puts_packed, shmemd_put_packed(ctx, SLOT, 1, 1, 0))
CALLS(waits_packed, shmemd_wait_packed(ctx, &value, SLOT, 0))
CALLS(tests_packed, shmemd_test_packed(ctx, &value, SLOT, 0))
CALLS(waits_for_all, shmemd_wait_until_all_u64(ctx, words, 2, NULL, SHMEMD_CMP_EQ, 0))
CALLS(waits_for_any, shmemd_wait_until_any_u64(ctx, &found, words, 2, NULL, SHMEMD_CMP_EQ, 0))
CALLS(waits_for_some,
      shmemd_wait_until_some_u64(ctx, &found, words, 2, indices, NULL, SHMEMD_CMP_EQ, 0))
CALLS(tests_all, shmemd_test_all_u64(ctx, words, 2, NULL, SHMEMD_CMP_EQ, 0))
CALLS(tests_any, shmemd_test_any_u64(ctx, words, 2, NULL, SHMEMD_CMP_EQ, 0))
CALLS(tests_some, shmemd_test_some_u64(ctx, words, 2, indices, NULL, SHMEMD_CMP_EQ, 0))
CALLS(puts_strided, shmemd_iputmem(ctx, words, words, 1, 2, 1, 8, 0))
CALLS(gets_strided, shmemd_igetmem(ctx, words, words, 1, 2, 1, 8, 0))
CALLS(puts_grid, shmemd_putmem_grid(ctx, shmemd_grid(), words, words + 4, 8, 0))
CALLS(gets_grid, shmemd_getmem_grid(ctx, shmemd_grid(), words, words + 4, 8, 0))
CALLS(signals_grid,
      shmemd_signal_op_grid(ctx, shmemd_grid(), words, 1, SHMEMD_SIGNAL_SET, 0, &arrived))
CALLS(puts_signal_grid, shmemd_putmem_signal_grid(ctx, shmemd_grid(), words, words + 4, 8,
						  words + 7, 1, SHMEMD_SIGNAL_SET, 0, &arrived))
CALLS(puts_tile, shmemd_put_tile_bulk_warp(ctx, words, words + 4, 8, 0))
CALLS(adds_tile, shmemd_add_tile_bulk_warp(ctx, words, words + 4, 1, SHMEMD_BULK_U64, 0))

static void (*const kernels[])(const void *) = {my_pe,
						n_pes,
						world_pe,
						ptr,
						puts_data,
						puts_warp,
						puts_block,
						puts_nbi,
						gets,
						gets_warp,
						gets_nbi,
						puts_signal,
						puts_signal_warp,
						puts_word,
						gets_word,
						adds,
						adds_float,
						fetches,
						fetches_small,
						signals,
						signals_add,
						signal_fetch,
						waits_signal,
						waits_signal_warp,
						waits,
						tests,
						fences,
						fences_warp,
						quiets,
						syncs,
						syncs_block,
						syncs_all,
						barriers,
						barriers_all,
						channel,
						channel_puts,
						channel_adds,
						channel_signals,
						channel_rings,
						channel_posted,
						channel_polls,
						channel_quiets,
						channel_space,
						puts_packed,
						waits_packed,
						tests_packed,
						waits_for_all,
						waits_for_any,
						waits_for_some,
						tests_all,
						tests_any,
						tests_some,
						puts_strided,
						gets_strided,
						puts_grid,
						gets_grid,
						signals_grid,
						puts_signal_grid,
						puts_tile,
						adds_tile};

static void refuse_all(const shmemd_ctx_t *given)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;

	ctx = given;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		assert_bad(run_kernel(&cfg, kernels[i], NULL, 0, 1, 32),
			   "the context is not filled");
}

static void test_null(void **state)
{
	(void)state;
	refuse_all(NULL);
}

static void test_zero(void **state)
{
	(void)state;
	memset(&bytes, 0, sizeof(bytes));
	refuse_all(&bytes);
}

/* As on a stack that nothing has initialised. */
static void test_bytes(void **state)
{
	(void)state;
	memset(&bytes, 0x5a, sizeof(bytes));
	refuse_all(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
