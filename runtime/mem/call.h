/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The arguments of one heap call, in the form in which all PEs compare them. */
#ifndef SHMEMHI_MEM_CALL_H
#define SHMEMHI_MEM_CALL_H

#include <stddef.h>
#include "job/job.h"

/* Why a PE refuses its own call. */
enum shmemhi_refusal {
	SHMEMHI_ACCEPTED,
	SHMEMHI_NULL_RESULT,    /* ptr is NULL */
	SHMEMHI_BAD_ALIGNMENT,  /* not a power of two, or above SHMEMHI_BASE_ALIGN */
	SHMEMHI_OVERFLOW,       /* count * nbytes */
	SHMEMHI_NO_BOOKKEEPING, /* no host memory for bookkeeping */
	SHMEMHI_FOREIGN,        /* free: outside the memory of the heap */
	SHMEMHI_NOT_ALLOCATED,  /* free: inside, but of no allocation */
	SHMEMHI_INTERIOR,       /* free: inside an allocation, not its start */
	SHMEMHI_LIBRARY_OWNED,  /* free: the library's own memory */
};

/* A shmemhi_call_t. */
typedef struct shmemhi_heap_call {
	uint32_t op; /* shmemhi_call_kind */
	uint32_t refusal;
	uint64_t nbytes; /* asked for; free: 0 */
	uint64_t alignment;
	uint64_t offset;   /* free: of the pointer */
	uint64_t sequence; /* number of the call: shmemhi_heap_t.sequence */
	uint64_t address;  /* free: the pointer, for messages */
	/* INTERIOR: address and size of the allocation around the pointer; FOREIGN: of the
	 * memory that this PE's heap has. */
	uint64_t start;
	uint64_t of_nbytes;
} shmemhi_heap_call_t;

_Static_assert(sizeof(shmemhi_heap_call_t) == sizeof(shmemhi_call_t) &&
		       offsetof(shmemhi_heap_call_t, op) == offsetof(shmemhi_call_t, kind) &&
		       offsetof(shmemhi_heap_call_t, nbytes) == offsetof(shmemhi_call_t, nbytes),
	       "calls of all kinds meet in one gather");

/* Gather the calls of all PEs and compare them; the result is the same on every PE. On failure
 * job->err names the PEs and values. Returns SHMEMH_OK; ERR_MISMATCH; the status of a refusal;
 * as allgather. */
int shmemhi_heap_compare(shmemh_t *job, shmemhi_heap_call_t *mine);

/* Set the line for a call that this PE refuses without a collective. Returns its status. */
int shmemhi_heap_refuse(shmemh_t *job, const shmemhi_heap_call_t *mine);

#endif
