/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Distance classes, with the names and the meaning that `nvidia-smi topo -m` gives them. */
#ifndef SHMEMHI_TOPO_CLASS_H
#define SHMEMHI_TOPO_CLASS_H

#include "topo/machine.h"

/* Nearest first. */
enum shmemhi_class {
	SHMEMHI_CLASS_X,    /* the same device */
	SHMEMHI_CLASS_PIX,  /* at most one PCIe switch between them */
	SHMEMHI_CLASS_PXB,  /* several switches, no host bridge */
	SHMEMHI_CLASS_PHB,  /* through one host bridge */
	SHMEMHI_CLASS_NODE, /* through two host bridges of one NUMA node */
	SHMEMHI_CLASS_SYS,  /* between NUMA nodes, or unknown */
	SHMEMHI_N_CLASSES
};

/* The class of two devices, by the PCI tree alone. */
int shmemhi_pci_class(const shmemhi_machine_t *m, int node_a, int node_b);

/* As nvidia-smi prints it: PIX, SYS. */
const char *shmemhi_class_name(int class);

#endif
