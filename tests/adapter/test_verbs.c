/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Devices, ports and domains, as a program of verbs uses them. */
#include "verbs.h"

static int host; /* host of the caller */

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

/* Trap: inline functions of verbs.h find the extended context before the plain one, by its size. */
static void trap_extended_context(void **state)
{
	(void)state;
	assert_ptr_equal(ctx->abi_compat, __VERBS_ABI_IS_EXTENDED);
	assert_int_equal(verbs_get_ctx(ctx)->sz, sizeof(struct verbs_context));
	assert_non_null(verbs_get_ctx(ctx)->query_port);
	assert_non_null(verbs_get_ctx(ctx)->create_cq_ex);
	assert_null(verbs_get_ctx(ctx)->create_flow_action_esp); /* zero: not modelled */
}

/* Trap: these functions call through context->ops, which must be set. */
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

static void mlx5dv_returns_requested_fields(void **state)
{
	struct mlx5dv_context attr = {.comp_mask = MLX5DV_CONTEXT_MASK_DYN_BFREGS |
						   MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD};

	(void)state;
	assert_int_equal(mlx5dv_query_device(ctx, &attr), 0);
	assert_int_equal(attr.flags, MLX5DV_CONTEXT_FLAGS_CQE_V1);
	assert_int_equal(attr.comp_mask, MLX5DV_CONTEXT_MASK_DYN_BFREGS);
	assert_true(attr.max_dynamic_bfregs > 0);
}

static void uninitialised_structures(void **state)
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

static void objects_in_use_are_not_destroyed(void **state)
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
	REFUSED(ibv_alloc_parent_domain(ctx, &attr), EINVAL, "is not a parent domain itself");
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
	assert_int_equal(ibv_dealloc_pd(pd), 0); /* existing objects can be destroyed */
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

/* A fabric may end with all objects existing: a scheduler stops at any point. */
static void abandoned_objects(void **state)
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
		TEST(mlx5dv_returns_requested_fields),
		TEST(uninitialised_structures),
		TEST(objects_in_use_are_not_destroyed),
		TEST(numbers_of_domains),
		TEST(init_obj_refuses),
		TEST(device_that_failed),
		TEST(event_queues),
		TEST(words),
		TEST(abandoned_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
