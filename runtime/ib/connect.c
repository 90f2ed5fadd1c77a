/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bring links from INIT to RTS. */
#include "ib/connect.h"

#include "ib/command.h"

#define MIN_RNR_NAK 12 /* 0.64 ms; not used: no request here needs a receive WQE */
#define RNR_FOREVER 7

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
static int join(shmemh_t *job, shmemhi_ib_t *ib, const shmemhi_names_t *names, int pe)
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
	shmemhi_names_t names = {0};
	int status = shmemhi_agree(job, shmemhi_names_alloc(job, ib, &names));

	if (status == SHMEMH_OK)
		status = shmemhi_names_exchange(job, ib, &names);
	if (status == SHMEMH_OK) {
		for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
			status = join(job, ib, &names, pe);
		status = shmemhi_agree(job, status);
	}
	shmemhi_names_free(&names);
	return status;
}
