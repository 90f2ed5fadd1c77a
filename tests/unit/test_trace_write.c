/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* core/trace.c: which arrows the file has, and its times, for events that the test makes. One PE,
 * that signals itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "job/job.h"

#define MAX_EVENTS 16

static char text[1 << 16]; /* of the file */

static shmemd_trace_event_t event(uint8_t op, uint8_t kind, uint64_t begin, uint64_t end,
				  uint64_t value)
{
	return (shmemd_trace_event_t){.op = op,
				      .kind = kind,
				      .begin = begin,
				      .end = end,
				      .value = value,
				      .data = SHMEMD_TRACE_NO_OFFSET,
				      .pe = kind == SHMEMD_TRACE_SEEN ? -1 : 0};
}

static shmemd_trace_event_t set_at(uint64_t begin, uint64_t value)
{
	return event(SHMEMD_OP_SIGNAL, SHMEMD_TRACE_SET, begin, begin + 2, value);
}

static shmemd_trace_event_t add_at(uint64_t begin, uint64_t value)
{
	return event(SHMEMD_OP_ATOMIC, SHMEMD_TRACE_ADD, begin, begin + 2, value);
}

static shmemd_trace_event_t wait_until(uint64_t end, uint64_t seen)
{
	shmemd_trace_event_t e = event(SHMEMD_OP_WAIT, SHMEMD_TRACE_SEEN, 0, end, seen);

	e.thread = 32;
	return e;
}

/* Write a trace of these events, and read the file. */
static void write_events(const shmemd_trace_event_t *events, size_t n)
{
	char path[] = "/tmp/test_trace_write.XXXXXX";
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	FILE *f;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	attr.heap_kind = SHMEMH_HEAP_HOST;
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_OK);
	assert_int_equal(shmemh_trace_start(job, MAX_EVENTS), SHMEMH_OK);
	assert_ptr_equal(job->latch->trace, job->trace);
	memcpy(job->trace + 1, events, (n < MAX_EVENTS ? n : MAX_EVENTS) * sizeof *events);
	job->trace->n_events = n;
	assert_int_equal(shmemh_trace_write(job, path, NULL, 0), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof text - 1, f);
	text[n] = '\0';
	fclose(f);
	unlink(path);
}

/* The place in the text behind the n-th line, from 0, with that phase. */
static const char *line_of(const char *phase, int n)
{
	char mark[24];
	const char *at = text;

	snprintf(mark, sizeof mark, "{\"ph\":\"%s\"", phase);
	for (at = strstr(at, mark); at && n > 0; n--)
		at = strstr(at + 1, mark);
	return at;
}

/* Arrow n begins and ends at those times, in ns, or there is none (-1). */
static void assert_arrow(int n, int begin, int end)
{
	const char *from = line_of("s", n), *to = line_of("f", n);
	char want[2][32];

	if (begin < 0) {
		assert_null(from);
		assert_null(to);
		return;
	}
	assert_non_null(from);
	assert_non_null(to);
	snprintf(want[0], sizeof want[0], "\"ts\":0.%03d,", begin);
	snprintf(want[1], sizeof want[1], "\"ts\":0.%03d,", end);
	assert_memory_equal(strstr(from, "\"ts\""), want[0], strlen(want[0]));
	assert_memory_equal(strstr(to, "\"ts\""), want[1], strlen(want[1]));
}

#define WRITE(...)                                                                                 \
	do {                                                                                       \
		const shmemd_trace_event_t events_[] = {__VA_ARGS__};                              \
		write_events(events_, sizeof events_ / sizeof *events_);                           \
	} while (0)

/* The value that the wait saw, of those sent before it ended, and of those the latest. */
static void test_value(void **state)
{
	(void)state;
	WRITE(set_at(10, 1), set_at(20, 2), set_at(30, 1), set_at(40, 2), wait_until(60, 1));
	assert_arrow(0, 30, 59);
	assert_arrow(1, -1, 0);
	WRITE(set_at(10, 1), set_at(20, 2), set_at(30, 1), wait_until(25, 1));
	assert_arrow(0, 10, 24);
}

static void test_adds(void **state)
{
	(void)state;
	WRITE(add_at(30, 1), add_at(10, 2), add_at(20, 3), wait_until(60, 5), wait_until(70, 6));
	assert_arrow(0, 30, 69);
	assert_arrow(1, 20, 59);
	WRITE(set_at(10, 5), add_at(20, 3), add_at(30, 1), wait_until(60, 8));
	assert_arrow(0, 20, 59);
}

/* No value fits: the latest. None was sent before: no arrow. */
static void test_no_value(void **state)
{
	(void)state;
	WRITE(add_at(10, 1), add_at(20, 1), add_at(50, 1), wait_until(40, 77));
	assert_arrow(0, 20, 39);
	WRITE(set_at(40, 1), wait_until(40, 1));
	assert_arrow(0, -1, 0);
}

static void test_other_word(void **state)
{
	shmemd_trace_event_t other = set_at(30, 1), elsewhere = set_at(31, 1);
	shmemd_trace_event_t set = set_at(10, 1), wait = wait_until(60, 1);

	(void)state;
	set.word = wait.word = elsewhere.word = 8;
	elsewhere.pe = -1;
	WRITE(set, other, elsewhere, wait);
	assert_arrow(0, 10, 59);
	WRITE(other, wait);
	assert_arrow(0, -1, 0);
	WRITE(elsewhere, wait);
	assert_arrow(0, -1, 0);
}

/* A call within a tick of the clock has a slice to which an arrow can lead; times count from the
 * first event, whatever the clock says. */
static void test_times(void **state)
{
	const uint64_t day = 1764000000000000000u;
	shmemd_trace_event_t wait = wait_until(day + 9, 1), set = set_at(day + 2, 1);

	(void)state;
	wait.begin = day + 9;
	set.end = set.begin;
	WRITE(wait, set);
	assert_arrow(0, 0, 7);
	assert_non_null(strstr(text, "\"ts\":0.000,\"dur\":0.001,\"name\":\"signal\""));
	assert_non_null(strstr(text, "\"ts\":0.007,\"dur\":0.001,\"name\":\"wait\""));
}

/* More events than there is room for. */
static void test_lost(void **state)
{
	shmemd_trace_event_t events[MAX_EVENTS];

	(void)state;
	for (int i = 0; i < MAX_EVENTS; i++)
		events[i] = set_at(10 * (uint64_t)i, 1);
	write_events(events, MAX_EVENTS + 2);
	assert_non_null(line_of("X", MAX_EVENTS - 1));
	assert_null(line_of("X", MAX_EVENTS));
	assert_non_null(strstr(text, "\"PE 0: 2 later events are lost\""));
}

static void test_no_path(void **state)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;

	(void)state;
	attr.heap_kind = SHMEMH_HEAP_HOST;
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_OK);
	assert_int_equal(shmemh_trace_write(job, NULL, NULL, 0), SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(shmemh_error_text(job), "cannot be written: No such file"));
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value),    cmocka_unit_test(test_adds),
		cmocka_unit_test(test_no_value), cmocka_unit_test(test_other_word),
		cmocka_unit_test(test_times),    cmocka_unit_test(test_lost),
		cmocka_unit_test(test_no_path),
	};

	setenv("SHMEMH_IB", "off", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
