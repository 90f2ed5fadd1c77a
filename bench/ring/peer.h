/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The words that a post of NVSHMEM 3.4.5 or of DeepEP reads: queue pairs, keys and their state.
 * DeepEP uses NVSHMEM's structures. Order and sizes of the fields are theirs, so that the same
 * words share a cache line; the names are ours, and fields that no post reads are padding. */
#ifndef BENCH_RING_PEER_H
#define BENCH_RING_PEER_H

#include "compare.h"

#define PEER_QP_DC 1
#define PEER_QP_RC 3
#define PEER_MAX_KEYS 64u
/* as if the queues had been filled once and all of it were complete */
#define PEER_FIRST POST_DEPTH

typedef struct peer_cq {
	int version;
	int type;
	uint32_t *record;
	const char *cqe; /* the only one: the CQ is collapsed */
	uint64_t *posted;
	uint64_t *consumed;
	uint64_t *reserved;
	uint64_t *ready;
	uint32_t cqn;
	uint32_t n_cqes;
	uint32_t qpn;
} peer_cq_t;

/* Indexes count WQEBBs. */
typedef struct peer_words {
	int version;
	int lock; /* of the doorbell */
	uint64_t reserved;
	uint64_t ready;  /* written, in order */
	uint64_t posted; /* covered by the doorbell */
	uint64_t consumed;
	uint64_t gets[2];
	uint64_t bounce[2];
	char pad[24];
} peer_words_t;

typedef struct peer_qp {
	int version;
	int type;
	uint32_t qpn;
	uint32_t device;
	struct {
		uint32_t n_slots;
		char *buffer;
		uint32_t lkey;
		uint32_t rkey;
	} bounce;
	struct {
		uint16_t depth;
		char *wqes;
		uint32_t *record;
		uint64_t *doorbell;
		const peer_cq_t *cq;
		uint64_t *posted;
	} sq;
	peer_words_t words;
} peer_qp_t;

static_assert(sizeof(peer_cq_t) == 72 && sizeof(peer_words_t) == 96 && sizeof(peer_qp_t) == 184,
	      "the sizes of NVSHMEM 3.4.5");

typedef struct peer_key {
	uint32_t key;
	uint64_t end; /* of the memory region: an address (lkey) or an offset in the heap (rkey) */
} peer_key_t;

typedef enum peer_map { PEER_MAP_BLOCK, PEER_MAP_SM, PEER_MAP_WARP } peer_map_t;

/* In constant memory, as in NVSHMEM. */
typedef struct peer_state {
	uint32_t n_qps; /* to each PE, on each device */
	uint32_t n_devices;
	uint32_t n_groups;
	uint32_t batch;
	uint32_t log_granule;
	peer_map_t map;
	bool is_queue_on_gpu;
	bool is_rung_by_host;
	peer_key_t lkeys[PEER_MAX_KEYS];
	peer_key_t rkeys[PEER_MAX_KEYS];
	const peer_key_t *more_lkeys; /* from the PEER_MAX_KEYSth on */
	const peer_key_t *more_rkeys;
	uint8_t *switches; /* [n_groups] */
	peer_qp_t *qps;    /* [pes][n_qps] */
	char *heap;
	uint64_t heap_nbytes;
	char *const *remote; /* [pes] base addresses */
	int n_pes;
	int my_pe;
} peer_state_t;

/* Second parameter of kernels that use none. */
typedef struct peer_none {
	int unused;
} peer_none_t;

/* Make n_channels queues to each PE, in the state after they have been filled once. NULL after a
 * line. */
peer_state_t *peer_reset(const post_memory_t *m, uint32_t n_channels);

#endif
