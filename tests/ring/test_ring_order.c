/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Orders to switch a channel (abi/replay.h), one case at a time: the status of each call, the queue
 * of the new path, and the thread that carries out an order. */
#include <endian.h>
#include <shmem_dev/channel.h>
#include "steps.h"

static uint32_t is_rung_locked;

/* A lost path is not a failure: waits that time out may be repeated. */
static void lost_path(const void *params)
{
	const rig_params_t *p = params;
	uint64_t old = 0;

	if (p->pe) {
		serve(p);
		return;
	}
	reach(1);
	await_step(2);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET), 5, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_TIMEOUT);
	CHECK_IS(rig_status(0, 1, 0), 0);
	CHECK_IS(p->ctx.latch->status, 0);
	reach(3);
	while (shmemd_quiet(&p->ctx) == SHMEMD_ERR_TIMEOUT)
		;
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 5);
	CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &old, word_of(&p->ctx, TARGET), 1), 0);
	CHECK_IS(old, 5);
	CHECK_IS(p->ctx.latch->status, 0);
}

static void lose_path(int pe)
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

static void lost_path_is_not_a_failure(void **state)
{
	rig_test_t t = order_test(lost_path, lose_path);

	(void)state;
	t.plan.timeout_ns = 1000000;
	run_starts(t);
}

/* Requests that were executed and whose responses were lost: only a call whose result is lost
 * reports it. */
static void unanswered(const void *params)
{
	const rig_params_t *p = params;
	uint64_t *target = word_of(&p->ctx, TARGET), *source = word_of(&p->ctx, SOURCE), got = 0;

	if (p->pe) {
		serve(p);
		return;
	}
	reach(1);
	await_step(2);
	switch (p->arg) {
	case 0:
		CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &got, target, 1),
			 SHMEMD_ERR_AMBIGUOUS);
		CHECK_IS(p->ctx.error->status, SHMEMD_ERR_AMBIGUOUS);
		break;
	case 1: /* one of two WQEBBs: NOPs cover both */
		CHECK_IS(shmemd_atomic_fetch_or_u64(&p->ctx, &got, target, 1, 1),
			 SHMEMD_ERR_AMBIGUOUS);
		break;
	case 2:
		shmemd_atomic_inc_u64(&p->ctx, target, 1);
		break;
	case 3:
		shmemd_atomic_or_u64(&p->ctx, target, 1, 1);
		break;
	case 4:
		CHECK_IS(shmemd_g_u64(&p->ctx, &got, source, 1), 0);
		CHECK_IS(got, 700);
		shmemd_p_u64(&p->ctx, target, 1, 1);
		break;
	default:
		CHECK_IS(shmemd_getmem(&p->ctx, word_of(&p->ctx, RESULT), source, 64, 1), 0);
		CHECK_IS(*(word_of(&p->ctx, RESULT) + 7), 707);
		shmemd_p_u64(&p->ctx, target, 1, 1);
	}
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 1);
	/* The buffer works again, and later calls do not report the loss. */
	for (uint32_t i = 0; i < SHMEMD_BOUNCE_BUFFERS + 1; i++) {
		CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &got, target, 1), 0);
		CHECK_IS(got, 1 + i);
	}
}

static void lose_answers(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_control("drop packet kind=response");
	reach(2);
	while (!rig_counters(1, 0, 0).executed)
		shmemd_arch_spin_hint();
	rig_control("lose cqe"); /* no flush makes the waiter check other CQEs */
	rig_fence(0, 1, 0);
	rig_control("clear rules");
	rig_order(0, 1, 0);
	end_service();
}

static void only_lost_results_are_reported(void **state)
{
	(void)state;
	for (uint32_t dumps = 0; dumps < 2; dumps++)
		for (uint64_t arg = 0; arg < 6; arg++) {
			rig_test_t t = order_test(unanswered, lose_answers);

			t.plan.flags = dumps ? SHMEMD_CTX_DUMP_AFTER_READ : 0;
			t.arg = arg;
			run_starts(t);
		}
}

/* A fetch that times out abandons its buffer: the loss is reported to no caller, and the buffer is
 * not free before its WQE is complete. */
static void abandoned(const void *params)
{
	const rig_params_t *p = params;
	uint64_t *target = word_of(&p->ctx, TARGET), got = 0;

	if (p->pe) {
		serve(p);
		return;
	}
	reach(1);
	await_step(2);
	CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &got, target, 1), SHMEMD_ERR_TIMEOUT);
	reach(3);
	serve(p);
	for (uint32_t i = 0; i < SHMEMD_BOUNCE_BUFFERS + 1; i++) {
		CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &got, target, 1), 0);
		CHECK_IS(got, 1 + i);
	}
}

static void lose_answers_for_long(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_control("drop packet kind=response");
	reach(2);
	await_step(3);
	rig_fence(0, 1, 0);
	rig_control("clear rules");
	rig_order(0, 1, 0);
	end_service();
}

static void abandoned_buffers(void **state)
{
	rig_test_t t = order_test(abandoned, lose_answers_for_long);

	(void)state;
	t.plan.timeout_ns = 1000000;
	run_starts(t);
}

/* The kernel ends with a queue that no thread waits for; a service kernel of the host carries out
 * the order. The next kernel finds everything complete. */
static void posts_and_leaves(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe || shmemd_block_index())
		return;
	for (uint32_t i = 0; i < 20; i++)
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET) + i, i + 1, 1);
	shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, TARGET) + 20, 21, 1, SHMEMD_RING_DEFERRED);
}

static void service_kernel(const void *params)
{
	serve(params);
}

static void quiet_kernel(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe)
		return;
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	for (uint32_t i = 0; i <= 20; i++)
		CHECK_IS(word_of(&rig_pes[1].ctx, TARGET)[i], i + 1);
}

static void launch(int pe, void (*kernel)(const void *params))
{
	const rig_params_t p = {rig_pes[pe].ctx, pe, 1 - pe, 0};

	CHECK_IS(shmemsim_launch(kernel, &p, sizeof(p), 1, 1, 0, NULL), 0);
}

static void serve_after(int pe)
{
	CHECK_IS(shmemsim_sync(NULL), 0);
	launch(pe, service_kernel);
	if (pe == 0) {
		rig_switch(0, 1, 0);
		rig_switch(0, 1, 0);
		end_service();
	}
	CHECK_IS(shmemsim_sync(NULL), 0);
	launch(pe, quiet_kernel);
}

static void service_after_kernels_end(void **state)
{
	(void)state;
	run_starts(order_test(posts_and_leaves, serve_after));
}

/* Another thread rings, or reads CQEs: the switch waits for it. */
static uint64_t *locked_word(void)
{
	shmemd_channel_t *ch = rig_words(0, 1, 0);

	return is_rung_locked ? &ch->rung : &ch->done;
}

static void holds_lock(const rig_params_t *p)
{
	const shmemd_channel_t *ch = rig_words(0, 1, 0);
	uint64_t *word = locked_word(), seen, ready;

	await_step(1);
	seen = shmemd_arch_ld_relaxed_u64(word);
	ready = shmemd_arch_ld_relaxed_u64(&ch->ready);
	CHECK(!(ready & SHMEMD_READY_RUNG));
	CHECK(shmemd_arch_try_lock(word, seen));
	reach(2);
	while (!shmemd_arch_ld_acquire_u64(&p->ctx.switch_order->number))
		shmemd_arch_spin_hint();
	for (int i = 0; i < 300; i++)
		shmemsim_sleep(1000); /* each polling thread polls once */
	CHECK_IS(shmemd_arch_ld_relaxed_u64(&ch->ready), ready);
	CHECK_IS(shmemd_arch_ld_relaxed_u64(word), seen | SHMEMD_BUSY);
	shmemd_arch_unlock(word, seen);
}

static void posts_with_locks(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe) {
		if (shmemd_block_index() == 0)
			serve(p);
		return;
	}
	if (shmemd_block_index()) {
		holds_lock(p);
		return;
	}
	shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, TARGET), 3, 1, SHMEMD_RING_DEFERRED);
	reach(1);
	serve(p);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, TARGET), 3);
}

static void order_while_locked(int pe)
{
	const shmemd_channel_t *ch;

	if (pe) /* rig_switch changes what rig_words reads */
		return;
	ch = rig_words(0, 1, 0);
	await_step(2);
	rig_switch(0, 1, 0);
	CHECK(shmemd_arch_ld_relaxed_u64(&ch->ready) & SHMEMD_READY_RUNG);
	CHECK_IS(shmemd_arch_ld_relaxed_u64(&ch->rung), SHMEMD_RUNG_WORD(ch->ready >> 32));
	end_service();
}

static void switch_waits_for_locks(void **state)
{
	(void)state;
	for (is_rung_locked = 0; is_rung_locked < 2; is_rung_locked++) {
		rig_test_t t = order_test(posts_with_locks, order_while_locked);

		t.n_blocks = 2;
		run_starts(t);
	}
}

/* Posters that wait for space longer than the time limit. */
static void fills_queue(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe) {
		serve(p);
		return;
	}
	reach(1);
	await_step(2);
	for (uint32_t i = 0; i < 100; i++)
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, TARGET) + i % 8, i, 1);
	while (shmemd_quiet(&p->ctx) == SHMEMD_ERR_TIMEOUT)
		;
	CHECK_IS(rig_status(0, 1, 0), 0);
	CHECK_IS(p->ctx.latch->status, 0);
	CHECK_IS(word_of(&rig_pes[1].ctx, TARGET)[3], 99);
}

static void order_late(int pe)
{
	if (pe)
		return;
	await_step(1);
	rig_fence(0, 1, 0);
	reach(2);
	for (int i = 0; i < 1000; i++)
		shmemsim_sleep(10000);
	rig_order(0, 1, 0);
	end_service();
}

static void time_limits_do_not_fail_the_channel(void **state)
{
	rig_test_t t = order_test(fills_queue, order_late);

	(void)state;
	t.plan.timeout_ns = 1000000;
	run_starts(t);
}

/* Many switches in a row; epochs wrap. WQEs on each new path have the indexes of their places, and
 * their request numbers are consecutive and precede those of the next poster. */
enum { SWITCHES = 1000, N_KEPT = 5 };

static void posts_between(const void *params)
{
	const rig_params_t *p = params;
	uint64_t *target = word_of(&p->ctx, TARGET), old = 0;

	if (p->pe) {
		serve(p);
		return;
	}
	for (uint32_t i = 0; i < SWITCHES; i++) {
		while (shmemd_arch_ld_acquire_u32(&step) < 2 * i + 1) {
			if (i % 2)
				(void)shmemdi_service_once(&p->ctx);
			else /* like a poster that waits for space on another channel */
				shmemdi_serve(&p->ctx, rig_words(0, 0, 0), 0);
			shmemd_arch_spin_hint();
		}
		/* A READ that is repeated keeps the NOPs after it from completing. */
		shmemd_getmem_nbi(&p->ctx, word_of(&p->ctx, RESULT), word_of(&p->ctx, SOURCE), 8,
				  1);
		for (uint32_t k = 0; k < N_KEPT - 2; k++)
			shmemd_p_u64(&p->ctx, target + k, i, 1);
		shmemd_atomic_set_u64(&p->ctx, target + N_KEPT, i, 1); /* two WQEBBs */
		shmemd_atomic_inc_u64(&p->ctx, target + 10, 1);
		reach(2 * i + 2);
	}
	serve(p);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &old, target + 10, 1), 0);
	CHECK_IS(old, SWITCHES);
	CHECK_IS(word_of(&rig_pes[1].ctx, TARGET)[0], SWITCHES - 1);
	CHECK_IS(word_of(&rig_pes[1].ctx, TARGET)[N_KEPT], SWITCHES - 1);
}

/* Check the WQEs from `done` to `ready` on the current path. */
static void look_at_wqes(void)
{
	const rig_end_t *e = rig_channel(0, 1, 0);
	const shmemd_channel_t *ch = e->words;
	const uint32_t base = SHMEMD_PATH_BASE(ch->path), end = SHMEMD_READY_INDEX(ch->ready);
	uint32_t i, request = (uint32_t)ch->origin;

	while (shmemd_arch_ld_acquire_u64(&ch->done) & SHMEMD_BUSY) /* the order's last word */
		shmemd_arch_spin_hint();
	i = (uint32_t)SHMEMD_DONE_INDEX(ch->done);
	while (i != end) {
		uint32_t w[9];
		shmemd_replay_kind_t kind;

		memcpy(w, e->wqes + (size_t)((i - base) % 64) * SHMEMD_WQEBB_NBYTES, sizeof(w));
		kind = shmemd_replay_kind(w[0], w[1], w[8]);
		CHECK_IS(be32toh(w[0]) >> 8 & 0xffff, (i - base) & 0xffff);
		CHECK_IS(be32toh(w[1]) >> 8, e->qp->qpn);
		if (kind.is_request)
			CHECK_IS(be32toh(w[3]), request++ & 0xffffff);
		i += kind.wqebbs;
	}
	CHECK_IS(request & 0xffffff, SHMEMD_RESV_REQUEST(ch->resv));
}

/* Operations are executed with a lost response, lost themselves, or complete. */
static void switch_often(int pe)
{
	static const char *const losses[] = {"drop packet kind=response", "drop packet",
					     "drop packet kind=response after=3",
					     "drop packet kind=request after=2", NULL};

	if (pe)
		return;
	for (uint32_t i = 0; i < SWITCHES; i++) {
		const char *loss = losses[(i + i / 7) % 5];

		if (loss)
			rig_control("%s", loss);
		reach(2 * i + 1);
		await_step(2 * i + 2);
		for (uint32_t k = 0; k < i % 20; k++)
			shmemsim_yield();
		rig_fence(0, 1, 0);
		if (i % 3 == 0) /* the next path has the same faults */
			rig_control("clear rules");
		rig_order(0, 1, 0);
		look_at_wqes();
	}
	end_service();
}

static void thousand_switches(void **state)
{
	(void)state;
	run_starts(order_test(posts_between, switch_often));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_path_is_not_a_failure),
		cmocka_unit_test(only_lost_results_are_reported),
		cmocka_unit_test(abandoned_buffers),
		cmocka_unit_test(service_after_kernels_end),
		cmocka_unit_test(switch_waits_for_locks),
		cmocka_unit_test(time_limits_do_not_fail_the_channel),
		cmocka_unit_test(thousand_switches),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
