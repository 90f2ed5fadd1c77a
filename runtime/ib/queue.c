/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Links: a queue pair and its completion queue each. */
#include "ib/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sodium.h>
#include "ib/command.h"

#define PSN_BITS 24

static const shmemhi_queue_block_t *block_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	return &ib->queue_mem->blocks[(size_t)(link - ib->links) / ib->queue_mem->links_per_block];
}

static const shmemhi_queue_block_t *records_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	return ib->queue_mem->records.umem ? &ib->queue_mem->records : block_of(ib, link);
}

static uint32_t log2_of(uint32_t n)
{
	return (uint32_t)__builtin_ctz(n);
}

static uint64_t offset_of(const shmemhi_queue_block_t *b, const void *p)
{
	return (uint64_t)((const char *)p - b->base);
}

static int create_cq(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_link_t *link)
{
	const shmemhi_queue_block_t *b = block_of(ib, link), *records = records_of(ib, link);
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_CREATE_CQ);
	shmemhi_prm_put(in, SHMEMHI_CQC_OI, 1);
	shmemhi_prm_put(in, SHMEMHI_CQC_LOG_CQ_SIZE, log2_of(ib->depth));
	shmemhi_prm_put(in, SHMEMHI_CQC_UAR_PAGE, link->uar->page_id);
	shmemhi_prm_put(in, SHMEMHI_CQC_C_EQN, ib->nic.eqn);
	shmemhi_prm_put(in, SHMEMHI_CQC_DBR_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_CQC_DBR_UMEM_ID, records->umem->umem_id);
	shmemhi_prm_put(in, SHMEMHI_CQC_DBR_ADDR,
			offset_of(records, link->records + SHMEMHI_RECORD_STRIDE));
	shmemhi_prm_put(in, SHMEMHI_CQ_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_CQ_UMEM_ID, b->umem->umem_id);
	shmemhi_prm_put(in, SHMEMHI_CQ_UMEM_OFFSET,
			offset_of(b, link->queue + SHMEMD_QUEUE_CQES(ib->depth)));
	link->cq = shmemhi_command_create(job, ib, link, in, &link->cqn);
	return link->cq ? SHMEMH_OK : SHMEMH_ERR_NIC;
}

/* Without a receive queue: no request here uses one. The record is named even if send_dbr_mode
 * says that there is none: the Linux driver sets dbr_umem_valid in each CREATE_QP. */
static int send_create_qp(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_link_t *link,
			  unsigned send_dbr_mode)
{
	const shmemhi_queue_block_t *b = block_of(ib, link), *records = records_of(ib, link);
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_CREATE_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_PM_STATE, SHMEMHI_PM_MIGRATED);
	shmemhi_prm_put(in, SHMEMHI_QPC_PD, ib->nic.pdn);
	shmemhi_prm_put(in, SHMEMHI_QPC_RQ_TYPE, SHMEMHI_RQ_TYPE_NONE);
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_SQ_SIZE, log2_of(ib->depth));
	shmemhi_prm_put(in, SHMEMHI_QPC_TS_FORMAT, ib->nic.ts_format);
	shmemhi_prm_put(in, SHMEMHI_QPC_UAR_PAGE, link->uar->page_id);
	shmemhi_prm_put(in, SHMEMHI_QPC_SEND_DBR_MODE, send_dbr_mode);
	shmemhi_prm_put(in, SHMEMHI_QPC_USER_INDEX, (uint64_t)(link - ib->links));
	shmemhi_prm_put(in, SHMEMHI_QPC_CQN_SND, link->cqn);
	shmemhi_prm_put(in, SHMEMHI_QPC_CQN_RCV, link->cqn);
	shmemhi_prm_put(in, SHMEMHI_QPC_DBR_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_QPC_DBR_UMEM_ID, records->umem->umem_id);
	shmemhi_prm_put(in, SHMEMHI_QPC_DBR_ADDR, offset_of(records, link->records));
	shmemhi_prm_put(in, SHMEMHI_WQ_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_WQ_UMEM_ID, b->umem->umem_id);
	shmemhi_prm_put(in, SHMEMHI_WQ_UMEM_OFFSET, offset_of(b, link->queue));
	link->qp = shmemhi_command_create(job, ib, link, in, &link->qpn);
	return link->qp ? SHMEMH_OK : SHMEMH_ERR_NIC;
}

/* Create a queue pair without a doorbell record if the NIC offers that and the GPU rings. Then one
 * fence separates WQEs and doorbell, instead of a record and a second fence, and the NIC reads no
 * record. With the CPU doorbell proxy keep the record: fences of the host cost kernels nothing.
 *
 * A NIC may limit the number of queue pairs without a record (capability
 * log_max_send_dbr_less_qp_sq): once CREATE_QP is refused, the following links have records. */
static int create_qp(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_link_t *link)
{
	if (!ib->nic.offers_no_record || !link->doorbell)
		return send_create_qp(job, ib, link, 0);
	if (send_create_qp(job, ib, link, SHMEMHI_SEND_NO_DBR) == SHMEMH_OK) {
		shmemhi_uars_assign_no_record(link);
		link->has_no_record = 1;
		return SHMEMH_OK;
	}
	shmemhi_log(&job->log, SHMEMHI_INFO, "%s: from here on with doorbell records: %s",
		    ib->nic.name, job->err.text);
	job->err.text[0] = '\0';
	ib->nic.offers_no_record = 0;
	return send_create_qp(job, ib, link, 0);
}

static int to_init(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_RST2INIT_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_PM_STATE, SHMEMHI_PM_MIGRATED);
	shmemhi_prm_put(in, SHMEMHI_QPC_ATOMIC_MODE, SHMEMHI_ATOMIC_MODE_8_BYTES);
	shmemhi_prm_put(in, SHMEMHI_QPC_RRE, 1);
	shmemhi_prm_put(in, SHMEMHI_QPC_RWE, 1);
	shmemhi_prm_put(in, SHMEMHI_QPC_RAE, 1);
	shmemhi_prm_put(in, SHMEMHI_ADS_VHCA_PORT_NUM, (uint64_t)ib->nic.port);
	return shmemhi_command_modify(job, ib, link, in, SHMEMHI_PRM_LONG);
}

static int open_link(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_link_t *link)
{
	int status = create_cq(job, ib, link);

	link->psn = randombytes_random() >> (32 - PSN_BITS);
	if (status == SHMEMH_OK)
		status = create_qp(job, ib, link);
	return status == SHMEMH_OK ? to_init(job, ib, link) : status;
}

static int alloc_links(shmemh_t *job, shmemhi_ib_t *ib)
{
	size_t n_links = (size_t)job->opt.channels * (size_t)job->n_pes;

	ib->n_channels = job->opt.channels;
	ib->depth = (uint32_t)job->opt.ib_depth;
	ib->links = calloc(n_links, sizeof *ib->links);
	ib->queue_mem = calloc(1, sizeof *ib->queue_mem);
	if (!ib->links || !ib->queue_mem)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "links: out of memory");
	ib->queue_mem->n_links = (uint32_t)n_links;
	return SHMEMH_OK;
}

static int open_links(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status = alloc_links(job, ib);

	if (status == SHMEMH_OK)
		status = shmemhi_queue_mem_open(job, ib);
	for (uint32_t i = 0; status == SHMEMH_OK && i < ib->queue_mem->n_links; i++)
		status = open_link(job, ib, &ib->links[i]);
	return status;
}

static void log_links(const shmemh_t *job, const shmemhi_ib_t *ib)
{
	unsigned n_without = 0;

	for (uint32_t i = 0; i < ib->queue_mem->n_links; i++)
		n_without += ib->links[i].has_no_record != 0;
	shmemhi_log(&job->log, SHMEMHI_INFO,
		    "%s: %d channels to each PE, %u links of %llu bytes (%u without doorbell "
		    "records), depth %u, queues in memory of the %s; the %s rings",
		    ib->nic.name, ib->n_channels, ib->queue_mem->n_links,
		    (unsigned long long)shmemhi_links_nbytes(ib), n_without, ib->depth,
		    ib->has_gpu_queues ? "GPU" : "host", ib->links[0].doorbell ? "device" : "host");
}

int shmemhi_links_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status = shmemhi_ib_check_options(job);

	if (status == SHMEMH_OK)
		status = shmemhi_ib_check_nic_options(job, &ib->nic);
	if (status == SHMEMH_OK)
		status = open_links(job, ib);
	if (status != SHMEMH_OK) {
		shmemhi_links_close(job, ib);
		return status;
	}
	log_links(job, ib);
	return SHMEMH_OK;
}

uint64_t shmemhi_links_nbytes(const shmemhi_ib_t *ib)
{
	uint64_t shared =
		(ib->queue_mem->nbytes + ib->queue_mem->n_links - 1) / ib->queue_mem->n_links;

	return shared + SHMEMD_CHANNEL_NBYTES(ib->depth);
}

/* Move the QP to ERR before its queue is released: the NIC then refuses requests to it. A QP
 * that is in ERR stays there. */
static void stop(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	uint32_t in[SHMEMHI_PRM_SHORT] = {0}, out[SHMEMHI_PRM_SHORT] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_2ERR_QP);
	shmemhi_prm_put(in, SHMEMHI_PRM_NUMBER, link->qpn);
	ib->lib.obj_modify(link->qp, in, sizeof in, out, sizeof out);
}

/* Returns whether the object still exists. */
static bool destroy(shmemh_t *job, const shmemhi_ib_t *ib, struct mlx5dv_devx_obj *obj,
		    const char *kind, uint32_t number)
{
	int error = obj ? ib->lib.obj_destroy(obj) : 0;

	if (!error)
		return false;
	shmemhi_log(&job->log, SHMEMHI_WARN, "%s: %s 0x%x cannot be destroyed: %s", ib->nic.name,
		    kind, number, strerror(error));
	return true;
}

/* Returns whether the NIC may still use the queues. */
static bool close_queues(shmemh_t *job, const shmemhi_ib_t *ib)
{
	uint32_t n = ib->queue_mem->n_links;
	bool is_in_use = false;

	for (uint32_t i = 0; i < n; i++)
		if (ib->links[i].qp)
			stop(ib, &ib->links[i]);
	for (uint32_t i = 0; i < n; i++)
		is_in_use |= destroy(job, ib, ib->links[i].qp, "QP", ib->links[i].qpn);
	for (uint32_t i = 0; i < n; i++)
		is_in_use |= destroy(job, ib, ib->links[i].cq, "CQ", ib->links[i].cqn);
	return is_in_use;
}

void shmemhi_links_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	if (ib->queue_mem && ib->links)
		shmemhi_queue_mem_close(job, ib, close_queues(job, ib));
	free(ib->links);
	free(ib->queue_mem);
	ib->links = NULL;
	ib->queue_mem = NULL;
}
