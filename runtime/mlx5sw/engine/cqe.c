/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* CQEs of 64 bytes. A change of the last 8 bytes makes a CQE valid: consumers may poll the counter,
 * the owner byte, or both at once. */
#include <endian.h>
#include <string.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/requester.h"
#include "mlx5sw/events/events.h"

#define NBYTES 64u
#define LAST_WORD_AT 56u
#define CQE_ERRORS MLX5_CQE_REQ_ERR
#define OTHER_SYNDROME MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR
#define OVERRUN 1u /* syndrome of MLX5SWI_EQE_CQ_ERROR */

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* Does the device give this class of errors another syndrome (MLX5SW_UNLIKE_ERROR_)? */
static bool is_other(uint8_t syndrome)
{
	static const struct {
		uint8_t syndrome;
		int rule;
	} classes[] = {
		{MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, MLX5SW_UNLIKE_ERROR_OPCODE},
		{MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5SW_UNLIKE_ERROR_LOCAL_KEY},
		{MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, MLX5SW_UNLIKE_ERROR_REMOTE_KEY},
		{MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, MLX5SW_UNLIKE_ERROR_REQUEST},
		{MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, MLX5SW_UNLIKE_ERROR_RETRY},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].syndrome == syndrome)
			return mlx5swi_is_unlike(classes[i].rule);
	return false;
}

static void fill(uint8_t e[NBYTES], const mlx5swi_cqe_t *cqe, uint8_t owner)
{
	const uint64_t now = htobe64(mlx5swi_now());

	memset(e, 0, NBYTES);
	put32(e + 32, cqe->user_index & 0xffffff);
	if (cqe->opcode < CQE_ERRORS) {
		memcpy(e + 36, &cqe->imm, sizeof(cqe->imm)); /* already in network order */
		put32(e + 44, cqe->nbytes);
		memcpy(e + 48, &now, sizeof(now));
	} else {
		e[54] = cqe->vendor;
		e[55] = is_other(cqe->syndrome) ? OTHER_SYNDROME : cqe->syndrome;
	}
	put32(e + 56, (uint32_t)cqe->wqe_opcode << 24 | (cqe->qpn & 0xffffff));
	e[60] = (uint8_t)(cqe->wqe_counter >> 8);
	e[61] = (uint8_t)cqe->wqe_counter;
	e[63] = (uint8_t)(cqe->opcode << 4 | owner);
}

/* A CQ in error reports no more completions, so its QPs go to ERR. */
static void break_cq(mlx5swi_cq_t *cq)
{
	const mlx5swi_table_t *qps = &cq->ctx->dev->qps;

	cq->state = MLX5SWI_CQ_BROKEN;
	mlx5swi_event_cq(cq, MLX5SWI_EQE_CQ_ERROR, OVERRUN);
	for (uint32_t i = 0; i < qps->n; i++) {
		mlx5swi_qp_t *qp = qps->at[i];

		if (qp && (qp->send_cq == cq || qp->recv_cq == cq)) {
			mlx5swi_event_qp(qp, MLX5SWI_EQE_WQ_CATAS);
			mlx5swi_qp_error(qp, 0, 0);
		}
	}
}

static bool is_overrun(const mlx5swi_cq_t *cq)
{
	uint32_t consumed;

	if (cq->ignores_overrun)
		return false;
	mlx5swi_queue_load(cq->dbr_is_gpu, &consumed, cq->dbr, sizeof(consumed), 0, MLX5SW_DBR);
	return ((cq->pi - be32toh(consumed)) & 0xffffff) >= 1u << cq->log_size;
}

/* Write the owner byte late: until then the entry has its new counter, an invalid opcode and the
 * owner bit of the previous lap. A collapsed CQ has no laps: its counter makes the entry valid. */
static void tear(const mlx5swi_cq_t *cq, uint8_t *slot, const uint8_t e[NBYTES])
{
	uint8_t last[8];

	if (cq->is_collapsed || !mlx5swi_has_chaos(MLX5SW_CHAOS_TEAR) || !mlx5swi_choose(2))
		return;
	memcpy(last, e + LAST_WORD_AT, sizeof(last));
	last[7] = (uint8_t)(MLX5_CQE_INVALID << 4 | (~e[63] & MLX5_CQE_OWNER_MASK));
	mlx5swi_queue_store(cq->buf_is_gpu, slot + LAST_WORD_AT, last, sizeof(last), MLX5SW_CQE);
}

void mlx5swi_cqe_write(mlx5swi_cq_t *cq, mlx5swi_qp_t *qp, const mlx5swi_cqe_t *cqe)
{
	const uint32_t n = 1u << cq->log_size;
	uint8_t *slot = cq->buf, e[NBYTES], owner = 0;

	if (cq->state == MLX5SWI_CQ_BROKEN)
		return;
	if (is_overrun(cq)) {
		break_cq(cq);
		return;
	}
	if (!cq->is_collapsed || mlx5swi_is_unlike(MLX5SW_UNLIKE_CQ_COLLAPSED)) {
		slot += (size_t)(cq->pi & (n - 1)) * NBYTES;
		owner = cq->pi >> cq->log_size & !mlx5swi_is_unlike(MLX5SW_UNLIKE_CQ_RING);
		cq->pi++;
	}
	if (cq->buf_is_gpu && mlx5swi_is_unlike(MLX5SW_UNLIKE_GPU_QUEUE))
		return;
	fill(e, cqe, owner);
	mlx5swi_queue_store(cq->buf_is_gpu, slot, e, LAST_WORD_AT, MLX5SW_CQE);
	tear(cq, slot, e);
	mlx5swi_queue_store(cq->buf_is_gpu, slot + LAST_WORD_AT, e + LAST_WORD_AT,
			    NBYTES - LAST_WORD_AT, MLX5SW_CQE_OWNER);
	qp->counters.cqes++;
	qp->counters.error_cqes += cqe->opcode >= CQE_ERRORS;
}
