/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Reports of faults to the host (abi/fault.h), one case at a time: what is reported, how often, and
 * what it does to the channel. */
#include "steps.h"

enum { BAD_GRANULE = 5 };

static shmemd_faults_t *faults_of(int pe)
{
	return rig_pes[pe].ctx.faults;
}

static uint64_t n_reports(int pe)
{
	return shmemd_arch_ld_acquire_u64(&faults_of(pe)->n_reports);
}

/* The report of channel k to PE 1. */
static uint64_t report_of(int pe, uint32_t k)
{
	return shmemd_arch_ld_relaxed_u64(SHMEMD_FAULT_REPORT(faults_of(pe), 2, k, 1));
}

static uint64_t error_word(uint32_t kind, uint32_t syndrome, uint32_t vendor, uint32_t opcode)
{
	return SHMEMD_FAULT_WORD(kind, SHMEMD_FAULT_SYNDROMES(syndrome, vendor), opcode,
				 rig_channel(0, 1, 0)->qp->qpn, rig_planned()->epoch);
}

/* The first CQE with an error is the cause, and those of flushed WQEs do not hide it. */

static void puts_on_a_lost_path(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe)
		return;
	for (uint32_t i = 0; i < 4; i++)
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET) + i, i, 1);
	/* Polls many times, and finds the CQE each time. */
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(rig_status(0, 1, 0), 0);
	CHECK_IS(n_reports(0), 1);
	CHECK_IS(report_of(0, 0), error_word(SHMEMD_FAULT_PATH, SHMEMD_SYNDROME_RETRY_EXC, 0x81,
					     SHMEMD_MLX5_RDMA_WRITE));
	/* A report of the error is not replaced by a suspicion. */
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(n_reports(0), 1);
}

static void fail_second(int pe)
{
	if (pe == 0)
		rig_control("fail wqe syndrome=0x15 vendor=0x81 host=0 wqebb=%u",
			    rig_device_index(1));
}

static rig_test_t report_test(void (*kernel)(const void *params), void (*made_rig)(int pe))
{
	rig_test_t t = order_test(kernel, NULL);

	t.made = made_rig;
	t.plan.timeout_ns = 1000000;
	return t;
}

static void cause_is_reported_once(void **state)
{
	(void)state;
	run_starts(report_test(puts_on_a_lost_path, fail_second));
}

/* A queue pair that has used up its retries. */

static void put_into_the_void(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 1, 1);
	while (!n_reports(0))
		(void)shmemd_quiet(&p->ctx);
	CHECK_IS(SHMEMD_FAULT_KIND(report_of(0, 0)), SHMEMD_FAULT_PATH);
	CHECK_IS(SHMEMD_FAULT_SYNDROME(report_of(0, 0)), SHMEMD_SYNDROME_RETRY_EXC);
	CHECK_IS(p->ctx.latch->status, 0);
}

static void lose_all(int pe)
{
	if (pe == 0)
		rig_control("drop packet");
}

static void retries_used_up(void **state)
{
	rig_test_t t = report_test(put_into_the_void, lose_all);

	(void)state;
	t.plan.timeout_ns = 10000000000;
	run_starts(t);
}

/* Flushed: the host has stopped the queue pair. */

static void put_after_stop(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(n_reports(0), 1);
	CHECK_IS(SHMEMD_FAULT_KIND(report_of(0, 0)), SHMEMD_FAULT_PATH);
	CHECK_IS(SHMEMD_FAULT_SYNDROME(report_of(0, 0)), SHMEMD_SYNDROME_WR_FLUSH);
}

static void stop_first(int pe)
{
	if (pe == 0)
		rig_control("qp err host=0 qp=0x%x", rig_channel(0, 1, 0)->qp->qpn);
}

static void flush_is_reported(void **state)
{
	(void)state;
	run_starts(report_test(put_after_stop, stop_first));
}

/* A mistake of the program is reported as such, and fails the channel. */

static void put_to_bad_granule(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, BAD_GRANULE), 1, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	CHECK_IS(rig_status(0, 1, 0), SHMEMD_ERR_REFUSED);
	CHECK_IS(p->ctx.error->status, SHMEMD_ERR_REFUSED);
	CHECK_IS(n_reports(0), 1);
	CHECK_IS(report_of(0, 0),
		 error_word(SHMEMD_FAULT_REFUSED, 0x13, 0x88, SHMEMD_MLX5_RDMA_WRITE));
}

static void refusal_is_reported(void **state)
{
	rig_test_t t = report_test(put_to_bad_granule, made);

	(void)state;
	t.plan.unregistered = 1u << BAD_GRANULE;
	run_starts(t);
}

/* Waits that reach the time limit ask the host to look; each is a new word, and an error replaces
 * it. Waits whose limit the caller names do not. */

static void waits_for_too_long(const void *params)
{
	const rig_params_t *p = params;
	uint64_t value;

	if (p->pe)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 1, 1);
	for (uint64_t i = 1; i < 4; i++) {
		CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
		CHECK_IS(n_reports(0), i);
		CHECK_IS(report_of(0, 0),
			 SHMEMD_FAULT_WORD(SHMEMD_FAULT_SUSPECT, i, 0, 0, rig_planned()->epoch));
	}
	CHECK_IS(shmemd_g_u64(&p->ctx, &value, word_of(&p->ctx, TARGET), 1), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(n_reports(0), 4);
	CHECK_IS(rig_status(0, 1, 0), 0);
	reach(1);
	await_step(2);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 2, 1);
	while (SHMEMD_FAULT_KIND(report_of(0, 0)) == SHMEMD_FAULT_SUSPECT)
		(void)shmemd_quiet(&p->ctx);
	CHECK_IS(SHMEMD_FAULT_KIND(report_of(0, 0)), SHMEMD_FAULT_PATH);
	CHECK_IS(SHMEMD_FAULT_SYNDROME(report_of(0, 0)), SHMEMD_SYNDROME_WR_FLUSH);
}

static void hold_completions(int pe)
{
	step = 0;
	if (pe == 0)
		rig_control("hold cqe");
}

static void stop_later(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_control("clear rules");
	rig_control("release cqes");
	rig_stop(rig_channel(0, 1, 0));
	reach(2);
}

static void suspicions_are_numbered(void **state)
{
	rig_test_t t = report_test(waits_for_too_long, hold_completions);

	(void)state;
	t.host = stop_later;
	run_starts(t);
}

/* A full queue: a poster that waits for space reports it, too, and goes on waiting. */

static void fills_held_queue(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe)
		return;
	for (uint32_t i = 0; i < 100; i++)
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET) + i % 8, i, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_OK);
	CHECK_IS(SHMEMD_FAULT_KIND(report_of(0, 0)), SHMEMD_FAULT_SUSPECT);
}

static void release_after_reports(int pe)
{
	if (pe)
		return;
	while (n_reports(0) < 2)
		shmemsim_sleep(1000000);
	rig_control("clear rules");
	rig_control("release cqes");
}

static void poster_without_space_reports(void **state)
{
	rig_test_t t = report_test(fills_held_queue, hold_completions);

	(void)state;
	t.host = release_after_reports;
	run_starts(t);
}

/* Two channels: two words, and two reports. */

static void puts_on_two_channels(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t k = shmemd_block_index();
	const shmemd_ctx_t ctx = shmemd_ctx_channel(&p->ctx, k);

	if (p->pe)
		return;
	shmemd_p_u64(&ctx, word_of(&ctx, TARGET) + k, 1, 1);
	while (!report_of(0, k))
		(void)shmemd_quiet(&ctx);
}

static void look_at_two(void)
{
	CHECK_IS(n_reports(0), 2);
	for (uint32_t k = 0; k < 2; k++)
		CHECK_IS(SHMEMD_FAULT_QPN(report_of(0, k)), rig_channel(0, 1, k)->qp->qpn);
	CHECK_IS(rig_pes[0].latch.reports, 4);
}

static void stop_both(int pe)
{
	for (uint32_t k = 0; k < 2 && pe == 0; k++)
		rig_control("qp err host=0 qp=0x%x", rig_channel(0, 1, k)->qp->qpn);
}

static void channels_have_their_own_reports(void **state)
{
	rig_test_t t = report_test(puts_on_two_channels, stop_both);

	(void)state;
	t.plan.n_channels = 2;
	t.plan.timeout_ns = 10000000000;
	t.n_blocks = 2;
	t.final_check = look_at_two;
	run_schedules(&t, 300);
}

/* The next path's reports do not depend on those of this one. */

static void put_then_serve(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe == 0) {
		reach(1);
		await_step(2);
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 1, 1);
		while (shmemd_quiet(&p->ctx) == SHMEMD_ERR_TIMEOUT)
			reach(3);
		CHECK_IS(rig_words(0, 1, 0)->reported, 0);
		CHECK(n_reports(0) >= 1);
	}
	serve(p);
}

static void stop_and_switch(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_fence(0, 1, 0);
	reach(2);
	await_step(3);
	rig_order(0, 1, 0);
	end_service();
}

static void switch_forgets_reports(void **state)
{
	(void)state;
	rig_test_t t = report_test(put_then_serve, made);

	t.host = stop_and_switch;
	run_starts(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cause_is_reported_once),
		cmocka_unit_test(retries_used_up),
		cmocka_unit_test(flush_is_reported),
		cmocka_unit_test(refusal_is_reported),
		cmocka_unit_test(suspicions_are_numbered),
		cmocka_unit_test(poster_without_space_reports),
		cmocka_unit_test(channels_have_their_own_reports),
		cmocka_unit_test(switch_forgets_reports),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
