/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The members of the context's team: their numbers, where their memory is mapped, which are gone.
 */
#ifndef SHMEMD_TEAM_H
#define SHMEMD_TEAM_H

#include <shmem_dev/impl/check.h>
#include <shmem_dev/impl/p2p.h>
#include <shmem_dev/impl/spin.h>

/* This PE's number in the context's team.
 *
 * Callers  any thread.
 * Returns  the number; in check builds -1 if the context is refused.
 * Source   OpenSHMEM 1.5 shmem_team_my_pe.
 */
SHMEMD_FN int shmemd_my_pe(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_check_ctx(ctx, SHMEMDI_CALLER(NONE)) ? -1 : ctx->my_pe;
}

/* PEs in the context's team.
 *
 * Callers  any thread.
 * Returns  how many; in check builds 0 if the context is refused.
 * Source   OpenSHMEM 1.5 shmem_team_n_pes.
 */
SHMEMD_FN int shmemd_n_pes(const shmemd_ctx_t *ctx SHMEMD_SITE)
{
	return shmemdi_check_ctx(ctx, SHMEMDI_CALLER(NONE)) ? 0 : ctx->n_pes;
}

/* The world team's number of a member.
 *
 * Callers  any thread.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  its number in the world team; in check builds -1 if pe is out of range (recorded).
 * Source   OpenSHMEM 1.5 shmem_team_translate_pe.
 */
SHMEMD_FN int shmemd_world_pe(const shmemd_ctx_t *ctx, int pe SHMEMD_SITE)
{
	return shmemdi_check_pe(ctx, SHMEMDI_CALLER(NONE), pe) ? -1 : ctx->peers[pe].world_pe;
}

/* Where this PE can access pe's copy of a symmetric object with ordinary loads and stores. Order
 * those with fence, signals or sync as for puts.
 *
 * Callers  any thread.
 * sym      symmetric address.
 * pe       0 .. n_pes - 1 of the context's team.
 * Returns  the address; NULL: not mapped; in check builds NULL for bad arguments (recorded).
 * Source   OpenSHMEM 1.5 shmem_ptr.
 */
SHMEMD_FN void *shmemd_ptr(const shmemd_ctx_t *ctx, const void *sym, int pe SHMEMD_SITE)
{
	char *base;

	if (shmemdi_check_pe(ctx, SHMEMDI_CALLER(NONE), pe) ||
	    shmemdi_check_range(ctx, SHMEMDI_CALLER(NONE), sym, 1))
		return 0;
	if (pe == ctx->my_pe) /* also where a PE's own heap is not used by loads and stores */
		return (void *)(uintptr_t)sym;
	base = shmemdi_p2p_base(ctx, pe);
	/* Not shmemdi_p2p_at: in a kernel in which nothing may write the memory, nvcc would load
	 * from a pointer that is known to be global through the read-only cache, which keeps what
	 * the peer has overwritten. */
	return base ? (void *)((uintptr_t)sym + (uintptr_t)shmemdi_base_shift(ctx, base))
		    : (void *)0;
}

/* The PE of the team that died or left, or to which fail-over found no path: the first one, which
 * waits for any PE report.
 *
 * Callers  any thread; reads host memory, about 1 us.
 * Returns  its number in the context's team; -1: no PE is gone, or this PE itself was cut off from
 *          all others (shmemd_failed_cause tells the two apart).
 */
SHMEMD_FN int shmemd_failed_pe(const shmemd_ctx_t *ctx)
{
	int pe;

	shmemdi_pe_failed(ctx, SHMEMDI_ANY_PE, &pe);
	return pe;
}

/* Why the PE that shmemd_failed_pe returns is gone.
 *
 * Callers  any thread; reads host memory, about 1 us.
 * Returns  enum shmemd_cause; SHMEMD_CAUSE_NONE: no PE is gone.
 */
SHMEMD_FN int shmemd_failed_cause(const shmemd_ctx_t *ctx)
{
	return (int)SHMEMD_ABORT_CAUSE(shmemd_arch_ld_acquire_u64(ctx->abort_word));
}

#endif
