/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Packets between ports. The bytes from `kind` on are also the format between processes, which run
 * the same version on the same architecture; real packet headers are not needed.
 *
 * A packet has one owner. A function that takes a packet passes it on or frees it. */
#ifndef MLX5SW_PACKET_H
#define MLX5SW_PACKET_H

#include "mlx5sw/core/core.h"

enum mlx5swi_kind {
	MLX5SWI_WRITE, /* requests */
	MLX5SWI_READ,
	MLX5SWI_ATOMIC,
	MLX5SWI_READ_DATA, /* responses */
	MLX5SWI_ATOMIC_DATA,
	MLX5SWI_ACK, /* syndrome: MLX5SWI_OK or a NAK */
};

#define MLX5SWI_FIRST 1u /* first packet of its message */
#define MLX5SWI_LAST 2u  /* last packet of its message */
#define MLX5SWI_IMM 4u   /* has immediate data: its last packet uses a receive WQE */
#define MLX5SWI_SOLICITED 8u

enum mlx5swi_nak {
	MLX5SWI_OK,
	MLX5SWI_NAK_SEQUENCE, /* psn: the expected one */
	MLX5SWI_NAK_INVALID,
	MLX5SWI_NAK_ACCESS,
	MLX5SWI_RNR, /* rnr: code of the delay */
};

typedef struct mlx5swi_packet {
	struct mlx5swi_packet *next;
	uint32_t capacity; /* bytes allocated for data */

	/* The fields from here on are transmitted. */
	uint8_t kind, flags, nak, rnr;
	uint8_t hop_limit, is_global, sl, opmod; /* opmod: of masked atomics, otherwise 0 */
	uint8_t sgid[16], dgid[16];
	uint8_t smac[6], dmac[6];
	uint16_t slid, dlid, pkey, udp_sport;
	/* psn of a response: the PSN that it answers, one of those that its request takes; with
	 * MLX5SWI_NAK_SEQUENCE: the expected one */
	uint32_t dqpn, sqpn, psn;
	uint32_t imm; /* network byte order, as in the WQE */
	uint32_t rkey;
	uint32_t dma_nbytes; /* WRITE: bytes of this packet; READ: bytes requested */
	uint64_t raddr;      /* address of this packet's bytes, not of the message */
	uint8_t opcode;      /* ATOMIC: opcode of the WQE */
	uint8_t width;       /* ATOMIC: 4 or 8 */
	/* MTU code; a responder with another MTU refuses the packet as an invalid request */
	uint8_t mtu;
	uint8_t zero;
	uint32_t nbytes; /* bytes of data */
	/* ATOMIC, host byte order: swap or add, compare or boundary, masks. ATOMIC_DATA: [0] is the
	 * old value. */
	uint64_t operands[4];
	uint8_t data[];
} mlx5swi_packet_t;

/* Allocate a packet from qp to its peer and fill its header from the QP's path; NULL: no memory. */
mlx5swi_packet_t *mlx5swi_packet_new(mlx5swi_qp_t *qp, int kind, uint32_t nbytes);
mlx5swi_packet_t *mlx5swi_packet_copy(const mlx5swi_packet_t *p);
/* The transmitted bytes, from &p->kind on, and the reverse: NULL if the bytes are not a packet. */
size_t mlx5swi_packet_wire_nbytes(const mlx5swi_packet_t *p);
mlx5swi_packet_t *mlx5swi_packet_from_wire(const void *wire, size_t nbytes);
void mlx5swi_packet_free(mlx5swi_packet_t *p);

/* Send through the port of the device: apply faults, then deliver to the port that the header
 * addresses. Without a report the packet is lost if there is no such port, one of the ports is
 * down, or the header does not match. */
void mlx5swi_port_send(mlx5swi_port_t *port, mlx5swi_packet_t *p);

/* Append a packet that has arrived to the port's list; a later step handles it. */
void mlx5swi_port_arrive(mlx5swi_port_t *port, mlx5swi_packet_t *p);

/* Difference of two packet sequence numbers, -2^23 .. 2^23 - 1. */
static inline int32_t mlx5swi_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t mlx5swi_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & 0xffffff;
}

#endif
