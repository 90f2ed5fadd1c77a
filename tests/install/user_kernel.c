/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A user's kernel with CUDA's names and without shmem_dev: the sum of an array by warp shuffles, on
 * random schedules. With the argument "broken" the upper half of a warp waits at the wrong barrier:
 * the emulator must end that run with a report. */
#define SHMEMSIM_CUDA_DIALECT
#include <shmem_sim.h>
#include <stdio.h>
#include <string.h>

#define N_THREADS 128

typedef struct params {
	const uint32_t *in; /* [N_THREADS] */
	uint32_t *partial;  /* [N_THREADS / 32] */
	uint32_t *out;
	int is_broken;
} params_t;

static void block_sum(const void *params)
{
	const params_t *p = params;
	uint32_t sum = p->in[threadIdx.x], i;

	for (i = 16; i > 0; i /= 2)
		sum += __shfl_xor_sync(0xffffffffu, sum, (int)i);
	if (threadIdx.x % 32 == 0)
		p->partial[threadIdx.x / 32] = sum;
	if (p->is_broken && threadIdx.x % 32 >= 16)
		__syncwarp(0xffffffffu);
	__syncthreads();
	if (threadIdx.x == 0)
		for (i = 0; i < blockDim.x / 32; i++)
			*p->out += p->partial[i];
}

static int pe_main(int pe, int n_pes, void *arg)
{
	const uint32_t grid_dim[3] = {1, 1, 1}, block_dim[3] = {N_THREADS, 1, 1};
	uint32_t in[N_THREADS], partial[N_THREADS / 32], out = 0, want = 0, i;
	params_t p = {in, partial, &out, *(int *)arg};

	(void)pe, (void)n_pes;
	for (i = 0; i < N_THREADS; i++)
		want += in[i] = i * i;
	if (shmemsim_launch_3d(block_sum, &p, sizeof(p), grid_dim, block_dim, 0, NULL) != 0)
		return 1;
	if (shmemsim_sync(NULL) != 0)
		return 1;
	if (out != want)
		fprintf(stderr, "sum is %u, not %u\n", out, want);
	return out != want;
}

int main(int argc, char **argv)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	int is_broken = argc > 1 && strcmp(argv[1], "broken") == 0;

	cfg.policy = SHMEMSIM_RANDOM;
	for (cfg.seed = 1; cfg.seed <= 20; cfg.seed++)
		if (shmemsim_run(&cfg, 1, pe_main, &is_broken) != 0) {
			fprintf(stderr, "%s\n", shmemsim_report());
			return 1;
		}
	return 0;
}
