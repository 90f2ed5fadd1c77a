/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The trace of a PE's calls, in memory of the device: shmemd_trace_t, then [capacity] events. The
 * host makes it (shmemh_trace_start), threads of kernels that were compiled with SHMEMD_TRACE
 * append to it, and the host reads it when those kernels have ended.
 *
 * A thread reserves a place by adding 1 to n_events. If the place is beyond capacity, the event is
 * lost, and only the count says so. So no two threads write to one place, and what was recorded
 * first is kept. */
#ifndef SHMEMD_ABI_TRACE_H
#define SHMEMD_ABI_TRACE_H

#include <shmem_dev/abi/base.h>

/* Of an event without data. */
#define SHMEMD_TRACE_NO_OFFSET (~(uint64_t)0)

/* What an event says of its word. Of a slot of packed.h `value` is the epoch. */
enum shmemd_trace_word {
	SHMEMD_TRACE_NO_WORD = 0,
	SHMEMD_TRACE_SET = 1,  /* `value` was stored to it at `pe` */
	SHMEMD_TRACE_ADD = 2,  /* `value` was added to it at `pe` */
	SHMEMD_TRACE_SEEN = 3, /* this PE's own word had `value`, which ended the call */
};

/* A call, or a phase of the program. */
typedef struct shmemd_trace_event {
	uint64_t begin, end;    /* nanoseconds of shmemd_arch_time_ns */
	uint64_t data;          /* offset in the symmetric heap; SHMEMD_TRACE_NO_OFFSET: none */
	uint64_t nbytes;        /* of the data */
	uint64_t word;          /* offset in the symmetric heap, unless kind is NO_WORD */
	uint64_t value;         /* as kind says; of a phase: its number */
	uint32_t block, thread; /* that recorded it: the first of the group that called */
	int32_t pe;             /* the other PE, its number in the world team; -1: none */
	uint8_t op;             /* shmemd_op; 0: a phase */
	uint8_t kind;           /* shmemd_trace_word */
	uint8_t status;         /* that the call returned */
	uint8_t reserved;       /* 0 */
} shmemd_trace_event_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_trace_event_t) == 64, "ABI: shmemd_trace_event_t");

/* The head of the events. */
typedef struct shmemd_trace {
	uint64_t n_events; /* recorded and lost; threads of the GPU add to it */
	uint64_t capacity; /* events that there is room for */
	uint64_t reserved[6];
} shmemd_trace_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_trace_t) == 64, "ABI: shmemd_trace_t");

#endif
