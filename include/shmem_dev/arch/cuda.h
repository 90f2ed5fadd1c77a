/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The primitives of arch.h in PTX; of the device headers only this one and bulk_cuda.h have asm.
 * sm_80 and later.
 *
 * Every strong access, fence and barrier is volatile and clobbers memory: the compiler then keeps
 * it in place among the ordinary accesses around it, as the PTX memory model assumes. Mapped
 * memory is in the .global window, so strong accesses name that space. Accesses to bulk data do
 * not: the caller's side may also be shared or local memory (the peer's: shmemd_arch_global_at). */
#ifndef SHMEMD_ARCH_CUDA_H
#define SHMEMD_ARCH_CUDA_H

#include <shmem_dev/abi/base.h>

/* Inlined, except in debug builds (nvcc -G): there inlining would take a minute and gigabytes for
 * one kernel. */
#if defined(__CUDACC_DEBUG__)
#define SHMEMD_FN static __device__
#else
#define SHMEMD_FN static __device__ __forceinline__
#endif

/* SHMEMD_FN_ANY_PEER: puts and updates of words in their general form (impl/any_peer.h): for PEs
 * mapped elsewhere than at the constant stride, and by NIC, where they post (a blocking put then
 * waits, too). SHMEMD_FN_ANY_PEER_WAIT: operations of that form that need an answer: gets, fetches,
 * flushes. Each is some hundred instructions, so by default a unit has one copy of each, which
 * takes its operands by value. A unit that defines SHMEMD_NIC_INLINE before it includes anything
 * has the first kind inline at each call: fewer cycles by NIC, larger kernels. With SHMEMD_NO_NIC
 * there is no NIC path in them, and all are inline. SHMEMD_FN_CALL: what waits, fails or is seldom
 * needed, on every path. Never inline: in the way of what is frequent it would cost instruction
 * fetches and registers. */
#if defined(SHMEMD_NIC_INLINE) || defined(SHMEMD_NO_NIC)
#define SHMEMD_FN_ANY_PEER SHMEMD_FN
#else
#define SHMEMD_FN_ANY_PEER static __device__ __noinline__
#endif
#if defined(SHMEMD_NO_NIC)
#define SHMEMD_FN_ANY_PEER_WAIT SHMEMD_FN
#else
#define SHMEMD_FN_ANY_PEER_WAIT static __device__ __noinline__
#endif
#define SHMEMD_FN_CALL static __device__ __noinline__

/* SHMEMD_ARCH_INDIRECT(f): f, for a call from frequent code that is seldom made, or that waits for
 * a trip over the network. ptxas allocates the registers of a function that it knows together with
 * its caller's, disjoint: in a kernel limited to 64 registers the frequent path then spills for
 * those of f. A call through a pointer whose value ptxas does not know follows the ABI: the
 * function saves what it needs. Only in units that have the NIC path: every kernel that makes such
 * a call holds a copy of all functions that are called so. */
template <typename function_t>
static __device__ __forceinline__ function_t *shmemdi_arch_indirect(function_t *f)
{
	asm("" : "+l"(f));
	return f;
}
#define SHMEMD_ARCH_INDIRECT(f) shmemdi_arch_indirect(f)

/* Storage that the threads of a block share; for SHMEMD_SHARED of launch.h. */
#define SHMEMD_BLOCK_LOCAL __shared__

#define SHMEMD_ARCH_POLLS_PER_HOST_LOOK 2048u
#define SHMEMD_ARCH_NO_UNROLL _Pragma("unroll 1")
#define SHMEMD_ARCH_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)

/* SHMEMD_ARCH_LIKELY: the compiler for the device cannot invert the condition of a branch when it
 * lays out blocks. For `if (a < b)` it emits "if a < b, go to the likely block; go to the unlikely
 * block", and ptxas then places the likely block behind all code of the unlikely one. A test of a
 * flag against zero it writes as "if the flag is 0, go to the unlikely block", so that the likely
 * one follows. That needs a flag that the compiler does not replace by the comparison which it came
 * from: this one passes through a double, which is no instruction. */
SHMEMD_FN int shmemdi_arch_flag(int condition)
{
	return __double2loint(__hiloint2double(0, condition));
}
#define SHMEMD_ARCH_LIKELY(condition) __builtin_expect(shmemdi_arch_flag((condition) != 0) != 0, 1)

/* The unit of bulk copies: one 128-bit access. */
typedef uint4 shmemd_v16_t;

typedef struct shmemd_2u64 {
	uint64_t lo, hi;
} shmemd_2u64_t;

/* 1. Identity */

SHMEMD_FN uint32_t shmemd_arch_tid(void)
{
	return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

SHMEMD_FN uint32_t shmemd_arch_ntids(void)
{
	return blockDim.x * blockDim.y * blockDim.z;
}

SHMEMD_FN int shmemd_arch_is_first(void)
{
	return threadIdx.x == 0 && SHMEMD_ARCH_LIKELY((threadIdx.y | threadIdx.z) == 0);
}

SHMEMD_FN int shmemd_arch_may_end_block(void)
{
	return threadIdx.x == blockDim.x - 1;
}

SHMEMD_FN uint32_t shmemd_arch_lane(void)
{
	uint32_t lane;
	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	__builtin_assume(lane < 32);
	return lane;
}

SHMEMD_FN uint32_t shmemd_arch_block(void)
{
	return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

SHMEMD_FN uint32_t shmemd_arch_nblocks(void)
{
	return gridDim.x * gridDim.y * gridDim.z;
}

/* 2. Bulk data */

#define SHMEMDI_DATA(T, type)                                                                      \
	SHMEMD_FN type shmemd_arch_ld_data_##T(const void *p)                                      \
	{                                                                                          \
		return *(const type *)p;                                                           \
	}                                                                                          \
	SHMEMD_FN void shmemd_arch_st_data_##T(void *p, type v)                                    \
	{                                                                                          \
		*(type *)p = v;                                                                    \
	}
SHMEMDI_DATA(u8, uint8_t)
SHMEMDI_DATA(u32, uint32_t)
SHMEMDI_DATA(u64, uint64_t)
SHMEMDI_DATA(v16, shmemd_v16_t)
#undef SHMEMDI_DATA

/* 3. Strong accesses. reg: the asm constraint; an 8-bit value travels in a 32-bit register. */

#define SHMEMDI_LD(name, type, regtype, op, reg)                                                   \
	SHMEMD_FN type shmemd_arch_ld_##name(const void *p)                                        \
	{                                                                                          \
		regtype v;                                                                         \
		asm volatile(op " %0, [%1];"                                                       \
			     : reg(v)                                                              \
			     : "l"(__cvta_generic_to_global(p))                                    \
			     : "memory");                                                          \
		return (type)v;                                                                    \
	}
SHMEMDI_LD(relaxed_u8, uint8_t, uint32_t, "ld.relaxed.sys.global.u8", "=r")
SHMEMDI_LD(relaxed_u16, uint16_t, uint16_t, "ld.relaxed.sys.global.u16", "=h")
SHMEMDI_LD(relaxed_u32, uint32_t, uint32_t, "ld.relaxed.sys.global.u32", "=r")
SHMEMDI_LD(relaxed_u64, uint64_t, uint64_t, "ld.relaxed.sys.global.u64", "=l")
SHMEMDI_LD(mmio_u64, uint64_t, uint64_t, "ld.mmio.relaxed.sys.global.u64", "=l")
SHMEMDI_LD(acquire_u32, uint32_t, uint32_t, "ld.acquire.sys.global.u32", "=r")
SHMEMDI_LD(acquire_u64, uint64_t, uint64_t, "ld.acquire.sys.global.u64", "=l")
#undef SHMEMDI_LD

SHMEMD_FN shmemd_2u64_t shmemd_arch_ld_relaxed_2u64(const void *p)
{
	shmemd_2u64_t v;
	asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
		     : "=l"(v.lo), "=l"(v.hi)
		     : "l"(__cvta_generic_to_global(p))
		     : "memory");
	return v;
}

#define SHMEMDI_ST(name, type, regtype, op, reg)                                                   \
	SHMEMD_FN void shmemd_arch_st_##name(void *p, type v)                                      \
	{                                                                                          \
		asm volatile(op " [%0], %1;"                                                       \
			     :                                                                     \
			     : "l"(__cvta_generic_to_global(p)), reg((regtype)v)                   \
			     : "memory");                                                          \
	}
SHMEMDI_ST(relaxed_u8, uint8_t, uint32_t, "st.relaxed.sys.global.u8", "r")
SHMEMDI_ST(relaxed_u16, uint16_t, uint16_t, "st.relaxed.sys.global.u16", "h")
SHMEMDI_ST(relaxed_u32, uint32_t, uint32_t, "st.relaxed.sys.global.u32", "r")
SHMEMDI_ST(relaxed_u64, uint64_t, uint64_t, "st.relaxed.sys.global.u64", "l")
SHMEMDI_ST(mmio_u64, uint64_t, uint64_t, "st.mmio.relaxed.sys.global.u64", "l")
SHMEMDI_ST(release_u32, uint32_t, uint32_t, "st.release.sys.global.u32", "r")
SHMEMDI_ST(release_u64, uint64_t, uint64_t, "st.release.sys.global.u64", "l")
#undef SHMEMDI_ST

SHMEMD_FN void shmemd_arch_st_relaxed_2u64(void *p, uint64_t lo, uint64_t hi)
{
	asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};"
		     :
		     : "l"(__cvta_generic_to_global(p)), "l"(lo), "l"(hi)
		     : "memory");
}

/* 4. Fences. fence.release and fence.acquire are of PTX 8.6 and for sm_90 and later: nvcc 13.0 has
 * them for sm_80, too, but CUDA 13.2 refuses them. A fence.release does not invalidate the L1, and
 * a fence.acquire does not wait for earlier stores. */

#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208 && defined(__CUDA_ARCH__) &&         \
	__CUDA_ARCH__ >= 900
#define SHMEMDI_FENCE(direction) "fence." direction
#else
#define SHMEMDI_FENCE(direction) "fence.acq_rel"
#endif

SHMEMD_FN void shmemd_arch_fence_before_signal(void)
{
	asm volatile(SHMEMDI_FENCE("release") ".sys;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_before_arrival(void)
{
	asm volatile(SHMEMDI_FENCE("release") ".gpu;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_order(void)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_quiet(void)
{
	asm volatile("fence.sc.sys;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_before_publish(void)
{
	asm volatile(SHMEMDI_FENCE("release") ".gpu;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_before_record(void)
{
	asm volatile(SHMEMDI_FENCE("release") ".sys;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_before_doorbell(void)
{
	asm volatile(SHMEMDI_FENCE("release") ".sys;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_before_record_gpu(void)
{
	asm volatile(SHMEMDI_FENCE("release") ".gpu;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_before_doorbell_gpu(void)
{
	asm volatile(SHMEMDI_FENCE("release") ".gpu;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_acquire(void)
{
	asm volatile(SHMEMDI_FENCE("acquire") ".sys;" ::: "memory");
}
#undef SHMEMDI_FENCE

/* 5. Atomic read-modify-write */

#define SHMEMDI_ATOM(name, type, op, reg)                                                          \
	SHMEMD_FN type shmemd_arch_atom_##name(void *p, type v)                                    \
	{                                                                                          \
		type old;                                                                          \
		asm volatile("atom.relaxed.sys.global." op " %0, [%1], %2;"                        \
			     : "=" reg(old)                                                        \
			     : "l"(__cvta_generic_to_global(p)), reg(v)                            \
			     : "memory");                                                          \
		return old;                                                                        \
	}
SHMEMDI_ATOM(add_u32, uint32_t, "add.u32", "r")
SHMEMDI_ATOM(add_u64, uint64_t, "add.u64", "l")
SHMEMDI_ATOM(and_u32, uint32_t, "and.b32", "r")
SHMEMDI_ATOM(and_u64, uint64_t, "and.b64", "l")
SHMEMDI_ATOM(or_u32, uint32_t, "or.b32", "r")
SHMEMDI_ATOM(or_u64, uint64_t, "or.b64", "l")
SHMEMDI_ATOM(xor_u32, uint32_t, "xor.b32", "r")
SHMEMDI_ATOM(xor_u64, uint64_t, "xor.b64", "l")
SHMEMDI_ATOM(exch_u32, uint32_t, "exch.b32", "r")
SHMEMDI_ATOM(exch_u64, uint64_t, "exch.b64", "l")
SHMEMDI_ATOM(add_f32, float, "add.f32", "f")
SHMEMDI_ATOM(add_f64, double, "add.f64", "d")
#undef SHMEMDI_ATOM

#define SHMEMDI_CAS(name, type, op, reg)                                                           \
	SHMEMD_FN type shmemd_arch_atom_##name(void *p, type cond, type v)                         \
	{                                                                                          \
		type old;                                                                          \
		asm volatile("atom.relaxed.sys.global." op " %0, [%1], %2, %3;"                    \
			     : "=" reg(old)                                                        \
			     : "l"(__cvta_generic_to_global(p)), reg(cond), reg(v)                 \
			     : "memory");                                                          \
		return old;                                                                        \
	}
SHMEMDI_CAS(cas_u32, uint32_t, "cas.b32", "r")
SHMEMDI_CAS(cas_u64, uint64_t, "cas.b64", "l")
#undef SHMEMDI_CAS

SHMEMD_FN int shmemd_arch_try_lock(uint64_t *p, uint64_t seen)
{
	uint64_t old;
	asm volatile("atom.acquire.gpu.global.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(old)
		     : "l"(__cvta_generic_to_global(p)), "l"(seen), "l"(seen | 1)
		     : "memory");
	return old == seen;
}

SHMEMD_FN void shmemd_arch_unlock(uint64_t *p, uint64_t v)
{
	asm volatile("st.release.gpu.global.u64 [%0], %1;"
		     :
		     : "l"(__cvta_generic_to_global(p)), "l"(v)
		     : "memory");
}

#define SHMEMDI_RED(name, type, op, reg)                                                           \
	SHMEMD_FN void shmemd_arch_red_##name(void *p, type v)                                     \
	{                                                                                          \
		asm volatile("red.relaxed.sys.global." op " [%0], %1;"                             \
			     :                                                                     \
			     : "l"(__cvta_generic_to_global(p)), reg(v)                            \
			     : "memory");                                                          \
	}
SHMEMDI_RED(add_u32, uint32_t, "add.u32", "r")
SHMEMDI_RED(add_u64, uint64_t, "add.u64", "l")
SHMEMDI_RED(and_u32, uint32_t, "and.b32", "r")
SHMEMDI_RED(and_u64, uint64_t, "and.b64", "l")
SHMEMDI_RED(or_u32, uint32_t, "or.b32", "r")
SHMEMDI_RED(or_u64, uint64_t, "or.b64", "l")
SHMEMDI_RED(xor_u32, uint32_t, "xor.b32", "r")
SHMEMDI_RED(xor_u64, uint64_t, "xor.b64", "l")
SHMEMDI_RED(add_f32, float, "add.f32", "f")
SHMEMDI_RED(add_f64, double, "add.f64", "d")
#undef SHMEMDI_RED

/* 6. Threads of one block */

SHMEMD_FN void shmemd_arch_syncwarp(void)
{
	asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

SHMEMD_FN int shmemd_arch_warp_any(int pred)
{
	return __any_sync(0xffffffffu, pred);
}

SHMEMD_FN void shmemd_arch_bar_sync(uint32_t id, uint32_t nthreads)
{
	if (id == 0) /* no count: the hardware knows it */
		asm volatile("bar.sync 0;" ::: "memory");
	else
		asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(nthreads) : "memory");
}

SHMEMD_FN int shmemd_arch_bar_or(uint32_t id, uint32_t nthreads, int pred)
{
	int any;

	if (id == 0)
		return __syncthreads_or(pred);
	asm volatile("{\n\t"
		     ".reg .pred mine, any;\n\t"
		     "setp.ne.s32 mine, %3, 0;\n\t"
		     "bar.red.or.pred any, %1, %2, mine;\n\t"
		     "selp.s32 %0, 1, 0, any;\n\t"
		     "}"
		     : "=r"(any)
		     : "r"(id), "r"(nthreads), "r"(pred)
		     : "memory");
	return any;
}

SHMEMD_FN uint32_t shmemd_arch_activemask(void)
{
	return __activemask();
}

SHMEMD_FN int shmemd_arch_is_alone(void)
{
	uint32_t active = __activemask();
	return (active & (active - 1)) == 0;
}

SHMEMD_FN uint32_t shmemd_arch_match_any(uint32_t mask, uint64_t v)
{
	return __match_any_sync(mask, (unsigned long long)v);
}

SHMEMD_FN uint64_t shmemd_arch_shfl_u64(uint32_t mask, uint64_t v, uint32_t lane)
{
	return __shfl_sync(mask, (unsigned long long)v, (int)lane);
}

SHMEMD_FN void shmemd_arch_syncwarp_mask(uint32_t mask)
{
	asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}

/* 7. Time and waiting */

SHMEMD_FN uint64_t shmemd_arch_time_ns(void)
{
	uint64_t ns;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
	return ns;
}

/* A poll is a round trip to memory already; sleeping would only add to the latency. */
SHMEMD_FN void shmemd_arch_spin_hint(void)
{
	asm volatile("" ::: "memory");
}

/* 8. Queues of a NIC */

SHMEMD_FN void shmemd_arch_st_wqe(void *p, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
{
	asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};"
		     :
		     : "l"(__cvta_generic_to_global(p)), "r"(w0), "r"(w1), "r"(w2), "r"(w3)
		     : "memory");
}

/* 9. Bits */

SHMEMD_FN uint32_t shmemd_arch_bswap32(uint32_t v)
{
	return __byte_perm(v, 0, 0x0123);
}

SHMEMD_FN uint32_t shmemd_arch_permute_bytes(uint32_t v, uint32_t selector)
{
	return __byte_perm(v, 0, selector);
}

SHMEMD_FN uint32_t shmemd_arch_low_bits(uint32_t v, uint32_t n)
{
	uint32_t low;
	asm("szext.clamp.u32 %0, %1, %2;" : "=r"(low) : "r"(v), "r"(n));
	return low;
}

SHMEMD_FN uint64_t shmemd_arch_mad_wide(uint32_t a, uint32_t b, uint64_t c)
{
	uint64_t v;
	asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(v) : "r"(a), "r"(b), "l"(c));
	return v;
}

SHMEMD_FN int shmemd_arch_is_global(const void *p)
{
	return __isGlobal(p) != 0;
}

SHMEMD_FN void *shmemd_arch_global_at(uintptr_t address)
{
	return __cvta_global_to_generic(address);
}

SHMEMD_FN void *shmemd_arch_as_local(const void *p)
{
	size_t own; /* from asm: the compiler would drop two conversions that cancel */

	asm("cvta.to.local.u64 %0, %1;" : "=l"(own) : "l"(p));
	return __cvta_local_to_generic(own);
}

SHMEMD_FN uint32_t shmemd_arch_opaque_zero(void)
{
	uint32_t before;
	asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
	return before >> 31;
}

SHMEMD_FN uint32_t shmemd_arch_popc(uint32_t v)
{
	return (uint32_t)__popc(v);
}

SHMEMD_FN uint32_t shmemd_arch_lowest(uint32_t v)
{
	return (uint32_t)__ffs((int)v) - 1;
}

/* 10. Check builds */

#if defined(SHMEMD_CHECK)
#ifndef __CUDACC_RTC__
#include <stdio.h>
#endif

SHMEMD_FN uint32_t shmemd_arch_bar_count(uint32_t bar, uint32_t nthreads)
{
	uint32_t n;

	if (bar == 0)
		return (uint32_t)__syncthreads_count(1);
	asm volatile("{\n\t"
		     ".reg .pred mine;\n\t"
		     "setp.eq.u32 mine, 0, 0;\n\t"
		     "barrier.cta.red.popc.aligned.u32 %0, %1, %2, mine;\n\t"
		     "}"
		     : "=r"(n)
		     : "r"(bar), "r"(nthreads)
		     : "memory");
	return n;
}

SHMEMD_FN uint32_t shmemd_arch_present(uint32_t bar, uint32_t nthreads, int is_first, uint64_t v,
				       uint64_t *first)
{
	SHMEMD_BLOCK_LOCAL uint64_t firsts[16]; /* of each barrier of the block */
	uint32_t n;

	*first = v;
	if (bar > 15) {
		n = (uint32_t)__popc(__ballot_sync(0xffffffffu, 1));
		if (n == 32)
			*first = shmemd_arch_shfl_u64(0xffffffffu, v, 0);
		return n;
	}
	if (is_first)
		firsts[bar] = v;
	n = shmemd_arch_bar_count(bar, nthreads);
	*first = firsts[bar];
	return n;
}

SHMEMD_FN void shmemd_arch_tell(const char *text, const char *site, uint32_t line)
{
	printf("shmem_dev: block %u thread %u: %s:%u: %s\n", shmemd_arch_block(), shmemd_arch_tid(),
	       site ? site : "", line, text);
}

SHMEMD_FN void shmemd_arch_recorded(const void *err)
{
	(void)err;
}

SHMEMD_FN int shmemd_arch_is_readable(const void *p, size_t nbytes)
{
	(void)p;
	(void)nbytes;
	return 1;
}

SHMEMD_FN void shmemd_arch_nbi_source(const void *src, size_t nbytes)
{
	(void)src;
	(void)nbytes;
}

SHMEMD_FN uint64_t shmemd_arch_nbi_changed(void)
{
	return 0;
}

SHMEMD_FN void shmemd_arch_nbi_forget(void)
{
}

#endif

#endif
