/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* For the kernels of this folder: mistakes that an argument of the program turns on, and what they
 * share on the host. */
#ifndef TESTS_USERS_USER_H
#define TESTS_USERS_USER_H

#include <stdio.h>
#include <stdlib.h>
#include "run.h"

#define MAX_PES 8
#define WRONG 99 /* a status of these programs: a value that is not there */

/* What follows is a mistake, and done only if the program was started with its number. Functions
 * that use it have the parameters as p. */
#define MISTAKE(n) if (p->mistake == (n))

static inline int mistake_of(int argc, char **argv)
{
	return argc > 1 ? atoi(argv[1]) : 0;
}

/* Keep the first status that is not 0. */
SHMEMD_FN void keep(int *status, int now)
{
	if (now != SHMEMD_OK)
		shmemd_arch_atom_cas_u32(status, 0, (uint32_t)now);
}

/* Wait for the kernel. Returns 0, or 1 after printing what failed on the device. */
static inline int finish(shmemh_t *job, const int *dev_status)
{
	shmemd_error_t err;
	char text[512];
	int status = 0;

	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, run_copy(&status, dev_status, sizeof(status)));
	if (shmemh_error_get(job, &err) != SHMEMD_OK)
		fprintf(stderr, "PE %d: %s\n", shmemh_my_pe(job),
			shmemh_error_format(&err, text, sizeof(text)));
	if (status == WRONG)
		fprintf(stderr, "PE %d: wrong result: a value is not there\n", shmemh_my_pe(job));
	else
		RUN_TRY(job, status);
	return status != 0;
}

/* The program's own check of its result. Returns 1 after a line. */
static inline int wrong(const shmemh_t *job, const char *what, int i, uint64_t got, uint64_t want)
{
	fprintf(stderr, "PE %d: wrong result: %s %d is %llu, not %llu\n", shmemh_my_pe(job), what,
		i, (unsigned long long)got, (unsigned long long)want);
	return 1;
}

#endif
