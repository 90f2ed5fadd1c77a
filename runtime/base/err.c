/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int shmemhi_fail(shmemhi_err_t *err, int status, const char *fmt, ...)
{
	va_list args;

	if (err->text[0] != '\0')
		return status;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return status;
}

shmemhi_err_t *shmemhi_thread_err(void)
{
	static _Thread_local shmemhi_err_t err;
	return &err;
}

/* PEs of the emulator are fibers of one thread and share its line. Thread sanitizer takes each
 * fiber for a thread of its own and would report unordered writes here. They are no race: the
 * line of the last failure stays. Copy by bytes, since the sanitizer intercepts memcpy. */
__attribute__((no_sanitize("thread"))) void shmemhi_keep_thread_err(const shmemhi_err_t *err)
{
	volatile char *to = shmemhi_thread_err()->text;
	const volatile char *from = err->text;

	for (size_t i = 0; i < sizeof err->text; i++)
		to[i] = from[i];
}

int shmemhi_fail_thread(int status, const char *fmt, ...)
{
	shmemhi_err_t err;
	va_list args;

	va_start(args, fmt);
	vsnprintf(err.text, sizeof err.text, fmt, args);
	va_end(args);
	shmemhi_keep_thread_err(&err);
	return status;
}

/* Prefix of a log line; returns its length. */
static size_t log_prefix(const shmemhi_log_t *log, int level, char *line, size_t nbytes)
{
	static const char *const names[] = {"OFF", "ERROR", "WARN", "INFO"};
	char host[64];
	char who[40] = "";
	int n;

	if (gethostname(host, sizeof(host)) != 0)
		snprintf(host, sizeof(host), "?");
	host[sizeof(host) - 1] = '\0';
	if (log->pe >= 0)
		snprintf(who, sizeof(who), "PE %d/%d ", log->pe, log->n_pes);
	n = snprintf(line, nbytes, "shmem_host %s%s:%ld %s ", who, host, (long)getpid(),
		     names[level]);
	return n < 0 ? 0 : (size_t)n;
}

void shmemhi_log(const shmemhi_log_t *log, int level, const char *fmt, ...)
{
	char line[1024];
	size_t used;
	size_t i;
	int n;
	int saved_errno = errno;
	va_list args;

	if (level <= SHMEMHI_OFF || level > SHMEMHI_INFO || level > log->level)
		return;
	used = log_prefix(log, level, line, sizeof(line));
	va_start(args, fmt);
	n = vsnprintf(line + used, sizeof(line) - used, fmt, args);
	va_end(args);
	if (n > 0)
		used += (size_t)n;
	if (used > sizeof(line) - 2)
		used = sizeof(line) - 2;
	for (i = 0; i < used; i++) /* text from outside must not forge further lines */
		if ((unsigned char)line[i] < ' ')
			line[i] = ' ';
	line[used++] = '\n';
	/* One write, so that lines of several processes do not mix; nothing to do if it fails. */
	while (write(STDERR_FILENO, line, used) < 0 && errno == EINTR)
		continue;
	errno = saved_errno;
}
