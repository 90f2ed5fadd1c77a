/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/policy.h"

#include <stdlib.h>
#include <string.h>
#include <shmem_host/fault.h>
#include "fault/results.h"
#include "job/job.h"

static shmemhi_fault_policy_t decided(int policy, bool warns, const char *why)
{
	shmemhi_fault_policy_t p = {.policy = policy, .warns = warns};

	snprintf(p.why, sizeof p.why, "%s", why);
	return p;
}

/* By the self-test. */
static shmemhi_fault_policy_t by_verdict(const shmemhi_fault_facts_t *facts)
{
	shmemhi_fault_policy_t p = {.policy = SHMEMH_FAULT_OFF, .warns = true};

	if (facts->is_software)
		return decided(SHMEMH_FAULT_EXACT, false,
			       "exact: a stand-by is there, and the NICs are the software adapter");
	if (facts->verdict == SHMEMHI_PASS)
		return decided(SHMEMH_FAULT_EXACT, false,
			       "exact: a stand-by is there, and the NICs passed the self-test");
	if (facts->verdict == SHMEMHI_FAIL)
		snprintf(
			p.why, sizeof p.why,
			"off: a NIC of the kind of %.40s failed the self-test that exact fail-over "
			"relies on: see the output of shmem-info --selftest; update its firmware",
			facts->nic);
	else
		snprintf(p.why, sizeof p.why,
			 "off: no saved self-test of %.40s and its firmware shows that it can do "
			 "exact fail-over: run shmem-info --selftest, or set SHMEMH_FT=exact",
			 facts->nic);
	return p;
}

shmemhi_fault_policy_t shmemhi_fault_decide(const shmemhi_fault_facts_t *facts)
{
	if (facts->option == SHMEMHI_FT_OFF)
		return decided(SHMEMH_FAULT_OFF, false, "off: SHMEMH_FT=off");
	if (!facts->has_channels)
		return decided(SHMEMH_FAULT_OFF, false, "off: no PE is reached by a NIC");
	if (facts->is_emulated)
		return decided(SHMEMH_FAULT_OFF, facts->option == SHMEMHI_FT_EXACT,
			       "off: the emulator runs all PEs and NICs in one thread");
	if (facts->option == SHMEMHI_FT_EXACT)
		return decided(SHMEMH_FAULT_EXACT, false,
			       facts->standby ? "exact: SHMEMH_FT=exact"
					      : "exact: SHMEMH_FT=exact; without a stand-by a "
						"channel waits for its own port");
	if (!facts->standby)
		return decided(SHMEMH_FAULT_OFF, true,
			       "off: no stand-by port: shmem-info --topo shows the ports; "
			       "SHMEMH_HCA_LIST may exclude one; SHMEMH_FT=exact waits for a port "
			       "that comes up again");
	return by_verdict(facts);
}

int shmemhi_fault_agree(shmemh_t *job, const shmemhi_fault_policy_t *mine, int *policy)
{
	shmemhi_fault_policy_t *all = calloc((size_t)job->n_pes, sizeof *all);
	int pe = 0, status = SHMEMH_OK;

	if (!all)
		status =
			shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				     "fail-over: no memory for the policies of %d PEs", job->n_pes);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, mine, all, sizeof *mine);
	if (status == SHMEMH_OK) {
		while (pe < job->n_pes && all[pe].policy == SHMEMH_FAULT_EXACT)
			pe++;
		*policy = pe < job->n_pes ? SHMEMH_FAULT_OFF : SHMEMH_FAULT_EXACT;
		job->ft_policy = *policy;
		if (pe == job->n_pes)
			snprintf(job->ft_why, sizeof job->ft_why, "%s", mine->why);
		else if (pe == job->pe)
			snprintf(job->ft_why, sizeof job->ft_why, "%s", all[pe].why);
		else
			snprintf(job->ft_why, sizeof job->ft_why, "PE %d: %s", pe, all[pe].why);
		shmemhi_log(&job->log,
			    job->pe == 0 && pe < job->n_pes && all[pe].warns ? SHMEMHI_WARN
									     : SHMEMHI_INFO,
			    "fail-over is %s", job->ft_why);
	}
	free(all);
	return status;
}

void shmemhi_fault_switch_off(shmemh_t *job, const char *why)
{
	job->ft_policy = SHMEMH_FAULT_OFF;
	snprintf(job->ft_why, sizeof job->ft_why, "off: %.*s", (int)sizeof job->ft_why - 8, why);
	shmemhi_log(&job->log, job->pe == 0 ? SHMEMHI_WARN : SHMEMHI_INFO, "fail-over is %s",
		    job->ft_why);
}

int shmemhi_fault_verdict(const char *path, const shmemhi_firmware_t *of)
{
	/* WQEs carry their requests' numbers (immediate), the drain of a queue pair reads its CQEs
	 * (cq-ring, flush-order), the flush is a READ (read-quiet), and the responder's number of
	 * executed requests says what must not be repeated (the others). */
	static const char *const rows[] = {"immediate", "cq-ring",    "flush-order",   "read-quiet",
					   "prefix",    "late-write", "repeated-write"};
	int worst = SHMEMHI_PASS;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const int verdict = shmemhi_results_verdict(path, of, rows[i]);

		if (verdict > worst)
			worst = verdict;
	}
	return worst;
}
