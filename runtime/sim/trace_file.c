/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The trace of a run as a file in the trace event format (JSON), for ui.perfetto.dev: a process for
 * each PE, in it a track for its host and for each warp; a process of agents, with a track for each
 * agent and, of what an adapter reads and writes, for each memory that has a name, such as the
 * queues of a NIC. An arrow leads from a store or atomic to the next strong load or atomic of each
 * other fiber, if that sees it. Loads of data have none.
 *
 * One operation is one microsecond: the order of operations is the time. The emulator links no
 * library for JSON, unlike the examples, whose trace.h has the same format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/trace.h"

#define MAX_TRACKS 1024
#define AGENTS 0 /* their process; PE p is process p + 1 */

typedef struct track {
	int process;
	uint32_t grid, block, warp;
	const char *agent, *memory;
} track_t;

static track_t tracks[MAX_TRACKS];
static size_t n_tracks;

const char *shmemsimi_trace_file(void)
{
	const char *path = shmemsimi_w.is_searching ? NULL : getenv("SHMEMSIM_TRACE_FILE");
	return path && *path ? path : NULL;
}

static track_t track_of(const shmemsimi_event_t *e)
{
	track_t track = {e->pe + 1, 0, 0, 0, NULL, NULL};
	if (e->kind == KIND_LANE) {
		track.grid = e->grid + 1;
		track.block = e->block;
		track.warp = e->tid / 32;
	} else if (e->kind == KIND_AGENT) {
		track.process = AGENTS;
		track.agent = e->what;
		track.memory = e->p ? shmemsimi_name_of(e->p) : NULL;
	}
	return track;
}

/* The number of an event's track, from 1; the last one serves all that have no room. */
static size_t track_number(const shmemsimi_event_t *e)
{
	track_t t = track_of(e);
	size_t i = 0;
	while (i < n_tracks && (tracks[i].process != t.process || tracks[i].grid != t.grid ||
				tracks[i].block != t.block || tracks[i].warp != t.warp ||
				tracks[i].agent != t.agent || tracks[i].memory != t.memory))
		i++;
	if (i == n_tracks && n_tracks < MAX_TRACKS)
		tracks[n_tracks++] = t;
	return i < MAX_TRACKS ? i + 1 : MAX_TRACKS;
}

static void put_string(FILE *f, const char *text)
{
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', f);
		putc((unsigned char)*text < ' ' ? ' ' : *text, f);
	}
	putc('"', f);
}

static void put_event(FILE *f, uint64_t k)
{
	const shmemsimi_event_t *e = shmemsimi_event(k);
	char text[SHMEMSIMI_TEXT_NBYTES];
	shmemsimi_event_text(e, text, sizeof(text));
	fprintf(f, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%zu,\"ts\":%llu,\"dur\":0.9,\"name\":",
		track_of(e).process, track_number(e), (unsigned long long)k);
	put_string(f, text);
	fprintf(f, ",\"args\":{\"step\":%llu", (unsigned long long)e->step);
	if (e->kind == KIND_LANE)
		fprintf(f, ",\"thread\":%u", e->tid);
	fputs("}},\n", f);
}

/* --- arrows --- */

/* By address, or by address and fiber: the number of the latest event, from 1. */
typedef struct latest {
	uint32_t *events;
	uint64_t mask; /* slots - 1 */
} latest_t;

/* The slot of the latest event on the same word, if is_by_fiber by the same fiber; an empty slot:
 * there is no such event. */
static uint32_t *slot_of(const latest_t *table, const shmemsimi_event_t *e, bool is_by_fiber)
{
	uint64_t hash = (uint64_t)(uintptr_t)e->p * 0x9e3779b97f4a7c15u;
	if (is_by_fiber)
		hash += (e->tid + 31u * e->block + 961u * (uint32_t)e->pe) * 0xff51afd7ed558ccdu;
	for (uint64_t i = hash >> 32;; i++) {
		uint32_t *slot = &table->events[i & table->mask];
		const shmemsimi_event_t *other = *slot ? shmemsimi_event(*slot - 1) : NULL;
		if (!other ||
		    (other->p == e->p && (!is_by_fiber || shmemsimi_is_same_fiber(other, e))))
			return slot;
	}
}

static void put_arrow(FILE *f, uint64_t from, uint64_t to)
{
	const uint64_t ends[2] = {from, to};
	for (int i = 0; i < 2; i++) {
		const shmemsimi_event_t *e = shmemsimi_event(ends[i]);
		fprintf(f,
			"{\"ph\":\"%s\",\"pid\":%d,\"tid\":%zu,\"ts\":%llu.5,\"id\":%llu,"
			"\"cat\":\"seen\",\"name\":\"seen\"%s},\n",
			i ? "f" : "s", track_of(e).process, track_number(e),
			(unsigned long long)ends[i], (unsigned long long)to,
			i ? ",\"bp\":\"e\"" : "");
	}
}

/* Arrows end at loads that may acquire, not at data, and at atomics. */
static bool may_see(const shmemsimi_event_t *e)
{
	return e->p && (e->op == SHMEMSIM_LD_RELAXED || e->op == SHMEMSIM_LD_ACQUIRE ||
			e->op == SHMEMSIM_RMW);
}

static void put_arrows(FILE *f, const latest_t *stores, const latest_t *reads)
{
	for (uint64_t k = 0; k < shmemsimi_n_events(); k++) {
		const shmemsimi_event_t *e = shmemsimi_event(k);
		if (may_see(e)) {
			uint32_t store = *slot_of(stores, e, false),
				 *read = slot_of(reads, e, true);
			if (store > *read &&
			    !shmemsimi_is_same_fiber(shmemsimi_event(store - 1), e) &&
			    shmemsimi_event(store - 1)->after == e->before)
				put_arrow(f, store - 1, k);
			*read = (uint32_t)k + 1;
		}
		if (shmemsimi_is_write(e))
			*slot_of(stores, e, false) = (uint32_t)k + 1;
	}
}

static void put_all_arrows(FILE *f)
{
	latest_t stores = {NULL, 0}, reads = {NULL, 0};
	uint64_t slots = 16;
	while (slots < 2 * shmemsimi_n_events())
		slots *= 2;
	stores.mask = reads.mask = slots - 1;
	stores.events = shmemsimi_alloc(slots * sizeof(*stores.events));
	reads.events = shmemsimi_alloc(slots * sizeof(*reads.events));
	if (stores.events && reads.events)
		put_arrows(f, &stores, &reads);
	shmemsimi_free(stores.events, slots * sizeof(*stores.events));
	shmemsimi_free(reads.events, slots * sizeof(*reads.events));
}

/* --- names of tracks --- */

static void put_name(FILE *f, const char *what, int process, size_t track, const char *name)
{
	fprintf(f, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%zu,\"args\":{\"name\":", what,
		process, track);
	put_string(f, name);
	fputs("}},\n", f);
}

static void put_names(FILE *f)
{
	char name[160];
	for (size_t i = 0; i < n_tracks; i++) {
		const track_t *t = &tracks[i];
		if (t->process == AGENTS)
			snprintf(name, sizeof(name), "agents");
		else
			snprintf(name, sizeof(name), "PE %d", t->process - 1);
		put_name(f, "process_name", t->process, i + 1, name);
		if (t->agent)
			snprintf(name, sizeof(name), "%s%s%s", t->agent, t->memory ? ": " : "",
				 t->memory ? t->memory : "");
		else if (t->grid)
			snprintf(name, sizeof(name), "kernel %u block %u warp %u", t->grid - 1,
				 t->block, t->warp);
		else
			snprintf(name, sizeof(name), "host");
		put_name(f, "thread_name", t->process, i + 1, name);
	}
}

void shmemsimi_trace_write(const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f) {
		shmemsimi_report_line("SHMEMSIM_TRACE_FILE=%s: cannot be written: %s", path,
				      strerror(errno));
		return;
	}
	n_tracks = 0;
	shmemsimi_trace_finish();
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", f);
	for (uint64_t k = 0; k < shmemsimi_n_events(); k++)
		put_event(f, k);
	put_all_arrows(f);
	put_names(f);
	fprintf(f,
		"{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":"
		"{\"sort_index\":1000000}}]}\n",
		AGENTS);
	if (fclose(f) != 0)
		shmemsimi_report_line("SHMEMSIM_TRACE_FILE=%s: cannot be written: %s", path,
				      strerror(errno));
}
