// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Fetch-adds of the GPU with system scope: on a word of its own memory, on one in pinned host
// memory, and there beside those of a CPU. Whether counters may live in host memory depends on it.
#include <stdio.h>
#include "ring.h"

#define ADDS 20000u /* of each warp */
#define ADDS_BESIDE 2000000u

typedef struct add_args {
	uint64_t *word;
	ring_time_t *times; /* [warps] */
	uint32_t adds;
} add_args_t;

/* One lane of each warp adds; each add waits for the result of the previous one. */
SHMEMD_KERNEL(add_kernel, add_args_t, p)
{
	ring_time_t t = {shmemd_arch_time_ns(), 0, (uint64_t)clock64()};
	uint64_t sum = 0;
	uint32_t i;

	if (shmemd_arch_lane() != 0)
		return;
	for (i = 0; i < p.adds; i++)
		sum += shmemd_arch_atom_add_u64(p.word, 1 + (sum >> 63));
	t.cycles = (uint64_t)clock64() - t.cycles + (sum == ~(uint64_t)0);
	t.end_ns = shmemd_arch_time_ns();
	p.times[shmemd_thread_index() / 32] = t;
}

static int add_point(add_args_t *a, const char *place, uint32_t warps)
{
	uint64_t begin = UINT64_MAX, end = 0;
	double cycles = 0, n = (double)a->adds * warps;

	add_kernel<<<1, 32 * warps>>>(*a);
	if (ring_failed(cudaGetLastError(), "adds") || ring_failed(cudaDeviceSynchronize(), "adds"))
		return 1;
	for (uint32_t w = 0; w < warps; w++) {
		begin = a->times[w].begin_ns < begin ? a->times[w].begin_ns : begin;
		end = a->times[w].end_ns > end ? a->times[w].end_ns : end;
		cycles += (double)a->times[w].cycles;
	}
	printf("fetch_add %-7s %3u warps: %8.0f cycles for one, %8.1f ns, %8.3f Mops/s\n", place,
	       warps, cycles / n, (double)(end - begin) / a->adds,
	       n * 1000 / (double)(end - begin));
	return 0;
}

/* The CPU adds 2^32 as often as it can while the GPU adds 1, so that the sum shows both numbers of
 * adds. */
static int beside_cpu(add_args_t *a)
{
	uint64_t n_cpu = 0, n_gpu = ADDS_BESIDE, got;
	cudaError_t state;

	__atomic_store_n(a->word, 0, __ATOMIC_SEQ_CST);
	a->adds = ADDS_BESIDE / 32;
	add_kernel<<<1, 1024>>>(*a);
	do {
		for (int i = 0; i < 64; i++, n_cpu++)
			__atomic_fetch_add(a->word, (uint64_t)1 << 32, __ATOMIC_SEQ_CST);
		state = cudaStreamQuery(0);
	} while (state == cudaErrorNotReady);
	if (ring_failed(state, "adds beside the CPU"))
		return 1;
	got = __atomic_load_n(a->word, __ATOMIC_SEQ_CST);
	printf("beside a CPU: GPU: %llu of %llu adds counted, CPU: %llu of %llu\n",
	       (unsigned long long)(got & 0xffffffff), (unsigned long long)n_gpu,
	       (unsigned long long)(got >> 32), (unsigned long long)n_cpu);
	printf("%s\n", got == (n_cpu << 32 | n_gpu) ? "no update was lost" : "UPDATES WERE LOST");
	return 0;
}

int ring_atomics(void)
{
	add_args_t a = {NULL, NULL, ADDS};
	uint64_t *pinned, *device;
	int is_native = 0;

	if (ring_failed(cudaHostAlloc((void **)&pinned, 64, cudaHostAllocMapped), "a word") ||
	    ring_failed(
		    cudaHostAlloc((void **)&a.times, 32 * sizeof(*a.times), cudaHostAllocMapped),
		    "times") ||
	    ring_failed(cudaMalloc((void **)&device, 64), "a word") ||
	    ring_failed(cudaMemset(device, 0, 64), "a word") ||
	    ring_failed(cudaDeviceGetAttribute(&is_native, cudaDevAttrHostNativeAtomicSupported, 0),
			"an attribute"))
		return 1;
	*pinned = 0;
	printf("native atomics between GPU and host, as CUDA says: %s\n", is_native ? "yes" : "no");
	a.word = device;
	if (add_point(&a, "device", 1) || add_point(&a, "device", 32))
		return 1;
	a.word = pinned;
	if (add_point(&a, "pinned", 1) || add_point(&a, "pinned", 32))
		return 1;
	return beside_cpu(&a);
}
