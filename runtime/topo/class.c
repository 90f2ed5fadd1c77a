/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/class.h"

const char *shmemhi_class_name(int class)
{
	static const char *const names[SHMEMHI_N_CLASSES] = {
		[SHMEMHI_CLASS_X] = "X",       [SHMEMHI_CLASS_PIX] = "PIX",
		[SHMEMHI_CLASS_PXB] = "PXB",   [SHMEMHI_CLASS_PHB] = "PHB",
		[SHMEMHI_CLASS_NODE] = "NODE", [SHMEMHI_CLASS_SYS] = "SYS",
	};

	return names[class];
}

static bool is_above(const shmemhi_machine_t *m, int above, int node)
{
	while (node >= 0 && node != above)
		node = m->nodes[node].parent;
	return node >= 0;
}

/* Bridges between a node and a node above it, both left out. */
static int bridges_between(const shmemhi_machine_t *m, int node, int above)
{
	int n = 0;

	for (node = m->nodes[node].parent; node != above; node = m->nodes[node].parent)
		n++;
	return n;
}

int shmemhi_pci_class(const shmemhi_machine_t *m, int a, int b)
{
	int common = m->nodes[a].parent;

	if (a == b)
		return SHMEMHI_CLASS_X;
	while (common >= 0 && !is_above(m, common, b))
		common = m->nodes[common].parent;
	if (common < 0)
		return SHMEMHI_CLASS_SYS;
	switch (m->nodes[common].kind) {
	case SHMEMHI_NODE_NUMA:
		return SHMEMHI_CLASS_NODE;
	case SHMEMHI_NODE_ROOT:
		return SHMEMHI_CLASS_PHB;
	default:
		break;
	}
	/* Linux shows each port of a switch as a bridge: two devices below one switch have the
	 * upstream port in common, and each its own downstream port. */
	return bridges_between(m, a, common) <= 1 && bridges_between(m, b, common) <= 1
		       ? SHMEMHI_CLASS_PIX
		       : SHMEMHI_CLASS_PXB;
}
