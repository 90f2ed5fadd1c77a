/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kept results of the self-test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "fault/results.h"

static char folder[] = "/tmp/shmem_selftest_XXXXXX";

static const shmemhi_firmware_t old_one = {0x02c9, 4123, "20.43.4100"};
static const shmemhi_firmware_t new_one = {0x02c9, 4123, "20.44.1000"};
static const shmemhi_firmware_t other = {0x02c9, 4129, "20.43.4100"};

static void keep(const char *path, const shmemhi_firmware_t *of, const char *row, int verdict)
{
	shmemhi_err_t err = {""};
	FILE *f = shmemhi_results_append(path, &err);

	assert_non_null(f);
	shmemhi_results_put(f, of, row, verdict);
	fclose(f);
}

/* Results are of a kind of NIC and its firmware, and the last one counts. */
static void last_result_counts(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "%s/results", folder);
	assert_int_equal(shmemhi_results_verdict(path, &old_one, "prefix"), SHMEMHI_UNKNOWN);
	keep(path, &old_one, "prefix", SHMEMHI_PASS);
	keep(path, &old_one, "late-write", SHMEMHI_FAIL);
	assert_int_equal(shmemhi_results_verdict(path, &old_one, "prefix"), SHMEMHI_PASS);
	assert_int_equal(shmemhi_results_verdict(path, &old_one, "late-write"), SHMEMHI_FAIL);
	assert_int_equal(shmemhi_results_verdict(path, &new_one, "prefix"), SHMEMHI_UNKNOWN);
	assert_int_equal(shmemhi_results_verdict(path, &other, "prefix"), SHMEMHI_UNKNOWN);
	keep(path, &old_one, "prefix", SHMEMHI_FAIL);
	keep(path, &new_one, "prefix", SHMEMHI_PASS);
	assert_int_equal(shmemhi_results_verdict(path, &old_one, "prefix"), SHMEMHI_FAIL);
	assert_int_equal(shmemhi_results_verdict(path, &new_one, "prefix"), SHMEMHI_PASS);
	keep(path, &old_one, "prefix", SHMEMHI_UNKNOWN);
	assert_int_equal(shmemhi_results_verdict(path, &old_one, "prefix"), SHMEMHI_UNKNOWN);
	assert_int_equal(unlink(path), 0);
}

/* A file that is damaged proves nothing. */
static void other_lines_are_skipped(void **state)
{
	char path[64];
	FILE *f;

	(void)state;
	snprintf(path, sizeof path, "%s/damaged", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("prefix pass\n0x02c9 4123 20.43.4100 prefix passed\n", f);
	for (int i = 0; i < 1000; i++)
		fputc('x', f);
	fclose(f);
	assert_int_equal(shmemhi_results_verdict(path, &old_one, "prefix"), SHMEMHI_UNKNOWN);
	assert_int_equal(unlink(path), 0);
}

static void folder_is_made(void **state)
{
	char path[128];

	(void)state;
	assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
	keep(NULL, &new_one, "write", SHMEMHI_PASS);
	assert_int_equal(shmemhi_results_verdict(NULL, &new_one, "write"), SHMEMHI_PASS);
	assert_int_equal(shmemhi_results_path(path, sizeof path), 0);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
}

static void nowhere_to_keep(void **state)
{
	shmemhi_err_t err = {""};

	(void)state;
	assert_null(shmemhi_results_append("/nonexistent/results", &err));
	assert_non_null(strstr(err.text, "/nonexistent/results: No such file"));
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	memset(&err, 0, sizeof err);
	assert_null(shmemhi_results_append(NULL, &err));
	assert_non_null(strstr(err.text, "use --save FILE"));
	assert_int_equal(setenv("HOME", "here", 1), 0);
	memset(&err, 0, sizeof err);
	assert_null(shmemhi_results_append(NULL, &err));
	assert_non_null(strstr(err.text, "neither XDG_CACHE_HOME nor HOME is an absolute path"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_result_counts),
		cmocka_unit_test(other_lines_are_skipped),
		cmocka_unit_test(folder_is_made),
		cmocka_unit_test(nowhere_to_keep),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
