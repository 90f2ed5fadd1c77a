/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A ring all-gather that overlaps with the work on what has arrived: y = x[0 .. n-1] @ w, where PE
 * i has made the rows x[i] and w is the same everywhere. One source for NVRTC and for a CPU.
 *
 * Shapes (float32; n PEs)
 *     x      [n][rows][inner]   symmetric: x[c] comes from PE c, by way of the PEs between
 *     w      [inner][outer]     y  [n][rows][outer]     memory of this PE
 *     sig    [n]                symmetric uint64: the latest round in which x[c] has arrived
 *     status [blocks]           symmetric int32: 0, or why a block gave up
 *
 * Grid: block 0 sends, the other blocks multiply. In step s block 0 passes chunk me - s on to the
 * next PE, as soon as it is here, and the others multiply it; all blocks are resident at once.
 * Rounds are one apart, from 1; the host runs a barrier between them, since x is written again. */
#include <shmem_dev/shmem_dev.h>

#define LIMIT_NS 20000000000ull

typedef struct params {
	shmemd_ctx_t ctx;
	float *x;
	const float *w;
	float *y;
	uint64_t *sig;
	int32_t *status; /* [blocks] */
	uint64_t round;
	uint32_t rows, inner, outer, reserved;
} params_t;

SHMEMD_FN int await_chunk(const params_t *p, int chunk)
{
	if (chunk == shmemd_my_pe(&p->ctx))
		return SHMEMD_OK;
	return shmemd_signal_wait_until_for_block(&p->ctx, p->sig + chunk, SHMEMD_CMP_GE, p->round,
						  LIMIT_NS);
}

SHMEMD_FN int send_chunks(const params_t *p, int me, int n)
{
	size_t nelems = (size_t)p->rows * p->inner;
	int s, status = SHMEMD_OK;

	for (s = 0; s + 1 < n && status == SHMEMD_OK; s++) {
		int chunk = (me - s + n) % n;
		float *at = p->x + (size_t)chunk * nelems;

		status = await_chunk(p, chunk);
		if (status == SHMEMD_OK)
			shmemd_putmem_signal_nbi_block(&p->ctx, at, at, nelems * sizeof(*at),
						       p->sig + chunk, p->round, SHMEMD_SIGNAL_SET,
						       (me + 1) % n);
	}
	return status == SHMEMD_OK ? shmemd_quiet_block(&p->ctx) : status;
}

SHMEMD_FN int multiply_chunks(const params_t *p, int me, int n)
{
	uint32_t stride = (shmemd_n_blocks() - 1) * shmemd_n_threads();
	uint32_t first = (shmemd_block_index() - 1) * shmemd_n_threads() + shmemd_thread_index();
	uint32_t at, k;
	int s, status = SHMEMD_OK;

	for (s = 0; s < n && status == SHMEMD_OK; s++) {
		int chunk = (me - s + n) % n;

		status = await_chunk(p, chunk);
		for (at = first; at < p->rows * p->outer && status == SHMEMD_OK; at += stride) {
			size_t row = (size_t)chunk * p->rows + at / p->outer;
			float sum = 0;

			for (k = 0; k < p->inner; k++)
				sum += p->x[row * p->inner + k] *
				       p->w[(size_t)k * p->outer + at % p->outer];
			p->y[row * p->outer + at % p->outer] = sum;
		}
	}
	return status;
}

SHMEMD_KERNEL(gather_multiply, params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), status;

	status = shmemd_block_index() == 0 ? send_chunks(&p, me, n) : multiply_chunks(&p, me, n);
	if (shmemd_thread_index() == 0)
		p.status[shmemd_block_index()] = status;
}
