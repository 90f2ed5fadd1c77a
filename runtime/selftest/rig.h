/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the rows of the self-test stand on: open ports, memory that all of them have registered, and
 * pairs of connected queue pairs that a CPU thread drives. Queues and WQEs are made by the
 * functions that jobs and kernels use (ib/link.h, impl/wqe.h, impl/cqe.h). */
#ifndef SHMEMHI_SELFTEST_RIG_H
#define SHMEMHI_SELFTEST_RIG_H

#include <shmem_dev/impl/cqe.h>
#include <shmem_dev/impl/wqe.h>
#include "ib/link.h"
#include "ib/ports.h"

#define SHMEMHI_RIG_PORTS 16
#define SHMEMHI_RIG_DEPTH 1024u              /* WQEBBs of a queue */
#define SHMEMHI_RIG_NBYTES ((size_t)4 << 20) /* of the local memory, and of the remote memory */

typedef struct shmemhi_rig {
	shmemhi_ib_lib_t lib;
	shmemhi_options_t opt;
	shmemhi_ports_t ports; /* all can be used */
	shmemhi_err_t err;
	char *memory;                          /* local, then remote */
	struct ibv_mr *mrs[SHMEMHI_RIG_PORTS]; /* of the memory, for each port */
	uint64_t deadline;                     /* when long rows end */
	uint64_t random;
	uint32_t n_bursts; /* of rows_failover.c, so that each writes other values */
} shmemhi_rig_t;

/* One end of a pair. */
typedef struct shmemhi_end {
	shmemhi_link_t link;
	shmemhi_link_mem_t mem;
	struct mlx5dv_devx_umem *umem; /* of link.queue; NULL: the NIC has the queue elsewhere */
	int port;                      /* index in rig->ports */
	uint64_t index;                /* WQEBBs posted */
	uint32_t n_cqes;               /* CQEs read */
} shmemhi_end_t;

/* Two ends that are connected: what `a` posts, `b` executes. */
typedef struct shmemhi_pair {
	shmemhi_end_t a, b;
} shmemhi_pair_t;

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

enum { SHMEMHI_PAIR_COLLAPSED = 1, SHMEMHI_PAIR_NO_RETRY = 2 }; /* flags of pair_open */

#define SHMEMHI_RIG_QUEUE_NBYTES SHMEMD_QUEUE_NBYTES(SHMEMHI_RIG_DEPTH)

/* Create and connect a pair on two ports, which may be one port. COLLAPSED: the CQ of a.
 * NO_RETRY: requests are not sent again. queue_of_a: memory of RIG_QUEUE_NBYTES that the NIC uses
 * as the queue of a, or NULL. It stays the caller's, who copies there what post and open write to
 * a.link.queue. On failure there is nothing to close. */
int shmemhi_pair_open(shmemhi_rig_t *rig, int port_a, int port_b, int flags,
		      struct mlx5dv_devx_umem *queue_of_a, shmemhi_pair_t *pair);
void shmemhi_pair_close(shmemhi_rig_t *rig, shmemhi_pair_t *pair);

/* Replace the queue pairs and CQs of a pair by new ones in the same memory. */
int shmemhi_pair_renew(shmemhi_rig_t *rig, shmemhi_pair_t *pair);

/* Move the queue pair of `a` through RESET to RTS again, with the PSN that it began with. b stays
 * as it is: what a sends now, b has received already, as many packets as before. */
int shmemhi_pair_rewind(shmemhi_rig_t *rig, shmemhi_pair_t *pair);

/* Memory at an offset, as the port of that end knows it. */
shmemdi_mem_t shmemhi_local(const shmemhi_rig_t *rig, const shmemhi_end_t *end, size_t offset);
shmemdi_mem_t shmemhi_remote(const shmemhi_rig_t *rig, const shmemhi_end_t *end, size_t offset);
char *shmemhi_local_ptr(const shmemhi_rig_t *rig, size_t offset);
char *shmemhi_remote_ptr(const shmemhi_rig_t *rig, size_t offset);

/* The control segment of the next WQE of an end. flags: SHMEMD_MLX5_CQ_UPDATE, _FENCE. */
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
