/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Replies of queries against bytes that were derived by hand from the PRM's bit offsets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fixture_devx.h"

#define CAP_NBYTES 0x1010
#define VPORT_NBYTES 0x210

static int setup(void **state)
{
	static devx_t d;

	devx_open(&d, NULL);
	*state = &d;
	return 0;
}

static int setup_infiniband(void **state)
{
	static devx_t d;
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.link_layer = MLX5SW_INFINIBAND;
	cfg.has_no_dbr = 1;
	cfg.timestamps = MLX5SW_TIMESTAMPS_BOTH;
	devx_open(&d, &cfg);
	*state = &d;
	return 0;
}

static int teardown(void **state)
{
	devx_close(*state);
	return 0;
}

typedef struct byte {
	unsigned at; /* in the reply */
	uint8_t value;
} byte_t;

/* All other bytes of the reply are 0. */
static void expect_caps(devx_t *d, unsigned op_mod, const byte_t *bytes, size_t n)
{
	uint8_t in[16] = {0x01, 0x00, 0, 0, 0, 0, (uint8_t)(op_mod >> 8), (uint8_t)op_mod};
	static uint8_t out[CAP_NBYTES], right[CAP_NBYTES];

	memset(out, 0xa5, sizeof(out));
	memset(right, 0, sizeof(right));
	for (size_t i = 0; i < n; i++)
		right[bytes[i].at] = bytes[i].value;
	assert_int_equal(mlx5dv_devx_general_cmd(d->ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_memory_equal(out, right, sizeof(out));
}

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* General capabilities begin at byte 16: bit n is in byte 16 + n / 8. */
static const byte_t general[] = {
	{16 + 0x04, 0x80}, /* hca_cap_2: bit 0x20 */
	{16 + 0x11, 15},   /* log_max_qp_sz: bits 0x88 to 0x8f */
	{16 + 0x13, 18},   /* log_max_qp: 0x9b to 0x9f */
	{16 + 0x19, 22},   /* log_max_cq_sz: 0xc8 */
	{16 + 0x1b, 24},   /* log_max_cq: 0xdb */
	{16 + 0x1d, 0x98}, /* relaxed_ordering_write 0xe8, log_max_mkey 0xea to 0xef */
	{16 + 0x25, 4},    /* log_max_ra_req_dc: 0x12a */
	{16 + 0x27, 4},    /* log_max_ra_res_dc: 0x13a */
	{16 + 0x29, 4},    /* log_max_ra_req_qp: 0x14a */
	{16 + 0x2b, 4},    /* log_max_ra_res_qp: 0x15a */
	{16 + 0x36, 0x01}, /* port_type Ethernet: 0x1b6 and 0x1b7 */
	{16 + 0x37, 1},    /* num_ports: 0x1b8 */
	{16 + 0x38, 30},   /* log_max_msg: 0x1c3 to 0x1c7 */
	{16 + 0x3f, 0x01}, /* cqe_version: 0x1fc to 0x1ff */
	{16 + 0x40, 0x80}, /* compact_address_vector: 0x200 */
	{16 + 0x43, 0x06}, /* roce 0x21d, atomic 0x21e */
	{16 + 0x44, 0x80}, /* cq_oi: 0x220 */
	{16 + 0x47, 0x01}, /* rc: 0x23f */
	{16 + 0x4b, 12},   /* log_pg_sz: 0x258 */
	{16 + 0x4c, 0x80}, /* bf: 0x260 */
	{16 + 0x4d, 9},    /* log_bf_reg_size: 0x26b to 0x26f */
	{16 + 0x52, 0x04}, /* max_wqe_sz_sq 1024: 0x290 to 0x29f */
};

static void general_capabilities(void **state)
{
	expect_caps(*state, 0x0001, general, N(general)); /* current */
	expect_caps(*state, 0x0000, general, N(general)); /* maximum */
}

static void general_capabilities_of_infiniband(void **state)
{
	byte_t bytes[N(general) + 1];

	memcpy(bytes, general, sizeof(general));
	bytes[N(general)] = (byte_t){16 + 0x88, 0x80}; /* sq_ts_format 2, both: 0x440, 0x441 */
	for (size_t i = 0; i < N(bytes); i++) {
		if (bytes[i].at == 16 + 0x36)
			bytes[i].value = 0; /* port_type */
		if (bytes[i].at == 16 + 0x43)
			bytes[i].value = 0x02; /* no RoCE */
	}
	expect_caps(*state, 0x0001, bytes, N(bytes));
	expect_caps(*state, 0x0009, NULL, 0); /* no RoCE capabilities */
}

/* W16: four operations of 4 and 8 bytes, 8-byte data in host order, nothing over PCIe. */
static void atomic_capabilities(void **state)
{
	static const byte_t bytes[] = {
		{16 + 0x08, 0x40}, /* atomic_req_8B_endianness_mode: 0x40 and 0x41 */
		{16 + 0x13, 0x0f}, /* atomic_operations: 0x90 to 0x9f */
		{16 + 0x17, 0x0c}, /* atomic_size_qp: 0xb0 to 0xbf */
		{16 + 0x1b, 0x0c}, /* atomic_size_dc: 0xd0 to 0xdf */
	};

	expect_caps(*state, 0x0007, bytes, N(bytes));
}

static void roce_capabilities(void **state)
{
	static const byte_t bytes[] = {
		{16 + 0x13, 0x05},                    /* roce_version: 0x98; v1 and v2 */
		{16 + 0x16, 0x12}, {16 + 0x17, 0xb7}, /* r_roce_dest_udp_port 4791: 0xb0 */
		{16 + 0x18, 0xff}, {16 + 0x19, 0xff}, /* greatest source port: 0xc0 */
		{16 + 0x1a, 0xc0},                    /* least source port: 0xd0 */
		{16 + 0x1f, 4},                       /* roce_address_table_size: 0xf0 */
	};

	expect_caps(*state, 0x0009, bytes, N(bytes));
}

/* Real-time stamps only: in both sets, since QPs of RoCE use the second. */
static void real_time_stamps_only(void **state)
{
	byte_t bytes[N(general) + 1];
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	static uint8_t out[CAP_NBYTES];
	const uint8_t in[16] = {0x01, 0x00, 0, 0, 0, 0, 0, 0x09};
	devx_t d;

	(void)state;
	cfg.timestamps = MLX5SW_TIMESTAMPS_REAL_TIME;
	devx_open(&d, &cfg);
	memcpy(bytes, general, sizeof(general));
	bytes[N(general)] = (byte_t){16 + 0x88, 0x40}; /* sq_ts_format 1 */
	expect_caps(&d, 0x0001, bytes, N(bytes));
	assert_int_equal(mlx5dv_devx_general_cmd(d.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(get_bits(out, 0x80 + 0x1e, 2), 1); /* qp_ts_format */
	devx_close(&d);
}

static void no_dbr_capability(void **state)
{
	static const byte_t bytes[] = {{16 + 0x5c, 0x40}}; /* send_dbr_mode_no_dbr_ext: 0x2e1 */

	expect_caps(*state, 0x0041, bytes, N(bytes));
}

static void no_dbr_capability_is_off(void **state)
{
	expect_caps(*state, 0x0041, NULL, 0);
}

static unsigned general_cmd(devx_t *d, const uint8_t in[16], uint8_t *out, size_t nbytes)
{
	int err = mlx5dv_devx_general_cmd(d->ctx, in, 16, out, nbytes);

	assert_true(err == 0 || err == EREMOTEIO);
	assert_int_equal(err != 0, out[0] != 0);
	return out[0];
}

static void unknown_sets_and_short_answers(void **state)
{
	uint8_t in[16] = {0x01, 0x00, 0, 0, 0, 0, 0, 0x7f};
	static uint8_t out[CAP_NBYTES];

	assert_int_equal(general_cmd(*state, in, out, sizeof(out)), 3);
	in[7] = 1;
	assert_int_equal(general_cmd(*state, in, out, sizeof(out) - 1), 0x51);
}

/* Each address of the table, equal to that of verbs. */
static void roce_addresses(void **state)
{
	devx_t *d = *state;
	uint8_t in[16] = {0x07, 0x60}, out[0x30];
	union ibv_gid gid;

	for (uint8_t i = 0; i < 4; i++) {
		in[9] = i;      /* roce_address_index: bits 0x40 to 0x4f */
		in[11] = i & 1; /* vhca_port_num: 0x5c; 0: its own */
		assert_int_equal(general_cmd(d, in, out, sizeof(out)), 0);
		assert_int_equal(ibv_query_gid(d->ctx, 1, i, &gid), 0);
		assert_memory_equal(out + 16, gid.raw, 16);
		assert_int_equal(get_bits(out, 0x80 + 0x83, 1), 0);     /* vlan_valid */
		assert_int_equal(get_bits(out, 0x80 + 0xd4, 4), i < 2); /* IPv6, IPv4 */
		assert_int_equal(get_bits(out, 0x80 + 0xd8, 8), i % 2 * 2);
		/* the link-local GIDs contain the MAC */
		if (i < 2) {
			assert_int_equal(out[16 + 0x12] ^ 2, gid.raw[8]);
			assert_int_equal(out[16 + 0x13], gid.raw[9]);
			assert_int_equal(out[16 + 0x14], gid.raw[10]);
			assert_memory_equal(out + 16 + 0x15, gid.raw + 13, 3);
		}
	}
	in[9] = 4;
	assert_int_equal(general_cmd(d, in, out, sizeof(out)), 0xa);
	in[9] = 0;
	in[11] = 2;
	assert_int_equal(general_cmd(d, in, out, sizeof(out)), 3);
}

static void roce_address_of_infiniband(void **state)
{
	uint8_t in[16] = {0x07, 0x60}, out[0x30];

	assert_int_equal(general_cmd(*state, in, out, sizeof(out)), 2);
}

static void vport_has_the_lid(void **state)
{
	devx_t *d = *state;
	uint8_t in[16] = {0x07, 0x62}, out[VPORT_NBYTES];
	struct ibv_port_attr port;
	char answer[100];

	in[9] = 0x01; /* port_num: bits 0x4c to 0x4f */
	assert_int_equal(ibv_query_port(d->ctx, 1, &port), 0);
	assert_int_not_equal(port.lid, 0);
	assert_int_equal(general_cmd(d, in, out, sizeof(out)), 0);
	assert_int_equal(out[16 + 0x60] << 8 | out[16 + 0x61], port.lid); /* 0x300 */
	assert_int_equal(out[16 + 0x23], 0x44); /* port_state, vport_state: active */
	assert_int_equal(mlx5sw_control("port down mlx5_0", answer, sizeof(answer)), 0);
	assert_int_equal(general_cmd(d, in, out, sizeof(out)), 0);
	assert_int_equal(out[16 + 0x23], 0x11);
	in[9] = 0x02;
	assert_int_equal(general_cmd(d, in, out, sizeof(out)), 3);
	in[9] = 0x01;
	in[8] = 0x80; /* other_vport */
	assert_int_equal(general_cmd(d, in, out, sizeof(out)), 3);
}

static void vport_of_ethernet(void **state)
{
	uint8_t in[16] = {0x07, 0x62}, out[VPORT_NBYTES];

	assert_int_equal(general_cmd(*state, in, out, sizeof(out)), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define INFINIBAND(name) cmocka_unit_test_setup_teardown(name, setup_infiniband, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(general_capabilities),
		INFINIBAND(general_capabilities_of_infiniband),
		TEST(atomic_capabilities),
		TEST(roce_capabilities),
		cmocka_unit_test(real_time_stamps_only),
		INFINIBAND(no_dbr_capability),
		TEST(no_dbr_capability_is_off),
		TEST(unknown_sets_and_short_answers),
		TEST(roce_addresses),
		INFINIBAND(roce_address_of_infiniband),
		INFINIBAND(vport_has_the_lid),
		TEST(vport_of_ethernet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
