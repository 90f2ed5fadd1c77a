/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Paths by Dijkstra's algorithm, with (narrowest edge, number of edges) in place of a length. */
#include "topo/path.h"

#include <string.h>

#define MAX_VERTICES (SHMEMHI_MAX_NODES + SHMEMHI_MAX_PORTS + 1)
#define UNLIMITED UINT32_MAX

typedef struct search {
	const shmemhi_machine_t *m;
	int n;
	int from, to;
	uint32_t gbps[MAX_VERTICES]; /* of the best path found so far; 0: none yet */
	int hops[MAX_VERTICES];
	int before[MAX_VERTICES];
	bool done[MAX_VERTICES];
} search_t;

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Try the edge between two vertices. gbps: 0: unknown. */
static void relax(search_t *s, int at, int next, uint32_t gbps)
{
	uint32_t width = min(s->gbps[at], gbps ? gbps : UNLIMITED);
	int hops = s->hops[at] + 1;

	if (s->done[next] || width < s->gbps[next] ||
	    (width == s->gbps[next] && hops >= s->hops[next]))
		return;
	s->gbps[next] = width;
	s->hops[next] = hops;
	s->before[next] = at;
}

/* The edge from a node to its parent. Traffic that reaches the root bus goes through the CPU. */
static uint32_t edge_up(const shmemhi_machine_t *m, int node)
{
	const shmemhi_node_t *n = &m->nodes[node];
	int kind = m->nodes[n->parent].kind;

	if (kind != SHMEMHI_NODE_ROOT && kind != SHMEMHI_NODE_NUMA)
		return n->gbps;
	return n->gbps ? min(n->gbps, SHMEMHI_CPU_GBPS) : SHMEMHI_CPU_GBPS;
}

static void relax_tree(search_t *s, int at)
{
	const shmemhi_machine_t *m = s->m;

	if (m->nodes[at].parent >= 0)
		relax(s, at, m->nodes[at].parent, edge_up(m, at));
	for (int i = 0; i < m->n_nodes; i++) {
		bool are_cpus = m->nodes[at].kind == SHMEMHI_NODE_NUMA &&
				m->nodes[i].kind == SHMEMHI_NODE_NUMA;

		if (m->nodes[i].parent == at)
			relax(s, at, i, edge_up(m, i));
		else if (are_cpus && i != at)
			relax(s, at, i, SHMEMHI_CPU_GBPS);
	}
}

static void relax_ports(search_t *s, int at)
{
	const shmemhi_machine_t *m = s->m;

	for (int p = 0; p < m->n_ports; p++) {
		int vertex = shmemhi_vertex_of_port(m, p);
		int nic = m->nics[m->ports[p].nic].node;

		if (at == nic)
			relax(s, at, vertex, m->ports[p].gbps);
		else if (at == vertex)
			relax(s, at, nic, m->ports[p].gbps);
	}
}

static void relax_nvlinks(search_t *s, int at)
{
	const shmemhi_machine_t *m = s->m;
	int nvswitch = s->n - 1;

	for (int i = 0; i < m->n_nvlinks; i++) {
		const shmemhi_nvlink_t *link = &m->nvlinks[i];
		uint32_t gbps = (uint32_t)link->n_lanes * SHMEMHI_NVLINK_GBPS;
		int a = m->gpus[link->a].node;
		int b = link->b == SHMEMHI_NVSWITCH ? nvswitch : m->gpus[link->b].node;

		if (at == a)
			relax(s, at, b, gbps);
		else if (at == b)
			relax(s, at, a, gbps);
	}
}

static int best_open(const search_t *s)
{
	int best = -1;

	for (int i = 0; i < s->n; i++)
		if (!s->done[i] && s->gbps[i] &&
		    (best < 0 || s->gbps[i] > s->gbps[best] ||
		     (s->gbps[i] == s->gbps[best] && s->hops[i] < s->hops[best])))
			best = i;
	return best;
}

/* GPUs forward nothing, although they have more than one link. NICs have only the bus and their
 * ports. */
static void relax_all(search_t *s, int at)
{
	bool is_node = at < s->m->n_nodes;

	if (is_node && at != s->from && s->m->nodes[at].kind == SHMEMHI_NODE_GPU)
		return;
	if (is_node)
		relax_tree(s, at);
	relax_ports(s, at);
	relax_nvlinks(s, at);
}

static void find(search_t *s)
{
	s->n = s->m->n_nodes + s->m->n_ports + 1;
	s->gbps[s->from] = UNLIMITED;
	s->before[s->from] = -1;
	for (int at = best_open(s); at >= 0 && at != s->to; at = best_open(s)) {
		s->done[at] = true;
		relax_all(s, at);
	}
}

/* An unlimited path is one of edges that are all unknown. */
static uint32_t width_of(const search_t *s, int vertex)
{
	return s->gbps[vertex] == UNLIMITED ? 0 : s->gbps[vertex];
}

void shmemhi_path(const shmemhi_machine_t *m, int from, int to, shmemhi_path_t *path)
{
	search_t s = {.m = m, .from = from, .to = to};

	memset(path, 0, sizeof *path);
	path->n_hops = -1;
	find(&s);
	if (!s.gbps[to] || s.hops[to] > SHMEMHI_MAX_HOPS)
		return;
	path->gbps = width_of(&s, to);
	path->n_hops = s.hops[to];
	for (int at = to, i = s.hops[to]; at >= 0; at = s.before[at])
		path->vertex[i--] = at;
}

void shmemhi_port_widths(const shmemhi_machine_t *m, int from, uint32_t *gbps)
{
	search_t s = {.m = m, .from = from, .to = -1};

	find(&s);
	for (int port = 0; port < m->n_ports; port++)
		gbps[port] = width_of(&s, shmemhi_vertex_of_port(m, port));
}
