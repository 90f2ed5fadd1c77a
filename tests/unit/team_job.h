/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A job of 4 PEs that are threads of this process, for tests of teams. cmocka's assertions work
 * only on the main thread: a PE returns the line of its first failed check. */
#ifndef TESTS_UNIT_TEAM_JOB_H
#define TESTS_UNIT_TEAM_JOB_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "job/job.h"

#define N_PES 4

typedef int (*pe_body_t)(shmemh_t *job, int pe);

typedef struct team_pe {
	pthread_t thread;
	shmemh_attr_t attr;
	pe_body_t body;
	int wrong; /* line of the failed check; 0: none */
} team_pe_t;

#define WANT(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "line %d, PE %d: failed: %s [%s]\n", __LINE__,             \
				job ? job->pe : -1, #cond, shmemh_error_text(job));                \
			return __LINE__;                                                           \
		}                                                                                  \
	} while (0)

/* The call returns that status, with that text in its line. */
#define WANT_LINE(call, want, text)                                                                \
	do {                                                                                       \
		WANT((call) == (want));                                                            \
		WANT(strstr(shmemh_error_text(job), text) != NULL);                                \
	} while (0)

static inline void *team_pe_main(void *arg)
{
	team_pe_t *p = arg;
	shmemh_t *job;

	p->wrong = shmemh_init(&p->attr, &job) != SHMEMH_OK ? __LINE__ : p->body(job, p->attr.pe);
	return NULL;
}

/* Run body on each PE; it finalizes the job. timeout: SHMEMH_BOOT_TIMEOUT. */
static inline void run_pes(pe_body_t body, const char *timeout)
{
	static team_pe_t pes[N_PES];
	shmemh_uniqueid_t id;

	setenv("SHMEMH_IFNAME", "lo", 1);
	setenv("SHMEMH_BOOT_TIMEOUT", timeout, 1);
	setenv("SHMEMH_DEBUG", "off", 1);
	setenv("SHMEMH_HEAP", "host", 1);
	setenv("SHMEMH_IB", "off", 1);
	assert_int_equal(shmemh_get_uniqueid(N_PES, &id), SHMEMH_OK);
	for (int pe = 0; pe < N_PES; pe++) {
		pes[pe] = (team_pe_t){.attr = SHMEMH_ATTR_INIT, .body = body};
		pes[pe].attr.uniqueid = &id;
		pes[pe].attr.pe = pe;
		pes[pe].attr.n_pes = N_PES;
		assert_int_equal(pthread_create(&pes[pe].thread, NULL, team_pe_main, &pes[pe]), 0);
	}
	for (int pe = 0; pe < N_PES; pe++)
		pthread_join(pes[pe].thread, NULL);
	for (int pe = 0; pe < N_PES; pe++)
		assert_int_equal(pes[pe].wrong, 0);
}

#endif
