/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/class.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *nvidia, *nccl;
} names[SHMEMHI_N_CLASSES] = {
	[SHMEMHI_CLASS_X] = {"X", "LOC"},     [SHMEMHI_CLASS_NV] = {"NV", "NVL"},
	[SHMEMHI_CLASS_PIX] = {"PIX", "PIX"}, [SHMEMHI_CLASS_PXB] = {"PXB", "PXB"},
	[SHMEMHI_CLASS_PHB] = {"PHB", "PHB"}, [SHMEMHI_CLASS_NODE] = {"NODE", "PHB"},
	[SHMEMHI_CLASS_SYS] = {"SYS", "SYS"},
};

const char *shmemhi_class_name(int class)
{
	return names[class].nvidia;
}

const char *shmemhi_class_nccl(int class)
{
	return names[class].nccl;
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

static int lanes_to_switches(const shmemhi_machine_t *m, int gpu)
{
	int n = 0;

	for (int i = 0; i < m->n_nvlinks; i++)
		if (m->nvlinks[i].a == gpu && m->nvlinks[i].b == SHMEMHI_NVSWITCH)
			n += m->nvlinks[i].n_lanes;
	return n;
}

int shmemhi_nvlinks_between(const shmemhi_machine_t *m, int a, int b)
{
	int lanes_a = lanes_to_switches(m, a), lanes_b = lanes_to_switches(m, b);
	int n = lanes_a < lanes_b ? lanes_a : lanes_b;

	for (int i = 0; i < m->n_nvlinks; i++) {
		const shmemhi_nvlink_t *link = &m->nvlinks[i];

		if ((link->a == a && link->b == b) || (link->a == b && link->b == a))
			n += link->n_lanes;
	}
	return n;
}

static int gpu_of(const shmemhi_machine_t *m, int node)
{
	for (int i = 0; i < m->n_gpus; i++)
		if (m->gpus[i].node == node)
			return i;
	return -1;
}

void shmemhi_class_text(const shmemhi_machine_t *m, int a, int b, char text[SHMEMHI_CLASS_NBYTES])
{
	int gpu_a = gpu_of(m, a), gpu_b = gpu_of(m, b);
	int n = a != b && gpu_a >= 0 && gpu_b >= 0 ? shmemhi_nvlinks_between(m, gpu_a, gpu_b) : 0;

	if (n)
		snprintf(text, SHMEMHI_CLASS_NBYTES, "NV%d", n % 1000);
	else
		snprintf(text, SHMEMHI_CLASS_NBYTES, "%s",
			 shmemhi_class_name(shmemhi_pci_class(m, a, b)));
}
