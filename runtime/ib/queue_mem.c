/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ib/queue.h"

static uint64_t page_nbytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t whole_pages(uint64_t nbytes)
{
	return (nbytes + page_nbytes() - 1) / page_nbytes() * page_nbytes();
}

uint64_t shmemhi_queue_nbytes(const shmemhi_ib_t *ib)
{
	return whole_pages(SHMEMD_QUEUE_NBYTES(ib->depth));
}

static int fail_verbs(const shmemhi_open_port_t *port, const char *call, uint64_t nbytes,
		      shmemhi_err_t *err)
{
	return shmemhi_fail(err, SHMEMH_ERR_NIC,
			    "%s: %s of %llu bytes of queues or bounce buffers: %s; is the limit of "
			    "locked memory (ulimit -l) high enough?",
			    port->name, call, (unsigned long long)nbytes, strerror(errno));
}

/* Allocate zeroed pinned memory; *base is its first page-aligned address. */
static int alloc_pages(shmemh_t *job, shmemhi_ib_t *ib, uint64_t nbytes, void **raw, char **base,
		       shmemhi_err_t *err)
{
	uint64_t page = page_nbytes();
	int status = shmemhi_pinned_alloc(job, nbytes + page, raw, err);

	if (status != SHMEMH_OK)
		return status;
	*base = (char *)(((uintptr_t)*raw + page - 1) / page * page);
	ib->queue_mem->nbytes += nbytes + page;
	return SHMEMH_OK;
}

/* Set the pointers of a link and fill its CQEs with 0xff, which they hold until the NIC writes
 * them. */
static int place_link(shmemh_t *job, const shmemhi_ib_t *ib, char *queue, shmemhi_link_t *link)
{
	char *cqes = queue + SHMEMD_QUEUE_CQES_OFFSET(ib->depth);
	size_t nbytes = (size_t)ib->depth * SHMEMD_CQE_NBYTES;

	link->queue = queue;
	link->records = queue + SHMEMD_QUEUE_RECORD_OFFSET(ib->depth);
	if (ib->has_gpu_queues)
		return shmemhi_dev_fill(job, cqes, 0xff, nbytes, &job->err);
	memset(cqes, 0xff, nbytes);
	return SHMEMH_OK;
}

int shmemhi_host_block_open(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
			    shmemhi_err_t *err)
{
	return alloc_pages(job, ib, b->nbytes, &b->raw, &b->base, err);
}

struct mlx5dv_devx_umem *shmemhi_block_register(shmemh_t *job, const shmemhi_ib_t *ib,
						const shmemhi_open_port_t *port,
						const shmemhi_queue_block_t *b, shmemhi_err_t *err)
{
	struct mlx5dv_devx_umem *umem;

	if (!b->raw)
		return shmemhi_queue_gpu_register(job, &ib->lib, port, b, err);
	umem = ib->lib.umem_reg(port->context, b->base, b->nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!umem)
		fail_verbs(port, "mlx5dv_devx_umem_reg", b->nbytes, err);
	return umem;
}

static int open_host_block(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_queue_block_t *b)
{
	int status = shmemhi_host_block_open(job, ib, b, &job->err);

	if (status != SHMEMH_OK)
		return status;
	b->umem = shmemhi_block_register(job, ib, ib->queue_mem->port, b, &job->err);
	return b->umem ? SHMEMH_OK : SHMEMH_ERR_NIC;
}

static int open_block(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
		      shmemhi_link_t *links)
{
	int status;

	b->nbytes = b->n_links * shmemhi_queue_nbytes(ib);
	if (ib->has_gpu_queues) {
		ib->queue_mem->nbytes += b->nbytes;
		status = shmemhi_queue_gpu_open(job, &ib->lib, ib->queue_mem->port, b, &job->err);
	} else {
		status = open_host_block(job, ib, b);
	}
	for (uint32_t i = 0; status == SHMEMH_OK && i < b->n_links; i++)
		status = place_link(job, ib, b->base + i * shmemhi_queue_nbytes(ib), &links[i]);
	return status;
}

static int open_blocks(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	uint64_t fit = SHMEMHI_QUEUE_BLOCK_NBYTES / shmemhi_queue_nbytes(ib);
	int status = SHMEMH_OK;

	mem->links_per_block = fit < 1 ? 1 : (uint32_t)fit;
	mem->n_blocks = (mem->n_links + mem->links_per_block - 1) / mem->links_per_block;
	mem->blocks = calloc(mem->n_blocks, sizeof *mem->blocks);
	if (!mem->blocks)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "links: out of memory");
	for (uint32_t i = 0; status == SHMEMH_OK && i < mem->n_blocks; i++) {
		uint32_t first = i * mem->links_per_block, left = mem->n_links - first;

		mem->blocks[i].n_links = left < mem->links_per_block ? left : mem->links_per_block;
		status = open_block(job, ib, &mem->blocks[i], &ib->links[first]);
	}
	return status;
}

bool shmemhi_block_close(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
			 bool is_in_use)
{
	if (b->umem && ib->lib.umem_dereg(b->umem) != 0)
		is_in_use = true;
	if (b->raw && !is_in_use)
		shmemhi_pinned_free(job, b->raw);
	if (b->area.range.raw && !is_in_use)
		shmemhi_area_close(job, &b->area);
	return is_in_use;
}

static bool close_blocks(shmemh_t *job, shmemhi_ib_t *ib, bool is_in_use)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	bool is_kept = false;

	for (uint32_t i = 0; mem->blocks && i < mem->n_blocks; i++)
		is_kept |= shmemhi_block_close(job, ib, &mem->blocks[i], is_in_use);
	free(mem->blocks);
	mem->blocks = NULL;
	return is_kept;
}

static int open_host_bounces(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
			     struct ibv_mr **mr)
{
	int status = alloc_pages(job, ib, b->nbytes, &b->raw, &b->base, &job->err);

	if (status != SHMEMH_OK)
		return status;
	*mr = ib->lib.reg_mr(ib->queue_mem->port->pd, b->base, b->nbytes, IBV_ACCESS_LOCAL_WRITE);
	return *mr ? SHMEMH_OK
		   : fail_verbs(ib->queue_mem->port, "ibv_reg_mr", b->nbytes, &job->err);
}

struct ibv_mr *shmemhi_bounces_register(shmemh_t *job, const shmemhi_ib_t *ib,
					const shmemhi_open_port_t *port)
{
	const shmemhi_queue_block_t *b = &ib->queue_mem->bounces;
	struct ibv_mr *mr;

	if (!b->raw)
		return shmemhi_bounces_gpu_register(job, &ib->lib, port, b, &job->err);
	mr = ib->lib.reg_mr(port->pd, b->base, b->nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		fail_verbs(port, "ibv_reg_mr", b->nbytes, &job->err);
	return mr;
}

/* Open the bounce buffers where the completion queues are (ib/queue.h says why). */
static int open_bounces(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	shmemhi_queue_block_t *b = &mem->bounces;
	int status;

	b->nbytes = whole_pages((uint64_t)mem->n_links * SHMEMD_BOUNCES_NBYTES);
	if (ib->has_gpu_queues) {
		mem->nbytes += b->nbytes;
		status = shmemhi_bounces_gpu_open(job, &ib->lib, ib->queue_mem->port, b,
						  &mem->bounce_mr, &job->err);
	} else {
		status = open_host_bounces(job, ib, b, &mem->bounce_mr);
	}
	if (status != SHMEMH_OK)
		return status;
	ib->bounces = b->base;
	ib->bounce_keys[0] = htobe32(mem->bounce_mr->lkey);
	return SHMEMH_OK;
}

/* Returns the same as shmemhi_block_close. */
static bool close_bounces(shmemh_t *job, shmemhi_ib_t *ib, bool is_in_use)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;

	if (mem->bounce_mr && ib->lib.dereg_mr(mem->bounce_mr) != 0)
		is_in_use = true;
	is_in_use = shmemhi_block_close(job, ib, &mem->bounces, is_in_use);
	memset(&mem->bounces, 0, sizeof mem->bounces);
	mem->bounce_mr = NULL;
	ib->bounces = NULL;
	return is_in_use;
}

static int open_blocks_and_bounces(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status = open_blocks(job, ib);

	return status == SHMEMH_OK ? open_bounces(job, ib) : status;
}

enum { QUEUE_AUTO, QUEUE_GPU, QUEUE_HOST }; /* words of SHMEMH_IB_QUEUE */

static int open_gpu_queues(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_err_t why;

	ib->has_gpu_queues = 1;
	if (open_blocks_and_bounces(job, ib) == SHMEMH_OK)
		return SHMEMH_OK;
	why = job->err;
	job->err.text[0] = '\0';
	if (job->opt.ib_queue == QUEUE_GPU)
		return shmemhi_fail(&job->err, SHMEMH_ERR_OPTION,
				    "SHMEMH_IB_QUEUE=gpu: %s cannot have queues in memory of the "
				    "GPU: %.300s: set SHMEMH_IB_QUEUE=host",
				    ib->queue_mem->port->name, why.text);
	shmemhi_log(&job->log, SHMEMHI_INFO,
		    "%s: queues are in host memory, since they cannot be in memory of the GPU: %s",
		    ib->queue_mem->port->name, why.text);
	close_blocks(job, ib, false);
	close_bounces(job, ib, false);
	ib->has_gpu_queues = 0;
	ib->queue_mem->nbytes = 0;
	return open_blocks_and_bounces(job, ib);
}

static int open_queues(shmemh_t *job, shmemhi_ib_t *ib)
{
	bool is_gpu = shmemhi_mem_is_on_gpu(job);

	if (job->opt.ib_queue == QUEUE_GPU && !is_gpu)
		return shmemhi_fail(
			&job->err, SHMEMH_ERR_OPTION,
			"SHMEMH_IB_QUEUE=gpu: the heap is in host memory, so queues cannot be in "
			"memory of the GPU: set SHMEMH_IB_QUEUE=host, or SHMEMH_HEAP=gpu");
	if (job->opt.ib_queue == QUEUE_HOST || !is_gpu)
		return open_blocks_and_bounces(job, ib);
	return open_gpu_queues(job, ib);
}

/* Allocate the words of the CPU doorbell proxy: producer words, and doorbell records in host
 * memory if the queues are in GPU memory. Needed only if no doorbell register is mapped for the
 * GPU; all of them are, or none. */
static int open_proxy_words(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	char *base = NULL;
	int status;

	if (ib->links[0].doorbell)
		return SHMEMH_OK;
	status = alloc_pages(job, ib, (uint64_t)mem->n_links * SHMEMHI_PRODUCER_STRIDE,
			     &mem->producers, &base, &job->err);
	for (uint32_t i = 0; status == SHMEMH_OK && i < mem->n_links; i++)
		ib->links[i].producer =
			(uint64_t *)(void *)(base + (size_t)i * SHMEMHI_PRODUCER_STRIDE);
	if (status != SHMEMH_OK || !ib->has_gpu_queues)
		return status;
	mem->records.nbytes = (uint64_t)mem->n_links * SHMEMHI_RECORDS_NBYTES;
	status = open_host_block(job, ib, &mem->records);
	for (uint32_t i = 0; status == SHMEMH_OK && i < mem->n_links; i++)
		ib->links[i].records = mem->records.base + (size_t)i * SHMEMHI_RECORDS_NBYTES;
	return status;
}

int shmemhi_queue_mem_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	int status = open_queues(job, ib);

	if (status == SHMEMH_OK)
		status = shmemhi_uars_open(job, ib, mem->port, mem->n_links, &mem->uars);
	if (status != SHMEMH_OK)
		return status;
	for (uint32_t i = 0; i < mem->n_links; i++)
		shmemhi_uars_assign(&mem->uars, i, &ib->links[i]);
	return open_proxy_words(job, ib);
}

void shmemhi_queue_mem_close(shmemh_t *job, shmemhi_ib_t *ib, bool is_in_use)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	bool is_kept = close_blocks(job, ib, is_in_use);

	is_kept |= shmemhi_block_close(job, ib, &mem->records, is_in_use);
	is_kept |= close_bounces(job, ib, is_in_use);
	shmemhi_uars_close(job, ib, &mem->uars);
	if (mem->producers)
		shmemhi_pinned_free(job, mem->producers);
	ib->has_gpu_queues = 0;
	if (is_kept)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "%s: the NIC did not release its queues: their memory stays allocated",
			    ib->queue_mem->port->name);
}
