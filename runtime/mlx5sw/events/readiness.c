/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Descriptors that programs poll. There are none if a scheduler drives the devices. */
#include "mlx5sw/events/events.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

void mlx5swi_signal_open(mlx5swi_signal_t *s)
{
	s->is_set = 0;
	s->fd = mlx5swi_w->is_driven ? -1 : eventfd(0, EFD_CLOEXEC);
}

void mlx5swi_signal_close(mlx5swi_signal_t *s)
{
	if (s->fd >= 0)
		close(s->fd);
}

void mlx5swi_signal_set(mlx5swi_signal_t *s, int is_set)
{
	eventfd_t n;

	if (s->fd < 0 || s->is_set == (is_set != 0))
		return;
	s->is_set = is_set != 0;
	if (is_set)
		eventfd_write(s->fd, 1);
	else
		eventfd_read(s->fd, &n);
}

int mlx5swi_signal_wait(const mlx5swi_signal_t *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};

	if (!mlx5swi_w->has_thread || s->fd < 0 || fcntl(s->fd, F_GETFL) & O_NONBLOCK)
		return EAGAIN;
	return poll(&p, 1, -1) < 0 ? errno : 0;
}
