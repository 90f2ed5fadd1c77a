/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A channel is switched to another path (impl/switch.h) under traffic of many threads, again and
 * again; the host of PE 0 has the host's part. Every operation takes effect once and in order, and
 * no call reports a failure. */
#include <shmem_dev/shmem_dev.h>
#include "paths.h"
#include "run.h"

enum { WORKERS_MAX = 16, ROUNDS_MAX = 64 };

/* Words at the target: granule 0 counts adds, 1 has the last put, 2 the word that all threads fetch
 * and add to. */
enum { ADDS, PUTS, TICKETS, RESULTS, KNOWN, END };

static struct {
	uint32_t n_workers, n_rounds, n_switches;
	uint32_t n_done; /* workers that have finished */
	uint32_t n_ambiguous;
	uint32_t n_reported; /* lost results, by the orders' counts */
	uint32_t phase;      /* of `counts`: what the host allows */
	uint8_t seen[WORKERS_MAX * ROUNDS_MAX];
} work;

static uint32_t worker(void)
{
	return shmemd_block_index() * shmemd_n_threads() + shmemd_thread_index();
}

/* Each thread fetches distinct values; a lost result is counted. */
static void take_ticket(const rig_params_t *p)
{
	uint64_t old = 0;
	const int status =
		shmemd_atomic_fetch_inc_u64(&p->ctx, &old, word_of(&p->ctx, TICKETS), p->peer);

	if (status == SHMEMD_ERR_AMBIGUOUS) {
		__atomic_fetch_add(&work.n_ambiguous, 1, __ATOMIC_RELAXED);
		return;
	}
	CHECK_IS(status, 0);
	CHECK(old < sizeof(work.seen));
	CHECK_IS(work.seen[old]++, 0);
}

/* A READ that is executed after its return would overwrite later contents of the result. */
static void read_known(const rig_params_t *p, uint32_t w)
{
	uint64_t *result = word_of(&p->ctx, RESULTS) + w;

	CHECK_IS(shmemd_getmem(&p->ctx, result, word_of(&p->ctx, KNOWN) + w, 8, p->peer), 0);
	CHECK_IS(shmemd_arch_ld_relaxed_u64(result), 7 + w);
	shmemd_arch_st_relaxed_u64(result, 0);
}

static void work_round(const rig_params_t *p, uint32_t w, uint32_t i)
{
	uint64_t *adds = word_of(&p->ctx, ADDS) + w, *puts = word_of(&p->ctx, PUTS) + w;

	shmemd_atomic_inc_u64(&p->ctx, adds, p->peer);
	shmemd_p_u64(&p->ctx, puts, i + 1, p->peer);
	if ((i + w) % 3 == 0)
		take_ticket(p);
	if ((i + w) % 3 == 1)
		read_known(p, w);
	if ((i + w) % 4)
		return;
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(*(word_of(&rig_pes[p->peer].ctx, PUTS) + w), i + 1);
	CHECK_IS(*(word_of(&rig_pes[p->peer].ctx, ADDS) + w), i + 1);
}

/* A service kernel of the host, for when no thread waits for space or completions. */
static void serve(const rig_params_t *p)
{
	while (!shmemd_arch_ld_acquire_u64(word_of(&p->ctx, END))) {
		(void)shmemdi_service_once(&p->ctx);
		shmemd_arch_spin_hint();
	}
}

static void kernel(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t w = worker();

	if (p->pe != 0) {
		serve(p);
		return;
	}
	for (uint32_t i = 0; i < work.n_rounds; i++)
		work_round(p, w, i);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	__atomic_fetch_add(&work.n_done, 1, __ATOMIC_RELEASE);
	serve(p);
}

static void yield_some(unsigned n)
{
	while (n--)
		shmemsim_yield();
}

static void end_kernels(void)
{
	CHECK_IS(rig_status(0, 1, 0), 0);
	shmemd_arch_st_release_u64(word_of(&rig_pes[0].ctx, END), 1);
	shmemd_arch_st_release_u64(word_of(&rig_pes[1].ctx, END), 1);
}

/* While the workers run, switch at random moments, from paths that may lose packets before. */
static void host(int pe)
{
	static const char *const losses[] = {"drop packet kind=ack", "drop packet kind=response",
					     "drop packet", "hold packet kind=request"};

	if (pe != 0)
		return;
	for (uint32_t i = 0; i < work.n_switches; i++) {
		yield_some(shmemsim_choose(400));
		if (shmemsim_choose(4)) {
			rig_control("%s", losses[shmemsim_choose(4)]);
			yield_some(shmemsim_choose(400));
		}
		rig_fence(0, 1, 0);
		rig_control("release packets");
		rig_control("clear rules");
		yield_some(shmemsim_choose(100));
		rig_order(0, 1, 0);
		work.n_reported += rig_pes[0].order.ambiguous;
	}
	end_kernels();
}

static void final_check(void)
{
	const shmemd_ctx_t *there = &rig_pes[1].ctx;
	uint32_t n_tickets = 0, n_seen = 0;

	CHECK_IS(work.n_done, work.n_workers);
	for (uint32_t w = 0; w < work.n_workers; w++) {
		CHECK_IS(word_of(there, ADDS)[w], work.n_rounds);
		CHECK_IS(word_of(there, PUTS)[w], work.n_rounds);
		CHECK_IS(word_of(&rig_pes[0].ctx, RESULTS)[w], 0);
		for (uint32_t i = 0; i < work.n_rounds; i++)
			n_tickets += (i + w) % 3 == 0;
	}
	for (uint32_t i = 0; i < n_tickets; i++)
		n_seen += work.seen[i];
	CHECK_IS(*word_of(there, TICKETS), n_tickets);
	CHECK_IS(n_seen + work.n_ambiguous, n_tickets);
	CHECK_IS(work.n_reported, work.n_ambiguous);
}

static void fill(int pe)
{
	memset(work.seen, 0, sizeof(work.seen));
	work.n_done = work.n_ambiguous = work.n_reported = work.phase = 0;
	for (uint32_t w = 0; w < WORKERS_MAX; w++)
		word_of(&rig_pes[1].ctx, KNOWN)[w] = 7 + w;
	(void)pe;
}

static rig_test_t test_of(uint32_t n_blocks, uint32_t n_threads, uint32_t n_rounds)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = kernel,
			.n_blocks = n_blocks,
			.n_threads = n_threads,
			.made = fill,
			.host = host,
			.final_check = final_check};

	t.plan.has_paths = 1;
	work.n_workers = n_blocks * n_threads;
	work.n_rounds = n_rounds;
	return t;
}

static void few_threads(void **state)
{
	rig_test_t t = test_of(3, 1, 12);

	(void)state;
	work.n_switches = 3;
	run_all_ways(&t);
}

/* The workers fill the queue: posters that wait for space have the turn. */
static void full_queue(void **state)
{
	rig_test_t t = test_of(8, 1, 9);

	(void)state;
	work.n_switches = 3;
	t.plan.depth = 4;
	t.plan.batch = 2;
	run_all_ways(&t);
}

/* Coalesced lanes, whose leader moves their WQEs. */
static void lanes(void **state)
{
	rig_test_t t = test_of(2, 8, 6);

	(void)state;
	work.n_switches = 3;
	t.plan.depth = 16;
	run_all_ways(&t);
}

/* What orders count: one thread posts in three phases, and the host switches in each of them. */

enum { N_PUTS = 3 };

static void await_phase(uint32_t phase)
{
	while (__atomic_load_n(&work.phase, __ATOMIC_ACQUIRE) != phase)
		shmemd_arch_spin_hint();
}

static void set_phase(uint32_t phase)
{
	__atomic_store_n(&work.phase, phase, __ATOMIC_RELEASE);
}

static void counts_kernel(const void *params)
{
	const rig_params_t *p = params;
	uint64_t old = 0;

	if (p->pe != 0) {
		serve(p);
		return;
	}
	await_phase(1);
	for (uint32_t i = 0; i < N_PUTS; i++)
		shmemd_putmem_nbi(&p->ctx, word_of(&p->ctx, PUTS) + i, word_of(&p->ctx, KNOWN), 8,
				  p->peer);
	set_phase(2);
	/* The thread carries out the order, and posts nothing. */
	while (__atomic_load_n(&work.phase, __ATOMIC_ACQUIRE) != 3)
		(void)shmemdi_service_once(&p->ctx);
	CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &old, word_of(&p->ctx, TICKETS), p->peer),
		 SHMEMD_ERR_AMBIGUOUS);
	await_phase(4);
	read_known(p, 0);
	serve(p);
}

/* Switch, and compare what the order of PE 0 has counted. */
static void switch_counting(uint32_t replayed, uint32_t ambiguous)
{
	rig_fence(0, 1, 0);
	rig_control("clear rules");
	rig_order(0, 1, 0);
	CHECK_IS(rig_pes[0].order.replayed, replayed);
	CHECK_IS(rig_pes[0].order.ambiguous, ambiguous);
}

/* PE 1 has executed n requests of this path. */
static void await_executed(uint32_t n)
{
	while (rig_executed(rig_channel(1, 0, 0)) != n)
		shmemd_arch_spin_hint();
}

static void counts_host(int pe)
{
	if (pe != 0)
		return;
	rig_control("drop packet kind=request");
	set_phase(1);
	await_phase(2);
	switch_counting(N_PUTS, 0); /* nothing was executed */
	await_executed(N_PUTS);
	rig_control("drop packet kind=response");
	set_phase(3);
	await_executed(N_PUTS + 1);
	switch_counting(0, 1); /* an atomic whose result is lost */
	rig_control("drop packet kind=response");
	set_phase(4);
	await_executed(1);
	switch_counting(1, 0); /* a READ is repeated */
	end_kernels();
}

static void counts(void **state)
{
	rig_test_t t = test_of(1, 1, 0);

	(void)state;
	t.kernel = counts_kernel;
	t.host = counts_host;
	t.final_check = NULL;
	run_all_ways(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_threads),
		cmocka_unit_test(full_queue),
		cmocka_unit_test(lanes),
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
