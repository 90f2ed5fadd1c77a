/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bounce buffers: a fetch that times out abandons its buffer, to which its result may still be
 * written; later fetches never read it in theirs. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { LATE = 3, LATER = 100, N_THREADS = 40 };

static uint32_t n_timed_out, is_released;

/* The results of the first fetches are held; the word has changed by the time they arrive. */
static void late_results(const void *params)
{
	const rig_params_t *p = params;
	uint64_t value = 0;

	if (p->pe != 0)
		return;
	for (uint64_t i = 0; i < p->arg; i++) {
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, (uint32_t)i), 1000 + i, 1);
		CHECK_IS(shmemd_g_u64(&p->ctx, &value, word_of(&p->ctx, (uint32_t)i), 1),
			 SHMEMD_ERR_TIMEOUT);
		CHECK_IS(value, 0);
	}
	shmemd_arch_st_release_u32(&n_timed_out, 1);
	while (!shmemd_arch_ld_acquire_u32(&is_released))
		shmemd_arch_spin_hint();
	for (uint64_t i = 0; i < LATER; i++) {
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, 8), i, 1);
		CHECK_IS(shmemd_g_u64(&p->ctx, &value, word_of(&p->ctx, 8), 1), 0);
		CHECK_IS(value, i);
	}
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(rig_pes[0].error.status, SHMEMD_ERR_TIMEOUT);
	CHECK_IS(rig_status(0, 1, 0), 0);
}

static void hold_and_release(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0");
	while (!shmemd_arch_ld_acquire_u32(&n_timed_out))
		shmemd_arch_spin_hint();
	rig_control("clear rules");
	rig_control("release cqes host=0");
	shmemd_arch_st_release_u32(&is_released, 1);
}

static void late_result_finds_its_buffer(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++)
		for (uint32_t flush = 0; flush < 2; flush++) {
			rig_test_t t = {.plan = rig_plan(),
					.kernel = late_results,
					.n_blocks = 1,
					.n_threads = 1,
					.host = hold_and_release,
					.arg = LATE};

			n_timed_out = is_released = 0;
			start_below(&t.plan, start);
			t.plan.timeout_ns = 10000000;
			t.plan.n_granules = 16;
			t.plan.flags = flush ? SHMEMD_CTX_DUMP_AFTER_READ : 0;
			run_once(&t);
		}
}

/* More threads than bounce buffers; each thread checks its own words. */
static void own_words(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t me = shmemd_block_index() * shmemd_n_threads() + shmemd_thread_index();
	uint64_t *word = word_of(&p->ctx, 0) + me, value = 0;

	for (uint64_t i = 1; i <= 2; i++) {
		shmemd_p_u64(&p->ctx, word, me * 100 + i, p->peer);
		CHECK_IS(shmemd_g_u64(&p->ctx, &value, word, p->peer), 0);
		CHECK_IS(value, me * 100 + i);
		CHECK_IS(shmemd_atomic_fetch_add_u64(&p->ctx, &value, word, 7, p->peer), 0);
		CHECK_IS(value, me * 100 + i);
	}
}

static void more_threads_than_buffers(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = own_words, .n_blocks = 2, .n_threads = N_THREADS};

	(void)state;
	run_all_ways(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_result_finds_its_buffer),
		cmocka_unit_test(more_threads_than_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
