/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A child of fork has no copy of the sockets between the processes of a node. One that lives on
 * with a copy would hide the end of its parent from the other PEs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <cmocka.h>
#include "base/sockets.h"
#include "mem_job.h"

/* How many of these descriptors a child has. */
static int n_in_child(const int *fds, int n)
{
	int status = -1, open = 0;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < n; i++)
			open += fds[i] >= 0 && fcntl(fds[i], F_GETFD) >= 0;
		_exit(open);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_sockets(void **state)
{
	shmemhi_peer_hello_t hello = {.pe = 7, .secret = "0123456789abcde"};
	shmemhi_err_t err = {""};
	shmemhi_listener_t l;
	int pe = -1, fds[3];

	(void)state;
	assert_int_equal(shmemhi_listener_open(&l, &err), SHMEMH_OK);
	fds[0] = l.fd;
	fds[1] = shmemhi_fd_connect(l.path, &hello, shmemhi_deadline(DEADLINE_NS), &err);
	assert_true(fds[1] >= 0);
	fds[2] = shmemhi_fd_accept(&l, hello.secret, &pe);
	assert_true(fds[2] >= 0);
	assert_int_equal(n_in_child(fds, 3), 0);
	shmemhi_listener_close(&l);
	shmemhi_socket_close(fds[1]);
	shmemhi_socket_close(fds[2]);
}

static int pe_connected(shmemh_t *job)
{
	int fds[MAX_PES], n = 0;

	for (int pe = 0; pe < job->n_pes; pe++)
		if (job->mem->peers[pe].conn >= 0)
			fds[n++] = job->mem->peers[pe].conn;
	PE_CHECK(n > 0 && n_in_child(fds, n) == 0);
	return 0;
}

static void test_connections_of_a_job(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 3, .forked = 1}, pe_connected), 0);
}

static int pe_nothing(shmemh_t *job)
{
	(void)job;
	return 0;
}

/* The numbers of a job's sockets belong to others after it: a child keeps those. */
static void test_numbers_are_free_again(void **state)
{
	enum { N = 32 };
	int fds[N];

	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 4, .sockets = 1}, pe_nothing), 0);
	for (int i = 0; i < N; i++)
		assert_true((fds[i] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0);
	assert_int_equal(n_in_child(fds, N), N);
	for (int i = 0; i < N; i++)
		close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_connections_of_a_job),
		cmocka_unit_test(test_numbers_are_free_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
