/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory of a job: the backend (GPU or host), the node (whose memory can be mapped), the symmetric
 * heap. Public calls (include/shmem_host/heap.h) are implemented in mem/heap.c; this is what core/,
 * ib/ and tools/ call. Functions without an err argument leave their line in job->err. */
#ifndef SHMEMHI_MEM_MEM_H
#define SHMEMHI_MEM_MEM_H

#include <stdbool.h>
#include "job/job.h"
#include "mem/backend.h"

struct shmemhi_cuctx; /* cuda/ctx.h */

/* Phases of init, in this order. Each is collective and returns the same status on every PE. */
int shmemhi_mem_open(shmemh_t *job); /* choose the backend; allocates job->mem */
void shmemhi_mem_close(shmemh_t *job);
int shmemhi_node_open(shmemh_t *job); /* find the PEs of this node, connect to pass descriptors */
void shmemhi_node_close(shmemh_t *job);
/* Reserve address space for the heaps of this PE and of the peers that it will map. */
int shmemhi_heap_open(shmemh_t *job);
void shmemhi_heap_close(shmemh_t *job);

/* Is the memory of world PE pe mapped here, or will it be as the heap grows? Own PE: true. */
bool shmemhi_mem_is_mapped(const shmemh_t *job, int pe);

/* Do device calls reach it by loads and stores: is it mapped, and SHMEMH_DISABLE_P2P 0? */
bool shmemhi_mem_is_for_kernels(const shmemh_t *job, int pe);

/* Are read-modify-writes by SMs on pe's memory atomic with respect to pe's own? (Same GPU,
 * NVLink, host memory between CPUs; not PCIe.) */
bool shmemhi_mem_has_atomics(const shmemh_t *job, int pe);

/* Does pe use this PE's GPU? If one of the two has no CUDA context: is pe mapped, and in this
 * process? */
bool shmemhi_mem_same_gpu(const shmemh_t *job, int pe);

/* Address of pe's heap in this process; NULL if not mapped. */
char *shmemhi_mem_base(const shmemh_t *job, int pe);
uint64_t shmemhi_mem_reserved(const shmemh_t *job);

/* The pinned word that holds the size of the heap: bytes from its start with memory on all PEs. */
const uint64_t *shmemhi_mem_committed_word(const shmemh_t *job);

/* The CUDA context of the job; NULL: there is none, and memory of the device is host memory. */
struct shmemhi_cuctx *shmemhi_mem_cuctx(const shmemh_t *job);

/* PCI address of the GPU of this PE; "": it has none, or the driver does not say. */
#define SHMEMHI_GPU_NBYTES 32
void shmemhi_mem_gpu(const shmemh_t *job, char addr[SHMEMHI_GPU_NBYTES]);

/* Is the heap in memory of the GPU? Between mem_open and mem_close. */
bool shmemhi_mem_is_on_gpu(const shmemh_t *job);

/* Bytes of a heap chunk: growths and the reservation are multiples of it; a power of two. */
uint64_t shmemhi_mem_chunk(const shmemh_t *job);

/* Does pe run on this PE's host? As for a node, but SHMEMH_DISABLE_P2P does not count, and the
 * memory of the two need not be mapped. */
bool shmemhi_mem_same_host(const shmemh_t *job, int pe);

/* Let `on_growth` take part in each growth of the heap, so that NICs register the new memory: every
 * PE calls it with the range of the heap that has just been mapped, so it may be collective. It
 * returns the same status on every PE; if that is not SHMEMH_OK, the growth is undone. NULL: call
 * nothing any more. */
typedef int shmemhi_on_growth_t(shmemh_t *job, uint64_t offset, uint64_t nbytes);
void shmemhi_mem_set_on_growth(shmemh_t *job, shmemhi_on_growth_t *on_growth);

/* Memory of the same kind as the heap's, outside the heap: NICs can register it. */
typedef struct shmemhi_area {
	shmemhi_range_t range;
	shmemhi_extent_t extent;
} shmemhi_area_t;

/* Make at least nbytes, zeroed, at area->range.base. Not collective. Failed: a line in err, and
 * area_close is still to be called. */
int shmemhi_area_open(shmemh_t *job, uint64_t nbytes, shmemhi_area_t *area, shmemhi_err_t *err);
void shmemhi_area_close(shmemh_t *job, shmemhi_area_t *area);

/* Symmetric memory for the library itself: zeroed, aligned to 512; freed with the heap.
 * Collective over the world. */
int shmemhi_heap_take(shmemh_t *job, size_t nbytes, void **ptr);

/* Zero a part of this PE's own heap. Not collective. */
int shmemhi_heap_zero(shmemh_t *job, void *own, size_t nbytes);

/* Set the line for a call that cannot work because a PE died or left, or because this PE lost the
 * bootstrap. Returns ERR_PEER. */
int shmemhi_fail_broken(shmemh_t *job, const char *what);

/* Memory local to the device. The host writes and reads it by copy, also while kernels run. A
 * function with `err` leaves its line there, and may be called by any thread; the others leave it
 * in job->err, which belongs to the thread that calls the library. */
int shmemhi_dev_alloc(shmemh_t *job, size_t nbytes, void **dev); /* zeroed */
int shmemhi_dev_fill(shmemh_t *job, void *dev, unsigned char value, size_t nbytes,
		     shmemhi_err_t *err);
int shmemhi_dev_write(shmemh_t *job, void *dev, const void *src, size_t nbytes);
int shmemhi_dev_read(shmemh_t *job, void *dst, const void *dev, size_t nbytes,
		     shmemhi_err_t *err); /* nbytes: a multiple of 8 */
void shmemhi_dev_free(shmemh_t *job, void *dev);

/* The same memory, if the host can load it without a copy; NULL: it is a GPU's. */
const void *shmemhi_dev_on_host(const shmemh_t *job, const void *dev);

/* Host memory that kernels and host threads read and write at the same address while kernels run.
 * Zeroed. */
int shmemhi_pinned_alloc(shmemh_t *job, size_t nbytes, void **ptr, shmemhi_err_t *err);
void shmemhi_pinned_free(shmemh_t *job, void *ptr);

/* Let kernels store to registers of a device that are mapped at `io`; *seen: the address for
 * kernels. */
int shmemhi_io_map(shmemh_t *job, void *io, size_t nbytes, void **seen, shmemhi_err_t *err);
void shmemhi_io_unmap(shmemh_t *job, void *io);

#endif
