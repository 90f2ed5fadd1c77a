/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Stream and packet sockets that a child of fork does not keep. The end of a process is seen by its
 * peers as the end of its connections, and a connection ends with the last copy of its descriptor:
 * a child that lives on without exec would hide the death of its parent. So a handler that
 * pthread_atfork has registered closes the child's copies. A child made by clone or _Fork keeps
 * them: no handler runs there. */
#ifndef SHMEMHI_BASE_SOCKETS_H
#define SHMEMHI_BASE_SOCKETS_H

#include <sys/socket.h>

/* A socket of type SOCK_STREAM or SOCK_SEQPACKET, non-blocking, closed by exec and in a child of
 * fork. Close it by shmemhi_socket_close. Any thread. Returns -1: errno is that of socket() or
 * pthread_atfork(), or ENOMEM if there is no memory to record the descriptor. */
int shmemhi_socket(int family, int type);

/* The same for the next connection of a listening socket. */
int shmemhi_socket_accept(int listen_fd, struct sockaddr *from, socklen_t *from_nbytes);

/* Close a socket that one of the functions above has made. Keeps errno. */
void shmemhi_socket_close(int fd);

#endif
