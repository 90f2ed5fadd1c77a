/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "base/sockets.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* The lock is held from before a socket is made until its bit is set, and by a thread that forks:
 * a child has a copy of no socket whose bit it does not have. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *bits; /* [n_words] 1: this descriptor is such a socket; NULL: there is none */
static size_t n_words;
static size_t n_sockets;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_error;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* Close the child's copies. The words stay allocated, for sockets that the child makes. */
static void in_child(void)
{
	for (size_t i = 0; i < n_words; i++)
		for (; bits[i] != 0; bits[i] &= bits[i] - 1)
			close((int)(i * 64) + __builtin_ctzll(bits[i]));
	n_sockets = 0;
	pthread_mutex_unlock(&lock);
}

static void register_handlers(void)
{
	once_error = pthread_atfork(before_fork, after_fork, in_child);
}

/* Make room for the bit of fd. Returns 0 or an errno. */
static int grow(int fd)
{
	const size_t n = (size_t)fd / 64 + 1;
	uint64_t *grown;

	if (n <= n_words)
		return 0;
	grown = realloc(bits, n * sizeof(*bits));
	if (!grown)
		return ENOMEM;
	memset(grown + n_words, 0, (n - n_words) * sizeof(*bits));
	bits = grown;
	n_words = n;
	return 0;
}

static bool is_set(int fd)
{
	return (size_t)fd / 64 < n_words && (bits[fd / 64] >> (fd % 64) & 1) != 0;
}

/* With the lock held. Returns fd, or -1 after closing it. */
static int add(int fd)
{
	int error;

	if (fd < 0)
		return -1;
	error = grow(fd);
	if (error != 0) {
		close(fd);
		errno = error;
		return -1;
	}
	n_sockets += !is_set(fd);
	bits[fd / 64] |= 1ull << (fd % 64);
	return fd;
}

/* Lock, if the handlers are there: without them no socket is made. Returns 0; -1: errno. */
static int begin(void)
{
	pthread_once(&once, register_handlers);
	if (once_error != 0) {
		errno = once_error;
		return -1;
	}
	pthread_mutex_lock(&lock);
	return 0;
}

int shmemhi_socket(int family, int type)
{
	int fd;

	if (begin() != 0)
		return -1;
	fd = add(socket(family, type | FLAGS, 0));
	pthread_mutex_unlock(&lock);
	return fd;
}

int shmemhi_socket_accept(int listen_fd, struct sockaddr *from, socklen_t *from_nbytes)
{
	int fd;

	if (begin() != 0)
		return -1;
	fd = add(accept4(listen_fd, from, from_nbytes, FLAGS));
	pthread_mutex_unlock(&lock);
	return fd;
}

/* Frees the words when no socket is left: a program that has left its jobs keeps none of them. */
void shmemhi_socket_close(int fd)
{
	const int saved = errno;

	pthread_mutex_lock(&lock);
	if (is_set(fd)) {
		bits[fd / 64] &= ~(1ull << (fd % 64));
		n_sockets--;
	}
	if (n_sockets == 0) {
		free(bits);
		bits = NULL;
		n_words = 0;
	}
	close(fd);
	pthread_mutex_unlock(&lock);
	errno = saved;
}
