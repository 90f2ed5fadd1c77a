/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completions of a channel.
 *
 *   by number   A reservation requests one CQE, whose number its poster learns in its turn. A
 *               waiter polls that CQE alone, however many come before it. CQEs come in order, and
 *               none after an error reports success: so a success completes everything before it.
 *   in order    A thread that needs `done` to move reads CQEs in order, one thread at a time: a
 *               poster short of WQEBBs, a caller of shmemd_channel_poll or _space, one that waits
 *               for a bounce buffer or by index, the thread that switches the channel. So does a
 *               waiter that finds an error: the first CQE with an error has the cause.
 *
 * Interleavings considered
 *   A late waiter. The place of its CQE may already hold the CQE of a later lap. Then `done` covers
 *   what it waits for, since a WQEBB is reused only after `done` has passed it. Each poll loads
 *   the CQE and `done` (shmemdi_cq_poll).
 *   After an error no thread moves `done` past it: the CQE with the cause stays in place. */
#ifndef SHMEMD_IMPL_CQ_H
#define SHMEMD_IMPL_CQ_H

#include <shmem_dev/impl/switch.h>

/* What a waiter waits for. */
typedef struct shmemdi_ticket {
	/* Made by SHMEMD_READY_WORD: the index after the poster's last WQEBB, and, in place of the
	 * count of CQEs, the number of the CQE that completes it: what `ready` counted before the
	 * poster's turn, since CQEs are numbered from 0; or TICKET_VOID */
	uint64_t word;
	uint64_t queue; /* as in the line: where that CQE is, unless shmemdi_sq_move ran */
} shmemdi_ticket_t;
#define SHMEMDI_TICKET_VOID 0x400u /* the channel failed: they were not published */

/* Consume the next CQE, or a later one that was found by probing ahead, if the NIC has written it
 * and no other thread is reading CQEs. done: as loaded just before. Returns whether `done` has
 * moved. */
SHMEMD_FN_CALL int shmemdi_cq_consume(const shmemdi_chan_t *c, shmemdi_call_t call, uint64_t done)
{
	uint64_t now;

	c = (const shmemdi_chan_t *)shmemd_arch_as_local(c);
	if (done & SHMEMD_BUSY || !shmemd_arch_try_lock(&c->ch->done, done))
		return 0;
	now = shmemdi_cq_read(c, call, done);
	shmemd_arch_unlock(&c->ch->done, now);
	return now != done;
}

SHMEMD_FN uint64_t shmemdi_done(const shmemdi_chan_t *c)
{
	return shmemd_arch_ld_relaxed_u64(&c->ch->done);
}

/* Does `done` cover all WQEBBs before `end`? If so, acquire: the results of their READs and atomics
 * can be read. */
SHMEMD_FN int shmemdi_is_done(uint64_t done, uint32_t end)
{
	if (!shmemdi_reached((uint32_t)SHMEMD_DONE_INDEX(done), end))
		return 0;
	shmemd_arch_fence_acquire();
	return 1;
}

/* The channel has failed. WQEBBs that were completed before count: are all before `end` among them?
 * If not, *status says why they never will be. */
SHMEMD_FN int shmemdi_failed_but_done(const shmemdi_chan_t *c, uint32_t end, uint64_t path,
				      int *status)
{
	shmemd_arch_fence_acquire();
	if (shmemdi_is_done(shmemdi_done(c), end))
		return 1;
	*status = (int)SHMEMD_PATH_STATUS(path);
	return 0;
}

/* Poll once for the completion of all WQEBBs before `end`, reading CQEs in order. Returns whether
 * they are complete; if not, *status may say why they never will be. Their posters may have
 * deferred the doorbell to the waiter: ring it first. */
SHMEMD_FN int shmemdi_cq_poll_index(const shmemdi_chan_t *c, shmemdi_call_t call, uint32_t end,
				    int *status)
{
	shmemd_2u64_t at = shmemd_arch_ld_relaxed_2u64(&c->ch->ready);
	uint64_t path = shmemd_arch_ld_relaxed_u64(&c->ch->path);

	*status = SHMEMD_OK;
	if (shmemdi_is_done(at.hi, end))
		return 1;
	if (SHMEMD_PATH_STATUS(path))
		return shmemdi_failed_but_done(c, end, path, status);
	shmemdi_ring_until(c, at.lo, end);
	(void)shmemdi_cq_consume(c, call, at.hi);
	return 0;
}

/* Is this CQE the success of the ticket's WQE, which has one or two WQEBBs? */
SHMEMD_FN int shmemdi_cqe_completes(uint64_t tail, uint64_t path, uint64_t word)
{
	uint32_t end = shmemdi_qp_index(path, SHMEMD_READY_INDEX(word));

	return shmemdi_cqe_opcode(tail) == SHMEMD_CQE_REQ &&
	       (uint16_t)(end - 1 - shmemdi_cqe_counter(tail)) <= 1;
}

/* Look once at a ticket's CQE. Returns whether it is there and says success: everything before it
 * is complete. */
SHMEMD_FN int shmemdi_cq_look(const shmemdi_chan_t *c, shmemdi_ticket_t t)
{
	uint64_t tail = shmemdi_cqe_tail(c, t.queue, SHMEMD_READY_CQES(t.word));
	uint64_t path = shmemd_arch_ld_relaxed_u64(&c->ch->path);

	if (SHMEMD_TAG(path) != SHMEMD_TAG(t.queue) || !shmemdi_cqe_completes(tail, path, t.word))
		return 0;
	shmemd_arch_fence_acquire();
	return 1;
}

/* Poll once for a ticket. Returns and *status as shmemdi_cq_poll_index. */
SHMEMD_FN int shmemdi_cq_poll(const shmemdi_chan_t *c, shmemdi_call_t call, shmemdi_ticket_t t,
			      int *status)
{
	uint64_t tail = shmemdi_cqe_tail(c, t.queue, SHMEMD_READY_CQES(t.word));
	shmemd_2u64_t at = shmemd_arch_ld_relaxed_2u64(&c->ch->ready);
	uint64_t path = shmemd_arch_ld_relaxed_u64(&c->ch->path);
	uint32_t end = SHMEMD_READY_INDEX(t.word);

	*status = SHMEMD_OK;
	if (shmemdi_is_done(at.hi, end))
		return 1;
	/* The number, or the CQE that was found by it, is of another path. */
	if (SHMEMD_TAG(path) != SHMEMD_TAG(t.queue) ||
	    SHMEMD_READY_EPOCH(t.word) != SHMEMD_TAG(t.queue))
		return shmemdi_cq_poll_index(c, call, end, status);
	if (shmemdi_cqe_completes(tail, path, t.word)) {
		shmemd_arch_fence_acquire();
		return 1;
	}
	if (SHMEMD_PATH_STATUS(path))
		return shmemdi_failed_but_done(c, end, path, status);
	shmemdi_ring_until(c, at.lo, end);
	/* An error: find its cause. Or it is the CQE of a later lap: then `done` has passed the
	 * ticket's WQE, and the next poll finds that. */
	if (shmemdi_cqe_opcode(tail) != SHMEMD_CQE_INVALID)
		(void)shmemdi_cq_consume(c, call, at.hi);
	return 0;
}

/* Record the status with which a call on this channel fails: a failed PE, a failed channel, a lost
 * result, or a time limit unless the caller named it (is_named). end: index after the last WQEBB
 * that was waited for, 0: none. A record that is there already stays. With SHMEMD_CTX_FT such a
 * time limit is also reported to the host as a suspicion, since the NIC may have failed without a
 * CQE. Returns status. */
SHMEMD_FN_CALL int shmemdi_record_channel_error(const shmemdi_chan_t *c, shmemdi_call_t call,
						int status, uint32_t end, int is_named)
{
	c = (const shmemdi_chan_t *)shmemd_arch_as_local(c);
	if (status == SHMEMD_ERR_TIMEOUT && !is_named && c->flags & SHMEMD_CTX_FT)
		shmemdi_suspect(c);
	if (status != SHMEMD_ERR_TIMEOUT || !is_named)
		shmemdi_record(c->ctx, call, status, c->pe, 0, SHMEMD_DONE_INDEX(shmemdi_done(c)),
			       end);
	return status;
}

/* Wait for a ticket. */
SHMEMD_FN_CALL int shmemdi_cq_wait(shmemdi_ref_t ref, shmemdi_call_t call, shmemdi_ticket_t t,
				   shmemdi_limit_t limit)
{
	shmemdi_spin_t spin = shmemdi_spin(limit);
	shmemdi_chan_t c;
	int status = SHMEMD_OK;

	shmemdi_chan_load(ref, &c);
	if (t.word & SHMEMDI_TICKET_VOID)
		status = shmemdi_channel_status(&c);
	while (status == SHMEMD_OK && !shmemdi_cq_poll(&c, call, t, &status))
		if (status == SHMEMD_OK)
			status = shmemdi_wait_step(c.ctx, &spin);
	if (status == SHMEMD_OK)
		return status;
	return shmemdi_record_channel_error(&c, call, status, SHMEMD_READY_INDEX(t.word),
					    limit.named);
}

/* The same, with one poll of the CQE inline before the call. */
SHMEMD_FN int shmemdi_cq_look_and_wait(const shmemdi_chan_t *c, shmemdi_call_t call,
				       shmemdi_ticket_t t, shmemdi_limit_t limit)
{
	if (!(t.word & SHMEMDI_TICKET_VOID) && shmemdi_cq_look(c, t))
		return SHMEMD_OK;
	return shmemdi_cq_wait(shmemdi_ref(c), call, t, limit);
}

SHMEMD_FN uint64_t shmemdi_ready(const shmemdi_chan_t *c)
{
	return shmemd_arch_ld_relaxed_u64(&c->ch->ready);
}

/* Return once the doorbell covers all that is published now. */
SHMEMD_FN void shmemdi_ring_published(const shmemdi_chan_t *c)
{
	uint64_t ready = shmemdi_ready(c);

	shmemdi_ring_until(c, ready, SHMEMD_READY_INDEX(ready));
}

/* A place in the queue, 47 bits of an index: what is published is before it. On a failed channel
 * the reserved index is returned instead: if a reservation was dropped, `done` never reaches it, so
 * the poll does not report success. */
SHMEMD_FN uint64_t shmemdi_cq_place(const shmemdi_chan_t *c)
{
	uint64_t ready = shmemdi_ready(c);
	uint32_t index = SHMEMD_READY_INDEX(ready);

	if (shmemdi_channel_status(c) != SHMEMD_OK)
		index = SHMEMD_RESV_INDEX(shmemd_arch_ld_relaxed_u64(&c->ch->resv));
	return shmemdi_unwrap(SHMEMD_DONE_INDEX(shmemdi_done(c)), index, 32) &
	       (((uint64_t)1 << SHMEMD_DONE_INDEX_BITS) - 1);
}

/* Called by shmemd_channel_poll and shmemd_channel_space, which do not wait, when something is not
 * complete. Every 64th of these calls, on a GPU every 2048th, carries out a pending order to
 * switch. Without it, threads of a kernel that fills the GPU, so that no service kernel runs, would
 * loop for ever for the CQEs of a path that is lost. The calls are counted in the channel, since
 * one call keeps nothing for the next; by an atomic, since concurrent loads and stores could set
 * the count back again and again. */
SHMEMD_FN void shmemdi_cq_not_yet(const shmemdi_chan_t *c)
{
	if ((shmemd_arch_atom_add_u64(&c->ch->looks, 1) + 1) % SHMEMDI_POLLS_PER_HOST_LOOK == 0)
		shmemdi_service_once(c->ctx);
}

/* Is everything before a place complete? Reads CQEs as long as there are some. */
SHMEMD_FN int shmemdi_cq_poll_place(const shmemdi_chan_t *c, shmemdi_call_t call, uint64_t place,
				    int *is_done)
{
	int status = SHMEMD_OK;
	uint64_t done, at;

	do {
		done = SHMEMD_DONE_INDEX(shmemdi_done(c));
		*is_done =
			(int64_t)(shmemdi_unwrap(done, place, SHMEMD_DONE_INDEX_BITS) - done) <= 0;
		if (*is_done)
			shmemd_arch_fence_acquire();
		else
			*is_done = shmemdi_cq_poll_index(c, call, (uint32_t)place, &status);
		at = SHMEMD_DONE_INDEX(shmemdi_done(c));
	} while (!*is_done && status == SHMEMD_OK && at != done);
	if (!*is_done && status == SHMEMD_OK)
		shmemdi_cq_not_yet(c);
	return status;
}

/* WQEBBs that are free and not reserved; UINT32_MAX on a failed channel, on which no post waits.
 * CQEs are read first, unless another thread is doing so: a queue whose completions no thread waits
 * for would look full for ever. So would one whose posters have deferred their doorbells: with less
 * than half of it free, the doorbell is rung. */
SHMEMD_FN uint32_t shmemdi_cq_space(const shmemdi_chan_t *c, shmemdi_call_t call)
{
	uint32_t depth = shmemdi_depth(c), done, resv, taken;

	while (shmemdi_channel_status(c) == SHMEMD_OK &&
	       shmemdi_cq_consume(c, call, shmemdi_done(c)))
		;
	if (shmemdi_channel_status(c) != SHMEMD_OK)
		return UINT32_MAX;
	/* `done` as loaded may be ahead of `resv`: both loads are relaxed, and meanwhile other
	 * threads may post WQEBBs that complete (tests/ring/test_ring_calls.c, done_ahead). */
	done = (uint32_t)SHMEMD_DONE_INDEX(shmemdi_done(c));
	resv = SHMEMD_RESV_INDEX(shmemd_arch_ld_relaxed_u64(&c->ch->resv));
	taken = shmemdi_reached(done, resv) ? 0 : resv - done;
	if (taken > depth / 2)
		shmemdi_ring_published(c);
	if (taken != 0)
		shmemdi_cq_not_yet(c);
	return taken < depth ? depth - taken : 0;
}

#endif
