/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fake_cuda.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_REGIONS 256
#define MAX_COPIES 1024
#define MAX_DONE 65536
#define LINE 64u
#define PAGE 4096u
#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS, INVALID_VALUE, NOT_READY = 600, CAPTURE_UNSUPPORTED = 900 };
enum { CAPTURE_RELAXED = 2 };
enum { MEMORY_TYPE = 2, ORDINAL = 9, TYPE_DEVICE = 2 };

typedef struct region {
	uintptr_t p;
	uint8_t *view;
	size_t nbytes;
} region_t;

typedef struct copy {
	uintptr_t dst, src;
	size_t nbytes;
} copy_t;

typedef struct done {
	copy_t copy;
	unsigned wait;
} done_t;

static region_t regions[MAX_REGIONS];
static copy_t copies[MAX_COPIES];
static done_t done[MAX_DONE];
static unsigned n_regions, n_copies, n_done, n_waits, n_waits_before, fails_in, n_held;
/* As if a stream were being captured in mode GLOBAL all the time: calls that wait or allocate are
 * refused to a thread whose own mode is not RELAXED. */
static _Thread_local int capture_mode;
static void (*watch)(const uint8_t *p, size_t nbytes);

static const region_t *find(uintptr_t p)
{
	for (unsigned i = n_regions; i > 0; i--)
		if (p - regions[i - 1].p < regions[i - 1].nbytes)
			return &regions[i - 1];
	return NULL;
}

/* Returns where the bytes of an address are: those of GPU memory are at another address. */
static uint8_t *bytes_of(uintptr_t p)
{
	const region_t *r = find(p);

	return r ? r->view + (p - r->p) : (uint8_t *)p;
}

static void put(uintptr_t dst, const uint8_t *src, size_t nbytes)
{
	memmove(bytes_of(dst), src, nbytes);
	if (watch && find(dst))
		watch((const uint8_t *)dst, nbytes);
}

static void move(uintptr_t dst, uintptr_t src, size_t nbytes)
{
	const uint8_t *from = bytes_of(src);
	size_t n;

	if (nbytes > LINE) {
		put(dst, from, nbytes);
		return;
	}
	for (; nbytes; nbytes -= n) {
		n = (dst + nbytes) % 8 ? (dst + nbytes) % 8 : 8;
		n = n < nbytes ? n : nbytes;
		put(dst + nbytes - n, from + nbytes - n, n);
	}
}

uint8_t *fake_cuda_alloc(size_t nbytes)
{
	void *p = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *view = aligned_alloc(PAGE, (nbytes + PAGE - 1) / PAGE * PAGE);

	if (p == MAP_FAILED || !view || n_regions == MAX_REGIONS)
		abort();
	memset(view, 0, nbytes);
	regions[n_regions++] = (region_t){(uintptr_t)p, view, nbytes};
	return p;
}

uint8_t *fake_cuda_view(const uint8_t *p)
{
	const region_t *r = find((uintptr_t)p);

	return r ? bytes_of((uintptr_t)p) : NULL;
}

void fake_cuda_free(uint8_t *p)
{
	for (unsigned i = 0; i < n_regions; i++)
		if (regions[i].p == (uintptr_t)p) {
			free(regions[i].view);
			regions[i] = regions[--n_regions];
		}
}

void fake_cuda_get(void *dst, const uint8_t *p, size_t nbytes)
{
	memcpy(dst, bytes_of((uintptr_t)p), nbytes);
}

void fake_cuda_put(uint8_t *p, const void *src, size_t nbytes)
{
	memcpy(bytes_of((uintptr_t)p), src, nbytes);
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

static int has(uintptr_t first, size_t nbytes, const uint8_t *p)
{
	return (uintptr_t)p - first < nbytes;
}

unsigned fake_cuda_written(const uint8_t *p)
{
	for (unsigned i = n_done; i > 0; i--)
		if (has(done[i - 1].copy.dst, done[i - 1].copy.nbytes, p))
			return done[i - 1].wait;
	return 0;
}

unsigned fake_cuda_reads(const uint8_t *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_done; i++)
		n += (unsigned)has(done[i].copy.src, done[i].copy.nbytes, p);
	return n;
}

void fake_cuda_forget(void)
{
	n_done = 0;
}

void fake_cuda_watch(void (*f)(const uint8_t *p, size_t nbytes))
{
	watch = f;
}

void fake_cuda_fail(unsigned n)
{
	fails_in = n;
}

unsigned fake_cuda_held(void)
{
	return n_held;
}

static int fails(void)
{
	return fails_in && --fails_in == 0;
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

/* The CUDA driver API. */

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

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode)
{
	const int before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return SUCCESS;
}

static int is_relaxed(void)
{
	return capture_mode == CAPTURE_RELAXED;
}

EXPORT int cuDevicePrimaryCtxRetain(void **ctx, int gpu)
{
	*ctx = regions;
	return gpu == 0 ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
	if (flags != 1 || fails())
		return INVALID_VALUE;
	*stream = copies;
	n_held++;
	return SUCCESS;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
	(void)stream;
	n_held--;
	return SUCCESS;
}

/* Of two queries while copies are pending, the first finds them incomplete. */
EXPORT int cuStreamQuery(void *stream)
{
	static unsigned n_asked;

	(void)stream;
	if (!is_relaxed())
		return CAPTURE_UNSUPPORTED;
	if (n_copies && n_asked++ % 2 == 0)
		return NOT_READY;
	n_waits++;
	while (n_copies) {
		const unsigned i = next_copy();

		move(copies[i].dst, copies[i].src, copies[i].nbytes);
		if (n_done < MAX_DONE)
			done[n_done++] = (done_t){copies[i], n_waits};
		memmove(&copies[i], &copies[i + 1], (--n_copies - i) * sizeof(copies[0]));
	}
	return SUCCESS;
}

/* Returns whether the range is host memory, or lies in one allocation. */
static int is_whole(uintptr_t p, size_t nbytes)
{
	const region_t *r = find(p);

	return !r || nbytes <= r->nbytes - (p - r->p);
}

EXPORT int cuMemcpyAsync(uintptr_t dst, uintptr_t src, size_t nbytes, void *stream)
{
	(void)stream;
	if (n_copies == MAX_COPIES || (!find(dst) && !find(src)))
		abort(); /* a real driver would wait, or copy between invalid addresses */
	if (!is_whole(dst, nbytes) || !is_whole(src, nbytes))
		return INVALID_VALUE;
	copies[n_copies++] = (copy_t){dst, src, nbytes};
	return SUCCESS;
}

EXPORT int cuMemHostAlloc(void **p, size_t nbytes, unsigned flags)
{
	(void)flags;
	if (!is_relaxed())
		return CAPTURE_UNSUPPORTED;
	if (fails() || !(*p = malloc(nbytes)))
		return INVALID_VALUE;
	n_held++;
	return SUCCESS;
}

EXPORT int cuMemFreeHost(void *p)
{
	free(p);
	n_held--;
	return SUCCESS;
}

EXPORT int cuMemAlloc_v2(uintptr_t *p, size_t nbytes)
{
	if (!is_relaxed())
		return CAPTURE_UNSUPPORTED;
	if (fails())
		return INVALID_VALUE;
	*p = (uintptr_t)fake_cuda_alloc(nbytes);
	return SUCCESS;
}

EXPORT int cuMemFree_v2(uintptr_t p)
{
	fake_cuda_free((uint8_t *)p);
	return SUCCESS;
}
