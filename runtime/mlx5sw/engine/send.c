/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* From WQEs to request packets. */
#include <string.h>
#include "mlx5sw/engine/requester.h"

/* The limit of packets in flight: bounds the memory between two devices, and keeps the PSNs in
 * flight within half of the PSN range, so that PSNs can be compared. */
#define WINDOW 256u

bool mlx5swi_may_send(const mlx5swi_qp_t *qp)
{
	const struct mlx5swi_requester *r = qp->requester;

	return qp->state == MLX5SWI_RTS && !r->wait && r->at != r->fetched &&
	       !mlx5swi_entry(qp, r->acked)->syndrome && !mlx5swi_entry(qp, r->at)->syndrome;
}

static uint32_t next_psn(const mlx5swi_qp_t *qp)
{
	const struct mlx5swi_requester *r = qp->requester;

	if (r->at == r->fresh)
		return r->next;
	return mlx5swi_psn_add(mlx5swi_entry(qp, r->at)->psn, r->packet);
}

static void post(mlx5swi_qp_t *qp, mlx5swi_packet_t *p, uint32_t n_psns)
{
	struct mlx5swi_requester *r = qp->requester;
	const uint32_t end = mlx5swi_psn_add(p->psn, n_psns);

	qp->counters.packets_sent++;
	if (mlx5swi_psn_diff(p->psn, r->end) < 0)
		qp->counters.packets_resent++;
	if (mlx5swi_psn_diff(end, r->end) > 0) {
		r->is_timer_old |= r->una == r->end;
		r->end = end;
	}
	mlx5swi_port_send(&qp->dev->port, p);
}

/* Gather bytes [offset, offset + nbytes) of the message. Returns false on an error. turn: bytes
 * that this turn needs from offset on, if the message has as many. */
static bool gather(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, uint8_t *dst, uint32_t offset,
		   uint32_t nbytes, size_t turn)
{
	const mlx5swi_wqe_t *w = &qp->requester->wqe;
	/* A DUMP discards the data that it reads: other threads may write it at the same time. */
	const int access = w->opcode == MLX5SWI_OPCODE_DUMP ? MLX5SW_PAYLOAD : MLX5SW_GATHER;

	if (w->inlined) {
		memcpy(dst, w->inlined + offset, nbytes);
		return true;
	}
	for (const mlx5swi_sge_t *sge = w->sge; nbytes; sge++) {
		mlx5swi_mr_t *mr;
		uint8_t *p;
		uint32_t piece, left;
		int error;

		if (offset >= sge->nbytes) {
			offset -= sge->nbytes;
			continue;
		}
		left = sge->nbytes - offset;
		piece = left < nbytes ? left : nbytes;
		error = mlx5swi_key_check(qp->dev, qp->pd, sge->lkey, sge->addr + offset, piece, 0,
					  &mr, &p);
		if (error) {
			mlx5swi_key_failed(qp, e, sge, error);
			return false;
		}
		mlx5swi_payload_read(mr, dst, p, piece, left < turn ? left : turn, access);
		dst += piece;
		nbytes -= piece;
		offset = 0;
	}
	return true;
}

static void step(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e, uint32_t n_packets)
{
	struct mlx5swi_requester *r = qp->requester;

	r->packet += n_packets;
	if (r->packet >= e->n_psns) {
		r->at++;
		r->packet = 0;
	}
}

/* MLX5SW_UNLIKE_WRITE, _INLINE: is the last byte of the message wrong? */
static bool is_corrupted(const mlx5swi_wqe_t *w)
{
	return w->nbytes % 2 &&
	       mlx5swi_is_unlike(w->inlined ? MLX5SW_UNLIKE_INLINE : MLX5SW_UNLIKE_WRITE);
}

static bool send_write(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, unsigned n_packets)
{
	struct mlx5swi_requester *r = qp->requester;
	const mlx5swi_wqe_t *w = &r->wqe;
	const uint32_t mtu = mlx5swi_mtu(qp), offset = r->packet * mtu;
	const uint32_t nbytes = w->nbytes - offset < mtu ? w->nbytes - offset : mtu;
	mlx5swi_packet_t *p = mlx5swi_packet_new(qp, MLX5SWI_WRITE, nbytes);

	if (!p)
		return false;
	if (!gather(qp, e, p->data, offset, nbytes, (size_t)n_packets * mtu)) {
		mlx5swi_packet_free(p);
		return false;
	}
	p->psn = next_psn(qp);
	p->raddr = w->raddr + offset;
	p->rkey = w->rkey;
	p->dma_nbytes = nbytes;
	if (r->packet == 0)
		p->flags |= MLX5SWI_FIRST;
	if (r->packet + 1 == e->n_psns) {
		p->flags |= MLX5SWI_LAST;
		if (is_corrupted(w))
			p->data[nbytes - 1] ^= 0xff;
		if (w->opcode == MLX5_OPCODE_RDMA_WRITE_IMM) {
			p->flags |= MLX5SWI_IMM | (w->is_solicited ? MLX5SWI_SOLICITED : 0);
			p->imm = w->imm;
		}
	}
	post(qp, p, 1);
	step(qp, e, 1);
	return true;
}

/* Send one packet; a repetition asks for the missing part of the response. */
static bool send_question(mlx5swi_qp_t *qp, mlx5swi_entry_t *e)
{
	const struct mlx5swi_requester *r = qp->requester;
	const mlx5swi_wqe_t *w = &r->wqe;
	const uint32_t offset = r->packet * mlx5swi_mtu(qp);
	mlx5swi_packet_t *p = mlx5swi_packet_new(qp, w->width ? MLX5SWI_ATOMIC : MLX5SWI_READ, 0);

	if (!p)
		return false;
	p->flags = MLX5SWI_FIRST | MLX5SWI_LAST;
	p->psn = next_psn(qp);
	p->raddr = w->raddr + offset;
	p->rkey = w->rkey;
	p->dma_nbytes = w->nbytes - offset;
	if (w->width) {
		p->opcode = w->opcode;
		p->opmod = w->opmod;
		p->width = w->width;
		memcpy(p->operands, w->operands, sizeof(p->operands));
	}
	post(qp, p, e->n_psns - r->packet);
	step(qp, e, e->n_psns - r->packet);
	return true;
}

/* Read the local memory in chunks, and drop the data. */
static void dump(mlx5swi_qp_t *qp, mlx5swi_entry_t *e)
{
	uint8_t piece[256];

	for (uint32_t offset = 0; offset < e->nbytes && !e->syndrome; offset += sizeof(piece)) {
		const uint32_t left = e->nbytes - offset;

		gather(qp, e, piece, offset, left < sizeof(piece) ? left : sizeof(piece), left);
	}
}

/* n_packets: limit for this turn, including this packet. */
static int send_one(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, unsigned n_packets)
{
	if (e->n_psns == 0) {
		if (e->opcode == MLX5SWI_OPCODE_DUMP)
			dump(qp, e);
		step(qp, e, 1);
		mlx5swi_skip_local(qp);
		return 1;
	}
	return e->returns_data ? send_question(qp, e) : send_write(qp, e, n_packets);
}

/* The number of packets that the window allows, at most limit. */
static unsigned in_window(const mlx5swi_qp_t *qp, unsigned limit)
{
	const int left = (int)WINDOW - mlx5swi_psn_diff(next_psn(qp), qp->requester->una);

	return left <= 0 ? 0 : (unsigned)left < limit ? (unsigned)left : limit;
}

/* A WQE may be fetched again before it is sent again. */
static void refresh(mlx5swi_qp_t *qp, mlx5swi_entry_t *e)
{
	struct mlx5swi_requester *r = qp->requester;

	if (mlx5swi_has_chaos(MLX5SW_CHAOS_FETCH) && e->n_psns &&
	    mlx5swi_psn_diff(next_psn(qp), r->end) < 0 && mlx5swi_choose(2))
		mlx5swi_fetch_again(qp, r->at);
	else if (r->decoded != r->at)
		mlx5swi_decode(qp, r->at, NULL, NULL);
}

unsigned mlx5swi_send(mlx5swi_qp_t *qp, unsigned limit)
{
	struct mlx5swi_requester *r = qp->requester;
	unsigned n = 0;

	while (n < limit && mlx5swi_may_send(qp)) {
		mlx5swi_entry_t *e = mlx5swi_entry(qp, r->at);
		const unsigned n_packets = in_window(qp, limit - n);

		if (!n_packets || (r->at == r->fresh && !mlx5swi_begin(qp)))
			break;
		refresh(qp, e);
		if (e->syndrome || !send_one(qp, e, n_packets))
			break;
		n++;
	}
	mlx5swi_payload_forget();
	return n;
}

void mlx5swi_go_back(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	r->at = r->acked;
	r->packet = 0;
	if (r->acked != r->fresh)
		r->packet = (r->una - mlx5swi_entry(qp, r->acked)->psn) & 0xffffff;
}
