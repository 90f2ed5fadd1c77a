/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "mem/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_NBYTES 6 /* the XXXXXX of mkdtemp */
#define N_TRIES 100

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Is the directory that fd is open on still the one at path? */
static bool is_there(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Lock the new directory. Returns its descriptor; -1: a sweep locked it between mkdtemp and
 * here, and removes it or has removed it; -2: errno. */
static int lock_new(const char *dir)
{
	int fd = open_dir(dir);

	if (fd < 0)
		return errno == ENOENT ? -1 : -2;
	/* Any other error means that a sweep cannot lock it either. */
	if (!(flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) && is_there(fd, dir))
		return fd;
	close(fd);
	return -1;
}

int shmemhi_tmpdir_make(char *dir)
{
	char *random = dir + strlen(dir) - RANDOM_NBYTES;

	for (int i = 0; i < N_TRIES; i++) {
		int fd;

		memset(random, 'X', RANDOM_NBYTES);
		if (!mkdtemp(dir)) /* mode 0700 */
			return -1;
		fd = lock_new(dir);
		if (fd >= 0)
			return fd;
		if (fd == -2) {
			int error = errno;

			rmdir(dir);
			errno = error;
			return -1;
		}
	}
	errno = EAGAIN;
	return -1;
}

static bool is_name(const char *name)
{
	size_t n = strlen(SHMEMHI_TMPDIR_PREFIX);

	return strlen(name) == n + RANDOM_NBYTES && strncmp(name, SHMEMHI_TMPDIR_PREFIX, n) == 0;
}

static void sweep_one(const char *path)
{
	struct stat st;
	int fd = open_dir(path);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		unlinkat(fd, SHMEMHI_TMPDIR_SOCKET, 0);
		rmdir(path); /* stays if there is anything else in it */
	}
	close(fd);
}

void shmemhi_tmpdir_sweep(const char *parent)
{
	DIR *d = opendir(parent);
	const struct dirent *e;
	char path[512];

	while (d && (e = readdir(d)) != NULL) {
		int n = snprintf(path, sizeof path, "%s/%s", parent, e->d_name);

		if (is_name(e->d_name) && n > 0 && (size_t)n < sizeof path)
			sweep_one(path);
	}
	if (d)
		closedir(d);
}
