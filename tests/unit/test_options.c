/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The environment options: accepted values, refusals and their text, and the table. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/options.h"

static const shmemhi_log_t quiet = {SHMEMHI_OFF, -1, 0};

/* No SHMEMH_* variable is set. */
static int clean_environment(void **state)
{
	char **entry = environ;

	(void)state;
	while (*entry) {
		char name[64] = "";

		if (strncmp(*entry, "SHMEMH_", 7) == 0)
			strncat(name, *entry, strcspn(*entry, "="));
		if (name[0] != '\0') {
			unsetenv(name);
			entry = environ;
		} else {
			entry++;
		}
	}
	return 0;
}

static int read_one(const char *name, const char *value, shmemhi_options_t *opt, shmemhi_err_t *err)
{
	int status;

	err->text[0] = '\0';
	setenv(name, value, 1);
	status = shmemhi_options_read(opt, &quiet, err);
	unsetenv(name);
	return status;
}

static void expect_size(const char *value, uint64_t nbytes)
{
	shmemhi_options_t opt;
	shmemhi_err_t err;

	assert_int_equal(read_one("SHMEMH_HEAP_CHUNK", value, &opt, &err), SHMEMH_OK);
	assert_true(opt.heap_chunk == nbytes);
}

static void expect_time(const char *value, uint64_t ns)
{
	shmemhi_options_t opt;
	shmemhi_err_t err;

	assert_int_equal(read_one("SHMEMH_TIMEOUT", value, &opt, &err), SHMEMH_OK);
	assert_true(opt.timeout_ns == ns);
}

/* The line contains the option and the value. */
static void expect_refused(const char *name, const char *value)
{
	shmemhi_options_t opt;
	shmemhi_err_t err;

	assert_int_equal(read_one(name, value, &opt, &err), SHMEMH_ERR_OPTION);
	assert_non_null(strstr(err.text, name));
	if (strlen(value) < 40)
		assert_non_null(strstr(err.text, value));
}

static void test_defaults(void **state)
{
	shmemhi_options_t opt;
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_options_read(&opt, &quiet, &err), SHMEMH_OK);
	assert_int_equal(opt.heap_kind, 0);
	assert_true(opt.heap_chunk == 64ull << 20);
	assert_true(opt.timeout_ns == 0);
	assert_true(opt.boot_timeout_ns == 120000000000ull);
	assert_int_equal(opt.debug, SHMEMHI_WARN);
	assert_string_equal(opt.ifname, "");
	assert_int_equal(opt.pe, -1);
	assert_int_equal(opt.n_pes, -1);
	/* Set but empty counts as not set: scripts write NAME= to remove a value. */
	assert_int_equal(read_one("SHMEMH_HEAP_CHUNK", "", &opt, &err), SHMEMH_OK);
	assert_true(opt.heap_chunk == 64ull << 20);
}

static void test_sizes(void **state)
{
	(void)state;
	expect_size("0", 0);
	expect_size("4096", 4096);
	expect_size("3k", 3ull << 10);
	expect_size("3K", 3ull << 10);
	expect_size("7m", 7ull << 20);
	expect_size("2g", 2ull << 30);
	expect_size("5t", 5ull << 40);
	expect_size("18446744073709551615", UINT64_MAX);
	expect_size("16777215t", 16777215ull << 40);
	expect_refused("SHMEMH_HEAP_CHUNK", "18446744073709551616");
	expect_refused("SHMEMH_HEAP_CHUNK", "16777216t");
	expect_refused("SHMEMH_HEAP_CHUNK", "-1");
	expect_refused("SHMEMH_HEAP_CHUNK", "1.5g");
	expect_refused("SHMEMH_HEAP_CHUNK", "1gb");
	expect_refused("SHMEMH_HEAP_CHUNK", "1 g");
	expect_refused("SHMEMH_HEAP_CHUNK", "g");
	expect_refused("SHMEMH_HEAP_CHUNK", "0x10");
	expect_refused("SHMEMH_HEAP_CHUNK", "1s");
}

static void test_times(void **state)
{
	(void)state;
	expect_time("2", 2000000000ull);
	expect_time("2s", 2000000000ull);
	expect_time("2ms", 2000000ull);
	expect_time("2us", 2000ull);
	expect_time("2ns", 2ull);
	expect_time("18446744073709551615ns", UINT64_MAX);
	expect_refused("SHMEMH_TIMEOUT", "18446744074");
	expect_refused("SHMEMH_TIMEOUT", "2m");
	expect_refused("SHMEMH_TIMEOUT", "0.5");
	expect_refused("SHMEMH_BOOT_TIMEOUT", "0");
}

static void test_numbers(void **state)
{
	shmemhi_options_t opt;
	shmemhi_err_t err;

	(void)state;
	assert_int_equal(read_one("SHMEMH_PE", "2147483647", &opt, &err), SHMEMH_OK);
	assert_int_equal(opt.pe, INT_MAX);
	expect_refused("SHMEMH_PE", "2147483648");
	expect_refused("SHMEMH_PE", "-2");
	expect_refused("SHMEMH_PE", "1k");
	expect_refused("SHMEMH_PE", "two");
}

static void test_words(void **state)
{
	shmemhi_options_t opt;
	shmemhi_err_t err;

	(void)state;
	assert_int_equal(read_one("SHMEMH_HEAP", "auto", &opt, &err), SHMEMH_OK);
	assert_int_equal(opt.heap_kind, 0);
	assert_int_equal(read_one("SHMEMH_HEAP", "GPU", &opt, &err), SHMEMH_OK);
	assert_int_equal(opt.heap_kind, 1);
	assert_int_equal(read_one("SHMEMH_HEAP", "host", &opt, &err), SHMEMH_OK);
	assert_int_equal(opt.heap_kind, 2);
	assert_int_equal(read_one("SHMEMH_DEBUG", "info", &opt, &err), SHMEMH_OK);
	assert_int_equal(opt.debug, SHMEMHI_INFO);
	expect_refused("SHMEMH_DEBUG", "trace");
	expect_refused("SHMEMH_HEAP", "hos");
	expect_refused("SHMEMH_HEAP", "hosts");
	expect_refused("SHMEMH_HEAP", "gpu|host");
	expect_refused("SHMEMH_HEAP", "1");
	assert_int_equal(read_one("SHMEMH_HEAP", "none", &opt, &err), SHMEMH_ERR_OPTION);
	assert_non_null(strstr(err.text, "auto|gpu|host"));
}

static void test_texts(void **state)
{
	char text[400];
	shmemhi_options_t opt;
	shmemhi_err_t err;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(opt.node_id) - 1] = '\0';
	assert_int_equal(read_one("SHMEMH_NODE_ID", text, &opt, &err), SHMEMH_OK);
	assert_string_equal(opt.node_id, text);
	text[sizeof(opt.node_id) - 1] = 'x';
	text[sizeof(opt.node_id)] = '\0';
	expect_refused("SHMEMH_NODE_ID", text);
}

/* Capture what the function writes to stderr. */
static void capture(char *text, size_t nbytes, void (*fn)(void))
{
	int saved = dup(STDERR_FILENO);
	int ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	fn();
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = read(ends[0], text, nbytes - 1);
	close(ends[0]);
	text[n > 0 ? n : 0] = '\0';
}

static void read_options(void)
{
	shmemhi_log_t log = {SHMEMHI_OFF, 3, 8};
	shmemhi_options_t opt;
	shmemhi_err_t err = {""};

	assert_int_equal(shmemhi_options_read(&opt, &log, &err), SHMEMH_OK);
}

static void test_unknown(void **state)
{
	char text[1024];

	(void)state;
	setenv("SHMEMH_LOCAL_PE", "3", 1);
	setenv("SHMEMHX", "1", 1);
	capture(text, sizeof(text), read_options);
	assert_string_equal(text, "");
	setenv("SHMEMH_HEAP_CHUNKS", "1m", 1);
	setenv("SHMEMH_HEA", "gpu", 1);
	capture(text, sizeof(text), read_options);
	assert_non_null(strstr(text, "WARN SHMEMH_HEAP_CHUNKS is not an option"));
	assert_non_null(strstr(text, "WARN SHMEMH_HEA is not an option"));
	assert_non_null(strstr(text, "shmem_host PE 3/8 "));
	setenv("SHMEMH_DEBUG", "error", 1);
	capture(text, sizeof(text), read_options);
	assert_string_equal(text, "");
	unsetenv("SHMEMHX");
}

static void log_two_lines(void)
{
	shmemhi_log_t log = {SHMEMHI_WARN, -1, 0};

	shmemhi_log(&log, SHMEMHI_WARN, "one\nshmem_host forged");
	shmemhi_log(&log, SHMEMHI_INFO, "two");
}

static void test_log(void **state)
{
	char text[1024];

	(void)state;
	capture(text, sizeof(text), log_two_lines);
	assert_non_null(strstr(text, " WARN one shmem_host forged\n"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_null(strstr(text, "two"));
}

static void test_first_failure_stays(void **state)
{
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_fail(&err, SHMEMH_ERR_TIMEOUT, "cause %d", 1), SHMEMH_ERR_TIMEOUT);
	assert_int_equal(shmemhi_fail(&err, SHMEMH_ERR_PEER, "later"), SHMEMH_ERR_PEER);
	assert_string_equal(err.text, "cause 1");
}

static void test_print(void **state)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");
	shmemhi_options_t opt;
	shmemhi_err_t err = {""};

	(void)state;
	setenv("SHMEMH_SYMMETRIC_MAX", "6291456", 1);
	setenv("SHMEMH_TIMEOUT", "1500ms", 1);
	setenv("SHMEMH_UNIQUEID", "5ec4e7", 1);
	assert_int_equal(shmemhi_options_read(&opt, &quiet, &err), SHMEMH_OK);
	shmemhi_options_print(&opt, out);
	fclose(out);
	assert_non_null(strstr(text, "SHMEMH_SYMMETRIC_MAX    0        6m "));
	assert_non_null(strstr(text, "SHMEMH_TIMEOUT          0        1500ms "));
	assert_non_null(strstr(text, "SHMEMH_BOOT_TIMEOUT     120s     120s "));
	assert_non_null(strstr(text, "SHMEMH_HEAP             auto     auto "));
	assert_non_null(strstr(text, "SHMEMH_PE               -        - "));
	assert_non_null(strstr(text, "SHMEMH_IB_GID_INDEX     -1       -1 "));
	assert_null(strstr(text, "5ec4e7")); /* the secret is in it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_defaults, clean_environment),
		cmocka_unit_test_setup(test_sizes, clean_environment),
		cmocka_unit_test_setup(test_times, clean_environment),
		cmocka_unit_test_setup(test_numbers, clean_environment),
		cmocka_unit_test_setup(test_words, clean_environment),
		cmocka_unit_test_setup(test_texts, clean_environment),
		cmocka_unit_test_setup(test_unknown, clean_environment),
		cmocka_unit_test_setup(test_log, clean_environment),
		cmocka_unit_test_setup(test_first_failure_stays, clean_environment),
		cmocka_unit_test_setup(test_print, clean_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
