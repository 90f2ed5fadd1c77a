/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The device calls of the bench kernels, under one name for all libraries. The kernels are compiled
 * once against shmem_dev, with BENCH_NVSHMEM once against NVSHMEM, and with BENCH_LIMIT once with
 * bare accesses (api_limit.h); of the kernels' files only api*.h depend on the library; the
 * clock and one fence are shmem_dev's in every build.
 *
 * The scope (thread, warp, block) is a template parameter: a bench kernel is CUDA C++, and each
 * library's functions are called directly. */
#ifndef BENCH_API_H
#define BENCH_API_H

#include <shmem_dev/arch/arch.h>

enum bench_scope {
	BENCH_THREAD = 0,
	BENCH_WARP = 1,
	BENCH_BLOCK = 2,
	BENCH_GRID = 3, /* all blocks of the kernel: api_grid.h */
	BENCH_N_SCOPES = 4,
};

#define BENCH_FN static __device__ __forceinline__

/* Call one(args), many_warp(args) or many_block(args). */
#define BENCH_BY_SCOPE(S, one, many, ...)                                                          \
	if constexpr (S == BENCH_THREAD)                                                           \
		return one(__VA_ARGS__);                                                           \
	else if constexpr (S == BENCH_WARP)                                                        \
		return many##_warp(__VA_ARGS__);                                                   \
	else                                                                                       \
		return many##_block(__VA_ARGS__)

template <bench_scope S> BENCH_FN void bench_group_sync(void)
{
	if constexpr (S == BENCH_WARP)
		__syncwarp();
	else if constexpr (S == BENCH_BLOCK)
		__syncthreads();
}

#if defined(BENCH_LIMIT)

#include "api_limit.h"

#elif defined(BENCH_NVSHMEM)

#include <nvshmem.h>
#include <nvshmemx.h>

typedef struct bench_ctx {
	int32_t my_pe;
	int32_t n_pes;
} bench_ctx_t;

template <bench_scope S> BENCH_FN bool bench_leads(void)
{
	if constexpr (S == BENCH_THREAD)
		return true;
	else
		return threadIdx.x % (S == BENCH_WARP ? 32 : blockDim.x) == 0;
}

template <bench_scope S>
BENCH_FN void bench_put(const bench_ctx_t *, void *dst, const void *src, size_t nbytes, int pe)
{
	BENCH_BY_SCOPE(S, nvshmem_putmem, nvshmemx_putmem, dst, src, nbytes, pe);
}

template <bench_scope S>
BENCH_FN void bench_put_nbi(const bench_ctx_t *, void *dst, const void *src, size_t nbytes, int pe)
{
	BENCH_BY_SCOPE(S, nvshmem_putmem_nbi, nvshmemx_putmem_nbi, dst, src, nbytes, pe);
}

template <bench_scope S>
BENCH_FN int bench_get(const bench_ctx_t *, void *dst, const void *src, size_t nbytes, int pe)
{
	if constexpr (S == BENCH_THREAD)
		nvshmem_getmem(dst, src, nbytes, pe);
	else if constexpr (S == BENCH_WARP)
		nvshmemx_getmem_warp(dst, src, nbytes, pe);
	else
		nvshmemx_getmem_block(dst, src, nbytes, pe);
	return 0;
}

template <bench_scope S>
BENCH_FN void bench_get_nbi(const bench_ctx_t *, void *dst, const void *src, size_t nbytes, int pe)
{
	BENCH_BY_SCOPE(S, nvshmem_getmem_nbi, nvshmemx_getmem_nbi, dst, src, nbytes, pe);
}

BENCH_FN void bench_p(const bench_ctx_t *, uint64_t *dst, uint64_t value, int pe)
{
	nvshmem_uint64_p(dst, value, pe);
}

BENCH_FN int bench_g(const bench_ctx_t *, uint64_t *value, const uint64_t *src, int pe)
{
	*value = nvshmem_uint64_g(src, pe);
	return 0;
}

BENCH_FN int bench_fetch_add(const bench_ctx_t *, uint64_t *old, uint64_t *dst, uint64_t value,
			     int pe)
{
	*old = nvshmem_uint64_atomic_fetch_add(dst, value, pe);
	return 0;
}

BENCH_FN void bench_add(const bench_ctx_t *, uint64_t *dst, uint64_t value, int pe)
{
	nvshmem_uint64_atomic_add(dst, value, pe);
}

template <bench_scope S>
BENCH_FN void bench_put_signal_nbi(const bench_ctx_t *, void *dst, const void *src, size_t nbytes,
				   uint64_t *sig, uint64_t value, int pe)
{
	BENCH_BY_SCOPE(S, nvshmem_putmem_signal_nbi, nvshmemx_putmem_signal_nbi, dst, src, nbytes,
		       sig, value, NVSHMEM_SIGNAL_SET, pe);
}

BENCH_FN void bench_signal_set(const bench_ctx_t *, uint64_t *sig, uint64_t value, int pe)
{
	nvshmemx_signal_op(sig, value, NVSHMEM_SIGNAL_SET, pe);
}

/* NVSHMEM has no value that carries its flag: data of 8 bytes at the slot, with a signal. */
BENCH_FN void bench_put_packed(const bench_ctx_t *, void *slot, const uint64_t *src, uint64_t *sig,
			       uint64_t value, int pe)
{
	nvshmem_putmem_signal_nbi(slot, src, sizeof(*src), sig, value, NVSHMEM_SIGNAL_SET, pe);
}

BENCH_FN int bench_wait_packed(const bench_ctx_t *, void *slot, uint64_t *sig, uint64_t value,
			       uint64_t *seen)
{
	nvshmem_signal_wait_until(sig, NVSHMEM_CMP_GE, value);
	*seen = *(volatile uint64_t *)slot;
	return 0;
}

/* NVSHMEM has no scoped wait: one thread waits, then the group synchronises. */
template <bench_scope S>
BENCH_FN int bench_wait_ge(const bench_ctx_t *, uint64_t *sig, uint64_t value)
{
	if (bench_leads<S>())
		nvshmem_signal_wait_until(sig, NVSHMEM_CMP_GE, value);
	bench_group_sync<S>();
	return 0;
}

/* NVSHMEM has no scoped quiet: its own put_latency brackets one thread's quiet in the same way. */
template <bench_scope S> BENCH_FN int bench_quiet(const bench_ctx_t *)
{
	bench_group_sync<S>();
	if (bench_leads<S>())
		nvshmem_quiet();
	bench_group_sync<S>();
	return 0;
}

template <bench_scope S> BENCH_FN int bench_quiet_leader(const bench_ctx_t *ctx)
{
	return bench_quiet<S>(ctx);
}

template <bench_scope S> BENCH_FN int bench_sync(const bench_ctx_t *)
{
	BENCH_BY_SCOPE(S, nvshmem_team_sync, nvshmemx_team_sync, NVSHMEM_TEAM_WORLD);
}

template <bench_scope S> BENCH_FN int bench_barrier(const bench_ctx_t *)
{
	if constexpr (S == BENCH_THREAD)
		nvshmem_barrier(NVSHMEM_TEAM_WORLD);
	else if constexpr (S == BENCH_WARP)
		nvshmemx_barrier_warp(NVSHMEM_TEAM_WORLD);
	else
		nvshmemx_barrier_block(NVSHMEM_TEAM_WORLD);
	return 0;
}

#else

#include <shmem_dev/shmem_dev.h>

typedef shmemd_ctx_t bench_ctx_t;

template <bench_scope S>
BENCH_FN void bench_put(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes, int pe)
{
	BENCH_BY_SCOPE(S, shmemd_putmem, shmemd_putmem, ctx, dst, src, nbytes, pe);
}

template <bench_scope S>
BENCH_FN void bench_put_nbi(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
			    int pe)
{
	BENCH_BY_SCOPE(S, shmemd_putmem_nbi, shmemd_putmem_nbi, ctx, dst, src, nbytes, pe);
}

template <bench_scope S>
BENCH_FN int bench_get(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes, int pe)
{
	BENCH_BY_SCOPE(S, shmemd_getmem, shmemd_getmem, ctx, dst, src, nbytes, pe);
}

template <bench_scope S>
BENCH_FN void bench_get_nbi(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
			    int pe)
{
	BENCH_BY_SCOPE(S, shmemd_getmem_nbi, shmemd_getmem_nbi, ctx, dst, src, nbytes, pe);
}

BENCH_FN void bench_p(const bench_ctx_t *ctx, uint64_t *dst, uint64_t value, int pe)
{
	shmemd_p_u64(ctx, dst, value, pe);
}

BENCH_FN int bench_g(const bench_ctx_t *ctx, uint64_t *value, const uint64_t *src, int pe)
{
	return shmemd_g_u64(ctx, value, src, pe);
}

BENCH_FN int bench_fetch_add(const bench_ctx_t *ctx, uint64_t *old, uint64_t *dst, uint64_t value,
			     int pe)
{
	return shmemd_atomic_fetch_add_u64(ctx, old, dst, value, pe);
}

BENCH_FN void bench_add(const bench_ctx_t *ctx, uint64_t *dst, uint64_t value, int pe)
{
	shmemd_atomic_add_u64(ctx, dst, value, pe);
}

template <bench_scope S>
BENCH_FN void bench_put_signal_nbi(const bench_ctx_t *ctx, void *dst, const void *src,
				   size_t nbytes, uint64_t *sig, uint64_t value, int pe)
{
	BENCH_BY_SCOPE(S, shmemd_putmem_signal_nbi, shmemd_putmem_signal_nbi, ctx, dst, src, nbytes,
		       sig, value, SHMEMD_SIGNAL_SET, pe);
}

/* The epoch says what the signal says elsewhere. */
BENCH_FN void bench_put_packed(const bench_ctx_t *ctx, void *slot, const uint64_t *src, uint64_t *,
			       uint64_t value, int pe)
{
	shmemd_put_packed(ctx, (shmemd_packed_t *)slot, *src, (uint32_t)value, pe);
}

BENCH_FN int bench_wait_packed(const bench_ctx_t *ctx, void *slot, uint64_t *, uint64_t value,
			       uint64_t *seen)
{
	return shmemd_wait_packed(ctx, seen, (const shmemd_packed_t *)slot, (uint32_t)value);
}

BENCH_FN void bench_signal_set(const bench_ctx_t *ctx, uint64_t *sig, uint64_t value, int pe)
{
	shmemd_signal_op(ctx, sig, value, SHMEMD_SIGNAL_SET, pe);
}

template <bench_scope S>
BENCH_FN int bench_wait_ge(const bench_ctx_t *ctx, uint64_t *sig, uint64_t value)
{
	BENCH_BY_SCOPE(S, shmemd_signal_wait_until, shmemd_signal_wait_until, ctx, sig,
		       SHMEMD_CMP_GE, value);
}

template <bench_scope S> BENCH_FN int bench_quiet(const bench_ctx_t *ctx)
{
	BENCH_BY_SCOPE(S, shmemd_quiet, shmemd_quiet, ctx);
}

template <bench_scope S> BENCH_FN int bench_quiet_leader(const bench_ctx_t *ctx)
{
	BENCH_BY_SCOPE(S, shmemd_quiet, shmemd_quiet_leader, ctx);
}

template <bench_scope S> BENCH_FN int bench_sync(const bench_ctx_t *ctx)
{
	BENCH_BY_SCOPE(S, shmemd_sync, shmemd_sync, ctx);
}

template <bench_scope S> BENCH_FN int bench_barrier(const bench_ctx_t *ctx)
{
	BENCH_BY_SCOPE(S, shmemd_barrier, shmemd_barrier, ctx);
}

#endif

BENCH_FN uint64_t bench_time_ns(void)
{
	return shmemd_arch_time_ns();
}

#endif
