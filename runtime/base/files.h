/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_BASE_FILES_H
#define SHMEMHI_BASE_FILES_H

#include <errno.h>
#include <stdio.h>

/* Close a file after writing to it. A full disk may fail any write to it, and the last ones fail
 * here.
 *
 * Returns  0, or an errno value: it does not have all that was written. */
static inline int shmemhi_close_written(FILE *f)
{
	const int has_failed = ferror(f);

	errno = 0;
	if (fclose(f) != 0 || has_failed)
		return errno ? errno : EIO;
	return 0;
}

#endif
