/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Devices, ports, addresses and domains, as a program of verbs meets them. */
#include "verbs.h"

#include <poll.h>
#include <stdlib.h>

static int host; /* of the caller */

static int hook_host(void *arg)
{
	(void)arg;
	return host;
}

static void each_host_has_its_devices(void **state)
{
	struct ibv_device **list[2];
	int n = -1;

	(void)state;
	mlx5swi_w->hooks.host = hook_host;
	for (host = 0; host < 2; host++) {
		list[host] = ibv_get_device_list(&n);
		assert_int_equal(n, 2);
		assert_null(list[host][2]);
		assert_string_equal(ibv_get_device_name(list[host][0]), "mlx5_0");
		assert_string_equal(ibv_get_device_name(list[host][1]), "mlx5_1");
	}
	host = 0;
	assert_ptr_not_equal(list[0][0], list[1][0]);
	assert_true(ibv_get_device_guid(list[0][0]) != ibv_get_device_guid(list[1][0]));
	assert_true(ibv_get_device_guid(list[0][0]) != ibv_get_device_guid(list[0][1]));
	assert_int_not_equal(ibv_get_device_index(list[0][0]), ibv_get_device_index(list[0][1]));
	assert_string_equal(list[0][1]->dev_name, "uverbs1");
	assert_string_equal(list[0][1]->ibdev_path, "/sys/class/infiniband/mlx5_1");
	assert_int_equal(list[0][0]->node_type, IBV_NODE_CA);
	ibv_free_device_list(list[0]);
	ibv_free_device_list(list[1]);
}

static void is_supported(void **state)
{
	struct ibv_device strange = {.name = "mlx5_0"};
	struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
	struct ibv_context *second;

	(void)state;
	assert_true(mlx5dv_is_supported(ctx->device));
	assert_false(mlx5dv_is_supported(&strange));
	assert_non_null(second = mlx5dv_open_device(ctx->device, &attr));
	assert_int_equal(ibv_close_device(second), 0);
	attr.flags = 2;
	REFUSED(mlx5dv_open_device(ctx->device, &attr), EINVAL, "flags");
}

/* Trap: inline verbs look for the extended context in front of the plain one, by its size. */
static void trap_extended_context(void **state)
{
	(void)state;
	assert_ptr_equal(ctx->abi_compat, __VERBS_ABI_IS_EXTENDED);
	assert_int_equal(verbs_get_ctx(ctx)->sz, sizeof(struct verbs_context));
	assert_non_null(verbs_get_ctx_op(ctx, query_port));
	assert_non_null(verbs_get_ctx_op(ctx, create_cq_ex));
	assert_null(verbs_get_ctx_op(ctx, create_flow_action_esp)); /* zero: not modelled */
}

/* Trap: these jump through context->ops, where there must be something. */
static void trap_no_posting(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 3, NULL, NULL, 0);
	struct ibv_qp qp = {.context = ctx};
	struct ibv_send_wr send = {0}, *bad_send = NULL;
	struct ibv_recv_wr recv = {0}, *bad_recv = NULL;
	struct ibv_poll_cq_attr poll_attr = {0};
	struct ibv_wc wc;

	(void)state;
	errno = 0;
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), -EOPNOTSUPP);
	expect_refusal(EOPNOTSUPP, "ibv_poll_cq");
	assert_int_equal(ibv_post_send(&qp, &send, &bad_send), EOPNOTSUPP);
	assert_ptr_equal(bad_send, &send);
	assert_non_null(strstr(mlx5swi_refusal(), "mlx5dv_init_obj"));
	assert_int_equal(ibv_post_recv(&qp, &recv, &bad_recv), EOPNOTSUPP);
	assert_ptr_equal(bad_recv, &recv);
	assert_int_equal(ibv_req_notify_cq(cq, 0), EOPNOTSUPP);
	assert_int_equal(ibv_start_poll((struct ibv_cq_ex *)cq, &poll_attr), EOPNOTSUPP);
}

/* Trap: programs ask by the inline wrapper, old ones by a symbol with a shorter structure. */
static void trap_query_port(void **state)
{
	struct ibv_port_attr attr, old;

	(void)state;
	memset(&attr, 0xa5, sizeof(attr));
	assert_int_equal(ibv_query_port(ctx, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.active_mtu, IBV_MTU_4096);
	assert_int_equal(attr.gid_tbl_len, 4);
	assert_int_equal(attr.max_msg_sz, 1 << 30);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.lid, 0);
	memset(&old, 0xa5, sizeof(old));
#undef ibv_query_port
	assert_int_equal(ibv_query_port(ctx, 1, (struct _compat_ibv_port_attr *)&old), 0);
#define ibv_query_port(context, port_num, port_attr) ___ibv_query_port(context, port_num, port_attr)
	assert_memory_equal(&old, &attr, offsetof(struct ibv_port_attr, port_cap_flags2));
	assert_int_equal(old.port_cap_flags2, 0xa5a5); /* not one byte more */
	FAILED(ibv_query_port(ctx, 0, &attr), EINVAL, "port 0");
	FAILED(ibv_query_port(ctx, 2, &attr), EINVAL, "port 2");
	mlx5swi_port_set(&mlx5swi_context_of(ctx)->dev->port, 0);
	assert_int_equal(ibv_query_port(ctx, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_DOWN);
}

static void query_device(void **state)
{
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex ex;
	struct ibv_query_device_ex_input input = {.comp_mask = 0};

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_int_equal(attr.vendor_id, 0x2c9);
	assert_int_equal(attr.max_qp_rd_atom, 16);
	assert_int_equal(attr.max_qp_wr, 32768);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_true(attr.node_guid == ibv_get_device_guid(ctx->device));
	memset(&ex, 0xa5, sizeof(ex));
	assert_int_equal(ibv_query_device_ex(ctx, &input, &ex), 0);
	assert_memory_equal(&ex.orig_attr, &attr, sizeof(attr));
	assert_int_equal(ex.phys_port_cnt_ex, 1);
	assert_int_equal(ex.pci_atomic_caps.fetch_add, 0);
}

static void mlx5dv_says_what_was_asked_for(void **state)
{
	struct mlx5dv_context attr = {.comp_mask = MLX5DV_CONTEXT_MASK_DYN_BFREGS |
						   MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD};

	(void)state;
	assert_int_equal(mlx5dv_query_device(ctx, &attr), 0);
	assert_int_equal(attr.flags, MLX5DV_CONTEXT_FLAGS_CQE_V1);
	assert_int_equal(attr.comp_mask, MLX5DV_CONTEXT_MASK_DYN_BFREGS);
	assert_true(attr.max_dynamic_bfregs > 0);
}

static void gids_of_ethernet(void **state)
{
	static const uint32_t types[] = {IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2,
					 IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2};
	struct ibv_gid_entry entry, table[8];
	union ibv_gid gid;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(ibv_query_gid_ex(ctx, 1, i, &entry, 0), 0);
		assert_int_equal(entry.gid_type, types[i]);
		assert_int_equal(entry.gid_index, i);
		assert_int_equal(entry.port_num, 1);
		assert_int_equal(ibv_query_gid(ctx, 1, (int)i, &gid), 0);
		assert_memory_equal(gid.raw, entry.gid.raw, 16);
	}
	assert_memory_equal(gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a", 13); /* ::ffff:10. */
	assert_int_equal(ibv_query_gid(ctx, 1, 0, &gid), 0);
	assert_memory_equal(gid.raw, "\xfe\x80\0\0\0\0\0\0", 8);
	assert_int_equal(ibv_query_gid_table(ctx, table, 8, 0), 4);
	assert_int_equal(ibv_query_gid_table(ctx, table, 3, 0), 3);
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

/* Links read the process of a port from its GID, and a program its MAC, without asking anybody. */
static void address_says_where_it_is(void **state)
{
	static const mlx5swi_place_t tcp = {
		.is_tcp = 1, .ipv4 = {192, 168, 7, 9}, .tcp_port = 4711};
	mlx5swi_port_t port;
	mlx5swi_place_t place;
	uint8_t mac[6], wanted[6], gids[4][16];

	(void)state;
	for (uint32_t h = 0; h < MLX5SWI_MAX_HOSTS; h += 9) {
		mlx5swi_device_t dev = {.host = h, .index = 1};

		memset(&port, 0, sizeof(port));
		port.dev = &dev;
		mlx5swi_port_init(&port);
		mlx5swi_w->has_thread = 1; /* others are elsewhere */
		for (int i = 0; i < 4; i++) {
			assert_int_equal(mlx5swi_gid_place(port.gids[i].raw, &place), 0);
			assert_int_equal(place.host, h);
			assert_int_equal(mlx5swi_resolve(port.gids[i].raw, mac), 0);
			assert_memory_equal(mac, port.mac, 6);
		}
		mlx5swi_w->has_thread = 0;
	}
	mlx5swi_w->place = tcp;
	mlx5swi_port_init(&mlx5swi_w->devices[1].port);
	memcpy(wanted, mlx5swi_w->devices[1].port.mac, 6);
	for (int i = 0; i < 4; i++)
		memcpy(gids[i], mlx5swi_w->devices[1].port.gids[i].raw, 16);
	memset(&mlx5swi_w->devices[1].port.gids, 0, sizeof(mlx5swi_w->devices[1].port.gids));
	assert_int_equal(mlx5swi_gid_place(gids[3], &place), 0);
	assert_true(place.is_tcp && place.tcp_port == 4711);
	assert_memory_equal(place.ipv4, tcp.ipv4, 4);
	mlx5swi_w->has_thread = 1;
	assert_int_equal(mlx5swi_resolve(gids[3], mac), 0);
	assert_memory_equal(mac, wanted, 6);
	mlx5swi_w->has_thread = 0;
	assert_int_equal(mlx5swi_resolve(gids[3], mac), ENOENT); /* all are here, and not that */
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

/* Address handles */

/* Of host 1's mlx5_0, as from host 0's. */
static struct ibv_ah_attr good_address(void)
{
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1, .sl = 3, .static_rate = 7};

	a.grh.sgid_index = 3;
	a.grh.hop_limit = 255;
	a.grh.traffic_class = 0x68;
	a.grh.flow_label = 0x12345;
	memcpy(a.grh.dgid.raw, mlx5swi_device(1, 0)->port.gids[3].raw, 16);
	return a;
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
	a.grh.sgid_index = 2; /* v1 has no UDP */
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

/* Trap: a program shipped an address with a static_rate that nobody had set. */
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

static void s12_uninitialised_structures(void **state)
{
	struct ibv_ah_attr ah;
	struct ibv_cq_init_attr_ex cq;
	struct ibv_parent_domain_init_attr parent;
	struct ibv_td_init_attr td;
	struct mlx5dv_devx_umem_in umem;
	struct ibv_qp_init_attr_ex qp;

	(void)state;
	memset(&ah, 0xa5, sizeof(ah));
	memset(&cq, 0xa5, sizeof(cq));
	memset(&parent, 0xa5, sizeof(parent));
	memset(&td, 0xa5, sizeof(td));
	memset(&umem, 0xa5, sizeof(umem));
	memset(&qp, 0xa5, sizeof(qp));
	REFUSED(ibv_create_ah(pd, &ah), EINVAL, "port_num");
	REFUSED(ibv_create_cq_ex(ctx, &cq), EINVAL, "CQ");
	REFUSED(ibv_alloc_parent_domain(ctx, &parent), EINVAL, "comp_mask");
	REFUSED(ibv_alloc_td(ctx, &td), EINVAL, "comp_mask");
	REFUSED(mlx5dv_devx_umem_reg_ex(ctx, &umem), EOPNOTSUPP, "comp_mask");
	REFUSED(ibv_create_qp_ex(ctx, &qp), EOPNOTSUPP, "QP type");
}

/* Domains, and the order in which things go */

static void s6_nothing_goes_before_its_children(void **state)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_td *td = ibv_alloc_td(ctx, &none);
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = td};
	struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &attr);
	struct ibv_ah_attr a = good_address();
	struct ibv_ah *ah = ibv_create_ah(parent, &a);
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 3, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &cq_attr);

	(void)state;
	FAILED(ibv_dealloc_pd(pd), EBUSY, "left in it");
	FAILED(ibv_dealloc_pd(parent), EBUSY, "left in it");
	FAILED(ibv_dealloc_td(td), EBUSY, "parent domains");
	FAILED(ibv_close_device(ctx), EBUSY, "are left");
	assert_int_equal(ibv_destroy_ah(ah), 0);
	FAILED(ibv_dealloc_pd(parent), EBUSY, "left in it"); /* the CQ's allocator */
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	FAILED(ibv_close_device(ctx), EBUSY, "are left");
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void numbers_of_domains(void **state)
{
	struct ibv_parent_domain_init_attr attr = {.pd = pd};
	struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &attr), *second = ibv_alloc_pd(ctx);
	struct mlx5dv_pd out[3];
	struct ibv_pd *in[] = {pd, parent, second};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct mlx5dv_obj obj = {.pd = {.in = in[i], .out = &out[i]}};

		assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	}
	assert_int_equal(out[0].pdn, out[1].pdn);
	assert_int_not_equal(out[0].pdn, out[2].pdn);
	attr.pd = parent;
	REFUSED(ibv_alloc_parent_domain(ctx, &attr), EINVAL, "not one itself");
	attr.pd = NULL;
	REFUSED(ibv_alloc_parent_domain(ctx, &attr), EINVAL, "needs a protection domain");
	attr.pd = pd;
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	REFUSED(ibv_alloc_parent_domain(ctx, &attr), EINVAL, "both alloc and free");
}

static void init_obj_refuses(void **state)
{
	struct mlx5dv_obj obj = {0};

	(void)state;
	FAILED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), EOPNOTSUPP, "types");
	FAILED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ), EOPNOTSUPP, "types");
	FAILED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM), EOPNOTSUPP, "types");
	FAILED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), EINVAL, "without in and out");
	REFUSED(ibv_create_srq(pd, NULL), EOPNOTSUPP, "ibv_create_srq");
}

static void device_that_failed(void **state)
{
	struct ibv_ah_attr a = good_address();
	struct ibv_async_event e;
	char answer[64];

	(void)state;
	assert_int_equal(mlx5sw_control("device fatal mlx5_0", answer, sizeof(answer)), 0);
	REFUSED(ibv_alloc_pd(ctx), EIO, "failed");
	REFUSED(ibv_create_ah(pd, &a), EIO, "failed");
	REFUSED(ibv_create_cq(ctx, 3, NULL, NULL, 0), EIO, "failed");
	REFUSED(ibv_reg_mr(pd, answer, sizeof(answer), 0), EIO, "failed");
	REFUSED(mlx5dv_devx_alloc_uar(ctx, 0), EIO, "failed");
	assert_int_equal(ibv_get_async_event(ctx, &e), 0);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_dealloc_pd(pd), 0); /* what there is can go */
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void event_queues(void **state)
{
	uint32_t eqn = 0;

	(void)state;
	assert_int_equal(mlx5dv_devx_query_eqn(ctx, 0, &eqn), 0);
	assert_int_equal(eqn, MLX5SWI_EQN);
	FAILED(mlx5dv_devx_query_eqn(ctx, 1, &eqn), EINVAL, "vector 1");
}

static void words(void **state)
{
	(void)state;
	assert_string_equal(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR),
			    "transport retry counter exceeded");
	assert_string_equal(ibv_wc_status_str((enum ibv_wc_status)99), "unknown");
	assert_string_equal(ibv_event_type_str(IBV_EVENT_PORT_ERR), "port error");
	assert_string_equal(ibv_event_type_str((enum ibv_event_type)99), "unknown");
	assert_string_equal(ibv_port_state_str(IBV_PORT_DOWN), "down");
	assert_string_equal(ibv_port_state_str((enum ibv_port_state) - 1), "unknown");
	assert_string_equal(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

/* A fabric may end with everything still there: a scheduler stops where it likes. */
static void s6_abandoned_objects(void **state)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = ibv_alloc_td(ctx, &none)};
	struct ibv_ah_attr a = good_address();

	assert_non_null(ibv_create_ah(ibv_alloc_parent_domain(ctx, &attr), &a));
	assert_non_null(ibv_create_cq(ctx, 3, NULL, NULL, 0));
	assert_non_null(mlx5dv_devx_create_event_channel(
		ctx, (enum mlx5dv_devx_create_event_channel_flags)0));
	mlx5swi_port_set(&mlx5swi_context_of(ctx)->dev->port, 0);
	fabric_setup(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fabric_setup, fabric_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_host_has_its_devices),
		TEST(is_supported),
		TEST(trap_extended_context),
		TEST(trap_no_posting),
		TEST(trap_query_port),
		TEST(query_device),
		TEST(mlx5dv_says_what_was_asked_for),
		TEST(gids_of_ethernet),
		TEST(gids_of_infiniband),
		TEST(addresses_differ),
		TEST(address_says_where_it_is),
		TEST(pkeys),
		TEST(address_vector_of_roce),
		TEST(address_vector_of_infiniband),
		TEST(trap_address_ranges),
		TEST(s12_uninitialised_structures),
		TEST(s6_nothing_goes_before_its_children),
		TEST(numbers_of_domains),
		TEST(init_obj_refuses),
		TEST(device_that_failed),
		TEST(event_queues),
		TEST(words),
		TEST(s6_abandoned_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
