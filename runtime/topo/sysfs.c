/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/files.h"
#include "topo/nvml.h"

#define VALUE_NBYTES 64
#define MAX_PORT 255
#define MAX_NUMA 64 /* NUMA nodes from this number on are not read from ONLINE */
#define NVML_FILE "nvml"
#define GPU_DRIVER "/sys/bus/pci/drivers/nvidia"
#define NIC_CLASS "/sys/class/infiniband"
#define ONLINE "/sys/devices/system/node/online"

typedef struct source {
	const char *root;
	const char *copy; /* directory for copies of what is read; NULL: none */
	shmemhi_machine_t *m;
	shmemhi_err_t *err;
} source_t;

/* The path of three parts, or an empty one if it is too long. */
static void join(char to[PATH_MAX], const char *a, const char *b, const char *c)
{
	size_t n_a = strlen(a), n_b = strlen(b), n_c = strlen(c);

	to[0] = '\0';
	if (n_a + n_b + n_c >= PATH_MAX)
		return;
	memcpy(to, a, n_a);
	memcpy(to + n_a, b, n_b);
	memcpy(to + n_a + n_b, c, n_c + 1);
}

/* Create the directories above a path. */
static int make_parents(char *path)
{
	for (char *at = path[0] ? strchr(path + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			return -1;
		*at = '/';
	}
	return 0;
}

static int fail_copy(const source_t *s, const char *path)
{
	return shmemhi_fail(s->err, SHMEMH_ERR_SYSTEM, "capture: cannot write %.300s: %s", path,
			    strerror(errno));
}

static void copy_file(const source_t *s, const char *path, const char *text)
{
	char to[PATH_MAX];
	FILE *f;

	join(to, s->copy, path, "");
	f = make_parents(to) == 0 ? fopen(to, "we") : NULL;
	if (!f) {
		fail_copy(s, to);
		return;
	}
	fprintf(f, "%s\n", text);
	errno = shmemhi_close_written(f);
	if (errno)
		fail_copy(s, to);
}

/* Copy a link as one that is relative, so that it works wherever the copy is. */
static void copy_link(const source_t *s, const char *link, const char *path)
{
	char from[PATH_MAX], to[PATH_MAX] = "";
	size_t used = 0;

	for (const char *at = strchr(link + 1, '/'); at; at = strchr(at + 1, '/'))
		used += (size_t)snprintf(to + used, sizeof to - used, "../");
	snprintf(to + used, sizeof to - used, "%s", path + 1);
	join(from, s->copy, path, "/");
	if (make_parents(from) != 0) {
		fail_copy(s, from);
		return;
	}
	join(from, s->copy, link, "");
	if (make_parents(from) != 0 || (symlink(to, from) != 0 && errno != EEXIST))
		fail_copy(s, from);
}

/* The first line of a file. Returns 0, or -1 and an empty text. */
static int read_text(const source_t *s, const char *path, char text[VALUE_NBYTES])
{
	char full[PATH_MAX];
	FILE *f;
	int status;

	join(full, s->root, path, "");
	f = fopen(full, "re");
	status = f && fgets(text, VALUE_NBYTES, f) ? 0 : -1;
	if (f)
		fclose(f);
	if (status != 0)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (status == 0 && s->copy)
		copy_file(s, path, text);
	return status;
}

static double read_number(const source_t *s, const char *dir, const char *file)
{
	char path[PATH_MAX], text[VALUE_NBYTES];

	join(path, dir, "/", file);
	return read_text(s, path, text) == 0 ? strtod(text, NULL) : 0;
}

/* Where a link leads, below the root. Returns 0, or -1. */
static int resolve(const source_t *s, const char *link, char path[PATH_MAX])
{
	char full[PATH_MAX], root[PATH_MAX] = "";
	size_t nbytes = 0;

	join(full, s->root, link, "");
	if (!realpath(full, path) || (s->root[0] && !realpath(s->root, root)))
		return -1;
	nbytes = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(path, root, nbytes) != 0 || path[nbytes] != '/')
		return -1;
	memmove(path, path + nbytes, strlen(path + nbytes) + 1);
	if (s->copy && strcmp(link, path) != 0)
		copy_link(s, link, path);
	return 0;
}

static int is_no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The sorted names in a directory; free them. Returns how many. */
static int list(const source_t *s, const char *path, struct dirent ***names)
{
	char full[PATH_MAX];
	int n;

	join(full, s->root, path, "");
	n = scandir(full, names, is_no_dot, alphasort);
	if (n < 0)
		*names = NULL;
	return n < 0 ? 0 : n;
}

static void free_names(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* Bandwidth of the link of a PCI device, Gbit/s without the line code; 0: unknown. */
static uint32_t link_gbps(const source_t *s, const char *dir, const char *which)
{
	char file[48];
	double speed, width;

	snprintf(file, sizeof file, "%s_link_speed", which);
	speed = read_number(s, dir, file); /* "16.0 GT/s PCIe"; "Unknown" */
	snprintf(file, sizeof file, "%s_link_width", which);
	width = read_number(s, dir, file);
	if (speed <= 0 || speed > 1000 || width < 1 || width > 32)
		return 0;
	/* 8b/10b up to 5 GT/s, 128b/130b beyond */
	return (uint32_t)(speed * width * (speed > 5 ? 128.0 / 130 : 0.8));
}

/* The NUMA nodes that are online come first. */
static int count_numa(const shmemhi_machine_t *m)
{
	int n = 0;

	while (n < m->n_nodes && m->nodes[n].kind == SHMEMHI_NODE_NUMA)
		n++;
	return n;
}

/* The node of a NUMA number. Returns -1: unknown. */
static int numa_node(const source_t *s, int number)
{
	char name[16];
	int node;

	/* Machines with one NUMA node may not say that devices are on it. */
	if (number < 0)
		return count_numa(s->m) == 1 ? 0 : -1;
	snprintf(name, sizeof name, "%d", number);
	node = shmemhi_find_node(s->m, name);
	if (node >= 0)
		return node;
	return shmemhi_add_node(s->m, SHMEMHI_NODE_NUMA, name, -1, 0, s->err);
}

/* The root bus of a component as pci0000:15 of a path. */
static int root_node(const source_t *s, const char *component, const char *device)
{
	const char *name = component + strlen("pci");
	int node = shmemhi_find_node(s->m, name);
	char path[PATH_MAX], text[VALUE_NBYTES];
	int numa = -1;

	if (node >= 0)
		return node;
	join(path, device, "/", "numa_node");
	if (read_text(s, path, text) == 0)
		numa = atoi(text);
	numa = numa_node(s, numa);
	return shmemhi_add_node(s->m, SHMEMHI_NODE_ROOT, name, numa, 0, s->err);
}

/* Does a component of the path name a PCI function? */
static bool has_pci_addr(const char *path)
{
	char component[SHMEMHI_ADDR_NBYTES];

	for (const char *at = path; (at = strchr(at, '/')); at++) {
		size_t nbytes = strcspn(at + 1, "/");

		if (nbytes >= sizeof component)
			continue;
		snprintf(component, sizeof component, "%.*s", (int)nbytes, at + 1);
		if (shmemhi_is_pci_addr(component))
			return true;
	}
	return false;
}

/* Add the device at a path below /sys/devices, and the bridges above it. The last PCI function of
 * the path is the device, of the kind given; a component below it, such as mlx5_core.sf.4, is a
 * part of that function. Returns its node; -1: it is no PCI device, or there is no room. */
static int add_device(const source_t *s, const char *path, int kind)
{
	char dir[PATH_MAX], component[NAME_MAX + 1];
	int node = -1;

	for (const char *at = path; (at = strchr(at, '/')); at++) {
		size_t nbytes = strcspn(at + 1, "/");
		bool is_last = !has_pci_addr(at + 1 + nbytes);
		int found;

		if (nbytes >= sizeof component)
			return -1;
		snprintf(component, sizeof component, "%.*s", (int)nbytes, at + 1);
		snprintf(dir, sizeof dir, "%.*s", (int)(at + 1 + nbytes - path), path);
		if (strncmp(component, "pci", 3) == 0 && shmemhi_is_pci_bus(component + 3)) {
			node = root_node(s, component, path);
			continue;
		}
		if (node < 0 || !shmemhi_is_pci_addr(component))
			continue;
		found = shmemhi_find_node(s->m, component);
		if (found < 0) {
			int own = is_last ? kind : SHMEMHI_NODE_BRIDGE;
			/* The links of idle GPUs, and of bridges above them, slow down. */
			const char *which = own == SHMEMHI_NODE_NIC ? "current" : "max";

			found = shmemhi_add_node(s->m, own, component, node,
						 link_gbps(s, dir, which), s->err);
		}
		node = found;
	}
	return node >= 0 && s->m->nodes[node].kind == kind ? node : -1;
}

static int add_gpu(const source_t *s, const char *addr, const char *fabric)
{
	char link[PATH_MAX], path[PATH_MAX];
	int node;

	join(link, "/sys/bus/pci/devices/", addr, "");
	if (resolve(s, link, path) != 0)
		return -1;
	node = add_device(s, path, SHMEMHI_NODE_GPU);
	return node < 0 ? -1 : shmemhi_add_gpu(s->m, node, fabric, s->err);
}

/* All that the driver has. */
static void read_driver_gpus(const source_t *s)
{
	struct dirent **names;
	int n = list(s, GPU_DRIVER, &names);

	for (int i = 0; i < n; i++) {
		char link[PATH_MAX], path[PATH_MAX];

		if (!shmemhi_is_pci_addr(names[i]->d_name))
			continue;
		join(link, GPU_DRIVER, "/", names[i]->d_name);
		if (resolve(s, link, path) == 0) /* also copies the link, which a capture needs */
			add_gpu(s, names[i]->d_name, "");
	}
	free_names(names, n);
}

/* The answers of NVML when a directory was captured. Returns as nvml_query. */
static int read_nvml_file(const source_t *s, shmemhi_nvml_t *found)
{
	char path[PATH_MAX];
	FILE *f;
	int got;

	join(path, s->root, "/", NVML_FILE);
	f = fopen(path, "re");
	got = shmemhi_nvml_read(f, found);
	if (f)
		fclose(f);
	if (got < 0)
		shmemhi_fail(s->err, SHMEMH_ERR_ARGUMENT,
			     "%.300s: lines are 'gpu ADDRESS FABRIC' or 'nvlink ADDRESS ADDRESS "
			     "LANES'",
			     path);
	return got > 0;
}

static void copy_nvml(const source_t *s, const shmemhi_nvml_t *found)
{
	char path[PATH_MAX];
	FILE *f;

	join(path, s->copy, "/", NVML_FILE);
	f = make_parents(path) == 0 ? fopen(path, "we") : NULL;
	if (!f) {
		fail_copy(s, path);
		return;
	}
	shmemhi_nvml_write(found, f);
	errno = shmemhi_close_written(f);
	if (errno)
		fail_copy(s, path);
}

/* Returns as nvml_query. */
static int ask_nvml(const source_t *s, shmemhi_nvml_t *found)
{
	int got = s->root[0] ? read_nvml_file(s, found) : shmemhi_nvml_query(found);

	if (got && s->copy)
		copy_nvml(s, found);
	return got;
}

static void read_nvml_gpus(const source_t *s, const shmemhi_nvml_t *found)
{
	for (int i = 0; i < found->n_gpus; i++)
		add_gpu(s, found->gpus[i].addr, found->gpus[i].fabric);
	for (int i = 0; i < found->n_links; i++) {
		const shmemhi_nvml_link_t *link = &found->links[i];
		int a = shmemhi_find_gpu(s->m, link->from), b = shmemhi_find_gpu(s->m, link->to);

		if (a >= 0 && (b >= 0 || strcmp(link->to, "switch") == 0))
			shmemhi_add_nvlink(s->m, a, b, link->n_lanes, s->err);
	}
}

static int read_gpus(const source_t *s, unsigned flags)
{
	shmemhi_nvml_t *found;

	if (!(flags & SHMEMHI_READ_NVML)) {
		read_driver_gpus(s);
		return SHMEMH_OK;
	}
	found = malloc(sizeof *found);
	if (!found)
		return shmemhi_fail(s->err, SHMEMH_ERR_NO_MEMORY, "machine: out of memory");
	if (ask_nvml(s, found))
		read_nvml_gpus(s, found);
	else
		read_driver_gpus(s);
	free(found);
	return SHMEMH_OK;
}

/* "4: ACTIVE" */
static int port_state(const char *text)
{
	static const int states[] = {SHMEMHI_PORT_UNKNOWN, SHMEMHI_PORT_DOWN, SHMEMHI_PORT_INIT,
				     SHMEMHI_PORT_ARMED, SHMEMHI_PORT_ACTIVE};
	unsigned n = (unsigned)atoi(text);

	return n < sizeof states / sizeof states[0] ? states[n] : SHMEMHI_PORT_UNKNOWN;
}

static void read_port(const source_t *s, int nic, const char *dir, int number)
{
	shmemhi_hca_port_t port = {.nic = nic, .number = number};
	char path[PATH_MAX], text[VALUE_NBYTES];

	join(path, dir, "/", "state");
	if (read_text(s, path, text) == 0)
		port.state = port_state(text);
	join(path, dir, "/", "link_layer");
	read_text(s, path, text);
	if (strcmp(text, "InfiniBand") == 0)
		port.link = SHMEMHI_LINK_IB;
	else if (strcmp(text, "Ethernet") == 0)
		port.link = SHMEMHI_LINK_ETHERNET;
	port.gbps = (uint32_t)read_number(s, dir, "rate"); /* "400 Gb/sec (4X NDR)" */
	shmemhi_add_port(s->m, &port, s->err);
}

static void read_ports(const source_t *s, int nic, const char *folder)
{
	char dir[PATH_MAX], port[PATH_MAX];
	struct dirent **names;
	int n;

	join(dir, folder, "/ports", "");
	n = list(s, dir, &names);
	for (int number = 1; number <= MAX_PORT; number++)
		for (int i = 0; i < n; i++)
			if (atoi(names[i]->d_name) == number) {
				join(port, dir, "/", names[i]->d_name);
				read_port(s, nic, port, number);
			}
	free_names(names, n);
}

/* Returns the index of the NIC; -1: no room. */
static int read_nic(const source_t *s, const char *name, const char *folder)
{
	char link[PATH_MAX], path[PATH_MAX], card[VALUE_NBYTES];
	int node = -1, nic;

	/* Equal for all ports and functions of a card; drivers without one report zero. */
	join(path, folder, "/sys_image_guid", "");
	if (read_text(s, path, card) != 0 || strspn(card, "0:") == strlen(card))
		card[0] = '\0';
	join(link, folder, "/device", "");
	if (resolve(s, link, path) == 0)
		node = add_device(s, path, SHMEMHI_NODE_NIC);
	if (node < 0)
		node = shmemhi_add_node(s->m, SHMEMHI_NODE_NIC, "", -1, 0, s->err);
	nic = node < 0 ? -1 : shmemhi_add_nic(s->m, node, name, card, s->err);
	if (nic >= 0)
		read_ports(s, nic, folder);
	return nic;
}

static void read_nics(const source_t *s)
{
	struct dirent **names;
	int n = list(s, NIC_CLASS, &names);

	for (int i = 0; i < n; i++) {
		char folder[PATH_MAX];

		join(folder, NIC_CLASS, "/", names[i]->d_name);
		if (strlen(names[i]->d_name) < SHMEMHI_NIC_NAME_NBYTES)
			read_nic(s, names[i]->d_name, folder);
	}
	free_names(names, n);
}

/* NUMA nodes from a list as "0-1,4". */
static void read_numa(const source_t *s)
{
	char text[VALUE_NBYTES], *at = text;

	read_text(s, ONLINE, text);
	while (*at >= '0' && *at <= '9') {
		long first = strtol(at, &at, 10), last = first;

		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (; first <= last && first < MAX_NUMA; first++)
			numa_node(s, (int)first);
		at += *at == ',';
	}
}

/* A failure on the way leaves its line, and reading goes on. */
static int read_all(source_t s, unsigned flags, shmemhi_err_t *err)
{
	shmemhi_err_t first = {""};
	int status;

	s.err = &first;
	memset(s.m, 0, sizeof *s.m);
	read_numa(&s);
	status = read_gpus(&s, flags);
	if (flags & SHMEMHI_READ_NICS)
		read_nics(&s);
	if (status == SHMEMH_OK && first.text[0])
		status = SHMEMH_ERR_SYSTEM;
	return status == SHMEMH_OK ? status : shmemhi_fail(err, status, "%s", first.text);
}

int shmemhi_machine_read(const char *root, unsigned flags, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	const source_t s = {root, NULL, m, err};
	char sys[PATH_MAX];
	struct stat st;

	join(sys, root, "/sys", "");
	if (root[0] && (stat(sys, &st) != 0 || !S_ISDIR(st.st_mode)))
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "%.300s: this is no captured machine: it has no folder sys; "
				    "shmem-info --capture makes one",
				    root);
	return read_all(s, flags, err);
}

int shmemhi_machine_capture(const char *root, const char *dir, shmemhi_machine_t *m,
			    shmemhi_err_t *err)
{
	const source_t s = {root, dir, m, err};
	char sys[PATH_MAX];

	join(sys, dir, "/sys/", "");
	if (make_parents(sys) != 0)
		return fail_copy(&s, sys);
	return read_all(s, SHMEMHI_READ_NVML | SHMEMHI_READ_NICS, err);
}

int shmemhi_machine_add_gpu(shmemhi_machine_t *m, const char *addr, shmemhi_err_t *err)
{
	const source_t s = {"", NULL, m, err};

	return shmemhi_is_pci_addr(addr) ? add_gpu(&s, addr, "") : -1;
}

int shmemhi_machine_add_nic(shmemhi_machine_t *m, const char *name, const char *folder,
			    shmemhi_err_t *err)
{
	const source_t s = {"", NULL, m, err};

	return read_nic(&s, name, folder);
}
