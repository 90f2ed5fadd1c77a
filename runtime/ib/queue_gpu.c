/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queues and bounce buffers in GPU memory, which is allocated like the heap, so that NICs can
 * register it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "cuda/dmabuf.h"
#include "ib/queue.h"
#include "mem/mem.h"

/* Export memory of the GPU as a dma-buf, and announce it to the software adapter. Returns a
 * descriptor; -1: a line in why. */
static int open_dmabuf(shmemhi_cuctx_t *c, const shmemhi_ib_lib_t *lib, void *base, size_t nbytes,
		       shmemhi_err_t *why)
{
	int fd = shmemhi_cuctx_dmabuf(c, base, nbytes, why);

	if (fd < 0)
		return -1;
	errno = lib->bind_dmabuf ? lib->bind_dmabuf(fd, base, nbytes) : 0;
	if (errno == 0)
		return fd;
	shmemhi_fail(why, SHMEMH_ERR_NIC, "mlx5sw_bind_dmabuf: %s", strerror(errno));
	close(fd);
	return -1;
}

/* Register by a dma-buf. The umem keeps the memory alive, so the descriptor is closed. */
static struct mlx5dv_devx_umem *umem_by_dmabuf(shmemhi_cuctx_t *c, const shmemhi_ib_lib_t *lib,
					       const shmemhi_open_port_t *port, void *base,
					       size_t nbytes, shmemhi_err_t *why)
{
	struct mlx5dv_devx_umem_in in = {
		.size = nbytes, /* from the dma-buf's first byte */
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pgsz_bitmap = ~((uint64_t)sysconf(_SC_PAGESIZE) - 1),
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
	};
	struct mlx5dv_devx_umem *umem;

	if (!lib->umem_reg_ex) {
		shmemhi_fail(why, SHMEMH_ERR_NIC,
			     "libmlx5 has no mlx5dv_devx_umem_reg_ex: use rdma-core 43 or newer");
		return NULL;
	}
	in.dmabuf_fd = open_dmabuf(c, lib, base, nbytes, why);
	if (in.dmabuf_fd < 0)
		return NULL;
	umem = lib->umem_reg_ex(port->context, &in);
	if (!umem)
		shmemhi_fail(why, SHMEMH_ERR_NIC, "mlx5dv_devx_umem_reg_ex: %s", strerror(errno));
	close(in.dmabuf_fd);
	return umem;
}

/* The same for a memory region, which uses the addresses of this process. */
static struct ibv_mr *mr_by_dmabuf(shmemh_t *job, const shmemhi_ib_lib_t *lib,
				   const shmemhi_open_port_t *port, const shmemhi_queue_block_t *b,
				   shmemhi_err_t *why)
{
	int fd = open_dmabuf(shmemhi_mem_cuctx(job), lib, b->base, b->nbytes, why);
	struct ibv_mr *mr;

	if (fd < 0)
		return NULL;
	mr = lib->reg_dmabuf_mr(port->pd, 0, b->nbytes, (uintptr_t)b->base, fd,
				IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		shmemhi_fail(why, SHMEMH_ERR_NIC, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	close(fd);
	return mr;
}

struct mlx5dv_devx_umem *shmemhi_umem_of_gpu(shmemhi_cuctx_t *c, const shmemhi_ib_lib_t *lib,
					     const shmemhi_open_port_t *port, void *base,
					     size_t nbytes, shmemhi_err_t *why)
{
	shmemhi_err_t no_dmabuf = {""};
	struct mlx5dv_devx_umem *umem = umem_by_dmabuf(c, lib, port, base, nbytes, &no_dmabuf);

	if (!umem)
		umem = lib->umem_reg(port->context, base, nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!umem)
		shmemhi_fail(why, SHMEMH_ERR_NIC, "by dma-buf: %.200s; by mlx5dv_devx_umem_reg: %s",
			     no_dmabuf.text, strerror(errno));
	return umem;
}

struct mlx5dv_devx_umem *shmemhi_queue_gpu_register(shmemh_t *job, const shmemhi_ib_lib_t *lib,
						    const shmemhi_open_port_t *port,
						    const shmemhi_queue_block_t *b,
						    shmemhi_err_t *why)
{
	return shmemhi_umem_of_gpu(shmemhi_mem_cuctx(job), lib, port, b->base, b->nbytes, why);
}

int shmemhi_queue_gpu_open(shmemh_t *job, const shmemhi_ib_lib_t *lib,
			   const shmemhi_open_port_t *port, shmemhi_queue_block_t *b,
			   shmemhi_err_t *why)
{
	int status = shmemhi_area_open(job, b->nbytes, &b->area, why);

	b->base = b->area.range.base;
	if (status != SHMEMH_OK)
		return status;
	b->umem = shmemhi_queue_gpu_register(job, lib, port, b, why);
	return b->umem ? SHMEMH_OK : SHMEMH_ERR_NIC;
}

struct ibv_mr *shmemhi_bounces_gpu_register(shmemh_t *job, const shmemhi_ib_lib_t *lib,
					    const shmemhi_open_port_t *port,
					    const shmemhi_queue_block_t *b, shmemhi_err_t *why)
{
	shmemhi_err_t no_dmabuf = {""};
	struct ibv_mr *mr = mr_by_dmabuf(job, lib, port, b, &no_dmabuf);

	if (!mr)
		mr = lib->reg_mr(port->pd, b->base, b->nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		shmemhi_fail(why, SHMEMH_ERR_NIC,
			     "bounce buffers: by dma-buf: %.200s; by ibv_reg_mr: %s",
			     no_dmabuf.text, strerror(errno));
	return mr;
}

int shmemhi_bounces_gpu_open(shmemh_t *job, const shmemhi_ib_lib_t *lib,
			     const shmemhi_open_port_t *port, shmemhi_queue_block_t *b,
			     struct ibv_mr **mr, shmemhi_err_t *why)
{
	int status = shmemhi_area_open(job, b->nbytes, &b->area, why);

	b->base = b->area.range.base;
	if (status != SHMEMH_OK)
		return status;
	*mr = shmemhi_bounces_gpu_register(job, lib, port, b, why);
	return *mr ? SHMEMH_OK : SHMEMH_ERR_NIC;
}
