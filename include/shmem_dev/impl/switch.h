/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Switch of a channel to another path, when the host orders it (abi/replay.h).
 *
 * One thread carries out an order to switch, while no other thread can publish on the channel:
 *   a poster   that waits for space and has the turn (impl/sq.h); or
 *   a helper   a thread in a wait for space, a completion, a bounce buffer or a sync by NIC, or in
 *              shmemdi_service_once, that finds everything reserved published. It moves on the
 *              epoch of the reservation word by compare-and-swap. Then no thread has the turn, and
 *              every later poster waits for a line of the new epoch before it writes a WQE.
 * If neither exists, a poster has the turn and will publish; or no thread is in such a wait, and
 * the order stays pending.
 *
 * The thread takes the lock of `rung`, unless `ready` has RUNG, then that of `done`. The holder of
 * `rung` waits for the lock of `done` alone, the holder of `done` for that of the reports alone
 * (impl/report.h), whose holder waits for nothing. The thread
 *   1. reads the success CQEs, up to the first error: `first` is the first WQEBB not completed;
 *   2. writes the WQEs of [first, ready) to the new queue: they keep their indexes in the channel,
 *      and get those of the new queue pair;
 *   3. stores `path`, `queue` and `doorbell`, rings if there is anything to ring for, and stores
 *      `rung` if it has that lock;
 *   4. changes `ready` to the new epoch, RUNG and the number of CQEs that the moved WQEs request,
 *      and moves on the epoch of the reservation word unless it has done so as a helper;
 *   5. acknowledges the order with what it counted, and stores `done`, which ends the lock.
 *
 * Interleavings considered
 *   A poster with a snapshot of the old path. It has not published. So it finds the reservation's
 *   epoch newer than that of its snapshot (shmemdi_line_needs_slow_path); or it gets the turn
 *   after the switch, from an access to `ready` that shows the new epoch, and moves its WQEs
 *   (shmemdi_sq_move). Its compare-and-swap on `ready` expects the old epoch, and fails.
 *
 *   A poster whose snapshot shows that it has the turn stores `ready` without loading it again
 *   (shmemdi_sq_is_plain), and one that has waited may add to what it has loaded. A switch in
 *   between would be overwritten with the old epoch. There is none. The compare-and-swap of a
 *   helper after this poster's fetch-add fails, since `resv` is past `ready` until the poster
 *   publishes; one before it gives the fetch-add the new epoch, and so the slow path. A poster that
 *   waits for space switches only in its turn, and the turn is this poster's (tests/models,
 *   HELP_ADDS, HELP_UNSEEN, NO_RESV_EPOCH).
 *
 *   A helper and a new poster. The helper unlocks `rung` before it stores the new epoch to `ready`.
 *   Otherwise the poster, which that store lets go on, could publish without RUNG, another thread
 *   could lock `rung`, and the helper's unlock would release the lock of that thread (tests/models,
 *   UNLOCK_LATE).
 *
 *   A waiter that has the number of its CQE. The number is of one path. The waiter uses it only if
 *   three epochs are equal: that of the number, that of the queue in which it looks, and that of
 *   the path word, loaded after the CQE. Otherwise it waits by index. shmemdi_cq_look compares only
 *   the queue's with the path word's. That is enough for a number that a poster has got in its own
 *   turn. Either the number has the epoch of the queue; or the poster has moved its WQEs to a later
 *   path, and then the path word has a later epoch than the queue, which the look finds. The number
 *   in `flush` may be older than the queue, so shmemdi_flush_wait compares the epochs of these two
 *   first.
 *   The path word is loaded after the CQE in program order only: both loads are relaxed, and no
 *   fence is between them. That suffices because the host gives the memory of an old queue to
 *   another path no sooner than 20 ms after the switch (runtime/ib/failover.c, REUSE_NS).
 *
 *   A thread that was slow to read an order. It finds `carried_out` at that number, or `announced`
 *   at another; or `ready` at another epoch (tests/explore, orders).
 *
 *   The channel fails meanwhile. The switch goes on without moving WQEs, so that posters find a
 *   line of one path, and its status. */
#ifndef SHMEMD_IMPL_SWITCH_H
#define SHMEMD_IMPL_SWITCH_H

#include <shmem_dev/abi/replay.h>
#include <shmem_dev/impl/cqread.h>

/* Moving WQEs */

/* A range of WQEs on its way to another queue. */
typedef struct shmemdi_move {
	uint64_t path, queue; /* words of the line from which it comes */
	uint64_t to_path, to_queue;
	uint32_t executed;  /* how many of the requests still to be moved were executed */
	uint32_t request;   /* number of the next request */
	uint32_t cqes;      /* requested by what was moved */
	uint32_t ambiguous; /* fetching atomics whose callers were told */
} shmemdi_move_t;

/* The key of an entry for a path. column: SHMEMD_PATH_OWN_STANDBY for own memory,
 * SHMEMD_PATH_PEER_STANDBY for the peer's. */
SHMEMD_FN uint32_t shmemdi_path_key(uint64_t path, uint32_t column, const shmemd_key_t *entry)
{
	uint64_t keys = shmemd_arch_ld_relaxed_u64(entry->key);

	return (uint32_t)(path & column ? keys >> 32 : keys);
}

/* Words `from` to `end` of a WQE, of one WQEBB. */
SHMEMD_FN void shmemdi_words_load(const char *wqebb, uint32_t *w, uint32_t from, uint32_t end)
{
	uint32_t i;

	SHMEMD_ARCH_NO_UNROLL
	for (i = from; i < end; i += 4) {
		shmemd_2u64_t v = shmemd_arch_ld_relaxed_2u64(wqebb + 4 * (size_t)(i - from));

		w[i] = (uint32_t)v.lo;
		w[i + 1] = (uint32_t)(v.lo >> 32);
		w[i + 2] = (uint32_t)v.hi;
		w[i + 3] = (uint32_t)(v.hi >> 32);
	}
}

SHMEMD_FN shmemd_replay_kind_t shmemdi_wqe_load(const shmemdi_chan_t *c, const shmemdi_move_t *m,
						uint32_t index, uint32_t *w)
{
	shmemd_replay_kind_t kind;

	shmemdi_words_load(shmemdi_wqebb(c, m->path, m->queue, index), w, 0,
			   SHMEMD_REPLAY_WQEBB_WORDS);
	kind = shmemd_replay_kind(w[0], w[1], w[8]);
	if (kind.wqebbs == 2)
		shmemdi_words_load(shmemdi_wqebb(c, m->path, m->queue, index + 1), w,
				   SHMEMD_REPLAY_WQEBB_WORDS, SHMEMDI_WQE_WORDS);
	return kind;
}

SHMEMD_FN void shmemdi_wqe_store(const shmemdi_chan_t *c, const shmemdi_move_t *m, uint32_t index,
				 const uint32_t *w, uint32_t wqebbs)
{
	char *p = shmemdi_wqebb(c, m->to_path, m->to_queue, index);
	uint32_t i, n = wqebbs == 2 ? SHMEMDI_WQE_WORDS : SHMEMD_REPLAY_WQEBB_WORDS;

	SHMEMD_ARCH_NO_UNROLL
	for (i = 0; i < n; i += 4) {
		if (i == SHMEMD_REPLAY_WQEBB_WORDS)
			p = shmemdi_wqebb(c, m->to_path, m->to_queue, index + 1) - 4 * i;
		shmemd_arch_st_wqe(p + 4 * i, w[i], w[i + 1], w[i + 2], w[i + 3]);
	}
}

/* Does its local segment name a bounce buffer or the sink? By the key, since an offset in the heap
 * may equal the address of a buffer. */
SHMEMD_FN int shmemdi_wqe_bounces(const shmemdi_chan_t *c, const shmemdi_move_t *m,
				  const uint32_t *w, shmemd_replay_kind_t kind)
{
	const shmemd_ctx_t *ctx = c->ctx;
	const shmemd_key_t *entry =
		&ctx->keys[SHMEMD_LKEY_INDEX(ctx->n_granules, ctx->n_world, ctx->n_granules)];

	return kind.local &&
	       w[kind.local] == shmemdi_path_key(m->path, SHMEMD_PATH_OWN_STANDBY, entry);
}

/* The keys of the new path. */
SHMEMD_FN void shmemdi_replay_keys(const shmemdi_chan_t *c, const shmemdi_move_t *m,
				   const uint32_t *w, shmemd_replay_kind_t kind, int bounces,
				   shmemd_replay_at_t *at)
{
	const shmemd_ctx_t *ctx = c->ctx;
	uint64_t granule;

	if (kind.remote) {
		granule = shmemd_replay_address(w, kind.remote, 1) >>
			  SHMEMD_LOG_GRANULE(ctx->geometry);
		at->rkey = shmemdi_path_key(
			m->to_path, SHMEMD_PATH_PEER_STANDBY,
			&ctx->keys[SHMEMD_RKEY_INDEX(ctx->n_granules, c->world_pe, granule)]);
	}
	if (kind.local) {
		granule = bounces ? ctx->n_granules
				  : shmemd_replay_address(w, kind.local, 0) >>
					    SHMEMD_LOG_GRANULE(ctx->geometry);
		at->lkey = shmemdi_path_key(
			m->to_path, SHMEMD_PATH_OWN_STANDBY,
			&ctx->keys[SHMEMD_LKEY_INDEX(ctx->n_granules, ctx->n_world, granule)]);
	}
}

/* Tell the caller of a fetching atomic, by its buffer's owner word, that the result is lost.
 * Returns whether it was told: no thread reads the word if the wait has ended already and abandoned
 * the buffer. */
SHMEMD_FN uint32_t shmemdi_tell_ambiguous(const shmemdi_chan_t *c, uint64_t address)
{
	uint64_t i = (address - (uint64_t)(uintptr_t)shmemdi_bounces(c)) / SHMEMD_BOUNCE_NBYTES;
	uint64_t *owner = shmemdi_bounce_owner(c, i);
	uint64_t word = shmemd_arch_ld_relaxed_u64(owner), seen;

	while (!(word & 1)) {
		seen = shmemd_arch_atom_cas_u64(owner, word, word | SHMEMD_OWNER_AMBIGUOUS);
		if (seen == word)
			return 1;
		word = seen;
	}
	return 0;
}

/* Move the WQE that begins at `index`; returns its WQEBBs. */
SHMEMD_FN uint32_t shmemdi_move_one(const shmemdi_chan_t *c, shmemdi_move_t *m, uint32_t index)
{
	uint32_t w[SHMEMDI_WQE_WORDS];
	shmemd_replay_kind_t kind = shmemdi_wqe_load(c, m, index, w);
	int bounces = shmemdi_wqe_bounces(c, m, w, kind);
	uint64_t local = bounces ? shmemd_replay_address(w, kind.local, 0) : 0;
	int fate = shmemd_replay_fate(kind, m->executed != 0,
				      local == (uint64_t)(uintptr_t)shmemdi_bounce_sink(c->ctx));
	shmemd_replay_at_t at = {shmemdi_qp_index(m->to_path, index), SHMEMD_PATH_QPN(m->to_path),
				 m->request, 0, 0};

	if (kind.is_request && m->executed)
		m->executed--;
	m->cqes += (shmemd_replay_swap(w[2]) & SHMEMD_MLX5_CQ_UPDATE) != 0;
	if (fate == SHMEMD_REPLAY_AMBIGUOUS)
		m->ambiguous += shmemdi_tell_ambiguous(c, local);
	if (fate == SHMEMD_REPLAY_AGAIN) {
		shmemdi_replay_keys(c, m, w, kind, bounces, &at);
		shmemd_replay_again(w, kind, at);
		m->request += kind.is_request;
	} else {
		shmemd_replay_nop(w, kind, at);
	}
	shmemdi_wqe_store(c, m, index, w, kind.wqebbs);
	return kind.wqebbs;
}

/* Move the WQEs of [first, end). Returns `m` as it is after the last one. */
SHMEMD_FN_CALL shmemdi_move_t shmemdi_move_all(shmemdi_chan_t c, shmemdi_move_t m, uint32_t first,
					       uint32_t end)
{
	SHMEMD_ARCH_NO_UNROLL
	while (!shmemdi_reached(first, end))
		first += shmemdi_move_one(&c, &m, first);
	return m;
}

/* Requests of a range of WQEs. */
typedef struct shmemdi_count_t {
	uint32_t requests, reads;
} shmemdi_count_t;

/* Count the requests of [first, end), and the READs among them, and stop when there are `limit`
 * requests. */
SHMEMD_FN shmemdi_count_t shmemdi_count(const shmemdi_chan_t *c, const shmemdi_move_t *m,
					uint32_t first, uint32_t end, uint32_t limit)
{
	shmemdi_count_t n = {0, 0};

	SHMEMD_ARCH_NO_UNROLL
	while (!shmemdi_reached(first, end) && n.requests < limit) {
		uint64_t w = shmemd_arch_ld_relaxed_u64(shmemdi_wqebb(c, m->path, m->queue, first));
		shmemd_replay_kind_t kind = shmemd_replay_kind((uint32_t)w, (uint32_t)(w >> 32), 0);

		n.requests += kind.is_request;
		n.reads += kind.opcode == SHMEMD_MLX5_RDMA_READ;
		first += kind.wqebbs;
	}
	return n;
}

/* By the leader of a reservation [first, end), which has the turn: move the WQEs that it has
 * written for another path. They keep the numbers of their requests. */
SHMEMD_FN void shmemdi_move_written(shmemdi_chan_t c, shmemdi_move_t m, uint32_t first,
				    uint32_t end)
{
	const char *request = shmemdi_wqebb(&c, m.path, m.queue, first) + 3 * sizeof(uint32_t);

	m.request = shmemd_replay_swap(shmemd_arch_ld_relaxed_u32(request));
	(void)shmemdi_move_all(c, m, first, end);
}

/* Orders */

/* An order as this thread has read it. */
typedef struct shmemdi_order_copy {
	uint64_t number, path, queue, doorbell;
	uint32_t k, world_pe, start, executed;
} shmemdi_order_copy_t;

/* Read an order that is not carried out. Returns whether there is one. The host stores `announced`
 * before the fields of an order, with a release fence in between. So if `announced` still equals
 * `number` after the fields were loaded, they are those of this order. */
SHMEMD_FN int shmemdi_order_read(const shmemd_switch_order_t *order, shmemdi_order_copy_t *o)
{
	o->number = shmemd_arch_ld_acquire_u64(&order->number);
	o->path = shmemd_arch_ld_relaxed_u64(&order->path);
	o->queue = shmemd_arch_ld_relaxed_u64(&order->queue);
	o->doorbell = shmemd_arch_ld_relaxed_u64(&order->doorbell);
	o->k = shmemd_arch_ld_relaxed_u32(&order->k);
	o->world_pe = shmemd_arch_ld_relaxed_u32(&order->world_pe);
	o->start = shmemd_arch_ld_relaxed_u32(&order->start);
	o->executed = shmemd_arch_ld_relaxed_u32(&order->executed);
	shmemd_arch_fence_acquire();
	if (shmemd_arch_ld_relaxed_u32(&order->announced) != (uint32_t)o->number)
		return 0;
	return shmemd_arch_ld_relaxed_u64(&order->carried_out) != o->number;
}

/* Is the order for the path that follows this epoch? */
SHMEMD_FN int shmemdi_order_follows(const shmemdi_order_copy_t *o, uint32_t epoch)
{
	return SHMEMD_TAG(o->path) == ((epoch + 1) & 0xff);
}

/* What the thread that carries out an order reports to the host. */
typedef struct shmemdi_switch_result {
	uint32_t retired, replayed, ambiguous; /* as in shmemd_switch_order_t */
} shmemdi_switch_result_t;

/* With the lock of `done`, under which the order is acknowledged once: the host gives the next one
 * from now on. */
SHMEMD_FN void shmemdi_order_acknowledge(const shmemdi_chan_t *c, const shmemdi_order_copy_t *o,
					 shmemdi_switch_result_t result)
{
	shmemd_switch_order_t *order = c->ctx->switch_order;
	shmemd_2u64_t at = shmemd_arch_ld_relaxed_2u64(&order->number);

	if (at.lo != o->number || at.hi == o->number)
		return;
	shmemd_arch_st_relaxed_u32(&order->retired, result.retired);
	shmemd_arch_st_relaxed_u32(&order->replayed, result.replayed);
	shmemd_arch_st_relaxed_u32(&order->ambiguous, result.ambiguous);
	shmemd_arch_st_release_u64(&order->carried_out, o->number);
}

/* The switch */

/* Read CQEs in order, up to the first that is missing or has an error. */
SHMEMD_FN uint64_t shmemdi_drain(const shmemdi_chan_t *c, uint64_t done)
{
	shmemdi_call_t call = shmemdi_call(SHMEMD_OP_NONE, 0, 0);
	uint64_t before;

	do {
		before = done;
		done = shmemdi_cq_read(c, call, before);
	} while (done != before);
	return done;
}

/* Store the path's word, which may have a status. A channel that has failed stays so, with the
 * status that it has. Returns what was stored. */
SHMEMD_FN uint64_t shmemdi_set_path(const shmemdi_chan_t *c, uint64_t path)
{
	uint64_t seen = shmemd_arch_ld_relaxed_u64(&c->ch->path), now, old;

	for (;;) {
		now = SHMEMD_PATH_STATUS(seen) ? path & ~SHMEMD_PATH_FAILED(0xff) : path;
		now |= seen & SHMEMD_PATH_FAILED(0xff);
		old = shmemd_arch_atom_cas_u64(&c->ch->path, seen, now);
		if (old == seen)
			return now;
		seen = old;
	}
}

/* Where the old path ends. */
typedef struct shmemdi_end {
	uint64_t ready;   /* as it is */
	uint64_t done;    /* after shmemdi_drain */
	uint32_t request; /* request field of the reservation word at `ready` */
} shmemdi_end_t;

/* Write the WQEs of [done, ready) to the new queue. *result gets how many requests are repeated,
 * and how many callers of fetching atomics were told that their result is lost. Returns how many
 * CQEs the WQEs request; -1 if `executed` is impossible, fewer requests than are complete or more
 * than are published, for instance because the host has read that number from the queue pair of
 * another path. */
SHMEMD_FN int shmemdi_replay(const shmemdi_chan_t *c, const shmemdi_order_copy_t *o, uint64_t path,
			     shmemdi_end_t at, shmemdi_switch_result_t *result)
{
	uint64_t origin = shmemd_arch_ld_relaxed_u64(&c->ch->origin);
	uint64_t done = SHMEMD_DONE_INDEX(at.done);
	uint64_t end = shmemdi_unwrap(done, SHMEMD_READY_INDEX(at.ready), 32);
	shmemdi_move_t m = {shmemd_arch_ld_relaxed_u64(&c->ch->path),
			    shmemd_arch_ld_relaxed_u64(&c->ch->queue),
			    path,
			    o->queue,
			    0,
			    0,
			    0,
			    0};
	shmemdi_count_t all = shmemdi_count(c, &m, (uint32_t)done, (uint32_t)end, 0xffffffff), gone;
	shmemdi_move_t moved;

	m.executed =
		(o->executed - shmemd_replay_requests(origin, at.request, end) + all.requests) &
		0xffffff;
	if (m.executed > all.requests)
		return -1;
	gone = shmemdi_count(c, &m, (uint32_t)done, (uint32_t)end, m.executed);
	/* What is repeated has the numbers before those of the next poster. */
	m.request = at.request - (all.requests - gone.requests + gone.reads);
	shmemd_arch_st_relaxed_u64(&c->ch->origin, SHMEMD_ORIGIN_WORD(m.request, end));
	moved = shmemdi_move_all(*c, m, (uint32_t)done, (uint32_t)end);
	result->replayed = moved.request - m.request;
	result->ambiguous = moved.ambiguous;
	return (int)moved.cqes;
}

/* With the locks that the head of this file names: change the line and the queue, all but `rung`,
 * `ready`, the reservation word and `done`. Returns the new `ready`. */
SHMEMD_FN uint64_t shmemdi_switch_line(const shmemdi_chan_t *c, const shmemdi_order_copy_t *o,
				       shmemdi_end_t at, shmemdi_switch_result_t *result)
{
	uint32_t done = (uint32_t)SHMEMD_DONE_INDEX(at.done);
	uint32_t end = SHMEMD_READY_INDEX(at.ready), epoch = SHMEMD_TAG(o->path);
	uint64_t path = o->path | (uint64_t)((done - o->start) & 0xffff) << 16;
	int cqes = shmemdi_channel_status(c) ? 0 : shmemdi_replay(c, o, path, at, result);

	if (cqes < 0)
		path |= SHMEMD_PATH_FAILED(SHMEMD_ERR_PATH);
	shmemd_arch_st_relaxed_u64(&c->ch->queue, o->queue);
	shmemd_arch_st_relaxed_u64(&c->ch->doorbell, o->doorbell);
	/* 256 paths later a report may be the same word again, and is to be stored again. */
	shmemd_arch_st_relaxed_u64(&c->ch->reported, 0);
	path = shmemdi_set_path(c, path);
	if (done != end && !SHMEMD_PATH_STATUS(path))
		shmemdi_ring(c, path, o->queue, o->doorbell, end);
	return SHMEMD_READY_WORD(end, cqes, SHMEMD_READY_RUNG | epoch);
}

/* Carry out an order, while no other thread can publish. ready: as it is, and acquired; request:
 * that field of the reservation word there. has_new_epoch: the reservation word has the new epoch
 * already. */
SHMEMD_FN void shmemdi_switch(const shmemdi_chan_t *c, const shmemdi_order_copy_t *o,
			      uint64_t ready, uint32_t request, int has_new_epoch)
{
	uint32_t end = SHMEMD_READY_INDEX(ready);
	uint64_t epochs = SHMEMD_TAG(o->path) - (uint64_t)SHMEMD_READY_EPOCH(ready), now;
	shmemdi_switch_result_t result = {end, 0, 0};
	shmemdi_end_t at = {ready, 0, request};

	if (!(ready & SHMEMD_READY_RUNG))
		shmemdi_lock(&c->ch->rung);
	at.done = shmemdi_drain(c, shmemdi_lock(&c->ch->done));
	now = shmemdi_switch_line(c, o, at, &result);
	if (!(ready & SHMEMD_READY_RUNG))
		shmemd_arch_unlock(&c->ch->rung, SHMEMD_RUNG_WORD(end));
	/* A thread that acquires `ready` finds the CQEs of the new queue as the host has
	 * initialised them, and `rung` and the line as they are now. Without the fence, what the
	 * memory held before could look like a CQE (tests/explore, ring_switch). */
	shmemd_arch_fence_before_publish();
	shmemd_arch_red_add_u64(&c->ch->ready, now - ready);
	if (!has_new_epoch)
		result.retired = SHMEMD_RESV_INDEX(shmemd_arch_atom_add_u64(&c->ch->resv, epochs));
	shmemdi_order_acknowledge(c, o, result);
	shmemd_arch_unlock(&c->ch->done, SHMEMD_DONE_WORD(SHMEMD_DONE_INDEX(at.done), 0));
}

/* An order to end the channel, or one for a channel that has ended: nothing is moved. A poster
 * whose snapshot is older than the failure may write to the queue at any later time, so its memory
 * is never used again: `ready` of a failed channel does not reach this index. */
SHMEMD_FN void shmemdi_carry_out_end(const shmemdi_chan_t *c, const shmemdi_order_copy_t *o)
{
	uint64_t done = shmemdi_lock(&c->ch->done);
	uint32_t never =
		SHMEMD_READY_INDEX(shmemd_arch_ld_relaxed_u64(&c->ch->ready)) + ((uint32_t)1 << 30);
	shmemdi_switch_result_t result = {never, 0, 0};

	if (SHMEMD_PATH_STATUS(o->path))
		shmemdi_channel_fail(c, (int)SHMEMD_PATH_STATUS(o->path));
	shmemdi_order_acknowledge(c, o, result);
	shmemd_arch_unlock(&c->ch->done, done);
}

/* The thread that carries it out */

/* The channel that an order is for. */
SHMEMD_FN shmemdi_chan_t shmemdi_order_chan(const shmemd_ctx_t *ctx, const shmemdi_order_copy_t *o)
{
	size_t channel = (size_t)o->k * ctx->n_world + o->world_pe;
	shmemdi_chan_t c;

	c.ch = &ctx->channels[channel];
	c.ctx = ctx->device_copy;
	c.pe = ctx->flags & SHMEMD_CTX_WORLD_NUMBERS ? (int)o->world_pe : -1;
	c.world_pe = o->world_pe;
	c.k = o->k;
	c.flags = ctx->flags;
	c.geometry = ctx->geometry;
	return c;
}

/* Has a poster that waits for space, with this reservation word, the turn? If the reservation's
 * epoch is ahead, a helper has moved it on before, and carries out the order. */
SHMEMD_FN int shmemdi_has_turn(uint64_t ready, uint64_t resv)
{
	return SHMEMD_READY_INDEX(ready) == SHMEMD_RESV_INDEX(resv) &&
	       (int8_t)(uint8_t)(SHMEMD_RESV_EPOCH(resv) - SHMEMD_READY_EPOCH(ready)) <= 0;
}

/* Become the helper, if all that is reserved is published: move the epoch of `resv` on, so that no
 * later poster publishes before the switch, and no other thread helps. Returns 1 if this thread is
 * the helper. */
SHMEMD_FN int shmemdi_try_to_help(const shmemdi_chan_t *c, uint64_t ready, uint64_t resv,
				  uint32_t epoch)
{
	uint64_t next = (resv & ~(uint64_t)0xff) | epoch;

	return SHMEMD_RESV_INDEX(resv) == SHMEMD_READY_INDEX(ready) &&
	       SHMEMD_RESV_EPOCH(resv) == SHMEMD_READY_EPOCH(ready) &&
	       shmemd_arch_atom_cas_u64(&c->ch->resv, resv, next) == resv;
}

/* An order is pending: carry it out, if it ends the channel or no other thread can publish there.
 * blocked: NULL, or the channel on which this thread is a poster that waits for space, with the
 * reservation word. */
SHMEMD_FN_CALL void shmemdi_serve(const shmemd_ctx_t *ctx, const shmemd_channel_t *blocked,
				  uint64_t resv)
{
	shmemdi_order_copy_t o;
	shmemdi_chan_t c;
	uint64_t ready;

	if (!shmemdi_order_read(ctx->switch_order, &o))
		return;
	c = shmemdi_order_chan(ctx, &o);
	if (SHMEMD_PATH_STATUS(o.path) || shmemdi_channel_status(&c)) {
		shmemdi_carry_out_end(&c, &o);
		return;
	}
	ready = shmemd_arch_ld_relaxed_u64(&c.ch->ready);
	if (c.ch != blocked)
		resv = shmemd_arch_ld_relaxed_u64(&c.ch->resv);
	if (!shmemdi_order_follows(&o, SHMEMD_READY_EPOCH(ready)))
		return;
	if (c.ch == blocked ? !shmemdi_has_turn(ready, resv)
			    : !shmemdi_try_to_help(&c, ready, resv, SHMEMD_TAG(o.path)))
		return;
	shmemd_arch_fence_acquire();
	shmemdi_switch(&c, &o, ready, SHMEMD_RESV_REQUEST(resv), c.ch != blocked);
}

/* Waits */

/* Is an order pending? */
SHMEMD_FN int shmemdi_switch_is_pending(const shmemd_ctx_t *ctx)
{
	shmemd_2u64_t at = shmemd_arch_ld_relaxed_2u64(&ctx->switch_order->number);

	return at.lo != at.hi;
}

/* Read the clock and the words in host memory: is the wait to end, or an order to be carried out? A
 * wait may take longer than its limit by the time of a switch. blocked, resv: of a poster that
 * waits for space. */
SHMEMD_FN_CALL int shmemdi_wait_look(const shmemd_ctx_t *ctx, shmemdi_spin_t *spin,
				     const shmemd_channel_t *blocked, uint64_t resv)
{
	int status = shmemdi_spin_look(ctx, spin);

	if (status == SHMEMD_OK && shmemdi_spin_is_host_look(spin) && ctx->switch_order &&
	    shmemdi_switch_is_pending(ctx))
		shmemdi_serve(ctx, blocked, resv);
	return status;
}

/* One iteration of a wait loop, as shmemdi_spin_step; may carry out an order. Of a poster that has
 * reserved: on channel `blocked`, where it found `resv`. Of any other thread: both are 0. */
SHMEMD_FN int shmemdi_wait_step_of_poster(const shmemd_ctx_t *ctx, shmemdi_spin_t *spin,
					  const shmemd_channel_t *blocked, uint64_t resv)
{
	shmemd_arch_spin_hint();
	spin->polls++;
	return spin->polls % SHMEMDI_POLLS_PER_LOOK ? SHMEMD_OK
						    : shmemdi_wait_look(ctx, spin, blocked, resv);
}

SHMEMD_FN int shmemdi_wait_step(const shmemd_ctx_t *ctx, shmemdi_spin_t *spin)
{
	return shmemdi_wait_step_of_poster(ctx, spin, 0, 0);
}

/* For the host's service kernel, and for loops of shmemd_channel_poll or shmemd_channel_space:
 * carry out an order if there is one. Returns whether one is still pending. */
SHMEMD_FN int shmemdi_service_once(const shmemd_ctx_t *ctx)
{
	if (!ctx->switch_order || !shmemdi_switch_is_pending(ctx))
		return 0;
	shmemdi_serve(ctx, 0, 0);
	return shmemdi_switch_is_pending(ctx);
}

#endif
