/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The control socket of a process: MLX5SW_DIR/PID, or /tmp/mlx5sw-UID/PID. A message to it is one
 * control line. The answer is one message: a byte '0' or '1' (it failed), then text. */
#ifndef MLX5SW_SOCKET_H
#define MLX5SW_SOCKET_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MLX5SWI_MAX_LINE 512 /* of a control line, with its terminator */
#define MLX5SWI_MAX_ANSWER 65536

/* The directory, created if it is missing; it belongs to the user, and others cannot write to it.
 * Returns 0 or an errno value. */
static inline int mlx5swi_socket_dir(char *path, size_t nbytes)
{
	const char *dir = getenv("MLX5SW_DIR");
	struct stat s;
	int n = dir ? snprintf(path, nbytes, "%s", dir)
		    : snprintf(path, nbytes, "/tmp/mlx5sw-%u", (unsigned)geteuid());
	if (n < 0 || (size_t)n >= nbytes)
		return ENAMETOOLONG;
	if (mkdir(path, 0700) && errno != EEXIST)
		return errno;
	if (lstat(path, &s))
		return errno;
	return S_ISDIR(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & 022) ? 0 : EPERM;
}

static inline int mlx5swi_socket_address(struct sockaddr_un *a, const char *dir, const char *name)
{
	a->sun_family = AF_UNIX;
	int n = snprintf(a->sun_path, sizeof(a->sun_path), "%s/%s", dir, name);
	return n < 0 || (size_t)n >= sizeof(a->sun_path) ? ENAMETOOLONG : 0;
}

/* Remove a socket to which no process listens any more, as the caller knows. A file that is no
 * socket stays: the directory may contain files of the user. */
static inline void mlx5swi_socket_remove(const char *path)
{
	struct stat s;
	if (lstat(path, &s) == 0 && S_ISSOCK(s.st_mode))
		unlink(path);
}

#endif
