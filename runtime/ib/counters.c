/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Counters of channels, from the words that threads of kernels keep in the device's memory. */
#include <shmem_host/device.h>
#include "ib/state.h"
#include "mem/mem.h"

#define DONE_MASK (((uint64_t)1 << SHMEMD_DONE_SLOT_BITS) - 1)

int shmemh_channels(const shmemh_t *job)
{
	return job->ib ? job->ib->n_channels : 0;
}

static int check(shmemh_t *job, int pe, int k, const shmemh_channel_counters_t *c)
{
	if (!job->ib)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "channel_counters: this job uses no NIC, so it has no "
				    "channels");
	if (pe < 0 || pe >= job->n_pes || k < 0 || k >= job->ib->n_channels)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "channel_counters: channel %d to PE %d: there are channels 0 "
				    "to %d, PEs 0 to %d",
				    k, pe, job->ib->n_channels - 1, job->n_pes - 1);
	if (c->size != sizeof *c)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "channel_counters: size is %u, expected %zu: set it to "
				    "sizeof(shmemh_channel_counters_t)",
				    c->size, sizeof *c);
	return SHMEMH_OK;
}

/* All 64 bits of the slots completed: it is at most a queue's depth behind those posted. Who posts
 * alone rings before it publishes: so what is rung and completed may be ahead for a moment. */
static uint64_t completed_of(const shmemd_ring_t *ring)
{
	uint64_t behind = (ring->ready - (ring->done >> 1)) & DONE_MASK;

	return behind > DONE_MASK / 2 ? ring->ready : ring->ready - behind;
}

int shmemh_channel_counters(shmemh_t *job, int pe, int k, shmemh_channel_counters_t *c)
{
	const shmemhi_link_t *link;
	shmemd_ring_t ring;
	uint64_t rung;
	int status;

	shmemhi_begin(job);
	status = check(job, pe, k, c);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	link = shmemhi_link(job->ib, job, k, pe);
	status = shmemhi_dev_read(job, &ring, link->ring, offsetof(shmemd_ring_t, turns));
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	rung = ring.rung >> 1;
	*c = (shmemh_channel_counters_t){
		.size = sizeof *c,
		.status = ring.dead,
		.event = __atomic_load_n(&link->event, __ATOMIC_ACQUIRE),
		.depth = job->ib->depth,
		.posted = ring.ready,
		.rung = rung < ring.ready ? rung : ring.ready,
		.completed = completed_of(&ring),
		.doorbells = ring.doorbells,
		.requests = ring.requests,
		.cqes = SHMEMD_DONE_CQES(ring.done),
	};
	return SHMEMH_OK;
}
