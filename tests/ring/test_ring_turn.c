/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The turn (impl/sq.h): posters that have all reserved, whose WQEs are submitted in an order chosen
 * by the host of PE 0. Which poster rings for which others, and the flags of `ready`.
 */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { POSTERS_MAX = 40, DEPTH = 64 };

typedef struct poster {
	uint32_t wqebbs; /* 1 or 2 */
	shmemdi_how_t how;
	uint32_t at; /* its first WQEBB, counted from the start of the rig */
	shmemdi_ticket_t ticket;
	uint32_t may_submit, has_submitted;
} poster_t;

static poster_t posters[POSTERS_MAX];
static uint32_t n_posters, n_wqebbs, n_reserved;
static int is_one_at_a_time; /* each poster reserves after the previous one has submitted */

static void await(const uint32_t *word)
{
	while (!shmemd_arch_ld_acquire_u32(word))
		shmemd_arch_spin_hint();
}

/* Posters */

static uint64_t value_of(uint32_t wqebb)
{
	return 1000 + wqebb;
}

/* Each poster, a block of one thread, writes a word of the target with each of its WQEs. */
static void write_wqes(const shmemdi_ep_t *ep, const shmemdi_reservation_t *reserved,
		       const poster_t *p)
{
	for (uint32_t i = 0; i < p->wqebbs; i++) {
		char *word = ep->heap + (p->at + i) * 8;
		shmemdi_put_keys_t keys = {.signal = shmemdi_keys(shmemdi_rkey(ep, word))};

		shmemdi_nic_signal_wqe(ep, reserved, i,
				       shmemdi_signal((uint64_t *)(void *)word, value_of(p->at + i),
						      SHMEMD_SIGNAL_SET),
				       keys);
	}
}

static void post(const rig_params_t *params, uint32_t number)
{
	const shmemdi_call_t call = shmemdi_call(SHMEMD_OP_PUT, 0, 0);
	const shmemdi_ep_t ep = shmemdi_ep_k(&params->ctx, 1, params->ctx.channel);
	poster_t *p = &posters[number];
	shmemdi_reservation_t reserved;
	int status;

	while (shmemd_arch_ld_acquire_u32(&n_reserved) != number)
		shmemd_arch_spin_hint();
	if (is_one_at_a_time && number > 0)
		await(&posters[number - 1].has_submitted);
	status = shmemdi_sq_start(&ep.c, call, &reserved, p->wqebbs, p->wqebbs);
	write_wqes(&ep, &reserved, p);
	shmemd_arch_st_release_u32(&n_reserved, number + 1);
	await(&p->may_submit);
	p->ticket = shmemdi_sq_submit(&ep.c, &reserved, p->how, 0);
	if (p->how.needs_ticket)
		status = shmemdi_cq_look_and_wait(&ep.c, call, p->ticket,
						  shmemdi_limit_default(ep.c.ctx, ep.c.pe));
	CHECK_IS(status, 0);
	shmemd_arch_st_release_u32(&p->has_submitted, 1);
}

static void posters_kernel(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe == 0)
		post(p, shmemd_block_index());
}

/* The host of PE 0 */

static void await_all_reserved(void)
{
	while (shmemd_arch_ld_acquire_u32(&n_reserved) != n_posters)
		shmemd_arch_spin_hint();
	CHECK_IS(rig_reserved(0, 1, 0), n_wqebbs);
	CHECK_IS(rig_wqebbs(0, 1, 0), 0);
}

static void let(uint32_t number)
{
	shmemd_arch_st_release_u32(&posters[number].may_submit, 1);
}

/* Let all posters but the first one submit, the last ones first: all wait for their turns. Then let
 * the first one, which has its turn. */
static void let_all(void)
{
	await_all_reserved();
	for (uint32_t i = n_posters; i-- > 1;) {
		let(i);
		shmemsim_yield();
	}
	let(0);
	for (uint32_t i = 0; i < n_posters; i++)
		await(&posters[i].has_submitted);
}

static void let_finish(uint32_t number)
{
	let(number);
	await(&posters[number].has_submitted);
}

/* Check that so many WQEBBs are published, with so many doorbells and these flags of `ready`. */
static void check_queue(uint32_t wqebbs, uint64_t doorbells, uint32_t flags)
{
	const uint32_t all = SHMEMD_READY_RUNG | SHMEMD_READY_DEFERRED;

	CHECK_IS(rig_wqebbs(0, 1, 0), wqebbs);
	CHECK_IS(rig_doorbells(0, 1, 0), doorbells);
	CHECK_IS(shmemd_arch_ld_relaxed_u64(&rig_words(0, 1, 0)->ready) & all, flags);
}

static uint32_t rung(void)
{
	return SHMEMD_RUNG_INDEX(shmemd_arch_ld_relaxed_u64(&rig_words(0, 1, 0)->rung)) -
	       (uint32_t)rig_place(0);
}

static void check_ticket(uint32_t number)
{
	const poster_t *p = &posters[number];
	const uint64_t ready = rig_words(0, 1, 0)->ready;

	CHECK_IS(SHMEMD_READY_INDEX(p->ticket.word), (uint32_t)rig_place(p->at + p->wqebbs));
	CHECK_IS(SHMEMD_READY_CQES(p->ticket.word),
		 (SHMEMD_READY_CQES(ready) - n_posters + number) & 0xffff);
}

/* Check that everything has been sent and has arrived, and each poster's ticket. */
static void look_at_all(void)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&rig_pes[0].ctx, 1, rig_pes[0].ctx.channel);
	const uint64_t *words = word_of(&rig_pes[1].ctx, 0);
	const uint64_t doorbells = rig_doorbells(0, 1, 0);

	if (rig_words(0, 1, 0)->ready & SHMEMD_READY_RUNG) {
		/* `rung` may be old */
		shmemdi_ring_published(&ep.c);
		CHECK_IS(rig_doorbells(0, 1, 0), doorbells);
	}
	shmemdi_ring_published(&ep.c);
	while (rig_counters(1, 0, 0).executed != n_wqebbs)
		shmemd_arch_spin_hint();
	for (uint32_t i = 0; i < n_wqebbs; i++)
		CHECK_IS(words[i], value_of(i));
	for (uint32_t i = 0; i < n_posters; i++)
		check_ticket(i);
}

/* Tests */

static void forget(int pe)
{
	(void)pe;
	n_reserved = 0;
	for (uint32_t i = 0; i < n_posters; i++)
		posters[i].may_submit = posters[i].has_submitted = 0;
}

/* Poster i uses whens[i]; later posters use the last `when`. Every third one has two WQEBBs, if
 * there are at most 20. */
static rig_test_t posters_test(void (*host)(int pe), uint32_t n, const char *whens, uint32_t batch)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = posters_kernel,
			.n_blocks = n,
			.n_threads = 1,
			.made = forget,
			.host = host,
			.final_check = look_at_all};
	const uint32_t last = (uint32_t)strlen(whens) - 1;

	t.plan.depth = DEPTH;
	t.plan.batch = batch;
	n_posters = n;
	n_wqebbs = 0;
	memset(posters, 0, sizeof(posters));
	for (uint32_t i = 0; i < n; i++) {
		const char when = whens[i < last ? i : last];

		posters[i].how.when = when == 'l'                  ? SHMEMD_RING_DEFERRED
				      : when == 'n' || when == 'f' ? SHMEMD_RING_NOW
								   : SHMEMD_RING_DEFAULT;
		posters[i].how.needs_ticket = when == 'f';
		posters[i].how.is_flush = when == 'f';
		posters[i].wqebbs = n <= 20 && i % 3 == 2 ? 2 : 1;
		posters[i].at = n_wqebbs;
		n_wqebbs += posters[i].wqebbs;
	}
	return t;
}

static void run_starts(void (*host)(int pe), uint32_t n, const char *whens, uint32_t batch)
{
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = posters_test(host, n, whens, batch);

		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* The same where no batch ends. */
static void run_without_steps(void (*host)(int pe), uint32_t n, const char *whens, uint32_t batch)
{
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = posters_test(host, n, whens, batch);

		start_below(&t.plan, start);
		t.plan.first += 3;
		run_once(&t);
	}
}

/* Does its reservation reach a multiple of 2^log WQEBBs? */
static int reaches(uint32_t number, uint32_t log)
{
	const poster_t *p = &posters[number];

	return ((uint32_t)rig_place(p->at) ^ (uint32_t)rig_place(p->at + p->wqebbs)) >> log != 0;
}

/* After all but the last poster have left their doorbells to the next one: the last one has rung,
 * after its turn, and RUNG is clear, unless that poster has taken the turn to look after `flush`. A
 * poster in which a batch of 64 ends may have rung, too. */
static void check_that_last_has_rung(void)
{
	const uint32_t last = n_posters - 1;
	uint64_t doorbells = 2;

	for (uint32_t i = 1; i < last; i++)
		doorbells += reaches(i, 6) && rig_doorbells(0, 1, 0) > doorbells;
	check_queue(n_wqebbs, doorbells, reaches(last, 30) ? SHMEMD_READY_RUNG : 0);
	if (!reaches(last, 30))
		CHECK_IS(rung(), n_wqebbs);
}

/* The first poster, which has waited for nothing, rings. The second one finds RUNG; if others
 * follow, it stores `rung`, and all leave their doorbells to the last one. Posters have one or two
 * WQEBBs, so some expect a wrong number of CQEs. */
static void all_wait(int pe)
{
	if (pe != 0)
		return;
	let_all();
	if (n_posters == 2)
		check_queue(n_wqebbs, 2, SHMEMD_READY_RUNG);
	else
		check_that_last_has_rung();
}

static void last_one_rings_for_all(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 20; n++)
		run_starts(all_wait, n, "b", 64);
	run_starts(all_wait, POSTERS_MAX, "b", 64);
}

/* Every reservation ends a batch: each poster rings, although others have reserved behind it. */
static void one_after_another(int pe)
{
	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = 0; i < n_posters; i++) {
		let_finish(i);
		CHECK_IS(rig_doorbells(0, 1, 0), i + 1);
	}
}

static void batches_end(void **state)
{
	(void)state;
	run_starts(one_after_another, 8, "b", 1);
}

/* A poster that must ring before it returns rings, although another one has reserved behind it. */
static void one_must_ring(int pe)
{
	const uint32_t now = 4;

	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = now + 1; i-- > 0;)
		let(i);
	await(&posters[now].has_submitted);
	check_queue(posters[now + 1].at, 2, 0);
	CHECK_IS(rung(), posters[now + 1].at);
	for (uint32_t i = now + 1; i < n_posters; i++)
		let_finish(i);
	check_queue(n_wqebbs, 3, 0);
}

static void run_that_must_ring(void **state)
{
	(void)state;
	run_without_steps(one_must_ring, 8, "bbbbnb", 32);
}

/* The poster of a flush READ stores `flush` in its turn. */
static void flush_in_a_run(int pe)
{
	const uint64_t *flush = &rig_words(0, 1, 0)->flush;

	if (pe != 0)
		return;
	let_all();
	CHECK_IS(SHMEMD_READY_INDEX(*flush), (uint32_t)rig_place(posters[3].at));
	CHECK_IS(*flush & ~(uint64_t)0xff, posters[2].ticket.word & ~(uint64_t)0xff);
}

static void flush_covers_what_is_before_it(void **state)
{
	(void)state;
	run_starts(flush_in_a_run, 6, "bbfb", 1);
}

/* Posters that have all deferred do not ring, if everything before them is rung or was deferred. */
static void deferred_run(int pe)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&rig_pes[0].ctx, 1, rig_pes[0].ctx.channel);

	if (pe != 0)
		return;
	let_all();
	check_queue(n_wqebbs, 1, SHMEMD_READY_DEFERRED);
	CHECK_IS(rung(), posters[1].at);
	shmemdi_ring_published(&ep.c);
	check_queue(n_wqebbs, 2, SHMEMD_READY_DEFERRED);
	CHECK_IS(rung(), n_wqebbs);
}

/* One of them has not deferred: it leaves its doorbell, and the last one rings. */
static void partly_deferred_run(int pe)
{
	if (pe != 0)
		return;
	let_all();
	check_that_last_has_rung();
}

static void runs_and_deferred_doorbells(void **state)
{
	(void)state;
	run_starts(deferred_run, 8, "nl", 64);
	run_starts(partly_deferred_run, 8, "nlllbl", 64);
	run_starts(partly_deferred_run, 8, "nbl", 64);
	run_starts(partly_deferred_run, 8, "nllllllb", 64);
}

/* One poster after another, each alone: the flags that each leaves. */
static void one_by_one(int pe)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&rig_pes[0].ctx, 1, rig_pes[0].ctx.channel);

	if (pe != 0)
		return;
	await_all_reserved();
	let_finish(0); /* deferred, with everything before it rung */
	check_queue(posters[1].at, 0, SHMEMD_READY_DEFERRED);
	CHECK_IS(rung(), 0);
	let_finish(1); /* deferred, with everything unrung before it deferred */
	check_queue(posters[2].at, 0, SHMEMD_READY_DEFERRED);
	CHECK_IS(rung(), 0);
	let_finish(2); /* batch, and others have reserved: the next one rings */
	check_queue(posters[3].at, 0, 0);
	let_finish(3); /* deferred, after a poster that has not deferred: the next one rings */
	check_queue(posters[4].at, 0, 0);
	CHECK_IS(rung(), 0);
	shmemdi_ring_published(&ep.c);
	check_queue(posters[4].at, 1, 0); /* only a poster in its turn sets RUNG */
	CHECK_IS(rung(), posters[4].at);
	let_finish(4); /* now: after its turn */
	check_queue(posters[5].at, 2, 0);
	CHECK_IS(rung(), posters[5].at);
	let_finish(5);
	check_queue(posters[6].at, 3, 0);
	/* deferred; `ready` does not say that everything before is rung, so it may not defer */
	let_finish(6);
	check_queue(posters[7].at, 3, 0);
	CHECK_IS(rung(), posters[6].at);
	let_finish(7); /* batch: leaves the earlier doorbell and its own to the next one */
	check_queue(posters[8].at, 3, 0);
	CHECK_IS(rung(), posters[6].at);
	/* deferred, and the last one: it rings, because the previous one has relied on it */
	let_finish(8);
	check_queue(n_wqebbs, 4, 0);
	CHECK_IS(rung(), n_wqebbs);
}

static void ready_flags_one_by_one(void **state)
{
	(void)state;
	run_without_steps(one_by_one, 9, "llblnnlbl", 32);
}

/* Another thread, here the host, holds the lock in `rung`. */
static uint64_t lock_rung(void)
{
	uint64_t *word = &rig_words(0, 1, 0)->rung;
	const uint64_t before = shmemd_arch_ld_relaxed_u64(word);

	CHECK(shmemd_arch_try_lock(word, before));
	return before;
}

static void let_and_look(uint32_t number)
{
	let(number);
	for (int i = 0; i < 100; i++)
		shmemsim_yield();
}

/* A poster that has the turn, and sets RUNG, waits for the lock; one that rings after its turn has
 * published before. */
static void lock_is_held(int pe)
{
	uint64_t before;

	if (pe != 0)
		return;
	if (!is_one_at_a_time)
		await_all_reserved();
	let_finish(0); /* deferred */
	before = lock_rung();
	let_and_look(1); /* now */
	if (is_one_at_a_time)
		check_queue(posters[1].at, 0, SHMEMD_READY_DEFERRED);
	else
		check_queue(n_wqebbs, 0, 0);
	shmemd_arch_unlock(&rig_words(0, 1, 0)->rung, before);
	await(&posters[1].has_submitted);
	check_queue(n_wqebbs, 1, is_one_at_a_time ? SHMEMD_READY_RUNG : 0);
	CHECK_IS(rung(), n_wqebbs);
}

static void doorbell_is_locked(void **state)
{
	(void)state;
	for (is_one_at_a_time = 0; is_one_at_a_time < 2; is_one_at_a_time++)
		run_starts(lock_is_held, 2, "ln", 64);
	is_one_at_a_time = 0;
}

/* The holder of the lock rings for all that is published: the poster that waits for it does not. */
static void holder_rings_for_all(int pe)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&rig_pes[0].ctx, 1, rig_pes[0].ctx.channel);
	shmemdi_line_t line;

	if (pe != 0)
		return;
	await_all_reserved();
	let_finish(0); /* deferred */
	(void)lock_rung();
	let_and_look(1); /* now */
	line = shmemdi_line(rig_words(0, 1, 0));
	shmemd_arch_fence_acquire();
	shmemdi_ring(&ep.c, line.path, line.queue, line.doorbell, SHMEMD_READY_INDEX(line.ready));
	shmemd_arch_unlock(&rig_words(0, 1, 0)->rung,
			   SHMEMD_RUNG_WORD(SHMEMD_READY_INDEX(line.ready)));
	await(&posters[1].has_submitted);
	check_queue(n_wqebbs, 1, 0);
}

/* Two posters wait for the lock: the one that gets it rings for both. */
static void waiter_rings_for_all(int pe)
{
	uint64_t before;

	if (pe != 0)
		return;
	await_all_reserved();
	let_finish(0); /* deferred */
	before = lock_rung();
	let(1); /* now */
	let(2); /* the last one */
	while (SHMEMD_READY_INDEX(shmemd_arch_ld_relaxed_u64(&rig_words(0, 1, 0)->ready)) !=
	       (uint32_t)rig_place(n_wqebbs))
		shmemd_arch_spin_hint();
	check_queue(n_wqebbs, 0, 0);
	shmemd_arch_unlock(&rig_words(0, 1, 0)->rung, before);
	await(&posters[1].has_submitted);
	await(&posters[2].has_submitted);
	CHECK(rig_doorbells(0, 1, 0) <= 2); /* with weak memory it may not see what is published */
	CHECK_IS(rung(), n_wqebbs);
}

static void one_rings_for_another(void **state)
{
	rig_test_t t;

	(void)state;
	run_starts(holder_rings_for_all, 2, "ln", 64);
	t = posters_test(waiter_rings_for_all, 3, "lnb", 64);
	run_schedules(&t, 20);
}

/* The channel fails while posters wait for their turn: they publish nothing. */
static void fail_the_channel(int pe)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&rig_pes[0].ctx, 1, rig_pes[0].ctx.channel);

	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = 1; i < n_posters; i++)
		let_and_look(i);
	shmemdi_channel_fail(&ep.c, SHMEMD_ERR_PATH);
	for (uint32_t i = 1; i < n_posters; i++) {
		await(&posters[i].has_submitted);
		CHECK(posters[i].ticket.word & SHMEMDI_TICKET_VOID);
	}
	check_queue(0, 0, SHMEMD_READY_RUNG);
	let_finish(0);
}

static void channel_fails(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = posters_test(fail_the_channel, 4, "bblf", 64);

		start_below(&t.plan, start);
		t.final_check = NULL;
		for (uint32_t i = 0; i < n_posters; i++)
			posters[i].how.needs_ticket = 0;
		run_once(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_one_rings_for_all),
		cmocka_unit_test(batches_end),
		cmocka_unit_test(run_that_must_ring),
		cmocka_unit_test(flush_covers_what_is_before_it),
		cmocka_unit_test(runs_and_deferred_doorbells),
		cmocka_unit_test(ready_flags_one_by_one),
		cmocka_unit_test(doorbell_is_locked),
		cmocka_unit_test(one_rings_for_another),
		cmocka_unit_test(channel_fails),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
