/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Makes one call of the runtime to the C library, or to the library of the NIC, fail or end the
 * process. The linker puts the functions of inject.c in place of those calls (--wrap), so the
 * runtime under test is the one that is shipped. */
#ifndef TESTS_FAILURES_INJECT_H
#define TESTS_FAILURES_INJECT_H

#define INJECT_CALLS_MAX 4096

enum inject_action {
	INJECT_NOTHING, /* count and trace only */
	INJECT_ERROR,   /* the call fails, as it does when the system has no more of something */
	INJECT_DEATH,   /* SIGKILL before the call */
};

/* The calls of one thread between begin and end, in order. */
typedef struct inject_trace {
	int n;
	unsigned char call[INJECT_CALLS_MAX]; /* its name: inject_name */
	signed char phase[INJECT_CALLS_MAX];  /* phase of shmemh_init; -1: before there is a job */
} inject_trace_t;

/* From here on trace the calling thread's calls, and do action at number `at`, counted from 1.
 * trace outlives the process if it is in shared memory. */
void inject_begin(enum inject_action action, int at, inject_trace_t *trace);
void inject_end(void);

const char *inject_name(int call);

/* Blocks of memory that the runtime has allocated and not freed, in all threads. */
long inject_n_blocks(void);

/* The calling thread's next job claims to run another version of the runtime. */
void inject_version(int is_other);

#endif
