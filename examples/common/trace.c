/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "trace.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

struct trace {
	struct json_object *events; /* the array; owned */
	struct json_object *latest; /* span or instant; of the array */
	uint64_t origin_ns;
	int n_arrows;
	int has_failed; /* no memory */
};

/* Add a member to an object, which then owns it. */
static void set(trace_t *trace, struct json_object *object, const char *name,
		struct json_object *value)
{
	if (object == NULL || value == NULL || json_object_object_add(object, name, value) != 0)
		trace->has_failed = 1;
}

static struct json_object *microseconds(uint64_t ns)
{
	char text[32];

	/* A double has no exact thousandths, and would be printed with 17 digits. */
	snprintf(text, sizeof(text), "%llu.%03u", (unsigned long long)(ns / 1000),
		 (unsigned)(ns % 1000));
	return json_object_new_double_s((double)ns * 1e-3, text);
}

/* Append an event of a phase ("X": span, "i": instant, "s", "f": arrow, "M": name). */
static struct json_object *event(trace_t *trace, const char *phase, const char *name,
				 trace_track_t track)
{
	struct json_object *e = json_object_new_object();

	if (e == NULL || json_object_array_add(trace->events, e) != 0) {
		json_object_put(e);
		trace->has_failed = 1;
		return NULL;
	}
	set(trace, e, "ph", json_object_new_string(phase));
	set(trace, e, "name", json_object_new_string(name));
	set(trace, e, "pid", json_object_new_int(track.group));
	set(trace, e, "tid", json_object_new_int(track.line));
	return e;
}

static struct json_object *event_at(trace_t *trace, const char *phase, const char *name,
				    trace_track_t track, uint64_t ns)
{
	struct json_object *e = event(trace, phase, name, track);

	set(trace, e, "ts", microseconds(ns > trace->origin_ns ? ns - trace->origin_ns : 0));
	return e;
}

trace_t *trace_begin(uint64_t origin_ns)
{
	trace_t *trace = (trace_t *)calloc(1, sizeof(*trace));

	if (trace == NULL)
		return NULL;
	trace->origin_ns = origin_ns;
	trace->events = json_object_new_array();
	if (trace->events != NULL)
		return trace;
	free(trace);
	return NULL;
}

/* Events of phase M, whose args are their values. */
static void meta(trace_t *trace, trace_track_t track, const char *what, const char *name,
		 struct json_object *value)
{
	struct json_object *e = event(trace, "M", what, track);
	struct json_object *args = json_object_new_object();

	set(trace, args, name, value);
	set(trace, e, "args", args);
}

void trace_name(trace_t *trace, trace_track_t track, const char *group, const char *line)
{
	if (trace == NULL)
		return;
	meta(trace, track, "process_name", "name", json_object_new_string(group));
	meta(trace, track, "process_sort_index", "sort_index", json_object_new_int(track.group));
	meta(trace, track, "thread_name", "name", json_object_new_string(line));
	meta(trace, track, "thread_sort_index", "sort_index", json_object_new_int(track.line));
}

void trace_span(trace_t *trace, trace_track_t track, const char *name, uint64_t begin_ns,
		uint64_t end_ns)
{
	if (trace == NULL)
		return;
	trace->latest = event_at(trace, "X", name, track, begin_ns);
	set(trace, trace->latest, "dur", microseconds(end_ns - begin_ns));
}

void trace_instant(trace_t *trace, trace_track_t track, const char *name, uint64_t at_ns)
{
	if (trace == NULL)
		return;
	trace->latest = event_at(trace, "i", name, track, at_ns);
	set(trace, trace->latest, "s", json_object_new_string("t")); /* of its track */
}

static void set_arg(trace_t *trace, const char *name, struct json_object *value)
{
	struct json_object *args = NULL;

	if (!json_object_object_get_ex(trace->latest, "args", &args)) {
		args = json_object_new_object();
		set(trace, trace->latest, "args", args);
	}
	set(trace, args, name, value);
}

void trace_number(trace_t *trace, const char *name, uint64_t value)
{
	if (trace != NULL)
		set_arg(trace, name, json_object_new_uint64(value));
}

void trace_text(trace_t *trace, const char *name, const char *text)
{
	if (trace != NULL)
		set_arg(trace, name, json_object_new_string(text));
}

void trace_arrow(trace_t *trace, const char *name, trace_track_t from, uint64_t from_ns,
		 trace_track_t to, uint64_t to_ns)
{
	struct json_object *begin, *end;

	if (trace == NULL)
		return;
	trace->n_arrows++;
	begin = event_at(trace, "s", name, from, from_ns);
	end = event_at(trace, "f", name, to, to_ns);
	set(trace, begin, "cat", json_object_new_string("arrow"));
	set(trace, end, "cat", json_object_new_string("arrow"));
	set(trace, begin, "id", json_object_new_int(trace->n_arrows));
	set(trace, end, "id", json_object_new_int(trace->n_arrows));
	set(trace, end, "bp", json_object_new_string("e")); /* the span that contains it */
}

int trace_write(trace_t *trace, const char *path)
{
	struct json_object *file = json_object_new_object();
	int failed = trace == NULL || file == NULL || trace->has_failed;

	if (failed) {
		fprintf(stderr, "%s: the trace is not written: no memory\n", path);
	} else {
		set(trace, file, "displayTimeUnit", json_object_new_string("ms"));
		set(trace, file, "traceEvents", json_object_get(trace->events));
		failed = json_object_to_file_ext(path, file, JSON_C_TO_STRING_PLAIN) != 0;
		if (failed)
			fprintf(stderr, "the trace is not written: %s\n", json_util_get_last_err());
	}
	json_object_put(file);
	if (trace != NULL)
		json_object_put(trace->events);
	free(trace);
	return failed;
}
