/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows that need a GPU: a thread of a kernel rings the doorbell and polls the CQ, and the WRITEs go
 * to memory of the GPU. The host posts the WQEs. Queues are in host memory. In the row gpu-queue
 * they are in memory of the GPU, and what the host has posted is copied there. */
#include <endian.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "cuda/dmabuf.h"
#include "ib/queue.h"
#include "selftest/gpu.h"
#include "selftest/rows.h"

#define TARGET_NBYTES ((size_t)2 << 20) /* a whole page of the GPU, as a dma-buf needs it */
#define TRIES 256u                      /* of one kernel */
#define WRITE_NBYTES 1024u
#define QUEUE_NBYTES ((size_t)2 << 20) /* a whole page of the GPU, too */
#define LAPS 3u /* of the CQ in the GPU's memory; a try takes one CQE, but two WQEBBs */
#define TIMEOUT_NS (10 * SHMEMHI_SECOND)

/* What a row uses. */
typedef struct use {
	shmemhi_rig_gpu_t gpu;
	void *target; /* of the GPU */
	struct ibv_mr *mr;
	char *queue;                   /* of the GPU; NULL: that of pair->a is in host memory */
	struct mlx5dv_devx_umem *umem; /* of `queue` */
	void *doorbell;                /* for kernels */
	char *page;                    /* of the register */
	int is_queue_known;
	shmemhi_drive_report_t *report;
} use_t;

static size_t page_nbytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t queue_nbytes(void)
{
	return (SHMEMD_QUEUE_NBYTES(SHMEMHI_RIG_DEPTH) + page_nbytes() - 1) / page_nbytes() *
	       page_nbytes();
}

/* By a dma-buf, else by its address (nvidia_peermem). */
static struct ibv_mr *register_target(shmemhi_rig_t *rig, use_t *u, struct ibv_pd *pd)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	shmemhi_err_t ignored = {""};
	int fd = shmemhi_cuctx_dmabuf(&u->gpu.c, u->target, TARGET_NBYTES, &ignored);
	struct ibv_mr *mr = NULL;

	if (fd >= 0 &&
	    (!rig->lib.bind_dmabuf || rig->lib.bind_dmabuf(fd, u->target, TARGET_NBYTES) == 0))
		mr = rig->lib.reg_dmabuf_mr(pd, 0, TARGET_NBYTES, (uintptr_t)u->target, fd, rights);
	if (fd >= 0)
		close(fd);
	return mr ? mr : rig->lib.reg_mr(pd, u->target, TARGET_NBYTES, rights);
}

static int open_memory(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, use_t *u)
{
	shmemhi_cuctx_t *c = &u->gpu.c;
	int status = shmemhi_cuctx_dev_alloc(c, TARGET_NBYTES, &u->target, &rig->err);

	if (status == SHMEMH_OK)
		status = shmemhi_cuctx_pinned_alloc(c, sizeof *u->report, (void **)&u->report,
						    &rig->err);
	if (status == SHMEMH_OK && !u->queue) {
		status = shmemhi_cuctx_register(c, pair->a.link.queue, queue_nbytes(), &rig->err);
		u->is_queue_known = status == SHMEMH_OK;
	}
	if (status != SHMEMH_OK)
		return status;
	u->mr = register_target(rig, u, pair->b.link.port->pd);
	if (u->mr)
		return SHMEMH_OK;
	return shmemhi_fail(&rig->err, SHMEMH_ERR_NIC,
			    "%s cannot register memory of the GPU: load nvidia_peermem, or use the "
			    "open kernel modules of the driver",
			    pair->b.link.port->name);
}

static void close_use(const shmemhi_rig_t *rig, const shmemhi_pair_t *pair, use_t *u)
{
	shmemhi_cuctx_t *c = &u->gpu.c;

	if (u->doorbell)
		shmemhi_cuctx_unregister(c, u->page);
	if (u->mr)
		rig->lib.dereg_mr(u->mr);
	if (u->is_queue_known)
		shmemhi_cuctx_unregister(c, pair->a.link.queue);
	if (u->report)
		shmemhi_cuctx_pinned_free(c, u->report);
	if (u->target)
		shmemhi_cuctx_dev_free(c, u->target);
}

static int cannot_tell(shmemhi_rig_t *rig, shmemhi_outcome_t *o)
{
	shmemhi_row_unknown(o, "%.190s", rig->err.text);
	rig->err.text[0] = '\0';
	return -1;
}

/* Returns 0; -1: the outcome is set. In both cases call shmemhi_rig_gpu_close. */
static int open_gpu(shmemhi_rig_t *rig, use_t *u, shmemhi_outcome_t *o)
{
	int got;

	memset(u, 0, sizeof *u);
	got = shmemhi_rig_gpu_open(&u->gpu, &rig->err);
	if (got == 0)
		shmemhi_fail(&rig->err, SHMEMH_ERR_CUDA, "no GPU");
	return got == 1 ? 0 : cannot_tell(rig, o);
}

/* Returns 0; -1: the outcome is set. In both cases call close_use. */
static int open_use(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, use_t *u, shmemhi_outcome_t *o)
{
	char *reg = pair->a.link.host_doorbell;

	if (open_memory(rig, pair, u) != SHMEMH_OK)
		return cannot_tell(rig, o);
	u->page = reg - (uintptr_t)reg % page_nbytes();
	if (shmemhi_cuctx_map_io(&u->gpu.c, u->page, page_nbytes(), &u->doorbell, &rig->err) !=
	    SHMEMH_OK) {
		u->doorbell = NULL;
		shmemhi_row_fails(o, "the GPU cannot write to doorbells: %.150s", rig->err.text);
		rig->err.text[0] = '\0';
		return -1;
	}
	u->doorbell = (char *)u->doorbell + (reg - u->page);
	return 0;
}

/* Post n pairs of a WRITE to the GPU and a READ from there; WRITE i brings first + i. */
static void post_pairs(const shmemhi_rig_t *rig, shmemhi_pair_t *pair, const use_t *u, uint32_t n,
		       uint64_t first)
{
	shmemdi_mem_t target = {(uintptr_t)u->target, htobe32(u->mr->rkey)};
	shmemdi_mem_t other = {(uintptr_t)u->target + TARGET_NBYTES / 2, htobe32(u->mr->rkey)};

	for (uint32_t i = 0; i < n; i++) {
		size_t from = (size_t)i * WRITE_NBYTES;
		uint64_t value = first + i;
		shmemdi_wqe_t q;

		memcpy(shmemhi_local_ptr(rig, from + WRITE_NBYTES - 8), &value, sizeof value);
		shmemdi_wqe_write(&q, shmemhi_at(&pair->a, 0), target,
				  shmemhi_local(rig, &pair->a, from), WRITE_NBYTES);
		shmemhi_post(&pair->a, &q, 1);
		shmemdi_wqe_read(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE), other,
				 shmemhi_local(rig, &pair->a, SHMEMHI_RIG_NBYTES / 2), 8);
		shmemhi_post(&pair->a, &q, 1);
	}
}

/* Copy the first nbytes of the host's queue, the WQEs or all of it, to that in the GPU's memory. */
static int copy_queue(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, use_t *u, size_t nbytes)
{
	if (!u->queue)
		return SHMEMH_OK;
	return shmemhi_cuctx_write(&u->gpu.c, u->queue, pair->a.link.queue, nbytes, &rig->err);
}

/* Where kernels see a part of the queue. */
static uintptr_t queue_at(const use_t *u, const shmemhi_link_t *link, const void *part)
{
	return u->queue ? (uintptr_t)(u->queue + ((const char *)part - link->queue))
			: (uintptr_t)part;
}

/* One kernel of n tries. Returns 0; -1: the outcome is set. */
static int drive(shmemhi_rig_t *rig, shmemhi_pair_t *pair, use_t *u, uint32_t n, uint64_t first,
		 shmemhi_outcome_t *o)
{
	const shmemhi_link_t *link = &pair->a.link;
	const shmemhi_drive_t what = {
		.doorbell = (uintptr_t)u->doorbell,
		.record = queue_at(u, link, shmemhi_send_record(link)),
		.cqes = queue_at(u, link,
				 link->queue + SHMEMD_QUEUE_CQES_OFFSET(SHMEMHI_RIG_DEPTH)),
		.word = (uintptr_t)u->target + WRITE_NBYTES - 8,
		.expected = first,
		.report = (uintptr_t)u->report,
		.timeout_ns = TIMEOUT_NS,
		.n = n,
		.index = (uint32_t)pair->a.index,
		.first_cqe = pair->a.n_cqes,
		.depth = SHMEMHI_RIG_DEPTH,
		.qpn_be = SHMEMD_QPN_BE(link->qpn),
	};

	memset(u->report, 0, sizeof *u->report);
	post_pairs(rig, pair, u, n, first);
	if (copy_queue(rig, pair, u, SHMEMD_QUEUE_CQES_OFFSET(SHMEMHI_RIG_DEPTH)) != SHMEMH_OK ||
	    shmemhi_rig_gpu_drive(&u->gpu, &what, &rig->err) != SHMEMH_OK)
		return cannot_tell(rig, o);
	pair->a.n_cqes += u->report->n_done;
	if (u->report->n_done == n)
		return 0;
	shmemhi_row_fails(o,
			  "a GPU was to ring %u times: after %u successes came a CQE of opcode %u "
			  "(15: none came)",
			  n, u->report->n_done, u->report->opcode);
	return -1;
}

void shmemhi_row_gpu_doorbell(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	use_t u;

	if (open_gpu(rig, &u, o) == 0 && open_use(rig, pair, &u, o) == 0)
		drive(rig, pair, &u, TRIES, 1, o);
	close_use(rig, pair, &u);
	shmemhi_rig_gpu_close(&u.gpu);
}

/* The tries of one kernel, then more until the time is over, up to a million or a few more. */
void shmemhi_row_gpu_quiet(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	uint64_t end = shmemhi_rig_end_of_row(rig, 16), n = 0;
	use_t u;

	if (open_gpu(rig, &u, o) == 0 && open_use(rig, pair, &u, o) == 0)
		while (n < 1000000 && (n == 0 || shmemhi_now() < end) && !o->verdict &&
		       drive(rig, pair, &u, TRIES, n + 1, o) == 0) {
			n += TRIES;
			if (u.report->n_wrong)
				shmemhi_row_fails(o,
						  "in %u of %u tries the kernel did not see the "
						  "WRITE after the READ was complete",
						  u.report->n_wrong, TRIES);
		}
	close_use(rig, pair, &u);
	shmemhi_rig_gpu_close(&u.gpu);
	shmemhi_row_note(o, "%llu tries", (unsigned long long)n);
}

/* A pair like `pair`, but with the queue of `a` in the GPU's memory. Returns 0; -1: the outcome is
 * set. In both cases call close_queue. */
static int open_queue(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, use_t *u, shmemhi_pair_t *own,
		      shmemhi_outcome_t *o)
{
	shmemhi_cuctx_t *c = &u->gpu.c;
	void *queue;
	int status;

	memset(own, 0, sizeof *own);
	if (shmemhi_cuctx_dev_alloc(c, QUEUE_NBYTES, &queue, &rig->err) != SHMEMH_OK)
		return cannot_tell(rig, o);
	u->queue = queue;
	u->umem = shmemhi_umem_of_gpu(c, &rig->lib, pair->a.link.port, queue, QUEUE_NBYTES,
				      &rig->err);
	status = u->umem ? shmemhi_pair_open(rig, pair->a.port, pair->b.port, 0, u->umem, own)
			 : SHMEMH_ERR_NIC;
	if (status == SHMEMH_OK)
		status = copy_queue(rig, own, u, SHMEMHI_RIG_QUEUE_NBYTES);
	if (status == SHMEMH_OK)
		return 0;
	shmemhi_row_fails(o, "%.190s", rig->err.text);
	rig->err.text[0] = '\0';
	return -1;
}

static void close_queue(shmemhi_rig_t *rig, use_t *u, shmemhi_pair_t *own)
{
	shmemhi_pair_close(rig, own);
	if (u->umem)
		rig->lib.umem_dereg(u->umem);
	if (u->queue)
		shmemhi_cuctx_dev_free(&u->gpu.c, u->queue);
}

/* So many tries that queue and CQ begin again from their first entries. */
void shmemhi_row_gpu_queue(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemhi_pair_t own;
	use_t u;

	if (open_gpu(rig, &u, o) == 0) {
		if (open_queue(rig, pair, &u, &own, o) == 0 && open_use(rig, &own, &u, o) == 0)
			for (uint32_t n = 0; n < LAPS * SHMEMHI_RIG_DEPTH && !o->verdict;
			     n += TRIES)
				if (drive(rig, &own, &u, TRIES, n + 1, o) == 0 && u.report->n_wrong)
					shmemhi_row_fails(
						o, "in %u of %u tries the WRITE was not there",
						u.report->n_wrong, TRIES);
		close_use(rig, &own, &u);
		close_queue(rig, &u, &own);
	}
	shmemhi_rig_gpu_close(&u.gpu);
}
