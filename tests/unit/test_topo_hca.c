/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The options that name NICs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "topo/hca.h"

static shmemhi_hca_list_t parsed(const char *text)
{
	shmemhi_hca_list_t list;
	shmemhi_err_t err = {""};

	assert_int_equal(shmemhi_hca_parse(text, &list, &err), SHMEMH_OK);
	assert_string_equal(err.text, "");
	return list;
}

static void list_names_what_may_be_used(void **state)
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

static void list_names_what_is_left_out(void **state)
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

static void list_that_is_none(void **state)
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

static void list_with_a_name_that_nobody_has(void **state)
{
	const char *names[] = {"mlx5_0", "mlx5_1"};
	shmemhi_hca_list_t list = parsed("mlx5_1,mlx5_01");
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_hca_check(&list, "SHMEMH_HCA_LIST", names, 2, &err),
			 SHMEMH_ERR_OPTION);
	assert_string_equal(err.text, "SHMEMH_HCA_LIST names mlx5_01, and there is no such NIC: "
				      "there are mlx5_0 mlx5_1");
	list = parsed("^mlx5_9");
	assert_int_equal(shmemhi_hca_check(&list, "SHMEMH_HCA_LIST", names, 2, &err),
			 SHMEMH_ERR_OPTION);
	list = parsed("mlx5_1,mlx5_0:7");
	assert_int_equal(shmemhi_hca_check(&list, "SHMEMH_HCA_LIST", names, 2, &err), SHMEMH_OK);
}

static shmemhi_hca_list_t mapped(const char *text)
{
	shmemhi_hca_list_t mapping;
	shmemhi_err_t err = {""};

	assert_int_equal(shmemhi_mapping_parse(text, &mapping, &err), SHMEMH_OK);
	assert_string_equal(err.text, "");
	return mapping;
}

static void expect_entry(const shmemhi_hca_list_t *mapping, int rank, const char *name, int port)
{
	const shmemhi_hca_t *entry = shmemhi_mapping_entry(mapping, rank);

	assert_non_null(entry);
	assert_string_equal(entry->name, name);
	assert_int_equal(entry->port, port);
}

static void mapping_counts_pes(void **state)
{
	shmemhi_hca_list_t mapping = mapped("mlx5_0:1:3,mlx5_0:2:5");

	(void)state;
	for (int rank = 0; rank < 8; rank++)
		expect_entry(&mapping, rank, "mlx5_0", rank < 3 ? 1 : 2);
	expect_entry(&mapping, 8, "mlx5_0", 1); /* again from the start */
	expect_entry(&mapping, 11, "mlx5_0", 2);
	mapping = mapped("");
	assert_null(shmemhi_mapping_entry(&mapping, 0));
}

static void mapping_without_counts_is_round_robin(void **state)
{
	shmemhi_hca_list_t mapping = mapped("mlx5_3,mlx5_1:2");

	(void)state;
	for (int rank = 0; rank < 6; rank += 2) {
		expect_entry(&mapping, rank, "mlx5_3", 0);
		expect_entry(&mapping, rank + 1, "mlx5_1", 2);
	}
}

static void mapping_that_is_none(void **state)
{
	static const char *const bad[] = {"^mlx5_0",   ",",         "mlx5_0:1:0",   "mlx5_0:1:1025",
					  "mlx5_0::2", "mlx5_0:1:", "mlx5_0:1:2:3", "mlx5_0:1:x"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		shmemhi_hca_list_t mapping;
		shmemhi_err_t err = {""};

		if (shmemhi_mapping_parse(bad[i], &mapping, &err) != SHMEMH_ERR_OPTION)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(err.text, "SHMEMH_HCA_PE_MAPPING="));
		assert_non_null(strstr(err.text, "NIC:port:PEs"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_names_what_may_be_used),
		cmocka_unit_test(list_names_what_is_left_out),
		cmocka_unit_test(list_that_is_none),
		cmocka_unit_test(list_that_is_too_long),
		cmocka_unit_test(list_with_a_name_that_nobody_has),
		cmocka_unit_test(mapping_counts_pes),
		cmocka_unit_test(mapping_without_counts_is_round_robin),
		cmocka_unit_test(mapping_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
