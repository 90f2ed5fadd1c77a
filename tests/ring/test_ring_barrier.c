/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A barrier after lost operations: the status of the failed quiet at one PE is returned by the
 * barrier at all PEs that receive its flag. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { CHANNELS = 2, BAD_GRANULE = 5, ROUNDS = 3, PES = 3 };

static int results[PES][ROUNDS];

static shmemd_group_t group(void)
{
	return shmemd_n_threads() == 1    ? shmemd_thread()
	       : shmemd_n_threads() == 32 ? shmemd_warp()
					  : shmemd_block();
}

static void keep_result(const rig_params_t *p, uint32_t round, int status)
{
	shmemd_group_sync(group());
	if (shmemd_thread_index() == 0)
		results[p->pe][round] = status;
	shmemd_group_sync(group());
	CHECK_IS(results[p->pe][round], status); /* the same in all threads */
}

/* PE 0's put to PE arg is refused on channel `k`; the barrier uses p->ctx's channel. */
static void lose_a_put(const rig_params_t *p, const shmemd_ctx_t *ctx)
{
	if (p->pe == 0 && shmemd_thread_index() == 0)
		shmemd_p_u64(ctx, word_of(ctx, BAD_GRANULE), 11, (int)p->arg);
}

static void on_another_channel(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t ctx = shmemd_ctx_channel(&p->ctx, CHANNELS - 1);

	CHECK_IS(shmemd_barrier_group(&ctx, group()), 0);
	lose_a_put(p, &ctx);
	for (uint32_t round = 0; round < ROUNDS; round++)
		keep_result(p, round, shmemd_barrier_group(&ctx, group()));
	CHECK_IS(shmemd_sync_group(&ctx, group()), 0);       /* completes nothing */
	CHECK_IS(shmemd_barrier_group(&p->ctx, group()), 0); /* nothing was lost on channel 0 */
}

static void look_all_refused(void)
{
	for (int pe = 0; pe < rig_pes[0].ctx.n_pes; pe++) {
		for (uint32_t round = 0; round < ROUNDS; round++)
			if (results[pe][round] != SHMEMD_ERR_REFUSED)
				shmemsim_fail("PE %d, barrier %u: %d", pe, round,
					      results[pe][round]);
		CHECK_IS(rig_pes[pe].error.status, SHMEMD_ERR_REFUSED);
		CHECK_IS(rig_pes[pe].error.op, pe == 0 ? SHMEMD_OP_PUT : SHMEMD_OP_BARRIER);
		CHECK_IS(rig_pes[pe].error.pe, pe == 0 ? 1 : 0); /* the PE whose quiet has failed */
	}
}

static rig_test_t barrier_test(void (*kernel)(const void *params), uint32_t n_threads,
			       void (*final_check)(void))
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = kernel,
			.n_blocks = 1,
			.n_threads = n_threads,
			.final_check = final_check,
			.arg = 1};

	memset(results, 0, sizeof(results));
	t.plan.n_pes = PES;
	t.plan.n_channels = CHANNELS;
	t.plan.unregistered = 1u << BAD_GRANULE;
	return t;
}

static void lost_on_another_channel(void **state)
{
	(void)state;
	for (uint32_t n_threads = 1; n_threads <= 64;
	     n_threads = n_threads == 1 ? 32 : 2 * n_threads)
		for (unsigned start = 0; start < N_STARTS; start++) {
			rig_test_t t =
				barrier_test(on_another_channel, n_threads, look_all_refused);

			start_below(&t.plan, start);
			run_once(&t);
			run_schedules(&t, 24);
		}
}

/* PE 1 has latched an error of its own: the status of the failed quiet comes first there, too. */
static void latched_as_well(const void *params)
{
	const rig_params_t *p = params;
	const shmemd_ctx_t ctx = shmemd_ctx_channel(&p->ctx, CHANNELS - 1);

	CHECK_IS(shmemd_barrier_group(&ctx, group()), 0);
	lose_a_put(p, &ctx);
	if (p->pe == 1 && shmemd_thread_index() == 0)
		shmemdi_latch(&ctx, SHMEMD_ERR_BAD_PE);
	keep_result(p, 0, shmemd_barrier_group(&ctx, group()));
}

static void look_first_refused(void)
{
	for (int pe = 0; pe < PES; pe++)
		CHECK_IS(results[pe][0], SHMEMD_ERR_REFUSED);
	CHECK_IS(rig_pes[1].latch.status, SHMEMD_ERR_BAD_PE);
}

static void status_before_latch(void **state)
{
	(void)state;
	for (uint32_t n_threads = 1; n_threads <= 32; n_threads += 31) {
		rig_test_t t = barrier_test(latched_as_well, n_threads, look_first_refused);

		run_once(&t);
		run_schedules(&t, 4);
	}
}

/* Channel 0, which also carries the flags, has failed: the PE at its other end does not receive the
 * flag; the other PEs do, from both PEs. */
static void on_the_flags_channel(const void *params)
{
	const rig_params_t *p = params;

	CHECK_IS(shmemd_barrier_group(&p->ctx, group()), 0);
	lose_a_put(p, &p->ctx);
	keep_result(p, 0, shmemd_barrier_group(&p->ctx, group()));
}

static void look_at_the_end(void)
{
	CHECK_IS(results[0][0], SHMEMD_ERR_REFUSED);
	CHECK(results[1][0] !=
	      SHMEMD_OK); /* its end of the channel may fail too, or no flag arrives */
	CHECK(results[2][0] == SHMEMD_ERR_REFUSED || results[2][0] == SHMEMD_ERR_PATH);
}

static void lost_on_the_flags_channel(void **state)
{
	(void)state;
	for (uint32_t n_threads = 1; n_threads <= 32; n_threads += 31) {
		rig_test_t t = barrier_test(on_the_flags_channel, n_threads, look_at_the_end);

		t.plan.timeout_ns = 10000000;
		run_once(&t);
		run_schedules(&t, 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_on_another_channel),
		cmocka_unit_test(status_before_latch),
		cmocka_unit_test(lost_on_the_flags_channel),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
