/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The log is written to stderr: tests of threads that write to it redirect it to a file and read it
 * there. */
#ifndef TESTS_UNIT_STDERR_LOG_H
#define TESTS_UNIT_STDERR_LOG_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/clock.h"

#define LOG_DEADLINE_NS (20 * SHMEMHI_SECOND)

static int log_fd = -1, log_stderr = -1;

static inline void log_begin(void)
{
	fflush(stderr);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	log_stderr = dup(STDERR_FILENO);
	dup2(log_fd, STDERR_FILENO);
}

/* All lines since log_begin. */
static inline const char *log_text(void)
{
	static char text[1 << 16];
	ssize_t n = pread(log_fd, text, sizeof text - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Restore stderr and copy the log to it, for the report of a failure. */
static inline void log_end(void)
{
	const char *text = log_text();

	dup2(log_stderr, STDERR_FILENO);
	close(log_stderr);
	close(log_fd);
	fputs(text, stderr);
}

/* Wait for a line with these words; returns 0 if it did not appear. */
static inline int log_has(const char *words)
{
	uint64_t deadline = shmemhi_now() + LOG_DEADLINE_NS;

	while (!strstr(log_text(), words)) {
		if (shmemhi_now() > deadline)
			return 0;
		usleep(100);
	}
	return 1;
}

/* Number of lines with these words. */
static inline int log_count(const char *words)
{
	int n = 0;

	for (const char *at = log_text(); (at = strstr(at, words)); at++)
		n++;
	return n;
}

#endif
