/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <shmem_host/init.h>
#include "base/err.h"

int shmemh_local_pe(void)
{
	static const char *const names[] = {"SHMEMH_LOCAL_PE", "OMPI_COMM_WORLD_LOCAL_RANK",
					    "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *text = getenv(names[i]);
		char *end;
		long n;

		if (!text)
			continue;
		errno = 0;
		n = strtol(text, &end, 10);
		if (end == text || *end != '\0' || errno != 0 || n < 0 || n > INT_MAX) {
			shmemhi_fail_thread(SHMEMH_ERR_OPTION,
					    "local_pe: %s=%.40s is not the number of a process on "
					    "its machine: 0, 1, ...",
					    names[i], text);
			return -1;
		}
		return (int)n;
	}
	return 0;
}
