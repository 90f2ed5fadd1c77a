/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/text.h"

#include <stdlib.h>
#include <string.h>

#define LINE_NBYTES 256
#define MAX_WORDS 8
#define MAX_NUMA 4096
#define MAX_GBPS 1000000
#define FIRST_LINE "machine 1"

static const char *const state_names[] = {"unknown", "down", "init", "armed", "active"};
static const char *const link_names[] = {"unknown", "ib", "ethernet"};

#define N_NAMES(names) ((int)(sizeof(names) / sizeof(names)[0]))

/* The line that is being read. */
typedef struct reader {
	shmemhi_machine_t *m;
	const char *name;
	int number;
	char text[LINE_NBYTES];
	char *words[MAX_WORDS]; /* words[0] is the kind of line, words[1] what it is about */
	int n_words;
	unsigned used; /* bit i: words[i] has been read as key=value */
	shmemhi_err_t *err;
} reader_t;

__attribute__((format(printf, 2, 3))) static int fail(const reader_t *r, const char *fmt, ...)
{
	char what[SHMEMHI_ERR_NBYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	return shmemhi_fail(r->err, SHMEMH_ERR_ARGUMENT, "%.120s:%d: %.300s", r->name, r->number,
			    what);
}

/* The value of key=value; NULL: the line does not have that key. */
static const char *value_of(reader_t *r, const char *key)
{
	size_t nbytes = strlen(key);

	for (int i = 2; i < r->n_words; i++)
		if (!(r->used & 1u << i) && strncmp(r->words[i], key, nbytes) == 0 &&
		    r->words[i][nbytes] == '=') {
			r->used |= 1u << i;
			return r->words[i] + nbytes + 1;
		}
	return NULL;
}

/* A whole number in [least, most], without sign. */
static int parse_number(const char *text, long least, long most, long *number)
{
	char *end;

	if (text[0] < '0' || text[0] > '9' || strlen(text) > 9)
		return -1;
	*number = strtol(text, &end, 10);
	return *end == '\0' && *number >= least && *number <= most ? 0 : -1;
}

static int read_gbps(reader_t *r, uint32_t *gbps)
{
	const char *text = value_of(r, "gbps");
	long number = 0;

	if (text && parse_number(text, 1, MAX_GBPS, &number) != 0)
		return fail(r,
			    "gbps=%s: use a whole number from 1 to %d, in Gbit/s; leave it out "
			    "if it is unknown",
			    text, MAX_GBPS);
	*gbps = (uint32_t)number;
	return SHMEMH_OK;
}

/* in=NAME: a node of a kind that may hold this one. */
static int read_parent(reader_t *r, int *parent)
{
	const char *text = value_of(r, "in");

	if (!text)
		return fail(r, "%s %s has no in=: name the bridge or root that it is in",
			    r->words[0], r->words[1]);
	*parent = shmemhi_find_node(r->m, text);
	if (*parent < 0)
		return fail(r, "in=%s: there is no such bridge or root on a line before", text);
	if (r->m->nodes[*parent].kind != SHMEMHI_NODE_BRIDGE &&
	    r->m->nodes[*parent].kind != SHMEMHI_NODE_ROOT)
		return fail(r, "in=%s: it is neither a bridge nor a root", text);
	return SHMEMH_OK;
}

/* A text that fits; it is needed unless dflt is given. */
static int read_text(reader_t *r, const char *key, const char *dflt, char *to, size_t nbytes)
{
	const char *text = value_of(r, key);

	if (!text)
		text = dflt;
	if (!text)
		return fail(r, "%s %s has no %s=", r->words[0], r->words[1], key);
	if (strlen(text) >= nbytes || (!dflt && !text[0]))
		return fail(r, "%s=%.80s: use 1 to %zu characters", key, text, nbytes - 1);
	snprintf(to, nbytes, "%s", text);
	return SHMEMH_OK;
}

static int read_word(reader_t *r, const char *key, const char *const *names, int n, int *word)
{
	const char *text = value_of(r, key);
	char all[80] = "";

	*word = 0;
	if (!text)
		return SHMEMH_OK;
	for (int i = 0; i < n; i++) {
		size_t used = strlen(all);

		if (strcmp(names[i], text) == 0) {
			*word = i;
			return SHMEMH_OK;
		}
		snprintf(all + used, sizeof all - used, " %s", names[i]);
	}
	return fail(r, "%s=%.80s: use one of%s", key, text, all);
}

/* A new node with the name words[1]. */
static int new_node(reader_t *r, int kind, int parent, uint32_t gbps, int *node)
{
	if (shmemhi_find_node(r->m, r->words[1]) >= 0)
		return fail(r, "%s is there already, on a line before", r->words[1]);
	*node = shmemhi_add_node(r->m, kind, r->words[1], parent, gbps, r->err);
	return *node < 0 ? SHMEMH_ERR_SYSTEM : SHMEMH_OK;
}

static int read_numa(reader_t *r)
{
	long number;
	int node;

	if (parse_number(r->words[1], 0, MAX_NUMA, &number) != 0)
		return fail(r, "numa %s: use a number from 0 to %d", r->words[1], MAX_NUMA);
	return new_node(r, SHMEMHI_NODE_NUMA, -1, 0, &node);
}

static int read_root(reader_t *r)
{
	const char *numa = value_of(r, "numa");
	int parent = numa ? shmemhi_find_node(r->m, numa) : -1, node;

	if (!shmemhi_is_pci_bus(r->words[1]))
		return fail(r, "root %s: use PCI domain and bus, as 0000:15", r->words[1]);
	if (numa && (parent < 0 || r->m->nodes[parent].kind != SHMEMHI_NODE_NUMA))
		return fail(r,
			    "numa=%s: there is no such NUMA node on a line before; leave it out "
			    "if it is unknown",
			    numa);
	return new_node(r, SHMEMHI_NODE_ROOT, parent, 0, &node);
}

/* A further NIC at the place of one on a line before. */
static int share_node(reader_t *r, int node, int parent, uint32_t gbps)
{
	if (r->m->nodes[node].parent != parent || r->m->nodes[node].gbps != gbps)
		return fail(r, "nic %s has other in= or gbps= on a line before", r->words[1]);
	return SHMEMH_OK;
}

/* What bridges, GPUs and NICs have in common. */
static int read_device(reader_t *r, int kind, int *node)
{
	uint32_t gbps = 0;
	int parent = -1, status = read_parent(r, &parent);

	if (status == SHMEMH_OK)
		status = read_gbps(r, &gbps);
	if (status == SHMEMH_OK && !shmemhi_is_pci_addr(r->words[1]))
		status = fail(r, "%s %s: use a PCI address, as 0000:1b:00.0", r->words[0],
			      r->words[1]);
	if (status != SHMEMH_OK)
		return status;
	*node = shmemhi_find_node(r->m, r->words[1]);
	if (*node >= 0 && kind == SHMEMHI_NODE_NIC && r->m->nodes[*node].kind == kind)
		return share_node(r, *node, parent, gbps);
	return new_node(r, kind, parent, gbps, node);
}

static int read_bridge(reader_t *r)
{
	int node;

	return read_device(r, SHMEMHI_NODE_BRIDGE, &node);
}

static int read_gpu(reader_t *r)
{
	char fabric[SHMEMHI_FABRIC_NBYTES];
	int node, status = read_device(r, SHMEMHI_NODE_GPU, &node);

	if (status == SHMEMH_OK)
		status = read_text(r, "fabric", "", fabric, sizeof fabric);
	if (status != SHMEMH_OK)
		return status;
	return shmemhi_add_gpu(r->m, node, fabric, r->err) < 0 ? SHMEMH_ERR_SYSTEM : SHMEMH_OK;
}

/* nic ADDRESS ..., or nic - ... if it is no PCI device */
static int read_nic(reader_t *r)
{
	char name[SHMEMHI_NIC_NAME_NBYTES], card[SHMEMHI_CARD_NBYTES];
	int node, status;

	if (strcmp(r->words[1], "-") == 0) {
		node = shmemhi_add_node(r->m, SHMEMHI_NODE_NIC, "", -1, 0, r->err);
		status = node < 0 ? SHMEMH_ERR_SYSTEM : SHMEMH_OK;
	} else {
		status = read_device(r, SHMEMHI_NODE_NIC, &node);
	}
	if (status == SHMEMH_OK)
		status = read_text(r, "name", NULL, name, sizeof name);
	if (status == SHMEMH_OK)
		status = read_text(r, "card", "", card, sizeof card);
	if (status == SHMEMH_OK && shmemhi_find_nic(r->m, name) >= 0)
		status = fail(r, "name=%s: a NIC on a line before has it", name);
	if (status != SHMEMH_OK)
		return status;
	return shmemhi_add_nic(r->m, node, name, card, r->err) < 0 ? SHMEMH_ERR_SYSTEM : SHMEMH_OK;
}

/* port NIC:NUMBER ... */
static int read_port(reader_t *r)
{
	shmemhi_hca_port_t port = {0};
	char *colon = strrchr(r->words[1], ':');
	long number = 0;
	int status;

	if (!colon || parse_number(colon + 1, 1, 255, &number) != 0)
		return fail(r,
			    "port %s: use the name of a NIC and a number from 1 to 255, as "
			    "mlx5_0:1",
			    r->words[1]);
	*colon = '\0';
	port.nic = shmemhi_find_nic(r->m, r->words[1]);
	port.number = (int)number;
	if (port.nic < 0)
		return fail(r, "port %s:%ld: there is no such NIC on a line before", r->words[1],
			    number);
	if (shmemhi_find_port(r->m, r->words[1], port.number) >= 0)
		return fail(r, "port %s:%ld is there already, on a line before", r->words[1],
			    number);
	status = read_word(r, "state", state_names, N_NAMES(state_names), &port.state);
	if (status == SHMEMH_OK)
		status = read_word(r, "link", link_names, N_NAMES(link_names), &port.link);
	if (status == SHMEMH_OK)
		status = read_gbps(r, &port.gbps);
	if (status != SHMEMH_OK)
		return status;
	return shmemhi_add_port(r->m, &port, r->err) < 0 ? SHMEMH_ERR_SYSTEM : SHMEMH_OK;
}

/* nvlink GPU to=GPU lanes=N, or to=switch */
static int read_nvlink(reader_t *r)
{
	const char *to = value_of(r, "to"), *lanes = value_of(r, "lanes");
	int a = shmemhi_find_gpu(r->m, r->words[1]);
	int b = to && strcmp(to, "switch") != 0 ? shmemhi_find_gpu(r->m, to) : SHMEMHI_NVSWITCH;
	long n;

	if (a < 0 || !to || (b < 0 && strcmp(to, "switch") != 0) || a == b)
		return fail(r,
			    "nvlink %s to=%s: use the addresses of two GPUs on lines before, or "
			    "to=switch",
			    r->words[1], to ? to : "");
	if (!lanes || parse_number(lanes, 1, 99, &n) != 0)
		return fail(r, "lanes=%s: use a number from 1 to 99", lanes ? lanes : "");
	return shmemhi_add_nvlink(r->m, a, b, (int)n, r->err) < 0 ? SHMEMH_ERR_SYSTEM : SHMEMH_OK;
}

static const struct {
	const char *word;
	int (*read)(reader_t *r);
} kinds[] = {
	{"numa", read_numa}, {"root", read_root}, {"bridge", read_bridge}, {"gpu", read_gpu},
	{"nic", read_nic},   {"port", read_port}, {"nvlink", read_nvlink},
};

/* Cut the line into words. Returns -1 if there are too many. */
static int split(reader_t *r)
{
	char *rest = r->text, *word;

	r->text[strcspn(r->text, "#\n")] = '\0';
	r->n_words = 0;
	r->used = 3;
	while ((word = strtok_r(rest, " \t", &rest))) {
		if (r->n_words == MAX_WORDS)
			return -1;
		r->words[r->n_words++] = word;
	}
	return 0;
}

static int read_line(reader_t *r)
{
	int status = SHMEMH_OK, kind = 0;

	if (split(r) != 0)
		return fail(r, "more than %d words", MAX_WORDS);
	if (r->n_words == 0)
		return SHMEMH_OK;
	while (kind < N_NAMES(kinds) && strcmp(kinds[kind].word, r->words[0]) != 0)
		kind++;
	if (kind == N_NAMES(kinds))
		return fail(r,
			    "'%.80s' is no kind of line: use numa, root, bridge, gpu, nic, port "
			    "or nvlink",
			    r->words[0]);
	if (r->n_words < 2)
		return fail(r, "'%s' alone: name what the line is about", r->words[0]);
	status = kinds[kind].read(r);
	for (int i = 2; status == SHMEMH_OK && i < r->n_words; i++)
		if (!(r->used & 1u << i))
			status = fail(r, "'%.80s' means nothing on a line of %s, or is there twice",
				      r->words[i], r->words[0]);
	return status;
}

/* Read the next line into r->text. Returns 1; 0: there is none; a status. */
static int next_line(reader_t *r, FILE *in)
{
	size_t nbytes;

	r->number++;
	if (!fgets(r->text, sizeof r->text, in)) {
		if (ferror(in))
			return shmemhi_fail(r->err, SHMEMH_ERR_SYSTEM, "%.120s: cannot be read",
					    r->name);
		return 0;
	}
	nbytes = strlen(r->text);
	if (nbytes == sizeof r->text - 1 && r->text[nbytes - 1] != '\n')
		return fail(r, "longer than %zu characters", sizeof r->text - 2);
	return 1;
}

int shmemhi_machine_parse(FILE *in, const char *name, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	reader_t r = {.m = m, .name = name, .err = err};
	int got = next_line(&r, in), status = SHMEMH_OK;

	memset(m, 0, sizeof *m);
	if (got == 1)
		r.text[strcspn(r.text, "\n")] = '\0';
	if (got == 0 || (got == 1 && strcmp(r.text, FIRST_LINE) != 0))
		return fail(&r, "the first line is not '%s': this is no text of a machine",
			    FIRST_LINE);
	while (status == SHMEMH_OK && got == 1) {
		got = next_line(&r, in);
		if (got == 1)
			status = read_line(&r);
	}
	return status != SHMEMH_OK ? status : got;
}

static void print_gbps(uint32_t gbps, FILE *out)
{
	if (gbps)
		fprintf(out, " gbps=%u", gbps);
	fputc('\n', out);
}

static void print_gpu(const shmemhi_machine_t *m, int node, FILE *out)
{
	int gpu = 0;

	while (m->gpus[gpu].node != node)
		gpu++;
	if (m->gpus[gpu].fabric[0])
		fprintf(out, " fabric=%s", m->gpus[gpu].fabric);
}

/* nic: index of nics, of a node of that kind. */
static void print_node(const shmemhi_machine_t *m, int i, int nic, FILE *out)
{
	static const char *const words[] = {"numa", "root", "bridge", "gpu", "nic"};
	const shmemhi_node_t *node = &m->nodes[i];

	fprintf(out, "%s %s", words[node->kind], node->name[0] ? node->name : "-");
	if (node->parent >= 0)
		fprintf(out, " %s=%s", node->kind == SHMEMHI_NODE_ROOT ? "numa" : "in",
			m->nodes[node->parent].name);
	if (node->kind == SHMEMHI_NODE_GPU)
		print_gpu(m, i, out);
	if (node->kind == SHMEMHI_NODE_NIC)
		fprintf(out, " name=%s", m->nics[nic].name);
	if (node->kind == SHMEMHI_NODE_NIC && m->nics[nic].card[0])
		fprintf(out, " card=%s", m->nics[nic].card);
	print_gbps(node->gbps, out);
}

/* A line for each NIC, in their order: the first one at this node, and those that follow it and
 * are at this node or one before. Then they are read back in the same order. */
static void print_nics(const shmemhi_machine_t *m, int node, FILE *out)
{
	int nic = 0;

	while (nic < m->n_nics && m->nics[nic].node != node)
		nic++;
	for (; nic < m->n_nics && m->nics[nic].node <= node; nic++)
		print_node(m, m->nics[nic].node, nic, out);
}

void shmemhi_machine_print(const shmemhi_machine_t *m, FILE *out)
{
	fputs(FIRST_LINE "\n", out);
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].kind == SHMEMHI_NODE_NIC)
			print_nics(m, i, out);
		else
			print_node(m, i, -1, out);
	for (int i = 0; i < m->n_ports; i++) {
		const shmemhi_hca_port_t *port = &m->ports[i];

		fprintf(out, "port %s:%d", m->nics[port->nic].name, port->number);
		if (port->state)
			fprintf(out, " state=%s", state_names[port->state]);
		if (port->link)
			fprintf(out, " link=%s", link_names[port->link]);
		print_gbps(port->gbps, out);
	}
	for (int i = 0; i < m->n_nvlinks; i++) {
		const shmemhi_nvlink_t *link = &m->nvlinks[i];

		fprintf(out, "nvlink %s to=%s lanes=%d\n", m->nodes[m->gpus[link->a].node].name,
			link->b == SHMEMHI_NVSWITCH ? "switch"
						    : m->nodes[m->gpus[link->b].node].name,
			link->n_lanes);
	}
}

const char *shmemhi_port_state_name(int state)
{
	return state_names[state];
}

const char *shmemhi_link_name(int link)
{
	return link_names[link];
}
