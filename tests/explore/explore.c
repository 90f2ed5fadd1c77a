/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* explore [options] [scenario...]: each scenario on many schedules, with and without weak memory;
 * one row each. Several processes share the scenarios. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "scenario.h"

#define TRACE_LINES 60
#define ENOUGH_FAILED 10 /* of one row and mode: schedules of broken code can take seconds each */
/* weak memory cannot be combined with thread sanitizer */
#define N_MODES (SHMEMDI_CPU_TSAN ? 1 : 2)

typedef struct options {
	uint64_t n_schedules, seed;
	int n_jobs;
	char **names; /* [n_names]; none: all */
	int n_names;
} options_t;

/* Shared by the processes. */
typedef struct shared {
	int next; /* the next scenario that no process has taken */
	uint64_t n_run, n_failed;
} shared_t;

/* One scenario in one mode. */
typedef struct column {
	uint64_t n_run, n_failed, first; /* first: seed of the first failed schedule */
	double seconds;
} column_t;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static column_t run_column(const scenario_t *s, const options_t *o, int is_weak)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	column_t c = {0, 0, 0, now()};
	cfg.weak = (uint32_t)is_weak;
	for (; c.n_run < o->n_schedules && c.n_failed < ENOUGH_FAILED; c.n_run++) {
		cfg.seed = o->seed + c.n_run;
		if (scenario_run(s, &cfg) && !c.n_failed++)
			c.first = cfg.seed;
	}
	c.seconds = now() - c.seconds;
	return c;
}

/* Run the first failure again, shrunk. */
static void explain(const scenario_t *s, const column_t *c, int is_weak)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.weak = (uint32_t)is_weak;
	cfg.seed = c->first;
	cfg.trace = TRACE_LINES;
	scenario_run(s, &cfg);
	printf("\n%s\nagain: explore --schedules 1 --seed %" PRIu64 " %s\n\n", scenario_report(),
	       c->first, s->name);
}

static void run_row(const scenario_t *s, const options_t *o, shared_t *shared)
{
	column_t columns[2];
	printf("%-14s", s->name);
	for (int weak = 0; weak < N_MODES; weak++) {
		column_t *c = &columns[weak];
		*c = run_column(s, o, weak);
		printf(" %9" PRIu64 " %6" PRIu64 " %8.0f", c->n_run, c->n_failed,
		       (double)c->n_run / c->seconds);
		__atomic_fetch_add(&shared->n_run, c->n_run, __ATOMIC_RELAXED);
		__atomic_fetch_add(&shared->n_failed, c->n_failed, __ATOMIC_RELAXED);
	}
	puts("");
	for (int weak = 0; weak < N_MODES; weak++)
		if (columns[weak].n_failed)
			explain(s, &columns[weak], weak);
	fflush(stdout); /* write one row at a time: the processes share stdout */
}

static int is_wanted(const options_t *o, const char *name)
{
	int is = !o->n_names;
	for (int i = 0; i < o->n_names; i++)
		is |= !strcmp(o->names[i], name);
	return is;
}

static void work(const options_t *o, shared_t *shared)
{
	int i;
	while ((i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < n_explore_scenarios)
		if (is_wanted(o, explore_scenarios[i].name))
			run_row(&explore_scenarios[i], o, shared);
}

/* Returns 1 if a process ended with an error. */
static int run_jobs(const options_t *o, shared_t *shared)
{
	int bad = 0, status;
	for (int i = 1; i < o->n_jobs; i++) {
		pid_t pid = fork();
		if (pid < 0) {
			perror("explore: fork");
			break;
		}
		if (!pid) {
			work(o, shared);
			exit(0);
		}
	}
	work(o, shared);
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}

static int usage(const char *text)
{
	fprintf(stderr,
		"explore: %s\n"
		"usage: explore [--schedules n] [--seed n] [--jobs n] [scenario...]\n"
		"scenarios:",
		text);
	for (int i = 0; i < n_explore_scenarios; i++)
		fprintf(stderr, " %s", explore_scenarios[i].name);
	fputc('\n', stderr);
	return 2;
}

/* A number of at least least; returns 0 and changes nothing if text is none. */
static int take_number(const char *text, uint64_t least, uint64_t *number)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);
	if (*end || end == text || *text == '-' || n < least)
		return 0;
	*number = n;
	return 1;
}

static const char *take_options(options_t *o, int argc, char **argv)
{
	static const struct option known[] = {{"schedules", required_argument, NULL, 'n'},
					      {"seed", required_argument, NULL, 's'},
					      {"jobs", required_argument, NULL, 'j'},
					      {NULL, 0, NULL, 0}};
	uint64_t n_jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	int c, is_good = 1;
	while (is_good && (c = getopt_long(argc, argv, "n:s:j:", known, NULL)) != -1) {
		if (c == '?')
			return "unknown option, or one without its number";
		if (c == 'n')
			is_good = take_number(optarg, 1, &o->n_schedules);
		else if (c == 's')
			is_good = take_number(optarg, 0, &o->seed);
		else
			is_good = take_number(optarg, 1, &n_jobs) && n_jobs <= 1024;
	}
	o->n_jobs = (int)n_jobs;
	o->names = argv + optind;
	o->n_names = argc - optind;
	return is_good ? NULL : "not a usable number";
}

/* Returns whether every name is in the table. */
static int are_known(const options_t *o)
{
	int n_known = 0;
	for (int i = 0; i < n_explore_scenarios; i++)
		for (int k = 0; k < o->n_names; k++)
			n_known += !strcmp(o->names[k], explore_scenarios[i].name);
	return n_known == o->n_names;
}

int main(int argc, char **argv)
{
	options_t o = {20000, 1, 1, NULL, 0};
	const char *trouble = take_options(&o, argc, argv);
	if (trouble)
		return usage(trouble);
	if (!are_known(&o))
		return usage("no such scenario");
	shared_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("explore: mmap");
		return 1;
	}
	double start = now();
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	printf("%-14s %9s %6s %8s %9s %6s %8s\n", "scenario", "SC", "failed", "per s", "weak",
	       "failed", "per s");
	fflush(stdout);
	int bad = run_jobs(&o, shared);
	printf("%" PRIu64 " schedules, %" PRIu64 " failed, %.0f s\n", shared->n_run,
	       shared->n_failed, now() - start);
	return bad || shared->n_failed;
}
