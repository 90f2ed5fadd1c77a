/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Calls in a check build (SHMEMD_CHECK): a channel, PE, address or `when` that does not exist is
 * recorded, and the call has no effect. */
#define SHMEMD_CHECK 1
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { CHANNELS = 2 };

/* Check that the first mistake is recorded, with its site, and latched or not; then clear it. */
static void check_and_clear(int status, uint32_t op, uint64_t value, const char *site,
			    int is_latched)
{
	rig_pe_t *pe = &rig_pes[0];

	CHECK_IS(pe->error.status, status);
	CHECK_IS(pe->error.op, op);
	CHECK_IS(pe->error.value, value);
	CHECK_IS(pe->error.pe, -1);
	CHECK(strcmp(pe->error.site, site) == 0);
	CHECK_IS(pe->latch.status, is_latched ? status : 0);
	memset(&pe->error, 0, sizeof(pe->error));
	memset(&pe->latch, 0, sizeof(pe->latch));
}

static void no_mistake(void)
{
	CHECK_IS(rig_pes[0].latch.status, 0);
	CHECK_IS(rig_pes[0].latch.record, 0);
}

static void bad_channels(const void *params)
{
	static const uint32_t bad[] = {CHANNELS, 0x7fffffff, 0x80000000, UINT32_MAX};
	const rig_params_t *p = params;
	const shmemd_ctx_t last = shmemd_ctx_channel(&p->ctx, CHANNELS - 1);
	shmemd_ctx_t without = p->ctx;

	if (p->pe != 0)
		return;
	CHECK_IS(last.channel, CHANNELS - 1);
	CHECK_IS(shmemd_ctx_channel(&last, 0).channel, 0);
	without.n_channels = 0;
	CHECK_IS(shmemd_ctx_channel(&without, UINT32_MAX).channel, UINT32_MAX);
	no_mistake();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const shmemd_ctx_t q = shmemd_ctx_channel(&last, bad[i]);

		CHECK_IS(q.channel, 0);
		check_and_clear(SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_NONE, bad[i],
				"shmemd_ctx_channel", 1);
		shmemd_channel_add_u64(&q, word_of(&q, 0), 1, 1, SHMEMD_RING_NOW);
		CHECK_IS(shmemd_channel_quiet(&q, 1), 0);
		CHECK_IS(*word_of(&rig_pes[1].ctx, 0), i + 1);
		CHECK_IS(rig_wqebbs(0, 1, 1), 0);
	}
}

static void no_such_channel(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = bad_channels, .n_blocks = 1, .n_threads = 1};

	(void)state;
	t.plan.n_channels = CHANNELS;
	run_once(&t);
}

/* Calls of one thread with a bad PE. */
static void call_with(const shmemd_ctx_t *ctx, int pe)
{
	const uint64_t value = (uint64_t)(int64_t)pe;
	uint64_t *word = word_of(ctx, 0);
	int is_done;

	shmemd_channel_add_u32(ctx, (uint32_t *)word, 1, pe, SHMEMD_RING_NOW);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_ATOMIC, value, "shmemd_channel_add_u32", 1);
	shmemd_channel_add_u64(ctx, word, 1, pe, SHMEMD_RING_NOW);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_ATOMIC, value, "shmemd_channel_add_u64", 1);
	shmemd_channel_signal_set(ctx, word, 1, pe, SHMEMD_RING_NOW);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_SIGNAL, value, "shmemd_channel_signal_set", 1);
	shmemd_channel_ring(ctx, pe);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_NONE, value, "shmemd_channel_ring", 1);
	CHECK_IS(shmemd_channel_posted(ctx, pe), 0);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_NONE, value, "shmemd_channel_posted", 1);
	CHECK_IS(shmemd_channel_space(ctx, pe), UINT32_MAX);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_NONE, value, "shmemd_channel_space", 1);
	CHECK_IS(shmemd_channel_poll(ctx, pe, 0, &is_done), SHMEMD_ERR_BAD_PE);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_QUIET, value, "shmemd_channel_poll", 0);
	CHECK_IS(shmemd_channel_quiet(ctx, pe), SHMEMD_ERR_BAD_PE);
	check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_QUIET, value, "shmemd_channel_quiet", 0);
}

static void bad_pes(const void *params)
{
	static const int bad[] = {2, -1};
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (shmemd_arch_lane() == 0)
			call_with(&p->ctx, bad[i]);
		shmemd_arch_syncwarp();
		shmemd_channel_put_nbi_warp(&p->ctx, word_of(&p->ctx, 0), word_of(&p->ctx, 1), 8,
					    bad[i], SHMEMD_RING_NOW);
		CHECK_IS(shmemd_quiet_warp(&p->ctx), SHMEMD_ERR_BAD_PE);
		shmemd_arch_syncwarp();
		if (shmemd_arch_lane() == 0)
			check_and_clear(SHMEMD_ERR_BAD_PE, SHMEMD_OP_PUT, (uint64_t)(int64_t)bad[i],
					"shmemd_channel_put_nbi_warp", 1);
		shmemd_arch_syncwarp();
	}
	CHECK_IS(rig_wqebbs(0, 1, 0), 0);
	CHECK_IS(rig_wqebbs(0, 0, 0), 0);
}

/* Bad words change nothing, locally and remotely. */
static void bad_words(const void *params)
{
	const rig_params_t *p = params;
	uint64_t *odd = (uint64_t *)(void *)((char *)word_of(&p->ctx, 0) + 4);
	uint64_t *outside = (uint64_t *)(void *)(p->ctx.heap + p->ctx.heap_nbytes);

	if (p->pe != 0)
		return;
	shmemd_channel_add_u32(&p->ctx, (uint32_t *)odd, 1, 1, SHMEMD_RING_NOW);
	no_mistake();
	shmemd_channel_add_u64(&p->ctx, odd, 1, 1, SHMEMD_RING_NOW);
	check_and_clear(SHMEMD_ERR_UNALIGNED, SHMEMD_OP_ATOMIC, 8, "shmemd_channel_add_u64", 1);
	shmemd_channel_signal_set(&p->ctx, odd, 1, 1, SHMEMD_RING_NOW);
	check_and_clear(SHMEMD_ERR_UNALIGNED, SHMEMD_OP_SIGNAL, 8, "shmemd_channel_signal_set", 1);
	shmemd_channel_signal_set(&p->ctx, outside, 1, 1, SHMEMD_RING_NOW);
	check_and_clear(SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_SIGNAL, 8, "shmemd_channel_signal_set",
			1);
	CHECK_IS(rig_wqebbs(0, 1, 0), 1);
}

static void bad_arguments(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = bad_pes, .n_blocks = 1, .n_threads = 32};

	(void)state;
	start_below(&t.plan, 1); /* a queue's place is not 0 */
	run_once(&t);
	t.kernel = bad_words;
	t.n_threads = 1;
	run_once(&t);
}

/* Addresses that are reserved and not committed, and those of zero-byte transfers */

enum { UNCOMMITTED = 2 }; /* granules */

static void refused(uint32_t op, uint64_t nbytes, const char *site)
{
	check_and_clear(SHMEMD_ERR_NOT_SYMMETRIC, op, nbytes, site, 1);
}

static void beyond_committed(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t *ctx = &p->ctx;
	char *end = ctx->heap + ctx->heap_nbytes - UNCOMMITTED * RIG_GRANULE;
	uint64_t *mine = word_of(ctx, 0), value = 0;

	if (p->pe != 0)
		return;
	shmemd_p_u64(ctx, (uint64_t *)(void *)(end - 8), 1, 1);
	shmemd_putmem(ctx, end - 16, mine, 16, 1);
	no_mistake();
	shmemd_p_u64(ctx, (uint64_t *)(void *)end, 1, 1);
	refused(SHMEMD_OP_P, 8, "shmemd_p_u64");
	shmemd_putmem(ctx, end - 16, mine, 17, 1);
	refused(SHMEMD_OP_PUT, 17, "shmemd_putmem");
	shmemd_putmem(ctx, end + RIG_GRANULE, mine, 1, 1);
	refused(SHMEMD_OP_PUT, 1, "shmemd_putmem");
	shmemd_atomic_add_u64(ctx, (uint64_t *)(void *)end, 1, 1);
	refused(SHMEMD_OP_ATOMIC, 8, "shmemd_atomic_add_u64");
	CHECK_IS(shmemd_g_u64(ctx, &value, (uint64_t *)(void *)end, 1), SHMEMD_ERR_NOT_SYMMETRIC);
	check_and_clear(SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_G, 8, "shmemd_g_u64", 0);
	CHECK_IS(shmemd_getmem(ctx, mine, end, 8, 1), SHMEMD_ERR_NOT_SYMMETRIC);
	check_and_clear(SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_GET, 8, "shmemd_getmem", 0);
	CHECK(!shmemd_ptr(ctx, end, 0));
	check_and_clear(SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_NONE, 1, "shmemd_ptr", 0);
}

static void no_bytes(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t *ctx = &p->ctx;
	char elsewhere[1];
	char *const anywhere[] = {NULL, ctx->heap - 1, ctx->heap + ctx->heap_nbytes,
				  ctx->heap + ctx->heap_nbytes + 1, elsewhere};

	for (size_t i = 0; i < sizeof(anywhere) / sizeof(anywhere[0]) && p->pe == 0; i++) {
		char *at = anywhere[i];

		shmemd_putmem(ctx, at, elsewhere, 0, 1);
		shmemd_putmem_nbi(ctx, at, at, 0, 1);
		shmemd_getmem_nbi(ctx, at, at, 0, 1);
		CHECK_IS(shmemd_getmem(ctx, elsewhere, at, 0, 1), 0);
		CHECK_IS(shmemd_quiet(ctx), 0);
		no_mistake();
		CHECK_IS(rig_wqebbs(0, 1, 0), 2 * i); /* signals, each with a READ of quiet */
		shmemd_putmem_signal_nbi(ctx, at, at, 0, word_of(ctx, 0), i, SHMEMD_SIGNAL_SET, 1);
		no_mistake();
	}
}

static void addresses(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = beyond_committed, .n_blocks = 1, .n_threads = 1};

	(void)state;
	t.plan.n_uncommitted = UNCOMMITTED;
	run_once(&t);
	t.plan.mapped = 3;
	t.plan.flags = SHMEMD_CTX_SM_ATOMICS;
	run_once(&t);
}

static void addresses_of_no_bytes(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = no_bytes, .n_blocks = 1, .n_threads = 1};

	(void)state;
	run_once(&t);
}

/* Invalid values of `when` */

static void bad_whens(const void *params)
{
	static const int bad[] = {-1, 3, INT32_MAX, INT32_MIN};
	const rig_params_t *p = params;
	const shmemd_ctx_t *ctx = &p->ctx;
	uint64_t *word = word_of(ctx, 0);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]) && p->pe == 0; i++) {
		const uint64_t value = (uint64_t)(int64_t)bad[i];

		shmemd_channel_put_nbi_warp(ctx, word, word, 8, 1, bad[i]);
		shmemd_arch_syncwarp();
		if (shmemd_arch_lane() == 0) {
			check_and_clear(SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_PUT, value,
					"shmemd_channel_put_nbi_warp", 1);
			shmemd_channel_add_u32(ctx, (uint32_t *)word, 1, 1, bad[i]);
			check_and_clear(SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_ATOMIC, value,
					"shmemd_channel_add_u32", 1);
			shmemd_channel_add_u64(ctx, word, 1, 1, bad[i]);
			check_and_clear(SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_ATOMIC, value,
					"shmemd_channel_add_u64", 1);
			shmemd_channel_signal_set(ctx, word, 1, 1, bad[i]);
			check_and_clear(SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_SIGNAL, value,
					"shmemd_channel_signal_set", 1);
		}
		shmemd_arch_syncwarp();
	}
	CHECK_IS(rig_wqebbs(0, 1, 0), 0);
}

static void invalid_when(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = bad_whens, .n_blocks = 1, .n_threads = 32};

	(void)state;
	run_once(&t);
	t.plan.mapped = 3;
	run_once(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_such_channel), cmocka_unit_test(bad_arguments),
		cmocka_unit_test(addresses),       cmocka_unit_test(addresses_of_no_bytes),
		cmocka_unit_test(invalid_when),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
