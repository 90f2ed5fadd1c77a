/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "memory.h"

#define WAIT_NS 1000 /* time limit of WAIT_FOR: short enough to expire at times */

shmemd_group_t group_of(const pe_t *p)
{
	switch (p->dims.scope) {
	case SCOPE_THREAD:
		return shmemd_thread();
	case SCOPE_WARP:
		return shmemd_warp();
	case SCOPE_BLOCK:
		return shmemd_block();
	default:
		return shmemd_warps(0, p->dims.n_threads / 32, 3);
	}
}

shmemd_ctx_t team_of_one(const pe_t *p)
{
	shmemd_ctx_t team = p->ctx;
	team.my_pe = 0;
	team.n_pes = 1;
	team.peers = &p->ctx.peers[p->ctx.my_pe];
	return team;
}

uint32_t value_of(int pe, int round, uint32_t i)
{
	return ((uint32_t)(round + 1) << 16 | (uint32_t)(pe + 1) << 8) + i;
}

void fill(const pe_t *p, shmemd_group_t g, uint32_t *words, uint32_t n, int round)
{
	for (uint32_t i = g.rank; i < n; i += g.size)
		shmemd_arch_st_data_u32(&words[i], value_of(p->ctx.my_pe, round, i));
}

void check(shmemd_group_t g, const uint32_t *words, uint32_t n, int pe, int round)
{
	for (uint32_t i = g.size - 1 - g.rank; i < n; i += g.size) {
		uint32_t v = shmemd_arch_ld_data_u32(&words[i]);
		if (v != value_of(pe, round, i))
			shmemsim_fail("round %d, word %u of PE %d is 0x%x, not 0x%x", round, i, pe,
				      v, value_of(pe, round, i));
	}
}

/* A wait checks the clock and the causes of failed PEs only in every 64th poll. While all other
 * threads poll and one sleeps, each sleep lets each of them poll once: let some polls pass,
 * sometimes about 64. */
void let_turns_pass(shmemd_group_t g)
{
	unsigned n =
		g.rank ? 0 : shmemsim_choose(2) * (shmemsim_choose(4) * 16 + shmemsim_choose(18));
	while (n--)
		shmemsim_sleep(1000);
	shmemd_group_sync(g);
}

static void await_alone(const pe_t *p, const uint64_t *word, uint64_t value, int from)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	if (p->dims.form == WAIT_FROM)
		EXPECT(!shmemd_signal_wait_until_from(ctx, word, SHMEMD_CMP_GE, value, from));
	else if (p->dims.form == WAIT_TEST)
		while (!shmemd_test_u64(ctx, word, SHMEMD_CMP_GE, value))
			shmemd_arch_spin_hint();
	else
		while (shmemd_signal_fetch(ctx, word) < value)
			shmemd_arch_spin_hint();
}

void await(const pe_t *p, shmemd_group_t g, const uint64_t *word, uint64_t value, int from)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	int status = SHMEMD_OK;
	switch (p->dims.form) {
	case WAIT_GROUP:
		status = shmemd_signal_wait_until_group(ctx, g, word, SHMEMD_CMP_GE, value);
		break;
	case WAIT_FOR:
		do
			status = shmemd_signal_wait_until_for_group(ctx, g, word, SHMEMD_CMP_GE,
								    value, WAIT_NS);
		while (status == SHMEMD_ERR_TIMEOUT);
		break;
	case WAIT_BY_THREAD:
		status = shmemd_wait_until_u64(ctx, word, SHMEMD_CMP_GE, value);
		break;
	default:
		if (g.rank == g.size / 2)
			await_alone(p, word, value, from);
		shmemd_group_sync(g);
	}
	EXPECT(status == SHMEMD_OK);
}
