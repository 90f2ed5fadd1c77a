/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Failures behind a NIC: every call returns, quiet has a status, the record has the first cause,
 * and the channel sends nothing more. */
#include <shmem_dev/grid.h>
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { BAD_GRANULE = 5, LOOPS = 100000 };

static void check_record(int pe, uint32_t status, uint32_t op, uint32_t syndromes)
{
	const shmemd_error_t *e = &rig_pes[pe].error;

	CHECK_IS(e->status, status);
	CHECK_IS(e->op, op);
	CHECK_IS(e->pe, 1);
	CHECK_IS(e->value & 0xffff, syndromes);
	CHECK_IS(e->value >> 32, rig_channel(pe, 1, 0)->qp->qpn);
	CHECK_IS(e->wanted, SHMEMD_WANTED_CQE);
}

/* PE 0 sends nothing, and all calls return the status at once. */
static void check_stopped(const shmemd_ctx_t *ctx, int status)
{
	const uint64_t requests = rig_counters(0, 1, 0).wqes;
	uint64_t value = 0;

	for (int i = 0; i < 200; i++) /* more than there are WQEBBs */
		shmemd_p_u64(ctx, word_of(ctx, 0), 99, 1);
	CHECK_IS(shmemd_g_u64(ctx, &value, word_of(ctx, 0), 1), status);
	CHECK_IS(shmemd_atomic_fetch_inc_u64(ctx, &value, word_of(ctx, 0), 1), status);
	CHECK_IS(shmemd_quiet(ctx), status);
	CHECK_IS(rig_status(0, 1, 0), status);
	CHECK_IS(rig_counters(0, 1, 0).wqes, requests);
}

/* A granule without a key */

static void use_bad_granule(const void *params)
{
	const rig_params_t *p = params;
	uint64_t *bad = (uint64_t *)(void *)(p->ctx.heap + BAD_GRANULE * RIG_GRANULE), value = 0;

	if (p->pe != 0)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	if (p->arg == 0) {
		shmemd_p_u64(&p->ctx, bad, 1, 1);
		CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	} else if (p->arg == 1) {
		CHECK_IS(shmemd_g_u64(&p->ctx, &value, bad, 1), SHMEMD_ERR_REFUSED);
	} else if (p->arg == 2) {
		CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &value, bad, 1), SHMEMD_ERR_REFUSED);
	} else {
		shmemd_putmem(&p->ctx, word_of(&p->ctx, 0), bad, 100, 1);
		CHECK_IS(rig_pes[0].latch.status, SHMEMD_ERR_REFUSED); /* of the wait */
		CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	}
	check_stopped(&p->ctx, SHMEMD_ERR_REFUSED);
}

static uint64_t arg;

static void look_refused(void)
{
	static const uint32_t ops[] = {SHMEMD_OP_PUT, SHMEMD_OP_GET, SHMEMD_OP_ATOMIC,
				       SHMEMD_OP_PUT};
	const uint32_t syndromes = arg == 3 ? 0x5204 : 0x8813; /* key of this PE; key of the peer */

	check_record(0, SHMEMD_ERR_REFUSED, ops[arg], syndromes);
	CHECK_IS(rig_pes[0].error.addr, 2); /* after the p and its quiet's READ */
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), 1);
}

/* Run the kernel with each arg below n. No PE has a key for the bad granule. */
static void refuse_each(void (*kernel)(const void *), void (*final_check)(void), uint64_t n,
			uint32_t own_by_nic)
{
	for (arg = 0; arg < n; arg++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = kernel,
				.n_blocks = 1,
				.n_threads = 1,
				.final_check = final_check,
				.arg = arg};

		t.plan.own_by_nic = own_by_nic;
		t.plan.unregistered = 1u << BAD_GRANULE;
		run_once(&t);
	}
}

static void bad_key(void **state)
{
	(void)state;
	refuse_each(use_bad_granule, look_refused, 4, 0);
}

/* A request of a PE to itself: the same queue pair refuses it, goes to ERR, and flushes it. */
static void use_own_bad_granule(const void *params)
{
	const rig_params_t *p = params;
	uint64_t *bad = word_of(&p->ctx, BAD_GRANULE), value = 0;

	if (p->pe != 0)
		return;
	if (p->arg == 0) {
		shmemd_p_u64(&p->ctx, bad, 1, 0);
		CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	} else {
		CHECK_IS(shmemd_g_u64(&p->ctx, &value, bad, 0), SHMEMD_ERR_REFUSED);
	}
	CHECK_IS(rig_status(0, 0, 0), SHMEMD_ERR_REFUSED);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1); /* the channel to PE 1 goes on */
	CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), SHMEMD_OK);
}

static void look_own_refusal(void)
{
	CHECK_IS(rig_pes[0].error.status, SHMEMD_ERR_REFUSED);
	CHECK_IS(rig_pes[0].error.pe, 0);
	CHECK_IS(rig_pes[0].error.value & 0xff, 0x05);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), 1);
}

static void own_bad_key(void **state)
{
	(void)state;
	refuse_each(use_own_bad_granule, look_own_refusal, 2, 1);
}

/* By the blocks of a grid: the first thread of the first block gets by NIC, and all threads of that
 * block return its status. */
static void get_bad_granule(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe == 0)
		CHECK_IS(shmemd_getmem_grid(&p->ctx, shmemd_grid(), word_of(&p->ctx, 0),
					    word_of(&p->ctx, BAD_GRANULE), 100, 1),
			 shmemd_block_index() == 0 ? SHMEMD_ERR_REFUSED : SHMEMD_OK);
}

static void get_of_a_grid(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = get_bad_granule, .n_blocks = 2, .n_threads = 64};

	(void)state;
	t.plan.unregistered = 1u << BAD_GRANULE;
	run_once(&t);
}

/* Operations that return nothing, on a channel that has failed: each latches the channel's status.
 * A quiet of the context would return it without the latch, so the test reads the latch. */
enum { P, ADD, OR, PUT, PUT_NBI, GET_NBI, PUT_WARP, PUT_NBI_WARP, N_OPERATIONS };

static void operate(const rig_params_t *p)
{
	uint64_t *there = word_of(&p->ctx, 0), *here = word_of(&p->ctx, 1) + shmemd_thread_index();

	if (p->arg == P)
		shmemd_p_u64(&p->ctx, there, 1, 1);
	else if (p->arg == ADD)
		shmemd_atomic_add_u64(&p->ctx, there, 1, 1);
	else if (p->arg == OR)
		shmemd_atomic_or_u64(&p->ctx, there, 1, 1);
	else if (p->arg == PUT) /* its WQE would carry the data */
		shmemd_putmem(&p->ctx, there, here, 8, 1);
	else if (p->arg == PUT_NBI) /* its WQE would name the source */
		shmemd_putmem_nbi(&p->ctx, there, here, 8, 1);
	else if (p->arg == PUT_WARP)
		shmemd_putmem_warp(&p->ctx, there, word_of(&p->ctx, 1), 8, 1);
	else if (p->arg == PUT_NBI_WARP)
		shmemd_putmem_nbi_warp(&p->ctx, there, word_of(&p->ctx, 1), 8, 1);
	else
		shmemd_getmem_nbi(&p->ctx, here, there, 8, 1);
}

static void operate_after_failure(const void *params)
{
	const rig_params_t *p = params;
	shmemd_group_t g = shmemd_n_threads() == 1 ? shmemd_thread() : shmemd_warp();

	if (p->pe != 0)
		return;
	if (shmemd_thread_index() == 0) {
		shmemd_atomic_inc_u64(&p->ctx, word_of(&p->ctx, BAD_GRANULE), 1);
		CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), SHMEMD_ERR_REFUSED);
		CHECK_IS(rig_pes[0].latch.status, 0);
	}
	shmemd_group_sync(g);
	operate(p);
	shmemd_group_sync(g);
	CHECK_IS(rig_pes[0].latch.status, SHMEMD_ERR_REFUSED);
}

static void look_nothing_arrived(void)
{
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), 0);
}

static void failed_channel(uint32_t n_threads, uint64_t first, uint64_t last)
{
	for (uint64_t operation = first; operation <= last; operation++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = operate_after_failure,
				.n_blocks = 1,
				.n_threads = n_threads,
				.final_check = look_nothing_arrived,
				.arg = operation};

		t.plan.unregistered = 1u << BAD_GRANULE;
		run_once(&t);
	}
}

static void status_of_a_thread_is_latched(void **state)
{
	(void)state;
	failed_channel(1, P, GET_NBI);
}

static void status_of_lanes_is_latched(void **state)
{
	(void)state;
	failed_channel(32, P, GET_NBI);
}

static void status_of_a_group_is_latched(void **state)
{
	(void)state;
	failed_channel(32, PUT_WARP, PUT_NBI_WARP);
}

/* All completions of a queue have arrived before the first poll, and the one with the cause is
 * before, at or after those that are polled ahead. Operations that completed before it count. */
static void fill_with_a_bad_one(const void *params)
{
	const rig_params_t *p = params;
	const uint64_t start = rig_place(0);
	const uint32_t depth = 1u << SHMEMD_LOG_DEPTH(p->ctx.geometry);
	int is_done = 0;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; i < depth; i++)
		shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, i == p->arg ? BAD_GRANULE : 0), 1,
				       1, i < depth - 1 ? SHMEMD_RING_DEFERRED : SHMEMD_RING_NOW);
	while (rig_counters(0, 1, 0).cqes != depth)
		shmemd_arch_spin_hint();
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	CHECK_IS(shmemd_channel_poll(&p->ctx, 1, start + p->arg, &is_done), 0);
	CHECK_IS(is_done, 1);
	CHECK_IS(shmemd_channel_space(&p->ctx, 1), UINT32_MAX);
	check_stopped(&p->ctx, SHMEMD_ERR_REFUSED);
}

static void look_cause(void)
{
	check_record(0, SHMEMD_ERR_REFUSED, SHMEMD_OP_ATOMIC, 0x8813);
	CHECK_IS(rig_pes[0].error.addr, arg);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), arg);
}

static void cause_in_a_full_queue(void **state)
{
	(void)state;
	for (arg = 0; arg < 64; arg++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = fill_with_a_bad_one,
				.n_blocks = 1,
				.n_threads = 1,
				.final_check = look_cause,
				.arg = arg};

		t.plan.unregistered = 1u << BAD_GRANULE;
		run_once(&t);
	}
}

/* The path fails under traffic */

static uint32_t n_rounds;

static void until_it_fails(const void *params)
{
	const rig_params_t *p = params;
	int status = 0;

	if (p->pe != 0)
		return;
	for (int i = 0; i < LOOPS && !status; i++) {
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1);
		shmemd_atomic_inc_u64(&p->ctx, word_of(&p->ctx, 1), 1);
		status = shmemd_quiet(&p->ctx);
		if (shmemd_thread_index() == 0)
			shmemd_arch_atom_add_u32(&n_rounds, 1);
	}
	CHECK_IS(status, SHMEMD_ERR_PATH);
	check_stopped(&p->ctx, SHMEMD_ERR_PATH);
}

static void after_some_rounds(void)
{
	while (shmemd_arch_ld_relaxed_u32(&n_rounds) < 20)
		shmemd_arch_spin_hint();
}

static void stop_the_queue(int pe)
{
	if (pe != 0)
		return;
	after_some_rounds();
	rig_control("qp err host=0 qp=0x%x", rig_channel(0, 1, 0)->qp->qpn);
}

static void take_the_port_down(int pe)
{
	if (pe != 0)
		return;
	after_some_rounds();
	rig_control("port down host=1 mlx5_0");
}

static void look_flushed(void)
{
	const shmemd_error_t *e = &rig_pes[0].error;

	check_record(0, SHMEMD_ERR_PATH, e->op, 0xf505);
}

static void look_retries(void)
{
	const shmemd_error_t *e = &rig_pes[0].error;

	check_record(0, SHMEMD_ERR_PATH, e->op, 0x8115);
}

static void path_fails(void (*host)(int pe), void (*final_check)(void), uint32_t n_threads)
{
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = until_it_fails,
				.n_blocks = 1,
				.n_threads = n_threads,
				.host = host,
				.final_check = final_check,
				.may_report = 1};

		n_rounds = 0;
		start_below(&t.plan, start);
		run_once(&t);
	}
}

static void local_2err(void **state)
{
	(void)state;
	path_fails(stop_the_queue, look_flushed, 1);
	path_fails(stop_the_queue, look_flushed, 32);
}

static void retries_exceeded(void **state)
{
	(void)state;
	path_fails(take_the_port_down, look_retries, 1);
	path_fails(take_the_port_down, look_retries, 32);
}

/* Completions that do not arrive */

static void put_and_wait(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), p->arg);
}

static void lose_cqes(int pe)
{
	if (pe == 0)
		rig_control("lose cqe host=0");
}

static void lost_completion_with_a_limit(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = put_and_wait,
			.n_blocks = 1,
			.n_threads = 1,
			.host = lose_cqes,
			.arg = SHMEMD_ERR_TIMEOUT};

	(void)state;
	t.plan.timeout_ns = 1000000;
	run_once(&t);
}

static void fill_the_queue(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	for (int i = 0; i < 100; i++) /* the puts wait for WQEBBs, and time out */
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), p->arg);
	CHECK_IS(rig_status(0, 1, 0), p->arg);
}

static void full_queue_with_a_limit(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = fill_the_queue,
			.n_blocks = 1,
			.n_threads = 1,
			.host = lose_cqes,
			.arg = SHMEMD_ERR_PATH};

	(void)state;
	t.plan.timeout_ns = 1000000;
	run_once(&t);
}

/* PE 1's death is reported by its host. */
static void lose_the_peer(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0");
	shmemsim_sleep(1000000);
	shmemd_arch_st_release_u32(&rig_pes[0].causes[1], SHMEMD_CAUSE_DIED);
	shmemd_arch_st_release_u64(&rig_pes[0].abort_word, SHMEMD_ABORT_WORD(1, SHMEMD_CAUSE_DIED));
}

static void dead_peer(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = put_and_wait,
			.n_blocks = 1,
			.n_threads = 1,
			.host = lose_the_peer,
			.arg = SHMEMD_ERR_PEER};

	(void)state;
	run_once(&t);
	t.kernel = fill_the_queue;
	run_once(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_key),
		cmocka_unit_test(own_bad_key),
		cmocka_unit_test(get_of_a_grid),
		cmocka_unit_test(status_of_a_thread_is_latched),
		cmocka_unit_test(status_of_lanes_is_latched),
		cmocka_unit_test(status_of_a_group_is_latched),
		cmocka_unit_test(cause_in_a_full_queue),
		cmocka_unit_test(local_2err),
		cmocka_unit_test(retries_exceeded),
		cmocka_unit_test(lost_completion_with_a_limit),
		cmocka_unit_test(full_queue_with_a_limit),
		cmocka_unit_test(dead_peer),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
