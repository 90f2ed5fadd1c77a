/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The trace in the report of a failure: the program's variables, the operations, and at the end
 * what the threads have read last. */
#include <stdio.h>
#include <string.h>
#include "sim/trace.h"

#define MAX_VARIABLES 12
#define MAX_LAST 8

/* "load.acquire" and so on. */
static const char *op_text(const shmemsimi_event_t *e)
{
	static const char *const ops[] = {
		[SHMEMSIM_LD_DATA] = "load",
		[SHMEMSIM_LD_RELAXED] = "load.relaxed",
		[SHMEMSIM_LD_ACQUIRE] = "load.acquire",
		[SHMEMSIM_ST_DATA] = "store",
		[SHMEMSIM_ST_RELAXED] = "store.relaxed",
		[SHMEMSIM_ST_RELEASE] = "store.release",
		[SHMEMSIM_RMW] = "atomic",
		[SHMEMSIM_FENCE] = "fence",
		[SHMEMSIM_FENCE_ACQUIRE] = "fence.acquire",
		[SHMEMSIM_FENCE_RELEASE] = "fence.release",
		[SHMEMSIM_FENCE_SC] = "fence.sc",
	};
	if (e->op == SHMEMSIMI_OP_CHOICE)
		return "chooses";
	return e->op == SHMEMSIMI_OP_MEET ? e->what : ops[e->op];
}

/* Format small numbers as decimal, others as hexadecimal. */
void shmemsimi_value_text(uint64_t v, char *text, size_t nbytes)
{
	snprintf(text, nbytes, v < 1000000 ? "%llu" : "0x%llx", (unsigned long long)v);
}

/* The value that it read, or has written. */
static uint64_t value_of(const shmemsimi_event_t *e)
{
	return shmemsimi_is_plain_load(e) ? e->before : e->after;
}

/* From the event of the first lane of several that did the same, to that of the last one. */
static void format_access(const shmemsimi_event_t *e, const shmemsimi_event_t *last, char *text,
			  size_t nbytes)
{
	char place[128], to[140] = "", before[24], value[24], to_value[32] = "";
	shmemsimi_place_text(e->p, place, sizeof(place));
	shmemsimi_value_text(value_of(e), value, sizeof(value));
	if (last->p != e->p) {
		char end[128];
		shmemsimi_place_text(last->p, end, sizeof(end));
		snprintf(to, sizeof(to), " to %s", end);
	}
	if (value_of(last) != value_of(e)) {
		char end[24];
		shmemsimi_value_text(value_of(last), end, sizeof(end));
		snprintf(to_value, sizeof(to_value), " to %s", end);
	}
	shmemsimi_value_text(e->before, before, sizeof(before));
	if (e->op == SHMEMSIM_RMW)
		snprintf(text, nbytes, "%s %s%s %s -> %s%s", op_text(e), place, to, before, value,
			 to_value);
	else
		snprintf(text, nbytes, "%s %s%s = %s%s", op_text(e), place, to, value, to_value);
}

static void format_event(const shmemsimi_event_t *e, const shmemsimi_event_t *last, char *text,
			 size_t nbytes)
{
	if (e->op == SHMEMSIMI_OP_CHOICE)
		snprintf(text, nbytes, "chooses %u of %u", (unsigned)e->before, (unsigned)e->after);
	else if (e->op == SHMEMSIMI_OP_MEET)
		snprintf(text, nbytes, "%s %#x", e->what, e->arg);
	else if (!e->p)
		snprintf(text, nbytes, "%s", op_text(e));
	else
		format_access(e, last, text, nbytes);
}

void shmemsimi_event_text(const shmemsimi_event_t *e, char *text, size_t nbytes)
{
	format_event(e, e, text, nbytes);
}

static void who_text(const shmemsimi_event_t *e, char *text, size_t nbytes)
{
	if (e->kind == KIND_LANE)
		snprintf(text, nbytes, "PE %d kernel %u block %u thread %u", e->pe, e->grid,
			 e->block, e->tid);
	else
		snprintf(text, nbytes, "%s %s", e->kind == KIND_AGENT ? "agent" : "host of",
			 e->what);
}

/* --- lanes that did the same --- */

bool shmemsimi_is_same_fiber(const shmemsimi_event_t *a, const shmemsimi_event_t *b)
{
	return a->kind == b->kind && a->pe == b->pe && a->grid == b->grid && a->block == b->block &&
	       a->tid == b->tid && (a->kind == KIND_LANE || a->what == b->what);
}

/* Events of one fiber from k on, up to the end or to one of another fiber. */
static uint64_t turn_length(uint64_t k)
{
	uint64_t n = 1, end = shmemsimi_n_events();
	while (k + n < end && shmemsimi_is_same_fiber(shmemsimi_event(k), shmemsimi_event(k + n)))
		n++;
	return n;
}

/* Lanes of one block that did the same in turns that follow each other, in any order: the same
 * operations, each on the same word, or on words as far apart as the lanes' numbers say. */
typedef struct alike {
	uint64_t first, n; /* the first turn: its first event, and how many events a turn has */
	uint64_t turns;
	uint64_t lowest, highest; /* first events of the turns of these lanes */
	uint32_t lanes[32];       /* a bit for each thread of the block */
} alike_t;

static bool has_lane(const alike_t *a, uint32_t tid)
{
	return a->lanes[tid / 32] >> tid % 32 & 1;
}

/* Is event i of the turn that begins at `at` the same as that of the first turn? The distance
 * between the words of neighbouring lanes is that of the first two turns. */
static bool is_alike(const alike_t *a, uint64_t at, uint64_t i)
{
	const shmemsimi_event_t *first = shmemsimi_event(a->first + i);
	const shmemsimi_event_t *second = shmemsimi_event(a->first + a->n + i);
	const shmemsimi_event_t *e = shmemsimi_event(at + i);
	int64_t apart = (int64_t)((uintptr_t)second->p - (uintptr_t)first->p);
	int64_t lanes = (int64_t)second->tid - (int64_t)first->tid;
	return first->op == e->op && first->nbytes == e->nbytes && first->arg == e->arg &&
	       (first->op != SHMEMSIMI_OP_MEET || first->what == e->what) && apart % lanes == 0 &&
	       (int64_t)((uintptr_t)e->p - (uintptr_t)first->p) ==
		       apart / lanes * ((int64_t)e->tid - (int64_t)first->tid);
}

/* May the turn at `at` be counted to those before? */
static bool is_one_more(const alike_t *a, uint64_t at)
{
	const shmemsimi_event_t *first = shmemsimi_event(a->first), *e;
	if (at + a->n > shmemsimi_n_events() || turn_length(at) != a->n)
		return false;
	e = shmemsimi_event(at);
	if (e->kind != KIND_LANE || e->pe != first->pe || e->grid != first->grid ||
	    e->block != first->block || has_lane(a, e->tid))
		return false;
	for (uint64_t i = 0; i < a->n; i++)
		if (!is_alike(a, at, i))
			return false;
	return true;
}

static void count_turn(alike_t *a, uint64_t at)
{
	uint32_t tid = shmemsimi_event(at)->tid;
	a->turns++;
	a->lanes[tid / 32] |= 1u << tid % 32;
	if (tid < shmemsimi_event(a->lowest)->tid)
		a->lowest = at;
	if (tid > shmemsimi_event(a->highest)->tid)
		a->highest = at;
}

static void find_alike(alike_t *a, uint64_t k)
{
	memset(a, 0, sizeof(*a));
	a->first = a->lowest = a->highest = k;
	a->n = turn_length(k);
	a->turns = 1;
	if (shmemsimi_event(k)->kind != KIND_LANE)
		return;
	a->turns = 0;
	count_turn(a, k);
	for (uint64_t at = k + a->n; is_one_more(a, at); at += a->n)
		count_turn(a, at);
}

/* "threads 0 to 31", or "27 of threads 1 to 31" if some are missing. */
static void format_lanes(const alike_t *a, char *text, size_t nbytes)
{
	const shmemsimi_event_t *e = shmemsimi_event(a->lowest);
	uint32_t high = shmemsimi_event(a->highest)->tid;
	int n = snprintf(text, nbytes, "PE %d kernel %u block %u", e->pe, e->grid, e->block);
	if (high - e->tid + 1 == a->turns)
		snprintf(text + n, nbytes - (size_t)n, " threads %u to %u", e->tid, high);
	else
		snprintf(text + n, nbytes - (size_t)n, ", %u of threads %u to %u",
			 (unsigned)a->turns, e->tid, high);
}

/* The lines of the turns that are alike. */
static void report_turns(const alike_t *a)
{
	char who[80], what[2 * SHMEMSIMI_TEXT_NBYTES];
	for (uint64_t i = 0; i < a->n; i++) {
		const shmemsimi_event_t *e = shmemsimi_event(a->first + i);
		if (a->turns > 1)
			format_lanes(a, who, sizeof(who));
		else
			who_text(e, who, sizeof(who));
		format_event(shmemsimi_event(a->lowest + i), shmemsimi_event(a->highest + i), what,
			     sizeof(what));
		shmemsimi_report_line("%6llu  %s: %s", (unsigned long long)e->step, who, what);
	}
}

/* --- lines before and after the operations --- */

/* The values of the words that the program has named, as the last access of each left them. */
static void report_variables(uint64_t first)
{
	const void *seen[MAX_VARIABLES];
	char line[512] = "";
	size_t n = 0, used = 0;
	for (uint64_t k = first; k < shmemsimi_n_events() && n < MAX_VARIABLES; k++) {
		const shmemsimi_event_t *e = shmemsimi_event(k), *last = e;
		char place[128], value[24];
		size_t i = 0;
		while (i < n && seen[i] != e->p)
			i++;
		if (i < n || !e->p || !shmemsimi_name_of(e->p))
			continue;
		seen[n++] = e->p;
		for (uint64_t j = k; j < shmemsimi_n_events(); j++)
			if (shmemsimi_event(j)->p == e->p && shmemsimi_is_write(shmemsimi_event(j)))
				last = shmemsimi_event(j);
		shmemsimi_place_text(e->p, place, sizeof(place));
		shmemsimi_value_text(value_of(last), value, sizeof(value));
		if (used < sizeof(line))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s = %s",
						 n > 1 ? ", " : "", place, value);
	}
	if (n)
		shmemsimi_report_line("variables at the end: %s", line);
}

static const shmemsimi_event_t *last_store(const void *p)
{
	for (uint64_t k = shmemsimi_n_events(); k-- > 0;) {
		const shmemsimi_event_t *e = shmemsimi_event(k);
		if (e->p == p && shmemsimi_is_write(e))
			return e;
	}
	return NULL;
}

/* A thread whose last access was a load probably waits for that word, failed because of its value,
 * or ended after it. Report the value that it read, and the last store to the word. */
static void report_last(const shmemsimi_event_t *e)
{
	char who[80], what[SHMEMSIMI_TEXT_NBYTES], writer[80], text[SHMEMSIMI_TEXT_NBYTES];
	const shmemsimi_event_t *store = last_store(e->p);
	who_text(e, who, sizeof(who));
	shmemsimi_event_text(e, what, sizeof(what));
	if (!store) {
		shmemsimi_report_line("  %s: %s; no operation of this trace wrote it", who, what);
		return;
	}
	who_text(store, writer, sizeof(writer));
	shmemsimi_event_text(store, text, sizeof(text));
	shmemsimi_report_line("  %s: %s; written last in step %llu, %s: %s", who, what,
			      (unsigned long long)store->step, writer, text);
}

static void report_ends(void)
{
	const shmemsimi_event_t *seen[MAX_LAST];
	size_t n = 0, n_lines = 0;
	for (uint64_t k = shmemsimi_n_events(); k-- > 0 && n < MAX_LAST;) {
		const shmemsimi_event_t *e = shmemsimi_event(k);
		size_t i = 0;
		while (i < n && !shmemsimi_is_same_fiber(seen[i], e) && seen[i]->p != e->p)
			i++;
		if (i < n || !e->p || e->kind == KIND_AGENT)
			continue;
		seen[n++] = e;
		if (!shmemsimi_is_plain_load(e))
			continue;
		if (n_lines++ == 0)
			shmemsimi_report_line("read last:");
		report_last(e);
	}
}

void shmemsimi_trace_report(void)
{
	uint64_t wanted = shmemsimi_w.trace_lines, n = shmemsimi_n_events();
	uint64_t first = n > wanted ? n - wanted : 0;
	shmemsimi_trace_finish();
	report_variables(first);
	shmemsimi_report_line("trace (step, fiber, operation; %s):",
			      first || shmemsimi_trace_is_cut() ? "the last operations"
								: "complete");
	for (uint64_t k = first; k < n;) {
		alike_t alike;
		find_alike(&alike, k);
		report_turns(&alike);
		k += alike.n * alike.turns;
	}
	report_ends();
}
