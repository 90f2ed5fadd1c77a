/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bring links from INIT to RTS: tell the others what they need, learn theirs. */
#include "ib/connect.h"

#include <stdlib.h>
#include <string.h>
#include "ib/command.h"

#define GATHER_NBYTES ((size_t)1 << 20) /* received in one collective, if one PE's part allows */
#define MIN_RNR_NAK 12                  /* 0.64 ms; nothing here waits for a receive WQE */
#define RNR_FOREVER 7

/* What is learnt of the others. */
typedef struct names {
	shmemhi_port_name_t *ports; /* [n_pes] */
	shmemhi_link_name_t *links; /* [n_channels][n_pes], the peers' ends */
	shmemhi_link_name_t *mine;  /* scratch: of a block of PEs, by PE and channel */
	shmemhi_link_name_t *all;   /* scratch: the same of each PE */
	size_t block;               /* PEs in it */
} names_t;

static void free_names(names_t *names)
{
	free(names->ports);
	free(names->links);
	free(names->mine);
	free(names->all);
}

static int alloc_names(shmemh_t *job, const shmemhi_ib_t *ib, names_t *names)
{
	size_t n_pes = (size_t)job->n_pes, n_channels = (size_t)ib->n_channels;
	size_t fit = GATHER_NBYTES / (n_pes * n_channels * sizeof *names->all);

	names->block = fit < 1 ? 1 : fit > n_pes ? n_pes : fit;
	names->ports = calloc(n_pes, sizeof *names->ports);
	names->links = calloc(n_pes * n_channels, sizeof *names->links);
	names->mine = calloc(names->block * n_channels, sizeof *names->mine);
	names->all = calloc(n_pes * names->block * n_channels, sizeof *names->all);
	if (names->ports && names->links && names->mine && names->all)
		return SHMEMH_OK;
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "links: out of memory");
}

static shmemhi_port_name_t my_port(const shmemhi_ib_t *ib)
{
	return (shmemhi_port_name_t){.gid = ib->nic.gid,
				     .lid = ib->nic.lid,
				     .is_ethernet = ib->nic.is_ethernet,
				     .mtu = ib->nic.mtu,
				     .log_max_reads = ib->nic.log_max_reads,
				     .n_channels = (uint8_t)ib->n_channels};
}

/* The same verdict everywhere, since all see the same. */
static int check_ports(shmemh_t *job, const shmemhi_port_name_t *ports)
{
	for (int pe = 1; pe < job->n_pes; pe++) {
		if (ports[pe].n_channels != ports[0].n_channels)
			return shmemhi_fail(&job->err, SHMEMH_ERR_MISMATCH,
					    "SHMEMH_CHANNELS is %u on PE 0, %u on PE %d: set the "
					    "same on all",
					    ports[0].n_channels, ports[pe].n_channels, pe);
		if (ports[pe].is_ethernet != ports[0].is_ethernet)
			return shmemhi_fail(
				&job->err, SHMEMH_ERR_MISMATCH,
				"the NIC of PE 0 is on %s, that of PE %d is not: choose "
				"with SHMEMH_HCA_LIST",
				ports[0].is_ethernet ? "Ethernet" : "InfiniBand", pe);
	}
	return SHMEMH_OK;
}

/* Every PE needs only what is meant for it, but the collective that there is gives all to all: so
 * in blocks of PEs, each of which takes its part. */
static int exchange_block(shmemh_t *job, const shmemhi_ib_t *ib, names_t *names, size_t first)
{
	size_t n_pes = (size_t)job->n_pes, n_channels = (size_t)ib->n_channels;
	size_t n = n_pes - first < names->block ? n_pes - first : names->block;
	size_t me = (size_t)job->pe - first; /* huge: not in this block */
	int status;

	for (size_t i = 0; i < n * n_channels; i++) {
		const shmemhi_link_t *link =
			shmemhi_link(ib, job, (int)(i % n_channels), (int)(first + i / n_channels));

		names->mine[i] = (shmemhi_link_name_t){link->qpn, link->psn};
	}
	status = shmemhi_allgather(job, names->mine, names->all,
				   n * n_channels * sizeof *names->mine);
	for (size_t pe = 0; status == SHMEMH_OK && me < n && pe < n_pes; pe++)
		for (size_t k = 0; k < n_channels; k++)
			names->links[k * n_pes + pe] = names->all[(pe * n + me) * n_channels + k];
	return status;
}

static int exchange(shmemh_t *job, const shmemhi_ib_t *ib, names_t *names)
{
	shmemhi_port_name_t mine = my_port(ib);
	int status = shmemhi_allgather(job, &mine, names->ports, sizeof mine);

	if (status == SHMEMH_OK)
		status = check_ports(job, names->ports);
	for (size_t first = 0; status == SHMEMH_OK && first < (size_t)job->n_pes;
	     first += names->block)
		status = exchange_block(job, ib, names, first);
	return status;
}

static uint8_t min(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static int to_rtr(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_link_t *link,
		  const shmemhi_port_name_t *port, const shmemhi_link_name_t *peer,
		  const shmemhi_address_t *address)
{
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_INIT2RTR_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_MTU, min(ib->nic.mtu, port->mtu));
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_MSG_MAX, SHMEMHI_LOG_MSG_MAX);
	shmemhi_prm_put(in, SHMEMHI_QPC_REMOTE_QPN, peer->qpn);
	shmemhi_prm_put(in, SHMEMHI_QPC_NEXT_RCV_PSN, peer->psn);
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_RRA_MAX, ib->nic.log_max_reads);
	shmemhi_prm_put(in, SHMEMHI_QPC_MIN_RNR_NAK, MIN_RNR_NAK);
	shmemhi_address_put(job, ib, address, link->udp_port, in);
	return shmemhi_command_modify(job, ib, link, in, SHMEMHI_PRM_LONG);
}

static int to_rts(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_link_t *link,
		  const shmemhi_port_name_t *port)
{
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_RTR2RTS_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_NEXT_SEND_PSN, link->psn);
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_SRA_MAX,
			min(ib->nic.log_max_reads, port->log_max_reads));
	shmemhi_prm_put(in, SHMEMHI_QPC_RETRY_COUNT, (uint64_t)job->opt.ib_retries);
	shmemhi_prm_put(in, SHMEMHI_QPC_RNR_RETRY, RNR_FOREVER);
	shmemhi_prm_put(in, SHMEMHI_ADS_ACK_TIMEOUT, (uint64_t)job->opt.ib_ack_timeout);
	return shmemhi_command_modify(job, ib, link, in, SHMEMHI_PRM_LONG);
}

/* All links to one PE. */
static int join(shmemh_t *job, shmemhi_ib_t *ib, const names_t *names, int pe)
{
	const shmemhi_port_name_t *port = &names->ports[pe];
	shmemhi_address_t address;
	int status = shmemhi_address_find(job, ib, pe, port, &address);

	for (int k = 0; status == SHMEMH_OK && k < ib->n_channels; k++) {
		shmemhi_link_t *link = shmemhi_link(ib, job, k, pe);
		shmemhi_link_name_t mine = {link->qpn, link->psn};
		const shmemhi_link_name_t *peer = &names->links[link - ib->links];

		link->udp_port = shmemhi_udp_port(&ib->nic, &mine, peer);
		status = to_rtr(job, ib, link, port, peer, &address);
		if (status == SHMEMH_OK)
			status = to_rts(job, ib, link, port);
		link->is_connected = status == SHMEMH_OK;
	}
	return status;
}

int shmemhi_links_connect(shmemh_t *job, shmemhi_ib_t *ib)
{
	names_t names = {0};
	int status = shmemhi_agree(job, alloc_names(job, ib, &names));

	if (status == SHMEMH_OK)
		status = exchange(job, ib, &names);
	if (status == SHMEMH_OK) {
		for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
			status = join(job, ib, &names, pe);
		status = shmemhi_agree(job, status);
	}
	free_names(&names);
	return status;
}
