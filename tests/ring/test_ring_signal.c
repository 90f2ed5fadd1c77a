/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Signals behind NICs: after a signal its data is readable. Around the ring of PEs, by threads,
 * warps and blocks; barriers; and PEs reached by both transports. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { ROUNDS = 4, WORDS = 90 };

static uint64_t outside[RIG_PES_MAX][WORDS]; /* not registered: puts carry it in many segments */

static shmemd_group_t group(void)
{
	return shmemd_n_threads() == 1    ? shmemd_thread()
	       : shmemd_n_threads() == 32 ? shmemd_warp()
					  : shmemd_block();
}

static uint64_t value_of(int pe, uint64_t round, uint32_t i)
{
	return (uint64_t)(pe + 1) * 1000000 + round * 1000 + i;
}

/* Whole units of 16 bytes, or 8 bytes less. */
static uint32_t n_words(const rig_params_t *p, uint64_t round)
{
	return p->arg & 4 ? 2 : WORDS - round % 2;
}

/* arg: bit 0: ADD, not SET; bit 1: signal_op after a put; bit 2: a few words only, inline; bit 3:
 * from memory that is not registered. */
static void send(const rig_params_t *p, shmemd_group_t g, uint64_t round)
{
	uint64_t *dst = word_of(&p->ctx, 0), *sig = word_of(&p->ctx, 4);
	uint64_t *src = p->arg & 8 ? outside[p->pe] : word_of(&p->ctx, 2);
	const uint64_t value = p->arg & 1 ? 1 : round;
	const uint32_t n = n_words(p, round);
	const int op = p->arg & 1 ? SHMEMD_SIGNAL_ADD : SHMEMD_SIGNAL_SET;

	for (uint32_t i = g.rank; i < n; i += g.size)
		shmemd_arch_st_data_u64(&src[i], value_of(p->pe, round, i));
	shmemd_group_sync(g);
	if (!(p->arg & 2)) {
		shmemd_putmem_signal_group(&p->ctx, g, dst, src, 8 * n, sig, value, op, p->peer);
	} else {
		shmemd_putmem_group(&p->ctx, g, dst, src, 8 * n, p->peer);
		shmemd_fence_group(&p->ctx, g);
		if (g.rank == g.size - 1)
			shmemd_signal_op(&p->ctx, sig, value, op, p->peer);
	}
	shmemd_group_sync(g);
	for (uint32_t i = g.rank; i < n; i += g.size) /* the source may be reused */
		shmemd_arch_st_data_u64(&src[i], 0xbad);
}

static void receive(const rig_params_t *p, shmemd_group_t g, uint64_t round)
{
	const int from = (p->pe + p->ctx.n_pes - 1) % p->ctx.n_pes;
	const uint64_t *dst = word_of(&p->ctx, 0);
	const uint32_t n = n_words(p, round);

	CHECK_IS(shmemd_signal_wait_until_group(&p->ctx, g, word_of(&p->ctx, 4), SHMEMD_CMP_GE,
						round),
		 0);
	for (uint32_t i = 0; i < n; i++)
		CHECK_IS(shmemd_arch_ld_data_u64(&dst[i]), value_of(from, round, i));
	CHECK_IS(shmemd_barrier_group(&p->ctx, g), 0);
}

static void rounds(const void *params)
{
	const rig_params_t *p = params;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		send(p, group(), round);
		receive(p, group(), round);
	}
}

static void signals_at(uint32_t n_threads, uint32_t mapped, int n_pes, uint32_t is_strided)
{
	for (uint64_t arg = 0; arg < 16; arg++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = rounds,
				.n_blocks = 1,
				.n_threads = n_threads,
				.arg = arg};

		t.plan.mapped = mapped;
		t.plan.is_strided = is_strided;
		t.plan.n_pes = n_pes;
		if ((arg & 6) == 4) /* data and signal in one reservation */
			t.plan.inline_nbytes = 0;
		start_below(&t.plan, (unsigned)arg % N_STARTS);
		run_once(&t);
		run_schedules(&t, 4);
		if (arg == 1 || arg == 6)
			run_all_ways(&t);
	}
}

static void signals(uint32_t n_threads, uint32_t mapped, int n_pes)
{
	signals_at(n_threads, mapped, n_pes, 0);
}

static void by_a_thread(void **state)
{
	(void)state;
	signals(1, 0, 2);
}

static void by_a_warp(void **state)
{
	(void)state;
	signals(32, 0, 2);
}

static void by_a_block(void **state)
{
	(void)state;
	signals(64, 0, 3);
}

/* Data by RDMA or by stores; the signal uses the same or the other transport. */
static void both_transports(void **state)
{
	(void)state;
	signals(1, 3, 2);
	signals(32, 5, 3);
	signals_at(64, 3, 2, 1);
}

/* Stores that the flush before them keeps away: the channel has failed. Each lane finds the status
 * latched, although the leader alone has flushed. */
static void put_after_failure(const void *params)
{
	const rig_params_t *p = params;
	const shmemdi_chan_t c = shmemdi_chan(&p->ctx, p->peer, 0);
	uint64_t *sig = word_of(&p->ctx, 4);

	if (p->pe != 0)
		return;
	if (shmemd_thread_index() == 0)
		shmemdi_channel_fail(&c, SHMEMD_ERR_REFUSED);
	shmemd_group_sync(shmemd_warp());
	shmemd_putmem_signal_nbi_warp(&p->ctx, word_of(&p->ctx, 0), word_of(&p->ctx, 2), 8 * WORDS,
				      sig, 1, SHMEMD_SIGNAL_SET, p->peer);
	CHECK_IS(shmemd_arch_ld_relaxed_u32(&p->ctx.latch->status), SHMEMD_ERR_REFUSED);
	CHECK_IS(shmemd_arch_ld_relaxed_u64(shmemd_ptr(&p->ctx, sig, p->peer)), 0);
}

static void failed_flush(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = put_after_failure, .n_blocks = 1, .n_threads = 32};

	(void)state;
	t.plan.mapped = 3;
	for (t.plan.is_strided = 0; t.plan.is_strided < 2; t.plan.is_strided++) {
		run_once(&t);
		run_schedules(&t, 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_a_thread),  cmocka_unit_test(by_a_warp),
		cmocka_unit_test(by_a_block),   cmocka_unit_test(both_transports),
		cmocka_unit_test(failed_flush),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
