/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "selftest/gpu.h"

#include <dlfcn.h>
#include <string.h>

extern const char shmemhi_drive_ptx[]; /* kernels/ptx.S */

/* Driver calls that no other part of the runtime needs. */
typedef shmemhi_cu_result_t retain_t(shmemhi_cu_context_t *ctx, shmemhi_cu_device_t device);
typedef shmemhi_cu_result_t release_t(shmemhi_cu_device_t device);

/* ISO C converts no object pointer to a function pointer; POSIX copies it. */
#define FIND(gpu, function, name)                                                                  \
	do {                                                                                       \
		void *found = dlsym((gpu)->c.cuda.library, name);                                  \
		memcpy(&(function), &found, sizeof found);                                         \
	} while (0)

static int check(shmemhi_rig_gpu_t *gpu, const char *call, shmemhi_cu_result_t result,
		 shmemhi_err_t *err)
{
	return shmemhi_cuda_check(&gpu->c.cuda, err, call, result);
}

/* Use the primary context of GPU 0. */
static int attach(shmemhi_rig_gpu_t *gpu, shmemhi_err_t *err)
{
	const shmemhi_cuda_t *cuda = &gpu->c.cuda;
	shmemhi_cu_context_t ctx;
	shmemhi_cu_device_t device;
	retain_t *retain;
	int status;

	FIND(gpu, retain, "cuDevicePrimaryCtxRetain");
	if (!retain)
		return shmemhi_fail(err, SHMEMH_ERR_CUDA, "no cuDevicePrimaryCtxRetain");
	status = check(gpu, "cuDeviceGet", cuda->device_get(&device, 0), err);
	if (status == SHMEMH_OK)
		status = check(gpu, "cuDevicePrimaryCtxRetain", retain(&ctx, device), err);
	if (status == SHMEMH_OK)
		status = check(gpu, "cuCtxPushCurrent", cuda->ctx_push_current(ctx), err);
	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_cuctx_attach(&gpu->c, err);
	cuda->ctx_pop_current(&ctx);
	return status == 1 ? SHMEMH_OK : SHMEMH_ERR_CUDA;
}

int shmemhi_rig_gpu_open(shmemhi_rig_gpu_t *gpu, shmemhi_err_t *err)
{
	int n = 0, got, status;

	memset(gpu, 0, sizeof *gpu);
	got = shmemhi_cuda_open(&gpu->c.cuda, 1, err);
	if (got != 1)
		return got;
	if (gpu->c.cuda.init(0) != SHMEMHI_CU_SUCCESS ||
	    gpu->c.cuda.device_get_count(&n) != SHMEMHI_CU_SUCCESS || n == 0) {
		shmemhi_cuda_close(&gpu->c.cuda);
		return 0;
	}
	status = attach(gpu, err);
	if (status == SHMEMH_OK)
		status = shmemhi_kernel_load(&gpu->c, shmemhi_drive_ptx, SHMEMHI_DRIVE_NAME,
					     &gpu->kernel, err);
	return status == SHMEMH_OK ? 1 : status;
}

void shmemhi_rig_gpu_close(shmemhi_rig_gpu_t *gpu)
{
	shmemhi_cu_device_t device = gpu->c.device;
	int is_attached = gpu->c.ctx != NULL;
	release_t *release;

	if (!gpu->c.cuda.library)
		return;
	FIND(gpu, release, "cuDevicePrimaryCtxRelease_v2");
	shmemhi_cuctx_detach(&gpu->c);
	if (is_attached && release)
		release(device); /* unloads the module if the context has no other user */
	shmemhi_cuda_close(&gpu->c.cuda);
}

int shmemhi_rig_gpu_drive(shmemhi_rig_gpu_t *gpu, const shmemhi_drive_t *drive, shmemhi_err_t *err)
{
	shmemhi_drive_t copy = *drive;
	int status = shmemhi_kernel_launch(&gpu->c, &gpu->kernel, 1, &copy, gpu->c.stream, err);

	if (status == SHMEMH_OK)
		status = shmemhi_cuctx_enter(&gpu->c, err);
	if (status != SHMEMH_OK)
		return status;
	status = check(gpu, "cuStreamSynchronize", gpu->c.cuda.stream_synchronize(gpu->c.stream),
		       err);
	shmemhi_cuctx_leave(&gpu->c);
	return status;
}
