/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The calls that kernels recorded (abi/trace.h), as a file in the trace event format (JSON), for
 * ui.perfetto.dev. PE 0 gathers the events of all PEs in rounds of equal size, and writes them: a
 * process for each PE, in it a track for each thread that recorded. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <shmem_host/trace.h>
#include "base/clock.h"
#include "base/files.h"
#include "base/thread.h"
#include "core/core.h"
#include "core/trace.h"
#include "mem/mem.h"

#define ROUND 128 /* events of each PE that one gather takes */

/* What PE 0 has of all PEs. Other PEs have the heads and the latest round, and keep no events. */
typedef struct gathered {
	shmemd_trace_t *heads;         /* [n_pes] */
	shmemd_trace_event_t **events; /* [n_pes][kept] */
	shmemd_trace_event_t *round;   /* [n_pes][ROUND], what a gather brings */
	shmemhi_trace_clock_t *clocks; /* [n_pes] */
	uint64_t slack;                /* of shmemhi_trace_estimate_clocks */
	const char *const *phases;     /* [n_phases] names */
	int n_pes, n_phases;
} gathered_t;

static uint64_t kept(const shmemd_trace_t *head)
{
	return head->n_events < head->capacity ? head->n_events : head->capacity;
}

static int fail_memory(shmemhi_err_t *err, uint64_t n_events)
{
	return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY,
			    "trace_write: no memory for %" PRIu64 " events", n_events);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* --- clocks --- */

static int collect(const gathered_t *g, shmemhi_trace_calls_t *calls, shmemhi_err_t *err)
{
	uint64_t n = 0;

	for (int pe = 0; pe < g->n_pes; pe++)
		n += kept(&g->heads[pe]);
	*calls = (shmemhi_trace_calls_t){malloc((n + 1) * sizeof *calls->at), 0, g->n_pes};
	if (!calls->at)
		return fail_memory(err, n);
	for (int pe = 0; pe < g->n_pes; pe++) {
		for (uint64_t i = 0; i < kept(&g->heads[pe]); i++) {
			const shmemd_trace_event_t *e = &g->events[pe][i];

			if (e->kind != SHMEMD_TRACE_NO_WORD)
				calls->at[calls->n++] = (shmemhi_trace_call_t){
					e, pe, e->kind == SHMEMD_TRACE_SEEN ? pe : e->pe, 0};
		}
	}
	shmemhi_trace_sort(calls);
	return SHMEMH_OK;
}

static void shift(const gathered_t *g, int pe, int64_t ns)
{
	for (uint64_t i = 0; i < kept(&g->heads[pe]); i++) {
		g->events[pe][i].begin += (uint64_t)ns;
		g->events[pe][i].end += (uint64_t)ns;
	}
}

/* Add the offsets of the clocks, and make times count from the first event: readers parse times as
 * microseconds in floating point, and counted from 1970 these would lose the nanoseconds. The least
 * offset is added as 0, so that no sum is negative. */
static void align(const gathered_t *g)
{
	uint64_t origin = UINT64_MAX;
	int64_t least = 0;

	for (int pe = 0; pe < g->n_pes; pe++)
		least = g->clocks[pe].offset < least ? g->clocks[pe].offset : least;
	for (int pe = 0; pe < g->n_pes; pe++) {
		shift(g, pe, g->clocks[pe].offset - least);
		for (uint64_t i = 0; i < kept(&g->heads[pe]); i++)
			if (g->events[pe][i].begin < origin)
				origin = g->events[pe][i].begin;
	}
	for (int pe = 0; pe < g->n_pes; pe++)
		shift(g, pe, -(int64_t)origin);
}

/* --- the file --- */

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

static void put_place(FILE *f, const char *phase, int pe, const shmemd_trace_event_t *e,
		      uint64_t ns)
{
	fprintf(f, "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRIu64 ".%03u", phase, pe + 1,
		e->thread, ns / 1000, (unsigned)(ns % 1000));
}

static void put_name(FILE *f, const gathered_t *g, const shmemd_trace_event_t *e)
{
	static const char *const names[] = {"",           "put",     "get",    "p",    "g",
					    "put_signal", "signal",  "atomic", "wait", "test",
					    "sync",       "barrier", "quiet",  "fence"};
	char text[32] = "call";

	if (e->op == SHMEMD_OP_NONE && e->value < (uint64_t)g->n_phases && g->phases[e->value]) {
		put_string(f, g->phases[e->value]);
		return;
	}
	if (e->op == SHMEMD_OP_NONE)
		snprintf(text, sizeof text, "phase %" PRIu64, e->value);
	else if (e->op < sizeof names / sizeof *names)
		snprintf(text, sizeof text, "%s", names[e->op]);
	put_string(f, text);
}

/* Write the slice of a call. A call that saw a word gets a second, short slice at its end, in which
 * its arrow ends: the trace processor lets an arrow begin in the slice that begins first, and a
 * wait begins before the signal that ends it. */
static void put_slice(FILE *f, const gathered_t *g, int pe, const shmemd_trace_event_t *e)
{
	static const char *const kinds[] = {"", "stored", "added", "seen"};

	put_place(f, "X", pe, e, e->begin);
	fprintf(f, ",\"dur\":%" PRIu64 ".%03u,\"name\":", shmemhi_trace_slice_ns(e) / 1000,
		(unsigned)(shmemhi_trace_slice_ns(e) % 1000));
	put_name(f, g, e);
	fprintf(f, ",\"args\":{\"status\":%u", e->status);
	if (e->pe >= 0)
		fprintf(f, ",\"PE\":%d", e->pe);
	if (e->data != SHMEMD_TRACE_NO_OFFSET)
		fprintf(f, ",\"heap offset\":%" PRIu64 ",\"bytes\":%" PRIu64, e->data, e->nbytes);
	if (e->kind != SHMEMD_TRACE_NO_WORD)
		fprintf(f, ",\"word\":%" PRIu64 ",\"%s\":%" PRIu64, e->word, kinds[e->kind & 3],
			e->value);
	fputs("}},\n", f);
	if (e->kind != SHMEMD_TRACE_SEEN)
		return;
	put_place(f, "X", pe, e, shmemhi_trace_arrow_end(e));
	fputs(",\"dur\":0.001,\"name\":\"seen\"},\n", f);
}

static void put_arrow_end(FILE *f, const char *phase, int pe, const shmemd_trace_event_t *e,
			  uint64_t ns, uint64_t id)
{
	put_place(f, phase, pe, e, ns);
	fprintf(f, ",\"id\":%" PRIu64 ",\"cat\":\"signal\",\"name\":\"signal\",\"bp\":\"e\"},\n",
		id);
}

static void put_arrows(FILE *f, const gathered_t *g, const shmemhi_trace_calls_t *calls)
{
	shmemhi_trace_word_t word = {0};
	uint64_t id = 0;

	while (shmemhi_trace_next_word(calls, &word)) {
		for (size_t i = 0; i < word.n_seen; i++) {
			const shmemd_trace_event_t *e = word.seen[i].e;
			const shmemhi_trace_call_t *from =
				shmemhi_trace_signal_of(&word, e, g->slack);

			if (!from)
				continue;
			put_arrow_end(f, "s", from->pe, from->e, from->e->begin, ++id);
			put_arrow_end(f, "f", word.seen[i].pe, e, shmemhi_trace_arrow_end(e), id);
		}
	}
}

static void put_track(FILE *f, int pe, uint32_t track, uint32_t block, uint32_t thread)
{
	fprintf(f,
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":"
		"\"block %u warp %u",
		pe + 1, track, block, thread / 32);
	if (thread % 32)
		fprintf(f, " lane %u", thread % 32);
	fputs("\"}},\n", f);
}

static int by_track(const void *a, const void *b)
{
	const shmemd_trace_event_t *x = a, *y = b;

	if (x->block != y->block)
		return compare(x->block, y->block);
	if (x->thread != y->thread)
		return compare(x->thread, y->thread);
	return x->begin != y->begin ? compare(x->begin, y->begin) : compare(y->end, x->end);
}

/* Name the tracks of a PE. From then on `thread` of its events is the number of their track. */
static void put_tracks(FILE *f, const gathered_t *g, int pe, uint32_t *n_tracks)
{
	uint32_t block = 0, thread = 0;

	for (uint64_t i = 0; i < kept(&g->heads[pe]); i++) {
		shmemd_trace_event_t *e = &g->events[pe][i];

		if (i == 0 || e->block != block || e->thread != thread) {
			block = e->block;
			thread = e->thread;
			put_track(f, pe, ++*n_tracks, block, thread);
		}
		e->thread = *n_tracks;
	}
}

static void put_clock(FILE *f, const shmemhi_trace_clock_t *clock)
{
	fprintf(f, ",\"clock offset\":%" PRId64, clock->offset);
	if (clock->least != INT64_MIN)
		fprintf(f, ",\"at least\":%" PRId64, clock->least);
	if (clock->most != INT64_MAX)
		fprintf(f, ",\"at most\":%" PRId64, clock->most);
}

/* The names and clocks of the PEs, and the end of the file. */
static void put_processes(FILE *f, const gathered_t *g)
{
	for (int pe = 0; pe < g->n_pes; pe++) {
		const shmemd_trace_t *head = &g->heads[pe];

		fprintf(f,
			"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":"
			"\"PE %d",
			pe + 1, pe);
		if (head->n_events > head->capacity)
			fprintf(f, ": %" PRIu64 " later events are lost",
				head->n_events - head->capacity);
		putc('"', f);
		put_clock(f, &g->clocks[pe]);
		fputs(pe + 1 < g->n_pes ? "}},\n" : "}}]}\n", f);
	}
}

static void put_file(FILE *f, const gathered_t *g, const shmemhi_trace_calls_t *calls)
{
	uint32_t n_tracks =
		(uint32_t)g->n_pes; /* a thread with its process's number is called main */

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", f);
	for (int pe = 0; pe < g->n_pes; pe++) {
		put_tracks(f, g, pe, &n_tracks);
		for (uint64_t i = 0; i < kept(&g->heads[pe]); i++)
			put_slice(f, g, pe, &g->events[pe][i]);
	}
	put_arrows(f, g, calls); /* after the slices, also of the same time */
	put_processes(f, g);
}

static int put_path(const gathered_t *g, const shmemhi_trace_calls_t *calls, const char *path,
		    shmemhi_err_t *err)
{
	FILE *f = fopen(path, "w");
	int error = errno;

	if (f) {
		put_file(f, g, calls);
		error = shmemhi_close_written(f);
	}
	if (!f || error)
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "trace_write: %s cannot be written: %s",
				    path, strerror(error));
	return SHMEMH_OK;
}

static int write_file(gathered_t *g, const char *path, shmemhi_err_t *err)
{
	shmemhi_trace_calls_t calls;
	int status;

	for (int pe = 0; pe < g->n_pes; pe++)
		qsort(g->events[pe], kept(&g->heads[pe]), sizeof **g->events, by_track);
	status = collect(g, &calls, err);
	if (status == SHMEMH_OK)
		status = shmemhi_trace_estimate_clocks(&calls, g->clocks, &g->slack, err);
	if (status == SHMEMH_OK) {
		align(g);
		shmemhi_trace_sort(&calls); /* signals of several PEs */
		status = put_path(g, &calls, path, err);
	}
	free(calls.at);
	return status;
}

/* --- gathering --- */

static void release(gathered_t *g)
{
	for (int pe = 0; g->events && pe < g->n_pes; pe++)
		free(g->events[pe]);
	free(g->events);
	free(g->heads);
	free(g->clocks);
	free(g->round);
}

/* The heads of all PEs, and on PE 0 room for their events. */
static int gather_heads(shmemh_t *job, gathered_t *g)
{
	shmemd_trace_t own = {0};
	size_t n = (size_t)g->n_pes;
	int status = SHMEMH_OK;

	g->heads = calloc(n, sizeof *g->heads);
	g->events = calloc(n, sizeof *g->events);
	g->clocks = calloc(n, sizeof *g->clocks);
	g->round = malloc(n * ROUND * sizeof *g->round);
	if (!g->heads || !g->events || !g->clocks || !g->round)
		status = fail_memory(&job->err, n * ROUND);
	else if (job->trace)
		status = shmemhi_dev_read(job, &own, job->trace, sizeof own, &job->err);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, &own, g->heads, sizeof own);
	for (int pe = 0; status == SHMEMH_OK && job->pe == 0 && pe < g->n_pes; pe++) {
		g->events[pe] = malloc((kept(&g->heads[pe]) + 1) * sizeof **g->events);
		if (!g->events[pe])
			status = fail_memory(&job->err, kept(&g->heads[pe]));
	}
	return shmemhi_agree(job, status);
}

static uint64_t in_round(const shmemd_trace_t *head, uint64_t first)
{
	uint64_t n = kept(head);

	if (n <= first)
		return 0;
	return n - first < ROUND ? n - first : ROUND;
}

/* All PEs take part in all rounds, also one that could not read its events. */
static int gather_events(shmemh_t *job, gathered_t *g)
{
	const shmemd_trace_event_t *dev =
		job->trace ? (const shmemd_trace_event_t *)(job->trace + 1) : NULL;
	shmemd_trace_event_t own[ROUND];
	int status = SHMEMH_OK, gathered;
	uint64_t most = 0, n;

	memset(own, 0, sizeof own);
	for (int pe = 0; pe < g->n_pes; pe++)
		most = kept(&g->heads[pe]) > most ? kept(&g->heads[pe]) : most;
	for (uint64_t first = 0; first < most; first += ROUND) {
		n = in_round(&g->heads[job->pe], first);
		if (n && status == SHMEMH_OK)
			status =
				shmemhi_dev_read(job, own, dev + first, n * sizeof *own, &job->err);
		gathered = shmemhi_allgather(job, own, g->round, sizeof own);
		if (gathered != SHMEMH_OK)
			return gathered;
		for (int pe = 0; job->pe == 0 && pe < g->n_pes; pe++)
			memcpy(&g->events[pe][first], &g->round[(size_t)pe * ROUND],
			       in_round(&g->heads[pe], first) * sizeof *own);
	}
	return status;
}

/* --- writing --- */

/* The thread of PE 0 that writes the file. */
typedef struct writer {
	gathered_t *g;
	const char *path;
	int status;
	shmemhi_err_t err;
	pthread_t thread;
	bool has_thread;
	bool is_done; /* under lock */
	pthread_mutex_t lock;
	pthread_cond_t done;
} writer_t;

static void *writer_main(void *arg)
{
	writer_t *w = arg;

	w->status = write_file(w->g, w->path, &w->err);
	pthread_mutex_lock(&w->lock);
	w->is_done = true;
	pthread_cond_signal(&w->done);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void writer_start(writer_t *w)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->done, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&w->lock, NULL);
	w->has_thread = shmemhi_thread_start(&w->thread, "shmem_trace", writer_main, w) == 0;
	if (!w->has_thread)
		writer_main(w);
}

/* Is the file written? Waits for it, but not longer than ns. */
static bool writer_wait(writer_t *w, uint64_t ns)
{
	uint64_t at = shmemhi_now() + ns;
	struct timespec until = {.tv_sec = (time_t)(at / SHMEMHI_SECOND),
				 .tv_nsec = (long)(at % SHMEMHI_SECOND)};
	int status = 0;
	bool is_done;

	pthread_mutex_lock(&w->lock);
	while (!w->is_done && status != ETIMEDOUT)
		status = pthread_cond_timedwait(&w->done, &w->lock, &until);
	is_done = w->is_done;
	pthread_mutex_unlock(&w->lock);
	return is_done;
}

/* Wait for the end of the file, also if the job has failed: the thread reads what was gathered. */
static int writer_join(shmemh_t *job, writer_t *w)
{
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->done);
	pthread_mutex_destroy(&w->lock);
	return w->status == SHMEMH_OK ? SHMEMH_OK
				      : shmemhi_fail(&job->err, w->status, "%s", w->err.text);
}

/* Write the file on PE 0. That may take longer than SHMEMH_BOOT_TIMEOUT, within which all PEs must
 * have come to a gather: so they meet in one every second until PE 0 says that it is done. Test:
 * unit.test_trace_write, test_slow_file. */
static int write_together(shmemh_t *job, gathered_t *g, const char *path)
{
	const uint64_t quarter = job->opt.boot_timeout_ns / 4;
	const uint64_t period = quarter < SHMEMHI_SECOND ? quarter : SHMEMHI_SECOND;
	writer_t w = {.g = g, .path = path};
	int32_t is_done = 0;
	int status, written = SHMEMH_OK;

	if (job->pe == 0)
		writer_start(&w);
	do {
		if (job->pe == 0)
			is_done = writer_wait(&w, period);
		status = shmemhi_allgather(job, &is_done, job->statuses, sizeof is_done);
	} while (status == SHMEMH_OK && !job->statuses[0]);
	if (job->pe == 0)
		written = writer_join(job, &w);
	return status == SHMEMH_OK ? shmemhi_agree(job, written) : status;
}

/* --- calls --- */

void shmemhi_trace_close(shmemh_t *job)
{
	if (job->trace)
		shmemhi_dev_free(job, job->trace);
	job->trace = NULL;
}

static int set_trace(shmemh_t *job, shmemd_trace_t *trace)
{
	return shmemhi_dev_write(job, &job->latch->trace, &trace, sizeof trace);
}

int shmemh_trace_start(shmemh_t *job, uint32_t n_events)
{
	const shmemd_trace_t head = {.capacity = n_events};
	shmemd_trace_t *trace = NULL;
	int status;

	if (shmemhi_refused(job, "trace_start"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	status = set_trace(job, NULL);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	shmemhi_trace_close(job);
	if (n_events == 0)
		return SHMEMH_OK;
	status = shmemhi_dev_alloc(job, sizeof head + n_events * sizeof(shmemd_trace_event_t),
				   (void **)&trace);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	job->trace = trace;
	status = shmemhi_dev_write(job, trace, &head, sizeof head);
	return shmemhi_done(job, status == SHMEMH_OK ? set_trace(job, trace) : status);
}

/* Names of phases are used on PE 0 alone. */
static int check_phases(shmemh_t *job, const gathered_t *g)
{
	if (job->pe != 0 || g->n_phases == 0 || (g->n_phases > 0 && g->phases))
		return SHMEMH_OK;
	return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
			    "trace_write: %d names of phases at %p: pass NULL and 0, or an array "
			    "and its length",
			    g->n_phases, (const void *)g->phases);
}

int shmemh_trace_write(shmemh_t *job, const char *path, const char *const *phases, int n_phases)
{
	gathered_t g = {.phases = phases, .n_phases = n_phases};
	int status;

	if (shmemhi_refused(job, "trace_write"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	g.n_pes = job->n_pes;
	status = shmemhi_begin_collective(job, SHMEMHI_CALL_TRACE_WRITE, 0);
	if (status == SHMEMH_OK)
		status = shmemhi_agree(job, check_phases(job, &g));
	if (status == SHMEMH_OK)
		status = gather_heads(job, &g);
	if (status == SHMEMH_OK)
		status = shmemhi_agree(job, gather_events(job, &g));
	if (status == SHMEMH_OK)
		status = write_together(job, &g, path ? path : "");
	release(&g);
	return shmemhi_done(job, status);
}
