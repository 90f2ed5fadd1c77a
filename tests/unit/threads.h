/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Threads of this process. */
#ifndef TESTS_UNIT_THREADS_H
#define TESTS_UNIT_THREADS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline int is_called(const char *task, const char *name)
{
	char path[320], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%s/comm", task);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(comm, sizeof comm, f))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(f);
	return strcmp(comm, name) == 0;
}

/* Number of threads with this name. A joined thread may still be counted for a moment. */
static inline int n_threads(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	int n = 0;

	while (tasks && (task = readdir(tasks)))
		n += is_called(task->d_name, name);
	if (tasks)
		closedir(tasks);
	return n;
}

static inline void wait_for_no_thread(const char *name)
{
	while (n_threads(name))
		usleep(100);
}

#endif
