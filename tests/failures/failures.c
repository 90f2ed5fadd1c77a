/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The failure matrix: each call of the C library and of the NIC's library that PE 1 makes in
 * shmemh_init, in a growth of the heap, in shmemh_barrier and in shmemh_finalize fails once, and
 * is once the place where PE 1 is killed. After each all other PEs must have the same status and
 * one line that names PE 1, nothing may be left in their processes, and a whole job must work in
 * them. Prints a table; every scene that is wrong is a line before it. */
#include <getopt.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "crew.h"

#define FAULTY 1
#define PATIENT "60s"
#define SHORT "2s" /* where the others can only wait for a PE that never comes */
#define N_PHASES 12

static const char *const step_names[] = {"init", "malloc", "malloc again", "barrier", "finalize"};
static const char *const phase_names[N_PHASES] = {"handle",  "options",      "bootstrap", "tables",
						  "version", "memory",       "node",      "heap",
						  "NIC",     "device state", "teams",     "watch"};

/* A row of the table: a step, of init a phase, and what happens in it. */
typedef struct row {
	int n, n_tolerated, n_wrong;
	char statuses[96];
	char line[128]; /* of PE 0, the first one */
} row_t;

static row_t rows[CREW_STEPS][N_PHASES][INJECT_DEATH + 1];
static int n_scenes, n_wrong;

static const char *status_name(int status)
{
	static const char *const text[] = {"ARGUMENT", "MISMATCH", "NO_MEMORY", "NOT_OWNED",
					   "TIMEOUT",  "PEER",     "BOOTSTRAP", "VERSION",
					   "CUDA",     "SYSTEM",   "OPTION",    "NIC"};

	if (status == SHMEMH_OK)
		return "OK";
	if (status < SHMEMH_ERR_ARGUMENT || status > SHMEMH_ERR_NIC)
		return "?";
	return text[status - SHMEMH_ERR_ARGUMENT];
}

__attribute__((format(printf, 2, 3))) static void wrong(row_t *row, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	row->n_wrong++;
	n_wrong++;
}

/* Run one scene of CREW_PES PEs. The fault is that of `fault`, whose other fields are filled in. */
static const outcome_t *run(const scene_t *fault)
{
	scene_t scenes[CREW_PES];

	for (int pe = 0; pe < CREW_PES; pe++) {
		scenes[pe] = pe == FAULTY ? *fault : (scene_t){.step = -1};
		scenes[pe].pe = pe;
		scenes[pe].n_pes = CREW_PES;
		scenes[pe].timeout = fault->timeout;
		if (pe == 0 && crew_id(CREW_PES, fault->timeout, &scenes[0].id) != 0)
			return NULL;
		scenes[pe].id = scenes[0].id;
	}
	n_scenes++;
	return crew_run(scenes, CREW_PES);
}

static bool names_faulty(const char *text)
{
	char name[16];

	snprintf(name, sizeof name, "PE %d", FAULTY);
	return strstr(text, name) != NULL;
}

/* Where the fault was in that outcome: its row, and a name for lines. */
static row_t *place(const scene_t *s, const outcome_t *faulty, char *name, size_t nbytes)
{
	const inject_trace_t *t = &faulty->trace;
	int last = s->at < t->n ? s->at - 1 : t->n - 1; /* death ends the trace */
	int phase = s->step == CREW_INIT && last >= 0 ? t->phase[last] + 1 : 0;

	if (s->bad_option || s->other_version) {
		phase = s->bad_option ? 1 : 4;
		snprintf(name, nbytes, "init %s, bad value", phase_names[phase]);
	} else {
		snprintf(name, nbytes, "%s %s, %s %d (%s)", step_names[s->step],
			 s->step == CREW_INIT ? phase_names[phase] : "",
			 s->action == INJECT_DEATH ? "death at call" : "error of call", s->at,
			 last >= 0 ? inject_name(t->call[last]) : "none");
	}
	return &rows[s->step][phase][s->action];
}

/* All PEs must have the same status of the step, one line each, which names PE 1. Without memory
 * for a handle PE 1 knows no job to tell: the line of the others is that it did not come. */
static void judge_step(row_t *row, const char *name, const outcome_t *o, int step)
{
	bool has_handle = row != &rows[CREW_INIT][0][INJECT_ERROR];
	int want = o[0].status[step];

	for (int pe = 0; pe < CREW_PES; pe++) {
		const char *text = o[pe].text[step];

		if (o[pe].is_dead)
			continue;
		if (o[pe].status[step] != want && (pe != FAULTY || has_handle))
			wrong(row, "%s: PE 0 got %s (%s), PE %d %s (%s)\n", name, status_name(want),
			      o[0].text[step], pe, status_name(o[pe].status[step]), text);
		else if (want != SHMEMH_OK && (text[0] == '\0' || strchr(text, '\n')))
			wrong(row, "%s: the line of PE %d is '%s'\n", name, pe, text);
		else if (want != SHMEMH_OK && pe != FAULTY && !names_faulty(text))
			wrong(row, "%s: PE %d is not told of PE %d: %s\n", name, pe, FAULTY, text);
	}
}

static void add_status(row_t *row, int status)
{
	const char *name = status_name(status);

	if (!strstr(row->statuses, name))
		snprintf(row->statuses + strlen(row->statuses),
			 sizeof row->statuses - strlen(row->statuses), "%s%s",
			 row->statuses[0] ? " " : "", name);
}

/* A malloc that failed must work the second time, unless PE 1 was lost, or the socket over which
 * two PEs pass descriptors: the heap stays as large as it is then. */
static void judge_second(row_t *row, const char *name, const outcome_t *o)
{
	if (strstr(name, "sendmsg") || strstr(name, "recvmsg"))
		return;
	for (int pe = 0; pe < CREW_PES; pe++)
		if (!o[pe].is_dead && o[pe].status[CREW_GROW_AGAIN] > SHMEMH_OK &&
		    o[pe].status[CREW_GROW] != SHMEMH_ERR_PEER)
			wrong(row, "%s: malloc again: %s\n", name, o[pe].text[CREW_GROW_AGAIN]);
}

static void judge_left(row_t *row, const char *name, const outcome_t *o)
{
	for (int pe = 0; pe < CREW_PES; pe++)
		if (!o[pe].is_dead && o[pe].left[0] != '\0')
			wrong(row, "%s: left on PE %d: %s\n", name, pe, o[pe].left);
}

/* A whole job must work in these processes. */
static int judge_next(row_t *row, const char *name)
{
	const scene_t plain = {.step = -1, .timeout = PATIENT};
	const outcome_t *o = run(&plain);

	if (!o)
		return 1;
	for (int pe = 0; pe < CREW_PES; pe++)
		for (int step = 0; step < CREW_STEPS; step++)
			if (o[pe].status[step] > SHMEMH_OK)
				wrong(row, "%s: the next job: %s of PE %d: %s\n", name,
				      step_names[step], pe, o[pe].text[step]);
	judge_left(row, name, o);
	return 0;
}

/* One scene, its judgement, and the next job. Returns 1 if the crew cannot go on. */
static int try_scene(const scene_t *fault)
{
	const outcome_t *o = run(fault);
	char name[128];
	row_t *row;
	int status;

	if (!o) {
		printf("call %d of %s: not judged\n", fault->at, step_names[fault->step]);
		return 1;
	}
	row = place(fault, &o[FAULTY], name, sizeof name);
	status = o[0].status[fault->step];
	judge_step(row, name, o, fault->step);
	judge_second(row, name, o);
	judge_left(row, name, o);
	row->n++;
	row->n_tolerated += status == SHMEMH_OK;
	add_status(row, status);
	if (row->line[0] == '\0')
		snprintf(row->line, sizeof row->line, "%.127s", o[0].text[fault->step]);
	return judge_next(row, name);
}

/* If PE 1 dies before it is connected to the hub, or has no handle, the others can only wait. */
static bool is_missed(const inject_trace_t *t, const scene_t *s)
{
	if (s->step != CREW_INIT)
		return false;
	for (int i = 0; i < s->at; i++)
		if (t->phase[i] > 1 || strcmp(inject_name(t->call[i]), "send") == 0)
			return false;
	return s->action == INJECT_DEATH || t->phase[s->at - 1] < 0;
}

/* Each stride-th call of the step fails, and kills. */
static int sweep(int step, int stride)
{
	static inject_trace_t trace;
	scene_t fault = {.step = step, .timeout = PATIENT};
	const outcome_t *o = run(&fault);

	if (!o || o[FAULTY].status[CREW_INIT] != SHMEMH_OK) {
		printf("without a fault: %s\n", o ? o[FAULTY].text[CREW_INIT] : "no outcome");
		return 1;
	}
	trace = o[FAULTY].trace;
	for (int action = INJECT_ERROR; action <= INJECT_DEATH; action++)
		for (int at = 1 + action % stride; at <= trace.n; at += stride) {
			fault.action = action;
			fault.at = at;
			fault.timeout = PATIENT;
			if (is_missed(&trace, &fault))
				fault.timeout = SHORT;
			if (try_scene(&fault) != 0)
				return 1;
		}
	return 0;
}

/* Phases that make no call of a library fail in ways of their own. */
static int try_values(void)
{
	const scene_t option = {.step = CREW_INIT, .timeout = PATIENT, .bad_option = 1};
	const scene_t version = {.step = CREW_INIT, .timeout = PATIENT, .other_version = 1};

	return try_scene(&option) || try_scene(&version);
}

static void print_rows(const char *way)
{
	static const char *const kinds[] = {"bad value", "call fails", "killed"};

	printf("\n%s\n%-9s %-12s %-10s %6s %9s %6s  %s\n", way, "in", "phase", "PE 1", "places",
	       "tolerated", "wrong", "status of all PEs, line of PE 0");
	for (int step = 0; step < CREW_STEPS; step++)
		for (int phase = 0; phase < N_PHASES; phase++)
			for (int action = 0; action <= INJECT_DEATH; action++) {
				const row_t *r = &rows[step][phase][action];

				if (r->n == 0)
					continue;
				printf("%-9s %-12s %-10s %6d %9d %6d  %s: %.90s\n",
				       step_names[step],
				       step == CREW_INIT ? phase_names[phase] : "", kinds[action],
				       r->n, r->n_tolerated, r->n_wrong, r->statuses, r->line);
			}
}

/* Jobs one after the other. */
static int repeat(int n)
{
	const scene_t plain = {.step = -1, .timeout = PATIENT};
	row_t row = {0};
	long first = 0;

	for (int i = 0; i < n; i++) {
		const outcome_t *o = run(&plain);

		if (!o)
			return 1;
		for (int pe = 0; pe < CREW_PES; pe++)
			if (o[pe].status[CREW_FINALIZE] != SHMEMH_OK)
				wrong(&row, "job %d: PE %d: %s\n", i, pe, o[pe].text[CREW_INIT]);
		judge_left(&row, "jobs one after the other", o);
		if (i == n / 10)
			first = o[0].kib;
		if (i == n - 1)
			printf("%d jobs one after the other: %d wrong; resident at job %d: %ld "
			       "KiB, at the end: %ld KiB\n",
			       n, row.n_wrong, n / 10, first, o[0].kib);
	}
	return 0;
}

/* Scenes of two jobs of two PEs each. Returns 0, or 1 after a line. */
static int pair(scene_t scenes[CREW_SIZE])
{
	const int n_pes = CREW_SIZE / 2;

	for (int i = 0; i < CREW_SIZE; i++) {
		scenes[i] =
			(scene_t){.step = -1, .timeout = PATIENT, .pe = i % n_pes, .n_pes = n_pes};
		if (i % n_pes == 0 && crew_id(n_pes, PATIENT, &scenes[i].id) != 0)
			return 1;
		scenes[i].id = scenes[i - i % n_pes].id;
	}
	return 0;
}

/* Two jobs at the same time. */
static int two_jobs(int n)
{
	scene_t scenes[CREW_SIZE];
	row_t row = {0};

	for (int turn = 0; turn < n; turn++) {
		const outcome_t *o = pair(scenes) == 0 ? crew_run(scenes, CREW_SIZE) : NULL;

		if (!o)
			return 1;
		for (int i = 0; i < CREW_SIZE; i++)
			if (o[i].status[CREW_FINALIZE] != SHMEMH_OK || o[i].left[0] != '\0')
				wrong(&row, "two jobs: process %d: %s%s\n", i, o[i].text[CREW_INIT],
				      o[i].left);
	}
	printf("two jobs at once, %d times: %d wrong\n", n, row.n_wrong);
	return 0;
}

static int run_all(int stride, int n_jobs)
{
	const scene_t plain = {.step = -1, .timeout = PATIENT};

	/* What is loaded once, and stays, is not left by the first failure. */
	for (int i = 0; i < 2; i++)
		if (!run(&plain))
			return 1;
	if (try_values() != 0)
		return 1;
	for (int step = CREW_INIT; step < CREW_STEPS; step++)
		if (step != CREW_GROW_AGAIN && sweep(step, stride) != 0)
			return 1;
	return repeat(n_jobs) || two_jobs(5);
}

/* The environment of PEs that map nothing. Returns whether there is a software adapter. */
static bool use_nics(void)
{
	const char *library = getenv("ADAPTER_LIBRARY");
	char fabric[48];

	if (!library)
		return false;
	snprintf(fabric, sizeof fabric, "shm:failures-%d", (int)getpid());
	setenv("SHMEMH_IB_LIBRARY", library, 1);
	setenv("SHMEMH_DISABLE_P2P", "1", 1);
	setenv("MLX5SW_FABRIC", fabric, 1);
	setenv("MLX5SW_LINT", "strict", 1);
	return true;
}

static void set_environment(void)
{
	static const char *const unset[] = {"SHMEMH_UNIQUEID", "SHMEMH_PE", "SHMEMH_NPES",
					    "PMIX_RANK", "SHMEMH_NODE_ID"};

	for (size_t i = 0; i < sizeof unset / sizeof unset[0]; i++)
		unsetenv(unset[i]);
	setenv("SHMEMH_IFNAME", "lo", 1);
	setenv("SHMEMH_HEAP_CHUNK", "2m", 1);
	setenv("SHMEMH_SYMMETRIC_MAX", "64m", 1);
	setenv("SHMEMH_DEBUG", "off", 0);
	/* Blocks of all threads in one arena, so that resident memory does not depend on which
	 * thread came first. */
	mallopt(M_ARENA_MAX, 1);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"stride", required_argument, NULL, 's'},
						{"jobs", required_argument, NULL, 'j'},
						{"nic", no_argument, NULL, 'n'},
						{NULL, 0, NULL, 0}};
	int c, stride = 1, n_jobs = 1000, by_nic = 0, failed;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's' && atoi(optarg) > 0) {
			stride = atoi(optarg);
		} else if (c == 'j' && atoi(optarg) > 0) {
			n_jobs = atoi(optarg);
		} else if (c == 'n') {
			by_nic = 1;
		} else {
			fprintf(stderr, "usage: failures [--stride n] [--jobs n] [--nic]\n");
			return 2;
		}
	}
	set_environment();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (by_nic && !use_nics()) {
		puts("skipped: no ADAPTER_LIBRARY");
		return 77;
	}
	failed = crew_start(by_nic) != 0 || run_all(stride, n_jobs) != 0;
	crew_end();
	print_rows(by_nic ? "PEs by NIC" : "PEs that map each other");
	printf("%d jobs, %d wrong%s\n", n_scenes, n_wrong, failed ? ", not all were run" : "");
	return failed || n_wrong > 0;
}
