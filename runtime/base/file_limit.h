/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The limit of a process for the size of files (ulimit -f). */
#ifndef SHMEMHI_BASE_FILE_LIMIT_H
#define SHMEMHI_BASE_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* Returns whether nbytes are more than the limit allows for a file; if so, *limit receives the
 * limit. Ask before ftruncate, also of a memfd: beyond the limit it raises SIGXFSZ, which ends the
 * process. */
static inline bool shmemhi_exceeds_file_limit(uint64_t nbytes, uint64_t *limit)
{
	struct rlimit size;

	if (getrlimit(RLIMIT_FSIZE, &size) != 0 || size.rlim_cur == RLIM_INFINITY ||
	    nbytes <= size.rlim_cur)
		return false;
	*limit = size.rlim_cur;
	return true;
}

#endif
