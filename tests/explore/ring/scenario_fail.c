/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A channel fails under traffic of many threads: no call reports success for a lost operation,
 * every call returns, and all threads read the first cause. */
#include "kernels.h"

enum { FAIL_PUT, FAIL_GET, FAIL_ATOMIC, FAIL_HERE, FAIL_THERE, FAIL_PEER };

const char *const ring_fail_variants[] = {"put without a key",
					  "get without a key",
					  "atomic without a key",
					  "queue pair stopped",
					  "the peer's queue pair stopped",
					  "the peer dies",
					  NULL};

/* A peer that dies does not respond: its queue pair may fail before the host has reported the
 * death. */
static int is_expected(int status)
{
	if (ring_dims.variant <= FAIL_ATOMIC)
		return status == SHMEMD_ERR_REFUSED;
	return status == SHMEMD_ERR_PATH ||
	       (ring_dims.variant == FAIL_PEER && status == SHMEMD_ERR_PEER);
}

void ring_fail_plan(void)
{
	ring_dims.is_bad_for_lint = 1;
	ring_dims.plan.nic.timing = MLX5SW_TIMING_FAST;
	if (ring_dims.variant <= FAIL_ATOMIC)
		ring_dims.plan.unregistered = 1u << AREA_RESULT;
	/* not to itself: the other end of the queue pair fails, too, and first */
	ring_dims.target = ring_dims.plan.n_pes - 1;
}

/* A sleep would end only when all other fibers wait. */
static void let_others_run(unsigned n)
{
	while (n--)
		shmemsim_yield();
}

/* The failure, at a random moment. */
void ring_fail_agent(void)
{
	const int target = ring_dims.target;

	let_others_run(shmemsim_choose(60));
	if (ring_dims.variant == FAIL_HERE)
		rig_control("qp err host=0 qp=0x%x", rig_channel(0, target, 0)->qp->qpn);
	else if (ring_dims.variant == FAIL_THERE)
		rig_control("qp err host=%d qp=0x%x", target, rig_channel(target, 0, 0)->qp->qpn);
	else if (ring_dims.variant == FAIL_PEER) {
		rig_control("hold packet kind=ack");
		rig_control("hold packet kind=response");
		let_others_run(shmemsim_choose(60));
		shmemd_arch_st_release_u32(&rig_pes[0].causes[target], SHMEMD_CAUSE_DIED);
	}
}

static void do_bad(const ring_pe_t *p)
{
	uint64_t *bad = word_of(&p->ctx, AREA_RESULT, 0);
	uint64_t old = 0;

	if (p->variant == FAIL_PUT)
		shmemd_p_u64(&p->ctx, bad, 1, p->target);
	else if (p->variant == FAIL_GET)
		EXPECT_IS(shmemd_g_u64(&p->ctx, &old, bad, p->target), SHMEMD_ERR_REFUSED);
	else if (p->variant == FAIL_ATOMIC)
		EXPECT_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &old, bad, p->target),
			  SHMEMD_ERR_REFUSED);
}

/* Check the status of a call that may have come too late for its channel. */
static int judge(const ring_pe_t *p, uint32_t w, int status, uint32_t n_sent)
{
	if (status != SHMEMD_OK) {
		if (!is_expected(status))
			shmemsim_fail("a call of thread %u returned %d", w, status);
		return status;
	}
	for (uint32_t i = 0; i < n_sent; i++)
		EXPECT_IS(shmemd_arch_ld_data_u64(word_on(p->target, AREA_TARGET, place_of(w, i))),
			  value_of(w, i));
	return status;
}

static int read_known(const ring_pe_t *p, uint32_t w)
{
	uint64_t mine = 0;
	const int status = shmemd_g_u64(
		&p->ctx, &mine, word_of(&p->ctx, AREA_SOURCE, place_of(w + 1, 0)), p->target);

	if (status == SHMEMD_OK && w + 1 < RING_THREADS_MAX && p->target)
		EXPECT_IS(mine, value_of(w + 1, 0));
	return status;
}

/* Operations that were complete when the channel failed count: a poll without success was of a
 * later place. */
static int poll_known(const ring_pe_t *p, uint32_t w)
{
	const uint64_t place = shmemd_channel_posted(&p->ctx, p->target);
	int status = SHMEMD_OK, is_done = 0;

	while (!is_done && status == SHMEMD_OK) {
		shmemd_arch_spin_hint();
		status = shmemd_channel_poll(&p->ctx, p->target, place, &is_done);
		if (shmemd_arch_ld_acquire_u32(&p->ctx.causes[p->target]))
			/* no completion follows, and poll does not read beyond the failure */
			break;
	}
	if (status != SHMEMD_OK)
		ring_notes.old[w][0] = place;
	return status;
}

/* A channel that has failed does not report dropped operations as complete. */
static void expect_covered(const ring_pe_t *p, uint64_t before)
{
	const int has_gone = shmemd_arch_ld_relaxed_u32(&p->ctx.latch->status) == SHMEMD_OK;
	const uint64_t place = shmemd_channel_posted(&p->ctx, p->target);
	int is_done = 0;
	const int status = shmemd_channel_poll(&p->ctx, p->target, place, &is_done);

	EXPECT(!has_gone || place != before || status != SHMEMD_OK || !is_done);
}

/* Each operation, and a wait in one of three forms. */
static int send_and_wait(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	const uint64_t before = shmemd_channel_posted(&p->ctx, p->target);

	ring_send(p, w, i);
	if ((w + i) % 3 == 2 && w > 0)
		expect_covered(p, before);
	switch ((w + i) % 3) {
	case 0:
		return judge(p, w, shmemd_channel_quiet(&p->ctx, p->target), i + 1);
	case 1:
		return judge(p, w, read_known(p, w), 0);
	default:
		return judge(p, w, poll_known(p, w), 0);
	}
}

void ring_fail(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();
	int status = SHMEMD_OK, now;

	if (p->pe)
		return;
	for (uint32_t i = 0; i < RING_OPS; i++) {
		if (w == 0 && i == 1)
			do_bad(p);
		now = send_and_wait(p, w, i);
		status = status ? status : now;
	}
	now = judge(p, w, shmemd_quiet(&p->ctx), RING_OPS);
	EXPECT(now != SHMEMD_OK || status == SHMEMD_OK); /* the status does not change */
	if (w == 0 && p->variant <= FAIL_ATOMIC)
		EXPECT_IS(now, SHMEMD_ERR_REFUSED);
	ring_notes.status[w] = now;
}

static int has_come(uint64_t place)
{
	const uint64_t done = SHMEMD_DONE_INDEX(rig_words(0, ring_dims.target, 0)->done);
	const unsigned bits = 64 - SHMEMD_DONE_INDEX_BITS;

	return (int64_t)((done - place) << bits) >= 0;
}

/* There is one record, of the cause. */
void ring_fail_final_check(void)
{
	static const uint32_t ops[] = {SHMEMD_OP_PUT, SHMEMD_OP_GET, SHMEMD_OP_ATOMIC};
	const shmemd_error_t *e = &rig_pes[0].error;
	const uint32_t n = ring_dims.n_blocks * ring_dims.n_threads;
	int has_failed = 0;

	for (uint32_t w = 0; w < n; w++) {
		has_failed |= ring_notes.status[w] != SHMEMD_OK;
		EXPECT(!ring_notes.old[w][0] || !has_come(ring_notes.old[w][0]));
	}
	if (!has_failed)
		return;
	EXPECT(is_expected((int)e->status));
	EXPECT_IS(e->pe, ring_dims.target);
	if (ring_dims.variant <= FAIL_ATOMIC)
		EXPECT_IS(e->op, ops[ring_dims.variant]);
}
