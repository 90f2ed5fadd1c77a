/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The work of a send queue, and its completions. */
#include "mlx5sw/engine/requester.h"

#include <stdlib.h>
#include <string.h>

#define POISON 0xc1 /* 0xc1 is no opcode; ds 1, so that the device also examines the next WQEBB */
#define BATCH 64u   /* packets of one turn */

struct mlx5swi_requester *mlx5swi_requester_new(mlx5swi_qp_t *qp)
{
	const size_t wqebbs = qp->sq ? qp->sq_wqebbs : 0;
	const size_t head = sizeof(struct mlx5swi_requester) + wqebbs * sizeof(mlx5swi_entry_t);
	struct mlx5swi_requester *r = malloc(head + wqebbs * MLX5SWI_WQEBB);

	if (!r)
		return NULL;
	r->shadow = (uint8_t *)r + head;
	qp->requester = r;
	mlx5swi_requester_reset(qp);
	return r;
}

void mlx5swi_requester_free(mlx5swi_qp_t *qp)
{
	free(qp->requester);
	qp->requester = NULL;
}

void mlx5swi_requester_reset(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;
	const uint16_t start = mlx5swi_w->cfg.start_index;

	r->head = r->acked = r->at = r->fresh = r->fetched = 0;
	r->done = r->fetch = r->pi = r->reported = start;
	r->last_index = r->last_record = start;
	r->is_rung = r->is_record_due = 0;
	r->cause = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	r->vendor = MLX5SWI_VENDOR_2ERR;
	r->packet = r->n_reads = r->ssn = 0;
	r->una = r->end = r->next = 0;
	r->retries = r->rnr = r->n_quick = r->has_gap = 0;
	r->is_timer_old = r->has_consulted_faults = r->has_blueflame = 0;
	r->deadline = UINT64_MAX;
	r->wait = r->cqe_due = 0;
}

void mlx5swi_requester_state(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	if (qp->state == MLX5SWI_RTS) {
		r->una = r->end = r->next = qp->attr.next_send_psn;
		mlx5swi_progress(qp);
	} else if (qp->state == MLX5SWI_ERR) {
		mlx5swi_enter_error(qp);
	}
}

static mlx5swi_cqe_t success(const mlx5swi_qp_t *qp, const mlx5swi_entry_t *e)
{
	return (mlx5swi_cqe_t){
		.opcode = MLX5_CQE_REQ,
		.wqe_opcode = e->opcode,
		.wqe_counter = e->index,
		.qpn = qp->qpn,
		.user_index = qp->user_index,
		.nbytes = e->returns_data ? e->nbytes : 0,
	};
}

/* Returns false if the completion is delayed; true if it was written or is lost. */
static bool announce(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e)
{
	struct mlx5swi_requester *r = qp->requester;
	const mlx5swi_cqe_t cqe = success(qp, e);
	uint64_t delay = 0;

	if (!r->has_consulted_faults && mlx5swi_fault_cqe(qp, &cqe, &delay))
		return true;
	if (delay)
		r->cqe_due = delay == UINT64_MAX ? delay : mlx5swi_now() + delay;
	r->has_consulted_faults = 1;
	if (r->cqe_due && mlx5swi_now() < r->cqe_due)
		return false;
	mlx5swi_cqe_write(qp->send_cq, qp, &cqe);
	r->has_consulted_faults = 0;
	r->cqe_due = 0;
	return true;
}

unsigned mlx5swi_requester_release(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	if (!r->has_consulted_faults)
		return 0;
	r->cqe_due = 0;
	mlx5swi_qp_wake(qp);
	return 1;
}

/* Poison all WQEBBs of the WQE, just before its completion, after which the program may write to
 * them again. */
static void poison(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e)
{
	uint8_t wqebb[MLX5SWI_WQEBB];

	memset(wqebb, POISON, sizeof(wqebb));
	for (uint8_t i = 0; i < e->n_wqebbs; i++)
		mlx5swi_queue_store(qp->ring_is_gpu,
				    qp->sq + mlx5swi_wqebb_offset(qp, (uint16_t)(e->index + i)),
				    wqebb, sizeof(wqebb), MLX5SW_PAYLOAD);
}

static void check_signals(const mlx5swi_qp_t *qp, const mlx5swi_entry_t *e)
{
	struct mlx5swi_requester *r = qp->requester;

	if (e->is_signalled)
		r->reported = r->done;
	else if ((uint16_t)(r->done - r->reported) >= qp->sq_wqebbs)
		mlx5swi_lint("R3", qp, e->index,
			     "the queue was full, and none of its WQEs asked for a completion: "
			     "no completion can free its WQEBBs");
}

void mlx5swi_requester_mr_ends(mlx5swi_qp_t *qp, uint32_t key)
{
	const struct mlx5swi_requester *r = qp->requester;

	for (uint32_t number = r->acked; number != r->fetched; number++) {
		if (mlx5swi_decode(qp, number, NULL, NULL))
			continue;
		for (uint8_t i = 0; i < r->wqe.n_sge; i++)
			if (r->wqe.sge[i].lkey == key)
				mlx5swi_lint("M3", qp, mlx5swi_entry(qp, number)->index,
					     "MR 0x%x ends before the WQE is complete", key);
	}
}

/* Compare the WQEBBs with what was fetched before the CQE is written: only the CQE allows the
 * program to write to them again. Returns false if the CQE is delayed. */
static bool complete_one(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;
	const mlx5swi_entry_t *e = mlx5swi_entry(qp, r->head);

	if (mlx5swi_w->cfg.lint != MLX5SW_LINT_OFF && !r->has_consulted_faults)
		mlx5swi_compare(qp, e);
	if (mlx5swi_has_chaos(MLX5SW_CHAOS_POISON) && !r->has_consulted_faults)
		poison(qp, e);
	if (e->is_signalled && qp->send_cq && !announce(qp, e))
		return false;
	r->done = (uint16_t)(e->index + e->n_wqebbs); /* from now on its WQEBBs are free */
	check_signals(qp, e);
	r->head++;
	return true;
}

static unsigned complete(mlx5swi_qp_t *qp, unsigned limit)
{
	const struct mlx5swi_requester *r = qp->requester;
	unsigned n = 0;

	while (n < limit && r->head != r->acked && complete_one(qp))
		n++;
	if (r->head == r->acked && r->head != r->fetched) {
		const mlx5swi_entry_t *e = mlx5swi_entry(qp, r->head);

		if (e->syndrome && qp->state != MLX5SWI_ERR) {
			mlx5swi_qp_error(qp, e->syndrome, e->vendor);
			n++;
		}
	}
	mlx5swi_payload_forget();
	return n;
}

/* Complete now, or in a later turn if there is other work. */
static unsigned complete_or_not(mlx5swi_qp_t *qp)
{
	if (!mlx5swi_has_chaos(MLX5SW_CHAOS_ORDER))
		return complete(qp, UINT32_MAX);
	if (qp->state != MLX5SWI_ERR && mlx5swi_may_send(qp) && mlx5swi_choose(2))
		return 0;
	return complete(qp, 1);
}

static unsigned run_error(mlx5swi_qp_t *qp, unsigned limit)
{
	const struct mlx5swi_requester *r = qp->requester;

	return r->head == r->acked ? mlx5swi_flush(qp, limit) : 0;
}

unsigned mlx5swi_requester_run(mlx5swi_qp_t *qp)
{
	const unsigned limit = mlx5swi_has_chaos(MLX5SW_CHAOS_ORDER) ? 1 : BATCH;
	unsigned n;

	if (!qp->sq || (qp->state != MLX5SWI_RTS && qp->state != MLX5SWI_ERR))
		return 0;
	n = complete_or_not(qp);
	if (qp->state == MLX5SWI_ERR)
		return n + run_error(qp, limit);
	n += mlx5swi_timeout(qp);
	n += mlx5swi_fetch(qp);
	n += mlx5swi_send(qp, limit);
	if (!n) /* there was no other work */
		n = complete(qp, 1);
	if (qp->requester->is_timer_old)
		mlx5swi_restart_timer(qp);
	return n;
}

uint64_t mlx5swi_requester_deadline(const mlx5swi_qp_t *qp)
{
	const struct mlx5swi_requester *r = qp->requester;
	const uint16_t left = (uint16_t)(r->pi - r->done);
	uint64_t due = r->deadline;

	if (qp->state == MLX5SWI_ERR && r->head == r->acked && left && left <= qp->sq_wqebbs)
		due = r->flush_due; /* no other timer runs in ERR */
	if (r->wait && r->wait < due)
		due = r->wait;
	if (r->cqe_due && r->cqe_due < due)
		due = r->cqe_due;
	return due;
}

void mlx5swi_requester_query(const mlx5swi_qp_t *qp, mlx5swi_send_state_t *s)
{
	const struct mlx5swi_requester *r = qp->requester;

	*s = (mlx5swi_send_state_t){
		.hw_counter = r->done,
		.sw_counter = qp->sq && qp->state == MLX5SWI_ERR ? mlx5swi_record(qp) : r->pi,
		.next_send_psn = r->end,
		.last_acked_psn = mlx5swi_psn_add(r->una, 0xffffff),
		.ssn = r->ssn & 0xffffff,
		.retries_left = r->retries,
		.rnr_left = r->rnr,
	};
}
