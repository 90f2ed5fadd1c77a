/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Directories with sockets of killed processes, which later starts remove. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "mem/fdpass.h"
#include "mem/tmpdir.h"
#include "open_fds.h"

/* Returns whether a process listens there. */
static int is_alive(const shmemhi_listener_t *l)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), ok;

	memcpy(address.sun_path, l->path, sizeof l->path);
	ok = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
	close(fd);
	return ok;
}

/* Number of directories and files in dir. */
static int count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (const struct dirent *e = readdir(d); e; e = readdir(d))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* A process that is killed while it listens, or early, when it has only created its directory. */
static void die_listening(int is_early)
{
	char dir[256];
	shmemhi_listener_t l;
	shmemhi_err_t err;
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(dir, sizeof dir, "%s/shmemh-XXXXXX", getenv("TMPDIR"));
		if (is_early ? shmemhi_tmpdir_make(dir) >= 0
			     : shmemhi_listener_open(&l, &err) == SHMEMH_OK)
			raise(SIGKILL);
		_exit(1);
	}
	int wait_status = 0;
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_true(WIFSIGNALED(wait_status));
}

/* The next start removes what they left, nothing in use or of another user, nothing else. */
static void test_sweep(void **state)
{
	char parent[] = "/tmp/sweep-XXXXXX", path[64];
	static const char *const kept[] = {"shmemh-abcdefg", "shmemh-abcde", "other-abcdef",
					   "shmemh-others"};
	shmemhi_listener_t alive, next;
	shmemhi_err_t err = {""};
	int n_kept = geteuid() == 0 ? 4 : 3, before = count_fds();

	(void)state;
	assert_non_null(mkdtemp(parent));
	setenv("TMPDIR", parent, 1);
	for (int i = 0; i < n_kept; i++) {
		snprintf(path, sizeof path, "%s/%s", parent, kept[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	if (n_kept == 4)
		assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(shmemhi_listener_open(&alive, &err), SHMEMH_OK);
	die_listening(0);
	assert_int_equal(count_entries(parent), n_kept + 2);
	die_listening(1);
	assert_int_equal(count_entries(parent), n_kept + 3);
	assert_int_equal(shmemhi_listener_open(&next, &err), SHMEMH_OK);
	assert_int_equal(count_entries(parent), n_kept + 2);
	assert_true(is_alive(&alive) && is_alive(&next));
	shmemhi_listener_close(&alive);
	shmemhi_listener_close(&next);
	assert_int_equal(count_fds(), before);
	for (int i = 0; i < n_kept; i++) {
		snprintf(path, sizeof path, "%s/%s", parent, kept[i]);
		assert_int_equal(rmdir(path), 0);
	}
	unsetenv("TMPDIR");
	assert_int_equal(rmdir(parent), 0);
}

#define N_STARTS 300

/* Starts concurrent with others that sweep: none loses its directory, from its creation on. */
static void *start_often(void *arg)
{
	int *n_lost = arg;

	for (int i = 0; i < N_STARTS; i++) {
		shmemhi_listener_t l;
		shmemhi_err_t err = {""};

		if (shmemhi_listener_open(&l, &err) != SHMEMH_OK) {
			++*n_lost;
			continue;
		}
		*n_lost += !is_alive(&l);
		shmemhi_listener_close(&l);
	}
	return NULL;
}

static void test_sweep_races(void **state)
{
	char parent[] = "/tmp/sweep-XXXXXX";
	pthread_t threads[4];
	int n_lost[4] = {0};

	(void)state;
	assert_non_null(mkdtemp(parent));
	setenv("TMPDIR", parent, 1);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, start_often, &n_lost[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	unsetenv("TMPDIR");
	for (int i = 0; i < 4; i++)
		assert_int_equal(n_lost[i], 0);
	assert_int_equal(rmdir(parent), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_sweep_races),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
