/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Links: a queue pair and its completion queue each. */
#include "ib/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sodium.h>
#include "ib/link.h"

#define PSN_BITS 24
#define MAX_ROCE_PRIORITY 7

static const shmemhi_queue_block_t *block_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	return &ib->queue_mem->blocks[(size_t)(link - ib->links) / ib->queue_mem->links_per_block];
}

static const shmemhi_queue_block_t *records_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	return ib->queue_mem->records.umem ? &ib->queue_mem->records : block_of(ib, link);
}

static uint64_t offset_of(const shmemhi_queue_block_t *b, const void *p)
{
	return (uint64_t)((const char *)p - b->base);
}

/* Where the memory of a link of this job is registered. */
static shmemhi_link_mem_t mem_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	const shmemhi_queue_block_t *b = block_of(ib, link), *records = records_of(ib, link);

	return (shmemhi_link_mem_t){
		.queue = b->umem,
		.records = records->umem,
		.queue_offset = offset_of(b, link->queue),
		.records_offset = offset_of(records, link->records),
		.depth = ib->depth,
		.user_index = (uint32_t)(link - ib->links),
	};
}

int shmemhi_queue_create_qp(const shmemh_t *job, const shmemhi_ib_lib_t *lib,
			    shmemhi_open_port_t *port, shmemhi_link_t *link,
			    shmemhi_link_mem_t *mem, shmemhi_err_t *err)
{
	if (!port->offers_no_record || !link->doorbell)
		return shmemhi_link_create_qp(lib, link, mem, err);
	mem->has_no_record = 1;
	if (shmemhi_link_create_qp(lib, link, mem, err) == SHMEMH_OK) {
		shmemhi_uars_assign_no_record(link);
		link->has_no_record = 1;
		return SHMEMH_OK;
	}
	shmemhi_log(&job->log, SHMEMHI_INFO, "%s: from here on with doorbell records: %s",
		    port->name, err->text);
	err->text[0] = '\0';
	port->offers_no_record = 0;
	mem->has_no_record = 0;
	return shmemhi_link_create_qp(lib, link, mem, err);
}

uint32_t shmemhi_queue_psn(void)
{
	return randombytes_random() >> (32 - PSN_BITS);
}

static int open_link(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_link_t *link)
{
	shmemhi_link_mem_t mem = mem_of(ib, link);
	int status;

	link->psn = shmemhi_queue_psn();
	status = shmemhi_link_create_cq(&ib->lib, link, &mem, &job->err);
	if (status == SHMEMH_OK)
		status = shmemhi_queue_create_qp(job, &ib->lib, &ib->home_port, link, &mem,
						 &job->err);
	return status == SHMEMH_OK ? shmemhi_link_to_init(&ib->lib, link, &job->err) : status;
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
	ib->queue_mem->port = &ib->home_port;
	ib->queue_mem->n_links = (uint32_t)n_links;
	for (size_t i = 0; i < n_links; i++) {
		ib->links[i].port = &ib->home_port;
		ib->links[i].k = (int)(i / (size_t)job->n_pes);
		ib->links[i].pe = (int)(i % (size_t)job->n_pes);
	}
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
		    "records), depth %u, queues in memory of the %s; %s",
		    ib->home_port.name, ib->n_channels, ib->queue_mem->n_links,
		    (unsigned long long)shmemhi_links_nbytes(ib), n_without, ib->depth,
		    ib->has_gpu_queues ? "GPU" : "host",
		    ib->links[0].doorbell ? "kernels ring the doorbells"
					  : "the CPU doorbell proxy rings the doorbells");
}

int shmemhi_ib_check_nic_options(shmemh_t *job, const shmemhi_open_port_t *port)
{
	if (port->is_ethernet && job->opt.ib_sl > MAX_ROCE_PRIORITY)
		return shmemhi_fail(&job->err, SHMEMH_ERR_OPTION,
				    "SHMEMH_IB_SL=%d: on Ethernet (%s) it is a priority, 0 to %d",
				    job->opt.ib_sl, port->name, MAX_ROCE_PRIORITY);
	return SHMEMH_OK;
}

int shmemhi_links_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status = shmemhi_ib_check_nic_options(job, &ib->home_port);

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

	return shared + sizeof(shmemd_channel_t);
}

/* Returns whether the object still exists. */
static bool destroy(shmemh_t *job, const shmemhi_ib_t *ib, struct mlx5dv_devx_obj *obj,
		    const char *kind, uint32_t number)
{
	int error = obj ? ib->lib.obj_destroy(obj) : 0;

	if (!error)
		return false;
	shmemhi_log(&job->log, SHMEMHI_WARN, "%s: %s 0x%x cannot be destroyed: %s",
		    ib->home_port.name, kind, number, strerror(error));
	return true;
}

/* Move each QP to ERR before its queue is released: the NIC then drops requests to it. A QP that
 * is in ERR stays there. Returns whether the NIC may still use the queues. */
static bool close_queues(shmemh_t *job, const shmemhi_ib_t *ib)
{
	shmemhi_err_t ignored = {""};
	uint32_t n = ib->queue_mem->n_links;
	bool is_in_use = false;

	for (uint32_t i = 0; i < n; i++)
		if (ib->links[i].qp)
			shmemhi_link_to_err(&ib->lib, &ib->links[i], &ignored);
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
