/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Channels: how threads send RDMA operations to a PE. A channel (peer, k) is one send queue
 * and its completion queue, which the threads of a kernel drive themselves (impl/sq.h, impl/cq.h).
 *
 * An index counts WQEBBs since the channel was made. Words hold its low 32 bits, but `done` holds
 * 47, owner words 40, and the base in `path` 16. The low bits of the difference of two indexes
 * order them: far fewer than 2^31 WQEBBs are ever between two indexes that are compared. Only
 * `flush` may be older; it is compared by distance (impl/quiet.h).
 *
 * Memory of one queue, at the address in `queue`: depth WQEBBs, depth CQEs, the doorbell record of
 * the queue pair, that of the completion queue. If the CPU doorbell proxy rings and queues are in
 * memory of the GPU, the records are in host memory, and their place here is unused. The queue
 * pair's index of a WQEBB is index - base, where `path` has the base.
 *
 * The completion queue is a ring of as many CQEs as the send queue has WQEBBs, overrun ignored. It
 * is not a collapsed one, in which the CQEs of flushed WQEs overwrite the one with the cause (tens
 * of microseconds later). It cannot overrun: the WQEBB of a CQE's WQE is not reused before `done`
 * has passed it.
 *
 * The path of a channel (queue pair, queue memory, doorbell register, key columns of both ends) has
 * an epoch. The line of a channel is what a poster loads: ready, done, path, queue, doorbell. All
 * but done carry the epoch as a tag, so that a thread that loads them with independent loads
 * detects a mixture of two paths.
 *
 * When the host orders it (abi/replay.h), a thread of the GPU switches a channel to another path
 * (impl/switch.h). In a job without a GPU that is a thread of the emulator, or the agent's. It
 * copies the WQEs that are not complete from the old queue to the new one, where they keep their
 * indexes in the channel, changes `path`, `queue` and `doorbell`, rings if there is anything to
 * ring for, stores `rung` if `ready` lacked RUNG, advances the epoch of `ready`, and stores `done`.
 * So a poster that has the turn finds the line of the epoch that `ready` has, and moves what it
 * wrote for an older one. A helper is the host's service kernel, or a thread that waits for a NIC
 * or polls a channel (impl/switch.h), and is not a poster waiting for space on this channel. It
 * carries out the switch only when no poster has the turn, and advances the epoch of the
 * reservation word before all that. If instead the poster that has the turn carries out the switch,
 * it advances that epoch after the one of `ready`. Meanwhile, a poster whose reservation has a
 * newer epoch than its line waits, and loads the line again. CQEs are numbered from 0 on each path,
 * and a number is compared together with its epoch. A doorbell for a queue pair in ERR makes the
 * NIC write flush-error CQEs and leaves the WQEs in memory, so posters need not check for a fault.
 * Posters use the memory of the old queue until `ready` has reached what was reserved before the
 * switch. */
#ifndef SHMEMD_ABI_QUEUE_H
#define SHMEMD_ABI_QUEUE_H

#include <shmem_dev/abi/mlx5.h>

/* Reservation word: bits 0-7 epoch, 8-39 WQEBBs reserved, 40-63 requests reserved (WQEs that the
 * responder counts: neither NOP nor DUMP), plus 1 for each time that the field of the WQEBBs has
 * overflowed into this one, which is once in 2^32 WQEBBs (shmemd_replay_requests of abi/replay.h
 * subtracts these). One fetch-add reserves both; bits 40-63 of the value that it returns are the
 * number of the reservation's first request. Each request's WQE carries its number in its immediate
 * field; a DUMP carries that of the request after it. */
#define SHMEMD_RESV_ADD(wqebbs, requests) ((uint64_t)(requests) << 40 | (uint64_t)(wqebbs) << 8)
#define SHMEMD_RESV_INDEX(word) ((uint32_t)((word) >> 8))
#define SHMEMD_RESV_REQUEST(word) ((uint32_t)((word) >> 40))
#define SHMEMD_RESV_EPOCH(word) ((uint32_t)(word)&0xff)

/* Word `ready`, also `flush`: bits 0-7 epoch; bit 8 RUNG; bit 9 DEFERRED; bits 16-31 CQEs
 * requested, mod 2^16; bits 32-63 WQEBBs published. */
#define SHMEMD_READY_RUNG 0x100u /* the doorbell has been rung for all of them */
#define SHMEMD_READY_DEFERRED                                                                      \
	0x200u /* each poster of those not rung for asked to defer its doorbell */
#define SHMEMD_READY_WORD(index, cqes, low)                                                        \
	((uint64_t)(uint32_t)(index) << 32 | (uint64_t)((uint32_t)(cqes)&0xffffu) << 16 |          \
	 (uint64_t)(low))
#define SHMEMD_READY_INDEX(word) ((uint32_t)((word) >> 32))
#define SHMEMD_READY_CQES(word) ((uint32_t)((word) >> 16) & 0xffff)
#define SHMEMD_READY_EPOCH(word) ((uint32_t)(word)&0xff)

/* Bit 0 of `rung` and of `done` is a lock: a thread is ringing the doorbell, or reading CQEs. */
#define SHMEMD_BUSY 1u

/* Word `rung`: bit 0 BUSY, bits 32-63 WQEBBs that the doorbell was rung for. Valid only while
 * `ready` lacks RUNG. */
#define SHMEMD_RUNG_WORD(index) ((uint64_t)(uint32_t)(index) << 32)
#define SHMEMD_RUNG_INDEX(word) ((uint32_t)((word) >> 32))

/* Word `done`: bit 0 BUSY, bits 1-16 CQEs consumed, mod 2^16, bits 17-63 WQEBBs completed.
 */
#define SHMEMD_DONE_INDEX_BITS 47
#define SHMEMD_DONE_WORD(index, cqes) ((uint64_t)(index) << 17 | (uint64_t)((cqes)&0xffffu) << 1)
#define SHMEMD_DONE_INDEX(word) ((uint64_t)(word) >> 17)
#define SHMEMD_DONE_CQES(word) ((uint32_t)((word) >> 1) & 0xffff)

/* Path word: bits 1-6 SHMEMD_PATH_*; bits 0 and 7 are always 0; 8-15 shmemd_status for which the
 * channel sends nothing any more, 0: none; 16-31 base: index of the WQEBB that the queue pair
 * counts as 0, mod 2^16; 32-55 number of the queue pair, its bytes as in a WQE; 56-63 epoch. No
 * flag is in bit 0: nvcc tests that bit of a 64-bit word with three instructions, any other with
 * one. */
#define SHMEMD_PATH_NO_RECORD 2u    /* the NIC takes the producer index from the doorbell itself */
#define SHMEMD_PATH_PROXY 4u        /* a host thread rings: `doorbell` is the word it watches */
#define SHMEMD_PATH_PEER_STANDBY 8u /* column of the keys of the peer's memory: its port */
#define SHMEMD_PATH_OWN_STANDBY 16u /* column of the keys of own memory: this PE's port */
#define SHMEMD_PATH_WORD(epoch, qpn, base, flags)                                                  \
	((uint64_t)((epoch)&0xffu) << 56 | (uint64_t)SHMEMD_QPN_BE(qpn) << 32 |                    \
	 (uint64_t)((base)&0xffffu) << 16 | (uint64_t)(flags))
#define SHMEMD_PATH_QPN_BE(word) ((uint32_t)((word) >> 32) & 0xffffff)
#define SHMEMD_PATH_QPN(word) SHMEMD_QPN_BE(SHMEMD_PATH_QPN_BE(word))
#define SHMEMD_PATH_BASE(word) ((uint32_t)((word) >> 16) & 0xffff)
#define SHMEMD_PATH_STATUS(word) ((uint32_t)((word) >> 8) & 0xff)
#define SHMEMD_PATH_FAILED(status) ((uint64_t)(uint32_t)(status) << 8)

/* An address with the path's epoch: addresses of user space have 56 bits at most. */
#define SHMEMD_TAGGED(epoch, p) ((uint64_t)((epoch)&0xffu) << 56 | (uint64_t)(uintptr_t)(p))
#define SHMEMD_TAG(word) ((uint32_t)((word) >> 56))
#define SHMEMD_ADDRESS(word) ((uintptr_t)((word) & (((uint64_t)1 << 56) - 1)))

/* Bounce buffers: where the NIC writes the results of g, of fetching atomics, and of gets whose dst
 * is not registered; the thread copies them from there. Each channel has 64 buffers and room for
 * one more. In the PE's first channel that 65th is the PE's sink: the results of all its
 * non-fetching atomics and flush READs go there.
 *
 * Owner word of a buffer: bit 0 clear: free for, or held by, ticket (word >> 1). Bit 0 set:
 * abandoned by a wait that ended without the result (time limit, failed PE, failed channel): free
 * for the ticket in bits 1-23, mod 2^23, once the WQEBBs before the index in bits 24-63, mod 2^40,
 * are completed. Bit 63 while bit 0 is clear: its user's atomic was executed, and a switch to
 * another path has lost the result. */
#define SHMEMD_OWNER_AMBIGUOUS ((uint64_t)1 << 63)
#define SHMEMD_BOUNCE_BUFFERS 64u
#define SHMEMD_BOUNCE_NBYTES 64u
#define SHMEMD_BOUNCES_NBYTES                                                                      \
	((SHMEMD_BOUNCE_BUFFERS + 1) * SHMEMD_BOUNCE_NBYTES) /* of a channel */

/* Key of a registration granule, for both ports of the PE that owns the memory: its home port and
 * its stand-by. Each end of a path uses one of its two. A transfer is cut alike on both.
 * In WQEs an address in the heap is an offset from the heap's start, equal on all PEs; the address
 * of a bounce buffer is its virtual address in this PE's process. */
typedef struct shmemd_key {
	/* Big-endian; [0] of the home port, [1] of the stand-by. At SHMEMD_LKEY_INDEX an lkey,
	 * chosen by SHMEMD_PATH_OWN_STANDBY; at SHMEMD_RKEY_INDEX an rkey, chosen by
	 * SHMEMD_PATH_PEER_STANDBY. */
	uint32_t key[2];
	uint32_t n_more; /* granules after this one that the same memory region covers */
	uint32_t reserved;
} shmemd_key_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_key_t) == 16, "ABI: shmemd_key_t");

/* Index in shmemd_ctx_t.keys of granule g of world PE pe, and of this PE's granule g (g ==
 * n_granules: of all bounce buffers). */
#define SHMEMD_RKEY_INDEX(n_granules, pe, g) ((size_t)(n_granules) * (size_t)(pe) + (g))
#define SHMEMD_LKEY_INDEX(n_granules, n_world, g) SHMEMD_RKEY_INDEX(n_granules, n_world, g)
#define SHMEMD_N_KEYS(n_granules, n_world) ((size_t)(n_granules) * ((size_t)(n_world) + 1) + 1)

/* What threads share of a channel, in GPU memory (in host memory if the job has no CUDA context).
 * Channel (k, world PE) is element k * n_world + pe of shmemd_ctx_t.channels. */
typedef struct shmemd_channel {
	uint64_t resv;
	uint64_t pad0[15]; /* the reservation word is what all posters update */
	uint64_t ready;
	uint64_t done;
	uint64_t path;
	uint64_t queue;    /* tagged address of its memory, page-aligned */
	uint64_t doorbell; /* tagged address of the register, or of the host's word */
	uint64_t rung;
	/* As `ready`: end of the last flush READ and, in place of the count of CQEs, the number of
	 * its CQE. If it lags far behind `ready`, a poster of other WQEs moves it on
	 * (shmemdi_sq_note_flush). */
	uint64_t flush;
	uint64_t ticket;    /* of the next bounce buffer */
	uint64_t doorbells; /* counter: doorbells rung, or asked of the CPU doorbell proxy */
	/* Counter: requests written; more than published if the channel failed. */
	uint64_t requests;
	uint64_t origin; /* SHMEMD_ORIGIN_WORD of the path (abi/replay.h); 0 if all begins at 0 */
	/* Latest report of this path (SHMEMD_FAULT_WORD), 0: none; changed only while holding the
	 * lock of `done`. */
	uint64_t reported;
	uint64_t looks; /* calls of channel_poll and channel_space that found work under way */
	uint64_t pad1[3];
	uint64_t owners[SHMEMD_BOUNCE_BUFFERS];
} shmemd_channel_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_channel_t) == 256 + 8 * SHMEMD_BOUNCE_BUFFERS,
		     "ABI: shmemd_channel_t");
SHMEMD_ASSERT_AT(shmemd_channel_t, ready, 128);
SHMEMD_ASSERT_AT(shmemd_channel_t, owners, 256);

/* One queue's memory. */
#define SHMEMD_QUEUE_CQES_OFFSET(depth) ((size_t)(depth)*SHMEMD_WQEBB_NBYTES)
#define SHMEMD_QUEUE_RECORD_OFFSET(depth) (2 * SHMEMD_QUEUE_CQES_OFFSET(depth))
#define SHMEMD_QUEUE_CQ_RECORD_OFFSET(depth) (SHMEMD_QUEUE_RECORD_OFFSET(depth) + 64)
#define SHMEMD_QUEUE_NBYTES(depth) (SHMEMD_QUEUE_RECORD_OFFSET(depth) + 128)
#define SHMEMD_RECORD_SEND 1u /* word of a queue pair's record; word 0 is a receive queue's */

#endif
