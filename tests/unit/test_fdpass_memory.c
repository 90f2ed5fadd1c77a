/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Passing descriptors while the Linux kernel has no memory for a message: the sender tries again
 * until its deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "mem_job.h"

/* The next n_refused calls fail with this errno. */
static _Atomic int n_refused, n_calls, refusal;

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	atomic_fetch_add(&n_calls, 1);
	if (atomic_load(&n_refused) > 0 && atomic_fetch_sub(&n_refused, 1) > 0) {
		errno = atomic_load(&refusal);
		return -1;
	}
	return syscall(SYS_sendmsg, fd, message, flags);
}

static void refuse(int error, int n)
{
	atomic_store(&n_calls, 0);
	atomic_store(&refusal, error);
	atomic_store(&n_refused, n);
}

static int send_once(uint64_t ns, shmemhi_err_t *err)
{
	int pair[2], word = 1, status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	status = shmemhi_fd_send(pair[0], &word, sizeof word, pair[1], shmemhi_deadline(ns), err);
	close(pair[0]);
	close(pair[1]);
	return status;
}

static void test_short_of_memory(void **state)
{
	const int errors[] = {ENOBUFS, ENOMEM, EAGAIN, ETOOMANYREFS};
	shmemhi_err_t err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		refuse(errors[i], 3);
		assert_int_equal(send_once(30 * SHMEMHI_SECOND, &err), SHMEMH_OK);
		assert_int_equal(n_calls, 4);
	}
	assert_string_equal(err.text, "");
}

static void test_deadline(void **state)
{
	const int errors[] = {ENOBUFS, ENOMEM};

	(void)state;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		shmemhi_err_t err = {""};

		refuse(errors[i], INT_MAX);
		assert_int_equal(send_once(SHMEMHI_MS, &err), SHMEMH_ERR_TIMEOUT);
		assert_non_null(strstr(err.text, strerror(errors[i])));
	}
}

static void test_other_failures(void **state)
{
	shmemhi_err_t err = {""};

	(void)state;
	refuse(EPERM, INT_MAX);
	assert_int_equal(send_once(30 * SHMEMHI_SECOND, &err), SHMEMH_ERR_SYSTEM);
	assert_int_equal(n_calls, 1);
}

/* The exchange of a whole job goes on with other PEs meanwhile. */
static int pe_grow(shmemh_t *job)
{
	void *p = NULL;

	PE_CHECK(shmemhi_mem_is_mapped(job, 1 - job->pe));
	if (job->pe == 0)
		refuse(ENOBUFS, 5);
	PE_CHECK(shmemh_malloc(job, 2u << 20, &p) == SHMEMH_OK);
	PE_CHECK(atomic_load(&n_refused) <= 0);
	return 0;
}

static void test_growth(void **state)
{
	(void)state;
	refuse(0, 0);
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 2, .sockets = 1}, pe_grow), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_of_memory),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_other_failures),
		cmocka_unit_test(test_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
