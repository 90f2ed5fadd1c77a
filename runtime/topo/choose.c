/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/choose.h"

#include <stdlib.h>
#include <string.h>
#include "topo/class.h"

/* A port of the host: one for all offers of it. */
typedef struct port {
	const shmemhi_offer_t *name; /* the first offer of it */
	int card;
	int is_near; /* for any PE */
	int n_homes; /* PEs that have it as home */
	int n_standbys;
} port_t;

typedef struct choice {
	const shmemhi_row_t *rows;
	shmemhi_pick_t *picks;
	int n_pes;
	int n_ports;
	int n_cards;
	port_t *ports;   /* [n_ports], in the order of their PCI addresses */
	int *card_homes; /* [n_cards] */
	int *offer;      /* [n_pes][n_ports]: index of the PE's offer; -1: it does not see it */
	bool *nearest;   /* [n_pes][n_ports]: is it among the nearest of that PE? */
	int *order;      /* [n_pes]: PEs by GPU */
	int *home;       /* [n_pes]: port; -1: none */
	int *from;       /* [n_ports], scratch of find_end: the PE that would move here */
	int *queue;      /* [n_ports], scratch of find_end */
} choice_t;

/* Order of ports: by PCI address; behind them those without one, by name; then by number. */
static int compare_names(const shmemhi_offer_t *a, const shmemhi_offer_t *b)
{
	int by_addr = strcmp(a->addr, b->addr);
	int by_name = a->addr[0] && b->addr[0] ? 0 : strcmp(a->nic, b->nic);

	if (!a->addr[0] != !b->addr[0])
		return a->addr[0] ? -1 : 1;
	if (by_addr)
		return by_addr;
	return by_name ? by_name : a->port - b->port;
}

static int compare_ports(const void *a, const void *b)
{
	return compare_names(((const port_t *)a)->name, ((const port_t *)b)->name);
}

/* Without an identity of the card, it is the PCI device: all functions in one slot. */
static bool is_same_card(const shmemhi_offer_t *a, const shmemhi_offer_t *b)
{
	size_t slot = strcspn(a->addr, ".");

	if (a->card[0] || b->card[0])
		return strcmp(a->card, b->card) == 0;
	if (a->addr[0] || b->addr[0])
		return slot == strcspn(b->addr, ".") && strncmp(a->addr, b->addr, slot) == 0;
	return strcmp(a->nic, b->nic) == 0;
}

static const shmemhi_offer_t *offer_at(const choice_t *c, int pe, int port)
{
	int i = c->offer[pe * c->n_ports + port];

	return i < 0 ? NULL : &c->rows[pe].offers[i];
}

static void add_port(choice_t *c, const shmemhi_offer_t *offer)
{
	for (int i = 0; i < c->n_ports; i++)
		if (compare_names(c->ports[i].name, offer) == 0) {
			c->ports[i].is_near |= offer->is_near;
			return;
		}
	c->ports[c->n_ports++] = (port_t){.name = offer, .is_near = offer->is_near};
}

/* Collect the ports of all rows, and number the cards in the order of their first ports. */
static void find_ports(choice_t *c)
{
	for (int pe = 0; pe < c->n_pes; pe++)
		for (int i = 0; i < c->rows[pe].n; i++)
			add_port(c, &c->rows[pe].offers[i]);
	qsort(c->ports, (size_t)c->n_ports, sizeof *c->ports, compare_ports);
	for (int i = 0; i < c->n_ports; i++) {
		c->ports[i].card = c->n_cards;
		for (int k = 0; k < i; k++)
			if (is_same_card(c->ports[k].name, c->ports[i].name))
				c->ports[i].card = c->ports[k].card;
		c->n_cards += c->ports[i].card == c->n_cards;
	}
}

static void index_offers(choice_t *c)
{
	for (int pe = 0; pe < c->n_pes; pe++)
		for (int port = 0; port < c->n_ports; port++) {
			int *at = &c->offer[pe * c->n_ports + port];

			*at = -1;
			for (int i = 0; i < c->rows[pe].n; i++)
				if (compare_names(&c->rows[pe].offers[i], c->ports[port].name) == 0)
					*at = i;
		}
}

/* By PCI address of the GPU, so that a GPU gets its NIC whichever PE runs on it. */
static void order_pes(choice_t *c)
{
	for (int pe = 0; pe < c->n_pes; pe++) {
		int at = pe;

		for (; at > 0 && strcmp(c->rows[c->order[at - 1]].gpu, c->rows[pe].gpu) > 0; at--)
			c->order[at] = c->order[at - 1];
		c->order[at] = pe;
	}
}

/* Half as wide as the other or less? Then sharing the other with one more PE is as good. */
static bool is_narrow(uint32_t gbps, uint32_t other)
{
	return gbps && (uint64_t)gbps * 2 <= other;
}

/* Is it the port that SHMEMH_HCA_PE_MAPPING names for the PE? Without such a port: is it of the
 * least class that the PE sees, and more than half as wide as the widest of these? */
static bool has_none_before(const choice_t *c, int pe, int port)
{
	const shmemhi_offer_t *mine = offer_at(c, pe, port);

	if (!mine || !mine->is_usable)
		return false;
	for (int i = 0; i < c->rows[pe].n; i++) {
		const shmemhi_offer_t *other = &c->rows[pe].offers[i];

		if (!other->is_usable)
			continue;
		if (mine->is_forced != other->is_forced) {
			if (other->is_forced)
				return false;
			continue;
		}
		if (other->class < mine->class ||
		    (other->class == mine->class && is_narrow(mine->gbps, other->gbps)))
			return false;
	}
	return true;
}

/* Round 1: find the nearest ports of each PE. */
static void find_nearest(choice_t *c)
{
	for (int pe = 0; pe < c->n_pes; pe++)
		for (int port = 0; port < c->n_ports; port++)
			c->nearest[pe * c->n_ports + port] = has_none_before(c, pe, port);
}

static bool is_nearest(const choice_t *c, int pe, int port)
{
	return c->nearest[pe * c->n_ports + port];
}

/* The cost of one more PE: first of its port, then of its card. */
static int load(const choice_t *c, int port)
{
	return c->ports[port].n_homes * (c->n_pes + 1) + c->card_homes[c->ports[port].card];
}

static void set_home(choice_t *c, int pe, int port)
{
	if (c->home[pe] >= 0) {
		c->ports[c->home[pe]].n_homes--;
		c->card_homes[c->ports[c->home[pe]].card]--;
	}
	c->home[pe] = port;
	if (port >= 0) {
		c->ports[port].n_homes++;
		c->card_homes[c->ports[port].card]++;
	}
}

#define UNSEEN (-2)
#define START (-1)

/* Breadth-first: the ports that pe could take, and those to which a PE that has one of these could
 * move in turn. Returns the least loaded; -1: pe has no port. */
static int find_end(choice_t *c, int pe)
{
	int n = 0, best = -1;

	for (int port = 0; port < c->n_ports; port++) {
		c->from[port] = is_nearest(c, pe, port) ? START : UNSEEN;
		if (c->from[port] == START)
			c->queue[n++] = port;
	}
	for (int i = 0; i < n; i++) {
		if (best < 0 || load(c, c->queue[i]) < load(c, best))
			best = c->queue[i];
		for (int k = 0; k < c->n_pes; k++) {
			int other = c->order[k];

			for (int to = 0; c->home[other] == c->queue[i] && to < c->n_ports; to++)
				if (c->from[to] == UNSEEN && is_nearest(c, other, to)) {
					c->from[to] = other;
					c->queue[n++] = to;
				}
		}
	}
	return best;
}

/* Round 2: give pe one of its nearest ports so that the loads stay as even as they can, if need be
 * by moving other PEs between ports that are equally near to them. */
static void give_home(choice_t *c, int pe)
{
	int port = find_end(c, pe);

	while (port >= 0 && c->from[port] != START) {
		int mover = c->from[port], left = c->home[mover];

		set_home(c, mover, port);
		port = left;
	}
	set_home(c, pe, port);
}

/* Would that PE share the other port with fewer PEs than its own, or with as many, on a card with
 * fewer? */
static bool is_better(choice_t *c, int pe, int port)
{
	int now = c->home[pe], before, after;

	if (now < 0 || port == now || !is_nearest(c, pe, port))
		return false;
	set_home(c, pe, -1);
	before = load(c, now);
	after = load(c, port);
	set_home(c, pe, now);
	return after < before;
}

/* Move PEs to better ports. After round 2 no PE can move to a port with at least two PEs fewer than
 * its own. So a move goes to a port with exactly one fewer, which exchanges the loads of the two
 * ports, to a card with fewer PEs: the sum of the squares of the cards' loads decreases with each
 * move, so it ends. */
static void even_cards(choice_t *c)
{
	for (int moved = 1; moved;) {
		moved = 0;
		for (int i = 0; i < c->n_pes; i++)
			for (int port = 0; port < c->n_ports; port++)
				if (is_better(c, c->order[i], port)) {
					set_home(c, c->order[i], port);
					moved = 1;
				}
	}
}

/* Number of the card among the cards that are near to some GPU, in PCI order; -1: it is not. */
static int rail_of(const choice_t *c, int card)
{
	int rail = 0, is_near = 0, last = -1;

	for (int port = 0; port < c->n_ports; port++) {
		const port_t *p = &c->ports[port];

		is_near |= p->card == card && p->is_near;
		if (p->card < card && p->card > last && p->is_near) {
			rail++;
			last = p->card;
		}
	}
	return is_near ? rail : -1;
}

/* May that port be the stand-by of that PE? It needs the link layer of the home port. */
static bool may_stand_by(const choice_t *c, int pe, int port)
{
	const shmemhi_offer_t *offer = offer_at(c, pe, port);

	return offer && offer->is_usable && port != c->home[pe] &&
	       offer->link == offer_at(c, pe, c->home[pe])->link;
}

/* Bandwidth of the widest port that may be the stand-by. */
static uint32_t widest_standby(const choice_t *c, int pe)
{
	uint32_t widest = 0;

	for (int port = 0; port < c->n_ports; port++)
		if (may_stand_by(c, pe, port) && offer_at(c, pe, port)->gbps > widest)
			widest = offer_at(c, pe, port)->gbps;
	return widest;
}

#define N_RULES 7

/* How well a port suits as the stand-by of a PE: a number for each rule, least is best, in the
 * order of their weight. */
static void judge(const choice_t *c, int pe, int port, uint32_t widest, int marks[N_RULES])
{
	const shmemhi_offer_t *offer = offer_at(c, pe, port);
	const port_t *p = &c->ports[port];
	int home = c->ports[c->home[pe]].card, rail = rail_of(c, home);

	marks[0] = p->card == home;
	marks[1] = !p->is_near;
	marks[2] = is_narrow(offer->gbps, widest);
	marks[3] = offer->class;
	marks[4] = rail < 0 || rail_of(c, p->card) != (rail ^ 1); /* not adjacent */
	marks[5] = p->n_standbys + p->n_homes;
	marks[6] = abs(p->card - home);
}

static bool is_less(const int *a, const int *b)
{
	int i = 0;

	while (i < N_RULES - 1 && a[i] == b[i])
		i++;
	return a[i] < b[i];
}

static int find_standby(const choice_t *c, int pe)
{
	uint32_t widest = widest_standby(c, pe);
	int best = -1, best_marks[N_RULES], marks[N_RULES];

	for (int port = 0; port < c->n_ports; port++) {
		if (!may_stand_by(c, pe, port))
			continue;
		judge(c, pe, port, widest, marks);
		if (best >= 0 && !is_less(marks, best_marks))
			continue;
		best = port;
		memcpy(best_marks, marks, sizeof marks);
	}
	return best;
}

static void choose_all(choice_t *c)
{
	find_ports(c);
	index_offers(c);
	find_nearest(c);
	order_pes(c);
	for (int pe = 0; pe < c->n_pes; pe++)
		c->home[pe] = -1;
	for (int i = 0; i < c->n_pes; i++)
		give_home(c, c->order[i]);
	even_cards(c);
	for (int i = 0; i < c->n_pes; i++) {
		int pe = c->order[i], standby = -1;

		if (c->home[pe] >= 0)
			standby = find_standby(c, pe);
		if (standby >= 0)
			c->ports[standby].n_standbys++;
		c->picks[pe].home = c->home[pe] < 0 ? -1 : c->offer[pe * c->n_ports + c->home[pe]];
		c->picks[pe].standby = standby < 0 ? -1 : c->offer[pe * c->n_ports + standby];
	}
}

int shmemhi_choose(const shmemhi_row_t *rows, int n, shmemhi_pick_t *picks, shmemhi_err_t *err)
{
	choice_t c = {.rows = rows, .picks = picks, .n_pes = n};
	size_t n_offers = 1, n_pes = (size_t)n;
	int status = SHMEMH_OK;

	for (int pe = 0; pe < n; pe++)
		n_offers += (size_t)rows[pe].n;
	c.ports = calloc(n_offers, sizeof *c.ports);
	c.card_homes = calloc(n_offers, sizeof *c.card_homes);
	c.from = calloc(n_offers, sizeof *c.from);
	c.queue = calloc(n_offers, sizeof *c.queue);
	c.offer = calloc(n_offers * (n_pes + 1), sizeof *c.offer);
	c.nearest = calloc(n_offers * (n_pes + 1), sizeof *c.nearest);
	c.order = calloc(n_pes + 1, sizeof *c.order);
	c.home = calloc(n_pes + 1, sizeof *c.home);
	if (c.ports && c.card_homes && c.from && c.queue && c.offer && c.nearest && c.order &&
	    c.home)
		choose_all(&c);
	else
		status = shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "choice of NICs: out of memory");
	free(c.ports);
	free(c.card_homes);
	free(c.from);
	free(c.queue);
	free(c.offer);
	free(c.nearest);
	free(c.order);
	free(c.home);
	return status;
}

/* FNV-1a */
static void hash(uint64_t *sum, const void *bytes, size_t nbytes)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < nbytes; i++)
		*sum = (*sum ^ at[i]) * 0x100000001b3ull;
}

static void hash_pick(uint64_t *sum, const shmemhi_row_t *row, int pick)
{
	const shmemhi_offer_t *offer = pick < 0 ? NULL : &row->offers[pick];

	if (offer) {
		hash(sum, offer->nic, sizeof offer->nic);
		hash(sum, offer->addr, sizeof offer->addr);
		hash(sum, &offer->port, sizeof offer->port);
	}
	hash(sum, "|", 1);
}

uint64_t shmemhi_map_hash(const shmemhi_row_t *rows, const shmemhi_pick_t *picks, int n)
{
	uint64_t sum = 0xcbf29ce484222325ull;

	for (int pe = 0; pe < n; pe++) {
		hash_pick(&sum, &rows[pe], picks[pe].home);
		hash_pick(&sum, &rows[pe], picks[pe].standby);
	}
	return sum;
}
