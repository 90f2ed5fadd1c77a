/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The last operations of a run, for its report: fiber, operation, address, value.
 *
 * An access is recorded before it is executed. The value that it wrote is read at the next event or
 * switch: no other fiber runs in between. */
#include <stdio.h>
#include "sim/trace.h"

typedef struct name {
	const char *start;
	size_t nbytes;
	const char *text;
} name_t;

static shmemsimi_event_t *events; /* [capacity], a ring */
static uint32_t capacity;
static uint64_t n_events;
static shmemsimi_event_t *open_event; /* its `after` must still be read */
/* the last access, until trace_read has set its value; NULL: it is not recorded */
static shmemsimi_event_t *last_access;
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
	open_event = last_access = NULL;
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

static shmemsimi_event_t *new_event(int op)
{
	const shmemsimi_fiber_t *f = shmemsimi_w.current;
	shmemsimi_trace_finish();
	if (!capacity || f->kind == KIND_MAIN || is_idle())
		return NULL;
	shmemsimi_event_t *e = &events[n_events++ % capacity];
	e->kind = f->kind;
	e->op = (uint8_t)op;
	e->pe = f->pe;
	e->grid = f->grid ? f->grid->id : 0;
	e->block = f->thread.block;
	e->tid = f->thread.tid;
	e->what = f->name;
	e->p = NULL;
	e->nbytes = e->arg = 0;
	e->before = e->after = 0;
	e->step = shmemsimi_w.steps;
	return e;
}

void shmemsimi_trace_access(const void *p, uint32_t nbytes, int access)
{
	shmemsimi_event_t *e = last_access = new_event(access);
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
	shmemsimi_event_t *e = last_access;
	if (!e)
		return;
	e->before = e->nbytes < 8 ? value & ((1ull << 8 * e->nbytes) - 1) : value;
	last_access = NULL; /* of more than 8 bytes the first 8 are shown */
}

void shmemsimi_trace_choice(uint32_t option, uint32_t n)
{
	shmemsimi_event_t *e = new_event(SHMEMSIMI_OP_CHOICE);
	if (!e)
		return;
	e->before = option;
	e->after = n;
}

void shmemsimi_trace_meet(const char *what, uint32_t which)
{
	shmemsimi_event_t *e = new_event(SHMEMSIMI_OP_MEET);
	if (!e)
		return;
	e->what = what;
	e->arg = which;
}

static size_t name_of(const void *at)
{
	size_t i = n_names;
	const char *p = at;
	while (i && !(p >= names[i - 1].start && p < names[i - 1].start + names[i - 1].nbytes))
		i--;
	return i;
}

const char *shmemsimi_name_of(const void *p)
{
	size_t i = name_of(p);
	return i ? names[i - 1].text : NULL;
}

void shmemsimi_place_text(const void *at, char *text, size_t nbytes)
{
	size_t i = name_of(at);
	const char *p = at;
	if (i && p == names[i - 1].start)
		snprintf(text, nbytes, "%s", names[i - 1].text);
	else if (i)
		snprintf(text, nbytes, "%s+%td", names[i - 1].text, p - names[i - 1].start);
	else if (!shmemsimi_variable(p, text, nbytes))
		snprintf(text, nbytes, "%p", at);
}

uint64_t shmemsimi_n_events(void)
{
	return n_events < capacity ? n_events : capacity;
}

const shmemsimi_event_t *shmemsimi_event(uint64_t k)
{
	return &events[(n_events - shmemsimi_n_events() + k) % capacity];
}

bool shmemsimi_trace_is_cut(void)
{
	return n_events > capacity;
}
