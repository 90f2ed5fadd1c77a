/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* sync and barrier of PEs that NICs connect, round after round: each PE sends words to the next one
 * in one of two buffers in turn, so that one collective a round must suffice. */
#include "kernels.h"

enum { SYNC_BARRIER, SYNC_SYNC, SYNC_BARRIER_FOR, SYNC_SYNC_FOR };

const char *const ring_sync_variants[] = {"barrier", "quiet, sync",
					  "barrier with a limit, repeated",
					  "quiet, sync with a limit, repeated", NULL};

#define ROUNDS 3
#define SENDERS 3
#define WAIT_NS 1000 /* short enough to expire at times */

/* A thread, a warp or two. All heaps are reached by NIC, or some are mapped. The words go on the
 * channel of the flags, or on another. */
void ring_sync_plan(void)
{
	static const uint32_t n_threads[] = {1, 32, 64};

	ring_dims.n_blocks = 1;
	ring_dims.n_threads = n_threads[scenario_draw(3)];
	ring_dims.plan.depth = 64;
	ring_dims.plan.n_channels = 1 + scenario_draw(2);
	ring_dims.plan.mapped = scenario_draw(2) ? scenario_draw(1u << ring_dims.plan.n_pes) : 0;
}

static shmemd_group_t all_threads(void)
{
	return shmemd_n_threads() == 1    ? shmemd_thread()
	       : shmemd_n_threads() == 32 ? shmemd_warp()
					  : shmemd_block();
}

/* Threads that send: of the first warp and, if there are two, of the second. */
static uint32_t sender(uint32_t i)
{
	return i * 17 % shmemd_n_threads();
}

/* At times the group comes so late that other PEs time out. While all other threads poll, each
 * sleep lets each of them poll once, and they check the clock in every 64th poll. */
static void come_late(shmemd_group_t g)
{
	unsigned n = g.rank ? 0 : shmemsim_choose(2) * shmemsim_choose(140);

	while (n--)
		shmemsim_sleep(WAIT_NS);
	shmemd_group_sync(g);
}

/* Repeat a collective that timed out. */
static int meet(const shmemd_ctx_t *ctx, uint32_t variant, shmemd_group_t g)
{
	int status;

	if (variant == SYNC_BARRIER)
		return shmemd_barrier_group(ctx, g);
	if (variant == SYNC_SYNC)
		return shmemd_sync_group(ctx, g);
	come_late(g);
	do
		status = variant == SYNC_BARRIER_FOR ? shmemd_barrier_for_group(ctx, g, WAIT_NS)
						     : shmemd_sync_for_group(ctx, g, WAIT_NS);
	while (status == SHMEMD_ERR_TIMEOUT);
	return status;
}

void ring_sync(const void *params)
{
	const ring_pe_t *p = params;
	const shmemd_ctx_t ctx = shmemd_ctx_channel(&p->ctx, p->ctx.n_channels - 1);
	const shmemd_group_t g = all_threads();
	const uint32_t w = shmemd_thread_index();

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t *words = word_of(&ctx, AREA_TARGET, round % 2 * SENDERS);

		for (uint32_t i = 0; i < SENDERS; i++)
			if (w == sender(i))
				shmemd_p_u64(&ctx, words + i, value_of(i, round),
					     (p->pe + 1) % ctx.n_pes);
		if (p->variant == SYNC_SYNC || p->variant == SYNC_SYNC_FOR)
			EXPECT_IS(shmemd_quiet_group(&ctx, g), SHMEMD_OK);
		EXPECT_IS(meet(&ctx, p->variant, g), SHMEMD_OK);
		for (uint32_t i = 0; i < SENDERS; i++)
			if (w == sender((i + 1) % SENDERS))
				EXPECT_IS(shmemd_arch_ld_data_u64(words + i), value_of(i, round));
	}
}
