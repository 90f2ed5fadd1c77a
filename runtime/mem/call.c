/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <stdio.h>
#include "mem/call.h"
#include "mem/state.h"

typedef unsigned long long ull_t;

static void describe(const shmemhi_heap_call_t *c, char *text, size_t nbytes)
{
	if (c->op == SHMEMHI_CALL_FREE)
		snprintf(text, nbytes, "free(heap + %llu)", (ull_t)c->offset);
	else if (c->op == SHMEMHI_CALL_ALIGN)
		snprintf(text, nbytes, "align(%llu, %llu bytes)", (ull_t)c->alignment,
			 (ull_t)c->nbytes);
	else
		snprintf(text, nbytes, "%s(%llu bytes)", shmemhi_call_name(c->op),
			 (ull_t)c->nbytes);
}

static bool differs(const shmemhi_heap_call_t *a, const shmemhi_heap_call_t *b)
{
	return a->op != b->op || a->nbytes != b->nbytes || a->alignment != b->alignment ||
	       a->offset != b->offset || a->sequence != b->sequence;
}

static int fail_mismatch(shmemh_t *job, const shmemhi_heap_call_t *all, int pe)
{
	char first[96], other[96];

	describe(&all[0], first, sizeof first);
	describe(&all[pe], other, sizeof other);
	return shmemhi_fail(&job->err, SHMEMH_ERR_MISMATCH,
			    "PE 0 called %s as heap call %llu, PE %d %s as heap call %llu: heap "
			    "calls are collective, with the same arguments and in the same order",
			    first, (ull_t)all[0].sequence, pe, other, (ull_t)all[pe].sequence);
}

static int fail_free(shmemh_t *job, const shmemhi_heap_call_t *c, int pe)
{
	int status = SHMEMH_ERR_NOT_OWNED;
	shmemhi_err_t *err = &job->err;

	if (c->refusal == SHMEMHI_INTERIOR)
		return shmemhi_fail(err, status,
				    "PE %d: free(0x%llx): not the start of an allocation, but "
				    "inside the allocation starting at 0x%llx of %llu bytes",
				    pe, (ull_t)c->address, (ull_t)c->start, (ull_t)c->of_nbytes);
	if (c->refusal == SHMEMHI_NOT_ALLOCATED)
		return shmemhi_fail(err, status,
				    "PE %d: free(0x%llx): inside the heap, but in no allocation: "
				    "freed before, or never returned by malloc",
				    pe, (ull_t)c->address);
	if (c->refusal == SHMEMHI_LIBRARY_OWNED)
		return shmemhi_fail(err, status,
				    "PE %d: free(0x%llx): memory of the library itself", pe,
				    (ull_t)c->address);
	return shmemhi_fail(err, status,
			    "PE %d: free(0x%llx): not a symmetric address: its heap has memory "
			    "from 0x%llx to 0x%llx",
			    pe, (ull_t)c->address, (ull_t)c->start,
			    (ull_t)(c->start + c->of_nbytes));
}

static int fail_refused(shmemh_t *job, const shmemhi_heap_call_t *c, int pe)
{
	const char *op = shmemhi_call_name(c->op);

	switch (c->refusal) {
	case SHMEMHI_NULL_RESULT:
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "PE %d: %s: ptr, which receives the address, is NULL", pe, op);
	case SHMEMHI_BAD_ALIGNMENT:
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "PE %d: align: alignment %llu is not a power of two up to %llu",
				    pe, (ull_t)c->alignment, (ull_t)SHMEMHI_BASE_ALIGN);
	case SHMEMHI_OVERFLOW:
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				    "PE %d: calloc: count * size is 2^64 bytes or more", pe);
	case SHMEMHI_NO_BOOKKEEPING:
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				    "PE %d: %s: no host memory for the bookkeeping of allocations",
				    pe, op);
	default:
		return fail_free(job, c, pe);
	}
}

int shmemhi_heap_refuse(shmemh_t *job, const shmemhi_heap_call_t *mine)
{
	return fail_refused(job, mine, job->pe);
}

int shmemhi_heap_compare(shmemh_t *job, shmemhi_heap_call_t *mine)
{
	shmemhi_heap_t *heap = &job->mem->heap;
	const shmemhi_heap_call_t *all = heap->calls;
	int status;

	mine->sequence = heap->sequence;
	if (mine->op != SHMEMHI_CALL_TAKE) /* a part of another call */
		shmemhi_name_collective(job, shmemhi_call_name(mine->op));
	status = shmemhi_allgather(job, mine, heap->calls, sizeof *mine);
	if (status == SHMEMH_OK)
		status = shmemhi_compare_calls(job, (const shmemhi_call_t *)(const void *)all);
	if (status != SHMEMH_OK)
		return status;
	/* Count only a call that met heap calls on all PEs. If its gather failed because a PE had
	 * not come (ERR_TIMEOUT), that PE receives the failure in its next collective, which may be
	 * no heap call, and does not count it either. */
	heap->sequence++;
	/* Check this first: a pointer that is no allocation has no offset to compare. */
	for (int pe = 0; pe < job->n_pes; pe++)
		if (all[pe].refusal >= SHMEMHI_FOREIGN)
			return fail_refused(job, &all[pe], pe);
	for (int pe = 1; pe < job->n_pes; pe++)
		if (differs(&all[0], &all[pe]))
			return fail_mismatch(job, all, pe);
	for (int pe = 0; pe < job->n_pes; pe++)
		if (all[pe].refusal != SHMEMHI_ACCEPTED)
			return fail_refused(job, &all[pe], pe);
	return SHMEMH_OK;
}
