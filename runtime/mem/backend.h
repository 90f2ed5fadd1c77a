/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The operations that the heap needs of a kind of memory: reserve address space, create extents
 * of memory that another process can import through a file descriptor, map extents into the
 * address space. All functions that can fail return a shmemh_status and leave a line in err.
 * None is collective. */
#ifndef SHMEMHI_MEM_BACKEND_H
#define SHMEMHI_MEM_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct shmemhi_mem;

/* Address space without memory. base is aligned to SHMEMHI_BASE_ALIGN, so that an aligned offset
 * is an aligned address. */
typedef struct shmemhi_range {
	void *raw; /* what was reserved; NULL: nothing */
	uint64_t raw_nbytes;
	char *base; /* [base, base + the bytes asked for) is inside */
} shmemhi_range_t;

#define SHMEMHI_BASE_ALIGN ((uint64_t)1 << 30)

/* Memory of a part of a heap: created here, or imported from another PE. */
typedef struct shmemhi_extent {
	uint64_t nbytes;
	uint64_t handle; /* GPU: the driver's handle */
	uint64_t from;   /* host: where it begins in the file */
	int fd;          /* shareable descriptor; -1: none, or closed */
	int held;        /* GPU: there is memory to release */
	int created;     /* GPU: by this PE, not imported: PEs of its process use its mapping */
	char *at;        /* where it is mapped; NULL: nowhere */
} shmemhi_extent_t;

#define SHMEMHI_EXTENT_NONE ((shmemhi_extent_t){.fd = -1})

typedef struct shmemhi_backend {
	int kind; /* SHMEMH_HEAP_GPU or SHMEMH_HEAP_HOST */
	/* The granularity of extent sizes and map addresses in bytes; a power of two. */
	int (*granularity)(struct shmemhi_mem *mem, uint64_t *nbytes, shmemhi_err_t *err);
	/* Size of the heap reservation if SHMEMH_SYMMETRIC_MAX is 0. */
	int (*default_max)(struct shmemhi_mem *mem, uint64_t *nbytes, shmemhi_err_t *err);
	int (*reserve)(struct shmemhi_mem *mem, uint64_t nbytes, shmemhi_range_t *range,
		       shmemhi_err_t *err);
	void (*unreserve)(struct shmemhi_mem *mem, shmemhi_range_t *range);
	/* Create memory, or import that of another process. import leaves its fd open, the
	 * caller closes it; the fd of create is in the extent. */
	int (*create)(struct shmemhi_mem *mem, uint64_t nbytes, shmemhi_extent_t *extent,
		      shmemhi_err_t *err);
	int (*import)(struct shmemhi_mem *mem, int fd, uint64_t nbytes, shmemhi_extent_t *extent,
		      shmemhi_err_t *err);
	/* Map into a reserved range. After a failure nothing is mapped. */
	int (*map)(struct shmemhi_mem *mem, char *at, shmemhi_extent_t *extent, shmemhi_err_t *err);
	/* Close and release all that the extent holds, and unmap it; it is EXTENT_NONE afterwards.
	 * keep_range: its address space stays reserved; false: the caller unreserves it next, which
	 * may be what unmaps it. */
	void (*drop)(struct shmemhi_mem *mem, shmemhi_extent_t *extent, bool keep_range);
	int (*zero)(struct shmemhi_mem *mem, char *at, uint64_t nbytes, shmemhi_err_t *err);
} shmemhi_backend_t;

extern const shmemhi_backend_t shmemhi_backend_host;
extern const shmemhi_backend_t shmemhi_backend_gpu;

/* Close the descriptor once it was sent to every PE that needs it: mappings keep the memory
 * alive. */
void shmemhi_extent_close_fd(shmemhi_extent_t *extent);

#endif
