/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A fake NIC that registers memory. A key contains its PE and its region. */
#ifndef TESTS_UNIT_FAKE_NIC_H
#define TESTS_UNIT_FAKE_NIC_H

#include <errno.h>
#include <stdlib.h>
#include "ib/ib.h"
#include "ib/state.h"
#include "mem_job.h"

#define FAKE_ACCESS 15u /* local write; remote write, read, atomic; no relaxed ordering */
#define FAKE_LKEY 0x80000000u
#define FAKE_BOUNCE_KEY 0x12345678u /* already big-endian */

/* State of the PE that runs in this thread. */
static _Thread_local struct {
	int pe;
	struct ibv_context context;
	uint64_t max_mr_size;
	int fail_after; /* number of registrations until one fails; 0: none fails */
	int n_live, n_wrong;
	char *base; /* of the PE's heap */
} nic;

static inline uint32_t fake_rkey(int pe, uint64_t offset)
{
	return (uint32_t)pe << 24 | (uint32_t)(offset >> 12);
}

static inline int fake_query(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	attr->max_mr_size = nic.max_mr_size;
	return 0;
}

static inline struct ibv_mr *fake_reg(struct ibv_pd *pd, void *ptr, size_t nbytes, uint64_t iova,
				      unsigned access)
{
	struct ibv_mr *mr;

	(void)pd;
	if (nic.fail_after && --nic.fail_after == 0) {
		errno = ENOMEM;
		return NULL;
	}
	nic.n_wrong += access != FAKE_ACCESS || nbytes > nic.max_mr_size;
	nic.n_wrong += (char *)ptr != nic.base + iova;
	nic.n_live++;
	mr = calloc(1, sizeof *mr);
	mr->rkey = fake_rkey(nic.pe, iova);
	mr->lkey = mr->rkey | FAKE_LKEY;
	return mr;
}

static inline int fake_dereg(struct ibv_mr *mr)
{
	nic.n_live--;
	free(mr);
	return 0;
}

/* Give the job a NIC that reaches all PEs, with one channel each. Returns the status of keys_open.
 */
static inline int plug_in(shmemh_t *job, uint64_t max_mr_size)
{
	shmemhi_ib_t *ib = calloc(1, sizeof *ib);

	memset(&nic, 0, sizeof nic);
	nic.pe = job->pe;
	nic.max_mr_size = max_mr_size;
	nic.base = shmemhi_mem_base(job, job->pe);
	ib->lib.query_device = fake_query;
	ib->lib.reg_mr_iova2 = fake_reg;
	ib->lib.dereg_mr = fake_dereg;
	strcpy(ib->home_port.name, "fake_0");
	ib->home_port.context = &nic.context;
	ib->n_channels = 1;
	ib->depth = SHMEMD_MIN_DEPTH;
	ib->bounce_keys[0] = FAKE_BOUNCE_KEY;
	job->opt.ib_batch = 8;
	ib->links = calloc((size_t)job->n_pes, sizeof *ib->links);
	for (int pe = 0; pe < job->n_pes; pe++)
		ib->links[pe].was_connected = 1;
	job->ib = ib;
	return shmemhi_keys_open(job, ib);
}

static inline void unplug(shmemh_t *job)
{
	shmemhi_keys_close(job, job->ib);
	free(job->ib->links);
	free(job->ib);
	job->ib = NULL;
}

#endif
