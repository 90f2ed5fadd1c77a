/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The send queue of a channel (abi/queue.h), driven by any number of threads.
 *
 *   reserve   One fetch-add gives WQEBBs and request numbers. The line is loaded in the same trip.
 *   space     Wait until the WQEBBs are free. Until a poster has published what it has reserved,
 *             every later poster waits for it. So it waits only for space, for its turn, for the
 *             lanes that it posts for, for the end of a switch that another thread has begun, and
 *             for locks: the lock in `rung` and, with fail-over, if it carries out a switch or
 *             reports to the host meanwhile, the locks in `done` and in the latch's `reports`.
 *   write     The WQEs.
 *   turn      Wait until `ready` == first. The poster that has the turn is alone: everything
 *             before is published, and no later poster can publish.
 *   publish   Advance `ready` to the end of the reservation, which ends the turn.
 *   ring      The doorbell, in the turn or after it, if this poster must.
 *
 * The turn. A poster whose snapshot of the line has ready == first has the turn, and does not load
 * `ready` again. Every other poster waits by compare-and-swap on `ready`: it expects the word that
 * it will find in its turn (shmemdi_sq_expected_ready), and publishes by it. When that succeeds,
 * the turn begins and ends with it, so that no load or fence lies between one poster's publication
 * and the next. If only the count of CQEs or DEFERRED was not as expected, the poster has the turn,
 * and publishes by an addition. If something is to be done before it publishes, it takes the turn,
 * which ends when it stores `ready`:
 *   - RUNG is set in `ready`: the poster rings, or stores `rung`;
 *   - `ready` has a later epoch: the poster moves its WQEs;
 *   - the poster has to store `flush`, and so does not wait by compare-and-swap.
 *
 * Which poster rings. Some posters leave their doorbell to a later poster or to a waiter:
 *   - one that was asked to defer it, if all earlier posters that no doorbell covers yet were asked
 *     to do so, too;
 *   - one behind which another poster has reserved: that one rings for both, or leaves both
 *     doorbells to the next one under the same conditions. A poster that had the turn at once, and
 *     found RUNG or DEFERRED in `ready`, does not look for another one, since it is likely alone.
 *     One that was asked to ring, or in whose reservation a batch ends, leaves its doorbell only
 *     until it has published, so that others can go on, and rings then.
 * While `ready` has RUNG there is nothing to ring for, so no other thread rings (a helper does in a
 * switch, while no poster has the turn): a poster that rings in its turn, and publishes with RUNG,
 * needs no lock. To leave its WQEBBs unrung, a poster in its turn stores their first index to
 * `rung`, then publishes without RUNG. From then on whichever thread rings holds the lock in
 * `rung`: a waiter, a poster after its turn, or a poster in its turn, which alone sets RUNG again.
 *
 * Interleavings considered
 *   A full queue. WQEBB i is free once i - depth is complete. Everything before a blocked poster
 *   gets published (its posters wait for still earlier WQEBBs only). The blocked poster rings, if
 *   no other thread has, for what it waits for; each reservation requests a CQE. So that completes.
 *
 *   Posters that leave their doorbells to each other. A poster looks for a reservation behind its
 *   own in its turn or later. The poster that it finds publishes after it, without DEFERRED, and
 *   then rings for all that is published, or looks, too. The last one finds none, and rings. If it
 *   never publishes, the channel has failed.
 *
 *   The compare-and-swap and a switch. The expected word has the epoch of the poster's snapshot,
 *   for whose path its WQEs are written. A switch between the snapshot and the turn changes the
 *   epoch of `ready`, and the compare-and-swap fails (tests/models, CAS_ANY_EPOCH). */
#ifndef SHMEMD_IMPL_SQ_H
#define SHMEMD_IMPL_SQ_H

#include <shmem_dev/impl/room.h>

/* A reservation. A coalesced lane for which its leader has reserved has no `requests` here, and of
 * the line only `path` and `queue` (shmemdi_lanes_share). */
typedef struct shmemdi_reservation {
	uint32_t wqebbs;
	uint32_t requests;
	uint64_t resv;       /* the reservation word as it was */
	shmemdi_line_t line; /* the snapshot */
	uint32_t first;      /* its first WQEBB */
	uint32_t request;    /* number of its first request */
} shmemdi_reservation_t;

/* A reservation and its snapshot, as far as its turn needs them. */
typedef struct shmemdi_written {
	uint64_t path, queue, doorbell, ready;
	uint32_t first, end;
} shmemdi_written_t;

/* How to post. */
typedef struct shmemdi_how_t {
	uint8_t when;          /* shmemd_ring_mode */
	uint8_t needs_ticket;  /* the caller waits for the CQE, and so needs its number */
	uint8_t is_flush;      /* a READ that completes everything before it: note it in `flush` */
	uint8_t not_coalesced; /* by a lone thread, or by one that posts for its group */
} shmemdi_how_t;

SHMEMD_FN shmemdi_how_t shmemdi_how(int when, int needs_ticket)
{
	shmemdi_how_t how = {(uint8_t)when, (uint8_t)(needs_ticket != 0), 0, 0};
	return how;
}

/* Reserve */

/* Is there anything about the snapshot that a poster must wait for or act on: WQEBBs before `end`
 * that are not complete, words of different paths, another path than that of the reservation, a
 * failed channel, an idle queue? Every post executes this, so it has few comparisons. */
SHMEMD_FN int shmemdi_line_needs_slow_path(shmemdi_line_t line, uint64_t resv, uint32_t end)
{
	uint32_t epoch = SHMEMD_TAG(line.path);
	uint32_t tags = (((uint32_t)resv ^ epoch) | ((uint32_t)line.ready ^ epoch)) & 0xff;
	uint32_t others = SHMEMD_TAG((line.path ^ line.queue) | (line.path ^ line.doorbell));
	uint32_t room = (uint32_t)SHMEMD_DONE_INDEX(line.done) - end;

	return ((tags | others | SHMEMD_PATH_STATUS(line.path) | room >> 31) != 0) |
	       shmemdi_line_shows_idle(line, SHMEMD_RESV_INDEX(resv));
}

/* Reserve WQEBBs, and the numbers of `requests` requests among them. Returns the old `resv`. zero:
 * shmemd_arch_opaque_zero(), or shmemdi_leader_zero of a thread that posts for its group. */
SHMEMD_FN uint64_t shmemdi_sq_reserve_word(const shmemdi_chan_t *c, uint32_t wqebbs,
					   uint32_t requests, uint32_t zero)
{
	return shmemd_arch_atom_add_u64(&c->ch->resv, SHMEMD_RESV_ADD(wqebbs, requests) + zero);
}

/* 0, as shmemd_arch_opaque_zero, for the thread that reserves for its group: the address of a
 * channel is a multiple of 128. A special register, which shmemd_arch_opaque_zero reads, would
 * delay the reservation. Threads that post for themselves need it: the address may be equal in all
 * lanes, and with an equal operand ptxas would add up their atomics. */
SHMEMD_FN uint32_t shmemdi_leader_zero(const shmemdi_chan_t *c)
{
	return (uint32_t)(uintptr_t)c->ch & 0x40;
}

/* Reserve, and take the snapshot. The results are first needed by shmemdi_sq_needs_slow_path: loads
 * that the caller issues before that overlap with these. zero: as for shmemdi_sq_reserve_word. */
SHMEMD_FN void shmemdi_sq_reserve(const shmemdi_chan_t *c, shmemdi_reservation_t *reserved,
				  uint32_t wqebbs, uint32_t requests, uint32_t zero)
{
	reserved->wqebbs = wqebbs;
	reserved->requests = requests;
	reserved->resv = shmemdi_sq_reserve_word(c, wqebbs, requests, zero);
	reserved->line = shmemdi_line(c->ch);
}

/* All WQEBBs before this index must be complete before the reservation can be written. */
SHMEMD_FN uint32_t shmemdi_sq_space_index(const shmemdi_chan_t *c,
					  const shmemdi_reservation_t *reserved)
{
	return SHMEMD_RESV_INDEX(reserved->resv) + reserved->wqebbs - shmemdi_depth(c);
}

SHMEMD_FN int shmemdi_sq_needs_slow_path(const shmemdi_chan_t *c,
					 const shmemdi_reservation_t *reserved)
{
	return shmemdi_line_needs_slow_path(reserved->line, reserved->resv,
					    shmemdi_sq_space_index(c, reserved));
}

/* The slow path. The poster of a simple put or of a word, unless coalesced, hands its reservation
 * over instead (impl/put.h): keeping its keys across the wait would cost registers. */
SHMEMD_FN void shmemdi_sq_wait(const shmemdi_chan_t *c, shmemdi_call_t call,
			       shmemdi_reservation_t *reserved)
{
	reserved->line = shmemdi_sq_wait_room(shmemdi_ref(c), call, reserved->resv,
					      shmemdi_sq_space_index(c, reserved));
}

/* Called when the snapshot does not need the slow path, or with the snapshot that the slow path
 * returned: sets the first WQEBB and request. Returns the status of the channel. Unless that is
 * SHMEMD_OK, the caller writes nothing. If it is, the caller writes its WQEs and then submits them
 * (shmemdi_sq_submit, shmemdi_sq_submit_any or shmemdi_lanes_submit). Before it submits it
 * waits for nothing but coalesced lanes, since every later poster waits for it. */
SHMEMD_FN int shmemdi_sq_begin(shmemdi_reservation_t *reserved)
{
	/* Acquire for the loads of the line. By `done`, the NIC has read what the caller overwrites
	 * next. By `ready`, a thread that acquires this publication sees earlier posters' WQEs. */
	shmemd_arch_fence_acquire();
	reserved->first = SHMEMD_RESV_INDEX(reserved->resv);
	reserved->request = SHMEMD_RESV_REQUEST(reserved->resv);
	return (int)SHMEMD_PATH_STATUS(reserved->line.path);
}

/* Take the slow path if the snapshot needs it, then begin. */
SHMEMD_FN int shmemdi_sq_wait_begin(const shmemdi_chan_t *c, shmemdi_call_t call,
				    shmemdi_reservation_t *reserved)
{
	if (SHMEMD_ARCH_UNLIKELY(shmemdi_sq_needs_slow_path(c, reserved)))
		shmemdi_sq_wait(c, call, reserved);
	return shmemdi_sq_begin(reserved);
}

/* All of the above, where nothing is to be loaded meanwhile. */
SHMEMD_FN int shmemdi_sq_start(const shmemdi_chan_t *c, shmemdi_call_t call,
			       shmemdi_reservation_t *reserved, uint32_t wqebbs, uint32_t requests)
{
	shmemdi_sq_reserve(c, reserved, wqebbs, requests, shmemd_arch_opaque_zero());
	return shmemdi_sq_wait_begin(c, call, reserved);
}

/* Write */

/* Place of the WQE of n WQEBBs that begins `wqebb` WQEBBs and `request` requests after the start of
 * the reservation. The last WQE requests a CQE. */
SHMEMD_FN shmemdi_wqe_at_t shmemdi_sq_at(const shmemdi_reservation_t *reserved, uint32_t wqebb,
					 uint32_t n, uint32_t request)
{
	shmemdi_wqe_at_t at = {shmemdi_qp_index(reserved->line.path, reserved->first + wqebb),
			       SHMEMD_PATH_QPN_BE(reserved->line.path),
			       wqebb + n == reserved->wqebbs ? SHMEMD_MLX5_CQ_UPDATE : 0,
			       reserved->request + request};
	return at;
}

/* Store a WQE of `units` 16-byte units at the reservation's WQEBB `wqebb`. The rest of the WQEBB
 * stays as it was: the NIC reads as many units as the WQE says. */
SHMEMD_FN void shmemdi_sq_write(const shmemdi_chan_t *c, const shmemdi_reservation_t *reserved,
				uint32_t wqebb, const shmemdi_wqe_t *q, uint32_t units)
{
	char *p = shmemdi_wqebb(c, reserved->line.path, reserved->line.queue,
				reserved->first + wqebb);

	shmemd_arch_st_wqe(p, q->w[0], q->w[1], q->w[2], q->w[3]);
	shmemd_arch_st_wqe(p + 16, q->w[4], q->w[5], q->w[6], q->w[7]);
	if (units > 2)
		shmemd_arch_st_wqe(p + 32, q->w[8], q->w[9], q->w[10], q->w[11]);
	if (units > 3)
		shmemd_arch_st_wqe(p + 48, q->w[12], q->w[13], q->w[14], q->w[15]);
	if (units > 4)
		shmemd_arch_st_wqe(shmemdi_wqebb(c, reserved->line.path, reserved->line.queue,
						 reserved->first + wqebb + 1),
				   q->w[16], q->w[17], q->w[18], q->w[19]);
}

/* Turn. Loads of `ready`, `path` and `resv` by a poster that waits for its turn or has waited, and
 * all stores to `ready`, are .mmio accesses. With another strong load of `path` beside the
 * compare-and-swap, 32 warps on one channel take 241 to 247 ns a put, with the .mmio load 186 to
 * 189 ns (H200). The cause is not known. */

/* `ready`, found as `ready`, after the reservation before `end` is published, with these flags. */
SHMEMD_FN uint64_t shmemdi_sq_next_ready(uint64_t ready, uint32_t end, uint32_t flags)
{
	uint32_t low = (uint32_t)ready & ~(SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED);

	return (uint64_t)end << 32 | ((low | flags) + 0x10000u);
}

/* May a poster that finds this `ready` leave its doorbell to a waiter or to a later poster, whether
 * or not there is one? Only if the doorbell of every WQEBB that is not rung for was deferred.
 * Otherwise the WQEs of a poster that relied on the next one to ring might never be sent: perhaps
 * no thread waits for them. */
SHMEMD_FN int shmemdi_sq_may_defer(uint64_t ready, int when)
{
	return when == SHMEMD_RING_DEFERRED &&
	       ((uint32_t)ready & (SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED)) != 0;
}

/* `ready` after a poster that found this `ready` has published without ringing. */
SHMEMD_FN uint64_t shmemdi_sq_unrung_ready(uint64_t ready, uint32_t end, int when)
{
	return shmemdi_sq_next_ready(ready, end,
				     shmemdi_sq_may_defer(ready, when) ? SHMEMD_READY_DEFERRED : 0);
}

/* The `ready` that a poster expects to find in its turn, computed from the one that it saw last. It
 * assumes that each poster in between has reserved as many WQEBBs as this one, and left its
 * doorbell; and that these posters defer their doorbells if DEFERRED is set or, where RUNG is set,
 * if this poster does. If that is wrong, the compare-and-swap fails once more. The number of
 * posters is exact if the WQEBBs of each are a power of two: it is computed by a shift, because a
 * division would be in the loop. */
SHMEMD_FN uint64_t shmemdi_sq_expected_ready(const shmemdi_written_t *at, uint64_t seen, int when)
{
	uint32_t wqebbs = at->end - at->first;
	uint32_t cqes = (at->first - SHMEMD_READY_INDEX(seen)) >> shmemd_arch_popc(wqebbs - 1);
	uint32_t flags = (uint32_t)seen & SHMEMD_READY_DEFERRED;

	if (seen & SHMEMD_READY_RUNG)
		flags = when == SHMEMD_RING_DEFERRED ? SHMEMD_READY_DEFERRED : 0;
	return SHMEMD_READY_WORD(at->first, SHMEMD_READY_CQES(seen) + cqes,
				 SHMEMD_TAG(at->path) | flags);
}

/* How the wait for the turn ends. */
enum shmemdi_turn {
	SHMEMDI_TURN_TAKEN,     /* the caller has it */
	SHMEMDI_TURN_PUBLISHED, /* it is over; `ready` had no RUNG, and has none now */
	SHMEMDI_TURN_FAILED,    /* the channel has failed */
};

/* By a poster whose WQEs are written and whose snapshot is of an earlier turn: wait for the turn,
 * and publish in it if nothing else is to be done there. must_take: something is. *ready gets the
 * `ready` of the turn, as it was. */
SHMEMD_FN int shmemdi_sq_wait_turn(shmemd_channel_t *ch, const shmemdi_written_t *at, int when,
				   int must_take, uint64_t *ready)
{
	uint64_t seen = at->ready, expected, path;

	shmemd_arch_fence_before_publish();
	do {
		expected = shmemdi_sq_expected_ready(at, seen, when);
		if (must_take)
			seen = shmemd_arch_ld_mmio_u64(&ch->ready);
		else
			seen = shmemd_arch_atom_cas_u64(
				&ch->ready, expected,
				shmemdi_sq_unrung_ready(expected, at->end, when));
		path = shmemd_arch_ld_mmio_u64(&ch->path);
		shmemd_arch_spin_hint();
	} while (SHMEMD_READY_INDEX(seen) != at->first && !SHMEMD_PATH_STATUS(path));
	/* Acquire. What this poster rings for are WQEs of others, too; what a failed channel has
	 * completed is complete; `rung` is not older than the `ready` without RUNG. */
	shmemd_arch_fence_acquire();
	*ready = seen;
	if (SHMEMD_READY_INDEX(seen) != at->first)
		return SHMEMDI_TURN_FAILED;
	if (must_take || (seen & SHMEMD_READY_RUNG) ||
	    SHMEMD_READY_EPOCH(seen) != SHMEMD_TAG(at->path))
		return SHMEMDI_TURN_TAKEN;
	/* This poster has the turn, although it expected another word. It adds, because a store
	 * would need a fence before it: a thread that acquires `ready` synchronises with the
	 * earlier posters, too, through atomics alone, or through a store after a fence. */
	if (seen != expected)
		shmemd_arch_red_add_u64(&ch->ready,
					shmemdi_sq_unrung_ready(seen, at->end, when) - seen);
	return SHMEMDI_TURN_PUBLISHED;
}

/* Has another poster reserved behind `end`? Loads the reservation word up to `looks` times, 0.15 us
 * each. A poster that misses the one behind it rings a doorbell that the other would have rung:
 * with 1 load, 2 warps on one channel take 1.4 times as long a put as with 3. The number of loads
 * matters for speed alone, so no test fails with another one. */
SHMEMD_FN int shmemdi_sq_is_followed(const shmemd_channel_t *ch, uint32_t end, uint32_t looks)
{
	uint32_t index;

	do {
		index = SHMEMD_RESV_INDEX(shmemd_arch_ld_mmio_u64(&ch->resv));
		if (index != end && shmemdi_reached(index, end))
			return 1;
	} while (--looks);
	return 0;
}

/* In the turn, before it publishes: keep `flush` from lagging 2^32 WQEBBs behind `ready`, where its
 * index would equal that of `ready` again and seem to cover what was never flushed. The poster of a
 * flush READ stores its own end. Any other poster whose reservation reaches a multiple of 2^30
 * WQEBBs moves `flush` to 2^30 behind its own WQEBBs if `flush` lags by 2^30 or more. If it lags by
 * less it stays, since a thread may be about to wait for that READ. So at the next multiple it lags
 * by 2^31 and one reservation's WQEBBs at most. */
#define SHMEMDI_FLUSH_LOG_STEP 30u

SHMEMD_FN int shmemdi_sq_ends_step(uint32_t first, uint32_t end)
{
	return (first ^ end) >> SHMEMDI_FLUSH_LOG_STEP != 0;
}

/* By the poster of a flush READ, or one whose reservation ends such a step. */
SHMEMD_FN void shmemdi_sq_note_flush(const shmemdi_chan_t *c, const shmemdi_written_t *at,
				     shmemdi_how_t how, uint64_t ready)
{
	uint32_t step = (uint32_t)1 << SHMEMDI_FLUSH_LOG_STEP, index = at->first - step;

	if (how.is_flush)
		index = at->end;
	else if (at->first - SHMEMD_READY_INDEX(shmemd_arch_ld_relaxed_u64(&c->ch->flush)) < step)
		return;
	shmemd_arch_st_relaxed_u64(&c->ch->flush, SHMEMD_READY_WORD(index, SHMEMD_READY_CQES(ready),
								    SHMEMD_READY_EPOCH(ready)));
}

/* In the turn, with a `ready` of a later epoch than that of the WQEs: move them to the path that
 * the channel has now. Their ticket keeps naming the old queue, and is waited for by index. A flush
 * READ, which `flush` has with the new epoch, is waited for by number (shmemdi_flush_wait). */
SHMEMD_FN void shmemdi_sq_move(const shmemdi_chan_t *c, shmemdi_written_t *at)
{
	shmemdi_line_t line = shmemdi_line(c->ch);
	shmemdi_move_t to = {at->path, at->queue, line.path, line.queue, 0, 0, 0, 0};

	shmemdi_move_written(*c, to, at->first, at->end);
	at->path = line.path;
	at->queue = line.queue;
	at->doorbell = line.doorbell;
}

/* In the turn: publish, and leave the doorbell to a later poster, to a waiter, or to this one after
 * its turn. A store is enough: the poster has acquired what the one before it released, so a thread
 * that acquires `ready` has synchronised with all of them. */
SHMEMD_FN void shmemdi_sq_publish_unrung(shmemd_channel_t *ch, const shmemdi_written_t *at,
					 uint64_t ready, int when)
{
	if (ready & SHMEMD_READY_RUNG)
		shmemd_arch_st_relaxed_u64(&ch->rung, SHMEMD_RUNG_WORD(at->first));
	shmemd_arch_fence_before_publish();
	shmemd_arch_st_mmio_u64(&ch->ready, shmemdi_sq_unrung_ready(ready, at->end, when));
}

/* In the turn: ring for everything before at->end, and publish. */
SHMEMD_FN void shmemdi_sq_publish_rung(const shmemdi_chan_t *c, const shmemdi_written_t *at,
				       uint64_t ready)
{
	int needs_lock = !(ready & SHMEMD_READY_RUNG);

	if (needs_lock)
		shmemdi_lock(&c->ch->rung);
	shmemdi_ring(c, at->path, at->queue, at->doorbell, at->end);
	if (needs_lock) {
		shmemd_arch_unlock(&c->ch->rung, SHMEMD_RUNG_WORD(at->end));
		/* Without this fence the unlock could become visible after `ready`: another thread
		 * that has acquired `ready` and locked `rung` would lose its lock. */
		shmemd_arch_fence_before_publish();
	}
	shmemd_arch_st_mmio_u64(&c->ch->ready,
				shmemdi_sq_next_ready(ready, at->end, SHMEMD_READY_RUNG));
}

/* By a poster that the plain case below does not cover, by the poster of a flush READ, and for work
 * requests (shmemdi_wr_post_lanes), whose code is small, not fast. Returns the ticket's word. */
SHMEMD_FN_CALL uint64_t shmemdi_sq_submit_any(shmemdi_chan_t c, shmemdi_written_t at,
					      shmemdi_how_t how)
{
	int had_turn = SHMEMD_READY_INDEX(at.ready) == at.first;
	int notes_flush = how.is_flush || shmemdi_sq_ends_step(at.first, at.end);
	int must_ring =
		how.when == SHMEMD_RING_NOW || (at.first ^ at.end) >> SHMEMD_LOG_BATCH(c.geometry);
	int is_alone = had_turn && (at.ready & (SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED)) != 0;
	int turn = SHMEMDI_TURN_TAKEN, may_defer, is_followed = 1;
	uint64_t ready = at.ready, ticket;

	if (!had_turn)
		turn = shmemdi_sq_wait_turn(c.ch, &at, how.when, notes_flush, &ready);
	if (turn == SHMEMDI_TURN_FAILED)
		return SHMEMD_READY_WORD(at.end, 0, SHMEMDI_TICKET_VOID);
	ticket = SHMEMD_READY_WORD(at.end, SHMEMD_READY_CQES(ready), SHMEMD_READY_EPOCH(ready));
	if (SHMEMD_READY_EPOCH(ready) != SHMEMD_TAG(at.path))
		shmemdi_sq_move(&c, &at);
	if (notes_flush)
		shmemdi_sq_note_flush(&c, &at, how, ready);
	may_defer = shmemdi_sq_may_defer(ready, how.when);
	if (turn == SHMEMDI_TURN_TAKEN) {
		if (!may_defer &&
		    (is_alone || !shmemdi_sq_is_followed(c.ch, at.end, must_ring ? 1 : 3))) {
			shmemdi_sq_publish_rung(&c, &at, ready);
			return ticket;
		}
		shmemdi_sq_publish_unrung(c.ch, &at, ready, how.when);
	} else if (!may_defer && !must_ring) {
		is_followed = shmemdi_sq_is_followed(c.ch, at.end, 3);
	}
	if (!may_defer && (must_ring || !is_followed))
		shmemdi_ring_unrung(&c, at.end);
	return ticket;
}

/* Has a poster with this snapshot the turn, and nothing to do in it but to publish and to ring or
 * leave the doorbell: no lock to take, no doorbell proxy, no flush to note? shmemdi_sq_submit
 * executes this for each post, so it has few comparisons. */
SHMEMD_FN int shmemdi_sq_is_plain(const shmemdi_written_t *at, int when)
{
	uint32_t flags = when == SHMEMD_RING_DEFERRED ? SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED
						      : SHMEMD_READY_RUNG;

	return ((SHMEMD_READY_INDEX(at->ready) ^ at->first) |
		(at->first ^ at->end) >> SHMEMDI_FLUSH_LOG_STEP |
		((uint32_t)at->path & SHMEMD_PATH_PROXY)) == 0 &&
	       ((uint32_t)at->ready & flags) != 0;
}

SHMEMD_FN shmemdi_written_t shmemdi_sq_written(const shmemdi_reservation_t *reserved)
{
	shmemdi_written_t at = {reserved->line.path,     reserved->line.queue,
				reserved->line.doorbell, reserved->line.ready,
				reserved->first,         reserved->first + reserved->wqebbs};
	return at;
}

SHMEMD_FN void shmemdi_sq_count(const shmemdi_chan_t *c, const shmemdi_reservation_t *reserved,
				uint32_t zero)
{
	shmemd_arch_red_add_u64(&c->ch->requests, reserved->requests + zero);
}

/* Publish what is written, after a begin that succeeded. zero: shmemdi_path_zero, or
 * shmemdi_thread_zero. */
SHMEMD_FN shmemdi_ticket_t shmemdi_sq_submit(const shmemdi_chan_t *c,
					     const shmemdi_reservation_t *reserved,
					     shmemdi_how_t how, uint32_t zero)
{
	shmemdi_written_t at = shmemdi_sq_written(reserved);
	shmemdi_ticket_t ticket = {SHMEMD_READY_WORD(at.end, SHMEMD_READY_CQES(at.ready),
						     SHMEMD_READY_EPOCH(at.ready)),
				   at.queue};

	shmemdi_sq_count(c, reserved, zero);
	if (SHMEMD_ARCH_UNLIKELY(!shmemdi_sq_is_plain(&at, how.when))) {
		ticket.word = SHMEMD_ARCH_INDIRECT(shmemdi_sq_submit_any)(*c, at, how);
	} else if (how.when == SHMEMD_RING_DEFERRED) {
		shmemdi_sq_publish_unrung(c->ch, &at, at.ready, how.when);
	} else {
		shmemdi_ring_nic(c, at.path, at.queue, at.doorbell, at.end, zero);
		/* shmemdi_sq_next_ready with RUNG, of a `ready` that has RUNG and not DEFERRED. */
		shmemd_arch_st_mmio_u64(&c->ch->ready,
					(uint64_t)at.end << 32 | ((uint32_t)at.ready + 0x10000u));
	}
	return ticket;
}

#endif
