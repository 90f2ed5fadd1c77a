/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which verdicts go to the file of results. */
#include <string.h>
#include "selftest/far.h"
#include "selftest/rows.h"

static bool is_same_kind(const shmemhi_firmware_t *a, const shmemhi_firmware_t *b)
{
	return a->vendor == b->vendor && a->part == b->part && strcmp(a->version, b->version) == 0;
}

/* The first port of the kind of that one. */
static int first_of_kind(const shmemhi_firmware_t *kinds, int port)
{
	int first = 0;

	while (!is_same_kind(&kinds[first], &kinds[port]))
		first++;
	return first;
}

void shmemhi_verdicts_end_early(shmemhi_port_verdicts_t *verdicts, int row)
{
	for (int port = 0; port < SHMEMHI_RIG_PORTS; port++)
		if (verdicts->verdicts[row][port] != SHMEMHI_FAIL)
			verdicts->verdicts[row][port] = SHMEMHI_ROW_NOT_RUN;
}

void shmemhi_verdicts_keep(const shmemhi_port_verdicts_t *verdicts, const shmemhi_firmware_t *kinds,
			   int n, FILE *f)
{
	int n_rows, worst[SHMEMHI_RIG_PORTS]; /* by the first port of a kind; -1: not run */
	const shmemhi_selftest_row_t *rows = shmemhi_selftest_rows(&n_rows);

	for (int row = 0; row < n_rows; row++) {
		for (int port = 0; port < n; port++) {
			int verdict = verdicts->verdicts[row][port];
			int first = first_of_kind(kinds, port);

			worst[port] = -1;
			if (verdict != SHMEMHI_ROW_NOT_RUN && verdict > worst[first])
				worst[first] = verdict;
		}
		for (int port = 0; port < n; port++)
			if (worst[port] >= 0)
				shmemhi_results_put(f, &kinds[port], rows[row].name, worst[port]);
	}
}
