/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Host memory: memfd extents mapped into a reservation. Linux allocates pages on first touch, so
 * a job of many PEs uses only the memory that it touches, not an extent per PE, unless a NIC or a
 * GPU has it registered: registration pins all pages. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/file_limit.h"
#include "mem/state.h"

#define DEFAULT_MAX ((uint64_t)4 << 30)

static int granularity(shmemhi_mem_t *mem, uint64_t *nbytes, shmemhi_err_t *err)
{
	(void)mem;
	(void)err;
	*nbytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return SHMEMH_OK;
}

static int default_max(shmemhi_mem_t *mem, uint64_t *nbytes, shmemhi_err_t *err)
{
	(void)mem;
	(void)err;
	*nbytes = DEFAULT_MAX;
	return SHMEMH_OK;
}

static void *map_nothing(void *at, uint64_t nbytes)
{
	return mmap(at, nbytes, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

static int reserve(shmemhi_mem_t *mem, uint64_t nbytes, shmemhi_range_t *range, shmemhi_err_t *err)
{
	uint64_t raw_nbytes = nbytes + SHMEMHI_BASE_ALIGN;
	void *raw = map_nothing(NULL, raw_nbytes);
	uint64_t before;

	(void)mem;
	if (raw == MAP_FAILED)
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY,
				    "heap: no address space for %llu bytes (%s): set "
				    "SHMEMH_SYMMETRIC_MAX to less, or raise ulimit -v",
				    (unsigned long long)raw_nbytes, strerror(errno));
	range->base = (char *)(((uintptr_t)raw + SHMEMHI_BASE_ALIGN - 1) &
			       ~(uintptr_t)(SHMEMHI_BASE_ALIGN - 1));
	/* Unmap what was reserved for the alignment only: sanitizers leave little address space. */
	before = (uint64_t)(range->base - (char *)raw);
	if (before)
		munmap(raw, before);
	if (before < SHMEMHI_BASE_ALIGN)
		munmap(range->base + nbytes, SHMEMHI_BASE_ALIGN - before);
	range->raw = range->base;
	range->raw_nbytes = nbytes;
	return SHMEMH_OK;
}

static void unreserve(shmemhi_mem_t *mem, shmemhi_range_t *range)
{
	(void)mem;
	if (range->raw)
		munmap(range->raw, range->raw_nbytes);
	*range = (shmemhi_range_t){0};
}

static int create(shmemhi_mem_t *mem, uint64_t nbytes, shmemhi_extent_t *extent, shmemhi_err_t *err)
{
	uint64_t limit;
	int fd;

	(void)mem;
	*extent = SHMEMHI_EXTENT_NONE;
	if (shmemhi_exceeds_file_limit(nbytes, &limit))
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY,
				    "heap: growth needs a file of %llu bytes in memory, and the "
				    "limit of this process for files is %llu: raise ulimit -f",
				    (unsigned long long)nbytes, (unsigned long long)limit);
	fd = memfd_create("shmem_heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "heap: memfd_create failed: %s%s",
				    strerror(errno), shmemhi_descriptor_advice(errno));
	/* Seal the file: a process that received the descriptor could otherwise truncate it
	 * under our mapping. */
	if (ftruncate(fd, (off_t)nbytes) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
		int error = errno;

		close(fd);
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
				    "heap: cannot size a memfd to %llu bytes: %s",
				    (unsigned long long)nbytes, strerror(error));
	}
	extent->nbytes = nbytes;
	extent->fd = fd;
	return SHMEMH_OK;
}

static int import(shmemhi_mem_t *mem, int fd, uint64_t nbytes, shmemhi_extent_t *extent,
		  shmemhi_err_t *err)
{
	struct stat st;

	(void)mem;
	*extent = SHMEMHI_EXTENT_NONE;
	/* An access beyond the end of the file would raise SIGBUS in the process that maps it. */
	if (fstat(fd, &st) != 0 || (uint64_t)st.st_size != nbytes)
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
				    "heap: a peer's memory is not a file of %llu bytes",
				    (unsigned long long)nbytes);
	extent->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (extent->fd < 0)
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "heap: cannot keep a descriptor: %s%s",
				    strerror(errno), shmemhi_descriptor_advice(errno));
	extent->nbytes = nbytes;
	return SHMEMH_OK;
}

static int map(shmemhi_mem_t *mem, char *at, shmemhi_extent_t *extent, shmemhi_err_t *err)
{
	int status = SHMEMH_OK;

	if (mmap(at, extent->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, extent->fd,
		 (off_t)extent->from) == MAP_FAILED) {
		int error = errno;

		map_nothing(at, extent->nbytes);
		return shmemhi_fail(err, error == ENOMEM ? SHMEMH_ERR_NO_MEMORY : SHMEMH_ERR_SYSTEM,
				    "heap: mmap of %llu bytes failed: %s",
				    (unsigned long long)extent->nbytes, strerror(error));
	}
	if (mem->cuctx)
		status = shmemhi_cuctx_register(mem->cuctx, at, extent->nbytes, err);
	if (status != SHMEMH_OK)
		map_nothing(at, extent->nbytes);
	else
		extent->at = at;
	return status;
}

static void drop(shmemhi_mem_t *mem, shmemhi_extent_t *extent, bool keep_range)
{
	if (extent->at) {
		if (mem->cuctx)
			shmemhi_cuctx_unregister(mem->cuctx, extent->at);
		/* unreserve unmaps a whole range by one system call. */
		if (keep_range)
			map_nothing(extent->at, extent->nbytes);
	}
	shmemhi_extent_close_fd(extent);
	*extent = SHMEMHI_EXTENT_NONE;
}

static int zero(shmemhi_mem_t *mem, char *at, uint64_t nbytes, shmemhi_err_t *err)
{
	(void)mem;
	(void)err;
	memset(at, 0, nbytes);
	return SHMEMH_OK;
}

const shmemhi_backend_t shmemhi_backend_host = {
	.kind = SHMEMH_HEAP_HOST,
	.granularity = granularity,
	.default_max = default_max,
	.reserve = reserve,
	.unreserve = unreserve,
	.create = create,
	.import = import,
	.map = map,
	.drop = drop,
	.zero = zero,
};
