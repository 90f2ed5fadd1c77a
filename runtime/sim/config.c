/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The configuration of a run from the environment. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim.h"

#define MAX_TRACE 100000u

static int bad_value(const char *name, const char *value, const char *wanted)
{
	shmemsimi_report_line("%s=%s: must be %s", name, value, wanted);
	return 1;
}

static int number_from_env(const char *name, uint64_t max, uint64_t *value)
{
	const char *text = getenv(name);
	char *end;
	if (!text)
		return 0;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 0);
	if (errno || end == text || *end || text[0] == '-' || v > max) {
		char wanted[48];
		snprintf(wanted, sizeof(wanted), "a number from 0 to %llu",
			 (unsigned long long)max);
		return bad_value(name, text, wanted);
	}
	*value = v;
	return 0;
}

static int number32_from_env(const char *name, uint32_t max, uint32_t *value)
{
	uint64_t wide = *value;
	int bad = number_from_env(name, max, &wide);
	*value = (uint32_t)wide;
	return bad;
}

static int word_from_env(const char *name, const char *const *words, int n, int *value)
{
	const char *text = getenv(name);
	char wanted[96] = "one of:";
	if (!text)
		return 0;
	for (int i = 0; i < n; i++) {
		size_t used = strlen(wanted);
		if (strcmp(text, words[i]) == 0) {
			*value = i;
			return 0;
		}
		snprintf(wanted + used, sizeof(wanted) - used, " %s", words[i]);
	}
	return bad_value(name, text, wanted);
}

/* Parse "policy" or "policy,defaults:option,defaults:option,...". */
static size_t parse_replay(const char *text, uint16_t *list, size_t capacity)
{
	size_t n = 0;
	for (const char *at = text;; at++) {
		char *end;
		unsigned long v = strtoul(at, &end, 10);
		if (end == at || at[0] == '-' || v > UINT16_MAX || n == capacity)
			return 0;
		list[n++] = (uint16_t)v;
		at = end;
		if (!*at)
			return n % 2 ? n : 0;
		if (*at != (n % 2 ? ',' : ':'))
			return 0;
	}
}

static int replay_from_env(shmemsim_config_t *cfg)
{
	static uint16_t *list; /* the configuration points to it */
	static size_t list_nbytes;
	const char *text = getenv("SHMEMSIM_REPLAY");
	if (!text)
		return 0;
	shmemsimi_free(list, list_nbytes);
	list_nbytes = (strlen(text) + 1) * sizeof(*list);
	list = shmemsimi_alloc(list_nbytes);
	cfg->policy = SHMEMSIM_REPLAY;
	cfg->replay = list;
	cfg->n_replay = list ? parse_replay(text, list, strlen(text)) : 0;
	return cfg->n_replay ? 0
			     : bad_value("SHMEMSIM_REPLAY", text,
					 "a list such as 1,12:2,40:1, from a report");
}

int shmemsim_config_from_env(shmemsim_config_t *cfg)
{
	static const char *const policies[] = {"round_robin", "random", "pct", "dfs"};
	static const int values[] = {SHMEMSIM_ROUND_ROBIN, SHMEMSIM_RANDOM, SHMEMSIM_PCT,
				     SHMEMSIM_DFS};
	static const char *const masks[] = {"all", "singles", "random"};
	int policy = -1;
	uint32_t strict = cfg->flags & SHMEMSIM_STRICT_EXIT ? 1 : 0;
	shmemsimi_report_begin();
	if (word_from_env("SHMEMSIM_POLICY", policies, 4, &policy) ||
	    word_from_env("SHMEMSIM_ACTIVEMASK", masks, 3, &cfg->activemask) ||
	    number_from_env("SHMEMSIM_SEED", UINT64_MAX, &cfg->seed) ||
	    number32_from_env("SHMEMSIM_SWITCH", 256, &cfg->switch_per_256) ||
	    number32_from_env("SHMEMSIM_DEPTH", 32, &cfg->depth) ||
	    number32_from_env("SHMEMSIM_LENGTH", UINT32_MAX, &cfg->length) ||
	    number32_from_env("SHMEMSIM_BOUND", UINT32_MAX, &cfg->bound) ||
	    number32_from_env("SHMEMSIM_WEAK", 1, &cfg->weak) ||
	    number32_from_env("SHMEMSIM_STRICT_EXIT", 1, &strict) ||
	    number32_from_env("SHMEMSIM_TRACE", MAX_TRACE, &cfg->trace))
		return 1;
	cfg->flags = (cfg->flags & ~SHMEMSIM_STRICT_EXIT) | (strict ? SHMEMSIM_STRICT_EXIT : 0);
	cfg->policy = policy < 0 ? cfg->policy : values[policy];
	return replay_from_env(cfg);
}
