/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completion of all that channels carry: quiet, and fence between the two ways to one PE.
 *
 * The completion of a WRITE says that the target's NIC has accepted it, not that anybody there sees
 * it: it may still be on its way through PCIe when a flag that came another way is read. The answer
 * to a READ passes nothing on that way. So a channel is quiet when a READ that was posted behind
 * everything else has been answered. The READ is shared: `flush` says how far one is posted. */
#ifndef SHMEMD_IMPL_FLUSH_H
#define SHMEMD_IMPL_FLUSH_H

#include <shmem_dev/impl/ib.h>

#define SHMEMDI_FLUSH_NBYTES 8u

/* READ the target's heap where it begins: that memory exists as long as the job does. */
SHMEMD_FN int shmemdi_flush_read(const shmemdi_chan_t *c)
{
	uint32_t slots = c->ctx->flags & SHMEMD_CTX_FLUSH_READS ? 2 : 1;
	shmemdi_post_t post;
	shmemdi_wqe_t q = {{0}};
	uint64_t left;
	int status = shmemdi_post_begin(c, &post, shmemdi_lanes_self(), slots, 1, 0);

	if (status != SHMEMD_OK)
		return status;
	shmemdi_wqe_read(&q, shmemdi_post_at(&post, 0, 1, 0),
			 shmemdi_ib_key(post.path, post.path->rkeys, 0, &left),
			 shmemdi_ib_sink(c, post.path), SHMEMDI_FLUSH_NBYTES);
	shmemdi_post_wqe(c, &post, post.at, &q, 1);
	if (slots == 2) {
		shmemdi_wqe_dump(&q, shmemdi_post_at(&post, 1, 1, 1),
				 shmemdi_ib_key(post.path, post.path->lkeys, 0, &left), 1);
		shmemdi_post_wqe(c, &post, post.at + 1, &q, 1);
	}
	shmemdi_post_end(c, &post, status, SHMEMD_RING_NOW);
	shmemd_arch_atom_max_u64(&c->ring->flush, post.at + slots);
	return SHMEMD_OK;
}

/* See to it that a READ is posted behind all that is ready; one of the lanes that are here does it.
 * It looks at `ready` after all of them have come: what each has posted counts. A channel that has
 * failed is never quiet: it may have dropped what was posted. */
SHMEMD_FN int shmemdi_flush_post(const shmemdi_chan_t *c)
{
	shmemdi_lanes_t lanes = shmemdi_lanes_here((uint64_t)(uintptr_t)c->ring | 63);
	int status = SHMEMD_OK;

	shmemdi_lanes_sync(lanes);
	if (lanes.is_first) {
		uint64_t ready = shmemd_arch_ld_relaxed_u64(&c->ring->ready);

		status = shmemdi_ring_dead(c);
		if (status == SHMEMD_OK &&
		    !shmemdi_reached(shmemd_arch_ld_relaxed_u64(&c->ring->flush), ready))
			status = shmemdi_flush_read(c);
	}
	shmemdi_lanes_sync(lanes); /* all of them will find `flush` as the first has left it */
	return (int)shmemdi_lanes_give(lanes, (uint64_t)status);
}

/* Wait for it. */
SHMEMD_FN int shmemdi_flush_wait(const shmemdi_chan_t *c)
{
	return shmemdi_ring_wait(c, shmemd_arch_ld_relaxed_u64(&c->ring->flush));
}

SHMEMD_FN int shmemdi_flush_channel(const shmemdi_chan_t *c)
{
	int status = shmemdi_flush_post(c);

	return status ? status : shmemdi_flush_wait(c);
}

/* Of which channels. */
typedef struct shmemdi_flush {
	const shmemd_ctx_t *ctx;
	shmemdi_call_t call;
	shmemd_group_t g;
	shmemdi_limit_t limit;
	int only_mapped; /* to PEs that are mapped, too */
} shmemdi_flush_t;

SHMEMD_FN int shmemdi_flush_one(const shmemdi_flush_t *f, int pe, int is_wait)
{
	shmemdi_chan_t c;

	if (f->only_mapped && !f->ctx->peers[pe].base)
		return SHMEMD_OK;
	if (!shmemdi_ib_open(f->ctx, f->call, pe, &c))
		return SHMEMD_OK;
	c.limit.ns = f->limit.ns;
	c.limit.named = f->limit.named;
	return is_wait ? shmemdi_flush_wait(&c) : shmemdi_flush_post(&c);
}

SHMEMD_FN uint64_t shmemdi_used(const shmemd_ctx_t *ctx, uint32_t word)
{
	return shmemd_arch_ld_relaxed_u64(
		&ctx->used[ctx->channel * SHMEMD_USED_WORDS(ctx->n_world) + word]);
}

/* The world team's channels that were used, dealt out to the threads of the group by the PE's
 * number: threads may see different ones used, and who posts must be who waits. */
SHMEMD_FN int shmemdi_flush_world(const shmemdi_flush_t *f, int is_wait)
{
	uint32_t word;
	int status = SHMEMD_OK;

	for (word = 0; word < SHMEMD_USED_WORDS(f->ctx->n_world); word++) {
		uint64_t used = shmemdi_used(f->ctx, word);

		for (; used; used &= used - 1) {
			uint32_t low = (uint32_t)used;
			uint32_t bit = low ? shmemd_arch_lowest(low)
					   : 32 + shmemd_arch_lowest((uint32_t)(used >> 32));
			uint32_t pe = word * 64 + bit;
			int now = SHMEMD_OK;

			if (pe % f->g.size == f->g.rank)
				now = shmemdi_flush_one(f, (int)pe, is_wait);
			status = status ? status : now;
		}
	}
	return status;
}

SHMEMD_FN int shmemdi_flush_members(const shmemdi_flush_t *f, int is_wait)
{
	int status = SHMEMD_OK, pe;

	for (pe = (int)f->g.rank; pe < f->ctx->n_pes; pe += (int)f->g.size) {
		uint32_t world = (uint32_t)f->ctx->peers[pe].world_pe;
		int now = SHMEMD_OK;

		if (shmemdi_used(f->ctx, world / 64) >> world % 64 & 1)
			now = shmemdi_flush_one(f, pe, is_wait);
		status = status ? status : now;
	}
	return status;
}

/* By all threads of the group, a part each: first post all READs, then wait for them. Returns this
 * thread's first failure; the other channels are quiet all the same. */
SHMEMD_FN int shmemdi_flush_all(const shmemdi_flush_t *f)
{
	int is_world = (f->ctx->flags & SHMEMD_CTX_WORLD) != 0;
	int status = SHMEMD_OK, now, is_wait;

	SHMEMD_ARCH_NO_UNROLL
	for (is_wait = 0; is_wait < 2; is_wait++) {
		now = is_world ? shmemdi_flush_world(f, is_wait)
			       : shmemdi_flush_members(f, is_wait);
		status = status ? status : now;
	}
	return status;
}

#endif
