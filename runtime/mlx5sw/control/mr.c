/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory regions, and the memory of dma-bufs. */
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/control/control.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A dma-buf is identified by its file: descriptor numbers are reused after close, and duplicates
 * have other numbers. */
typedef struct mlx5swi_dmabuf {
	struct mlx5swi_dmabuf *next;
	dev_t st_dev;
	ino_t st_ino;
	uint8_t *p;
	uint64_t nbytes;
	uint8_t is_gpu;
} mlx5swi_dmabuf_t;

static mlx5swi_dmabuf_t *find(const struct stat *st)
{
	mlx5swi_dmabuf_t *d = mlx5swi_w->dmabufs;

	while (d && (d->st_dev != st->st_dev || d->st_ino != st->st_ino))
		d = d->next;
	return d;
}

static int bind_file(const struct stat *st, void *p, size_t nbytes)
{
	mlx5swi_dmabuf_t *d = find(st);

	if (!d) {
		d = calloc(1, sizeof(*d));
		if (!d)
			return ENOMEM;
		d->next = mlx5swi_w->dmabufs;
		mlx5swi_w->dmabufs = d;
	}
	d->st_dev = st->st_dev;
	d->st_ino = st->st_ino;
	d->p = p;
	d->nbytes = nbytes;
	d->is_gpu = mlx5swi_is_gpu(p) != 0;
	return 0;
}

int mlx5sw_bind_dmabuf(int fd, void *p, size_t nbytes)
{
	struct stat st;
	int err = mlx5swi_world_ready();

	if (err)
		return err;
	if (!p || !nbytes)
		return EINVAL;
	if (fstat(fd, &st) != 0)
		return errno;
	mlx5swi_lock();
	err = bind_file(&st, p, nbytes);
	mlx5swi_unlock();
	return err;
}

uint8_t *mlx5swi_dmabuf(int fd, uint64_t offset, uint64_t nbytes, int *is_gpu)
{
	struct stat st;
	const mlx5swi_dmabuf_t *d = fstat(fd, &st) == 0 ? find(&st) : NULL;

	if (!d || nbytes > d->nbytes || offset > d->nbytes - nbytes)
		return NULL;
	*is_gpu = d->is_gpu;
	return d->p + offset;
}

void mlx5swi_dmabufs_free(void)
{
	mlx5swi_dmabuf_t *d;

	while ((d = mlx5swi_w->dmabufs)) {
		mlx5swi_w->dmabufs = d->next;
		free(d);
	}
}

bool mlx5swi_is_mapped(const uint8_t *p, uint64_t nbytes)
{
	uintptr_t first = (uintptr_t)p & ~(uintptr_t)(MLX5SWI_PAGE - 1);

	if (!mlx5swi_w->has_thread || mlx5swi_is_gpu(p))
		return true;
	return msync((void *)first, (uintptr_t)p + nbytes - first, MS_ASYNC) == 0;
}

int mlx5swi_mr_create(mlx5swi_pd_t *pd, uint8_t *p, uint64_t nbytes, uint64_t iova, uint32_t access,
		      mlx5swi_mr_t **out)
{
	mlx5swi_mr_t *mr;
	uint32_t index;

	if (!nbytes || iova + nbytes - 1 < iova || (uintptr_t)p + nbytes - 1 < (uintptr_t)p)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "memory region of %llu bytes at %p, iova 0x%llx: empty, or "
				      "past the end of the address space",
				      (unsigned long long)nbytes, (void *)p,
				      (unsigned long long)iova);
	mr = calloc(1, sizeof(*mr));
	if (!mr || mlx5swi_table_add(&pd->ctx->dev->mrs, mr, &index) != 0) {
		free(mr);
		return mlx5swi_refuse(MLX5SWI_NO_RESOURCES, "no memory for a memory region");
	}
	mr->ctx = pd->ctx;
	mr->pd = pd;
	mr->key = index << 8 | ((index * 37 + 1) & 0xff); /* the low byte is a variant */
	mr->p = p;
	mr->nbytes = nbytes;
	mr->iova = iova;
	mr->access = access;
	mr->is_relaxed = (access & IBV_ACCESS_RELAXED_ORDERING) != 0;
	mr->ctx->refs++;
	pd->refs++;
	*out = mr;
	return MLX5SWI_DONE;
}

int mlx5swi_mr_destroy(mlx5swi_mr_t *mr)
{
	const mlx5swi_table_t *qps = &mr->ctx->dev->qps;

	if (mr->refs)
		return mlx5swi_refuse(MLX5SWI_BUSY, "MR 0x%x: %u objects use it", mr->key,
				      mr->refs);
	mlx5swi_place_all(mr->ctx->dev);
	for (uint32_t i = 0; i < qps->n; i++)
		if (qps->at[i])
			mlx5swi_requester_mr_ends(qps->at[i], mr->key);
	mlx5swi_table_remove(&mr->ctx->dev->mrs, mr->key >> 8);
	mr->ctx->refs--;
	mr->pd->refs--;
	free(mr);
	return MLX5SWI_DONE;
}
