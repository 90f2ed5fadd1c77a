/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A drawing of a machine and its map: the PCI tree from left to right, and on its right a curve
 * from each GPU to its home port (full) and its stand-by (dashed). */
#include <stdlib.h>
#include "info_topo.h"

#define STEP_X 142
#define STEP_Y 26
#define BOX_X 124
#define BOX_Y 20
#define MARGIN 20
#define CURVES 260

typedef struct drawing {
	const info_map_t *map;
	FILE *out;
	int x[SHMEMHI_MAX_NODES], y[SHMEMHI_MAX_NODES];
	int n_leaves, max_x;
} drawing_t;

static bool is_device(const shmemhi_node_t *node)
{
	return node->kind == SHMEMHI_NODE_GPU || node->kind == SHMEMHI_NODE_NIC;
}

/* Place the nodes below, then this one in the middle of them. Returns 1; 0: there is no device
 * below, so nothing is drawn. */
static int place(drawing_t *d, int node, int depth)
{
	const shmemhi_machine_t *m = &d->map->m;
	int first = 0, last = 0, n = 0;

	d->x[node] = MARGIN + depth * STEP_X;
	for (int i = 0; i < m->n_nodes; i++) {
		if (m->nodes[i].parent != node || !place(d, i, depth + 1))
			continue;
		if (n++ == 0)
			first = d->y[i];
		last = d->y[i];
	}
	if (n == 0 && !is_device(&m->nodes[node]))
		return 0;
	d->y[node] = n ? (first + last) / 2 : MARGIN + d->n_leaves++ * STEP_Y;
	if (d->x[node] > d->max_x)
		d->max_x = d->x[node];
	return 1;
}

static void draw_line(const drawing_t *d, int from, int to)
{
	fprintf(d->out, "<path d='M%d %dH%dV%dH%d' class='pci'/>\n", d->x[from] + BOX_X,
		d->y[from] + BOX_Y / 2, d->x[to] - (STEP_X - BOX_X) / 2, d->y[to] + BOX_Y / 2,
		d->x[to]);
}

/* Names come from sysfs or from a file. */
static void draw_text(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '<' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
}

static void draw_node(const drawing_t *d, int node)
{
	static const char *const kinds[] = {"numa", "root", "bridge", "gpu", "nic"};
	const shmemhi_machine_t *m = &d->map->m;
	const char *kind = kinds[m->nodes[node].kind], *name = m->nodes[node].name;

	fprintf(d->out, "<g class='%s'><rect x='%d' y='%d' width='%d' height='%d' rx='4'/>", kind,
		d->x[node], d->y[node], BOX_X, BOX_Y);
	fprintf(d->out, "<text x='%d' y='%d'>", d->x[node] + 6, d->y[node] + 14);
	if (m->nodes[node].kind == SHMEMHI_NODE_NUMA)
		fputs("NUMA ", d->out);
	for (int i = 0; i < m->n_gpus; i++)
		if (m->gpus[i].node == node)
			fprintf(d->out, "GPU %d ", i);
	for (int i = 0; i < m->n_nics; i++)
		if (m->nics[i].node == node)
			name = m->nics[i].name;
	draw_text(d->out, name);
	fputs("</text></g>\n", d->out);
}

/* A curve from a GPU to the NIC of a port that it has picked. */
static void draw_pick(const drawing_t *d, int pe, int pick, const char *class)
{
	const shmemhi_machine_t *m = &d->map->m;
	int gpu = info_gpu_node(d->map, pe), nic, x = d->max_x + BOX_X, bend = 40 + pe * 14;

	if (gpu < 0 || pick < 0)
		return;
	nic = m->nics[m->ports[pick].nic].node;
	fprintf(d->out, "<path d='M%d %dH%dC%d %d %d %d %d %dH%d' class='%s'/>\n",
		d->x[gpu] + BOX_X, d->y[gpu] + BOX_Y / 2, x, x + bend, d->y[gpu] + BOX_Y / 2,
		x + bend, d->y[nic] + BOX_Y / 2, x, d->y[nic] + BOX_Y / 2, d->x[nic] + BOX_X,
		class);
}

static void draw_head(const drawing_t *d)
{
	fprintf(d->out, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d'>\n",
		d->max_x + BOX_X + CURVES, 2 * MARGIN + (d->n_leaves + 1) * STEP_Y);
	fputs("<style>text{font:11px sans-serif}rect{fill:#eee;stroke:#888}"
	      ".gpu rect{fill:#cfe8c4}.nic rect{fill:#c8dcf5}path{fill:none}"
	      ".pci{stroke:#aaa}.home{stroke:#1a6fd0;stroke-width:1.6}"
	      ".standby{stroke:#d07a1a;stroke-dasharray:5 4}</style>\n",
	      d->out);
}

void info_map_draw(const info_map_t *map, FILE *out)
{
	drawing_t *d = calloc(1, sizeof *d);
	const shmemhi_machine_t *m = &map->m;
	int is_drawn[SHMEMHI_MAX_NODES];

	if (!d)
		return;
	d->map = map;
	d->out = out;
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].parent < 0)
			place(d, i, 0);
	draw_head(d);
	for (int i = 0; i < m->n_nodes; i++)
		is_drawn[i] = d->y[i] > 0;
	for (int i = 0; i < m->n_nodes; i++)
		if (is_drawn[i] && m->nodes[i].parent >= 0)
			draw_line(d, m->nodes[i].parent, i);
	for (int i = 0; i < m->n_nodes; i++)
		if (is_drawn[i])
			draw_node(d, i);
	for (int pe = 0; pe < map->n; pe++) {
		draw_pick(d, pe, map->picks[pe].standby, "standby");
		draw_pick(d, pe, map->picks[pe].home, "home");
	}
	fprintf(out,
		"<text x='%d' y='%d'>from GPUs: full lines to home ports, dashed lines to "
		"stand-bys</text>\n</svg>\n",
		MARGIN, MARGIN + (d->n_leaves + 1) * STEP_Y);
	free(d);
}
