// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// What the primitives cost of which a posting consists: one thread, each after the one before.
#include <stdio.h>
#include "ring.h"

#define TIMES 400u

typedef struct fence_args {
	uint64_t *device, *pinned; /* [FENCE_WORDS] */
	uint64_t *cycles;          /* [2]: and sum */
} fence_args_t;

#define FENCE_WORDS 64

/* op: statements, in which i is the count. sum stays 0, but the compiler cannot prove it: loads
 * whose address depends on sum wait for those that add to it. */
#define FENCE_KERNEL(name, op)                                                                     \
	SHMEMD_KERNEL(name, fence_args_t, p)                                                       \
	{                                                                                          \
		uint64_t sum = 0, i, begin = 0;                                                    \
                                                                                                   \
		for (i = 0; i < 2 * TIMES; i++) { /* the first half warms up */                    \
			if (i == TIMES)                                                            \
				begin = (uint64_t)clock64();                                       \
			op;                                                                        \
		}                                                                                  \
		p.cycles[0] = (uint64_t)clock64() - begin;                                         \
		p.cycles[1] = sum;                                                                 \
	}

#define LOAD(place, word) shmemd_arch_ld_relaxed_u64((place) + (word) + (sum >> 63))

FENCE_KERNEL(load_device, sum += LOAD(p.device, 0))
FENCE_KERNEL(load_pinned, sum += LOAD(p.pinned, 0))
FENCE_KERNEL(loads_pinned, uint64_t a = LOAD(p.pinned, 0); uint64_t b = LOAD(p.pinned, 16);
	     uint64_t c = LOAD(p.pinned, 32); sum += a + b + c)
FENCE_KERNEL(add_device, sum += shmemd_arch_atom_add_u64(p.device + (sum >> 63), 0))
FENCE_KERNEL(acquire, shmemd_arch_fence_acquire())
FENCE_KERNEL(gpu_device, shmemd_arch_st_relaxed_u64(p.device, i);
	     shmemd_arch_fence_before_publish())
FENCE_KERNEL(gpu_pinned, shmemd_arch_st_relaxed_u64(p.pinned, i);
	     shmemd_arch_fence_before_publish())
FENCE_KERNEL(release_device, shmemd_arch_st_relaxed_u64(p.device, i);
	     shmemd_arch_fence_before_doorbell())
FENCE_KERNEL(release_pinned, shmemd_arch_st_relaxed_u64(p.pinned, i);
	     shmemd_arch_fence_before_doorbell())

static int fence_point(fence_args_t *a, const char *what, void (*kernel)(const fence_args_t))
{
	kernel<<<1, 1>>>(*a);
	if (ring_failed(cudaGetLastError(), what) || ring_failed(cudaDeviceSynchronize(), what))
		return 1;
	printf("%-62s %6.0f cycles\n", what, (double)*a->cycles / TIMES);
	return 0;
}

int ring_fences(void)
{
	const size_t nbytes = FENCE_WORDS * sizeof(uint64_t);
	fence_args_t a;

	if (ring_failed(cudaMalloc((void **)&a.device, nbytes), "words") ||
	    ring_failed(cudaMemset(a.device, 0, nbytes), "words") ||
	    ring_failed(cudaHostAlloc((void **)&a.pinned, nbytes, cudaHostAllocMapped), "words") ||
	    ring_failed(
		    cudaHostAlloc((void **)&a.cycles, 2 * sizeof(uint64_t), cudaHostAllocMapped),
		    "a word"))
		return 1;
	for (int i = 0; i < FENCE_WORDS; i++)
		a.pinned[i] = 0;
	return fence_point(&a, "load of device memory", load_device) ||
	       fence_point(&a, "load of pinned host memory", load_pinned) ||
	       fence_point(&a, "three loads of pinned host memory at once", loads_pinned) ||
	       fence_point(&a, "atomic add to device memory, with its answer", add_device) ||
	       fence_point(&a, "fence that only acquires", acquire) ||
	       fence_point(&a, "store to device memory, release fence of the GPU's scope",
			   gpu_device) ||
	       fence_point(&a, "store to pinned host memory, the same", gpu_pinned) ||
	       fence_point(&a, "store to device memory, release fence of the system's scope",
			   release_device) ||
	       fence_point(&a, "store to pinned host memory, the same", release_pinned);
}
