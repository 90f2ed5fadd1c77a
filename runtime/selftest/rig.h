/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the rows of the self-test stand on: open ports, memory that all of them have registered, and
 * pairs of connected queue pairs that a CPU thread drives. Queues and WQEs are made by the
 * functions that jobs and kernels use (ib/link.h, impl/wqe.h, impl/cqe.h). End b of a pair is in
 * this process, or, over two machines, on PE 1: rows use the same functions in both cases. */
#ifndef SHMEMHI_SELFTEST_RIG_H
#define SHMEMHI_SELFTEST_RIG_H

#include <shmem_dev/impl/cqe.h>
#include <shmem_dev/impl/wqe.h>
#include "ib/link.h"
#include "ib/ports.h"

struct shmemhi_far; /* selftest/far.h */

#define SHMEMHI_RIG_PORTS 16
#define SHMEMHI_RIG_DEPTH 1024u              /* WQEBBs of a queue */
#define SHMEMHI_RIG_NBYTES ((size_t)4 << 20) /* of the local memory, and of the remote memory */

/* One end of a pair. */
typedef struct shmemhi_end {
	shmemhi_link_t link;
	shmemhi_link_mem_t mem;
	struct mlx5dv_devx_umem *umem; /* of link.queue; NULL: the NIC has the queue elsewhere */
	int port;                      /* index in rig->ports; of end b on PE 1, in its ports */
	uint64_t index;                /* WQEBBs posted */
	uint32_t n_cqes;               /* CQEs read */
} shmemhi_end_t;

/* Two ends that are connected: what `a` posts, `b` executes. */
typedef struct shmemhi_pair {
	shmemhi_end_t a, b;
} shmemhi_pair_t;

typedef struct shmemhi_rig {
	shmemhi_ib_lib_t lib;
	shmemhi_options_t opt;
	shmemhi_ports_t ports; /* all can be used */
	shmemhi_err_t err;
	struct shmemhi_far *far; /* of PE 0, if PE 1 has end b of all pairs; else NULL */
	char *memory;            /* local, then remote */
	struct ibv_mr *mrs[SHMEMHI_RIG_PORTS]; /* of the memory, for each port */
	shmemhi_pair_t loop;                   /* of shmemhi_remote_flush */
	uint64_t deadline;                     /* when long rows end */
	uint64_t random;
	uint32_t n_bursts; /* of rows_failover.c, so that each writes other values */
} shmemhi_rig_t;

/* A CQE that was read. */
typedef struct shmemhi_completion {
	uint32_t opcode; /* shmemd_cqe_opcode */
	uint32_t syndrome;
	uint16_t counter;
	uint8_t wqe_opcode;
} shmemhi_completion_t;

/* Open the ports that a list names; an empty list: all that can be used.
 * Returns  SHMEMH_OK; ERR_NIC, ERR_OPTION, ERR_NO_MEMORY with a line in rig->err. close is to be
 *          called in any case. */
int shmemhi_rig_open(shmemhi_rig_t *rig, const char *nics);
void shmemhi_rig_close(shmemhi_rig_t *rig);

/* A pseudo-random number. */
uint32_t shmemhi_rig_random(shmemhi_rig_t *rig);

/* When a row ends that may take one n-th of the time left until rig->deadline: at once if that has
 * passed. */
uint64_t shmemhi_rig_end_of_row(const shmemhi_rig_t *rig, uint64_t n);

enum { SHMEMHI_PAIR_COLLAPSED = 1, SHMEMHI_PAIR_NO_RETRY = 2 }; /* flags of pair_open */

#define SHMEMHI_RIG_QUEUE_NBYTES SHMEMD_QUEUE_NBYTES(SHMEMHI_RIG_DEPTH)

/* Create and connect a pair on two ports, which may be one port; port_b is of PE 1 if that has
 * end b. COLLAPSED: the CQ of a. NO_RETRY: requests are not sent again. queue_of_a: memory of
 * RIG_QUEUE_NBYTES that the NIC uses as the queue of a, or NULL. It stays the caller's, who copies
 * there what post and open write to a.link.queue. On failure there is nothing to close. */
int shmemhi_pair_open(shmemhi_rig_t *rig, int port_a, int port_b, int flags,
		      struct mlx5dv_devx_umem *queue_of_a, shmemhi_pair_t *pair);
void shmemhi_pair_close(shmemhi_rig_t *rig, shmemhi_pair_t *pair);

/* Replace the queue pairs and CQs of a pair by new ones in the same memory. */
int shmemhi_pair_renew(shmemhi_rig_t *rig, shmemhi_pair_t *pair);

/* Move the queue pair of `a` through RESET to RTS again, with the PSN that it began with. b stays
 * as it is, so it takes the first packets that a sends now for repetitions, as many as it has
 * received before. */
int shmemhi_pair_rewind(shmemhi_rig_t *rig, shmemhi_pair_t *pair);

/* One end alone. place: memory and doorbell register. queue: of the caller, or NULL. create: a new
 * CQ and a new queue pair, in INIT. join: to its peer, to RTS; flags: NO_RETRY. destroy: what
 * create made; close: everything. */
int shmemhi_end_place(shmemhi_rig_t *rig, shmemhi_end_t *end, struct mlx5dv_devx_umem *queue);
int shmemhi_end_create(shmemhi_rig_t *rig, shmemhi_end_t *end);
int shmemhi_end_join(shmemhi_rig_t *rig, shmemhi_end_t *end, const shmemhi_end_t *peer, int flags);
void shmemhi_end_destroy(const shmemhi_rig_t *rig, shmemhi_end_t *end);
void shmemhi_end_close(const shmemhi_rig_t *rig, shmemhi_end_t *end);

/* The same of end b of a pair, where it is. On PE 1 create first destroys a queue pair that is
 * there; here the caller does. */
int shmemhi_remote_open(shmemhi_rig_t *rig, shmemhi_end_t *b);
int shmemhi_remote_create(shmemhi_rig_t *rig, shmemhi_end_t *b);
int shmemhi_remote_join(shmemhi_rig_t *rig, shmemhi_pair_t *pair, int flags);
void shmemhi_remote_close(shmemhi_rig_t *rig, shmemhi_end_t *b);

/* A word of the remote memory, for shmemhi_remote_fence. */
typedef struct shmemhi_watch {
	uint64_t offset, expected;
	uint64_t ns; /* that it is polled at most; 0: not at all */
} shmemhi_watch_t;

/* Poll for a word, then move end b to ERR; the CPU that has end b does both. */
int shmemhi_remote_fence(shmemhi_rig_t *rig, shmemhi_pair_t *pair, const shmemhi_watch_t *watch);

/* What the NIC of end b reports of it. */
int shmemhi_remote_query(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, shmemhi_qp_state_t *state);

/* READ through a pair of the port of end b with itself: what its NIC has accepted before is in
 * memory when the READ is complete. flush returns as shmemhi_finish. */
int shmemhi_remote_flush_open(shmemhi_rig_t *rig, const shmemhi_pair_t *pair);
int shmemhi_remote_flush(shmemhi_rig_t *rig, shmemhi_completion_t *c);
void shmemhi_remote_flush_close(shmemhi_rig_t *rig);

/* Memory at an offset, with the key of the port of that end. */
shmemdi_mem_t shmemhi_local(const shmemhi_rig_t *rig, const shmemhi_end_t *end, size_t offset);
shmemdi_mem_t shmemhi_remote(const shmemhi_rig_t *rig, const shmemhi_end_t *end, size_t offset);

/* The same memory for the CPU. If PE 1 has end b, remote_ptr is of a copy of the remote memory:
 * call store after writing to the copy, and load before reading it. Where both ends are here,
 * store and load do nothing. If PE 1 cannot be asked, they have no effect: rig->far->is_lost says
 * so, and the row's verdict does not count. load_words loads n words of 8 bytes, at most
 * RIG_DEPTH. */
char *shmemhi_local_ptr(const shmemhi_rig_t *rig, size_t offset);
char *shmemhi_remote_ptr(const shmemhi_rig_t *rig, size_t offset);
void shmemhi_remote_store(shmemhi_rig_t *rig, size_t offset, size_t nbytes);
void shmemhi_remote_load(shmemhi_rig_t *rig, size_t offset, size_t nbytes);
void shmemhi_remote_load_words(shmemhi_rig_t *rig, size_t offset, size_t stride, uint32_t n);

/* The control segment of the next WQE of an end. flags: SHMEMD_MLX5_CQ_UPDATE,
 * SHMEMD_MLX5_FENCE_MODE_FENCE. */
shmemdi_wqe_at_t shmemhi_at(const shmemhi_end_t *end, uint32_t flags);

/* Write a WQE of n WQEBBs (1 or 2) into the queue. */
void shmemhi_post(shmemhi_end_t *end, const shmemdi_wqe_t *wqe, uint32_t n);

/* Ring the doorbell for everything that is posted, after writing the record. */
void shmemhi_ring_end(shmemhi_end_t *end);

#define SHMEMHI_RIG_PATIENCE_NS (20 * UINT64_C(1000000000))

/* Read the next CQE of the ring. Returns 0; -1: none came for RIG_PATIENCE_NS. */
int shmemhi_next_cqe(shmemhi_end_t *end, shmemhi_completion_t *c);

/* Ring, and read one CQE, which must be a success. Returns 0; -1: it was none, and *c says what. */
int shmemhi_finish(shmemhi_end_t *end, shmemhi_completion_t *c);

#endif
