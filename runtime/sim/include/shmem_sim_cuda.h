/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CUDA dialect on the emulator: define SHMEMSIM_CUDA_DIALECT, include <shmem_sim.h>, and
 * kernels may use the usual CUDA names, in C11 and C++17 (gcc, clang).
 *
 * Differences from CUDA
 *   - gcc cannot parse <<<>>>. In C a kernel takes `const void *params` and is started with
 *     shmemsim_launch or shmemsim_launch_3d; in C++ shmemsim_launch_cuda takes any arguments.
 *   - __shared__ cannot be emulated, since blocks of one grid share a thread of the CPU; the
 *     compiler says what to write: `SHMEMSIM_SHARED(type, n, name);` declares `type *name`, n
 *     elements of block scratch.
 *   - Parameters may be const __grid_constant__, among them a context; kernels may be templates.
 *   - Accesses to ordinary variables and (without weak memory) fences are not scheduling points;
 *     atomics and collectives are.
 */
#ifndef SHMEM_SIM_CUDA_H
#define SHMEM_SIM_CUDA_H

#include <shmem_dev/arch/cpu.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __shared__ _Pragma("GCC error \"__shared__: write SHMEMSIM_SHARED(type, n, name);\"")
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define warpSize 32

#define SHMEMSIM_TEXT_(x) #x
#define SHMEMSIM_TEXT(x) SHMEMSIM_TEXT_(x)
#define SHMEMSIM_HERE __FILE__ ":" SHMEMSIM_TEXT(__LINE__)

/* Identity */

typedef struct dim3 {
	uint32_t x, y, z;
#ifdef __cplusplus
	constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
#endif
} dim3;

static inline dim3 shmemsim_dim3(const uint32_t v[3])
{
	dim3 d = {v[0], v[1], v[2]};
	return d;
}

#define threadIdx shmemsim_dim3(shmemsim_self->thread_idx)
#define blockIdx shmemsim_dim3(shmemsim_self->block_idx)
#define blockDim shmemsim_dim3(shmemsim_self->block_dim)
#define gridDim shmemsim_dim3(shmemsim_self->grid_dim)

#define SHMEMSIM_SHARED(type, n, name)                                                             \
	static const char name##_key = 0;                                                          \
	type *name = (type *)shmemsim_shared(&name##_key, (size_t)(n) * sizeof(type))

/* Barriers. Different call sites at one __syncthreads are an error, as in CUDA. */

#define __syncthreads() ((void)shmemsim_bar(0, 0, 0, SHMEMSIM_HERE))
#define __syncthreads_or(pred) shmemsim_bar(0, 0, (pred) != 0, SHMEMSIM_HERE)
#define __syncthreads_and(pred) (!shmemsim_bar(0, 0, !(pred), SHMEMSIM_HERE))
#define __activemask() shmemsim_activemask(SHMEMSIM_HERE)

/* Warp collectives. The last argument of __syncwarp and of shuffles may be left out. */

#define __syncwarp(...)                                                                            \
	((void)shmemsim_coll(SHMEMSIM_SYNCWARP,                                                    \
			     sizeof(#__VA_ARGS__) == 1 ? 0xffffffffu : (__VA_ARGS__ + 0u), 0, 0,   \
			     32))

#define __ballot_sync(mask, pred)                                                                  \
	((uint32_t)shmemsim_coll(SHMEMSIM_BALLOT, (mask), (pred) != 0, 0, 32))
#define __any_sync(mask, pred) (__ballot_sync(mask, pred) != 0)
#define __all_sync(mask, pred) (__ballot_sync(mask, !(pred)) == 0)

/* v + 0 has the type of v without const. */
#define SHMEMSIM_BITS(v)                                                                           \
	__extension__({                                                                            \
		__typeof__((v) + 0) bits_from = (v);                                               \
		uint64_t bits_to = 0;                                                              \
		__builtin_memcpy(&bits_to, &bits_from, sizeof(bits_from));                         \
		bits_to;                                                                           \
	})
#define SHMEMSIM_SHUFFLE(coll, mask, v, arg, width, ...)                                           \
	__extension__({                                                                            \
		__typeof__((v) + 0) shuffled;                                                      \
		uint64_t shuffled_bits = shmemsim_coll((coll), (mask), SHMEMSIM_BITS(v),           \
						       (uint32_t)(arg), (uint32_t)(width));        \
		__builtin_memcpy(&shuffled, &shuffled_bits, sizeof(shuffled));                     \
		shuffled;                                                                          \
	})
#define __shfl_sync(mask, v, ...) SHMEMSIM_SHUFFLE(SHMEMSIM_SHFL, mask, v, __VA_ARGS__, 32, 0)
#define __shfl_up_sync(mask, v, ...) SHMEMSIM_SHUFFLE(SHMEMSIM_SHFL_UP, mask, v, __VA_ARGS__, 32, 0)
#define __shfl_down_sync(mask, v, ...)                                                             \
	SHMEMSIM_SHUFFLE(SHMEMSIM_SHFL_DOWN, mask, v, __VA_ARGS__, 32, 0)
#define __shfl_xor_sync(mask, v, ...)                                                              \
	SHMEMSIM_SHUFFLE(SHMEMSIM_SHFL_XOR, mask, v, __VA_ARGS__, 32, 0)

#define __match_any_sync(mask, v)                                                                  \
	((uint32_t)shmemsim_coll(SHMEMSIM_MATCH_ANY, (mask), SHMEMSIM_BITS(v), 0, 32))
#define __match_all_sync(mask, v, pred)                                                            \
	shmemsim_match_all(                                                                        \
		(uint32_t)shmemsim_coll(SHMEMSIM_MATCH_ALL, (mask), SHMEMSIM_BITS(v), 0, 32),      \
		(pred))

static inline uint32_t shmemsim_match_all(uint32_t lanes, int *pred)
{
	*pred = lanes != 0;
	return lanes;
}

#define SHMEMSIM_REDUCE(coll, mask, v)                                                             \
	((uint32_t)shmemsim_coll((coll), (mask), (uint32_t)(v), 0, 32))
#define __reduce_add_sync(mask, v) SHMEMSIM_REDUCE(SHMEMSIM_REDUCE_ADD, mask, v)
#define __reduce_and_sync(mask, v) SHMEMSIM_REDUCE(SHMEMSIM_REDUCE_AND, mask, v)
#define __reduce_or_sync(mask, v) SHMEMSIM_REDUCE(SHMEMSIM_REDUCE_OR, mask, v)
#define __reduce_xor_sync(mask, v) SHMEMSIM_REDUCE(SHMEMSIM_REDUCE_XOR, mask, v)
#define __reduce_min_sync(mask, v) SHMEMSIM_REDUCE(SHMEMSIM_REDUCE_MIN, mask, v) /* unsigned */
#define __reduce_max_sync(mask, v) SHMEMSIM_REDUCE(SHMEMSIM_REDUCE_MAX, mask, v) /* unsigned */

/* Fences, time, bits */

#define __threadfence() shmemdi_cpu_fence(SHMEMSIM_FENCE_SC | SHMEMSIM_SCOPE_GPU)
#define __threadfence_block() shmemdi_cpu_fence(SHMEMSIM_FENCE_SC | SHMEMSIM_SCOPE_CTA)
#define __threadfence_system() shmemdi_cpu_fence(SHMEMSIM_FENCE_SC)
#define __nanosleep(ns) shmemsim_sleep(ns)
#define clock64() ((long long)shmemsim_now())
#define __popc(x) __builtin_popcount(x)
#define __ffs(x) __builtin_ffs((int)(x))
#define __clz(x) ((x) ? __builtin_clz((unsigned)(x)) : 32)

/* Atomics: relaxed, GPU scope, as in CUDA. Each is one scheduling point. */

#define SHMEMSIM_ATOMIC_ACCESS (SHMEMSIM_RMW | SHMEMSIM_SCOPE_GPU)

#define SHMEMSIM_ATOMIC(NAME, T, NEW)                                                              \
	static inline T NAME(T *p, T v)                                                            \
	{                                                                                          \
		int order = shmemdi_cpu_before_rmw(p, sizeof(T), SHMEMSIM_ATOMIC_ACCESS)           \
				    ? __ATOMIC_RELEASE                                             \
				    : __ATOMIC_RELAXED;                                            \
		T old, next;                                                                       \
		__atomic_load(p, &old, __ATOMIC_RELAXED);                                          \
		do                                                                                 \
			next = (T)(NEW);                                                           \
		while (order == __ATOMIC_RELEASE                                                   \
			       ? !__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELEASE,   \
							    __ATOMIC_RELAXED)                      \
			       : !__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELAXED,   \
							    __ATOMIC_RELAXED));                    \
		shmemdi_cpu_after_rmw(p, sizeof(T), SHMEMSIM_ATOMIC_ACCESS, 1,                     \
				      __builtin_memcmp(&old, &next, sizeof(T)) != 0);              \
		return old;                                                                        \
	}
#define SHMEMSIM_ATOMIC_CAS(NAME, T)                                                               \
	static inline T NAME(T *p, T cond, T v)                                                    \
	{                                                                                          \
		int release = shmemdi_cpu_before_rmw(p, sizeof(T), SHMEMSIM_ATOMIC_ACCESS);        \
		T old = cond;                                                                      \
		int is_swapped =                                                                   \
			release ? __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELEASE,     \
							      __ATOMIC_RELAXED)                    \
				: __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED,     \
							      __ATOMIC_RELAXED);                   \
		shmemdi_cpu_after_rmw(p, sizeof(T), SHMEMSIM_ATOMIC_ACCESS, is_swapped,            \
				      is_swapped &&cond != v ? 1 : 0);                             \
		return old;                                                                        \
	}

/* C++ overloads the CUDA names; C selects a function with a type's suffix. */
#ifdef __cplusplus
#define SHMEMSIM_NAME(op, S) op
#else
#define SHMEMSIM_NAME(op, S) shmemsim_##op##_##S
#endif

#define SHMEMSIM_ATOMICS_ANY(S, T)                                                                 \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicAdd, S), T, old + v)                                   \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicExch, S), T, v)
#define SHMEMSIM_ATOMICS_INT(S, T)                                                                 \
	SHMEMSIM_ATOMICS_ANY(S, T)                                                                 \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicSub, S), T, old - v)                                   \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicMin, S), T, v < old ? v : old)                         \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicMax, S), T, v > old ? v : old)                         \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicAnd, S), T, old &v)                                    \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicOr, S), T, old | v)                                    \
	SHMEMSIM_ATOMIC(SHMEMSIM_NAME(atomicXor, S), T, old ^ v)                                   \
	SHMEMSIM_ATOMIC_CAS(SHMEMSIM_NAME(atomicCAS, S), T)

SHMEMSIM_ATOMICS_INT(i, int)
SHMEMSIM_ATOMICS_INT(u, unsigned)
SHMEMSIM_ATOMICS_INT(l, long)
SHMEMSIM_ATOMICS_INT(ul, unsigned long)
SHMEMSIM_ATOMICS_INT(ll, long long)
SHMEMSIM_ATOMICS_INT(ull, unsigned long long)
SHMEMSIM_ATOMICS_ANY(f, float)
SHMEMSIM_ATOMICS_ANY(d, double)

#ifndef __cplusplus
#define SHMEMSIM_SELECT_INT(op)                                                                    \
	int : shmemsim_##op##_i,                                                                   \
	      unsigned : shmemsim_##op##_u,                                                        \
			 long : shmemsim_##op##_l,                                                 \
				unsigned long : shmemsim_##op##_ul,                                \
						long long : shmemsim_##op##_ll,                    \
							    unsigned long long                     \
	    : shmemsim_##op##_ull
#define SHMEMSIM_SELECT_ANY(op)                                                                    \
	SHMEMSIM_SELECT_INT(op), float : shmemsim_##op##_f, double : shmemsim_##op##_d

#define atomicAdd(p, v) _Generic(*(p), SHMEMSIM_SELECT_ANY(atomicAdd))((p), (v))
#define atomicExch(p, v) _Generic(*(p), SHMEMSIM_SELECT_ANY(atomicExch))((p), (v))
#define atomicSub(p, v) _Generic(*(p), SHMEMSIM_SELECT_INT(atomicSub))((p), (v))
#define atomicMin(p, v) _Generic(*(p), SHMEMSIM_SELECT_INT(atomicMin))((p), (v))
#define atomicMax(p, v) _Generic(*(p), SHMEMSIM_SELECT_INT(atomicMax))((p), (v))
#define atomicAnd(p, v) _Generic(*(p), SHMEMSIM_SELECT_INT(atomicAnd))((p), (v))
#define atomicOr(p, v) _Generic(*(p), SHMEMSIM_SELECT_INT(atomicOr))((p), (v))
#define atomicXor(p, v) _Generic(*(p), SHMEMSIM_SELECT_INT(atomicXor))((p), (v))
#define atomicCAS(p, cond, v) _Generic(*(p), SHMEMSIM_SELECT_INT(atomicCAS))((p), (cond), (v))
#endif

#ifdef __cplusplus
#include <tuple>

/* kernel<<<grid, block, shared_nbytes, stream>>>(args...); returns like shmemsim_launch. The
 * arguments are copied byte by byte, as CUDA does. */
template <class... P, class... A>
int shmemsim_launch_cuda(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_nbytes,
			 void *stream, A... args)
{
	struct call {
		void (*kernel)(P...);
		std::tuple<P...> args;
		static void run(const void *params)
		{
			const call *c = static_cast<const call *>(params);
			std::apply(c->kernel, c->args);
		}
	};
	const uint32_t g[3] = {grid.x, grid.y, grid.z}, b[3] = {block.x, block.y, block.z};
	const call c = {kernel, std::tuple<P...>(args...)};
	return shmemsim_launch_3d(call::run, &c, sizeof(c), g, b, shared_nbytes, stream);
}
#endif

#endif
