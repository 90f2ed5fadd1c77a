/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The send and completion queue of a channel (abi/ring.h), driven by any number of threads.
 *
 * To post: reserve slots, wait until they are free, write WQEs, publish them in order, ring.
 *
 *   reserve   One fetch-add: slots, requests, and whether the channel is open. Between it and
 *             publish nothing is waited for but these slots: whoever comes later in the queue waits
 *             for us.
 *   publish   In order of reservation, so that [first, ready) never has a hole. By atomics only: a
 *             thread that reads `ready` has then synchronised with all who published before.
 *   ring      A doorbell costs more than a WQE, so slots wait for each other: it is rung by whoever
 *             finds that nobody has reserved after him, or that his slots end a batch. One thread
 *             rings at a time, for all that is ready; the others leave as soon as their slots are
 *             told of. Records and doorbells so never go back.
 *   complete  Any thread that waits reads CQEs, in order, and says how far the queue has come.
 *
 * Who waits for a slot first makes sure that it is rung: a poster may have left its slots to a
 * later one, which now waits for them.
 *
 * Interleavings considered
 *   A full queue. Slot i is free once i - depth is complete. Everything before a blocked poster
 *   gets published (its posters wait for still earlier slots only), is rung by the blocked poster
 *   itself, and the last WQE of each reservation asks for a CQE. So its slots come.
 *   Two consumers of one CQE. Both compute the same; one compare-and-swap wins, and the loser's
 *   reading, which may be of a reused block, is forgotten.
 *   An old CQE. The owner bit is the same two laps ago. The second look at `done`, with acquire,
 *   makes sure that what the reader of the last lap's CQE saw was seen here.
 *   After an error nobody advances `done`: the CQE with the cause stays where all look. */
#ifndef SHMEMD_IMPL_RING_H
#define SHMEMD_IMPL_RING_H

#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/impl/cqe.h>
#include <shmem_dev/impl/spin.h>
#include <shmem_dev/impl/wqe.h>

/* A channel on behalf of a call. */
typedef struct shmemdi_chan {
	const shmemd_ctx_t *ctx;
	const shmemd_channel_t *ch;
	shmemd_ring_t *ring;
	shmemdi_call_t call;
	int pe;                /* of the context's team */
	uint32_t k;            /* the channel's number */
	shmemdi_limit_t limit; /* of waits for completion */
} shmemdi_chan_t;

/* The index with those low bits that is nearest to `near`. */
SHMEMD_FN uint64_t shmemdi_index(uint64_t near, uint64_t word, uint32_t bits)
{
	return near + (uint64_t)((int64_t)((word - near) << (64 - bits)) >> (64 - bits));
}

/* Slots completed, of which `near` is not more than 2^39 away. */
SHMEMD_FN uint64_t shmemdi_done_slots(uint64_t word, uint64_t near)
{
	return shmemdi_index(near, word, SHMEMD_DONE_SLOT_BITS);
}

SHMEMD_FN int shmemdi_reached(uint64_t at, uint64_t target)
{
	return (int64_t)(at - target) >= 0;
}

SHMEMD_FN char *shmemdi_block(const shmemd_channel_t *ch, uint64_t index)
{
	return ch->wqes + (index & (ch->depth - 1)) * SHMEMD_WQEBB_NBYTES;
}

/* Why nothing goes out any more; SHMEMD_OK: it does. */
SHMEMD_FN int shmemdi_ring_dead(const shmemdi_chan_t *c)
{
	return (int)shmemd_arch_ld_relaxed_u32(&c->ring->dead);
}

/* Nothing goes out from now on; the first cause stays. */
SHMEMD_FN void shmemdi_ring_stop(const shmemdi_chan_t *c, int status)
{
	shmemd_arch_atom_cas_u32(&c->ring->dead, 0, (uint32_t)status);
	shmemd_arch_atom_or_u64(&c->ring->resv, SHMEMD_RESV_CLOSED);
}

/* Ringing */

SHMEMD_FN void shmemdi_ring_doorbell(const shmemd_path_t *path, uint64_t index)
{
	if (!path->doorbell) {
		shmemd_arch_st_relaxed_u64(path->producer, index);
		return;
	}
	shmemd_arch_st_relaxed_u32(path->dbr, shmemd_arch_bswap32((uint32_t)index & 0xffff));
	shmemd_arch_fence_before_doorbell();
	shmemd_arch_st_doorbell(path->doorbell, shmemdi_doorbell(index, path->qpn));
}

/* Requests reserved so far, for the counters: 24 bits of them are known, and that they have grown
 * by fewer than 2^24 since. */
SHMEMD_FN void shmemdi_ring_count(shmemd_ring_t *ring, uint64_t ready)
{
	uint64_t requests = shmemd_arch_ld_relaxed_u64(&ring->requests);
	uint64_t word = shmemd_arch_ld_relaxed_u64(&ring->resv);
	uint64_t slots = shmemdi_index(ready, word >> 1, SHMEMD_RESV_SLOT_BITS);
	uint32_t now = SHMEMD_RESV_REQUESTS(word) - (uint32_t)(slots >> SHMEMD_RESV_SLOT_BITS);

	requests += (now - (uint32_t)requests) & 0xffffff;
	shmemd_arch_st_relaxed_u64(&ring->requests, requests);
	shmemd_arch_st_relaxed_u64(&ring->doorbells,
				   shmemd_arch_ld_relaxed_u64(&ring->doorbells) + 1);
}

/* By the holder of the lock: tell the NIC of all that is ready. */
SHMEMD_FN void shmemdi_ring_all(shmemd_ring_t *ring)
{
	uint64_t ready = shmemd_arch_ld_relaxed_u64(&ring->ready);
	const shmemd_path_t *path =
		(const shmemd_path_t *)(uintptr_t)shmemd_arch_ld_relaxed_u64(&ring->path);

	if (shmemdi_reached(shmemd_arch_ld_relaxed_u64(&ring->rung), ready))
		return;
	shmemd_arch_fence_before_dbr();
	shmemdi_ring_doorbell(path, ready);
	shmemd_arch_st_relaxed_u64(&ring->rung, ready);
	shmemdi_ring_count(ring, ready);
}

/* Come back when the NIC has been told of all slots before `end`, which are ready. Holders of the
 * lock wait for nothing, and whoever takes it after us tells of our slots, too. */
SHMEMD_FN void shmemdi_ring_until(const shmemdi_chan_t *c, uint64_t end)
{
	shmemd_ring_t *ring = c->ring;

	while (!shmemdi_reached(shmemd_arch_ld_relaxed_u64(&ring->rung), end)) {
		if (shmemd_arch_ld_relaxed_u32(&ring->lock) != 0 ||
		    !shmemd_arch_try_lock(&ring->lock)) {
			shmemd_arch_spin_hint();
			continue;
		}
		shmemdi_ring_all(ring);
		/* weakened gpu: harmless, only threads of this GPU take the lock. */
		shmemd_arch_st_release_u32(&ring->lock, 0);
	}
}

/* Completions */

SHMEMD_FN const char *shmemdi_cqe(const shmemdi_chan_t *c, uint64_t done)
{
	return c->ch->cqes +
	       (size_t)(SHMEMD_DONE_CQES(done) & (c->ch->depth - 1)) * SHMEMD_CQE_NBYTES;
}

/* The tail of the CQE that is next after `done`; its opcode is INVALID if it is not there yet. */
SHMEMD_FN uint64_t shmemdi_cqe_look(const shmemdi_chan_t *c, uint64_t done)
{
	uint64_t tail = shmemd_arch_ld_relaxed_u64(shmemdi_cqe(c, done) + SHMEMD_CQE_TAIL);

	if (shmemdi_cqe_is(tail, SHMEMD_DONE_CQES(done), c->ch->depth))
		return tail;
	return (uint64_t)SHMEMD_CQE_INVALID << 60;
}

/* Blocks of the WQE that a CQE completes. Of the opcodes that we use one has two lengths, and only
 * the WQE itself tells which; it is still there, or the caller's compare-and-swap fails. */
SHMEMD_FN uint32_t shmemdi_cqe_blocks(const shmemdi_chan_t *c, uint64_t tail)
{
	uint32_t ds;

	if (shmemdi_cqe_wqe_opcode(tail) != SHMEMD_MLX5_ATOMIC_MASKED_CS)
		return 1;
	ds = shmemd_arch_bswap32(shmemd_arch_ld_relaxed_u32(
		     shmemdi_block(c->ch, shmemdi_cqe_counter(tail)) + 4)) &
	     0x3f;
	return ds > 4 ? 2 : 1;
}

/* What went wrong, in full, once; then stop the channel. The last look at `done`: if that has moved
 * on, what was read may be a CQE of a later lap, not the cause. */
SHMEMD_FN void shmemdi_cqe_error(const shmemdi_chan_t *c, uint64_t done, uint64_t tail)
{
	uint64_t synd = shmemd_arch_ld_relaxed_u64(shmemdi_cqe(c, done) + SHMEMD_CQE_SYNDROMES);
	uint32_t opcode = shmemdi_cqe_wqe_opcode(tail);
	uint32_t syndrome = (uint32_t)(synd >> 56), vendor = (uint32_t)(synd >> 48) & 0xff;
	shmemdi_call_t call = c->call;
	int status = shmemdi_syndrome_status(syndrome);

	/* weakened removed, gpu: not seen to fail: CQEs of two laps would have to come between two
	 * loads, and the fence in consume orders the first of them already. */
	shmemd_arch_fence_after_cqe();
	if (shmemd_arch_ld_relaxed_u64(&c->ring->done) != done)
		return;
	call.op = shmemdi_wqe_op(opcode);
	if (shmemdi_ring_dead(c) == SHMEMD_OK)
		shmemdi_record(c->ctx, call, status, c->pe,
			       (const void *)(uintptr_t)shmemdi_cqe_counter(tail),
			       (uint64_t)shmemdi_cqe_qpn(tail) << 32 | opcode << 16 | vendor << 8 |
				       syndrome,
			       0);
	shmemdi_ring_stop(c, status);
}

/* Read one CQE if one is there: 1, `done` may have moved on; 0: none. */
SHMEMD_FN int shmemdi_consume(const shmemdi_chan_t *c)
{
	uint64_t done = shmemd_arch_ld_relaxed_u64(&c->ring->done);
	uint64_t tail = shmemdi_cqe_look(c, done);
	uint64_t end;

	if (shmemdi_cqe_opcode(tail) == SHMEMD_CQE_INVALID)
		return 0;
	/* weakened gpu: harmless, only threads of this GPU change `done`. */
	if (shmemd_arch_ld_acquire_u64(&c->ring->done) != done)
		return 1;
	tail = shmemdi_cqe_look(c, done);
	if (shmemdi_cqe_opcode(tail) == SHMEMD_CQE_INVALID)
		return 1;
	shmemd_arch_fence_after_cqe();
	if (shmemdi_cqe_opcode(tail) != SHMEMD_CQE_REQ) {
		shmemdi_cqe_error(c, done, tail);
		return 1;
	}
	end = shmemdi_index(done, shmemdi_cqe_counter(tail), 16) + shmemdi_cqe_blocks(c, tail);
	shmemd_arch_atom_cas_u64(&c->ring->done, done,
				 SHMEMD_DONE_WORD(SHMEMD_DONE_CQES(done) + 1, end));
	return 1;
}

/* Is `target` complete? With acquire: what its WQEs brought can be read. */
SHMEMD_FN int shmemdi_is_done(const shmemdi_chan_t *c, uint64_t target)
{
	uint64_t done = shmemd_arch_ld_relaxed_u64(&c->ring->done);

	if (!shmemdi_reached(shmemdi_done_slots(done, target), target))
		return 0;
	/* weakened gpu: harmless, only threads of this GPU change `done`. */
	(void)shmemd_arch_ld_acquire_u64(&c->ring->done);
	return 1;
}

/* One look at how far the queue has come, and what can be done about it. Returns whether `target`
 * is complete; if not, *status may tell why it never will be. What was complete before the channel
 * failed counts. */
SHMEMD_FN int shmemdi_ring_poll(const shmemdi_chan_t *c, uint64_t target, int *status)
{
	shmemd_ring_t *ring = c->ring;

	*status = SHMEMD_OK;
	if (shmemdi_is_done(c, target))
		return 1;
	*status = shmemdi_ring_dead(c);
	if (*status != SHMEMD_OK) {
		/* weakened gpu: harmless, only threads of this GPU change `dead` and `done`. */
		shmemd_arch_fence_after_cqe();
		if (!shmemdi_is_done(c, target))
			return 0;
		*status = SHMEMD_OK;
		return 1;
	}
	if (!shmemdi_reached(shmemd_arch_ld_relaxed_u64(&ring->rung), target) &&
	    shmemdi_reached(shmemd_arch_ld_relaxed_u64(&ring->ready), target))
		shmemdi_ring_until(c, target);
	(void)shmemdi_consume(c);
	return 0;
}

/* Wait until all slots before `target` are complete; nothing is recorded. */
SHMEMD_FN int shmemdi_ring_wait_for(const shmemdi_chan_t *c, uint64_t target, shmemdi_spin_t *spin)
{
	int status;

	while (!shmemdi_ring_poll(c, target, &status)) {
		if (status == SHMEMD_OK)
			status = shmemdi_spin_turn(c->ctx, spin);
		if (status != SHMEMD_OK)
			return status;
	}
	return SHMEMD_OK;
}

/* Its end goes into the record: a dead PE, and a time limit that the caller has not named. What has
 * stopped the channel is there already. */
SHMEMD_FN int shmemdi_ring_ended(const shmemdi_chan_t *c, const shmemdi_spin_t *spin, int status,
				 uint64_t target)
{
	if (shmemdi_spin_recorded(spin, status))
		shmemdi_record(c->ctx, c->call, status, c->pe, 0,
			       shmemd_arch_ld_relaxed_u64(&c->ring->done), target);
	return status;
}

SHMEMD_FN int shmemdi_ring_wait(const shmemdi_chan_t *c, uint64_t target)
{
	shmemdi_spin_t spin = shmemdi_spin(c->limit);

	return shmemdi_ring_ended(c, &spin, shmemdi_ring_wait_for(c, target, &spin), target);
}

/* Slots that are free and not reserved. CQEs that are there are read first: else a queue that
 * nobody waits for would look full for ever. */
SHMEMD_FN uint32_t shmemdi_ring_space(const shmemdi_chan_t *c)
{
	uint64_t word, taken;

	while (shmemdi_ring_dead(c) == SHMEMD_OK && shmemdi_consume(c))
		;
	word = shmemd_arch_ld_relaxed_u64(&c->ring->resv) >> 1;
	taken = word - shmemd_arch_ld_relaxed_u64(&c->ring->done);
	taken &= ((uint64_t)1 << SHMEMD_RESV_SLOT_BITS) - 1;
	return taken < c->ch->depth ? c->ch->depth - (uint32_t)taken : 0;
}

#endif
