/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Choice of the backend, memory that is not symmetric, and queries about peers. */
#include "mem/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sodium.h>
#include "mem/state.h"

/* Bytes of stack for each thread of a kernel that calls the device headers. The kernels of
 * tests/headers/regs.cu need up to 1,832; regs.sh compares. CUDA's default is 1,024. */
#define STACK_NBYTES 2048
#define LOCAL_ALIGN 128 /* a GPU cache line: polled words share it with nothing else */

static const char *const kind_names[] = {"auto", "gpu", "host"};

static void drop_cuctx(shmemhi_mem_t *mem)
{
	if (!mem->cuctx)
		return;
	shmemhi_cuctx_detach(mem->cuctx);
	shmemhi_cuda_close(&mem->cuctx->cuda);
	free(mem->cuctx);
	mem->cuctx = NULL;
}

/* Close the driver library of a table that no job->mem owns. */
static void close_library(const shmemhi_cuda_t *cuda)
{
	shmemhi_cuda_t own;

	if (!cuda)
		return;
	own = *cuda;
	shmemhi_cuda_close(&own);
}

/* Take over the driver table, and attach to the current context. If there is no context, or after a
 * failure, the driver library is closed and mem->cuctx is NULL. */
static int attach(shmemh_t *job, const shmemhi_cuda_t *cuda)
{
	shmemhi_mem_t *mem = job->mem;
	int attached, status;

	if (!cuda)
		return SHMEMH_OK;
	mem->cuctx = calloc(1, sizeof *mem->cuctx);
	if (!mem->cuctx) {
		close_library(cuda);
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "memory: out of memory");
	}
	mem->cuctx->cuda = *cuda;
	attached = shmemhi_cuctx_attach(mem->cuctx, &job->err);
	status = attached == 1 ? shmemhi_cuctx_reserve_stack(mem->cuctx, STACK_NBYTES, &job->err)
			       : attached;
	if (attached != 1 || status != SHMEMH_OK)
		drop_cuctx(mem);
	return status;
}

static int check_device(shmemh_t *job, int kind)
{
	const shmemhi_cuctx_t *c = job->mem->cuctx;

	if (kind == SHMEMH_HEAP_GPU && !c)
		return shmemhi_fail(&job->err, SHMEMH_ERR_CUDA,
				    "a GPU heap is asked for, but the calling thread has no CUDA "
				    "context (call cudaSetDevice before shmemh_init), or the "
				    "driver cannot be used (a warning before this line says why)");
	if (kind == SHMEMH_HEAP_GPU && !(shmemhi_cuctx_attribute(c, SHMEMHI_CU_ATTR_VMM) &&
					 shmemhi_cuctx_attribute(c, SHMEMHI_CU_ATTR_POSIX_FD)))
		return shmemhi_fail(&job->err, SHMEMH_ERR_CUDA,
				    "device %d cannot share memory by file descriptors (virtual "
				    "memory management): set SHMEMH_HEAP=host",
				    c->device);
	if (kind == SHMEMH_HEAP_HOST && c &&
	    !shmemhi_cuctx_attribute(c, SHMEMHI_CU_ATTR_HOST_POINTER_USABLE))
		return shmemhi_fail(&job->err, SHMEMH_ERR_CUDA,
				    "device %d cannot use host memory at its host address: set "
				    "SHMEMH_HEAP=gpu",
				    c->device);
	return SHMEMH_OK;
}

static int choose(shmemh_t *job, const shmemhi_cuda_t *cuda)
{
	shmemhi_mem_t *mem = job->mem;
	int kind =
		job->attr.heap_kind != SHMEMH_HEAP_AUTO ? job->attr.heap_kind : job->opt.heap_kind;
	int status = attach(job, cuda);

	if (status != SHMEMH_OK)
		return status;
	if (kind == SHMEMH_HEAP_AUTO)
		kind = mem->cuctx ? SHMEMH_HEAP_GPU : SHMEMH_HEAP_HOST;
	status = check_device(job, kind);
	if (status != SHMEMH_OK)
		return status;
	mem->backend = kind == SHMEMH_HEAP_GPU ? &shmemhi_backend_gpu : &shmemhi_backend_host;
	if (sodium_init() < 0)
		return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM, "memory: no random numbers");
	shmemhi_identity(job, &mem->id);
	return mem->backend->granularity(mem, &mem->heap.granularity, &job->err);
}

/* Check that all PEs have the same kind of heap, and take the coarsest granularity of all. */
static int agree_kind(shmemh_t *job)
{
	shmemhi_mem_t *mem = job->mem;
	uint64_t mine[2] = {(uint64_t)mem->backend->kind, mem->heap.granularity};
	uint64_t(*all)[2] = calloc((size_t)job->n_pes, sizeof *all);
	int status = shmemhi_agree(
		job, all ? SHMEMH_OK
			 : shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "memory: out of memory"));

	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, mine, all, sizeof mine);
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++) {
		if (all[pe][0] != all[0][0])
			status = shmemhi_fail(
				&job->err, SHMEMH_ERR_MISMATCH,
				"PE 0 has a %s heap, PE %d a %s heap: call cudaSetDevice before "
				"shmemh_init on every PE, or set SHMEMH_HEAP",
				kind_names[all[0][0]], pe, kind_names[all[pe][0]]);
		else if (all[pe][1] > mem->heap.granularity)
			mem->heap.granularity = all[pe][1];
	}
	free(all);
	return status;
}

int shmemhi_mem_open_with(shmemh_t *job, const shmemhi_cuda_t *cuda)
{
	int status;

	job->mem = calloc(1, sizeof *job->mem);
	if (job->mem) {
		job->mem->n_pes = job->n_pes;
		job->mem->listener = SHMEMHI_LISTENER_NONE;
		status = choose(job, cuda);
	} else {
		close_library(cuda);
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "memory: out of memory");
	}
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = agree_kind(job);
	if (status != SHMEMH_OK)
		shmemhi_mem_close(job);
	return status;
}

/* A program that forgets cudaSetDevice would run from host memory, many times slower. */
int shmemhi_mem_warn_host(const shmemh_t *job, const char *dev_dir)
{
	int n_gpus, kind = job->attr.heap_kind;

	if (job->pe != 0 || kind != SHMEMH_HEAP_AUTO || job->opt.heap_kind != SHMEMH_HEAP_AUTO ||
	    job->mem->backend->kind != SHMEMH_HEAP_HOST)
		return 0;
	n_gpus = shmemhi_cuda_count_devices(dev_dir);
	if (n_gpus == 0)
		return 0;
	shmemhi_log(&job->log, SHMEMHI_WARN,
		    "the heap is in host memory, although this machine has GPUs (%d): the thread "
		    "that called shmemh_init had no CUDA context, or the driver cannot be used (a "
		    "warning before this line says why): call cudaSetDevice before shmemh_init, or "
		    "set SHMEMH_HEAP=host if this is meant",
		    n_gpus);
	return 1;
}

int shmemhi_mem_open(shmemh_t *job)
{
	int status;
	shmemhi_cuda_t cuda;
	int found = shmemhi_cuda_open(&cuda, 0, &job->err);

	if (found > 1) /* a status; a driver that is too old matters only if a GPU is asked for */
		shmemhi_log(&job->log, SHMEMHI_WARN, "GPU not used: %s", job->err.text);
	job->err.text[0] = '\0';
	status = shmemhi_mem_open_with(job, found == 1 ? &cuda : NULL);
	if (status == SHMEMH_OK)
		shmemhi_mem_warn_host(job, "/dev");
	return status;
}

void shmemhi_mem_close(shmemh_t *job)
{
	if (!job->mem)
		return;
	drop_cuctx(job->mem);
	free(job->mem);
	job->mem = NULL;
}

bool shmemhi_mem_is_mapped(const shmemh_t *job, int pe)
{
	return job->mem->peers[pe].mapped;
}

bool shmemhi_mem_is_for_kernels(const shmemh_t *job, int pe)
{
	return !job->opt.disable_p2p && shmemhi_mem_is_mapped(job, pe);
}

bool shmemhi_mem_same_gpu(const shmemh_t *job, int pe)
{
	const shmemhi_mem_t *mem = job->mem;
	const shmemhi_identity_t *peer = &mem->ids[pe];

	if (!(mem->id.flags & peer->flags & SHMEMHI_ID_GPU))
		return mem->peers[pe].in_process;
	return memcmp(&mem->id.gpu, &peer->gpu, sizeof peer->gpu) == 0;
}

bool shmemhi_mem_has_atomics(const shmemh_t *job, int pe)
{
	const shmemhi_mem_t *mem = job->mem;
	int yes;

	if (!mem->peers[pe].mapped)
		return false;
	if (!mem->cuctx || shmemhi_mem_same_gpu(job, pe))
		return true;
	if (mem->backend->kind == SHMEMH_HEAP_HOST)
		return (mem->id.flags & mem->ids[pe].flags & SHMEMHI_ID_HOST_NATIVE_ATOMIC) != 0;
	yes = shmemhi_cuctx_p2p(mem->cuctx, &mem->ids[pe].gpu, SHMEMHI_CU_P2P_NATIVE_ATOMIC);
	if (yes < 0)
		shmemhi_log(&job->log, SHMEMHI_INFO,
			    "the GPU of PE %d is not visible to this process, so atomics on it are "
			    "taken as not supported: let CUDA_VISIBLE_DEVICES name it",
			    pe);
	return yes > 0;
}

char *shmemhi_mem_base(const shmemh_t *job, int pe)
{
	return job->mem->peers[pe].base;
}

uint64_t shmemhi_mem_reserved(const shmemh_t *job)
{
	return job->mem->heap.reserved;
}

const uint64_t *shmemhi_mem_committed_word(const shmemh_t *job)
{
	return job->mem->heap.committed;
}

struct shmemhi_cuctx *shmemhi_mem_cuctx(const shmemh_t *job)
{
	return job->mem ? job->mem->cuctx : NULL;
}

void shmemhi_mem_gpu(const shmemh_t *job, char addr[SHMEMHI_GPU_NBYTES])
{
	_Static_assert(SHMEMHI_GPU_NBYTES == SHMEMHI_PCI_NBYTES, "one size of PCI addresses");
	addr[0] = '\0';
	if (job->mem->cuctx)
		shmemhi_cuctx_pci(job->mem->cuctx, addr);
}

bool shmemhi_mem_is_on_gpu(const shmemh_t *job)
{
	return job->mem->backend->kind == SHMEMH_HEAP_GPU;
}

uint64_t shmemhi_mem_chunk(const shmemh_t *job)
{
	return job->mem->heap.chunk;
}

void shmemhi_mem_set_on_growth(shmemh_t *job, shmemhi_on_growth_t *on_growth)
{
	job->mem->on_growth = on_growth;
}

static int local_alloc(size_t nbytes, void **ptr, shmemhi_err_t *err)
{
	size_t rounded = (nbytes + LOCAL_ALIGN - 1) / LOCAL_ALIGN * LOCAL_ALIGN;

	*ptr = rounded < nbytes ? NULL : aligned_alloc(LOCAL_ALIGN, rounded);
	if (!*ptr)
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "no host memory for %zu bytes",
				    nbytes);
	memset(*ptr, 0, rounded);
	return SHMEMH_OK;
}

int shmemhi_dev_alloc(shmemh_t *job, size_t nbytes, void **dev)
{
	if (job->mem->cuctx)
		return shmemhi_cuctx_dev_alloc(job->mem->cuctx, nbytes, dev, &job->err);
	return local_alloc(nbytes, dev, &job->err);
}

int shmemhi_dev_fill(shmemh_t *job, void *dev, unsigned char value, size_t nbytes,
		     shmemhi_err_t *err)
{
	if (job->mem->cuctx)
		return shmemhi_cuctx_fill(job->mem->cuctx, dev, value, nbytes, err);
	memset(dev, value, nbytes);
	return SHMEMH_OK;
}

int shmemhi_dev_write(shmemh_t *job, void *dev, const void *src, size_t nbytes)
{
	if (job->mem->cuctx)
		return shmemhi_cuctx_write(job->mem->cuctx, dev, src, nbytes, &job->err);
	memcpy(dev, src, nbytes);
	return SHMEMH_OK;
}

int shmemhi_dev_read(shmemh_t *job, void *dst, const void *dev, size_t nbytes, shmemhi_err_t *err)
{
	uint64_t word;

	if (job->mem->cuctx)
		return shmemhi_cuctx_read(job->mem->cuctx, dst, dev, nbytes, err);
	for (size_t i = 0; i < nbytes / sizeof word; i++) { /* that kernels may be storing to */
		word = __atomic_load_n((const uint64_t *)dev + i, __ATOMIC_RELAXED);
		memcpy((uint64_t *)dst + i, &word, sizeof word);
	}
	return SHMEMH_OK;
}

const void *shmemhi_dev_on_host(const shmemh_t *job, const void *dev)
{
	return job->mem->cuctx ? NULL : dev;
}

void shmemhi_dev_free(shmemh_t *job, void *dev)
{
	if (job->mem->cuctx)
		shmemhi_cuctx_dev_free(job->mem->cuctx, dev);
	else
		free(dev);
}

int shmemhi_pinned_alloc(shmemh_t *job, size_t nbytes, void **ptr, shmemhi_err_t *err)
{
	if (job->mem->cuctx)
		return shmemhi_cuctx_pinned_alloc(job->mem->cuctx, nbytes, ptr, err);
	return local_alloc(nbytes, ptr, err);
}

void shmemhi_pinned_free(shmemh_t *job, void *ptr)
{
	if (job->mem->cuctx)
		shmemhi_cuctx_pinned_free(job->mem->cuctx, ptr);
	else
		free(ptr);
}

int shmemhi_io_map(shmemh_t *job, void *io, size_t nbytes, void **seen, shmemhi_err_t *err)
{
	if (job->mem->cuctx)
		return shmemhi_cuctx_map_io(job->mem->cuctx, io, nbytes, seen, err);
	*seen = io;
	return SHMEMH_OK;
}

void shmemhi_io_unmap(shmemh_t *job, void *io)
{
	if (job->mem->cuctx)
		shmemhi_cuctx_unregister(job->mem->cuctx, io);
}

void shmemhi_extent_close_fd(shmemhi_extent_t *extent)
{
	if (extent->fd >= 0)
		close(extent->fd);
	extent->fd = -1;
}
