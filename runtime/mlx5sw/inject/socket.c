/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The control socket, in a thread of its own, so that a slow client does not delay the devices. */
#include "mlx5sw/inject/socket.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include "mlx5sw/inject/fault.h"

static struct {
	pthread_t thread;
	int fd, is_on;
	pid_t pid; /* of the process that owns it: forked children inherit this structure */
	struct sockaddr_un address;
} at;

static bool is_allowed(int fd)
{
	struct ucred who;
	socklen_t nbytes = sizeof(who);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &nbytes) == 0 &&
	       (who.uid == geteuid() || who.uid == 0);
}

static void serve(int fd)
{
	char line[MLX5SWI_MAX_LINE], *answer = malloc(MLX5SWI_MAX_ANSWER);
	struct timeval limit = {1, 0}; /* for a client that stops while it sends */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	ssize_t n = answer && is_allowed(fd) ? recv(fd, line, sizeof(line) - 1, 0) : -1;
	if (n > 0) {
		line[n] = 0;
		int bad = mlx5sw_control(line, answer + 1, MLX5SWI_MAX_ANSWER - 1);
		answer[0] = bad ? '1' : '0';
		(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	}
	free(answer);
	close(fd);
}

static void *run(void *arg)
{
	const struct timespec pause = {0, 10000000};
	(void)arg;
	for (;;) {
		int fd = accept(at.fd, NULL, NULL);
		if (fd >= 0)
			serve(fd);
		else if (errno == EINVAL)
			return NULL; /* mlx5swi_socket_stop was called */
		else
			/* no descriptors are available, or the client has gone */
			nanosleep(&pause, NULL);
	}
}

/* Block all signals in this thread: they belong to the program. */
static int start_thread(void)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int bad = pthread_create(&at.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return bad;
}

static int listen_at(const char *dir)
{
	char name[24];
	snprintf(name, sizeof(name), "%ld", (long)getpid());
	int bad = mlx5swi_socket_address(&at.address, dir, name);
	if (bad)
		return bad;
	at.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (at.fd < 0)
		return errno;
	/* left by a dead process with the same number */
	mlx5swi_socket_remove(at.address.sun_path);
	bad = bind(at.fd, (struct sockaddr *)&at.address, sizeof(at.address)) || listen(at.fd, 8)
		      ? errno
		      : start_thread();
	if (bad) {
		close(at.fd);
		mlx5swi_socket_remove(at.address.sun_path);
	}
	return bad;
}

/* A program may end without mlx5sw_stop. The thread runs until the process is gone. */
static void remove_at_exit(void)
{
	if (at.is_on && at.pid == getpid())
		unlink(at.address.sun_path);
}

/* If this fails the adapter works without the socket; one line reports why. */
void mlx5swi_socket_start(void)
{
	static int has_handler;
	char dir[80];
	int bad = mlx5swi_socket_dir(dir, sizeof(dir));
	if (!bad && !has_handler && !(has_handler = !atexit(remove_at_exit)))
		bad = ENOMEM;
	if (!bad)
		bad = listen_at(dir);
	if (bad)
		fprintf(stderr, "mlx5sw: no control socket in %s: %s\n", dir, strerror(bad));
	at.is_on = !bad;
	at.pid = getpid();
}

/* A forked child has neither the thread nor the socket's name, only a descriptor. */
void mlx5swi_socket_stop(void)
{
	if (!at.is_on)
		return;
	if (at.pid == getpid()) {
		unlink(at.address.sun_path);
		shutdown(at.fd, SHUT_RDWR); /* makes accept return */
		pthread_join(at.thread, NULL);
	}
	close(at.fd);
	at.is_on = 0;
}
