/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Many threads on one queue that is too short for them: they post, wait for space, ring and poll
 * completions, separately, as coalesced lanes, or both. */
#include "kernels.h"

/* As many WQEBBs are free throughout a call as are neither reserved by its end nor complete by its
 * beginning, whatever other threads post and read meanwhile. */
static uint32_t space(const ring_pe_t *p)
{
	const shmemd_channel_t *ch = rig_words(p->pe, p->target, 0);
	const uint64_t done = SHMEMD_DONE_INDEX(shmemd_arch_ld_relaxed_u64(&ch->done));
	const uint32_t n = shmemd_channel_space(&p->ctx, p->target);
	const uint32_t resv = SHMEMD_RESV_INDEX(shmemd_arch_ld_relaxed_u64(&ch->resv));

	EXPECT(n <= ring_dims.plan.depth);
	EXPECT((uint64_t)n + (resv - (uint32_t)done) >= ring_dims.plan.depth);
	return n;
}

/* Poll shmemd_channel_space until there is room; no thread waits for anything else. */
static void await_space(const ring_pe_t *p, uint32_t n)
{
	while (space(p) < n) {
		shmemd_channel_ring(&p->ctx, p->target);
		shmemd_arch_spin_hint();
	}
}

static void await_place(const ring_pe_t *p, uint64_t place)
{
	int is_done = 0;

	while (!is_done) {
		EXPECT_IS(shmemd_channel_poll(&p->ctx, p->target, place, &is_done), SHMEMD_OK);
		if (!is_done)
			shmemd_arch_spin_hint();
	}
}

enum { POST_QUIET, POST_CHANNEL_QUIET, POST_SPACE, POST_POLL };

const char *const ring_post_variants[] = {"quiet", "quiet of the channel", "space, then quiet",
					  "poll, then quiet", NULL};

void ring_post(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	if (p->pe)
		return;
	for (uint32_t i = 0; i < RING_OPS; i++) {
		if (p->variant == POST_SPACE)
			await_space(p, 1);
		ring_send(p, w, i);
	}
	if (p->variant == POST_POLL)
		await_place(p, shmemd_channel_posted(&p->ctx, p->target));
	if (p->variant == POST_QUIET)
		EXPECT_IS(shmemd_quiet(&p->ctx), SHMEMD_OK);
	else
		EXPECT_IS(shmemd_channel_quiet(&p->ctx, p->target), SHMEMD_OK);
	ring_check(p, w);
}

/* All threads poll one queue: a source is not free, and a result has not arrived, before poll
 * reports it, whichever thread has read the CQE. */
const char *const ring_poll_variants[] = {"get", "get and put", NULL};

static void get_and_poll(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	uint64_t *result = word_of(&p->ctx, AREA_RESULT, place_of(w, i));
	uint64_t *known = word_of(&p->ctx, AREA_SOURCE, place_of(w, i));
	uint64_t *dst = word_of(&p->ctx, AREA_TARGET, place_of(w, i));

	if (p->variant)
		shmemd_putmem_nbi(&p->ctx, dst, known, sizeof(*known), p->target);
	shmemd_getmem_nbi(&p->ctx, result, known, sizeof(*known), p->target);
	await_place(p, shmemd_channel_posted(&p->ctx, p->target));
	EXPECT_IS(shmemd_arch_ld_data_u64(result), value_of(w, i));
	if (p->target)
		shmemd_arch_st_data_u64(known, 0);
}

void ring_poll(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	if (p->pe)
		return;
	for (uint32_t i = 0; i < RING_OPS; i++)
		get_and_poll(p, w, i);
	EXPECT_IS(shmemd_quiet(&p->ctx), SHMEMD_OK);
	if (p->variant)
		ring_check(p, w);
}
