/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Unit of headers_alone.sh: a user's kernel and its host side, as C, C++ and CUDA. What the macros
 * of the headers expand to must be as free of warnings as the headers. */
#include <shmem_dev/generic.h>
#include <shmem_dev/sized.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>
#ifndef __CUDACC__
#include <shmem_sim.h>
#endif

#define LIMIT_NS 1000000000u

typedef struct params {
	shmemd_ctx_t ctx;
	float *dst;
	const float *src;
	uint64_t *sig;
	int *status;
} params_t;

SHMEMD_KERNEL(exchange, params_t, p)
{
	SHMEMD_SHARED(float, 64, tile);
	const shmemd_group_t half = shmemd_warps(0, 2, 1);
	int next = (shmemd_my_pe(&p.ctx) + 1) % shmemd_n_pes(&p.ctx), status;
	uint32_t thread = shmemd_thread_index();

	if (thread < 64)
		tile[thread] = p.src[thread];
	shmemd_group_sync(shmemd_block());
	shmemd_putmem_signal_group(&p.ctx, half, p.dst, tile, 64 * sizeof(*tile), p.sig, 1,
				   SHMEMD_SIGNAL_ADD, next);
	status = shmemd_signal_wait_until_for(&p.ctx, p.sig, SHMEMD_CMP_GE, 1, LIMIT_NS);
	if (thread == 0) {
		shmemd_put(&p.ctx, p.dst + 64, p.src, 1, next);
		shmemd_put32(&p.ctx, p.dst + 65, p.src, 1, next);
		shmemd_atomic_add(&p.ctx, p.sig, 1, next);
		status |= shmemd_wait_until(&p.ctx, p.sig, SHMEMD_CMP_GE, 2);
		*p.status = status;
	}
}

int run_exchange(params_t *p);
int run_exchange(params_t *p)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_team_t team = SHMEMH_TEAM_INVALID;
	shmemh_t *job = NULL;
	int status = shmemh_init(&attr, &job);

	if (status == SHMEMH_OK)
		status = shmemh_team_split_strided(job, SHMEMH_TEAM_WORLD, 0, 1, 1, &team);
	if (status == SHMEMH_OK)
		status = shmemh_ctx_get(job, team, &p->ctx);
	if (status == SHMEMH_OK)
		status = shmemd_launch(exchange, 1, 64, 0, NULL, *p);
	if (status == SHMEMH_OK)
		status = shmemd_stream_sync(NULL);
	return status;
}
