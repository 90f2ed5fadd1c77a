/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CUDA context a job uses: the one that was current when the job began. Calls on the job may
 * come from any thread, so functions that need that context make it current for their own duration.
 * Functions return a shmemh_status and leave their line in err. */
#ifndef SHMEMHI_CUDA_CTX_H
#define SHMEMHI_CUDA_CTX_H

#include "cuda/dl.h"

typedef struct shmemhi_cuctx {
	shmemhi_cuda_t cuda;
	shmemhi_cu_context_t ctx;
	shmemhi_cu_stream_t stream; /* own, non-blocking: independent of the program's kernels */
	shmemhi_cu_device_t device;
	shmemhi_cu_uuid_t uuid;
} shmemhi_cuctx_t;

/* Attach to the calling thread's current context. c->cuda is filled.
 * Returns  1: attached; 0: there is none; ERR_CUDA; ERR_NO_MEMORY. */
int shmemhi_cuctx_attach(shmemhi_cuctx_t *c, shmemhi_err_t *err);
void shmemhi_cuctx_detach(shmemhi_cuctx_t *c);

/* Make the context current, and set the thread's capture mode to RELAXED; leave undoes both. In the
 * default mode, while any thread captures a stream in mode GLOBAL, calls of this thread that may
 * wait or allocate, cuStreamQuery among them, fail and invalidate that capture. RELAXED is safe
 * here: the calls of a job concern its own streams and memory, and cannot become part of a
 * capture. */
int shmemhi_cuctx_enter(shmemhi_cuctx_t *c, shmemhi_err_t *err);
void shmemhi_cuctx_leave(shmemhi_cuctx_t *c);

/* Reserve at least this many bytes of stack for each thread of kernels. Otherwise the driver
 * allocates them in the first launch that needs more than any before, and that launch waits for the
 * kernels that run. Two PEs deadlock if the running kernel of each waits for what the other would
 * send from the kernel whose launch waits. This call may wait for running kernels, too. */
int shmemhi_cuctx_reserve_stack(shmemhi_cuctx_t *c, size_t nbytes, shmemhi_err_t *err);

/* A device attribute; 0 if the driver does not support it. */
int shmemhi_cuctx_attribute(const shmemhi_cuctx_t *c, int attribute);
int shmemhi_cuctx_total_mem(const shmemhi_cuctx_t *c, uint64_t *nbytes, shmemhi_err_t *err);

#define SHMEMHI_PCI_NBYTES 32

/* The PCI address of the device as in sysfs, 0000:1b:00.0; "" if the driver does not return it. */
void shmemhi_cuctx_pci(const shmemhi_cuctx_t *c, char pci[SHMEMHI_PCI_NBYTES]);

/* Does this device support `attribute` (SHMEMHI_CU_P2P_*) on memory of the device with that UUID?
 * Returns  1; 0; -1: that device is not visible to this process. Same device: 1. */
int shmemhi_cuctx_p2p(const shmemhi_cuctx_t *c, const shmemhi_cu_uuid_t *uuid, int attribute);

/* Like memset and memcpy, on memory of the device; complete on return. */
int shmemhi_cuctx_fill(shmemhi_cuctx_t *c, void *dev, unsigned char value, size_t nbytes,
		       shmemhi_err_t *err);
int shmemhi_cuctx_write(shmemhi_cuctx_t *c, void *dev, const void *src, size_t nbytes,
			shmemhi_err_t *err);
int shmemhi_cuctx_read(shmemhi_cuctx_t *c, void *dst, const void *dev, size_t nbytes,
		       shmemhi_err_t *err);

/* Device memory and pinned host memory, zeroed; the address is the same on host and device. */
int shmemhi_cuctx_dev_alloc(shmemhi_cuctx_t *c, size_t nbytes, void **dev, shmemhi_err_t *err);
void shmemhi_cuctx_dev_free(shmemhi_cuctx_t *c, void *dev);
int shmemhi_cuctx_pinned_alloc(shmemhi_cuctx_t *c, size_t nbytes, void **ptr, shmemhi_err_t *err);
void shmemhi_cuctx_pinned_free(shmemhi_cuctx_t *c, void *ptr);

/* Let kernels use host memory at its host address. */
int shmemhi_cuctx_register(shmemhi_cuctx_t *c, void *ptr, size_t nbytes, shmemhi_err_t *err);
void shmemhi_cuctx_unregister(shmemhi_cuctx_t *c, void *ptr);

/* Let kernels store to registers of another device, which this process has mapped at `io`, or to
 * memory in place of such registers (software adapter). *dev: the address for kernels. Undone by
 * unregister. */
int shmemhi_cuctx_map_io(shmemhi_cuctx_t *c, void *io, size_t nbytes, void **dev,
			 shmemhi_err_t *err);

#endif
