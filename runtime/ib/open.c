/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Decide whether NICs are used: some PE must need one, and all must have one. Built even without
 * NIC support: a PE of such an installation takes part in the decision. */
#include <stdlib.h>
#include <shmem_host/fault.h>
#include "ib/ib.h"
#include "ib/start.h"
#include "mem/mem.h"

/* The data that PEs exchange for the decision. */
typedef struct need {
	int32_t needs; /* this PE needs a NIC */
	int32_t off;   /* SHMEMH_IB */
	int32_t n_channels;
} need_t;

enum { IB_AUTO, IB_OFF }; /* words of SHMEMH_IB */

/* Is there a PE, this one included, on which some operation cannot be done through mapped
 * memory? */
static bool needs_nic(const shmemh_t *job)
{
	int needs = 0;

	for (int pe = 0; pe < job->n_pes; pe++)
		needs |= !shmemhi_mem_is_for_kernels(job, pe) || !shmemhi_mem_has_atomics(job, pe);
	return needs;
}

/* Check and compare the options and needs of all PEs; *needed is the same everywhere. */
static int agree_need(shmemh_t *job, int *needed)
{
	need_t mine = {needs_nic(job), job->opt.ib == IB_OFF, job->opt.channels};
	need_t *all = calloc((size_t)job->n_pes, sizeof *all);
	int status = all ? shmemhi_ib_check_options(job)
			 : shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "NIC: out of memory");
	int n_off = 0;

	status = shmemhi_agree(job, status);
	*needed = 0;
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, &mine, all, sizeof mine);
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++) {
		if (all[pe].n_channels != all[0].n_channels)
			status = shmemhi_fail(
				&job->err, SHMEMH_ERR_MISMATCH,
				"SHMEMH_CHANNELS is %d on PE 0 and %d on PE %d: set it equally",
				all[0].n_channels, all[pe].n_channels, pe);
		*needed |= all[pe].needs;
		n_off += all[pe].off;
	}
	free(all);
	*needed &= n_off < job->n_pes;
	return status;
}

/* Use no NIC on any PE, since at least one PE cannot use its own: no NIC would answer requests to
 * that PE. PE 0 warns once. */
static int do_without_nics(shmemh_t *job)
{
	shmemhi_ib_close(job);
	job->ft_policy = SHMEMH_FAULT_OFF;
	job->ft_why[0] = '\0';
	if (job->pe == 0)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "NICs are not used, so what needs one fails with "
			    "SHMEMD_ERR_UNREACHABLE or SHMEMD_ERR_NO_ATOMICS: %s",
			    job->err.text);
	job->err.text[0] = '\0';
	return SHMEMH_OK;
}

int shmemhi_ib_open(shmemh_t *job)
{
	int needed, status = agree_need(job, &needed);

	if (status != SHMEMH_OK || !needed)
		return status;
	if (job->opt.ib == IB_OFF)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NIC, "SHMEMH_IB is off on PE %d",
				      job->pe);
	else
		status = shmemhi_ib_load_and_open(job);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_ib_choose_and_create(job);
	if (status == SHMEMH_ERR_NIC)
		return do_without_nics(job);
	if (status == SHMEMH_OK)
		status = shmemhi_ib_connect_and_start(job);
	if (status != SHMEMH_OK)
		shmemhi_ib_close(job);
	else
		shmemhi_ib_warn_of_order(job);
	return status;
}
