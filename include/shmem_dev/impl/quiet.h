/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completion of everything that channels carry: quiet, and fence between the two transports to one
 * PE.
 *
 * The completion of a WRITE says that the target's NIC has accepted it, not that a thread there
 * sees it: it may still be on its way through PCIe when a flag that came by another transport is
 * read. To execute a READ the target's NIC reads over PCIe, and that read does not pass the NIC's
 * earlier writes. So a channel is made quiet by one READ, posted last: when it completes,
 * everything posted before is visible. Its own result is not needed, so no DUMP follows it. With
 * SHMEMD_CTX_DUMP_AFTER_READ a DUMP follows each READ of another operation and each fetching
 * atomic; the CQEs of DUMPs that were posted before this READ come before its CQE. The READ is
 * shared: `flush` names the last one. */
#ifndef SHMEMD_IMPL_QUIET_H
#define SHMEMD_IMPL_QUIET_H

#include <shmem_dev/group.h>
#include <shmem_dev/impl/post.h>

#define SHMEMDI_FLUSH_NBYTES 8u

/* Keys that the WQE of a flush names: of the target's heap and of the sink. */
typedef struct shmemdi_flush_keys_t {
	uint64_t target, sink;
} shmemdi_flush_keys_t;

SHMEMD_FN shmemdi_flush_keys_t shmemdi_flush_keys(const shmemdi_ep_t *ep)
{
	shmemdi_flush_keys_t keys;

	keys.target = shmemdi_keys(shmemdi_rkey(ep, ep->heap));
	keys.sink = shmemdi_bounce_keys(ep);
	return keys;
}

/* Write the READ of the target's heap where it begins, which is memory as long as the job lasts. */
SHMEMD_FN void shmemdi_flush_write(const shmemdi_ep_t *ep, const shmemdi_reservation_t *reserved,
				   shmemdi_flush_keys_t keys)
{
	uint64_t path = reserved->line.path;
	shmemdi_wqe_t q = {{0}};

	shmemdi_wqe_read(&q, shmemdi_sq_at(reserved, 0, 1, 0),
			 shmemdi_peer_mem(ep, ep->heap, keys.target, path),
			 shmemdi_bounce_mem(ep->sink, keys.sink, path), SHMEMDI_FLUSH_NBYTES);
	shmemdi_sq_write(&ep->c, reserved, 0, &q, 3);
}

/* Post a READ, and note it in `flush`. The keys are loaded in the same trip as the line. */
SHMEMD_FN int shmemdi_flush_read(const shmemdi_ep_t *ep, shmemdi_call_t call)
{
	shmemdi_how_t how = {SHMEMD_RING_NOW, 1, 1, 1};
	shmemdi_reservation_t reserved;
	shmemdi_flush_keys_t keys;
	uint64_t word;
	int status;

	shmemdi_sq_reserve(&ep->c, &reserved, 1, 1, shmemd_arch_opaque_zero());
	keys = shmemdi_flush_keys(ep);
	status = shmemdi_sq_wait_begin(&ep->c, call, &reserved);
	if (status != SHMEMD_OK)
		return status;
	shmemdi_flush_write(ep, &reserved, keys);
	shmemdi_sq_count(&ep->c, &reserved, shmemdi_thread_zero(reserved.line.path));
	word = shmemdi_sq_submit_any(ep->c, shmemdi_sq_written(&reserved), how);
	/* Not published: the channel has failed, and `flush` names an earlier READ. */
	return word & SHMEMDI_TICKET_VOID ? shmemdi_channel_status(&ep->c) : SHMEMD_OK;
}

/* Does the last flush cover everything published? Then `flush` equals `ready`, or is ahead of it by
 * one READ: its poster, which has the turn, notes it before it publishes it, so nothing else is
 * published meanwhile. Not by shmemdi_reached, which orders indexes less than 2^31 apart: `flush`
 * may lag by more (shmemdi_sq_note_flush has the bound). */
SHMEMD_FN int shmemdi_flush_covers(uint64_t flush, uint64_t ready)
{
	return SHMEMD_READY_INDEX(flush) - SHMEMD_READY_INDEX(ready) <= 1;
}

/* Post a READ after everything published, unless the last one covers all of that; one of the
 * coalesced lanes does so. It loads `ready` after all lanes have arrived, so the READ comes after
 * the posts of all of them. A channel that has failed is never quiet: a post may be lost. */
SHMEMD_FN_CALL int shmemdi_flush_post(const shmemdi_ep_t *ep, shmemdi_call_t call)
{
	shmemdi_lanes_t lanes;
	int status = SHMEMD_OK;

	ep = (const shmemdi_ep_t *)shmemd_arch_as_local(ep);
	lanes = shmemdi_lanes_coalesced((uint64_t)(uintptr_t)ep->c.ch | 127);
	shmemdi_lanes_sync(lanes);
	if (lanes.is_leader) {
		uint64_t ready = shmemdi_ready(&ep->c),
			 flush = shmemd_arch_ld_relaxed_u64(&ep->c.ch->flush);

		status = shmemdi_channel_status(&ep->c);
		if (status != SHMEMD_OK)
			shmemdi_record_channel_error(&ep->c, call, status,
						     SHMEMD_READY_INDEX(ready), 0);
		else if (!shmemdi_flush_covers(flush, ready))
			status = shmemdi_flush_read(ep, call);
	}
	/* A lane that loads `flush` again (shmemdi_flush_wait) finds what the leader has found
	 * there, or a later READ: a shuffle orders nothing. */
	shmemdi_lanes_sync(lanes);
	return (int)shmemdi_lanes_broadcast(lanes, (uint64_t)status);
}

/* Wait for the READ that shmemdi_flush_post has left in `flush`. */
SHMEMD_FN int shmemdi_flush_wait(const shmemdi_ep_t *ep, shmemdi_call_t call, shmemdi_limit_t limit)
{
	shmemdi_ticket_t t = {shmemd_arch_ld_relaxed_u64(&ep->c.ch->flush),
			      shmemd_arch_ld_relaxed_u64(&ep->c.ch->queue)};

	/* The number is of another path. */
	if (SHMEMD_ARCH_UNLIKELY(SHMEMD_READY_EPOCH(t.word) != SHMEMD_TAG(t.queue)))
		return shmemdi_cq_wait(shmemdi_ref(&ep->c), call, t, limit);
	return shmemdi_cq_look_and_wait(&ep->c, call, t, limit);
}

/* Make a channel quiet. */
SHMEMD_FN int shmemdi_flush_channel(const shmemdi_ep_t *ep, shmemdi_call_t call,
				    shmemdi_limit_t limit)
{
	int status = shmemdi_flush_post(ep, call);

	return status ? status : shmemdi_flush_wait(ep, call, limit);
}

/* Which channels a quiet or fence completes. */
typedef struct shmemdi_quiet_t {
	shmemdi_call_t call;
	shmemd_group_t g;
	shmemdi_limit_t limit;
	uint32_t k;            /* the channel's number */
	int skip_unmapped_pes; /* only those to PEs that are mapped as well */
} shmemdi_quiet_t;

SHMEMD_FN int shmemdi_quiet_one(const shmemd_ctx_t *ctx, const shmemdi_quiet_t *q, int pe,
				int is_waiting)
{
	shmemdi_limit_t limit = {q->limit.ns, q->limit.named, pe};
	shmemdi_ref_t ref = {ctx, pe, q->k};
	shmemdi_ep_t ep;

	if (q->skip_unmapped_pes && !ctx->peers[pe].base)
		return SHMEMD_OK;
	shmemdi_ep_load(ref, &ep);
	return is_waiting ? shmemdi_flush_wait(&ep, q->call, limit)
			  : shmemdi_flush_post(&ep, q->call);
}

SHMEMD_FN uint64_t shmemdi_used(const shmemd_ctx_t *ctx, uint32_t k, uint32_t word)
{
	return shmemd_arch_ld_relaxed_u64(&ctx->used[k * SHMEMD_USED_WORDS(ctx->n_world) + word]);
}

/* The used channels of a team whose PE numbers are those of the world team
 * (SHMEMD_CTX_WORLD_NUMBERS), assigned to the threads of the group by PE number and not by position
 * among the set bits: two threads may load different values of one word of `used`, and the
 * thread that posts a flush must also wait for it. */
SHMEMD_FN int shmemdi_quiet_world_numbers(const shmemd_ctx_t *ctx, const shmemdi_quiet_t *q,
					  int is_waiting)
{
	uint32_t word;
	int status = SHMEMD_OK;

	for (word = 0; word < SHMEMD_USED_WORDS(ctx->n_world); word++) {
		uint64_t used = shmemdi_used(ctx, q->k, word);

		for (; used; used &= used - 1) {
			uint32_t low = (uint32_t)used;
			uint32_t bit = low ? shmemd_arch_lowest(low)
					   : 32 + shmemd_arch_lowest((uint32_t)(used >> 32));
			uint32_t pe = word * 64 + bit;
			int now = SHMEMD_OK;

			if (pe % q->g.size == q->g.rank)
				now = shmemdi_quiet_one(ctx, q, (int)pe, is_waiting);
			status = status ? status : now;
		}
	}
	return status;
}

SHMEMD_FN int shmemdi_quiet_members(const shmemd_ctx_t *ctx, const shmemdi_quiet_t *q,
				    int is_waiting)
{
	int status = SHMEMD_OK, pe;

	for (pe = (int)q->g.rank; pe < ctx->n_pes; pe += (int)q->g.size) {
		uint32_t world = (uint32_t)ctx->peers[pe].world_pe;
		int now = SHMEMD_OK;

		if (shmemdi_used(ctx, q->k, world / 64) >> world % 64 & 1)
			now = shmemdi_quiet_one(ctx, q, pe, is_waiting);
		status = status ? status : now;
	}
	return status;
}

/* Flush the channels that have a bit in `used`. All threads of the group call it, and each flushes
 * a part of them: it first posts all its READs, then waits for them. Returns this thread's first
 * failure; those of its channels that did not fail are quiet all the same. */
SHMEMD_FN_CALL int shmemdi_flush_used_channels(const shmemd_ctx_t *device_copy, shmemdi_quiet_t q)
{
	int has_world_numbers = (device_copy->flags & SHMEMD_CTX_WORLD_NUMBERS) != 0;
	int status = SHMEMD_OK, now, is_waiting;

	SHMEMD_ARCH_NO_UNROLL
	for (is_waiting = 0; is_waiting < 2; is_waiting++) {
		now = has_world_numbers ? shmemdi_quiet_world_numbers(device_copy, &q, is_waiting)
					: shmemdi_quiet_members(device_copy, &q, is_waiting);
		status = status ? status : now;
	}
	return status;
}

#endif
