/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The host side of the library under test: start, symmetric memory, end. Kernels do all other work
 * between PEs (bench.h), so that it is the same for both libraries. */
#ifndef BENCH_LIB_H
#define BENCH_LIB_H

#include "api.h"

typedef struct bench_lib {
	bench_ctx_t ctx;
	char name[48]; /* library and version, as printed */
	/* The library's own: its handle of the job (shmem_dev), or the memory to free (NVSHMEM). */
	void *own;
} bench_lib_t;

/* Join the job as PE pe of n_pes on the current device. Returns 0, or 1 after printing a line to
 * stderr. */
int bench_lib_open(bench_lib_t *lib, int pe, int n_pes);

/* Symmetric memory, collective. Freed by bench_lib_close. Returns as bench_lib_open. */
int bench_lib_malloc(bench_lib_t *lib, size_t nbytes, void **ptr);

/* Leave the job. Collective unless a PE failed. */
void bench_lib_close(bench_lib_t *lib);

#endif
