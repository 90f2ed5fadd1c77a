// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
#include <stdio.h>
#include <shmem_host/shmem_host.h>
#include "lib.h"

static int failed(const shmemh_t *job, const char *call)
{
	fprintf(stderr, "bench: %s: %s\n", call, shmemh_error_text(job));
	return 1;
}

int bench_lib_open(bench_lib_t *lib, int pe, int n_pes)
{
	shmemh_t *job = NULL;

	snprintf(lib->name, sizeof(lib->name), "shmem_dev %d.%d.%d", SHMEMH_VERSION_MAJOR,
		 SHMEMH_VERSION_MINOR, SHMEMH_VERSION_PATCH);
	if (shmemh_init(NULL, &job) != SHMEMH_OK)
		return failed(NULL, "shmemh_init");
	lib->own = job;
	if (shmemh_my_pe(job) != pe || shmemh_n_pes(job) != n_pes) {
		fprintf(stderr, "bench: joined as PE %d of %d, expected %d of %d\n",
			shmemh_my_pe(job), shmemh_n_pes(job), pe, n_pes);
		return 1;
	}
	if (shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &lib->ctx) != SHMEMH_OK)
		return failed(job, "shmemh_ctx_get");
	return 0;
}

int bench_lib_malloc(bench_lib_t *lib, size_t nbytes, void **ptr)
{
	shmemh_t *job = (shmemh_t *)lib->own;

	return shmemh_malloc(job, nbytes, ptr) == SHMEMH_OK ? 0 : failed(job, "shmemh_malloc");
}

void bench_lib_close(bench_lib_t *lib)
{
	shmemh_finalize((shmemh_t *)lib->own);
}
