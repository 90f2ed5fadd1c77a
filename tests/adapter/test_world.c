/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Worlds: from a configuration, from the environment, one after the other; numbers of objects. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "fixture_devx.h"
#include "mlx5sw/control/control.h"

static void configurations(void **state)
{
	static const struct {
		size_t at, nbytes;
		uint32_t value;
		int err;
	} cases[] = {
#define FIELD(f) offsetof(mlx5sw_config_t, f), sizeof(((mlx5sw_config_t *)0)->f)
		{FIELD(size), 4, EINVAL},
		{FIELD(n_hosts), 0, EINVAL},
		{FIELD(n_hosts), 64, 0},
		{FIELD(n_hosts), 65, EINVAL},
		{FIELD(n_devices), 0, EINVAL},
		{FIELD(n_devices), 16, 0},
		{FIELD(n_devices), 17, EINVAL},
		{FIELD(link_layer), 1, 0},
		{FIELD(link_layer), 2, EINVAL},
		{FIELD(doorbells), 3, EINVAL},
		{FIELD(timing), 3, EINVAL},
		{FIELD(lint), 3, EINVAL},
		{FIELD(chaos), 127, 0},
		{FIELD(chaos), 128, EINVAL},
		{FIELD(is_routed), 2, EINVAL},
		{FIELD(has_no_dbr), 2, EINVAL},
		{FIELD(timestamps), 2, 0},
		{FIELD(timestamps), 3, EINVAL},
		{FIELD(requires_grh), 2, EINVAL},
		{FIELD(unlike), MLX5SW_UNLIKE_GPU_QUEUE, 0},
		{FIELD(unlike), MLX5SW_UNLIKE_GPU_QUEUE + 1, EINVAL},
	};

	(void)state;
	assert_int_equal(mlx5sw_start(NULL, NULL), EINVAL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

		memcpy((char *)&cfg + cases[i].at, &cases[i].value, cases[i].nbytes);
		assert_int_equal(mlx5sw_start(&cfg, NULL), cases[i].err);
	}
	mlx5sw_stop();
	mlx5sw_stop(); /* nothing runs any more */
}

static void hooks_are_complete(void **state)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	mlx5sw_hooks_t hooks;

	(void)state;
	assert_int_equal(mlx5sw_start(&cfg, NULL), 0);
	hooks = mlx5swi_w->hooks;
	mlx5sw_stop();
	hooks.size = sizeof(hooks);
	assert_int_equal(mlx5sw_start(&cfg, &hooks), 0);
	for (size_t at = offsetof(mlx5sw_hooks_t, now); at < sizeof(hooks); at += sizeof(void *)) {
		mlx5sw_hooks_t bad = hooks;

		memset((char *)&bad + at, 0, sizeof(void *));
		assert_int_equal(mlx5sw_start(&cfg, &bad), EINVAL);
	}
	hooks.size--;
	assert_int_equal(mlx5sw_start(&cfg, &hooks), EINVAL);
	mlx5sw_stop();
}

/* Objects of a run do not exist in the next one, which assigns the same numbers. */
static void runs_assign_equal_numbers(void **state)
{
	uint32_t qpn = 0, cqn = 0, number;
	uint8_t in[MAILBOX_NBYTES], *memory[3];
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct mlx5dv_devx_obj *qp;
	struct ibv_pd *pd;
	devx_t d;

	(void)state;
	for (int i = 0; i < 3; i++) {
		devx_open(&d, NULL);
		memory[i] = d.memory;
		assert_int_equal(d.uar->page_id, 0x20);
		devx_cq_mailbox(&d, in);
		d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
		devx_qp_mailbox(&d, in);
		qp = devx_create(&d, in, sizeof(in), &number);
		devx_bring(&d, qp, number, number, RTS);
		assert_true(i == 0 || (number == qpn && d.cqn == cqn));
		qpn = number;
		cqn = d.cqn;
		pd = ibv_alloc_pd(d.ctx);
		attr.send_cq = attr.recv_cq = ibv_create_cq(d.ctx, 4, NULL, NULL, 0);
		assert_non_null(attr.send_cq);
		assert_non_null(ibv_create_qp(pd, &attr)); /* with its own rings */
		ibv_free_device_list(d.list);
	}
	mlx5sw_stop();
	for (int i = 0; i < 3; i++)
		free(memory[i]);
}

/* Numbers are assigned in the same order, whatever an earlier run has created. */
static void numbers_do_not_depend_on_earlier_runs(void **state)
{
	uint32_t last[2];
	devx_t d;

	(void)state;
	for (int run = 0; run < 2; run++) {
		devx_open(&d, NULL);
		for (int i = 0; i < 64; i++) { /* one after the other: the numbers wrap */
			struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(d.ctx, 0);

			last[run] = uar->page_id;
			mlx5dv_devx_free_uar(uar);
		}
		for (int i = 0; i < 70; i++) /* all at once: the table grows */
			assert_non_null(mlx5dv_devx_alloc_uar(d.ctx, 0));
		free(d.memory);
		ibv_free_device_list(d.list);
	}
	assert_int_equal(last[0], last[1]);
	mlx5sw_stop();
}

/* A register that was not rung holds all ones, also in a reused page. */
static void pages_start_idle(void **state)
{
	struct mlx5dv_devx_uar *uar;
	uint8_t *page;
	devx_t d;

	(void)state;
	devx_open(&d, NULL);
	uar = mlx5dv_devx_alloc_uar(d.ctx, 0);
	page = uar->base_addr;
	assert_ptr_equal((uint8_t *)uar->reg_addr, page + 0x800);
	assert_int_equal((uintptr_t)page % 4096, 0);
	memset(page, 0, 4096);
	mlx5dv_devx_free_uar(uar);
	uar = mlx5dv_devx_alloc_uar(d.ctx, 0);
	assert_ptr_equal(uar->base_addr, page);
	for (int i = 0; i < 4096; i++)
		assert_int_equal(page[i], 0xff);
	mlx5dv_devx_free_uar(uar);
	devx_close(&d);
}

static void pages_end(void **state)
{
	struct mlx5dv_devx_uar *uars[MLX5SWI_MAX_UARS];
	devx_t d;

	(void)state;
	devx_open(&d, NULL);
	for (unsigned i = 1; i < MLX5SWI_MAX_UARS; i++)
		assert_non_null(uars[i] = mlx5dv_devx_alloc_uar(d.ctx, 0));
	assert_null(mlx5dv_devx_alloc_uar(d.ctx, 0));
	for (unsigned i = 1; i < MLX5SWI_MAX_UARS; i++)
		mlx5dv_devx_free_uar(uars[i]);
	devx_close(&d);
}

/* A number is not reused at once. */
static void numbers_are_assigned_round_robin(void **state)
{
	mlx5swi_table_t t = {.first = 100};
	uint32_t index, seen[64];
	int object;

	(void)state;
	assert_null(mlx5swi_table_get(&t, 100));
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(mlx5swi_table_add(&t, &object, &seen[i]), 0);
		assert_int_equal(seen[i], 100 + i);
		if (i != 7)
			mlx5swi_table_remove(&t, seen[i]);
	}
	assert_int_equal(mlx5swi_table_add(&t, &object, &index), 0);
	assert_int_equal(index, 100);
	for (uint32_t i = 2; i < 200; i++) { /* the table grows, and keeps its contents */
		assert_int_equal(mlx5swi_table_add(&t, &seen, &index), 0);
		assert_ptr_equal(mlx5swi_table_get(&t, index), &seen);
		assert_true(index != 100 && index != 107);
	}
	assert_ptr_equal(mlx5swi_table_get(&t, 107), &object);
	assert_null(mlx5swi_table_get(&t, 99));
	assert_null(mlx5swi_table_get(&t, 100 + 256));
	mlx5swi_table_remove(&t, 107);
	mlx5swi_table_remove(&t, 107);
	assert_int_equal(t.n_used, 199);
	mlx5swi_table_free(&t);
}

static int setup_process(void **state)
{
	static char dir[64], fabric[64];

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/mlx5sw-test-XXXXXX");
	snprintf(fabric, sizeof(fabric), "shm:test-world-%d", (int)getpid());
	*state = dir;
	return !mkdtemp(dir) || setenv("MLX5SW_DIR", dir, 1) || setenv("MLX5SW_FABRIC", fabric, 1);
}

static int teardown_process(void **state)
{
	mlx5sw_stop();
	return rmdir(*state);
}

static void process_by_environment(void **state)
{
	static const char *const variables[][2] = {
		{"MLX5SW_DEVICES", "3"},       {"MLX5SW_LINK", "infiniband"},
		{"MLX5SW_DOORBELLS", "dbr"},   {"MLX5SW_TIMING", "fast"},
		{"MLX5SW_LINT", "strict"},     {"MLX5SW_CHAOS", "9"},
		{"MLX5SW_SLOW", "10"},         {"MLX5SW_NO_DBR", "1"},
		{"MLX5SW_TIMESTAMPS", "both"}, {"MLX5SW_GRH", "1"},
	};
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	struct ibv_device **list;
	int n = 0;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		setenv(variables[i][0], variables[i][1], 1);
	list = ibv_get_device_list(&n);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i][0]);
	assert_non_null(list);
	assert_int_equal(n, 3);
	assert_string_equal(ibv_get_device_name(list[2]), "mlx5_2");
	ibv_free_device_list(list);
	assert_int_equal(mlx5swi_w->cfg.link_layer, MLX5SW_INFINIBAND);
	assert_int_equal(mlx5swi_w->cfg.doorbells, MLX5SW_DOORBELLS_DBR);
	assert_int_equal(mlx5swi_w->cfg.timing, MLX5SW_TIMING_FAST);
	assert_int_equal(mlx5swi_w->cfg.lint, MLX5SW_LINT_STRICT);
	assert_int_equal(mlx5swi_w->cfg.chaos, 9);
	assert_int_equal(mlx5swi_w->cfg.slow, 10);
	assert_int_equal(mlx5swi_w->cfg.has_no_dbr, 1);
	assert_int_equal(mlx5swi_w->cfg.timestamps, MLX5SW_TIMESTAMPS_BOTH);
	assert_int_equal(mlx5swi_w->cfg.requires_grh, 1);
	assert_int_equal(mlx5swi_w->has_thread, 1);
	assert_int_equal(mlx5sw_start(&cfg, NULL), 0); /* from now on the test steps the devices */
	assert_int_equal(mlx5swi_w->has_thread, 0);
	assert_int_equal(rmdir(*state), 0); /* its socket has been removed */
	assert_int_equal(mkdir(*state, 0700), 0);
}

/* A misspelt name has no effect, and causes one line. */
static void misspelt_variable(void **state)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	int log = memfd_create("log", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	char text[512];
	ssize_t n;

	(void)state;
	setenv("MLX5SW_DEVICE", "3", 1);
	setenv("MLX5SW_VERBOSE", "0", 1);
	dup2(log, STDERR_FILENO);
	assert_int_equal(mlx5sw_config_from_env(&cfg), 0);
	dup2(saved, STDERR_FILENO);
	close(saved);
	unsetenv("MLX5SW_DEVICE");
	unsetenv("MLX5SW_VERBOSE");
	n = pread(log, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(log);
	assert_int_equal(cfg.n_devices, 2);
	assert_string_equal(text, "mlx5sw: MLX5SW_DEVICE is not an option and has no effect: its "
				  "README.md lists all\n");
}

static void wrong_variables(void **state)
{
	static const char *const variables[][2] = {
		{"MLX5SW_DEVICES", "0"},        {"MLX5SW_DEVICES", "17"},
		{"MLX5SW_DEVICES", ""},         {"MLX5SW_DEVICES", "2x"},
		{"MLX5SW_SLOW", "-1"},          {"MLX5SW_CHAOS", "128"},
		{"MLX5SW_CHAOS", "4294967297"}, {"MLX5SW_LINK", "ether"},
		{"MLX5SW_LINK", "ethernets"},   {"MLX5SW_DOORBELLS", "DBR"},
		{"MLX5SW_TIMING", ""},          {"MLX5SW_LINT", "on"},
		{"MLX5SW_FABRIC", "ether:1"},   {"MLX5SW_SCRIPT", "/nonexistent"},
		{"MLX5SW_TIMESTAMPS", "real"},
	};
	char fabric[64];
	int n = 7;

	(void)state;
	snprintf(fabric, sizeof(fabric), "%s", getenv("MLX5SW_FABRIC"));
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		setenv(variables[i][0], variables[i][1], 1);
		errno = 0;
		assert_null(ibv_get_device_list(&n));
		assert_int_equal(errno, ENODEV);
		unsetenv(variables[i][0]);
		setenv("MLX5SW_FABRIC", fabric, 1);
		assert_null(mlx5swi_w);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(configurations),
		cmocka_unit_test(hooks_are_complete),
		cmocka_unit_test(runs_assign_equal_numbers),
		cmocka_unit_test(numbers_do_not_depend_on_earlier_runs),
		cmocka_unit_test(pages_start_idle),
		cmocka_unit_test(pages_end),
		cmocka_unit_test(numbers_are_assigned_round_robin),
		cmocka_unit_test_setup_teardown(process_by_environment, setup_process,
						teardown_process),
		cmocka_unit_test(misspelt_variable),
		cmocka_unit_test_setup_teardown(wrong_variables, setup_process, teardown_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
