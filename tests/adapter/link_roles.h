/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Processes with an adapter each, started by tests of the links between processes. */
#ifndef ADAPTER_LINK_ROLES_H
#define ADAPTER_LINK_ROLES_H

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "fixture_verbs.h"
#include "mlx5sw/control/control.h"

#define N_WQEBBS 256u
#define SECONDS 30u
#define RETRY 0x15

/* Retries of a role are used up after 10 s in place of 0.5 s: beside other programs a process may
 * not run for longer than that. A role that waits for that error calls speed_up before. */
#define SLOW "20000"

static uint8_t memory[4096] __attribute__((aligned(4096)));
/* The fabric name of this test program, for MLX5SW_FABRIC, and its file. */
static char shm_name[64], shm_path[128];

static inline int exchange(int fd, const void *mine, void *its, size_t nbytes)
{
	return write(fd, mine, nbytes) != (ssize_t)nbytes ||
	       recv(fd, its, nbytes, MSG_WAITALL) != (ssize_t)nbytes;
}

static inline int meet(int fd)
{
	char byte = 0;
	return exchange(fd, &byte, &byte, 1);
}

/* Open a connected queue pair; fd is a socket to the peer. */
static inline int open_end(verbs_end_t *e, int fd)
{
	verbs_name_t peer;
	return verbs_open(e, memory, sizeof(memory), N_WQEBBS) ||
	       exchange(fd, &e->name, &peer, sizeof(peer)) || verbs_connect(e, &peer) || meet(fd);
}

static inline uint64_t word(uint32_t i)
{
	return __atomic_load_n((uint64_t *)memory + i, __ATOMIC_ACQUIRE);
}

static inline int await(uint32_t i, uint64_t value)
{
	time_t end = time(NULL) + SECONDS;
	while (word(i) != value)
		if (time(NULL) > end)
			return 1;
	return 0;
}

/* From now on the clock of this process's adapter runs so many times as fast. */
static uint64_t (*real_now)(void *arg);
static uint64_t speed_from, speed;

static inline uint64_t fast_now(void *arg)
{
	return speed_from + (real_now(arg) - speed_from) * speed;
}

static inline void speed_up(uint64_t factor)
{
	mlx5swi_lock();
	real_now = mlx5swi_w->hooks.now;
	speed_from = real_now(mlx5swi_w->hooks.arg);
	speed = factor;
	mlx5swi_w->hooks.now = fast_now;
	mlx5swi_unlock();
}

typedef int role_t(int fd);

static inline pid_t start(role_t *role, const char *fabric, int fd, int other)
{
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	close(other);
	setenv("MLX5SW_FABRIC", fabric, 1);
	setenv("MLX5SW_TIMING", "spec", 1);
	setenv("MLX5SW_SLOW", SLOW, 0);
	exit(role(fd));
}

static inline int status_of(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void start_two(role_t *first, role_t *second, const char *first_fabric,
			     const char *second_fabric, pid_t pids[2])
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pids[0] = start(first, first_fabric, fds[0], fds[1]);
	pids[1] = start(second, second_fabric, fds[1], fds[0]);
	close(fds[0]);
	close(fds[1]);
}

static inline void two(role_t *first, role_t *second, const char *first_fabric,
		       const char *second_fabric)
{
	pid_t pids[2];
	start_two(first, second, first_fabric, second_fabric, pids);
	assert_int_equal(status_of(pids[0]), 0);
	assert_int_equal(status_of(pids[1]), 0);
}

static inline int post_many(verbs_end_t *e)
{
	uint8_t syndrome;
	for (uint64_t i = 1; i <= 100 * 64; i++) {
		verbs_write(e, 8 * (uint32_t)(i % 64), i, i % 64 == 0);
		if (i % 64 == 0 && verbs_wait(e, SECONDS, &syndrome))
			return 1;
	}
	return 0;
}

/* Both ends write at the same time. */
static inline int both_directions(int fd)
{
	verbs_end_t e;
	if (open_end(&e, fd))
		return 1;
	if (post_many(&e) || await(0, 6400))
		return 2;
	for (uint32_t i = 1; i < 64; i++)
		if (word(i) != 6336 + i)
			return 3;
	if (meet(fd))
		return 4;
	verbs_close(&e);
	return 0;
}

static inline void name_shm(void)
{
	snprintf(shm_name, sizeof(shm_name), "shm:test-%u", (unsigned)getpid());
	snprintf(shm_path, sizeof(shm_path), "/dev/shm/mlx5sw.%u.test-%u", (unsigned)geteuid(),
		 (unsigned)getpid());
}

/* A port that stays free until a role listens there: it is below those that the Linux kernel gives
 * to sockets of other programs, and each test program begins to search at another one. */
static inline uint16_t free_port(void)
{
	enum { FIRST = 10240, N = 20000 };
	static uint32_t n_tried;
	struct sockaddr_in a = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	do {
		assert_true(n_tried < N);
		a.sin_port = htons(FIRST + (16 * (uint32_t)getpid() + n_tried++) % N);
	} while (bind(fd, (const struct sockaddr *)&a, sizeof(a)));
	close(fd);
	return ntohs(a.sin_port);
}

static inline void tcp_name(char *name, size_t nbytes, uint16_t port)
{
	snprintf(name, nbytes, "tcp:127.0.0.1:%u", port);
}

#endif
