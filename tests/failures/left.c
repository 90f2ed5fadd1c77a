/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "left.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "inject.h"

#define N_LOOKS 200      /* with 10 ms between them */
#define KEPT_KIB (32768) /* stacks of ended threads that the C library keeps */

static int count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void look_at_maps(left_t *now)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof line, f)) {
		unsigned long begin, end;
		char path[256] = "";

		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %255s", &begin, &end, path) < 2)
			continue;
		if (path[0] == '/' && !strstr(path, ".so"))
			now->n_files_mapped++;
		else if (path[0] == '\0')
			now->anonymous_kib += (long)((end - begin) / 1024);
	}
	if (f)
		fclose(f);
}

void left_look(left_t *now)
{
	const char *tmp = getenv("TMPDIR");

	memset(now, 0, sizeof *now);
	now->n_blocks = inject_n_blocks();
	now->n_fds = count_entries("/proc/self/fd");
	now->n_threads = count_entries("/proc/self/task");
	now->n_files = tmp ? count_entries(tmp) : 0;
	look_at_maps(now);
}

static size_t add(char *text, size_t used, size_t nbytes, long more, const char *what)
{
	if (more <= 0 || used >= nbytes)
		return used;
	return used + (size_t)snprintf(text + used, nbytes - used, "%s%ld %s", used ? ", " : "",
				       more, what);
}

void left_since(const left_t *before, int with_blocks, char *text, size_t nbytes)
{
	for (int i = 0; i < N_LOOKS; i++) {
		size_t used = 0;
		left_t now;

		text[0] = '\0';
		left_look(&now);
		used = add(text, used, nbytes, now.n_fds - before->n_fds, "descriptors");
		used = add(text, used, nbytes, now.n_threads - before->n_threads, "threads");
		used = add(text, used, nbytes, now.n_files_mapped - before->n_files_mapped,
			   "mapped files");
		used = add(text, used, nbytes, now.anonymous_kib - before->anonymous_kib - KEPT_KIB,
			   "KiB mapped");
		used = add(text, used, nbytes, now.n_files - before->n_files, "files in TMPDIR");
		if (with_blocks)
			used = add(text, used, nbytes, now.n_blocks - before->n_blocks,
				   "blocks of memory");
		if (used == 0)
			return;
		usleep(10000);
	}
}
