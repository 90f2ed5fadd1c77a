/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Even and odd ranks are two jobs at once, and then all ranks one, by the file for MPI. */
#include <stdio.h>
#include "shmem_mpi.h"

static int run(MPI_Comm comm, const char *name)
{
	shmemh_uniqueid_t id;
	shmemh_attr_t attr;
	shmemh_t *job;
	int rank, size, sum = 0, all[64];

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	if (shmem_mpi_attr(comm, &attr, &id) != SHMEMH_OK ||
	    shmemh_init(&attr, &job) != SHMEMH_OK) {
		fprintf(stderr, "%s, rank %d: %s\n", name, rank, shmemh_error_text(NULL));
		return 1;
	}
	if (shmemh_my_pe(job) != rank || shmemh_n_pes(job) != size ||
	    shmemh_allgather(job, &rank, all, sizeof rank) != SHMEMH_OK)
		return 1;
	for (int i = 0; i < size; i++)
		sum += all[i];
	return sum != size * (size - 1) / 2 || shmemh_finalize(job) != SHMEMH_OK;
}

int main(int argc, char **argv)
{
	MPI_Comm half;
	int rank, failed;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	failed = run(half, "half") || run(MPI_COMM_WORLD, "world");
	MPI_Finalize();
	if (rank == 0 && !failed)
		puts("two jobs at once, then one of all ranks");
	return failed;
}
