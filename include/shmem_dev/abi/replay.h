/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Switch of a channel to another path: the host's order, and the rewriting of WQEs from the old
 * queue for the new one. The rewriting is pure, from words to words.
 *
 * The host orders a switch when the queue pairs of the old path are stopped at both ends, its CQEs
 * are in memory, and the host has read from the responder how many requests it executed. CQEs that
 * are missing 100 ms after QUERY_QP has shown hw_sq_wqebb_counter == sw_sq_wqebb_counter (the NIC
 * has completed or flushed all that was posted) count as lost, and are not waited for. A thread of
 * the GPU, in a job without one a thread of the emulator or the agent's, carries the order out
 * (impl/switch.h): it takes the WQEs that are not complete from the old queue, which is the log,
 * and writes them to the new one. They keep their indexes in the channel; place in the queue and
 * WQE index are those of the new queue pair.
 *   - A WRITE or an atomic that the responder executed becomes a NOP, so that it is not repeated.
 *   - A fetching atomic that was executed has lost its result: it becomes a NOP too, and its caller
 *     gets SHMEMD_ERR_AMBIGUOUS.
 *   - A READ without its answer is repeated, executed or not.
 *   - What was not executed, and what the responder does not see (NOP, DUMP), is repeated.
 * Each WQE keeps its WQEBBs and its request for a CQE. */
#ifndef SHMEMD_ABI_REPLAY_H
#define SHMEMD_ABI_REPLAY_H

#include <shmem_dev/abi/queue.h>

/* How functions of these headers are declared, which host and device both call. */
#if defined(__CUDACC__)
#define SHMEMD_ABI_FN static __host__ __device__ __forceinline__
#else
#define SHMEMD_ABI_FN static inline
#endif

/* An order to switch a channel, in pinned host memory; one at a time for a PE.
 *
 * The host stores `announced`, executes a release fence, stores the other fields of an order, then
 * `number`, one more than before, with release. The thread that carries it out stores `retired`,
 * `replayed` and `ambiguous`, then `carried_out` = number with release, and reads none of the other
 * fields afterwards. Until then the host leaves all fields as they are. No word is written by both.
 */
typedef struct shmemd_switch_order {
	uint64_t number;      /* of the latest order; 0: none yet */
	uint64_t carried_out; /* by the GPU: number of the latest order that is carried out */
	/* The new path, as in shmemd_channel_t. Its epoch is the next one; its base field is 0, and
	 * the thread that carries the order out fills it in. A path with a status
	 * (SHMEMD_PATH_FAILED) ends the channel instead; the rest of this word, `queue`,
	 * `doorbell`, `start` and `executed` then do not count. */
	uint64_t path;
	uint64_t queue; /* the host has set its doorbell record to `start`, its CQEs to invalid */
	uint64_t doorbell;
	uint32_t k, world_pe; /* which channel */
	uint32_t start;       /* the new queue pair's index of its first WQEBB */
	uint32_t
		executed; /* requests that the responder executed on the old queue pair, mod 2^24 */
	uint32_t retired; /* by the GPU: until `ready` has reached this index, posters write to
			      the old queue. Later only waiters load CQEs there, and then compare
			      epochs. So the host may reuse that memory, 20 ms after the switch at
			      the earliest (impl/switch.h), but must not unmap it. Of a channel that
			      had failed before the switch: an index that `ready` never reaches */
	uint32_t announced; /* low bits of the order's number: differs from those of `number`
			     while the fields are being written */
	uint32_t
		replayed; /* by the GPU: requests that it wrote to the new queue to be sent again */
	uint32_t ambiguous; /* by the GPU: fetching atomics whose callers it told that the result is
			       lost */
	uint32_t reserved[14];
} shmemd_switch_order_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_switch_order_t) == 128, "ABI: shmemd_switch_order_t");
SHMEMD_ASSERT_AT(shmemd_switch_order_t, carried_out,
		 8); /* read with `number` as one 16-byte load */

/* WQEs, as words in memory on a little-endian machine. */

#define SHMEMD_REPLAY_WORDS 20u /* of the longest WQE; one of two WQEBBs has 16 + 4 */
#define SHMEMD_REPLAY_WQEBB_WORDS 16u

/* The other byte order: of a word as a WQE has it, and back. */
SHMEMD_ABI_FN uint32_t shmemd_replay_swap(uint32_t v)
{
	return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

/* What a WQE is. */
typedef struct shmemd_replay_kind_t {
	uint32_t opcode, wqebbs;
	uint32_t is_request; /* the responder counts it */
	uint32_t remote;     /* words of the keys; 0: it has none */
	uint32_t local;
} shmemd_replay_kind_t;

/* Is it the opcode of an atomic? */
SHMEMD_ABI_FN int shmemd_replay_is_atomic(uint32_t opcode)
{
	return opcode == SHMEMD_MLX5_ATOMIC_CS || opcode == SHMEMD_MLX5_ATOMIC_FA ||
	       opcode == SHMEMD_MLX5_ATOMIC_MASKED_CS || opcode == SHMEMD_MLX5_ATOMIC_MASKED_FA;
}

/* From words 0 and 1 of the WQE, its control segment, and word 8, by which a WRITE is inline or
 * not. With w8 = 0 `local` is not valid for a WRITE. */
SHMEMD_ABI_FN shmemd_replay_kind_t shmemd_replay_kind(uint32_t w0, uint32_t w1, uint32_t w8)
{
	shmemd_replay_kind_t kind = {shmemd_replay_swap(w0) & 0xff, 1, 1, 6, 9};
	uint32_t ds = shmemd_replay_swap(w1) & 0x3f;

	kind.wqebbs = ds > 4 ? 2 : 1;
	if (kind.opcode == SHMEMD_MLX5_NOP || kind.opcode == SHMEMD_MLX5_DUMP) {
		kind.is_request = kind.remote = 0;
		kind.local = kind.opcode == SHMEMD_MLX5_DUMP ? 5 : 0;
	} else if (shmemd_replay_is_atomic(kind.opcode)) {
		kind.local = 4 * (ds - 1) + 1;
	} else if (kind.opcode == SHMEMD_MLX5_RDMA_WRITE &&
		   (shmemd_replay_swap(w8) & SHMEMD_MLX5_INLINE)) {
		kind.local = 0;
	}
	return kind;
}

/* The address that belongs to the key in word `key` of a remote address segment (the two words
 * before it) or of a data segment (after it). */
SHMEMD_ABI_FN uint64_t shmemd_replay_address(const uint32_t *w, uint32_t key, int is_remote)
{
	uint32_t i = is_remote ? key - 2 : key + 1;

	return (uint64_t)shmemd_replay_swap(w[i]) << 32 | shmemd_replay_swap(w[i + 1]);
}

/* Fate of a WQE whose path failed. */
enum shmemd_replay_fate {
	SHMEMD_REPLAY_AGAIN = 0,     /* the new path repeats it */
	SHMEMD_REPLAY_NOP = 1,       /* it was executed: a NOP takes its place */
	SHMEMD_REPLAY_AMBIGUOUS = 2, /* a NOP, and the result is lost */
};

/* The fate of a WQE. is_executed: by the responder; is_sunk: an atomic whose result is not read. */
SHMEMD_ABI_FN int shmemd_replay_fate(shmemd_replay_kind_t kind, int is_executed, int is_sunk)
{
	if (!is_executed || !kind.is_request || kind.opcode == SHMEMD_MLX5_RDMA_READ)
		return SHMEMD_REPLAY_AGAIN;
	if (shmemd_replay_is_atomic(kind.opcode) && !is_sunk)
		return SHMEMD_REPLAY_AMBIGUOUS;
	return SHMEMD_REPLAY_NOP;
}

/* Place, queue pair and keys of a WQE on the new path. */
typedef struct shmemd_replay_at {
	uint32_t index;      /* the new queue pair's, of its first WQEBB; 16 bits count */
	uint32_t qpn;        /* of the new queue pair */
	uint32_t request;    /* its number; 24 bits count */
	uint32_t rkey, lkey; /* big-endian keys of the new path */
} shmemd_replay_at_t;

/* Repeat it on the new path. */
SHMEMD_ABI_FN void shmemd_replay_again(uint32_t *w, shmemd_replay_kind_t kind,
				       shmemd_replay_at_t at)
{
	const uint32_t index = shmemd_replay_swap((at.index & 0xffff) << 8);

	w[0] = (w[0] & ~shmemd_replay_swap(0xffff00)) | index;
	w[1] = (w[1] & shmemd_replay_swap(0xff)) | shmemd_replay_swap(at.qpn << 8);
	w[3] = shmemd_replay_swap(at.request & 0xffffff);
	if (kind.remote)
		w[kind.remote] = at.rkey;
	if (kind.local)
		w[kind.local] = at.lkey;
}

/* A NOP in place of it; in place of one of two WQEBBs, two NOPs. The second one requests the CQE: a
 * CQE of a NOP completes one WQEBB, so its index ends at the right place. */
SHMEMD_ABI_FN void shmemd_replay_nop(uint32_t *w, shmemd_replay_kind_t kind, shmemd_replay_at_t at)
{
	const uint32_t flags = w[2] & shmemd_replay_swap(SHMEMD_MLX5_CQ_UPDATE);
	const uint32_t last = (kind.wqebbs - 1) * SHMEMD_REPLAY_WQEBB_WORDS;
	uint32_t i;

	for (i = 0; i < SHMEMD_REPLAY_WORDS; i++)
		w[i] = 0;
	for (i = 0; i < kind.wqebbs; i++) {
		w[SHMEMD_REPLAY_WQEBB_WORDS * i] =
			shmemd_replay_swap(((at.index + i) & 0xffff) << 8 | SHMEMD_MLX5_NOP);
		w[SHMEMD_REPLAY_WQEBB_WORDS * i + 1] = shmemd_replay_swap(at.qpn << 8 | 1);
	}
	w[last + 2] = flags;
}

/* How many requests a path has, for the thread that leaves it. In the reservation word
 * (abi/queue.h) the field of WQEBBs lies directly below that of requests. Each time that the index
 * passes a multiple of 2^32, the lower field overflows, and this carry adds 1 to the upper one. So
 * the requests of a path are the request field at the path's end, less the number of the path's
 * first request, less the carries that the path has had.
 *
 * `origin` of a channel: bits 0-23 number of the path's first request (repeated ones included),
 * 24-38 bits 32-46 of the index `ready` at the switch to the path. */
#define SHMEMD_ORIGIN_WORD(request, index)                                                         \
	((uint64_t)((request)&0xffffffu) | ((uint64_t)(index) >> 32 & 0x7fff) << 24)

/* Requests of the path before `index`, mod 2^24. request: the request field at `index`. */
SHMEMD_ABI_FN uint32_t shmemd_replay_requests(uint64_t origin, uint32_t request, uint64_t index)
{
	uint32_t carries = (uint32_t)((index >> 32) - (origin >> 24)) & 0x7fff;

	return (request - (uint32_t)origin - carries) & 0xffffff;
}

#endif
