/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A channel (abi/queue.h) on behalf of one operation: its words, its line, its doorbell.
 *
 * The line is everything that a poster needs to know of a channel, loaded with independent loads in
 * one trip to memory. Its words but `done` carry the path's epoch, so that a poster detects a
 * mixture of two paths. */
#ifndef SHMEMD_IMPL_QUEUE_H
#define SHMEMD_IMPL_QUEUE_H

#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/impl/cqe.h>
#include <shmem_dev/impl/spin.h>
#include <shmem_dev/impl/wqe.h>

/* A channel, by value, so that a context that the kernel changed (shmemd_ctx_channel) need not live
 * in memory. Some functions that are not inlined take it in registers, others take its
 * address. */
typedef struct shmemdi_chan_t {
	shmemd_channel_t *ch;
	const shmemd_ctx_t *ctx; /* in memory: for failures, waits, and what is rarely needed */
	int pe;                  /* of the team; -1: not known (shmemdi_order_chan) */
	uint32_t world_pe;
	uint32_t k;        /* the channel's number */
	uint32_t flags;    /* SHMEMD_CTX_* */
	uint32_t geometry; /* SHMEMD_GEOMETRY */
} shmemdi_chan_t;

/* Channel k to pe, a member of the context's team. */
SHMEMD_FN shmemdi_chan_t shmemdi_chan(const shmemd_ctx_t *ctx, int pe, uint32_t k)
{
	shmemdi_chan_t c;

	c.pe = pe;
	c.world_pe =
		(uint32_t)(ctx->flags & SHMEMD_CTX_WORLD_NUMBERS ? pe : ctx->peers[pe].world_pe);
	c.ch = (shmemd_channel_t *)(uintptr_t)shmemd_arch_mad_wide(
		k * ctx->n_world + c.world_pe, sizeof(*c.ch), (uintptr_t)ctx->channels);
	c.ctx = ctx->device_copy;
	c.k = k;
	c.flags = ctx->flags;
	c.geometry = ctx->geometry;
	return c;
}

/* What names a channel. Functions that wait, that need not be fast, or that post for coalesced
 * lanes take it, and load the rest from the context in memory: the values of a shmemdi_chan_t would
 * take registers from whatever calls them. */
typedef struct shmemdi_ref_t {
	const shmemd_ctx_t *ctx;
	int pe;
	uint32_t k;
} shmemdi_ref_t;

SHMEMD_FN shmemdi_ref_t shmemdi_ref(const shmemdi_chan_t *c)
{
	shmemdi_ref_t ref = {c->ctx, c->pe, c->k};
	return ref;
}

/* The channel so named, for a function that waits or need not be fast: one copy of the loads for a
 * unit. */
SHMEMD_FN_CALL void shmemdi_chan_load(shmemdi_ref_t ref, shmemdi_chan_t *c)
{
	c = (shmemdi_chan_t *)shmemd_arch_as_local(c);
	*c = shmemdi_chan(ref.ctx, ref.pe, ref.k);
}

SHMEMD_FN uint32_t shmemdi_depth(const shmemdi_chan_t *c)
{
	return (uint32_t)1 << SHMEMD_LOG_DEPTH(c->geometry);
}

/* Is index `at` not before index `target`? */
SHMEMD_FN int shmemdi_reached(uint32_t at, uint32_t target)
{
	return (int32_t)(at - target) >= 0;
}

/* The value with these low bits that is nearest to `near`. */
SHMEMD_FN uint64_t shmemdi_unwrap(uint64_t near, uint64_t low, uint32_t bits)
{
	return near + (uint64_t)((int64_t)((low - near) << (64 - bits)) >> (64 - bits));
}

/* The line. */
typedef struct shmemdi_line_t {
	uint64_t ready, done, path, queue, doorbell;
} shmemdi_line_t;

SHMEMD_FN shmemdi_line_t shmemdi_line(const shmemd_channel_t *ch)
{
	shmemd_2u64_t a = shmemd_arch_ld_relaxed_2u64(&ch->ready);
	shmemd_2u64_t b = shmemd_arch_ld_relaxed_2u64(&ch->path);
	shmemdi_line_t line = {a.lo, a.hi, b.lo, b.hi, shmemd_arch_ld_relaxed_u64(&ch->doorbell)};
	return line;
}

/* The status for which the channel sends nothing any more; SHMEMD_OK: it works. */
SHMEMD_FN int shmemdi_channel_status(const shmemdi_chan_t *c)
{
	return (int)SHMEMD_PATH_STATUS(shmemd_arch_ld_relaxed_u64(&c->ch->path));
}

/* Posters whose snapshot shows the status send nothing; one with an older snapshot may still
 * publish and ring. The first status stays. A thread that sees it also sees what was completed
 * before. */
SHMEMD_FN void shmemdi_channel_fail(const shmemdi_chan_t *c, int status)
{
	uint64_t path = shmemd_arch_ld_relaxed_u64(&c->ch->path), seen;

	/* Without this fence a wait for what was completed before could end with the status. */
	shmemd_arch_fence_before_publish();
	while (!SHMEMD_PATH_STATUS(path)) {
		seen = shmemd_arch_atom_cas_u64(&c->ch->path, path,
						path | SHMEMD_PATH_FAILED(status));
		if (seen == path)
			break;
		path = seen;
	}
}

/* Take the lock in bit 0 of a word: of `done`, of the latch's `reports`, or, in a switch or by a
 * poster in its turn, of `rung`. The holder of the lock in `rung` waits at most for the one in
 * `done`; the holder of the one in `done` at most, with SHMEMD_CTX_FT, for the one in `reports`,
 * whose holder waits for none. Returns the word as it was. */
SHMEMD_FN uint64_t shmemdi_lock(uint64_t *p)
{
	for (;;) {
		uint64_t seen = shmemd_arch_ld_relaxed_u64(p);

		/* Without the acquire of the lock, old CQEs and an old `done` could be read. */
		if (!(seen & SHMEMD_BUSY) && shmemd_arch_try_lock(p, seen))
			return seen;
		shmemd_arch_spin_hint();
	}
}

/* The queue pair's index of a WQEBB. */
SHMEMD_FN uint32_t shmemdi_qp_index(uint64_t path, uint32_t index)
{
	return index - SHMEMD_PATH_BASE(path);
}

SHMEMD_FN char *shmemdi_wqebb(const shmemdi_chan_t *c, uint64_t path, uint64_t queue,
			      uint32_t index)
{
	uint32_t i =
		shmemd_arch_low_bits(shmemdi_qp_index(path, index), SHMEMD_LOG_DEPTH(c->geometry));

	return (char *)(uintptr_t)shmemd_arch_mad_wide(i, SHMEMD_WQEBB_NBYTES,
						       SHMEMD_ADDRESS(queue));
}

SHMEMD_FN char *shmemdi_cqe(const shmemdi_chan_t *c, uint64_t queue, uint32_t cqe)
{
	return (char *)SHMEMD_ADDRESS(queue) + SHMEMD_QUEUE_CQES_OFFSET(shmemdi_depth(c)) +
	       (size_t)shmemd_arch_low_bits(cqe, SHMEMD_LOG_DEPTH(c->geometry)) * SHMEMD_CQE_NBYTES;
}

/* 0, for the operands of atomics on the counters of a channel, as shmemd_arch_opaque_zero, but
 * without reading a special register: bit 7 is 0 in all path words. For the leader of a group, and
 * in functions that are not inlined. */
SHMEMD_FN uint32_t shmemdi_path_zero(uint64_t path)
{
	return (uint32_t)path & 0x80;
}

/* The same for threads that post for themselves. If their code is inlined, the address of the path
 * word may be equal in all lanes; ptxas then takes the word for equal, too, and adds up their
 * atomics. */
SHMEMD_FN uint32_t shmemdi_thread_zero(uint64_t path)
{
#ifdef SHMEMD_NIC_INLINE
	(void)path;
	return shmemd_arch_opaque_zero();
#else
	return shmemdi_path_zero(path);
#endif
}

/* Ring by the register. is_on_gpu is a constant at each call, so that the code has one branch for
 * the scope and not one at each fence.
 *
 * A doorbell without a record carries the index itself, so two of them must not overtake each
 * other; with a record the NIC reads the newest index whichever comes last. */
SHMEMD_FN void shmemdi_ring_by_register(const shmemdi_chan_t *c, uint64_t path, uint64_t queue,
					uint64_t doorbell, uint32_t index, int is_on_gpu)
{
	char *record = (char *)SHMEMD_ADDRESS(queue) +
		       SHMEMD_QUEUE_RECORD_OFFSET(shmemdi_depth(c)) +
		       SHMEMD_RECORD_SEND * sizeof(uint32_t);

	if (is_on_gpu)
		shmemd_arch_fence_before_record_gpu();
	else
		shmemd_arch_fence_before_record();
#ifdef SHMEMD_NIC_INLINE
	/* Code of its own for ringing without a record: inline, 32 warps on channels of their own
	 * post 4 % more with it; out of line a put by a warp takes 4 % longer (H200). */
	if ((uint32_t)path & SHMEMD_PATH_NO_RECORD) {
		shmemd_arch_st_mmio_u64((void *)SHMEMD_ADDRESS(doorbell),
					shmemdi_doorbell(index, SHMEMD_PATH_QPN_BE(path)));
		shmemd_arch_fence_before_publish();
		return;
	}
#endif
	if (!((uint32_t)path & SHMEMD_PATH_NO_RECORD)) {
		/* The low 16 bits of the index, as a big-endian word. */
		shmemd_arch_st_relaxed_u32(record, shmemd_arch_permute_bytes(index, 0x0144));
		if (is_on_gpu)
			shmemd_arch_fence_before_doorbell_gpu();
		else
			shmemd_arch_fence_before_doorbell();
	}
	shmemd_arch_st_mmio_u64((void *)SHMEMD_ADDRESS(doorbell),
				shmemdi_doorbell(index, SHMEMD_PATH_QPN_BE(path)));
	if ((uint32_t)path & SHMEMD_PATH_NO_RECORD)
		/* Orders this doorbell before the next one. */
		shmemd_arch_fence_before_publish();
}

/* Ring for all WQEBBs before `end`: those that are published, and those that the caller, in its
 * turn, publishes next. On a path one thread at a time rings, each time with a later `end`. The
 * path is not that of a proxy. zero: shmemdi_path_zero, or shmemdi_thread_zero. */
SHMEMD_FN void shmemdi_ring_nic(const shmemdi_chan_t *c, uint64_t path, uint64_t queue,
				uint64_t doorbell, uint32_t end, uint32_t zero)
{
	uint32_t index = shmemdi_qp_index(path, end);

	if (c->flags & SHMEMD_CTX_NIC_GPU_SCOPE)
		shmemdi_ring_by_register(c, path, queue, doorbell, index, 1);
	else
		shmemdi_ring_by_register(c, path, queue, doorbell, index, 0);
	shmemd_arch_red_add_u64(&c->ch->doorbells, 1 + zero);
}

/* The same on any path. The proxy is a thread of the host that polls a word. */
SHMEMD_FN_CALL void shmemdi_ring(const shmemdi_chan_t *c, uint64_t path, uint64_t queue,
				 uint64_t doorbell, uint32_t end)
{
	if (!(path & SHMEMD_PATH_PROXY)) {
		shmemdi_ring_nic(c, path, queue, doorbell, end, shmemdi_path_zero(path));
		return;
	}
	shmemd_arch_fence_before_record();
	shmemd_arch_st_relaxed_u64((void *)SHMEMD_ADDRESS(doorbell), shmemdi_qp_index(path, end));
	/* Orders this store before that of the next thread that rings, which acquires `ready` or
	 * the lock in `rung`. Otherwise this index could replace a greater one that the proxy has
	 * not read. */
	shmemd_arch_fence_before_publish();
	shmemd_arch_red_add_u64(&c->ch->doorbells, 1);
}

/* Return once the doorbell covers all WQEBBs before `end`, which are published. The caller has
 * published them without RUNG, or has since acquired a `ready` without RUNG: so `rung` is valid
 * and, if the doorbell has been rung for them, covers them. By any thread that is not publishing,
 * also a poster after its turn, and one that has the turn and waits for space. A thread that holds
 * the lock here waits for nothing; one that holds it in a switch waits for the lock of `done`.
 *
 * The compare-and-swap is on the value of `rung` that showed the need. It must exclude this case:
 * RUNG was clear, was set and is clear again, and `rung` has the same value as before, so that this
 * thread would ring for less than was rung for meanwhile. To set RUNG where it was clear, a poster
 * advances `rung` under this lock, and a switch stores to `rung` the index after all that is
 * published. A poster that clears RUNG stores its own first index to `rung`, which is not earlier.
 * So `rung` has changed: the thread fails to take the lock, or finds its WQEBBs covered. */
SHMEMD_FN_CALL void shmemdi_ring_unrung(const shmemdi_chan_t *c, uint32_t end)
{
	shmemdi_line_t line;

	for (;;) {
		uint64_t rung = shmemd_arch_ld_mmio_u64(&c->ch->rung);

		if (shmemdi_reached(SHMEMD_RUNG_INDEX(rung), end))
			return;
		/* The lock orders the stores of one ringer, to the record and to the doorbell,
		 * before those of the next. */
		if (!(rung & SHMEMD_BUSY) && shmemd_arch_try_lock(&c->ch->rung, rung))
			break;
		shmemd_arch_spin_hint();
	}
	line = shmemdi_line(c->ch);
	/* The doorbell covers all WQEBBs that `ready` counts, also of other posters. */
	shmemd_arch_fence_acquire();
	shmemdi_ring(c, line.path, line.queue, line.doorbell, SHMEMD_READY_INDEX(line.ready));
	shmemd_arch_unlock(&c->ch->rung, SHMEMD_RUNG_WORD(SHMEMD_READY_INDEX(line.ready)));
}

/* By a waiter that has loaded `ready`: if all WQEBBs before `end` are published, return once the
 * doorbell covers them. */
SHMEMD_FN void shmemdi_ring_until(const shmemdi_chan_t *c, uint64_t ready, uint32_t end)
{
	if ((ready & SHMEMD_READY_RUNG) || !shmemdi_reached(SHMEMD_READY_INDEX(ready), end))
		return;
	/* A poster that clears RUNG stores `rung` first. An older value could be one of 2^31 WQEBBs
	 * ago, and seem to cover these. */
	shmemd_arch_fence_acquire();
	shmemdi_ring_unrung(c, end);
}

/* Bounce buffers */

/* This channel's buffers. */
SHMEMD_FN char *shmemdi_bounces(const shmemdi_chan_t *c)
{
	const shmemd_ctx_t *device_copy = c->ctx;
	size_t channel = (size_t)c->k * device_copy->n_world + c->world_pe;

	return device_copy->bounces + channel * SHMEMD_BOUNCES_NBYTES;
}

SHMEMD_FN char *shmemdi_bounce(const shmemdi_chan_t *c, uint64_t ticket)
{
	return shmemdi_bounces(c) + (size_t)(ticket % SHMEMD_BOUNCE_BUFFERS) * SHMEMD_BOUNCE_NBYTES;
}

/* Sink of all channels, for the results of non-fetching atomics and of flush READs. */
SHMEMD_FN const char *shmemdi_bounce_sink(const shmemd_ctx_t *ctx)
{
	/* As an integer, since the context of a job without NICs has NULL there. */
	return (const char *)((uintptr_t)ctx->bounces +
			      (size_t)SHMEMD_BOUNCE_BUFFERS * SHMEMD_BOUNCE_NBYTES);
}

SHMEMD_FN uint64_t *shmemdi_bounce_owner(const shmemdi_chan_t *c, uint64_t ticket)
{
	return &c->ch->owners[ticket % SHMEMD_BOUNCE_BUFFERS];
}

#endif
