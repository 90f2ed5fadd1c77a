/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "mem/fdpass.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include <stdbool.h>
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/sockets.h"
#include "mem/tmpdir.h"

#define BACKLOG 4096
#define RETRY_MS 2
#define DIR_SUFFIX "/" SHMEMHI_TMPDIR_PREFIX "XXXXXX"
#define SOCKET_SUFFIX "/" SHMEMHI_TMPDIR_SOCKET

/* Wait for events on fd. Returns false if the deadline passed. */
static bool wait_for(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int n = poll(&p, 1, shmemhi_poll_ms(deadline_ns));

		if (n > 0)
			return true;
		if (n == 0 && shmemhi_now() >= deadline_ns)
			return false;
		if (n < 0 && errno != EINTR)
			return true; /* the call that follows reports it */
	}
}

static int fail_in(const char *dir, shmemhi_err_t *err, const char *what)
{
	const char *advice = shmemhi_descriptor_advice(errno);

	return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "node: %s failed for a socket in %s: %s%s",
			    what, dir, strerror(errno),
			    advice[0] ? advice
				      : "; set TMPDIR to a writable directory with a short name");
}

static int listener_fail(shmemhi_listener_t *l, shmemhi_err_t *err, const char *what)
{
	int status = fail_in(l->dir, err, what);

	shmemhi_listener_close(l);
	return status;
}

int shmemhi_listener_open(shmemhi_listener_t *l, shmemhi_err_t *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *tmp = getenv("TMPDIR");

	*l = SHMEMHI_LISTENER_NONE;
	/* A name that is too long for the address of a socket must not fail the job. */
	if (!tmp || !*tmp || strlen(tmp) > sizeof l->path - sizeof(DIR_SUFFIX SOCKET_SUFFIX))
		tmp = "/tmp";
	stpcpy(stpcpy(l->dir, tmp), DIR_SUFFIX);
	shmemhi_tmpdir_sweep(tmp);
	l->lock_fd = shmemhi_tmpdir_make(l->dir);
	if (l->lock_fd < 0) {
		l->dir[0] = '\0';
		return fail_in(tmp, err, "making a directory");
	}
	l->fd = shmemhi_socket(AF_UNIX, SOCK_SEQPACKET);
	if (l->fd < 0)
		return listener_fail(l, err, "socket");
	stpcpy(stpcpy(address.sun_path, l->dir), SOCKET_SUFFIX);
	if (bind(l->fd, (struct sockaddr *)&address, sizeof address) != 0)
		return listener_fail(l, err, "bind");
	memcpy(l->path, address.sun_path, sizeof l->path);
	if (listen(l->fd, BACKLOG) != 0)
		return listener_fail(l, err, "listen");
	return SHMEMH_OK;
}

void shmemhi_listener_close(shmemhi_listener_t *l)
{
	if (l->fd >= 0)
		shmemhi_socket_close(l->fd);
	if (l->path[0])
		unlink(l->path);
	if (l->dir[0])
		rmdir(l->dir);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	*l = SHMEMHI_LISTENER_NONE;
}

bool shmemhi_fd_user_ok(uid_t peer, uid_t own)
{
	return peer == own;
}

/* Does the other end belong to this user? The Linux kernel recorded the user that connected or
 * listened. */
static bool check_user(int conn)
{
	struct ucred peer;
	socklen_t nbytes = sizeof peer;

	return getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &nbytes) == 0 &&
	       shmemhi_fd_user_ok(peer.uid, geteuid());
}

/* Returns 0, or -1 with errno. A connect to a full queue fails with EAGAIN: the socket does not
 * block. */
static int connect_now(int conn, const struct sockaddr_un *address)
{
	int status;

	do
		status = connect(conn, (const struct sockaddr *)address, sizeof *address);
	while (status != 0 && errno == EINTR);
	return status;
}

/* This process has no free descriptor, or no memory to record one (base/sockets.h). */
static bool is_no_room(int error)
{
	return shmemhi_no_descriptor(error) || error == ENOMEM;
}

int shmemhi_fd_connect(const char *path, const shmemhi_peer_hello_t *hello, uint64_t deadline_ns,
		       shmemhi_err_t *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int conn = shmemhi_socket(AF_UNIX, SOCK_SEQPACKET), failed = -1;

	if (conn < 0) {
		int error = errno;

		shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "socket failed: %s%s", strerror(error),
			     shmemhi_descriptor_advice(error));
		return is_no_room(error) ? SHMEMHI_FD_NO_ROOM : -1;
	}
	strncpy(address.sun_path, path, sizeof address.sun_path - 1);
	if (connect_now(conn, &address) != 0) {
		bool is_full = errno == EAGAIN;

		shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "connect to %s failed: %s%s", address.sun_path,
			     strerror(errno),
			     is_full ? "; its queue is full: raise net.core.somaxconn" : "");
		failed = is_full ? SHMEMHI_FD_QUEUE_FULL : -1;
	} else if (!check_user(conn))
		shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "%s belongs to another user",
			     address.sun_path);
	else if (shmemhi_fd_send(conn, hello, sizeof *hello, -1, deadline_ns, err) == SHMEMH_OK)
		return conn;
	shmemhi_socket_close(conn);
	return failed;
}

int shmemhi_fd_accept(const shmemhi_listener_t *l,
		      const unsigned char secret[SHMEMHI_FD_SECRET_NBYTES], int *pe)
{
	for (;;) {
		shmemhi_err_t ignored = {""};
		shmemhi_peer_hello_t hello;
		int extra = -1;
		int conn = shmemhi_socket_accept(l->fd, NULL, NULL);

		if (conn < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (conn < 0)
			return is_no_room(errno) ? SHMEMHI_FD_NO_ROOM : -1;
		/* A deadline in the past: a PE of the job has sent its hello already. */
		if (check_user(conn) &&
		    shmemhi_fd_recv(conn, &hello, sizeof hello, &extra, 0, &ignored) == SHMEMH_OK &&
		    extra < 0 && sodium_memcmp(hello.secret, secret, sizeof hello.secret) == 0) {
			*pe = hello.pe;
			return conn;
		}
		if (extra >= 0)
			close(extra);
		shmemhi_socket_close(conn);
	}
}

/* A shortage that may end soon, without an event for poll(). */
static bool is_shortage(int error)
{
	return error == ETOOMANYREFS || error == ENOBUFS || error == ENOMEM;
}

static int send_failed(int error, shmemhi_err_t *err)
{
	if (error == EAGAIN)
		return shmemhi_fail(err, SHMEMH_ERR_TIMEOUT,
				    "the other end took no message before the deadline");
	if (error == ETOOMANYREFS)
		return shmemhi_fail(err, SHMEMH_ERR_TIMEOUT,
				    "too many descriptors of this user are under way "
				    "between processes: raise ulimit -n");
	return shmemhi_fail(err,
			    is_shortage(error)                      ? SHMEMH_ERR_TIMEOUT
			    : error == EPIPE || error == ECONNRESET ? SHMEMH_ERR_PEER
								    : SHMEMH_ERR_SYSTEM,
			    "sendmsg failed: %s", strerror(error));
}

int shmemhi_fd_send(int conn, const void *msg, size_t nbytes, int fd, uint64_t deadline_ns,
		    shmemhi_err_t *err)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec data = {.iov_base = (void *)(uintptr_t)msg, .iov_len = nbytes};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	}
	while (sendmsg(conn, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		const int error = errno;

		if (error == EINTR)
			continue;
		if (error == EAGAIN && wait_for(conn, POLLOUT, deadline_ns))
			continue;
		if (!is_shortage(error) || shmemhi_now() >= deadline_ns)
			return send_failed(error, err);
		poll(NULL, 0, RETRY_MS);
	}
	return SHMEMH_OK;
}

/* The descriptor in a received message; further ones are closed. -1: none. */
static int take_fd(struct msghdr *message)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
			if (fd < 0)
				fd = got;
			else
				close(got);
		}
	}
	return fd;
}

int shmemhi_fd_recv(int conn, void *msg, size_t nbytes, int *fd, uint64_t deadline_ns,
		    shmemhi_err_t *err)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {.iov_base = msg, .iov_len = nbytes};
	struct msghdr message;
	ssize_t got;

	*fd = -1;
	for (;;) {
		message = (struct msghdr){.msg_iov = &data,
					  .msg_iovlen = 1,
					  .msg_control = &control,
					  .msg_controllen = sizeof control};
		got = recvmsg(conn, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (got >= 0)
			break;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return shmemhi_fail(
				err, errno == ECONNRESET ? SHMEMH_ERR_PEER : SHMEMH_ERR_SYSTEM,
				"recvmsg failed: %s", strerror(errno));
		if (!wait_for(conn, POLLIN, deadline_ns))
			return shmemhi_fail(err, SHMEMH_ERR_TIMEOUT,
					    "the other end sent nothing before the deadline");
	}
	if (got == 0)
		return shmemhi_fail(err, SHMEMH_ERR_PEER, "the other end closed the connection");
	*fd = take_fd(&message);
	if ((size_t)got == nbytes && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return SHMEMH_OK;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	if ((size_t)got == nbytes && (message.msg_flags & MSG_CTRUNC)) {
		*fd = SHMEMHI_FD_NO_ROOM;
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
				    "its descriptor did not arrive: this process has too many "
				    "open: raise ulimit -n");
	}
	return shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
			    "a message of %zd bytes came instead of one of %zu", got, nbytes);
}
