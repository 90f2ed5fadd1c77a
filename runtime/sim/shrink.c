/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Shortens a failing list of choices (delta debugging): choices are replaced by the default, many
 * at a time and then fewer, as long as the run fails in the same way. */
#include <stdio.h>
#include "sim/sim.h"

/* Enough for lists of thousands of choices; for a program with long runs MAX_STEPS ends the
 * search. */
#define MAX_RUNS 4000
#define MAX_STEPS 100000000u
#define TRACE_LINES 100
#define NONE SIZE_MAX

typedef struct choice {
	uint64_t at; /* its number among all decisions */
	uint16_t option;
} choice_t;

typedef struct shrink {
	const shmemsimi_program_t *program;
	shmemsim_config_t cfg;
	const void *failure; /* the kind of failure that must remain */
	uint16_t *list;      /* [capacity] the list being tried */
	size_t capacity;
	choice_t *choices; /* [n] not known to be removable */
	size_t n;
	uint64_t n_runs, n_steps;
} shrink_t;

static void take_list(shrink_t *s, const uint16_t *list, size_t n)
{
	uint64_t at = 0;
	s->list[0] = list[0];
	for (size_t i = 1; i + 1 < n; i += 2, at++) {
		at += list[i];
		if (list[i + 1]) {
			s->choices[s->n].at = at;
			s->choices[s->n++].option = list[i + 1];
		}
	}
}

/* Make the list without choices [from, to) and without choice other. Returns its length; 0: it does
 * not fit. */
static size_t make_list(const shrink_t *s, size_t from, size_t to, size_t other)
{
	uint64_t at = 0;
	size_t n = 1;
	for (size_t i = 0; i < s->n; i++) {
		if ((i >= from && i < to) || i == other)
			continue;
		uint64_t skipped = s->choices[i].at - at;
		for (; skipped > UINT16_MAX && n + 4 < s->capacity; skipped -= UINT16_MAX + 1u) {
			s->list[n++] = UINT16_MAX;
			s->list[n++] = 0;
		}
		if (skipped > UINT16_MAX || n + 2 > s->capacity)
			return 0;
		s->list[n++] = (uint16_t)skipped;
		s->list[n++] = s->choices[i].option;
		at = s->choices[i].at + 1;
	}
	return n;
}

static bool fails(shrink_t *s, size_t from, size_t to, size_t other)
{
	const shmemsimi_program_t *p = s->program;
	s->cfg.n_replay = make_list(s, from, to, other);
	if (!s->cfg.n_replay)
		return false;
	s->n_runs++;
	int bad = shmemsim_run(&s->cfg, p->n_pes, p->pe_main, p->arg);
	s->n_steps += shmemsimi_w.steps;
	return bad && shmemsimi_w.failure == s->failure;
}

static bool may_go_on(const shrink_t *s)
{
	return s->n_runs < MAX_RUNS && s->n_steps < MAX_STEPS;
}

static void drop(shrink_t *s, size_t from, size_t to)
{
	shmemsimi_copy(&s->choices[from], &s->choices[to], (s->n - to) * sizeof(s->choices[0]));
	s->n -= to - from;
}

/* One round, from the end of the list; returns the number of choices taken away. */
static size_t drop_chunks(shrink_t *s, size_t chunk)
{
	size_t before = s->n;
	for (size_t to = s->n; to && may_go_on(s);) {
		size_t from = to > chunk ? to - chunk : 0;
		if (fails(s, from, to, NONE)) {
			drop(s, from, to);
		}
		to = from;
	}
	return before - s->n;
}

/* Drop two choices that can only be dropped together, such as a switch away and one back. Returns
 * whether such a pair was found. */
static bool drop_pair(shrink_t *s)
{
	for (size_t b = s->n; b-- > 1;)
		for (size_t a = b; a-- > 0 && may_go_on(s);)
			if (fails(s, b, b + 1, a)) {
				drop(s, b, b + 1);
				drop(s, a, a + 1);
				return true;
			}
	return false;
}

static void shorten(shrink_t *s)
{
	size_t chunk = s->n;
	while (s->n && may_go_on(s)) {
		size_t dropped = drop_chunks(s, chunk);
		if (chunk == 1 && !dropped && !drop_pair(s))
			return;
		chunk = chunk > 1 ? chunk / 2 : 1;
	}
}

/* Appends the list as SHMEMSIM_REPLAY takes it: one line, cut if it is too long. */
static void print_list(const shrink_t *s, size_t n)
{
	char text[900];
	size_t used = shmemsimi_variables_text(&s->cfg, text, sizeof(text));
	used += (size_t)snprintf(text + used, sizeof(text) - used, "SHMEMSIM_REPLAY=%u",
				 s->list[0]);
	for (size_t i = 1; i + 1 < n; i += 2) {
		if (used + 16 > sizeof(text)) {
			shmemsimi_report_line("%s... (cut; use the seed)", text);
			return;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, ",%u:%u", s->list[i],
					 s->list[i + 1]);
	}
	shmemsimi_report_line("%s", text);
}

static void last_run(shrink_t *s, size_t n_found, const char *found)
{
	if (!s->cfg.trace)
		s->cfg.trace = TRACE_LINES;
	shmemsimi_w.is_searching = 0;
	int is_same = fails(s, 0, 0, NONE);
	shmemsimi_report_line("found by: %s", found);
	if (is_same) {
		shmemsimi_report_line("%zu choices, shrunk to %zu in %llu runs:", n_found, s->n,
				      (unsigned long long)s->n_runs);
		print_list(s, s->cfg.n_replay);
	} else {
		shmemsimi_report_line("it did not fail in that way when repeated: pe_main must "
				      "start from the same state each time");
	}
}

void shmemsimi_shrink(const shmemsimi_program_t *program, uint64_t n_schedules)
{
	shrink_t s;
	char found[320];
	const uint16_t *list;
	size_t n = shmemsim_choices(&list);
	snprintf(found, sizeof(found), "%s, schedule %llu", shmemsimi_policy_text(),
		 (unsigned long long)n_schedules);
	s.program = program;
	shmemsimi_copy(&s.cfg, &shmemsimi_w.cfg, sizeof(s.cfg));
	s.failure = shmemsimi_w.failure;
	s.capacity = n + 2;
	s.n = 0;
	s.n_runs = s.n_steps = 0;
	s.list = shmemsimi_alloc(s.capacity * sizeof(*s.list));
	s.choices = shmemsimi_alloc((n / 2 + 1) * sizeof(*s.choices));
	if (s.list && s.choices) {
		uint32_t trace = s.cfg.trace;
		take_list(&s, list, n);
		size_t n_found = s.n;
		s.cfg.policy = SHMEMSIM_REPLAY;
		s.cfg.replay = s.list;
		s.cfg.trace = 0;
		shorten(&s);
		s.cfg.trace = trace;
		last_run(&s, n_found, found);
	}
	shmemsimi_free(s.list, s.capacity * sizeof(*s.list));
	shmemsimi_free(s.choices, (n / 2 + 1) * sizeof(*s.choices));
}
