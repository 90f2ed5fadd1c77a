/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* mini_queue_table [schedules]: which policy finds which mistake of the miniature send queue, after
 * how many schedules (median of nine searches; "-": not within the given number, default 20000),
 * and how fast schedules run. "(of n)": the limit of the median, which is then of 99 searches. The
 * depth-first search explores a smaller queue completely; "none" there is a proof within its bound.
 * Fails if the correct queue fails, a mistake that must be found is not, one that cannot be found
 * is, or a median exceeds its limit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "mini_queue.h"

typedef struct column {
	const char *name;
	uint32_t kind; /* mini_kind */
	int policy;
	uint32_t depth, n_producers, n_lanes;
	int activemask;
	uint64_t wraps_at;    /* the counters start so that they wrap half way */
	uint64_t n_schedules; /* 0: the given number */
} column_t;

#define ALL SHMEMSIM_ACTIVE_ALL
#define BIT16 0x10000u
#define BIT32 0x100000000u

static const column_t columns[] = {
	{"random", MINI_FEW, SHMEMSIM_RANDOM, 0, 3, 0, ALL, BIT16, 0},
	{"PCT 3", MINI_FEW, SHMEMSIM_PCT, 3, 3, 0, ALL, BIT16, 0},
	{"PCT 5", MINI_FEW, SHMEMSIM_PCT, 5, 3, 0, ALL, BIT16, 0},
	{"random, weak", MINI_WEAK, SHMEMSIM_RANDOM, 0, 3, 0, ALL, BIT16, 0},
	{"PCT 3, weak", MINI_WEAK, SHMEMSIM_PCT, 3, 3, 0, ALL, BIT16, 0},
	{"random, weak, 8 producers", MINI_WEAK_MANY, SHMEMSIM_RANDOM, 0, 8, 0, ALL, BIT32, 0},
	{"random, 8 producers", MINI_MANY, SHMEMSIM_RANDOM, 0, 8, 0, ALL, BIT16, 0},
	{"PCT 3, 8 producers", MINI_MANY, SHMEMSIM_PCT, 3, 8, 0, ALL, BIT32, 0},
	{"random, from 0", MINI_UNWRAPPED, SHMEMSIM_RANDOM, 0, 3, 0, ALL, 0, 0},
	{"random, 2 x 4 lanes", MINI_LANES, SHMEMSIM_RANDOM, 0, 8, 4, ALL, BIT32, 0},
	{"random, split at random", MINI_SPLIT, SHMEMSIM_RANDOM, 0, 8, 4, SHMEMSIM_ACTIVE_RANDOM,
	 BIT32, 0},
	{"random, split in singles", MINI_SPLIT, SHMEMSIM_RANDOM, 0, 8, 4, SHMEMSIM_ACTIVE_SINGLES,
	 BIT16, 0},
	{"random, 2 x 8 lanes", MINI_WIDE, SHMEMSIM_RANDOM, 0, 16, 8, ALL, BIT16, 0},
	{"DFS bound 1, 2 producers", MINI_FEW, SHMEMSIM_DFS, 0, 2, 0, ALL, BIT16, 1000000},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define N_SEARCHES 9
#define N_SEARCHES_WANTED 99

/* Limits of the medians, by column; 0: none. */
static const uint64_t wanted[MINI_N_MISTAKES][N_COLUMNS] = {
	[MINI_NO_LOCK] = {152, 34, 57, 140, 34},
	[MINI_SLOT_OFF_BY_ONE] = {1, 2, 2, 1, 2},
	[MINI_READY_ADDED] = {3, 36, 12, 3, 21},
	[MINI_BATCH_ONLY] = {1, 1, 1, 1, 1},
	[MINI_NO_WRAP] = {1, 1, 2, 2, 1},
	[MINI_NO_FENCE_READY] = {0, 0, 0, 16, 98},
	[MINI_NO_FENCE_CONS] = {0, 0, 0, 103, 1669},
	[MINI_NOT_POSTED] = {0, 0, 0, 0, 0, 0, 1, 1},
};

/* Returns 1 if the mistake was found. */
static int search(int mistake, const column_t *c, uint64_t n_schedules, uint64_t seed,
		  shmemsim_explored_t *explored)
{
	uint32_t n_requests = c->policy == SHMEMSIM_DFS ? 1 : 2;
	uint64_t start = c->wraps_at ? c->wraps_at - c->n_producers * n_requests / 2 : 0;
	mini_setup_t setup = {mistake, c->n_producers, n_requests, start, c->n_lanes};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = c->policy;
	cfg.depth = c->depth;
	cfg.bound = 1;
	cfg.seed = seed;
	cfg.weak = (c->kind & (MINI_WEAK | MINI_WEAK_MANY)) != 0;
	cfg.activemask = c->activemask;
	cfg.max_steps = 200000;
	n_schedules = c->n_schedules ? c->n_schedules : n_schedules;
	return shmemsim_explore(&cfg, n_schedules, 1, mini_main, &setup, explored);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The median for a mistake that was found in the first search after first schedules. */
static uint64_t median(int mistake, size_t column, uint64_t n_schedules, uint64_t first)
{
	const column_t *c = &columns[column];
	int n = wanted[mistake][column] ? N_SEARCHES_WANTED : N_SEARCHES;
	uint64_t found[N_SEARCHES_WANTED] = {first};
	if (c->policy == SHMEMSIM_DFS)
		return first; /* the policy makes no random choices */
	for (int i = 1; i < n; i++) {
		shmemsim_explored_t explored;
		int is_found = search(mistake, c, n_schedules, (uint64_t)i << 32, &explored);
		/* not found: counts as after the last */
		found[i] = explored.n_schedules + !is_found;
	}
	qsort(found, (size_t)n, sizeof(found[0]), compare);
	return found[n / 2];
}

/* Returns 1 if the median exceeds the limit. */
static int print_found(int mistake, size_t column, uint64_t n)
{
	uint64_t at_most = wanted[mistake][column];
	printf(" %" PRIu64, n);
	if (at_most)
		printf(" (of %" PRIu64 ")", at_most);
	printf(" |");
	return at_most && n > at_most;
}

static int print_row(int mistake, uint64_t n_schedules, shmemsim_explored_t *explored)
{
	const mini_text_t *text = &mini_texts[mistake];
	uint32_t found = 0;
	int bad = 0;
	printf("| %s |", text->text);
	for (size_t i = 0; i < N_COLUMNS; i++) {
		const column_t *c = &columns[i];
		if (search(mistake, c, n_schedules, 1, &explored[i])) {
			uint64_t n = median(mistake, i, n_schedules, explored[i].n_schedules);
			bad |= print_found(mistake, i, n);
			found |= c->kind;
		} else {
			bad |= wanted[mistake][i] != 0;
			printf(explored[i].is_exhausted ? " none |" : " - |");
		}
		fflush(stdout);
	}
	bad |= (found & text->found) != text->found || found & text->hidden;
	puts(bad ? " not as expected" : "");
	return bad;
}

static void print_speeds(const shmemsim_explored_t *explored)
{
	printf("| schedules/s without a mistake |");
	for (size_t i = 0; i < N_COLUMNS; i++)
		printf(" %.0f |", (double)explored[i].n_schedules * 1e9 / (double)explored[i].ns);
	puts("");
}

int main(int argc, char **argv)
{
	uint64_t n_schedules = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
	int bad = 0;
	if (argc > 2 || !n_schedules) {
		fprintf(stderr, "usage: mini_queue_table [schedules]\n");
		return 2;
	}
	printf("| mistake |");
	for (size_t i = 0; i < N_COLUMNS; i++)
		printf(" %s |", columns[i].name);
	printf("\n| --- |");
	for (size_t i = 0; i < N_COLUMNS; i++)
		printf(" --- |");
	puts("");
	for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++) {
		shmemsim_explored_t explored[N_COLUMNS];
		bad |= print_row(mistake, n_schedules, explored);
		if (mistake == MINI_NONE)
			print_speeds(explored);
	}
	puts(bad ? "not as expected" : "all as expected");
	return bad;
}
