/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* How many file descriptors this process has open. */
#ifndef OPEN_FDS_H
#define OPEN_FDS_H

#include <fcntl.h>

static inline int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 512; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif
