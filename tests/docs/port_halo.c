/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The kernel that docs/guide/nvshmem.md shows, ported from NVSHMEM: each PE sends a row to the
 * PE after it, and averages it with the one that it received. It runs on random
 * schedules of the emulator, and each value is checked. */
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/typed/float.h>
#include <shmem_host/shmem_host.h>
#include <shmem_sim.h>
#include <stdio.h>

#define N_PES 3
#define N 64
#define STEPS 2
#define SCHEDULES 200

/* snippet: params */
typedef struct params {
	shmemd_ctx_t ctx;
	float *row;     /* [n], sent */
	float *halo;    /* [n], symmetric: written by the PE before */
	uint64_t *flag; /* symmetric: steps that the PE before has sent */
	float *out;     /* [n] */
	size_t n;
	uint64_t step; /* 1, 2, ... */
	int *status;
} params_t;
/* end */

/* snippet: kernel */
SHMEMD_KERNEL(halo_step, params_t, p)
{
	int right = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx);
	int status;

	shmemd_float_put_signal_block(&p.ctx, p.halo, p.row, p.n, p.flag, p.step, SHMEMD_SIGNAL_SET,
				      right);
	status = shmemd_signal_wait_until_block(&p.ctx, p.flag, SHMEMD_CMP_GE, p.step);
	if (status != SHMEMD_OK) {
		*p.status = status; /* a PE died, or SHMEMH_TIMEOUT passed */
		return;
	}
	for (size_t i = shmemd_thread_index(); i < p.n; i += shmemd_n_threads())
		p.out[i] = 0.5f * (p.row[i] + p.halo[i]);
	status = shmemd_sync_block(&p.ctx); /* the halo may be written again */
	if (shmemd_thread_index() == 0)
		*p.status = status;
}
/* end */

static float value(int pe, size_t i, uint64_t step)
{
	return (float)(pe * 1000 + (int)i) + (float)step * 100000.0f;
}

static int is_right(const params_t *p, int pe)
{
	int left = (pe + N_PES - 1) % N_PES;

	for (size_t i = 0; i < N; i++) {
		float want = 0.5f * (value(pe, i, p->step) + value(left, i, p->step));
		if (p->out[i] < want || p->out[i] > want)
			return 0;
	}
	return *p->status == SHMEMD_OK;
}

static int run(shmemh_t *job, params_t *p, int pe)
{
	void *mem;

	p->n = N;
	if (shmemh_calloc(job, 3 * N + 4, sizeof(float), &mem))
		return 1;
	p->row = mem;
	p->halo = p->row + N;
	p->out = p->halo + N;
	p->flag = (uint64_t *)(void *)(p->out + N);
	p->status = (int *)(void *)(p->flag + 1);
	if (shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p->ctx))
		return 1;
	for (p->step = 1; p->step <= STEPS; p->step++) {
		for (size_t i = 0; i < N; i++)
			p->row[i] = value(pe, i, p->step);
		if (shmemd_launch(halo_step, 1, 32, 0, NULL, *p) || shmemd_stream_sync(NULL) ||
		    !is_right(p, pe))
			return 1;
	}
	return 0;
}

static int pe_main(int pe, int n_pes, void *arg)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	params_t p;

	(void)n_pes, (void)arg;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job))
		return 1;
	if (run(job, &p, pe))
		return 1;
	return shmemh_finalize(job);
}

int main(void)
{
	int bad = shmemsim_explore(NULL, SCHEDULES, N_PES, pe_main, NULL, NULL);

	fputs(shmemsim_report(), stderr);
	return bad;
}
