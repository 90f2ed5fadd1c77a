/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Reports of a path's faults to the host (abi/fault.h), where faults of paths are tolerated. Called
 * seldom, by threads that have found an error CQE or waited for too long. */
#ifndef SHMEMD_IMPL_REPORT_H
#define SHMEMD_IMPL_REPORT_H

#include <shmem_dev/impl/queue.h>

/* Store a report, with the lock of `done`. Its number comes last. The lock orders threads that
 * report for different channels: the host, which acquires the number, sees the words of all reports
 * up to that number. */
SHMEMD_FN_COLD void shmemdi_report(const shmemdi_chan_t *c, uint64_t word)
{
	shmemd_faults_t *faults = c->ctx->faults;
	uint64_t *reports = &c->ctx->latch->reports, before = shmemdi_lock(reports);

	shmemd_arch_st_relaxed_u64(&c->ch->reported, word);
	shmemd_arch_st_relaxed_u64(SHMEMD_FAULT_REPORT(faults, c->ctx->n_world, c->k, c->world_pe),
				   word);
	shmemd_arch_st_release_u64(&faults->n_reports, (before >> 1) + 1);
	shmemd_arch_unlock(reports, before + 2);
}

/* Report the error of a CQE, with the lock of `done`. While the path is not left, each thread that
 * polls finds the same CQE again: it is the first with an error, and `done` does not pass it. */
SHMEMD_FN void shmemdi_report_error(const shmemdi_chan_t *c, int status, uint64_t tail,
				    uint32_t syndrome, uint32_t vendor)
{
	uint32_t kind = status == SHMEMD_ERR_PATH ? SHMEMD_FAULT_PATH : SHMEMD_FAULT_REFUSED;
	uint64_t word = SHMEMD_FAULT_WORD(kind, SHMEMD_FAULT_SYNDROMES(syndrome, vendor),
					  shmemdi_cqe_wqe_opcode(tail), shmemdi_cqe_qpn(tail),
					  SHMEMD_TAG(shmemd_arch_ld_relaxed_u64(&c->ch->path)));

	if (shmemd_arch_ld_relaxed_u64(&c->ch->reported) != word)
		shmemdi_report(c, word);
}

/* A wait has reached the time limit: let the host query the queue pair. It never is a reason to
 * switch, since a slow path is not a lost one. An error that was reported is not replaced. */
SHMEMD_FN_COLD void shmemdi_report_suspicion(const shmemdi_chan_t *c)
{
	uint64_t done = shmemdi_lock(&c->ch->done);
	uint64_t reported = shmemd_arch_ld_relaxed_u64(&c->ch->reported);

	if (!reported || SHMEMD_FAULT_KIND(reported) == SHMEMD_FAULT_SUSPECT)
		shmemdi_report(
			c, SHMEMD_FAULT_WORD(SHMEMD_FAULT_SUSPECT,
					     SHMEMD_FAULT_NUMBER(reported) + 1, 0, 0,
					     SHMEMD_TAG(shmemd_arch_ld_relaxed_u64(&c->ch->path))));
	shmemd_arch_unlock(&c->ch->done, done);
}

#endif
