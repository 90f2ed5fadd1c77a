/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Section 11 of the porting contract (arch.h): the bulk-copy engine of sm_90 and later, which
 * copies between the shared memory of a block and mapped memory while its threads go on. cuda.h's
 * part is bulk_cuda.h; bulk_cpu.h is the emulator's, which carries a copy out when a thread waits
 * for it, with the exceptions that are named there.
 *
 *   SHMEMD_ARCH_HAS_BULK      is there an engine? If not, nothing below may be called but is_shared
 *                             and the two fences, which are empty then.
 *
 * Addresses and sizes are multiples of 16. `shared` is memory of the calling thread's block,
 * `global` is mapped memory. The engine's accesses are weak (additions: relaxed, below), and are
 * made in the async proxy (PTX ISA, "Async Proxy"): ordinary accesses before them need one of these
 * fences in between.
 *   void shmemd_arch_fence_bulk_global(void)    This thread's ordinary accesses to global memory,
 *                                       and those that happened before, come before copies that
 *                                       are posted after the fence.
 *                                       Prevents: the engine reads what src held before.
 *   void shmemd_arch_fence_bulk_shared(void)    The same for shared memory: in each thread that
 *                                       wrote to a tile, before it synchronises with the thread
 *                                       that posts. Also makes new barriers known to the engine.
 * Two fences of one state space each, because ptxas compiles the one for all of them to a fence of
 * the GPU's scope (MEMBAR.ALL.GPU), which waits for the stores and tiles that are under way.
 *
 * Into shared memory; their completion is awaited by an mbarrier object, 8 bytes in shared memory.
 *   void shmemd_arch_bulk_bar_init(uint64_t *bar)   a new barrier, whose phase is 0
 *   void shmemd_arch_bulk_bar_end(uint64_t *bar)    its memory is free for other uses
 *   void shmemd_arch_bulk_load(void *shared, const void *global, uint32_t nbytes, uint64_t *bar)
 *                                       post one copy for the current phase
 *   void shmemd_arch_bulk_wait_load(uint64_t *bar, uint32_t parity)
 *                                       until the phase of this parity is over; its data are
 *                                       visible to this thread, and to copies that it posts
 *                                       afterwards
 *
 * Out of shared memory; a thread awaits what it has posted itself, in order.
 *   void shmemd_arch_bulk_store(void *global, const void *shared, uint32_t nbytes)
 *   void shmemd_arch_bulk_add_T(void *global, const void *shared, uint32_t nbytes)
 *                                       T = f32, f16, bf16, u32, u64: adds to each element;
 *                                       relaxed, and atomic among the threads of this GPU only
 *   void shmemd_arch_bulk_commit(void)          what was posted since the last one is a bulk group
 *   void shmemd_arch_bulk_wait_read(uint32_t n) until all groups but the last n, 0 .. 3, have read
 *                                       their shared memory
 *   void shmemd_arch_bulk_wait(void)            until all groups are performed: their writes are
 *                                       visible to this thread as its own stores are, so that a
 *                                       release by it covers them ("cp.async.bulk.wait_group";
 *                                       completion implies the proxy fence)
 *
 *   int shmemd_arch_is_shared(const void *p)    1: shared memory of the block. The emulator's
 *                                       engine takes memory of any kind: there 1 for every address
 */
#ifndef SHMEMD_ARCH_BULK_H
#define SHMEMD_ARCH_BULK_H

#include <shmem_dev/arch/arch.h>

#if defined(__CUDACC__)
#include <shmem_dev/arch/bulk_cuda.h>
#else
#include <shmem_dev/arch/bulk_cpu.h>
#endif

#endif
