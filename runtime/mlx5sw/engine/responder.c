/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The responder half of a queue pair: checks in the order of the device, execution, responses.
 *
 * Responses are sent in the order of the requests. A READ reads memory when its response is sent,
 * which may be after the execution of a later WRITE: without a fence the device does not order the
 * two. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/step.h"
#include "mlx5sw/engine/faults.h"
#include "mlx5sw/engine/unlike.h"
#include "mlx5sw/events/events.h"

#define ANSWERS_PER_RUN 16u
#define CQE_RESP_WR_IMM 1
#define CQE_RESP_ERR 14
#define SYNDROME_FLUSHED 0x05
#define VENDOR_FLUSHED 0xf9

/* A READ or atomic whose response is not completely sent. */
typedef struct answer {
	uint32_t psn; /* PSN of the next response */
	uint8_t is_atomic, width, is_begun, is_repeated;
	uint32_t rkey, nbytes; /* nbytes: not read yet */
	uint64_t va, old;
} answer_t;

/* An executed atomic: a repeated request gets the same response. */
typedef struct done {
	uint32_t psn;
	uint64_t old;
} done_t;

/* The store of an atomic whose load is done; pending while dev->half_atomic is this QP. */
typedef struct half {
	const mlx5swi_mr_t *mr;
	uint8_t *p;
	uint64_t value;
	uint8_t width;
} half_t;

struct mlx5swi_responder {
	uint32_t start, expected, msn; /* first PSN of this connection, next_rcv_psn, rmsn */
	uint32_t message_nbytes;
	uint8_t is_in_message, is_gap_reported, owes_ack;
	uint16_t rq_ci; /* index of the first unused receive WQE */
	half_t half;
	struct mlx5swi_placement *placements;
	uint32_t n_resources; /* 2^log_rra_max */
	uint32_t first, n_answers;
	uint64_t n_done;
	uint32_t n_fresh;  /* responses to requests that are not repetitions: at most n_resources */
	answer_t *answers; /* a ring of twice as many */
	done_t *done;
};

typedef struct target {
	mlx5swi_mr_t *mr;
	uint8_t *p;
} target_t;

static void finish_half(mlx5swi_device_t *dev)
{
	mlx5swi_qp_t *qp = dev->half_atomic;
	if (!qp)
		return;
	half_t *h = &qp->responder->half;
	dev->half_atomic = NULL;
	mlx5swi_word_write(h->mr, h->p, h->width, h->value);
}

/* Complete the pending half of an atomic, if there is one, and accepted placements. */
static void complete(mlx5swi_qp_t *qp)
{
	if (qp->dev->half_atomic == qp)
		finish_half(qp->dev);
	mlx5swi_place_queue(&qp->responder->placements);
	mlx5swi_payload_flush();
}

struct mlx5swi_responder *mlx5swi_responder_new(mlx5swi_qp_t *qp)
{
	(void)qp;
	return calloc(1, sizeof(struct mlx5swi_responder));
}

void mlx5swi_responder_free(mlx5swi_qp_t *qp)
{
	if (mlx5swi_w->engine)
		complete(qp);
	else /* the world ends, and memory may have been freed before */
		mlx5swi_place_drop(&qp->responder->placements);
	if (qp->dev->half_atomic == qp)
		qp->dev->half_atomic = NULL;
	mlx5swi_unlike_forget(qp);
	free(qp->responder->answers);
	free(qp->responder->done);
	free(qp->responder);
	qp->responder = NULL;
}

void mlx5swi_responder_reset(mlx5swi_qp_t *qp)
{
	struct mlx5swi_responder *r = qp->responder;
	complete(qp);
	free(r->answers);
	free(r->done);
	memset(r, 0, sizeof(*r));
}

/* The number of posted receive WQEs: word 0 of the record minus the first unused one. A record that
 * is behind gives more than the ring holds, and counts as none. */
static uint32_t n_receives(mlx5swi_qp_t *qp)
{
	uint32_t word = 0;
	if (!qp->rq || !qp->dbr)
		return 0;
	mlx5swi_queue_load(qp->dbr_is_gpu, &word, &qp->dbr[0], sizeof(word), 0, MLX5SW_DBR);
	uint32_t n = (uint16_t)(be32toh(word) - qp->responder->rq_ci);
	return n <= qp->rq_wqes ? n : 0;
}

static void receive_cqe(mlx5swi_qp_t *qp, mlx5swi_cqe_t *cqe)
{
	cqe->wqe_counter = qp->responder->rq_ci++;
	cqe->qpn = qp->qpn;
	cqe->user_index = qp->user_index;
	if (!mlx5swi_fault_cqe(qp, cqe, NULL))
		mlx5swi_cqe_write(qp->recv_cq, qp, cqe);
}

static void flush_receives(mlx5swi_qp_t *qp)
{
	for (uint32_t n = n_receives(qp); n; n--) {
		mlx5swi_cqe_t cqe = {.opcode = CQE_RESP_ERR,
				     .syndrome = SYNDROME_FLUSHED,
				     .vendor = VENDOR_FLUSHED};
		receive_cqe(qp, &cqe);
	}
}

static void ready_to_receive(mlx5swi_qp_t *qp)
{
	struct mlx5swi_responder *r = qp->responder;
	r->start = r->expected = qp->attr.next_rcv_psn;
	r->n_resources = 1u << qp->attr.log_rra_max;
	free(r->answers);
	free(r->done);
	r->answers = malloc(2 * r->n_resources * sizeof(*r->answers));
	r->done = malloc(r->n_resources * sizeof(*r->done));
	if (!r->answers || !r->done)
		r->n_resources = 0;
}

void mlx5swi_responder_state(mlx5swi_qp_t *qp)
{
	struct mlx5swi_responder *r = qp->responder;
	if (qp->state == MLX5SWI_RTR)
		ready_to_receive(qp);
	if (qp->state != MLX5SWI_ERR)
		return;
	r->n_answers = r->n_fresh = 0;
	r->owes_ack = 0;
	if (mlx5swi_is_unlike(MLX5SW_UNLIKE_READ_QUIET))
		mlx5swi_place_queue(&r->placements);
	flush_receives(qp);
}

void mlx5swi_responder_query(const mlx5swi_qp_t *qp, mlx5swi_receive_state_t *s)
{
	s->next_rcv_psn = qp->responder->expected;
	s->rmsn = qp->responder->msn;
	if (qp->state == MLX5SWI_ERR && mlx5swi_is_unlike(MLX5SW_UNLIKE_PREFIX))
		s->rmsn++;
}

/* Atomics and placements */

void mlx5swi_place_all(mlx5swi_device_t *dev)
{
	const mlx5swi_table_t *qps = &dev->qps;
	for (uint32_t i = 0; mlx5swi_w->engine && i < qps->n; i++)
		if (qps->at[i])
			complete(qps->at[i]);
}

/* Call before a read of this memory. A read pushes earlier accepted WRITEs of all queue pairs to
 * memory; a read of a relaxed-ordering MR may pass them, but not an overlapping WRITE of its own
 * queue pair. Without the two chaos bits below only MLX5SW_UNLIKE_READ_QUIET delays WRITEs, and no
 * read pushes them. */
static void flush_before_read(mlx5swi_qp_t *qp, const target_t *t, size_t nbytes)
{
	const uint32_t delays = MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_ATOMIC;
	if (mlx5swi_w->cfg.chaos & delays &&
	    (!t->mr->is_relaxed || mlx5swi_place_overlaps(qp->responder->placements, t->p, nbytes)))
		mlx5swi_place_all(qp->dev);
}

static uint64_t load_and_store(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p, const target_t *t)
{
	half_t *h = &qp->responder->half;
	uint64_t operands[4];
	flush_before_read(qp, t, p->width);
	uint64_t old = mlx5swi_word_read(t->mr, t->p, p->width);
	h->mr = t->mr;
	h->p = t->p;
	h->width = p->width;
	mlx5swi_unlike_operands(p, old, operands);
	h->value = mlx5swi_unlike_loses(qp->dev, t->p)
			   ? old
			   : mlx5swi_atomic(p->opcode, p->width, operands, old);
	qp->dev->half_atomic = qp;
	/* Other accesses may occur between load and store, but no other atomic of this device. */
	if (!(mlx5swi_w->cfg.chaos & MLX5SW_CHAOS_ATOMIC))
		finish_half(qp->dev);
	return old;
}

/* Answers */

static void send_ack(mlx5swi_qp_t *qp, uint32_t psn, int nak)
{
	mlx5swi_packet_t *p = mlx5swi_packet_new(qp, MLX5SWI_ACK, 0);
	if (!p)
		return;
	p->psn = psn;
	p->nak = (uint8_t)nak;
	p->rnr = qp->attr.min_rnr_nak;
	mlx5swi_port_send(&qp->dev->port, p);
}

static answer_t *new_answer(struct mlx5swi_responder *r, const mlx5swi_packet_t *p)
{
	answer_t *a = &r->answers[(r->first + r->n_answers++) % (2 * r->n_resources)];
	memset(a, 0, sizeof(*a));
	a->psn = p->psn;
	a->is_repeated = mlx5swi_psn_diff(p->psn, r->expected) < 0;
	r->n_fresh += !a->is_repeated;
	return a;
}

static void answer_atomic(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p, uint64_t old)
{
	answer_t *a = new_answer(qp->responder, p);
	a->is_atomic = 1;
	a->width = p->width;
	a->old = old;
}

static void answer_read(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	answer_t *a = new_answer(qp->responder, p);
	a->rkey = p->rkey;
	a->va = p->raddr;
	a->nbytes = p->dma_nbytes;
}

static int check_key(mlx5swi_qp_t *qp, uint32_t rkey, uint64_t va, uint64_t nbytes, uint32_t right,
		     target_t *t)
{
	return mlx5swi_key_check(qp->dev, qp->pd, rkey, va, nbytes, right, &t->mr, &t->p);
}

static void refuse(mlx5swi_qp_t *qp, uint32_t psn, int nak);

/* Send the next packet of a READ response. n_packets: what this turn may still send, this one
 * included; GPU memory is read ahead for so many. Returns false if the key is not valid any more.
 */
static bool send_data(mlx5swi_qp_t *qp, answer_t *a, unsigned n_packets)
{
	uint32_t mtu = 128u << qp->attr.mtu, n = a->nbytes < mtu ? a->nbytes : mtu;
	size_t turn = (size_t)n_packets * mtu, ahead = a->nbytes < turn ? a->nbytes : turn;
	target_t t = {0};
	if (n && check_key(qp, a->rkey, a->va, n, IBV_ACCESS_REMOTE_READ, &t))
		return false;
	mlx5swi_packet_t *p = mlx5swi_packet_new(qp, MLX5SWI_READ_DATA, n);
	if (n)
		flush_before_read(qp, &t, n);
	if (p && n)
		mlx5swi_payload_read(t.mr, p->data, t.p, n, ahead, MLX5SW_PAYLOAD);
	if (p) {
		p->flags = (uint8_t)((a->is_begun ? 0 : MLX5SWI_FIRST) |
				     (n == a->nbytes ? MLX5SWI_LAST : 0));
		p->psn = a->psn;
		mlx5swi_port_send(&qp->dev->port, p);
	}
	a->is_begun = 1;
	a->psn = mlx5swi_psn_add(a->psn, 1);
	a->va += n;
	a->nbytes -= n;
	return true;
}

static void send_old(mlx5swi_qp_t *qp, const answer_t *a)
{
	mlx5swi_packet_t *p = mlx5swi_packet_new(qp, MLX5SWI_ATOMIC_DATA, 0);
	if (!p)
		return;
	p->psn = a->psn;
	p->width = a->width;
	p->operands[0] = a->old;
	mlx5swi_port_send(&qp->dev->port, p);
}

static unsigned answer(mlx5swi_qp_t *qp, unsigned limit)
{
	struct mlx5swi_responder *r = qp->responder;
	unsigned n = 0;
	while (r->n_answers && n < limit) {
		answer_t *a = &r->answers[r->first];
		n++;
		if (a->is_atomic) {
			send_old(qp, a);
		} else if (!send_data(qp, a, limit - n + 1)) {
			r->n_answers = r->n_fresh = 0;
			refuse(qp, a->psn, MLX5SWI_NAK_ACCESS);
			break;
		}
		if (!a->is_atomic && a->nbytes)
			continue;
		r->n_fresh -= !a->is_repeated;
		r->first = (r->first + 1) % (2 * r->n_resources);
		r->n_answers--;
	}
	mlx5swi_payload_forget();
	return n;
}

static void refuse(mlx5swi_qp_t *qp, uint32_t psn, int nak)
{
	answer(qp, UINT32_MAX);
	if (qp->state == MLX5SWI_ERR)
		return; /* one of the earlier requests was refused */
	send_ack(qp, psn, nak);
	if (nak == MLX5SWI_RNR || nak == MLX5SWI_NAK_SEQUENCE) {
		qp->responder->is_gap_reported =
			1; /* send it once, until the missing packet arrives */
		return;
	}
	mlx5swi_event_qp(qp, nak == MLX5SWI_NAK_ACCESS ? MLX5SWI_EQE_WQ_ACCESS
						       : MLX5SWI_EQE_WQ_INVALID);
	mlx5swi_qp_error(qp, SYNDROME_FLUSHED, VENDOR_FLUSHED);
}

/* Checks */

static uint32_t right_of(int kind)
{
	return kind == MLX5SWI_WRITE  ? IBV_ACCESS_REMOTE_WRITE
	       : kind == MLX5SWI_READ ? IBV_ACCESS_REMOTE_READ
				      : IBV_ACCESS_REMOTE_ATOMIC;
}

static bool is_permitted(const mlx5swi_qp_t *qp, int kind)
{
	const mlx5swi_qp_attr_t *a = &qp->attr;
	return kind == MLX5SWI_WRITE  ? a->rwe
	       : kind == MLX5SWI_READ ? a->rre
				      : a->rae && a->atomic_mode;
}

static bool is_well_formed(const mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	if (p->mtu != qp->attr.mtu || p->nbytes > 128u << qp->attr.mtu)
		return false;
	if (p->kind != MLX5SWI_WRITE)
		return !qp->responder->is_in_message;
	return p->dma_nbytes == p->nbytes &&
	       (p->flags & MLX5SWI_FIRST ? 0 : 1) == qp->responder->is_in_message;
}

static bool is_sized(const mlx5swi_packet_t *p)
{
	return (p->width == 4 || p->width == 8) && p->raddr % p->width == 0;
}

static bool takes_receive(const mlx5swi_packet_t *p)
{
	return p->kind == MLX5SWI_WRITE && p->flags & MLX5SWI_IMM && p->flags & MLX5SWI_LAST;
}

/* Check in the order of the device. Returns the NAK code or OK. */
static int check(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p, target_t *t)
{
	const struct mlx5swi_responder *r = qp->responder;
	uint64_t nbytes = p->kind == MLX5SWI_ATOMIC ? p->width : p->dma_nbytes;
	if (!is_well_formed(qp, p) || !is_permitted(qp, p->kind))
		return MLX5SWI_NAK_INVALID;
	if (takes_receive(p) && !n_receives(qp))
		return MLX5SWI_RNR;
	if (nbytes && check_key(qp, p->rkey, p->raddr, nbytes, right_of(p->kind), t))
		return MLX5SWI_NAK_ACCESS;
	if (p->kind == MLX5SWI_WRITE)
		return MLX5SWI_OK;
	if (p->kind == MLX5SWI_ATOMIC && !is_sized(p))
		return MLX5SWI_NAK_INVALID;
	return r->n_fresh < r->n_resources ? MLX5SWI_OK : MLX5SWI_NAK_INVALID;
}

/* Execution */

static void count_executed(mlx5swi_qp_t *qp)
{
	qp->responder->msn = (qp->responder->msn + 1) & 0xffffff;
	qp->counters.executed++;
}

static void complete_receive(mlx5swi_qp_t *qp, uint32_t imm)
{
	struct mlx5swi_responder *r = qp->responder;
	mlx5swi_cqe_t cqe = {.opcode = CQE_RESP_WR_IMM, .nbytes = r->message_nbytes, .imm = imm};
	mlx5swi_place_queue(&r->placements); /* the CQE promises that the data is in memory */
	receive_cqe(qp, &cqe);
}

/* Takes the packet. */
static void execute_write(mlx5swi_qp_t *qp, mlx5swi_packet_t *p, const target_t *t)
{
	struct mlx5swi_responder *r = qp->responder;
	uint32_t psn = p->psn, imm = p->imm, n = mlx5swi_fault_place(qp, p);
	int is_received = takes_receive(p), is_last = p->flags & MLX5SWI_LAST;
	if (n < p->dma_nbytes) {
		p->dma_nbytes = n;
		mlx5swi_place_write(&r->placements, t->mr, t->p, p);
		refuse(qp, psn, MLX5SWI_NAK_ACCESS);
		return;
	}
	r->expected = mlx5swi_psn_add(psn, 1);
	r->message_nbytes += p->dma_nbytes;
	r->owes_ack = 1;
	mlx5swi_place_write(&r->placements, t->mr, t->p, p);
	r->is_in_message = !is_last;
	if (is_received)
		complete_receive(qp, imm);
	if (!is_last)
		return;
	count_executed(qp);
	r->message_nbytes = 0;
}

static void execute_read(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p, const target_t *t)
{
	(void)t; /* the key is looked up again when the READ is answered */
	struct mlx5swi_responder *r = qp->responder;
	uint32_t mtu = 128u << qp->attr.mtu;
	uint32_t n = p->dma_nbytes / mtu + (p->dma_nbytes % mtu || !p->dma_nbytes);
	answer_read(qp, p);
	mlx5swi_unlike_read(qp->dev);
	r->expected = mlx5swi_psn_add(r->expected, n);
	count_executed(qp);
}

static void execute_atomic(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p, const target_t *t)
{
	struct mlx5swi_responder *r = qp->responder;
	uint64_t old = load_and_store(qp, p, t);
	answer_atomic(qp, p, old);
	r->done[r->n_done++ % r->n_resources] = (done_t){p->psn, old};
	r->expected = mlx5swi_psn_add(r->expected, 1);
	count_executed(qp);
}

static void execute(mlx5swi_qp_t *qp, mlx5swi_packet_t *p)
{
	struct mlx5swi_responder *r = qp->responder;
	target_t t = {0};
	r->is_gap_reported = 0;
	if (p->kind == MLX5SWI_WRITE && mlx5swi_is_unlike(MLX5SW_UNLIKE_READ_QUIET))
		mlx5swi_place_queue(&r->placements);
	/* Unless the order is random or fences are ignored, send up to ANSWERS_PER_RUN packets of
	 * earlier responses before this packet of a WRITE is executed. Their data is read before
	 * the WRITE, that of further packets after it: a device may do either. */
	if (r->n_answers && p->kind == MLX5SWI_WRITE &&
	    !mlx5swi_is_unlike(MLX5SW_UNLIKE_FENCE_BIT) &&
	    !(mlx5swi_w->cfg.chaos & MLX5SW_CHAOS_ORDER && mlx5swi_choose(2)))
		answer(qp, ANSWERS_PER_RUN);
	int nak = qp->state == MLX5SWI_ERR ? MLX5SWI_OK : check(qp, p, &t);
	if (nak) {
		refuse(qp, p->psn, nak);
	} else if (qp->state != MLX5SWI_ERR && p->kind == MLX5SWI_WRITE) {
		execute_write(qp, p, &t);
		return;
	} else if (qp->state != MLX5SWI_ERR) {
		(p->kind == MLX5SWI_READ ? execute_read : execute_atomic)(qp, p, &t);
	}
	mlx5swi_packet_free(p);
}

static void repeat_read(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	target_t t;
	if (!p->dma_nbytes ||
	    !check_key(qp, p->rkey, p->raddr, p->dma_nbytes, IBV_ACCESS_REMOTE_READ, &t))
		answer_read(qp, p);
}

static void repeat_atomic(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	const struct mlx5swi_responder *r = qp->responder;
	uint32_t n = r->n_done < r->n_resources ? (uint32_t)r->n_done : r->n_resources;
	/* Search backwards: PSNs may have wrapped since an earlier atomic with the same PSN. */
	for (uint32_t i = 1; i <= n; i++) {
		const done_t *d = &r->done[(r->n_done - i) % r->n_resources];
		if (d->psn == p->psn) {
			answer_atomic(qp, p, d->old);
			return;
		}
	}
}

/* A packet of an earlier connection does not repeat a request of this one. */
static bool may_write_again(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p, target_t *t)
{
	bool may = mlx5swi_is_unlike(MLX5SW_UNLIKE_REPEATED_WRITE) ||
		   (mlx5swi_w->cfg.chaos & MLX5SW_CHAOS_DUP_WRITE && mlx5swi_choose(2));
	return may && p->dma_nbytes && p->dma_nbytes == p->nbytes &&
	       mlx5swi_psn_diff(p->psn, qp->responder->start) >= 0 &&
	       !check_key(qp, p->rkey, p->raddr, p->dma_nbytes, IBV_ACCESS_REMOTE_WRITE, t);
}

/* Repeat the response to a request that was executed before, or drop the request if its response
 * cannot be repeated. */
static void repeat(mlx5swi_qp_t *qp, mlx5swi_packet_t *p)
{
	struct mlx5swi_responder *r = qp->responder;
	/* Repetitions get as many entries as other requests, which therefore always find one. */
	int has_room = r->n_answers - r->n_fresh < r->n_resources;
	target_t t = {0};
	qp->counters.duplicates++;
	if (p->kind == MLX5SWI_WRITE) {
		r->owes_ack = 1;
		if (may_write_again(qp, p, &t)) {
			mlx5swi_place_write(&r->placements, t.mr, t.p, p);
			return;
		}
	} else if (has_room) {
		(p->kind == MLX5SWI_READ ? repeat_read : repeat_atomic)(qp, p);
	}
	mlx5swi_packet_free(p);
}

void mlx5swi_responder_packet(mlx5swi_qp_t *qp, mlx5swi_packet_t *p)
{
	struct mlx5swi_responder *r = qp->responder;
	int32_t ahead = mlx5swi_psn_diff(p->psn, r->expected);
	qp->counters.packets_received++;
	finish_half(qp->dev);
	if (ahead == 0) {
		execute(qp, p);
	} else if (ahead < 0) {
		repeat(qp, p);
	} else {
		if (!r->is_gap_reported)
			refuse(qp, r->expected, MLX5SWI_NAK_SEQUENCE);
		mlx5swi_packet_free(p);
	}
	if (r->n_answers || r->owes_ack || r->placements || qp->dev->half_atomic == qp)
		mlx5swi_qp_wake(qp);
}

/* If WRITEs wait to be placed (place.c), a turn either places one segment or sends responses, by a
 * random choice: an acknowledgement may then overtake the data. */
unsigned mlx5swi_responder_run(mlx5swi_qp_t *qp)
{
	struct mlx5swi_responder *r = qp->responder;
	unsigned n = qp->dev->half_atomic == qp;
	if (n)
		finish_half(qp->dev);
	if (r->placements && !mlx5swi_is_unlike(MLX5SW_UNLIKE_READ_QUIET) &&
	    (!(r->n_answers || r->owes_ack) || !mlx5swi_choose(2))) {
		mlx5swi_place_one(&r->placements);
		return n + 1;
	}
	unsigned n_answered = answer(qp, ANSWERS_PER_RUN);
	n += n_answered;
	if (mlx5swi_is_unlike(MLX5SW_UNLIKE_READ_QUIET)) {
		r->owes_ack &= !n_answered; /* the response has acknowledged the WRITE */
		if (r->owes_ack)
			mlx5swi_place_queue(&r->placements);
	}
	if (r->owes_ack && !r->n_answers) {
		r->owes_ack = 0;
		send_ack(qp, mlx5swi_psn_add(r->expected, 0xffffff), MLX5SWI_OK);
		n++;
	}
	if (qp->state == MLX5SWI_ERR)
		flush_receives(qp);
	return n;
}

uint64_t mlx5swi_responder_deadline(const mlx5swi_qp_t *qp)
{
	(void)qp;
	return UINT64_MAX;
}
