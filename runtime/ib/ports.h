/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* All ports of all NICs, and whether they can be used: for the choice of one, and for
 * shmem-info. */
#ifndef SHMEMHI_IB_PORTS_H
#define SHMEMHI_IB_PORTS_H

#include "base/options.h"
#include "ib/choose.h"
#include "ib/state.h"

typedef struct shmemhi_port {
	shmemhi_nic_t nic; /* open if usable; port 0: a NIC that could not be opened */
	int is_usable;
	enum ibv_port_state state;
	shmemhi_err_t why; /* the reason, if it is not usable */
} shmemhi_port_t;

typedef struct shmemhi_ports {
	shmemhi_port_t *ports;
	size_t n;
} shmemhi_ports_t;

/* Survey every port; those that can be used stay open. near: the place from which nic.distance is
 * measured.
 * Returns  SHMEMH_OK, even if none is usable; ERR_NIC: no RDMA device; ERR_OPTION:
 *          SHMEMH_HCA_LIST; ERR_NO_MEMORY. */
int shmemhi_ports_open(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
		       const shmemhi_place_t *near, shmemhi_ports_t *found, shmemhi_err_t *err);
void shmemhi_ports_close(const shmemhi_ib_lib_t *lib, shmemhi_ports_t *found);

/* Close a NIC that ports_open opened, completely or in part. */
void shmemhi_port_close(const shmemhi_ib_lib_t *lib, shmemhi_nic_t *nic);

/* The place that a symbolic link of sysfs points to; unknown if there is none. */
void shmemhi_place_of(const char *link, shmemhi_place_t *place);

/* That of a PCI address as 0000:1b:00.0. */
void shmemhi_place_of_pci(const char *pci, shmemhi_place_t *place);

#endif
