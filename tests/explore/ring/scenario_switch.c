/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The path of a channel fails at a random moment, and perhaps the next path, too; the host orders
 * switches to other paths. Every operation takes effect once and in order; no READ is executed
 * after its caller has returned; a fetching atomic whose result is lost reports it, and no other
 * call reports an error. */
#include "kernels.h"
#include "paths.h"

/* Words of areas besides those of place_of. */
enum {
	LAST = 32,
	COUNTER = 63
	/* target: for each thread, the last of its puts; the word that all threads add to */
};
#define END 60u /* of PE 0: the host gives no more orders */

enum {
	SWITCH_SEND,
	SWITCH_READ,
	SWITCH_FETCH,
	SWITCH_UNRUNG,
	SWITCH_ALL,
	SWITCH_MOVE,
	SWITCH_SERVICE
};

const char *const ring_switch_variants[] = {"puts and adds",
					    "gets",
					    "fetches",
					    "puts without a doorbell, and a service",
					    "all",
					    "all, after a poster that switches",
					    "all, with a service, then the end",
					    NULL};

static uint32_t n_kills, n_ambiguous, n_orders;
static int is_two_way; /* the target puts or gets, too, in the other direction */

void ring_switch_both_ways(void)
{
	is_two_way = ring_dims.variant <= SWITCH_READ;
}

void ring_switch_plan(void)
{
	is_two_way = 0;
	ring_dims.plan.has_paths = 1;
	n_kills = 1 + scenario_draw(2);
	/* Converged lanes wait for the lane that switches. */
	if ((ring_dims.variant == SWITCH_MOVE || ring_dims.variant == SWITCH_UNRUNG) &&
	    ring_dims.n_blocks == 1)
		ring_plan_threads();
}

static int has_service(void)
{
	return ring_dims.variant == SWITCH_SERVICE || ring_dims.variant == SWITCH_UNRUNG;
}

/* With a service, the last thread is not a worker. */
static uint32_t n_workers(void)
{
	return ring_dims.n_blocks * ring_dims.n_threads - (uint32_t)has_service();
}

/* Kernel */

static void get_known(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	uint64_t *result = word_of(&p->ctx, AREA_RESULT, w);
	const uint64_t *known = word_of(&p->ctx, AREA_RESULT, 32 + w);
	uint64_t mine = 0;

	EXPECT_IS(shmemd_getmem(&p->ctx, result, known, sizeof(*result), p->target), SHMEMD_OK);
	EXPECT_IS(shmemd_arch_ld_relaxed_u64(result), value_of(w, 9));
	shmemd_arch_st_relaxed_u64(result, i);
	EXPECT_IS(shmemd_g_u64(&p->ctx, &mine, known, p->target), SHMEMD_OK);
	EXPECT_IS(mine, value_of(w, 9));
}

static void fetch(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	uint64_t old = UINT64_MAX;
	const int status = shmemd_atomic_fetch_inc_u64(
		&p->ctx, &old, word_of(&p->ctx, AREA_TARGET, COUNTER), p->target);

	if (status == SHMEMD_ERR_AMBIGUOUS)
		__atomic_fetch_add(&n_ambiguous, 1, __ATOMIC_RELAXED);
	else
		EXPECT_IS(status, SHMEMD_OK);
	ring_notes.old[w][i] = status == SHMEMD_OK ? old : UINT64_MAX;
}

static void work(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	const int does_all = p->variant >= SWITCH_ALL;

	if (p->variant == SWITCH_SEND || does_all)
		ring_send(p, w, i);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, AREA_TARGET, LAST + w), i + 1, p->target);
	if (p->variant == SWITCH_READ || (does_all && (w + i) % 2))
		get_known(p, w, i);
	if (p->variant == SWITCH_FETCH || (does_all && (w + i) % 2 == 0))
		fetch(p, w, i);
}

/* Without a wait, if there is space: the service finds WQEs that no thread has acquired and the NIC
 * has not read. */
static void put_unrung(const ring_pe_t *p, uint32_t w)
{
	for (uint32_t i = 0; i < RING_OPS; i++)
		shmemd_channel_signal_set(&p->ctx, word_of(&p->ctx, AREA_TARGET, LAST + w), i + 1,
					  p->target, SHMEMD_RING_DEFERRED);
	while (!shmemd_arch_ld_relaxed_u64(&p->ctx.switch_order->carried_out))
		shmemd_arch_spin_hint();
}

/* A poster that is blocked for space switches in its turn, unless other threads have carried out
 * all orders before. Before its WQEBBs there are some without a doorbell, after them posters that
 * write for the old path. */
static void switch_in_turn(const ring_pe_t *p)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, p->target, p->ctx.channel);
	char *word = (char *)word_of(&p->ctx, AREA_TARGET, LAST + RING_THREADS_MAX);
	const shmemdi_put_keys_t keys = {.signal = shmemdi_keys(shmemdi_rkey(&ep, word))};
	shmemdi_reservation_t reserved = {.wqebbs = 1, .requests = 1};

	shmemd_channel_signal_set(&p->ctx, (uint64_t *)(void *)word, 1, p->target,
				  SHMEMD_RING_DEFERRED);
	reserved.resv = shmemd_arch_atom_add_u64(&ep.c.ch->resv, SHMEMD_RESV_ADD(1, 1));
	do {
		shmemd_arch_spin_hint();
		if (shmemdi_switch_is_pending(&p->ctx))
			shmemdi_serve(&p->ctx, ep.c.ch, reserved.resv);
		reserved.line = shmemdi_line(ep.c.ch);
	} while (SHMEMD_READY_EPOCH(reserved.line.ready) == SHMEMD_RESV_EPOCH(reserved.resv) &&
		 !shmemd_arch_ld_acquire_u64(word_of(&p->ctx, AREA_FLUSH, END)));
	shmemdi_sq_wait(&ep.c, shmemdi_call(SHMEMD_OP_PUT, 0, 0), &reserved);
	EXPECT_IS(shmemdi_sq_begin(&reserved), SHMEMD_OK);
	shmemdi_nic_signal_wqe(&ep, &reserved, 0,
			       shmemdi_signal((uint64_t *)(void *)word, 2, SHMEMD_SIGNAL_SET),
			       keys);
	shmemdi_sq_submit(&ep.c, &reserved, shmemdi_how(SHMEMD_RING_DEFAULT, 0), 0);
}

static void note_sent(void)
{
	shmemd_arch_red_add_u32(&ring_notes.n_sent, 1);
	if (ring_switch_is_over())
		shmemsim_ring(); /* the agent of scenario_fault.c */
}

/* As a service kernel of the host does if no thread waits for space or completions. */
static void serve(const ring_pe_t *p)
{
	while (!shmemd_arch_ld_acquire_u64(word_of(&p->ctx, AREA_FLUSH, END))) {
		(void)shmemdi_service_once(&p->ctx);
		shmemd_arch_spin_hint();
	}
}

/* By a thread of the target: the same to PE 0. */
static void send_back(const ring_pe_t *p, uint32_t w)
{
	ring_pe_t back = *p;

	back.target = 0;
	for (uint32_t i = 0; i < RING_OPS; i++)
		work(&back, w, i);
	EXPECT_IS(shmemd_quiet(&p->ctx), SHMEMD_OK);
	EXPECT_IS(shmemd_arch_ld_data_u64(word_on(0, AREA_TARGET, LAST + w)), RING_OPS);
	note_sent();
}

void ring_switch(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	if (is_two_way && p->pe && p->pe == p->target)
		send_back(p, w);
	if (p->pe || w == n_workers()) {
		serve(p);
		return;
	}
	if (p->variant == SWITCH_MOVE && w == 0)
		switch_in_turn(p);
	if (p->variant == SWITCH_UNRUNG)
		put_unrung(p, w);
	for (uint32_t i = 0; i < RING_OPS && p->variant != SWITCH_UNRUNG; i++)
		work(p, w, i);
	EXPECT_IS(shmemd_quiet(&p->ctx), SHMEMD_OK);
	EXPECT_IS(shmemd_arch_ld_data_u64(word_on(p->target, AREA_TARGET, LAST + w)), RING_OPS);
	if (p->variant == SWITCH_SEND || p->variant >= SWITCH_ALL)
		ring_check(p, w);
	note_sent();
	if (p->variant != SWITCH_SERVICE)
		serve(p);
}

/* Host */

static void let_others_run(unsigned n)
{
	while (n--)
		shmemsim_yield();
}

/* The path loses some packets and then stops, or stops at once. */
static void fail_path(int target)
{
	static const char *const losses[] = {"drop packet kind=ack", "drop packet kind=response",
					     "drop packet", "hold packet kind=request"};
	const unsigned loss = shmemsim_choose(5);

	let_others_run(shmemsim_choose(120));
	if (loss)
		rig_control("%s", losses[loss - 1]);
	let_others_run(shmemsim_choose(120));
	rig_fence(0, target, 0);
	if (loss) {
		rig_control("release packets");
		rig_control("clear rules");
	}
	let_others_run(shmemsim_choose(60));
}

void ring_switch_begin(void)
{
	n_ambiguous = 0;
}

int ring_switch_awaits_order(void)
{
	return ring_dims.variant == SWITCH_UNRUNG || ring_dims.variant == SWITCH_MOVE;
}

int ring_switch_is_over(void)
{
	const uint32_t n_threads = ring_dims.n_blocks * ring_dims.n_threads;

	return shmemd_arch_ld_acquire_u32(&ring_notes.n_sent) ==
	       n_workers() + (is_two_way ? n_threads : 0);
}

void ring_switch_end(uint32_t n)
{
	n_orders = n;
	if (ring_dims.variant == SWITCH_SERVICE) {
		while (!ring_switch_is_over())
			shmemd_arch_spin_hint();
		rig_order_end(0, ring_dims.target, 0, SHMEMD_ERR_PATH);
	}
	for (int pe = 0; pe < ring_dims.plan.n_pes; pe++)
		shmemd_arch_st_release_u64(word_on(pe, AREA_FLUSH, END), 1);
}

void ring_switch_agent(void)
{
	ring_switch_begin();
	for (uint32_t i = 0; i < n_kills; i++) {
		fail_path(ring_dims.target);
		rig_order(0, ring_dims.target, 0);
	}
	ring_switch_end(n_kills);
}

/* Check that the values that fetches returned, and those that were lost, are all values that the
 * word had. */
static void look_at_fetches(uint32_t n)
{
	const uint64_t last = *word_on(ring_dims.target, AREA_TARGET, COUNTER);
	uint64_t found = 0, n_found = 0, n_lost = 0;

	for (uint32_t w = 0; w < n; w++)
		for (uint32_t i = 0; i < RING_OPS; i++) {
			const int does = ring_dims.variant == SWITCH_FETCH ||
					 (ring_dims.variant >= SWITCH_ALL && (w + i) % 2 == 0);
			const uint64_t old = ring_notes.old[w][i];

			n_lost += does && old == UINT64_MAX;
			if (!does || old == UINT64_MAX)
				continue;
			EXPECT(old < last && !(found >> old & 1));
			found |= (uint64_t)1 << old;
			n_found++;
		}
	EXPECT_IS(n_found + n_lost, last);
	EXPECT_IS(n_lost, n_ambiguous);
}

void ring_switch_final_check(void)
{
	const uint32_t n = n_workers();
	const int target = ring_dims.target;
	const shmemd_channel_t *ch = rig_words(0, target, 0);

	for (uint32_t w = 0; w < n; w++) {
		EXPECT_IS(*word_on(target, AREA_TARGET, LAST + w), RING_OPS);
		if (is_two_way)
			EXPECT_IS(*word_on(0, AREA_TARGET, LAST + w), RING_OPS);
		if (ring_dims.variant == SWITCH_READ)
			EXPECT_IS(*word_on(0, AREA_RESULT, w), RING_OPS - 1);
		if (ring_dims.variant == SWITCH_SEND || ring_dims.variant >= SWITCH_ALL)
			for (uint32_t i = 0; i < RING_OPS; i++)
				EXPECT_IS(*word_on(target, AREA_TARGET, place_of(w, i)),
					  value_of(w, i));
	}
	if (ring_dims.variant >= SWITCH_FETCH)
		look_at_fetches(n);
	EXPECT_IS(SHMEMD_READY_EPOCH(ch->ready), (ring_dims.plan.epoch + n_orders) & 0xff);
	EXPECT_IS(SHMEMD_RESV_EPOCH(ch->resv), (ring_dims.plan.epoch + n_orders) & 0xff);
	EXPECT_IS(SHMEMD_RESV_INDEX(ch->resv), SHMEMD_READY_INDEX(ch->ready));
	EXPECT_IS(rig_status(0, target, 0),
		  ring_dims.variant == SWITCH_SERVICE ? SHMEMD_ERR_PATH : 0);
	if (ring_dims.variant == SWITCH_MOVE)
		EXPECT_IS(*word_on(target, AREA_TARGET, LAST + RING_THREADS_MAX), 2);
}
