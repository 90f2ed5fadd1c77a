/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "cuda/dmabuf.h"

#include <dlfcn.h>
#include <string.h>

#define SYMBOL "cuMemGetHandleForAddressRange"
#define RANGE_HANDLE_DMA_BUF 1 /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */

typedef shmemhi_cu_result_t (*get_handle_t)(void *handle, shmemhi_cu_ptr_t ptr, size_t nbytes,
					    int type, unsigned long long flags);

/* Not in the table of cuda/dl.h: drivers before 11.7 lack this call but can still be used. */
static get_handle_t find(const shmemhi_cuctx_t *c)
{
	void *symbol = c->cuda.library ? dlsym(c->cuda.library, SYMBOL) : NULL;
	get_handle_t call;

	memcpy(&call, &symbol, sizeof call);
	return call;
}

int shmemhi_cuctx_dmabuf(shmemhi_cuctx_t *c, const void *ptr, size_t nbytes, shmemhi_err_t *err)
{
	get_handle_t call = find(c);
	int fd = -1;
	int status;

	if (!call) {
		shmemhi_fail(err, SHMEMH_ERR_CUDA, "the CUDA driver is older than 11.7");
		return -1;
	}
	if (shmemhi_cuctx_enter(c, err) != SHMEMH_OK)
		return -1;
	status = shmemhi_cuda_check(&c->cuda, err, SYMBOL,
				    call(&fd, (uintptr_t)ptr, nbytes, RANGE_HANDLE_DMA_BUF, 0));
	shmemhi_cuctx_leave(c);
	return status == SHMEMH_OK ? fd : -1;
}
