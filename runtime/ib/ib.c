/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Open and close the NIC, queues, keys, the CPU doorbell proxy and the thread for NIC events, in
 * the order of their dependencies. */
#include "ib/ib.h"

#include <stdlib.h>
#include "ib/channels.h"
#include "ib/failover.h"
#include "ib/queue.h"
#include "ib/start.h"

int shmemhi_ib_load_and_open(shmemh_t *job)
{
	shmemhi_ib_t *ib = calloc(1, sizeof *ib);
	int status;

	if (!ib)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "NIC: out of memory");
	job->ib = ib;
	status = shmemhi_ib_open_ports(job, ib);
	if (status != SHMEMH_OK)
		shmemhi_ib_close(job);
	return status;
}

int shmemhi_ib_choose_and_create(shmemh_t *job)
{
	int status = shmemhi_ib_choose_ports(job, job->ib);

	if (status != SHMEMH_OK)
		return status;
	return shmemhi_agree(job, shmemhi_links_open(job, job->ib));
}

static int open_rest(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status = shmemhi_channels_open(job, ib);

	if (status == SHMEMH_OK)
		status = shmemhi_proxy_open(job, ib);
	if (status == SHMEMH_OK)
		status = shmemhi_nic_events_open(job, ib);
	return status;
}

int shmemhi_ib_connect_and_start(shmemh_t *job)
{
	shmemhi_ib_t *ib = job->ib;
	int status = shmemhi_failover_open(job, ib);

	if (status == SHMEMH_OK)
		status = shmemhi_links_connect(job, ib);
	if (status == SHMEMH_OK)
		status = shmemhi_keys_open(job, ib);
	if (status == SHMEMH_OK)
		status = shmemhi_agree(job, open_rest(job, ib));
	if (status == SHMEMH_OK)
		status = shmemhi_failover_make_agent(job, ib);
	return status;
}

void shmemhi_ib_close(shmemh_t *job)
{
	shmemhi_ib_t *ib = job->ib;

	if (!ib)
		return;
	shmemhi_ib_stop_failover(job);
	shmemhi_nic_events_close(job, ib);
	shmemhi_proxy_close(job, ib);
	shmemhi_failover_close(job, ib);
	shmemhi_links_close(job, ib);
	shmemhi_channels_close(job, ib);
	shmemhi_keys_close(job, ib);
	shmemhi_ib_close_ports(ib);
	free(ib);
	job->ib = NULL;
}
