/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* From a machine to what one of its PEs can choose from. */
#include <stdio.h>
#include <string.h>
#include "topo/choose.h"
#include "topo/class.h"
#include "topo/path.h"

static bool is_usable(const shmemhi_hca_port_t *port)
{
	return port->state == SHMEMHI_PORT_ACTIVE || port->state == SHMEMHI_PORT_UNKNOWN;
}

/* Does some GPU have no NIC that is nearer than that one? Without GPUs: yes. */
static bool is_near(const shmemhi_machine_t *m, int nic)
{
	bool is = m->n_gpus == 0;

	for (int gpu = 0; !is && gpu < m->n_gpus; gpu++) {
		int mine = shmemhi_pci_class(m, m->gpus[gpu].node, m->nics[nic].node);

		is = true;
		for (int i = 0; is && i < m->n_nics; i++)
			is = shmemhi_pci_class(m, m->gpus[gpu].node, m->nics[i].node) >= mine;
	}
	return is;
}

int shmemhi_offers_of(const shmemhi_machine_t *m, int gpu, shmemhi_offer_t *offers)
{
	uint32_t gbps[SHMEMHI_MAX_PORTS];

	if (gpu >= 0)
		shmemhi_port_widths(m, m->gpus[gpu].node, gbps);
	for (int i = 0; i < m->n_ports; i++) {
		const shmemhi_hca_port_t *port = &m->ports[i];
		const shmemhi_hca_fn_t *nic = &m->nics[port->nic];
		shmemhi_offer_t *offer = &offers[i];

		memset(offer, 0, sizeof *offer);
		memcpy(offer->nic, nic->name, sizeof offer->nic);
		memcpy(offer->card, nic->card, sizeof offer->card);
		memcpy(offer->addr, shmemhi_nic_addr(m, port->nic), sizeof offer->addr);
		offer->port = port->number;
		offer->link = port->link;
		offer->class = SHMEMHI_CLASS_SYS;
		offer->gbps = port->gbps;
		offer->is_usable = is_usable(port);
		offer->is_near = is_near(m, port->nic);
		if (gpu >= 0 && m->nodes[nic->node].parent >= 0) {
			offer->class = shmemhi_pci_class(m, m->gpus[gpu].node, nic->node);
			offer->gbps = gbps[i];
		}
	}
	return m->n_ports;
}

/* Mark the port that the mapping gives to this PE. */
static int force(shmemhi_offer_t *offers, int n, const shmemhi_hca_t *entry, int rank,
		 shmemhi_err_t *err)
{
	char port[8] = "";

	for (int i = 0; i < n; i++)
		if (offers[i].is_usable && strcmp(offers[i].nic, entry->name) == 0 &&
		    (entry->port == 0 || entry->port == offers[i].port)) {
			offers[i].is_forced = 1;
			return SHMEMH_OK;
		}
	if (entry->port)
		snprintf(port, sizeof port, ":%d", entry->port);
	return shmemhi_fail(err, SHMEMH_ERR_NIC,
			    "SHMEMH_HCA_PE_MAPPING gives %s%s to the PE with rank %d on its host, "
			    "and that port cannot be used",
			    entry->name, port, rank);
}

int shmemhi_offers_limit(shmemhi_offer_t *offers, int n, const shmemhi_hca_list_t *list,
			 const shmemhi_hca_list_t *mapping, int rank, shmemhi_err_t *err)
{
	const shmemhi_hca_t *entry = shmemhi_mapping_entry(mapping, rank);

	for (int i = 0; i < n; i++)
		offers[i].is_usable &= shmemhi_hca_allows(list, offers[i].nic, offers[i].port);
	return entry ? force(offers, n, entry, rank, err) : SHMEMH_OK;
}
