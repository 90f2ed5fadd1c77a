/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Prometheus text, version 0.0.4. Sums for each peer, since a series for each channel would be too
 * many. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/files.h"
#include "fault/state.h"

#define N_STATES (SHMEMH_FAULT_ENDED + 1)

static void print_states(FILE *f, const shmemhi_fault_table_t *table, const char *process)
{
	static const char *const states[N_STATES] = {"running", "switching", "standby", "ended"};
	const size_t n = (size_t)table->head->n_pes * table->head->n_channels;
	uint64_t counts[N_STATES] = {0};

	for (size_t i = 0; i < n; i++)
		if (table->rows[i].is_there)
			counts[table->rows[i].state]++;
	fprintf(f, "# HELP shmem_host_channels Channels of this PE by state.\n"
		   "# TYPE shmem_host_channels gauge\n");
	for (int s = 0; s < N_STATES; s++)
		fprintf(f, "shmem_host_channels{pe=\"%d\",process=\"%s\",state=\"%s\"} %llu\n",
			table->head->pe, process, states[s], (unsigned long long)counts[s]);
}

static void print_switches(FILE *f, const shmemhi_fault_table_t *table, const char *process)
{
	const uint32_t n_channels = table->head->n_channels;

	fprintf(f, "# HELP shmem_host_path_switches_total Switches of a channel to another path, "
		   "carried out.\n# TYPE shmem_host_path_switches_total counter\n");
	for (int pe = 0; pe < table->head->n_pes; pe++) {
		const shmemhi_fault_row_t *rows = &table->rows[(size_t)pe * n_channels];
		uint64_t sum = 0;

		if (!rows->is_there)
			continue;
		for (uint32_t k = 0; k < n_channels; k++)
			sum += rows[k].switches;
		fprintf(f,
			"shmem_host_path_switches_total{pe=\"%d\",process=\"%s\",peer=\"%d\"} "
			"%llu\n",
			table->head->pe, process, pe, (unsigned long long)sum);
	}
}

int shmemhi_fault_metrics(const shmemhi_fault_table_t *table, const char *process, const char *path)
{
	char other[600];
	int error;
	FILE *f;

	/* A reader sees the old file or the new one, whole. The collector skips names that do not
	 * end in .prom. */
	snprintf(other, sizeof other, "%s.tmp", path);
	f = fopen(other, "w");
	if (!f)
		return errno;
	print_states(f, table, process);
	print_switches(f, table, process);
	error = shmemhi_close_written(f);
	if (!error && rename(other, path) != 0)
		error = errno;
	if (error)
		unlink(other);
	return error;
}
