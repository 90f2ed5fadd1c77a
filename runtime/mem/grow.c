/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The heap's address space, and the growth of its memory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mem/call.h"
#include "mem/state.h"

/* Beyond any address space, for one heap and for all that a PE reserves: sums below stay exact. */
#define MAX_RESERVED ((uint64_t)1 << 56)

/* Values that heap_open compares between PEs. */
typedef struct sizes {
	uint64_t symmetric_max; /* the option */
	uint64_t heap_chunk;    /* the option */
	uint64_t reserved;      /* what this PE would reserve */
} sizes_t;

static uint64_t round_up(uint64_t value, uint64_t granularity)
{
	return (value + granularity - 1) / granularity * granularity;
}

/* The heap chunk is a power of two. So a registration granule, the chunk or 1 GiB if that is less,
 * is one as well, and a shift of an offset gives its entry in the key table. The chunk is not
 * larger than the reservation, which is rounded up to whole chunks. */
static uint64_t chunk_of(uint64_t at_least, uint64_t reserved, uint64_t granularity)
{
	uint64_t chunk = granularity;

	while (chunk < at_least && chunk * 2 <= reserved)
		chunk *= 2;
	return chunk;
}

static int own_sizes(shmemh_t *job, sizes_t *s)
{
	shmemhi_mem_t *mem = job->mem;
	int status = SHMEMH_OK;

	s->symmetric_max = job->opt.symmetric_max;
	s->heap_chunk = job->opt.heap_chunk;
	s->reserved = s->symmetric_max;
	if (s->reserved == 0)
		status = mem->backend->default_max(mem, &s->reserved, &job->err);
	if (status == SHMEMH_OK && s->reserved > MAX_RESERVED)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_OPTION,
				      "SHMEMH_SYMMETRIC_MAX is %llu bytes: at most %llu",
				      (unsigned long long)s->reserved,
				      (unsigned long long)MAX_RESERVED);
	return status;
}

static int differ(shmemh_t *job, const char *option, uint64_t first, int pe, uint64_t other)
{
	return shmemhi_fail(&job->err, SHMEMH_ERR_MISMATCH,
			    "%s is %llu on PE 0 and %llu on PE %d: set it equally", option,
			    (unsigned long long)first, (unsigned long long)other, pe);
}

/* Agree on one reservation: that of the option, otherwise the smallest of the defaults. */
static int agree_sizes(shmemh_t *job)
{
	shmemhi_heap_t *heap = &job->mem->heap;
	sizes_t mine = {0};
	sizes_t *all = calloc((size_t)job->n_pes, sizeof *all);
	int status = SHMEMH_OK;

	heap->calls = calloc((size_t)job->n_pes, sizeof *heap->calls);
	if (!all || !heap->calls)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "heap: out of memory");
	else
		status = own_sizes(job, &mine);
	if (status == SHMEMH_OK)
		status = shmemhi_pinned_alloc(job, sizeof *heap->allocs, (void **)&heap->allocs,
					      &job->err);
	if (status == SHMEMH_OK)
		heap->committed = &heap->allocs->committed;
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, &mine, all, sizeof mine);
	heap->reserved = mine.reserved;
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++) {
		if (all[pe].symmetric_max != all[0].symmetric_max)
			status = differ(job, "SHMEMH_SYMMETRIC_MAX", all[0].symmetric_max, pe,
					all[pe].symmetric_max);
		else if (all[pe].heap_chunk != all[0].heap_chunk)
			status = differ(job, "SHMEMH_HEAP_CHUNK", all[0].heap_chunk, pe,
					all[pe].heap_chunk);
		else if (all[pe].reserved < heap->reserved)
			heap->reserved = all[pe].reserved;
	}
	free(all);
	heap->chunk = chunk_of(mine.heap_chunk, heap->reserved, heap->granularity);
	heap->reserved = round_up(heap->reserved, heap->chunk);
	return status;
}

/* Is the heap of pe in the range that this PE reserves? */
static int is_reserved_here(const shmemh_t *job, int pe)
{
	const shmemhi_peer_t *peer = &job->mem->peers[pe];

	return pe == job->pe || (peer->mapped && !peer->in_process);
}

/* One range for this PE's heap and those of the mapped PEs of other processes, in the order of
 * their numbers and equally far apart: kernels then compute where a peer's heap is (mapped_stride
 * in shmemd_ctx_t). The range is kept in this PE's own entry of mem->peers; the entries of other
 * PEs have only a base. */
static int reserve_all(shmemh_t *job)
{
	shmemhi_mem_t *mem = job->mem;
	uint64_t reserved = mem->heap.reserved;
	uint64_t stride = round_up(reserved, SHMEMHI_BASE_ALIGN), n = 0;
	shmemhi_range_t *all = &mem->peers[job->pe].range;
	int status;

	for (int pe = 0; pe < job->n_pes; pe++)
		n += is_reserved_here(job, pe) != 0;
	if (n > MAX_RESERVED / stride)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				      "heap: no address space for %llu heaps of %llu bytes: set "
				      "SHMEMH_SYMMETRIC_MAX to less",
				      (unsigned long long)n, (unsigned long long)reserved);
	else
		status = mem->backend->reserve(mem, (n - 1) * stride + reserved, all, &job->err);
	n = 0;
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
		if (is_reserved_here(job, pe))
			mem->peers[pe].base = all->base + n++ * stride;
	return shmemhi_agree(job, status);
}

/* PEs of this process use each other's heap at its own address. */
static int learn_bases_in_process(shmemh_t *job)
{
	shmemhi_mem_t *mem = job->mem;
	char **bases = calloc((size_t)job->n_pes, sizeof *bases);
	int status = shmemhi_agree(
		job, bases ? SHMEMH_OK
			   : shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "heap: out of memory"));

	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, &mem->peers[job->pe].base, bases, sizeof *bases);
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
		if (mem->peers[pe].in_process)
			mem->peers[pe].base = bases[pe];
	free(bases);
	return status;
}

int shmemhi_heap_open(shmemh_t *job)
{
	int status = agree_sizes(job);

	if (status == SHMEMH_OK)
		status = reserve_all(job);
	if (status == SHMEMH_OK)
		status = learn_bases_in_process(job);
	if (status != SHMEMH_OK)
		shmemhi_heap_close(job);
	return status;
}

static void drop_growth(shmemh_t *job, shmemhi_growth_t *g, bool keep_range)
{
	for (int pe = 0; g->extents && pe < job->n_pes; pe++)
		job->mem->backend->drop(job->mem, &g->extents[pe], keep_range);
	free(g->extents);
	g->extents = NULL;
}

void shmemhi_heap_close(shmemh_t *job)
{
	shmemhi_mem_t *mem = job->mem;
	shmemhi_heap_t *heap = &mem->heap;

	if (heap->committed)
		shmemhi_asan_allow(job, 0, *heap->committed);
	while (heap->n_growths > 0)
		drop_growth(job, &heap->growths[--heap->n_growths], false);
	for (int pe = 0; pe < job->n_pes; pe++) {
		mem->backend->unreserve(mem, &mem->peers[pe].range);
		mem->peers[pe].base = NULL;
	}
	shmemhi_suballoc_destroy(&heap->blocks);
	free(heap->growths);
	free(heap->calls);
	heap->growths = NULL;
	heap->calls = NULL;
	shmemhi_allocs_close(job);
}

/* Allocate the bookkeeping of one more growth, and create this PE's memory for it; the leader of
 * host memory creates that of its whole node. */
static int create_own(shmemh_t *job, shmemhi_growth_t *g)
{
	shmemhi_mem_t *mem = job->mem;
	shmemhi_heap_t *heap = &mem->heap;
	shmemhi_growth_t *growths = realloc(heap->growths, (heap->n_growths + 1) * sizeof *growths);

	if (growths)
		heap->growths = growths;
	g->extents = calloc((size_t)job->n_pes, sizeof *g->extents);
	/* Before any return: a zeroed extent would hold descriptor 0, and drop would close that. */
	for (int pe = 0; g->extents && pe < job->n_pes; pe++)
		g->extents[pe] = SHMEMHI_EXTENT_NONE;
	if (!growths || !g->extents)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "heap: out of memory");
	if (mem->leader >= 0 && mem->leader != job->pe)
		return SHMEMH_OK;
	return mem->backend->create(
		mem, mem->leader < 0 ? g->nbytes : g->nbytes * (uint64_t)mem->n_slices,
		&g->extents[job->pe], &job->err);
}

static int map_at(shmemh_t *job, int pe, const shmemhi_growth_t *g)
{
	char *at = job->mem->peers[pe].base + g->offset;
	shmemhi_extent_t *extent = &g->extents[pe];
	int status = job->mem->backend->map(job->mem, at, extent, &job->err);

	shmemhi_extent_close_fd(extent);
	return status;
}

/* Map this PE's memory and that of the peers; closes fds. */
static int map_all(shmemh_t *job, const shmemhi_growth_t *g, const int *fds)
{
	shmemhi_mem_t *mem = job->mem;
	int status = map_at(job, job->pe, g);

	for (int pe = 0; pe < job->n_pes; pe++) {
		if (fds[pe] < 0)
			continue;
		if (status == SHMEMH_OK)
			status = mem->backend->import(mem, fds[pe], g->nbytes, &g->extents[pe],
						      &job->err);
		close(fds[pe]);
		if (status == SHMEMH_OK)
			status = map_at(job, pe, g);
	}
	return status;
}

/* Map the slices of this PE and its peers in the file of this growth, which the leader has
 * created. fd: on the other PEs, the file as they received it; closed here. Negative: the exchange
 * failed, and has left its line; the import of such a descriptor fails, too. */
static int map_slices(shmemh_t *job, const shmemhi_growth_t *g, int fd)
{
	shmemhi_mem_t *mem = job->mem;
	shmemhi_extent_t file = g->extents[job->pe];
	int status = SHMEMH_OK;

	g->extents[job->pe] = SHMEMHI_EXTENT_NONE;
	if (mem->leader != job->pe) {
		status = mem->backend->import(mem, fd, g->nbytes * (uint64_t)mem->n_slices, &file,
					      &job->err);
		if (fd >= 0)
			close(fd);
	}
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++) {
		shmemhi_extent_t *slice = &g->extents[pe];

		if (!is_reserved_here(job, pe))
			continue;
		*slice = file;
		slice->nbytes = g->nbytes;
		slice->from = (uint64_t)mem->peers[pe].slice * g->nbytes;
		status = mem->backend->map(mem, mem->peers[pe].base + g->offset, slice, &job->err);
		slice->fd = -1; /* all slices share that of the file, which is closed below */
	}
	shmemhi_extent_close_fd(&file);
	return status;
}

static int share_and_map(shmemh_t *job, const shmemhi_growth_t *g)
{
	int *fds = malloc((size_t)job->n_pes * sizeof *fds);
	int leader = job->mem->leader;
	int status = shmemhi_agree(
		job, fds ? SHMEMH_OK
			 : shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "heap: out of memory"));

	if (status == SHMEMH_OK) {
		int passed = shmemhi_exchange(job, g->extents[job->pe].fd, fds, &job->err);
		int mapped = leader < 0 ? map_all(job, g, fds) : map_slices(job, g, fds[leader]);

		status = passed != SHMEMH_OK ? passed : mapped;
	}
	free(fds);
	return status;
}

int shmemhi_grow(shmemh_t *job, uint64_t nbytes)
{
	shmemhi_heap_t *heap = &job->mem->heap;
	shmemhi_growth_t g = {.offset = shmemhi_committed(job->mem), .nbytes = nbytes};
	/* Agree before descriptors are passed: no PE may wait for memory that a peer could not
	 * create. */
	int status = shmemhi_agree(job, create_own(job, &g));

	/* Poison the new memory before the agreements that follow: after the last of them other PEs
	 * of this process may allocate from it. */
	shmemhi_asan_forbid(job, g.offset, nbytes);
	if (status == SHMEMH_OK)
		status = shmemhi_agree(job, share_and_map(job, &g));
	if (status == SHMEMH_OK && job->mem->on_growth)
		status = job->mem->on_growth(job, g.offset, g.nbytes);
	if (status != SHMEMH_OK) {
		shmemhi_asan_allow(job, g.offset, nbytes);
		drop_growth(job, &g, true);
		return status;
	}
	heap->growths[heap->n_growths++] = g;
	shmemhi_suballoc_extend(&heap->blocks, nbytes);
	__atomic_store_n(heap->committed, g.offset + nbytes, __ATOMIC_RELEASE);
	return SHMEMH_OK;
}
