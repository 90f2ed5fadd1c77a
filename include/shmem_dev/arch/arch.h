/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The porting contract: every primitive that device code may use, what it orders, for whom, on
 * which memory. cuda.h (PTX) and cpu.h (emulator), with cpu_bits.h for section 9, cpu_checks.h for
 * section 10, bulk_cuda.h and bulk_cpu.h for section 11, implement exactly this list; no other
 * device header contains asm, a CUDA builtin or a raw atomic. Device code in the others calls no
 * primitives but these.
 *
 * Words used below
 *   cta, gpu, sys   the threads a strong access synchronises with: this block, this GPU, every
 *                   GPU and CPU that maps the memory.
 *   weak            an ordinary access. Racing with another thread's access is a program error;
 *                   the CPU twin makes it visible to sanitizers and to the scheduler.
 *   relaxed         strong (never torn, coherent per word), orders nothing else.
 *   acquire         later accesses of this thread stay after it and see what the matching release
 *                   covered.
 *   release         earlier accesses of this thread, and those that happened before them (through
 *                   a group sync or an acquire), are visible to whoever acquires the word.
 *   mapped memory   memory of this GPU (own heap, words of channels), peer heap over NVLink, PCIe
 *                   or shared memory, pinned host memory.
 *
 * 1. Identity of the calling thread (linear, x fastest)
 *   uint32_t shmemd_arch_tid(void)       index in its block
 *   uint32_t shmemd_arch_ntids(void)     threads in its block
 *   int      shmemd_arch_is_first(void)  tid == 0, cheaper than by the tid
 *   int      shmemd_arch_may_end_block(void)   1 in the last thread of its block, and perhaps in
 *                                        others: on GPUs in the last of each row along x
 *   uint32_t shmemd_arch_lane(void)      tid % 32
 *   uint32_t shmemd_arch_block(void)     index of its block in the grid
 *   uint32_t shmemd_arch_nblocks(void)   blocks in the grid
 *
 * 2. Bulk data: weak accesses to mapped or block-local memory, naturally aligned
 *   T    shmemd_arch_ld_data_T(const void *p)      T = u8, u32, u64, v16 (shmemd_v16_t)
 *   void shmemd_arch_st_data_T(void *p, T v)
 *
 * 3. Strong accesses at system scope to mapped memory, naturally aligned
 *   T    shmemd_arch_ld_relaxed_T(const void *p)   T = u8, u16, u32, u64
 *   T    shmemd_arch_ld_acquire_T(const void *p)   T = u32, u64
 *   void shmemd_arch_st_relaxed_T(void *p, T v)    T = u8, u16, u32, u64
 *   void shmemd_arch_st_release_T(void *p, T v)    T = u32, u64
 *   shmemd_2u64_t shmemd_arch_ld_relaxed_2u64(const void *p)   two words {lo, hi}, p aligned to 16:
 *                                                  each as by ld_relaxed_u64, in any order
 *   void shmemd_arch_st_relaxed_2u64(void *p, uint64_t lo, uint64_t hi)   likewise, in one request
 *   uint64_t shmemd_arch_ld_mmio_u64(const void *p)     relaxed, in an access of its own: never
 *   void shmemd_arch_st_mmio_u64(void *p, uint64_t v)   merged, repeated or delayed by caches. For
 *                                                       doorbells, and where posters of a channel
 *                                                       hand on the turn or the lock of `rung`
 *                                                       (impl/sq.h, impl/queue.h). Of a load
 *                                                       ptxas may omit bytes that are not used
 *
 * 4. Fences, named for their use (the name is the documentation). If nothing else is said they
 *    acquire and release at system scope. They are cumulative: they cover what happened before in
 *    other threads too, if this thread synchronised with them.
 *   shmemd_arch_fence_before_signal()  release alone: everything before is visible to whoever
 *                                      acquires a strong store or atomic that this thread performs
 *                                      after it. Leaves the L1 as it is, except below sm_90 or
 *                                      before CUDA 12.8, where it is acq_rel.
 *                                      Prevents: the waiter sees the signal and reads old data.
 *   shmemd_arch_fence_before_arrival()  release alone, GPU scope: everything before is visible to a
 *                                      thread of this GPU that acquires the counter which this
 *                                      thread increments after it. Prevents: the last block
 *                                      signals for stores that are still on their way.
 *   shmemd_arch_fence_order()          shmemd_fence: puts before it are seen before puts after it.
 *   shmemd_arch_fence_quiet()          sequentially consistent: all stores and atomics before it
 *                                      come before all loads after it. Prevents the
 *                                      store-buffer outcome: two PEs put, quiet, get and both miss
 *                                      the other's put.
 *   shmemd_arch_fence_acquire()        acquire alone, and so almost free on sm_90 and later; below,
 *                                      or before CUDA 12.8, acq_rel. After a relaxed read of a
 *                                      signal, a flag, a counter of arrivals, or a field that the
 *                                      host replaces (of an order, of the list of allocations):
 *                                      what its writer released is visible. After one of a
 *                                      completion, or of a word by which another thread reports
 *                                      one, the NIC's writes before it are visible; after one of
 *                                      `ready`, other posters' WQEs. Prevents: the
 *                                      waiter sees the signal and reads old data; a value read
 *                                      before the NIC wrote it; a doorbell that covers WQEs which
 *                                      the NIC cannot see yet.
 *   For the queues of a NIC, whose memory is pinned host or device memory:
 *   shmemd_arch_fence_before_publish()   Release alone, GPU scope: what was done before is visible
 *                                      to a thread of this GPU that acquires the word of the
 *                                      channel written afterwards: WQEs and payload with
 *                                      `ready`, earlier completions with the status in `path`. It
 *                                      also orders a doorbell without a record, and the producer
 *                                      word, before the publication, or the unlock of `rung`, that
 *                                      follows them. Prevents: the NIC executes WQEBBs of the lap
 *                                      before; a doorbell with a smaller index after a larger one;
 *                                      a wait ends with the channel's status although what it
 *                                      waits for was completed before.
 *   shmemd_arch_fence_before_record()     Release alone: WQEs of this thread, and those that it has
 *                                      acquired, are visible before the doorbell record that covers
 *                                      them; without a record before the doorbell, with the CPU
 *                                      proxy before the producer word. Prevents: the NIC executes
 *                                      WQEBBs of the lap before.
 *   shmemd_arch_fence_before_doorbell() Release alone: the record is visible before the doorbell.
 *                                      Prevents: the NIC reads an old record and goes idle.
 *   shmemd_arch_fence_before_record_gpu(), shmemd_arch_fence_before_doorbell_gpu()
 *                                      The same at GPU scope: WQEs and record lie in this
 *                                      GPU's memory, which the NIC reads through the GPU's L2.
 *
 * 5. Atomic read-modify-write, relaxed, system scope; memory of this GPU, and of peers only with
 *    SHMEMD_CTX_SM_ATOMICS (links with native atomics); T = u32, u64
 *   T    shmemd_arch_atom_{add,and,or,xor,exch}_T(void *p, T v)   returns the old value
 *   T    shmemd_arch_atom_cas_T(void *p, T cond, T v)             returns the old value
 *   void shmemd_arch_red_{add,and,or,xor}_T(void *p, T v)         no answer: cheaper over NVLink
 *   float/double shmemd_arch_atom_add_{f32,f64}(void *p, v)       round to nearest even
 *   void shmemd_arch_red_add_{f32,f64}(void *p, v)
 *   At GPU scope, for a word whose bit 0 is a lock among threads of this GPU; the other bits are
 *   what the lock protects. unlock also hands over the owner words of bounce buffers (abi/queue.h),
 *   in which bit 0 is no lock:
 *   int  shmemd_arch_try_lock(uint64_t *p, uint64_t seen)         from `seen`, whose bit 0 is
 *                                              clear, to locked; acquire; returns whether
 *   void shmemd_arch_unlock(uint64_t *p, uint64_t v)              to v; release
 *
 * 6. Threads of one block. All named threads arrive. syncwarp, syncwarp_mask, bar_sync and bar_or
 *    make accesses before them visible, after them, to the threads that take part (cta scope).
 *    warp_any, match_any and shfl_u64 order nothing.
 *   void     shmemd_arch_syncwarp(void)                       the 32 lanes of the warp
 *   int      shmemd_arch_warp_any(int pred)                   OR of pred; orders nothing
 *   void     shmemd_arch_bar_sync(uint32_t id, uint32_t nthreads)   id 0..15, nthreads % 32 == 0;
 *                                                                   id 0: all threads of the block
 *   int      shmemd_arch_bar_or(uint32_t id, uint32_t nthreads, int pred)  as bar_sync, returns OR
 *
 *   Some lanes of a warp, named by a mask. They need not be converged with the others.
 *   uint32_t shmemd_arch_activemask(void)                     lanes that are converged here
 *   int      shmemd_arch_is_alone(void)                       is the calling lane the only one?
 *   uint32_t shmemd_arch_match_any(uint32_t mask, uint64_t v) those of mask that passed the same v
 *   uint64_t shmemd_arch_shfl_u64(uint32_t mask, uint64_t v, uint32_t lane)   the v of that lane
 *   void     shmemd_arch_syncwarp_mask(uint32_t mask)         memory order as syncwarp
 *
 * 7. Time and waiting
 *   uint64_t shmemd_arch_time_ns(void)   monotonic nanoseconds (%globaltimer; under the emulator
 *                                        its virtual clock, or CLOCK_MONOTONIC in process mode);
 *                                        resolution may be as coarse as 1 us
 *   void     shmemd_arch_spin_hint(void) body of every poll loop; the emulator reschedules here
 *   SHMEMD_ARCH_POLLS_PER_HOST_LOOK      a multiple of 64: a wait loads words in the host's
 *                                        memory once in so many polls (impl/spin.h)
 *
 * 8. Queues of a NIC
 *   void     shmemd_arch_st_wqe(void *p, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
 *                                        16 bytes of a WQE, in one request; p aligned to 16
 *   Doorbells and their records, CQEs and the words of channels: by the accesses of section 3.
 *
 * 9. Bits, and the compiler
 *   uint32_t shmemd_arch_bswap32(uint32_t v)
 *   uint32_t shmemd_arch_permute_bytes(uint32_t v, uint32_t selector)
 *                                        byte i of the result, counted from the lowest: the byte
 *                                        of v whose number, 0 to 3, stands in bits 4 * i to
 *                                        4 * i + 3 of the selector; 0 if 4 stands there. One
 *                                        instruction
 *   uint32_t shmemd_arch_low_bits(uint32_t v, uint32_t n)   the low n bits of v, n < 32. One
 *                                        instruction; a mask takes three
 *   uint64_t shmemd_arch_mad_wide(uint32_t a, uint32_t b, uint64_t c)
 *                                        a * b + c in one instruction, for the 64-bit address of a
 *                                        table's entry, which compilers compute with four
 *   int      shmemd_arch_is_global(const void *p)   1: global memory, as strong accesses need;
 *                                        bulk data may also be in shared or local memory. The
 *                                        emulator returns 1 for every address
 *   void    *shmemd_arch_global_at(uintptr_t address)
 *                                        a pointer to this address, which is in global memory:
 *                                        accesses by it are compiled to global ones, not to
 *                                        generic ones
 *   void    *shmemd_arch_as_local(const void *p)
 *                                        p, which points to a variable of the calling thread. In a
 *                                        function that is not inlined the compiler then accesses
 *                                        local memory, not an address of any kind: one instruction
 *                                        in place of three
 *   uint32_t shmemd_arch_opaque_zero(void)
 *                                        0, but ptxas cannot prove it. Added to the operand of an
 *                                        atomic of one thread, it keeps ptxas from inserting the
 *                                        votes and shuffles by which it adds up the atomics of a
 *                                        warp on one word
 *   uint32_t shmemd_arch_popc(uint32_t v)
 *   uint32_t shmemd_arch_lowest(uint32_t v)   number of the lowest bit that is set; v is not 0
 *   SHMEMD_ARCH_NO_UNROLL                before a loop: keep it a loop
 *   SHMEMD_ARCH_UNLIKELY(condition)      the condition, which is seldom true: what depends on it
 *                                        is laid out where it is not in the way
 *   SHMEMD_ARCH_LIKELY(condition)        the condition, which is usually true: what depends on it
 *                                        is reached without a jump. Not for conditions that may be
 *                                        constants: it hides them from the compiler
 *   SHMEMD_FN                            stands before a function: static, and inline where the
 *                                        compiler can
 *   SHMEMD_FN_ANY_PEER                   stands before the general form of an operation
 *                                        (impl/any_peer.h), for what a few loads and stores at the
 *                                        constant stride cannot do. A port may keep it out of line,
 *                                        with one copy for a unit
 *   SHMEMD_FN_ANY_PEER_WAIT              the same for such an operation that waits for an answer
 *                                        (get, fetch, flush)
 *   SHMEMD_FN_CALL                       stands before a function that is never inline on GPUs, in
 *                                        no form of the NIC path: it waits, handles an error, is
 *                                        seldom called, or would be too large inline
 *   SHMEMD_ARCH_INDIRECT(f)              the function f, to be called through a pointer: the
 *                                        compiler then does not allocate its registers together
 *                                        with those of the caller. For calls that are seldom
 *                                        made, or that wait for a trip over the network
 *   SHMEMD_BLOCK_LOCAL                   before a variable: the threads of a block share it. CUDA
 *                                        only; launch.h has another form for the emulator
 *
 * 10. Check builds (SHMEMD_CHECK)
 *   uint32_t shmemd_arch_present(uint32_t bar, uint32_t nthreads, int is_first, uint64_t v,
 *                                uint64_t *first)
 *                                        how many threads of the group call, not counting
 *                                        those that have exited; bar as shmemd_group_t. If all
 *                                        do, *first gets the v of the one thread that passes
 *                                        is_first 1, in a warp lane 0, and they meet at another
 *                                        barrier of the group before the next call. All of
 *                                        them call it. Callers may not assume that it orders
 *                                        anything. The implementations here are barriers of the
 *                                        group (of a warp: a ballot), so a check build may hide
 *                                        that a group sync is missing before a call
 *   void     shmemd_arch_tell(const char *text, const char *site, uint32_t line)
 *                                        a mistake for which there is no record: printed; the
 *                                        emulator ends the run with it. site may be 0
 *   void     shmemd_arch_recorded(const void *err)
 *                                        a record was written: the emulator's report of a run
 *                                        that fails later has it
 *   int      shmemd_arch_is_readable(const void *p, size_t nbytes)   1 if that is not known
 *   The sources of nbi operations, on the CPU: nbi_source adds a source and a hash of its bytes to
 *   a list. nbi_changed returns the size of a source of this PE that has changed since, or 0, and
 *   removes those of this PE; nbi_forget only removes them. On GPUs they do nothing.
 *   void     shmemd_arch_nbi_source(const void *src, size_t nbytes)
 *   uint64_t shmemd_arch_nbi_changed(void)
 *   void     shmemd_arch_nbi_forget(void)
 *
 * 11. The bulk-copy engine, included on request: bulk.h
 *
 * Not promised: any order between weak accesses without a fence or group sync; fairness.
 */
#ifndef SHMEMD_ARCH_ARCH_H
#define SHMEMD_ARCH_ARCH_H

#if defined(__CUDACC__)
#include <shmem_dev/arch/cuda.h>
#else
#include <shmem_dev/arch/cpu.h>
#include <shmem_dev/arch/cpu_checks.h>
#endif

#endif
