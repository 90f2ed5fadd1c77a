/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Phases of a kernel of your own in the trace (shmem_host/trace.h), beside the calls of shmem_dev.
 * Optional; not part of shmem_dev.h.
 *
 *	uint64_t begin = shmemd_trace_begin();
 *	...
 *	shmemd_trace_end(&p.ctx, begin, MULTIPLY);
 *
 * Like the calls, phases are recorded in units that define SHMEMD_TRACE before they include
 * anything of shmem_dev. In others both functions do nothing. */
#ifndef SHMEMD_TRACE_H
#define SHMEMD_TRACE_H

#include <shmem_dev/impl/traced.h>
#include <shmem_dev/team.h>

/* A phase begins.
 *
 * Callers  any thread of a kernel.
 * Returns  the time, for shmemd_trace_end; 0 without SHMEMD_TRACE.
 */
SHMEMD_FN uint64_t shmemd_trace_begin(void)
{
#ifdef SHMEMD_TRACE
	return shmemd_arch_time_ns();
#else
	return 0;
#endif
}

/* A phase ends: record it on the track of the calling thread.
 *
 * Callers  the thread that began it. Phases of a thread, and its calls, lie one inside the other or
 *          one after the other. One thread for a warp or block is enough.
 * begin    from shmemd_trace_begin.
 * phase    a number of the program's own, for which shmemh_trace_write takes a name.
 */
SHMEMD_FN void shmemd_trace_end(const shmemd_ctx_t *ctx, uint64_t begin, uint32_t phase)
{
#ifdef SHMEMD_TRACE
	shmemdi_call_t call = shmemdi_call(SHMEMD_OP_NONE, 0, 0);

	call.begin = begin;
	shmemdi_trace(ctx, call, shmemd_thread(), -1, 0, 0,
		      shmemdi_trace_word(SHMEMD_TRACE_NO_WORD, 0, phase), SHMEMD_OK);
#else
	(void)ctx;
	(void)begin;
	(void)phase;
#endif
}

#endif
