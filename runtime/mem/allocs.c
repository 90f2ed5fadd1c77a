/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The table of allocations that kernels of check builds read (shmemd_allocs_t). */
#include "mem/state.h"

/* In programs built with address sanitizer; else NULL. */
extern void __asan_poison_memory_region(void const volatile *addr, size_t nbytes)
	__attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *addr, size_t nbytes)
	__attribute__((weak));

#define FIRST_CAPACITY 64u

/* Of the array that is in use; 0: there is none. */
static uint64_t capacity_of(const shmemhi_heap_t *heap)
{
	return heap->n_ranges ? (uint64_t)FIRST_CAPACITY << (heap->n_ranges - 1) : 0;
}

int shmemhi_allocs_prepare(shmemh_t *job)
{
	shmemhi_heap_t *heap = &job->mem->heap;
	shmemhi_err_t err = {""};
	void *ranges;

	if (heap->allocs->n < capacity_of(heap))
		return 0;
	if (heap->n_ranges == SHMEMHI_MAX_RANGE_ARRAYS ||
	    shmemhi_pinned_alloc(job,
				 ((size_t)FIRST_CAPACITY << heap->n_ranges) * sizeof **heap->ranges,
				 &ranges, &err) != SHMEMH_OK)
		return -1;
	heap->ranges[heap->n_ranges++] = ranges;
	shmemhi_allocs_publish(job);
	return 0;
}

/* By atomic stores between two numbers of the sequence: kernels read meanwhile. */
void shmemhi_allocs_publish(shmemh_t *job)
{
	shmemhi_heap_t *heap = &job->mem->heap;
	shmemd_allocs_t *a = heap->allocs;
	uint64_t sequence = a->sequence, n = 0;
	shmemd_range_t *to;

	if (heap->n_ranges == 0) /* nothing was allocated yet */
		return;
	to = heap->ranges[heap->n_ranges - 1];
	__atomic_store_n(&a->sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = 0; i < heap->blocks.n; i++) {
		const shmemhi_block_t *b = &heap->blocks.blocks[i];

		if (b->owner != SHMEMHI_USER)
			continue;
		__atomic_store_n(&to[n].offset, b->offset, __ATOMIC_RELAXED);
		__atomic_store_n(&to[n].nbytes, b->asked, __ATOMIC_RELAXED);
		n++;
	}
	/* A kernel that reads n reads no older array: none that is too short for it. */
	__atomic_store_n(&a->ranges, to, __ATOMIC_RELAXED);
	__atomic_store_n(&a->n, n, __ATOMIC_RELEASE);
	__atomic_store_n(&a->sequence, sequence + 2, __ATOMIC_RELEASE);
}

void shmemhi_allocs_close(shmemh_t *job)
{
	shmemhi_heap_t *heap = &job->mem->heap;

	while (heap->n_ranges > 0)
		shmemhi_pinned_free(job, heap->ranges[--heap->n_ranges]);
	if (heap->allocs)
		shmemhi_pinned_free(job, heap->allocs);
	heap->allocs = NULL;
	heap->committed = NULL;
}

/* Kernels of the emulator load and store the heap as host memory. */
static int is_guarded(const shmemh_t *job)
{
	return __asan_poison_memory_region && __asan_unpoison_memory_region &&
	       job->mem->backend->kind == SHMEMH_HEAP_HOST;
}

void shmemhi_asan_forbid(const shmemh_t *job, uint64_t offset, uint64_t nbytes)
{
	char *base = job->mem->peers[job->pe].base;

	if (is_guarded(job) && base)
		__asan_poison_memory_region(base + offset, nbytes);
}

/* Permits accesses in the heaps of all PEs. Another PE of this process may not have come as far in
 * the same call, and this PE's kernels may access its memory as soon as this PE's call returns. */
void shmemhi_asan_allow(const shmemh_t *job, uint64_t offset, uint64_t nbytes)
{
	for (int pe = 0; is_guarded(job) && pe < job->n_pes; pe++)
		if (job->mem->peers[pe].base)
			__asan_unpoison_memory_region(job->mem->peers[pe].base + offset, nbytes);
}
