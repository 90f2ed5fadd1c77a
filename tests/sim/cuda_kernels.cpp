/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kernels as users write them in CUDA, in C++ on the emulator: a template, with a context as a
 * parameter of its own, const __grid_constant__, block scratch, shuffles, any arguments. With the
 * argument "fails" the kernel finds a wrong value on purpose. */
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>
#define SHMEMSIM_CUDA_DIALECT
#include <shmem_sim.h>
#include <cstdio>
#include <cstring>

static int must_fail;

/* The sum of an array, which PE pe sends to the PE after it. */
template <int THREADS>
__global__ void __launch_bounds__(THREADS)
	send_sum(const __grid_constant__ shmemd_ctx_t ctx, const uint64_t *in, uint64_t *sum,
		 uint64_t *flag)
{
	SHMEMSIM_SHARED(uint64_t, THREADS / 32, partial);
	uint64_t v = in[threadIdx.x];
	for (int d = 16; d > 0; d /= 2)
		v += __shfl_down_sync(0xffffffffu, v, d);
	if (threadIdx.x % warpSize == 0)
		partial[threadIdx.x / warpSize] = v;
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (int w = 1; w < THREADS / 32; w++)
		v += partial[w];
	int next = (shmemd_my_pe(&ctx) + 1) % shmemd_n_pes(&ctx);
	shmemd_putmem_signal(&ctx, sum, &v, sizeof(v), flag, 1, SHMEMD_SIGNAL_SET, next);
	shmemd_signal_wait_until(&ctx, flag, SHMEMD_CMP_EQ, 1);
	if (must_fail)
		shmemsim_fail("the sum is %d", (int)*sum);
}

static int pe_main(int pe, int n_pes, void *)
{
	constexpr int threads = 64;
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	shmemd_ctx_t ctx;
	void *mem;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job) || shmemh_calloc(job, threads + 2, sizeof(uint64_t), &mem) ||
	    shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &ctx))
		return 1;
	uint64_t *in = static_cast<uint64_t *>(mem), want = 0;
	for (int i = 0; i < threads; i++) {
		in[i] = static_cast<uint64_t>(pe * 1000 + i);
		want += static_cast<uint64_t>((pe + n_pes - 1) % n_pes * 1000 + i);
	}
	if (shmemsim_launch_cuda(send_sum<threads>, 1, threads, 0, nullptr, ctx, in, in + threads,
				 in + threads + 1) ||
	    shmemd_stream_sync(nullptr) || in[threads] != want)
		return 1;
	return shmemh_finalize(job);
}

int main(int argc, char **argv)
{
	must_fail = argc > 1 && std::strcmp(argv[1], "fails") == 0;
	int bad = shmemsim_explore(nullptr, must_fail ? 1 : 100, 3, pe_main, nullptr, nullptr);
	std::fputs(shmemsim_report(), stderr);
	return bad;
}

#ifdef WITH_SHARED /* must not compile */
__global__ void unshared()
{
	__shared__ int tile[32];
	tile[0] = 0;
}
#endif
