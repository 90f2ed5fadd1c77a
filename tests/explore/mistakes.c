/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* mistakes: mistakes of logic (tests/seeded) are found by the scenarios written for
 * them, with and without weak memory. Prints after how many schedules. Missing fences:
 * tests/weaken. */
#include <stdio.h>
#include <string.h>
#include "scenario.h"

#if defined(__SANITIZE_ADDRESS__)
#define N_SCHEDULES 200
#else
#define N_SCHEDULES 1000
#endif

int seeded;

typedef struct mistake {
	const char *name;
	int seed;
	const char *scenario;
} mistake_t;

#define MISTAKE(NAME, scenario)                                                                    \
	{                                                                                          \
#NAME, SEEDED_##NAME, scenario                                                     \
	}

static const mistake_t mistakes[] = {
	MISTAKE(SIGNAL_ADD, "put_signal"),
	MISTAKE(WAIT_GE, "put_signal"),
	MISTAKE(WAIT_ABORT, "gone"),
	MISTAKE(WAIT_GROUP, "signal_op"),
	MISTAKE(COPY_TAIL, "put_signal"),
	MISTAKE(COPY_STRIDE, "put"),
	MISTAKE(PEER_BASE, "get"),
	MISTAKE(QUIET_LATCH, "latch"),
	MISTAKE(LATCH_LAST, "latch"),
	MISTAKE(RECORD_CLAIM, "latch"),
	MISTAKE(QUIET_OWN, "latch"),
	MISTAKE(BARRIER_OWN, "latch"),
	MISTAKE(AMO_OLD, "amo_fetch_u64"),
	MISTAKE(AMO_OR, "amo_fetch_u64"),
	MISTAKE(SYNC_FAST, "sync"),
	MISTAKE(SYNC_TIMEOUT, "sync"),
	MISTAKE(SYNC_EPOCH, "sync"),
	MISTAKE(SYNC_INDEX, "barrier"),
	MISTAKE(SWITCH_ANNOUNCED, "orders"),
	MISTAKE(PACKED_HALF, "packed"),
#ifdef EXPLORE_RING
	MISTAKE(FAR_ERROR, "ring_fail"),
	MISTAKE(MAY_DEFER, "ring_later"),
	MISTAKE(OPCODE, "ring_fail"),
	MISTAKE(NO_SPACE, "ring_post"),
	MISTAKE(QUIET_READ, "ring_order"),
	MISTAKE(TURN_EARLY, "ring_post"),
	MISTAKE(TURN_EPOCH, "ring_failover"),
	MISTAKE(CQE_FIRST, "ring_fetch"),
	MISTAKE(LANES_SYNC, "ring_warp"),
	MISTAKE(JUMP_64K, "ring_post"),
	MISTAKE(FT_STOP, "ring_failover"),
	MISTAKE(FT_QUERY, "ring_failover"),
	MISTAKE(FT_PEER, "ring_failover"),
	MISTAKE(FT_OPEN, "ring_failover"),
	MISTAKE(FT_SKIPPED, "ring_failover"),
	MISTAKE(FT_FENCE, "ring_failover"),
	MISTAKE(FT_UNANSWERED, "ring_failover"),
	MISTAKE(REPLAY_AGAIN, "ring_failover"),
	MISTAKE(REPLAY_READ, "ring_failover"),
	MISTAKE(REPLAY_TOLD, "ring_failover"),
	MISTAKE(SWITCH_BASE, "ring_failover"),
	MISTAKE(SWITCH_RING, "ring_failover"),
	MISTAKE(SWITCH_READ, "ring_failover"),
	MISTAKE(SWITCH_ASKED, "ring_failover"),
	MISTAKE(FT_FATAL, "ring_failover"),
	MISTAKE(SWITCH_READER, "ring_failover"),
	MISTAKE(SWITCH_MOVE, "ring_failover"),
	MISTAKE(SWITCH_TURN, "ring_failover"),
	MISTAKE(SWITCH_NUMBER, "ring_failover"),
#endif
};

static const scenario_t *scenario_named(const char *name)
{
	for (int i = 0; i < n_explore_scenarios; i++)
		if (!strcmp(explore_scenarios[i].name, name))
			return &explore_scenarios[i];
	return NULL;
}

/* Schedules until the mistake was found; 0: not found. */
static int search(const mistake_t *m, int is_weak)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	const scenario_t *s = scenario_named(m->scenario);
	seeded = m->seed;
	cfg.weak = (uint32_t)is_weak;
	for (cfg.seed = 1; s && cfg.seed <= N_SCHEDULES; cfg.seed++)
		if (scenario_run(s, &cfg))
			return (int)cfg.seed;
	return 0;
}

/* Returns 1 if the result is not the expected one. */
static int print_row(const mistake_t *m)
{
	int sc = search(m, 0), weak = search(m, 1);
	int is_good = sc && weak;
	printf("%-13s %-13s %6d %6d%s\n", m->name, m->scenario, sc, weak,
	       is_good ? "" : " NOT AS EXPECTED");
	return !is_good;
}

int main(void)
{
	int bad = 0;
	printf("%-13s %-13s %6s %6s (schedule; 0: not in %d)\n", "mistake", "scenario", "SC",
	       "weak", N_SCHEDULES);
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		bad |= print_row(&mistakes[i]);
	return bad;
}
