/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Recording calls, in units that define SHMEMD_TRACE; in others this file is empty.
 *
 * SHMEMDI_CALLER stores the time at which a call begins. For most functions NAME of impl/ that
 * public functions call, there is a second one, NAME_traced, which calls NAME or repeats its steps
 * and then records the call; a macro NAME makes public functions call it. impl/traced.h has these
 * functions, and says which calls are not recorded; the headers of the optional calls have theirs.
 * No recorded function calls another one by that macro, so that each public call is recorded once.
 * A signal of grid.h is one more event, in the block that sends it. */
#ifndef SHMEMD_IMPL_TRACE_H
#define SHMEMD_IMPL_TRACE_H

#ifdef SHMEMD_TRACE

#include <shmem_dev/group.h>
#include <shmem_dev/impl/diag.h>

/* The word of an event. */
typedef struct shmemdi_trace_word_t {
	int kind; /* shmemd_trace_word */
	const void *at;
	uint64_t value;
} shmemdi_trace_word_t;

SHMEMD_FN shmemdi_trace_word_t shmemdi_trace_word(int kind, const void *at, uint64_t value)
{
	shmemdi_trace_word_t word = {kind, at, value};
	return word;
}

SHMEMD_FN shmemdi_trace_word_t shmemdi_trace_no_word(void)
{
	return shmemdi_trace_word(SHMEMD_TRACE_NO_WORD, 0, 0);
}

/* Append an event. */
SHMEMD_FN_CALL void shmemdi_trace_append(shmemd_latch_t *latch, shmemd_trace_event_t e)
{
	shmemd_trace_t *trace =
		(shmemd_trace_t *)(uintptr_t)shmemd_arch_ld_relaxed_u64(&latch->trace);
	uint64_t place;

	if (!trace)
		return;
	place = shmemd_arch_atom_add_u64(&trace->n_events, 1);
	if (place < trace->capacity)
		((shmemd_trace_event_t *)(void *)(trace + 1))[place] = e;
}

SHMEMD_FN uint64_t shmemdi_trace_offset(const shmemd_ctx_t *ctx, const void *sym)
{
	return sym ? (uint64_t)((uintptr_t)sym - (uintptr_t)ctx->heap) : SHMEMD_TRACE_NO_OFFSET;
}

/* A call that ends now: record it, if the calling thread is the first of the group. pe: in the
 * context's team, or -1. A context that is not filled has no latch. */
SHMEMD_FN void shmemdi_trace(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g, int pe,
			     const void *sym, size_t nbytes, shmemdi_trace_word_t word, int status)
{
	shmemd_trace_event_t e;

	if (g.rank != 0 || !shmemdi_is_filled(ctx) || !ctx->latch)
		return;
	e.begin = call.begin;
	e.end = shmemd_arch_time_ns();
	e.data = shmemdi_trace_offset(ctx, sym);
	e.nbytes = nbytes;
	e.word = shmemdi_trace_offset(ctx, word.at);
	e.value = word.value;
	e.block = shmemd_arch_block();
	e.thread = shmemd_arch_tid();
	e.pe = pe >= 0 && pe < ctx->n_pes ? ctx->peers[pe].world_pe : -1;
	e.op = (uint8_t)call.op;
	e.kind = (uint8_t)word.kind;
	e.status = (uint8_t)status;
	e.reserved = 0;
	shmemdi_trace_append(ctx->latch, e);
}

/* Define NAME_traced, for a function that returns nothing and one that returns a status. call_at:
 * where its parameters have the call. The other arguments: what is recorded of it, as shmemdi_trace
 * takes it from g on, but for the status, which the macro adds. */
#define SHMEMDI_TRACED_VOID(name, params, args, call_at, ...)                                      \
	SHMEMD_FN void name##_traced params                                                        \
	{                                                                                          \
		name args;                                                                         \
		shmemdi_trace(ctx, call_at, __VA_ARGS__, SHMEMD_OK);                               \
	}
#define SHMEMDI_TRACED_INT(name, params, args, call_at, ...)                                       \
	SHMEMD_FN int name##_traced params                                                         \
	{                                                                                          \
		int status = name args;                                                            \
                                                                                                   \
		shmemdi_trace(ctx, call_at, __VA_ARGS__, status);                                  \
		return status;                                                                     \
	}

#endif

#endif
