/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which fiber runs next, and the list of choices that makes a run repeatable.
 *
 * A policy decides through decide() only; so one list of numbers repeats any run. The first entry
 * of the list is the policy that made it. */
#include <stdio.h>
#include "sim/sim.h"

#define MAX_CHOICE 65535u

static uint64_t rng;
static uint16_t *list; /* choices made so far */
static size_t n_list, list_capacity;
static size_t n_replayed;
static uint32_t cursor; /* round robin */
static uint32_t gap;    /* random: accesses until the next switch */
static int is_replay;

static uint64_t draw(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return rng * 2685821657736338717u >> 16;
}

static void record(uint16_t choice)
{
	if (n_list == list_capacity) {
		size_t more = list_capacity ? 2 * list_capacity : 4096;
		uint16_t *grown = shmemsimi_alloc(more * sizeof(*grown));
		shmemsimi_copy(grown, list, n_list * sizeof(*grown));
		shmemsimi_free(list, list_capacity * sizeof(*grown));
		list = grown;
		list_capacity = more;
	}
	list[n_list++] = choice;
}

/* The number wanted, or the one that the replayed run had here; below n. */
static uint32_t decide(uint32_t n, uint32_t wanted)
{
	if (is_replay) {
		const shmemsim_config_t *cfg = &shmemsimi_w.cfg;
		wanted = n_replayed < cfg->n_replay ? cfg->replay[n_replayed++] : 0;
		if (wanted >= n)
			wanted = n - 1;
	}
	record((uint16_t)wanted);
	return wanted;
}

unsigned shmemsim_choose(unsigned n)
{
	if (n <= 1)
		return 0;
	if (n > MAX_CHOICE)
		n = MAX_CHOICE;
	return decide(n, (uint32_t)(draw() % n));
}

static uint32_t round_robin_pick(void)
{
	if (++cursor >= shmemsimi_w.run.n)
		cursor = 0;
	return cursor;
}

/* Accesses until the next switch, as if each switched with probability switch_per_256 / 256. */
static uint32_t random_gap(void)
{
	uint32_t n = 1;
	while (n < 1024 && (draw() & 255) >= shmemsimi_w.cfg.switch_per_256)
		n++;
	n = decide(MAX_CHOICE, n);
	return n ? n : MAX_CHOICE; /* 0: what a replay beyond the end of its list gets */
}

static int random_point(void)
{
	if (--gap)
		return 0;
	gap = random_gap();
	return 1;
}

static uint32_t random_pick(void)
{
	return shmemsim_choose(shmemsimi_w.run.n);
}

static const shmemsimi_policy_t policies[] = {
	[SHMEMSIM_ROUND_ROBIN] = {"round_robin", 0, NULL, round_robin_pick},
	[SHMEMSIM_RANDOM] = {"random", 1, random_point, random_pick},
};

const shmemsimi_policy_t *shmemsimi_policy_begin(const shmemsim_config_t *cfg)
{
	int policy = cfg->policy;
	rng = (cfg->seed + 1) * 0x9e3779b97f4a7c15u;
	rng = rng ? rng : 1;
	n_list = 0;
	cursor = UINT32_MAX; /* so that the first pick is the first fiber */
	n_replayed = 1;
	is_replay = policy == SHMEMSIM_REPLAY;
	if (is_replay)
		policy = cfg->n_replay ? cfg->replay[0] : SHMEMSIM_ROUND_ROBIN;
	if (policy != SHMEMSIM_ROUND_ROBIN && policy != SHMEMSIM_RANDOM)
		return NULL;
	record((uint16_t)policy);
	if (policy == SHMEMSIM_RANDOM)
		gap = random_gap();
	return &policies[policy];
}

const char *shmemsimi_policy_text(void)
{
	static char text[160];
	const shmemsim_config_t *cfg = &shmemsimi_w.cfg;
	const char *name = shmemsimi_w.policy->name;
	unsigned long long seed = cfg->seed;
	if (is_replay)
		snprintf(text, sizeof(text), "replay of %zu choices (%s)", cfg->n_replay, name);
	else if (shmemsimi_w.policy->sees_accesses)
		snprintf(text, sizeof(text),
			 "SHMEMSIM_POLICY=%s SHMEMSIM_SEED=%llu SHMEMSIM_SWITCH=%u", name, seed,
			 cfg->switch_per_256);
	else
		snprintf(text, sizeof(text), "SHMEMSIM_POLICY=%s SHMEMSIM_SEED=%llu", name, seed);
	return text;
}

size_t shmemsim_choices(const uint16_t **choices)
{
	*choices = list;
	return n_list;
}
