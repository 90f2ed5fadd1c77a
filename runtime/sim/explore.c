/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Many schedules of one program, until one fails. */
#include <stdio.h>
#include <time.h>
#include "sim/sim.h"

static uint64_t real_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int run(const shmemsim_config_t *cfg, const shmemsimi_program_t *p,
	       shmemsim_explored_t *explored)
{
	explored->n_schedules++;
	explored->seed = cfg->seed;
	int bad = shmemsim_run(cfg, p->n_pes, p->pe_main, p->arg);
	explored->n_steps += shmemsimi_w.steps;
	return bad;
}

/* The dullest schedule, for the number of its accesses. */
static int measure(shmemsim_config_t *cfg, const shmemsimi_program_t *p,
		   shmemsim_explored_t *explored)
{
	static const uint16_t dull[] = {SHMEMSIM_PCT};
	shmemsim_config_t once;
	shmemsimi_copy(&once, cfg, sizeof(once));
	once.policy = SHMEMSIM_REPLAY;
	once.replay = dull;
	once.n_replay = 1;
	int bad = run(&once, p, explored);
	uint64_t n = shmemsimi_w.n_points;
	cfg->length = n > UINT32_MAX ? UINT32_MAX : (uint32_t)(n ? n : 1);
	return bad;
}

static int not_repeated(const shmemsim_explored_t *explored)
{
	shmemsimi_report_line("schedule %llu did not begin as the one before it: pe_main must "
			      "start from the same state each time",
			      (unsigned long long)explored->n_schedules);
	return 1;
}

/* Returns 1 if a schedule failed, 2 if there is nothing to shrink. */
static int search(shmemsim_config_t *cfg, uint64_t n_schedules, const shmemsimi_program_t *p,
		  shmemsim_explored_t *explored)
{
	if (cfg->policy == SHMEMSIM_PCT && !cfg->length && measure(cfg, p, explored))
		return 1;
	for (; explored->n_schedules < n_schedules; cfg->seed++) {
		if (run(cfg, p, explored))
			return 1;
		if (cfg->policy == SHMEMSIM_REPLAY)
			return 0;
		if (cfg->policy != SHMEMSIM_DFS)
			continue;
		int next = shmemsimi_dfs_next();
		explored->is_exhausted = next == 0;
		if (next <= 0)
			return next < 0 ? 1 + not_repeated(explored) : 0;
		cfg->seed--; /* one seed for what is not searched */
	}
	return 0;
}

int shmemsim_explore(const shmemsim_config_t *cfg, uint64_t n_schedules, int n_pes,
		     int (*pe_main)(int pe, int n_pes, void *arg), void *arg,
		     shmemsim_explored_t *explored)
{
	const shmemsimi_program_t program = {n_pes, pe_main, arg};
	shmemsim_explored_t mine = {0, 0, 0, 0, 0};
	shmemsim_config_t at = SHMEMSIM_CONFIG_INIT;
	if (!cfg && shmemsim_config_from_env(&at))
		return 1;
	if (cfg)
		shmemsimi_copy(&at, cfg, sizeof(at));
	shmemsimi_dfs_reset();
	shmemsimi_w.failure = NULL; /* a run that is refused leaves it */
	uint64_t start = real_ns();
	int bad = search(&at, n_schedules, &program, &mine);
	mine.ns = real_ns() - start;
	if (explored)
		shmemsimi_copy(explored, &mine, sizeof(mine));
	if (bad == 1 && shmemsimi_w.failure)
		shmemsimi_shrink(&program, mine.n_schedules);
	return bad != 0;
}
