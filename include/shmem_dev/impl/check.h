/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Argument checks of SHMEMD_CHECK builds. In other builds each returns SHMEMD_OK and folds away.
 * A failed check has written the record; the caller returns or latches the status. */
#ifndef SHMEMD_IMPL_CHECK_H
#define SHMEMD_IMPL_CHECK_H

#include <shmem_dev/group.h>
#include <shmem_dev/impl/diag.h>

#ifdef SHMEMD_CHECK
#define SHMEMDI_CHECKING 1
#else
#define SHMEMDI_CHECKING 0
#endif

/* pe is a member of the context's team. */
SHMEMD_FN int shmemdi_check_pe(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe)
{
	if (!SHMEMDI_CHECKING || (pe >= 0 && pe < ctx->n_pes))
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_BAD_PE, -1, 0, (uint64_t)(int64_t)pe,
			      (uint64_t)ctx->n_pes);
}

/* A warp that calls has all its lanes. In a block that ends within it, the missing lanes' part of
 * the copy would be missing, too. */
SHMEMD_FN int shmemdi_check_group(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g)
{
	uint32_t nthreads = shmemd_arch_ntids();

	if (!SHMEMDI_CHECKING || g.bar != SHMEMDI_BAR_WARP || (shmemd_arch_tid() | 31) < nthreads)
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_BAD_ARGUMENT, -1, 0, nthreads % 32, 32);
}

/* [sym, sym + nbytes) lies in the part of this PE's symmetric heap that has memory. An operation of
 * no bytes may name any address. */
SHMEMD_FN int shmemdi_check_range(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym,
				  size_t nbytes)
{
	uintptr_t off = (uintptr_t)sym - (uintptr_t)ctx->heap;
	uint64_t end;

	if (!SHMEMDI_CHECKING || nbytes == 0)
		return SHMEMD_OK;
	end = shmemd_arch_ld_relaxed_u64(ctx->heap_committed);
	if (off <= end && nbytes <= end - off)
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_NOT_SYMMETRIC, -1, sym, nbytes, 0);
}

/* A symmetric word of `width` bytes, aligned to its width. */
SHMEMD_FN int shmemdi_check_word(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym,
				 uint32_t width)
{
	if (!SHMEMDI_CHECKING || (uintptr_t)sym % width == 0)
		return shmemdi_check_range(ctx, call, sym, width);
	return shmemdi_record(ctx, call, SHMEMD_ERR_UNALIGNED, -1, sym, width, 0);
}

/* An enumerator in 0 .. last. */
SHMEMD_FN int shmemdi_check_enum(const shmemd_ctx_t *ctx, shmemdi_call_t call, int value, int last)
{
	if (!SHMEMDI_CHECKING || (value >= 0 && value <= last))
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_BAD_ARGUMENT, -1, 0, (uint64_t)(int64_t)value,
			      (uint64_t)last);
}

/* When to ring: shmemd_ring_mode. */
SHMEMD_FN int shmemdi_check_when(const shmemd_ctx_t *ctx, shmemdi_call_t call, int when)
{
	return shmemdi_check_enum(ctx, call, when, SHMEMD_RING_DEFERRED);
}

#endif
