/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* shmem-info --peers: join a job, and print how its PEs reach each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <shmem_host/shmem_host.h>
#include "ib/ib.h"
#include "info_topo.h"
#include "mem/mem.h"

#define NAME_NBYTES 80

/* What PE 0 prints of a PE. */
typedef struct about {
	char host[NAME_NBYTES];
	char gpu[SHMEMHI_GPU_NBYTES];
	char home[NAME_NBYTES];
	char standby[NAME_NBYTES];
} about_t;

static char letter_of(const shmemh_t *job, int pe)
{
	bool is_mapped = shmemhi_mem_is_for_kernels(job, pe);
	bool has_nic = shmemhi_ib_reaches(job, pe);

	if (is_mapped)
		return has_nic && !shmemhi_mem_has_atomics(job, pe) ? 'B' : 'M';
	return has_nic ? 'N' : '-';
}

static void describe(const shmemh_t *job, about_t *about, char *row)
{
	const char *home = shmemhi_ib_home(job, job->pe);
	const char *standby = shmemhi_ib_standby(job, job->pe);

	memset(about, 0, sizeof *about);
	if (gethostname(about->host, sizeof about->host - 1) != 0)
		about->host[0] = '?';
	shmemhi_mem_gpu(job, about->gpu);
	snprintf(about->home, sizeof about->home, "%s", home ? home : "-");
	snprintf(about->standby, sizeof about->standby, "%s", standby ? standby : "-");
	for (int pe = 0; pe < job->n_pes; pe++)
		row[pe] = letter_of(job, pe);
}

static void print(int n, const about_t *all, const char *matrix)
{
	printf("%-5s %-20s %-14s %-14s %-14s ", "PE", "host", "GPU", "NIC", "stand-by");
	for (int pe = 0; pe < n; pe++)
		printf("%3d", pe);
	printf("\n");
	for (int pe = 0; pe < n; pe++) {
		printf("%-5d %-20s %-14s %-14s %-14s ", pe, all[pe].host,
		       all[pe].gpu[0] ? all[pe].gpu : "none", all[pe].home, all[pe].standby);
		for (int to = 0; to < n; to++)
			printf("  %c", matrix[pe * n + to]);
		printf("\n");
	}
	printf("\nM mapped; N by NIC, from the port of the row's PE to that of the column's; "
	       "B mapped over a link\nwithout atomics; - not reached: not mapped, and no NIC is "
	       "used (a line of warning says why).\nAtomics of a team with a member N or B go by "
	       "NIC, also to M.\n");
}

/* Collective over the job. */
static int show(shmemh_t *job)
{
	size_t n = (size_t)job->n_pes;
	about_t mine, *all = calloc(n, sizeof *all);
	char *row = calloc(n, 1), *matrix = calloc(n, n);
	int status = SHMEMH_ERR_NO_MEMORY;

	if (all && row && matrix) {
		describe(job, &mine, row);
		status = shmemh_allgather(job, &mine, all, sizeof mine);
		if (status == SHMEMH_OK)
			status = shmemh_allgather(job, row, matrix, n);
		if (status == SHMEMH_OK && job->pe == 0)
			print(job->n_pes, all, matrix);
	} else {
		fprintf(stderr, "shmem-info: PE %d: out of memory\n", job->pe);
	}
	free(all);
	free(row);
	free(matrix);
	return status;
}

int info_peers(void)
{
	shmemh_t *job;
	int status = shmemh_init(NULL, &job);

	if (status != SHMEMH_OK)
		return 1; /* the library has printed its line, unless SHMEMH_DEBUG=off */
	status = show(job);
	return shmemh_finalize(job) == SHMEMH_OK && status == SHMEMH_OK ? 0 : 1;
}
