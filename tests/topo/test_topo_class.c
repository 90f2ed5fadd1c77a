/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Distance classes are those of `nvidia-smi topo -m`: listings from public issues, which
 * machines/NAME.smi name, and machines that fit them. NIC i of a listing is mlx5_i. */
#include <dirent.h>
#include "topo/class.h"
#include "topo/path.h"
#include "topo_test.h"

#define MAX_COLUMNS 64
#define CLASS_NBYTES 8

static shmemhi_machine_t m;

static int lanes_to_switches(int gpu)
{
	int n = 0;

	for (int i = 0; i < m.n_nvlinks; i++)
		if (m.nvlinks[i].a == gpu && m.nvlinks[i].b == SHMEMHI_NVSWITCH)
			n += m.nvlinks[i].n_lanes;
	return n;
}

/* NVLinks between two GPUs: direct ones, and those that both have to the NVSwitches. */
static int nvlinks_between(int a, int b)
{
	int lanes_a = lanes_to_switches(a), lanes_b = lanes_to_switches(b);
	int n = lanes_a < lanes_b ? lanes_a : lanes_b;

	for (int i = 0; i < m.n_nvlinks; i++) {
		const shmemhi_nvlink_t *link = &m.nvlinks[i];

		if ((link->a == a && link->b == b) || (link->a == b && link->b == a))
			n += link->n_lanes;
	}
	return n;
}

static int gpu_of(int node)
{
	for (int i = 0; i < m.n_gpus; i++)
		if (m.gpus[i].node == node)
			return i;
	return -1;
}

/* The entry of two devices in the listing: NV18, PIX, SYS. */
static void class_text(int a, int b, char text[CLASS_NBYTES])
{
	int gpu_a = gpu_of(a), gpu_b = gpu_of(b);
	int n = a != b && gpu_a >= 0 && gpu_b >= 0 ? nvlinks_between(gpu_a, gpu_b) : 0;

	if (n)
		snprintf(text, CLASS_NBYTES, "NV%d", n % 1000);
	else
		snprintf(text, CLASS_NBYTES, "%s", shmemhi_class_name(shmemhi_pci_class(&m, a, b)));
}

static int node_of(const char *name, const char *listing)
{
	char nic[32];
	int node = -1, i;

	if (sscanf(name, "GPU%d", &i) == 1 && i < m.n_gpus)
		node = m.gpus[i].node;
	if (sscanf(name, "NIC%d", &i) == 1) {
		snprintf(nic, sizeof nic, "mlx5_%d", i);
		i = shmemhi_find_nic(&m, nic);
		node = i < 0 ? -1 : m.nics[i].node;
	}
	if (node < 0)
		fail_msg("%s: the machine has no %s", listing, name);
	return node;
}

/* The drivers of some listings print SYS where others print NODE. */
static int is_equal(const char *ours, const char *theirs, int sys_for_node)
{
	if (sys_for_node && strcmp(ours, "NODE") == 0)
		return strcmp(theirs, "SYS") == 0;
	return strcmp(ours, theirs) == 0;
}

/* Compare a row. Returns how many entries it has. */
static int compare_row(char *line, char columns[MAX_COLUMNS][16], int sys_for_node,
		       const char *listing)
{
	char *rest = line, *name = strtok_r(rest, " \n", &rest), *theirs;
	int from, n = 0;

	if (!name)
		return 0;
	from = node_of(name, listing);
	while ((theirs = strtok_r(rest, " \n", &rest))) {
		char ours[CLASS_NBYTES];

		class_text(from, node_of(columns[n], listing), ours);
		if (!is_equal(ours, theirs, sys_for_node))
			fail_msg("%s: %s - %s is %s, here %s", listing, name, columns[n], theirs,
				 ours);
		n++;
	}
	return n;
}

static int read_columns(char *line, char columns[MAX_COLUMNS][16])
{
	char *rest = line, *name;
	int n = 0;

	while (n < MAX_COLUMNS && (name = strtok_r(rest, " \n", &rest)))
		snprintf(columns[n++], 16, "%s", name);
	return n;
}

/* Compare a whole listing. Returns how many entries it has. */
static int compare_listing(const char *name)
{
	char path[512], line[1024], columns[MAX_COLUMNS][16];
	int n_columns = 0, n = 0, sys_for_node = 0;
	FILE *in;

	load_machine(name, &m);
	machine_path(name, ".smi", path);
	in = fopen(path, "r");
	assert_non_null(in);
	while (fgets(line, sizeof line, in)) {
		sys_for_node |= strcmp(line, "# SYS-for-NODE\n") == 0;
		if (line[0] == '#')
			continue;
		if (n_columns == 0) {
			n_columns = read_columns(line, columns);
			continue;
		}
		assert_int_equal(compare_row(line, columns, sys_for_node, name), n_columns);
		n += n_columns;
	}
	fclose(in);
	return n;
}

static void listings_are_reproduced(void **state)
{
	struct dirent *entry;
	char folder[512];
	int n_listings = 0, n_entries = 0;
	DIR *dir;

	(void)state;
	machine_path("", "", folder);
	dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char *suffix = strstr(entry->d_name, ".smi");

		if (!suffix)
			continue;
		*suffix = '\0';
		n_entries += compare_listing(entry->d_name);
		n_listings++;
	}
	closedir(dir);
	printf("listings: %d, entries: %d\n", n_listings, n_entries);
	assert_true(n_listings >= 5);
}

static void classes_are_symmetric(void **state)
{
	(void)state;
	load_machine("dgx-h100", &m);
	for (int a = 0; a < m.n_nodes; a++)
		for (int b = 0; b < m.n_nodes; b++)
			if (m.nodes[a].kind >= SHMEMHI_NODE_GPU &&
			    m.nodes[b].kind >= SHMEMHI_NODE_GPU)
				assert_int_equal(shmemhi_pci_class(&m, a, b),
						 shmemhi_pci_class(&m, b, a));
}

/* --- paths ---------------------------------------------------------------------------------- */

static shmemhi_path_t path_between(int from, int to)
{
	shmemhi_path_t path;

	shmemhi_path(&m, from, to, &path);
	return path;
}

static void paths_are_the_widest(void **state)
{
	int gpu, near, far;

	(void)state;
	load_machine("dgx-h100", &m);
	gpu = m.gpus[0].node;
	near = shmemhi_vertex_of_port(&m, shmemhi_find_port(&m, "mlx5_0", 1));
	far = shmemhi_vertex_of_port(&m, shmemhi_find_port(&m, "mlx5_11", 1));
	assert_int_equal(path_between(gpu, near).gbps, 400);
	assert_int_equal(path_between(gpu, near).n_hops, 7);
	assert_int_equal(path_between(gpu, far).gbps, SHMEMHI_CPU_GBPS);
	assert_int_equal(path_between(far, gpu).n_hops, path_between(gpu, far).n_hops);
	/* By the NVSwitches, although the way by PCIe exists too. */
	assert_int_equal(path_between(gpu, m.gpus[7].node).gbps, 18 * SHMEMHI_NVLINK_GBPS);
	assert_int_equal(path_between(gpu, m.gpus[7].node).n_hops, 2);
	assert_int_equal(path_between(gpu, gpu).n_hops, 0);
}

/* Of equally wide paths the shortest: GPU 0 and 3 have a direct NVLink as wide as the two by GPU 1;
 * a GPU forwards nothing, so GPU 0 and 5 have only PCIe. */
static void paths_avoid_gpus(void **state)
{
	shmemhi_path_t path;

	(void)state;
	load_machine("8-v100", &m);
	assert_int_equal(path_between(m.gpus[0].node, m.gpus[3].node).n_hops, 1);
	path = path_between(m.gpus[0].node, m.gpus[5].node);
	assert_int_equal(path.gbps, 126);
	for (int i = 1; i < path.n_hops; i++)
		assert_int_not_equal(m.nodes[path.vertex[i]].kind, SHMEMHI_NODE_GPU);
}

static void no_path(void **state)
{
	(void)state;
	load_machine("no-gpu", &m);
	assert_int_equal(path_between(m.nics[0].node, m.nics[2].node).n_hops, -1);
	assert_int_equal(path_between(m.nics[2].node, shmemhi_vertex_of_port(&m, 2)).gbps, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listings_are_reproduced),
		cmocka_unit_test(classes_are_symmetric),
		cmocka_unit_test(paths_are_the_widest),
		cmocka_unit_test(paths_avoid_gpus),
		cmocka_unit_test(no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
