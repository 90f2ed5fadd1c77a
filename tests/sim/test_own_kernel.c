/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The example of runtime/sim/README.md. */
#define SHMEMSIM_CUDA_DIALECT
#include <shmem_sim.h>
#include <stdio.h>

typedef struct params {
	unsigned *ticket, *order; /* one word; [threads in the grid] */
} params_t;

/* Each warp takes tickets for all its lanes with one atomic. */
__global__ static void take_tickets(const void *params)
{
	const params_t *p = params;
	unsigned lane = threadIdx.x % 32, base = 0;
	if (lane == 0)
		base = atomicAdd(p->ticket, 32);
	base = __shfl_sync(0xffffffff, base, 0);
	if (atomicExch(&p->order[base + lane], 1) != 0)
		shmemsim_fail("ticket %u was given twice", base + lane);
}

static int host(int pe, int n_pes, void *arg)
{
	static unsigned ticket, order[4 * 256];
	params_t p = {&ticket, order};
	(void)pe, (void)n_pes, (void)arg;
	return shmemsim_launch(take_tickets, &p, sizeof(p), 4, 256, 0, NULL) || shmemsim_sync(NULL);
}

int main(void)
{
	int bad = shmemsim_run(NULL, 1, host, NULL); /* NULL: SHMEMSIM_POLICY, SHMEMSIM_SEED, ... */
	fputs(shmemsim_report(), stderr);
	return bad;
}
