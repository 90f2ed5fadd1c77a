/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* mini_queue_table [schedules]: which policy finds which mistake of the send queue in miniature,
 * after how many schedules (median of nine searches; "-": not in so many as given, 20000 if not),
 * and how fast they run. The depth-first search has a smaller queue's space and shall exhaust it;
 * "none" there is a proof within its bound. Fails if the right queue fails or a mistake that must
 * be found is not. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "mini_queue.h"

typedef struct column {
	const char *name;
	int policy;
	uint32_t depth, bound;
	uint32_t n_producers, n_requests;
	uint64_t n_schedules; /* 0: as given */
	uint32_t weak;
} column_t;

static const column_t columns[] = {
	{"random", SHMEMSIM_RANDOM, 0, 0, 3, 2, 0, 0},
	{"PCT 3", SHMEMSIM_PCT, 3, 0, 3, 2, 0, 0},
	{"PCT 5", SHMEMSIM_PCT, 5, 0, 3, 2, 0, 0},
	{"random, weak", SHMEMSIM_RANDOM, 0, 0, 3, 2, 0, 1},
	{"PCT 3, weak", SHMEMSIM_PCT, 3, 0, 3, 2, 0, 1},
	{"random, 8 producers", SHMEMSIM_RANDOM, 0, 0, 8, 2, 0, 0},
	{"PCT 3, 8 producers", SHMEMSIM_PCT, 3, 0, 8, 2, 0, 0},
	{"DFS bound 1, 2 producers", SHMEMSIM_DFS, 0, 1, 2, 1, 1000000, 0},
};

#define N_COLUMNS ((int)(sizeof(columns) / sizeof(columns[0])))
#define N_SEARCHES 9

/* 1: found. */
static int search(int mistake, const column_t *c, uint64_t n_schedules, uint64_t seed,
		  shmemsim_explored_t *explored)
{
	uint64_t half = c->n_producers * c->n_requests / 2;
	mini_setup_t setup = {mistake, c->n_producers, c->n_requests, 65536 - half};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = c->policy;
	cfg.depth = c->depth;
	cfg.bound = c->bound;
	cfg.seed = seed;
	cfg.weak = c->weak;
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
static uint64_t median(int mistake, const column_t *c, uint64_t n_schedules, uint64_t first)
{
	uint64_t found[N_SEARCHES] = {first};
	if (c->policy == SHMEMSIM_DFS)
		return first; /* it knows no chance */
	for (int i = 1; i < N_SEARCHES; i++) {
		shmemsim_explored_t explored;
		int is_found = search(mistake, c, n_schedules, (uint64_t)i << 32, &explored);
		found[i] = explored.n_schedules + !is_found; /* not found: later than the last */
	}
	qsort(found, N_SEARCHES, sizeof(found[0]), compare);
	return found[N_SEARCHES / 2];
}

/* The kind of mistake that a column is the first to find. */
static int finds(const column_t *c)
{
	if (c->weak)
		return MINI_WHEN_WEAK;
	return c->n_producers > MINI_SLOTS ? MINI_BY_MANY : MINI_BY_ANY;
}

/* A mistake that must be found is found in one of the columns made for it, and no other is. */
static int is_as_expected(int mistake, const int found[MINI_IS_HARMLESS])
{
	int wanted = mini_texts[mistake].found;
	for (int kind = 0; kind < wanted; kind++)
		if (found[kind])
			return 0;
	return wanted == MINI_IS_HARMLESS || found[wanted];
}

static int print_row(int mistake, uint64_t n_schedules, shmemsim_explored_t *explored)
{
	int found[MINI_IS_HARMLESS] = {0};
	printf("| %s |", mini_texts[mistake].text);
	for (int i = 0; i < N_COLUMNS; i++) {
		const column_t *c = &columns[i];
		if (search(mistake, c, n_schedules, 1, &explored[i])) {
			printf(" %" PRIu64 " |",
			       median(mistake, c, n_schedules, explored[i].n_schedules));
			found[finds(c)] = 1;
		} else {
			printf(explored[i].is_exhausted ? " none |" : " - |");
		}
		fflush(stdout);
	}
	int good = is_as_expected(mistake, found);
	puts(good ? "" : " not as expected");
	return !good;
}

static void print_speeds(const shmemsim_explored_t *explored)
{
	printf("| schedules/s without a mistake |");
	for (int i = 0; i < N_COLUMNS; i++)
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
	for (int i = 0; i < N_COLUMNS; i++)
		printf(" %s |", columns[i].name);
	printf("\n| --- |");
	for (int i = 0; i < N_COLUMNS; i++)
		printf(" --- |");
	puts("");
	for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++) {
		shmemsim_explored_t explored[N_COLUMNS];
		bad += print_row(mistake, n_schedules, explored);
		if (mistake == MINI_NONE)
			print_speeds(explored);
	}
	return bad != 0;
}
