/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ib/queue.h"
#include "mem/mem.h"

#define LANDING_NBYTES ((SHMEMD_LANDING_SLOTS + 1) * SHMEMD_LANDING_NBYTES)

enum { QP_RECORD, CQ_RECORD, PRODUCER, N_WORDS }; /* lines of a link */

static uint64_t rings_nbytes(const shmemhi_ib_t *ib)
{
	return (uint64_t)ib->depth * (SHMEMD_WQEBB_NBYTES + SHMEMD_CQE_NBYTES);
}

static uint64_t link_nbytes(const shmemhi_ib_t *ib)
{
	return rings_nbytes(ib) + LANDING_NBYTES + N_WORDS * SHMEMHI_LINE;
}

/* Landing slots of a block are behind all its rings. */
static char *landings_of(const shmemhi_ib_t *ib, const shmemhi_queue_block_t *b)
{
	return b->base + b->n_links * rings_nbytes(ib);
}

static int fail_verbs(shmemh_t *job, const shmemhi_ib_t *ib, const char *call, uint64_t nbytes)
{
	return shmemhi_fail(&job->err, SHMEMH_ERR_NIC,
			    "%s: %s of %llu bytes for queues: %s; is the limit of locked memory "
			    "(ulimit -l) high enough?",
			    ib->nic.name, call, (unsigned long long)nbytes, strerror(errno));
}

static int register_block(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_queue_block_t *b)
{
	uint64_t nbytes = (uint64_t)b->n_links * LANDING_NBYTES;

	b->umem = ib->lib.umem_reg(ib->nic.context, b->base, b->nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!b->umem)
		return fail_verbs(job, ib, "mlx5dv_devx_umem_reg", b->nbytes);
	b->mr = ib->lib.reg_mr(ib->nic.pd, landings_of(ib, b), nbytes, IBV_ACCESS_LOCAL_WRITE);
	return b->mr ? SHMEMH_OK : fail_verbs(job, ib, "ibv_reg_mr", nbytes);
}

static void place_link(const shmemhi_ib_t *ib, const shmemhi_queue_block_t *b, uint32_t i,
		       shmemhi_link_t *link)
{
	char *landings = landings_of(ib, b);
	char *words = landings + (uint64_t)b->n_links * LANDING_NBYTES + i * N_WORDS * SHMEMHI_LINE;

	link->wqes = b->base + i * rings_nbytes(ib);
	link->cqes = link->wqes + (uint64_t)ib->depth * SHMEMD_WQEBB_NBYTES;
	link->landing = landings + (uint64_t)i * LANDING_NBYTES;
	link->dbr = (uint32_t *)(void *)(words + QP_RECORD * SHMEMHI_LINE) + SHMEMHI_SEND_WORD;
	link->producer = (uint64_t *)(void *)(words + PRODUCER * SHMEMHI_LINE);
	link->landing_key = htobe32(b->mr->lkey);
	memset(link->cqes, 0xff, (size_t)ib->depth * SHMEMD_CQE_NBYTES);
}

static int open_block(shmemh_t *job, shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
		      shmemhi_link_t *links)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int status;

	b->nbytes = (b->n_links * link_nbytes(ib) + page - 1) / page * page;
	/* Zeroed; where it begins nobody promises. */
	status = shmemhi_pinned_alloc(job, b->nbytes + page, &b->raw);
	if (status != SHMEMH_OK)
		return status;
	b->base = (char *)(((uintptr_t)b->raw + page - 1) / page * page);
	ib->queue_mem->nbytes += b->nbytes + page;
	status = register_block(job, ib, b);
	for (uint32_t i = 0; status == SHMEMH_OK && i < b->n_links; i++)
		place_link(ib, b, i, &links[i]);
	return status;
}

/* Slot 0 is the first of a new channel. */
static void init_ring(shmemd_ring_t *ring)
{
	for (uint64_t s = 0; s < SHMEMD_LANDING_SLOTS; s++)
		ring->turns[s] = s << 1; /* free for ticket s; all else is 0 */
}

static int open_rings(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	size_t nbytes = mem->n_links * sizeof *mem->rings;
	shmemd_ring_t *initial = calloc(mem->n_links, sizeof *initial);
	void *dev = NULL;
	int status;

	if (!initial)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "links: out of memory");
	for (uint32_t i = 0; i < mem->n_links; i++)
		init_ring(&initial[i]);
	status = shmemhi_dev_alloc(job, nbytes, &dev);
	if (status == SHMEMH_OK) {
		mem->rings = dev;
		mem->nbytes += nbytes;
		status = shmemhi_dev_write(job, dev, initial, nbytes);
	}
	for (uint32_t i = 0; status == SHMEMH_OK && i < mem->n_links; i++)
		ib->links[i].ring = &mem->rings[i];
	free(initial);
	return status;
}

static int open_blocks(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	uint64_t fit = SHMEMHI_QUEUE_BLOCK_NBYTES / link_nbytes(ib);
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

int shmemhi_queue_mem_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status = open_blocks(job, ib);

	if (status == SHMEMH_OK)
		status = open_rings(job, ib);
	if (status == SHMEMH_OK)
		status = shmemhi_uars_open(job, ib, ib->queue_mem->n_links, &ib->queue_mem->uars);
	for (uint32_t i = 0; status == SHMEMH_OK && i < ib->queue_mem->n_links; i++)
		shmemhi_uars_assign(&ib->queue_mem->uars, i, &ib->links[i]);
	return status;
}

static int close_block(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_queue_block_t *b,
		       int is_in_use)
{
	if (b->umem && ib->lib.umem_dereg(b->umem) != 0)
		is_in_use = 1;
	if (b->mr && ib->lib.dereg_mr(b->mr) != 0)
		is_in_use = 1;
	if (b->raw && !is_in_use)
		shmemhi_pinned_free(job, b->raw);
	return is_in_use;
}

void shmemhi_queue_mem_close(shmemh_t *job, shmemhi_ib_t *ib, int is_in_use)
{
	shmemhi_queue_mem_t *mem = ib->queue_mem;
	int is_kept = is_in_use;

	for (uint32_t i = 0; mem->blocks && i < mem->n_blocks; i++)
		is_kept |= close_block(job, ib, &mem->blocks[i], is_in_use);
	shmemhi_uars_close(job, ib, &mem->uars);
	if (mem->rings)
		shmemhi_dev_free(job, mem->rings);
	if (is_kept)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "%s: the NIC did not let go of queues: their memory stays allocated",
			    ib->nic.name);
	free(mem->blocks);
}
