/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The graph of a machine, and paths in it. Vertices are the nodes of the PCI tree, the ports of
 * NICs and the NVSwitches; edges have a bandwidth. */
#ifndef SHMEMHI_TOPO_PATH_H
#define SHMEMHI_TOPO_PATH_H

#include "topo/machine.h"

/* Bandwidth assumed of peer-to-peer traffic between PCIe devices that goes through a CPU. An H100
 * reached a NIC beyond its host bridge at 234 Gbit/s: github.com/NVIDIA/nccl/issues/2310. */
#define SHMEMHI_CPU_GBPS 240

#define SHMEMHI_NVLINK_GBPS 200 /* of a lane, one direction: NVLink 3 and 4, 25 GB/s */

#define SHMEMHI_MAX_HOPS 64

typedef struct shmemhi_path {
	uint32_t gbps;                    /* of the narrowest edge; 0: all are unknown */
	int n_hops;                       /* edges; -1: there is no path */
	int vertex[SHMEMHI_MAX_HOPS + 1]; /* from first to last */
} shmemhi_path_t;

static inline int shmemhi_vertex_of_port(const shmemhi_machine_t *m, int port)
{
	return m->n_nodes + port;
}

/* The widest path between two vertices, of these the shortest. It does not pass through GPUs;
 * edges of unknown bandwidth do not limit it. */
void shmemhi_path(const shmemhi_machine_t *m, int from, int to, shmemhi_path_t *path);

/* Bandwidths of the widest paths from a vertex to all ports; 0: unknown, or there is no path. */
void shmemhi_port_widths(const shmemhi_machine_t *m, int from, uint32_t *gbps);

#endif
