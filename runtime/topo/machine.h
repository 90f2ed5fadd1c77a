/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A machine as a value: NUMA nodes, PCI tree, GPUs with their NVLinks, NICs with their ports. It
 * is read from the system, from a captured directory (sysfs.h) or from text (text.h); what is
 * computed from it (class.h, path.h, choose.h) depends on nothing else. */
#ifndef SHMEMHI_TOPO_MACHINE_H
#define SHMEMHI_TOPO_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

/* Virtual functions are NICs: a card may have more than a hundred. */
#define SHMEMHI_MAX_NODES 4096
#define SHMEMHI_MAX_GPUS 64
#define SHMEMHI_MAX_NICS 1024
#define SHMEMHI_MAX_PORTS 2048
#define SHMEMHI_MAX_NVLINKS 2112 /* at least each pair of GPUs, and each GPU with the NVSwitches */

#define SHMEMHI_ADDR_NBYTES 24     /* 0000:1b:00.0 */
#define SHMEMHI_NIC_NAME_NBYTES 64 /* mlx5_0 */
#define SHMEMHI_CARD_NBYTES 24     /* b83f:d203:00b4:cf58 */
#define SHMEMHI_FABRIC_NBYTES 48

enum shmemhi_node_kind {
	SHMEMHI_NODE_NUMA,
	SHMEMHI_NODE_ROOT,   /* root bus below a host bridge */
	SHMEMHI_NODE_BRIDGE, /* PCI-to-PCI bridge: a root port, or a port of a switch */
	SHMEMHI_NODE_GPU,
	SHMEMHI_NODE_NIC, /* one PCI function; a card may have several, a function several NICs */
};

/* A node of the tree NUMA node - root bus - bridges - device. */
typedef struct shmemhi_node {
	char name[SHMEMHI_ADDR_NBYTES]; /* 0 (NUMA), 0000:15 (root), 0000:1b:00.0; "": a NIC that is
					   no PCI device */
	int kind;
	int parent;    /* index of a node before this one; -1: unknown, or a NUMA node */
	uint32_t gbps; /* of the PCIe link to the parent, Gbit/s; 0: unknown */
} shmemhi_node_t;

typedef struct shmemhi_gpu {
	int node;
	char fabric[SHMEMHI_FABRIC_NBYTES]; /* equal: NVLink connects them over nodes; "": none */
} shmemhi_gpu_t;

typedef struct shmemhi_hca_fn {
	int node;
	char name[SHMEMHI_NIC_NAME_NBYTES];
	char card[SHMEMHI_CARD_NBYTES]; /* equal: functions of one card */
} shmemhi_hca_fn_t;

enum shmemhi_port_state {
	SHMEMHI_PORT_UNKNOWN,
	SHMEMHI_PORT_DOWN,
	SHMEMHI_PORT_INIT,
	SHMEMHI_PORT_ARMED,
	SHMEMHI_PORT_ACTIVE,
};

enum shmemhi_link_layer { SHMEMHI_LINK_UNKNOWN, SHMEMHI_LINK_IB, SHMEMHI_LINK_ETHERNET };

typedef struct shmemhi_hca_port {
	int nic; /* index of nics */
	int number;
	int state;
	int link;
	uint32_t gbps; /* 0: unknown */
} shmemhi_hca_port_t;

#define SHMEMHI_NVSWITCH (-1)

typedef struct shmemhi_nvlink {
	int a, b; /* indices of gpus; b may be SHMEMHI_NVSWITCH */
	int n_lanes;
} shmemhi_nvlink_t;

typedef struct shmemhi_machine {
	int n_nodes, n_gpus, n_nics, n_ports, n_nvlinks;
	shmemhi_node_t nodes[SHMEMHI_MAX_NODES];
	/* read from sysfs: in the order of their PCI addresses; else in that of NVML or the text */
	shmemhi_gpu_t gpus[SHMEMHI_MAX_GPUS];
	shmemhi_hca_fn_t nics[SHMEMHI_MAX_NICS];
	shmemhi_hca_port_t ports[SHMEMHI_MAX_PORTS];
	shmemhi_nvlink_t nvlinks[SHMEMHI_MAX_NVLINKS];
} shmemhi_machine_t;

/* Append; the machine must have the parent already. Return an index, or -1: no room (a line in
 * err). */
int shmemhi_add_node(shmemhi_machine_t *m, int kind, const char *name, int parent, uint32_t gbps,
		     shmemhi_err_t *err);
int shmemhi_add_gpu(shmemhi_machine_t *m, int node, const char *fabric, shmemhi_err_t *err);
int shmemhi_add_nic(shmemhi_machine_t *m, int node, const char *name, const char *card,
		    shmemhi_err_t *err);
int shmemhi_add_port(shmemhi_machine_t *m, const shmemhi_hca_port_t *port, shmemhi_err_t *err);
int shmemhi_add_nvlink(shmemhi_machine_t *m, int a, int b, int n_lanes, shmemhi_err_t *err);

/* Find by name. Return an index, or -1. */
int shmemhi_find_node(const shmemhi_machine_t *m, const char *name);
int shmemhi_find_gpu(const shmemhi_machine_t *m, const char *addr);
int shmemhi_find_nic(const shmemhi_machine_t *m, const char *name);
int shmemhi_find_port(const shmemhi_machine_t *m, const char *nic, int number);

/* The PCI address of a NIC; "" if it is no PCI device. */
const char *shmemhi_nic_addr(const shmemhi_machine_t *m, int nic);

/* Is it a PCI address as 0000:1b:00.0 (a domain of 4 to 8 digits; lower case)? */
bool shmemhi_is_pci_addr(const char *text);

/* Is it a domain and bus as 0000:15? */
bool shmemhi_is_pci_bus(const char *text);

#endif
