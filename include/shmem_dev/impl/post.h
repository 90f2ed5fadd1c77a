/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Posting by several lanes of a warp at once, and landing slots.
 *
 *   lanes    threads of a warp that happen to post to one channel at the same place in the program
 *            share a reservation, a fence and a doorbell: an operation each.
 *   a warp   all 32 lanes post one operation; four of them store 16 bytes each, which leaves the
 *            GPU as one write of 64.
 *
 * shmemdi_post_begin, then shmemdi_post_wqe for each WQE, then shmemdi_post_end. Between the first
 * two and the last nothing may wait. */
#ifndef SHMEMD_IMPL_POST_H
#define SHMEMD_IMPL_POST_H

#include <shmem_dev/impl/ring.h>

/* Who posts together. */
typedef struct shmemdi_lanes {
	uint32_t mask;
	uint32_t n;     /* operations: lanes in mask, or 1 of a warp */
	uint32_t rank;  /* of this lane's operation */
	uint32_t first; /* lane that reserves and publishes */
	int is_first;   /* this one does */
	int is_warp;
} shmemdi_lanes_t;

SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_warp(void)
{
	shmemdi_lanes_t lanes = {0xffffffffu, 1, 0, 0, shmemd_arch_lane() == 0, 1};
	return lanes;
}

SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_self(void)
{
	uint32_t lane = shmemd_arch_lane();
	shmemdi_lanes_t lanes = {(uint32_t)1 << lane, 1, 0, lane, 1, 0};
	return lanes;
}

/* Lanes that are here with the same `key`. What they do together is the same for equal keys. */
SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_here(uint64_t key)
{
	uint32_t lane = shmemd_arch_lane();
	uint32_t mask = shmemd_arch_match_any(shmemd_arch_activemask(), key);
	uint32_t first = shmemd_arch_lowest(mask);
	shmemdi_lanes_t lanes = {
		mask,  shmemd_arch_popc(mask), shmemd_arch_popc(mask & (((uint32_t)1 << lane) - 1)),
		first, lane == first,          0};
	return lanes;
}

SHMEMD_FN int shmemdi_lanes_alone(shmemdi_lanes_t lanes)
{
	return !lanes.is_warp && lanes.n == 1;
}

SHMEMD_FN void shmemdi_lanes_sync(shmemdi_lanes_t lanes)
{
	if (!shmemdi_lanes_alone(lanes))
		shmemd_arch_syncwarp_mask(lanes.mask);
}

/* What the first lane has, in all lanes. */
SHMEMD_FN uint64_t shmemdi_lanes_give(shmemdi_lanes_t lanes, uint64_t v)
{
	return shmemdi_lanes_alone(lanes) ? v : shmemd_arch_shfl_u64(lanes.mask, v, lanes.first);
}

/* Landing slots */

SHMEMD_FN char *shmemdi_landing(const shmemdi_chan_t *c, uint64_t ticket)
{
	return c->ch->landing + (size_t)(ticket % SHMEMD_LANDING_SLOTS) * SHMEMD_LANDING_NBYTES;
}

SHMEMD_FN uint64_t *shmemdi_turn(const shmemdi_chan_t *c, uint64_t ticket)
{
	return &c->ring->turns[ticket % SHMEMD_LANDING_SLOTS];
}

#define SHMEMDI_TURN_TICKETS 0x7fffffu /* 23 bits */

/* May `ticket` take the slot that says `word`? One that was given up is taken when nothing comes
 * into it any more. */
SHMEMD_FN int shmemdi_turn_is(const shmemdi_chan_t *c, uint64_t word, uint64_t ticket)
{
	uint64_t done;

	if (!(word & 1))
		return word == ticket << 1;
	if ((word >> 1 & SHMEMDI_TURN_TICKETS) != (ticket & SHMEMDI_TURN_TICKETS))
		return 0;
	done = shmemd_arch_ld_relaxed_u64(&c->ring->done) >> 1;
	return shmemdi_reached(done, shmemdi_index(done, word >> 24, SHMEMD_DONE_SLOT_BITS));
}

/* The time is up for a ticket whose slot was given up before: hand that on. Else the slot is still
 * its last user's, who will leave it to us within his own time limit: 0. */
SHMEMD_FN int shmemdi_landing_pass(const shmemdi_chan_t *c, uint64_t word, uint64_t ticket)
{
	uint64_t step = (uint64_t)SHMEMD_LANDING_SLOTS << 1;
	uint64_t mask = (uint64_t)SHMEMDI_TURN_TICKETS << 1;
	uint64_t passed = (word & ~mask) | ((word + step) & mask);

	if (!(word & 1) || (word >> 1 & SHMEMDI_TURN_TICKETS) != (ticket & SHMEMDI_TURN_TICKETS))
		return 0;
	/* weakened relaxed, cta: harmless, nobody has read the slot in between. */
	shmemd_arch_unlock(shmemdi_turn(c, ticket), passed);
	return 1;
}

/* Take the slot: wait until its last user has read it, or will never. Users come in the order of
 * their tickets, which lanes that post together draw together: so none waits for itself. */
SHMEMD_FN int shmemdi_landing_take(const shmemdi_chan_t *c, uint64_t ticket)
{
	shmemdi_spin_t spin = shmemdi_spin(shmemdi_limit_default(c->ctx, c->pe));
	uint64_t *turn = shmemdi_turn(c, ticket);
	uint64_t word = shmemd_arch_ld_relaxed_u64(turn);
	int status;

	while (!shmemdi_turn_is(c, word, ticket)) {
		status = shmemdi_ring_dead(c);
		if (status != SHMEMD_OK)
			return status;
		status = shmemdi_spin_turn(c->ctx, &spin);
		if (status == SHMEMD_ERR_PEER) {
			shmemdi_ring_ended(c, &spin, status, 0);
			shmemdi_ring_stop(c, status);
		}
		if (status == SHMEMD_ERR_TIMEOUT && shmemdi_landing_pass(c, word, ticket))
			return shmemdi_ring_ended(c, &spin, status, 0);
		(void)shmemdi_consume(c);
		word = shmemd_arch_ld_relaxed_u64(turn);
	}
	/* Its last user has read it before our answer comes.
	 * weakened removed, gpu: wrong, but not in the emulator (load buffering). */
	shmemd_arch_fence_acquire();
	return SHMEMD_OK;
}

/* Done with it: what it held has been read. Release: the next user's answer comes after that. */
SHMEMD_FN void shmemdi_landing_leave(const shmemdi_chan_t *c, uint64_t ticket)
{
	/* weakened relaxed: wrong, but not in the emulator: reading the slot could find the next
	 * user's answer (load buffering).
	 * weakened cta: the same. */
	shmemd_arch_unlock(shmemdi_turn(c, ticket), (ticket + SHMEMD_LANDING_SLOTS) << 1);
}

/* The wait for slots before `end` has ended without them: the answer may still come. */
SHMEMD_FN void shmemdi_landing_give_up(const shmemdi_chan_t *c, uint64_t ticket, uint64_t end)
{
	uint64_t next = (ticket + SHMEMD_LANDING_SLOTS) & SHMEMDI_TURN_TICKETS;

	/* weakened relaxed, cta: harmless, who gives up has not read the slot. */
	shmemd_arch_unlock(shmemdi_turn(c, ticket), end << 24 | next << 1 | 1);
}

/* Posting */

typedef struct shmemdi_post {
	shmemdi_lanes_t lanes;
	const shmemd_path_t *path;
	uint32_t slots; /* of an operation */
	uint32_t requests;
	uint64_t first;   /* slot of the whole reservation */
	uint64_t at;      /* first slot of this lane's operation */
	uint64_t ticket;  /* landing slot of this lane */
	uint32_t request; /* number of this lane's first request */
} shmemdi_post_t;

/* Wait for slots that are reserved. They cannot be given back, and all who come later wait for
 * them: when nothing at all completes within the time limit, or the PE is dead, the channel ends.
 */
SHMEMD_FN int shmemdi_wait_slots(const shmemdi_chan_t *c, uint64_t target)
{
	shmemdi_spin_t spin;
	uint64_t done;
	int status;

	do {
		spin = shmemdi_spin(shmemdi_limit_default(c->ctx, c->pe));
		done = shmemd_arch_ld_relaxed_u64(&c->ring->done);
		status = shmemdi_ring_wait_for(c, target, &spin);
	} while (status == SHMEMD_ERR_TIMEOUT &&
		 shmemd_arch_ld_relaxed_u64(&c->ring->done) >> 1 != done >> 1);
	if (status == SHMEMD_OK)
		return status;
	shmemdi_ring_ended(c, &spin, status, target);
	if (status == SHMEMD_ERR_TIMEOUT) /* for the channel that is final: not to be repeated */
		status = SHMEMD_ERR_PATH;
	shmemdi_ring_stop(c, status);
	return status;
}

/* Reserve n slots, which are free on return. The slots of the word are known to within 2^38 by what
 * was ready just before; each of their overflows has added one to the requests.
 *
 * Quiet shall look at the channel from now on. Each poster looks for itself whether that is said
 * already: lanes that it shares this with will find it said, too. */
SHMEMD_FN int shmemdi_reserve(const shmemdi_chan_t *c, uint32_t n, uint32_t requests,
			      uint64_t *first, uint32_t *request)
{
	const shmemd_ctx_t *ctx = c->ctx;
	uint32_t world = shmemdi_world(ctx, c->pe);
	uint64_t *used = &ctx->used[c->k * SHMEMD_USED_WORDS(ctx->n_world) + world / 64];
	uint64_t mark = (uint64_t)1 << world % 64;
	uint64_t ready = shmemd_arch_ld_relaxed_u64(&c->ring->ready);
	uint64_t done = shmemd_arch_ld_relaxed_u64(&c->ring->done);
	uint64_t marks = shmemd_arch_ld_relaxed_u64(used);
	uint64_t word = shmemd_arch_atom_add_u64(&c->ring->resv, SHMEMD_RESV_ADD(n, requests));
	uint64_t start = shmemdi_index(ready, word >> 1, SHMEMD_RESV_SLOT_BITS);
	int status = SHMEMD_OK;

	*first = start;
	*request = SHMEMD_RESV_REQUESTS(word) - (uint32_t)(start >> SHMEMD_RESV_SLOT_BITS);
	if (word & SHMEMD_RESV_CLOSED) {
		/* weakened gpu: harmless, only threads of this GPU close the channel. */
		shmemd_arch_fence_acquire();
		status = shmemdi_ring_dead(c);
		return status ? status : SHMEMD_ERR_PATH;
	}
	if (!(marks & mark))
		shmemd_arch_red_or_u64(used, mark);
	if (!shmemdi_reached(shmemdi_done_slots(done, start), start + n - c->ch->depth))
		status = shmemdi_wait_slots(c, start + n - c->ch->depth);
	else
		/* The NIC has read what is written over now.
		 * weakened removed, gpu: wrong, but not in the emulator, where a store does not
		 * come before the loads that decide on it; thread sanitizer sees it. */
		shmemd_arch_fence_acquire();
	return status;
}

/* A landing slot for each lane, or for none of them. */
SHMEMD_FN int shmemdi_post_landing(const shmemdi_chan_t *c, shmemdi_post_t *post)
{
	shmemdi_lanes_t lanes = post->lanes;
	uint64_t ticket = 0;
	int status;

	if (lanes.is_first)
		ticket = shmemd_arch_atom_add_u64(&c->ring->ticket, lanes.n);
	post->ticket = shmemdi_lanes_give(lanes, ticket) + lanes.rank;
	status = shmemdi_landing_take(c, post->ticket);
	if (shmemdi_lanes_alone(lanes) ||
	    shmemd_arch_match_any(lanes.mask, (uint64_t)status) == lanes.mask)
		return status;
	shmemdi_lanes_sync(lanes); /* what has stopped the others is seen here, too */
	if (status == SHMEMD_OK) {
		shmemdi_landing_leave(c, post->ticket);
		status = shmemdi_ring_dead(c);
	}
	return status ? status : SHMEMD_ERR_TIMEOUT;
}

/* Reserve `slots` for each operation, `requests` of them requests, and with needs_landing a landing
 * slot, which comes first: nothing but free slots is waited for after the reservation. */
SHMEMD_FN int shmemdi_post_begin(const shmemdi_chan_t *c, shmemdi_post_t *post,
				 shmemdi_lanes_t lanes, uint32_t slots, uint32_t requests,
				 int needs_landing)
{
	uint32_t request = 0;
	uint64_t first = 0, both;
	int status = SHMEMD_OK;

	post->lanes = lanes;
	post->slots = slots;
	post->requests = requests;
	post->at = 0;
	post->ticket = 0;
	/* A lane that is still posting for itself must not find its warp's reservation before its
	 * own in the queue: each would wait for the other. */
	if (lanes.is_warp)
		shmemdi_lanes_sync(lanes);
	if (needs_landing)
		status = shmemdi_post_landing(c, post);
	if (status != SHMEMD_OK)
		return status;
	if (lanes.is_first)
		status = shmemdi_reserve(c, slots * lanes.n, requests * lanes.n, &first, &request);
	both = shmemdi_lanes_give(lanes, (uint64_t)request << 32 | (uint32_t)status);
	post->first = shmemdi_lanes_give(lanes, first);
	post->at = post->first + slots * lanes.rank;
	post->request = (uint32_t)(both >> 32) + requests * lanes.rank;
	post->path = shmemdi_path(c);
	/* What the first lane has seen complete is behind all of them: a shuffle orders nothing. */
	shmemdi_lanes_sync(lanes);
	return (int)(uint32_t)both;
}

/* Where the operation's WQE goes that begins `slot` slots and `request` requests after its first.
 * The last one of the reservation asks for a CQE. */
SHMEMD_FN shmemdi_wqe_at_t shmemdi_post_at(const shmemdi_post_t *post, uint32_t slot,
					   uint32_t blocks, uint32_t request)
{
	int is_last = post->lanes.rank == post->lanes.n - 1 && slot + blocks == post->slots;
	shmemdi_wqe_at_t at = {post->at + slot, post->path->qpn,
			       is_last ? SHMEMD_MLX5_CQ_UPDATE : 0, post->request + request};
	return at;
}

/* Word i of segment `lane`, without an array in memory. */
SHMEMD_FN uint32_t shmemdi_wqe_pick(const shmemdi_wqe_t *q, uint32_t lane, uint32_t i)
{
	uint32_t low = lane == 0 ? q->w[i] : q->w[4 + i];

	return lane < 2 ? low : lane == 2 ? q->w[8 + i] : q->w[12 + i];
}

SHMEMD_FN void shmemdi_post_wqe(const shmemdi_chan_t *c, const shmemdi_post_t *post, uint64_t index,
				const shmemdi_wqe_t *q, uint32_t blocks)
{
	char *block = shmemdi_block(c, index);
	uint32_t lane = shmemd_arch_lane();

	if (post->lanes.is_warp) {
		if (lane < 4)
			shmemd_arch_st_wqe(block + 16 * lane, shmemdi_wqe_pick(q, lane, 0),
					   shmemdi_wqe_pick(q, lane, 1),
					   shmemdi_wqe_pick(q, lane, 2),
					   shmemdi_wqe_pick(q, lane, 3));
		return;
	}
	shmemd_arch_st_wqe(block, q->w[0], q->w[1], q->w[2], q->w[3]);
	shmemd_arch_st_wqe(block + 16, q->w[4], q->w[5], q->w[6], q->w[7]);
	shmemd_arch_st_wqe(block + 32, q->w[8], q->w[9], q->w[10], q->w[11]);
	shmemd_arch_st_wqe(block + 48, q->w[12], q->w[13], q->w[14], q->w[15]);
	if (blocks == 2)
		shmemd_arch_st_wqe(shmemdi_block(c, index + 1), q->w[16], q->w[17], q->w[18],
				   q->w[19]);
}

/* Has nobody reserved after `end`? */
SHMEMD_FN int shmemdi_is_newest(const shmemdi_chan_t *c, uint64_t end)
{
	uint64_t word = shmemd_arch_ld_relaxed_u64(&c->ring->resv);

	return shmemdi_index(end, word >> 1, SHMEMD_RESV_SLOT_BITS) == end;
}

/* How far others have come, loaded at once. */
typedef struct shmemdi_told {
	uint64_t ready, rung, later; /* later: for who may leave its slots unrung */
} shmemdi_told_t;

SHMEMD_FN shmemdi_told_t shmemdi_told(const shmemd_ring_t *ring, int when)
{
	shmemdi_told_t told = {shmemd_arch_ld_relaxed_u64(&ring->ready),
			       shmemd_arch_ld_relaxed_u64(&ring->rung), 0};

	if (when == SHMEMD_RING_LATER)
		told.later = shmemd_arch_ld_relaxed_u64(&ring->later);
	return told;
}

/* By the poster whose turn it is to publish, so that no other is here: may its slots stay unrung?
 * Only if all that is unrung before them may, too; else whoever left its slots to the next poster
 * would wait for ever. */
SHMEMD_FN int shmemdi_may_stay(shmemd_ring_t *ring, shmemdi_told_t told, uint64_t first,
			       uint64_t end)
{
	if (!shmemdi_reached(shmemdi_rung_slots(told.rung, first), first) && told.later != first)
		return 0;
	shmemd_arch_st_relaxed_u64(&ring->later, end);
	return 1;
}

/* Whose slots end at `end`: is it for him to ring? */
SHMEMD_FN int shmemdi_must_ring(const shmemdi_chan_t *c, uint64_t first, uint64_t end, int when)
{
	return when == SHMEMD_RING_NOW || (first ^ end) >= c->ch->batch ||
	       shmemdi_is_newest(c, end);
}

/* By the poster whose turn it is. */
SHMEMD_FN void shmemdi_publish_now(const shmemdi_chan_t *c, const shmemdi_post_t *post)
{
	shmemd_arch_red_add_u64(&c->ring->ready, (uint64_t)post->slots * post->lanes.n);
	shmemd_arch_red_add_u64(&c->ring->requests, (uint64_t)post->requests * post->lanes.n);
}

/* Ring and then publish. Nobody else can ring meanwhile: all before is rung, and nothing behind is
 * published before us. */
SHMEMD_FN void shmemdi_publish_alone(const shmemdi_chan_t *c, const shmemdi_post_t *post,
				     uint64_t end)
{
	shmemdi_ring_tell(c, post->path, end);
	shmemd_arch_st_relaxed_u64(&c->ring->rung, SHMEMD_RUNG_WORD(end));
	/* The doorbell before those of others, `rung` before `ready`.
	 * weakened removed, cta: wrong, but not in the emulator, where a doorbell takes stores in
	 * the order in which they were made, and an atomic finds the newest `rung`. */
	shmemd_arch_fence_before_ready();
	shmemdi_publish_now(c, post);
}

/* The reservation is written: say so when all before it are, and ring if it is our turn. */
SHMEMD_FN void shmemdi_publish(const shmemdi_chan_t *c, const shmemdi_post_t *post, int when)
{
	shmemd_ring_t *ring = c->ring;
	uint64_t first = post->first, end = first + (uint64_t)post->slots * post->lanes.n;
	shmemdi_told_t told = shmemdi_told(ring, when);
	int stays;

	if (when != SHMEMD_RING_LATER && shmemdi_must_ring(c, first, end, when) &&
	    told.ready == first && told.rung == SHMEMD_RUNG_WORD(first)) {
		shmemdi_publish_alone(c, post, end);
		return;
	}
	shmemd_arch_fence_before_ready();
	if (when != SHMEMD_RING_LATER) /* again: to keep it costs registers where they are few */
		told = shmemdi_told(ring, when);
	while (told.ready != first) {
		if (shmemdi_ring_dead(c) != SHMEMD_OK)
			return;
		shmemd_arch_spin_hint();
		told = shmemdi_told(ring, when);
	}
	stays = when == SHMEMD_RING_LATER && shmemdi_may_stay(ring, told, first, end);
	shmemdi_publish_now(c, post);
	if (!stays && shmemdi_must_ring(c, first, end, when))
		shmemdi_ring_until(c, end);
}

/* All lanes come, also after a begin that failed, with its status. The first sync makes the fence
 * in publish cover the WQEs of all lanes. No lane leaves before all is published: its quiet would
 * overlook what it has posted. */
SHMEMD_FN void shmemdi_post_end(const shmemdi_chan_t *c, const shmemdi_post_t *post, int status,
				int when)
{
	if (status != SHMEMD_OK)
		return;
	shmemdi_lanes_sync(post->lanes);
	if (post->lanes.is_first)
		shmemdi_publish(c, post, when);
	shmemdi_lanes_sync(post->lanes);
}

#endif
