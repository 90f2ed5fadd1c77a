/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory of the emulator, allocated by direct system calls. Sanitizers record malloc and mmap as
 * writes of the running fiber, so they must not see these allocations. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sim/sim.h"

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif
#ifndef VALGRIND_MAKE_MEM_UNDEFINED
#define VALGRIND_MAKE_MEM_UNDEFINED(p, n) ((void)(p), (void)(n))
#endif

#define MIN_SHIFT 6  /* smallest block: 64 bytes */
#define MAX_SHIFT 20 /* larger ones are mapped alone */
#define CHUNK_NBYTES ((size_t)4 << 20)

/* Address sanitizer, if the program was built with it. */
extern void __asan_poison_memory_region(void const volatile *addr, size_t nbytes)
	__attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *addr, size_t nbytes)
	__attribute__((weak));

typedef struct free_block {
	struct free_block *next;
} free_block_t;

static free_block_t *free_list[MAX_SHIFT + 1];
static char *chunk;
static size_t chunk_left;

static void *map(size_t nbytes)
{
	long p = syscall(SYS_mmap, NULL, nbytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
	if (p != -1)
		return (void *)p;
	shmemsim_fail("out of memory for fibers and blocks"); /* returns on the main stack only */
	return NULL;
}

static unsigned shift_of(size_t nbytes)
{
	unsigned shift = MIN_SHIFT;
	while (shift <= MAX_SHIFT && ((size_t)1 << shift) < nbytes)
		shift++;
	return shift;
}

typedef uint64_t vector_t __attribute__((__vector_size__(32), __may_alias__));

/* Zero up to the next multiple of 32 bytes: blocks are multiples of 64. */
static void zero(void *mem, size_t nbytes)
{
	/* volatile prevents a memset */
	volatile vector_t *p = mem, *end = p + (nbytes + 31) / 32;
	while (p < end)
		*p++ = (vector_t){0};
}

void *shmemsimi_alloc(size_t nbytes)
{
	unsigned shift = shift_of(nbytes);
	size_t rounded = (size_t)1 << shift;
	if (shift > MAX_SHIFT)
		return map(nbytes);
	free_block_t *block = free_list[shift];
	if (block) {
		free_list[shift] = block->next;
		zero(block, nbytes);
		return block;
	}
	if (chunk_left < rounded) {
		chunk = map(CHUNK_NBYTES);
		chunk_left = chunk ? CHUNK_NBYTES : 0;
		if (!chunk)
			return NULL;
	}
	chunk_left -= rounded;
	return chunk + chunk_left;
}

void shmemsimi_free(void *mem, size_t nbytes)
{
	unsigned shift = shift_of(nbytes);
	free_block_t *block = mem;
	if (!mem)
		return;
	if (shift > MAX_SHIFT) {
		/* intercepted by thread sanitizer, which drops the recorded accesses of fibers */
		munmap(mem, nbytes);
		return;
	}
	block->next = free_list[shift];
	free_list[shift] = block;
}

void shmemsimi_copy(void *dst, const void *src, size_t nbytes)
{
	volatile char *d = dst;
	const volatile char *s = src;
	for (; nbytes && ((uintptr_t)d | (uintptr_t)s) % 8; nbytes--)
		*d++ = *s++;
	for (; nbytes >= 8; nbytes -= 8, d += 8, s += 8)
		*(volatile uint64_t *)d = *(const volatile uint64_t *)s;
	for (; nbytes; nbytes--)
		*d++ = *s++;
}

#define RED_ZONE 64
#define PAGE 4096

static size_t scratch_nbytes(size_t nbytes)
{
	size_t all = (nbytes + 2 * RED_ZONE + 15) & ~(size_t)15;
	/* thread sanitizer drops the accesses of earlier owners only when memory is unmapped */
	return shmemsimi_under_tsan() ? (all + PAGE - 1) & ~(size_t)(PAGE - 1) : all;
}

void *shmemsimi_scratch_alloc(size_t nbytes)
{
	size_t all = scratch_nbytes(nbytes);
	char *mem = shmemsimi_under_tsan() ? map(all) : shmemsimi_alloc(all);
	if (!mem)
		return NULL;
	/* fill it: block scratch is not zero on a GPU */
	for (volatile uint64_t *p = (uint64_t *)mem; p < (uint64_t *)(mem + all); p++)
		*p = 0xa5a5a5a5a5a5a5a5u;
	if (&__asan_poison_memory_region != NULL) {
		__asan_poison_memory_region(mem, RED_ZONE);
		__asan_poison_memory_region(mem + RED_ZONE + nbytes, all - RED_ZONE - nbytes);
	}
	VALGRIND_MAKE_MEM_UNDEFINED(mem + RED_ZONE, nbytes);
	return mem + RED_ZONE;
}

void shmemsimi_scratch_free(void *mem, size_t nbytes)
{
	size_t all = scratch_nbytes(nbytes);
	char *start = (char *)mem - RED_ZONE;
	if (&__asan_unpoison_memory_region != NULL)
		__asan_unpoison_memory_region(start, all);
	if (shmemsimi_under_tsan())
		munmap(start, all);
	else
		shmemsimi_free(start, all);
}
