/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Replaces the rest of ib/ except open.c and limits.c in builds without the headers of rdma-core:
 * no PE has a NIC. */
#include <shmem_host/device.h>
#include "ib/ib.h"
#include "ib/start.h"

int shmemhi_ib_load_and_open(shmemh_t *job)
{
	return shmemhi_fail(
		&job->err, SHMEMH_ERR_NIC,
		"no NIC support was built in: build where libibverbs-dev 43 or newer is installed");
}

int shmemhi_ib_choose_and_create(shmemh_t *job)
{
	(void)job;
	return SHMEMH_OK;
}

int shmemhi_ib_connect_and_start(shmemh_t *job)
{
	(void)job;
	return SHMEMH_OK;
}

int shmemhi_ib_start_failover(shmemh_t *job, const shmemd_ctx_t *ctx)
{
	(void)job;
	(void)ctx;
	return SHMEMH_OK;
}

void shmemhi_ib_stop_failover(shmemh_t *job)
{
	(void)job;
}

void shmemhi_ib_close(shmemh_t *job)
{
	(void)job;
}

bool shmemhi_ib_reaches(const shmemh_t *job, int pe)
{
	(void)job;
	(void)pe;
	return false;
}

const char *shmemhi_ib_home(const shmemh_t *job, int pe)
{
	(void)job;
	(void)pe;
	return NULL;
}

const char *shmemhi_ib_standby(const shmemh_t *job, int pe)
{
	return shmemhi_ib_home(job, pe);
}

int shmemhi_ib_class(const shmemh_t *job, int is_standby)
{
	(void)job;
	return is_standby;
}

uint32_t shmemhi_ib_ctx_flags(const shmemh_t *job)
{
	(void)job;
	return 0;
}

void shmemhi_ib_fill_ctx(const shmemh_t *job, shmemd_ctx_t *ctx)
{
	ctx->n_world = (uint32_t)job->n_pes;
}

bool shmemhi_ib_warn_of_order(const shmemh_t *job)
{
	(void)job;
	return false;
}

int shmemh_channels(const shmemh_t *job)
{
	return shmemhi_refused(job, "channels") ? -1 : 0;
}

int shmemh_channel_counters(shmemh_t *job, int world_pe, int k, shmemh_channel_counters_t *c)
{
	(void)world_pe;
	(void)k;
	(void)c;
	if (shmemhi_refused(job, "channel_counters"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	return shmemhi_done(job,
			    shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
					 "channel_counters: this job uses no NIC, so it has no "
					 "channels"));
}

const char *shmemh_nic_event(const shmemh_t *job)
{
	(void)shmemhi_refused(job, "nic_event");
	return "";
}
