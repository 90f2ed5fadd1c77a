/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fake_cuda.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_REGIONS 64
#define MAX_COPIES 1024
#define MAX_WRITES 65536
#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS, INVALID_VALUE };
enum { MEMORY_TYPE = 2, ORDINAL = 9, TYPE_DEVICE = 2 };

typedef struct region {
	uintptr_t p;
	size_t nbytes;
	int is_freed;
} region_t;

typedef struct copy {
	uintptr_t dst, src;
	size_t nbytes;
} copy_t;

typedef struct written {
	uintptr_t p;
	size_t nbytes;
	unsigned wait;
} written_t;

static region_t regions[MAX_REGIONS];
static copy_t copies[MAX_COPIES];
static written_t writes[MAX_WRITES];
static unsigned n_regions, n_copies, n_writes, n_waits, n_waits_before;

static const region_t *find(uintptr_t p)
{
	for (unsigned i = 0; i < n_regions; i++)
		if (p - regions[i].p < regions[i].nbytes && !regions[i].is_freed)
			return &regions[i];
	return NULL;
}

static void protect(uintptr_t p, int protection)
{
	const region_t *r = find(p);

	if (r && mprotect((void *)r->p, r->nbytes, protection) != 0)
		abort();
}

static void move(uintptr_t dst, uintptr_t src, size_t nbytes)
{
	protect(dst, PROT_READ | PROT_WRITE);
	protect(src, PROT_READ | PROT_WRITE);
	memmove((void *)dst, (const void *)src, nbytes);
	protect(dst, PROT_NONE);
	protect(src, PROT_NONE);
}

uint8_t *fake_cuda_alloc(size_t nbytes)
{
	void *p = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || n_regions == MAX_REGIONS)
		abort();
	regions[n_regions++] = (region_t){(uintptr_t)p, nbytes, 0};
	return p;
}

void fake_cuda_free(uint8_t *p)
{
	for (unsigned i = 0; i < n_regions; i++)
		if (regions[i].p == (uintptr_t)p)
			regions[i].is_freed = 1;
}

void fake_cuda_get(void *dst, const uint8_t *p, size_t nbytes)
{
	move((uintptr_t)dst, (uintptr_t)p, nbytes);
}

void fake_cuda_put(uint8_t *p, const void *src, size_t nbytes)
{
	move((uintptr_t)p, (uintptr_t)src, nbytes);
}

unsigned fake_cuda_waits(void)
{
	unsigned n = n_waits - n_waits_before;

	n_waits_before = n_waits;
	return n;
}

unsigned fake_cuda_pending(void)
{
	return n_copies;
}

unsigned fake_cuda_written(const uint8_t *p)
{
	for (unsigned i = n_writes; i > 0; i--)
		if ((uintptr_t)p - writes[i - 1].p < writes[i - 1].nbytes)
			return writes[i - 1].wait;
	return 0;
}

static int overlap(uintptr_t a, size_t a_nbytes, uintptr_t b, size_t b_nbytes)
{
	return a < b + b_nbytes && b < a + a_nbytes;
}

static int must_follow(const copy_t *later, const copy_t *earlier)
{
	return overlap(later->dst, later->nbytes, earlier->dst, earlier->nbytes) ||
	       overlap(later->dst, later->nbytes, earlier->src, earlier->nbytes) ||
	       overlap(later->src, later->nbytes, earlier->dst, earlier->nbytes);
}

/* The last copy that need not wait for another one. */
static unsigned next_copy(void)
{
	for (unsigned i = n_copies - 1;; i--) {
		unsigned k = 0;

		while (k < i && !must_follow(&copies[i], &copies[k]))
			k++;
		if (k == i)
			return i;
	}
}

/* The driver */

EXPORT int cuPointerGetAttribute(void *value, int attribute, uintptr_t p)
{
	const int type = TYPE_DEVICE, gpu = 0;

	if (!find(p))
		return INVALID_VALUE;
	memcpy(value, attribute == MEMORY_TYPE ? &type : &gpu, sizeof(int));
	return attribute == MEMORY_TYPE || attribute == ORDINAL ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuCtxPushCurrent_v2(void *ctx)
{
	return ctx ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuCtxPopCurrent_v2(void **ctx)
{
	*ctx = NULL;
	return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRetain(void **ctx, int gpu)
{
	*ctx = regions;
	return gpu == 0 ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
	*stream = copies;
	return flags == 1 ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
	(void)stream;
	return SUCCESS;
}

EXPORT int cuStreamSynchronize(void *stream)
{
	(void)stream;
	n_waits++;
	while (n_copies) {
		const unsigned i = next_copy();

		move(copies[i].dst, copies[i].src, copies[i].nbytes);
		if (find(copies[i].dst) && n_writes < MAX_WRITES)
			writes[n_writes++] = (written_t){copies[i].dst, copies[i].nbytes, n_waits};
		memmove(&copies[i], &copies[i + 1], (--n_copies - i) * sizeof(copies[0]));
	}
	return SUCCESS;
}

EXPORT int cuMemcpyAsync(uintptr_t dst, uintptr_t src, size_t nbytes, void *stream)
{
	(void)stream;
	if (n_copies == MAX_COPIES || (!find(dst) && !find(src)))
		abort(); /* a real one would wait; or copy between addresses that are none */
	copies[n_copies++] = (copy_t){dst, src, nbytes};
	return SUCCESS;
}

EXPORT int cuMemHostAlloc(void **p, size_t nbytes, unsigned flags)
{
	(void)flags;
	*p = malloc(nbytes);
	return *p ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuMemFreeHost(void *p)
{
	free(p);
	return SUCCESS;
}

EXPORT int cuMemAlloc_v2(uintptr_t *p, size_t nbytes)
{
	*p = (uintptr_t)fake_cuda_alloc(nbytes);
	return SUCCESS;
}

EXPORT int cuMemFree_v2(uintptr_t p)
{
	for (unsigned i = 0; i < n_regions; i++)
		if (regions[i].p == p) {
			munmap((void *)p, regions[i].nbytes);
			regions[i] = regions[--n_regions];
		}
	return SUCCESS;
}
