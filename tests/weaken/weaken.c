/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Takes each call in the device headers that orders something, weakens it, and runs the scenarios
 * under weak memory until one fails. A call that survives needs a reason
 * (table.c). */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scenario.h"
#include "reasons.h"
#include "site.h"

#define N_CLEAN                                                                                    \
	200 /* schedules of a scenario that tell which calls it executes: many per variant */
#define TRACE_LINES 40
#define MAX_CALLS 300
#define MAX_SCENARIOS 64

extern weaken_site_t *const __start_weaken_sites[], *const __stop_weaken_sites[];

/* The reason of a call that no scenario can make begins so. */
#define NEVER_THERE "not executed by the emulator"

static const char *const how_names[WEAKEN_N_HOW] = {
	[WEAKEN_REMOVED] = "removed", [WEAKEN_UNORDERED] = "unordered",
	[WEAKEN_GPU] = "gpu",         [WEAKEN_CTA] = "cta",
	[WEAKEN_ACQ_REL] = "acq_rel", [WEAKEN_RELAXED] = "relaxed",
};
static const int variants[WEAKEN_N_KINDS][4] = {
	/* 0 ends them */
	[WEAKEN_FENCE] = {WEAKEN_REMOVED, WEAKEN_GPU},
	[WEAKEN_FENCE_GPU] = {WEAKEN_REMOVED, WEAKEN_CTA},
	[WEAKEN_FENCE_SC] = {WEAKEN_REMOVED, WEAKEN_GPU, WEAKEN_ACQ_REL},
	[WEAKEN_ACQUIRE] = {WEAKEN_RELAXED, WEAKEN_GPU},
	[WEAKEN_RELEASE] = {WEAKEN_RELAXED, WEAKEN_GPU},
	[WEAKEN_LOCK] = {WEAKEN_RELAXED, WEAKEN_CTA},
	[WEAKEN_BARRIER] = {WEAKEN_REMOVED, WEAKEN_UNORDERED},
};

/* A call of a header; each source file that includes it has a copy of its own. */
typedef struct call {
	weaken_site_t **copies;
	int n_copies;
	char place[64]; /* header:line */
	char name[40];
	reason_site_t site;
	char is_in[MAX_SCENARIOS]; /* 1: that scenario executes it */
} call_t;

/* Calls that one scenario catches, and in few schedules: it is tried first, alone. In turn with all
 * others these few calls would take most of the time. */
static const struct seldom {
	const char *function, *call, *scenario;
} seldom[] = {
	{"shmemdi_switch", "arch_fence_before_publish", "ring_switch"},
	{"shmemdi_order_read", "arch_fence_acquire", "orders"},
	{"shmemdi_cq_look", "arch_fence_acquire", "ring_warp"},
};
#define N_SELDOM ((int)(sizeof(seldom) / sizeof(*seldom)))

static call_t calls[MAX_CALLS];
static int n_calls;
static struct {
	uint64_t n_schedules, n_explained; /* of each scenario; n_explained: where a reason is */
	const char *only;                  /* calls whose place starts so */
	int has_reports;
} options = {8000, 2000, "", 0};
static struct {
	int weakened, caught, explained;
} total;

/* What is there to weaken */

static const char *header_of(const weaken_site_t *s)
{
	static const char folder[] = "/include/shmem_dev/";
	const char *at = strstr(s->file, folder);
	return at ? at + strlen(folder) : NULL; /* NULL: a scenario's own */
}

/* Of a call's text only the name: a source may have set a macro in the arguments otherwise. */
static int compare(const void *a, const void *b)
{
	const weaken_site_t *x = *(weaken_site_t *const *)a, *y = *(weaken_site_t *const *)b;
	int by_file = strcmp(x->file, y->file);
	if (by_file || x->line == y->line)
		return by_file ? by_file : strncmp(x->call, y->call, strcspn(x->call, "(") + 1);
	return x->line < y->line ? -1 : 1;
}

static void begin_call(weaken_site_t **copies)
{
	const weaken_site_t *s = *copies;
	const char *name = s->call + strlen("shmemd_");
	if (n_calls == MAX_CALLS || n_explore_scenarios > MAX_SCENARIOS)
		errx(2, "raise MAX_CALLS or MAX_SCENARIOS");
	call_t *c = &calls[n_calls++];
	c->copies = copies;
	snprintf(c->place, sizeof(c->place), "%s:%u", header_of(s), s->line);
	snprintf(c->name, sizeof(c->name), "%.*s", (int)strcspn(name, "("), name);
	c->site = (reason_site_t){s->function, c->name, 1, 1};
}

static int is_alike(const reason_site_t *a, const reason_site_t *b)
{
	return strcmp(a->function, b->function) == 0 && strcmp(a->call, b->call) == 0;
}

/* Number the calls of a primitive in a function. They are sorted by line. */
static void number_calls(void)
{
	for (int i = 0; i < n_calls; i++)
		for (int k = 0; k < n_calls; k++)
			if (k != i && is_alike(&calls[i].site, &calls[k].site)) {
				calls[i].site.count++;
				calls[i].site.number += k < i;
			}
}

/* Print the reasons for which there is no call. Returns how many. */
static int find_lost_reasons(void)
{
	for (int i = 0; i < n_calls; i++)
		for (const int *how = variants[calls[i].copies[0]->kind]; *how; how++)
			reasons_find(reasons, &calls[i].site, *how);
	return reasons_print_lost(reasons);
}

static void find_calls(void)
{
	size_t n = (size_t)(__stop_weaken_sites - __start_weaken_sites);
	weaken_site_t **sites = malloc(n * sizeof(*sites));
	if (!sites)
		errx(2, "out of memory");
	memcpy(sites, __start_weaken_sites, n * sizeof(*sites));
	qsort(sites, n, sizeof(*sites), compare);
	for (size_t i = 0; i < n; i++) {
		if (!header_of(sites[i]))
			continue;
		if (!n_calls || compare(calls[n_calls - 1].copies, &sites[i]))
			begin_call(&sites[i]);
		calls[n_calls - 1].n_copies++;
	}
	number_calls();
}

/* Running */

static int run(const scenario_t *s, uint64_t seed)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.seed = seed;
	cfg.weak = 1;
	cfg.trace = options.has_reports ? TRACE_LINES : 0;
	return scenario_run(s, &cfg);
}

static void must_pass(const scenario_t *s, uint64_t seed)
{
	if (run(s, seed))
		errx(2, "%s fails without anything weakened\n%s", s->name, scenario_report());
}

/* Which calls does each scenario execute? */
static void learn(int scenario)
{
	for (uint64_t seed = 1; seed <= N_CLEAN; seed++)
		must_pass(&explore_scenarios[scenario], seed);
	for (int i = 0; i < n_calls; i++)
		for (int k = 0; k < calls[i].n_copies; k++) {
			calls[i].is_in[scenario] |= calls[i].copies[k]->is_executed;
			calls[i].copies[k]->is_executed = 0;
		}
}

static void weaken(const call_t *c, int how)
{
	for (int k = 0; k < c->n_copies; k++)
		c->copies[k]->how = how;
}

static const scenario_t *catcher(const call_t *c, uint64_t seed)
{
	for (int i = 0; i < n_explore_scenarios; i++)
		if (c->is_in[i] && run(&explore_scenarios[i], seed))
			return &explore_scenarios[i];
	return NULL;
}

static int is_seldom(const call_t *c, const struct seldom *s)
{
	return !strcmp(c->site.function, s->function) && !strcmp(c->site.call, s->call);
}

/* The scenario that a row of `seldom` names for the call, or NULL. */
static const scenario_t *first_scenario(const call_t *c)
{
	for (int r = 0; r < N_SELDOM; r++)
		for (int i = 0; i < n_explore_scenarios && is_seldom(c, &seldom[r]); i++)
			if (!strcmp(explore_scenarios[i].name, seldom[r].scenario) && c->is_in[i])
				return &explore_scenarios[i];
	return NULL;
}

/* End the program if a row of `seldom` matches no call that its scenario executes. */
static void check_seldom(void)
{
	for (int r = 0; r < N_SELDOM; r++) {
		int n = 0;

		for (int i = 0; i < n_calls; i++)
			n += is_seldom(&calls[i], &seldom[r]) && first_scenario(&calls[i]);
		if (!n)
			errx(2, "seldom: %s executes no call of %s in %s: correct the row",
			     seldom[r].scenario, seldom[r].call, seldom[r].function);
	}
}

/* The scenario that catches the weakened call, NULL if none does. But for the first one they take
 * turns, so that the right one is reached soon. *seed: of the schedule that failed. */
static const scenario_t *search(const call_t *c, int how, uint64_t n_schedules, uint64_t *seed)
{
	const scenario_t *first = first_scenario(c), *by = NULL;
	weaken(c, how);
	for (uint64_t at = 1; first && at <= n_schedules && !by; at++) {
		by = run(first, at) ? first : NULL;
		*seed = at;
	}
	for (uint64_t at = 1; at <= n_schedules && !by; at++) {
		by = catcher(c, at);
		*seed = at;
	}
	weaken(c, WEAKEN_NOT);
	return by;
}

static void judge(const call_t *c, int how)
{
	const char *reason = reasons_find(reasons, &c->site, how);
	uint64_t seed = 0, n = reason ? options.n_explained : options.n_schedules;
	const scenario_t *by = search(c, how, n, &seed);
	int is_executed = memchr(c->is_in, 1, sizeof(c->is_in)) != NULL ||
			  (reason && strncmp(reason, NEVER_THERE, strlen(NEVER_THERE)) == 0);
	total.weakened++;
	total.caught += by && !reason;
	total.explained += reason && !by && is_executed;
	printf("%-20s %-24s %-9s  ", c->place, c->name, how_names[how]);
	if (by)
		printf("caught by %s, seed %llu%s\n", by->name, (unsigned long long)seed,
		       reason ? ": THE REASON IS WRONG" : "");
	else
		printf("%s\n", !is_executed ? "NEVER EXECUTED" : reason ? "explained" : "SURVIVES");
	if (reason)
		printf("    %s\n", reason);
	if (by && options.has_reports)
		printf("%s\n", scenario_report());
	fflush(stdout);
	if (by)
		must_pass(by, seed);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: weaken [options]\n"
		"  --schedules N   of each scenario and weakened call (8000)\n"
		"  --explained N   the same for calls with a reason why they survive (2000)\n"
		"  --only PLACE    calls whose place starts so: impl/poll.h, impl/poll.h:42\n"
		"  --reports       of each schedule that failed, made short\n");
	exit(2);
}

static void get_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"schedules", required_argument, NULL, 's'},
		{"explained", required_argument, NULL, 'e'},
		{"only", required_argument, NULL, 'o'},
		{"reports", no_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	int option;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (option) {
		case 's':
			options.n_schedules = strtoull(optarg, NULL, 10);
			break;
		case 'e':
			options.n_explained = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			options.only = optarg;
			break;
		case 'r':
			options.has_reports = 1;
			break;
		default:
			usage();
		}
	if (optind != argc || !options.n_schedules || !options.n_explained)
		usage();
}

int main(int argc, char **argv)
{
	int n_lost, n_unexplained;
	get_options(argc, argv);
	find_calls();
	n_lost = find_lost_reasons();
	for (int i = 0; i < n_explore_scenarios; i++)
		learn(i);
	check_seldom();
	for (int i = 0; i < n_calls; i++)
		for (const int *how = variants[calls[i].copies[0]->kind]; *how; how++)
			if (strncmp(calls[i].place, options.only, strlen(options.only)) == 0)
				judge(&calls[i], *how);
	n_unexplained = total.weakened - total.caught - total.explained + n_lost;
	printf("%d weakened: %d caught, %d explained, %d unexplained\n", total.weakened,
	       total.caught, total.explained, n_unexplained);
	return n_unexplained || !total.weakened;
}
