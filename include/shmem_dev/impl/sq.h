/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The send queue of a channel (abi/queue.h), driven by any number of threads.
 *
 *   reserve   One fetch-add gives WQEBBs and request numbers. The line is loaded in the same trip.
 *   space     Wait until the WQEBBs are free. Nothing else is waited for between reservation and
 *             publication: every later poster waits for this one.
 *   write     The WQEs.
 *   turn      Wait until `ready` == first. The poster that has the turn is alone: everything before
 *             is written, and no later poster can publish.
 *   ring      The doorbell, if this poster must; then publish, with one atomic on `ready`.
 *
 * The turn. A poster whose snapshot of the line already has ready == first has waited for nothing:
 * it rings and publishes. Others mark their reservation as written and wait: the poster that gets
 * the turn before them publishes, and rings, for all marked reservations that follow its own. A
 * poster that will wait for its own completion does not mark: it learns the number of its CQE in
 * its own turn.
 *
 * Which poster rings. A poster in its turn rings, unless
 *   - it was asked to defer its doorbell, and so was every other poster that is not rung for; or
 *   - it had to wait for its turn, another poster has reserved behind it, and no batch ends here:
 *     that poster is in a turn later, and rings for both.
 * While `ready` has RUNG there is nothing to ring for, so no other thread rings: the poster in its
 * turn needs no lock. To leave its WQEBBs unrung it stores their first index to `rung`, then
 * publishes without RUNG. From then on whichever thread rings holds the lock in `rung`.
 *
 * Interleavings considered
 *   A full queue. WQEBB i is free once i - depth is complete. Everything before a blocked poster
 *   gets published (its posters wait for still earlier WQEBBs only), is rung by the blocked poster
 *   itself, and each reservation requests a CQE. So its WQEBBs become free.
 *
 *   A mark and the turn. Poster P publishes up to F without having seen F's mark; F then reads
 *   ready == F, and has the turn. If P has seen it, P publishes past F, and F never reads ready ==
 *   F. Only the poster that has the turn reads marks, so no two publish one reservation.
 *
 *   An old mark. A mark is cleared in the turn that publishes its reservation: 2^32 WQEBBs later
 *   the same first index would make it valid again (tests/models, MARK_KEPT). */
#ifndef SHMEMD_IMPL_SQ_H
#define SHMEMD_IMPL_SQ_H

#include <shmem_dev/impl/bounce.h>

typedef struct shmemdi_post {
	shmemdi_lanes_t lanes;
	uint32_t wqebbs; /* of an operation */
	uint32_t requests;
	uint32_t first;   /* of the whole reservation */
	uint32_t at;      /* first WQEBB of this lane's operation */
	uint32_t request; /* number of this lane's first request */
	uint64_t path, queue;
	uint64_t doorbell, ready; /* the leader's only: its snapshot */
	uint64_t bounce;          /* ticket of this lane's bounce buffer */
} shmemdi_post_t;

/* What the caller wants of a posting. */
typedef struct shmemdi_how {
	int when;     /* shmemd_when */
	int is_wait;  /* the CQE's number will be needed */
	int is_flush; /* a READ that completes everything before it: note it in `flush` */
} shmemdi_how_t;

SHMEMD_FN shmemdi_how_t shmemdi_how(int when, int is_wait)
{
	shmemdi_how_t how = {when, is_wait, 0};
	return how;
}

/* Reserve */

/* Wait until all WQEBBs before `end` are complete: reserved WQEBBs cannot be given back, and all
 * later posters wait for them. When nothing at all completes within the time limit, or the PE has
 * failed, the channel fails; where faults of paths are tolerated, the host decides when. resv: the
 * reservation word that this poster found. */
SHMEMD_FN_SWITCH int shmemdi_sq_wait_space(shmemdi_chan_t c, shmemdi_call_t call, uint64_t resv,
					   uint32_t end)
{
	shmemdi_limit_t limit = shmemdi_limit_default(c.team, c.pe);
	shmemdi_spin_t spin = shmemdi_spin(limit);
	uint64_t before = SHMEMD_DONE_INDEX(shmemdi_done(&c)), now;
	int status;

	while (!shmemdi_cq_poll_index(&c, call, end, &status)) {
		if (status == SHMEMD_OK)
			status = shmemdi_space_turn(c.team, &spin, c.ch, resv);
		if (status == SHMEMD_OK)
			continue;
		now = SHMEMD_DONE_INDEX(shmemdi_done(&c));
		if (status == SHMEMD_ERR_TIMEOUT && (now != before || c.flags & SHMEMD_CTX_FT)) {
			before = now;
			spin = shmemdi_spin(limit);
			continue;
		}
		shmemdi_cq_ended(c, call, status, end, 0);
		if (status == SHMEMD_ERR_TIMEOUT) /* final for the channel: not to be repeated */
			status = SHMEMD_ERR_PATH;
		shmemdi_channel_fail(&c, status);
		return status;
	}
	return SHMEMD_OK;
}

/* Are the words of this snapshot of one path, and not older than the reservation? */
SHMEMD_FN int shmemdi_line_is_whole(shmemdi_line_t line, uint32_t resv_epoch)
{
	uint32_t epoch = SHMEMD_READY_EPOCH(line.ready);

	return SHMEMD_TAG(line.path) == epoch && SHMEMD_TAG(line.queue) == epoch &&
	       SHMEMD_TAG(line.doorbell) == epoch && (int8_t)(uint8_t)(epoch - resv_epoch) >= 0;
}

/* By the leader: reserve `wqebbs` WQEBBs, which are free on return; the snapshot goes into post. */
SHMEMD_FN int shmemdi_sq_reserve(const shmemdi_chan_t *c, shmemdi_call_t call, shmemdi_post_t *post,
				 uint32_t wqebbs, uint32_t requests)
{
	uint64_t word = shmemd_arch_atom_add_u64(&c->ch->resv, SHMEMD_RESV_ADD(wqebbs, requests));
	shmemdi_line_t line = shmemdi_line(c->ch);
	uint32_t first = SHMEMD_RESV_INDEX(word), end = first + wqebbs - shmemdi_depth(c);
	int status = SHMEMD_OK;

	if (!shmemdi_reached((uint32_t)SHMEMD_DONE_INDEX(line.done), end)) {
		status = shmemdi_sq_wait_space(*c, call, word, end);
		line = shmemdi_line(c->ch);
	}
	for (;;) {
		/* The NIC has read what is overwritten now.
		 * weakened removed, gpu: wrong, but not in the emulator, where a store does not
		 * come before the loads that decide on it; thread sanitizer sees it. */
		shmemd_arch_fence_acquire();
		if (shmemdi_line_is_whole(line, SHMEMD_RESV_EPOCH(word)))
			break;
		shmemd_arch_spin_hint();
		line = shmemdi_line(c->ch);
	}
	/* Quiet looks at used channels only. The first poster of all finds the queue idle, and
	 * marks it before it publishes; what others publish comes after that. */
	if (SHMEMD_READY_INDEX(line.ready) == first &&
	    (uint32_t)SHMEMD_DONE_INDEX(line.done) == first)
		shmemd_arch_red_or_u64(&c->team->used[c->k * SHMEMD_USED_WORDS(c->team->n_world) +
						      c->world_pe / 64],
				       (uint64_t)1 << c->world_pe % 64);
	post->first = first;
	post->request = SHMEMD_RESV_REQUEST(word);
	post->path = line.path;
	post->queue = line.queue;
	post->doorbell = line.doorbell;
	post->ready = line.ready;
	return status ? status : (int)SHMEMD_PATH_STATUS(line.path);
}

/* A bounce buffer for each lane, or for none of them. */
SHMEMD_FN int shmemdi_sq_bounce(const shmemdi_chan_t *c, shmemdi_call_t call, shmemdi_post_t *post)
{
	shmemdi_lanes_t lanes = post->lanes;
	uint64_t ticket = 0;
	int status;

	if (lanes.is_leader)
		ticket = shmemd_arch_atom_add_u64(&c->ch->ticket, lanes.n);
	post->bounce = shmemdi_lanes_broadcast(lanes, ticket) + lanes.rank;
	status = shmemdi_bounce_take(c, call, post->bounce);
	if (shmemdi_lanes_alone(lanes) ||
	    shmemd_arch_match_any(lanes.mask, (uint64_t)status) == lanes.mask)
		return status;
	shmemdi_lanes_sync(lanes); /* a failure that another lane saw is visible here too */
	if (status == SHMEMD_OK) {
		shmemdi_bounce_release(c, post->bounce);
		status = shmemdi_channel_status(c);
	}
	return status ? status : SHMEMD_ERR_TIMEOUT;
}

/* Reserve `wqebbs` WQEBBs for each operation, `requests` of them requests, and with needs_bounce a
 * bounce buffer, which comes first. Then shmemdi_sq_write for each WQE, then shmemdi_sq_submit;
 * between them nothing may wait. All lanes call all three. */
SHMEMD_FN int shmemdi_sq_begin(const shmemdi_chan_t *c, shmemdi_call_t call, shmemdi_post_t *post,
			       shmemdi_lanes_t lanes, uint32_t wqebbs, uint32_t requests,
			       int needs_bounce)
{
	uint64_t both = 0;
	int status = SHMEMD_OK;

	post->lanes = lanes;
	post->wqebbs = wqebbs;
	post->requests = requests;
	post->first = post->at = post->request = 0;
	post->path = post->queue = post->doorbell = post->ready = post->bounce = 0;
	/* A lane that is still posting for itself must not find its warp's reservation before its
	 * own in the queue: each would wait for the other. */
	if (lanes.is_warp)
		shmemdi_lanes_sync(lanes);
	if (needs_bounce)
		status = shmemdi_sq_bounce(c, call, post);
	if (status != SHMEMD_OK)
		return status;
	if (lanes.is_leader) {
		status = shmemdi_sq_reserve(c, call, post, wqebbs * lanes.n, requests * lanes.n);
		both = (uint64_t)post->first << 32 | (uint64_t)(uint32_t)status << 24 |
		       (post->request & 0xffffff);
	}
	both = shmemdi_lanes_broadcast(lanes, both);
	post->path = shmemdi_lanes_broadcast(lanes, post->path);
	post->queue = shmemdi_lanes_broadcast(lanes, post->queue);
	post->first = (uint32_t)(both >> 32);
	post->at = post->first + wqebbs * lanes.rank;
	post->request = (uint32_t)both + requests * lanes.rank;
	/* What the leader has seen complete happens before what all lanes write: a shuffle orders
	 * nothing. */
	shmemdi_lanes_sync(lanes);
	return (int)((uint32_t)both >> 24);
}

/* Write */

/* Place of the operation's WQE that begins `wqebb` WQEBBs and `request` requests after its first.
 * The last WQE of the reservation requests a CQE. */
SHMEMD_FN shmemdi_wqe_at_t shmemdi_sq_at(const shmemdi_post_t *post, uint32_t wqebb, uint32_t n,
					 uint32_t request)
{
	int is_last = post->lanes.rank == post->lanes.n - 1 && wqebb + n == post->wqebbs;
	shmemdi_wqe_at_t at = {shmemdi_device_index(post->path, post->at + wqebb),
			       SHMEMD_PATH_QPN(post->path), is_last ? SHMEMD_MLX5_CQ_UPDATE : 0,
			       post->request + request};
	return at;
}

/* Word i of segment `lane`, without an array in memory. */
SHMEMD_FN uint32_t shmemdi_wqe_pick(const shmemdi_wqe_t *q, uint32_t lane, uint32_t i)
{
	uint32_t low = lane == 0 ? q->w[i] : q->w[4 + i];

	return lane < 2 ? low : lane == 2 ? q->w[8 + i] : q->w[12 + i];
}

/* Store a WQE of n WQEBBs at the operation's WQEBB `wqebb`. */
SHMEMD_FN void shmemdi_sq_write(const shmemdi_chan_t *c, const shmemdi_post_t *post, uint32_t wqebb,
				const shmemdi_wqe_t *q, uint32_t wqebbs)
{
	char *p = shmemdi_wqebb(c, post->path, post->queue, post->at + wqebb);
	uint32_t lane = shmemd_arch_lane();

	if (post->lanes.is_warp) {
		if (lane < 4)
			shmemd_arch_st_wqe(p + 16 * lane, shmemdi_wqe_pick(q, lane, 0),
					   shmemdi_wqe_pick(q, lane, 1),
					   shmemdi_wqe_pick(q, lane, 2),
					   shmemdi_wqe_pick(q, lane, 3));
		return;
	}
	shmemd_arch_st_wqe(p, q->w[0], q->w[1], q->w[2], q->w[3]);
	shmemd_arch_st_wqe(p + 16, q->w[4], q->w[5], q->w[6], q->w[7]);
	shmemd_arch_st_wqe(p + 32, q->w[8], q->w[9], q->w[10], q->w[11]);
	shmemd_arch_st_wqe(p + 48, q->w[12], q->w[13], q->w[14], q->w[15]);
	if (wqebbs == 2)
		shmemd_arch_st_wqe(shmemdi_wqebb(c, post->path, post->queue, post->at + wqebb + 1),
				   q->w[16], q->w[17], q->w[18], q->w[19]);
}

/* Turn */

/* What the thread that has the turn will publish. */
typedef struct shmemdi_turn {
	uint64_t ready;   /* as it found it */
	uint32_t end;     /* of its own reservation, and of those that it publishes for */
	uint32_t cqes;    /* that they request; 0: this poster has nothing to publish */
	int is_deferred;  /* all of them were asked to defer the doorbell */
	int has_followed; /* another poster has reserved behind `end` */
} shmemdi_turn_t;

/* The mark of the reservation that begins at `index`. */
SHMEMD_FN uint64_t *shmemdi_mark(shmemd_channel_t *ch, uint32_t depth, uint32_t index)
{
	return (uint64_t *)(void *)(ch + 1) + (index & (depth - 1));
}

#define SHMEMDI_MARKS_AT_ONCE 4u

/* Take over marked reservations that follow: loads of several marks in one trip, as long as all of
 * them continue the run. At most half a queue, so that the turn ends. */
SHMEMD_FN void shmemdi_sq_combine(shmemd_channel_t *ch, uint32_t depth, shmemdi_turn_t *turn)
{
	uint32_t stop = turn->end + depth / 2, epoch = SHMEMD_READY_EPOCH(turn->ready);
	uint64_t marks[SHMEMDI_MARKS_AT_ONCE];
	uint32_t i, at;

	do {
		at = turn->end;
		for (i = 0; i < SHMEMDI_MARKS_AT_ONCE; i++)
			marks[i] = shmemd_arch_ld_relaxed_u64(shmemdi_mark(ch, depth, at + i));
		for (i = 0; i < SHMEMDI_MARKS_AT_ONCE; i++) {
			if (turn->end != at + i || marks[i] == SHMEMD_MARK_NONE ||
			    SHMEMD_MARK_FIRST(marks[i]) != at + i ||
			    SHMEMD_MARK_EPOCH(marks[i]) != epoch)
				continue;
			shmemd_arch_st_relaxed_u64(shmemdi_mark(ch, depth, at + i),
						   SHMEMD_MARK_NONE);
			turn->end += SHMEMD_MARK_WQEBBS(marks[i]);
			turn->cqes++;
			turn->is_deferred &= (marks[i] & SHMEMD_MARK_DEFERRED) != 0;
		}
	} while (turn->end - at >= SHMEMDI_MARKS_AT_ONCE && !shmemdi_reached(turn->end, stop));
}

/* By the leader, whose WQEs in [first, end) are written: get the turn. If the path has changed,
 * they are moved. mark: what to leave for the posters that have the turn before, or
 * SHMEMD_MARK_NONE. */
SHMEMD_FN_NIC shmemdi_turn_t shmemdi_sq_take_turn(shmemdi_chan_t c, shmemdi_written_t written,
						  uint64_t mark, int is_deferred)
{
	shmemd_channel_t *ch = c.ch;
	uint32_t depth = shmemdi_depth(&c), first = written.first;
	shmemdi_turn_t turn = {0, written.end, 0, is_deferred, 0};
	uint32_t resv;

	shmemd_arch_fence_before_ready();
	if (mark != SHMEMD_MARK_NONE)
		shmemd_arch_st_relaxed_u64(shmemdi_mark(ch, depth, first), mark);
	for (;;) {
		turn.ready = shmemd_arch_ld_relaxed_u64(&ch->ready);
		if (SHMEMD_READY_INDEX(turn.ready) == first)
			break;
		if (shmemdi_reached(SHMEMD_READY_INDEX(turn.ready), first) ||
		    SHMEMD_PATH_STATUS(shmemd_arch_ld_relaxed_u64(&ch->path))) {
			/* The quiet of any lane will find the channel used: its first poster marked
			 * it before it published (explore ring_order, seed 526).
			 * weakened removed: caught, but seldom.
			 * weakened gpu: harmless, only threads of this GPU publish. */
			shmemd_arch_fence_acquire();
			return turn;
		}
		shmemd_arch_spin_hint();
	}
	if (mark != SHMEMD_MARK_NONE)
		shmemd_arch_st_relaxed_u64(shmemdi_mark(ch, depth, first), SHMEMD_MARK_NONE);
	if (SHMEMD_READY_EPOCH(turn.ready) != SHMEMD_TAG(written.path))
		shmemdi_move_written(c, written);
	turn.cqes = 1;
	shmemdi_sq_combine(ch, depth, &turn);
	/* A value of before the reservations whose marks were taken tells nothing: ring then. */
	resv = SHMEMD_RESV_INDEX(shmemd_arch_ld_relaxed_u64(&ch->resv));
	turn.has_followed = resv != turn.end && shmemdi_reached(resv, turn.end);
	return turn;
}

/* The mark that the leader leaves. A poster that will wait for its completion leaves none: it needs
 * the number of its CQE. */
SHMEMD_FN uint64_t shmemdi_sq_mark(const shmemdi_post_t *post, shmemdi_how_t how, uint32_t wqebbs)
{
	uint64_t low =
		SHMEMD_TAG(post->path) | (how.when == SHMEMD_RING_LATER ? SHMEMD_MARK_DEFERRED : 0);

	if (how.is_wait || how.when == SHMEMD_RING_NOW)
		return SHMEMD_MARK_NONE;
	return SHMEMD_MARK_WORD(post->first, wqebbs, low);
}

/* In the turn: ring for everything before turn->end. */
SHMEMD_FN void shmemdi_sq_ring(const shmemdi_chan_t *c, const shmemdi_post_t *post,
			       const shmemdi_turn_t *turn)
{
	int needs_lock = !(turn->ready & SHMEMD_READY_RUNG);
	uint64_t rung = SHMEMD_BUSY;

	while (needs_lock) {
		rung = shmemd_arch_ld_relaxed_u64(&c->ch->rung);
		/* weakened relaxed, cta: wrong, but not in the emulator, as in
		 * shmemdi_ring_until. */
		if (!(rung & SHMEMD_BUSY) && shmemd_arch_try_lock(&c->ch->rung, rung))
			break;
		shmemd_arch_spin_hint();
	}
	shmemdi_ring(c, post->path, post->queue, post->doorbell, turn->end);
	if (needs_lock)
		/* weakened relaxed, cta: the same. */
		shmemd_arch_unlock(&c->ch->rung, SHMEMD_RUNG_WORD(turn->end));
}

/* In the turn: one atomic, so that a thread that acquires `ready` has synchronised with all posters
 * that published before. */
SHMEMD_FN uint64_t shmemdi_sq_set_ready(const shmemdi_chan_t *c, const shmemdi_turn_t *turn,
					uint32_t flags)
{
	uint64_t now = SHMEMD_READY_WORD(turn->end, SHMEMD_READY_CQES(turn->ready) + turn->cqes,
					 flags | SHMEMD_READY_EPOCH(turn->ready));

	shmemd_arch_red_add_u64(&c->ch->ready, now - turn->ready);
	return now;
}

/* May the doorbell of what this turn publishes be left to a waiter or to a later poster? Only if
 * every WQEBB that is not rung for was deferred too; otherwise a poster that relied on the next one
 * to ring would wait for ever. */
SHMEMD_FN int shmemdi_sq_may_defer(const shmemdi_turn_t *turn)
{
	return turn->is_deferred &&
	       (turn->ready & (SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED)) != 0;
}

/* In the turn, before it publishes: keep `flush` where quiet can compare it with `ready`.
 *
 * The poster of a flush READ stores its own end: what its turn publishes for others comes after the
 * READ. Other posters, once in 2^30 WQEBBs, move a `flush` that has not been renewed for so long:
 * 2^32 WQEBBs after the READ its index would equal that of `ready` again, and seem to cover what
 * was never flushed. A younger one stays: a thread may be about to wait for it. */
#define SHMEMDI_FLUSH_LOG_STEP 30u
SHMEMD_FN void shmemdi_sq_note_flush(const shmemdi_chan_t *c, const shmemdi_post_t *post,
				     shmemdi_how_t how, const shmemdi_turn_t *turn)
{
	uint32_t step = (uint32_t)1 << SHMEMDI_FLUSH_LOG_STEP, index = post->first - step;

	if (how.is_flush)
		index = post->first + post->wqebbs * post->lanes.n;
	else if (!((post->first ^ turn->end) >> SHMEMDI_FLUSH_LOG_STEP) ||
		 post->first - SHMEMD_READY_INDEX(shmemd_arch_ld_relaxed_u64(&c->ch->flush)) < step)
		return;
	shmemd_arch_st_relaxed_u64(&c->ch->flush,
				   SHMEMD_READY_WORD(index, SHMEMD_READY_CQES(turn->ready),
						     SHMEMD_READY_EPOCH(turn->ready)));
}

/* In the turn: publish, and ring if this poster must. */
SHMEMD_FN void shmemdi_sq_publish(const shmemdi_chan_t *c, const shmemdi_post_t *post,
				  shmemdi_how_t how, const shmemdi_turn_t *turn, int has_waited)
{
	int may_defer = shmemdi_sq_may_defer(turn);
	int is_left = may_defer || (turn->has_followed && how.when != SHMEMD_RING_NOW &&
				    !((post->first ^ turn->end) >> c->log_batch));

	shmemdi_sq_note_flush(c, post, how, turn);
	if (!is_left) {
		shmemdi_sq_ring(c, post, turn);
		shmemdi_sq_set_ready(c, turn, SHMEMD_READY_RUNG);
		return;
	}
	if (turn->ready & SHMEMD_READY_RUNG)
		shmemd_arch_st_relaxed_u64(&c->ch->rung, SHMEMD_RUNG_WORD(post->first));
	if (has_waited)
		shmemd_arch_fence_in_turn();
	else
		shmemd_arch_fence_before_ready();
	shmemdi_sq_set_ready(c, turn, may_defer ? SHMEMD_READY_DEFERRED : 0);
}

/* By the leader. Returns the ticket's word: of meaning if how.is_wait. */
SHMEMD_FN uint64_t shmemdi_sq_submit_leader(const shmemdi_chan_t *c, shmemdi_post_t *post,
					    shmemdi_how_t how)
{
	uint32_t first = post->first, end = first + post->wqebbs * post->lanes.n;
	shmemdi_turn_t turn = {post->ready, end, 1, how.when == SHMEMD_RING_LATER, 0};
	shmemdi_written_t written = {post->path, post->queue, first, end, post->request};
	int has_waited = SHMEMD_READY_INDEX(post->ready) != first;

	if (has_waited)
		turn = shmemdi_sq_take_turn(*c, written, shmemdi_sq_mark(post, how, end - first),
					    turn.is_deferred);
	if (turn.cqes == 0)
		return SHMEMD_READY_WORD(end, 0, SHMEMDI_TICKET_VOID);
	/* They have been moved to the path as it is now. */
	if (SHMEMD_READY_EPOCH(turn.ready) != SHMEMD_TAG(post->path)) {
		shmemdi_line_t line = shmemdi_line(c->ch);

		post->path = line.path;
		post->queue = line.queue;
		post->doorbell = line.doorbell;
	}
	shmemdi_sq_publish(c, post, how, &turn, has_waited);
	return SHMEMD_READY_WORD(end, SHMEMD_READY_CQES(turn.ready),
				 SHMEMD_READY_EPOCH(turn.ready));
}

/* Publish what is written. All lanes call, also after a begin that failed, with its status. The
 * first sync makes the leader's fences cover the WQEs of all lanes. No lane leaves before all is
 * published: its quiet would overlook what it has posted. */
SHMEMD_FN shmemdi_ticket_t shmemdi_sq_submit(const shmemdi_chan_t *c, shmemdi_post_t *post,
					     shmemdi_how_t how, int status)
{
	shmemdi_ticket_t ticket = 0;

	if (status != SHMEMD_OK)
		return ticket;
	shmemdi_lanes_sync(post->lanes);
	if (post->lanes.is_leader) {
		shmemd_arch_red_add_u64(&c->ch->requests, (uint64_t)post->requests * post->lanes.n);
		ticket = shmemdi_sq_submit_leader(c, post, how);
	}
	shmemdi_lanes_sync(post->lanes);
	if (how.is_wait)
		ticket = shmemdi_lanes_broadcast(post->lanes, ticket);
	return ticket;
}

#endif
