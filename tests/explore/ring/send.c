/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations of all kinds, with one word each, and checks that they have arrived. */
#include "ring.h"

enum { BY_P, BY_PUT_NBI, BY_PUT, BY_ADD, BY_SET, N_WAYS };

/* From the heap, or inline in the WQE. Unless the put is nbi, the source may be reused when it
 * returns, and the test does so. */
static void put(const ring_pe_t *p, uint64_t *dst, uint32_t place, uint64_t value, int is_nbi)
{
	uint64_t *src = word_of(&p->ctx, AREA_SOURCE, place);

	shmemd_arch_st_data_u64(src, value);
	if (is_nbi) {
		shmemd_putmem_nbi(&p->ctx, dst, src, sizeof(*src), p->target);
		return;
	}
	shmemd_putmem(&p->ctx, dst, src, sizeof(*src), p->target);
	if (shmemd_arch_ld_relaxed_u32(&p->ctx.latch->status) == SHMEMD_OK)
		shmemd_arch_st_data_u64(src, ~value);
}

void ring_send(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	uint64_t *dst = word_of(&p->ctx, AREA_TARGET, place_of(w, i));
	const int when = (int)(w + i + p->variant) % 3; /* batch, now, later */
	const uint32_t way = (w * 2 + i * 3 + p->variant) % N_WAYS;

	switch (way) {
	case BY_P:
		shmemd_p_u64(&p->ctx, dst, value_of(w, i), p->target);
		break;
	case BY_PUT_NBI:
	case BY_PUT:
		put(p, dst, place_of(w, i), value_of(w, i), way == BY_PUT_NBI);
		break;
	case BY_ADD:
		shmemd_channel_add_u64(&p->ctx, dst, value_of(w, i), p->target, when);
		break;
	default:
		shmemd_channel_signal_set(&p->ctx, dst, value_of(w, i), p->target, when);
	}
}

void ring_send_all(const ring_pe_t *p, uint32_t w)
{
	for (uint32_t i = 0; i < RING_OPS; i++)
		ring_send(p, w, i);
}

void ring_check(const ring_pe_t *p, uint32_t w)
{
	for (uint32_t i = 0; i < RING_OPS; i++)
		EXPECT_IS(shmemd_arch_ld_data_u64(word_on(p->target, AREA_TARGET, place_of(w, i))),
			  value_of(w, i));
}

void ring_final_check(void)
{
	const uint32_t n = ring_dims.n_blocks * ring_dims.n_threads;
	const int target = ring_dims.target;
	const shmemd_channel_t *ch = rig_words(0, target, 0);
	const mlx5sw_qp_counters_t there = rig_counters(target, 0, 0);

	for (uint32_t w = 0; w < n; w++)
		for (uint32_t i = 0; i < RING_OPS; i++)
			EXPECT_IS(*word_on(target, AREA_TARGET, place_of(w, i)), value_of(w, i));
	EXPECT(ch->ready & SHMEMD_READY_RUNG ||
	       SHMEMD_RUNG_INDEX(ch->rung) == SHMEMD_READY_INDEX(ch->ready));
	EXPECT_IS(SHMEMD_RESV_INDEX(ch->resv), SHMEMD_READY_INDEX(ch->ready));
	EXPECT_IS(rig_status(0, target, 0), 0);
	EXPECT_IS(rig_requests(0, target, 0), there.executed);
}
