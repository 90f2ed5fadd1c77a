/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The initial contents of a link's memory. */
#ifndef TESTS_UNIT_LINKS_MEMORY_H
#define TESTS_UNIT_LINKS_MEMORY_H

#include "ib/queue.h"
#include "links_job.h"

enum {
	WORD_AUTO,
	WORD_GPU,
	WORD_CPU,
	WORD_HOST = WORD_CPU
}; /* values of SHMEMH_IB_DOORBELL and SHMEMH_IB_QUEUE */

static inline char *bounces_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	return ib->bounces + (link - ib->links) * SHMEMD_BOUNCES_NBYTES;
}

static inline int is_fresh(shmemh_t *job, const shmemhi_link_t *link)
{
	static const char zero[SHMEMD_BOUNCES_NBYTES];
	uint32_t depth = job->ib->depth;

	for (uint32_t i = 0; i < depth * 64; i++)
		PE_CHECK((uint8_t)link->queue[SHMEMD_QUEUE_CQES_OFFSET(depth) + i] == 0xff &&
			 link->queue[i] == 0);
	PE_CHECK(memcmp(bounces_of(job->ib, link), zero, sizeof zero) == 0);
	PE_CHECK(memcmp(link->queue + SHMEMD_QUEUE_RECORD_OFFSET(depth), zero, 128) == 0);
	PE_CHECK(memcmp(link->records, zero, 128) == 0);
	PE_CHECK((link->records == link->queue + SHMEMD_QUEUE_RECORD_OFFSET(depth)) ==
		 !(job->ib->has_gpu_queues && link->producer));
	PE_CHECK((char *)shmemhi_send_record(link) == link->records + 4);
	PE_CHECK(!link->producer || !*link->producer);
	return 0;
}

static inline int is_aligned(shmemh_t *job, const shmemhi_link_t *link)
{
	PE_CHECK((uintptr_t)link->queue % 4096 == 0);
	PE_CHECK((uintptr_t)bounces_of(job->ib, link) % SHMEMD_BOUNCE_NBYTES == 0);
	PE_CHECK((uintptr_t)link->records % 64 == 0 && (uintptr_t)link->producer % 64 == 0);
	return 0;
}

#endif
