/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <shmem_host/shmem_host.h>
#include "copies.h"

typedef struct child {
	pid_t pid; /* 0: ended */
	FILE *err;
} child_t;

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

/* Start PE pe. Its stderr is a file, so that it never waits for a reader. */
static int start(child_t *child, const char *role, int pe)
{
	char exe[] = "/proc/self/exe", role_arg[64];
	char *argv[] = {exe, role_arg, NULL};
	posix_spawn_file_actions_t actions;
	int error;

	snprintf(role_arg, sizeof(role_arg), "%s", role);
	set_number("SHMEMH_PE", pe);
	set_number("SHMEMH_LOCAL_PE", pe);
	child->err = tmpfile();
	if (child->err == NULL) {
		fprintf(stderr, "cannot start PE %d: tmpfile: %s\n", pe, strerror(errno));
		return 1;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(child->err), STDERR_FILENO);
	error = posix_spawn(&child->pid, exe, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error == 0)
		return 0;
	fprintf(stderr, "cannot start PE %d: %s\n", pe, strerror(error));
	child->pid = 0;
	return 1;
}

/* Record how a child ended. */
static void reap(child_t *child, int wait_status, copy_end_t *end)
{
	size_t n;

	end->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
	end->status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
	child->pid = 0;
	rewind(child->err);
	n = fread(end->text, 1, sizeof(end->text) - 1, child->err);
	end->text[n] = '\0';
	fclose(child->err);
}

static void wait_all(child_t *children, int n, int seconds, copy_end_t *ends)
{
	struct timespec pause = {0, 10000000};
	int turns = seconds * 100, alive = n, i, wait_status;

	while (alive > 0) {
		for (alive = 0, i = 0; i < n; i++) {
			if (children[i].pid == 0)
				continue;
			if (waitpid(children[i].pid, &wait_status, WNOHANG) == children[i].pid) {
				reap(&children[i], wait_status, &ends[i]);
				continue;
			}
			alive++;
			if (turns == 0) {
				ends[i].is_late = 1;
				kill(children[i].pid, SIGKILL);
			}
		}
		turns -= turns > 0;
		nanosleep(&pause, NULL);
	}
}

int copies_run(const char *role, int n_pes, int n_started, int seconds, copy_end_t *ends)
{
	char text[SHMEMH_UNIQUEID_TEXT_NBYTES];
	child_t children[COPIES_MAX] = {{0, NULL}};
	shmemh_uniqueid_t id;
	int failed = 0, i;

	memset(ends, 0, (size_t)n_started * sizeof(*ends));
	if (shmemh_get_uniqueid(n_pes, &id) != SHMEMH_OK) {
		fprintf(stderr, "%s\n", shmemh_error_text(NULL));
		return 1;
	}
	shmemh_uniqueid_to_text(&id, text);
	setenv("SHMEMH_UNIQUEID", text, 1);
	set_number("SHMEMH_NPES", n_pes);
	fflush(NULL);
	for (i = 0; i < n_started && !failed; i++)
		failed = start(&children[i], role, i);
	wait_all(children, n_started, failed ? 0 : seconds, ends);
	unsetenv("SHMEMH_UNIQUEID");
	unsetenv("SHMEMH_NPES");
	unsetenv("SHMEMH_PE");
	return failed;
}

void copies_print(const copy_end_t *ends, int n_started)
{
	int i;

	for (i = 0; i < n_started; i++)
		fprintf(stderr, "PE %d: signal %d, exit status %d%s\n%s", i, ends[i].signal,
			ends[i].status, ends[i].is_late ? ", too late" : "", ends[i].text);
}
