/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* First-fit allocator with coalescing, over offsets. It does not access the memory it manages.
 * The same calls return the same offsets on every PE, which makes the heap symmetric. */
#ifndef SHMEMHI_MEM_SUBALLOC_H
#define SHMEMHI_MEM_SUBALLOC_H

#include <stddef.h>
#include <stdint.h>

#define SHMEMHI_ALIGN_MIN 512u

/* The owner of a block. */
enum shmemhi_owner { SHMEMHI_FREE, SHMEMHI_USER, SHMEMHI_LIBRARY };

typedef struct shmemhi_block {
	uint64_t offset; /* bytes; a multiple of SHMEMHI_ALIGN_MIN, as is nbytes */
	uint64_t nbytes;
	enum shmemhi_owner owner;
	uint64_t asked; /* bytes that the caller asked for */
} shmemhi_block_t;

typedef struct shmemhi_suballoc {
	shmemhi_block_t *blocks; /* [n], by offset, without gaps; no two free ones in a row */
	size_t n;
	size_t capacity;
	uint64_t nbytes; /* [0, nbytes) is managed */
	uint64_t used;   /* bytes in blocks that are not free */
} shmemhi_suballoc_t;

/* A zeroed struct is an empty one. Release what it holds; it is empty again. */
void shmemhi_suballoc_destroy(shmemhi_suballoc_t *s);

/* Make room so that the next extend and the next alloc cannot fail for want of host memory.
 * Returns 0, or -1 without memory. */
int shmemhi_suballoc_prepare(shmemhi_suballoc_t *s);

/* Append nbytes (a multiple of SHMEMHI_ALIGN_MIN) of free memory. Prepared. */
void shmemhi_suballoc_extend(shmemhi_suballoc_t *s, uint64_t nbytes);

/* Bytes to append so that the allocation succeeds; 0: it does now. alignment: a power of two.
 * nbytes and alignment are at most 2^62. */
uint64_t shmemhi_suballoc_missing(const shmemhi_suballoc_t *s, uint64_t nbytes, uint64_t alignment);

/* Allocate at the lowest offset that fits. Prepared; missing() is 0; owner is not FREE. */
uint64_t shmemhi_suballoc_alloc(shmemhi_suballoc_t *s, uint64_t nbytes, uint64_t alignment,
				enum shmemhi_owner owner);

/* The block that contains offset; NULL if offset is not managed. Valid until the next change. */
const shmemhi_block_t *shmemhi_suballoc_find(const shmemhi_suballoc_t *s, uint64_t offset);

/* Free the allocation that starts at offset. Returns 0, or -1 if none starts there. */
int shmemhi_suballoc_free(shmemhi_suballoc_t *s, uint64_t offset);

/* Size of the largest free block. */
uint64_t shmemhi_suballoc_largest(const shmemhi_suballoc_t *s);

/* The same if the range were extended to `limit` bytes. */
uint64_t shmemhi_suballoc_room(const shmemhi_suballoc_t *s, uint64_t limit);

#endif
