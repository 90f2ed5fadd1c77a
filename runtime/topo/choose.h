/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The choice of a home port and a stand-by port for each PE of a host: a pure function of what
 * the PEs see, so that all of them come to the same map. Its rules: topo/README.md. */
#ifndef SHMEMHI_TOPO_CHOOSE_H
#define SHMEMHI_TOPO_CHOOSE_H

#include "topo/hca.h"
#include "topo/machine.h"

/* A port as one PE sees it. PEs exchange these as bytes: no field is left unset. */
typedef struct shmemhi_offer {
	char nic[SHMEMHI_NIC_NAME_NBYTES];
	char addr[SHMEMHI_ADDR_NBYTES]; /* PCI address of the NIC; "": it has none */
	char card[SHMEMHI_CARD_NBYTES];
	int32_t port;
	int32_t link;  /* SHMEMHI_LINK_*: a stand-by has the link layer of the home */
	int32_t class; /* SHMEMHI_CLASS_*: distance to the PE's GPU */
	/* of the path from the GPU; without GPU, or if the NIC's place is unknown: of the port; 0:
	 * unknown */
	uint32_t gbps;
	/* may be used: by offers_of active or of unknown state; by a job also open, and not left
	 * out by SHMEMH_HCA_LIST */
	int32_t is_usable;
	int32_t is_near; /* some GPU of the machine has no NIC that is nearer; or there is no GPU */
	int32_t is_forced; /* SHMEMH_HCA_PE_MAPPING names it for this PE */
	int32_t reserved;
} shmemhi_offer_t;

/* What one PE sees. */
typedef struct shmemhi_row {
	char gpu[SHMEMHI_ADDR_NBYTES]; /* "": no GPU */
	int n;
	const shmemhi_offer_t *offers;
} shmemhi_row_t;

/* Indices of the PE's own offers; -1: none. */
typedef struct shmemhi_pick {
	int home;
	int standby;
} shmemhi_pick_t;

/* Choose for n PEs of one host. The order of the offers in a row makes no difference, nor that of
 * rows of different GPUs; PEs of one GPU are served in the order of their rows.
 * Returns  SHMEMH_OK, also if a PE gets none; ERR_NO_MEMORY. */
int shmemhi_choose(const shmemhi_row_t *rows, int n, shmemhi_pick_t *picks, shmemhi_err_t *err);

/* A hash of the names of all picks: equal on two PEs if their maps are. */
uint64_t shmemhi_map_hash(const shmemhi_row_t *rows, const shmemhi_pick_t *picks, int n);

/* Make the offers of a machine's ports to the PE on that GPU (-1: none): distance, bandwidth,
 * card. Usable are ports that are active or of unknown state. offers: SHMEMHI_MAX_PORTS of them.
 * Returns how many. */
int shmemhi_offers_of(const shmemhi_machine_t *m, int gpu, shmemhi_offer_t *offers);

/* Apply the options to the offers of the PE with that rank on its host.
 * Returns  SHMEMH_OK; ERR_NIC: the mapping names a port that cannot be used (a line in err). */
int shmemhi_offers_limit(shmemhi_offer_t *offers, int n, const shmemhi_hca_list_t *list,
			 const shmemhi_hca_list_t *mapping, int rank, shmemhi_err_t *err);

#endif
