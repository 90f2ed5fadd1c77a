/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which fiber runs next, and the list of choices that makes a run repeatable.
 *
 * A decision is one of n options. Option 0 is the dull one: at an access the current fiber goes on,
 * at a wait the next in turn runs, for data the program gets 0. So a run is described by its other
 * decisions alone: list[0] is the policy, then pairs (number of dull decisions, option taken).
 * Removing a pair makes a simpler run, which is what shrinking does. */
#include <stdio.h>
#include "sim/sim.h"

#define MAX_CHOICE 65535u

static uint64_t rng;
static uint16_t *list; /* decisions made so far */
static size_t n_list, list_capacity;
static uint64_t n_dull;    /* dull decisions since the last pair */
static uint32_t cursor;    /* the run queue's index of the fiber picked last */
static uint32_t gap;       /* accesses that the current fiber does before the policy is asked */
static uint16_t gaps[256]; /* random: by eight random bits */
static uint32_t gaps_per_256 = UINT32_MAX; /* that they were made for */
static size_t next_pair;                   /* replay: place in the list */
static uint32_t replay_dull;
static int is_replay;

uint64_t shmemsimi_draw(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return rng * 2685821657736338717u >> 16;
}

static void record(uint16_t value)
{
	if (n_list == list_capacity) {
		size_t more = list_capacity ? 2 * list_capacity : 4096;
		uint16_t *grown = shmemsimi_alloc(more * sizeof(*grown));
		if (!grown)
			return; /* the run has failed */
		shmemsimi_copy(grown, list, n_list * sizeof(*grown));
		shmemsimi_free(list, list_capacity * sizeof(*grown));
		list = grown;
		list_capacity = more;
	}
	list[n_list++] = value;
}

static uint32_t decided(uint32_t option)
{
	if (!option) {
		n_dull++;
		return 0;
	}
	for (; n_dull > UINT16_MAX; n_dull -= UINT16_MAX + 1) {
		record(UINT16_MAX);
		record(0);
	}
	record((uint16_t)n_dull);
	record((uint16_t)option);
	n_dull = 0;
	return option;
}

/* Nothing is written and everybody only looks again: the order says nothing, and a search would
 * drown in it. Not while time jumps: who is late first matters. */
static inline int is_decision(uint32_t n)
{
	return n > 1 && shmemsimi_w.idle_looks <= 1;
}

/* At an access: the fiber to go on with. */
static inline shmemsimi_fiber_t *point(shmemsimi_world_t *w)
{
	if (shmemsim_wrote || w->sleep.n)
		shmemsimi_wake_due(); /* who polls what was just written is an option already */
	uint32_t n = w->run.n;
	if (!is_decision(n))
		return w->current;
	if (gap) {
		gap--;
		n_dull++;
		return w->current;
	}
	uint32_t option = decided(w->policy->at_access(n));
	if (!option)
		return w->current;
	cursor = (w->current->pos + option) % n;
	return w->run.fibers[cursor];
}

void shmemsimi_step(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->current->kind == KIND_MAIN)
		return;
	shmemsimi_count();
	if (w->policy->at_access) {
		shmemsimi_fiber_t *f = point(w);
		if (f != w->current)
			shmemsimi_switch(f);
	}
}

shmemsimi_fiber_t *shmemsimi_pick(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	uint32_t n = w->run.n, option = 0;
	if (++cursor >= n)
		cursor = 0;
	if (is_decision(n))
		option = decided(w->policy->at_wait(n, cursor));
	cursor = (cursor + option) % n;
	return w->run.fibers[cursor];
}

unsigned shmemsim_choose(unsigned n)
{
	if (n <= 1 || !shmemsimi_w.policy)
		return 0;
	n = n > MAX_CHOICE ? MAX_CHOICE : n;
	uint32_t option = decided(shmemsimi_w.policy->data(n));
	if (shmemsimi_w.cfg.trace)
		shmemsimi_trace_choice(option, n);
	return option;
}

/* Round robin: only data is left to chance. */

static uint32_t dull_wait(uint32_t n, uint32_t first)
{
	(void)n;
	(void)first;
	return 0;
}

static uint32_t random_data(uint32_t n)
{
	return (uint32_t)((shmemsimi_draw() & UINT32_MAX) * n >> 32);
}

/* Random: each access switches with probability switch_per_256 / 256. The numbers of accesses in
 * between, by quantiles, so that chance is asked once for each switch. */
static void make_gaps(uint32_t per_256)
{
	double stay = 1 - per_256 / 256.0, left = 1; /* left: probability of a longer gap */
	uint32_t n = 0;
	for (int i = 0; i < 256; i++) {
		for (; n < UINT16_MAX && left * stay > 1 - (i + 0.5) / 256; n++)
			left *= stay;
		gaps[i] = (uint16_t)n;
	}
	gaps_per_256 = per_256;
}

uint32_t shmemsimi_choose_age(uint32_t n)
{
	const shmemsimi_policy_t *policy = shmemsimi_w.policy;
	int is_newest = policy->data == random_data && (shmemsimi_draw() & 3);
	return decided(is_newest ? 0 : policy->data(n));
}

static void random_gap(void)
{
	gap = gaps[shmemsimi_draw() & 255];
}

static void random_begin(void)
{
	uint32_t per_256 = shmemsimi_w.cfg.switch_per_256;
	per_256 = per_256 > 256 ? 256 : per_256;
	if (gaps_per_256 != per_256)
		make_gaps(per_256);
	random_gap();
}

static uint32_t random_access(uint32_t n)
{
	random_gap();
	return random_data(n);
}

static uint32_t random_wait(uint32_t n, uint32_t first)
{
	(void)first;
	return random_data(n);
}

/* Replay */

static void replay_pair(void)
{
	const shmemsim_config_t *cfg = &shmemsimi_w.cfg;
	replay_dull = next_pair + 1 < cfg->n_replay ? cfg->replay[next_pair] : UINT32_MAX;
}

static uint32_t replay_next(uint32_t n)
{
	if (replay_dull == UINT32_MAX)
		return 0; /* beyond the end */
	if (replay_dull) {
		replay_dull--;
		return 0;
	}
	uint32_t option = shmemsimi_w.cfg.replay[next_pair + 1];
	next_pair += 2;
	replay_pair();
	return option < n ? option : n - 1;
}

static uint32_t replay_wait(uint32_t n, uint32_t first)
{
	(void)first;
	return replay_next(n);
}

static const shmemsimi_policy_t policies[] = {
	[SHMEMSIM_ROUND_ROBIN] = {"round_robin", NULL, dull_wait, random_data},
	[SHMEMSIM_RANDOM] = {"random", random_access, random_wait, random_data},
	[SHMEMSIM_REPLAY] = {"replay", replay_next, replay_wait, replay_next},
	[SHMEMSIM_PCT] = {"pct", shmemsimi_pct_access, shmemsimi_pct_wait, random_data},
	[SHMEMSIM_DFS] = {"dfs", shmemsimi_dfs_access, shmemsimi_dfs_wait, shmemsimi_dfs_data},
};
static const shmemsimi_policy_t replay_round_robin = {"replay", NULL, replay_wait, replay_next};

#define N_POLICIES ((int)(sizeof(policies) / sizeof(policies[0])))

const shmemsimi_policy_t *shmemsimi_policy_begin(const shmemsim_config_t *cfg)
{
	int recorded = cfg->policy;
	rng = (cfg->seed + 1) * 0x9e3779b97f4a7c15u;
	rng = rng ? rng : 1;
	n_list = 0;
	n_dull = 0;
	cursor = UINT32_MAX; /* so that the first in turn is the first fiber */
	next_pair = 1;
	gap = 0;
	is_replay = cfg->policy == SHMEMSIM_REPLAY;
	if (is_replay)
		recorded = cfg->n_replay ? cfg->replay[0] : SHMEMSIM_ROUND_ROBIN;
	if (recorded < 0 || recorded >= N_POLICIES || recorded == SHMEMSIM_REPLAY)
		return NULL;
	record((uint16_t)recorded);
	if (is_replay) {
		replay_pair();
		return recorded == SHMEMSIM_ROUND_ROBIN ? &replay_round_robin
							: &policies[SHMEMSIM_REPLAY];
	}
	if (recorded == SHMEMSIM_RANDOM)
		random_begin();
	else if (recorded == SHMEMSIM_PCT)
		shmemsimi_pct_begin();
	else if (recorded == SHMEMSIM_DFS)
		shmemsimi_dfs_begin();
	return &policies[recorded];
}

/* Environment that makes the same run again. */
const char *shmemsimi_policy_text(void)
{
	static char text[160];
	const shmemsim_config_t *cfg = &shmemsimi_w.cfg;
	unsigned long long seed = cfg->seed;
	size_t n = (size_t)snprintf(text, sizeof(text), "%sSHMEMSIM_POLICY=%s",
				    cfg->weak ? "SHMEMSIM_WEAK=1 " : "", shmemsimi_w.policy->name);
	char *at = text + n;
	size_t left = sizeof(text) - n;
	if (is_replay)
		snprintf(text, sizeof(text), "replay of %zu choices", cfg->n_replay / 2);
	else if (cfg->policy == SHMEMSIM_RANDOM)
		snprintf(at, left, " SHMEMSIM_SEED=%llu SHMEMSIM_SWITCH=%u", seed,
			 cfg->switch_per_256);
	else if (cfg->policy == SHMEMSIM_PCT)
		snprintf(at, left, " SHMEMSIM_SEED=%llu SHMEMSIM_DEPTH=%u SHMEMSIM_LENGTH=%u", seed,
			 cfg->depth, cfg->length);
	else if (cfg->policy == SHMEMSIM_DFS)
		snprintf(at, left, " SHMEMSIM_BOUND=%u", cfg->bound);
	else
		snprintf(at, left, " SHMEMSIM_SEED=%llu", seed);
	return text;
}

size_t shmemsim_choices(const uint16_t **choices)
{
	*choices = list;
	return n_list;
}
