/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* mini_queue_table [schedules]: which policy finds which mistake of the send queue in miniature,
 * after how many schedules ("-": not in so many; 20000 if not given), and how fast they run. Fails
 * if the right queue fails or a mistake that must be found is not. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "mini_queue.h"

typedef struct column {
	const char *name;
	int policy;
	uint32_t depth, bound;
	uint32_t n_producers, n_requests;
	int is_many; /* more producers than slots */
} column_t;

static const column_t columns[] = {
	{"random", SHMEMSIM_RANDOM, 0, 0, 3, 2, 0},
	{"PCT 3", SHMEMSIM_PCT, 3, 0, 3, 2, 0},
	{"PCT 5", SHMEMSIM_PCT, 5, 0, 3, 2, 0},
	{"DFS 1", SHMEMSIM_DFS, 0, 1, 3, 2, 0},
	{"random, 8 producers", SHMEMSIM_RANDOM, 0, 0, 8, 2, 1},
	{"PCT 3, 8 producers", SHMEMSIM_PCT, 3, 0, 8, 2, 1},
};

#define N_COLUMNS ((int)(sizeof(columns) / sizeof(columns[0])))

static shmemsim_explored_t total[N_COLUMNS]; /* of the right queue */

/* 1: found. */
static int search(int mistake, int column, uint64_t n_schedules, shmemsim_explored_t *explored)
{
	const column_t *c = &columns[column];
	mini_setup_t setup = {mistake, c->n_producers, c->n_requests, 65533};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = c->policy;
	cfg.depth = c->depth;
	cfg.bound = c->bound;
	cfg.max_steps = 200000;
	return shmemsim_explore(&cfg, n_schedules, 1, mini_main, &setup, explored);
}

/* A mistake that must be found is found in one of the columns made for it. */
static int is_as_expected(int mistake, int is_found, int is_found_by_many)
{
	int wanted = mini_texts[mistake].found;
	if (wanted == MINI_BY_ANY)
		return is_found;
	if (wanted == MINI_BY_MANY)
		return is_found_by_many;
	return !is_found && !is_found_by_many;
}

static int print_row(int mistake, uint64_t n_schedules)
{
	int is_found = 0, is_found_by_many = 0;
	printf("| %s |", mini_texts[mistake].text);
	for (int i = 0; i < N_COLUMNS; i++) {
		shmemsim_explored_t explored;
		if (search(mistake, i, n_schedules, &explored)) {
			printf(" %" PRIu64 " |", explored.n_schedules);
			*(columns[i].is_many ? &is_found_by_many : &is_found) = 1;
		} else {
			printf(explored.is_exhausted ? " none |" : " - |");
		}
		fflush(stdout);
		if (mistake == MINI_NONE)
			total[i] = explored;
	}
	int good = is_as_expected(mistake, is_found, is_found_by_many);
	puts(good ? "" : " not as expected");
	return !good;
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
	for (int mistake = 0; mistake < MINI_N_MISTAKES; mistake++)
		bad += print_row(mistake, n_schedules);
	printf("| schedules/s of the right queue |");
	for (int i = 0; i < N_COLUMNS; i++)
		printf(" %.0f |", (double)total[i].n_schedules * 1e9 / (double)total[i].ns);
	puts("");
	return bad != 0;
}
