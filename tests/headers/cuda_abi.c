/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* runtime/cuda/dl.h against the toolkit's <cuda.h>: layouts and constants when this compiles,
 * symbol names when it runs. */
#include <stdio.h>
#include <string.h>
#include <cuda.h>
#include "cuda/dl.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_FIELD(ours, field, theirs, their_field)                                               \
	_Static_assert(offsetof(ours, field) == offsetof(theirs, their_field), #ours "." #field);  \
	_Static_assert(sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->their_field),           \
		       #ours "." #field)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_SIZE(shmemhi_cu_result_t, CUresult);
SAME_SIZE(shmemhi_cu_device_t, CUdevice);
SAME_SIZE(shmemhi_cu_context_t, CUcontext);
SAME_SIZE(shmemhi_cu_stream_t, CUstream);
SAME_SIZE(shmemhi_cu_ptr_t, CUdeviceptr);
SAME_SIZE(shmemhi_cu_handle_t, CUmemGenericAllocationHandle);
SAME_SIZE(shmemhi_cu_uuid_t, CUuuid);
SAME_SIZE(shmemhi_cu_location_t, CUmemLocation);
SAME_SIZE(shmemhi_cu_prop_t, CUmemAllocationProp);
SAME_SIZE(shmemhi_cu_access_t, CUmemAccessDesc);

SAME_FIELD(shmemhi_cu_location_t, type, CUmemLocation, type);
SAME_FIELD(shmemhi_cu_location_t, id, CUmemLocation, id);
SAME_FIELD(shmemhi_cu_prop_t, type, CUmemAllocationProp, type);
SAME_FIELD(shmemhi_cu_prop_t, handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_FIELD(shmemhi_cu_prop_t, location, CUmemAllocationProp, location);
SAME_FIELD(shmemhi_cu_prop_t, win32_metadata, CUmemAllocationProp, win32HandleMetaData);
SAME_FIELD(shmemhi_cu_prop_t, compression, CUmemAllocationProp, allocFlags.compressionType);
SAME_FIELD(shmemhi_cu_prop_t, gpu_direct_rdma, CUmemAllocationProp,
	   allocFlags.gpuDirectRDMACapable);
SAME_FIELD(shmemhi_cu_prop_t, usage, CUmemAllocationProp, allocFlags.usage);
SAME_FIELD(shmemhi_cu_access_t, location, CUmemAccessDesc, location);
SAME_FIELD(shmemhi_cu_access_t, flags, CUmemAccessDesc, flags);

SAME_VALUE(SHMEMHI_CU_SUCCESS, CUDA_SUCCESS);
SAME_VALUE(SHMEMHI_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(SHMEMHI_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(SHMEMHI_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(SHMEMHI_CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_VALUE(SHMEMHI_CU_HANDLE_POSIX_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_VALUE(SHMEMHI_CU_ACCESS_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_VALUE(SHMEMHI_CU_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME_VALUE(SHMEMHI_CU_LIMIT_STACK_SIZE, CU_LIMIT_STACK_SIZE);
SAME_VALUE(SHMEMHI_CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(SHMEMHI_CU_HOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(SHMEMHI_CU_HOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP);
SAME_VALUE(SHMEMHI_CU_HOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME_VALUE(SHMEMHI_CU_HOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME_VALUE(SHMEMHI_CU_HOSTREGISTER_IOMEMORY, CU_MEMHOSTREGISTER_IOMEMORY);
SAME_VALUE(SHMEMHI_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME_VALUE(SHMEMHI_CU_P2P_ACCESS, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_P2P_NATIVE_ATOMIC, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_ATTR_HOST_NATIVE_ATOMIC, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_ATTR_HOST_POINTER_USABLE,
	   CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
SAME_VALUE(SHMEMHI_CU_ATTR_VMM, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_ATTR_POSIX_FD,
	   CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_ATTR_RDMA_VMM, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_ATTR_RDMA, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_ATTR_RDMA_ORDERING, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
SAME_VALUE(SHMEMHI_CU_ATTR_DMA_BUF, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
SAME_VALUE(SHMEMHI_CU_RDMA_ORDERING_OWNER, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER);

/* <cuda.h> defines the plain name of a call as that of its current version. */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const char *const theirs[] = {
	TEXT(cuDeviceGetUuid),
	TEXT(cuDeviceTotalMem),
	TEXT(cuCtxPushCurrent),
	TEXT(cuCtxPopCurrent),
	TEXT(cuStreamDestroy),
	TEXT(cuMemcpyHtoDAsync),
	TEXT(cuMemcpyDtoHAsync),
	TEXT(cuMemsetD8Async),
	TEXT(cuStreamSynchronize),
	TEXT(cuMemAlloc),
	TEXT(cuMemFree),
	TEXT(cuMemHostRegister),
	TEXT(cuMemHostGetDevicePointer),
};

static const char *const ours[] = {
#define X_(member, symbol, parameters) symbol,
	SHMEMHI_CUDA_CALLS(X_)
#undef X_
};

int main(void)
{
	int missing = 0;

	for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
		int found = 0;

		for (size_t k = 0; k < sizeof ours / sizeof ours[0]; k++)
			found |= strcmp(theirs[i], ours[k]) == 0;
		if (!found)
			printf("runtime/cuda/dl.h does not load %s\n", theirs[i]);
		missing += !found;
	}
	return missing;
}
