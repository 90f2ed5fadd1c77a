// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// Eight call sites of put_signal_nbi by a warp, each of another type.
#ifdef BENCH_NVSHMEM
#include <nvshmem.h>
#include <nvshmemx.h>
#define PUT_SIGNAL(type, k)                                                                        \
	nvshmemx_##type##_put_signal_nbi_warp(p.type##s, p.type##s + p.n, p.n, p.sig + k, 1,       \
					      NVSHMEM_SIGNAL_SET, p.pe + k)
#else
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/typed.h>
#define PUT_SIGNAL(type, k)                                                                        \
	shmemd_##type##_put_signal_nbi_warp(&p.ctx, p.type##s, p.type##s + p.n, p.n, p.sig + k, 1, \
					    SHMEMD_SIGNAL_SET, p.pe + k)
#endif

typedef struct params {
#ifndef BENCH_NVSHMEM
	shmemd_ctx_t ctx;
#endif
	char *chars;
	short *shorts;
	int *ints;
	long *longs;
	unsigned *uints;
	unsigned long *ulongs;
	float *floats;
	double *doubles;
	uint64_t *sig;
	size_t n;
	int pe;
} params_t;

__global__ void calls(const __grid_constant__ params_t p)
{
	PUT_SIGNAL(char, 0);
	PUT_SIGNAL(short, 1);
	PUT_SIGNAL(int, 2);
	PUT_SIGNAL(long, 3);
	PUT_SIGNAL(uint, 4);
	PUT_SIGNAL(ulong, 5);
	PUT_SIGNAL(float, 6);
	PUT_SIGNAL(double, 7);
}
