/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The choice of NIC and address: the list of names, distances, sharing, GIDs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "ib/choose.h"

static shmemhi_hca_list_t parsed(const char *text)
{
	shmemhi_hca_list_t list;
	shmemhi_err_t err = {""};

	assert_int_equal(shmemhi_hca_parse(text, &list, &err), SHMEMH_OK);
	assert_string_equal(err.text, "");
	return list;
}

static void list_of_allowed_ports(void **state)
{
	shmemhi_hca_list_t all = parsed(""), some = parsed("mlx5_1:2,mlx5_10,mlx5_1:255");

	(void)state;
	assert_true(shmemhi_hca_allows(&all, "mlx5_0", 1));
	assert_true(shmemhi_hca_allows(&all, "mlx5_0", 0));
	assert_int_equal(some.n, 3);
	assert_true(shmemhi_hca_allows(&some, "mlx5_10", 1));
	assert_true(shmemhi_hca_allows(&some, "mlx5_10", 2));
	assert_true(shmemhi_hca_allows(&some, "mlx5_1", 2));
	assert_true(shmemhi_hca_allows(&some, "mlx5_1", 255));
	assert_true(shmemhi_hca_allows(&some, "mlx5_1", 0));
	assert_false(shmemhi_hca_allows(&some, "mlx5_1", 1));
	assert_false(shmemhi_hca_allows(&some, "mlx5_0", 1));
	assert_false(shmemhi_hca_allows(&some, "mlx5_0", 0));
	assert_false(shmemhi_hca_allows(&some, "mlx5_100", 1)); /* not a prefix */
}

static void list_of_excluded_ports(void **state)
{
	shmemhi_hca_list_t list = parsed("^mlx5_0,mlx5_1:2");

	(void)state;
	assert_false(shmemhi_hca_allows(&list, "mlx5_0", 1));
	assert_false(shmemhi_hca_allows(&list, "mlx5_0", 0));
	assert_false(shmemhi_hca_allows(&list, "mlx5_1", 2));
	assert_true(shmemhi_hca_allows(&list, "mlx5_1", 1));
	assert_true(shmemhi_hca_allows(&list, "mlx5_1", 0));
	assert_true(shmemhi_hca_allows(&list, "mlx5_2", 1));
}

static void invalid_lists(void **state)
{
	static const char *const bad[] = {"^",
					  ",",
					  "mlx5_0,",
					  ",mlx5_0",
					  "mlx5_0,,mlx5_1",
					  ":1",
					  "mlx5_0:",
					  "mlx5_0:0",
					  "mlx5_0:256",
					  "mlx5_0:99999999999999999999",
					  "mlx5_0:1x",
					  "mlx5_0:-1",
					  "mlx5_0: 1",
					  "mlx5_0:1:1",
					  "mlx5_0, mlx5_1",
					  "mlx5_0\t",
					  "mlx5_0,^mlx5_1",
					  "^^mlx5_0"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		shmemhi_hca_list_t list;
		shmemhi_err_t err = {""};

		if (shmemhi_hca_parse(bad[i], &list, &err) != SHMEMH_ERR_OPTION)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(err.text, "SHMEMH_HCA_LIST="));
		assert_non_null(strstr(err.text, bad[i]));
	}
}

static void list_that_is_too_long(void **state)
{
	char text[320] = "";
	char name[SHMEMHI_HCA_NBYTES + 1] = "";
	shmemhi_hca_list_t list;
	shmemhi_err_t err = {""};

	(void)state;
	for (int i = 0; i < SHMEMHI_HCA_MAX; i++)
		strcat(text, i ? ",m" : "m");
	assert_int_equal(parsed(text).n, SHMEMHI_HCA_MAX);
	strcat(text, ",m");
	assert_int_equal(shmemhi_hca_parse(text, &list, &err), SHMEMH_ERR_OPTION);
	assert_non_null(strstr(err.text, "more than 32"));
	memset(name, 'm', sizeof name - 2);
	assert_string_equal(parsed(name).entries[0].name, name);
	name[sizeof name - 2] = 'm';
	assert_int_equal(shmemhi_hca_parse(name, &list, &err), SHMEMH_ERR_OPTION);
}

static void list_with_an_unknown_name(void **state)
{
	const char *names[] = {"mlx5_0", "mlx5_1"};
	shmemhi_hca_list_t list = parsed("mlx5_1,mlx5_01");
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_hca_check(&list, names, 2, &err), SHMEMH_ERR_OPTION);
	assert_string_equal(err.text, "SHMEMH_HCA_LIST names mlx5_01, and there is no such NIC: "
				      "there are mlx5_0 mlx5_1");
	list = parsed("^mlx5_9");
	assert_int_equal(shmemhi_hca_check(&list, names, 2, &err), SHMEMH_ERR_OPTION);
	list = parsed("mlx5_1,mlx5_0:7");
	assert_int_equal(shmemhi_hca_check(&list, names, 2, &err), SHMEMH_OK);
}

#define BRIDGE_0 "/sys/devices/pci0000:00/0000:00:01.0/"
#define BRIDGE_1 "/sys/devices/pci0000:80/0000:80:01.0/"

static int distance(const char *a, int numa_a, const char *b, int numa_b)
{
	shmemhi_place_t at = {.numa = numa_a}, to = {.numa = numa_b};
	int there, back;

	strcpy(at.path, a);
	strcpy(to.path, b);
	there = shmemhi_distance(&at, &to);
	back = shmemhi_distance(&to, &at);
	assert_int_equal(there, back);
	return there;
}

static void distance_follows_the_tree(void **state)
{
	static const char gpu[] = BRIDGE_0 "0000:01:00.0/0000:02:00.0/0000:03:00.0";
	int same_switch = distance(gpu, 0, BRIDGE_0 "0000:01:00.0/0000:02:01.0/0000:04:00.0", 0);
	int same_port = distance(gpu, 0, BRIDGE_0 "0000:09:00.0", 0);
	int same_bridge = distance(gpu, 0, "/sys/devices/pci0000:00/0000:00:02.0/0000:07:00.0", 0);
	int same_numa = distance(gpu, 0, "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0", 0);
	int other_numa = distance(gpu, 0, BRIDGE_1 "0000:81:00.0", 1);

	(void)state;
	assert_int_equal(distance(gpu, 0, gpu, 0), 0);
	assert_int_equal(same_switch, 4);
	assert_int_equal(same_port, 4);
	assert_int_equal(same_bridge, 6);
	assert_true(same_bridge < same_numa);
	assert_true(same_numa < other_numa);
	/* Two functions of a card, whose paths have a common prefix that is not a directory. */
	assert_int_equal(distance(BRIDGE_0 "0000:01:00.0", 0, BRIDGE_0 "0000:01:00.1", 0), 2);
}

/* Devices under other bridges are equally far, at any depth: such NICs are shared out. */
static void distance_beyond_the_bridge(void **state)
{
	static const char gpu[] = BRIDGE_0 "0000:01:00.0";

	(void)state;
	assert_int_equal(distance(gpu, 0, BRIDGE_1 "0000:81:00.0", 1),
			 distance(gpu, 0, BRIDGE_1 "0000:81:00.0/0000:82:00.0/0000:83:00.0", 1));
	assert_int_equal(distance(gpu, -1, BRIDGE_1 "0000:81:00.0", -1),
			 distance(gpu, 0, BRIDGE_1 "0000:81:00.0", 1));
	assert_int_equal(distance("", -1, BRIDGE_1 "0000:81:00.0", 1),
			 distance("", -1, BRIDGE_0 "0000:01:00.0", 0));
	assert_int_equal(distance("", -1, "", -1), distance(gpu, 0, "", 0));
}

static int nearest(int rank, int n, const int *distances)
{
	return shmemhi_choose_nearest(distances, n, rank);
}

static void nearest_nics_are_shared(void **state)
{
	const int far_and_near[] = {2000, 4, -1, 1000, 4, 6, 4};
	const int equal[] = {2000, 2000};

	(void)state;
	assert_int_equal(nearest(0, 7, far_and_near), 1);
	assert_int_equal(nearest(1, 7, far_and_near), 4);
	assert_int_equal(nearest(2, 7, far_and_near), 6);
	assert_int_equal(nearest(3, 7, far_and_near), 1);
	assert_int_equal(nearest(0, 2, equal), 0);
	assert_int_equal(nearest(7, 2, equal), 1);
	assert_int_equal(nearest(0, 1, (int[]){0}), 0);
	assert_int_equal(nearest(5, 2, (int[]){-1, 0}), 1);
}

static void no_nic_to_choose(void **state)
{
	(void)state;
	assert_int_equal(nearest(0, 0, NULL), -1);
	assert_int_equal(nearest(3, 2, (int[]){-1, -1}), -1);
}

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

static void routable_gid_is_chosen(void **state)
{
	/* As on mlx5, with a gap: pairs of v1 and v2. */
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
	/* fe80::/10 ends at febf; fec0 is another range */
	assert_int_equal(shmemhi_choose_gid((struct ibv_gid_entry[]){ipv6(0, V2, 0xfe, 0xbf),
								     ipv6(1, V2, 0xfe, 0xc0)},
					    2, -1),
			 1);
}

static void configured_gid_index(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_of_allowed_ports),
		cmocka_unit_test(list_of_excluded_ports),
		cmocka_unit_test(invalid_lists),
		cmocka_unit_test(list_that_is_too_long),
		cmocka_unit_test(list_with_an_unknown_name),
		cmocka_unit_test(distance_follows_the_tree),
		cmocka_unit_test(distance_beyond_the_bridge),
		cmocka_unit_test(nearest_nics_are_shared),
		cmocka_unit_test(no_nic_to_choose),
		cmocka_unit_test(routable_gid_is_chosen),
		cmocka_unit_test(configured_gid_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
