/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Recorded forms of the functions that the headers of shmem_dev.h call (impl/trace.h). Without
 * SHMEMD_TRACE this file is empty. Not recorded: a test that does not hold, any test of packed.h
 * and wait_sets.h, signal_fetch, waits for tiles and bulk_fence (bulk.h), channel_ring and
 * channel_poll, channel_quiet in a job without NICs, the signals that stream.h sends in a kernel of
 * their own (unless grid.h is included before stream.h), calls that only query (team.h, places and
 * space of channels), and in check builds a wait of signal.h that is refused for its group or its
 * PE. */
#ifndef SHMEMD_IMPL_TRACED_H
#define SHMEMD_IMPL_TRACED_H

#ifdef SHMEMD_TRACE

#include <shmem_dev/impl/flagsync.h>
#include <shmem_dev/impl/packed.h>
#include <shmem_dev/impl/trace.h>

/* --- puts and gets --- */

#define SHMEMDI_TRACE_DATA op.g, op.pe, op.sym, op.nbytes

SHMEMDI_TRACED_VOID(shmemdi_put, (const shmemd_ctx_t *ctx, shmemdi_op_t op), (ctx, op), op.call,
		    SHMEMDI_TRACE_DATA, shmemdi_trace_no_word())
#define shmemdi_put shmemdi_put_traced
SHMEMDI_TRACED_VOID(shmemdi_put_unsynced, (const shmemd_ctx_t *ctx, shmemdi_op_t op), (ctx, op),
		    op.call, SHMEMDI_TRACE_DATA, shmemdi_trace_no_word())
#define shmemdi_put_unsynced shmemdi_put_unsynced_traced
SHMEMDI_TRACED_INT(shmemdi_get, (const shmemd_ctx_t *ctx, shmemdi_op_t op), (ctx, op), op.call,
		   SHMEMDI_TRACE_DATA, shmemdi_trace_no_word())
#define shmemdi_get shmemdi_get_traced
SHMEMDI_TRACED_VOID(shmemdi_get_nbi, (const shmemd_ctx_t *ctx, shmemdi_op_t op), (ctx, op), op.call,
		    SHMEMDI_TRACE_DATA, shmemdi_trace_no_word())
#define shmemdi_get_nbi shmemdi_get_nbi_traced

/* --- words that are sent: a wait may be for them --- */

SHMEMD_FN shmemdi_trace_word_t shmemdi_trace_signal(shmemdi_signal_t sig)
{
	return shmemdi_trace_word(sig.op == SHMEMD_SIGNAL_ADD ? SHMEMD_TRACE_ADD : SHMEMD_TRACE_SET,
				  sig.word, sig.value);
}

SHMEMD_FN shmemdi_trace_word_t shmemdi_trace_amo(const void *word, int kind, uint64_t value)
{
	if (kind == SHMEMDI_AMO_ADD)
		return shmemdi_trace_word(SHMEMD_TRACE_ADD, word, value);
	if (kind == SHMEMDI_AMO_SET)
		return shmemdi_trace_word(SHMEMD_TRACE_SET, word, value);
	return shmemdi_trace_no_word();
}

#define SHMEMDI_TRACE_SENT(name)                                                                   \
	SHMEMDI_TRACED_VOID(                                                                       \
		name, (const shmemd_ctx_t *ctx, shmemdi_op_t op, shmemdi_signal_t sig),            \
		(ctx, op, sig), op.call, SHMEMDI_TRACE_DATA, shmemdi_trace_signal(sig))
SHMEMDI_TRACE_SENT(shmemdi_put_signal)
#define shmemdi_put_signal shmemdi_put_signal_traced
SHMEMDI_TRACE_SENT(shmemdi_put_and_signal)
#define shmemdi_put_and_signal shmemdi_put_and_signal_traced
SHMEMDI_TRACE_SENT(shmemdi_signal_op)
#define shmemdi_signal_op shmemdi_signal_op_traced
SHMEMDI_TRACE_SENT(shmemdi_signal_ordered)
#define shmemdi_signal_ordered shmemdi_signal_ordered_traced

SHMEMDI_TRACED_VOID(shmemdi_p, (const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t bits),
		    (ctx, op, bits), op.call, SHMEMDI_TRACE_DATA,
		    shmemdi_trace_word(SHMEMD_TRACE_SET, op.sym, bits))
#define shmemdi_p shmemdi_p_traced
SHMEMDI_TRACED_INT(shmemdi_g, (const shmemd_ctx_t *ctx, shmemdi_op_t op, void *value),
		   (ctx, op, value), op.call, SHMEMDI_TRACE_DATA, shmemdi_trace_no_word())
#define shmemdi_g shmemdi_g_traced
SHMEMDI_TRACED_VOID(shmemdi_put_packed,
		    (const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t value, uint32_t epoch),
		    (ctx, op, value, epoch), op.call, SHMEMDI_TRACE_DATA,
		    shmemdi_trace_word(SHMEMD_TRACE_SET, op.sym, epoch))
#define shmemdi_put_packed shmemdi_put_packed_traced
SHMEMDI_TRACED_VOID(shmemdi_amo,
		    (const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind, uint64_t value),
		    (ctx, op, kind, value), op.call, SHMEMDI_TRACE_DATA,
		    shmemdi_trace_amo(op.sym, kind, value))
#define shmemdi_amo shmemdi_amo_traced
SHMEMDI_TRACED_INT(shmemdi_amo_float, (const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t value),
		   (ctx, op, value), op.call, SHMEMDI_TRACE_DATA,
		   shmemdi_trace_amo(op.sym, SHMEMDI_AMO_ADDF, value))
#define shmemdi_amo_float shmemdi_amo_float_traced
SHMEMDI_TRACED_INT(shmemdi_amo_fetch,
		   (const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind, void *old, uint64_t value,
		    uint64_t cond),
		   (ctx, op, kind, old, value, cond), op.call, SHMEMDI_TRACE_DATA,
		   shmemdi_trace_amo(op.sym, kind, value))
#define shmemdi_amo_fetch shmemdi_amo_fetch_traced
SHMEMDI_TRACED_VOID(shmemdi_amo_ordered, (const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t value),
		    (ctx, op, value), op.call, SHMEMDI_TRACE_DATA,
		    shmemdi_trace_word(SHMEMD_TRACE_ADD, op.sym, value))
#define shmemdi_amo_ordered shmemdi_amo_ordered_traced

/* --- words that are awaited --- */

SHMEMD_FN shmemdi_trace_word_t shmemdi_trace_seen(const void *word, uint64_t value, int has_held)
{
	return shmemdi_trace_word(has_held ? SHMEMD_TRACE_SEEN : SHMEMD_TRACE_NO_WORD, word, value);
}

/* The steps of shmemdi_wait_group, which does not return the value that ended the wait. */
SHMEMD_FN int shmemdi_wait_group_traced(const shmemd_ctx_t *ctx, shmemdi_call_t call,
					shmemd_group_t g, shmemdi_cond_t c, shmemdi_limit_t limit)
{
	int status = shmemdi_check_group(ctx, call, g);
	shmemdi_spin_t spin = shmemdi_spin(limit);
	uint64_t seen = 0;

	if (SHMEMDI_CHECKING && status != SHMEMD_OK)
		return status;
	if (g.rank == 0)
		status = shmemdi_cond_check(ctx, call, c);
	if (g.rank == 0 && status == SHMEMD_OK)
		status = shmemdi_wait_seen(ctx, call, c, &spin, 0, &seen);
	shmemdi_trace(ctx, call, g, limit.pe, 0, 0,
		      shmemdi_trace_seen(c.addr, seen, status == SHMEMD_OK), status);
	return shmemdi_agree(g, status);
}
#define shmemdi_wait_group shmemdi_wait_group_traced
#define shmemdi_wait(ctx, call, c, limit)                                                          \
	shmemdi_wait_group_traced(ctx, call, shmemd_thread(), c, limit)

SHMEMD_FN int shmemdi_wait_from_traced(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				       shmemdi_cond_t c, int pe)
{
	int status = shmemdi_check_pe(ctx, call, pe);

	return status ? status : shmemdi_wait(ctx, call, c, shmemdi_limit_default(ctx, pe));
}
#define shmemdi_wait_from shmemdi_wait_from_traced

/* The steps of shmemdi_test_once, which does not return the value that it saw. A test that does not
 * hold is not recorded: it is one of many. */
SHMEMD_FN int shmemdi_test_once_traced(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				       shmemdi_cond_t c)
{
	int status = shmemdi_cond_check(ctx, call, c);
	uint64_t seen;

	shmemdi_latch(ctx, status);
	if (status != SHMEMD_OK || !shmemdi_poll(c, &seen))
		return 0;
	shmemdi_trace(ctx, call, shmemd_thread(), -1, 0, 0, shmemdi_trace_seen(c.addr, seen, 1),
		      SHMEMD_OK);
	return 1;
}
#define shmemdi_test_once shmemdi_test_once_traced

SHMEMDI_TRACED_INT(shmemdi_packed_wait,
		   (const shmemd_ctx_t *ctx, shmemdi_call_t call, uint64_t *value, const void *slot,
		    uint32_t epoch, shmemdi_limit_t limit),
		   (ctx, call, value, slot, epoch, limit), call, shmemd_thread(), -1, 0, 0,
		   shmemdi_trace_seen(slot, epoch, status == SHMEMD_OK))
#define shmemdi_packed_wait shmemdi_packed_wait_traced

/* --- order, completion, synchronisation --- */

#define SHMEMDI_TRACE_CALL(name, last_type, last)                                                  \
	SHMEMDI_TRACED_INT(                                                                        \
		name,                                                                              \
		(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g, last_type last),  \
		(ctx, call, g, last), call, g, -1, 0, 0, shmemdi_trace_no_word())
#define SHMEMDI_TRACE_ALL(name)                                                                    \
	SHMEMDI_TRACED_INT(name, (const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g), \
			   (ctx, call, g), call, g, -1, 0, 0, shmemdi_trace_no_word())

SHMEMDI_TRACED_VOID(shmemdi_fence,
		    (const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemd_group_t g,
		     int signallers),
		    (ctx, call, g, signallers), call, g, -1, 0, 0, shmemdi_trace_no_word())
#define shmemdi_fence shmemdi_fence_traced
SHMEMDI_TRACE_CALL(shmemdi_quiet, int, signallers)
#define shmemdi_quiet shmemdi_quiet_traced
SHMEMDI_TRACED_INT(shmemdi_flush_channel_to,
		   (const shmemd_ctx_t *ctx, shmemdi_call_t call, int pe, uint32_t k),
		   (ctx, call, pe, k), call, shmemd_thread(), pe, 0, 0, shmemdi_trace_no_word())
#define shmemdi_flush_channel_to shmemdi_flush_channel_to_traced
SHMEMDI_TRACE_CALL(shmemdi_sync, shmemdi_limit_t, limit)
#define shmemdi_sync shmemdi_sync_traced
SHMEMDI_TRACE_CALL(shmemdi_barrier, shmemdi_limit_t, limit)
#define shmemdi_barrier shmemdi_barrier_traced
SHMEMDI_TRACE_ALL(shmemdi_sync_all)
#define shmemdi_sync_all shmemdi_sync_all_traced
SHMEMDI_TRACE_ALL(shmemdi_barrier_all)
#define shmemdi_barrier_all shmemdi_barrier_all_traced

#endif

#endif
