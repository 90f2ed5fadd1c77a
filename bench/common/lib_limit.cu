// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Bare kernels (api_limit.h): the host runtime of shmem_dev maps the memory, and does no more.
#include <stdio.h>
#include <shmem_host/shmem_host.h>
#include "lib.h"

static int failed(const shmemh_t *job, const char *call)
{
	fprintf(stderr, "bench: %s: %s\n", call, shmemh_error_text(job));
	return 1;
}

/* All heaps must be mapped and equally far apart: the kernels have no other way to a PE. */
static int find_stride(shmemh_t *job, bench_ctx_t *ctx)
{
	const char *own = (const char *)ctx->sync;

	for (int pe = 0; pe < ctx->n_pes; pe++) {
		const char *at = (const char *)shmemh_ptr(job, ctx->sync, pe);

		if (at == NULL) {
			fprintf(stderr, "bench: PE %d is not mapped on PE %d\n", pe, ctx->my_pe);
			return 1;
		}
		if (pe != ctx->my_pe && ctx->stride == 0)
			ctx->stride = (at - own) / (pe - ctx->my_pe);
		if (at - own != (pe - ctx->my_pe) * ctx->stride) {
			fprintf(stderr,
				"bench: the heaps of PEs %d and %d are not at a multiple "
				"of %lld bytes\n",
				ctx->my_pe, pe, (long long)ctx->stride);
			return 1;
		}
	}
	return 0;
}

int bench_lib_open(bench_lib_t *lib, int pe, int n_pes)
{
	shmemh_t *job = NULL;
	shmemd_ctx_t world;

	snprintf(lib->name, sizeof(lib->name), "bare kernels");
	if (shmemh_init(NULL, &job) != SHMEMH_OK)
		return failed(NULL, "shmemh_init");
	lib->own = job;
	lib->ctx = bench_ctx_t{pe, n_pes, 0, NULL};
	if (shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &world) != SHMEMH_OK)
		return failed(job, "shmemh_ctx_get");
	/* The memory of the library's own syncs: in one run a bare sync by a thread took 1.34 to
	 * 1.51 us, depending on the address of its words alone (H200). The number is the same word.
	 * The flags follow it at once, 56 bytes before those of the library: there the bare kernels
	 * were faster by up to 5 %, and the library was as fast as where it has its own. */
	lib->ctx.sync = world.sync;
	return find_stride(job, &lib->ctx);
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
