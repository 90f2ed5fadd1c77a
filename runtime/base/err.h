/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The line of text that describes a failure, and the log. */
#ifndef SHMEMHI_BASE_ERR_H
#define SHMEMHI_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>
#include <shmem_host/status.h>

#define SHMEMHI_ERR_NBYTES 512

typedef struct shmemhi_err {
	char text[SHMEMHI_ERR_NBYTES];
} shmemhi_err_t;

/* Write the line (what failed, where, which value, what to do) and return status, so that a
 * failing function ends in `return shmemhi_fail(err, SHMEMH_ERR_..., "...")`. A line that is
 * already there stays: the first one names the cause. */
int shmemhi_fail(shmemhi_err_t *err, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The calling thread's line, for calls that have no job to hold it (shmemh_init,
 * shmemh_get_uniqueid, any call with a refused job). */
shmemhi_err_t *shmemhi_thread_err(void);

/* Replace the calling thread's line and return status. */
int shmemhi_fail_thread(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copy err's line to the calling thread's. */
void shmemhi_keep_thread_err(const shmemhi_err_t *err);

/* Levels of SHMEMH_DEBUG. */
enum shmemhi_level { SHMEMHI_OFF, SHMEMHI_ERROR, SHMEMHI_WARN, SHMEMHI_INFO };

typedef struct shmemhi_log {
	int level; /* print this level and the ones before it */
	int pe;    /* -1 while unknown */
	int n_pes;
} shmemhi_log_t;

/* Write one line to stderr in one write: "shmem_host PE 3/8 host:pid WARN text". Callable from
 * any thread; keeps errno. */
void shmemhi_log(const shmemhi_log_t *log, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
