/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows: the error CQE of each class, and what follows it. */
#include <string.h>
#include "selftest/rows.h"

static shmemdi_wqe_t write_of(const shmemhi_rig_t *rig, const shmemhi_pair_t *pair, uint32_t flags)
{
	shmemdi_wqe_t q;

	shmemdi_wqe_write(&q, shmemhi_at(&pair->a, flags), shmemhi_remote(rig, &pair->b, 0),
			  shmemhi_local(rig, &pair->a, 0), 8);
	return q;
}

/* Post a WQE that must end with that syndrome. */
static void expect(shmemhi_rig_t *rig, shmemhi_pair_t *pair, const shmemdi_wqe_t *bad,
		   uint32_t syndrome, shmemhi_outcome_t *o)
{
	const uint16_t at = (uint16_t)pair->a.index;
	shmemhi_completion_t c;

	(void)rig;
	shmemhi_post(&pair->a, bad, 1);
	shmemhi_ring_end(&pair->a);
	if (shmemhi_next_cqe(&pair->a, &c) != 0)
		shmemhi_row_fails(o, "no CQE came");
	else if (c.opcode != SHMEMD_CQE_REQ_ERR || c.syndrome != syndrome)
		shmemhi_row_fails(o, "opcode %u, syndrome 0x%02x: expected 13, 0x%02x", c.opcode,
				  c.syndrome, syndrome);
	else if (c.counter != at)
		shmemhi_row_fails(o, "the CQE names WQEBB %u, not %u", c.counter, at);
}

void shmemhi_row_bad_opcode(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemdi_wqe_t q = write_of(rig, pair, SHMEMD_MLX5_CQ_UPDATE);

	shmemdi_wqe_control(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE), 0, 0x1f, 3);
	expect(rig, pair, &q, SHMEMD_SYNDROME_LOCAL_QP_OP, o);
}

void shmemhi_row_bad_local_key(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemdi_wqe_t q = write_of(rig, pair, SHMEMD_MLX5_CQ_UPDATE);

	q.w[9] ^= 0xffff; /* big-endian: the highest bits of the key's index */
	expect(rig, pair, &q, SHMEMD_SYNDROME_LOCAL_PROT, o);
}

void shmemhi_row_bad_remote_key(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemdi_wqe_t q = write_of(rig, pair, SHMEMD_MLX5_CQ_UPDATE);

	q.w[6] ^= 0xffff;
	expect(rig, pair, &q, SHMEMD_SYNDROME_REMOTE_ACCESS, o);
}

/* An atomic on an address that is not aligned. */
void shmemhi_row_bad_request(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_FA, .value = 1};
	shmemdi_wqe_t q;

	shmemdi_wqe_amo(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
			shmemhi_remote(rig, &pair->b, 4), shmemhi_local(rig, &pair->a, 0), &add, 8);
	expect(rig, pair, &q, SHMEMD_SYNDROME_REMOTE_INVAL_REQ, o);
}

/* A peer that does not answer. */
void shmemhi_row_retry(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemdi_wqe_t q = write_of(rig, pair, SHMEMD_MLX5_CQ_UPDATE);
	const shmemhi_watch_t at_once = {0};

	if (shmemhi_remote_fence(rig, pair, &at_once) != SHMEMH_OK) {
		shmemhi_row_unknown(o, "%s", rig->err.text);
		rig->err.text[0] = '\0';
		return;
	}
	expect(rig, pair, &q, SHMEMD_SYNDROME_RETRY_EXC, o);
}

/* Ten WQEs, of which the fifth fails: those before it succeed, those after it are flushed one by
 * one, also where no CQE was asked for. */
void shmemhi_row_flush_order(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	enum { N = 10, BAD = 4 };

	for (int i = 0; i < N; i++) {
		uint32_t flags = i < BAD ? SHMEMD_MLX5_CQ_UPDATE : 0;
		shmemdi_wqe_t q = write_of(rig, pair, flags);

		if (i == BAD)
			q.w[6] ^= 0xffff;
		shmemhi_post(&pair->a, &q, 1);
	}
	shmemhi_ring_end(&pair->a);
	for (int i = 0; i < N && !o->verdict; i++) {
		uint32_t want = i < BAD ? SHMEMD_CQE_REQ : SHMEMD_CQE_REQ_ERR;
		shmemhi_completion_t c;

		if (shmemhi_next_cqe(&pair->a, &c) != 0)
			shmemhi_row_fails(o, "only %d CQEs came for %d WQEs", i, N);
		else if (c.opcode != want || c.counter != i ||
			 (i > BAD && c.syndrome != SHMEMD_SYNDROME_WR_FLUSH))
			shmemhi_row_fails(o, "CQE %d: opcode %u, syndrome 0x%02x, WQEBB %u", i,
					  c.opcode, c.syndrome, c.counter);
	}
}
