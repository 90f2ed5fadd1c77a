/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "cuda/ctx.h"

#include <ctype.h>
#include <string.h>

#define CHECK(c, err, call, result) shmemhi_cuda_check(&(c)->cuda, err, call, result)

int shmemhi_cuctx_attach(shmemhi_cuctx_t *c, shmemhi_err_t *err)
{
	/* Before cuInit the driver returns NOT_INITIALIZED: then there is no context. */
	shmemhi_cu_result_t result = c->cuda.ctx_get_current(&c->ctx);
	int status;

	if (result == SHMEMHI_CU_NOT_INITIALIZED || (result == SHMEMHI_CU_SUCCESS && !c->ctx)) {
		c->ctx = NULL;
		return 0;
	}
	status = CHECK(c, err, "cuCtxGetCurrent", result);
	if (status == SHMEMH_OK)
		status = CHECK(c, err, "cuCtxGetDevice", c->cuda.ctx_get_device(&c->device));
	if (status == SHMEMH_OK)
		status = CHECK(c, err, "cuDeviceGetUuid",
			       c->cuda.device_get_uuid(&c->uuid, c->device));
	if (status == SHMEMH_OK)
		status = CHECK(c, err, "cuStreamCreate",
			       c->cuda.stream_create(&c->stream, SHMEMHI_CU_STREAM_NON_BLOCKING));
	return status == SHMEMH_OK ? 1 : status;
}

void shmemhi_cuctx_detach(shmemhi_cuctx_t *c)
{
	shmemhi_err_t ignored = {""};

	if (c->stream && shmemhi_cuctx_enter(c, &ignored) == SHMEMH_OK) {
		c->cuda.stream_destroy(c->stream);
		shmemhi_cuctx_leave(c);
	}
	c->stream = NULL;
	c->ctx = NULL;
}

static void pop(const shmemhi_cuctx_t *c)
{
	shmemhi_cu_context_t popped;

	c->cuda.ctx_pop_current(&popped);
}

/* The capture mode that this thread had before enter, for leave to restore. Calls of enter do not
 * nest. */
static _Thread_local int outer_mode;

int shmemhi_cuctx_enter(shmemhi_cuctx_t *c, shmemhi_err_t *err)
{
	int mode = SHMEMHI_CU_CAPTURE_MODE_RELAXED;
	int status = CHECK(c, err, "cuCtxPushCurrent", c->cuda.ctx_push_current(c->ctx));

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuThreadExchangeStreamCaptureMode",
		       c->cuda.exchange_capture_mode(&mode));
	if (status == SHMEMH_OK)
		outer_mode = mode;
	else
		pop(c);
	return status;
}

void shmemhi_cuctx_leave(shmemhi_cuctx_t *c)
{
	int mode = outer_mode;

	c->cuda.exchange_capture_mode(&mode);
	pop(c);
}

int shmemhi_cuctx_reserve_stack(shmemhi_cuctx_t *c, size_t nbytes, shmemhi_err_t *err)
{
	size_t now = 0;
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuCtxGetLimit",
		       c->cuda.ctx_get_limit(&now, SHMEMHI_CU_LIMIT_STACK_SIZE));
	if (status == SHMEMH_OK && now < nbytes)
		status = CHECK(c, err, "cuCtxSetLimit of the stack's size",
			       c->cuda.ctx_set_limit(SHMEMHI_CU_LIMIT_STACK_SIZE, nbytes));
	shmemhi_cuctx_leave(c);
	return status;
}

int shmemhi_cuctx_attribute(const shmemhi_cuctx_t *c, int attribute)
{
	int value = 0;

	if (c->cuda.device_get_attribute(&value, attribute, c->device) != SHMEMHI_CU_SUCCESS)
		return 0;
	return value;
}

int shmemhi_cuctx_total_mem(const shmemhi_cuctx_t *c, uint64_t *nbytes, shmemhi_err_t *err)
{
	size_t total = 0;
	int status = CHECK(c, err, "cuDeviceTotalMem", c->cuda.device_total_mem(&total, c->device));

	*nbytes = total;
	return status;
}

/* The driver writes hexadecimal digits in upper case. */
void shmemhi_cuctx_pci(const shmemhi_cuctx_t *c, char pci[SHMEMHI_PCI_NBYTES])
{
	memset(pci, 0, SHMEMHI_PCI_NBYTES);
	if (c->cuda.device_get_pci_bus_id(pci, SHMEMHI_PCI_NBYTES, c->device) != SHMEMHI_CU_SUCCESS)
		pci[0] = '\0';
	for (char *at = pci; *at; at++)
		*at = (char)tolower((unsigned char)*at);
}

/* Find the visible device with that UUID. Returns -1 if there is none. */
static int find_device(const shmemhi_cuctx_t *c, const shmemhi_cu_uuid_t *uuid)
{
	int count = 0;

	if (c->cuda.device_get_count(&count) != SHMEMHI_CU_SUCCESS)
		return -1;
	for (int i = 0; i < count; i++) {
		shmemhi_cu_device_t device;
		shmemhi_cu_uuid_t found;

		if (c->cuda.device_get(&device, i) == SHMEMHI_CU_SUCCESS &&
		    c->cuda.device_get_uuid(&found, device) == SHMEMHI_CU_SUCCESS &&
		    memcmp(&found, uuid, sizeof found) == 0)
			return device;
	}
	return -1;
}

int shmemhi_cuctx_p2p(const shmemhi_cuctx_t *c, const shmemhi_cu_uuid_t *uuid, int attribute)
{
	int value = 0;
	int device;

	if (memcmp(&c->uuid, uuid, sizeof *uuid) == 0)
		return 1;
	device = find_device(c, uuid);
	if (device < 0)
		return -1;
	if (c->cuda.device_get_p2p_attribute(&value, attribute, c->device, device) !=
	    SHMEMHI_CU_SUCCESS)
		return 0;
	return value != 0;
}

/* Unless starting it failed with this status, wait for the operation on the stream. Then leave
 * the context. */
static int finish(shmemhi_cuctx_t *c, int status, shmemhi_err_t *err)
{
	if (status == SHMEMH_OK)
		status =
			CHECK(c, err, "cuStreamSynchronize", c->cuda.stream_synchronize(c->stream));
	shmemhi_cuctx_leave(c);
	return status;
}

int shmemhi_cuctx_fill(shmemhi_cuctx_t *c, void *dev, unsigned char value, size_t nbytes,
		       shmemhi_err_t *err)
{
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuMemsetD8Async",
		       c->cuda.memset_d8_async((uintptr_t)dev, value, nbytes, c->stream));
	return finish(c, status, err);
}

int shmemhi_cuctx_write(shmemhi_cuctx_t *c, void *dev, const void *src, size_t nbytes,
			shmemhi_err_t *err)
{
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuMemcpyHtoDAsync",
		       c->cuda.memcpy_htod_async((uintptr_t)dev, src, nbytes, c->stream));
	return finish(c, status, err);
}

int shmemhi_cuctx_read(shmemhi_cuctx_t *c, void *dst, const void *dev, size_t nbytes,
		       shmemhi_err_t *err)
{
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuMemcpyDtoHAsync",
		       c->cuda.memcpy_dtoh_async(dst, (uintptr_t)dev, nbytes, c->stream));
	return finish(c, status, err);
}

int shmemhi_cuctx_dev_alloc(shmemhi_cuctx_t *c, size_t nbytes, void **dev, shmemhi_err_t *err)
{
	shmemhi_cu_ptr_t ptr = 0;
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuMemAlloc", c->cuda.mem_alloc(&ptr, nbytes));
	shmemhi_cuctx_leave(c);
	if (status != SHMEMH_OK)
		return status;
	*dev = (void *)(uintptr_t)ptr;
	status = shmemhi_cuctx_fill(c, *dev, 0, nbytes, err);
	if (status != SHMEMH_OK)
		shmemhi_cuctx_dev_free(c, *dev);
	return status;
}

void shmemhi_cuctx_dev_free(shmemhi_cuctx_t *c, void *dev)
{
	shmemhi_err_t ignored = {""};

	if (shmemhi_cuctx_enter(c, &ignored) != SHMEMH_OK)
		return;
	c->cuda.mem_free((uintptr_t)dev);
	shmemhi_cuctx_leave(c);
}

int shmemhi_cuctx_pinned_alloc(shmemhi_cuctx_t *c, size_t nbytes, void **ptr, shmemhi_err_t *err)
{
	unsigned flags = SHMEMHI_CU_HOSTALLOC_PORTABLE | SHMEMHI_CU_HOSTALLOC_DEVICEMAP;
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuMemHostAlloc", c->cuda.mem_host_alloc(ptr, nbytes, flags));
	shmemhi_cuctx_leave(c);
	if (status == SHMEMH_OK)
		memset(*ptr, 0, nbytes);
	return status;
}

void shmemhi_cuctx_pinned_free(shmemhi_cuctx_t *c, void *ptr)
{
	shmemhi_err_t ignored = {""};

	if (shmemhi_cuctx_enter(c, &ignored) != SHMEMH_OK)
		return;
	c->cuda.mem_free_host(ptr);
	shmemhi_cuctx_leave(c);
}

int shmemhi_cuctx_register(shmemhi_cuctx_t *c, void *ptr, size_t nbytes, shmemhi_err_t *err)
{
	unsigned flags = SHMEMHI_CU_HOSTREGISTER_PORTABLE | SHMEMHI_CU_HOSTREGISTER_DEVICEMAP;
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = CHECK(c, err, "cuMemHostRegister", c->cuda.mem_host_register(ptr, nbytes, flags));
	shmemhi_cuctx_leave(c);
	return status;
}

void shmemhi_cuctx_unregister(shmemhi_cuctx_t *c, void *ptr)
{
	shmemhi_err_t ignored = {""};

	if (shmemhi_cuctx_enter(c, &ignored) != SHMEMH_OK)
		return;
	c->cuda.mem_host_unregister(ptr);
	shmemhi_cuctx_leave(c);
}

/* The driver refuses to register ordinary memory as device registers. The software adapter has
 * its registers there, so register those as host memory. If both fail, report the error of the
 * first attempt, which is the one for hardware. */
static int register_io(shmemhi_cuctx_t *c, void *io, size_t nbytes, shmemhi_err_t *err)
{
	unsigned flags = SHMEMHI_CU_HOSTREGISTER_PORTABLE | SHMEMHI_CU_HOSTREGISTER_DEVICEMAP;
	shmemhi_cu_result_t result =
		c->cuda.mem_host_register(io, nbytes, flags | SHMEMHI_CU_HOSTREGISTER_IOMEMORY);

	if (result == SHMEMHI_CU_SUCCESS ||
	    c->cuda.mem_host_register(io, nbytes, flags) == SHMEMHI_CU_SUCCESS)
		return SHMEMH_OK;
	return CHECK(c, err, "cuMemHostRegister of a device's registers", result);
}

int shmemhi_cuctx_map_io(shmemhi_cuctx_t *c, void *io, size_t nbytes, void **dev,
			 shmemhi_err_t *err)
{
	shmemhi_cu_ptr_t ptr = 0;
	int status = shmemhi_cuctx_enter(c, err);

	if (status != SHMEMH_OK)
		return status;
	status = register_io(c, io, nbytes, err);
	if (status == SHMEMH_OK) {
		status = CHECK(c, err, "cuMemHostGetDevicePointer",
			       c->cuda.mem_host_get_device_pointer(&ptr, io, 0));
		if (status != SHMEMH_OK)
			c->cuda.mem_host_unregister(io);
	}
	shmemhi_cuctx_leave(c);
	*dev = (void *)(uintptr_t)ptr;
	return status;
}
