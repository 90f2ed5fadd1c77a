/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "ib/connect.h"
#include "ib/prm.h"

#define HOP_LIMIT 64

/* Create an address handle, so that the Linux kernel resolves the route and the neighbour. */
static int find_mac(const shmemhi_ib_lib_t *lib, const shmemhi_open_port_t *port,
		    struct ibv_ah_attr *attr, uint8_t mac[6])
{
	struct mlx5dv_ah dv = {0};
	struct mlx5dv_obj obj = {.ah = {lib->create_ah(port->pd, attr), &dv}};
	int error;

	if (!obj.ah.in)
		return errno ? errno : EHOSTUNREACH;
	error = lib->init_obj(&obj, MLX5DV_OBJ_AH);
	if (!error)
		memcpy(mac, dv.av->rmac, sizeof dv.av->rmac);
	lib->destroy_ah(obj.ah.in);
	return error;
}

static int find_ethernet(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			 const shmemhi_open_port_t *port, int pe, shmemhi_address_t *address,
			 shmemhi_err_t *err)
{
	struct ibv_ah_attr attr = {
		.grh = {.dgid = address->gid,
			.sgid_index = port->gid_index,
			.hop_limit = HOP_LIMIT,
			.traffic_class = (uint8_t)opt->ib_traffic_class},
		.sl = (uint8_t)opt->ib_sl,
		.is_global = 1,
		.port_num = (uint8_t)port->number,
	};
	int error = find_mac(lib, port, &attr, address->mac);
	char text[INET6_ADDRSTRLEN] = "";

	if (!error)
		return SHMEMH_OK;
	inet_ntop(AF_INET6, address->gid.raw, text, sizeof text);
	return shmemhi_fail(err, SHMEMH_ERR_NIC,
			    "%s: no route to the NIC of PE %d (%s): ibv_create_ah: %s; can its "
			    "address be pinged? other NICs: SHMEMH_HCA_LIST, other addresses: "
			    "SHMEMH_IB_GID_INDEX",
			    port->name, pe, text, strerror(error));
}

/* Packets to another subnet carry the LID of a router in this one. Only a path record of the subnet
 * administrator has it, and the runtime asks for none. With the peer's own LID they would go to
 * another port of this subnet or be lost, and the queue pair would end with retries exceeded. */
static int find_infiniband(const shmemhi_open_port_t *port, int pe, const shmemhi_port_info_t *peer,
			   shmemhi_address_t *address, shmemhi_err_t *err)
{
	uint64_t mine = be64toh(port->gid.global.subnet_prefix);
	uint64_t other = be64toh(peer->gid.global.subnet_prefix);

	address->is_global = port->requires_grh || peer->requires_grh;
	if (mine == other)
		return SHMEMH_OK;
	return shmemhi_fail(err, SHMEMH_ERR_NIC,
			    "%s: the NIC of PE %d is in another InfiniBand subnet (%016" PRIx64
			    ", this one is in %016" PRIx64 "), and no path is made through a "
			    "router: SHMEMH_HCA_LIST with NICs of one subnet",
			    port->name, pe, other, mine);
}

int shmemhi_address_find(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			 const shmemhi_open_port_t *port, int pe, const shmemhi_port_info_t *peer,
			 shmemhi_address_t *address, shmemhi_err_t *err)
{
	memset(address, 0, sizeof *address);
	address->gid = peer->gid;
	address->lid = peer->lid;
	if (!port->is_ethernet)
		return find_infiniband(port, pe, peer, address, err);
	address->is_global = 1;
	return find_ethernet(lib, opt, port, pe, address, err);
}

static void put_ethernet(const shmemhi_options_t *opt, const shmemhi_address_t *address,
			 uint16_t udp_port, uint32_t *in)
{
	memcpy((char *)in + SHMEMHI_ADS_RMAC_BYTE, address->mac, sizeof address->mac);
	shmemhi_prm_put(in, SHMEMHI_ADS_UDP_SPORT, udp_port);
	shmemhi_prm_put(in, SHMEMHI_ADS_ETH_PRIO, (uint64_t)opt->ib_sl);
	shmemhi_prm_put(in, SHMEMHI_ADS_DSCP, (uint64_t)opt->ib_traffic_class >> 2);
}

static void put_infiniband(const shmemhi_options_t *opt, const shmemhi_address_t *address,
			   uint32_t *in)
{
	shmemhi_prm_put(in, SHMEMHI_ADS_RLID, address->lid);
	shmemhi_prm_put(in, SHMEMHI_ADS_SL, (uint64_t)opt->ib_sl);
	shmemhi_prm_put(in, SHMEMHI_ADS_GRH, address->is_global);
}

void shmemhi_address_put(const shmemhi_options_t *opt, const shmemhi_open_port_t *port,
			 const shmemhi_address_t *address, uint16_t udp_port, uint32_t *in)
{
	shmemhi_prm_put(in, SHMEMHI_ADS_VHCA_PORT_NUM, (uint64_t)port->number);
	if (port->is_ethernet)
		put_ethernet(opt, address, udp_port, in);
	else
		put_infiniband(opt, address, in);
	if (!address->is_global)
		return;
	memcpy((char *)in + SHMEMHI_ADS_RGID_BYTE, address->gid.raw, sizeof address->gid.raw);
	shmemhi_prm_put(in, SHMEMHI_ADS_SRC_ADDR_INDEX, port->gid_index);
	shmemhi_prm_put(in, SHMEMHI_ADS_HOP_LIMIT, HOP_LIMIT);
	shmemhi_prm_put(in, SHMEMHI_ADS_TCLASS, (uint64_t)opt->ib_traffic_class);
}

uint16_t shmemhi_udp_port(const shmemhi_open_port_t *port, const shmemhi_qp_info_t *mine,
			  const shmemhi_qp_info_t *peer)
{
	const uint32_t words[] = {mine->qpn, mine->psn, peer->qpn, peer->psn};
	uint32_t n = port->sport_max - port->sport_min + 1u;
	uint64_t hash = 14695981039346656037u; /* FNV-1a, by words, the high half mixed in */

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		hash = (hash ^ words[i]) * 1099511628211u;
	hash ^= hash >> 32;
	return (uint16_t)(port->sport_min + hash % n);
}
