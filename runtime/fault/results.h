/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Results of the self-test, kept in a file: a line for each result; of the same kind of NIC,
 * firmware and row the last line counts. */
#ifndef SHMEMHI_FAULT_RESULTS_H
#define SHMEMHI_FAULT_RESULTS_H

#include <stdio.h>
#include "base/err.h"

/* Worse ones are greater. */
enum shmemhi_verdict { SHMEMHI_PASS, SHMEMHI_UNKNOWN, SHMEMHI_FAIL };

/* What a result is about. */
typedef struct shmemhi_firmware {
	unsigned vendor, part; /* vendor_id and vendor_part_id of ibv_query_device */
	char version[64];      /* fw_ver */
} shmemhi_firmware_t;

/* Path of the file: $XDG_CACHE_HOME/shmem_dev/selftest, or ~/.cache/shmem_dev/selftest. Returns 0;
 * -1: neither XDG_CACHE_HOME nor HOME is an absolute path, or the path is too long. */
int shmemhi_results_path(char *path, size_t nbytes);

/* Append a result. f was opened by results_append. */
void shmemhi_results_put(FILE *f, const shmemhi_firmware_t *of, const char *row, int verdict);

/* Open the file for appending. path NULL: that of results_path, whose folder is made if needed.
 * Returns NULL: a line in err. */
FILE *shmemhi_results_append(const char *path, shmemhi_err_t *err);

/* The last verdict on a row; UNKNOWN: there is none. path NULL: that of results_path. Fail-over
 * asks for each row of rows[] in policy.c. */
int shmemhi_results_verdict(const char *path, const shmemhi_firmware_t *of, const char *row);

const char *shmemhi_verdict_word(int verdict); /* pass, cannot tell, FAIL */

#endif
