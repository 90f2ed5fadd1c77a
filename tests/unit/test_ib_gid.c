/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which RoCE address of a port is used. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "ib/gid.h"
#include "ib/ports.h"

#define V1 IBV_GID_TYPE_ROCE_V1
#define V2 IBV_GID_TYPE_ROCE_V2

static struct ibv_gid_entry ipv6(uint32_t index, uint32_t type, uint8_t first, uint8_t second)
{
	struct ibv_gid_entry e = {.gid_index = index, .gid_type = type};

	e.gid.raw[0] = first;
	e.gid.raw[1] = second;
	e.gid.raw[15] = 1;
	return e;
}

static struct ibv_gid_entry ipv4(uint32_t index, uint32_t type, uint8_t first, uint8_t second)
{
	struct ibv_gid_entry e = {.gid_index = index, .gid_type = type};

	e.gid.raw[10] = e.gid.raw[11] = 0xff;
	e.gid.raw[12] = first;
	e.gid.raw[13] = second;
	e.gid.raw[15] = 1;
	return e;
}

static void gid_that_can_be_routed(void **state)
{
	/* As mlx5 has them, with a hole: pairs of v1 and v2. */
	const struct ibv_gid_entry table[] = {ipv6(0, V1, 0xfe, 0x80), ipv6(1, V2, 0xfe, 0x80),
					      ipv6(2, V1, 0x20, 0x01), ipv6(3, V2, 0x20, 0x01),
					      ipv4(4, V1, 10, 0),      ipv4(6, V2, 169, 254),
					      ipv4(7, V2, 10, 0),      ipv4(8, V2, 10, 1)};

	(void)state;
	assert_int_equal(shmemhi_choose_gid(table, 8, -1), 7);
	assert_int_equal(shmemhi_choose_gid(table, 6, -1), 3);
	assert_int_equal(shmemhi_choose_gid(table, 2, -1), 1);
	assert_int_equal(shmemhi_choose_gid(&table[5], 1, -1), 6);
	assert_int_equal(shmemhi_choose_gid(table, 1, -1), -1);
	assert_int_equal(shmemhi_choose_gid(table, 0, -1), -1);
	/* fe80::/10 ends at febf; fec0 is another thing */
	assert_int_equal(shmemhi_choose_gid((struct ibv_gid_entry[]){ipv6(0, V2, 0xfe, 0xbf),
								     ipv6(1, V2, 0xfe, 0xc0)},
					    2, -1),
			 1);
}

static void gid_that_is_wanted(void **state)
{
	const struct ibv_gid_entry table[] = {ipv6(0, V1, 0xfe, 0x80),
					      ipv6(1, V2, 0xfe, 0x80),
					      ipv4(5, V2, 10, 0),
					      {.gid_index = 6, .gid_type = V2}};

	(void)state;
	assert_int_equal(shmemhi_choose_gid(table, 4, 1), 1);
	assert_int_equal(shmemhi_choose_gid(table, 4, 5), 5);
	assert_int_equal(shmemhi_choose_gid(table, 4, 0), -1);   /* RoCE v1 */
	assert_int_equal(shmemhi_choose_gid(table, 4, 2), -1);   /* a position, not an index */
	assert_int_equal(shmemhi_choose_gid(table, 4, 6), -1);   /* all zero */
	assert_int_equal(shmemhi_choose_gid(table, 4, 256), -1); /* beyond */
}

static struct ibv_gid_entry on_port[2];
static int n_queries;

static int ethernet_port(struct ibv_context *context, uint8_t port,
			 struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (void *)compat;

	(void)context, (void)port;
	attr->state = IBV_PORT_ACTIVE;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	attr->gid_tbl_len = 2;
	return 0;
}

static int gid_of_port(struct ibv_context *context, uint32_t port, uint32_t i,
		       struct ibv_gid_entry *entry, uint32_t flags, size_t nbytes)
{
	(void)context, (void)port, (void)flags, (void)nbytes;
	n_queries++;
	if (!on_port[i].gid_type)
		return ENODATA;
	*entry = on_port[i];
	return 0;
}

/* A change of the address ends the paths that use it. An address that is added later, even one that
 * would be preferred at the start, does not cause a change. */
static void gid_in_use_is_kept(void **state)
{
	const shmemhi_ib_lib_t lib = {.query_port_compat = ethernet_port,
				      .query_gid_ex = gid_of_port};
	const shmemhi_options_t opt = {.ib_gid_index = -1};
	shmemhi_open_port_t port = {.number = 1};

	(void)state;
	on_port[1] = ipv6(1, V2, 0xfe, 0x80);
	assert_int_equal(shmemhi_port_refresh(&lib, &opt, &port), SHMEMH_OK);
	assert_int_equal(port.gid_index, 1);
	on_port[0] = ipv4(0, V2, 10, 0);
	n_queries = 0;
	assert_int_equal(shmemhi_port_refresh(&lib, &opt, &port), SHMEMH_OK);
	assert_int_equal(n_queries, 1); /* not the whole table, every 50 ms */
	assert_int_equal(port.gid_index, 1);
	assert_memory_equal(&port.gid, &on_port[1].gid, sizeof port.gid);

	/* Another address in its place, another type, none. */
	on_port[1] = ipv6(1, V2, 0xfe, 0x81);
	assert_int_equal(shmemhi_port_refresh(&lib, &opt, &port), SHMEMH_OK);
	assert_int_equal(port.gid_index, 0);
	on_port[1] = ipv4(1, V2, 10, 1);
	on_port[0].gid_type = V1;
	assert_int_equal(shmemhi_port_refresh(&lib, &opt, &port), SHMEMH_OK);
	assert_int_equal(port.gid_index, 1);
	memset(on_port, 0, sizeof on_port);
	assert_int_equal(shmemhi_port_refresh(&lib, &opt, &port), SHMEMH_ERR_NIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gid_that_can_be_routed),
		cmocka_unit_test(gid_that_is_wanted),
		cmocka_unit_test(gid_in_use_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
