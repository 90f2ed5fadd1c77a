/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The last operations of a run, for its report: fiber, operation, address, value.
 *
 * An access is recorded before it is executed. The value that it wrote is read at the next event or
 * switch: no other fiber runs in between. */
#include <stdio.h>
#include "sim/sim.h"

typedef struct event {
	uint8_t kind; /* of the fiber */
	uint8_t op;   /* shmemsim_access, or one of the following */
	int pe;
	uint32_t grid, block, tid;
	const char *what; /* name of a host fiber or agent; for a collective: its name */
	const void *p;
	uint32_t nbytes, arg;
	uint64_t before, after; /* value at p; of a choice: the option, and their number */
	uint64_t step;
} event_t;

enum { OP_CHOICE = 32, OP_MEET };

typedef struct name {
	const char *start;
	size_t nbytes;
	const char *text;
} name_t;

static event_t *events; /* [capacity], a ring */
static uint32_t capacity;
static uint64_t n_events;
static event_t *open_event; /* its `after` must still be read */
static name_t *names;
static size_t n_names, names_capacity;

void shmemsimi_trace_begin(void)
{
	uint32_t wanted = shmemsimi_w.cfg.trace;
	if (capacity < wanted) {
		shmemsimi_free(events, capacity * sizeof(*events));
		events = shmemsimi_alloc(wanted * sizeof(*events));
		capacity = events ? wanted : 0;
	}
	n_events = 0;
	n_names = 0;
	open_event = NULL;
}

void shmemsim_name(const void *p, size_t nbytes, const char *text)
{
	if (!shmemsimi_w.cfg.trace || shmemsimi_w.mode != MODE_RUN)
		return;
	if (n_names == names_capacity) {
		size_t more = names_capacity ? 2 * names_capacity : 64;
		name_t *grown = shmemsimi_alloc(more * sizeof(*grown));
		if (!grown)
			return;
		shmemsimi_copy(grown, names, n_names * sizeof(*grown));
		shmemsimi_free(names, names_capacity * sizeof(*grown));
		names = grown;
		names_capacity = more;
	}
	names[n_names].start = p;
	names[n_names].nbytes = nbytes;
	names[n_names++].text = text;
}

static uint64_t value_at(const void *p, uint32_t nbytes)
{
	uint64_t v = 0;
	shmemsimi_copy(&v, p, nbytes < 8 ? nbytes : 8);
	return v;
}

void shmemsimi_trace_finish(void)
{
	if (open_event)
		open_event->after = value_at(open_event->p, open_event->nbytes);
	open_event = NULL;
}

/* Fibers only poll and nothing is written: record no line for each poll. */
static bool is_idle(void)
{
	return shmemsimi_w.idle_polls > 1;
}

static event_t *new_event(int op)
{
	const shmemsimi_fiber_t *f = shmemsimi_w.current;
	shmemsimi_trace_finish();
	if (!capacity || f->kind == KIND_MAIN || is_idle())
		return NULL;
	event_t *e = &events[n_events++ % capacity];
	e->kind = f->kind;
	e->op = (uint8_t)op;
	e->pe = f->pe;
	e->grid = f->grid ? f->grid->id : 0;
	e->block = f->thread.block;
	e->tid = f->thread.tid;
	e->what = f->name;
	e->step = shmemsimi_w.steps;
	return e;
}

void shmemsimi_trace_access(const void *p, uint32_t nbytes, int access)
{
	event_t *e = new_event(access);
	if (!e)
		return;
	e->p = p;
	e->nbytes = nbytes;
	e->before = e->after = p ? value_at(p, nbytes) : 0;
	if (e->op >= SHMEMSIM_ST_DATA && e->op <= SHMEMSIM_RMW)
		open_event = e;
}

void shmemsimi_trace_read(uint64_t value)
{
	if (!n_events || !capacity)
		return;
	event_t *e = &events[(n_events - 1) % capacity];
	e->before = e->nbytes < 8 ? value & ((1ull << 8 * e->nbytes) - 1) : value;
}

void shmemsimi_trace_choice(uint32_t option, uint32_t n)
{
	event_t *e = new_event(OP_CHOICE);
	if (!e)
		return;
	e->before = option;
	e->after = n;
}

void shmemsimi_trace_meet(const char *what, uint32_t which)
{
	event_t *e = new_event(OP_MEET);
	if (!e)
		return;
	e->what = what;
	e->arg = which;
}

void shmemsimi_place_text(const void *at, char *text, size_t nbytes)
{
	size_t i = n_names;
	const char *p = at;
	while (i && !(p >= names[i - 1].start && p < names[i - 1].start + names[i - 1].nbytes))
		i--;
	if (i && p == names[i - 1].start)
		snprintf(text, nbytes, "%s", names[i - 1].text);
	else if (i)
		snprintf(text, nbytes, "%s+%td", names[i - 1].text, p - names[i - 1].start);
	else if (!shmemsimi_variable(p, text, nbytes))
		snprintf(text, nbytes, "%p", at);
}

/* Format small numbers as decimal, others as hexadecimal. */
static void format_value(uint64_t v, char *text, size_t nbytes)
{
	snprintf(text, nbytes, v < 1000000 ? "%llu" : "0x%llx", (unsigned long long)v);
}

static void format_access(const event_t *e, char *text, size_t nbytes)
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
	char place[128], before[24], after[24];
	if (!e->p) {
		snprintf(text, nbytes, "%s", ops[e->op]);
		return;
	}
	shmemsimi_place_text(e->p, place, sizeof(place));
	format_value(e->before, before, sizeof(before));
	format_value(e->after, after, sizeof(after));
	if (e->op == SHMEMSIM_RMW)
		snprintf(text, nbytes, "%s %s %s -> %s", ops[e->op], place, before, after);
	else
		snprintf(text, nbytes, "%s %s = %s", ops[e->op], place,
			 e->op < SHMEMSIM_ST_DATA ? before : after);
}

static void format_event(const event_t *e, char *text, size_t nbytes)
{
	if (e->op == OP_CHOICE)
		snprintf(text, nbytes, "chooses %u of %u", (unsigned)e->before, (unsigned)e->after);
	else if (e->op == OP_MEET)
		snprintf(text, nbytes, "%s %#x", e->what, e->arg);
	else
		format_access(e, text, nbytes);
}

static void format_fiber(const event_t *e, char *text, size_t nbytes)
{
	if (e->kind == KIND_LANE)
		snprintf(text, nbytes, "PE %d kernel %u block %u thread %u", e->pe, e->grid,
			 e->block, e->tid);
	else
		snprintf(text, nbytes, "%s %s", e->kind == KIND_AGENT ? "agent" : "host of",
			 e->what);
}

void shmemsimi_trace_report(void)
{
	uint32_t wanted = shmemsimi_w.cfg.trace;
	wanted = wanted < capacity ? wanted : capacity;
	uint64_t first = n_events > wanted ? n_events - wanted : 0;
	shmemsimi_trace_finish();
	shmemsimi_report_line("trace (step, fiber, operation; %s):",
			      first ? "the last operations" : "complete");
	for (uint64_t i = first; i < n_events; i++) {
		char who[64], what[200];
		const event_t *e = &events[i % capacity];
		format_fiber(e, who, sizeof(who));
		format_event(e, what, sizeof(what));
		shmemsimi_report_line("%6llu  %s: %s", (unsigned long long)e->step, who, what);
	}
}
