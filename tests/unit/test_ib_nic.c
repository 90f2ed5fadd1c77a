/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Opening a NIC on the software adapter: the choice, its properties, and the reason if there is
 * none. */
#include "nic_job.h"

static void hca_list(const char *text)
{
	snprintf(job->opt.hca_list, sizeof job->opt.hca_list, "%s", text);
}

static void expect_nic(const char *name)
{
	if (open_nic() != SHMEMH_OK)
		fail_msg("expected %s, got: %s", name, job->err.text);
	assert_string_equal(ib.home_port.name, name);
	assert_int_equal(ib.home_port.number, 1);
	assert_non_null(ib.home_port.context);
	assert_non_null(ib.home_port.pd);
	assert_int_not_equal(ib.home_port.pdn, 0);
	assert_int_equal(ib.home_port.mtu, IBV_MTU_4096);
	assert_int_equal(ib.home_port.log_max_reads, 4);
	shmemhi_ib_close_ports(&ib);
	assert_null(ib.home_port.context);
	assert_null(ib.lib.ibverbs);
}

static void expect_failure(int status, const char *text)
{
	int got = open_nic();

	if (got != status || !strstr(job->err.text, text))
		fail_msg("expected %d '%s', got %d '%s'", status, text, got, job->err.text);
	assert_null(ib.home_port.context);
	assert_null(ib.lib.ibverbs);
	job->err.text[0] = '\0';
}

static void ethernet(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 2);
	assert_int_equal(open_nic(), SHMEMH_OK);
	assert_int_equal(ib.home_port.is_ethernet, 1);
	assert_int_equal(ib.home_port.sport_min, 0xc000);
	assert_int_equal(ib.home_port.sport_max, 0xffff);
	assert_int_equal(ib.home_port.gid.raw[10], 0xff); /* IPv4 */
	assert_int_equal(ib.home_port.gid.raw[11], 0xff);
	assert_int_not_equal(ib.home_port.gid.raw[12], 0);
	shmemhi_ib_close_ports(&ib);
	expect_nic("mlx5_0");
}

static void infiniband(void **state)
{
	(void)state;
	prepare(MLX5SW_INFINIBAND, 1);
	job->opt.ib_gid_index = 77; /* RoCE only */
	assert_int_equal(open_nic(), SHMEMH_OK);
	assert_int_equal(ib.home_port.is_ethernet, 0);
	assert_int_not_equal(ib.home_port.lid, 0);
	assert_int_equal(ib.home_port.gid.raw[0], 0xfe);
	assert_int_equal(ib.home_port.sport_max, 0);
	shmemhi_ib_close_ports(&ib);
}

static void changed_lid_is_read(void **state)
{
	uint16_t lid;

	(void)state;
	prepare(MLX5SW_INFINIBAND, 1);
	assert_int_equal(open_nic(), SHMEMH_OK);
	lid = ib.home_port.lid;
	shmemhi_ib_close_ports(&ib);
	adapter_control("lid change mlx5_0");
	assert_int_equal(open_nic(), SHMEMH_OK);
	assert_int_not_equal(lid, ib.home_port.lid);
	shmemhi_ib_close_ports(&ib);
}

static void hca_list_selects(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 3);
	hca_list("mlx5_1");
	expect_nic("mlx5_1");
	hca_list("mlx5_2:1");
	expect_nic("mlx5_2");
	hca_list("^mlx5_0,mlx5_1");
	expect_nic("mlx5_2");
	hca_list("^mlx5_0,mlx5_1:1");
	expect_nic("mlx5_2");
	hca_list("mlx5_1:2");
	expect_failure(SHMEMH_ERR_NIC, "mlx5_1:1: SHMEMH_HCA_LIST leaves it out");
	hca_list("^mlx5_0,mlx5_1,mlx5_2");
	expect_failure(SHMEMH_ERR_NIC, "mlx5_0: SHMEMH_HCA_LIST leaves it out; mlx5_1: ");
	hca_list("mlx5_3");
	expect_failure(SHMEMH_ERR_OPTION, "mlx5_3, and there is no such NIC: there are mlx5_0");
	hca_list("mlx5_0:x");
	expect_failure(SHMEMH_ERR_OPTION, "is no entry");
}

static void port_down(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 2);
	adapter_control("port down mlx5_0");
	expect_nic("mlx5_1");
	adapter_control("port down mlx5_1");
	expect_failure(SHMEMH_ERR_NIC,
		       "no NIC can be used: mlx5_0:1: its port is not active (down): look at "
		       "the link; mlx5_1:1: its port is not active");
	adapter_control("port up mlx5_0");
	expect_nic("mlx5_0");
}

static void gid_by_option(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 1);
	job->opt.ib_gid_index = 1;
	assert_int_equal(open_nic(), SHMEMH_OK);
	assert_int_equal(ib.home_port.gid_index, 1);
	assert_int_equal(ib.home_port.gid.raw[0], 0xfe);
	shmemhi_ib_close_ports(&ib);
	job->opt.ib_gid_index = 0; /* RoCE v1 */
	expect_failure(SHMEMH_ERR_NIC, "SHMEMH_IB_GID_INDEX=0 is no RoCE v2 address of it");
	job->opt.ib_gid_index = 1000;
	expect_failure(SHMEMH_ERR_NIC, "SHMEMH_IB_GID_INDEX=1000 is no");
}

static void command_fails(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 1);
	adapter_control("fail command opcode=0x100 status=2 syndrome=0x1234 n=1");
	expect_failure(SHMEMH_ERR_NIC, "QUERY_HCA_CAP of set 0 failed");
	adapter_control("fail command opcode=0x100 status=2 syndrome=0x1234 n=1");
	expect_failure(SHMEMH_ERR_NIC, "status 0x2, syndrome 0x1234");
	expect_nic("mlx5_0");
}

/* The port is active, and yet not chosen. */
static void active_port_that_cannot_be_used(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 2);
	adapter_control("fail command opcode=0x100 status=2 syndrome=0x1234 n=1");
	expect_nic("mlx5_1");
}

static void no_library(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 1);
	strcpy(job->opt.ib_library, "/nonexistent/libnic.so");
	expect_failure(SHMEMH_ERR_NIC, "cannot load /nonexistent/libnic.so");
}

static void deeper_than_the_device_allows(void **state)
{
	(void)state;
	prepare(MLX5SW_ETHERNET, 1);
	job->opt.ib_depth = 32768;
	expect_nic("mlx5_0");
	job->opt.ib_depth = 65536;
	expect_failure(SHMEMH_ERR_NIC,
		       "log_max_qp_sz is 15: SHMEMH_IB_DEPTH=65536 is more than 32768");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ethernet),
		cmocka_unit_test(infiniband),
		cmocka_unit_test(changed_lid_is_read),
		cmocka_unit_test(hca_list_selects),
		cmocka_unit_test(port_down),
		cmocka_unit_test(gid_by_option),
		cmocka_unit_test(command_fails),
		cmocka_unit_test(active_port_that_cannot_be_used),
		cmocka_unit_test(no_library),
		cmocka_unit_test(deeper_than_the_device_allows),
	};

	return cmocka_run_group_tests(tests, make_job, free_job);
}
