/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Included before everything else (-include): each primitive that orders becomes a macro, so that
 * each of its calls is a site of its own, which the tool can weaken while the program runs.
 *
 * A new primitive that orders gets one line among the others below; lint finds a forgotten one. */
#ifndef WEAKEN_PRIMITIVES_H
#define WEAKEN_PRIMITIVES_H

/* One source includes all headers and keeps the functions that nobody calls: their sites count. */
#ifdef WEAKEN_ALL
#define SHMEMD_FN static inline __attribute__((used))
#endif

#include <shmem_dev/arch/arch.h>
#include "site.h"

/* how_ is what is done to this site; weak may use it. */
#define WEAKEN(KIND, strong, weak)                                                                 \
	__extension__({                                                                            \
		static weaken_site_t site_ = {__FILE__,      __func__,   #strong, __LINE__,        \
					      WEAKEN_##KIND, WEAKEN_NOT, 0};                       \
		static weaken_site_t *const entry_                                                 \
			__attribute__((section("weaken_sites"), used)) = &site_;                   \
		int how_ = site_.how;                                                              \
		site_.is_executed = 1;                                                             \
		how_ == WEAKEN_NOT ? (strong) : (weak);                                            \
	})

/* The weakened forms */

SHMEMD_FN void weaken_fence(int how, int access)
{
	if (how == WEAKEN_GPU)
		shmemdi_cpu_fence(access | SHMEMSIM_SCOPE_GPU);
	else if (how == WEAKEN_CTA)
		shmemdi_cpu_fence(access | SHMEMSIM_SCOPE_CTA);
	else if (how == WEAKEN_ACQ_REL)
		shmemdi_cpu_fence(SHMEMSIM_FENCE);
}

#define WEAKEN_LOAD(N, T)                                                                          \
	SHMEMD_FN T weaken_ld_##N(int how, const void *p)                                          \
	{                                                                                          \
		T given;                                                                           \
		if (how == WEAKEN_RELAXED)                                                         \
			return shmemd_arch_ld_relaxed_##N(p);                                      \
		if (shmemsim_access(p, sizeof(T), SHMEMSIM_LD_ACQUIRE | SHMEMSIM_SCOPE_GPU,        \
				    &given) == SHMEMSIM_GIVEN)                                     \
			return given;                                                              \
		return *(const shmemdi_cpu_##N *)p;                                                \
	}

WEAKEN_LOAD(u32, uint32_t)
WEAKEN_LOAD(u64, uint64_t)
#undef WEAKEN_LOAD

/* The lock is to work even so; only its order is weakened. */
SHMEMD_FN int weaken_try_lock(int how, uint64_t *p, uint64_t seen)
{
	int is_taken = shmemdi_cpu_try_lock(p, seen);

	if (how == WEAKEN_CTA)
		shmemdi_cpu_fence(SHMEMSIM_FENCE_ACQUIRE | SHMEMSIM_SCOPE_CTA);
	return is_taken;
}

SHMEMD_FN void weaken_unlock(int how, uint64_t *p, uint64_t v)
{
	shmemdi_cpu_unlock(p, v,
			   how == WEAKEN_CTA ? SHMEMSIM_ST_RELEASE | SHMEMSIM_SCOPE_CTA
					     : SHMEMSIM_ST_RELAXED);
}

#define WEAKEN_STORE(N, T)                                                                         \
	SHMEMD_FN void weaken_st_##N(int how, void *p, T v)                                        \
	{                                                                                          \
		if (how == WEAKEN_RELAXED) {                                                       \
			shmemd_arch_st_relaxed_##N(p, v);                                          \
			return;                                                                    \
		}                                                                                  \
		(void)shmemsim_access(                                                             \
			p, sizeof(v),                                                              \
			SHMEMSIM_ST_RELEASE |                                                      \
				(how == WEAKEN_CTA ? SHMEMSIM_SCOPE_CTA : SHMEMSIM_SCOPE_GPU),     \
			&v);                                                                       \
		shmemdi_cpu_wrote();                                                               \
		*(shmemdi_cpu_##N *)p = v;                                                         \
	}

WEAKEN_STORE(u32, uint32_t)
WEAKEN_STORE(u64, uint64_t)
#undef WEAKEN_STORE

SHMEMD_FN void weaken_syncwarp(int how)
{
	if (how == WEAKEN_UNORDERED)
		(void)shmemd_arch_warp_any(0);
}

SHMEMD_FN void weaken_syncwarp_mask(int how, uint32_t mask)
{
	if (how == WEAKEN_UNORDERED)
		(void)shmemsim_coll(SHMEMSIM_BALLOT, mask, 0, 0, 32);
}

SHMEMD_FN int weaken_bar(int how, uint32_t id, uint32_t nthreads, int pred)
{
	return how == WEAKEN_UNORDERED ? weaken_meet(id, nthreads, pred) : pred != 0;
}

#define shmemd_arch_fence_before_signal()                                                          \
	WEAKEN(FENCE, shmemd_arch_fence_before_signal(), weaken_fence(how_, SHMEMSIM_FENCE_RELEASE))
#define shmemd_arch_fence_before_arrival()                                                         \
	WEAKEN(FENCE_GPU, shmemd_arch_fence_before_arrival(),                                      \
	       weaken_fence(how_, SHMEMSIM_FENCE_RELEASE))
#define shmemd_arch_fence_order()                                                                  \
	WEAKEN(FENCE, shmemd_arch_fence_order(), weaken_fence(how_, SHMEMSIM_FENCE))
#define shmemd_arch_fence_before_publish()                                                         \
	WEAKEN(FENCE_GPU, shmemd_arch_fence_before_publish(),                                      \
	       weaken_fence(how_, SHMEMSIM_FENCE_RELEASE))
#define shmemd_arch_fence_before_record()                                                          \
	WEAKEN(FENCE, shmemd_arch_fence_before_record(), weaken_fence(how_, SHMEMSIM_FENCE_RELEASE))
#define shmemd_arch_fence_before_doorbell()                                                        \
	WEAKEN(FENCE, shmemd_arch_fence_before_doorbell(),                                         \
	       weaken_fence(how_, SHMEMSIM_FENCE_RELEASE))
#define shmemd_arch_fence_before_record_gpu()                                                      \
	WEAKEN(FENCE_GPU, shmemd_arch_fence_before_record_gpu(),                                   \
	       weaken_fence(how_, SHMEMSIM_FENCE_RELEASE))
#define shmemd_arch_fence_before_doorbell_gpu()                                                    \
	WEAKEN(FENCE_GPU, shmemd_arch_fence_before_doorbell_gpu(),                                 \
	       weaken_fence(how_, SHMEMSIM_FENCE_RELEASE))
#define shmemd_arch_fence_acquire()                                                                \
	WEAKEN(FENCE, shmemd_arch_fence_acquire(), weaken_fence(how_, SHMEMSIM_FENCE_ACQUIRE))
#define shmemd_arch_fence_quiet()                                                                  \
	WEAKEN(FENCE_SC, shmemd_arch_fence_quiet(), weaken_fence(how_, SHMEMSIM_FENCE_SC))
#define shmemd_arch_ld_acquire_u32(p)                                                              \
	WEAKEN(ACQUIRE, shmemd_arch_ld_acquire_u32(p), weaken_ld_u32(how_, p))
#define shmemd_arch_ld_acquire_u64(p)                                                              \
	WEAKEN(ACQUIRE, shmemd_arch_ld_acquire_u64(p), weaken_ld_u64(how_, p))
#define shmemd_arch_st_release_u32(p, v)                                                           \
	WEAKEN(RELEASE, shmemd_arch_st_release_u32(p, v), weaken_st_u32(how_, p, v))
#define shmemd_arch_st_release_u64(p, v)                                                           \
	WEAKEN(RELEASE, shmemd_arch_st_release_u64(p, v), weaken_st_u64(how_, p, v))
#define shmemd_arch_try_lock(p, seen)                                                              \
	WEAKEN(LOCK, shmemd_arch_try_lock(p, seen), weaken_try_lock(how_, p, seen))
#define shmemd_arch_unlock(p, v) WEAKEN(LOCK, shmemd_arch_unlock(p, v), weaken_unlock(how_, p, v))
#define shmemd_arch_syncwarp() WEAKEN(BARRIER, shmemd_arch_syncwarp(), weaken_syncwarp(how_))
#define shmemd_arch_syncwarp_mask(mask)                                                            \
	WEAKEN(BARRIER, shmemd_arch_syncwarp_mask(mask), weaken_syncwarp_mask(how_, mask))
#define shmemd_arch_bar_sync(id, n)                                                                \
	WEAKEN(BARRIER, shmemd_arch_bar_sync(id, n), (void)weaken_bar(how_, id, n, 0))
#define shmemd_arch_bar_or(id, n, pred)                                                            \
	WEAKEN(BARRIER, shmemd_arch_bar_or(id, n, pred), weaken_bar(how_, id, n, pred))

/* Groups: their calls are the barriers of the headers. */
#include <shmem_dev/group.h>

SHMEMD_FN int weaken_group(int how, shmemd_group_t g, int pred)
{
	if (how == WEAKEN_REMOVED || g.bar == SHMEMDI_BAR_NONE)
		return pred != 0;
	if (g.bar == SHMEMDI_BAR_WARP)
		return shmemd_arch_warp_any(pred);
	return weaken_meet(g.bar, g.size, pred);
}

#define shmemd_group_sync(g) WEAKEN(BARRIER, shmemd_group_sync(g), (void)weaken_group(how_, g, 0))
#define shmemd_group_any(g, pred)                                                                  \
	WEAKEN(BARRIER, shmemd_group_any(g, pred), weaken_group(how_, g, pred))

#endif
