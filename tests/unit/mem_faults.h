/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A backend whose calls fail on request of a test. */
#ifndef TESTS_UNIT_MEM_FAULTS_H
#define TESTS_UNIT_MEM_FAULTS_H

#include "mem/state.h"

/* Selects the backend call of the current growth that fails on the last PE: its countdown reaches
 * 0. */
typedef struct faults {
	shmemhi_backend_t backend; /* must be first: the job uses only this part */
	const shmemhi_backend_t *real;
	int create, import, map, zero;
} faults_t;

static inline int falls(int *countdown, shmemhi_err_t *err, const char *what)
{
	if (*countdown == 0 || --*countdown > 0)
		return 0;
	shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "injected: %s", what);
	return 1;
}

static inline faults_t *faults_of(struct shmemhi_mem *mem)
{
	return (faults_t *)(uintptr_t)mem->backend;
}

static inline int create_faulty(struct shmemhi_mem *mem, uint64_t nbytes, shmemhi_extent_t *chunk,
				shmemhi_err_t *err)
{
	if (falls(&faults_of(mem)->create, err, "create"))
		return SHMEMH_ERR_NO_MEMORY;
	return faults_of(mem)->real->create(mem, nbytes, chunk, err);
}

static inline int import_faulty(struct shmemhi_mem *mem, int fd, uint64_t nbytes,
				shmemhi_extent_t *chunk, shmemhi_err_t *err)
{
	if (falls(&faults_of(mem)->import, err, "import"))
		return SHMEMH_ERR_NO_MEMORY;
	return faults_of(mem)->real->import(mem, fd, nbytes, chunk, err);
}

static inline int map_faulty(struct shmemhi_mem *mem, char *at, shmemhi_extent_t *chunk,
			     shmemhi_err_t *err)
{
	if (falls(&faults_of(mem)->map, err, "map"))
		return SHMEMH_ERR_NO_MEMORY;
	return faults_of(mem)->real->map(mem, at, chunk, err);
}

static inline int zero_faulty(struct shmemhi_mem *mem, char *at, uint64_t nbytes,
			      shmemhi_err_t *err)
{
	if (falls(&faults_of(mem)->zero, err, "zero"))
		return SHMEMH_ERR_NO_MEMORY;
	return faults_of(mem)->real->zero(mem, at, nbytes, err);
}

static inline void inject(shmemh_t *job, faults_t *f)
{
	f->real = job->mem->backend;
	f->backend = *f->real;
	f->backend.create = create_faulty;
	f->backend.import = import_faulty;
	f->backend.map = map_faulty;
	f->backend.zero = zero_faulty;
	job->mem->backend = &f->backend;
}

#endif
