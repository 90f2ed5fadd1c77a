/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory shared by the NIC and the threads that use links: queues and bounce buffers, in GPU memory
 * or in pinned host memory (SHMEMH_IB_QUEUE).
 *
 * Completion queues and bounce buffers are always in the same of the two. PCIe orders the writes of
 * a NIC to one destination, not those to two. With CQEs in GPU memory and bounce buffers in host
 * memory, this could happen:
 *   1. The NIC writes the response to a READ towards host memory, where the write is delayed.
 *   2. The NIC writes the CQE of the READ to the GPU, where it arrives.
 *   3. A thread polls the CQE, loads the bounce buffer, and gets the bytes of an earlier READ.
 *   4. The write of step 1 arrives.
 * The opposite case, CQEs in host memory and data in GPU memory, cannot be avoided: a get with host
 * queues writes to the heap. A DUMP then follows each READ whose result is used, and each
 * fetching atomic (SHMEMD_CTX_DUMP_AFTER_READ).
 *
 * A block holds the queues of many links and is registered as one umem. The queue of a link is
 * SHMEMD_QUEUE_NBYTES, rounded up to whole pages: send queue, completion queue, doorbell
 * records. The bounce buffers of all links are one memory region. Neither registration permits
 * access by other PEs. Producer words, for the CPU doorbell proxy, are not registered; each has
 * a cache line of its own. The proxy writes the doorbell records: with the proxy and queues in
 * GPU memory, the records are in a block of pinned host memory. */
#ifndef SHMEMHI_IB_QUEUE_H
#define SHMEMHI_IB_QUEUE_H

#include "cuda/ctx.h"
#include "ib/link.h"
#include "ib/state.h"
#include "ib/uar.h"
#include "mem/mem.h"

#define SHMEMHI_QUEUE_BLOCK_NBYTES ((uint64_t)32 << 20) /* at most, unless one link needs more */

typedef struct shmemhi_queue_block {
	void *raw;           /* of shmemhi_pinned_alloc */
	shmemhi_area_t area; /* or memory of the GPU */
	char *base;          /* page-aligned */
	uint64_t nbytes;
	uint32_t n_links;
	struct mlx5dv_devx_umem *umem;
} shmemhi_queue_block_t;

struct shmemhi_queue_mem {
	const shmemhi_open_port_t *port; /* that uses it */
	shmemhi_uars_t uars;
	uint32_t n_links;
	uint32_t n_blocks;
	uint32_t links_per_block;
	/* Of all blocks, records, producer words and bounce buffers, and of what ib/slots.c
	 * allocates by shmemhi_host_block_open */
	uint64_t nbytes;
	shmemhi_queue_block_t *blocks;
	shmemhi_queue_block_t records; /* only if they are not with the queues */
	void *producers;               /* pinned; NULL: the GPU rings */
	shmemhi_queue_block_t bounces; /* no umem, but a memory region */
	struct ibv_mr *bounce_mr;
};

#define SHMEMHI_RECORDS_NBYTES (2 * SHMEMHI_RECORD_STRIDE) /* of a link */
#define SHMEMHI_PRODUCER_STRIDE 64u /* bytes from one producer word to the next: a cache line */

/* Check options whose limits depend on the kind of the NIC. */
int shmemhi_ib_check_nic_options(shmemh_t *job, const shmemhi_open_port_t *port);

/* Allocate and register the memory of all links, and set the pointers of the links into it.
 * queue_mem exists, zeroed but for port and n_links. */
int shmemhi_queue_mem_open(shmemh_t *job, shmemhi_ib_t *ib);

/* ib/queue_gpu.c: b->nbytes of the GPU's memory, zeroed and registered. Failed: a line in why, and
 * b->area is still to be closed. */
int shmemhi_queue_gpu_open(shmemh_t *job, const shmemhi_ib_lib_t *lib,
			   const shmemhi_open_port_t *port, shmemhi_queue_block_t *b,
			   shmemhi_err_t *why);

/* Register memory of the GPU for queues: by a dma-buf, else by its address. NULL: a line in why. */
struct mlx5dv_devx_umem *shmemhi_umem_of_gpu(shmemhi_cuctx_t *c, const shmemhi_ib_lib_t *lib,
					     const shmemhi_open_port_t *port, void *base,
					     size_t nbytes, shmemhi_err_t *why);

/* Register GPU memory, which is allocated already, with a NIC, the first one or a further one:
 * queues as a umem, bounce buffers as a memory region. NULL: a line in why. */
struct mlx5dv_devx_umem *shmemhi_queue_gpu_register(shmemh_t *job, const shmemhi_ib_lib_t *lib,
						    const shmemhi_open_port_t *port,
						    const shmemhi_queue_block_t *b,
						    shmemhi_err_t *why);
struct ibv_mr *shmemhi_bounces_gpu_register(shmemh_t *job, const shmemhi_ib_lib_t *lib,
					    const shmemhi_open_port_t *port,
					    const shmemhi_queue_block_t *b, shmemhi_err_t *why);

/* As shmemhi_queue_gpu_open, for bounce buffers, which are registered as a memory region. */
int shmemhi_bounces_gpu_open(shmemh_t *job, const shmemhi_ib_lib_t *lib,
			     const shmemhi_open_port_t *port, shmemhi_queue_block_t *b,
			     struct ibv_mr **mr, shmemhi_err_t *why);

/* Create a queue pair without a doorbell record if the NIC offers that and the GPU rings. Then one
 * fence separates WQEs and doorbell, instead of a record and a second fence, and the NIC reads no
 * record. With the CPU doorbell proxy keep the record: fences of the host cost kernels nothing.
 *
 * A NIC may limit the number of queue pairs without a record (capability
 * log_max_send_dbr_less_qp_sq): once CREATE_QP fails without a record, this link and
 * all later ones of the port have one. */
int shmemhi_queue_create_qp(const shmemh_t *job, const shmemhi_ib_lib_t *lib,
			    shmemhi_open_port_t *port, shmemhi_link_t *link,
			    shmemhi_link_mem_t *mem, shmemhi_err_t *err);

/* A random number for a queue pair's first request. */
uint32_t shmemhi_queue_psn(void);

/* For memory that is allocated later (ib/slots.c). Bytes of one queue, whole pages. */
uint64_t shmemhi_queue_nbytes(const shmemhi_ib_t *ib);

/* Allocate b->nbytes of pinned host memory, not registered. */
int shmemhi_host_block_open(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
			    shmemhi_err_t *err);

/* Register a block with a NIC. NULL: a line in err. */
struct mlx5dv_devx_umem *shmemhi_block_register(shmemh_t *job, const shmemhi_ib_t *ib,
						const shmemhi_open_port_t *port,
						const shmemhi_queue_block_t *b, shmemhi_err_t *err);

/* Release a block. Returns whether the NIC may still use the memory, which is kept then. */
bool shmemhi_block_close(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
			 bool is_in_use);

/* Register the bounce buffers with a further NIC. NULL: a line in job->err. */
struct ibv_mr *shmemhi_bounces_register(shmemh_t *job, const shmemhi_ib_t *ib,
					const shmemhi_open_port_t *port);

/* Release the memory, after the queues of the links have been destroyed. is_in_use: some could not
 * be destroyed, and the NIC may still use their memory. Then the memory that the NIC has access to
 * is never freed; nor is a part that cannot be deregistered. */
void shmemhi_queue_mem_close(shmemh_t *job, shmemhi_ib_t *ib, bool is_in_use);

#endif
