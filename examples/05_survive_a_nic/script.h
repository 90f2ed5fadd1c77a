/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Control lines of the software adapter that a PE executes while its kernel runs. A script has a
 * line for each:
 *
 *     STEP PE LINE        when PE has finished that step: as  20 1 port down mlx5_1
 *
 * In lines of one PE the steps do not go down. '#' begins a comment. */
#ifndef EXAMPLES_SCRIPT_H
#define EXAMPLES_SCRIPT_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCRIPT_LINES 16 /* of one PE */

typedef struct script_line {
	uint64_t step, at_ns; /* at_ns: when it was executed; 0: it was not */
	char text[64];
} script_line_t;

typedef struct script {
	script_line_t lines[SCRIPT_LINES];
	int n_lines, failed, is_ending;
	const volatile uint64_t *progress; /* steps that block 0 of the kernel has finished */
	pthread_t thread;
} script_t;

static uint64_t script_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Keep a line if it is this PE's. Returns 0, or 1 if it is malformed or out of order. */
static int script_take(script_t *script, int pe, char *text)
{
	script_line_t *line = &script->lines[script->n_lines];
	unsigned long long step;
	int line_pe, at = 0;

	text[strcspn(text, "#\n")] = '\0';
	if (text[strspn(text, " \t")] == '\0')
		return 0;
	if (sscanf(text, "%llu %d %n", &step, &line_pe, &at) != 2 || at == 0 || text[at] == '\0' ||
	    strlen(text + at) >= sizeof(line->text))
		return 1;
	if (line_pe != pe)
		return 0;
	if (script->n_lines == SCRIPT_LINES ||
	    (script->n_lines > 0 && line[-1].step > (uint64_t)step))
		return 1;
	line->step = step;
	strcpy(line->text, text + at);
	script->n_lines++;
	return 0;
}

/* Read this PE's lines. Returns 0, or 1 after one line on stderr. */
static int script_read(script_t *script, const char *path, int pe)
{
	FILE *f = fopen(path, "r");
	char text[256];
	int n = 0, failed = 0;

	if (f == NULL) {
		perror(path);
		return 1;
	}
	while (!failed && fgets(text, sizeof(text), f) != NULL) {
		n++;
		failed = script_take(script, pe, text);
	}
	fclose(f);
	if (failed)
		fprintf(stderr,
			"%s:%d: expected STEP PE LINE, at most %d lines of a PE, in the order of "
			"steps\n",
			path, n, SCRIPT_LINES);
	return failed;
}

/* The adapter is the library that the runtime has loaded. */
static int script_execute(script_line_t *line)
{
	int (*control)(const char *text, char *answer, size_t nbytes) = NULL;
	const char *path = getenv("SHMEMH_IB_LIBRARY");
	void *library = path == NULL ? NULL : dlopen(path, RTLD_LAZY);
	void *symbol = library == NULL ? NULL : dlsym(library, "mlx5sw_control");
	char answer[256] = "SHMEMH_IB_LIBRARY is not the software adapter";
	int failed;

	memcpy(&control, &symbol, sizeof(control));
	line->at_ns = script_now();
	failed = control == NULL || control(line->text, answer, sizeof(answer)) != 0;
	if (failed)
		fprintf(stderr, "script: step %llu: %s: %s\n", (unsigned long long)line->step,
			line->text, answer);
	if (library != NULL)
		dlclose(library);
	return failed;
}

static void *script_main(void *arg)
{
	struct timespec pause = {0, 200000};
	script_t *script = (script_t *)arg;
	int i;

	for (i = 0; i < script->n_lines; i++) {
		while (*script->progress < script->lines[i].step) {
			if (*(volatile int *)&script->is_ending)
				return NULL;
			nanosleep(&pause, NULL);
		}
		script->failed |= script_execute(&script->lines[i]);
	}
	return NULL;
}

/* Execute the lines in a thread, each when the word has reached its step. */
static int script_start(script_t *script, const volatile uint64_t *progress)
{
	script->progress = progress;
	return script->n_lines > 0 &&
	       pthread_create(&script->thread, NULL, script_main, script) != 0;
}

/* Lines whose step was not reached are not executed. Returns 0, or 1 if the adapter has refused
 * one. */
static int script_stop(script_t *script)
{
	*(volatile int *)&script->is_ending = 1;
	if (script->n_lines > 0)
		pthread_join(script->thread, NULL);
	return script->failed;
}

#endif
