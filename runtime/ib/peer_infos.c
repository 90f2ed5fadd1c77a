/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* PEs exchange their ports, and the QP numbers and first PSNs of their links. */
#include <stdlib.h>
#include "ib/link.h"

/* Bytes that one collective gathers for links, of all PEs together; or as many as the links of all
 * PEs to one peer have, if that is more. */
#define GATHER_NBYTES ((size_t)1 << 20)

void shmemhi_peer_infos_free(shmemhi_peer_infos_t *infos)
{
	free(infos->ports);
	free(infos->links);
	free(infos->mine);
	free(infos->all);
}

int shmemhi_peer_infos_alloc(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_peer_infos_t *infos)
{
	size_t n_pes = (size_t)job->n_pes, n_channels = (size_t)ib->n_channels;
	size_t fit = GATHER_NBYTES / (n_pes * n_channels * sizeof *infos->all);

	infos->block = fit < 1 ? 1 : fit > n_pes ? n_pes : fit;
	infos->ports = calloc(n_pes, sizeof *infos->ports);
	infos->links = calloc(n_pes * n_channels, sizeof *infos->links);
	infos->mine = calloc(infos->block * n_channels, sizeof *infos->mine);
	infos->all = calloc(n_pes * infos->block * n_channels, sizeof *infos->all);
	if (infos->ports && infos->links && infos->mine && infos->all)
		return SHMEMH_OK;
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "links: out of memory");
}

/* Every PE checks the same data, so the result is the same everywhere. */
static int check_ports(shmemh_t *job, const shmemhi_port_info_t *ports)
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

/* Every PE needs only the QP numbers and PSNs of links to itself, but the collective gathers all
 * data on all PEs. So exchange in blocks of PEs: each PE keeps those of links to itself. */
static int exchange_block(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_peer_infos_t *infos,
			  size_t first)
{
	size_t n_pes = (size_t)job->n_pes, n_channels = (size_t)ib->n_channels;
	size_t n = n_pes - first < infos->block ? n_pes - first : infos->block;
	size_t me = (size_t)job->pe - first; /* larger than the block: this PE is not in it */
	int status;

	for (size_t i = 0; i < n * n_channels; i++) {
		const shmemhi_link_t *link =
			shmemhi_link(ib, job, (int)(i % n_channels), (int)(first + i / n_channels));

		infos->mine[i] = (shmemhi_qp_info_t){link->qpn, link->psn};
	}
	status = shmemhi_allgather(job, infos->mine, infos->all,
				   n * n_channels * sizeof *infos->mine);
	for (size_t pe = 0; status == SHMEMH_OK && me < n && pe < n_pes; pe++)
		for (size_t k = 0; k < n_channels; k++)
			infos->links[k * n_pes + pe] = infos->all[(pe * n + me) * n_channels + k];
	return status;
}

int shmemhi_peer_infos_exchange(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_peer_infos_t *infos)
{
	shmemhi_port_info_t mine = shmemhi_port_info_of(&ib->home_port, ib->n_channels);
	int status = shmemhi_allgather(job, &mine, infos->ports, sizeof mine);

	if (status == SHMEMH_OK)
		status = check_ports(job, infos->ports);
	for (size_t first = 0; status == SHMEMH_OK && first < (size_t)job->n_pes;
	     first += infos->block)
		status = exchange_block(job, ib, infos, first);
	return status;
}
