/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The slow path of a reservation (impl/sq.h): what its poster waits for before it writes WQEs. */
#ifndef SHMEMD_IMPL_ROOM_H
#define SHMEMD_IMPL_ROOM_H

#include <shmem_dev/impl/cq.h>

/* Wait until all WQEBBs before `end` are complete: reserved WQEBBs cannot be given back, and all
 * later posters wait for them. When the PE has failed, the channel fails. When nothing at all
 * completes within the time limit, the channel fails, too, but with fail-over (SHMEMD_CTX_FT) this
 * thread reports a suspicion to the host, and goes on waiting. resv: as this poster found it. */
SHMEMD_FN void shmemdi_sq_wait_space(const shmemdi_chan_t *c, shmemdi_call_t call, uint64_t resv,
				     uint32_t end)
{
	shmemdi_limit_t limit = shmemdi_limit_default(c->ctx, c->pe);
	shmemdi_spin_t of_wait = shmemdi_spin(limit), *spin = &of_wait;
	uint64_t before = SHMEMD_DONE_INDEX(shmemdi_done(c)), now;
	int status;

	while (!shmemdi_cq_poll_index(c, call, end, &status)) {
		if (status == SHMEMD_OK)
			status = shmemdi_wait_step_of_poster(c->ctx, spin, c->ch, resv);
		if (status == SHMEMD_OK)
			continue;
		now = SHMEMD_DONE_INDEX(shmemdi_done(c));
		if (status == SHMEMD_ERR_TIMEOUT && (now != before || c->flags & SHMEMD_CTX_FT)) {
			if (now == before)
				shmemdi_suspect(c);
			before = now;
			*spin = shmemdi_spin(spin->limit);
			continue;
		}
		shmemdi_record_channel_error(c, call, status, end, 0);
		if (status == SHMEMD_ERR_TIMEOUT) /* final for the channel: not to be repeated */
			status = SHMEMD_ERR_PATH;
		shmemdi_channel_fail(c, status);
		return;
	}
}

/* Are the words of this snapshot of one path, and not older than the reservation? */
SHMEMD_FN int shmemdi_line_is_whole(shmemdi_line_t line, uint32_t resv_epoch)
{
	uint32_t epoch = SHMEMD_READY_EPOCH(line.ready);

	return SHMEMD_TAG(line.path) == epoch && SHMEMD_TAG(line.queue) == epoch &&
	       SHMEMD_TAG(line.doorbell) == epoch && (int8_t)(uint8_t)(epoch - resv_epoch) >= 0;
}

/* Is the queue idle: is all before `first` published, and has `done` been moved up to there? */
SHMEMD_FN int shmemdi_line_shows_idle(shmemdi_line_t line, uint32_t first)
{
	uint32_t ready = SHMEMD_READY_INDEX(line.ready),
		 done = (uint32_t)SHMEMD_DONE_INDEX(line.done);

	return ((ready ^ first) | (done ^ first)) == 0;
}

/* Quiet completes used channels only. The first poster on a channel finds the queue idle, and sets
 * the channel's bit in `used` before it publishes; other posters publish after that. */
SHMEMD_FN void shmemdi_sq_set_used(const shmemdi_chan_t *c)
{
	const shmemd_ctx_t *device_copy = c->ctx;
	uint32_t word = c->k * SHMEMD_USED_WORDS(device_copy->n_world) + c->world_pe / 64;

	shmemd_arch_red_or_u64(&device_copy->used[word], (uint64_t)1 << c->world_pe % 64);
}

/* The slow path: wait until all WQEBBs before `end` are complete or the channel has failed, then
 * return a snapshot whose words are of one path: that of the reservation or a later one. If the
 * queue is idle, set the channel's bit in `used` first. If the channel has failed, the snapshot's
 * path word has the status, and the error is recorded, also if the channel had failed before the
 * call: the host may have cleared the record since. resv: as for shmemdi_sq_wait_space. */
SHMEMD_FN_CALL shmemdi_line_t shmemdi_sq_wait_room(shmemdi_ref_t ref, shmemdi_call_t call,
						   uint64_t resv, uint32_t end)
{
	shmemdi_chan_t chan, *c = &chan;
	shmemdi_line_t line;

	shmemdi_chan_load(ref, c);
	for (;;) {
		shmemdi_sq_wait_space(c, call, resv, end);
		if (shmemdi_line_shows_idle(shmemdi_line(c->ch), SHMEMD_RESV_INDEX(resv)))
			shmemdi_sq_set_used(c);
		line = shmemdi_line(c->ch);
		if (shmemdi_line_is_whole(line, SHMEMD_RESV_EPOCH(resv)))
			break;
		shmemd_arch_spin_hint();
	}
	if (SHMEMD_PATH_STATUS(line.path))
		shmemdi_record_channel_error(c, call, (int)SHMEMD_PATH_STATUS(line.path), end, 0);
	return line;
}

#endif
