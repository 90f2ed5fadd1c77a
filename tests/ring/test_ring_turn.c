/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The turn (impl/sq.h): posters that have all reserved, whose WQEs are submitted in an order chosen
 * by the host of PE 0. Which poster publishes and rings for which others, and the flags of `ready`.
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

static uint64_t mark_at(uint32_t wqebb)
{
	const shmemd_channel_t *ch = rig_words(0, 1, 0);
	const uint64_t *marks = (const uint64_t *)(const void *)(ch + 1);

	return shmemd_arch_ld_relaxed_u64(&marks[rig_place(wqebb) % DEPTH]);
}

static void set_mark(uint32_t wqebb, uint64_t mark)
{
	uint64_t *marks = (uint64_t *)(void *)(rig_words(0, 1, 0) + 1);

	shmemd_arch_st_release_u64(&marks[rig_place(wqebb) % DEPTH], mark);
}

static void await_all_reserved(void)
{
	while (shmemd_arch_ld_acquire_u32(&n_reserved) != n_posters)
		shmemd_arch_spin_hint();
	CHECK_IS(rig_reserved(0, 1, 0), n_wqebbs);
	CHECK_IS(rig_wqebbs(0, 1, 0), 0);
}

/* Let a poster submit, and return once its mark is set, or everything is submitted. */
static void let(uint32_t number)
{
	shmemd_arch_st_release_u32(&posters[number].may_submit, 1);
}

static void let_mark(uint32_t number)
{
	const poster_t *p = &posters[number];

	let(number);
	while (SHMEMD_MARK_FIRST(mark_at(p->at)) != (uint32_t)rig_place(p->at) ||
	       SHMEMD_MARK_WQEBBS(mark_at(p->at)) != p->wqebbs)
		shmemd_arch_spin_hint();
	CHECK_IS(rig_wqebbs(0, 1, 0), 0);
}

static void let_finish(uint32_t number)
{
	let(number);
	await(&posters[number].has_submitted);
}

static void await_submitted(uint32_t from)
{
	for (uint32_t i = from; i < n_posters; i++)
		await(&posters[i].has_submitted);
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

/* Check that everything with a doorbell has arrived, and that no mark remains. */
static void look_at_all(void)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&rig_pes[0].ctx, 1, rig_pes[0].ctx.channel);
	const uint64_t *words = word_of(&rig_pes[1].ctx, 0);

	shmemdi_ring_until(&ep.c, SHMEMD_READY_INDEX(shmemdi_ready(&ep.c)));
	while (rig_counters(1, 0, 0).executed != n_wqebbs)
		shmemd_arch_spin_hint();
	for (uint32_t i = 0; i < n_wqebbs; i++)
		CHECK_IS(words[i], value_of(i));
	for (uint32_t i = 0; i < DEPTH; i++)
		CHECK_IS(mark_at(i), SHMEMD_MARK_NONE);
}

/* Tests */

/* Poster i uses whens[i]; later posters use the last `when`. Every third one has two WQEBBs, if
 * there are at most 20. */
static rig_test_t posters_test(void (*host)(int pe), uint32_t n, const char *whens, uint32_t batch)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = posters_kernel,
			.n_blocks = n,
			.n_threads = 1,
			.host = host,
			.final_check = look_at_all};
	const uint32_t last = (uint32_t)strlen(whens) - 1;

	t.plan.depth = DEPTH;
	t.plan.batch = batch;
	n_posters = n;
	n_reserved = n_wqebbs = 0;
	memset(posters, 0, sizeof(posters));
	for (uint32_t i = 0; i < n; i++) {
		const char when = whens[i < last ? i : last];

		posters[i].how.when = when == 'l'                  ? SHMEMD_RING_DEFERRED
				      : when == 'n' || when == 'f' ? SHMEMD_RING_NOW
								   : SHMEMD_RING_DEFAULT;
		posters[i].how.needs_ticket = when == 'w' || when == 'f';
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

/* All other posters have marked when the first one, which has waited for nothing, publishes. The
 * second one then publishes for as many as half a queue has WQEBBs, with one doorbell. */
static void first_when_all_have_marked(int pe)
{
	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = n_posters; i-- > 1;)
		let_mark(i);
	let_finish(0);
	await_submitted(0);
	check_queue(n_wqebbs, n_wqebbs > DEPTH / 2 + 2 ? 3 : 2, SHMEMD_READY_RUNG);
}

static void marked_reservations_are_published_together(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 20; n++)
		run_starts(first_when_all_have_marked, n, "b", 1);
	run_starts(first_when_all_have_marked, POSTERS_MAX, "b", 1);
}

/* One poster does not mark: the run ends before it, and the later ones are published in its own
 * turn. */
static void one_does_not_mark(int pe)
{
	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = n_posters; i-- > 1;)
		if (posters[i].how.needs_ticket)
			let(i);
		else
			let_mark(i);
	let_finish(0);
	await_submitted(0);
	check_queue(n_wqebbs, 3, SHMEMD_READY_RUNG);
}

static void check_ticket(uint32_t number)
{
	const poster_t *p = &posters[number];
	const uint64_t ready = rig_words(0, 1, 0)->ready;

	CHECK_IS(SHMEMD_READY_INDEX(p->ticket.word), (uint32_t)rig_place(p->at + p->wqebbs));
	CHECK_IS(SHMEMD_READY_CQES(p->ticket.word),
		 (SHMEMD_READY_CQES(ready) - n_posters + number) & 0xffff);
}

static void one_waits(int pe)
{
	if (pe != 0)
		return;
	one_does_not_mark(pe);
	for (uint32_t i = 0; i < n_posters; i++)
		if (posters[i].how.needs_ticket)
			check_ticket(i);
}

static void posters_that_do_not_mark(void **state)
{
	(void)state;
	run_starts(one_waits, 9, "bbwb", 1);
	run_starts(one_waits, 12, "bbbbbbwb", 1);
}

/* One poster of a run must ring before it returns: its publisher rings for it, although another
 * poster has reserved after the run and no batch ends there. */
static void one_must_ring(int pe)
{
	const uint32_t last = n_posters - 1;

	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = last; i-- > 1;)
		let_mark(i);
	let_finish(0);
	for (uint32_t i = 1; i < last; i++)
		await(&posters[i].has_submitted);
	check_queue(posters[last].at, 2, SHMEMD_READY_RUNG);
	let_finish(last);
	check_queue(n_wqebbs, 3, SHMEMD_READY_RUNG);
}

static void run_that_must_ring(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = posters_test(one_must_ring, 8, "bbbbnb", 32);

		start_below(&t.plan, start);
		t.plan.first += 3; /* no batch ends here */
		run_once(&t);
	}
}

/* A flush covers what precedes its own end, not the reservations that its poster publishes for
 * others. */
static void flush_in_a_run(int pe)
{
	const uint64_t *flush = &rig_words(0, 1, 0)->flush;

	one_does_not_mark(pe);
	if (pe != 0)
		return;
	CHECK_IS(SHMEMD_READY_INDEX(*flush), (uint32_t)rig_place(posters[3].at));
	CHECK_IS(*flush & ~(uint64_t)0xff, posters[2].ticket.word & ~(uint64_t)0xff);
	check_ticket(2);
}

static void flush_covers_what_is_before_it(void **state)
{
	(void)state;
	run_starts(flush_in_a_run, 6, "bbfb", 1);
}

/* The third poster has not written its WQEs, and the mark in its place is not its own: of another
 * lap or epoch, or 2 WQEBBs after its first. */
static uint64_t foreign_mark;

static void third_has_a_foreign_mark(int pe)
{
	const uint32_t at = posters[2].at, first = (uint32_t)rig_place(at);
	const uint32_t epoch = SHMEMD_TAG(rig_words(0, 1, 0)->path);
	const uint64_t *ready = &rig_words(0, 1, 0)->ready;
	uint64_t before;

	if (pe != 0)
		return;
	await_all_reserved();
	before = shmemd_arch_ld_relaxed_u64(ready);
	let_mark(1);
	set_mark(at, foreign_mark == 0   ? SHMEMD_MARK_WORD(first - DEPTH, 2, epoch)
		     : foreign_mark == 1 ? SHMEMD_MARK_WORD(first, 2, (epoch - 1) & 0xff)
		     : foreign_mark == 2 ? SHMEMD_MARK_WORD(first + 2, 2, epoch)
					 : SHMEMD_MARK_NONE);
	let_finish(0);
	await(&posters[1].has_submitted);
	check_queue(at, 2, SHMEMD_READY_RUNG);
	let_finish(2);
	await_submitted(0);
	check_queue(n_wqebbs, 3, SHMEMD_READY_RUNG);
	CHECK_IS(SHMEMD_READY_CQES(shmemd_arch_ld_relaxed_u64(ready) - before), 3);
}

static void foreign_marks_are_ignored(void **state)
{
	(void)state;
	rig_test_t t;

	for (foreign_mark = 0; foreign_mark < 4; foreign_mark++)
		run_starts(third_has_a_foreign_mark, 3, "b", 1);
	/* The third poster's first index and its epoch are 0, as in a word that is no mark. */
	foreign_mark = 3;
	t = posters_test(third_has_a_foreign_mark, 3, "b", 1);
	t.plan.first = ((uint64_t)1 << 32) - posters[2].at;
	t.plan.epoch = 0;
	run_once(&t);
}

/* A run whose posters all deferred is not rung, if everything before it is rung or was deferred. */
static void deferred_run(int pe)
{
	const shmemdi_ep_t ep = shmemdi_ep_k(&rig_pes[0].ctx, 1, rig_pes[0].ctx.channel);

	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = n_posters; i-- > 1;)
		let_mark(i);
	let_finish(0);
	await_submitted(0);
	check_queue(n_wqebbs, 1, SHMEMD_READY_DEFERRED);
	CHECK_IS(rung(), posters[1].at);
	shmemdi_ring_until(&ep.c, (uint32_t)rig_place(n_wqebbs));
	check_queue(n_wqebbs, 2, SHMEMD_READY_DEFERRED);
	CHECK_IS(rung(), n_wqebbs);
}

/* One poster of a run has not deferred: the run is rung. */
static void partly_deferred_run(int pe)
{
	if (pe != 0)
		return;
	await_all_reserved();
	for (uint32_t i = n_posters; i-- > 1;)
		let_mark(i);
	let_finish(0);
	await_submitted(0);
	check_queue(n_wqebbs, 2, SHMEMD_READY_RUNG);
}

static void runs_and_deferred_doorbells(void **state)
{
	(void)state;
	run_starts(deferred_run, 8, "nl", 32);
	run_starts(partly_deferred_run, 8, "nlllbl", 32);
	run_starts(partly_deferred_run, 8, "nbl", 32);
	run_starts(partly_deferred_run, 8, "nllllllb", 32);
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
	shmemdi_ring_until(&ep.c, (uint32_t)rig_place(posters[4].at));
	check_queue(posters[4].at, 1, 0); /* only a poster sets RUNG */
	CHECK_IS(rung(), posters[4].at);
	let_finish(4); /* now */
	check_queue(posters[5].at, 2, SHMEMD_READY_RUNG);
	let_finish(5); /* now, without the lock */
	check_queue(posters[6].at, 3, SHMEMD_READY_RUNG);
	let_finish(6); /* deferred */
	check_queue(posters[7].at, 3, SHMEMD_READY_DEFERRED);
	CHECK_IS(rung(), posters[6].at);
	let_finish(7); /* batch: leaves the earlier doorbell and its own to the next one */
	check_queue(posters[8].at, 3, 0);
	CHECK_IS(rung(), posters[6].at);
	/* deferred, and the last one: it rings, because the previous one has relied on it */
	let_finish(8);
	check_queue(n_wqebbs, 4, SHMEMD_READY_RUNG);
}

static void ready_flags_one_by_one(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = posters_test(one_by_one, 9, "llblnnlbl", 32);

		start_below(&t.plan, start);
		t.plan.first += 3; /* no batch ends here */
		run_once(&t);
	}
}

/* Another thread is ringing the doorbell: a poster that must set RUNG waits for it. */
static void lock_is_held(int pe)
{
	uint64_t *word = &rig_words(0, 1, 0)->rung, before;

	if (pe != 0)
		return;
	if (!is_one_at_a_time)
		await_all_reserved();
	let_finish(0); /* deferred */
	before = shmemd_arch_ld_relaxed_u64(word);
	CHECK(shmemd_arch_try_lock(word, before));
	let(1); /* now */
	for (int i = 0; i < 100; i++)
		shmemsim_yield();
	check_queue(posters[1].at, 0, SHMEMD_READY_DEFERRED);
	shmemd_arch_unlock(word, before);
	await_submitted(0);
	check_queue(n_wqebbs, 1, SHMEMD_READY_RUNG);
	CHECK_IS(rung(), n_wqebbs);
}

static void doorbell_is_locked(void **state)
{
	(void)state;
	for (is_one_at_a_time = 0; is_one_at_a_time < 2; is_one_at_a_time++)
		run_starts(lock_is_held, 2, "ln", 32);
	is_one_at_a_time = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marked_reservations_are_published_together),
		cmocka_unit_test(posters_that_do_not_mark),
		cmocka_unit_test(run_that_must_ring),
		cmocka_unit_test(flush_covers_what_is_before_it),
		cmocka_unit_test(foreign_marks_are_ignored),
		cmocka_unit_test(runs_and_deferred_doorbells),
		cmocka_unit_test(ready_flags_one_by_one),
		cmocka_unit_test(doorbell_is_locked),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
