/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Ports of NICs: all of them, and whether they can be used, for the choice of one and for
 * shmem-info; or any set of them. */
#ifndef SHMEMHI_IB_PORTS_H
#define SHMEMHI_IB_PORTS_H

#include "base/options.h"
#include "ib/state.h"
#include "topo/hca.h"
#include "topo/machine.h"

typedef struct shmemhi_port {
	shmemhi_open_port_t open; /* open if usable; number 0: a NIC that was not opened */
	int is_usable;
	enum ibv_port_state state;
	shmemhi_err_t why;               /* the reason, if it is not usable */
	char folder[IBV_SYSFS_PATH_MAX]; /* of its NIC in sysfs; need not exist */
} shmemhi_port_t;

typedef struct shmemhi_ports {
	shmemhi_port_t *ports;
	size_t n;
} shmemhi_ports_t;

/* Survey every port; those that can be used stay open.
 * Returns  SHMEMH_OK, even if none is usable; ERR_NIC: no RDMA device; ERR_OPTION:
 *          SHMEMH_HCA_LIST or SHMEMH_HCA_PE_MAPPING; ERR_NO_MEMORY. */
int shmemhi_ports_open(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
		       shmemhi_ports_t *found, shmemhi_err_t *err);
void shmemhi_ports_close(const shmemhi_ib_lib_t *lib, shmemhi_ports_t *found);

/* Open the ports that a list names: mlx5_0 and port 2 of mlx5_1 are "mlx5_0,mlx5_1:2" for
 * shmemhi_hca_parse; a name without a port stands for all ports of its NIC. They come in the order
 * of the list, and all of them can be used. What SHMEMH_HCA_LIST allows makes no difference.
 * Returns  SHMEMH_OK; ERR_NIC: one of them cannot be used, does not exist, or is named twice
 *          (text: which, and why); ERR_OPTION: no such NIC, or a list that excludes or that names
 *          nothing; ERR_NO_MEMORY. Failed: nothing is open. */
int shmemhi_ports_open_set(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			   const shmemhi_hca_list_t *set, shmemhi_ports_t *found,
			   shmemhi_err_t *err);

/* Read the state of an open port again, and if it is active, its MTU and its address. On RoCE it
 * keeps the GID in use while the port has it, and otherwise chooses again.
 * Returns  SHMEMH_OK: it is active; ERR_NIC: it is not, has no address, or cannot be queried. */
int shmemhi_port_refresh(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			 shmemhi_open_port_t *port);

/* Close a port that ports_open opened, completely or in part. */
void shmemhi_port_close(const shmemhi_ib_lib_t *lib, shmemhi_open_port_t *port);

/* Add the NICs and ports that the machine does not have yet: sysfs shows only those that
 * have a kernel driver.
 * Returns  SHMEMH_OK; ERR_SYSTEM: too many. */
int shmemhi_ports_add(const shmemhi_ports_t *found, shmemhi_machine_t *m, shmemhi_err_t *err);

#endif
