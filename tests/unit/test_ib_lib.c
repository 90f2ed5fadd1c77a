/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The table of a NIC's library: filled completely, or refused with the reason. */
#include "ib/lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "ib_adapter.h"

static void adapter_fills_it(void **state)
{
	shmemhi_ib_lib_t lib;
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_ib_lib_open(&lib, adapter_path(), &err), SHMEMH_OK);
	assert_string_equal(err.text, "");
#define X_(library, member, symbol, result, parameters) assert_non_null(lib.member);
	SHMEMHI_IB_CALLS(X_)
#undef X_
	assert_non_null(lib.umem_reg_ex);
	assert_non_null(lib.bind_dmabuf);
	assert_non_null(lib.ibverbs);
	assert_ptr_equal(lib.ibverbs, lib.mlx5);
	assert_string_equal(lib.port_state_str(IBV_PORT_ACTIVE), "active");
	shmemhi_ib_lib_close(&lib);
	assert_null(lib.ibverbs);
	assert_null(lib.open_device);
	shmemhi_ib_lib_close(&lib);
}

/* A process that has the library open can use it after the table is closed. */
static void opened_again(void **state)
{
	shmemhi_ib_lib_t a, b;
	shmemhi_err_t err = {""};
	int n = 0;

	(void)state;
	assert_int_equal(shmemhi_ib_lib_open(&a, adapter_path(), &err), SHMEMH_OK);
	assert_int_equal(shmemhi_ib_lib_open(&b, adapter_path(), &err), SHMEMH_OK);
	shmemhi_ib_lib_close(&a);
	b.free_device_list(b.get_device_list(&n));
	assert_int_equal(n, 2);
	shmemhi_ib_lib_close(&b);
}

static void no_such_library(void **state)
{
	shmemhi_ib_lib_t lib;
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_ib_lib_open(&lib, "/nonexistent/libnic.so", &err), SHMEMH_ERR_NIC);
	assert_non_null(strstr(err.text, "cannot load /nonexistent/libnic.so"));
	assert_non_null(strstr(err.text, "SHMEMH_IB_LIBRARY"));
	assert_null(lib.ibverbs);
	shmemhi_ib_lib_close(&lib);
}

/* Write a copy of the adapter's file in which a name that only newer libraries have is changed, so
 * that the dynamic linker does not find it. */
static void write_library_without(const char *name, const char *path)
{
	FILE *from = fopen(adapter_path(), "rb"), *to;
	size_t n, len = strlen(name) + 1; /* with its terminator */
	char *bytes, *at;

	assert_non_null(from);
	assert_int_equal(fseek(from, 0, SEEK_END), 0);
	n = (size_t)ftell(from);
	rewind(from);
	bytes = malloc(n);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, n, from), n);
	fclose(from);
	for (at = bytes; (at = memmem(at, n - (size_t)(at - bytes), name, len)); at++)
		at[0] = 'X';
	to = fopen(path, "wb");
	assert_non_null(to);
	assert_int_equal(fwrite(bytes, 1, n, to), n);
	assert_int_equal(fclose(to), 0);
	free(bytes);
}

/* Libraries stay loaded, so each test uses a file of its own. */
static int open_without(const char *name, shmemhi_ib_lib_t *lib, shmemhi_err_t *err)
{
	char path[128];
	int status;

	snprintf(path, sizeof path, "/tmp/test_ib_lib.%d.%s.so", (int)getpid(), name);
	write_library_without(name, path);
	status = shmemhi_ib_lib_open(lib, path, err);
	assert_int_equal(remove(path), 0);
	return status;
}

static void older_library(void **state)
{
	shmemhi_ib_lib_t lib;
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(open_without("mlx5dv_devx_umem_reg_ex", &lib, &err), SHMEMH_OK);
	assert_null(lib.umem_reg_ex);
	assert_non_null(lib.umem_reg);
	shmemhi_ib_lib_close(&lib);
	assert_int_equal(open_without("ibv_reg_dmabuf_mr", &lib, &err), SHMEMH_ERR_NIC);
	assert_string_equal(err.text, "the NIC's library has no ibv_reg_dmabuf_mr: use rdma-core "
				      "34 or newer");
}

static void another_library(void **state)
{
	shmemhi_ib_lib_t lib;
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_ib_lib_open(&lib, "libc.so.6", &err), SHMEMH_ERR_NIC);
	assert_non_null(strstr(err.text, "has no ibv_get_device_list"));
	assert_null(lib.ibverbs);
	assert_null(lib.get_device_list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adapter_fills_it), cmocka_unit_test(opened_again),
		cmocka_unit_test(no_such_library),  cmocka_unit_test(another_library),
		cmocka_unit_test(older_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
