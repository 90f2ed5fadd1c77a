/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A libcuda.so.1 for machines without a GPU: the functions that the adapter looks up, and functions
 * for tests.
 *
 * The copies of a stream are executed when the stream is synchronised, no earlier, and in reverse
 * order if they do not overlap: software may rely on a wait only. The 8-byte words of a copy become
 * visible in descending order. */
#ifndef ADAPTER_FAKE_CUDA_H
#define ADAPTER_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* Memory of GPU 0, zeroed, in pages: a load or store of the CPU ends the program. */
uint8_t *fake_cuda_alloc(size_t nbytes);
/* The same memory as a kernel sees it, for loads and stores of a test. NULL: not allocated, or
 * freed. */
uint8_t *fake_cuda_view(const uint8_t *p);
void fake_cuda_free(uint8_t *p); /* its addresses are not reused */
void fake_cuda_get(void *dst, const uint8_t *p, size_t nbytes);
void fake_cuda_put(uint8_t *p, const void *src, size_t nbytes);

unsigned fake_cuda_waits(void);   /* waits since the last call */
unsigned fake_cuda_pending(void); /* copies that have not been executed */
/* The number of waits after which p was last written; 0: never. */
unsigned fake_cuda_written(const uint8_t *p);
/* Copies that have read the byte at p since the last fake_cuda_forget. */
unsigned fake_cuda_reads(const uint8_t *p);
void fake_cuda_forget(void);
/* Call f after each word, or each copy of more than a cache line, that is written to GPU memory;
 * NULL: disable. */
void fake_cuda_watch(void (*f)(const uint8_t *p, size_t nbytes));

/* Of the calls that make a stream, or allocate memory, the nth from now on fails; 0: none. */
void fake_cuda_fail(unsigned n);
/* Streams and host allocations that have been made, and neither destroyed nor freed. */
unsigned fake_cuda_held(void);

#pragma GCC visibility pop

#endif
