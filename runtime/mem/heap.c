/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The public heap calls. Offsets are equal on all PEs because all PEs make the same calls on the
 * same allocator; allocations and frees compare the arguments of all PEs, except a free of NULL,
 * and what is called after a PE is gone. */
#include <stdio.h>
#include <string.h>
#include "mem/call.h"
#include "mem/state.h"

typedef unsigned long long ull_t;

int shmemhi_fail_broken(shmemh_t *job, const char *what)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		uint32_t cause = atomic_load(&job->causes[pe]);

		/* CUT_OFF is recorded for all other PEs, whether they live or not. */
		if (cause != SHMEMD_CAUSE_NONE && cause != SHMEMD_CAUSE_CUT_OFF)
			return shmemhi_fail(&job->err, SHMEMH_ERR_PEER, "%s: PE %d %s", what, pe,
					    cause == SHMEMD_CAUSE_LEFT ? "left the job" : "died");
	}
	return shmemhi_fail(&job->err, SHMEMH_ERR_PEER, "%s: this PE lost the bootstrap", what);
}

static int fail_exhausted(shmemh_t *job, uint64_t nbytes)
{
	const shmemhi_heap_t *heap = &job->mem->heap;

	return shmemhi_fail(
		&job->err, SHMEMH_ERR_NO_MEMORY,
		"heap exhausted: asked for %llu bytes, %llu of %llu reserved bytes are free, at "
		"most %llu of them in one block: raise SHMEMH_SYMMETRIC_MAX",
		(ull_t)nbytes, (ull_t)(heap->reserved - heap->blocks.used), (ull_t)heap->reserved,
		(ull_t)shmemhi_suballoc_room(&heap->blocks, heap->reserved));
}

/* Grow by whole chunks so that the allocation succeeds. The reservation is a multiple of the
 * chunk. */
static int make_room(shmemh_t *job, uint64_t nbytes, uint64_t alignment)
{
	shmemhi_heap_t *heap = &job->mem->heap;
	uint64_t left = heap->reserved - heap->blocks.nbytes;
	uint64_t missing;

	if (nbytes > heap->reserved)
		return fail_exhausted(job, nbytes);
	missing = shmemhi_suballoc_missing(&heap->blocks, nbytes, alignment);
	if (missing == 0)
		return SHMEMH_OK;
	if (missing > left)
		return fail_exhausted(job, nbytes);
	return shmemhi_grow(job, (missing + heap->chunk - 1) / heap->chunk * heap->chunk);
}

static int zero_on_all(shmemh_t *job, uint64_t offset, uint64_t nbytes)
{
	shmemhi_mem_t *mem = job->mem;

	return shmemhi_agree(
		job, mem->backend->zero(mem, mem->peers[job->pe].base + offset, nbytes, &job->err));
}

static void free_block(shmemh_t *job, uint64_t offset)
{
	shmemhi_suballoc_t *blocks = &job->mem->heap.blocks;

	shmemhi_asan_forbid(job, offset, shmemhi_suballoc_find(blocks, offset)->nbytes);
	shmemhi_suballoc_free(blocks, offset);
}

/* The body of all allocating calls. */
static int allocate(shmemh_t *job, shmemhi_heap_call_t *call, enum shmemhi_owner owner, void **ptr)
{
	shmemhi_mem_t *mem = job->mem;
	shmemhi_suballoc_t *blocks = &mem->heap.blocks;
	char what[40];
	uint64_t offset;
	int zeroed = call->op == SHMEMHI_CALL_CALLOC || call->op == SHMEMHI_CALL_TAKE;
	int status;

	if (ptr)
		*ptr = NULL;
	if (shmemhi_broken(job)) {
		snprintf(what, sizeof what, "%s needs all PEs", shmemhi_call_name(call->op));
		return shmemhi_fail_broken(job, what);
	}
	if (!ptr)
		call->refusal = SHMEMHI_NULL_RESULT;
	else if (call->alignment & (call->alignment - 1) || call->alignment == 0 ||
		 call->alignment > SHMEMHI_BASE_ALIGN)
		call->refusal = SHMEMHI_BAD_ALIGNMENT;
	else if (!call->refusal &&
		 (shmemhi_suballoc_prepare(blocks) != 0 || shmemhi_allocs_prepare(job) != 0))
		call->refusal = SHMEMHI_NO_BOOKKEEPING;
	status = shmemhi_heap_compare(job, call);
	if (status != SHMEMH_OK || call->nbytes == 0)
		return status;
	status = make_room(job, call->nbytes, call->alignment);
	if (status != SHMEMH_OK)
		return status;
	offset = shmemhi_suballoc_alloc(blocks, call->nbytes, call->alignment, owner);
	shmemhi_asan_allow(job, offset, call->nbytes);
	if (zeroed)
		status = zero_on_all(job, offset, call->nbytes);
	if (status != SHMEMH_OK)
		free_block(job, offset);
	else
		*ptr = mem->peers[job->pe].base + offset;
	shmemhi_allocs_publish(job);
	return status;
}

int shmemh_malloc(shmemh_t *job, size_t nbytes, void **ptr)
{
	shmemhi_heap_call_t call = {
		.op = SHMEMHI_CALL_MALLOC, .nbytes = nbytes, .alignment = SHMEMHI_ALIGN_MIN};

	if (shmemhi_refused(job, "malloc"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	return shmemhi_done(job, allocate(job, &call, SHMEMHI_USER, ptr));
}

int shmemh_align(shmemh_t *job, size_t alignment, size_t nbytes, void **ptr)
{
	shmemhi_heap_call_t call = {
		.op = SHMEMHI_CALL_ALIGN, .nbytes = nbytes, .alignment = alignment};

	if (shmemhi_refused(job, "align"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	return shmemhi_done(job, allocate(job, &call, SHMEMHI_USER, ptr));
}

int shmemh_calloc(shmemh_t *job, size_t count, size_t nbytes, void **ptr)
{
	shmemhi_heap_call_t call = {.op = SHMEMHI_CALL_CALLOC, .alignment = SHMEMHI_ALIGN_MIN};
	size_t total = 0;

	if (shmemhi_refused(job, "calloc"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	if (__builtin_mul_overflow(count, nbytes, &total)) {
		call.refusal = SHMEMHI_OVERFLOW;
		total = SIZE_MAX;
	}
	call.nbytes = total;
	return shmemhi_done(job, allocate(job, &call, SHMEMHI_USER, ptr));
}

int shmemhi_heap_zero(shmemh_t *job, void *own, size_t nbytes)
{
	return job->mem->backend->zero(job->mem, own, nbytes, &job->err);
}

int shmemhi_heap_take(shmemh_t *job, size_t nbytes, void **ptr)
{
	shmemhi_heap_call_t call = {
		.op = SHMEMHI_CALL_TAKE, .nbytes = nbytes, .alignment = SHMEMHI_ALIGN_MIN};

	return allocate(job, &call, SHMEMHI_LIBRARY, ptr);
}

/* Classify ptr: fill offset and refusal of a free. */
static void examine(const shmemh_t *job, const void *ptr, shmemhi_heap_call_t *call)
{
	const shmemhi_suballoc_t *blocks = &job->mem->heap.blocks;
	uint64_t base = (uintptr_t)job->mem->peers[job->pe].base;
	const shmemhi_block_t *block;

	call->address = (uintptr_t)ptr;
	call->offset = call->address - base;
	block = shmemhi_suballoc_find(blocks, call->offset);
	if (!block) {
		call->refusal = SHMEMHI_FOREIGN;
		call->start = base;
		call->of_nbytes = blocks->nbytes;
	} else if (block->owner == SHMEMHI_FREE) {
		call->refusal = SHMEMHI_NOT_ALLOCATED;
	} else if (block->owner == SHMEMHI_LIBRARY) {
		call->refusal = SHMEMHI_LIBRARY_OWNED;
	} else if (block->offset != call->offset) {
		call->refusal = SHMEMHI_INTERIOR;
		call->start = base + block->offset;
		call->of_nbytes = block->asked;
	}
}

/* Set the line of a free on this PE only. If the gather of this call failed, its line names the PE
 * that was lost; job->causes may not have it yet, since the monitor records it in its own time. */
static void fail_alone(shmemh_t *job)
{
	static const char what[] = "freed on this PE only";
	const shmemhi_err_t why = job->err;

	if (!why.text[0]) {
		shmemhi_fail_broken(job, what);
		return;
	}
	shmemhi_begin(job);
	shmemhi_fail(&job->err, SHMEMH_ERR_PEER, "%s: %.*s", what,
		     (int)(SHMEMHI_ERR_NBYTES - sizeof what - 2), why.text);
}

static int release(shmemh_t *job, void *ptr)
{
	shmemhi_heap_call_t call = {.op = SHMEMHI_CALL_FREE};
	int status = SHMEMH_ERR_PEER;

	examine(job, ptr, &call);
	if (!shmemhi_broken(job))
		status = shmemhi_heap_compare(job, &call);
	/* If a PE was lost before or during the call, free the memory on this PE anyway. */
	if (status == SHMEMH_ERR_PEER) {
		if (call.refusal) {
			shmemhi_begin(job);
			return shmemhi_heap_refuse(job, &call);
		}
		fail_alone(job);
	}
	if (status == SHMEMH_OK || status == SHMEMH_ERR_PEER)
		free_block(job, call.offset);
	shmemhi_allocs_publish(job);
	return status;
}

int shmemh_free(shmemh_t *job, void *ptr)
{
	if (shmemhi_refused(job, "free"))
		return SHMEMH_ERR_ARGUMENT;
	if (!ptr)
		return SHMEMH_OK;
	shmemhi_begin(job);
	return shmemhi_done(job, release(job, ptr));
}

void *shmemh_ptr(const shmemh_t *job, const void *ptr, int world_pe)
{
	const shmemhi_mem_t *mem;
	uint64_t offset;

	if (shmemhi_refused(job, "ptr"))
		return NULL;
	mem = job->mem;
	offset = (uintptr_t)ptr - (uintptr_t)mem->peers[job->pe].base;
	if (world_pe < 0 || world_pe >= job->n_pes || !mem->peers[world_pe].mapped ||
	    offset >= shmemhi_committed(mem))
		return NULL;
	return mem->peers[world_pe].base + offset;
}

/* Cast away const: the handle keeps the line of a failure. */
static int refuse_info(const shmemh_t *job, const shmemh_heap_info_t *info)
{
	shmemh_t *own = (shmemh_t *)(uintptr_t)job;
	size_t nbytes = sizeof *info;

	shmemhi_begin(own);
	if (!info)
		return shmemhi_done(own, shmemhi_fail(&own->err, SHMEMH_ERR_ARGUMENT,
						      "heap_info: info, which receives the "
						      "figures, is NULL"));
	return shmemhi_done(own, shmemhi_fail(&own->err, SHMEMH_ERR_ARGUMENT,
					      "heap_info: info->size is %u, expected %zu: set it "
					      "to sizeof(shmemh_heap_info_t)",
					      info->size, nbytes));
}

int shmemh_heap_info(const shmemh_t *job, shmemh_heap_info_t *info)
{
	const shmemhi_mem_t *mem;

	if (shmemhi_refused(job, "heap_info"))
		return SHMEMH_ERR_ARGUMENT;
	if (!info || info->size != sizeof *info)
		return refuse_info(job, info);
	mem = job->mem;
	info->kind = mem->backend->kind;
	info->base = mem->peers[job->pe].base;
	info->reserved = mem->heap.reserved;
	info->committed = shmemhi_committed(mem);
	info->used = mem->heap.blocks.used;
	info->largest = shmemhi_suballoc_largest(&mem->heap.blocks);
	return SHMEMH_OK;
}
