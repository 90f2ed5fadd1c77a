/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* GPU memory: physical extents of the driver's virtual memory management, shared by POSIX file
 * descriptors. */
#include <stdlib.h>
#include <unistd.h>
#include "mem/state.h"

#define CHECK(mem, err, call, result) shmemhi_cuda_check(&(mem)->cuctx->cuda, err, call, result)

static shmemhi_cu_location_t own_device(const shmemhi_mem_t *mem)
{
	return (shmemhi_cu_location_t){SHMEMHI_CU_LOCATION_DEVICE, mem->cuctx->device};
}

static shmemhi_cu_prop_t allocation_prop(const shmemhi_mem_t *mem)
{
	shmemhi_cu_prop_t prop = {
		.type = SHMEMHI_CU_ALLOCATION_PINNED,
		.handle_types = SHMEMHI_CU_HANDLE_POSIX_FD,
		.location = own_device(mem),
	};

	/* Set at creation: it cannot be added once a NIC is to register the memory. */
	if (shmemhi_cuctx_attribute(mem->cuctx, SHMEMHI_CU_ATTR_RDMA_VMM))
		prop.gpu_direct_rdma = 1;
	return prop;
}

static int granularity(shmemhi_mem_t *mem, uint64_t *nbytes, shmemhi_err_t *err)
{
	shmemhi_cu_prop_t prop = allocation_prop(mem);
	size_t bytes = 0;
	int status = CHECK(mem, err, "cuMemGetAllocationGranularity",
			   mem->cuctx->cuda.mem_get_granularity(&bytes, &prop,
								SHMEMHI_CU_GRANULARITY_MINIMUM));

	*nbytes = bytes;
	return status;
}

static int default_max(shmemhi_mem_t *mem, uint64_t *nbytes, shmemhi_err_t *err)
{
	return shmemhi_cuctx_total_mem(mem->cuctx, nbytes, err);
}

static int reserve(shmemhi_mem_t *mem, uint64_t nbytes, shmemhi_range_t *range, shmemhi_err_t *err)
{
	uint64_t raw_nbytes = nbytes + SHMEMHI_BASE_ALIGN;
	shmemhi_cu_ptr_t raw = 0;
	int status = CHECK(mem, err, "cuMemAddressReserve (set SHMEMH_SYMMETRIC_MAX to less)",
			   mem->cuctx->cuda.mem_address_reserve(&raw, raw_nbytes, 0, 0, 0));

	if (status != SHMEMH_OK)
		return status;
	range->raw = (void *)(uintptr_t)raw;
	range->raw_nbytes = raw_nbytes;
	range->base = (char *)(((uintptr_t)raw + SHMEMHI_BASE_ALIGN - 1) &
			       ~(uintptr_t)(SHMEMHI_BASE_ALIGN - 1));
	return SHMEMH_OK;
}

static void unreserve(shmemhi_mem_t *mem, shmemhi_range_t *range)
{
	if (range->raw)
		mem->cuctx->cuda.mem_address_free((uintptr_t)range->raw, range->raw_nbytes);
	*range = (shmemhi_range_t){0};
}

/* Unmapped address space stays reserved. */
static void drop(shmemhi_mem_t *mem, shmemhi_extent_t *extent, bool keep_range)
{
	(void)keep_range;
	if (extent->at)
		mem->cuctx->cuda.mem_unmap((uintptr_t)extent->at, extent->nbytes);
	shmemhi_extent_close_fd(extent);
	if (extent->held)
		mem->cuctx->cuda.mem_release(extent->handle);
	*extent = SHMEMHI_EXTENT_NONE;
}

static int create(shmemhi_mem_t *mem, uint64_t nbytes, shmemhi_extent_t *extent, shmemhi_err_t *err)
{
	shmemhi_cu_prop_t prop = allocation_prop(mem);
	shmemhi_cu_handle_t handle = 0;
	int fd = -1;
	int status;

	*extent = SHMEMHI_EXTENT_NONE;
	status = CHECK(mem, err, "cuMemCreate",
		       mem->cuctx->cuda.mem_create(&handle, nbytes, &prop, 0));
	if (status != SHMEMH_OK)
		return status;
	extent->handle = handle;
	extent->nbytes = nbytes;
	extent->held = 1;
	extent->created = 1;
	status = CHECK(mem, err, "cuMemExportToShareableHandle",
		       mem->cuctx->cuda.mem_export(&fd, handle, SHMEMHI_CU_HANDLE_POSIX_FD, 0));
	if (status != SHMEMH_OK)
		drop(mem, extent, false);
	else
		extent->fd = fd;
	return status;
}

static int import(shmemhi_mem_t *mem, int fd, uint64_t nbytes, shmemhi_extent_t *extent,
		  shmemhi_err_t *err)
{
	shmemhi_cu_handle_t handle = 0;
	int status;

	*extent = SHMEMHI_EXTENT_NONE;
	/* The descriptor is passed by value in the pointer argument. */
	status = CHECK(mem, err, "cuMemImportFromShareableHandle",
		       mem->cuctx->cuda.mem_import(&handle, (void *)(uintptr_t)fd,
						   SHMEMHI_CU_HANDLE_POSIX_FD));
	if (status != SHMEMH_OK)
		return status;
	extent->handle = handle;
	extent->nbytes = nbytes;
	extent->held = 1;
	return SHMEMH_OK;
}

/* List the devices that need access to a mapping of this PE: its own GPU and, for memory that this
 * PE created, the GPUs of the PEs in this process, which use the same address. Returns their
 * number, n_pes at most. */
static size_t access_list(const shmemhi_mem_t *mem, int created, shmemhi_cu_access_t *list)
{
	size_t n = 1;

	list[0] = (shmemhi_cu_access_t){own_device(mem), SHMEMHI_CU_ACCESS_READWRITE};
	for (int pe = 0; created && mem->ids && pe < mem->n_pes; pe++) {
		int known = !mem->peers[pe].in_process;

		for (size_t i = 0; i < n; i++)
			known |= list[i].location.id == mem->ids[pe].device;
		if (known)
			continue;
		list[n] = list[0];
		list[n++].location.id = mem->ids[pe].device;
	}
	return n;
}

static int map(shmemhi_mem_t *mem, char *at, shmemhi_extent_t *extent, shmemhi_err_t *err)
{
	shmemhi_cuda_t *cuda = &mem->cuctx->cuda;
	shmemhi_cu_ptr_t ptr = (uintptr_t)at;
	shmemhi_cu_access_t *list = calloc((size_t)mem->n_pes, sizeof *list);
	size_t n;
	int status;

	if (!list)
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "heap: no memory for a list");
	n = access_list(mem, extent->created, list);
	status = CHECK(mem, err, "cuMemMap",
		       cuda->mem_map(ptr, extent->nbytes, 0, extent->handle, 0));
	if (status == SHMEMH_OK) {
		status = CHECK(mem, err, "cuMemSetAccess",
			       cuda->mem_set_access(ptr, extent->nbytes, list, n));
		if (status == SHMEMH_OK)
			extent->at = at;
		else
			cuda->mem_unmap(ptr, extent->nbytes);
	}
	free(list);
	return status;
}

static int zero(shmemhi_mem_t *mem, char *at, uint64_t nbytes, shmemhi_err_t *err)
{
	return shmemhi_cuctx_fill(mem->cuctx, at, 0, nbytes, err);
}

const shmemhi_backend_t shmemhi_backend_gpu = {
	.kind = SHMEMH_HEAP_GPU,
	.granularity = granularity,
	.default_max = default_max,
	.reserve = reserve,
	.unreserve = unreserve,
	.create = create,
	.import = import,
	.map = map,
	.drop = drop,
	.zero = zero,
};
