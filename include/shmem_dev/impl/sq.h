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
 *   turn      Wait until `ready` == first. The poster that has the turn is alone: everything before
 *             is written, and no later poster can publish.
 *   ring      The doorbell, if this poster must; then publish, with one store to `ready`.
 *
 * The turn. A poster whose snapshot of the line has ready == first has the turn, and does not load
 * `ready` again: it rings and publishes. Others wait. One that will not wait for its own completion
 * first marks its reservation as written; one that will does not mark, because it learns the number
 * of its CQE in its own turn. A poster that had to wait for its turn, marked or not, also publishes
 * the reservations that directly follow its own and are marked with the epoch of `ready`, about
 * half a queue at most, and if it rings, it rings for them, too.
 *
 * Which poster rings. A poster in its turn rings, unless
 *   - it was asked to defer its doorbell, and so was every other poster that it publishes for, and
 *     every earlier one that no doorbell covers yet; or
 *   - it had to wait for its turn, another poster has reserved behind it, no batch ends here, and
 *     none of those that it publishes must ring now: the poster behind it then rings for all of
 *     them, or leaves them to the next one under the same conditions.
 * While `ready` has RUNG there is nothing to ring for, so no other thread rings (a helper does in a
 * switch, while no poster has the turn): the poster in its turn needs no lock. To leave its WQEBBs
 * unrung it stores their first index to `rung`, then publishes without RUNG. From then on whichever
 * thread rings holds the lock in `rung`.
 *
 * Interleavings considered
 *   A full queue. WQEBB i is free once i - depth is complete. Everything before a blocked poster
 *   gets published (its posters wait for still earlier WQEBBs only). The blocked poster rings, if
 *   no other thread has, for what it waits for; each reservation requests a CQE. So that completes.
 *
 *   A mark and the turn. The reservation of poster Q begins at index F. Poster P publishes up to F
 *   without having seen Q's mark; Q then reads ready == F, and has the turn. If P has seen the
 *   mark, P publishes past F, and Q never reads ready == F. Only the poster that has the turn reads
 *   marks, so no two publish one reservation.
 *
 *   An old mark. A mark is cleared in the turn that publishes its reservation: 2^32 WQEBBs later
 *   the same first index would make it valid again (tests/models, MARK_KEPT). */
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

/* Turn. A poster publishes by a store to `ready`; one that has to wait for its turn may store a
 * mark before. These stores are .mmio accesses, and so are the loads of `ready`, `path`, `resv` and
 * the marks by a poster that waits for its turn, or has waited. Time of a put, 32 warps on one
 * channel, in runs of one day on H200s (in brackets: two other variants of the code before them):
 *
 *                                    rings                doorbell deferred
 *   all of them .mmio                226 - 234 ns (245)   209 - 216 ns (223)
 *   only the stores                  249                  222
 *   only the loads                   264                  233
 *   none: other strong accesses      249 - 254            222 - 230
 *
 * The cause is not known. */

/* What the thread that has the turn will publish. */
typedef struct shmemdi_turn {
	uint64_t ready;  /* as it found it */
	uint32_t end;    /* of its own reservation, and of those that it publishes for */
	uint32_t cqes;   /* that they request; 0: this poster has nothing to publish */
	int is_deferred; /* all of them were asked to defer the doorbell */
	int is_now;      /* some of them were asked to ring it before they return */
	int is_followed; /* another has reserved behind `end`; 0 if this one had the turn at once */
} shmemdi_turn_t;

/* The turn of a poster whose snapshot has ready == first. */
SHMEMD_FN shmemdi_turn_t shmemdi_turn_now(const shmemdi_written_t *at, int when)
{
	shmemdi_turn_t turn = {
		at->ready, at->end, 1, when == SHMEMD_RING_DEFERRED, when == SHMEMD_RING_NOW, 0};
	return turn;
}

/* The mark of the reservation that begins at `index`. */
SHMEMD_FN uint64_t *shmemdi_mark(shmemd_channel_t *ch, uint32_t depth, uint32_t index)
{
	return (uint64_t *)(void *)(ch + 1) + (index & (depth - 1));
}

#define SHMEMDI_MARKS_AT_ONCE 8u

/* Take over marked reservations that follow. The thread loads 8 marks in one trip, and the next 8
 * if the run of marked reservations goes past them; it stops after half a queue, so that the turn
 * ends. The loops over the 8 marks are unrolled, because a variable index would put the marks into
 * local memory: then 32 warps on one channel took 12 % longer a put (H200). */
SHMEMD_FN void shmemdi_sq_combine(shmemd_channel_t *ch, uint32_t depth, shmemdi_turn_t *turn)
{
	uint32_t stop = turn->end + depth / 2;
	uint32_t tag = SHMEMD_MARK_SET | SHMEMD_READY_EPOCH(turn->ready);
	uint32_t any = 0, all = ~(uint32_t)0; /* flags */
	uint64_t marks[SHMEMDI_MARKS_AT_ONCE];
	uint32_t i, at;

	do {
		at = turn->end;
		for (i = 0; i < SHMEMDI_MARKS_AT_ONCE; i++)
			marks[i] = shmemd_arch_ld_mmio_u64(shmemdi_mark(ch, depth, at + i));
		for (i = 0; i < SHMEMDI_MARKS_AT_ONCE; i++) {
			/* The first mark was not taken (0 - 1 wraps), or it covers all 8 places. */
			if (i == 1 && turn->end - at - 1 >= SHMEMDI_MARKS_AT_ONCE - 1)
				break;
			if (((turn->end ^ (at + i)) | (SHMEMD_MARK_FIRST(marks[i]) ^ (at + i)) |
			     (SHMEMD_MARK_TAG(marks[i]) ^ tag)) != 0)
				continue;
			shmemd_arch_st_mmio_u64(shmemdi_mark(ch, depth, at + i), SHMEMD_MARK_NONE);
			turn->end += SHMEMD_MARK_WQEBBS(marks[i]);
			turn->cqes++;
			any |= (uint32_t)marks[i];
			all &= (uint32_t)marks[i];
		}
	} while (turn->end - at >= SHMEMDI_MARKS_AT_ONCE && !shmemdi_reached(turn->end, stop));
	turn->is_deferred &= (all & SHMEMD_MARK_DEFERRED) != 0;
	turn->is_now |= (any & SHMEMD_MARK_NOW) != 0;
}

/* Has another poster reserved behind `end`, by this reservation word? */
SHMEMD_FN int shmemdi_sq_is_followed(uint64_t resv, uint32_t end)
{
	uint32_t index = SHMEMD_RESV_INDEX(resv);

	return index != end && shmemdi_reached(index, end);
}

/* By a poster whose WQEs in [first, end) are written: get the turn, or return with turn.cqes 0 if
 * another has published them or the channel has failed. mark: to store for posters that have the
 * turn earlier, or SHMEMD_MARK_NONE. A poll takes one trip to memory. The marks and the reservation
 * word are loaded in the turn, in one trip; loaded in each poll they cost 32 warps 3 % (H200). */
SHMEMD_FN shmemdi_turn_t shmemdi_sq_take_turn(shmemd_channel_t *ch, uint32_t depth, uint32_t first,
					      uint32_t end, uint64_t mark, int when)
{
	shmemdi_turn_t turn = {0, end, 0, when == SHMEMD_RING_DEFERRED, when == SHMEMD_RING_NOW, 0};
	uint64_t path, resv;
	uint32_t looks;

	shmemd_arch_fence_before_publish();
	if (mark != SHMEMD_MARK_NONE)
		shmemd_arch_st_mmio_u64(shmemdi_mark(ch, depth, first), mark);
	for (;;) {
		turn.ready = shmemd_arch_ld_mmio_u64(&ch->ready);
		path = shmemd_arch_ld_mmio_u64(&ch->path);
		if (SHMEMD_READY_INDEX(turn.ready) == first)
			break;
		if (shmemdi_reached(SHMEMD_READY_INDEX(turn.ready), first) ||
		    SHMEMD_PATH_STATUS(path)) {
			/* Acquire: another poster has published for this one, or the channel has
			 * failed. What that publication covers, including the bit in `used`, must
			 * be visible to a later quiet of this thread or of its coalesced lanes
			 * (tests/explore, ring_order). */
			shmemd_arch_fence_acquire();
			return turn;
		}
		shmemd_arch_spin_hint();
	}
	if (mark != SHMEMD_MARK_NONE)
		shmemd_arch_st_mmio_u64(shmemdi_mark(ch, depth, first), SHMEMD_MARK_NONE);
	turn.cqes = 1;
	resv = shmemd_arch_ld_mmio_u64(&ch->resv);
	shmemdi_sq_combine(ch, depth, &turn);
	/* What is published and rung for are WQEs of others, too. */
	shmemd_arch_fence_acquire();
	/* The word was loaded beside the marks, and may be older than the reservations whose marks
	 * were taken. So a poster that would ring by the default rule loads it again, and for few
	 * WQEBBs once more, 0.15 us each. With 2 such loads 8 warps on one channel, host queue,
	 * rang every 28th put, 560 ns a put; with 1 every 11th, 645 ns; a third gained nothing. The
	 * number of loads is about speed alone, so no test fails with another one: a poster that
	 * misses the one behind it rings a doorbell that the other would have rung. */
	turn.is_followed = shmemdi_sq_is_followed(resv, turn.end);
	looks = turn.end - first < 16 ? 2 : 1;
	for (; looks && !(turn.is_followed | turn.is_now | turn.is_deferred); looks--)
		turn.is_followed =
			shmemdi_sq_is_followed(shmemd_arch_ld_mmio_u64(&ch->resv), turn.end);
	return turn;
}

/* The mark that a poster leaves: none if it needs the number of its CQE, to wait for it. */
SHMEMD_FN uint64_t shmemdi_sq_mark_word(const shmemdi_written_t *at, shmemdi_how_t how)
{
	uint64_t low = SHMEMD_TAG(at->path);

	if (how.needs_ticket)
		return SHMEMD_MARK_NONE;
	if (how.when == SHMEMD_RING_DEFERRED)
		low |= SHMEMD_MARK_DEFERRED;
	if (how.when == SHMEMD_RING_NOW)
		low |= SHMEMD_MARK_NOW;
	return SHMEMD_MARK_WORD(at->first, at->end - at->first, low);
}

/* In the turn: ring for everything before turn->end. */
SHMEMD_FN void shmemdi_sq_ring(const shmemdi_chan_t *c, const shmemdi_written_t *at,
			       const shmemdi_turn_t *turn)
{
	int needs_lock = !(turn->ready & SHMEMD_READY_RUNG);
	uint64_t rung = SHMEMD_BUSY;

	while (needs_lock) {
		rung = shmemd_arch_ld_relaxed_u64(&c->ch->rung);
		if (!(rung & SHMEMD_BUSY) && shmemd_arch_try_lock(&c->ch->rung, rung))
			break;
		shmemd_arch_spin_hint();
	}
	shmemdi_ring(c, at->path, at->queue, at->doorbell, turn->end);
	if (needs_lock)
		shmemd_arch_unlock(&c->ch->rung, SHMEMD_RUNG_WORD(turn->end));
}

/* In the turn: publish; `ready` keeps its flags. A store is enough: each publisher has acquired
 * what the one before it released, so a thread that acquires `ready` has synchronised with all of
 * them. */
SHMEMD_FN void shmemdi_sq_advance_ready(const shmemdi_chan_t *c, const shmemdi_turn_t *turn)
{
	uint32_t low = (uint32_t)turn->ready + (turn->cqes << 16);

	shmemd_arch_st_mmio_u64(&c->ch->ready, (uint64_t)turn->end << 32 | low);
}

/* The same, with these flags in place of its own. */
SHMEMD_FN void shmemdi_sq_set_ready(const shmemdi_chan_t *c, const shmemdi_turn_t *turn,
				    uint32_t flags)
{
	shmemdi_turn_t to = *turn;

	to.ready = (to.ready & ~(uint64_t)(SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED)) | flags;
	shmemdi_sq_advance_ready(c, &to);
}

/* May the doorbell of what this turn publishes be left to a waiter or to a later poster? Only if
 * the doorbell of every WQEBB that is not rung for was deferred. Otherwise the WQEs of a poster
 * that relied on the next one to ring might never be sent: perhaps no thread waits for them. */
SHMEMD_FN int shmemdi_sq_may_defer(const shmemdi_turn_t *turn)
{
	return turn->is_deferred &&
	       (turn->ready & (SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED)) != 0;
}

/* In the turn, before it publishes: keep `flush` from lagging 2^32 WQEBBs behind `ready`, where its
 * index would equal that of `ready` again and seem to cover what was never flushed. The poster of a
 * flush READ stores its own end: what its turn publishes for others comes after the READ. Any other
 * poster whose turn reaches a multiple of 2^30 WQEBBs moves `flush` to 2^30 behind its own WQEBBs
 * if `flush` lags by 2^30 or more. If it lags by less it stays, since a thread may be about to wait
 * for that READ. So at the next multiple it lags by 2^31 and one turn's WQEBBs at most. */
#define SHMEMDI_FLUSH_LOG_STEP 30u

SHMEMD_FN int shmemdi_sq_ends_step(uint32_t first, uint32_t end)
{
	return (first ^ end) >> SHMEMDI_FLUSH_LOG_STEP != 0;
}

SHMEMD_FN void shmemdi_sq_note_flush(const shmemdi_chan_t *c, const shmemdi_written_t *at,
				     shmemdi_how_t how, const shmemdi_turn_t *turn)
{
	uint32_t step = (uint32_t)1 << SHMEMDI_FLUSH_LOG_STEP, index = at->first - step;

	if (how.is_flush)
		index = at->end;
	else if (!shmemdi_sq_ends_step(at->first, turn->end) ||
		 at->first - SHMEMD_READY_INDEX(shmemd_arch_ld_relaxed_u64(&c->ch->flush)) < step)
		return;
	shmemd_arch_st_relaxed_u64(&c->ch->flush,
				   SHMEMD_READY_WORD(index, SHMEMD_READY_CQES(turn->ready),
						     SHMEMD_READY_EPOCH(turn->ready)));
}

/* In the turn: publish, and leave the doorbell to a later poster or to a waiter. */
SHMEMD_FN void shmemdi_sq_publish_unrung(const shmemdi_chan_t *c, const shmemdi_written_t *at,
					 const shmemdi_turn_t *turn)
{
	if (turn->ready & SHMEMD_READY_RUNG)
		shmemd_arch_st_relaxed_u64(&c->ch->rung, SHMEMD_RUNG_WORD(at->first));
	shmemd_arch_fence_before_publish();
	shmemdi_sq_set_ready(c, turn, shmemdi_sq_may_defer(turn) ? SHMEMD_READY_DEFERRED : 0);
}

/* In the turn: publish, and ring if this poster must. */
SHMEMD_FN void shmemdi_sq_publish(const shmemdi_chan_t *c, const shmemdi_written_t *at,
				  const shmemdi_turn_t *turn)
{
	int is_left = shmemdi_sq_may_defer(turn) ||
		      (turn->is_followed && !turn->is_now &&
		       !((at->first ^ turn->end) >> SHMEMD_LOG_BATCH(c->geometry)));

	if (is_left) {
		shmemdi_sq_publish_unrung(c, at, turn);
		return;
	}
	shmemdi_sq_ring(c, at, turn);
	shmemdi_sq_set_ready(c, turn, SHMEMD_READY_RUNG);
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

/* By a poster that the plain case below does not cover, by the poster of a flush READ, and for work
 * requests (shmemdi_wr_post_lanes), whose code is small, not fast. Returns the ticket's word. */
SHMEMD_FN_CALL uint64_t shmemdi_sq_submit_any(shmemdi_chan_t c, shmemdi_written_t at,
					      shmemdi_how_t how)
{
	shmemdi_turn_t turn = shmemdi_turn_now(&at, how.when);

	if (SHMEMD_READY_INDEX(at.ready) != at.first)
		turn = shmemdi_sq_take_turn(c.ch, shmemdi_depth(&c), at.first, at.end,
					    shmemdi_sq_mark_word(&at, how), how.when);
	if (turn.cqes == 0)
		return SHMEMD_READY_WORD(at.end, 0, SHMEMDI_TICKET_VOID);
	if (SHMEMD_READY_EPOCH(turn.ready) != SHMEMD_TAG(at.path))
		shmemdi_sq_move(&c, &at);
	shmemdi_sq_note_flush(&c, &at, how, &turn);
	shmemdi_sq_publish(&c, &at, &turn);
	return SHMEMD_READY_WORD(at.end, SHMEMD_READY_CQES(turn.ready),
				 SHMEMD_READY_EPOCH(turn.ready));
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
	shmemdi_turn_t turn = shmemdi_turn_now(&at, how.when);
	shmemdi_ticket_t ticket = {SHMEMD_READY_WORD(at.end, SHMEMD_READY_CQES(at.ready),
						     SHMEMD_READY_EPOCH(at.ready)),
				   at.queue};

	shmemdi_sq_count(c, reserved, zero);
	if (SHMEMD_ARCH_UNLIKELY(!shmemdi_sq_is_plain(&at, how.when))) {
		ticket.word = SHMEMD_ARCH_INDIRECT(shmemdi_sq_submit_any)(*c, at, how);
	} else if (how.when == SHMEMD_RING_DEFERRED) {
		shmemdi_sq_publish_unrung(c, &at, &turn);
	} else {
		shmemdi_ring_nic(c, at.path, at.queue, at.doorbell, at.end, zero);
		shmemdi_sq_advance_ready(c, &turn); /* RUNG is set in it already */
	}
	return ticket;
}

#endif
