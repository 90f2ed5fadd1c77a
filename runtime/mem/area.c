/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory of the heap's kind that is not part of the heap. */
#include "mem/state.h"

int shmemhi_area_open(shmemh_t *job, uint64_t nbytes, shmemhi_area_t *area, shmemhi_err_t *err)
{
	shmemhi_mem_t *mem = job->mem;
	uint64_t granularity = mem->heap.granularity;
	uint64_t rounded = (nbytes + granularity - 1) / granularity * granularity;
	int status;

	area->extent = SHMEMHI_EXTENT_NONE;
	status = mem->backend->reserve(mem, rounded, &area->range, err);
	if (status == SHMEMH_OK)
		status = mem->backend->create(mem, rounded, &area->extent, err);
	if (status == SHMEMH_OK)
		status = mem->backend->map(mem, area->range.base, &area->extent, err);
	shmemhi_extent_close_fd(&area->extent);
	if (status == SHMEMH_OK)
		status = mem->backend->zero(mem, area->range.base, rounded, err);
	return status;
}

void shmemhi_area_close(shmemh_t *job, shmemhi_area_t *area)
{
	job->mem->backend->drop(job->mem, &area->extent, false);
	job->mem->backend->unreserve(job->mem, &area->range);
}
