/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* mistakes: each mistake of impl/seed.h is found by a scenario made for it, and one of order only
 * with weak memory. Prints after how many schedules. */
#include <shmem_dev/impl/seed.h>
#include <stdio.h>
#include <string.h>
#include "scenario.h"

#if defined(__SANITIZE_ADDRESS__)
#define N_SCHEDULES 200
#else
#define N_SCHEDULES 1000
#endif

int shmemdi_seeded;

typedef struct mistake {
	const char *name;
	int seed;
	int is_weak; /* needs weak memory to be seen */
	const char *scenario;
} mistake_t;

#define MISTAKE(NAME, is_weak, scenario)                                                           \
	{                                                                                          \
#NAME, SHMEMDI_SEED_##NAME, is_weak, scenario                                      \
	}

static const mistake_t mistakes[] = {
	MISTAKE(SIGNAL_SYNC, 0, "put_signal"), MISTAKE(SIGNAL_FENCE, 1, "put_signal"),
	MISTAKE(SIGNAL_FENCE, 1, "relay"),     MISTAKE(SIGNAL_ADD, 0, "signal_op"),
	MISTAKE(WAIT_GE, 0, "put_signal"),     MISTAKE(WAIT_ACQUIRE, 1, "put_signal"),
	MISTAKE(WAIT_ACQUIRE, 1, "order"),     MISTAKE(WAIT_ACQUIRE, 1, "barrier"),
	MISTAKE(WAIT_ABORT, 0, "gone"),        MISTAKE(WAIT_GROUP, 0, "signal_op"),
	MISTAKE(COPY_TAIL, 0, "put_signal"),   MISTAKE(COPY_STRIDE, 0, "put"),
	MISTAKE(PEER_BASE, 0, "get"),          MISTAKE(QUIET_LATCH, 0, "latch"),
	MISTAKE(SYNC_FENCE, 1, "sync"),        MISTAKE(SYNC_EPOCH, 0, "sync"),
	MISTAKE(SYNC_INDEX, 0, "sync"),
};

static const scenario_t *scenario_named(const char *name)
{
	for (int i = 0; i < n_explore_scenarios; i++)
		if (!strcmp(explore_scenarios[i].name, name))
			return &explore_scenarios[i];
	return NULL;
}

/* Schedules until it was found; 0: not found. */
static int search(const mistake_t *m, int is_weak)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	const scenario_t *s = scenario_named(m->scenario);
	shmemdi_seeded = m->seed;
	cfg.weak = (uint32_t)is_weak;
	for (cfg.seed = 1; s && cfg.seed <= N_SCHEDULES; cfg.seed++)
		if (scenario_run(s, &cfg))
			return (int)cfg.seed;
	return 0;
}

/* 1: not as expected. */
static int print_row(const mistake_t *m)
{
	int sc = search(m, 0), weak = search(m, 1);
	int is_good = weak && (sc == 0) == m->is_weak;
	printf("%-12s %-10s %6d %6d%s\n", m->name, m->scenario, sc, weak,
	       is_good ? "" : " NOT AS EXPECTED");
	return !is_good;
}

int main(void)
{
	int bad = 0;
	printf("%-12s %-10s %6s %6s (schedule; 0: not in %d)\n", "mistake", "scenario", "SC",
	       "weak", N_SCHEDULES);
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		bad |= print_row(&mistakes[i]);
	return bad;
}
