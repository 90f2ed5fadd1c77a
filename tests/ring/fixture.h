/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A rig: PEs of the emulator that are connected by the software adapter, with a complete context
 * for kernels and without the host runtime. It is created again for each run, cheaply: memory of
 * the last run is reused. */
#ifndef RING_FIXTURE_H
#define RING_FIXTURE_H

#include <mlx5sw_sim.h>
#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/abi/replay.h>
#include "mlx5sw/control/control.h"

#define RIG_PES_MAX 4
#define RIG_CHANNELS_MAX 4
#define RIG_GRANULES_MAX 64
#define RIG_QUEUES_MAX 10u
/* small, so that transfers cross granules, and weak memory can follow all of it */
#define RIG_GRANULE 512u
#define RIG_SYNC_NBYTES 256u /* the heap's last bytes: sync words */

/* Parameters of the rig; rig_plan() has the usual values. */
typedef struct rig_plan {
	mlx5sw_config_t nic; /* hosts, start_index and has_no_dbr are set from the fields below */
	int n_pes;
	uint32_t n_channels;
	uint32_t depth, batch, inline_nbytes;
	uint64_t first;           /* index of the first WQEBB; 47 bits count */
	uint32_t base;            /* of the path; 16 bits count */
	uint32_t epoch;           /* of the path; 8 bits */
	uint32_t first_cqe;       /* 16 bits count */
	uint32_t first_request;   /* 24 bits count */
	uint64_t first_ticket;    /* of the bounce buffers */
	uint64_t flush_age;       /* WQEBBs since the last flush */
	uint32_t n_granules;      /* of a heap */
	uint32_t granules_per_mr; /* that one memory region covers */
	uint64_t unregistered;    /* a bit per granule: no PE has a key for it */
	uint32_t n_uncommitted;   /* granules at a heap's end that are reserved and not committed */
	uint32_t mapped;          /* a bit per PE: all other PEs have its heap mapped */
	uint32_t own_by_nic;      /* operations on a PE's own memory use its NIC, too */
	uint32_t is_strided;      /* of two PEs, both mapped: heaps are at the constant stride */
	/* SHMEMD_CTX_*, in addition to those that follow from the fields above */
	uint32_t flags;
	uint32_t path_flags; /* SHMEMD_PATH_OWN_STANDBY: columns exchanged; SHMEMD_PATH_NO_RECORD */
	uint8_t mtu;         /* of packets: 128 << mtu bytes */
	uint8_t log_reads;   /* log2 of the READs and atomics that a queue has in flight */
	uint8_t by_host;     /* an agent runs as the host's doorbell proxy */
	uint8_t has_paths;   /* channels may be switched (paths.h): keys in both columns */
	uint8_t n_queues;    /* memory areas for the queues of a channel, for its paths in turn */
	uint64_t timeout_ns;
} rig_plan_t;

/* The host's state of a PE's channel: its path. */
typedef struct rig_end {
	mlx5swi_cq_t *cq;
	mlx5swi_qp_t *qp;
	struct mlx5dv_devx_uar *uar;
	shmemd_channel_t *words;
	char *queues, *queue; /* of all paths, of this one */
	char *wqes, *cqes;
	uint32_t *record, *cq_record; /* record: the word of the send queue */
	uint32_t first_cqe;
	uint32_t n_switches, column; /* n_switches: number of earlier paths; column of own keys */
	uint32_t is_crossed;         /* the peer's keys are in the other column */
	uint64_t *producers;         /* by_host: device indexes, for each memory area */
	uint64_t *producer, rung;    /* of this path */
	uint32_t retired
		[RIG_QUEUES_MAX]; /* value of `ready` from which a memory area may be reused */
} rig_end_t;

typedef struct rig_pe {
	struct ibv_context *ctx_ib;
	struct ibv_pd *pds[2]; /* for each column of keys */
	char *heap, *queues, *channels, *bounces;
	size_t heap_nbytes, queues_nbytes; /* allocated bytes, which may exceed those in use */
	size_t channels_nbytes, bounces_nbytes;
	shmemd_key_t keys[SHMEMD_N_KEYS(RIG_GRANULES_MAX, RIG_PES_MAX)];
	shmemd_peer_t peers[RIG_PES_MAX];
	rig_end_t ends[RIG_CHANNELS_MAX * RIG_PES_MAX]; /* as channels: [k][world PE] */
	uint64_t producers[RIG_CHANNELS_MAX * RIG_PES_MAX][RIG_QUEUES_MAX];
	uint64_t used[RIG_CHANNELS_MAX];
	uint64_t abort_word, heap_committed;
	uint32_t causes[RIG_PES_MAX];
	shmemd_latch_t latch;
	shmemd_error_t error;
	shmemd_switch_order_t order;
	uint64_t faults[8 + RIG_CHANNELS_MAX * RIG_PES_MAX]; /* shmemd_faults_t and its reports */
	shmemd_ctx_t ctx;                                    /* of channel 0 */
} rig_pe_t;

extern rig_pe_t rig_pes[RIG_PES_MAX];

/* Two PEs behind NICs, one channel each way, 64 WQEBBs, batches of 16, heaps of 8 granules and a
 * region for each; strict lint, no random behaviour. */
rig_plan_t rig_plan(void);

/* Called by PE 0's main, before other PEs continue. Returns 0, or the run has failed. */
int rig_make(const rig_plan_t *plan);
void rig_end(void); /* after the last run */

/* For paths.c: create a path in its `queue` memory with the keys of its `column`, whose device
 * index and CQEs start at these values; connect it. Returns 0, or it cannot be created. */
int rig_make_path(const rig_pe_t *p, rig_end_t *e, uint32_t start, uint32_t first_cqe);
int rig_connect(const rig_end_t *e, const rig_end_t *peer);
const rig_plan_t *rig_planned(void);
size_t rig_queue_nbytes(void);
rig_end_t rig_path(const rig_end_t *e); /* the current path */
void rig_change_path(rig_end_t *e, const rig_end_t *next);
uint32_t rig_path_flags(const rig_end_t *e); /* SHMEMD_PATH_* of its path word */

/* The channel k from a PE to a peer, and its words. */
static inline rig_end_t *rig_channel(int pe, int peer, uint32_t k)
{
	return &rig_pes[pe].ends[k * (uint32_t)rig_pes[pe].ctx.n_pes + (uint32_t)peer];
}

static inline shmemd_channel_t *rig_words(int pe, int peer, uint32_t k)
{
	return rig_channel(pe, peer, k)->words;
}

/* WQEBBs published and reserved, requests and doorbells of a channel since the rig was made. */
uint32_t rig_wqebbs(int pe, int peer, uint32_t k);
uint32_t rig_reserved(int pe, int peer, uint32_t k);
uint64_t rig_requests(int pe, int peer, uint32_t k);
uint64_t rig_doorbells(int pe, int peer, uint32_t k);
int rig_status(int pe, int peer, uint32_t k); /* shmemd_status for which it sends nothing */

/* The place of WQEBB n since the rig was created, for shmemd_channel_poll; its device index. */
uint64_t rig_place(uint64_t n);
uint32_t rig_device_index(uint32_t n);

/* The adapter's counters of the channel. */
mlx5sw_qp_counters_t rig_counters(int pe, int peer, uint32_t k);

/* Execute a control line; a refused line fails the run. */
void rig_control(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
