/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bounce buffers (abi/queue.h): READs and atomics return into them for g, fetches, and gets into
 * unregistered memory. A user draws a ticket; the users of one buffer take it in the order of their
 * tickets. A wait that ends without the result (time limit, failed PE, failed channel) abandons its
 * buffer, which is free again once its WQE is complete: until then the NIC may still write to
 * it. */
#ifndef SHMEMD_IMPL_BOUNCE_H
#define SHMEMD_IMPL_BOUNCE_H

#include <shmem_dev/impl/coalesce.h>
#include <shmem_dev/impl/cq.h>

#define SHMEMDI_OWNER_TICKETS 0x7fffffu /* 23 bits */
#define SHMEMDI_OWNER_INDEX_BITS 40u

/* May `ticket` take the buffer whose owner word is `word`? An abandoned one only when its WQE is
 * complete. */
SHMEMD_FN int shmemdi_bounce_is_free(const shmemdi_chan_t *c, uint64_t word, uint64_t ticket)
{
	uint64_t done, end;

	if (!(word & 1))
		return word == ticket << 1;
	if ((word >> 1 & SHMEMDI_OWNER_TICKETS) != (ticket & SHMEMDI_OWNER_TICKETS))
		return 0;
	done = SHMEMD_DONE_INDEX(shmemdi_done(c));
	end = shmemdi_unwrap(done, word >> 24, SHMEMDI_OWNER_INDEX_BITS);
	return (int64_t)(done - end) >= 0;
}

/* The time is up for the user that waits with this ticket. If it is next for an abandoned buffer,
 * pass the buffer, still abandoned, to the next ticket, and return 1. Otherwise an earlier user has
 * the buffer, and releases, abandons or passes it when its own wait ends: return 0. */
SHMEMD_FN int shmemdi_bounce_pass(const shmemdi_chan_t *c, uint64_t word, uint64_t ticket)
{
	uint64_t step = (uint64_t)SHMEMD_BOUNCE_BUFFERS << 1;
	uint64_t mask = (uint64_t)SHMEMDI_OWNER_TICKETS << 1;
	uint64_t passed = (word & ~mask) | ((word + step) & mask);

	if (!(word & 1) || (word >> 1 & SHMEMDI_OWNER_TICKETS) != (ticket & SHMEMDI_OWNER_TICKETS))
		return 0;
	shmemd_arch_unlock(shmemdi_bounce_owner(c, ticket), passed);
	return 1;
}

/* Take the buffer: wait until its last user has read it, or has abandoned it and its WQE is
 * complete. The time limit does not end the wait while an earlier user has the buffer
 * (shmemdi_bounce_pass). Coalesced lanes draw adjacent tickets together, so that none of them waits
 * for another. */
SHMEMD_FN_CALL int shmemdi_bounce_take(const shmemdi_chan_t *c, shmemdi_call_t call,
				       uint64_t ticket)
{
	shmemdi_spin_t spin = shmemdi_spin(shmemdi_limit_default(c->ctx, c->pe));
	uint64_t *owner = shmemdi_bounce_owner(c, ticket);
	uint64_t word = shmemd_arch_ld_relaxed_u64(owner);
	int status;

	while (!shmemdi_bounce_is_free(c, word, ticket)) {
		status = shmemdi_channel_status(c);
		/* Record the failure in each call, as shmemdi_sq_wait_room does: the host may have
		 * cleared the record since the channel failed. */
		if (status != SHMEMD_OK)
			return shmemdi_record_channel_error(c, call, status, 0, 0);
		status = shmemdi_wait_step(c->ctx, &spin);
		if (status == SHMEMD_ERR_PEER) {
			shmemdi_record_channel_error(c, call, status, 0, 0);
			shmemdi_channel_fail(c, status);
		}
		if (status == SHMEMD_ERR_TIMEOUT && shmemdi_bounce_pass(c, word, ticket))
			return shmemdi_record_channel_error(c, call, status, 0, 0);
		(void)shmemdi_cq_consume(c, call, shmemdi_done(c));
		word = shmemd_arch_ld_relaxed_u64(owner);
	}
	/* Acquire: the last user has read the buffer before this user's result arrives. */
	shmemd_arch_fence_acquire();
	/* Give an abandoned buffer an owner again, so that a switch can mark its result as lost. */
	if (word & 1)
		shmemd_arch_st_relaxed_u64(owner, ticket << 1);
	return SHMEMD_OK;
}

/* Was the result lost in a switch to another path? Valid once the WQE is complete. */
SHMEMD_FN int shmemdi_bounce_is_lost(const shmemdi_chan_t *c, uint64_t ticket)
{
	return c->flags & SHMEMD_CTX_FT &&
	       shmemd_arch_ld_relaxed_u64(shmemdi_bounce_owner(c, ticket)) & SHMEMD_OWNER_AMBIGUOUS;
}

/* Release it: its content has been read. The next user's result arrives after that. */
SHMEMD_FN void shmemdi_bounce_release(const shmemdi_chan_t *c, uint64_t ticket)
{
	shmemd_arch_unlock(shmemdi_bounce_owner(c, ticket), (ticket + SHMEMD_BOUNCE_BUFFERS) << 1);
}

/* Abandon the buffer: the wait has ended before the WQEBBs before `end` were complete, so the NIC
 * may still write the result. */
SHMEMD_FN void shmemdi_bounce_abandon(const shmemdi_chan_t *c, uint64_t ticket, uint32_t end)
{
	uint64_t next = (ticket + SHMEMD_BOUNCE_BUFFERS) & SHMEMDI_OWNER_TICKETS;
	uint64_t index = shmemdi_unwrap(SHMEMD_DONE_INDEX(shmemdi_done(c)), end, 32);

	shmemd_arch_unlock(shmemdi_bounce_owner(c, ticket), index << 24 | next << 1 | 1);
}

#endif
