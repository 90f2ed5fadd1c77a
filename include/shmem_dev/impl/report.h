/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Reports of a path's faults to the host (abi/fault.h), where faults of paths are tolerated. Called
 * seldom, by threads that have found an error CQE or waited for too long. The functions out of line
 * take the addresses of the channel and of its context, and the channel's index: a shmemdi_chan_t
 * would be kept in memory for the call. */
#ifndef SHMEMD_IMPL_REPORT_H
#define SHMEMD_IMPL_REPORT_H

#include <shmem_dev/impl/queue.h>

SHMEMD_FN uint32_t shmemdi_report_index(const shmemdi_chan_t *c)
{
	return c->k * c->ctx->n_world + c->world_pe;
}

/* Store a report, with the lock of `done`. Its number comes last. The lock in `reports` orders
 * threads that report for different channels: the host, which acquires the number, sees the words
 * of all reports up to that number. */
SHMEMD_FN void shmemdi_report(const shmemd_ctx_t *ctx, shmemd_channel_t *ch, uint32_t i,
			      uint64_t word)
{
	uint64_t before = shmemdi_lock(&ctx->latch->reports);

	shmemd_arch_st_relaxed_u64(&ch->reported, word);
	shmemd_arch_st_relaxed_u64(SHMEMD_FAULT_REPORT(ctx->faults, 1, i, 0), word);
	shmemd_arch_st_release_u64(&ctx->faults->n_reports, (before >> 1) + 1);
	shmemd_arch_unlock(&ctx->latch->reports, before + 2);
}

/* Report the error of a CQE, with the lock of `done`. Until the path is left, each thread that
 * polls finds this CQE: it is the first with an error, and `done` does not pass it. */
SHMEMD_FN_CALL void shmemdi_report_error(const shmemd_ctx_t *ctx, shmemd_channel_t *ch, uint32_t i,
					 const char *cqe)
{
	uint64_t tail = shmemd_arch_ld_relaxed_u64(cqe + SHMEMD_CQE_TAIL);
	uint64_t synd = shmemd_arch_ld_relaxed_u64(cqe + SHMEMD_CQE_SYNDROMES);
	uint32_t syndrome = (uint32_t)(synd >> 56), vendor = (uint32_t)(synd >> 48) & 0xff, kind;
	uint64_t word;

	kind = shmemdi_syndrome_status(syndrome) == SHMEMD_ERR_PATH ? SHMEMD_FAULT_PATH
								    : SHMEMD_FAULT_REFUSED;
	word = SHMEMD_FAULT_WORD(kind, SHMEMD_FAULT_SYNDROMES(syndrome, vendor),
				 shmemdi_cqe_wqe_opcode(tail), shmemdi_cqe_qpn(tail),
				 SHMEMD_TAG(shmemd_arch_ld_relaxed_u64(&ch->path)));
	if (shmemd_arch_ld_relaxed_u64(&ch->reported) != word)
		shmemdi_report(ctx, ch, i, word);
}

/* A wait has reached the time limit: let the host query the queue pair. A suspicion alone is no
 * reason to switch, since a slow path is not a lost one. An error that was reported is not
 * replaced. */
SHMEMD_FN_CALL void shmemdi_report_suspicion(const shmemd_ctx_t *ctx, shmemd_channel_t *ch,
					     uint32_t i)
{
	uint64_t done = shmemdi_lock(&ch->done);
	uint64_t word = shmemd_arch_ld_relaxed_u64(&ch->reported);
	uint32_t epoch = SHMEMD_TAG(shmemd_arch_ld_relaxed_u64(&ch->path));

	if (!word || SHMEMD_FAULT_KIND(word) == SHMEMD_FAULT_SUSPECT)
		shmemdi_report(ctx, ch, i,
			       SHMEMD_FAULT_WORD(SHMEMD_FAULT_SUSPECT,
						 SHMEMD_FAULT_NUMBER(word) + 1, 0, 0, epoch));
	shmemd_arch_unlock(&ch->done, done);
}

SHMEMD_FN void shmemdi_suspect(const shmemdi_chan_t *c)
{
	(void)SHMEMD_ARCH_INDIRECT(shmemdi_report_suspicion)(c->ctx, c->ch,
							     shmemdi_report_index(c));
}

#endif
