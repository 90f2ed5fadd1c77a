/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The listening socket of a PE: its directory, and how many connections may wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/sockets.h"
#include "mem/fdpass.h"
#include "open_fds.h"

#define SUFFIX "/shmemh-XXXXXX/s" /* behind TMPDIR */

static uint64_t soon(void)
{
	return shmemhi_deadline(10 * SHMEMHI_SECOND);
}

static void open_and_close(const char *begins_with)
{
	shmemhi_listener_t l;
	shmemhi_err_t err = {""};

	assert_int_equal(shmemhi_listener_open(&l, &err), SHMEMH_OK);
	assert_memory_equal(l.path, begins_with, strlen(begins_with));
	shmemhi_listener_close(&l);
}

/* TMPDIR is used if the name of the socket fits into its address: the longest one that does, and
 * the next. */
static void test_long_directory(void **state)
{
	const size_t longest = sizeof(((shmemhi_listener_t *)0)->path) - sizeof SUFFIX;
	char name[200];

	(void)state;
	for (size_t n = longest; n <= longest + 1; n++) {
		memset(name, 'x', n);
		memcpy(name, "/tmp/", 5);
		name[n] = '\0';
		setenv("TMPDIR", name, 1);
		assert_int_equal(mkdir(name, 0700), 0);
		open_and_close(n == longest ? name : "/tmp/shmemh-");
		assert_int_equal(rmdir(name), 0);
	}
	memset(name, 'x', sizeof name - 1);
	name[0] = '/';
	name[sizeof name - 1] = '\0';
	setenv("TMPDIR", name, 1);
	open_and_close("/tmp/shmemh-");
	unsetenv("TMPDIR");
}

static void test_bad_directory(void **state)
{
	shmemhi_listener_t l;
	shmemhi_err_t err = {""}, err2 = {""};
	shmemhi_peer_hello_t hello = {.pe = 0};

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	assert_int_equal(shmemhi_listener_open(&l, &err), SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(err.text, "/nowhere"));
	unsetenv("TMPDIR");
	assert_int_equal(shmemhi_fd_connect("/nowhere/s", &hello, soon(), &err2), -1);
	assert_non_null(strstr(err2.text, "/nowhere/s"));
}

/* A full queue does not keep a connecting PE waiting. */
static void test_full_queue(void **state)
{
	shmemhi_listener_t l;
	shmemhi_err_t err = {""};
	shmemhi_peer_hello_t hello = {.pe = 3};
	int first, accepted, pe = -1, before = count_fds();

	(void)state;
	assert_int_equal(shmemhi_listener_open(&l, &err), SHMEMH_OK);
	assert_int_equal(listen(l.fd, 0), 0); /* one connection may wait */
	first = shmemhi_fd_connect(l.path, &hello, soon(), &err);
	assert_true(first >= 0);
	assert_int_equal(shmemhi_fd_connect(l.path, &hello, soon(), &err), SHMEMHI_FD_QUEUE_FULL);
	assert_non_null(strstr(err.text, "raise net.core.somaxconn"));
	accepted = shmemhi_fd_accept(&l, hello.secret, &pe);
	assert_true(accepted >= 0);
	assert_int_equal(pe, 3);
	shmemhi_socket_close(accepted);
	shmemhi_socket_close(first);
	shmemhi_listener_close(&l);
	assert_int_equal(count_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_directory),
		cmocka_unit_test(test_bad_directory),
		cmocka_unit_test(test_full_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
