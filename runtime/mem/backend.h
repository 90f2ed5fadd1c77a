/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the heap needs of a kind of memory: address space, chunks of memory that another process
 * can import through a file descriptor, and mapping the one into the other. All functions that
 * can fail return a shmemh_status and leave a line in err. None is collective. */
#ifndef SHMEMHI_MEM_BACKEND_H
#define SHMEMHI_MEM_BACKEND_H

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

/* Memory behind part of one PE's heap, own or imported. */
typedef struct shmemhi_chunk {
	uint64_t nbytes;
	uint64_t handle; /* GPU: the driver's handle */
	int fd;          /* shareable descriptor; -1: none, or closed */
	int held;        /* there is memory to release */
	int own;         /* made here: PEs of this process use this very mapping */
	char *at;        /* where it is mapped; NULL: nowhere */
} shmemhi_chunk_t;

#define SHMEMHI_CHUNK_NONE ((shmemhi_chunk_t){.fd = -1})

typedef struct shmemhi_backend {
	int kind; /* SHMEMH_HEAP_GPU or SHMEMH_HEAP_HOST */
	/* Bytes of which chunk sizes and map addresses are multiples; a power of two. */
	int (*granularity)(struct shmemhi_mem *mem, uint64_t *nbytes, shmemhi_err_t *err);
	/* Heap reservation if SHMEMH_SYMMETRIC_MAX does not say. */
	int (*default_max)(struct shmemhi_mem *mem, uint64_t *nbytes, shmemhi_err_t *err);
	int (*reserve)(struct shmemhi_mem *mem, uint64_t nbytes, shmemhi_range_t *range,
		       shmemhi_err_t *err);
	void (*unreserve)(struct shmemhi_mem *mem, shmemhi_range_t *range);
	/* Make memory, or take that of another process. The caller keeps import's fd and closes
	 * it; create's is in the chunk. */
	int (*create)(struct shmemhi_mem *mem, uint64_t nbytes, shmemhi_chunk_t *chunk,
		      shmemhi_err_t *err);
	int (*import)(struct shmemhi_mem *mem, int fd, uint64_t nbytes, shmemhi_chunk_t *chunk,
		      shmemhi_err_t *err);
	/* Map into a reserved range. After a failure nothing is mapped. */
	int (*map)(struct shmemhi_mem *mem, char *at, shmemhi_chunk_t *chunk, shmemhi_err_t *err);
	/* Unmap, close and release whatever the chunk holds; it is CHUNK_NONE afterwards. */
	void (*drop)(struct shmemhi_mem *mem, shmemhi_chunk_t *chunk);
	int (*zero)(struct shmemhi_mem *mem, char *at, uint64_t nbytes, shmemhi_err_t *err);
} shmemhi_backend_t;

extern const shmemhi_backend_t shmemhi_backend_host;
extern const shmemhi_backend_t shmemhi_backend_gpu;

/* Close the descriptor once everybody who needs it has it: mappings keep the memory alive. */
void shmemhi_chunk_close_fd(shmemhi_chunk_t *chunk);

#endif
