/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A time line as a file in the trace event format (JSON), which ui.perfetto.dev and
 * chrome://tracing open: tracks, grouped by process; spans and instants on them; arrows between
 * them. Written by json-c. Host code only; not for several threads at once.
 *
 * Times are nanoseconds of any one clock. The file has microseconds since the origin. */
#ifndef EXAMPLES_TRACE_H
#define EXAMPLES_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trace trace_t;

/* A track: a line of the viewer. Those with the same `group` are shown together. */
typedef struct trace_track {
	int group, line;
} trace_track_t;

/* Begin a trace. NULL: no memory; all functions below accept it, and trace_write fails. */
trace_t *trace_begin(uint64_t origin_ns);

/* Give a track and its group their names. Tracks are shown in the order of their lines. */
void trace_name(trace_t *trace, trace_track_t track, const char *group, const char *line);

/* A span from begin_ns to end_ns. Spans of one track do not overlap, or one contains the other. */
void trace_span(trace_t *trace, trace_track_t track, const char *name, uint64_t begin_ns,
		uint64_t end_ns);

/* A point in time. */
void trace_instant(trace_t *trace, trace_track_t track, const char *name, uint64_t at_ns);

/* A value of the latest span or instant, shown when it is selected. */
void trace_number(trace_t *trace, const char *name, uint64_t value);
void trace_text(trace_t *trace, const char *name, const char *text);

/* An arrow from a span to a later one; each of both times lies in a span of its track. */
void trace_arrow(trace_t *trace, const char *name, trace_track_t from, uint64_t from_ns,
		 trace_track_t to, uint64_t to_ns);

/* Write the file and release the trace. Returns 0, or 1 after one line on stderr. */
int trace_write(trace_t *trace, const char *path);

#ifdef __cplusplus
}
#endif

#endif
