// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// A whole program in plain CUDA, with nothing of examples/common: each PE puts one word to the next
// PE, and prints the one that it got. For GPUs only; the other examples run on the CPU as well.
// snippet: program
#include <stdio.h>

#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>

#define LIMIT_NS 10000000000ull

static __global__ void hello(const __grid_constant__ shmemd_ctx_t ctx, uint64_t *inbox, int *status)
{
	int me = shmemd_my_pe(&ctx);

	shmemd_p_u64(&ctx, inbox, 100 + me, (me + 1) % shmemd_n_pes(&ctx));
	*status = shmemd_barrier_for(&ctx, LIMIT_NS); // the word of every PE has arrived
}

static int failed(cudaError_t error)
{
	if (error != cudaSuccess)
		fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
	return error != cudaSuccess;
}

// A call of the library that fails has printed a line to stderr.
static int run(shmemh_t *job)
{
	uint64_t *inbox, word;
	int *status, ended;
	shmemd_ctx_t ctx;

	if (shmemh_calloc(job, 1, sizeof(*inbox), (void **)&inbox) != SHMEMH_OK ||
	    shmemh_calloc(job, 1, sizeof(*status), (void **)&status) != SHMEMH_OK ||
	    shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &ctx) != SHMEMH_OK)
		return 1;
	hello<<<1, 1>>>(ctx, inbox, status);
	if (failed(cudaGetLastError()) ||
	    failed(cudaMemcpy(&ended, status, sizeof(ended), cudaMemcpyDefault)) ||
	    failed(cudaMemcpy(&word, inbox, sizeof(word), cudaMemcpyDefault)))
		return 1;
	printf("PE %d of %d: status %d, got %d\n", shmemh_my_pe(job), shmemh_n_pes(job), ended,
	       (int)word);
	return ended != SHMEMD_OK;
}

int main(void)
{
	int n_gpus, has_failed;
	shmemh_t *job;

	if (failed(cudaGetDeviceCount(&n_gpus)) ||
	    failed(cudaSetDevice(shmemh_local_pe() % n_gpus)) ||
	    failed(cudaFree(NULL))) // before CUDA 12.0 only this creates the GPU's context
		return 1;
	if (shmemh_init(NULL, &job) != SHMEMH_OK)
		return 1;
	has_failed = run(job);
	return shmemh_finalize(job) != SHMEMH_OK || has_failed;
}
// end
