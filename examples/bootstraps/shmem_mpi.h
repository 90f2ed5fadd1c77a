/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A file to copy into a program. The PEs of a job are the processes of an MPI communicator, also of
 * a part of MPI_COMM_WORLD; several jobs in one program are several communicators.
 *
 *     shmemh_attr_t attr;
 *     shmemh_uniqueid_t id;
 *     if (shmem_mpi_attr(comm, &attr, &id) == SHMEMH_OK && shmemh_init(&attr, &job) == SHMEMH_OK)
 *
 * MPI carries the unique id only. The library does not link MPI, and MPI may end first. */
#ifndef SHMEM_MPI_H
#define SHMEM_MPI_H

#include <mpi.h>
#include <shmem_host/shmem_host.h>

/* Collective over comm. Fills attr, which points to id from then on. Returns a shmemh_status:
 * that of shmemh_get_uniqueid on rank 0, the same on all ranks, whose line rank 0 has in
 * shmemh_error_text(NULL); ERR_BOOTSTRAP on the ranks on which MPI failed. */
static inline int shmem_mpi_attr(MPI_Comm comm, shmemh_attr_t *attr, shmemh_uniqueid_t *id)
{
	static const shmemh_attr_t defaults = SHMEMH_ATTR_INIT;
	int status = SHMEMH_OK, rank, size;

	if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || MPI_Comm_size(comm, &size) != MPI_SUCCESS)
		return SHMEMH_ERR_BOOTSTRAP;
	if (rank == 0)
		status = shmemh_get_uniqueid(size, id);
	if (MPI_Bcast(&status, 1, MPI_INT, 0, comm) != MPI_SUCCESS)
		return SHMEMH_ERR_BOOTSTRAP;
	if (status != SHMEMH_OK)
		return status;
	if (MPI_Bcast(id, (int)sizeof(*id), MPI_BYTE, 0, comm) != MPI_SUCCESS)
		return SHMEMH_ERR_BOOTSTRAP;
	*attr = defaults;
	attr->uniqueid = id;
	attr->pe = rank;
	attr->n_pes = size;
	return SHMEMH_OK;
}

#endif
