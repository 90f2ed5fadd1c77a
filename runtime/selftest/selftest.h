/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The self-test of NICs: `shmem-info --selftest`. */
#ifndef SHMEMHI_SELFTEST_SELFTEST_H
#define SHMEMHI_SELFTEST_SELFTEST_H

#include <shmem_host/boot.h>
#include "base/options.h"

typedef struct shmemhi_selftest {
	const char *nics;          /* as for SHMEMH_HCA_LIST; "": all that can be used */
	unsigned minutes;          /* at most, about */
	const char *save;          /* file of the results; NULL: shmemhi_results_path */
	const shmemh_boot_t *boot; /* the job: one PE, or two for two machines */
} shmemhi_selftest_t;

/* One PE: run all rows on each pair of neighbouring ports (one port: on itself), print the table to
 * out, and keep the results. Two PEs: each pair is a port of PE 0 and one of PE 1; PE 0 prints the
 * table, and each PE keeps the results of its own ports. Collective over the job; each wait for the
 * other PE ends with its death, or after SHMEMH_BOOT_TIMEOUT.
 *
 * Returns  the worst shmemhi_verdict of all rows, on PE 1 SHMEMHI_PASS; -1: the self-test could not
 *          run, or not to its end (text in err; "" where PE 0 has that text). PE 0 keeps what was
 *          tested before; PE 1 keeps nothing. */
int shmemhi_selftest_run(const shmemhi_selftest_t *what, const shmemhi_options_t *opt, FILE *out,
			 shmemhi_err_t *err);

#endif
