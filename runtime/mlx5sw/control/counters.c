/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Counters of queue pairs, for programs. */
#include "mlx5sw/control/control.h"

#include <errno.h>
#include <string.h>

/* Copy the counters that the program's structure has room for: it may be built with an older
 * header. */
static int copy(uint32_t host, uint32_t index, uint32_t qpn, mlx5sw_qp_counters_t *c)
{
	const mlx5swi_device_t *dev = mlx5swi_device(host - mlx5swi_w->places[0].host, index);
	const mlx5swi_qp_t *qp = dev ? mlx5swi_table_get(&dev->qps, qpn) : NULL;
	uint32_t nbytes = c->size;
	mlx5sw_qp_counters_t whole;

	if (!qp)
		return ENOENT;
	whole = qp->counters;
	whole.state = qp->state;
	whole.size = nbytes < sizeof(whole) ? nbytes : (uint32_t)sizeof(whole);
	memcpy(c, &whole, whole.size);
	return 0;
}

int mlx5sw_qp_counters(int host, int device, uint32_t qpn, mlx5sw_qp_counters_t *c)
{
	int err;

	if (!mlx5swi_w)
		return ENOENT;
	mlx5swi_lock();
	err = copy((uint32_t)host, (uint32_t)device, qpn, c);
	mlx5swi_unlock();
	return err;
}
