/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Delivery from port to port, by the header. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/engine/step.h"
#include "mlx5sw/engine/faults.h"

#define PKEY_BASE 0x7fff /* the highest bit is the membership type */

static bool has_gid(const mlx5swi_port_t *port, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < MLX5SWI_N_GIDS; i++)
		if (memcmp(port->gids[i].raw, gid, 16) == 0)
			return true;
	return false;
}

static bool is_for(const mlx5swi_port_t *port, const mlx5swi_packet_t *p)
{
	if (port->is_ethernet)
		return memcmp(port->mac, p->dmac, sizeof(port->mac)) == 0 && p->is_global &&
		       has_gid(port, p->dgid);
	return port->lid == p->dlid &&
	       (p->is_global ? has_gid(port, p->dgid) : !port->requires_grh);
}

static mlx5swi_port_t *port_of(const mlx5swi_packet_t *p)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		if (is_for(&mlx5swi_w->devices[i].port, p))
			return &mlx5swi_w->devices[i].port;
	return NULL;
}

static bool takes(const mlx5swi_port_t *port, const mlx5swi_packet_t *p)
{
	return port->is_up && (port->pkey & PKEY_BASE) == (p->pkey & PKEY_BASE);
}

void mlx5swi_deliver(mlx5swi_packet_t *p)
{
	mlx5swi_port_t *to = port_of(p);
	if (to && takes(to, p))
		mlx5swi_port_arrive(to, p);
	else
		mlx5swi_packet_free(p);
}

/* Send to a port of another process. Takes the packet. */
static void links_send(mlx5swi_port_t *from, mlx5swi_packet_t *p)
{
	const struct mlx5swi_engine *e = mlx5swi_w->engine;
	if (e->shm)
		mlx5swi_shm_send(p);
	else if (e->tcp)
		mlx5swi_tcp_send(from, p);
	else
		mlx5swi_packet_free(p);
}

void mlx5swi_port_send(mlx5swi_port_t *port, mlx5swi_packet_t *p)
{
	if (p->kind > MLX5SWI_ATOMIC) /* a response means that earlier requests were executed */
		mlx5swi_payload_flush();
	if (mlx5swi_fault_packet(port, &p))
		return;
	int is_own = is_for(port, p);
	/* A router decrements the hop limit and drops a packet whose limit is used up. */
	int is_too_far = mlx5swi_w->cfg.is_routed && p->hop_limit <= 1 && !is_own;
	int lacks_grh = port->requires_grh && !p->is_global;
	if (!port->is_up || is_too_far || lacks_grh)
		mlx5swi_packet_free(p);
	else if (is_own || port_of(p))
		mlx5swi_deliver(p);
	else
		links_send(port, p);
}

int mlx5swi_fabric_refuse(int err, const char *fmt, ...)
{
	const char *fabric = getenv("MLX5SW_FABRIC");
	char text[400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "mlx5sw: MLX5SW_FABRIC=%s: %s\n", fabric ? fabric : "shm", text);
	return err;
}

int mlx5swi_links_open(void)
{
	const char *fabric = getenv("MLX5SW_FABRIC");
	if (!fabric || strcmp(fabric, "shm") == 0)
		return mlx5swi_shm_open("");
	if (strncmp(fabric, "shm:", 4) == 0)
		return mlx5swi_shm_open(fabric + 4);
	if (strncmp(fabric, "tcp:", 4) == 0)
		return mlx5swi_tcp_open(fabric + 4);
	return mlx5swi_fabric_refuse(EINVAL, "must be shm, shm:NAME or tcp:ADDRESS[:PORT],...");
}

void mlx5swi_links_close(void)
{
	if (mlx5swi_w->engine->shm)
		mlx5swi_shm_close();
	if (mlx5swi_w->engine->tcp)
		mlx5swi_tcp_close();
}

unsigned mlx5swi_links_poll(void)
{
	const struct mlx5swi_engine *e = mlx5swi_w->engine;
	return e->shm ? mlx5swi_shm_poll() : e->tcp ? mlx5swi_tcp_poll() : 0;
}
