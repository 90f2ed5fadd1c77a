/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The data that PEs exchange to connect their links, and the addresses of packets. */
#ifndef SHMEMHI_IB_CONNECT_H
#define SHMEMHI_IB_CONNECT_H

#include "ib/state.h"

/* Of a port of a PE; n_channels: of the job. */
typedef struct shmemhi_port_info {
	union ibv_gid gid;
	uint16_t lid;
	uint8_t is_ethernet;
	uint8_t mtu;
	uint8_t log_max_reads;
	uint8_t n_channels;
	uint8_t requires_grh;
	uint8_t reserved;
} shmemhi_port_info_t;

/* Of a link. */
typedef struct shmemhi_qp_info {
	uint32_t qpn;
	uint32_t psn; /* of its first request */
} shmemhi_qp_info_t;

/* What a PE received from the others. */
typedef struct shmemhi_peer_infos {
	shmemhi_port_info_t *ports; /* [n_pes] */
	shmemhi_qp_info_t *links;   /* [n_channels][n_pes], the peers' ends */
	shmemhi_qp_info_t *mine;    /* scratch: of a block of PEs, by PE and channel */
	shmemhi_qp_info_t *all;     /* scratch: the same of each PE */
	size_t block;               /* PEs in it */
} shmemhi_peer_infos_t;

/* Allocate their memory. free also releases what a failed alloc has left. */
int shmemhi_peer_infos_alloc(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_peer_infos_t *infos);
void shmemhi_peer_infos_free(shmemhi_peer_infos_t *infos);

/* Exchange them with all PEs. Collective.
 * Returns  SHMEMH_OK; ERR_MISMATCH (numbers of channels, kinds of networks); as
 *          shmemhi_allgather. */
int shmemhi_peer_infos_exchange(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_peer_infos_t *infos);

/* The address of a PE's port. */
typedef struct shmemhi_address {
	union ibv_gid gid;
	uint16_t lid;
	uint8_t is_global; /* packets have a GRH with the GID; else only the LID */
	uint8_t mac[6];    /* Ethernet */
} shmemhi_address_t;

/* Find the address of PE pe's port for packets from that NIC. Ethernet: the Linux kernel resolves
 * the MAC of the next hop. InfiniBand: the LID, and the GID if either port requires a GRH.
 * Returns  SHMEMH_OK; ERR_NIC: no route (Ethernet), or another subnet (InfiniBand). */
int shmemhi_address_find(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			 const shmemhi_open_port_t *port, int pe, const shmemhi_port_info_t *peer,
			 shmemhi_address_t *address, shmemhi_err_t *err);

/* Fill in the address path of INIT2RTR_QP. udp_port: RoCE's source port. */
void shmemhi_address_put(const shmemhi_options_t *opt, const shmemhi_open_port_t *port,
			 const shmemhi_address_t *address, uint16_t udp_port, uint32_t *in);

/* A UDP source port of the NIC's range for the packets of a queue pair. Network switches and
 * routers choose one of several routes by it (ECMP). It depends on both ends, so that links between
 * the same two ports use several routes. */
uint16_t shmemhi_udp_port(const shmemhi_open_port_t *port, const shmemhi_qp_info_t *mine,
			  const shmemhi_qp_info_t *peer);

#endif
