/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CUDA dialect in C: a user's kernel, and every name that the warp tests do not cover. */
#define SHMEMSIM_CUDA_DIALECT
#include "sim_test.h"

#define N 1000

typedef struct sum_params {
	const float *in; /* [N] */
	float *out;      /* one word */
} sum_params_t;

/* The usual block reduction: shuffles, then one value per warp through shared memory. */
__global__ static void sum_kernel(const void *params)
{
	const sum_params_t *p = params;
	SHMEMSIM_SHARED(float, 32, warp_sums);
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
	float v = i < N ? p->in[i] : 0;
	for (int d = 16; d > 0; d /= 2)
		v += __shfl_down_sync(0xffffffffu, v, d);
	if (lane == 0)
		warp_sums[warp] = v;
	__syncthreads();
	if (warp > 0)
		return;
	v = lane < blockDim.x / warpSize ? warp_sums[lane] : 0;
	for (int d = 16; d > 0; d /= 2)
		v += __shfl_down_sync(0xffffffffu, v, d);
	if (lane == 0)
		atomicAdd(p->out, v);
}

static void test_reduction(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	static float in[N];
	float out;
	sum_params_t p = {in, &out};
	(void)state;
	for (int i = 0; i < N; i++)
		in[i] = (float)(i % 7);
	cfg.policy = SHMEMSIM_RANDOM;
	for (cfg.seed = 0; cfg.seed < 10; cfg.seed++) {
		out = 0;
		assert_good(run_kernel(&cfg, sum_kernel, &p, sizeof(p), 4, 256));
		assert_true(out == 2997.0f);
	}
}

static int ints;
static unsigned uints;
static unsigned long long u64s;
static double doubles;

__global__ static void atomics(const void *params)
{
	int n = (int)blockDim.x, tid = (int)threadIdx.x;
	(void)params;
	atomicAdd(&ints, 1);
	atomicSub(&ints, 2);
	atomicOr(&uints, 1u << tid);
	atomicAdd(&doubles, 0.5);
	atomicMax(&u64s, (unsigned long long)tid << 32);
	__syncthreads();
	CHECK(ints == -n && uints == 0xffffffffu && doubles == 0.5 * n);
	CHECK(u64s == (unsigned long long)(n - 1) << 32);
	__syncthreads();
	atomicXor(&uints, 1u << tid);
	atomicMin(&ints, -1000 - tid);
	atomicAnd(&u64s, ~0ull << 33);
	__syncthreads();
	CHECK(uints == 0 && ints == -1000 - (n - 1) && u64s == 15ull << 33);
	__syncthreads();
	if (tid == 0) {
		CHECK(atomicExch(&uints, 9u) == 0 && atomicCAS(&uints, 8u, 1u) == 9);
		CHECK(atomicCAS(&uints, 9u, 1u) == 9 && uints == 1);
	}
	__threadfence();
	__threadfence_block();
	__threadfence_system();
}

static void test_atomics(void **state)
{
	(void)state;
	ints = 0;
	uints = 0;
	u64s = 0;
	doubles = 0;
	assert_good(run_kernel(NULL, atomics, NULL, 0, 1, 32));
}

__global__ static void identity(const void *params)
{
	(void)params;
	CHECK(gridDim.x == 2 && gridDim.y == 3 && gridDim.z == 1);
	CHECK(blockDim.x == 4 && blockDim.y == 2 && blockDim.z == 2);
	CHECK(threadIdx.x < 4 && threadIdx.y < 2 && threadIdx.z < 2);
	CHECK(blockIdx.x < 2 && blockIdx.y < 3 && blockIdx.z == 0);
	CHECK(threadIdx.x + 4 * (threadIdx.y + 2 * threadIdx.z) == shmemd_arch_tid());
	long long start = clock64();
	__nanosleep(500);
	CHECK(clock64() - start >= 500);
	CHECK(__popc(0xf0) == 4 && __ffs(8) == 4 && __clz(1) == 31 && __clz(0) == 32);
}

static int launches(int pe, int n_pes, void *arg)
{
	const uint32_t grid[3] = {2, 3, 1}, block[3] = {4, 2, 2};
	(void)pe;
	(void)n_pes;
	(void)arg;
	return shmemsim_launch_3d(identity, NULL, 0, grid, block, 0, NULL) || shmemsim_sync(NULL);
}

static void test_identity(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_good(shmemsim_run(&cfg, 1, launches, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reduction),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_identity),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
