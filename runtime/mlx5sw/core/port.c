/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Ports. A port's addresses are computed from its place, so that every process can compute the
 * addresses of the ports of other processes. */
#include "mlx5sw/core/core.h"

#include <errno.h>
#include <string.h>

#define LOCALLY_ADMINISTERED 0x02
/* byte 1 of a MAC that is computed from host and device numbers; in MACs of TCP places it is 1 +
 * index */
#define BY_NUMBER 0xc5
#define DEFAULT_PKEY 0xffffu
#define MTU_4096 5
#define UNIQUE_LOCAL 0xfd
/* A change of addresses toggles these bits, of a LID and of one byte of a GID. A place needs
 * neither, so that other processes find the port by its changed addresses too. */
#define CHANGED_LID 0x8000u
#define CHANGED_GID 0x80u

_Static_assert(MLX5SWI_MAX_HOSTS < CHANGED_GID && MLX5SWI_MAX_DEVICES <= CHANGED_GID &&
		       MLX5SWI_MAX_HOSTS * MLX5SWI_MAX_DEVICES < CHANGED_LID,
	       "places leave the bits free");

/* The interface identifier of a MAC (EUI-64, RFC 4291, appendix A), link-local. */
static void link_local(const uint8_t mac[6], uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	memcpy(&gid[8], mac, 3);
	gid[8] ^= 2;
	gid[11] = 0xff;
	gid[12] = 0xfe;
	memcpy(&gid[13], &mac[3], 3);
}

/* 10.index.host.host as an IPv6 address (RFC 4291, 2.5.5.2); the last number is never 0. */
static void mapped(uint32_t host, uint32_t index, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	gid[12] = 10;
	gid[13] = (uint8_t)index;
	gid[14] = (uint8_t)((host + 1) >> 8);
	gid[15] = (uint8_t)(host + 1);
}

/* fd00::index:port:ipv4 (RFC 4193), which contains the TCP address of the process. */
static void by_tcp(const mlx5swi_place_t *place, uint32_t index, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[0] = UNIQUE_LOCAL;
	gid[9] = (uint8_t)index;
	gid[10] = (uint8_t)(place->tcp_port >> 8);
	gid[11] = (uint8_t)place->tcp_port;
	memcpy(&gid[12], place->ipv4, 4);
}

static bool is_by_tcp(const uint8_t gid[16])
{
	static const uint8_t prefix[9] = {UNIQUE_LOCAL};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static bool is_mapped(const uint8_t gid[16])
{
	static const uint8_t prefix[13] = {[10] = 0xff, 0xff, 10};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static void set_mac(uint32_t host, uint32_t index, uint8_t mac[6])
{
	mac[0] = LOCALLY_ADMINISTERED;
	mac[1] = BY_NUMBER;
	mac[2] = (uint8_t)index;
	mac[3] = (uint8_t)(host >> 16);
	mac[4] = (uint8_t)(host >> 8);
	mac[5] = (uint8_t)host;
}

static void set_tcp_mac(const uint8_t gid[16], uint8_t mac[6])
{
	mac[0] = LOCALLY_ADMINISTERED;
	mac[1] = (uint8_t)(1 + gid[9]);
	for (unsigned i = 2; i < 6; i++)
		mac[i] = gid[10 + i];
	mac[2] ^= gid[10];
	mac[3] ^= gid[11];
}

/* The byte with the bit CHANGED_GID: the last byte of a host number, or by TCP the index. */
static unsigned changed_byte(const uint8_t gid[16])
{
	return is_by_tcp(gid) ? 9 : 15;
}

/* The GID as mlx5swi_port_init makes it, stored in first. Returns first. */
static const uint8_t *first_gid(const uint8_t gid[16], uint8_t first[16])
{
	memcpy(first, gid, 16);
	first[changed_byte(gid)] &= (uint8_t)~CHANGED_GID;
	return first;
}

int mlx5swi_gid_place(const uint8_t gid[16], mlx5swi_place_t *place)
{
	uint8_t first[16];

	gid = first_gid(gid, first);
	memset(place, 0, sizeof(*place));
	if (is_mapped(gid)) {
		place->host = (((uint32_t)gid[14] << 8) | gid[15]) - 1;
	} else if (is_by_tcp(gid)) {
		place->is_tcp = 1;
		place->tcp_port = (uint16_t)(gid[10] << 8 | gid[11]);
		memcpy(place->ipv4, &gid[12], 4);
	} else if (gid[0] == 0xfe && gid[9] == BY_NUMBER && gid[11] == 0xff) {
		place->host = (uint32_t)gid[13] << 16 | (uint32_t)gid[14] << 8 | gid[15];
	} else {
		return ENOENT;
	}
	return 0;
}

uint32_t mlx5swi_lid_host(uint16_t lid)
{
	return ((lid & ~CHANGED_LID) - 1) / MLX5SWI_MAX_DEVICES;
}

static void set_roce(mlx5swi_port_t *port, uint32_t host, uint32_t index)
{
	const mlx5swi_place_t *place = &mlx5swi_w->places[index % mlx5swi_w->n_places];

	if (place->is_tcp) {
		by_tcp(place, index, port->gids[2].raw);
		set_tcp_mac(port->gids[2].raw, port->mac);
	} else {
		mapped(host, index, port->gids[2].raw);
	}
	link_local(port->mac, port->gids[0].raw);
	port->gids[1] = port->gids[0];
	port->gids[3] = port->gids[2];
	port->gids[1].is_v2 = port->gids[3].is_v2 = 1;
}

void mlx5swi_port_init(mlx5swi_port_t *port)
{
	uint32_t host = port->dev->host, index = port->dev->index;

	port->is_up = 1;
	port->is_ethernet = mlx5swi_w->cfg.link_layer == MLX5SW_ETHERNET;
	port->mtu = MTU_4096;
	port->pkey = DEFAULT_PKEY;
	set_mac(host, index, port->mac);
	if (port->is_ethernet) {
		set_roce(port, host, index);
	} else {
		port->requires_grh = mlx5swi_w->cfg.requires_grh;
		link_local(port->mac, port->gids[0].raw);
		port->lid = (uint16_t)(1 + host * MLX5SWI_MAX_DEVICES + index);
	}
}

static bool is_zero(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return memcmp(gid, zero, sizeof(zero)) == 0;
}

void mlx5swi_port_change_gids(mlx5swi_port_t *port)
{
	for (unsigned i = 0; i < MLX5SWI_N_GIDS; i++) {
		uint8_t *gid = port->gids[i].raw;

		if (!is_zero(gid))
			gid[changed_byte(gid)] ^= CHANGED_GID;
	}
}

void mlx5swi_port_change_lid(mlx5swi_port_t *port)
{
	port->lid ^= CHANGED_LID;
}

static const mlx5swi_port_t *owner(const uint8_t gid[16])
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++) {
		const mlx5swi_port_t *port = &mlx5swi_w->devices[i].port;

		for (unsigned k = 0; k < MLX5SWI_N_GIDS; k++)
			if (memcmp(port->gids[k].raw, gid, 16) == 0)
				return port;
	}
	return NULL;
}

/* Compute the MAC for a GID of another process. Returns false if no port can have such a GID. */
static bool derive_mac(const uint8_t gid[16], uint8_t mac[6])
{
	mlx5swi_place_t place;
	uint8_t first[16], again[16];

	gid = first_gid(gid, first);
	if (mlx5swi_gid_place(gid, &place) != 0 || place.is_tcp != mlx5swi_w->places[0].is_tcp)
		return false;
	if (place.is_tcp) {
		set_tcp_mac(gid, mac);
		return true;
	}
	set_mac(place.host, gid[0] ? gid[10] : gid[13], mac);
	link_local(mac, again);
	return place.host < MLX5SWI_MAX_HOSTS && (!gid[0] || memcmp(gid, again, 16) == 0);
}

int mlx5swi_resolve(const uint8_t gid[16], uint8_t mac[6])
{
	const mlx5swi_port_t *port = is_zero(gid) ? NULL : owner(gid);

	if (port)
		memcpy(mac, port->mac, 6);
	else if (!mlx5swi_w->has_thread || !derive_mac(gid, mac))
		return ENOENT;
	return 0;
}
