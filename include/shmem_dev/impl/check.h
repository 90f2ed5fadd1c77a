/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Argument checks of SHMEMD_CHECK builds. In other builds each returns SHMEMD_OK and folds away.
 * A failed check has written the record, or for a bad context printed a line; the caller returns or
 * latches the status. */
#ifndef SHMEMD_IMPL_CHECK_H
#define SHMEMD_IMPL_CHECK_H

#include <shmem_dev/group.h>
#include <shmem_dev/impl/diag.h>

#ifdef SHMEMD_CHECK

/* Does the copy in memory of the device say that the team exists? */
SHMEMD_FN int shmemdi_is_live(const shmemd_ctx_t *ctx)
{
	const shmemd_ctx_t *own = ctx->device_copy;

	if (!(ctx->flags & SHMEMD_CTX_CHECKABLE))
		return 1;
	return shmemd_arch_is_readable(own, sizeof(*own)) && own->version == ctx->version &&
	       own->flags == ctx->flags && own->sync == ctx->sync;
}

/* The context is one of shmemh_ctx_get, and its team exists. Otherwise there may be no place for a
 * record: the line is printed, or under the emulator ends the run. */
SHMEMD_FN int shmemdi_check_ctx(const shmemd_ctx_t *ctx, shmemdi_call_t call)
{
	if (!shmemdi_is_filled(ctx))
		shmemd_arch_tell("the context is not filled: call shmemh_ctx_get, and pass the "
				 "context in the kernel's parameters",
				 call.site, call.line);
	else if (!shmemdi_is_live(ctx))
		shmemd_arch_tell("the context is of a team that was destroyed, or of a job that "
				 "was finalized",
				 call.site, call.line);
	else
		return SHMEMD_OK;
	return SHMEMD_ERR_BAD_CONTEXT;
}

SHMEMD_FN int shmemdi_mistake(const shmemd_ctx_t *ctx, shmemdi_call_t call, uint32_t mistake,
			      uint64_t value, uint64_t wanted)
{
	return shmemdi_record(ctx, call, SHMEMD_ERR_BAD_ARGUMENT, -1,
			      (const void *)(uintptr_t)mistake, value, wanted);
}

/* In place of the copy of a context that was refused: zeros, which later calls refuse. */
SHMEMD_FN shmemd_ctx_t shmemdi_no_ctx(void)
{
	shmemd_ctx_t none;
	size_t i;

	for (i = 0; i < sizeof(none); i++)
		((char *)&none)[i] = 0;
	return none;
}

/* Is the range in one of these? */
SHMEMD_FN int shmemdi_is_within(const shmemd_range_t *ranges, uint64_t n, uint64_t off,
				uint64_t nbytes)
{
	uint64_t low = 0, at, size;

	while (n > 1) { /* the last that does not start behind off is in [low, low + n) */
		uint64_t half = n / 2;

		if (shmemd_arch_ld_relaxed_u64(&ranges[low + half].offset) <= off) {
			low += half;
			n -= half;
		} else {
			n = half;
		}
	}
	if (n == 0)
		return 0;
	at = shmemd_arch_ld_relaxed_u64(&ranges[low].offset);
	size = shmemd_arch_ld_relaxed_u64(&ranges[low].nbytes);
	return off >= at && off - at <= size && nbytes <= size - (off - at);
}

SHMEMD_FN int shmemdi_is_allocated(const shmemd_ctx_t *ctx, uint64_t off, uint64_t nbytes)
{
	const shmemd_allocs_t *a = (const shmemd_allocs_t *)(const void *)ctx->heap_committed;

	for (;;) {
		uint64_t before = shmemd_arch_ld_acquire_u64(&a->sequence);
		uint64_t n = shmemd_arch_ld_acquire_u64(&a->n); /* then an array that has n */
		const shmemd_range_t *ranges =
			(const shmemd_range_t *)(uintptr_t)shmemd_arch_ld_relaxed_u64(&a->ranges);
		int is_within = !(before & 1) && shmemdi_is_within(ranges, n, off, nbytes);

		shmemd_arch_fence_acquire();
		if (!(before & 1) && shmemd_arch_ld_relaxed_u64(&a->sequence) == before)
			return is_within;
		shmemd_arch_spin_hint();
	}
}

/* Called at the start of a quiet (of all PEs or of one channel), a sync or a barrier. On the CPU it
 * checks that the sources of this PE's nbi operations still hold what they held when those were
 * posted; after the call the program may change them. All sources of this PE, whatever PE or
 * channel they go to, are compared and dropped together. The error is latched. Waits and tests,
 * once a word has the awaited value, and g, shmemd_signal_fetch and shmemd_channel_poll drop them
 * without a comparison (shmemdi_sources_drop): in an exchange in place, the peer's answer is in the
 * source before the wait for it begins. */
SHMEMD_FN void shmemdi_check_sources(const shmemd_ctx_t *ctx, shmemdi_call_t call)
{
	uint64_t nbytes = shmemd_arch_nbi_changed();

	if (nbytes)
		shmemdi_latch(ctx, shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_SOURCE, nbytes, 0));
}

/* All threads of the group are in the function of its first thread; `first` identifies it.
 * Otherwise calls of different functions have met at one barrier. All of them are refused here: at
 * their later barriers they would meet the next calls of the other threads. A thread whose function
 * differs records its call. */
SHMEMD_FN int shmemdi_check_same_call(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				      shmemd_group_t g, uint64_t first)
{
	int differs = (uintptr_t)call.function != first;

	if (!shmemd_group_any(g, differs))
		return SHMEMD_OK;
	if (!differs)
		return SHMEMD_ERR_BAD_ARGUMENT;
	return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_CALLS, shmemd_arch_tid(),
			       shmemd_arch_tid() - g.rank);
}

/* All threads of the group have called, and no others. Groups are whole warps (group.h): in a block
 * that ends within a warp, no thread would copy the part of the lanes that do not exist. */
SHMEMD_FN int shmemdi_check_group(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g)
{
	uint32_t nthreads = shmemd_arch_ntids(), tid = shmemd_arch_tid(), n;
	int status = shmemdi_check_ctx(ctx, call);
	uint64_t first;

	if (status != SHMEMD_OK || g.bar == SHMEMDI_BAR_NONE)
		return status;
	if (g.bar == SHMEMDI_BAR_WARP && (tid | 31) >= nthreads)
		return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_LANES, nthreads % 32, 32);
	if (g.size % 32 != 0)
		return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_LANES, g.size % 32, 32);
	if (g.rank >= g.size)
		return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_OUTSIDER, tid, g.size);
	if (tid - g.rank + g.size > nthreads)
		return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_GROUP, tid - g.rank + g.size,
				       nthreads);
	n = shmemd_arch_present(g.bar, g.size, g.rank == 0, (uintptr_t)call.function, &first);
	if (n == g.size)
		return shmemdi_check_same_call(ctx, call, g, first);
	return shmemdi_mistake(ctx, call,
			       g.bar == SHMEMDI_BAR_WARP ? SHMEMD_MISTAKE_LANES
							 : SHMEMD_MISTAKE_THREADS,
			       n, g.size);
}

/* The lanes of each warp of the group pass the same value. */
SHMEMD_FN int shmemdi_check_equal(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
				  uint64_t value)
{
	uint32_t same;

	if (g.bar == SHMEMDI_BAR_NONE)
		return SHMEMD_OK;
	same = shmemd_arch_match_any(0xffffffffu, value);
	if (!shmemd_group_any(g, same != 0xffffffffu))
		return SHMEMD_OK;
	if (same == 0xffffffffu) /* another warp has the difference */
		return SHMEMD_ERR_BAD_ARGUMENT;
	return shmemdi_mistake(ctx, call, SHMEMD_MISTAKE_DIFFER, shmemd_arch_lane(),
			       shmemd_arch_popc(same));
}

/* The sources of this PE's nbi operations may change from now on. Called by waits and tests when a
 * word has the awaited value, since its writer may have read what was sent; by g and
 * shmemd_signal_fetch, whatever the value, since the program may compare it; and by
 * shmemd_channel_poll when it returns *is_done 1. */
SHMEMD_FN void shmemdi_sources_drop(void)
{
	shmemd_arch_nbi_forget();
}

#else

SHMEMD_FN int shmemdi_check_ctx(const shmemd_ctx_t *ctx, shmemdi_call_t call)
{
	(void)ctx;
	(void)call;
	return SHMEMD_OK;
}

SHMEMD_FN void shmemdi_check_sources(const shmemd_ctx_t *ctx, shmemdi_call_t call)
{
	(void)ctx;
	(void)call;
}

SHMEMD_FN void shmemdi_sources_drop(void)
{
}

SHMEMD_FN int shmemdi_check_group(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g)
{
	(void)ctx;
	(void)call;
	(void)g;
	return SHMEMD_OK;
}

#endif

/* A step of a hash: of the arguments that all threads of a group pass alike. */
SHMEMD_FN uint64_t shmemdi_hash(uint64_t a, uint64_t b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15u;
	return a ^ a >> 29;
}

/* pe is a member of the context's team. */
SHMEMD_FN int shmemdi_check_pe(const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe)
{
#ifdef SHMEMD_CHECK
	int status = shmemdi_check_ctx(ctx, call);

	if (status != SHMEMD_OK)
		return status;
#endif
	if (!SHMEMDI_CHECKING || (pe >= 0 && pe < ctx->n_pes))
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_BAD_PE, -1, 0, (uint64_t)(int64_t)pe,
			      (uint64_t)ctx->n_pes);
}

/* [sym, sym + nbytes) lies in one allocation of this PE's symmetric heap; without
 * SHMEMD_CTX_CHECKABLE, in the part of the heap that has memory. An operation of no bytes may name
 * any address. */
SHMEMD_FN int shmemdi_check_range(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym,
				  size_t nbytes)
{
#ifdef SHMEMD_CHECK
	uint64_t off, end;
	int status = shmemdi_check_ctx(ctx, call);

	if (status != SHMEMD_OK || nbytes == 0)
		return status;
	off = (uintptr_t)sym - (uintptr_t)ctx->heap;
	end = shmemd_arch_ld_relaxed_u64(ctx->heap_committed);
	if (off <= end && nbytes <= end - off &&
	    (!(ctx->flags & SHMEMD_CTX_CHECKABLE) || shmemdi_is_allocated(ctx, off, nbytes)))
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_NOT_SYMMETRIC, -1, sym, nbytes, 0);
#else
	(void)ctx;
	(void)call;
	(void)sym;
	(void)nbytes;
	return SHMEMD_OK;
#endif
}

/* A symmetric word of `width` bytes, aligned to its width. */
SHMEMD_FN int shmemdi_check_word(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *sym,
				 uint32_t width)
{
	if (!SHMEMDI_CHECKING || (uintptr_t)sym % width == 0)
		return shmemdi_check_range(ctx, call, sym, width);
	if (shmemdi_check_ctx(ctx, call) != SHMEMD_OK)
		return SHMEMD_ERR_BAD_CONTEXT;
	return shmemdi_record(ctx, call, SHMEMD_ERR_UNALIGNED, -1, sym, width, 0);
}

/* An enumerator in 0 .. last. */
SHMEMD_FN int shmemdi_check_enum(const shmemd_ctx_t *ctx, shmemdi_call_t call, int value, int last)
{
	if (!SHMEMDI_CHECKING || (value >= 0 && value <= last))
		return SHMEMD_OK;
	if (shmemdi_check_ctx(ctx, call) != SHMEMD_OK)
		return SHMEMD_ERR_BAD_CONTEXT;
	return shmemdi_record(ctx, call, SHMEMD_ERR_BAD_ARGUMENT, -1, 0, (uint64_t)(int64_t)value,
			      (uint64_t)last);
}

/* A channel of the job, which has some. */
SHMEMD_FN int shmemdi_check_channel(const shmemd_ctx_t *ctx, shmemdi_call_t call, uint32_t k)
{
	if (!SHMEMDI_CHECKING || k < ctx->n_channels)
		return SHMEMD_OK;
	return shmemdi_record(ctx, call, SHMEMD_ERR_BAD_ARGUMENT, -1,
			      (const void *)(uintptr_t)SHMEMD_MISTAKE_CHANNEL, k,
			      ctx->n_channels - 1);
}

/* When to ring: shmemd_ring_mode. */
SHMEMD_FN int shmemdi_check_when(const shmemd_ctx_t *ctx, shmemdi_call_t call, int when)
{
	return shmemdi_check_enum(ctx, call, when, SHMEMD_RING_DEFERRED);
}

#endif
