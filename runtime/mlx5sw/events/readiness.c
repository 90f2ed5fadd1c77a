/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Descriptors that programs poll. There are none if a scheduler drives the devices. */
#include "mlx5sw/events/events.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

void mlx5swi_readiness_open(mlx5swi_readiness_t *r)
{
	r->is_set = 0;
	r->fd = mlx5swi_w->is_driven ? -1 : eventfd(0, EFD_CLOEXEC);
}

void mlx5swi_readiness_close(mlx5swi_readiness_t *r)
{
	if (r->fd >= 0)
		close(r->fd);
}

void mlx5swi_readiness_set(mlx5swi_readiness_t *r, int is_set)
{
	eventfd_t n;

	if (r->fd < 0 || r->is_set == (is_set != 0))
		return;
	r->is_set = is_set != 0;
	if (is_set)
		eventfd_write(r->fd, 1);
	else
		eventfd_read(r->fd, &n);
}

int mlx5swi_readiness_wait(const mlx5swi_readiness_t *r)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};

	if (!mlx5swi_w->has_thread || r->fd < 0 || fcntl(r->fd, F_GETFL) & O_NONBLOCK)
		return EAGAIN;
	return poll(&p, 1, -1) < 0 ? errno : 0;
}
