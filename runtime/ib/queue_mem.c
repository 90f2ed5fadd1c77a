/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ib/queue.h"
#include "mem/mem.h"

static uint64_t page_nbytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t queue_nbytes(const shmemhi_ib_t *ib)
{
	return (SHMEMD_QUEUE_NBYTES(ib->depth) + page_nbytes() - 1) / page_nbytes() * page_nbytes();
}

static int fail_verbs(shmemh_t *job, const shmemhi_ib_t *ib, const char *call, uint64_t nbytes)
{
	return shmemhi_fail(&job->err, SHMEMH_ERR_NIC,
			    "%s: %s of %llu bytes for queues: %s; is the limit of locked memory "
			    "(ulimit -l) high enough?",
			    ib->nic.name, call, (unsigned long long)nbytes, strerror(errno));
}

/* Zeroed pinned memory; *base is its first address that is aligned to a page. */
static int alloc_pages(shmemh_t *job, shmemhi_ib_t *ib, uint64_t nbytes, void **raw, char **base)
{
	uint64_t page = page_nbytes();
	int status = shmemhi_pinned_alloc(job, nbytes + page, raw);

	if (status != SHMEMH_OK)
		return status;
	*base = (char *)(((uintptr_t)*raw + page - 1) / page * page);
	ib->queue_mem->nbytes += nbytes + page;
	return SHMEMH_OK;
}

static void place_link(const shmemhi_ib_t *ib, char *queue, shmemhi_link_t *link)
{
	link->queue = queue;
	link->records = queue + SHMEMD_QUEUE_RECORD(ib->depth);
	memset(queue + SHMEMD_QUEUE_CQES(ib->depth), 0xff, (size_t)ib->depth * SHMEMD_CQE_NBYTES);
}

static int open_block(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
		      shmemhi_link_t *links)
{
	int status;

	b->nbytes = b->n_links * queue_nbytes(ib);
	status = alloc_pages(job, ib, b->nbytes, &b->raw, &b->base);
	if (status != SHMEMH_OK)
		return status;
	b->umem = ib->lib.umem_reg(ib->nic.context, b->base, b->nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!b->umem)
		return fail_verbs(job, ib, "mlx5dv_devx_umem_reg", b->nbytes);
	for (uint32_t i = 0; i < b->n_links; i++)
		place_link(ib, b->base + i * queue_nbytes(ib), &links[i]);
	return SHMEMH_OK;
}

static int open_blocks(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	uint64_t fit = SHMEMHI_QUEUE_BLOCK_NBYTES / queue_nbytes(ib);
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

static int open_bounces(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	uint64_t nbytes = (uint64_t)mem->n_links * SHMEMD_BOUNCES_NBYTES;
	int status = alloc_pages(job, ib, nbytes, &mem->bounces, &ib->bounces);

	if (status != SHMEMH_OK)
		return status;
	mem->bounce_mr = ib->lib.reg_mr(ib->nic.pd, ib->bounces, nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!mem->bounce_mr)
		return fail_verbs(job, ib, "ibv_reg_mr", nbytes);
	ib->bounce_key = htobe32(mem->bounce_mr->lkey);
	return SHMEMH_OK;
}

/* Only if the GPU does not reach the doorbell registers: it reaches all of them or none. */
static int open_producers(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	size_t nbytes = (size_t)mem->n_links * SHMEMHI_LINE;
	char *base = NULL;
	int status;

	if (ib->links[0].doorbell)
		return SHMEMH_OK;
	status = alloc_pages(job, ib, nbytes, &mem->producers, &base);
	for (uint32_t i = 0; status == SHMEMH_OK && i < mem->n_links; i++)
		ib->links[i].producer = (uint64_t *)(void *)(base + (size_t)i * SHMEMHI_LINE);
	return status;
}

int shmemhi_queue_mem_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	int status = open_blocks(job, ib);

	if (status == SHMEMH_OK)
		status = open_bounces(job, ib);
	if (status == SHMEMH_OK)
		status = shmemhi_uars_open(job, ib, mem->n_links, &mem->uars);
	if (status != SHMEMH_OK)
		return status;
	for (uint32_t i = 0; i < mem->n_links; i++)
		shmemhi_uars_assign(&mem->uars, i, &ib->links[i]);
	return open_producers(job, ib);
}

/* Each returns 1 if the NIC may still use the memory, which is kept then. */
static int close_block(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
		       int is_in_use)
{
	if (b->umem && ib->lib.umem_dereg(b->umem) != 0)
		is_in_use = 1;
	if (b->raw && !is_in_use)
		shmemhi_pinned_free(job, b->raw);
	return is_in_use;
}

static int close_bounces(shmemh_t *job, shmemhi_ib_t *ib, int is_in_use)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;

	if (mem->bounce_mr && ib->lib.dereg_mr(mem->bounce_mr) != 0)
		is_in_use = 1;
	if (mem->bounces && !is_in_use)
		shmemhi_pinned_free(job, mem->bounces);
	ib->bounces = NULL;
	return is_in_use;
}

void shmemhi_queue_mem_close(shmemh_t *job, shmemhi_ib_t *ib, int is_in_use)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	int is_kept = close_bounces(job, ib, is_in_use);

	for (uint32_t i = 0; mem->blocks && i < mem->n_blocks; i++)
		is_kept |= close_block(job, ib, &mem->blocks[i], is_in_use);
	shmemhi_uars_close(job, ib, &mem->uars);
	if (mem->producers)
		shmemhi_pinned_free(job, mem->producers);
	if (is_kept)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "%s: the NIC did not let go of queues: their memory stays allocated",
			    ib->nic.name);
	free(mem->blocks);
}
