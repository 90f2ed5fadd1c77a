/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The shared object in the place of libibverbs and libmlx5: entry points are found by name and
 * version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <dlfcn.h>
#include <cmocka.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* The entry points that runtimes look up, with their library and version in rdma-core. */
static const struct {
	const char *name, *version;
} symbols[] = {
	{"ibv_get_device_list", "IBVERBS_1.1"},
	{"ibv_free_device_list", "IBVERBS_1.1"},
	{"ibv_get_device_name", "IBVERBS_1.1"},
	{"ibv_get_device_guid", "IBVERBS_1.1"},
	{"ibv_get_device_index", "IBVERBS_1.9"},
	{"ibv_open_device", "IBVERBS_1.1"},
	{"ibv_close_device", "IBVERBS_1.1"},
	{"ibv_query_device", "IBVERBS_1.1"},
	{"ibv_query_port", "IBVERBS_1.1"},
	{"ibv_query_gid", "IBVERBS_1.1"},
	{"ibv_query_pkey", "IBVERBS_1.1"},
	{"ibv_get_pkey_index", "IBVERBS_1.5"},
	{"_ibv_query_gid_ex", "IBVERBS_1.11"},
	{"_ibv_query_gid_table", "IBVERBS_1.11"},
	{"ibv_query_gid_type", "IBVERBS_PRIVATE_34"}, /* used by ibv_devinfo */
	{"ibv_alloc_pd", "IBVERBS_1.1"},
	{"ibv_dealloc_pd", "IBVERBS_1.1"},
	{"ibv_reg_mr", "IBVERBS_1.1"},
	{"ibv_reg_mr_iova", "IBVERBS_1.7"},
	{"ibv_reg_mr_iova2", "IBVERBS_1.8"},
	{"ibv_reg_dmabuf_mr", "IBVERBS_1.12"},
	{"ibv_dereg_mr", "IBVERBS_1.1"},
	{"ibv_create_cq", "IBVERBS_1.1"},
	{"ibv_destroy_cq", "IBVERBS_1.1"},
	{"ibv_create_srq", "IBVERBS_1.1"},
	{"ibv_destroy_srq", "IBVERBS_1.1"},
	{"ibv_create_qp", "IBVERBS_1.1"},
	{"ibv_modify_qp", "IBVERBS_1.1"},
	{"ibv_query_qp", "IBVERBS_1.1"},
	{"ibv_destroy_qp", "IBVERBS_1.1"},
	{"ibv_qp_to_qp_ex", "IBVERBS_1.6"},
	{"ibv_query_qp_data_in_order", "IBVERBS_1.14"},
	{"ibv_create_ah", "IBVERBS_1.1"},
	{"ibv_destroy_ah", "IBVERBS_1.1"},
	{"ibv_get_async_event", "IBVERBS_1.1"},
	{"ibv_ack_async_event", "IBVERBS_1.1"},
	{"ibv_event_type_str", "IBVERBS_1.1"},
	{"ibv_wc_status_str", "IBVERBS_1.1"},
	{"ibv_port_state_str", "IBVERBS_1.1"},
	{"ibv_node_type_str", "IBVERBS_1.1"},
	{"ibv_fork_init", "IBVERBS_1.1"},
	{"ibv_is_fork_initialized", "IBVERBS_1.13"},
	{"mlx5dv_query_device", "MLX5_1.0"},
	{"mlx5dv_init_obj", "MLX5_1.2"},
	{"mlx5dv_create_qp", "MLX5_1.3"},
	{"mlx5dv_open_device", "MLX5_1.7"},
	{"mlx5dv_devx_alloc_uar", "MLX5_1.7"},
	{"mlx5dv_devx_free_uar", "MLX5_1.7"},
	{"mlx5dv_devx_umem_reg", "MLX5_1.7"},
	{"mlx5dv_devx_umem_reg_ex", "MLX5_1.19"},
	{"mlx5dv_devx_umem_dereg", "MLX5_1.7"},
	{"mlx5dv_devx_query_eqn", "MLX5_1.7"},
	{"mlx5dv_devx_general_cmd", "MLX5_1.7"},
	{"mlx5dv_devx_obj_create", "MLX5_1.7"},
	{"mlx5dv_devx_obj_query", "MLX5_1.7"},
	{"mlx5dv_devx_obj_modify", "MLX5_1.7"},
	{"mlx5dv_devx_obj_destroy", "MLX5_1.7"},
	{"mlx5dv_is_supported", "MLX5_1.8"},
	{"mlx5dv_devx_qp_query", "MLX5_1.8"},
	{"mlx5dv_devx_qp_modify", "MLX5_1.8"},
	{"mlx5dv_devx_cq_query", "MLX5_1.8"},
	{"mlx5dv_devx_create_event_channel", "MLX5_1.11"},
	{"mlx5dv_devx_destroy_event_channel", "MLX5_1.11"},
	{"mlx5dv_devx_subscribe_devx_event", "MLX5_1.11"},
	{"mlx5dv_devx_subscribe_devx_event_fd", "MLX5_1.11"},
	{"mlx5dv_devx_get_event", "MLX5_1.11"},
	{"mlx5dv_reg_dmabuf_mr", "MLX5_1.25"},
	{"mlx5dv_get_data_direct_sysfs_path", "MLX5_1.25"},
};

static const char *const own[] = {
	"mlx5sw_start",       "mlx5sw_step",        "mlx5sw_next_time",
	"mlx5sw_stop",        "mlx5sw_bind_dmabuf", "mlx5sw_control",
	"mlx5sw_qp_counters", "mlx5sw_report",      "mlx5sw_failed",
};

static void *adapter;

static void trap_symbol_versions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *p = dlsym(adapter, symbols[i].name);

		if (!p || dlvsym(adapter, symbols[i].name, symbols[i].version) != p)
			fail_msg("%s does not exist at version %s", symbols[i].name,
				 symbols[i].version);
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!dlvsym(adapter, own[i], "MLX5SW_0"))
			fail_msg("%s does not exist", own[i]);
	assert_null(dlsym(adapter, "mlx5swi_world_ready"));
}

/* A process may have loaded libibverbs with global symbols before it loads the adapter. The
 * adapter's entry points call each other, and must not reach those of libibverbs. */
static void trap_libibverbs_is_loaded(void **state)
{
	struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
	struct ibv_device **list, **(*get)(int *);
	void (*give_back)(struct ibv_device **);
	struct ibv_context *ctx, *(*open)(struct ibv_device *, struct mlx5dv_context_attr *);
	struct ibv_pd *pd, *(*alloc)(struct ibv_context *);
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, size_t, int);
	static char memory[4096];

	(void)state;
	*(void **)&get = dlsym(adapter, "ibv_get_device_list");
	*(void **)&give_back = dlsym(adapter, "ibv_free_device_list");
	*(void **)&open = dlsym(adapter, "mlx5dv_open_device");
	*(void **)&alloc = dlsym(adapter, "ibv_alloc_pd");
	*(void **)&reg = dlsym(adapter, "ibv_reg_mr");
	assert_non_null(list = get(NULL));
	assert_non_null(ctx = open(list[0], &attr));
	give_back(list);
	assert_non_null(pd = alloc(ctx));
	assert_non_null(reg(pd, memory, sizeof(memory), 0));
}

int main(void)
{
	const char *path = getenv("ADAPTER_LIBRARY");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trap_symbol_versions),
		cmocka_unit_test(trap_libibverbs_is_loaded),
	};

	if (!path || !dlopen("libibverbs.so.1", RTLD_NOW | RTLD_GLOBAL)) {
		printf("skipped: needs ADAPTER_LIBRARY=path, and libibverbs\n");
		return 77;
	}
	adapter = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!adapter) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
