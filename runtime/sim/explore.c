/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Run many schedules of one program, until one fails. */
#include <stdio.h>
#include <time.h>
#include "sim/sim.h"

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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

/* Pct: move the expected length towards that of the last schedule, rounded up. The maximum of all
 * lengths would be safe, but one schedule with a long poll loop would move most priority changes of
 * all later schedules beyond their end. */
static void learn_length(shmemsim_config_t *cfg)
{
	uint64_t n = shmemsimi_w.n_points < 1u << 30 ? shmemsimi_w.n_points : 1u << 30;
	cfg->length = (uint32_t)((3 * (uint64_t)cfg->length + n + 3) / 4);
}

static int not_repeated(const shmemsim_explored_t *explored)
{
	shmemsimi_report_line("schedule %llu did not begin like the previous one: pe_main must "
			      "start from the same state each time",
			      (unsigned long long)explored->n_schedules);
	return 1;
}

/* Returns 0: no schedule failed; 1: one did, or was refused; 2: there is nothing to shrink, since
 * dfs found that the program does not repeat. */
static int search(shmemsim_config_t *cfg, uint64_t n_schedules, const shmemsimi_program_t *p,
		  shmemsim_explored_t *explored)
{
	int is_measured = cfg->policy == SHMEMSIM_PCT && !cfg->length;
	if (is_measured)
		cfg->length = 1;
	for (; explored->n_schedules < n_schedules; cfg->seed++) {
		if (run(cfg, p, explored))
			return 1;
		if (cfg->policy == SHMEMSIM_REPLAY)
			return 0;
		if (is_measured)
			learn_length(cfg);
		if (cfg->policy != SHMEMSIM_DFS)
			continue;
		int next = shmemsimi_dfs_next();
		explored->is_exhausted = next == 0;
		if (next <= 0)
			return next < 0 ? 1 + not_repeated(explored) : 0;
		cfg->seed--; /* all schedules of dfs have the first seed */
	}
	return 0;
}

static int refuse_round_robin(void)
{
	shmemsimi_report_begin();
	shmemsimi_report_line(
		"shmemsim_explore: policy round_robin always chooses the next fiber in turn, so a "
		"search could not vary the order of fibers: set SHMEMSIM_POLICY, or policy of the "
		"configuration, to random, pct or dfs; shmemsim_run runs round robin");
	return 1;
}

int shmemsim_explore(const shmemsim_config_t *cfg, uint64_t n_schedules, int n_pes,
		     int (*pe_main)(int pe, int n_pes, void *arg), void *arg,
		     shmemsim_explored_t *explored)
{
	const shmemsimi_program_t program = {n_pes, pe_main, arg};
	shmemsim_explored_t mine = {0, 0, 0, 0, 0};
	shmemsim_config_t at = SHMEMSIM_CONFIG_INIT;
	at.policy = SHMEMSIM_RANDOM; /* round robin makes no choice between fibers */
	if (!cfg && shmemsim_config_from_env(&at))
		return 1;
	if (cfg)
		shmemsimi_copy(&at, cfg, sizeof(at));
	if (at.policy == SHMEMSIM_ROUND_ROBIN && n_schedules > 1)
		return refuse_round_robin();
	shmemsimi_dfs_reset();
	shmemsimi_w.failure = NULL; /* a refused run does not set it */
	uint64_t start = cpu_ns();
	shmemsimi_w.is_searching = 1;
	int bad = search(&at, n_schedules, &program, &mine);
	mine.ns = cpu_ns() - start;
	if (explored)
		shmemsimi_copy(explored, &mine, sizeof(mine));
	if (bad == 1 && shmemsimi_w.failure)
		shmemsimi_shrink(&program, mine.n_schedules);
	shmemsimi_w.is_searching = 0;
	return bad != 0;
}
