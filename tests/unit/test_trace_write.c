/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* core/trace.c and core/trace_clocks.c: which arrows the file has, its times, and the offsets of
 * clocks, for events that the test makes: those of one PE, that signals itself, or of 4 PEs whose
 * clocks differ. */
#include <sys/stat.h>
#include <unistd.h>
#include "team_job.h"

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

static char path[] = "/tmp/test_trace_write.XXXXXX";

static void make_file(void)
{
	int fd;

	memset(strchr(path, '.') + 1, 'X', 6);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static void read_file(void)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof text - 1, f);
	text[n] = '\0';
	fclose(f);
	unlink(path);
}

/* Write a trace of these events, the names of phase 0 and 1 with them, and read the file. */
static void write_events(const shmemd_trace_event_t *events, size_t n)
{
	static const char *const phases[] = {"copy", NULL};
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;

	make_file();
	attr.heap_kind = SHMEMH_HEAP_HOST;
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_OK);
	assert_int_equal(shmemh_trace_start(job, MAX_EVENTS), SHMEMH_OK);
	assert_ptr_equal(job->latch->trace, job->trace);
	memcpy(job->trace + 1, events, (n < MAX_EVENTS ? n : MAX_EVENTS) * sizeof *events);
	job->trace->n_events = n;
	assert_int_equal(shmemh_trace_write(job, path, phases, 2), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	read_file();
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

/* Phases without a name have their number. */
static void test_phases(void **state)
{
	shmemd_trace_event_t phases[3] = {set_at(10, 0), set_at(20, 1), set_at(30, 2)};

	(void)state;
	for (int i = 0; i < 3; i++)
		phases[i].op = SHMEMD_OP_NONE;
	WRITE(phases[0], phases[1], phases[2]);
	assert_non_null(strstr(text, "\"name\":\"copy\""));
	assert_non_null(strstr(text, "\"name\":\"phase 1\""));
	assert_non_null(strstr(text, "\"name\":\"phase 2\""));
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

/* All PEs get the status of PE 0's arguments; those of the others are not used. */
static int write_phases(shmemh_t *job, int pe)
{
	static const char *const names[] = {"copy"};

	WANT(shmemh_trace_write(job, "/dev/null", NULL, pe == 0 ? 1 : 0) == SHMEMH_ERR_ARGUMENT);
	WANT(shmemh_trace_write(job, "/dev/null", names, pe == 0 ? -1 : 1) == SHMEMH_ERR_ARGUMENT);
	WANT(pe != 0 ||
	     strstr(shmemh_error_text(job), "trace_write: -1 names of phases at ") != NULL);
	WANT(shmemh_trace_write(job, "/dev/null", NULL, pe == 0 ? 0 : -1) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_bad_phases(void **state)
{
	(void)state;
	run_pes(write_phases, "10s");
}

/* The file is a pipe, and is read after SHMEMH_BOOT_TIMEOUT has passed. */
static int write_slowly(shmemh_t *job, int pe)
{
	(void)pe;
	WANT(shmemh_trace_write(job, path, NULL, 0) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void *read_later(void *arg)
{
	(void)arg;
	sleep(5);
	read_file();
	return NULL;
}

static void test_slow_file(void **state)
{
	pthread_t reader;

	(void)state;
	make_file();
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	pthread_create(&reader, NULL, read_later, NULL);
	run_pes(write_slowly, "2s");
	pthread_join(reader, NULL);
	assert_non_null(strstr(text, "\"name\":\"PE 3\""));
}

/* --- clocks of several PEs ---
 *
 * The clock of PE 1 is 500 ns ahead of that of PE 0, the clock of PE 2 is 300 ns ahead. */

static struct recorded {
	shmemd_trace_event_t events[MAX_EVENTS];
	size_t n;
} recorded[N_PES];

static const uint64_t ahead[N_PES] = {0, 500, 300, 0};

static void record(int pe, shmemd_trace_event_t e)
{
	recorded[pe].events[recorded[pe].n++] = e;
}

/* A signal, and a wait of this thread that ended; the times are those of PE 0's clock. */
static void send_to(int from, int to, uint64_t word, uint64_t time, int kind, uint64_t value)
{
	shmemd_trace_event_t e =
		event(SHMEMD_OP_SIGNAL, (uint8_t)kind, time + ahead[from], 0, value);

	e.end = e.begin + 2;
	e.pe = to;
	e.word = word;
	record(from, e);
}

static void see(int pe, uint32_t thread, uint64_t word, uint64_t time, uint64_t value)
{
	shmemd_trace_event_t e = wait_until(time + ahead[pe], value);

	e.begin = e.end - 5;
	e.word = word;
	e.thread = thread;
	record(pe, e);
}

/* A message by a word of its own. */
static void message(int from, int to, uint64_t sent, uint64_t seen)
{
	static uint64_t word;

	word += 8;
	send_to(from, to, word, sent, SHMEMD_TRACE_SET, 1);
	see(to, 32, word, seen, 1);
}

static int write_recorded(shmemh_t *job, int pe)
{
	WANT(shmemh_trace_start(job, MAX_EVENTS) == SHMEMH_OK);
	memcpy(job->trace + 1, recorded[pe].events, sizeof recorded[pe].events);
	job->trace->n_events = recorded[pe].n;
	WANT(shmemh_trace_write(job, path, NULL, 0) == SHMEMH_OK);
	return shmemh_finalize(job);
}

/* Write what the PEs have recorded, and read the file. */
static void write_all(void)
{
	make_file();
	run_pes(write_recorded, "30s");
	memset(recorded, 0, sizeof recorded);
	read_file();
}

/* The file says that of a PE's clock: "", or ',"at least":...'. */
static void assert_clock(int pe, int offset, const char *bounds)
{
	char want[160];

	snprintf(want, sizeof want, "\"name\":\"PE %d\",\"clock offset\":%d%s}", pe, offset,
		 bounds);
	assert_non_null(strstr(text, want));
}

/* Messages in both directions: the middle of what they allow. */
static void test_two_directions(void **state)
{
	(void)state;
	message(0, 1, 0, 20);
	message(1, 0, 40, 60);
	message(1, 0, 70, 100); /* took longer, and says nothing more */
	write_all();
	assert_clock(0, 0, ",\"at least\":0,\"at most\":0");
	assert_clock(1, -500, ",\"at least\":-519,\"at most\":-481");
	assert_arrow(0, 40, 59);
	assert_arrow(1, 70, 99);
	assert_arrow(2, 0, 19);
	assert_arrow(3, -1, 0);
}

/* A time of PE 1 that is negative on PE 0's clock. */
static void test_before(void **state)
{
	(void)state;
	message(0, 1, 0, 20);
	message(1, 0, 40, 60);
	send_to(1, 3, 8, (uint64_t)-30, SHMEMD_TRACE_SET, 1);
	write_all();
	assert_clock(1, -500, ",\"at least\":-519,\"at most\":-481");
	assert_arrow(0, 70, 89);
	assert_arrow(1, 30, 49);
}

/* Messages in one direction: the least shift, or none. */
static void test_one_direction(void **state)
{
	(void)state;
	message(1, 0, 40, 60);
	message(0, 3, 0, 20);
	write_all();
	assert_clock(1, -481, ",\"at most\":-481");
	assert_clock(3, 0, ",\"at least\":-19");
	assert_arrow(0, 59, 59);
	assert_arrow(1, 0, 19);
	message(0, 1, 0, 20);
	message(0, 1, 0, 30);
	write_all();
	assert_clock(1, 0, ",\"at least\":-519");
	assert_arrow(0, 0, 519);
	message(1, 3, 40, 60);
	write_all();
	assert_clock(1, 0, "");
	assert_clock(3, 481, "");
	message(3, 2, 600, 620);
	message(2, 0, 0, 20);
	write_all();
	assert_clock(2, -281, ",\"at most\":-281");
	assert_clock(3, 0, ",\"at most\":38");
}

/* The clocks are one, and messages take longer in one direction: no shift. */
static void test_one_clock(void **state)
{
	(void)state;
	message(0, 3, 0, 100);
	message(3, 0, 110, 120);
	write_all();
	assert_clock(3, 0, ",\"at least\":-99,\"at most\":9");
	assert_arrow(0, 110, 119);
	assert_arrow(1, 0, 99);
}

/* PE 2 has messages with PE 1 only: what bounds it against PE 0 leads over PE 1. */
static void test_chain(void **state)
{
	(void)state;
	message(0, 1, 0, 20);
	message(1, 0, 40, 60);
	message(1, 2, 70, 80);
	message(2, 1, 100, 130);
	write_all();
	assert_clock(1, -500, ",\"at least\":-519,\"at most\":-481");
	assert_clock(2, -290, ",\"at least\":-328,\"at most\":-252");
	assert_clock(3, 0, "");
	assert_arrow(0, 40, 59);
	assert_arrow(1, 0, 19);
	assert_arrow(2, 110, 129);
	assert_arrow(3, 70, 89);
}

/* The other direction leads around the ring. */
static void test_ring(void **state)
{
	(void)state;
	message(0, 1, 0, 20);
	message(1, 2, 40, 60);
	message(2, 0, 80, 100);
	write_all();
	assert_clock(1, -491, ",\"at least\":-519,\"at most\":-462");
	assert_clock(2, -296, ",\"at least\":-338,\"at most\":-281");
	assert_arrow(0, 84, 99);
	assert_arrow(1, 0, 28);
	assert_arrow(2, 49, 63);
}

/* PEs 1 and 2 have no messages with PE 0. */
static void test_apart(void **state)
{
	(void)state;
	message(1, 2, 0, 20);
	message(2, 1, 40, 60);
	write_all();
	assert_clock(1, 0, "");
	assert_clock(2, 200, "");
	assert_arrow(0, 40, 59);
	assert_arrow(1, 0, 19);
}

static void test_no_messages(void **state)
{
	(void)state;
	send_to(0, 1, 8, 0, SHMEMD_TRACE_SET, 1);
	send_to(1, 0, 8, 7, SHMEMD_TRACE_SET, 1);
	see(2, 32, 8, 20, 1);
	send_to(3, 3, 8, 4, SHMEMD_TRACE_SET, 1);
	see(3, 32, 8, 20, 1);
	write_all();
	assert_clock(0, 0, ",\"at least\":0,\"at most\":0");
	for (int pe = 1; pe < N_PES; pe++)
		assert_clock(pe, 0, "");
	assert_non_null(strstr(text, "\"pid\":2,\"tid\":6,\"ts\":0.507,"));
	assert_arrow(0, 4, 19);
	assert_arrow(1, -1, 0);
}

/* A word that gets values again: a thread sees them in the order in which they were sent. */
static void test_again(void **state)
{
	(void)state;
	send_to(0, 1, 8, 0, SHMEMD_TRACE_SET, 1);
	send_to(0, 1, 8, 100, SHMEMD_TRACE_SET, 2);
	send_to(0, 1, 8, 200, SHMEMD_TRACE_SET, 1);
	see(1, 32, 8, 70, 1);
	see(1, 32, 8, 90, 3); /* from nowhere */
	see(1, 32, 8, 170, 2);
	see(1, 32, 8, 210, 1);
	see(1, 64, 8, 30, 1); /* another thread */
	write_all();
	assert_clock(1, 0, ",\"at least\":-509");
}

/* A word that is added to and was not 0 before: only what was added since the first wait counts.
 * One to which a PE adds less than 0 has left a value twice. */
static void test_counter(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		send_to(0, 1, 8, 100 * i, SHMEMD_TRACE_ADD, 1);
		see(1, 32, 8, 100 * i + 10, 11 + i);
	}
	write_all();
	assert_clock(1, 0, ",\"at least\":-609");
	send_to(0, 1, 8, 0, SHMEMD_TRACE_ADD, 1);
	send_to(0, 1, 8, 100, SHMEMD_TRACE_ADD, UINT64_MAX);
	see(1, 32, 8, 30, 1);
	write_all();
	assert_clock(1, 0, ",\"at least\":-529");
	send_to(0, 1, 8, 0, SHMEMD_TRACE_SET, 1);
	send_to(0, 1, 8, 100, SHMEMD_TRACE_ADD, 1);
	see(1, 32, 8, 130, 2);
	see(1, 32, 8, 140, 7);
	write_all();
	assert_clock(1, 0, ",\"at least\":-529");
}

/* Which signal a wait saw is not known if several PEs send to the word; arrows take the order of
 * the corrected times. */
static void test_several(void **state)
{
	(void)state;
	send_to(0, 1, 8, 0, SHMEMD_TRACE_ADD, 1);
	send_to(2, 1, 8, 0, SHMEMD_TRACE_ADD, 1);
	see(1, 32, 8, 20, 2);
	message(0, 2, 0, 20);
	write_all();
	assert_clock(1, 0, "");
	assert_clock(2, 0, ",\"at least\":-319");
	message(0, 2, 0, 20);
	message(2, 0, 40, 60);
	send_to(0, 3, 8, 200, SHMEMD_TRACE_ADD, 1);
	send_to(2, 3, 8, 100, SHMEMD_TRACE_ADD, 1);
	see(3, 32, 8, 150, 1);
	see(3, 32, 8, 250, 2);
	write_all();
	assert_clock(2, -300, ",\"at least\":-319,\"at most\":-281");
	assert_clock(3, 0, "");
	assert_arrow(2, 100, 149);
	assert_arrow(3, 200, 249);
}

/* The clock of PE 3 loses 100 ns between two exchanges: no offset is right for both. One between
 * is taken; a wait that ended before its signal was sent has no arrow, also not from the signal
 * before. */
static void test_drift(void **state)
{
	(void)state;
	send_to(0, 3, 8, 0, SHMEMD_TRACE_SET, 1);
	send_to(0, 3, 8, 10, SHMEMD_TRACE_SET, 2);
	see(3, 32, 8, 30, 2);
	message(3, 0, 40, 60);
	send_to(0, 3, 8, 500, SHMEMD_TRACE_SET, 3);
	see(3, 32, 8, 420, 3);
	see(3, 64, 8, 425, 9); /* from nowhere */
	message(3, 0, 440, 560);
	write_all();
	assert_clock(3, 50, ",\"at least\":17,\"at most\":83");
	assert_arrow(0, 490, 559);
	assert_arrow(1, 10, 79);
	assert_arrow(2, 10, 474);
	assert_arrow(3, -1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value),       cmocka_unit_test(test_adds),
		cmocka_unit_test(test_no_value),    cmocka_unit_test(test_other_word),
		cmocka_unit_test(test_times),       cmocka_unit_test(test_lost),
		cmocka_unit_test(test_no_path),     cmocka_unit_test(test_bad_phases),
		cmocka_unit_test(test_phases),      cmocka_unit_test(test_two_directions),
		cmocka_unit_test(test_before),      cmocka_unit_test(test_one_direction),
		cmocka_unit_test(test_one_clock),   cmocka_unit_test(test_chain),
		cmocka_unit_test(test_ring),        cmocka_unit_test(test_apart),
		cmocka_unit_test(test_no_messages), cmocka_unit_test(test_again),
		cmocka_unit_test(test_counter),     cmocka_unit_test(test_several),
		cmocka_unit_test(test_drift),       cmocka_unit_test(test_slow_file),
	};

	setenv("SHMEMH_IB", "off", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
