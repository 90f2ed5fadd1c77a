/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* shmem-info --topo, --text, --svg, --capture: which port each GPU gets, and why. */
#include "info_topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "topo/class.h"
#include "topo/path.h"
#include "topo/sysfs.h"
#include "topo/text.h"

#if SHMEMHI_HAVE_IB
#include "ib/ports.h"

static int port_is_usable(const shmemhi_ports_t *found, const shmemhi_machine_t *m, int port)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->ports[i].open.number == m->ports[port].number &&
		    strcmp(found->ports[i].open.name, m->nics[m->ports[port].nic].name) == 0)
			return found->ports[i].is_usable;
	return 0;
}

/* The NICs of this system, as a job would find them. A port that is active but cannot be used
 * counts as down. */
static int read_nics(const shmemhi_options_t *opt, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	shmemhi_ports_t found;
	shmemhi_ib_lib_t lib;
	int status = shmemhi_ib_lib_open(&lib, opt->ib_library, err);

	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_ports_open(&lib, opt, &found, err);
	if (status == SHMEMH_OK) {
		status = shmemhi_ports_add(&found, m, err);
		for (int i = 0; i < m->n_ports; i++)
			if (m->ports[i].state == SHMEMHI_PORT_ACTIVE &&
			    !port_is_usable(&found, m, i))
				m->ports[i].state = SHMEMHI_PORT_DOWN;
		shmemhi_ports_close(&lib, &found);
	}
	shmemhi_ib_lib_close(&lib);
	return status;
}
#else
static int read_nics(const shmemhi_options_t *opt, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	(void)opt;
	(void)m;
	return shmemhi_fail(err, SHMEMH_ERR_NIC, "no NIC support was built in");
}
#endif

/* This system. If the NICs cannot be opened, the facts of sysfs have to do. */
static int read_system(const shmemhi_options_t *opt, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	shmemhi_err_t why = {""};
	int status = shmemhi_machine_read("", SHMEMHI_READ_NVML, m, err);

	if (status != SHMEMH_OK)
		return status;
	status = read_nics(opt, m, &why);
	if (status == SHMEMH_OK)
		return status;
	if (status == SHMEMH_ERR_OPTION)
		return shmemhi_fail(err, status, "%s", why.text);
	fprintf(stderr, "NICs have not been opened, so nothing is known but sysfs: %s\n", why.text);
	return shmemhi_machine_read("", SHMEMHI_READ_NVML | SHMEMHI_READ_NICS, m, err);
}

static int read_file(const char *path, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	FILE *in = fopen(path, "re");
	int status;

	if (!in)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT, "%.300s: %s", path, strerror(errno));
	status = shmemhi_machine_parse(in, path, m, err);
	fclose(in);
	return status;
}

static int read_machine(const shmemhi_options_t *opt, const char *path, shmemhi_machine_t *m,
			shmemhi_err_t *err)
{
	struct stat st;

	if (!path)
		return read_system(opt, m, err);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return shmemhi_machine_read(path, SHMEMHI_READ_NVML | SHMEMHI_READ_NICS, m, err);
	return read_file(path, m, err);
}

/* The map of one PE on each GPU, with the options in force. */
static int make_map(const shmemhi_options_t *opt, info_map_t *map, shmemhi_err_t *err)
{
	const char *names[SHMEMHI_MAX_NICS];
	shmemhi_hca_list_t list, mapping;
	int status = shmemhi_hca_parse(opt->hca_list, &list, err);

	for (int i = 0; i < map->m.n_nics; i++)
		names[i] = map->m.nics[i].name;
	if (status == SHMEMH_OK)
		status = shmemhi_hca_check(&list, "SHMEMH_HCA_LIST", names, map->m.n_nics, err);
	if (status == SHMEMH_OK)
		status = shmemhi_mapping_parse(opt->hca_pe_mapping, &mapping, err);
	if (status == SHMEMH_OK)
		status = shmemhi_hca_check(&mapping, "SHMEMH_HCA_PE_MAPPING", names, map->m.n_nics,
					   err);
	map->n = map->m.n_gpus ? map->m.n_gpus : 1;
	for (int pe = 0; status == SHMEMH_OK && pe < map->n; pe++) {
		shmemhi_row_t *row = &map->rows[pe];
		int node = info_gpu_node(map, pe);

		row->offers = map->offers[pe];
		row->n = shmemhi_offers_of(&map->m, map->m.n_gpus ? pe : -1, map->offers[pe]);
		if (node >= 0)
			memcpy(row->gpu, map->m.nodes[node].name, sizeof row->gpu);
		status = shmemhi_offers_limit(map->offers[pe], row->n, &list, &mapping, pe, err);
	}
	return status == SHMEMH_OK ? shmemhi_choose(map->rows, map->n, map->picks, err) : status;
}

int info_gpu_node(const info_map_t *map, int pe)
{
	return pe < map->m.n_gpus ? map->m.gpus[pe].node : -1;
}

static void print_pick(const info_map_t *map, int pe, int pick, FILE *out)
{
	const shmemhi_offer_t *offer = pick < 0 ? NULL : &map->rows[pe].offers[pick];
	char name[SHMEMHI_NIC_NAME_NBYTES + 8] = "none", gbps[16] = "-";
	int has_gpu = info_gpu_node(map, pe) >= 0;

	if (offer)
		snprintf(name, sizeof name, "%s:%d", offer->nic, offer->port);
	if (offer && offer->gbps)
		snprintf(gbps, sizeof gbps, "%u", offer->gbps);
	fprintf(out, "  %-14s %-5s %6s", name,
		offer && has_gpu ? shmemhi_class_name(offer->class) : "-", gbps);
}

static void vertex_text(const shmemhi_machine_t *m, int vertex, char text[80])
{
	if (vertex >= m->n_nodes)
		snprintf(text, 80, "port %d", m->ports[vertex - m->n_nodes].number);
	else if (m->nodes[vertex].kind == SHMEMHI_NODE_NUMA)
		snprintf(text, 80, "NUMA %s", m->nodes[vertex].name);
	else
		snprintf(text, 80, "%s", m->nodes[vertex].name);
	for (int nic = 0; nic < m->n_nics; nic++)
		if (vertex == m->nics[nic].node)
			snprintf(text, 80, "%s", m->nics[nic].name);
}

/* Is the edge between two vertices on the way of that PE to its home port? */
static bool goes_over(const info_map_t *map, int pe, int a, int b)
{
	shmemhi_path_t path;
	int home = map->picks[pe].home, gpu = info_gpu_node(map, pe);

	if (home < 0 || gpu < 0)
		return false;
	shmemhi_path(&map->m, gpu, shmemhi_vertex_of_port(&map->m, home), &path);
	for (int i = 0; i < path.n_hops; i++)
		if ((path.vertex[i] == a && path.vertex[i + 1] == b) ||
		    (path.vertex[i] == b && path.vertex[i + 1] == a))
			return true;
	return false;
}

/* The PEs whose way goes over the edge between two vertices, a bit for each. */
static uint64_t users_of(const info_map_t *map, int a, int b)
{
	uint64_t users = 0;

	for (int pe = 0; b >= 0 && pe < map->n; pe++)
		users |= (uint64_t)goes_over(map, pe, a, b) << pe;
	return users;
}

/* A line for the edge from a vertex to the next above it, if several GPUs share it, unless the same
 * GPUs share the edge above that too. */
static void print_shared(const info_map_t *map, int vertex, int above, int *n, FILE *out)
{
	int top = above < map->m.n_nodes ? map->m.nodes[above].parent : -1;
	uint64_t users = users_of(map, vertex, above);
	char from[80], to[80];

	if ((users & (users - 1)) == 0 || users == users_of(map, above, top))
		return;
	if ((*n)++ == 0)
		fprintf(out, "\nlinks that GPUs share on the way to their home ports:\n");
	vertex_text(&map->m, vertex, from);
	vertex_text(&map->m, above, to);
	fprintf(out, "  %s - %s: GPUs", from, to);
	for (int pe = 0; pe < map->n; pe++)
		if (users >> pe & 1)
			fprintf(out, " %d", pe);
	fputc('\n', out);
}

static void print_all_shared(const info_map_t *map, FILE *out)
{
	const shmemhi_machine_t *m = &map->m;
	int n = 0;

	for (int i = 0; i < m->n_nodes; i++) {
		if (m->nodes[i].parent >= 0)
			print_shared(map, i, m->nodes[i].parent, &n, out);
		for (int k = 0; m->nodes[i].kind == SHMEMHI_NODE_NUMA && k < i; k++)
			if (m->nodes[k].kind == SHMEMHI_NODE_NUMA)
				print_shared(map, k, i, &n, out);
	}
	for (int i = 0; i < m->n_ports; i++)
		print_shared(map, shmemhi_vertex_of_port(m, i), m->nics[m->ports[i].nic].node, &n,
			     out);
}

static void print_idle(const info_map_t *map, FILE *out)
{
	const shmemhi_machine_t *m = &map->m;
	int n = 0;

	for (int port = 0; port < m->n_ports; port++) {
		bool is_used = false;

		for (int pe = 0; pe < map->n; pe++)
			is_used |= map->picks[pe].home == port || map->picks[pe].standby == port;
		if (is_used)
			continue;
		if (n++ == 0)
			fprintf(out, "\nports of no GPU:\n");
		fprintf(out, "  %s:%d (%s, %s)%s\n", m->nics[m->ports[port].nic].name,
			m->ports[port].number, shmemhi_port_state_name(m->ports[port].state),
			shmemhi_link_name(m->ports[port].link),
			map->rows[0].offers[port].is_usable ? "" : ": cannot be used");
	}
}

static void print_map(const info_map_t *map, FILE *out)
{
	fprintf(out, "GPUs: %d, NICs: %d, ports: %d\n\n", map->m.n_gpus, map->m.n_nics,
		map->m.n_ports);
	fprintf(out, "%-17s  %-14s %-5s %6s  %-14s %-5s %6s\n", "GPU", "home port", "class",
		"Gbit/s", "stand-by", "class", "Gbit/s");
	for (int pe = 0; pe < map->n; pe++) {
		int gpu = info_gpu_node(map, pe);

		if (gpu >= 0)
			fprintf(out, "%-3d %-13s", pe, map->m.nodes[gpu].name);
		else
			fprintf(out, "%-17s", "none");
		print_pick(map, pe, map->picks[pe].home, out);
		print_pick(map, pe, map->picks[pe].standby, out);
		fputc('\n', out);
	}
	print_all_shared(map, out);
	print_idle(map, out);
}

static int complain(const shmemhi_err_t *err)
{
	fprintf(stderr, "shmem-info: %s\n", err->text);
	return 1;
}

/* Read a machine and compute its map. NULL: a line has been printed. */
static info_map_t *load_map(const shmemhi_options_t *opt, const char *path)
{
	info_map_t *map = calloc(1, sizeof *map);
	shmemhi_err_t err = {"out of memory"};
	int status = map ? SHMEMH_OK : SHMEMH_ERR_NO_MEMORY;

	if (map) {
		err.text[0] = '\0';
		status = read_machine(opt, path, &map->m, &err);
	}
	if (status == SHMEMH_OK)
		status = make_map(opt, map, &err);
	if (status == SHMEMH_OK)
		return map;
	complain(&err);
	free(map);
	return NULL;
}

int info_topo(const shmemhi_options_t *opt, const char *path)
{
	info_map_t *map = load_map(opt, path);

	if (!map)
		return 1;
	print_map(map, stdout);
	free(map);
	return 0;
}

int info_text(const shmemhi_options_t *opt, const char *path)
{
	shmemhi_machine_t *m = calloc(1, sizeof *m);
	shmemhi_err_t err = {""};
	int status = m ? read_machine(opt, path, m, &err)
		       : shmemhi_fail(&err, SHMEMH_ERR_NO_MEMORY, "out of memory");

	if (status == SHMEMH_OK)
		shmemhi_machine_print(m, stdout);
	free(m);
	return status == SHMEMH_OK ? 0 : complain(&err);
}

int info_svg(const shmemhi_options_t *opt, const char *path, const char *svg)
{
	info_map_t *map = load_map(opt, path);
	FILE *out;
	int is_bad;

	if (!map)
		return 1;
	out = fopen(svg, "we");
	if (out)
		info_map_draw(map, out);
	free(map);
	is_bad = !out || ferror(out);
	if (out)
		is_bad |= fclose(out) != 0;
	if (is_bad)
		fprintf(stderr, "shmem-info: %s cannot be written: %s\n", svg, strerror(errno));
	return is_bad;
}

int info_capture(const char *folder)
{
	shmemhi_machine_t *m = calloc(1, sizeof *m);
	shmemhi_err_t err = {""};
	int status = m ? shmemhi_machine_capture("", folder, m, &err)
		       : shmemhi_fail(&err, SHMEMH_ERR_NO_MEMORY, "out of memory");

	if (status == SHMEMH_OK)
		printf("%s: GPUs: %d, NICs: %d, ports: %d\n", folder, m->n_gpus, m->n_nics,
		       m->n_ports);
	free(m);
	return status == SHMEMH_OK ? 0 : complain(&err);
}
