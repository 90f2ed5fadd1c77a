// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// NVSHMEM by unique id: PE 0 writes the id into the file that BENCH_ID_FILE names, the others read
// it there. No MPI needed.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib.h"

#define ID_DEADLINE_MS 60000

/* Write under a temporary name and rename: a reader sees the whole id or no file. */
static int id_write(const char *path, const nvshmemx_uniqueid_t *id)
{
	char part[4096];
	int fd;
	ssize_t done;

	snprintf(part, sizeof(part), "%s.part", path);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL, 0600);
	done = fd < 0 ? -1 : write(fd, id, sizeof(*id));
	if (fd >= 0)
		close(fd);
	if (done != (ssize_t)sizeof(*id) || rename(part, path) != 0) {
		fprintf(stderr, "bench: cannot write %s: %s\n", path, strerror(errno));
		return 1;
	}
	return 0;
}

static int id_read(const char *path, nvshmemx_uniqueid_t *id)
{
	ssize_t done;
	int fd = -1;

	for (int ms = 0; ms < ID_DEADLINE_MS && fd < 0; ms += 10) {
		fd = open(path, O_RDONLY);
		if (fd < 0)
			usleep(10 * 1000);
	}
	done = fd < 0 ? -1 : read(fd, id, sizeof(*id));
	if (fd >= 0)
		close(fd);
	if (done != (ssize_t)sizeof(*id)) {
		fprintf(stderr, "bench: no unique id in %s after %d ms\n", path, ID_DEADLINE_MS);
		return 1;
	}
	return 0;
}

int bench_lib_open(bench_lib_t *lib, int pe, int n_pes)
{
	nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
	nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
	const char *path = getenv("BENCH_ID_FILE");

	snprintf(lib->name, sizeof(lib->name), "nvshmem %d.%d.%d", NVSHMEM_VENDOR_MAJOR_VERSION,
		 NVSHMEM_VENDOR_MINOR_VERSION, NVSHMEM_VENDOR_PATCH_VERSION);
	if (path == NULL) {
		fprintf(stderr,
			"bench: BENCH_ID_FILE is not set: start this program through bench/run\n");
		return 1;
	}
	if (pe == 0 && nvshmemx_get_uniqueid(&id) != 0) {
		fprintf(stderr, "bench: nvshmemx_get_uniqueid failed\n");
		return 1;
	}
	if (pe == 0 ? id_write(path, &id) : id_read(path, &id))
		return 1;
	if (nvshmemx_set_attr_uniqueid_args(pe, n_pes, &id, &attr) != 0 ||
	    nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0) {
		fprintf(stderr, "bench: NVSHMEM did not start\n");
		return 1;
	}
	lib->ctx.my_pe = nvshmem_my_pe();
	lib->ctx.n_pes = nvshmem_n_pes();
	return 0;
}

int bench_lib_malloc(bench_lib_t *lib, size_t nbytes, void **ptr)
{
	*ptr = nvshmem_malloc(nbytes);
	lib->own = *ptr;
	if (*ptr == NULL)
		fprintf(stderr, "bench: nvshmem_malloc of %zu bytes failed\n", nbytes);
	return *ptr == NULL;
}

void bench_lib_close(bench_lib_t *lib)
{
	nvshmem_free(lib->own);
	nvshmem_finalize();
}
