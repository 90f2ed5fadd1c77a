/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A libcuda.so.1 for machines without a GPU: the functions that the adapter looks for, and what
 * tests ask of them.
 *
 * Copies of a stream are done when the stream is waited for, no earlier, and the last one first
 * where they do not overlap: software may rely on a wait alone. The 8-byte words of a copy come in
 * descending order. */
#ifndef ADAPTER_FAKE_CUDA_H
#define ADAPTER_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* Memory of GPU 0, zeroed, of pages: loads and stores of the CPU end the program. */
uint8_t *fake_cuda_alloc(size_t nbytes);
/* The same memory as a kernel sees it: a test loads and stores there. NULL: none, or freed. */
uint8_t *fake_cuda_view(const uint8_t *p);
void fake_cuda_free(uint8_t *p); /* its addresses stay unused */
void fake_cuda_get(void *dst, const uint8_t *p, size_t nbytes);
void fake_cuda_put(uint8_t *p, const void *src, size_t nbytes);

unsigned fake_cuda_waits(void);   /* since the last call */
unsigned fake_cuda_pending(void); /* copies that are not done */
/* After how many waits memory p was last written to; 0: not at all. */
unsigned fake_cuda_written(const uint8_t *p);
/* Copies that have read the byte p since the last fake_cuda_forget. */
unsigned fake_cuda_reads(const uint8_t *p);
void fake_cuda_forget(void);
/* Call f after each word, or each copy of more than a cache line, that came to GPU memory; NULL:
 * nobody. */
void fake_cuda_watch(void (*f)(const uint8_t *p, size_t nbytes));

#pragma GCC visibility pop

#endif
