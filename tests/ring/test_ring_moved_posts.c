/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Posters that have written their WQEs for a path when the path is switched: the thread in the turn
 * before them carries out the order, and each poster moves its WQEs, including those of its lanes,
 * to the new path in its own turn. */
#include <shmem_dev/shmem_dev.h>
#include "paths.h"
#include "run.h"

enum { POSTERS = 5, LANES = 5, WORDS = 8 };
enum { TARGET, SOURCE, COUNTERS, RESULTS, END };

static uint32_t has_reserved, has_returned;

static void await(const uint32_t *word)
{
	while (!shmemd_arch_ld_acquire_u32(word))
		shmemd_arch_spin_hint();
}

/* Wait until an order is given. The waiting posters do not carry it out, nor do those that reserve
 * while another thread does. */
static void await_order(const rig_params_t *p, shmemdi_chan_t c, uint64_t resv)
{
	const uint64_t ahead = (resv & ~(uint64_t)0xff) | ((resv + 1) & 0xff);
	const uint64_t ready = shmemd_arch_ld_relaxed_u64(&c.ch->ready);

	while (!shmemd_arch_ld_acquire_u64(&p->ctx.switch_order->number))
		shmemd_arch_spin_hint();
	shmemdi_serve(&p->ctx, c.ch, ahead);
	shmemdi_serve(&p->ctx, c.ch, resv + SHMEMD_RESV_ADD(1, 1));
	shmemdi_serve(&p->ctx, 0, 0);
	/* like a poster blocked on another channel */
	shmemdi_serve(&p->ctx, rig_words(0, 0, 0), resv);
	CHECK_IS(shmemd_arch_ld_relaxed_u64(&c.ch->ready), ready);
}

/* Like a poster that is blocked for space: it reserves, switches, loads the line, and posts. */
static void first_poster(const rig_params_t *p)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, p->peer, p->ctx.channel);
	char *word = (char *)(word_of(&p->ctx, TARGET) + 63);
	shmemdi_put_keys_t keys = {.signal = shmemdi_keys(shmemdi_rkey(&ep, word))};
	uint64_t resv = shmemd_arch_atom_add_u64(&ep.c.ch->resv, SHMEMD_RESV_ADD(1, 1));
	shmemdi_reservation_t reserved = {.wqebbs = 1, .requests = 1};
	shmemdi_line_t line;

	shmemd_arch_red_or_u64(&p->ctx.used[0], (uint64_t)1 << p->peer);
	shmemd_arch_st_release_u32(&has_reserved, 1);
	await_order(p, ep.c, resv);
	do {
		shmemd_arch_spin_hint();
		shmemdi_serve(&p->ctx, ep.c.ch, resv);
		line = shmemdi_line(ep.c.ch);
	} while (SHMEMD_READY_EPOCH(line.ready) == SHMEMD_RESV_EPOCH(resv));
	CHECK_IS(SHMEMD_READY_EPOCH(line.ready), SHMEMD_TAG(line.path));
	CHECK_IS(SHMEMD_READY_EPOCH(line.ready), (SHMEMD_RESV_EPOCH(resv) + 1) & 0xff);
	reserved.resv = resv;
	reserved.line = line;
	CHECK_IS(shmemdi_sq_begin(&reserved), SHMEMD_OK);
	shmemdi_nic_signal_wqe(&ep, &reserved, 0,
			       shmemdi_signal((uint64_t *)(void *)word, 99, SHMEMD_SIGNAL_SET),
			       keys);
	shmemdi_sq_submit(&ep.c, &reserved, shmemdi_how(SHMEMD_RING_DEFAULT, 0), 0);
}

/* Each poster uses another kind of operation, so that all kinds of keys occur. */
static void post(const rig_params_t *p, uint32_t block, uint32_t lane)
{
	uint64_t *target = word_of(&p->ctx, TARGET) + block * WORDS + lane;
	uint64_t *source = word_of(&p->ctx, SOURCE) + block * WORDS + lane;
	uint64_t *counter = word_of(&p->ctx, COUNTERS) + lane, old = UINT64_MAX;

	switch ((block + p->arg) % POSTERS) {
	case 0:
		shmemd_p_u64(&p->ctx, target, 1000 + lane, p->peer);
		break;
	case 1: /* from the heap */
		shmemd_putmem_nbi(&p->ctx, target, source, sizeof(*target), p->peer);
		break;
	case 2:
		CHECK_IS(shmemd_atomic_compare_swap_u64(&p->ctx, &old, counter, lane, 500 + lane,
							p->peer),
			 0);
		CHECK_IS(old, lane);
		shmemd_p_u64(&p->ctx, target, 1000 + lane, p->peer);
		break;
	case 3: /* two WQEBBs */
		shmemd_atomic_set_u64(&p->ctx, target, 1000 + lane, p->peer);
		break;
	default:
		CHECK_IS(shmemd_getmem(&p->ctx, word_of(&p->ctx, RESULTS) + lane, source,
				       sizeof(*source), p->peer),
			 0);
		CHECK_IS(shmemd_arch_ld_relaxed_u64(word_of(&p->ctx, RESULTS) + lane), 70 + lane);
		shmemd_atomic_add_u64(&p->ctx, target, 1000 + lane, p->peer);
	}
}

static void kernel(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t block = shmemd_block_index(), lane = shmemd_thread_index();

	if (p->pe != 0) {
		while (lane == 0 && !shmemd_arch_ld_acquire_u64(word_of(&p->ctx, END))) {
			(void)shmemdi_service_once(&p->ctx);
			shmemd_arch_spin_hint();
		}
		return;
	}
	if (block == POSTERS) {
		if (lane == 0)
			first_poster(p);
		return;
	}
	await(&has_reserved);
	post(p, block, lane);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	shmemd_arch_red_add_u32(&has_returned, 1);
}

static void fill(int pe)
{
	(void)pe;
	has_reserved = has_returned = 0;
	for (uint32_t i = 0; i < POSTERS * WORDS; i++) {
		word_of(&rig_pes[0].ctx, SOURCE)[i] = 1000 + i % WORDS;
		word_of(&rig_pes[1].ctx, SOURCE)[i] = 70 + i % WORDS;
	}
	for (uint32_t i = 0; i < WORDS; i++)
		word_of(&rig_pes[1].ctx, COUNTERS)[i] = i;
}

static uint32_t n_lanes, n_reserved;

static void host(int pe)
{
	if (pe != 0)
		return;
	/* All waiting posters have written their WQEs: more polls than they need for it. */
	while (rig_reserved(0, 1, 0) != n_reserved)
		shmemd_arch_spin_hint();
	for (int i = 0; i < 300; i++)
		shmemsim_yield();
	CHECK_IS(rig_wqebbs(0, 1, 0), 0);
	rig_fence(0, 1, 0);
	rig_order(0, 1, 0);
	/* Posters that have reserved may still read the old queue. */
	CHECK_IS(rig_pes[0].order.retired, (uint32_t)rig_place(n_reserved));
	shmemd_arch_st_release_u64(word_of(&rig_pes[1].ctx, END), 1);
}

static void final_check(void)
{
	CHECK_IS(has_returned, POSTERS * n_lanes);
	CHECK_IS(word_of(&rig_pes[1].ctx, TARGET)[63], 99);
	for (uint32_t block = 0; block < POSTERS; block++)
		for (uint32_t lane = 0; lane < n_lanes; lane++)
			CHECK_IS(word_of(&rig_pes[1].ctx, TARGET)[block * WORDS + lane],
				 1000 + lane);
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		CHECK_IS(word_of(&rig_pes[1].ctx, COUNTERS)[lane], 500 + lane);
}

/* Kinds of operations in each order of the posters; coalesced lanes; READs with a DUMP. */
static void run_with(uint32_t lanes, uint32_t flags)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = kernel,
			.n_blocks = POSTERS + 1,
			.n_threads = lanes,
			.made = fill,
			.host = host,
			.final_check = final_check};

	n_lanes = lanes;
	n_reserved = 1 + lanes * (flags & SHMEMD_CTX_DUMP_AFTER_READ ? 8 : 6);
	t.plan.has_paths = 1;
	t.plan.flags = flags;
	for (t.arg = 0; t.arg < POSTERS; t.arg++)
		run_all_ways(&t);
}

static void alone(void **state)
{
	(void)state;
	run_with(1, 0);
}

static void lanes_together(void **state)
{
	(void)state;
	run_with(LANES, 0);
}

static void with_dumps(void **state)
{
	(void)state;
	run_with(LANES, SHMEMD_CTX_DUMP_AFTER_READ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(lanes_together),
		cmocka_unit_test(with_dumps),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
