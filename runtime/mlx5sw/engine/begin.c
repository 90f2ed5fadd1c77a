/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The checks of a WQE before its first packet, and the conditions for which it waits. */
#include <endian.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/requester.h"

#define VENDOR_UNKNOWN_KEY 0x52 /* as measured on a ConnectX-6 */
#define VENDOR_RANGE 0x53
#define VENDOR_RIGHTS 0x33
#define FENCE 2u         /* this fence mode and higher ones wait for READs and atomics */
#define ATOMIC_UP_TO_8 3 /* the atomic mode that also allows 4 bytes */

static bool is_mr(const mlx5swi_qp_t *qp, const mlx5swi_sge_t *sge)
{
	mlx5swi_mr_t *mr;
	uint8_t *p;

	return mlx5swi_key_check(qp->dev, qp->pd, sge->lkey, sge->addr, sge->nbytes, 0, &mr, &p) ==
	       MLX5SWI_KEY_OK;
}

/* Report the likely mistake: a field in the wrong byte order, or inline data without its flag. */
static void hint(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e, const mlx5swi_sge_t *sge)
{
	mlx5swi_sge_t s = *sge;

	/* Inline payload was decoded as an address; up to 8 bytes are followed by padding. */
	if (e->vendor == VENDOR_UNKNOWN_KEY && sge->nbytes <= 8 && (uint32_t)sge->addr == 0)
		mlx5swi_lint("W8", qp, e->index,
			     "%u bytes at an address that ends in zeros: "
			     "inline data without its flag?",
			     sge->nbytes);
	s.lkey = be32toh(sge->lkey);
	if (is_mr(qp, &s))
		mlx5swi_lint("W4", qp, e->index, "lkey 0x%x: a big-endian 0x%x would be valid",
			     sge->lkey, s.lkey);
	s = *sge;
	s.nbytes = be32toh(sge->nbytes);
	if (is_mr(qp, &s))
		mlx5swi_lint("W4", qp, e->index, "length 0x%x: a big-endian 0x%x would be valid",
			     sge->nbytes, s.nbytes);
	s = *sge;
	s.addr = be64toh(sge->addr);
	if (is_mr(qp, &s))
		mlx5swi_lint("W4", qp, e->index,
			     "address 0x%llx: a big-endian 0x%llx would be valid",
			     (unsigned long long)sge->addr, (unsigned long long)s.addr);
}

/* Returns whether any device of this process has such a key that covers the address. */
static bool is_remote(uint32_t key, uint64_t va)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++) {
		const mlx5swi_mr_t *mr = mlx5swi_table_get(&mlx5swi_w->devices[i].mrs, key >> 8);

		if (mr && mr->key == key && va - mr->iova < mr->nbytes)
			return true;
	}
	return false;
}

void mlx5swi_access_refused(mlx5swi_qp_t *qp, uint32_t number)
{
	const mlx5swi_wqe_t *w = &qp->requester->wqe;
	const uint16_t index = mlx5swi_entry(qp, number)->index;

	if (mlx5swi_decode(qp, number, NULL, NULL))
		return;
	if (is_remote(be32toh(w->rkey), w->raddr))
		mlx5swi_lint("W4", qp, index, "rkey 0x%x: a big-endian 0x%x would be valid",
			     w->rkey, be32toh(w->rkey));
	if (is_remote(w->rkey, be64toh(w->raddr)))
		mlx5swi_lint("W4", qp, index,
			     "remote address 0x%llx: a big-endian 0x%llx would be valid",
			     (unsigned long long)w->raddr, (unsigned long long)be64toh(w->raddr));
}

void mlx5swi_key_failed(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_sge_t *sge, int error)
{
	e->syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
	e->vendor = error == MLX5SWI_KEY_UNKNOWN ? VENDOR_UNKNOWN_KEY
		    : error == MLX5SWI_KEY_RANGE ? VENDOR_RANGE
						 : VENDOR_RIGHTS;
	hint(qp, e, sge);
}

/* Check the destination of the result. Its access rights are checked when the response arrives. */
static void check_result(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_wqe_t *w)
{
	mlx5swi_mr_t *mr;
	uint8_t *p;

	for (uint8_t i = 0; i < w->n_sge && !e->syndrome; i++) {
		const mlx5swi_sge_t *sge = &w->sge[i];
		int error = mlx5swi_key_check(qp->dev, qp->pd, sge->lkey, sge->addr, sge->nbytes, 0,
					      &mr, &p);

		if (error && sge->nbytes)
			mlx5swi_key_failed(qp, e, sge, error);
	}
}

static bool is_local(const mlx5swi_wqe_t *w)
{
	return w->opcode == MLX5_OPCODE_NOP || w->opcode == MLX5SWI_OPCODE_DUMP;
}

static bool returns_data(const mlx5swi_wqe_t *w)
{
	return w->width || w->opcode == MLX5_OPCODE_RDMA_READ;
}

static uint32_t n_psns(const mlx5swi_qp_t *qp, const mlx5swi_wqe_t *w)
{
	const uint32_t mtu = mlx5swi_mtu(qp);

	if (is_local(w))
		return 0;
	return w->width || w->nbytes == 0 ? 1 : (w->nbytes - 1) / mtu + 1;
}

/* A READ or atomic waits while 2^log_sra_max of them are in flight. A WQE with a fence waits until
 * earlier READs and atomics are complete. */
static bool must_wait(const mlx5swi_qp_t *qp, const mlx5swi_wqe_t *w)
{
	const struct mlx5swi_requester *r = qp->requester;

	return (w->fm >= FENCE && r->n_reads && !mlx5swi_is_unlike(MLX5SW_UNLIKE_FENCE_BIT)) ||
	       (returns_data(w) && r->n_reads >= 1u << qp->attr.log_sra_max);
}

static void check_signature(const mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_wqe_t *w)
{
	const struct mlx5swi_requester *r = qp->requester;
	uint8_t x = 0;

	for (uint32_t i = 0; i < 16u * w->ds; i++)
		x ^= r->shadow[mlx5swi_wqebb_offset(qp, (uint16_t)(e->index + i / MLX5SWI_WQEBB)) +
			       i % MLX5SWI_WQEBB];
	if (x != 0xff) {
		e->syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		mlx5swi_lint("W13", qp, e->index,
			     "the exclusive or of all bytes of a signed WQE must be 0xff, is "
			     "0x%02x",
			     x);
	}
}

static void check_control(const mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_wqe_t *w)
{
	if (w->index != e->index)
		mlx5swi_lint("W5", qp, e->index, "its index field is %u", w->index);
	if (w->qpn != qp->qpn) {
		mlx5swi_lint("W6", qp, e->index, "its QPN is 0x%x", w->qpn);
		if (mlx5swi_w->cfg.lint == MLX5SW_LINT_STRICT)
			e->syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	}
}

static void check_limits(const mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_wqe_t *w)
{
	const uint8_t mode = qp->attr.atomic_mode;

	if (w->nbytes > 1u << qp->attr.log_msg_max)
		e->syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	if (w->width && (mode == 0 || (w->width == 4 && mode < ATOMIC_UP_TO_8)))
		e->syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
}

/* If the program did not write a start of a WQE to this WQEBB, the ds of the previous WQE was
 * wrong. */
static void report(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e, const char *row, const char *text)
{
	const uint32_t number = qp->requester->fresh;
	const mlx5swi_entry_t *before = mlx5swi_entry(qp, number - 1);

	mlx5swi_lint(row, qp, e->index, "expected %s (opcode 0x%02x, opmod 0x%02x, ds %u)", text,
		     qp->requester->wqe.opcode, qp->requester->wqe.opmod, qp->requester->wqe.ds);
	if (e->syndrome && number && qp->requester->wqe.ds &&
	    qp->requester->wqe.index != e->index &&
	    (uint16_t)(before->index + before->n_wqebbs) == e->index)
		mlx5swi_lint("W2", qp, e->index,
			     "no WQE starts here, but the one at WQEBB %u takes "
			     "%u by its ds",
			     before->index, before->n_wqebbs);
}

static void check(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const char *row, const char *text)
{
	const mlx5swi_wqe_t *w = &qp->requester->wqe;
	uint8_t vendor = 0, syndrome = mlx5swi_fault_wqe(qp, e->index, e->opcode, &vendor);

	if (syndrome) {
		e->syndrome = syndrome;
		e->vendor = vendor;
	}
	if ((w->opcode == MLX5SWI_OPCODE_DUMP && mlx5swi_is_unlike(MLX5SW_UNLIKE_DUMP)) ||
	    (w->opcode == MLX5_OPCODE_RDMA_WRITE && w->imm &&
	     mlx5swi_is_unlike(MLX5SW_UNLIKE_IMMEDIATE)))
		e->syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	if (row)
		report(qp, e, row, text);
	if (e->syndrome)
		return;
	check_control(qp, e, w);
	check_limits(qp, e, w);
	if (qp->is_signed)
		check_signature(qp, e, w);
	if (!e->syndrome && returns_data(w))
		check_result(qp, e, w);
}

static void accept(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_wqe_t *w)
{
	struct mlx5swi_requester *r = qp->requester;

	e->nbytes = w->nbytes;
	e->returns_data = returns_data(w);
	e->psn = r->next;
	e->n_psns = n_psns(qp, w);
	r->next = mlx5swi_psn_add(r->next, e->n_psns);
	r->n_reads += e->returns_data;
	r->ssn += e->n_psns != 0;
	r->fresh++;
}

bool mlx5swi_begin(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;
	mlx5swi_entry_t *e = mlx5swi_entry(qp, r->fresh);
	const char *row = NULL, *text = NULL;
	const int syndrome = mlx5swi_decode(qp, r->fresh, &row, &text);

	if (must_wait(qp, &r->wqe))
		return false;
	if (mlx5swi_fault_stop(qp, e->index, e->opcode)) {
		mlx5swi_qp_error(qp, 0, 0);
		return false;
	}
	e->syndrome = (uint8_t)syndrome;
	check(qp, e, row, text);
	if (e->syndrome)
		return false;
	accept(qp, e, &r->wqe);
	return true;
}
