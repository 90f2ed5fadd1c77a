/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Channels: how threads reach a PE that is behind a NIC. A channel (peer, k) is a send queue and
 * its completion queue, which threads of a kernel drive themselves (impl/ring.h: the protocol).
 *
 * Indexes of slots count WQEBBs since the channel was made and have 64 bits, except where a word
 * has room for fewer. Block i lies at wqes + (i mod depth) * 64.
 *
 * Completion queue: a ring of as many CQEs as the send queue has blocks, overrun ignored. Not a
 * collapsed one, in which the CQEs of flushed WQEs overwrite the one with the cause after some
 * 60 us: fail-over must know the cause, and which answers came before it. The ring cannot overrun:
 * a CQE belongs to a WQE whose block is not reused before it was read. */
#ifndef SHMEMD_ABI_RING_H
#define SHMEMD_ABI_RING_H

#include <shmem_dev/abi/mlx5.h>

/* Reservation word: bit 0 CLOSED; bits 1-39 slots reserved, mod 2^39; bits 40-63 requests (WQEs
 * that the target counts, so no NOP and DUMP) reserved, mod 2^24, plus the carries out of the
 * slots. One fetch-add reserves both; its return value says whether the channel was open. */
#define SHMEMD_RESV_CLOSED 1u
#define SHMEMD_RESV_ADD(slots, requests) ((uint64_t)(requests) << 40 | (uint64_t)(slots) << 1)
#define SHMEMD_RESV_SLOT_BITS 39
#define SHMEMD_RESV_REQUESTS(word) ((uint32_t)((word) >> 40))

/* Bit 0 of `rung` and of `done`: a thread is ringing, or reading CQEs; no other may. */
#define SHMEMD_BUSY 1u

/* Doorbell word: bit 0 BUSY; bits 1-63 slots that the NIC was told of, mod 2^63. */
#define SHMEMD_RUNG_WORD(slots) ((uint64_t)(slots) << 1)
#define SHMEMD_RUNG_SLOT_BITS 63

/* Completion word: bit 0 BUSY; bits 1-40 slots completed, mod 2^40; bits 41-63 CQEs read, mod
 * 2^23. */
#define SHMEMD_DONE_SLOT_BITS 40
#define SHMEMD_DONE_WORD(cqes, slots)                                                              \
	((uint64_t)(cqes) << (SHMEMD_DONE_SLOT_BITS + 1) |                                         \
	 ((uint64_t)(slots) & (((uint64_t)1 << SHMEMD_DONE_SLOT_BITS) - 1)) << 1)
#define SHMEMD_DONE_CQES(word) ((uint32_t)((word) >> (SHMEMD_DONE_SLOT_BITS + 1)))

/* Landing slots: where READs and atomics put what g, fetches and gets into memory that no NIC knows
 * bring back. Slot SHMEMD_LANDING_SLOTS is a sink for answers that nobody wants.
 *
 * Turn word of a slot: bit 0 clear: free for ticket (word >> 1). Bit 0 set: given up by a wait that
 * ran out of time: free for the ticket in bits 1-23, mod 2^23, once the slots before the one in
 * bits 24-63, mod 2^40, are completed. */
#define SHMEMD_LANDING_SLOTS 64u
#define SHMEMD_LANDING_NBYTES 64u

/* Key of a granule of a heap. Addresses in WQEs are offsets from the heap's start, on all PEs. */
typedef struct shmemd_key {
	uint32_t key;    /* big-endian lkey or rkey */
	uint32_t n_more; /* granules behind this one that the same memory region covers */
} shmemd_key_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_key_t) == 8, "read as one 8-byte load");

/* Where a channel leads. Immutable: a channel that is led elsewhere gets another one. */
typedef struct shmemd_path {
	uint32_t qpn;
	uint32_t landing_key; /* big-endian lkey of the landing slots; their address is as here */
	void *doorbell;       /* register; NULL: the host rings, it watches `producer` */
	uint64_t *producer;   /* pinned: slots to tell the NIC of */
	uint32_t *dbr;        /* doorbell record's send word */
	const shmemd_key_t *lkeys; /* [granules] of this PE's heap */
	const shmemd_key_t *rkeys; /* [granules] of the peer's */
	uint32_t log_granule;      /* log2 of a granule's bytes */
	uint32_t epoch;            /* counts paths of this channel */
	uint64_t reserved;
} shmemd_path_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_path_t) == 64, "ABI: shmemd_path_t");

/* What threads and host change of a channel. Words that many threads hammer are 64 bytes apart. */
typedef struct shmemd_ring {
	uint64_t resv; /* SHMEMD_RESV_* */
	uint64_t pad0[7];
	uint64_t ready;            /* slots written, in order */
	const shmemd_path_t *path; /* where new requests go */
	uint64_t pad1[6];
	uint64_t rung;      /* SHMEMD_RUNG_WORD */
	uint64_t doorbells; /* times it was rung */
	uint64_t requests;  /* requests published */
	uint32_t dead;      /* shmemd_status: nothing goes out any more; 0: alive */
	uint32_t reserved;
	uint64_t later; /* end of a run of slots, from those rung last on, whose posters were told
			   not to ring */
	uint64_t pad2[3];
	uint64_t done;   /* SHMEMD_DONE_WORD */
	uint64_t flush;  /* a READ that ends at this slot is posted: all WRITEs before it are in the
			    target's memory when it completes */
	uint64_t ticket; /* next landing slot, mod SHMEMD_LANDING_SLOTS */
	uint64_t pad3[5];
	uint64_t turns[SHMEMD_LANDING_SLOTS];
} shmemd_ring_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_ring_t) == 256 + 8 * SHMEMD_LANDING_SLOTS, "ABI: shmemd_ring_t");
SHMEMD_ASSERT_AT(shmemd_ring_t, ready, 64);
SHMEMD_ASSERT_AT(shmemd_ring_t, rung, 128);
SHMEMD_ASSERT_AT(shmemd_ring_t, done, 192);
SHMEMD_ASSERT_AT(shmemd_ring_t, turns, 256);

/* A channel as a kernel finds it (shmemd_ctx_t.channels). Immutable. */
typedef struct shmemd_channel {
	shmemd_ring_t *ring;    /* NULL: no NIC leads to that PE */
	char *wqes;             /* [depth][64] */
	const char *cqes;       /* [depth][64], each byte 0xff at first */
	char *landing;          /* [SHMEMD_LANDING_SLOTS + 1][SHMEMD_LANDING_NBYTES] */
	uint64_t first;         /* the first slot's index */
	uint32_t depth;         /* a power of two, SHMEMD_MIN_DEPTH .. SHMEMD_MAX_DEPTH */
	uint32_t batch;         /* slots that wait for one doorbell, if more are on their way;
				      a power of two, at most depth / 2 */
	uint32_t inline_nbytes; /* puts of so few bytes travel within their WQE; at most
				      SHMEMD_MLX5_INLINE_MAX */
	uint32_t reserved;
	uint64_t reserved2;
} shmemd_channel_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_channel_t) == 64, "ABI: shmemd_channel_t");

#endif
