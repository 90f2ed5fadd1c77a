/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Send queues of QPs in ERR: an error CQE for each WQE up to the doorbell record, or without one up
 * to the latest doorbell, signalled or not, and none beyond, not even for the WQE that failed. As
 * measured on a ConnectX-6. */
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/requester.h"

#define FIRST_FLUSH_NS 59000u
#define NEXT_FLUSH_NS 9350u

static uint64_t delay(uint64_t ns)
{
	return mlx5swi_w->cfg.timing == MLX5SW_TIMING_FAST ? 0 : mlx5swi_scaled(ns);
}

void mlx5swi_enter_error(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	r->deadline = UINT64_MAX;
	r->is_timer_old = 0;
	r->wait = 0;
	r->flush_due = mlx5swi_now() + delay(FIRST_FLUSH_NS);
	mlx5swi_qp_wake(qp);
}

void mlx5swi_qp_error(mlx5swi_qp_t *qp, uint8_t syndrome, uint8_t vendor)
{
	if (qp->state == MLX5SWI_RST || qp->state == MLX5SWI_ERR)
		return;
	qp->state = MLX5SWI_ERR;
	if (syndrome) {
		qp->requester->cause = syndrome;
		qp->requester->vendor = vendor;
	}
	mlx5swi_requester_state(qp);
	mlx5swi_responder_state(qp);
	mlx5swi_fault_failed(qp);
}

void mlx5swi_flush_again(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;
	const uint64_t due = mlx5swi_now() + delay(NEXT_FLUSH_NS);

	if (r->flush_due < due)
		r->flush_due = due;
	mlx5swi_qp_wake(qp);
}

/* Returns the number of WQEBBs of the next WQE; *opcode: its operation. */
static uint8_t next_wqe(mlx5swi_qp_t *qp, uint8_t *opcode)
{
	struct mlx5swi_requester *r = qp->requester;
	uint8_t wqebb[MLX5SWI_WQEBB];

	if (r->head != r->fetched) {
		const mlx5swi_entry_t *e = mlx5swi_entry(qp, r->head);

		r->acked = ++r->head;
		*opcode = e->opcode;
		return e->n_wqebbs;
	}
	mlx5swi_load_wqebb(qp, wqebb, r->done, r->done);
	*opcode = wqebb[3];
	return mlx5swi_n_wqebbs(wqebb);
}

static void flush_one(mlx5swi_qp_t *qp, uint16_t left)
{
	struct mlx5swi_requester *r = qp->requester;
	mlx5swi_cqe_t cqe = {
		.opcode = MLX5_CQE_REQ_ERR,
		.syndrome = r->cause,
		.vendor = r->vendor,
		.wqe_counter = (uint16_t)(r->done - (r->cause == MLX5_CQE_SYNDROME_WR_FLUSH_ERR &&
						     mlx5swi_is_unlike(MLX5SW_UNLIKE_FLUSH_ORDER))),
		.qpn = qp->qpn,
		.user_index = qp->user_index,
	};
	const uint8_t n = next_wqe(qp, &cqe.wqe_opcode);

	r->done = (uint16_t)(r->done + (n < left ? n : left));
	if (qp->send_cq && !mlx5swi_fault_cqe(qp, &cqe, NULL))
		mlx5swi_cqe_write(qp->send_cq, qp, &cqe);
	r->cause = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	r->vendor = MLX5SWI_VENDOR_FLUSH;
}

unsigned mlx5swi_flush(mlx5swi_qp_t *qp, unsigned limit)
{
	struct mlx5swi_requester *r = qp->requester;
	unsigned n = 0;

	r->pi = mlx5swi_record(qp);
	while (n < limit) {
		const uint16_t left = (uint16_t)(r->pi - r->done);

		if (left == 0 || left > qp->sq_wqebbs)
			break;
		if (r->cause == MLX5_CQE_SYNDROME_WR_FLUSH_ERR) {
			if (mlx5swi_now() < r->flush_due)
				break;
			r->flush_due += delay(NEXT_FLUSH_NS);
		}
		flush_one(qp, left);
		n++;
	}
	return n;
}
