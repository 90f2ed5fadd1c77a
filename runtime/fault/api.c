/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* shmem_host/fault.h. */
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "fault/state.h"

int shmemh_fault_policy(const shmemh_t *job, char *why, size_t why_nbytes)
{
	if (shmemhi_refused(job, "fault_policy"))
		return -1;
	if (why && why_nbytes)
		snprintf(why, why_nbytes, "%s",
			 job->ft_why[0] ? job->ft_why : "off: no NIC is in use");
	return job->ft_policy;
}

static void fill_info(const shmemhi_fault_row_t *row, int pe, shmemh_fault_info_t *info)
{
	info->state = row->state;
	info->status = row->status;
	info->path = row->path;
	info->cause = row->cause;
	info->is_found_at_peer = row->is_found_at_peer;
	info->syndrome = row->syndrome;
	info->vendor_syndrome = row->vendor_syndrome;
	info->switches = row->switches;
	info->replayed = row->replayed;
	info->ambiguous = row->ambiguous;
	info->outage_ns = row->state == SHMEMH_FAULT_SWITCHING ? shmemhi_now() - row->detected_at
							       : row->outage_ns;
	info->detected_at = row->detected_at;
	info->fenced_at = row->fenced_at;
	info->opened_at = row->opened_at;
	info->resumed_at = row->resumed_at;
	memcpy(info->port, row->port, sizeof info->port);
	memcpy(info->peer_port, row->peer_port, sizeof info->peer_port);
	info->qpn = row->qpn;
	info->peer_qpn = row->peer_qpn;
	if (row->cause != SHMEMH_FAULT_BY_NONE)
		shmemhi_fault_text(row, pe, info->text, sizeof info->text);
}

int shmemh_fault_get(const shmemh_t *job, int pe, int k, shmemh_fault_info_t *info)
{
	shmemhi_fault_agent_t *agent;
	shmemhi_fault_row_t row;
	int n_channels;

	if (shmemhi_refused(job, "fault_get"))
		return SHMEMH_ERR_ARGUMENT;
	n_channels = job->fault ? (int)job->fault->core.config.n_channels : shmemh_channels(job);
	if (pe < 0 || pe >= job->n_pes || k < 0 || k >= n_channels)
		return shmemhi_fail_thread(
			SHMEMH_ERR_ARGUMENT,
			"fault_get: channel %d to PE %d: there are %d channels to each of %d PEs",
			k, pe, n_channels, job->n_pes);
	if (!info || info->size != sizeof *info)
		return shmemhi_fail_thread(SHMEMH_ERR_ARGUMENT,
					   "fault_get: info->size is %u, expected %zu",
					   info ? info->size : 0, sizeof *info);
	memset(&row, 0, sizeof row);
	agent = job->fault;
	if (agent)
		shmemhi_fault_table_read(&agent->report.table,
					 (uint32_t)pe * agent->core.config.n_channels + (uint32_t)k,
					 &row);
	memset(info, 0, sizeof *info);
	info->size = sizeof *info;
	fill_info(&row, pe, info);
	return SHMEMH_OK;
}

int shmemh_fault_watch(shmemh_t *job, void (*changed)(void *arg, int pe, int k, int state),
		       void *arg)
{
	shmemhi_fault_report_t *report;

	if (shmemhi_refused(job, "fault_watch"))
		return SHMEMH_ERR_ARGUMENT;
	if (!job->fault)
		return SHMEMH_OK;
	report = &job->fault->report;
	pthread_mutex_lock(&report->watch_lock);
	report->changed = changed;
	report->changed_arg = arg;
	pthread_mutex_unlock(&report->watch_lock);
	return SHMEMH_OK;
}
