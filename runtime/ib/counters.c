/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Counters of channels, from the words that threads of kernels keep in the device's memory. */
#include <shmem_host/device.h>
#include "ib/state.h"
#include "mem/mem.h"

int shmemh_channels(const shmemh_t *job)
{
	if (shmemhi_refused(job, "channels"))
		return -1;
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
	if (!c)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "channel_counters: c, which receives the counters, is NULL");
	if (c->size != sizeof *c)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "channel_counters: size is %u, expected %zu: set it to "
				    "sizeof(shmemh_channel_counters_t)",
				    c->size, sizeof *c);
	return SHMEMH_OK;
}

/* The full index whose low 32 bits are these, near another full index. */
static uint64_t unwrap(uint32_t low, uint64_t near)
{
	return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* `done` holds all bits of its index, and at most a queue depth of WQEBBs lies between it and
 * the other words. A word that was read later may be ahead of `ready`, so limit it to that. */
static void fill_counts(const shmemd_channel_t *words, shmemh_channel_counters_t *c)
{
	uint64_t done = SHMEMD_DONE_INDEX(words->done);

	c->posted = unwrap(SHMEMD_READY_INDEX(words->ready), done);
	c->completed = min(done, c->posted);
	c->rung = c->posted;
	if (!(words->ready & SHMEMD_READY_RUNG))
		c->rung = min(unwrap(SHMEMD_RUNG_INDEX(words->rung), done), c->posted);
}

bool shmemhi_channel_progress(const shmemh_t *job, const shmemhi_link_t *link, uint64_t *posted,
			      uint64_t *completed)
{
	const shmemd_channel_t *words = shmemhi_dev_on_host(job, shmemhi_channel(job->ib, link));
	uint64_t done;

	if (!words)
		return false;
	/* `done` first: what is completed then is published when `ready` is loaded. */
	done = SHMEMD_DONE_INDEX(__atomic_load_n(&words->done, __ATOMIC_ACQUIRE));
	*posted =
		unwrap(SHMEMD_READY_INDEX(__atomic_load_n(&words->ready, __ATOMIC_RELAXED)), done);
	*completed = min(done, *posted);
	return true;
}

int shmemh_channel_counters(shmemh_t *job, int pe, int k, shmemh_channel_counters_t *c)
{
	const shmemhi_link_t *link;
	shmemd_channel_t words;
	int status;

	if (shmemhi_refused(job, "channel_counters"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	status = check(job, pe, k, c);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	link = shmemhi_link(job->ib, job, k, pe);
	status = shmemhi_dev_read(job, &words, shmemhi_channel(job->ib, link),
				  offsetof(shmemd_channel_t, owners));
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	*c = (shmemh_channel_counters_t){
		.size = sizeof *c,
		.status = SHMEMD_PATH_STATUS(words.path),
		.event = __atomic_load_n(&link->event, __ATOMIC_ACQUIRE),
		.depth = job->ib->depth,
		.doorbells = words.doorbells,
		.requests = words.requests,
		.cqes = SHMEMD_DONE_CQES(words.done),
	};
	fill_counts(&words, c);
	return SHMEMH_OK;
}
