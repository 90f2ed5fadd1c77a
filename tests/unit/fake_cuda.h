/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A fake CUDA driver. "Device memory" is memfds; calls are checked for the requirements of the real
 * driver: live handles, reserved ranges, granted access, a current context. */
#ifndef TESTS_UNIT_FAKE_CUDA_H
#define TESTS_UNIT_FAKE_CUDA_H

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cuda/dl.h"

#define FAKE_GRANULARITY ((size_t)2 << 20)
#define FAKE_MEMORY ((size_t)1 << 30)
#define FAKE_ALIGNMENT ((size_t)256) /* of cuMemAlloc */
#define MAX_HANDLES 64
#define FAKE_IO_SHIFT ((uint64_t)1 << 44) /* registers have another address on the device */

/* Device of a PE, set before its job is made. */
static _Thread_local int my_device;
static _Thread_local int depth; /* contexts pushed */
static _Thread_local int no_context;
static _Thread_local int capture_mode;
static _Thread_local size_t stack_nbytes = 1024;
static int fail_set_limit;
static int host_native_atomic, p2p_access = 1, p2p_atomic = 1, visible = 4, fail_set_access = -1,
			       fail_register, fail_device_pointer;
static int rdma_ordering;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int handles[MAX_HANDLES]; /* fd + 1 */
static int n_live, n_ranges, n_maps, n_blocks, n_registered, n_io_refused, wrong;

#define EXPECT(cond)                                                                               \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "fake driver: %s: not %s\n", __func__, #cond);             \
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);                           \
		}                                                                                  \
	} while (0)

/* As if a stream were being captured in mode GLOBAL all the time: a thread whose own mode is not
 * RELAXED must not make calls that wait or allocate. They also need a context. */
static int may_wait(void)
{
	return depth > 0 && capture_mode == SHMEMHI_CU_CAPTURE_MODE_RELAXED;
}

static int count(int *counter, int by)
{
	return __atomic_add_fetch(counter, by, __ATOMIC_RELAXED);
}

static int fake_get_error_name(int error, const char **name)
{
	*name = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
	return 0;
}

static int fake_get_count(int *n)
{
	*n = visible;
	return 0;
}

static int fake_get(int *dev, int ordinal)
{
	*dev = ordinal;
	return 0;
}

static int fake_uuid(shmemhi_cu_uuid_t *uuid, int dev)
{
	memset(uuid, 0x40 + dev, sizeof *uuid);
	return 0;
}

static int fake_pci(char *text, int nbytes, int dev)
{
	snprintf(text, (size_t)nbytes, "FFFF:%02X:00.0", (unsigned)dev);
	return 0;
}

static int fake_attribute(int *value, int attribute, int dev)
{
	(void)dev;
	*value = attribute == SHMEMHI_CU_ATTR_HOST_NATIVE_ATOMIC ? host_native_atomic
		 : attribute == SHMEMHI_CU_ATTR_RDMA_ORDERING    ? rdma_ordering
								 : 1;
	return 0;
}

static int fake_total(size_t *nbytes, int dev)
{
	*nbytes = FAKE_MEMORY + (size_t)dev * FAKE_GRANULARITY;
	return 0;
}

static int fake_p2p(int *value, int attribute, int from, int to)
{
	EXPECT(from != to);
	*value = attribute == SHMEMHI_CU_P2P_ACCESS ? p2p_access : p2p_atomic;
	return 0;
}

static int fake_current(void **ctx)
{
	*ctx = no_context ? NULL : &handles;
	return no_context == 2 ? SHMEMHI_CU_NOT_INITIALIZED : 0;
}

static int fake_current_device(int *dev)
{
	*dev = my_device;
	return 0;
}

static int fake_get_limit(size_t *value, int limit)
{
	EXPECT(limit == SHMEMHI_CU_LIMIT_STACK_SIZE && depth > 0);
	*value = stack_nbytes;
	return 0;
}

static int fake_set_limit(int limit, size_t value)
{
	EXPECT(limit == SHMEMHI_CU_LIMIT_STACK_SIZE && depth > 0 && value > stack_nbytes);
	if (fail_set_limit)
		return SHMEMHI_CU_OUT_OF_MEMORY;
	stack_nbytes = value;
	return 0;
}

static int fake_exchange_capture_mode(int *mode)
{
	int before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return 0;
}

static int fake_push(void *ctx)
{
	EXPECT(ctx == &handles && depth == 0);
	depth++;
	return 0;
}

static int fake_pop(void **ctx)
{
	EXPECT(depth > 0);
	depth--;
	*ctx = &handles;
	return 0;
}

static int fake_stream(void **stream, unsigned flags)
{
	EXPECT(flags == 1);
	*stream = malloc(1);
	return 0;
}

static int fake_stream_destroy(void *stream)
{
	EXPECT(may_wait());
	free(stream);
	return 0;
}

static int fake_stream_sync(void *stream)
{
	EXPECT(stream && may_wait());
	return 0;
}

static int fake_memset(shmemhi_cu_ptr_t p, unsigned char value, size_t nbytes, void *stream)
{
	EXPECT(stream && depth > 0);
	memset((void *)(uintptr_t)p, value, nbytes);
	return 0;
}

static int fake_copy(shmemhi_cu_ptr_t p, const void *src, size_t nbytes, void *stream)
{
	EXPECT(stream && depth > 0);
	memcpy((void *)(uintptr_t)p, src, nbytes);
	return 0;
}

static int fake_copy_back(void *dst, shmemhi_cu_ptr_t p, size_t nbytes, void *stream)
{
	EXPECT(stream && depth > 0);
	memcpy(dst, (void *)(uintptr_t)p, nbytes);
	return 0;
}

static int fake_alloc(shmemhi_cu_ptr_t *p, size_t nbytes)
{
	size_t rounded = (nbytes + FAKE_ALIGNMENT - 1) / FAKE_ALIGNMENT * FAKE_ALIGNMENT;
	void *block = nbytes > FAKE_MEMORY ? NULL : aligned_alloc(FAKE_ALIGNMENT, rounded);

	EXPECT(may_wait());
	if (!block)
		return SHMEMHI_CU_OUT_OF_MEMORY;
	memset(block, 0xee, nbytes);
	count(&n_blocks, 1);
	*p = (uintptr_t)block;
	return 0;
}

static int fake_free(shmemhi_cu_ptr_t p)
{
	EXPECT(may_wait());
	count(&n_blocks, -1);
	free((void *)(uintptr_t)p);
	return 0;
}

static int fake_host_alloc(void **p, size_t nbytes, unsigned flags)
{
	shmemhi_cu_ptr_t dev = 0;
	int result = fake_alloc(&dev, nbytes);

	EXPECT(flags == 3);
	*p = (void *)(uintptr_t)dev;
	return result;
}

static int fake_free_host(void *p)
{
	return fake_free((uintptr_t)p);
}

/* As registers (flag 4) ordinary memory is refused, which is what tests have. fail_register n: the
 * n-th call and all later ones are refused. */
static int fake_register(void *p, size_t nbytes, unsigned flags)
{
	EXPECT((flags & ~4u) == 3 && p && nbytes && may_wait());
	if (flags & 4)
		count(&n_io_refused, 1);
	if (flags & 4 || (fail_register && n_registered >= fail_register - 1))
		return 801;
	count(&n_registered, 1);
	return 0;
}

static int fake_device_pointer(shmemhi_cu_ptr_t *dev, void *p, unsigned flags)
{
	EXPECT(flags == 0 && p && depth > 0);
	*dev = (uintptr_t)p + FAKE_IO_SHIFT;
	return fail_device_pointer ? 1 : 0;
}

static int fake_unregister(void *p)
{
	EXPECT(p && may_wait());
	count(&n_registered, -1);
	return 0;
}

static int fake_reserve(shmemhi_cu_ptr_t *p, size_t nbytes, size_t alignment, shmemhi_cu_ptr_t hint,
			unsigned long long flags)
{
	void *at =
		mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	EXPECT(alignment == 0 && hint == 0 && flags == 0 && nbytes % FAKE_GRANULARITY == 0);
	count(&n_ranges, 1);
	*p = (uintptr_t)at;
	return 0;
}

static int fake_address_free(shmemhi_cu_ptr_t p, size_t nbytes)
{
	count(&n_ranges, -1);
	return munmap((void *)(uintptr_t)p, nbytes) == 0 ? 0 : 1;
}

static int new_handle(unsigned long long *handle, int fd)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_HANDLES; i++)
		if (!handles[i]) {
			handles[i] = fd + 1;
			*handle = (unsigned long long)i + 1000;
			n_live++;
			break;
		}
	pthread_mutex_unlock(&lock);
	return 0;
}

static int handle_fd(unsigned long long handle)
{
	int fd = -1;

	pthread_mutex_lock(&lock);
	if (handle >= 1000 && handle < 1000 + MAX_HANDLES)
		fd = handles[handle - 1000] - 1;
	pthread_mutex_unlock(&lock);
	EXPECT(fd >= 0);
	return fd;
}

static int fake_create(unsigned long long *handle, size_t nbytes, const shmemhi_cu_prop_t *prop,
		       unsigned long long flags)
{
	int fd = memfd_create("fake_gpu", MFD_CLOEXEC);

	EXPECT(prop->type == 1 && prop->handle_types == 1 && prop->location.type == 1 &&
	       prop->location.id == my_device && prop->gpu_direct_rdma == 1 && flags == 0);
	EXPECT(nbytes % FAKE_GRANULARITY == 0);
	if (nbytes > FAKE_MEMORY / 2) {
		close(fd);
		return SHMEMHI_CU_OUT_OF_MEMORY;
	}
	EXPECT(ftruncate(fd, (off_t)nbytes) == 0);
	return new_handle(handle, fd);
}

static int fake_release(unsigned long long handle)
{
	close(handle_fd(handle));
	pthread_mutex_lock(&lock);
	handles[handle - 1000] = 0;
	n_live--;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int fake_map(shmemhi_cu_ptr_t p, size_t nbytes, size_t offset, unsigned long long handle,
		    unsigned long long flags)
{
	EXPECT(p % FAKE_GRANULARITY == 0 && offset == 0 && flags == 0);
	count(&n_maps, 1);
	/* No access before cuMemSetAccess. */
	return mmap((void *)(uintptr_t)p, nbytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
		    handle_fd(handle), 0) == MAP_FAILED;
}

static int fake_unmap(shmemhi_cu_ptr_t p, size_t nbytes)
{
	count(&n_maps, -1);
	return mmap((void *)(uintptr_t)p, nbytes, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED;
}

static int fake_set_access(shmemhi_cu_ptr_t p, size_t nbytes, const shmemhi_cu_access_t *desc,
			   size_t n)
{
	EXPECT(n >= 1 && desc[0].location.id == my_device);
	for (size_t i = 0; i < n; i++)
		EXPECT(desc[i].location.type == 1 && desc[i].flags == 3);
	if (fail_set_access == my_device)
		return 999;
	return mprotect((void *)(uintptr_t)p, nbytes, PROT_READ | PROT_WRITE) == 0 ? 0 : 1;
}

static int fake_export(void *os_handle, unsigned long long handle, int type,
		       unsigned long long flags)
{
	EXPECT(type == 1 && flags == 0);
	*(int *)os_handle = fcntl(handle_fd(handle), F_DUPFD_CLOEXEC, 0);
	return 0;
}

static int fake_import(unsigned long long *handle, void *os_handle, int type)
{
	int fd = (int)(uintptr_t)os_handle;
	struct stat st;

	EXPECT(type == 1 && fstat(fd, &st) == 0);
	return new_handle(handle, fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

static int fake_granularity(size_t *nbytes, const shmemhi_cu_prop_t *prop, int option)
{
	EXPECT(prop->location.id == my_device && option == 0);
	*nbytes = FAKE_GRANULARITY;
	return 0;
}

static const shmemhi_cuda_t driver = {
	.get_error_name = fake_get_error_name,
	.device_get_count = fake_get_count,
	.device_get = fake_get,
	.device_get_uuid = fake_uuid,
	.device_get_pci_bus_id = fake_pci,
	.device_get_attribute = fake_attribute,
	.device_total_mem = fake_total,
	.device_get_p2p_attribute = fake_p2p,
	.ctx_get_current = fake_current,
	.ctx_get_device = fake_current_device,
	.ctx_push_current = fake_push,
	.ctx_pop_current = fake_pop,
	.ctx_get_limit = fake_get_limit,
	.ctx_set_limit = fake_set_limit,
	.exchange_capture_mode = fake_exchange_capture_mode,
	.stream_create = fake_stream,
	.stream_destroy = fake_stream_destroy,
	.stream_synchronize = fake_stream_sync,
	.memset_d8_async = fake_memset,
	.memcpy_htod_async = fake_copy,
	.memcpy_dtoh_async = fake_copy_back,
	.mem_alloc = fake_alloc,
	.mem_free = fake_free,
	.mem_host_alloc = fake_host_alloc,
	.mem_free_host = fake_free_host,
	.mem_host_register = fake_register,
	.mem_host_unregister = fake_unregister,
	.mem_host_get_device_pointer = fake_device_pointer,
	.mem_address_reserve = fake_reserve,
	.mem_address_free = fake_address_free,
	.mem_create = fake_create,
	.mem_release = fake_release,
	.mem_map = fake_map,
	.mem_unmap = fake_unmap,
	.mem_set_access = fake_set_access,
	.mem_export = fake_export,
	.mem_import = fake_import,
	.mem_get_granularity = fake_granularity,
};

#endif
