/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The symmetric heap. An allocation has the same offset from the heap's start on every PE; device
 * functions translate it by PE number. Memory is GPU memory, or host memory if the job's heap is
 * there (shmemh_attr_t.heap_kind).
 *
 * All calls but ptr, info and a free of NULL are collective over the world team, in the same order
 * on every PE. They compare what the PEs ask for, so a mistake on one PE is an error on all of
 * them. A call that fails allocates nothing. A growth of the heap that fails is undone on all PEs;
 * if the heap has grown and a later step fails (the zeroing of calloc), it stays that large. After
 * a PE died, free still works, locally. */
#ifndef SHMEMH_HEAP_H
#define SHMEMH_HEAP_H

#include <shmem_host/init.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocate nbytes on every PE; contents are undefined. Alignment: 512 bytes for malloc and calloc;
 * for align the given power of two, but at least 512. Returns after all PEs have it mapped.
 *
 * nbytes   bytes, the same on every PE; 0, collective all the same, gives NULL and SHMEMH_OK.
 * ptr      receives this PE's address.
 * Returns  SHMEMH_OK; ERR_MISMATCH (sizes or alignments differ; text has both values and PEs);
 *          ERR_NO_MEMORY (heap exhausted: text has the bytes asked for, free, reserved, and free in
 *          one block, and says to raise SHMEMH_SYMMETRIC_MAX; or calloc's count * size is
 *          2^64 bytes or more; or a PE or the hub has no memory);
 *          ERR_ARGUMENT (alignment not a power of two up to 1 GiB, or ptr NULL); ERR_CUDA;
 *          ERR_SYSTEM; ERR_NIC (the NIC cannot register the memory); ERR_PEER; ERR_TIMEOUT;
 *          ERR_BOOTSTRAP.
 */
SHMEMH_API int shmemh_malloc(shmemh_t *job, size_t nbytes, void **ptr);
SHMEMH_API int shmemh_align(shmemh_t *job, size_t alignment, size_t nbytes, void **ptr);

/* As malloc for count * nbytes, zeroed on every PE before any of them returns. */
SHMEMH_API int shmemh_calloc(shmemh_t *job, size_t count, size_t nbytes, void **ptr);

/* Free an allocation on every PE. No operation on it is under way anywhere. NULL is no operation
 * and not collective.
 * Returns  SHMEMH_OK; ERR_NOT_OWNED (not an allocation of this heap, or freed before; nothing is
 *          freed anywhere); ERR_PEER (a PE died or left, or this PE is cut off: freed on this PE
 *          only); as shmemh_barrier, nothing is freed: ERR_MISMATCH, ERR_TIMEOUT, ERR_NO_MEMORY,
 *          ERR_BOOTSTRAP.
 */
SHMEMH_API int shmemh_free(shmemh_t *job, void *ptr);

/* Returns the address at which this PE maps ptr of PE world_pe, or NULL if that memory is not
 * mapped here or ptr is not symmetric. Kernels may use the address for loads and stores; for native
 * atomics only if the link has them (all links of a team with SHMEMD_CTX_SM_ATOMICS do). This PE's
 * own memory is always mapped; with SHMEMH_DISABLE_P2P no other is. Any thread, any time. */
SHMEMH_API void *shmemh_ptr(const shmemh_t *job, const void *ptr, int world_pe);

/* What shmemh_heap_info reads. */
typedef struct shmemh_heap_info_t {
	uint32_t size;      /* in: sizeof(shmemh_heap_info_t) */
	int32_t kind;       /* SHMEMH_HEAP_GPU or SHMEMH_HEAP_HOST */
	void *base;         /* start of this PE's heap */
	uint64_t reserved;  /* bytes of address space: the most it can grow to */
	uint64_t committed; /* bytes backed by memory now; never shrinks */
	uint64_t used;      /* bytes in use: live allocations, alignment included, and what the
			       library has taken for its teams */
	uint64_t largest;   /* largest allocation that needs no growth */
} shmemh_heap_info_t;

/* Read where the heap is and how full.
 * Returns  SHMEMH_OK; ERR_ARGUMENT.
 */
SHMEMH_API int shmemh_heap_info(const shmemh_t *job, shmemh_heap_info_t *info);

#ifdef __cplusplus
}
#endif

#endif
