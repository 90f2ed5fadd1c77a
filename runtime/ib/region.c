/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/region.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "cuda/dmabuf.h"
#include "mem/mem.h"

/* No IBV_ACCESS_RELAXED_ORDERING: with it a later write could become visible before an earlier
 * one, and what is visible in memory when a queue pair fails would not be a prefix of what was
 * sent. */
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* Register GPU memory by a dma-buf. The region keeps the memory alive, so the descriptor is
 * closed. */
static struct ibv_mr *by_dmabuf(shmemh_t *job, const shmemhi_ib_lib_t *lib,
				const shmemhi_open_port_t *port, char *at, uint64_t offset,
				uint64_t nbytes, shmemhi_err_t *err)
{
	const char *call = "ibv_reg_dmabuf_mr";
	struct ibv_mr *mr = NULL;
	int fd = shmemhi_cuctx_dmabuf(shmemhi_mem_cuctx(job), at, nbytes, err);

	if (fd < 0)
		return NULL;
	errno = lib->bind_dmabuf ? lib->bind_dmabuf(fd, at, nbytes) : 0;
	if (errno)
		call = "mlx5sw_bind_dmabuf";
	else
		mr = lib->reg_dmabuf_mr(port->pd, 0, nbytes, offset, fd, ACCESS);
	if (!mr)
		shmemhi_fail(err, SHMEMH_ERR_NIC, "%s: %s", call, strerror(errno));
	close(fd);
	return mr;
}

struct ibv_mr *shmemhi_region_open(shmemh_t *job, const shmemhi_ib_lib_t *lib,
				   const shmemhi_open_port_t *port, uint64_t offset,
				   uint64_t nbytes)
{
	char *at = shmemhi_mem_base(job, job->pe) + offset;
	bool is_gpu = shmemhi_mem_is_on_gpu(job);
	shmemhi_err_t why = {""};
	struct ibv_mr *mr = NULL;

	if (is_gpu)
		mr = by_dmabuf(job, lib, port, at, offset, nbytes, &why);
	if (!mr)
		mr = lib->reg_mr_iova2(port->pd, at, nbytes, offset, ACCESS);
	if (mr)
		return mr;
	if (is_gpu)
		shmemhi_fail(&job->err, SHMEMH_ERR_NIC,
			     "%s cannot register %llu bytes of GPU memory: by dma-buf: %.200s; by "
			     "ibv_reg_mr_iova2: %s: load nvidia_peermem, or use the open kernel "
			     "modules of the driver (dma-buf), or set SHMEMH_IB=off",
			     port->name, (unsigned long long)nbytes, why.text, strerror(errno));
	else
		shmemhi_fail(&job->err, SHMEMH_ERR_NIC,
			     "%s cannot register %llu bytes of host memory: ibv_reg_mr_iova2: %s: "
			     "raise the limit of locked memory (ulimit -l), or set SHMEMH_IB=off",
			     port->name, (unsigned long long)nbytes, strerror(errno));
	return NULL;
}
