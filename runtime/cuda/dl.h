/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CUDA driver, loaded at run time: the runtime builds and runs without CUDA. Types, constants
 * and prototypes below are the driver's stable C ABI under names of our own;
 * tests/headers/cuda_abi.c compares them with <cuda.h> where the toolkit is installed. */
#ifndef SHMEMHI_CUDA_DL_H
#define SHMEMHI_CUDA_DL_H

#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

typedef int shmemhi_cu_result_t; /* CUresult */
typedef int shmemhi_cu_device_t; /* CUdevice */
typedef void *shmemhi_cu_context_t;
typedef void *shmemhi_cu_stream_t;
typedef unsigned long long shmemhi_cu_ptr_t;    /* CUdeviceptr */
typedef unsigned long long shmemhi_cu_handle_t; /* CUmemGenericAllocationHandle */

typedef struct shmemhi_cu_uuid {
	unsigned char bytes[16];
} shmemhi_cu_uuid_t;

typedef struct shmemhi_cu_location {
	int type;
	int id;
} shmemhi_cu_location_t;

typedef struct shmemhi_cu_prop {
	int type;
	int handle_types;
	shmemhi_cu_location_t location;
	void *win32_metadata;
	unsigned char compression;
	unsigned char gpu_direct_rdma;
	unsigned short usage;
	unsigned char reserved[4];
} shmemhi_cu_prop_t;

typedef struct shmemhi_cu_access {
	shmemhi_cu_location_t location;
	int flags;
} shmemhi_cu_access_t;

enum {
	SHMEMHI_CU_SUCCESS = 0,
	SHMEMHI_CU_OUT_OF_MEMORY = 2,
	SHMEMHI_CU_NOT_INITIALIZED = 3,
	SHMEMHI_CU_LOCATION_DEVICE = 1,
	SHMEMHI_CU_ALLOCATION_PINNED = 1,
	SHMEMHI_CU_HANDLE_POSIX_FD = 1,
	SHMEMHI_CU_ACCESS_READWRITE = 3,
	SHMEMHI_CU_GRANULARITY_MINIMUM = 0,
	SHMEMHI_CU_LIMIT_STACK_SIZE = 0,
	SHMEMHI_CU_CAPTURE_MODE_RELAXED = 2,
	SHMEMHI_CU_HOSTALLOC_PORTABLE = 1,
	SHMEMHI_CU_HOSTALLOC_DEVICEMAP = 2,
	SHMEMHI_CU_HOSTREGISTER_PORTABLE = 1,
	SHMEMHI_CU_HOSTREGISTER_DEVICEMAP = 2,
	SHMEMHI_CU_HOSTREGISTER_IOMEMORY = 4,
	SHMEMHI_CU_STREAM_NON_BLOCKING = 1,
	SHMEMHI_CU_P2P_ACCESS = 2,
	SHMEMHI_CU_P2P_NATIVE_ATOMIC = 3,
	SHMEMHI_CU_ATTR_HOST_NATIVE_ATOMIC = 86,
	SHMEMHI_CU_ATTR_HOST_POINTER_USABLE = 91,
	SHMEMHI_CU_ATTR_VMM = 102,
	SHMEMHI_CU_ATTR_POSIX_FD = 103,
	SHMEMHI_CU_ATTR_RDMA_VMM = 110,
	SHMEMHI_CU_ATTR_RDMA = 116,
	SHMEMHI_CU_ATTR_RDMA_ORDERING = 118,
	SHMEMHI_CU_ATTR_DMA_BUF = 124,
	SHMEMHI_CU_RDMA_ORDERING_OWNER = 100,
};

/* X(member, symbol, parameters). Symbols carry the version suffix that <cuda.h> maps to. */
#define SHMEMHI_CUDA_CALLS(X)                                                                      \
	X(init, "cuInit", (unsigned flags))                                                        \
	X(get_error_name, "cuGetErrorName", (shmemhi_cu_result_t error, const char **name))        \
	X(device_get_count, "cuDeviceGetCount", (int *count))                                      \
	X(device_get, "cuDeviceGet", (shmemhi_cu_device_t * dev, int ordinal))                     \
	X(device_get_uuid, "cuDeviceGetUuid_v2",                                                   \
	  (shmemhi_cu_uuid_t * uuid, shmemhi_cu_device_t dev))                                     \
	X(device_get_pci_bus_id, "cuDeviceGetPCIBusId",                                            \
	  (char *text, int nbytes, shmemhi_cu_device_t dev))                                       \
	X(device_get_attribute, "cuDeviceGetAttribute",                                            \
	  (int *value, int attribute, shmemhi_cu_device_t dev))                                    \
	X(device_total_mem, "cuDeviceTotalMem_v2", (size_t * nbytes, shmemhi_cu_device_t dev))     \
	X(device_get_p2p_attribute, "cuDeviceGetP2PAttribute",                                     \
	  (int *value, int attribute, shmemhi_cu_device_t from, shmemhi_cu_device_t to))           \
	X(ctx_get_current, "cuCtxGetCurrent", (shmemhi_cu_context_t * ctx))                        \
	X(ctx_get_device, "cuCtxGetDevice", (shmemhi_cu_device_t * dev))                           \
	X(ctx_push_current, "cuCtxPushCurrent_v2", (shmemhi_cu_context_t ctx))                     \
	X(ctx_pop_current, "cuCtxPopCurrent_v2", (shmemhi_cu_context_t * ctx))                     \
	X(ctx_get_limit, "cuCtxGetLimit", (size_t * value, int limit))                             \
	X(ctx_set_limit, "cuCtxSetLimit", (int limit, size_t value))                               \
	X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                 \
	X(stream_create, "cuStreamCreate", (shmemhi_cu_stream_t * stream, unsigned flags))         \
	X(stream_destroy, "cuStreamDestroy_v2", (shmemhi_cu_stream_t stream))                      \
	X(stream_synchronize, "cuStreamSynchronize", (shmemhi_cu_stream_t stream))                 \
	X(memset_d8_async, "cuMemsetD8Async",                                                      \
	  (shmemhi_cu_ptr_t dst, unsigned char value, size_t nbytes, shmemhi_cu_stream_t stream))  \
	X(memcpy_htod_async, "cuMemcpyHtoDAsync_v2",                                               \
	  (shmemhi_cu_ptr_t dst, const void *src, size_t nbytes, shmemhi_cu_stream_t stream))      \
	X(memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2",                                               \
	  (void *dst, shmemhi_cu_ptr_t src, size_t nbytes, shmemhi_cu_stream_t stream))            \
	X(mem_alloc, "cuMemAlloc_v2", (shmemhi_cu_ptr_t * ptr, size_t nbytes))                     \
	X(mem_free, "cuMemFree_v2", (shmemhi_cu_ptr_t ptr))                                        \
	X(mem_host_alloc, "cuMemHostAlloc", (void **ptr, size_t nbytes, unsigned flags))           \
	X(mem_free_host, "cuMemFreeHost", (void *ptr))                                             \
	X(mem_host_register, "cuMemHostRegister_v2", (void *ptr, size_t nbytes, unsigned flags))   \
	X(mem_host_unregister, "cuMemHostUnregister", (void *ptr))                                 \
	X(mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2",                             \
	  (shmemhi_cu_ptr_t * dev, void *ptr, unsigned flags))                                     \
	X(mem_address_reserve, "cuMemAddressReserve",                                              \
	  (shmemhi_cu_ptr_t * ptr, size_t nbytes, size_t alignment, shmemhi_cu_ptr_t hint,         \
	   unsigned long long flags))                                                              \
	X(mem_address_free, "cuMemAddressFree", (shmemhi_cu_ptr_t ptr, size_t nbytes))             \
	X(mem_create, "cuMemCreate",                                                               \
	  (shmemhi_cu_handle_t * handle, size_t nbytes, const shmemhi_cu_prop_t *prop,             \
	   unsigned long long flags))                                                              \
	X(mem_release, "cuMemRelease", (shmemhi_cu_handle_t handle))                               \
	X(mem_map, "cuMemMap",                                                                     \
	  (shmemhi_cu_ptr_t ptr, size_t nbytes, size_t offset, shmemhi_cu_handle_t handle,         \
	   unsigned long long flags))                                                              \
	X(mem_unmap, "cuMemUnmap", (shmemhi_cu_ptr_t ptr, size_t nbytes))                          \
	X(mem_set_access, "cuMemSetAccess",                                                        \
	  (shmemhi_cu_ptr_t ptr, size_t nbytes, const shmemhi_cu_access_t *desc, size_t count))    \
	X(mem_export, "cuMemExportToShareableHandle",                                              \
	  (void *os_handle, shmemhi_cu_handle_t handle, int type, unsigned long long flags))       \
	X(mem_import, "cuMemImportFromShareableHandle",                                            \
	  (shmemhi_cu_handle_t * handle, void *os_handle, int type))                               \
	X(mem_get_granularity, "cuMemGetAllocationGranularity",                                    \
	  (size_t * nbytes, const shmemhi_cu_prop_t *prop, int option))

typedef struct shmemhi_cuda {
	void *library; /* of dlopen */
#define X_(member, symbol, parameters) shmemhi_cu_result_t(*member) parameters;
	SHMEMHI_CUDA_CALLS(X_)
#undef X_
} shmemhi_cuda_t;

/* Fill the table from libcuda.so.1. It calls no driver function.
 *
 * load     0: only if this process has the library already. A CUDA context cannot exist without
 *          it, so looking for one costs CPU jobs nothing. 1: load it.
 * Returns  1: filled; 0: no library; ERR_CUDA: the driver is too old (text names the symbol). */
int shmemhi_cuda_open(shmemhi_cuda_t *cuda, int load, shmemhi_err_t *err);
void shmemhi_cuda_close(shmemhi_cuda_t *cuda);

/* How many GPUs this process may open: device files nvidia0, nvidia1, ... in dir (/dev). Needs no
 * driver library, which is slow to load. */
int shmemhi_cuda_count_devices(const char *dir);

/* The status for what a driver call returned: SHMEMH_OK; ERR_NO_MEMORY for
 * CUDA_ERROR_OUT_OF_MEMORY: memory of the device, pinned host memory or another resource is
 * exhausted; else ERR_CUDA. The line has the call and the error's name. */
int shmemhi_cuda_check(const shmemhi_cuda_t *cuda, shmemhi_err_t *err, const char *call,
		       shmemhi_cu_result_t result);

#endif
