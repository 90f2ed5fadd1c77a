/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* channel.h: operations on a channel arrive in order, whatever they are and whenever their doorbell
 * is rung: puts, adds and signals by RDMA, by stores, and by both. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { ROUNDS = 3, WORDS = 8, BATCH = 4 };

static uint64_t value_of(uint64_t round, uint32_t i)
{
	return round * 1000 + i + 1;
}

/* arg: 0: a signal after the puts; 1: an add of 8 bytes; 2: one of 4. */
static void send_round(const rig_params_t *p, uint64_t round)
{
	const int when = round % 2 ? SHMEMD_RING_DEFERRED : SHMEMD_RING_DEFAULT;
	uint64_t *src = word_of(&p->ctx, 2), *flag = word_of(&p->ctx, 4), *sum = flag + 1;

	for (uint32_t i = shmemd_arch_lane(); i < WORDS; i += 32)
		shmemd_arch_st_data_u64(&src[i], value_of(round, i));
	shmemd_arch_syncwarp();
	for (uint32_t i = 0; i < WORDS; i += WORDS / 2)
		shmemd_channel_put_nbi_warp(&p->ctx, word_of(&p->ctx, 0) + i, &src[i],
					    WORDS / 2 * 8, p->peer, when);
	shmemd_arch_syncwarp(); /* the stores of all lanes are ordered before */
	if (shmemd_arch_lane() == 0)
		shmemd_channel_add_u64(&p->ctx, sum, 1, p->peer, SHMEMD_RING_DEFERRED);
	if (shmemd_arch_lane() == 0 && p->arg == 0)
		shmemd_channel_signal_set(&p->ctx, flag, round, p->peer, SHMEMD_RING_NOW);
	else if (shmemd_arch_lane() == 0 && p->arg == 1)
		shmemd_channel_add_u64(&p->ctx, flag, 1, p->peer, SHMEMD_RING_NOW);
	else if (shmemd_arch_lane() == 0)
		shmemd_channel_add_u32(&p->ctx, (uint32_t *)flag, 1, p->peer, SHMEMD_RING_NOW);
	shmemd_arch_syncwarp();
}

static void rounds_with_flags(const rig_params_t *p)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		send_round(p, round);
		CHECK_IS(shmemd_signal_wait_until_warp(&p->ctx, word_of(&p->ctx, 4), SHMEMD_CMP_GE,
						       round),
			 0);
		for (uint32_t i = 0; i < WORDS; i++)
			CHECK_IS(shmemd_arch_ld_data_u64(word_of(&p->ctx, 0) + i),
				 value_of(round, i));
		CHECK_IS(shmemd_arch_ld_data_u64(word_of(&p->ctx, 4) + 1), round);
		CHECK_IS(shmemd_barrier_warp(&p->ctx), 0);
	}
}

static void flags_after_puts(const void *params)
{
	rounds_with_flags(params);
}

static rig_test_t flags_test(uint64_t arg)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = flags_after_puts,
			.n_blocks = 1,
			.n_threads = 32,
			.arg = arg};

	t.plan.batch = BATCH;
	return t;
}

static void flags_arrive_after_puts(void **state)
{
	(void)state;
	for (uint64_t arg = 0; arg < 3; arg++) {
		rig_test_t t = flags_test(arg);

		run_all_ways(&t);
	}
}

/* Puts are stores, adds use RDMA. */
static void flags_arrive_after_stores(void **state)
{
	(void)state;
	for (uint64_t arg = 0; arg < 3; arg++) {
		rig_test_t t = flags_test(arg);

		t.plan.mapped = 3;
		run_once(&t);
		run_schedules(&t, 10);
	}
}

static void flags_without_nic(const void *params)
{
	rig_params_t p = *(const rig_params_t *)params;

	take_nic_away(&p.ctx);
	rounds_with_flags(&p);
}

static void flags_arrive_without_nic(void **state)
{
	(void)state;
	for (uint64_t arg = 0; arg < 3; arg++) {
		rig_test_t t = flags_test(arg);

		t.kernel = flags_without_nic;
		t.plan.mapped = 3;
		run_once(&t);
		run_schedules(&t, 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_arrive_after_puts),
		cmocka_unit_test(flags_arrive_after_stores),
		cmocka_unit_test(flags_arrive_without_nic),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
