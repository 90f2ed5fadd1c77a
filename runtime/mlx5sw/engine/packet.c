/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Packets: allocation, and the fields of their headers. */
#include "mlx5sw/engine/packet.h"
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/engine/step.h"

#define SMALL_NBYTES 64u   /* bytes of data: most packets are responses and small WRITEs */
#define LARGE_NBYTES 4096u /* the largest MTU */

static mlx5swi_packet_t *get(uint32_t nbytes)
{
	int is_large = nbytes > SMALL_NBYTES;
	mlx5swi_packet_t **list = &mlx5swi_w->engine->free[is_large], *p = *list;
	if (p) {
		*list = p->next;
		return p;
	}
	uint32_t capacity = is_large ? LARGE_NBYTES : SMALL_NBYTES;
	p = nbytes > LARGE_NBYTES ? NULL : malloc(sizeof(*p) + capacity);
	if (p)
		p->capacity = capacity;
	return p;
}

void mlx5swi_packet_free(mlx5swi_packet_t *p)
{
	struct mlx5swi_engine *e = mlx5swi_w->engine;
	if (!e) { /* the world ends */
		free(p);
		return;
	}
	p->next = e->free[p->capacity > SMALL_NBYTES];
	e->free[p->capacity > SMALL_NBYTES] = p;
}

void mlx5swi_packets_free(mlx5swi_packet_t *list)
{
	while (list) {
		mlx5swi_packet_t *next = list->next;
		free(list);
		list = next;
	}
}

static void address(const mlx5swi_qp_t *qp, mlx5swi_packet_t *p)
{
	const mlx5swi_port_t *port = &qp->dev->port;
	const mlx5swi_path_t *path = &qp->attr.path;
	p->hop_limit = path->hop_limit;
	p->is_global = path->is_global;
	p->sl = path->sl;
	p->pkey = port->pkey;
	p->udp_sport = path->udp_sport;
	p->slid = port->lid;
	p->dlid = path->dlid;
	if (port->is_ethernet || path->is_global) {
		memcpy(p->sgid, port->gids[path->sgid_index % MLX5SWI_N_GIDS].raw, 16);
		memcpy(p->dgid, path->dgid, 16);
	}
	if (port->is_ethernet) {
		memcpy(p->smac, port->mac, 6);
		memcpy(p->dmac, path->dmac, 6);
	}
}

mlx5swi_packet_t *mlx5swi_packet_new(mlx5swi_qp_t *qp, int kind, uint32_t nbytes)
{
	mlx5swi_packet_t *p = get(nbytes);
	if (!p)
		return NULL;
	memset(&p->kind, 0, sizeof(*p) - offsetof(mlx5swi_packet_t, kind));
	p->next = NULL;
	p->kind = (uint8_t)kind;
	p->nbytes = nbytes;
	p->dqpn = qp->attr.remote_qpn;
	p->sqpn = qp->qpn;
	p->mtu = qp->attr.mtu;
	address(qp, p);
	return p;
}

size_t mlx5swi_packet_wire_nbytes(const mlx5swi_packet_t *p)
{
	return sizeof(*p) - offsetof(mlx5swi_packet_t, kind) + p->nbytes;
}

mlx5swi_packet_t *mlx5swi_packet_copy(const mlx5swi_packet_t *p)
{
	return mlx5swi_packet_from_wire(&p->kind, mlx5swi_packet_wire_nbytes(p));
}

mlx5swi_packet_t *mlx5swi_packet_from_wire(const void *wire, size_t nbytes)
{
	const size_t head = offsetof(mlx5swi_packet_t, kind);
	const size_t fixed = sizeof(mlx5swi_packet_t) - head;
	mlx5swi_packet_t *p;
	if (nbytes < fixed || nbytes - fixed > LARGE_NBYTES ||
	    !(p = get((uint32_t)(nbytes - fixed))))
		return NULL;
	memcpy(&p->kind, wire, nbytes);
	p->next = NULL;
	if (p->nbytes == nbytes - fixed && p->kind <= MLX5SWI_ACK)
		return p;
	mlx5swi_packet_free(p);
	return NULL;
}
