/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The choice of the next fiber, and the list of choices that makes a run repeatable.
 *
 * A decision is one of n options. Option 0 is the default: at an access the current fiber
 * continues, at a wait the next fiber in turn runs, for data the program gets 0. Only the other
 * decisions are recorded: list[0] is the policy, then pairs (number of default decisions, option
 * taken). Shrinking removes pairs, which makes a run simpler. */
#include <stdio.h>
#include "sim/sim.h"

#define MAX_CHOICE UINT16_MAX /* of the list; a mask */
/* The weight of an access right after an atomic: there a thread has claimed a value that others
 * read, and has not used its claim yet. */
#define WEIGHT_AFTER_ATOMIC 16u

static uint64_t rng;
static uint16_t *list; /* decisions made so far */
static size_t n_list, list_capacity;
static uint64_t n_default;     /* default decisions since the last pair */
static uint32_t cursor;        /* index in the run queue of the fiber that was picked last */
static uint32_t stale_per_256; /* weak memory: chance that a load reads an old value */
static size_t next_pair;       /* replay: position in the list */
static uint32_t replay_default;
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

/* An option that 16 bits cannot hold, in a grid of so many threads, becomes another one: the list
 * must say what was taken. */
static uint32_t decided(uint32_t option)
{
	option &= MAX_CHOICE;
	if (!option) {
		n_default++;
		return 0;
	}
	for (; n_default > UINT16_MAX; n_default -= UINT16_MAX + 1) {
		record(UINT16_MAX);
		record(0);
	}
	record((uint16_t)n_default);
	record((uint16_t)option);
	n_default = 0;
	return option;
}

/* Returns whether the choice between n fibers is a decision. It is none if all of them only poll
 * and nothing is written: their order does not matter, and a search would consist of such
 * decisions. While the clock jumps it is one: the fiber that times out first matters. */
static inline bool is_decision(uint32_t n)
{
	return n > 1 && shmemsimi_w.idle_polls <= 1;
}

/* At an access: choose the fiber that runs next. */
static inline shmemsimi_fiber_t *point(shmemsimi_world_t *w, uint32_t weight)
{
	if (shmemsim_wrote || w->epoch != w->spin_epoch || w->sleep.n)
		/* wakes all fibers that poll if something was written, and sleepers that are due */
		shmemsimi_wake_due();
	uint32_t n = w->run.n;
	if (!is_decision(n))
		return w->current;
	if (w->gap >= weight) {
		w->gap -= weight;
		n_default++;
		return w->current;
	}
	uint32_t option = decided(w->policy->at_access(n, weight));
	if (!option)
		return w->current;
	cursor = (w->current->pos + option) % n;
	return w->run.fibers[cursor];
}

/* Returns whether the policy may switch at this access. A switch before a fence is equivalent to
 * one after it, unless the fence is part of the order of sequentially consistent fences. */
static inline bool is_point(int kind)
{
	return kind < SHMEMSIM_FENCE || (kind == SHMEMSIM_FENCE_SC && shmemsimi_w.cfg.weak);
}

void shmemsimi_step(int access)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	int kind = access & 0xff;
	if (w->current->kind == KIND_MAIN)
		return;
	shmemsimi_count();
	if (w->policy->at_access && is_point(kind)) {
		uint32_t weight = w->current->is_after_atomic ? WEIGHT_AFTER_ATOMIC : 1;
		w->current->is_after_atomic = kind == SHMEMSIM_RMW;
		shmemsimi_fiber_t *f = point(w, weight);
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

/* Round robin: only data choices are random. */

static uint32_t round_robin_wait(uint32_t n, uint32_t first)
{
	(void)n;
	(void)first;
	return 0;
}

uint32_t shmemsimi_choose_age(uint32_t n)
{
	const shmemsimi_policy_t *policy = shmemsimi_w.policy;
	if (policy->data != shmemsimi_random_data)
		return decided(policy->data(n));
	int is_old = (shmemsimi_draw() & 255) < stale_per_256;
	return decided(is_old ? 1 + shmemsimi_random_data(n - 1) : 0);
}

/* Replay */

static void replay_pair(void)
{
	const shmemsim_config_t *cfg = &shmemsimi_w.cfg;
	replay_default = next_pair + 1 < cfg->n_replay ? cfg->replay[next_pair] : UINT32_MAX;
}

static uint32_t replay_next(uint32_t n)
{
	if (replay_default == UINT32_MAX)
		return 0; /* beyond the end */
	if (replay_default) {
		replay_default--;
		return 0;
	}
	uint32_t option = shmemsimi_w.cfg.replay[next_pair + 1];
	next_pair += 2;
	replay_pair();
	return option < n ? option : n - 1;
}

static uint32_t replay_access(uint32_t n, uint32_t weight)
{
	(void)weight;
	return replay_next(n);
}

static uint32_t replay_wait(uint32_t n, uint32_t first)
{
	(void)first;
	return replay_next(n);
}

static const shmemsimi_policy_t policies[] = {
	[SHMEMSIM_ROUND_ROBIN] = {"round_robin", NULL, round_robin_wait, shmemsimi_random_data},
	[SHMEMSIM_RANDOM] = {"random", shmemsimi_random_access, shmemsimi_random_wait,
			     shmemsimi_random_data},
	[SHMEMSIM_REPLAY] = {"replay", replay_access, replay_wait, replay_next},
	[SHMEMSIM_PCT] = {"pct", shmemsimi_pct_access, shmemsimi_pct_wait, shmemsimi_random_data},
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
	n_default = 0;
	cursor = UINT32_MAX; /* so that the first fiber runs first */
	next_pair = 1;
	shmemsimi_w.gap = 0;
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
	if (cfg->weak)
		stale_per_256 = 16u << shmemsimi_random_data(3);
	if (recorded == SHMEMSIM_RANDOM)
		shmemsimi_random_begin();
	else if (recorded == SHMEMSIM_PCT)
		shmemsimi_pct_begin();
	else if (recorded == SHMEMSIM_DFS)
		shmemsimi_dfs_begin();
	return &policies[recorded];
}

size_t shmemsimi_variables_text(const shmemsim_config_t *cfg, char *text, size_t nbytes)
{
	const char *mask = "";
	if (cfg->activemask == SHMEMSIM_ACTIVE_SINGLES)
		mask = "SHMEMSIM_ACTIVEMASK=singles ";
	else if (cfg->activemask == SHMEMSIM_ACTIVE_RANDOM)
		mask = "SHMEMSIM_ACTIVEMASK=random ";
	return (size_t)snprintf(text, nbytes, "%s%s%s", cfg->weak ? "SHMEMSIM_WEAK=1 " : "", mask,
				cfg->flags & SHMEMSIM_STRICT_EXIT ? "SHMEMSIM_STRICT_EXIT=1 " : "");
}

/* The environment variables that repeat this run; of a replay the length of its list. */
const char *shmemsimi_policy_text(void)
{
	static char text[256];
	const shmemsim_config_t *cfg = &shmemsimi_w.cfg;
	unsigned long long seed = cfg->seed;
	size_t n = shmemsimi_variables_text(cfg, text, sizeof(text));
	n += (size_t)snprintf(text + n, sizeof(text) - n, "SHMEMSIM_POLICY=%s",
			      shmemsimi_w.policy->name);
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
