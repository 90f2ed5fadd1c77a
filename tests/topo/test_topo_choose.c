/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The choice of home ports and stand-bys: random machines never violate its rules, which are
 * written here a second time; and the cases for which the rules exist. */
#include "topo/choose.h"
#include "topo/class.h"
#include "topo_test.h"
#include "../common/sanitized.h"

#define N_MACHINES (SANITIZED ? 2000 : 10000)
#define MAX_PES 20

static shmemhi_machine_t m;
static shmemhi_offer_t offers[MAX_PES][SHMEMHI_MAX_PORTS];
static shmemhi_row_t rows[MAX_PES];
static shmemhi_pick_t picks[MAX_PES];
static int n_pes;
static uint32_t seed;

static int below(int n)
{
	seed = seed * 1664525u + 1013904223u;
	return (int)((seed >> 8) % (uint32_t)n);
}

static void choose(void)
{
	shmemhi_err_t err = {""};

	assert_int_equal(shmemhi_choose(rows, n_pes, picks, &err), SHMEMH_OK);
}

/* --- random machines ------------------------------------------------------------------------ */

static int n_devices, bus;

static int add(int kind, int parent)
{
	static const uint32_t gbps[] = {0, 126, 252, 504};
	shmemhi_err_t err = {""};
	char name[SHMEMHI_ADDR_NBYTES];

	snprintf(name, sizeof name, "%04x:%02x:00.0", bus >> 8, bus & 0xff);
	bus++;
	return shmemhi_add_node(&m, kind, name, parent, gbps[below(4)], &err);
}

static void add_nic(int parent, int card)
{
	static const uint32_t speeds[] = {25, 100, 200, 400, 400, 0};
	shmemhi_err_t err = {""};
	char name[16], cards[16] = "";
	int nic, n_ports = 1 + (below(4) == 0);

	snprintf(name, sizeof name, "mlx5_%d", m.n_nics);
	if (card)
		snprintf(cards, sizeof cards, "card %d", card);
	nic = shmemhi_add_nic(&m, add(SHMEMHI_NODE_NIC, parent), name, cards, &err);
	for (int i = 1; i <= n_ports; i++) {
		shmemhi_hca_port_t port = {
			.nic = nic,
			.number = i,
			.state = below(8) ? SHMEMHI_PORT_ACTIVE : SHMEMHI_PORT_DOWN,
			.link = below(6) ? SHMEMHI_LINK_IB : SHMEMHI_LINK_ETHERNET,
			.gbps = speeds[below(6)]};

		shmemhi_add_port(&m, &port, &err);
	}
}

/* Devices and bridges below a bridge or a root. */
static void grow(int parent, int depth)
{
	for (int n = 1 + below(4); n > 0 && n_devices < 24; n--) {
		shmemhi_err_t err = {""};
		int what = below(depth < 5 ? 6 : 4);

		if (what >= 4) {
			grow(add(SHMEMHI_NODE_BRIDGE, parent), depth + 1);
		} else if (what >= 2) {
			n_devices++;
			shmemhi_add_gpu(&m, add(SHMEMHI_NODE_GPU, parent), "", &err);
		} else {
			int card = below(2) ? m.n_nodes : 0;

			n_devices++;
			add_nic(parent, card);
			if (card && below(2)) /* a second function of the card */
				add_nic(parent, card);
		}
	}
}

static void make_machine(void)
{
	shmemhi_err_t err = {""};
	int n_numa = 1 + below(3);

	memset(&m, 0, sizeof m);
	n_devices = bus = 0;
	for (int numa = 0; numa < n_numa; numa++) {
		char name[12];

		snprintf(name, sizeof name, "%d", numa);
		shmemhi_add_node(&m, SHMEMHI_NODE_NUMA, name, -1, 0, &err);
	}
	for (int n = 1 + below(5); n > 0; n--) {
		char name[SHMEMHI_ADDR_NBYTES];
		int root;

		snprintf(name, sizeof name, "%04x:%02x", bus >> 8, bus & 0xff);
		root = shmemhi_add_node(&m, SHMEMHI_NODE_ROOT, name, below(8) ? below(n_numa) : -1,
					0, &err);
		grow(root, 0);
	}
	if (below(8) == 0)
		shmemhi_add_nic(&m, shmemhi_add_node(&m, SHMEMHI_NODE_NIC, "", -1, 0, &err), "soft",
				"", &err);
	assert_string_equal(err.text, "");
}

/* Rows of up to so many PEs; some see only a part of the ports, some share a GPU. */
static void make_rows(void)
{
	n_pes = 1 + below(MAX_PES);
	for (int pe = 0; pe < n_pes; pe++) {
		int gpu = m.n_gpus ? (below(6) ? pe % m.n_gpus : below(m.n_gpus)) : -1;
		int hidden = below(10) == 0 ? 1 + below(4) : 0;

		memset(&rows[pe], 0, sizeof rows[pe]);
		rows[pe].n = shmemhi_offers_of(&m, gpu, offers[pe]);
		rows[pe].offers = offers[pe];
		if (gpu >= 0)
			memcpy(rows[pe].gpu, m.nodes[m.gpus[gpu].node].name, sizeof rows[pe].gpu);
		for (int i = 0; hidden && i < rows[pe].n; i++)
			if (below(4) < hidden)
				offers[pe][i--] = offers[pe][--rows[pe].n];
	}
}

/* --- the rules, a second time --------------------------------------------------------------- */

static const shmemhi_offer_t *picked(int pe, int pick)
{
	return pick < 0 ? NULL : &rows[pe].offers[pick];
}

static int same_port(const shmemhi_offer_t *a, const shmemhi_offer_t *b)
{
	return strcmp(a->nic, b->nic) == 0 && a->port == b->port;
}

static int same_card(const shmemhi_offer_t *a, const shmemhi_offer_t *b)
{
	return a->card[0] ? strcmp(a->card, b->card) == 0 : strcmp(a->nic, b->nic) == 0;
}

/* Equal distance: the nearest class, and more than half of the widest bandwidth in it. */
static int is_nearest(int pe, const shmemhi_offer_t *offer)
{
	int class = SHMEMHI_N_CLASSES;
	uint32_t widest = 0;

	for (int i = 0; i < rows[pe].n; i++)
		if (offers[pe][i].is_usable && offers[pe][i].class < class)
			class = offers[pe][i].class;
	for (int i = 0; i < rows[pe].n; i++)
		if (offers[pe][i].is_usable && offers[pe][i].class == class &&
		    offers[pe][i].gbps > widest)
			widest = offers[pe][i].gbps;
	return offer->is_usable && offer->class == class &&
	       (offer->gbps == 0 || offer->gbps * 2 > widest);
}

static int homes_of(const shmemhi_offer_t *offer)
{
	int n = 0;

	for (int pe = 0; pe < n_pes; pe++)
		n += picks[pe].home >= 0 && same_port(offer, picked(pe, picks[pe].home));
	return n;
}

static int card_homes_of(const shmemhi_offer_t *offer)
{
	int n = 0;

	for (int pe = 0; pe < n_pes; pe++)
		n += picks[pe].home >= 0 && same_card(offer, picked(pe, picks[pe].home));
	return n;
}

/* Could PEs move so that a port with `load` PEs gets one less, and one with load - 2 or less gets
 * one more? Ports that can be reached by such moves, from that of pe. */
static int could_move(int pe)
{
	const shmemhi_offer_t *seen[SHMEMHI_MAX_PORTS];
	int n = 1, load = homes_of(picked(pe, picks[pe].home));

	seen[0] = picked(pe, picks[pe].home);
	for (int at = 0; at < n; at++)
		for (int k = 0; k < n_pes; k++) {
			if (picks[k].home < 0 || !same_port(seen[at], picked(k, picks[k].home)))
				continue;
			for (int i = 0; i < rows[k].n; i++) {
				int is_new = is_nearest(k, &offers[k][i]);

				for (int s = 0; s < n; s++)
					is_new &= !same_port(seen[s], &offers[k][i]);
				if (is_new && homes_of(&offers[k][i]) <= load - 2)
					return 1;
				if (is_new)
					seen[n++] = &offers[k][i];
			}
		}
	return 0;
}

/* Could pe itself move to a card with fewer PEs, without loading a port more than now? */
static int could_change_card(int pe)
{
	const shmemhi_offer_t *home = picked(pe, picks[pe].home);

	for (int i = 0; i < rows[pe].n; i++) {
		const shmemhi_offer_t *to = &offers[pe][i];

		if (is_nearest(pe, to) && !same_card(home, to) &&
		    homes_of(to) + 1 == homes_of(home) &&
		    card_homes_of(to) + 1 < card_homes_of(home))
			return 1;
	}
	return 0;
}

static void check_home(int pe)
{
	const shmemhi_offer_t *home = picked(pe, picks[pe].home);
	int n_usable = 0;

	for (int i = 0; i < rows[pe].n; i++)
		n_usable += offers[pe][i].is_usable;
	assert_int_equal(home != NULL, n_usable > 0);
	if (!home)
		return;
	assert_true(is_nearest(pe, home));
	for (int i = 0; homes_of(home) > 1 && i < rows[pe].n; i++)
		if (is_nearest(pe, &offers[pe][i]))
			assert_int_not_equal(homes_of(&offers[pe][i]), 0);
	assert_false(could_move(pe));
	assert_false(could_change_card(pe));
}

static void check_standby(int pe)
{
	const shmemhi_offer_t *home = picked(pe, picks[pe].home);
	const shmemhi_offer_t *standby = picked(pe, picks[pe].standby);
	int n = 0, n_other_cards = 0;

	for (int i = 0; home && i < rows[pe].n; i++) {
		const shmemhi_offer_t *offer = &offers[pe][i];
		int may = offer->is_usable && offer->link == home->link && !same_port(offer, home);

		n += may;
		n_other_cards += may && !same_card(offer, home);
	}
	assert_int_equal(standby != NULL, n > 0);
	if (!standby)
		return;
	assert_true(standby->is_usable);
	assert_int_equal(standby->link, home->link);
	assert_false(same_port(standby, home));
	if (n_other_cards)
		assert_false(same_card(standby, home));
}

/* The same offers in another order: the same map. */
static void check_order(void)
{
	uint64_t hash = shmemhi_map_hash(rows, picks, n_pes);

	for (int pe = 0; pe < n_pes; pe++)
		for (int i = rows[pe].n - 1; i > 0; i--) {
			int k = below(i + 1);
			shmemhi_offer_t swap = offers[pe][i];

			offers[pe][i] = offers[pe][k];
			offers[pe][k] = swap;
		}
	choose();
	assert_true(hash == shmemhi_map_hash(rows, picks, n_pes));
}

static void random_machines(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_MACHINES; i++) {
		seed = i;
		make_machine();
		make_rows();
		choose();
		for (int pe = 0; pe < n_pes; pe++) {
			check_home(pe);
			check_standby(pe);
		}
		check_order();
	}
}

/* --- cases ---------------------------------------------------------------------------------- */

/* A PE on each of the GPUs given, in that order. */
static void on_gpus(const char *machine, int n, const int *gpus)
{
	load_machine(machine, &m);
	n_pes = n;
	for (int pe = 0; pe < n; pe++) {
		memset(&rows[pe], 0, sizeof rows[pe]);
		rows[pe].n = shmemhi_offers_of(&m, gpus[pe], offers[pe]);
		rows[pe].offers = offers[pe];
		memcpy(rows[pe].gpu, m.nodes[m.gpus[gpus[pe]].node].name, sizeof rows[pe].gpu);
	}
	choose();
}

static void expect_home(int pe, const char *nic, int port)
{
	const shmemhi_offer_t *home = picked(pe, picks[pe].home);

	assert_non_null(home);
	assert_string_equal(home->nic, nic);
	assert_int_equal(home->port, port);
}

/* Two GPUs and two NICs at equal distance: NVSHMEM gives both the same NIC if its number of a PE on
 * its node is the same for all, as with a unique id under DeepEP
 * (github.com/deepseek-ai/DeepEP/pull/466). Here the rank is no input: every PE computes the map
 * of all from the same rows, and PEs differ by their place in it. */
static void equal_distance(void **state)
{
	(void)state;
	on_gpus("2-gpus-2-nics-1-switch", 2, (int[]){0, 1});
	expect_home(0, "mlx5_0", 1);
	expect_home(1, "mlx5_1", 1);
	on_gpus("2-gpus-2-nics-1-switch", 2, (int[]){0, 0}); /* PEs of one GPU */
	expect_home(0, "mlx5_0", 1);
	expect_home(1, "mlx5_1", 1);
}

/* A GPU has its NIC whichever PE runs on it. */
static void map_follows_gpus(void **state)
{
	(void)state;
	on_gpus("2-gpus-2-nics-1-switch", 4, (int[]){3, 1, 2, 0});
	expect_home(0, "mlx5_3", 1);
	expect_home(1, "mlx5_1", 1);
	expect_home(2, "mlx5_2", 1);
	expect_home(3, "mlx5_0", 1);
}

/* PE 0 could have both NICs, PE 1 only the first one: PE 0 gives way, although it comes first. */
static void one_gives_way(void **state)
{
	(void)state;
	on_gpus("2-gpus-2-nics-1-switch", 2, (int[]){0, 1});
	rows[1].n = 1;
	choose();
	expect_home(0, "mlx5_1", 1);
	expect_home(1, "mlx5_0", 1);
}

/* Two GPUs at equal distance from two ports of one card and one of another: different cards. */
static void cards_before_ports(void **state)
{
	(void)state;
	on_gpus("1-dual-port-card", 2, (int[]){0, 1});
	for (int pe = 0; pe < 2; pe++) {
		offers[pe][2] = offers[pe][1];
		strcpy(offers[pe][2].nic, "mlx5_1");
		strcpy(offers[pe][2].addr, "0000:ff:00.0");
		strcpy(offers[pe][2].card, "another");
		offers[pe][2].port = 1;
		rows[pe].n = 3;
	}
	choose();
	expect_home(0, "mlx5_0", 1);
	expect_home(1, "mlx5_1", 1);
}

/* Even numbers have the next card as stand-by, odd ones the one before. */
static void adjacent_cards(void **state)
{
	static const char *const standbys[] = {"mlx5_3", "mlx5_0", "mlx5_5",  "mlx5_4",
					       "mlx5_9", "mlx5_6", "mlx5_11", "mlx5_10"};

	(void)state;
	on_gpus("dgx-h100", 8, (int[]){0, 1, 2, 3, 4, 5, 6, 7});
	for (int pe = 0; pe < 8; pe++)
		assert_string_equal(picked(pe, picks[pe].standby)->nic, standbys[pe]);
	/* A PE alone has the same. */
	on_gpus("dgx-h100", 1, (int[]){5});
	assert_string_equal(picked(0, picks[0].standby)->nic, standbys[5]);
}

/* Each PE sees its own GPU alone, so each takes other NICs for near ones: what is near to any GPU
 * counts for all. */
static void near_to_any_gpu(void **state)
{
	(void)state;
	on_gpus("storage-on-the-same-cpu", 2, (int[]){0, 1});
	offers[0][2].is_near = 0;
	offers[1][0].is_near = 0;
	choose();
	assert_string_equal(picked(0, picks[0].standby)->nic, "mlx5_2");
	assert_string_equal(picked(1, picks[1].standby)->nic, "mlx5_0");
}

static void maps_that_differ(void **state)
{
	uint64_t hash;

	(void)state;
	on_gpus("dgx-h100", 2, (int[]){0, 1});
	hash = shmemhi_map_hash(rows, picks, 2);
	picks[1].standby = picks[1].home;
	assert_false(hash == shmemhi_map_hash(rows, picks, 2));
	on_gpus("dgx-h100", 2, (int[]){0, 1});
	assert_true(hash == shmemhi_map_hash(rows, picks, 2));
	picks[0].home = -1;
	assert_false(hash == shmemhi_map_hash(rows, picks, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_machines),    cmocka_unit_test(equal_distance),
		cmocka_unit_test(map_follows_gpus),   cmocka_unit_test(one_gives_way),
		cmocka_unit_test(cards_before_ports), cmocka_unit_test(adjacent_cards),
		cmocka_unit_test(near_to_any_gpu),    cmocka_unit_test(maps_that_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
