/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What a process has, from /proc/self, to see what is left of a job. */
#ifndef TESTS_FAILURES_LEFT_H
#define TESTS_FAILURES_LEFT_H

#include <stddef.h>

typedef struct left {
	int n_fds;
	int n_threads;
	int n_files_mapped; /* mappings of files and memfds */
	long anonymous_kib; /* mapped, of which the C library keeps stacks and blocks for later */
	long n_blocks;      /* inject_n_blocks */
	int n_files;        /* in TMPDIR */
} left_t;

void left_look(left_t *now);

/* Compare with what there is now; a thread that has been joined may need a moment to vanish.
 * text receives "" if nothing more is there, else what. with_blocks: count blocks of memory. */
void left_since(const left_t *before, int with_blocks, char *text, size_t nbytes);

#endif
