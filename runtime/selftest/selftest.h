/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The self-test of NICs: `shmem-info --selftest`. */
#ifndef SHMEMHI_SELFTEST_SELFTEST_H
#define SHMEMHI_SELFTEST_SELFTEST_H

#include "base/options.h"

typedef struct shmemhi_selftest {
	const char *nics; /* as for SHMEMH_HCA_LIST; "": all that can be used */
	unsigned minutes; /* at most, about */
	const char *save; /* file of the results; NULL: shmemhi_results_path */
} shmemhi_selftest_t;

/* Run all rows on each pair of neighbouring ports (one port: on itself), print the table to out,
 * and keep the results.
 *
 * Returns  the worst shmemhi_verdict of all rows; -1: the self-test could not run (text in err). */
int shmemhi_selftest_run(const shmemhi_selftest_t *what, const shmemhi_options_t *opt, FILE *out,
			 shmemhi_err_t *err);

#endif
