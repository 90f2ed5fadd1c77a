/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Passing file descriptors between processes of one user, over pathname sockets. (Abstract names
 * would be open to every user of the network namespace; pidfd_getfd fails in usual containers.)
 * Every wait has a deadline, and no wait depends on a process outside the job. */
#ifndef SHMEMHI_MEM_FDPASS_H
#define SHMEMHI_MEM_FDPASS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>
#include "base/err.h"

#define SHMEMHI_FD_SECRET_NBYTES 16

/* A listening socket in a directory of its own that only this user can enter. */
typedef struct shmemhi_listener {
	int fd;      /* -1: not open */
	int lock_fd; /* of dir, which is in use as long as it is open (tmpdir.h) */
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": no file */
} shmemhi_listener_t;

/* First message on a connection: the PE that connects, and the secret that the listening PE
 * distributed over the bootstrap. */
typedef struct shmemhi_peer_hello {
	unsigned char secret[SHMEMHI_FD_SECRET_NBYTES];
	int32_t pe;
} shmemhi_peer_hello_t;

#define SHMEMHI_LISTENER_NONE ((shmemhi_listener_t){.fd = -1, .lock_fd = -1})

/* In place of a descriptor: this process has no free descriptor (ulimit -n), or no memory to record
 * that of a socket. */
#define SHMEMHI_FD_NO_ROOM (-2)
/* In place of a connection: as many connections wait to be accepted as the Linux kernel lets (the
 * least of BACKLOG in fdpass.c and net.core.somaxconn). */
#define SHMEMHI_FD_QUEUE_FULL (-3)

/* In TMPDIR, or in /tmp if there is none or the name of the socket would be too long. Also removes
 * directories that processes of this user left when they were killed.
 * Returns SHMEMH_OK; ERR_SYSTEM. */
int shmemhi_listener_open(shmemhi_listener_t *l, shmemhi_err_t *err);
/* Remove the socket's file and directory; established connections stay. */
void shmemhi_listener_close(shmemhi_listener_t *l);

/* Connect and send hello. Does not wait for the listening PE. Returns a connection, which
 * shmemhi_socket_close closes (base/sockets.h), or FD_NO_ROOM, FD_QUEUE_FULL (to be tried again
 * once the listening PE has accepted) or -1, each with a line in err. */
int shmemhi_fd_connect(const char *path, const shmemhi_peer_hello_t *hello, uint64_t deadline_ns,
		       shmemhi_err_t *err);

/* Accept the next connection whose hello has arrived and contains the secret; close the pending
 * ones before it, whose hello has not arrived or lacks the secret. PEs of the job have sent their
 * hello before this is called, so it does not wait.
 * Returns  a connection and its pe, closed in the same way; -1: there are no more;
 *          FD_NO_ROOM: there may be, and errno says what is lacking. */
int shmemhi_fd_accept(const shmemhi_listener_t *l,
		      const unsigned char secret[SHMEMHI_FD_SECRET_NBYTES], int *pe);

/* May a process of user `own` talk to one of user `peer`? */
bool shmemhi_fd_user_ok(uid_t peer, uid_t own);

/* One message, with a descriptor if fd >= 0. Returns SHMEMH_OK; ERR_TIMEOUT, also if the Linux
 * kernel has no memory for it until then; ERR_PEER (the other end is closed); ERR_SYSTEM. */
int shmemhi_fd_send(int conn, const void *msg, size_t nbytes, int fd, uint64_t deadline_ns,
		    shmemhi_err_t *err);

/* One message of exactly nbytes; fd receives its descriptor, -1 (it has none), or FD_NO_ROOM, with
 * ERR_SYSTEM. Returns SHMEMH_OK; ERR_TIMEOUT; ERR_PEER (the other end is closed); ERR_SYSTEM. */
int shmemhi_fd_recv(int conn, void *msg, size_t nbytes, int *fd, uint64_t deadline_ns,
		    shmemhi_err_t *err);

#endif
