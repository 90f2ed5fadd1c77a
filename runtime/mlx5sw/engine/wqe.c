/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Decoding of WQEs, by the tables of WQE segments of the PRM. Written from these tables alone, so
 * that it shares no mistake with encoders. */
#include <string.h>
#include "mlx5sw/engine/requester.h"

#define SEGMENT 16u         /* bytes of a segment, the unit of ds */
#define INLINED 0x80000000u /* in the first word of an inline segment */
#define END_OF_LIST 0x100u  /* an lkey that terminates a list early */

/* The syndrome of a WQE, or what lint reports about it. */
typedef struct verdict {
	const char *row, *text;
	int syndrome;
} verdict_t;

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

static void odd(verdict_t *v, const char *row, const char *text)
{
	v->row = row;
	v->text = text;
}

static void malformed(verdict_t *v, const char *row, const char *text)
{
	odd(v, row, text);
	v->syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
}

static void read_control(const uint8_t *p, mlx5swi_wqe_t *w)
{
	w->opmod = p[0];
	w->index = (uint16_t)(be32(p) >> 8);
	w->opcode = p[3];
	w->qpn = be32(p + 4) >> 8;
	w->ds = p[7] & 0x3f;
	w->fm = p[11] >> 5;
	w->ce = p[11] >> 2 & 3;
	w->is_solicited = p[11] >> 1 & 1;
	memcpy(&w->imm, p + 12, sizeof(w->imm));
	w->nbytes = 0;
	w->inlined = NULL;
	w->n_sge = 0;
	w->width = 0;
}

static void read_remote(const uint8_t *p, mlx5swi_wqe_t *w, verdict_t *v)
{
	w->raddr = be64(p);
	w->rkey = be32(p + 8);
	if (be32(p + 12))
		odd(v, "W14", "reserved bytes of the remote address segment are 0");
}

static void read_inline(const uint8_t *p, uint32_t n, mlx5swi_wqe_t *w, verdict_t *v)
{
	w->nbytes = be32(p) & ~INLINED;
	w->inlined = p + 4;
	if (w->nbytes > n * SEGMENT - 4)
		malformed(v, "W8", "inline data that ds has room for");
	else if ((4 + w->nbytes + SEGMENT - 1) / SEGMENT != n)
		malformed(v, "W1", "a ds that ends with the inline data");
}

/* A sum of more than 2^31 bytes becomes 2^31 + 1, which is too long for any queue pair. */
static void read_list(const uint8_t *p, uint32_t n, mlx5swi_wqe_t *w, verdict_t *v)
{
	uint64_t nbytes = 0;

	for (uint32_t i = 0; i < n; i++, p += SEGMENT) {
		mlx5swi_sge_t *sge = &w->sge[w->n_sge];

		*sge = (mlx5swi_sge_t){be32(p), be32(p + 4), be64(p + 8)};
		if (sge->nbytes & INLINED) {
			malformed(v, "W8", "no inline segment in a list of pointers");
			return;
		}
		if (sge->lkey == END_OF_LIST)
			break;
		if (sge->nbytes == 0)
			odd(v, "W9", "no data segment where there are no data");
		nbytes += sge->nbytes;
		w->n_sge++;
	}
	w->nbytes = nbytes <= INLINED ? (uint32_t)nbytes : INLINED + 1;
}

static void read_write(const uint8_t *p, mlx5swi_wqe_t *w, verdict_t *v)
{
	if (w->ds < 2) {
		malformed(v, "W1", "ds 2 and more for an RDMA WRITE");
		return;
	}
	read_remote(p + SEGMENT, w, v);
	p += 2 * SEGMENT;
	if (w->ds > 2 && be32(p) & INLINED)
		read_inline(p, w->ds - 2u, w, v);
	else
		read_list(p, w->ds - 2u, w, v);
}

static void read_operands(const uint8_t *p, mlx5swi_wqe_t *w, uint32_t n)
{
	memset(w->operands, 0, sizeof(w->operands));
	for (uint32_t i = 0; i < n; i++, p += w->width)
		w->operands[i] = w->width == 8 ? be64(p) : be32(p);
}

/* n operands of width bytes, in segments of 16 bytes; the remaining bytes are reserved. */
static void read_atomic(const uint8_t *p, mlx5swi_wqe_t *w, verdict_t *v, uint8_t width, uint32_t n)
{
	const uint32_t segments = (n * width + SEGMENT - 1) / SEGMENT;

	if (w->ds != 3 + segments) {
		malformed(v, n * width > SEGMENT ? "W11" : "W1",
			  segments == 2 ? "ds 5 for a masked compare and swap of 8 bytes"
					: "ds 4 for an atomic");
		return;
	}
	w->width = width;
	read_remote(p + SEGMENT, w, v);
	read_operands(p + 2 * SEGMENT, w, n);
	read_list(p + (2 + segments) * SEGMENT, 1, w, v);
	if (!v->syndrome && w->nbytes != width) {
		malformed(v, "W1", "a data segment as wide as the atomic");
		v->syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	}
}

static void read_one(const uint8_t *p, mlx5swi_wqe_t *w, verdict_t *v, uint32_t before)
{
	if (w->ds != before + 1)
		malformed(v, "W1", before == 1 ? "ds 2 for a DUMP" : "ds 3 for an RDMA READ");
	else
		read_list(p + before * SEGMENT, 1, w, v);
}

static void read_body(const uint8_t *p, mlx5swi_wqe_t *w, verdict_t *v)
{
	switch ((uint32_t)w->opmod << 8 | w->opcode) {
	case MLX5_OPCODE_NOP: /* any ds */
		break;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		read_write(p, w, v);
		break;
	case MLX5_OPCODE_RDMA_READ:
		read_one(p, w, v, 2);
		if (!v->syndrome)
			read_remote(p + SEGMENT, w, v);
		break;
	case MLX5_OPCODE_ATOMIC_CS:
		read_atomic(p, w, v, 8, 2);
		break;
	case MLX5_OPCODE_ATOMIC_FA:
		read_atomic(p, w, v, 8, 1);
		break;
	case 0x0800 | MLX5_OPCODE_ATOMIC_MASKED_CS:
		read_atomic(p, w, v, 4, 4);
		break;
	case 0x0900 | MLX5_OPCODE_ATOMIC_MASKED_CS:
		read_atomic(p, w, v, 8, 4);
		break;
	case 0x0800 | MLX5_OPCODE_ATOMIC_MASKED_FA:
		read_atomic(p, w, v, 4, 2);
		break;
	case 0x0900 | MLX5_OPCODE_ATOMIC_MASKED_FA:
		read_atomic(p, w, v, 8, 2);
		break;
	case MLX5SWI_OPCODE_DUMP:
		read_one(p, w, v, 1);
		break;
	default:
		malformed(v, "W3", "an operation that this device executes");
	}
}

int mlx5swi_wqe_decode(const uint8_t *p, mlx5swi_wqe_t *w, const char **row, const char **text)
{
	verdict_t v = {NULL, NULL, 0};

	read_control(p, w);
	if (w->ds == 0)
		malformed(&v, "W1", "a ds that is not 0");
	else
		read_body(p, w, &v);
	if (row) {
		*row = v.row;
		*text = v.text;
	}
	return v.syndrome;
}
