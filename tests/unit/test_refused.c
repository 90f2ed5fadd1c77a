/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Jobs that no call accepts: NULL, and the job of a parent process. Result pointers that are NULL.
 * The origin of the text of shmemh_error_text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <shmem_host/shmem_host.h>

static char buffer[SHMEMH_UNIQUEID_TEXT_NBYTES];

/* Each call with a job; its result as a number. */

static long ctx_get(shmemh_t *job)
{
	shmemd_ctx_t ctx;
	return shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &ctx);
}

static long error_get(shmemh_t *job)
{
	shmemd_error_t err;
	return shmemh_error_get(job, &err);
}

static long error_clear(shmemh_t *job)
{
	return shmemh_error_clear(job);
}

static long do_malloc(shmemh_t *job)
{
	void *p;
	return shmemh_malloc(job, 64, &p);
}

static long do_align(shmemh_t *job)
{
	void *p;
	return shmemh_align(job, 64, 64, &p);
}

static long do_calloc(shmemh_t *job)
{
	void *p;
	return shmemh_calloc(job, 1, 64, &p);
}

static long do_free(shmemh_t *job)
{
	return shmemh_free(job, buffer);
}

static long ptr(shmemh_t *job)
{
	return (long)(intptr_t)shmemh_ptr(job, buffer, 0);
}

static long heap_info(shmemh_t *job)
{
	shmemh_heap_info_t info = {.size = sizeof info};
	return shmemh_heap_info(job, &info);
}

static long my_pe(shmemh_t *job)
{
	return shmemh_my_pe(job);
}

static long n_pes(shmemh_t *job)
{
	return shmemh_n_pes(job);
}

static long barrier(shmemh_t *job)
{
	return shmemh_barrier(job);
}

static long allgather(shmemh_t *job)
{
	return shmemh_allgather(job, "x", buffer, 1);
}

static long pe_cause(shmemh_t *job)
{
	return shmemh_pe_cause(job, 0);
}

static long team_my_pe(shmemh_t *job)
{
	return shmemh_team_my_pe(job, SHMEMH_TEAM_WORLD);
}

static long team_n_pes(shmemh_t *job)
{
	return shmemh_team_n_pes(job, SHMEMH_TEAM_WORLD);
}

static long team_translate_pe(shmemh_t *job)
{
	return shmemh_team_translate_pe(job, SHMEMH_TEAM_WORLD, 0, SHMEMH_TEAM_WORLD);
}

static long team_split_strided(shmemh_t *job)
{
	shmemh_team_t team;
	return shmemh_team_split_strided(job, SHMEMH_TEAM_WORLD, 0, 1, 1, &team);
}

static long team_split_2d(shmemh_t *job)
{
	shmemh_team_t x, y;
	return shmemh_team_split_2d(job, SHMEMH_TEAM_WORLD, 1, &x, &y);
}

static long team_create(shmemh_t *job)
{
	shmemh_team_t team;
	return shmemh_team_create(job, &(int){0}, 1, &team);
}

static long team_destroy(shmemh_t *job)
{
	return shmemh_team_destroy(job, 2);
}

static long team_barrier(shmemh_t *job)
{
	return shmemh_team_barrier(job, SHMEMH_TEAM_WORLD);
}

static long channels(shmemh_t *job)
{
	return shmemh_channels(job);
}

static long trace_start(shmemh_t *job)
{
	return shmemh_trace_start(job, 1);
}

static long trace_write(shmemh_t *job)
{
	return shmemh_trace_write(job, "/dev/null", NULL, 0);
}

static long channel_counters(shmemh_t *job)
{
	shmemh_channel_counters_t c = {.size = sizeof c};
	return shmemh_channel_counters(job, 0, 0, &c);
}

static long nic_event(shmemh_t *job)
{
	return shmemh_nic_event(job)[0];
}

static const struct call {
	const char *name; /* start of the line */
	long (*make)(shmemh_t *job);
	long refused; /* its result when refused */
} calls[] = {
	{"ctx_get", ctx_get, SHMEMH_ERR_ARGUMENT},
	{"error_get", error_get, SHMEMH_ERR_ARGUMENT},
	{"error_clear", error_clear, SHMEMH_ERR_ARGUMENT},
	{"malloc", do_malloc, SHMEMH_ERR_ARGUMENT},
	{"align", do_align, SHMEMH_ERR_ARGUMENT},
	{"calloc", do_calloc, SHMEMH_ERR_ARGUMENT},
	{"free", do_free, SHMEMH_ERR_ARGUMENT},
	{"ptr", ptr, 0},
	{"heap_info", heap_info, SHMEMH_ERR_ARGUMENT},
	{"my_pe", my_pe, -1},
	{"n_pes", n_pes, -1},
	{"barrier", barrier, SHMEMH_ERR_ARGUMENT},
	{"allgather", allgather, SHMEMH_ERR_ARGUMENT},
	{"pe_cause", pe_cause, -1},
	{"team_my_pe", team_my_pe, -1},
	{"team_n_pes", team_n_pes, -1},
	{"team_translate_pe", team_translate_pe, -1},
	{"team_split_strided", team_split_strided, SHMEMH_ERR_ARGUMENT},
	{"team_split_2d", team_split_2d, SHMEMH_ERR_ARGUMENT},
	{"team_create", team_create, SHMEMH_ERR_ARGUMENT},
	{"team_destroy", team_destroy, SHMEMH_ERR_ARGUMENT},
	{"team_barrier", team_barrier, SHMEMH_ERR_ARGUMENT},
	{"channels", channels, -1},
	{"channel_counters", channel_counters, SHMEMH_ERR_ARGUMENT},
	{"trace_start", trace_start, SHMEMH_ERR_ARGUMENT},
	{"trace_write", trace_write, SHMEMH_ERR_ARGUMENT},
	{"nic_event", nic_event, 0},
};

#define N_CALLS ((int)(sizeof calls / sizeof calls[0]))

/* The index of the first call that was not refused with its own line; N_CALLS: none. */
static int first_accepted(shmemh_t *job, const char *words)
{
	for (int i = 0; i < N_CALLS; i++) {
		const char *name = calls[i].name;
		const char *text;

		if (calls[i].make(job) != calls[i].refused)
			return i;
		text = shmemh_error_text(job);
		if (strncmp(text, name, strlen(name)) != 0 || text[strlen(name)] != ':' ||
		    !strstr(text, words))
			return i;
	}
	return N_CALLS;
}

static void null_job(void **state)
{
	(void)state;
	assert_int_equal(first_accepted(NULL, "job is NULL"), N_CALLS);
	assert_int_equal(shmemh_finalize(NULL), SHMEMH_OK);
}

/* Its memory is not read: under address sanitizer that would end the test. */
static void finalized_job(void **state)
{
	shmemh_t *job, *again;

	(void)state;
	assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	assert_int_equal(first_accepted(job, "was finalized"), N_CALLS);
	assert_int_equal(shmemh_finalize(job), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(job), "finalize: this job was finalized"));
	/* A new job, also one at the same address, is accepted. */
	assert_int_equal(shmemh_init(NULL, &again), SHMEMH_OK);
	assert_int_equal(shmemh_barrier(again), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(again), SHMEMH_OK);
}

/* What a process that initialised a job, and perhaps finalised it, prints at its end. */
static const char *last_words(int is_finalized)
{
	static char text[1024];
	int ends[2], status;
	ssize_t n, used = 0;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		shmemh_t *job;

		setenv("SHMEMH_DEBUG", "warn", 1);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		status = shmemh_init(NULL, &job);
		if (status == SHMEMH_OK && is_finalized)
			status = shmemh_finalize(job);
		exit(status == SHMEMH_OK ? 0 : 1);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + used, sizeof text - 1 - (size_t)used)) > 0)
		used += n;
	text[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return text;
}

static void forgotten_finalize(void **state)
{
	(void)state;
	assert_non_null(
		strstr(last_words(0),
		       "the process ends, or unloads this library, without shmemh_finalize"));
	assert_string_equal(last_words(1), "");
}

static void null_results(void **state)
{
	shmemd_error_t err = {0};
	shmemh_uniqueid_t id;
	shmemh_t *job;

	(void)state;
	assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
	assert_int_equal(shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, NULL), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(job), "ctx_get: ctx, which receives"));
	assert_int_equal(shmemh_malloc(job, 8, NULL), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_allgather(job, "x", NULL, 1), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(job), "allgather: dst is NULL"));
	assert_null(strstr(shmemh_error_text(job), "split"));
	assert_int_equal(shmemh_allgather(job, NULL, buffer, 1), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(job), "allgather: src is NULL"));
	assert_int_equal(shmemh_heap_info(job, NULL), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(job), "heap_info: info, which receives"));
	assert_int_equal(shmemh_error_get(job, NULL), 0);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
	assert_int_equal(shmemh_get_uniqueid(1, NULL), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_uniqueid_from_text(NULL, &id), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(NULL), "uniqueid_from_text: text=NULL"));
	buffer[0] = 'x';
	shmemh_uniqueid_to_text(NULL, buffer);
	assert_string_equal(buffer, "");
	shmemh_uniqueid_to_text(&id, NULL);
	assert_string_equal(shmemh_error_format(&err, NULL, 8), "");
	assert_string_equal(shmemh_error_format(NULL, buffer, sizeof buffer),
			    "error_format: err is NULL");
}

/* The line is that of the last call that failed, also after later successful calls. */
static void line_of_the_last_failure(void **state)
{
	shmemh_heap_info_t info = {.size = 1};
	shmemh_t *job;
	void *p;

	(void)state;
	assert_int_equal(shmemh_init(NULL, &job), SHMEMH_OK);
	assert_string_equal(shmemh_error_text(job), "");
	assert_int_equal(shmemh_malloc(job, SIZE_MAX / 2, &p), SHMEMH_ERR_NO_MEMORY);
	assert_non_null(strstr(shmemh_error_text(job), "heap exhausted"));
	/* Also memory that the heap has not grown to is free. */
	assert_null(strstr(shmemh_error_text(job), "at most 0 of them"));
	assert_non_null(strstr(shmemh_error_text(job), "of them in one block"));
	assert_int_equal(shmemh_heap_info(job, &info), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemh_error_text(job), "heap_info: info->size is 1"));
	info.size = sizeof info;
	assert_int_equal(shmemh_malloc(job, SIZE_MAX / 2, &p), SHMEMH_ERR_NO_MEMORY);
	assert_int_equal(shmemh_heap_info(job, &info), SHMEMH_OK);
	assert_int_equal(shmemh_barrier(job), SHMEMH_OK);
	assert_non_null(strstr(shmemh_error_text(job), "heap exhausted"));
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
}

/* A job of one PE with a hub, so that there is a connection to lose. */
static shmemh_t *job_with_hub(void)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_uniqueid_t id;
	shmemh_t *job;

	assert_int_equal(shmemh_get_uniqueid(1, &id), SHMEMH_OK);
	attr.uniqueid = &id;
	attr.n_pes = 1;
	assert_int_equal(shmemh_init(&attr, &job), SHMEMH_OK);
	return job;
}

/* Result of the child: 0, or the number of the failed check, from 1. */
static int in_child(shmemh_t *job)
{
	shmemh_t *own;
	int accepted = first_accepted(job, "forked child");

	if (accepted != N_CALLS)
		return 1 + accepted;
	if (shmemh_finalize(job) != SHMEMH_OK)
		return 100;
	if (shmemh_init(NULL, &own) != SHMEMH_OK || shmemh_barrier(own) != SHMEMH_OK ||
	    shmemh_finalize(own) != SHMEMH_OK)
		return 101;
	return 0;
}

static void forked_child(void **state)
{
	int ended;
	shmemh_t *job = job_with_hub();
	void *p;
	pid_t pid;

	(void)state;
	assert_int_equal(shmemh_malloc(job, 64, &p), SHMEMH_OK);
	pid = fork();
	if (pid == 0) {
		alarm(30);
		_exit(in_child(job));
	}
	assert_int_equal(waitpid(pid, &ended, 0), pid);
	assert_int_equal(ended, 0);
	assert_int_equal(shmemh_barrier(job), SHMEMH_OK);
	assert_int_equal(shmemh_free(job, p), SHMEMH_OK);
	assert_int_equal(shmemh_finalize(job), SHMEMH_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_job),
		cmocka_unit_test(finalized_job),
		cmocka_unit_test(forgotten_finalize),
		cmocka_unit_test(null_results),
		cmocka_unit_test(line_of_the_last_failure),
		cmocka_unit_test(forked_child),
	};

	/* This program starts its PEs itself, whatever started the program. */
	unsetenv("SHMEMH_UNIQUEID");
	unsetenv("PMIX_RANK");
	setenv("SHMEMH_IFNAME", "lo", 1);
	setenv("SHMEMH_DEBUG", "off", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
