/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Responses at the requester, and timeouts. */
#include "mlx5sw/engine/requester.h"

#include <endian.h>
#include "mlx5sw/core/core.h"

#define VENDOR_INVALID 0x8a /* as measured on a ConnectX-6 */
#define VENDOR_ACCESS 0x88
#define VENDOR_SILENT 0x81
#define VENDOR_NOT_READY 0x87
#define FOREVER 7u /* rnr_retry */

/* Retransmission timers of a ConnectX-6, as measured: a timeout is never shorter than that of code
 * 16, and is twice its nominal value. Six quick retries precede it, which together count as two. */
#define CX6_FLOOR 16u
#define N_QUICK 6u
#define QUICK_PART 8u
#define QUICK_COST 2u

static uint64_t timeout_ns(const mlx5swi_qp_t *qp)
{
	const uint32_t t = qp->attr.path.ack_timeout;

	switch (mlx5swi_w->cfg.timing) {
	case MLX5SW_TIMING_SPEC:
		return 4096ull << t;
	case MLX5SW_TIMING_CX6:
		return (2 * 4096ull << (t < CX6_FLOOR ? CX6_FLOOR : t)) /
		       (qp->requester->n_quick ? QUICK_PART : 1);
	default:
		return 1000;
	}
}

void mlx5swi_restart_timer(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	r->is_timer_old = 0;
	r->deadline = UINT64_MAX;
	if (r->una != r->end && !r->wait && qp->attr.path.ack_timeout)
		r->deadline = mlx5swi_now() + mlx5swi_scaled(timeout_ns(qp)) + 1;
}

void mlx5swi_progress(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	r->retries = qp->attr.retry_count;
	r->rnr = qp->attr.rnr_retry;
	r->n_quick = mlx5swi_w->cfg.timing == MLX5SW_TIMING_CX6 && r->retries ? N_QUICK : 0;
	r->has_gap = 0;
	r->is_timer_old = 1;
}

static void fail(mlx5swi_qp_t *qp, uint8_t syndrome, uint8_t vendor)
{
	mlx5swi_entry_t *e = mlx5swi_entry(qp, qp->requester->acked);

	e->syndrome = syndrome;
	e->vendor = vendor;
}

static void retry(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	r->is_timer_old = 1;
	if (r->retries == 0) {
		fail(qp, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, VENDOR_SILENT);
		return;
	}
	r->retries--;
	mlx5swi_go_back(qp);
}

static void quick_retry(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	if (--r->n_quick == 0)
		r->retries -= r->retries < QUICK_COST ? r->retries : QUICK_COST;
	r->is_timer_old = 1;
	mlx5swi_go_back(qp);
}

unsigned mlx5swi_timeout(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	if (r->is_timer_old)
		mlx5swi_restart_timer(qp);
	if (r->wait && mlx5swi_now() >= r->wait) {
		r->wait = 0;
		r->is_timer_old = 1;
		return 1;
	}
	if (r->deadline == UINT64_MAX || mlx5swi_now() < r->deadline)
		return 0;
	/* the WQE has failed already; its error CQE waits for the CQEs of earlier WQEs */
	if (mlx5swi_entry(qp, r->acked)->syndrome) {
		r->deadline = UINT64_MAX;
		return 0;
	}
	if (r->n_quick)
		quick_retry(qp);
	else
		retry(qp);
	return 1;
}

/* Handle a response that shows the loss of an earlier one. Later responses show the same loss. */
static void lost(mlx5swi_qp_t *qp)
{
	if (qp->requester->has_gap)
		return;
	qp->requester->has_gap = 1;
	retry(qp);
}

static void finish(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	r->n_reads -= mlx5swi_entry(qp, r->acked)->returns_data;
	r->acked++;
	mlx5swi_skip_local(qp);
}

void mlx5swi_skip_local(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	while (r->acked != r->fresh && mlx5swi_entry(qp, r->acked)->n_psns == 0 &&
	       !mlx5swi_entry(qp, r->acked)->syndrome)
		r->acked++;
}

/* Continue after the requests that were acknowledged in the meantime: they are not sent again. */
static void catch_up(mlx5swi_qp_t *qp)
{
	const struct mlx5swi_requester *r = qp->requester;

	if ((int32_t)(r->at - r->acked) < 0 ||
	    (r->at == r->acked && r->acked != r->fresh &&
	     ((r->una - mlx5swi_entry(qp, r->at)->psn) & 0xffffff) > r->packet))
		mlx5swi_go_back(qp);
}

/* Every request before psn was executed; READs and atomics also need their data. Returns whether
 * una is psn now. */
static bool acknowledge(mlx5swi_qp_t *qp, uint32_t psn)
{
	struct mlx5swi_requester *r = qp->requester;

	while (mlx5swi_psn_diff(psn, r->una) > 0) {
		const mlx5swi_entry_t *e = mlx5swi_entry(qp, r->acked);
		const uint32_t end = mlx5swi_psn_add(e->psn, e->n_psns);

		if (e->returns_data)
			break;
		mlx5swi_progress(qp);
		if (mlx5swi_psn_diff(psn, end) < 0) {
			r->una = psn;
		} else {
			r->una = end;
			finish(qp);
		}
	}
	catch_up(qp);
	return r->una == psn;
}

/* Returns the destination of bytes [offset, offset + nbytes) of a response, or NULL: the entry has
 * the error. */
static uint8_t *result(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, uint32_t offset, uint32_t nbytes,
		       mlx5swi_mr_t **mr)
{
	const mlx5swi_sge_t *sge = &qp->requester->wqe.sge[0];
	uint8_t *p;
	const int error = mlx5swi_key_check(qp->dev, qp->pd, sge->lkey, sge->addr + offset, nbytes,
					    IBV_ACCESS_LOCAL_WRITE, mr, &p);

	if (!error)
		return p;
	mlx5swi_key_failed(qp, e, sge, error);
	return NULL;
}

static void bad_answer(mlx5swi_qp_t *qp)
{
	fail(qp, MLX5_CQE_SYNDROME_BAD_RESP_ERR, 0);
}

/* MLX5SW_UNLIKE_READ: the number of bytes of the packet that are not placed: 1, the last byte of
 * the message, or 0. */
static uint32_t n_cut(const mlx5swi_entry_t *e, bool is_last)
{
	return is_last && e->nbytes % 2 && mlx5swi_is_unlike(MLX5SW_UNLIKE_READ);
}

static void take_read(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_packet_t *p)
{
	const uint32_t mtu = mlx5swi_mtu(qp);
	const uint32_t offset = ((p->psn - e->psn) & 0xffffff) * mtu, left = e->nbytes - offset;
	mlx5swi_mr_t *mr;
	uint8_t *dst;

	if (e->opcode != MLX5_OPCODE_RDMA_READ || p->nbytes != (left < mtu ? left : mtu))
		bad_answer(qp);
	else if (p->nbytes && (dst = result(qp, e, offset, p->nbytes, &mr)) != NULL)
		mlx5swi_payload_write(mr, dst, p->data, p->nbytes - n_cut(e, left <= mtu));
}

/* Write the old value to memory: 8 bytes in host order (atomic_req_8B_endianness_mode 1), 4 bytes
 * big-endian, because no mode covers them. */
static void take_atomic(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_packet_t *p)
{
	const uint32_t host = (uint32_t)p->operands[0];
	const uint32_t narrow = mlx5swi_is_unlike(MLX5SW_UNLIKE_ORDER_4) ? host : htobe32(host);
	const uint64_t wide =
		mlx5swi_is_unlike(MLX5SW_UNLIKE_ORDER_8) ? htobe64(p->operands[0]) : p->operands[0];
	const void *old = e->nbytes == 4 ? (const void *)&narrow : &wide;
	mlx5swi_mr_t *mr;
	uint8_t *dst;

	if (e->opcode == MLX5_OPCODE_RDMA_READ)
		bad_answer(qp);
	else if ((dst = result(qp, e, 0, e->nbytes, &mr)) != NULL)
		mlx5swi_payload_write(mr, dst, old, e->nbytes);
}

static void data(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	struct mlx5swi_requester *r = qp->requester;
	mlx5swi_entry_t *e;

	if (!acknowledge(qp, p->psn)) {
		lost(qp);
		return;
	}
	e = mlx5swi_entry(qp, r->acked);
	if (!e->returns_data)
		return;
	if (r->decoded != r->acked)
		mlx5swi_decode(qp, r->acked, NULL, NULL);
	if (p->kind == MLX5SWI_READ_DATA)
		take_read(qp, e, p);
	else
		take_atomic(qp, e, p);
	if (e->syndrome)
		return;
	mlx5swi_progress(qp);
	r->una = mlx5swi_psn_add(r->una, 1);
	if (r->una == mlx5swi_psn_add(e->psn, e->n_psns))
		finish(qp);
	catch_up(qp);
}

static void not_ready(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	/* RNR NAK timer codes of the InfiniBand specification, in microseconds. */
	static const uint32_t us[32] = {
		655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,    320,
		480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240,  15360,
		20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
	};
	struct mlx5swi_requester *r = qp->requester;

	if (r->rnr == 0) {
		fail(qp, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR, VENDOR_NOT_READY);
		return;
	}
	if (qp->attr.rnr_retry != FOREVER)
		r->rnr--;
	mlx5swi_go_back(qp);
	r->wait = mlx5swi_now() + mlx5swi_scaled(1000ull * us[p->rnr & 31]) + 1;
	r->is_timer_old = 1;
}

static void refused(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	if (!acknowledge(qp, p->psn)) {
		lost(qp);
		return;
	}
	switch (p->nak) {
	case MLX5SWI_NAK_SEQUENCE:
		retry(qp);
		break;
	case MLX5SWI_NAK_INVALID:
		fail(qp, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, VENDOR_INVALID);
		break;
	case MLX5SWI_NAK_ACCESS:
		mlx5swi_access_refused(qp, qp->requester->acked);
		fail(qp, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, VENDOR_ACCESS);
		break;
	case MLX5SWI_RNR:
		not_ready(qp, p);
		break;
	default:
		fail(qp, MLX5_CQE_SYNDROME_REMOTE_OP_ERR, 0);
	}
}

static void answer(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	if (p->kind != MLX5SWI_ACK)
		data(qp, p);
	else if (p->nak != MLX5SWI_OK)
		refused(qp, p);
	else if (!acknowledge(qp, mlx5swi_psn_add(p->psn, 1)))
		lost(qp);
}

/* Returns whether the response is to a request that was sent and is not acknowledged. Others are
 * duplicates, or not for this connection. */
static bool is_expected(const mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	const struct mlx5swi_requester *r = qp->requester;

	return qp->state == MLX5SWI_RTS && p->sqpn == qp->attr.remote_qpn &&
	       mlx5swi_psn_diff(p->psn, r->una) >= 0 && mlx5swi_psn_diff(p->psn, r->end) < 0 &&
	       !mlx5swi_entry(qp, r->acked)->syndrome;
}

void mlx5swi_requester_packet(mlx5swi_qp_t *qp, mlx5swi_packet_t *p)
{
	if (qp->sq && is_expected(qp, p)) {
		answer(qp, p);
		mlx5swi_qp_wake(qp);
	}
	mlx5swi_packet_free(p);
}
