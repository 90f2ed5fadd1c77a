/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* faults [options]: a fault before every operation of a schedule, of every kind, for several
 * schedules; half of the runs have a second fault during the switch. Prints how many runs there
 * were, and in which phase of the switch each kind of fault came. Exit status 1: a run failed, or
 * a kind of fault never came in a phase. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fault/switch.h"
#include "ring/fault.h"
#include "scenario.h"

#define N_VARIANTS 5
#define N_SHARES 8 /* of the positions of a schedule, for several processes */
#define N_REPORTED 3

static const uint32_t variants[N_VARIANTS] = {0, 1, 2, 4, 6}; /* of ring_switch_variants */
static const char *const operations[N_VARIANTS] = {"puts, adds", "gets", "fetches", "all",
						   "all, end"};
static const char *const kinds[N_FAULT_KINDS] = {"acks lost",     "responses lost", "all lost",
						 "requests late", "WQE fails",      "stopped here",
						 "stopped there", "port event",     "peer's event"};
static const char *const phases[SHMEMHI_CLOSED] = {
	"preparing", "offered",  "connecting", "connected", "running",
	"stopping",  "draining", "flushing",   "querying",  "fenced"};

typedef struct options {
	uint64_t n_seeds, seed, stride;
	int n_jobs;
} options_t;

/* Shared by the processes. */
typedef struct shared {
	uint64_t next, n_runs, n_failed, n_hung, n_positions, n_reported;
	uint64_t hits[N_VARIANTS][N_FAULT_KINDS][SHMEMHI_CLOSED + 1];
} shared_t;

static shared_t *shared;

static void count(uint64_t *n, uint64_t by)
{
	__atomic_fetch_add(n, by, __ATOMIC_RELAXED);
}

static const scenario_t *scenario(void)
{
	for (int i = 0; i < n_explore_scenarios; i++)
		if (!strcmp(explore_scenarios[i].name, "ring_fault"))
			return &explore_scenarios[i];
	return NULL;
}

static void report(const shmemsim_config_t *cfg)
{
	const ring_fault_t *f = &ring_fault_wanted;
	const char *text = scenario_report();

	count(&shared->n_failed, 1);
	if (strstr(text, "livelock") || strstr(text, "deadlock") || strstr(text, "max_steps"))
		count(&shared->n_hung, 1);
	if (__atomic_fetch_add(&shared->n_reported, 1, __ATOMIC_RELAXED) >= N_REPORTED)
		return;
	printf("seed %" PRIu64 "%s, variant %u, %s at %" PRIu64 ", second %d after %u: %.600s\n",
	       cfg->seed, cfg->weak ? " weak" : "", f->variant, kinds[f->kind], f->step, f->second,
	       f->second_step, text);
}

static void run(int v, shmemsim_config_t *cfg)
{
	memset(&ring_fault_seen, 0, sizeof(ring_fault_seen));
	if (scenario_run(scenario(), cfg))
		report(cfg);
	count(&shared->n_runs, 1);
	for (int kind = 0; kind < N_FAULT_KINDS; kind++)
		for (int phase = 0; phase < SHMEMHI_CLOSED; phase++)
			if (ring_fault_seen.hits[kind][phase])
				count(&shared->hits[v][kind][phase],
				      ring_fault_seen.hits[kind][phase]);
}

/* A share of the pairs of an operation of one schedule and a kind of fault, of which each stride-th
 * runs. Kinds take turns unless the stride is a multiple of their number. */
static void run_positions(const options_t *o, int v, uint64_t seed, int is_weak, uint64_t share)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	uint64_t n_steps, draw = (seed * 2 + (uint64_t)is_weak) * N_SHARES + share;

	cfg.seed = seed;
	cfg.weak = (uint32_t)is_weak;
	ring_fault_wanted =
		(ring_fault_t){variants[v], N_FAULT_KINDS, N_FAULT_KINDS, UINT64_MAX, 0};
	run(v, &cfg);
	n_steps = ring_fault_seen.n_steps;
	for (uint64_t i = seed % o->stride + share * o->stride; i < n_steps * N_FAULT_KINDS;
	     i += o->stride * N_SHARES) {
		draw = draw * 6364136223846793005u + 1442695040888963407u;
		ring_fault_wanted.kind = (int)(i % N_FAULT_KINDS);
		ring_fault_wanted.step = i / N_FAULT_KINDS;
		ring_fault_wanted.second =
			draw >> 63 ? (int)(draw >> 33) % N_FAULT_KINDS : N_FAULT_KINDS;
		ring_fault_wanted.second_step = (uint32_t)(draw >> 40) % 100;
		run(v, &cfg);
	}
	count(&shared->n_positions, share ? 0 : n_steps);
}

static void work(const options_t *o)
{
	const uint64_t n = o->n_seeds * 2 * N_VARIANTS * N_SHARES;
	uint64_t i;

	while ((i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < n)
		run_positions(o, (int)(i / N_SHARES % N_VARIANTS),
			      o->seed + i / N_SHARES / N_VARIANTS / 2,
			      i / N_SHARES / N_VARIANTS % 2, i % N_SHARES);
	fflush(stdout);
}

static int run_jobs(const options_t *o)
{
	int bad = 0, status;

	for (int i = 1; i < o->n_jobs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (!pid) {
			work(o);
			exit(0);
		}
	}
	work(o);
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}

/* How often the kind came in the phase, for one operation or for all (N_VARIANTS). */
static uint64_t hits(int v, int kind, int phase)
{
	uint64_t n = 0;

	for (int i = 0; i < N_VARIANTS; i++)
		n += i == v || v == N_VARIANTS ? shared->hits[i][kind][phase] : 0;
	return n;
}

/* Print a table for one operation, or for all. Returns how many cells are empty. While both ends
 * run, and until both are fenced, there is a path that can fail; no channel closes here. */
static int print_table(int v)
{
	int n_empty = 0;

	printf("\n%-15s", v < N_VARIANTS ? operations[v] : "all operations");
	for (int phase = 0; phase < SHMEMHI_CLOSED; phase++)
		printf(" %10s", phases[phase]);
	for (int kind = 0; kind < N_FAULT_KINDS; kind++) {
		printf("\n%-15s", kinds[kind]);
		for (int phase = 0; phase < SHMEMHI_CLOSED; phase++) {
			printf(" %10" PRIu64, hits(v, kind, phase));
			n_empty += !hits(v, kind, phase);
		}
	}
	puts("");
	return n_empty;
}

static int take_options(options_t *o, int argc, char **argv)
{
	static const struct option known[] = {{"seeds", required_argument, NULL, 'n'},
					      {"seed", required_argument, NULL, 's'},
					      {"stride", required_argument, NULL, 't'},
					      {"jobs", required_argument, NULL, 'j'},
					      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (c == '?' || (!n && c != 's'))
			return 1;
		if (c == 'n')
			o->n_seeds = n;
		else if (c == 's')
			o->seed = n;
		else if (c == 't')
			o->stride = n;
		else
			o->n_jobs = (int)(n < 1024 ? n : 1024);
	}
	return optind != argc;
}

int main(int argc, char **argv)
{
	options_t o = {1, 1, 1, (int)sysconf(_SC_NPROCESSORS_ONLN)};
	struct timespec from, to;
	int bad, n_empty, n_some = 0;

	if (take_options(&o, argc, argv)) {
		fprintf(stderr, "usage: faults [--seeds n] [--seed n] [--stride n] [--jobs n]\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED) {
		perror("faults: mmap");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	bad = run_jobs(&o);
	clock_gettime(CLOCK_MONOTONIC, &to);
	for (int v = 0; v < N_VARIANTS; v++)
		n_some += print_table(v);
	n_empty = print_table(N_VARIANTS);
	printf("\nseeds %" PRIu64 " to %" PRIu64 ", stride %" PRIu64 ": %" PRIu64
	       " positions, %" PRIu64 " runs, %" PRIu64 " wrong, %" PRIu64
	       " hung, %d of %d cells empty, %ld s\n",
	       o.seed, o.seed + o.n_seeds - 1, o.stride, shared->n_positions, shared->n_runs,
	       shared->n_failed - shared->n_hung, shared->n_hung, n_some,
	       N_VARIANTS * N_FAULT_KINDS * SHMEMHI_CLOSED, (long)(to.tv_sec - from.tv_sec));
	return bad || shared->n_failed || n_empty;
}
