/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory of queues. A block holds those of many links, each kind together: so that all of them are
 * aligned as they need and nothing is wasted between.
 *
 *   rings     of each link: send queue [depth][64], CQ [depth][64]; whole pages
 *   landings  of each link: [SHMEMD_LANDING_SLOTS + 1][SHMEMD_LANDING_NBYTES]
 *   words     of each link: record of the QP, record of the CQ, producer word, each in a line of
 *             its own, since different agents write them
 *
 * The NIC knows a block twice: as a umem, for queues and records, and its landing slots as a memory
 * region. Neither lets anything come in from the network. */
#ifndef SHMEMHI_IB_QUEUE_H
#define SHMEMHI_IB_QUEUE_H

#include "ib/state.h"
#include "ib/uar.h"

#define SHMEMHI_QUEUE_BLOCK_NBYTES ((uint64_t)32 << 20) /* at most, unless one link needs more */

typedef struct shmemhi_queue_block {
	void *raw;  /* of shmemhi_pinned_alloc */
	char *base; /* page-aligned */
	uint64_t nbytes;
	uint32_t n_links;
	struct mlx5dv_devx_umem *umem;
	struct ibv_mr *mr;
} shmemhi_queue_block_t;

struct shmemhi_queue_mem {
	shmemd_ring_t *rings; /* [n_links], memory of the device */
	shmemhi_uars_t uars;
	uint32_t n_links;
	uint32_t n_blocks;
	uint32_t links_per_block;
	uint64_t nbytes; /* of all blocks and rings */
	shmemhi_queue_block_t *blocks;
};

#define SHMEMHI_LINE 64u
#define SHMEMHI_SEND_WORD 1 /* of a QP's record; the other one is a receive queue's */

/* Records of a link, 8 bytes each. */
static inline char *shmemhi_qp_record(const shmemhi_link_t *link)
{
	return (char *)(link->dbr - SHMEMHI_SEND_WORD);
}

static inline char *shmemhi_cq_record(const shmemhi_link_t *link)
{
	return shmemhi_qp_record(link) + SHMEMHI_LINE;
}

/* Options whose values NICs or rings limit. Returns SHMEMH_OK; ERR_OPTION. */
int shmemhi_ib_check_options(shmemh_t *job);

/* The same for what depends on the NIC's kind. */
int shmemhi_ib_check_nic_options(shmemh_t *job, const shmemhi_nic_t *nic);

/* Memory for all links, registered; the links' pointers into it. queue_mem exists, zeroed. */
int shmemhi_queue_mem_open(shmemh_t *job, shmemhi_ib_t *ib);
/* No queue uses it any more. is_in_use: the NIC may still, so it is never given back. */
void shmemhi_queue_mem_close(shmemh_t *job, shmemhi_ib_t *ib, int is_in_use);

#endif
