/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Protection, thread and parent domains. */
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/verbs/entry.h"

#include <stdlib.h>
#include <string.h>

/* A thread domain allows its queue pairs to share a doorbell register. They do not share one here:
 * in RAM a second doorbell would overwrite one that the device has not taken yet. */
typedef struct mlx5swi_td {
	struct ibv_td ib;
	mlx5swi_context_t *ctx;
	uint32_t refs, handle;
} mlx5swi_td_t;

static int pd_new(mlx5swi_context_t *ctx, mlx5swi_pd_t **out)
{
	int err = mlx5swi_check_alive(ctx);
	mlx5swi_pd_t *pd = err ? NULL : calloc(1, sizeof(*pd));

	if (err)
		return err;
	if (!pd || mlx5swi_table_add(&ctx->dev->pds, pd, &pd->ib.handle) != 0) {
		free(pd);
		return mlx5swi_fail(ENOMEM, "no memory for a protection domain");
	}
	pd->ib.context = &ctx->vctx.context;
	pd->pdn = pd->ib.handle;
	pd->ctx = ctx;
	ctx->refs++;
	*out = pd;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	mlx5swi_pd_t *pd = NULL;

	mlx5swi_lock();
	mlx5swi_leave(pd_new(mlx5swi_context_of(context), &pd));
	return pd ? &pd->ib : NULL;
}

static int pd_free(mlx5swi_pd_t *pd)
{
	if (pd->refs)
		return mlx5swi_fail(EBUSY, "PD 0x%x: %u objects are left in it", pd->pdn, pd->refs);
	mlx5swi_table_remove(&pd->ctx->dev->pds, pd->ib.handle);
	if (pd->parent)
		pd->parent->refs--;
	if (pd->td)
		pd->td->refs--;
	pd->ctx->refs--;
	free(pd);
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	mlx5swi_lock();
	return mlx5swi_leave(pd_free((mlx5swi_pd_t *)pd));
}

static int check_parent(const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if (attr->comp_mask & ~known)
		return mlx5swi_fail(EINVAL, "parent domain: comp_mask 0x%x", attr->comp_mask);
	if (!attr->pd || ((mlx5swi_pd_t *)attr->pd)->parent)
		return mlx5swi_fail(EINVAL, "parent domain: needs a protection domain that "
					    "is not a parent domain itself");
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return mlx5swi_fail(EINVAL, "parent domain: needs both alloc and free");
	return 0;
}

/* A parent domain has the number of its protection domain: keys of one are valid for queue pairs of
 * the other. */
static int parent_new(mlx5swi_context_t *ctx, const struct ibv_parent_domain_init_attr *attr,
		      mlx5swi_pd_t **out)
{
	int err = check_parent(attr);
	mlx5swi_pd_t *pd;

	if (!err)
		err = pd_new(ctx, &pd);
	if (err)
		return err;
	pd->parent = (mlx5swi_pd_t *)attr->pd;
	pd->pdn = pd->parent->pdn;
	pd->td = (mlx5swi_td_t *)attr->td;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->arg = attr->pd_context;
	pd->parent->refs++;
	if (pd->td)
		pd->td->refs++;
	*out = pd;
	return 0;
}

struct ibv_pd *mlx5swi_alloc_parent_domain(struct ibv_context *context,
					   struct ibv_parent_domain_init_attr *attr)
{
	mlx5swi_pd_t *pd = NULL;

	mlx5swi_lock();
	mlx5swi_leave(parent_new(mlx5swi_context_of(context), attr, &pd));
	return pd ? &pd->ib : NULL;
}

static int td_new(mlx5swi_context_t *ctx, const struct ibv_td_init_attr *attr, mlx5swi_td_t **out)
{
	mlx5swi_td_t *td;

	if (attr->comp_mask)
		return mlx5swi_fail(EINVAL, "thread domain: comp_mask 0x%x", attr->comp_mask);
	td = calloc(1, sizeof(*td));
	if (!td || mlx5swi_table_add(&ctx->dev->handles, td, &td->handle) != 0) {
		free(td);
		return mlx5swi_fail(ENOMEM, "no memory for a thread domain");
	}
	td->ib.context = &ctx->vctx.context;
	td->ctx = ctx;
	ctx->refs++;
	*out = td;
	return 0;
}

struct ibv_td *mlx5swi_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	mlx5swi_td_t *td = NULL;

	mlx5swi_lock();
	mlx5swi_leave(td_new(mlx5swi_context_of(context), attr, &td));
	return td ? &td->ib : NULL;
}

static int td_free(mlx5swi_td_t *td)
{
	if (td->refs)
		return mlx5swi_fail(EBUSY, "thread domain: %u parent domains use it", td->refs);
	mlx5swi_table_remove(&td->ctx->dev->handles, td->handle);
	td->ctx->refs--;
	free(td);
	return 0;
}

int mlx5swi_dealloc_td(struct ibv_td *td)
{
	mlx5swi_lock();
	return mlx5swi_leave(td_free((mlx5swi_td_t *)td));
}

static uint8_t *own_alloc(size_t nbytes, size_t alignment)
{
	uint8_t *p = aligned_alloc(alignment, (nbytes + alignment - 1) & ~(alignment - 1));

	if (p)
		memset(p, 0, nbytes);
	return p;
}

/* Memory from the program's allocator is not cleared: libmlx5 does not clear it either. */
int mlx5swi_buffer_alloc(mlx5swi_pd_t *pd, size_t nbytes, size_t alignment, uint64_t type,
			 mlx5swi_buffer_t *buffer)
{
	void *p = IBV_ALLOCATOR_USE_DEFAULT;

	buffer->owned = NULL;
	if (pd && pd->alloc)
		p = pd->alloc(&pd->ib, pd->arg, nbytes, alignment, type);
	if (p == IBV_ALLOCATOR_USE_DEFAULT)
		p = buffer->owned = own_alloc(nbytes, alignment);
	buffer->p = p;
	return p ? 0 : ENOMEM;
}

static bool is_gpu_memory(const mlx5swi_buffer_t *buffer)
{
	return buffer->p && !buffer->owned && mlx5swi_is_gpu(buffer->p);
}

int mlx5swi_check_buffers(const char *what, const mlx5swi_buffer_t *ring,
			  const mlx5swi_buffer_t *record)
{
	if (is_gpu_memory(ring) || is_gpu_memory(record))
		return mlx5swi_fail(EOPNOTSUPP,
				    "%s by verbs in memory of a GPU: make it by DevX, which takes "
				    "a umem of that memory",
				    what);
	return 0;
}

void mlx5swi_buffer_free(mlx5swi_pd_t *pd, mlx5swi_buffer_t *buffer, uint64_t type)
{
	if (buffer->owned)
		free(buffer->owned);
	else if (buffer->p)
		pd->free(&pd->ib, pd->arg, buffer->p, type);
	buffer->p = NULL;
}
