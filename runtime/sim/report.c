/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The report of a failure: its reason, and the place of each fiber. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sim/sim.h"

#define REPORT_NBYTES 65536
#define LINE_NBYTES 1024
#define MAX_FRAMES 5 /* printed of each back trace */

static char report[REPORT_NBYTES];
static size_t used;

const char *shmemsim_report(void)
{
	return report;
}

void shmemsimi_report_begin(void)
{
	*(volatile char *)report = '\0';
	used = 0;
}

/* Format on the stack, by the rules of sim.h. */
static size_t format_v(char *dst, size_t nbytes, const char *fmt, va_list ap)
{
	char text[LINE_NBYTES];
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	size_t used_nbytes = n < 0 ? 0 : (size_t)n;
	if (used_nbytes >= sizeof(text))
		used_nbytes = sizeof(text) - 1;
	if (used_nbytes >= nbytes)
		used_nbytes = nbytes - 1;
	shmemsimi_copy(dst, text, used_nbytes);
	((volatile char *)dst)[used_nbytes] = '\0';
	return used_nbytes;
}

size_t shmemsimi_format(char *dst, size_t nbytes, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	size_t n = format_v(dst, nbytes, fmt, ap);
	va_end(ap);
	return n;
}

static void add_v(const char *fmt, va_list ap)
{
	static const char cut[] = "...\n";
	if (used + LINE_NBYTES + sizeof(cut) > sizeof(report)) {
		shmemsimi_copy(report + used, cut, sizeof(cut));
		return;
	}
	used += format_v(report + used, sizeof(report) - used, fmt, ap);
}

static void __attribute__((format(printf, 1, 2))) add(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_v(fmt, ap);
	va_end(ap);
}

void shmemsimi_report_line(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_v(fmt, ap);
	va_end(ap);
	add("\n");
}

/* What shmemsim_launch_cuda starts is a function of its own, whose parameters begin with the
 * kernel's address. */
const char *shmemsimi_kernel_name(shmemsimi_grid_t *g)
{
	if (g->name[0])
		return g->name;
	shmemsimi_symbol((const char *)(uintptr_t)g->kernel + 1, g->name, sizeof(g->name));
	if (strstr(g->name, "shmemsim_launch_cuda"))
		shmemsimi_symbol(*(const char *const *)g->params + 1, g->name, sizeof(g->name));
	return g->name;
}

static void add_lane(const shmemsimi_fiber_t *f)
{
	shmemsimi_grid_t *g = f->grid;
	if (f->pe >= 0)
		add("PE %d ", f->pe);
	add("kernel %u %s block %u thread %u", g->id, shmemsimi_kernel_name(g), f->thread.block,
	    f->thread.tid);
}

static void add_who(const shmemsimi_fiber_t *f)
{
	if (f->kind == KIND_LANE)
		add_lane(f);
	else if (f->kind == KIND_MAIN)
		add("host");
	else
		add("%s %s", f->kind == KIND_HOST ? "host of" : "agent", f->name);
}

void shmemsim_fail(const char *fmt, ...)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	va_list ap;
	add_who(w->current);
	add(": ");
	va_start(ap, fmt);
	add_v(fmt, ap);
	va_end(ap);
	add("\n");
	w->is_failed = 1;
	w->failure = fmt;
	if (w->current->kind != KIND_MAIN)
		for (;;)
			shmemsimi_switch(&w->main);
}

static void format_coll(const shmemsimi_fiber_t *f, char *text, size_t nbytes)
{
	uint32_t there = 0;
	for (uint32_t i = 0; i < f->warp->n_meetings; i++)
		if (f->warp->meetings[i].mask == f->mask)
			there = f->warp->meetings[i].arrived;
	snprintf(text, nbytes, "in %s of lanes %08x, missing %08x", shmemsimi_coll_name(f->coll),
		 f->mask, f->mask & f->warp->live & ~there);
}

static void format_gather(const shmemsimi_fiber_t *f, char *text, size_t nbytes)
{
	char missing[80];
	shmemsimi_boot_missing(f->pe, missing, sizeof(missing));
	snprintf(text, nbytes, "in a gather of the bootstrap, missing %s", missing);
}

static void format_bar(const shmemsimi_fiber_t *f, char *text, size_t nbytes)
{
	const shmemsimi_bar_t *bar = &f->block->bars[f->bar];
	snprintf(text, nbytes, "at barrier %u, %u of %u threads there%s%s", f->bar, bar->arrived,
		 bar->nthreads ? bar->nthreads : f->block->live, f->site ? ", " : "",
		 f->site ? f->site : "");
}

/* Write what f waits for. */
static void format_wait(const shmemsimi_fiber_t *f, char *text, size_t nbytes)
{
	/* A fiber whose wait is over but that has not run yet still has its wait set. */
	switch (f->state == RUNNABLE && f->wait != WAIT_SPIN ? WAIT_NONE : f->wait) {
	case WAIT_COLL:
		format_coll(f, text, nbytes);
		break;
	case WAIT_BAR:
		format_bar(f, text, nbytes);
		break;
	case WAIT_GATHER:
		format_gather(f, text, nbytes);
		break;
	case WAIT_ACTIVE:
		snprintf(text, nbytes, "in activemask");
		break;
	case WAIT_SPIN:
		snprintf(text, nbytes, "polling");
		break;
	case WAIT_SLEEP:
		snprintf(text, nbytes, "sleeping");
		break;
	case WAIT_SYNC:
		snprintf(text, nbytes, "waiting for its stream");
		break;
	default:
		snprintf(text, nbytes, f->stack ? "able to run" : "not yet started");
		break;
	}
}

/* Write the frames of the program: those after the emulator's own frames (up to the entry point
 * that was called) and before the fiber's first frame, which also belongs to the emulator. */
static void format_where(const shmemsimi_fiber_t *f, char *text, size_t nbytes)
{
	int from = 0, frames = 0;
	size_t n = 0;
	text[0] = '\0';
	while (from < f->n_trace && f->trace[from] != f->call)
		from++;
	const void *const *pcs = from < f->n_trace ? &f->trace[from] : &f->call;
	int n_pcs = from < f->n_trace ? f->n_trace - from : f->call != NULL;
	for (int i = 0; i < n_pcs && frames < MAX_FRAMES && n < nbytes; i++, frames++) {
		char name[128];
		if (!shmemsimi_symbol(pcs[i], name, sizeof(name)) && i > 0)
			break;
		if (strncmp(name, "shmemsimi_", 10) == 0 || strstr(name, "shmemsim_launch_cuda"))
			/* the program's function made the call as a tail call and has no frame; or
			 * its caller is no function of the program */
			break;
		n += (size_t)snprintf(text + n, nbytes - n, "%s%s", i ? " < " : "; ", name);
	}
}

typedef struct place {
	const shmemsimi_fiber_t *first;
	uint32_t n; /* fibers of one block with the same text */
	char wait[160], where[512];
} place_t;

static void flush(place_t *p)
{
	if (!p->first)
		return;
	add("  ");
	add_who(p->first);
	if (p->n > 1)
		add(" to %u", p->first->thread.tid + p->n - 1);
	add(": %s%s\n", p->wait, p->where);
	p->first = NULL;
}

static void add_place(place_t *p, const shmemsimi_fiber_t *f)
{
	static place_t now; /* too large for a stack; reports are made one at a time */
	if (f->state == DONE)
		return;
	format_wait(f, now.wait, sizeof(now.wait));
	format_where(f, now.where, sizeof(now.where));
	int is_next = p->first && f->block && p->first->block == f->block &&
		      p->first->thread.tid + p->n == f->thread.tid;
	if (is_next && strcmp(p->wait, now.wait) == 0 && strcmp(p->where, now.where) == 0) {
		p->n++;
		return;
	}
	flush(p);
	shmemsimi_copy(p, &now, sizeof(now));
	p->first = f;
	p->n = 1;
}

static void add_grid(place_t *p, shmemsimi_grid_t *g)
{
	for (size_t i = 0; g->fibers && i < (size_t)g->n_blocks * g->n_threads; i++)
		add_place(p, &g->fibers[i]);
	flush(p);
}

/* Run a suspended fiber just far enough to take its own back trace. */
static void trace(shmemsimi_fiber_t *f)
{
	if (f->stack && f->state != DONE)
		shmemsimi_switch(f);
}

static void trace_all(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	w->reporter = &w->main;
	for (shmemsimi_fiber_t *f = w->hosts; f; f = f->next)
		trace(f);
	for (shmemsimi_stream_t *s = w->streams; s; s = s->next)
		for (size_t i = 0; s->first && s->first->fibers &&
				   i < (size_t)s->first->n_blocks * s->first->n_threads;
		     i++)
			trace(&s->first->fibers[i]);
	w->reporter = NULL;
}

/* Add a line if PEs have launched different numbers of kernels: a kernel that waits for other PEs
 * must be launched on all of them. */
static void add_launches(void)
{
	const shmemsimi_world_t *w = &shmemsimi_w;
	int n = w->n_pes < SHMEMSIMI_N_COUNTED ? w->n_pes : SHMEMSIMI_N_COUNTED;
	int least = 0, most = 0;
	for (int pe = 1; pe < n; pe++) {
		least = w->n_launches[pe] < w->n_launches[least] ? pe : least;
		most = w->n_launches[pe] > w->n_launches[most] ? pe : most;
	}
	if (w->mode == MODE_RUN && w->n_launches[least] != w->n_launches[most])
		add("PE %d has launched %u kernels, PE %d %u: a kernel that waits for the other "
		    "PEs must be launched on all of them\n",
		    least, w->n_launches[least], most, w->n_launches[most]);
}

static void add_lane_advice(const shmemsimi_fiber_t *f)
{
	add("  ");
	add_who(f);
	if (f->wait == WAIT_COLL)
		add(" waits for lanes of its warp that are elsewhere: a _warp form is called by "
		    "all 32 lanes\n");
	else
		add(" waits at a barrier for threads that are elsewhere: a _block form is called "
		    "by all threads of the block, a _group form by all of the group\n");
}

/* For the first lane that waits for others of its warp, and the first at a barrier. */
static void add_advice(void)
{
	const shmemsimi_fiber_t *first[2] = {NULL, NULL};
	for (const shmemsimi_stream_t *s = shmemsimi_w.streams; s; s = s->next) {
		const shmemsimi_grid_t *g = s->first;
		for (size_t i = 0; g && g->fibers && i < (size_t)g->n_blocks * g->n_threads; i++) {
			const shmemsimi_fiber_t *f = &g->fibers[i];
			int is_coll = f->wait == WAIT_COLL;
			if (f->state == BLOCKED && (is_coll || f->wait == WAIT_BAR) &&
			    !first[is_coll])
				first[is_coll] = f;
		}
	}
	for (int i = 1; i >= 0; i--)
		if (first[i])
			add_lane_advice(first[i]);
}

void shmemsimi_report_fibers(void)
{
	static place_t place;
	shmemsimi_world_t *w = &shmemsimi_w;
	/* Threads that wait for others are a symptom only if nothing goes on. At any other failure
	 * a correct program has such threads, too. */
	if (w->is_stuck) {
		add_launches();
		add_advice();
	}
	shmemsimi_report_records();
	trace_all();
	add("scheduling: %s\n", shmemsimi_policy_text());
	add("fibers:\n");
	for (shmemsimi_fiber_t *f = w->hosts; f; f = f->next) {
		add_place(&place, f);
		flush(&place);
	}
	for (shmemsimi_stream_t *s = w->streams; s; s = s->next)
		if (s->first)
			add_grid(&place, s->first);
}
