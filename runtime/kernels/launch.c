/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "kernels/launch.h"

#include <dlfcn.h>
#include <string.h>

/* Driver calls that are needed only for the runtime's own kernels. */
typedef shmemhi_cu_result_t load_t(void **module, const void *image);
typedef shmemhi_cu_result_t unload_t(void *module);
typedef shmemhi_cu_result_t get_function_t(void **function, void *module, const char *name);
typedef shmemhi_cu_result_t launch_t(void *function, unsigned grid_x, unsigned grid_y,
				     unsigned grid_z, unsigned block_x, unsigned block_y,
				     unsigned block_z, unsigned shared, shmemhi_cu_stream_t stream,
				     void **parameters, void **extra);

/* ISO C converts no object pointer to a function pointer; POSIX copies it. */
#define FIND(c, function, name)                                                                    \
	do {                                                                                       \
		void *found = dlsym((c)->cuda.library, name);                                      \
		memcpy(&(function), &found, sizeof found);                                         \
	} while (0)

int shmemhi_kernel_load(shmemhi_cuctx_t *c, const char *ptx, const char *name,
			shmemhi_kernel_t *kernel, shmemhi_err_t *err)
{
	get_function_t *get_function;
	load_t *load_data;
	int status;

	FIND(c, load_data, "cuModuleLoadData");
	FIND(c, get_function, "cuModuleGetFunction");
	if (!load_data || !get_function)
		return shmemhi_fail(err, SHMEMH_ERR_CUDA,
				    "no cuModuleLoadData or cuModuleGetFunction");
	status = shmemhi_cuctx_enter(c, err);
	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_cuda_check(&c->cuda, err, "cuModuleLoadData",
				    load_data(&kernel->module, ptx));
	if (status == SHMEMH_OK)
		status = shmemhi_cuda_check(&c->cuda, err, "cuModuleGetFunction",
					    get_function(&kernel->function, kernel->module, name));
	shmemhi_cuctx_leave(c);
	return status;
}

void shmemhi_kernel_unload(shmemhi_cuctx_t *c, shmemhi_kernel_t *kernel)
{
	shmemhi_err_t ignored = {""};
	unload_t *unload;

	FIND(c, unload, "cuModuleUnload");
	if (kernel->module && unload && shmemhi_cuctx_enter(c, &ignored) == SHMEMH_OK) {
		unload(kernel->module);
		shmemhi_cuctx_leave(c);
	}
	kernel->module = kernel->function = NULL;
}

int shmemhi_kernel_launch(shmemhi_cuctx_t *c, const shmemhi_kernel_t *kernel, unsigned n_threads,
			  void *parameter, shmemhi_cu_stream_t stream, shmemhi_err_t *err)
{
	void *parameters[] = {parameter};
	launch_t *launch;
	int status;

	FIND(c, launch, "cuLaunchKernel");
	if (!launch)
		return shmemhi_fail(err, SHMEMH_ERR_CUDA, "no cuLaunchKernel");
	status = shmemhi_cuctx_enter(c, err);
	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_cuda_check(
		&c->cuda, err, "cuLaunchKernel",
		launch(kernel->function, 1, 1, 1, n_threads, 1, 1, 0, stream, parameters, NULL));
	shmemhi_cuctx_leave(c);
	return status;
}
