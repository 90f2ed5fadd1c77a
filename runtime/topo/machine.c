/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/machine.h"

#include <stdio.h>
#include <string.h>

static int no_room(shmemhi_err_t *err, const char *what, int max)
{
	shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "machine: more than %d %s", max, what);
	return -1;
}

/* Copy a text that is known to fit. */
static void copy(char *to, size_t nbytes, const char *from)
{
	size_t n = strnlen(from, nbytes - 1);

	memset(to, 0, nbytes);
	memcpy(to, from, n);
}

int shmemhi_add_node(shmemhi_machine_t *m, int kind, const char *name, int parent, uint32_t gbps,
		     shmemhi_err_t *err)
{
	shmemhi_node_t *node = &m->nodes[m->n_nodes];

	if (m->n_nodes == SHMEMHI_MAX_NODES)
		return no_room(err, "nodes (NUMA nodes, root buses, bridges, devices)",
			       SHMEMHI_MAX_NODES);
	copy(node->name, sizeof node->name, name);
	node->kind = kind;
	node->parent = parent;
	node->gbps = gbps;
	return m->n_nodes++;
}

int shmemhi_add_gpu(shmemhi_machine_t *m, int node, const char *fabric, shmemhi_err_t *err)
{
	shmemhi_gpu_t *gpu = &m->gpus[m->n_gpus];

	if (m->n_gpus == SHMEMHI_MAX_GPUS)
		return no_room(err, "GPUs", SHMEMHI_MAX_GPUS);
	gpu->node = node;
	copy(gpu->fabric, sizeof gpu->fabric, fabric);
	return m->n_gpus++;
}

int shmemhi_add_nic(shmemhi_machine_t *m, int node, const char *name, const char *card,
		    shmemhi_err_t *err)
{
	shmemhi_hca_fn_t *nic = &m->nics[m->n_nics];

	if (m->n_nics == SHMEMHI_MAX_NICS)
		return no_room(err, "NICs", SHMEMHI_MAX_NICS);
	nic->node = node;
	copy(nic->name, sizeof nic->name, name);
	copy(nic->card, sizeof nic->card, card);
	return m->n_nics++;
}

int shmemhi_add_port(shmemhi_machine_t *m, const shmemhi_hca_port_t *port, shmemhi_err_t *err)
{
	if (m->n_ports == SHMEMHI_MAX_PORTS)
		return no_room(err, "ports of NICs", SHMEMHI_MAX_PORTS);
	m->ports[m->n_ports] = *port;
	return m->n_ports++;
}

int shmemhi_add_nvlink(shmemhi_machine_t *m, int a, int b, int n_lanes, shmemhi_err_t *err)
{
	if (m->n_nvlinks == SHMEMHI_MAX_NVLINKS)
		return no_room(err, "NVLink connections", SHMEMHI_MAX_NVLINKS);
	m->nvlinks[m->n_nvlinks] = (shmemhi_nvlink_t){a, b, n_lanes};
	return m->n_nvlinks++;
}

int shmemhi_find_node(const shmemhi_machine_t *m, const char *name)
{
	for (int i = 0; name[0] && i < m->n_nodes; i++)
		if (strcmp(m->nodes[i].name, name) == 0)
			return i;
	return -1;
}

int shmemhi_find_gpu(const shmemhi_machine_t *m, const char *addr)
{
	for (int i = 0; addr[0] && i < m->n_gpus; i++)
		if (strcmp(m->nodes[m->gpus[i].node].name, addr) == 0)
			return i;
	return -1;
}

int shmemhi_find_nic(const shmemhi_machine_t *m, const char *name)
{
	for (int i = 0; i < m->n_nics; i++)
		if (strcmp(m->nics[i].name, name) == 0)
			return i;
	return -1;
}

int shmemhi_find_port(const shmemhi_machine_t *m, const char *nic, int number)
{
	for (int i = 0; i < m->n_ports; i++)
		if (m->ports[i].number == number && strcmp(m->nics[m->ports[i].nic].name, nic) == 0)
			return i;
	return -1;
}

const char *shmemhi_nic_addr(const shmemhi_machine_t *m, int nic)
{
	return m->nodes[m->nics[nic].node].name;
}

/* Count the hexadecimal digits, without capitals, at the start. */
static size_t digits(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

bool shmemhi_is_pci_bus(const char *text)
{
	size_t domain = digits(text);

	return domain >= 4 && domain <= 8 && text[domain] == ':' &&
	       digits(text + domain + 1) == 2 && text[domain + 3] == '\0';
}

bool shmemhi_is_pci_addr(const char *text)
{
	const char *at = text + digits(text);

	if (at - text < 4 || at - text > 8 || *at != ':' || digits(at + 1) != 2 || at[3] != ':')
		return false;
	return digits(at + 4) == 2 && at[6] == '.' && at[7] >= '0' && at[7] <= '7' && !at[8];
}
