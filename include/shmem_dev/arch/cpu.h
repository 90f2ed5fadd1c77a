/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CPU twin of cuda.h: the primitives of arch.h on top of the emulator (<shmem_sim.h>).
 *
 * Before every access shmemdi_cpu_hooked decides whether to call the emulator. If so, the emulator
 * may switch to another fiber, or, in weak-memory mode, let a load read an older value. If not, the
 * access costs only a predictable branch more. A store also sets a flag (shmemsim_wrote), after
 * which waiting fibers poll again. Memory itself always holds the newest value.
 *
 * Under thread sanitizer a fence by itself orders nothing (the sanitizer does not model fences).
 * Instead the emulator records the fence. After a fence that releases, the thread's strong stores
 * and atomics have release order until the thread writes weak data again; a fence that acquires
 * acquires the words that the thread has read relaxed. So a race is reported where a fence is
 * missing, unless the emulator acquires early (runtime/sim/access.c); where it is present, none. */
#ifndef SHMEMD_ARCH_CPU_H
#define SHMEMD_ARCH_CPU_H

#include <stddef.h>
#include <stdint.h>

#ifndef SHMEMD_FN
#define SHMEMD_FN static inline
#endif

/* Functions that cuda.h keeps out of line. */
#define SHMEMD_FN_ANY_PEER SHMEMD_FN
#define SHMEMD_FN_ANY_PEER_WAIT SHMEMD_FN
#define SHMEMD_FN_CALL SHMEMD_FN

#define SHMEMD_ARCH_INDIRECT(f) f

#define SHMEMD_ARCH_POLLS_PER_HOST_LOOK 64u
#define SHMEMD_ARCH_NO_UNROLL
#define SHMEMD_ARCH_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)
#define SHMEMD_ARCH_LIKELY(condition) __builtin_expect((condition) != 0, 1)

#if defined(__SANITIZE_THREAD__)
#define SHMEMDI_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHMEMDI_CPU_TSAN 1
#endif
#endif
#ifndef SHMEMDI_CPU_TSAN
#define SHMEMDI_CPU_TSAN 0
#endif

#ifndef SHMEMSIM_API
#define SHMEMSIM_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The emulator's entry points that inline code calls. Users find theirs in <shmem_sim.h>. */

/* The calling thread's place in its grid; on a host thread: thread 0 of 1 in block 0 of 1. */
typedef struct shmemsim_thread {
	uint32_t tid, ntids, block, nblocks;  /* linear, x fastest */
	uint32_t block_dim[3], grid_dim[3];   /* x, y, z */
	uint32_t thread_idx[3], block_idx[3]; /* x, y, z */
} shmemsim_thread_t;

SHMEMSIM_API extern const shmemsim_thread_t *shmemsim_self;
SHMEMSIM_API extern uint32_t shmemsim_hooks; /* not 0: each access calls shmemsim_access */
/* Set by each store and each atomic that changes its word, but not for a lock alone; the scheduler
 * clears it. */
SHMEMSIM_API extern uint32_t shmemsim_wrote;

enum shmemsim_access {
	SHMEMSIM_LD_DATA,
	SHMEMSIM_LD_RELAXED,
	SHMEMSIM_LD_ACQUIRE,
	SHMEMSIM_ST_DATA, /* from here to RMW: writes */
	SHMEMSIM_ST_RELAXED,
	SHMEMSIM_ST_RELEASE,
	SHMEMSIM_RMW,           /* relaxed */
	SHMEMSIM_FENCE,         /* acquire and release */
	SHMEMSIM_FENCE_ACQUIRE, /* acquire alone */
	SHMEMSIM_FENCE_RELEASE, /* release alone */
	SHMEMSIM_FENCE_SC,      /* sequentially consistent */
};

/* Scope, added to an access; none: system. */
#define SHMEMSIM_SCOPE_GPU 0x100
#define SHMEMSIM_SCOPE_CTA 0x200
/* Added to a load, with weak memory: if an older value could be read too, the run fails. For a
 * reader that relies on the writer's fences. */
#define SHMEMSIM_ORDERED 0x400
/* Added to a store: it only releases a lock, so threads that poll need not look again. */
#define SHMEMSIM_NO_NEWS 0x800

#define SHMEMSIM_AS_RELEASE 1 /* do the access with release order (thread sanitizer, see above) */
#define SHMEMSIM_GIVEN 2      /* the value of this load is already in *value */

/* About to access nbytes at p. May switch to other fibers. value: of a store, what will be written;
 * of a load, where SHMEMSIM_GIVEN puts it; of others NULL. Returns 0 or one of the above. */
SHMEMSIM_API int shmemsim_access(const void *p, uint32_t nbytes, int access, void *value);
/* The atomic announced last is done; is_written: 0 if a compare failed. */
SHMEMSIM_API void shmemsim_updated(const void *p, uint32_t nbytes, int access, int is_written);
/* shmemsim_wrote |= is_changed, where thread sanitizer must not see it. */
SHMEMSIM_API void shmemsim_changed(int is_changed);

enum shmemsim_coll {
	SHMEMSIM_SYNCWARP,
	SHMEMSIM_SHFL,      /* arg: source lane */
	SHMEMSIM_SHFL_UP,   /* arg: distance */
	SHMEMSIM_SHFL_DOWN, /* arg: distance */
	SHMEMSIM_SHFL_XOR,  /* arg: lane mask */
	SHMEMSIM_BALLOT,    /* any and all are made from it */
	SHMEMSIM_MATCH_ANY,
	SHMEMSIM_MATCH_ALL, /* 0 if the values differ */
	SHMEMSIM_REDUCE_ADD,
	SHMEMSIM_REDUCE_MIN,
	SHMEMSIM_REDUCE_MAX,
	SHMEMSIM_REDUCE_AND,
	SHMEMSIM_REDUCE_OR,
	SHMEMSIM_REDUCE_XOR,
};

/* Warp collective of the lanes in mask. width: lanes per segment of a shuffle, power of two. */
SHMEMSIM_API uint64_t shmemsim_coll(int coll, uint32_t mask, uint64_t value, uint32_t arg,
				    uint32_t width);
/* Block barrier id of nthreads (0: all threads that have not exited); returns how many of them
 * passed a pred. site: file and line, or NULL; two different sites at one barrier are an error. */
SHMEMSIM_API int shmemsim_bar(uint32_t id, uint32_t nthreads, int pred, const char *site);
/* Lanes of this warp that happen to be converged at this site. */
SHMEMSIM_API uint32_t shmemsim_activemask(const char *site);
/* Body of a poll loop: runs others until something was written or time went on. */
SHMEMSIM_API void shmemsim_spin(void);
SHMEMSIM_API uint64_t shmemsim_now(void); /* nanoseconds; virtual, or CLOCK_MONOTONIC */

/* Start a kernel of n_blocks x n_threads; params are copied. Returns 0, or 1 with a line in
 * shmemsim_report(): at once, but in process mode when its threads have ended or only poll. Kernels
 * of one stream (any pointer; NULL is one too) run in order. */
SHMEMSIM_API int shmemsim_launch(void (*kernel)(const void *params), const void *params,
				 size_t params_nbytes, uint32_t n_blocks, uint32_t n_threads,
				 size_t shared_nbytes, void *stream);
/* Wait until the stream's kernels ended. Returns 0, or 1 if the emulator stopped them (report). */
SHMEMSIM_API int shmemsim_sync(void *stream);
/* Block scratch: the same nbytes for all threads of a block that pass the same key. */
SHMEMSIM_API void *shmemsim_shared(const void *key, size_t nbytes);
SHMEMSIM_API void *shmemsim_dynamic_shared(void);

#ifdef __cplusplus
}
#endif

/* Must the emulator see this access? */
SHMEMD_FN int shmemdi_cpu_hooked(void)
{
#if SHMEMDI_CPU_TSAN
	return 1;
#else
	return __builtin_expect(shmemsim_hooks != 0, 0) != 0;
#endif
}

/* A store is about to be done. */
SHMEMD_FN void shmemdi_cpu_wrote(void)
{
#if !SHMEMDI_CPU_TSAN /* there shmemsim_access does it */
	shmemsim_wrote = 1;
#endif
}

SHMEMD_FN int shmemdi_cpu_before_rmw(const void *p, uint32_t nbytes, int access)
{
	return shmemdi_cpu_hooked() ? shmemsim_access(p, nbytes, access, NULL) : 0;
}

/* An atomic is done. One that did not change its word must not count as news: a loop that polls
 * with atomics would keep all waiting fibers awake, and a livelock would never be seen. */
SHMEMD_FN void shmemdi_cpu_after_rmw(const void *p, uint32_t nbytes, int access, int is_written,
				     int is_changed)
{
#if SHMEMDI_CPU_TSAN
	shmemsim_changed(is_changed);
#else
	shmemsim_wrote |= (uint32_t)is_changed;
#endif
	if (shmemdi_cpu_hooked())
		shmemsim_updated(p, nbytes, access, is_written);
}

/* 1. Identity */

SHMEMD_FN uint32_t shmemd_arch_tid(void)
{
	return shmemsim_self->tid;
}

SHMEMD_FN uint32_t shmemd_arch_ntids(void)
{
	return shmemsim_self->ntids;
}

SHMEMD_FN int shmemd_arch_is_first(void)
{
	return shmemd_arch_tid() == 0;
}

SHMEMD_FN int shmemd_arch_may_end_block(void)
{
	return shmemd_arch_tid() + 1 == shmemd_arch_ntids();
}

SHMEMD_FN uint32_t shmemd_arch_lane(void)
{
	return shmemsim_self->tid % 32;
}

SHMEMD_FN uint32_t shmemd_arch_block(void)
{
	return shmemsim_self->block;
}

SHMEMD_FN uint32_t shmemd_arch_nblocks(void)
{
	return shmemsim_self->nblocks;
}

/* 2. Bulk data. The types may alias whatever type the user's arrays have. */

typedef struct shmemd_v16 {
	uint64_t lo, hi; /* moved, never looked into */
} __attribute__((__may_alias__, __aligned__(16))) shmemd_v16_t;

typedef uint8_t __attribute__((__may_alias__)) shmemdi_cpu_u8;
typedef uint16_t __attribute__((__may_alias__)) shmemdi_cpu_u16;
typedef uint32_t __attribute__((__may_alias__)) shmemdi_cpu_u32;
typedef uint64_t __attribute__((__may_alias__)) shmemdi_cpu_u64;

#define SHMEMDI_CPU_DATA(N, T, A)                                                                  \
	SHMEMD_FN T shmemd_arch_ld_data_##N(const void *p)                                         \
	{                                                                                          \
		if (shmemdi_cpu_hooked()) {                                                        \
			T given;                                                                   \
			if (shmemsim_access(p, sizeof(T), SHMEMSIM_LD_DATA, &given) ==             \
			    SHMEMSIM_GIVEN)                                                        \
				return given;                                                      \
		}                                                                                  \
		return *(const A *)p;                                                              \
	}                                                                                          \
	SHMEMD_FN void shmemd_arch_st_data_##N(void *p, T v)                                       \
	{                                                                                          \
		if (shmemdi_cpu_hooked()) {                                                        \
			T shown = v;                                                               \
			(void)shmemsim_access(p, sizeof(T), SHMEMSIM_ST_DATA, &shown);             \
		}                                                                                  \
		shmemdi_cpu_wrote();                                                               \
		*(A *)p = v;                                                                       \
	}

SHMEMDI_CPU_DATA(u8, uint8_t, shmemdi_cpu_u8)
SHMEMDI_CPU_DATA(u32, uint32_t, shmemdi_cpu_u32)
SHMEMDI_CPU_DATA(u64, uint64_t, shmemdi_cpu_u64)
SHMEMDI_CPU_DATA(v16, shmemd_v16_t, shmemd_v16_t)
#undef SHMEMDI_CPU_DATA

/* 3. Strong accesses */

#define SHMEMDI_CPU_LOAD(NAME, T, A, ACCESS, ORDER)                                                \
	SHMEMD_FN T shmemd_arch_ld_##NAME(const void *p)                                           \
	{                                                                                          \
		if (shmemdi_cpu_hooked()) {                                                        \
			T given;                                                                   \
			if (shmemsim_access(p, sizeof(T), ACCESS, &given) == SHMEMSIM_GIVEN)       \
				return given;                                                      \
		}                                                                                  \
		return __atomic_load_n((const A *)p, ORDER);                                       \
	}
#define SHMEMDI_CPU_STORE(NAME, T, A, ACCESS, ORDER)                                               \
	SHMEMD_FN void shmemd_arch_st_##NAME(void *p, T v)                                         \
	{                                                                                          \
		int how = 0;                                                                       \
		if (shmemdi_cpu_hooked()) {                                                        \
			T shown = v;                                                               \
			how = shmemsim_access(p, sizeof(T), ACCESS, &shown);                       \
		}                                                                                  \
		shmemdi_cpu_wrote();                                                               \
		if (how == SHMEMSIM_AS_RELEASE)                                                    \
			__atomic_store_n((A *)p, v, __ATOMIC_RELEASE);                             \
		else                                                                               \
			__atomic_store_n((A *)p, v, ORDER);                                        \
	}
#define SHMEMDI_CPU_RELAXED(N, T, A)                                                               \
	SHMEMDI_CPU_LOAD(relaxed_##N, T, A, SHMEMSIM_LD_RELAXED, __ATOMIC_RELAXED)                 \
	SHMEMDI_CPU_STORE(relaxed_##N, T, A, SHMEMSIM_ST_RELAXED, __ATOMIC_RELAXED)

SHMEMDI_CPU_RELAXED(u8, uint8_t, shmemdi_cpu_u8)
SHMEMDI_CPU_RELAXED(u16, uint16_t, shmemdi_cpu_u16)
SHMEMDI_CPU_RELAXED(u32, uint32_t, shmemdi_cpu_u32)
SHMEMDI_CPU_RELAXED(u64, uint64_t, shmemdi_cpu_u64)
SHMEMDI_CPU_LOAD(mmio_u64, uint64_t, shmemdi_cpu_u64, SHMEMSIM_LD_RELAXED, __ATOMIC_RELAXED)
SHMEMDI_CPU_STORE(mmio_u64, uint64_t, shmemdi_cpu_u64, SHMEMSIM_ST_RELAXED, __ATOMIC_RELAXED)
SHMEMDI_CPU_LOAD(acquire_u32, uint32_t, shmemdi_cpu_u32, SHMEMSIM_LD_ACQUIRE, __ATOMIC_ACQUIRE)
SHMEMDI_CPU_LOAD(acquire_u64, uint64_t, shmemdi_cpu_u64, SHMEMSIM_LD_ACQUIRE, __ATOMIC_ACQUIRE)
SHMEMDI_CPU_STORE(release_u32, uint32_t, shmemdi_cpu_u32, SHMEMSIM_ST_RELEASE, __ATOMIC_RELEASE)
SHMEMDI_CPU_STORE(release_u64, uint64_t, shmemdi_cpu_u64, SHMEMSIM_ST_RELEASE, __ATOMIC_RELEASE)
#undef SHMEMDI_CPU_LOAD
#undef SHMEMDI_CPU_STORE
#undef SHMEMDI_CPU_RELAXED

typedef struct shmemd_2u64 {
	uint64_t lo, hi;
} shmemd_2u64_t;

/* Two accesses, so that the emulator may put other threads' stores between them. */
SHMEMD_FN shmemd_2u64_t shmemd_arch_ld_relaxed_2u64(const void *p)
{
	shmemd_2u64_t v = {shmemd_arch_ld_relaxed_u64(p), 0};
	v.hi = shmemd_arch_ld_relaxed_u64((const char *)p + 8);
	return v;
}

SHMEMD_FN void shmemd_arch_st_relaxed_2u64(void *p, uint64_t lo, uint64_t hi)
{
	shmemd_arch_st_relaxed_u64((char *)p + 8, hi);
	shmemd_arch_st_relaxed_u64(p, lo);
}

/* 4. Fences. Between processes the memory is really shared: the CPU's fences count there. */

SHMEMD_FN void shmemdi_cpu_fence(int access)
{
	if (shmemdi_cpu_hooked())
		(void)shmemsim_access(NULL, 0, access, NULL);
#if !SHMEMDI_CPU_TSAN
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#define SHMEMDI_CPU_RELEASE(use, scope)                                                            \
	SHMEMD_FN void shmemd_arch_fence_before_##use(void)                                        \
	{                                                                                          \
		shmemdi_cpu_fence(SHMEMSIM_FENCE_RELEASE | (scope));                               \
	}

SHMEMDI_CPU_RELEASE(signal, 0)
SHMEMDI_CPU_RELEASE(arrival, SHMEMSIM_SCOPE_GPU)
SHMEMDI_CPU_RELEASE(publish, SHMEMSIM_SCOPE_GPU)
SHMEMDI_CPU_RELEASE(record, 0)
SHMEMDI_CPU_RELEASE(doorbell, 0)
SHMEMDI_CPU_RELEASE(record_gpu, SHMEMSIM_SCOPE_GPU)
SHMEMDI_CPU_RELEASE(doorbell_gpu, SHMEMSIM_SCOPE_GPU)
#undef SHMEMDI_CPU_RELEASE

SHMEMD_FN void shmemd_arch_fence_order(void)
{
	shmemdi_cpu_fence(SHMEMSIM_FENCE);
}

SHMEMD_FN void shmemd_arch_fence_quiet(void)
{
	shmemdi_cpu_fence(SHMEMSIM_FENCE_SC);
}

SHMEMD_FN void shmemd_arch_fence_acquire(void)
{
	shmemdi_cpu_fence(SHMEMSIM_FENCE_ACQUIRE);
}

/* 5. Atomics */

#define SHMEMDI_CPU_ATOM(OP, BUILTIN, NEW, N, T, A)                                                \
	SHMEMD_FN T shmemd_arch_atom_##OP##_##N(void *p, T v)                                      \
	{                                                                                          \
		T old;                                                                             \
		if (shmemdi_cpu_before_rmw(p, sizeof(T), SHMEMSIM_RMW))                            \
			old = BUILTIN((A *)p, v, __ATOMIC_RELEASE);                                \
		else                                                                               \
			old = BUILTIN((A *)p, v, __ATOMIC_RELAXED);                                \
		shmemdi_cpu_after_rmw(p, sizeof(T), SHMEMSIM_RMW, 1, (NEW) != old);                \
		return old;                                                                        \
	}
#define SHMEMDI_CPU_RED(OP, N, T)                                                                  \
	SHMEMD_FN void shmemd_arch_red_##OP##_##N(void *p, T v)                                    \
	{                                                                                          \
		(void)shmemd_arch_atom_##OP##_##N(p, v);                                           \
	}
#define SHMEMDI_CPU_SWAP(A, p, old, v, RELEASE)                                                    \
	((RELEASE) ? __atomic_compare_exchange_n((A *)(p), (old), (v), 0, __ATOMIC_RELEASE,        \
						 __ATOMIC_RELAXED)                                 \
		   : __atomic_compare_exchange_n((A *)(p), (old), (v), 0, __ATOMIC_RELAXED,        \
						 __ATOMIC_RELAXED))
#define SHMEMDI_CPU_CAS(N, T, A)                                                                   \
	SHMEMD_FN T shmemd_arch_atom_cas_##N(void *p, T cond, T v)                                 \
	{                                                                                          \
		int release = shmemdi_cpu_before_rmw(p, sizeof(T), SHMEMSIM_RMW);                  \
		T old = cond;                                                                      \
		int swapped = SHMEMDI_CPU_SWAP(A, p, &old, v, release);                            \
		shmemdi_cpu_after_rmw(p, sizeof(T), SHMEMSIM_RMW, swapped,                         \
				      swapped ? cond != v : 0);                                    \
		return old;                                                                        \
	}
#define SHMEMDI_CPU_ATOMICS(N, T, A)                                                               \
	SHMEMDI_CPU_ATOM(add, __atomic_fetch_add, (T)(old + v), N, T, A)                           \
	SHMEMDI_CPU_ATOM(and, __atomic_fetch_and, (old & v), N, T, A)                              \
	SHMEMDI_CPU_ATOM(or, __atomic_fetch_or, (old | v), N, T, A)                                \
	SHMEMDI_CPU_ATOM(xor, __atomic_fetch_xor, (old ^ v), N, T, A)                              \
	SHMEMDI_CPU_ATOM(exch, __atomic_exchange_n, v, N, T, A)                                    \
	SHMEMDI_CPU_CAS(N, T, A)                                                                   \
	SHMEMDI_CPU_RED(add, N, T)                                                                 \
	SHMEMDI_CPU_RED(and, N, T)                                                                 \
	SHMEMDI_CPU_RED(or, N, T)                                                                  \
	SHMEMDI_CPU_RED(xor, N, T)

SHMEMDI_CPU_ATOMICS(u32, uint32_t, shmemdi_cpu_u32)
SHMEMDI_CPU_ATOMICS(u64, uint64_t, shmemdi_cpu_u64)

/* Taking the lock is no news, nor giving it back with nothing else changed: see after_rmw. */
SHMEMD_FN int shmemdi_cpu_try_lock(uint64_t *p, uint64_t seen)
{
	int release = shmemdi_cpu_before_rmw(p, sizeof(seen), SHMEMSIM_RMW);
	uint64_t old = seen;
	int is_taken = SHMEMDI_CPU_SWAP(shmemdi_cpu_u64, p, &old, seen | 1, release);
	shmemdi_cpu_after_rmw(p, sizeof(seen), SHMEMSIM_RMW, is_taken, 0);
	return is_taken;
}

/* Acquire the word alone, as atom.acquire does. A fence would acquire other words, too. */
SHMEMD_FN void shmemdi_cpu_acquire_lock(const uint64_t *p, int access)
{
	uint64_t given;

	if (shmemdi_cpu_hooked())
		(void)shmemsim_access(p, sizeof(given), access, &given);
	(void)__atomic_load_n((const shmemdi_cpu_u64 *)p, __ATOMIC_ACQUIRE);
}

SHMEMD_FN int shmemd_arch_try_lock(uint64_t *p, uint64_t seen)
{
	int is_taken = shmemdi_cpu_try_lock(p, seen);
	if (is_taken)
		shmemdi_cpu_acquire_lock(p, SHMEMSIM_LD_ACQUIRE | SHMEMSIM_SCOPE_GPU);
	return is_taken;
}

SHMEMD_FN void shmemdi_cpu_unlock(uint64_t *p, uint64_t v, int access)
{
	int is_news = (v | 1) != __atomic_load_n((shmemdi_cpu_u64 *)p, __ATOMIC_RELAXED);
	if (shmemdi_cpu_hooked()) {
		uint64_t shown = v;
		(void)shmemsim_access(p, sizeof(v), access | (is_news ? 0 : SHMEMSIM_NO_NEWS),
				      &shown);
	}
	if (is_news)
		shmemdi_cpu_wrote();
	__atomic_store_n((shmemdi_cpu_u64 *)p, v, __ATOMIC_RELEASE);
}

SHMEMD_FN void shmemd_arch_unlock(uint64_t *p, uint64_t v)
{
	shmemdi_cpu_unlock(p, v, SHMEMSIM_ST_RELEASE | SHMEMSIM_SCOPE_GPU);
}

/* One scheduling point, then a loop that cannot be interrupted by another fiber: one atomic. */
#define SHMEMDI_CPU_FLOAT_ADD(N, F, T, A)                                                          \
	SHMEMD_FN F shmemd_arch_atom_add_##N(void *p, F v)                                         \
	{                                                                                          \
		int release = shmemdi_cpu_before_rmw(p, sizeof(T), SHMEMSIM_RMW);                  \
		union {                                                                            \
			F f;                                                                       \
			T u;                                                                       \
		} old, sum;                                                                        \
		old.u = __atomic_load_n((A *)p, __ATOMIC_RELAXED);                                 \
		do                                                                                 \
			sum.f = old.f + v;                                                         \
		while (!SHMEMDI_CPU_SWAP(A, p, &old.u, sum.u, release));                           \
		shmemdi_cpu_after_rmw(p, sizeof(T), SHMEMSIM_RMW, 1, sum.u != old.u);              \
		return old.f;                                                                      \
	}                                                                                          \
	SHMEMDI_CPU_RED(add, N, F)

SHMEMDI_CPU_FLOAT_ADD(f32, float, uint32_t, shmemdi_cpu_u32)
SHMEMDI_CPU_FLOAT_ADD(f64, double, uint64_t, shmemdi_cpu_u64)
#undef SHMEMDI_CPU_ATOM
#undef SHMEMDI_CPU_RED
#undef SHMEMDI_CPU_SWAP
#undef SHMEMDI_CPU_CAS
#undef SHMEMDI_CPU_ATOMICS
#undef SHMEMDI_CPU_FLOAT_ADD

/* 6. Threads of one block */

SHMEMD_FN void shmemd_arch_syncwarp(void)
{
	(void)shmemsim_coll(SHMEMSIM_SYNCWARP, 0xffffffffu, 0, 0, 32);
}

SHMEMD_FN int shmemd_arch_warp_any(int pred)
{
	return shmemsim_coll(SHMEMSIM_BALLOT, 0xffffffffu, pred != 0, 0, 32) != 0;
}

SHMEMD_FN void shmemd_arch_bar_sync(uint32_t id, uint32_t nthreads)
{
	(void)shmemsim_bar(id, nthreads, 0, NULL);
}

SHMEMD_FN int shmemd_arch_bar_or(uint32_t id, uint32_t nthreads, int pred)
{
	return shmemsim_bar(id, nthreads, pred, NULL) != 0;
}

/* Lanes are converged only at one place of the source: a macro, so that it names the caller's. */
#define SHMEMD_ARCH_SITE_OF(file, line) file ":" #line
#define SHMEMD_ARCH_SITE(file, line) SHMEMD_ARCH_SITE_OF(file, line)
#define shmemd_arch_activemask() shmemsim_activemask(SHMEMD_ARCH_SITE(__FILE__, __LINE__))

SHMEMD_FN int shmemd_arch_is_alone(void)
{
	uint32_t active = shmemsim_activemask("shmem_dev, alone");
	return (active & (active - 1)) == 0;
}

SHMEMD_FN uint32_t shmemd_arch_match_any(uint32_t mask, uint64_t v)
{
	return (uint32_t)shmemsim_coll(SHMEMSIM_MATCH_ANY, mask, v, 0, 32);
}

SHMEMD_FN uint64_t shmemd_arch_shfl_u64(uint32_t mask, uint64_t v, uint32_t lane)
{
	return shmemsim_coll(SHMEMSIM_SHFL, mask, v, lane, 32);
}

SHMEMD_FN void shmemd_arch_syncwarp_mask(uint32_t mask)
{
	(void)shmemsim_coll(SHMEMSIM_SYNCWARP, mask, 0, 0, 32);
}

/* 7. Time and waiting */

SHMEMD_FN uint64_t shmemd_arch_time_ns(void)
{
	return shmemsim_now();
}

SHMEMD_FN void shmemd_arch_spin_hint(void)
{
	shmemsim_spin();
}

/* 8. Queues of a NIC */

SHMEMD_FN void shmemd_arch_st_wqe(void *p, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
{
	shmemd_v16_t v = {(uint64_t)w1 << 32 | w0, (uint64_t)w3 << 32 | w2};
	shmemd_arch_st_data_v16(p, v);
}

/* 9. Bits, and the compiler */

#include <shmem_dev/arch/cpu_bits.h>

#endif
