/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* GID tables, MACs, P_Keys, and address handles. */
#include "verbs.h"

static void gids_of_ethernet(void **state)
{
	static const uint32_t types[] = {IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2,
					 IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2};
	int ibv_query_gid_type(struct ibv_context *, uint8_t, unsigned, int *); /* not in verbs.h */
	struct ibv_gid_entry entry, table[8];
	union ibv_gid gid;
	int type;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(ibv_query_gid_ex(ctx, 1, i, &entry, 0), 0);
		assert_int_equal(entry.gid_type, types[i]);
		assert_int_equal(entry.gid_index, i);
		assert_int_equal(entry.port_num, 1);
		assert_int_equal(ibv_query_gid_type(ctx, 1, i, &type), 0);
		assert_int_equal(type, types[i] == IBV_GID_TYPE_ROCE_V2);
		assert_int_equal(ibv_query_gid(ctx, 1, (int)i, &gid), 0);
		assert_memory_equal(gid.raw, entry.gid.raw, 16);
	}
	assert_memory_equal(gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a", 13); /* ::ffff:10. */
	assert_int_equal(ibv_query_gid(ctx, 1, 0, &gid), 0);
	assert_memory_equal(gid.raw, "\xfe\x80\0\0\0\0\0\0", 8);
	assert_int_equal(ibv_query_gid_table(ctx, table, 8, 0), 4);
	assert_int_equal(ibv_query_gid_table(ctx, table, 3, 0), 3);
	assert_int_equal(ibv_query_gid_type(ctx, 1, 4, &type), -1);
	expect_refusal(EINVAL, "GID index 4");
	FAILED(ibv_query_gid_ex(ctx, 1, 4, &entry, 0), EINVAL, "GID index 4");
	FAILED(ibv_query_gid_ex(ctx, 1, 0, &entry, 1), EINVAL, "flags");
	assert_int_equal(ibv_query_gid(ctx, 2, 0, &gid), -1);
	expect_refusal(EINVAL, "port 2");
}

static void gids_of_infiniband(void **state)
{
	struct ibv_port_attr attr;
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	uint8_t mac[6];

	(void)state;
	fabric_open(MLX5SW_INFINIBAND);
	assert_int_equal(ibv_query_port(ctx, 1, &attr), 0);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_INFINIBAND);
	assert_int_not_equal(attr.lid, 0);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 0, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_IB);
	FAILED(ibv_query_gid_ex(ctx, 1, 1, &entry, 0), ENODATA, "not in use");
	assert_int_equal(ibv_query_gid(ctx, 1, 1, &gid), 0); /* zero, as in sysfs */
	assert_true(gid.global.interface_id == 0);
	assert_int_equal(mlx5swi_resolve(gid.raw, mac), ENOENT); /* belongs to no port */
}

static void addresses_differ(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t k = 0; k < i; k++) {
			const mlx5swi_port_t *a = &mlx5swi_w->devices[i].port;
			const mlx5swi_port_t *b = &mlx5swi_w->devices[k].port;

			assert_memory_not_equal(a->mac, b->mac, 6);
			assert_memory_not_equal(a->gids[0].raw, b->gids[0].raw, 16);
			assert_memory_not_equal(a->gids[3].raw, b->gids[3].raw, 16);
		}
}

/* Links derive the host of a port from its GID, and programs its MAC, without a query. */
static void expect_derived(const mlx5swi_port_t *port)
{
	mlx5swi_place_t place;
	uint8_t mac[6];

	for (int i = 0; i < 4; i++) {
		assert_int_equal(mlx5swi_gid_place(port->gids[i].raw, &place), 0);
		assert_int_equal(place.host, port->dev->host);
		assert_int_equal(mlx5swi_resolve(port->gids[i].raw, mac), 0);
		assert_memory_equal(mac, port->mac, 6);
	}
}

static void process_is_derived_from_the_address(void **state)
{
	(void)state;
	mlx5swi_w->has_thread = 1; /* other ports belong to other processes */
	for (uint32_t h = 0; h < MLX5SWI_MAX_HOSTS; h += 9) {
		mlx5swi_device_t dev = {.host = h, .index = 1};
		mlx5swi_port_t port = {.dev = &dev};

		mlx5swi_port_init(&port);
		expect_derived(&port);
		mlx5swi_port_change_gids(&port);
		expect_derived(&port);
	}
}

static void tcp_address_is_derived_from_the_gid(void **state)
{
	static const mlx5swi_place_t tcp = {
		.is_tcp = 1, .ipv4 = {192, 168, 7, 9}, .tcp_port = 4711};
	mlx5swi_device_t dev = {.index = 1};
	mlx5swi_port_t port = {.dev = &dev};
	mlx5swi_place_t place;
	uint8_t mac[6];

	(void)state;
	mlx5swi_w->places[0] = tcp;
	mlx5swi_port_init(&port);
	for (int is_changed = 0; is_changed < 2; is_changed++) {
		mlx5swi_w->has_thread = 1;
		assert_int_equal(mlx5swi_gid_place(port.gids[3].raw, &place), 0);
		assert_true(place.is_tcp && place.tcp_port == 4711);
		assert_memory_equal(place.ipv4, tcp.ipv4, 4);
		assert_int_equal(mlx5swi_resolve(port.gids[3].raw, mac), 0);
		assert_memory_equal(mac, port.mac, 6);
		mlx5swi_w->has_thread = 0;
		/* every port is in this process, and none has this GID */
		assert_int_equal(mlx5swi_resolve(port.gids[3].raw, mac), ENOENT);
		mlx5swi_port_change_gids(&port);
	}
}

/* An address that no port of this fabric can have has no MAC. */
static void unknown_addresses_have_no_mac(void **state)
{
	static const uint8_t by_tcp[16] = {0xfd, [9] = 0, 18, 103, 10, 0, 0, 1};
	static const uint8_t host_64[16] = {[10] = 0xff, 0xff, 10, 0, 0, 65};
	static const uint8_t host_64_changed[16] = {[10] = 0xff, 0xff, 10, 0, 0, 65 | 0x80};
	static const uint8_t host_63[16] = {[10] = 0xff, 0xff, 10, 0, 0, 64};
	static const uint8_t no_eui[16] = {0xfe, 0x80, [8] = 0, 0xc5, 0, 0xff, 0, 0, 0, 9};
	static const uint8_t global[16] = {0x20, 0x01, [15] = 9};
	mlx5swi_place_t place;
	uint8_t mac[6];

	(void)state;
	mlx5swi_w->has_thread = 1;
	assert_int_equal(mlx5swi_resolve(host_63, mac), 0);
	assert_int_equal(mlx5swi_resolve(host_64, mac), ENOENT);
	assert_int_equal(mlx5swi_resolve(host_64_changed, mac), ENOENT);
	/* the other processes are connected by shared memory */
	assert_int_equal(mlx5swi_resolve(by_tcp, mac), ENOENT);
	assert_int_equal(mlx5swi_resolve(no_eui, mac), ENOENT);
	assert_int_equal(mlx5swi_resolve(global, mac), ENOENT);
	assert_int_equal(mlx5swi_gid_place(global, &place), ENOENT);
	mlx5swi_w->places[0].is_tcp = 1;
	assert_int_equal(mlx5swi_resolve(by_tcp, mac), 0);
	assert_int_equal(mlx5swi_resolve(host_63, mac), ENOENT);
}

/* Processes of one machine share an IP address and differ by TCP port. */
static void macs_of_one_machine(void **state)
{
	uint8_t mac[4][6], gid[16] = {0xfd, [9] = 0, 18, 103, 10, 0, 0, 1};

	(void)state;
	mlx5swi_w->has_thread = mlx5swi_w->places[0].is_tcp = 1;
	for (int i = 0; i < 4; i++) {
		gid[9] = i == 1;
		gid[10] = i == 2 ? 19 : 18;
		gid[11] = i == 3 ? 104 : 103;
		assert_int_equal(mlx5swi_resolve(gid, mac[i]), 0);
		for (int k = 0; k < i; k++)
			assert_memory_not_equal(mac[i], mac[k], 6);
	}
}

static void pkeys(void **state)
{
	__be16 pkey;

	(void)state;
	assert_int_equal(ibv_query_pkey(ctx, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, pkey), 0);
	assert_int_equal(ibv_query_pkey(ctx, 1, 1, &pkey), -1);
	expect_refusal(EINVAL, "P_Key index 1");
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htobe16(0x8001)), -1);
	expect_refusal(ENOENT, "P_Key 0x8001");
}

static const struct mlx5_wqe_av *av_of(struct ibv_ah *ah)
{
	struct mlx5dv_ah out = {.comp_mask = 77};
	struct mlx5dv_obj obj = {.ah = {.in = ah, .out = &out}};

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
	assert_int_equal(out.comp_mask, 0);
	return out.av;
}

static void address_vector_of_roce(void **state)
{
	struct ibv_ah_attr a = good_address();
	const struct mlx5_wqe_av *av;
	struct ibv_ah *ah;

	(void)state;
	assert_non_null(ah = ibv_create_ah(pd, &a));
	av = av_of(ah);
	assert_memory_equal(av->rmac, mlx5swi_device(1, 0)->port.mac, 6);
	assert_memory_equal(av->rgid, a.grh.dgid.raw, 16);
	assert_int_equal(av->stat_rate_sl, 12 << 4 | 3 << 1); /* 40 Gb/s is 12 of mlx5 */
	assert_int_equal(be16toh(av->rlid), 0xc000 | ((0x2345 ^ 0x12345 >> 14) & 0x3fff));
	assert_int_equal(av->tclass, 0x68);
	assert_int_equal(av->hop_limit, 255);
	assert_int_equal(be32toh(av->grh_gid_fl), 3 << 20 | 0x12345); /* GRH bit reserved */
	assert_int_equal(ibv_destroy_ah(ah), 0);
	a.grh.flow_label = 0;
	assert_non_null(ah = ibv_create_ah(pd, &a));
	assert_int_equal(be16toh(av_of(ah)->rlid), 0xc000);
	a.grh.sgid_index = 2; /* RoCE v1 has no UDP port */
	assert_non_null(ah = ibv_create_ah(pd, &a));
	assert_int_equal(be16toh(av_of(ah)->rlid), 0);
}

static void address_vector_of_infiniband(void **state)
{
	struct ibv_ah_attr a = {.dlid = 17, .sl = 15, .port_num = 1};
	struct ibv_ah *ah;

	(void)state;
	fabric_open(MLX5SW_INFINIBAND);
	assert_non_null(ah = ibv_create_ah(pd, &a));
	assert_int_equal(be16toh(av_of(ah)->rlid), 17);
	assert_int_equal(av_of(ah)->stat_rate_sl, 15);
	a.dlid = 0;
	REFUSED(ibv_create_ah(pd, &a), EINVAL, "dlid");
	a.dlid = 0xc000;
	REFUSED(ibv_create_ah(pd, &a), EINVAL, "dlid");
	a.dlid = 17;
	a.sl = 16;
	REFUSED(ibv_create_ah(pd, &a), EINVAL, "sl");
	a.sl = 0;
	a.is_global = 1;
	assert_non_null(ah = ibv_create_ah(pd, &a));
	assert_int_equal(be32toh(av_of(ah)->grh_gid_fl), 1u << 30);
	a.grh.sgid_index = 1; /* not in use */
	REFUSED(ibv_create_ah(pd, &a), EINVAL, "sgid_index");
}

/* The kernel refuses an address without GRH on a port with IBV_QPF_GRH_REQUIRED. */
static void grh_required_on_infiniband(void **state)
{
	struct ibv_ah_attr a = {.dlid = 17, .port_num = 1};
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	struct ibv_port_attr attr;

	(void)state;
	for (int is_required = 0; is_required <= 1; is_required++) {
		cfg.link_layer = MLX5SW_INFINIBAND;
		cfg.requires_grh = (uint8_t)is_required;
		fabric_open_with(&cfg);
		assert_int_equal(ibv_query_port(ctx, 1, &attr), 0);
		assert_int_equal(attr.flags, is_required); /* IBV_QPF_GRH_REQUIRED is 1 */
		a.is_global = 0;
		if (is_required)
			REFUSED(ibv_create_ah(pd, &a), EINVAL, "GRH");
		else
			assert_non_null(ibv_create_ah(pd, &a));
		a.is_global = 1;
		assert_non_null(ibv_create_ah(pd, &a));
	}
}

/* Trap: a program used an address with an uninitialised static_rate. */
static void trap_address_ranges(void **state)
{
	struct ibv_ah_attr a;

	(void)state;
#define BAD(field, value, err, text)                                                               \
	do {                                                                                       \
		a = good_address();                                                                \
		a.field = value;                                                                   \
		REFUSED(ibv_create_ah(pd, &a), err, text);                                         \
	} while (0)
	BAD(static_rate, 1, EINVAL, "static_rate");
	BAD(static_rate, 25, EINVAL, "static_rate");
	BAD(static_rate, 0xa5, EINVAL, "static_rate");
	BAD(sl, 8, EINVAL, "sl");
	BAD(port_num, 0, EINVAL, "port_num");
	BAD(port_num, 2, EINVAL, "port_num");
	BAD(is_global, 0, EINVAL, "is_global");
	BAD(is_global, 2, EINVAL, "is_global");
	BAD(grh.sgid_index, 4, EINVAL, "sgid_index");
	BAD(grh.flow_label, 0x100000, EINVAL, "flow_label");
	BAD(grh.dgid.raw[15], 77, EHOSTUNREACH, "dgid");
	a = good_address();
	memset(a.grh.dgid.raw, 0, 16);
	REFUSED(ibv_create_ah(pd, &a), EHOSTUNREACH, "dgid");
#undef BAD
}

static int teardown(void **state)
{
	mlx5swi_w->has_thread = 0; /* some tests set it */
	return fabric_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fabric_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gids_of_ethernet),
		TEST(gids_of_infiniband),
		TEST(addresses_differ),
		TEST(process_is_derived_from_the_address),
		TEST(tcp_address_is_derived_from_the_gid),
		TEST(unknown_addresses_have_no_mac),
		TEST(macs_of_one_machine),
		TEST(pkeys),
		TEST(address_vector_of_roce),
		TEST(address_vector_of_infiniband),
		TEST(grh_required_on_infiniband),
		TEST(trap_address_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
