/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the library reports of outages, kept as it happens (shmemh_fault_watch), printed for all PEs
 * by PE 0, and written as a trace. Times are CLOCK_MONOTONIC: all PEs run on one host. */
#ifndef EXAMPLES_TIMELINE_H
#define EXAMPLES_TIMELINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"
#include "script.h"
#include "trace.h"

#define TIMELINE_OUTAGES 256 /* of one PE; later ones are only counted */

typedef struct outage {
	int pe, peer, k;
	int state;                                  /* in which it ended: enum shmemh_fault_state */
	uint64_t detected, fenced, opened, resumed; /* as in shmemh_fault_info_t */
	uint64_t ended;                             /* it has gone on, or ended */
	uint64_t replayed, ambiguous;               /* in this outage */
	char from[32], to[32];                      /* this PE's port before and after */
	char text[160];                             /* cause */
} outage_t;

typedef struct timeline {
	shmemh_t *job;
	uint64_t began;    /* before the kernel was launched */
	outage_t *latest;  /* [n_pes][n_channels]: detected, from and sums of the latest report */
	outage_t *outages; /* [TIMELINE_OUTAGES] */
	int n_channels, n_outages;
} timeline_t;

/* Keep an outage that has ended. before: the latest report of the channel before this outage. */
static void timeline_add(timeline_t *t, const outage_t *before, const shmemh_fault_info_t *info,
			 int peer, int k)
{
	outage_t *o = t->n_outages < TIMELINE_OUTAGES ? &t->outages[t->n_outages] : NULL;

	t->n_outages++;
	if (o == NULL)
		return;
	o->pe = shmemh_my_pe(t->job);
	o->peer = peer;
	o->k = k;
	o->state = info->state;
	o->detected = info->detected_at;
	o->fenced = info->fenced_at;
	o->opened = info->opened_at;
	o->resumed = info->resumed_at;
	o->ended = info->detected_at + info->outage_ns;
	o->replayed = info->replayed - before->replayed;
	o->ambiguous = info->ambiguous - before->ambiguous;
	memcpy(o->from, before->from, sizeof(o->from));
	memcpy(o->to, info->port, sizeof(o->to));
	memcpy(o->text, info->text, sizeof(o->text));
}

/* Called by the library after each change. */
static void timeline_changed(void *arg, int peer, int k, int state)
{
	timeline_t *t = (timeline_t *)arg;
	outage_t *latest = &t->latest[peer * t->n_channels + k];
	shmemh_fault_info_t info;

	info.size = sizeof(info);
	if (state == SHMEMH_FAULT_SWITCHING || shmemh_fault_get(t->job, peer, k, &info) != 0 ||
	    info.detected_at == latest->detected)
		return;
	timeline_add(t, latest, &info, peer, k);
	latest->detected = info.detected_at;
	latest->replayed = info.replayed;
	latest->ambiguous = info.ambiguous;
	memcpy(latest->from, info.port, sizeof(latest->from));
}

/* Begin to keep what happens. timeline_end follows, also if something fails: the library calls
 * timeline_changed until then. Returns 0, or 1 after a failure. */
static int timeline_begin(timeline_t *t, shmemh_t *job)
{
	shmemh_fault_info_t info;
	int pe, k, n = shmemh_n_pes(job);

	t->job = job;
	t->n_channels = shmemh_channels(job);
	t->latest = (outage_t *)calloc((size_t)n * (size_t)t->n_channels + 1, sizeof(outage_t));
	t->outages = (outage_t *)calloc(TIMELINE_OUTAGES, sizeof(outage_t));
	if (t->latest == NULL || t->outages == NULL)
		return 1;
	info.size = sizeof(info);
	for (pe = 0; pe < n; pe++) {
		for (k = 0; k < t->n_channels; k++) {
			RUN_TRY(job, shmemh_fault_get(job, pe, k, &info));
			memcpy(t->latest[pe * t->n_channels + k].from, info.port,
			       sizeof(info.port));
		}
	}
	t->began = script_now();
	RUN_TRY(job, shmemh_fault_watch(job, timeline_changed, t));
	return 0;
}

/* *t does not change any more. Returns 0, or 1 after a failure. */
static int timeline_end(timeline_t *t)
{
	RUN_TRY(t->job, shmemh_fault_watch(t->job, NULL, NULL));
	return 0;
}

static void timeline_free(timeline_t *t)
{
	free(t->latest);
	free(t->outages);
}

/* ---- of all PEs ---- */

/* A line of a script, or an outage, of a PE. */
typedef struct moment {
	uint64_t at_ns;
	int pe;
	const script_line_t *line; /* NULL: it is an outage */
	const outage_t *outage;
} moment_t;

static int moment_order(const void *a, const void *b)
{
	const moment_t *x = (const moment_t *)a, *y = (const moment_t *)b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* Everything that PE 0 prints, as each PE sends it. */
typedef struct share {
	uint64_t began;
	int n_outages, n_lines, is_wrong;
	script_line_t lines[SCRIPT_LINES];
	outage_t outages[TIMELINE_OUTAGES];
} share_t;

/* All moments of all shares, in the order of time. Returns how many; *moments is to be freed. */
static int timeline_sort(const share_t *shares, int n_pes, moment_t **moments)
{
	size_t most = (size_t)n_pes * (SCRIPT_LINES + TIMELINE_OUTAGES);
	moment_t *all = (moment_t *)calloc(most, sizeof(*all));
	int pe, i, n = 0;

	*moments = all;
	for (pe = 0; all != NULL && pe < n_pes; pe++) {
		const share_t *s = &shares[pe];

		for (i = 0; i < s->n_lines; i++) {
			moment_t m = {s->lines[i].at_ns, pe, &s->lines[i], NULL};

			if (m.at_ns != 0)
				all[n++] = m;
		}
		for (i = 0; i < s->n_outages && i < TIMELINE_OUTAGES; i++) {
			moment_t m = {s->outages[i].detected, pe, NULL, &s->outages[i]};

			all[n++] = m;
		}
	}
	if (n > 0)
		qsort(all, (size_t)n, sizeof(*all), moment_order);
	return n;
}

static const char *after(char text[16], uint64_t ns, uint64_t cause)
{
	if (ns == 0)
		snprintf(text, 16, "-");
	else
		snprintf(text, 16, "+%.2f", (double)(ns - cause) * 1e-6);
	return text;
}

static void print_outage(const outage_t *o, uint64_t cause)
{
	char detected[16], fenced[16], opened[16], resumed[16];

	printf("%4d %4d %4d %8s %8s %8s %8s %8llu  %s, %s: %s\n", o->pe, o->peer, o->k,
	       after(detected, o->detected, cause), after(fenced, o->fenced, cause),
	       after(opened, o->opened, cause), after(resumed, o->resumed, cause),
	       (unsigned long long)o->replayed, o->from,
	       o->state == SHMEMH_FAULT_ENDED ? "ended" : o->to, o->text);
}

/* The line of a cause. Times of outages that no line of a script has caused are those since the
 * first of them. */
static void print_cause(const moment_t *m, uint64_t began, int has_outages)
{
	printf("at %.1f ms: ", (double)(m->at_ns - began) * 1e-6);
	if (m->line != NULL)
		printf("PE %d, after step %llu: %s\n", m->pe, (unsigned long long)m->line->step,
		       m->line->text);
	else
		printf("a fault that no line of a script has caused\n");
	if (has_outages)
		printf("  PE   to chan detected   fenced   opened  resumed replayed  "
		       "port before, after: cause\n");
}

/* Each cause, and the outages after it with their times since the cause, in milliseconds. */
static void timeline_print(const moment_t *moments, int n, uint64_t began)
{
	const moment_t *cause = NULL;
	uint64_t end = 0;
	int i;

	for (i = 0; i < n; i++) {
		const moment_t *m = &moments[i];

		if (cause == NULL || m->line != NULL || (cause->line == NULL && m->at_ns > end)) {
			cause = m;
			print_cause(m, began, m->line == NULL || (i + 1 < n && m[1].line == NULL));
		}
		if (m->outage == NULL)
			continue;
		print_outage(m->outage, cause->at_ns);
		end = m->outage->ended > end ? m->outage->ended : end;
	}
}

/* ---- as a trace ---- */

static trace_track_t track_of(const outage_t *o, int n_channels)
{
	trace_track_t track = {o->pe, 1 + o->peer * n_channels + o->k};

	return track;
}

/* The steps of an outage, below a span for all of it. A step that did not come has no span. */
static void trace_outage(trace_t *trace, const outage_t *o, trace_track_t track)
{
	char group[32], line[48];

	snprintf(group, sizeof(group), "PE %d", o->pe);
	snprintf(line, sizeof(line), "to PE %d, channel %d", o->peer, o->k);
	trace_name(trace, track, group, line);
	trace_span(trace, track, "outage", o->detected, o->ended);
	trace_text(trace, "cause", o->text);
	trace_text(trace, "port before", o->from);
	trace_text(trace, "port after", o->to);
	if (o->fenced != 0)
		trace_span(trace, track, "fence", o->detected, o->fenced);
	if (o->opened != 0)
		trace_span(trace, track, "open", o->fenced, o->opened);
	if (o->resumed != 0) {
		trace_span(trace, track, "replay", o->opened, o->resumed);
		trace_number(trace, "replayed", o->replayed);
		trace_number(trace, "ambiguous", o->ambiguous);
	} else {
		trace_instant(trace, track, "the channel has ended", o->ended);
	}
}

/* Lines of scripts are spans until the next line or outage, on a track of each PE; an arrow leads
 * from a line to each of its outages. */
static int timeline_trace(const moment_t *moments, int n, uint64_t began, int n_channels,
			  const char *path)
{
	trace_t *trace = trace_begin(began);
	const moment_t *cause = NULL;
	char group[32];
	int i;

	for (i = 0; i < n; i++) {
		const moment_t *m = &moments[i];
		trace_track_t ports = {m->pe, 0};

		if (m->line != NULL) {
			cause = m;
			snprintf(group, sizeof(group), "PE %d", m->pe);
			trace_name(trace, ports, group, "script");
			trace_span(trace, ports, m->line->text, m->at_ns,
				   i + 1 < n ? moments[i + 1].at_ns : m->at_ns);
			continue;
		}
		trace_outage(trace, m->outage, track_of(m->outage, n_channels));
		if (cause != NULL) {
			ports.group = cause->pe;
			trace_arrow(trace, "cause", ports, cause->at_ns,
				    track_of(m->outage, n_channels), m->outage->detected);
		}
	}
	return trace_write(trace, path);
}

#endif
