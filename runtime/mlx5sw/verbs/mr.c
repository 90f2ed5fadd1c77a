/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Registration of memory. */
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/verbs/entry.h"

#define KNOWN_ACCESS                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)

typedef struct region {
	uint8_t *p; /* NULL: memory of a dma-buf */
	uint64_t nbytes, iova, offset;
	uint32_t access;
	int fd;
} region_t;

static int check_access(uint32_t access)
{
	if (access & IBV_ACCESS_ON_DEMAND)
		return mlx5swi_fail(EOPNOTSUPP, "memory region: paging on demand is not modelled");
	if (access & ~(uint32_t)KNOWN_ACCESS)
		return mlx5swi_fail(EINVAL, "memory region: access 0x%x", access);
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return mlx5swi_fail(EINVAL,
				    "memory region: access 0x%x: remote write and atomic "
				    "need local write",
				    access);
	return 0;
}

static int check_pages(const region_t *r, const uint8_t *p)
{
	uint64_t offset = r->p ? (uintptr_t)r->p : r->offset;

	if ((offset ^ r->iova) % MLX5SWI_PAGE && !(r->access & IBV_ACCESS_ZERO_BASED))
		return mlx5swi_fail(EINVAL,
				    "memory region: 0x%llx and iova 0x%llx are not at the "
				    "same place in a page",
				    (unsigned long long)offset, (unsigned long long)r->iova);
	if (r->p && !mlx5swi_is_mapped(p, r->nbytes))
		return mlx5swi_fail(EFAULT, "memory region: not all of [%p, +%llu) is mapped",
				    (const void *)p, (unsigned long long)r->nbytes);
	return 0;
}

static int find_memory(const region_t *r, uint8_t **p, int *is_gpu)
{
	if (r->p) {
		*p = r->p;
		*is_gpu = mlx5swi_is_gpu(r->p);
		return 0;
	}
	*p = mlx5swi_dmabuf(r->fd, r->offset, r->nbytes, is_gpu);
	if (!*p)
		return mlx5swi_fail(EBADF,
				    "dma-buf %d: mlx5sw_bind_dmabuf has not announced %llu "
				    "bytes at 0x%llx of it",
				    r->fd, (unsigned long long)r->nbytes,
				    (unsigned long long)r->offset);
	return 0;
}

static int reg(mlx5swi_pd_t *pd, const region_t *r, mlx5swi_mr_t **mr)
{
	uint64_t iova = r->access & IBV_ACCESS_ZERO_BASED ? 0 : r->iova;
	int is_gpu, err = mlx5swi_check_alive(pd->ctx);
	uint8_t *p;

	if (!err)
		err = check_access(r->access);
	if (!err)
		err = find_memory(r, &p, &is_gpu);
	if (!err)
		err = check_pages(r, p);
	if (!err)
		err = mlx5swi_errno_of(mlx5swi_mr_create(pd, p, r->nbytes, iova, r->access, mr));
	if (err)
		return err;
	(*mr)->is_gpu = is_gpu != 0;
	(*mr)->ib = (struct ibv_mr){.context = pd->ib.context,
				    .pd = &pd->ib,
				    .addr = r->p ? (void *)r->p : (void *)(uintptr_t)r->offset,
				    .length = r->nbytes,
				    .handle = (*mr)->key,
				    .lkey = (*mr)->key,
				    .rkey = (*mr)->key};
	return 0;
}

static struct ibv_mr *enter(struct ibv_pd *pd, const region_t *r)
{
	mlx5swi_mr_t *mr = NULL;

	mlx5swi_lock();
	mlx5swi_leave(reg((mlx5swi_pd_t *)pd, r, &mr));
	return mr ? &mr->ib : NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	return enter(pd, &(region_t){.p = addr, .nbytes = length, .iova = iova, .access = access});
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	return enter(pd, &(region_t){.nbytes = length,
				     .iova = iova,
				     .offset = offset,
				     .access = (uint32_t)access,
				     .fd = fd});
}

/* Report memory that was unmapped before its MR was deregistered: a device would continue to write
 * to the pinned pages, which the program cannot see any more, without a report. */
static void check_memory(const mlx5swi_mr_t *mr)
{
	if (!mr->is_gpu && !mlx5swi_is_mapped(mr->p, mr->nbytes))
		mlx5swi_lint("M4", NULL, -1,
			     "MR 0x%x: its memory was unmapped before it was deregistered",
			     mr->key);
}

/* mlx5swi_mr_destroy stores accepted WRITEs to memory, which the program may free next. */
int ibv_dereg_mr(struct ibv_mr *mr)
{
	mlx5swi_lock();
	check_memory((mlx5swi_mr_t *)mr);
	return mlx5swi_leave(mlx5swi_errno_of(mlx5swi_mr_destroy((mlx5swi_mr_t *)mr)));
}

/* Registration through data direct, which the device does not have. */
MLX5SW_API struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					       uint64_t iova, int fd, int access, int mlx5_access)
{
	if (!mlx5_access)
		return ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
	mlx5swi_lock();
	mlx5swi_leave(
		mlx5swi_fail(EOPNOTSUPP, "memory region: mlx5 access 0x%x", (unsigned)mlx5_access));
	return NULL;
}
