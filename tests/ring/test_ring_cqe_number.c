/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completion by number (impl/cq.h): a waiter polls the CQE of its own reservation, however many
 * completed before, and whatever has overwritten that CQE since. One thread of PE 0 acts for all
 * posters. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { DEPTH = 1024, SHALLOW = 64, BAD_GRANULE = 5 };

static const shmemdi_call_t call = {.op = SHMEMD_OP_QUIET};

/* Post a WRITE of word i; returns a ticket if `when` is NOW. */
static shmemdi_ticket_t post(const shmemdi_ep_t *ep, uint32_t i, int when)
{
	const shmemdi_how_t how = shmemdi_how(when, when == SHMEMD_RING_NOW);
	uint64_t *word = (uint64_t *)(void *)(ep->heap + (size_t)(i % 64) * 8);
	const shmemdi_put_keys_t keys = {.signal = shmemdi_keys(shmemdi_rkey(ep, word))};
	shmemdi_reservation_t reserved;
	int status;

	status = shmemdi_sq_start(&ep->c, call, &reserved, 1, 1);
	CHECK_IS(status, 0);
	shmemdi_nic_signal_wqe(ep, &reserved, 0, shmemdi_signal(word, i, SHMEMD_SIGNAL_SET), keys);
	return shmemdi_sq_submit(&ep->c, &reserved, how, 0);
}

/* Poll once, as each iteration of shmemdi_cq_wait does. */
static int poll_for(const shmemdi_ep_t *ep, shmemdi_ticket_t ticket, int *status)
{
	return shmemdi_cq_poll(&ep->c, call, ticket, status);
}

static void post_others(const shmemdi_ep_t *ep, uint32_t n_others)
{
	for (uint32_t i = 0; i < n_others; i++)
		(void)post(ep, i, SHMEMD_RING_DEFERRED);
}

static void await_cqes(uint64_t n_cqes)
{
	while (rig_counters(0, 1, 0).cqes != n_cqes)
		shmemd_arch_spin_hint();
}

static uint64_t done(void)
{
	return shmemd_arch_ld_relaxed_u64(&rig_words(0, 1, 0)->done);
}

/* The value of `done` with so many WQEBBs and CQEs after the start. */
static uint64_t done_at(const shmemdi_ticket_t *last, uint64_t wqebbs)
{
	return SHMEMD_DONE_WORD(rig_place(wqebbs), SHMEMD_READY_CQES(last->word) + 1);
}

static rig_test_t number_test(void (*kernel)(const void *params), uint32_t depth, uint64_t arg)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = kernel, .n_blocks = 1, .n_threads = 1, .arg = arg};

	t.plan.depth = depth;
	return t;
}

static void run_starts(void (*kernel)(const void *params), uint32_t depth, uint64_t arg)
{
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = number_test(kernel, depth, arg);

		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* arg other operations are complete, and no thread has read their CQEs: one poll suffices, and
 * `done` does not move. */
static void after_others(const void *params)
{
	const rig_params_t *p = params;
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, 1, p->ctx.channel);
	const uint64_t before = p->pe == 0 ? done() : 0;
	shmemdi_ticket_t ticket;
	int status;

	if (p->pe != 0)
		return;
	post_others(&ep, (uint32_t)p->arg);
	ticket = post(&ep, (uint32_t)p->arg, SHMEMD_RING_NOW);
	await_cqes(p->arg + 1);
	CHECK_IS(done(), before);
	CHECK_IS(poll_for(&ep, ticket, &status), 1);
	CHECK_IS(status, 0);
	CHECK_IS(shmemdi_cq_look(&ep.c, ticket), 1);
	CHECK_IS(done(), before);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	for (uint32_t i = 0; i < 64; i++)
		CHECK_IS(word_of(&rig_pes[1].ctx, 0)[i] % 64, p->arg >= i ? i : 0);
}

static void poll_after_other_completions(void **state)
{
	static const uint64_t n_others[] = {
		0, 1, 16, 128, DEPTH - DEPTH / 4 - 2, DEPTH - DEPTH / 4 - 1, 512, DEPTH - 1};

	(void)state;
	for (size_t i = 0; i < sizeof(n_others) / sizeof(n_others[0]); i++)
		run_starts(after_others, DEPTH, n_others[i]);
}

/* The waiter polls only after arg other operations were posted after its own and completed, so that
 * the CQE at its place may be of a later lap. */
static void a_lap_late(const void *params)
{
	const rig_params_t *p = params;
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, 1, p->ctx.channel);
	shmemdi_ticket_t ticket;
	int status;

	if (p->pe != 0)
		return;
	ticket = post(&ep, 0, SHMEMD_RING_NOW);
	post_others(&ep, (uint32_t)p->arg);
	shmemd_channel_ring(&p->ctx, 1);
	await_cqes(p->arg + 1);
	CHECK_IS(poll_for(&ep, ticket, &status), 1);
	CHECK_IS(status, 0);
}

static void waiter_late_by_laps(void **state)
{
	static const uint64_t n_others[] = {
		1,           SHALLOW - 1,     SHALLOW,    SHALLOW + 1, 2 * SHALLOW - 1,
		2 * SHALLOW, 2 * SHALLOW + 1, 4 * SHALLOW};

	(void)state;
	for (size_t i = 0; i < sizeof(n_others) / sizeof(n_others[0]); i++)
		run_starts(a_lap_late, SHALLOW, n_others[i]);
}

/* The completion of the third of three operations is held; the CQE of another WQE must not be taken
 * for it. At the end `done` moves past it. */
static void hold_third(const void *params)
{
	const rig_params_t *p = params;
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, 1, p->ctx.channel);
	shmemdi_ticket_t first, third, mixed;
	int status;

	if (p->pe != 0)
		return;
	rig_control("hold cqe host=0 wqebb=%u", rig_device_index(2));
	first = post(&ep, 0, SHMEMD_RING_NOW);
	(void)post(&ep, 1, SHMEMD_RING_NOW);
	third = mixed = post(&ep, 2, SHMEMD_RING_NOW);
	mixed.word =
		SHMEMD_READY_WORD(SHMEMD_READY_INDEX(third.word), SHMEMD_READY_CQES(first.word), 0);
	await_cqes(2);
	for (int i = 0; i < 10; i++) {
		shmemsim_sleep(10000);
		CHECK_IS(poll_for(&ep, third, &status), 0);
		CHECK_IS(status, 0);
		CHECK_IS(poll_for(&ep, mixed, &status), 0);
		CHECK_IS(status, 0);
		CHECK_IS(poll_for(&ep, first, &status), 1);
	}
	rig_control("clear rules");
	rig_control("release cqes host=0");
	while (!poll_for(&ep, third, &status))
		shmemd_arch_spin_hint();
	while (!poll_for(&ep, mixed, &status))
		shmemd_arch_spin_hint();
	CHECK_IS(done(), done_at(&third, 3));
}

static void cqe_of_another_wqe(void **state)
{
	(void)state;
	run_starts(hold_third, SHALLOW, 0);
}

/* g, get, fetch and quiet by the public calls, after many other operations; with two WQEBBs, and a
 * DUMP. */
static void calls_after_others(const void *params)
{
	const rig_params_t *p = params;
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, 1, p->ctx.channel);
	uint64_t *mine = word_of(&p->ctx, 2), value = 0, sum = 0;

	if (p->pe != 0)
		return;
	for (uint32_t round = 0; round < 3; round++) {
		post_others(&ep, (uint32_t)p->arg);
		CHECK_IS(shmemd_g_u64(&p->ctx, &value, word_of(&p->ctx, 0), 1), 0);
		CHECK_IS(value % 64, 0);
		post_others(&ep, (uint32_t)p->arg);
		CHECK_IS(shmemd_atomic_fetch_add_u64(&p->ctx, &value, word_of(&p->ctx, 1), 3, 1),
			 0);
		CHECK_IS(value, sum);
		sum += 3;
		post_others(&ep, (uint32_t)p->arg);
		CHECK_IS(shmemd_atomic_swap_u64(&p->ctx, &value, word_of(&p->ctx, 1), sum + 1, 1),
			 0);
		CHECK_IS(value, sum);
		sum++;
		post_others(&ep, (uint32_t)p->arg);
		CHECK_IS(shmemd_getmem(&p->ctx, mine, word_of(&p->ctx, 1), 8, 1), 0);
		CHECK_IS(shmemd_arch_ld_data_u64(mine), sum);
		CHECK_IS(shmemd_quiet(&p->ctx), 0);
	}
}

static void calls_after_many(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags < 2; flags++)
		for (unsigned start = 0; start < N_STARTS; start++) {
			rig_test_t t = number_test(calls_after_others, DEPTH, 100 + 400 * flags);

			start_below(&t.plan, start);
			t.plan.flags = flags ? SHMEMD_CTX_DUMP_AFTER_READ : 0;
			run_once(&t);
			t.arg = 10;
			t.plan.depth = SHALLOW;
			run_once(&t);
		}
}

/* The waiter's WQE was flushed: the status is that of the first error CQE, which is also in the
 * record. The channel fails before the last WQE is published, so that it never completes. */
static void cause_is_before(const void *params)
{
	const rig_params_t *p = params;
	const shmemdi_ep_t ep = shmemdi_ep_k(&p->ctx, 1, p->ctx.channel);
	const shmemdi_limit_t limit = shmemdi_limit_default(ep.c.ctx, ep.c.pe);
	shmemdi_ticket_t good, ticket;
	shmemdi_reservation_t first, second;

	if (p->pe != 0)
		return;
	post_others(&ep, (uint32_t)p->arg);
	good = post(&ep, 0, SHMEMD_RING_NOW);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, BAD_GRANULE), 1, 1);
	post_others(&ep, 5);
	ticket = post(&ep, 9, SHMEMD_RING_NOW);
	CHECK_IS(shmemdi_sq_start(&ep.c, call, &first, 1, 1), 0);
	CHECK_IS(shmemdi_sq_start(&ep.c, call, &second, 1, 1), 0);
	CHECK_IS(shmemdi_cq_look_and_wait(&ep.c, call, ticket, limit), SHMEMD_ERR_REFUSED);
	CHECK_IS(rig_pes[0].error.status, SHMEMD_ERR_REFUSED);
	CHECK_IS(rig_pes[0].error.op, SHMEMD_OP_PUT);
	CHECK_IS(rig_pes[0].error.addr, rig_device_index((uint32_t)p->arg + 1));
	CHECK_IS(shmemdi_cq_look_and_wait(&ep.c, call, good, limit), 0);
	ticket = shmemdi_sq_submit(&ep.c, &second, shmemdi_how(SHMEMD_RING_NOW, 1), 0);
	CHECK(ticket.word & SHMEMDI_TICKET_VOID);
	CHECK_IS(shmemdi_cq_look_and_wait(&ep.c, call, ticket, limit), SHMEMD_ERR_REFUSED);
}

static void errors(void **state)
{
	static const uint64_t n_others[] = {0, 7, 8, 40};

	(void)state;
	for (size_t i = 0; i < sizeof(n_others) / sizeof(n_others[0]); i++)
		for (unsigned start = 0; start < N_STARTS; start++) {
			rig_test_t t = number_test(cause_is_before, SHALLOW, n_others[i]);

			start_below(&t.plan, start);
			t.plan.unregistered = 1u << BAD_GRANULE;
			run_once(&t);
		}
}

/* Those that were requested since, across 2^16; never more than a lap, whatever the words say. */
static void cqes_that_are_due(void **state)
{
	(void)state;
	assert_int_equal(shmemdi_cqes_due(SHMEMD_READY_WORD(0, 9, 0), 9, SHALLOW), 0);
	assert_int_equal(shmemdi_cqes_due(SHMEMD_READY_WORD(0, 2, 0), 65534, SHALLOW), 4);
	assert_int_equal(shmemdi_cqes_due(SHMEMD_READY_WORD(0, 100, 0), 36, SHALLOW), SHALLOW);
	assert_int_equal(shmemdi_cqes_due(SHMEMD_READY_WORD(0, 3, 0), 10, SHALLOW), SHALLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll_after_other_completions),
		cmocka_unit_test(waiter_late_by_laps),
		cmocka_unit_test(cqe_of_another_wqe),
		cmocka_unit_test(calls_after_many),
		cmocka_unit_test(errors),
		cmocka_unit_test(cqes_that_are_due),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
