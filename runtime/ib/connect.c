/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bring links from INIT to RTS. */
#include "ib/failover.h"

/* All links to one PE. */
static int links_to_rts(shmemh_t *job, shmemhi_ib_t *ib, const shmemhi_peer_infos_t *infos, int pe)
{
	const shmemhi_port_info_t *port = &infos->ports[pe];
	shmemhi_address_t address;
	int status = shmemhi_address_find(&ib->lib, &job->opt, &ib->home_port, pe, port, &address,
					  &job->err);

	for (int k = 0; status == SHMEMH_OK && k < ib->n_channels; k++) {
		shmemhi_link_t *link = shmemhi_link(ib, job, k, pe);
		const shmemhi_qp_info_t *peer = &infos->links[link - ib->links];

		status = shmemhi_link_to_rtr(&ib->lib, &job->opt, link, port, peer, &address,
					     &job->err);
		if (status == SHMEMH_OK)
			status = shmemhi_link_to_rts(&ib->lib, &job->opt, link, port, &job->err);
		link->was_connected = status == SHMEMH_OK;
		if (ib->failover)
			shmemhi_failover_set_peer(ib->failover, link, port, peer);
	}
	return status;
}

int shmemhi_links_connect(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_peer_infos_t infos = {0};
	int status = shmemhi_agree(job, shmemhi_peer_infos_alloc(job, ib, &infos));

	if (status == SHMEMH_OK)
		status = shmemhi_peer_infos_exchange(job, ib, &infos);
	if (status == SHMEMH_OK) {
		for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
			status = links_to_rts(job, ib, &infos, pe);
		status = shmemhi_agree(job, status);
	}
	shmemhi_peer_infos_free(&infos);
	return status;
}
