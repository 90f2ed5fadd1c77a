/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* quiet: the flush READ for which it waits, and its record when it fails. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { BAD_GRANULE = 5 };

static rig_test_t quiet_test(void (*kernel)(const void *params))
{
	rig_test_t t = {.plan = rig_plan(), .kernel = kernel, .n_blocks = 1, .n_threads = 1};

	return t;
}

/* The last flush is arg WQEBBs old: it covers no operation of this test. */
static void put_and_quiet(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 7, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(rig_requests(0, 1, 0), 2);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), 7);
	CHECK_IS(shmemd_quiet(&p->ctx), 0); /* no new operation */
	CHECK_IS(rig_requests(0, 1, 0), 2);
}

static void old_flush_covers_nothing(void **state)
{
	static const uint64_t ages[] = {0,
					1,
					((uint64_t)1 << 31) - 1,
					(uint64_t)1 << 31,
					((uint64_t)1 << 31) + 1,
					((uint64_t)1 << 32) - 65,
					((uint64_t)1 << 32) - 4,
					(uint64_t)1 << 32};

	(void)state;
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++)
		for (unsigned start = 0; start < N_STARTS; start++) {
			rig_test_t t = quiet_test(put_and_quiet);

			start_below(&t.plan, start);
			t.plan.flush_age = ages[i];
			run_once(&t);
		}
}

/* Completions do not arrive within the time limit: the record has the consumer index, then the
 * index for which quiet waits. */
static void put_and_time_out(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_error_t *e = &rig_pes[0].error;

	if (p->pe != 0)
		return;
	for (uint64_t i = 0; i < p->arg; i++) {
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), i, 1);
		CHECK_IS(shmemd_quiet(&p->ctx), 0);
	}
	while (shmemd_channel_space(&p->ctx, 1) != 1u << SHMEMD_LOG_DEPTH(p->ctx.geometry))
		shmemd_arch_spin_hint(); /* the consumer index equals the producer index */
	rig_control("hold cqe host=0");
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(e->status, SHMEMD_ERR_TIMEOUT);
	CHECK_IS(e->op, SHMEMD_OP_QUIET);
	CHECK_IS(e->pe, 1);
	CHECK_IS(e->value, rig_place(2 * p->arg));
	CHECK_IS(e->wanted, (uint32_t)rig_place(2 * p->arg + 2));
	rig_control("clear rules");
	rig_control("release cqes host=0");
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
}

static void record_of_a_timeout(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = quiet_test(put_and_time_out);

		start_below(&t.plan, start);
		t.arg = start;
		t.plan.timeout_ns = 1000000;
		run_once(&t);
	}
}

/* The host clears an error (shmemh_error_clear); the channel stays failed. */
static void forget(void)
{
	memset(&rig_pes[0].error, 0, sizeof(rig_pes[0].error));
	memset(&rig_pes[0].latch, 0, sizeof(rig_pes[0].latch));
}

static void check_record(uint32_t op)
{
	const shmemd_error_t *e = &rig_pes[0].error;

	CHECK_IS(e->status, SHMEMD_ERR_REFUSED);
	CHECK_IS(e->op, op);
	CHECK_IS(e->pe, 1);
}

/* Calls that post to a channel which has failed before. Each fetch keeps its bounce buffer, so that
 * later ones find none free. */
static void check_posts(const rig_params_t *p)
{
	uint64_t word = 0;

	forget();
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1);
	check_record(SHMEMD_OP_P);
	for (uint32_t i = 0; i <= SHMEMD_BOUNCE_BUFFERS; i++) {
		forget();
		CHECK_IS(shmemd_g_u64(&p->ctx, &word, word_of(&p->ctx, 0), 1), SHMEMD_ERR_REFUSED);
		check_record(SHMEMD_OP_G);
	}
	forget();
	CHECK_IS(shmemd_atomic_fetch_add_u64(&p->ctx, &word, word_of(&p->ctx, 0), 1, 1),
		 SHMEMD_ERR_REFUSED);
	check_record(SHMEMD_OP_ATOMIC);
	forget();
	CHECK_IS(shmemd_sync(&p->ctx), SHMEMD_ERR_REFUSED);
	check_record(SHMEMD_OP_SYNC);
}

static void fail_and_forget(const void *params)
{
	const rig_params_t *p = params;
	int is_done;

	if (p->pe != 0)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, BAD_GRANULE), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	check_record(SHMEMD_OP_PUT);
	for (int i = 0; i < 2; i++) {
		forget();
		CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
		check_record(SHMEMD_OP_QUIET);
		CHECK_IS(rig_pes[0].error.value, rig_place(0));
		forget();
		CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), SHMEMD_ERR_REFUSED);
		check_record(SHMEMD_OP_QUIET);
	}
	check_posts(p);
	CHECK_IS(shmemd_channel_poll(&p->ctx, 1, shmemd_channel_posted(&p->ctx, 1), &is_done),
		 SHMEMD_ERR_REFUSED);
}

static void failed_channel_is_recorded_again(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = quiet_test(fail_and_forget);

		start_below(&t.plan, start);
		t.plan.unregistered = 1u << BAD_GRANULE;
		run_once(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_flush_covers_nothing),
		cmocka_unit_test(record_of_a_timeout),
		cmocka_unit_test(failed_channel_is_recorded_again),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
