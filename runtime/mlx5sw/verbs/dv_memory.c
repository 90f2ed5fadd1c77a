/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory and doorbell pages for DevX objects. */
#include "mlx5sw/verbs/entry.h"

#include <stdlib.h>
#include "mlx5sw/engine/engine.h"

#define UMEM_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define UMEM_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
/* MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED, which headers before rdma-core 45 lack. */
#define NC_DEDICATED (1u << 31)

static int check_umem(const struct mlx5dv_devx_umem_in *in)
{
	if (in->comp_mask & ~(uint64_t)MLX5DV_UMEM_MASK_DMABUF)
		return mlx5swi_fail(EOPNOTSUPP, "UMEM: comp_mask 0x%llx",
				    (unsigned long long)in->comp_mask);
	if (!in->size || (uintptr_t)in->addr + in->size - 1 < (uintptr_t)in->addr)
		return mlx5swi_fail(EINVAL, "UMEM of %zu bytes at %p", in->size, in->addr);
	if (in->access & ~(uint32_t)UMEM_ACCESS)
		return mlx5swi_fail(EINVAL, "UMEM: access 0x%x", in->access);
	if (in->access & IBV_ACCESS_REMOTE_WRITE && !(in->access & IBV_ACCESS_LOCAL_WRITE))
		return mlx5swi_fail(EINVAL, "UMEM: access 0x%x: remote write needs local write",
				    in->access);
	if (!(in->pgsz_bitmap & ~(uint64_t)(MLX5SWI_PAGE - 1)))
		return mlx5swi_fail(EINVAL,
				    "UMEM: pgsz_bitmap 0x%llx has no page of %u bytes or "
				    "more",
				    (unsigned long long)in->pgsz_bitmap, MLX5SWI_PAGE);
	return 0;
}

/* With a dma-buf, in->addr is the offset in it. */
static int find_memory(const struct mlx5dv_devx_umem_in *in, uint8_t **p, int *is_gpu)
{
	if (in->comp_mask & MLX5DV_UMEM_MASK_DMABUF) {
		*p = mlx5swi_dmabuf(in->dmabuf_fd, (uintptr_t)in->addr, in->size, is_gpu);
	} else {
		*p = in->addr;
		*is_gpu = mlx5swi_is_gpu(in->addr);
	}
	if (!*p)
		return mlx5swi_fail(EBADF,
				    "UMEM: no memory, or mlx5sw_bind_dmabuf has not announced "
				    "dma-buf %d",
				    in->dmabuf_fd);
	if (!mlx5swi_is_mapped(*p, in->size))
		return mlx5swi_fail(EFAULT, "UMEM: not all of [%p, +%zu) is mapped",
				    (const void *)*p, in->size);
	return 0;
}

static int umem_new(mlx5swi_context_t *ctx, const struct mlx5dv_devx_umem_in *in,
		    mlx5swi_umem_t **out)
{
	mlx5swi_umem_t *umem;
	uint8_t *p;
	int is_gpu, err = mlx5swi_check_alive(ctx);

	if (!err)
		err = check_umem(in);
	if (!err)
		err = find_memory(in, &p, &is_gpu);
	if (err)
		return err;
	umem = calloc(1, sizeof(*umem));
	if (!umem || mlx5swi_table_add(&ctx->dev->umems, umem, &umem->id) != 0) {
		free(umem);
		return mlx5swi_fail(ENOMEM, "no memory for a UMEM");
	}
	if (in->access & UMEM_REMOTE)
		mlx5swi_lint("S13", NULL, -1,
			     "UMEM 0x%x: access 0x%x: queues need no remote "
			     "access, and some devices refuse them with it",
			     umem->id, in->access);
	umem->dv.umem_id = umem->id;
	umem->ctx = ctx;
	umem->access = in->access;
	umem->p = p;
	umem->nbytes = in->size;
	umem->is_gpu = is_gpu != 0;
	ctx->refs++;
	*out = umem;
	return 0;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *ctx,
						 struct mlx5dv_devx_umem_in *umem_in)
{
	mlx5swi_umem_t *umem = NULL;

	mlx5swi_lock();
	mlx5swi_leave(umem_new(mlx5swi_context_of(ctx), umem_in, &umem));
	return umem ? &umem->dv : NULL;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *ctx, void *addr, size_t size,
					      uint32_t access)
{
	struct mlx5dv_devx_umem_in in = {.addr = addr,
					 .size = size,
					 .access = access,
					 .pgsz_bitmap = ~(uint64_t)(MLX5SWI_PAGE - 1)};

	return mlx5dv_devx_umem_reg_ex(ctx, &in);
}

static int umem_free(mlx5swi_umem_t *umem)
{
	if (umem->refs)
		return mlx5swi_fail(EBUSY, "UMEM 0x%x: %u objects are in it", umem->id, umem->refs);
	mlx5swi_table_remove(&umem->ctx->dev->umems, umem->id);
	umem->ctx->refs--;
	free(umem);
	return 0;
}

int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem)
{
	mlx5swi_lock();
	return mlx5swi_leave(umem_free((mlx5swi_umem_t *)umem));
}

static int uar_new(mlx5swi_context_t *ctx, uint32_t flags, mlx5swi_uar_t **uar)
{
	int err = mlx5swi_check_alive(ctx);

	if (err)
		return err;
	if (flags != MLX5DV_UAR_ALLOC_TYPE_BF && flags != MLX5DV_UAR_ALLOC_TYPE_NC &&
	    flags != NC_DEDICATED)
		return mlx5swi_fail(EOPNOTSUPP, "UAR: flags 0x%x", flags);
	*uar = mlx5swi_uar_new(ctx);
	if (!*uar)
		return mlx5swi_fail(ENOMEM, "no UAR is left");
	(*uar)->has_blueflame = flags == MLX5DV_UAR_ALLOC_TYPE_BF;
	return 0;
}

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags)
{
	mlx5swi_uar_t *uar = NULL;

	mlx5swi_lock();
	mlx5swi_leave(uar_new(mlx5swi_context_of(context), flags, &uar));
	return uar ? &uar->dv : NULL;
}

/* A page in use is not freed; this function can report that by errno only. */
void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *uar)
{
	mlx5swi_lock();
	mlx5swi_leave(mlx5swi_errno_of(mlx5swi_uar_destroy((mlx5swi_uar_t *)uar)));
}
