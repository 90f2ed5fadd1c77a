/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* channel.h: when doorbells are rung, for each call and each `when`; with mapped memory and without
 * a NIC, none of it has an effect. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { DEPTH = 64, BATCH = 4 };

#define HALF 0x80000001u /* the sum of two of them does not fit into 4 bytes */

static uint64_t *dst_of(const shmemd_ctx_t *ctx, uint32_t i)
{
	return word_of(ctx, 0) + i;
}

/* Put one word from the heap, where the NIC reads it. */
static void put(const shmemd_ctx_t *ctx, uint32_t i, int when)
{
	uint64_t *src = word_of(ctx, 2) + i;

	if (shmemd_arch_lane() == 0)
		shmemd_arch_st_data_u64(src, 1000 + i);
	shmemd_arch_syncwarp();
	shmemd_channel_put_nbi_warp(ctx, dst_of(ctx, i), src, 8, 1, when);
}

/* When doorbells are rung. Steps: l, b, n: a put LATER, BATCH, NOW; s, S: a signal LATER, NOW; a,
 * A: an add of 4 bytes LATER, of 8 NOW; r: ring; p: poll; q: quiet of the channel; c: space. */
static const struct {
	const char *steps;
	const char *rung; /* number of doorbells after each step */
} rows[] = {
	{"n", "1"},         {"b", "1"},
	{"l", "0"},         {"nnn", "123"},
	{"bbb", "123"}, /* nothing else is in flight */
	{"lln", "001"},     {"llb", "001"},
	{"lnln", "0112"},   {"lllllllll", "000000000"}, /* also where batches end */
	{"llllr", "00001"}, {"r", "0"},
	{"lrr", "011"},     {"nr", "11"},
	{"lrlr", "0112"},   {"lq", "01"}, /* with the doorbell of quiet's own READ */
	{"nq", "12"},       {"nqq", "122"},
	{"q", "0"},         {"lp", "01"},
	{"lc", "00"},       {"sS", "01"},
	{"aA", "01"},       {"aaA", "001"},
	{"lsa", "000"},     {"lsar", "0001"},
	{"lsaA", "0001"},   {"lsaS", "0001"},
	{"nSA", "123"},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static void by_one(const shmemd_ctx_t *ctx, char step)
{
	const int when = step == 's' || step == 'a' ? SHMEMD_RING_DEFERRED : SHMEMD_RING_NOW;
	int is_done;

	switch (step) {
	case 's':
	case 'S':
		shmemd_channel_signal_set(ctx, word_of(ctx, 1), 7, 1, when);
		break;
	case 'a':
		shmemd_channel_add_u32(ctx, (uint32_t *)(word_of(ctx, 1) + 1), HALF, 1, when);
		break;
	case 'A':
		shmemd_channel_add_u64(ctx, word_of(ctx, 1) + 2, (uint64_t)1 << 40, 1, when);
		break;
	case 'r':
		shmemd_channel_ring(ctx, 1);
		break;
	case 'p':
		CHECK_IS(shmemd_channel_poll(ctx, 1, shmemd_channel_posted(ctx, 1), &is_done), 0);
		break;
	case 'q':
		CHECK_IS(shmemd_channel_quiet(ctx, 1), 0);
		break;
	default:
		(void)shmemd_channel_space(ctx, 1);
	}
}

static void do_step(const shmemd_ctx_t *ctx, uint32_t i, char step)
{
	switch (step) {
	case 'l':
		put(ctx, i, SHMEMD_RING_DEFERRED);
		return;
	case 'b':
		put(ctx, i, SHMEMD_RING_DEFAULT);
		return;
	case 'n':
		put(ctx, i, SHMEMD_RING_NOW);
		return;
	default:
		if (shmemd_arch_lane() == 0)
			by_one(ctx, step);
		shmemd_arch_syncwarp();
	}
}

static uint64_t count(const char *steps, char step)
{
	uint64_t n = 0;

	while (*steps)
		n += *steps++ == step;
	return n;
}

static int is_put(char step)
{
	return step == 'l' || step == 'b' || step == 'n';
}

/* Everything has arrived, and nothing else. */
static void check_target(const char *steps)
{
	const uint64_t *words = word_of(&rig_pes[1].ctx, 1);

	for (uint32_t i = 0; steps[i]; i++)
		CHECK_IS(*dst_of(&rig_pes[1].ctx, i), is_put(steps[i]) ? 1000 + i : 0);
	CHECK_IS(words[0], count(steps, 's') + count(steps, 'S') ? 7 : 0);
	CHECK_IS(words[1], (uint32_t)(HALF * count(steps, 'a'))); /* the other half is unchanged */
	CHECK_IS(words[2], count(steps, 'A') << 40);
}

static void steps(const void *params)
{
	const rig_params_t *p = params;
	const char *step = rows[p->arg].steps, *rung = rows[p->arg].rung;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; step[i]; i++) {
		do_step(&p->ctx, i, step[i]);
		if (rig_doorbells(0, 1, 0) != (uint64_t)(rung[i] - '0'))
			shmemsim_fail("%s: %d doorbells after step %d", step,
				      (int)rig_doorbells(0, 1, 0), (int)i);
		if (rung[i] == '0') {
			shmemsim_sleep(1000); /* time for a device that has a doorbell */
			CHECK_IS(rig_counters(0, 1, 0).wqebbs, 0);
		}
		shmemd_arch_syncwarp();
	}
	CHECK_IS(shmemd_quiet_warp(&p->ctx), 0);
	check_target(step);
}

static void when_doorbells_are_rung(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = steps, .n_blocks = 1, .n_threads = 32};

	(void)state;
	t.plan.batch = BATCH;
	for (uint8_t inlined = 0; inlined < 2; inlined++)
		for (t.arg = 0; t.arg < N_ROWS; t.arg++) {
			t.plan.inline_nbytes = inlined ? SHMEMD_MLX5_INLINE_MAX : 0;
			run_once(&t);
		}
}

/* Two posters wait for WQEBBs, one after the other; then there is one for the first of them only.
 * The first has the turn at once, so with NOW and BATCH it rings although the second has reserved.
 * With LATER it defers its doorbell, which the second one rings. */

static uint32_t is_full, has_posted;

static uint64_t reserved(void)
{
	return rig_reserved(0, 1, 0);
}

static void add_one(const rig_params_t *p, int when)
{
	shmemd_channel_add_u64(&p->ctx, word_of(&p->ctx, 0), 1, 1, when);
}

static void first_and_second(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	if (shmemd_block_index() == 1) {
		while (reserved() != DEPTH + 1)
			shmemd_arch_spin_hint();
		add_one(p,
			p->arg == SHMEMD_RING_DEFAULT ? SHMEMD_RING_DEFERRED : SHMEMD_RING_DEFAULT);
		CHECK_IS(rig_doorbells(0, 1, 0), p->arg == SHMEMD_RING_NOW ? 4 : 3);
		CHECK_IS(shmemd_quiet(&p->ctx), 0);
		CHECK_IS(*word_of(&rig_pes[1].ctx, 0), DEPTH + 2);
		return;
	}
	while (!shmemd_arch_ld_acquire_u32(&is_full))
		shmemd_arch_spin_hint();
	add_one(p, SHMEMD_RING_NOW);
	for (uint32_t i = 1; i < DEPTH; i++)
		add_one(p, SHMEMD_RING_DEFERRED);
	add_one(p, (int)p->arg);
	CHECK_IS(rig_doorbells(0, 1, 0), p->arg == SHMEMD_RING_DEFERRED ? 2 : 3);
	shmemd_arch_st_release_u32(&has_posted, 1);
}

/* The first request is executed at once, and its completion arrives when both wait; all others are
 * held longer. */
static void make_room(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0");
	rig_control("hold packet host=0 kind=request after=1");
	shmemd_arch_st_release_u32(&is_full, 1);
	while (reserved() != DEPTH + 2 || rig_doorbells(0, 1, 0) != 2 ||
	       !rig_counters(1, 0, 0).executed)
		shmemd_arch_spin_hint();
	shmemsim_sleep(100000);
	rig_control("release cqes host=0");
	while (!shmemd_arch_ld_acquire_u32(&has_posted))
		shmemd_arch_spin_hint();
	rig_control("clear rules");
	rig_control("release packets");
}

static void now_rings_although_others_follow(void **state)
{
	(void)state;
	for (uint64_t when = 0; when < 3; when++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = first_and_second,
				.n_blocks = 2,
				.n_threads = 1,
				.host = make_room,
				.arg = when};

		is_full = has_posted = 0;
		run_once(&t);
	}
}

static void all_calls_without_nic(const void *params)
{
	rig_params_t p = *(const rig_params_t *)params;
	static const int whens[] = {SHMEMD_RING_DEFERRED, SHMEMD_RING_DEFAULT, SHMEMD_RING_NOW};
	const char all[] = "lbnsSaaArqp";
	shmemd_ctx_t far;
	int is_done = 0;

	if (p.pe != 0)
		return;
	take_nic_away(&p.ctx);
	far = shmemd_ctx_channel(&p.ctx, 12345);
	for (uint32_t i = 0; i < 3; i++)
		put(&far, i, whens[i]);
	for (uint32_t i = 3; all[i]; i++)
		do_step(&far, i, all[i]);
	CHECK_IS(shmemd_channel_posted(&far, 1), 0);
	CHECK_IS(shmemd_channel_space(&far, 1), UINT32_MAX);
	CHECK_IS(shmemd_channel_poll(&far, 1, 0, &is_done), 0);
	CHECK_IS(is_done, 1);
	CHECK_IS(shmemd_channel_quiet(&far, 1), 0);
	check_target(all);
	CHECK_IS(shmemd_quiet_warp(&far), 0);
	CHECK_IS(rig_doorbells(0, 1, 0), 0);
	CHECK_IS(rig_wqebbs(0, 1, 0), 0);
}

static void calls_without_nic(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = all_calls_without_nic,
			.n_blocks = 1,
			.n_threads = 32};

	(void)state;
	t.plan.mapped = 3;
	run_once(&t);
}

/* Coalesced lanes: when one of them returns, the posts of all lanes are published. */
static void each_lane_posts(const void *params)
{
	const rig_params_t *p = params;
	uint32_t lane = shmemd_arch_lane();

	if (p->pe != 0)
		return;
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0) + lane, lane, 1);
	CHECK_IS(shmemd_channel_posted(&p->ctx, 1), rig_place(32));
}

static void lanes_return_together(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = each_lane_posts,
				.n_blocks = 1,
				.n_threads = 32};

		start_below(&t.plan, start);
		run_once(&t);
	}
}

/* Coalesced lanes that put and wait: each may change its source as soon as it returns. */
static void each_lane_waits(const void *params)
{
	const rig_params_t *p = params;
	uint32_t lane = shmemd_arch_lane();
	uint64_t *src = word_of(&p->ctx, 8) + 8 * lane, *dst = word_of(&p->ctx, 24) + 8 * lane;

	if (p->pe != 0)
		return;
	for (uint32_t i = 0; i < 8; i++)
		shmemd_arch_st_data_u64(&src[i], 100 + lane);
	shmemd_arch_syncwarp();
	shmemd_putmem(&p->ctx, dst, src, 64, 1);
	for (uint32_t i = 0; i < 8; i++)
		shmemd_arch_st_data_u64(&src[i], 0xbad);
	shmemd_arch_syncwarp();
	CHECK_IS(shmemd_quiet_warp(&p->ctx), 0);
	dst = (uint64_t *)(void *)(rig_pes[1].heap + ((char *)dst - p->ctx.heap));
	for (uint32_t i = 0; i < 8; i++)
		CHECK_IS(shmemd_arch_ld_data_u64(&dst[i]), 100 + lane);
}

static void lanes_wait_together(void **state)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = each_lane_waits, .n_blocks = 1, .n_threads = 32};

	(void)state;
	t.plan.n_granules = 40;
	run_once(&t);
	run_schedules(&t, 10);
}

/* Converged lanes with different `when`: the doorbell of a lane with NOW is rung, whatever the
 * other lanes use, and no thread waits for a completion. */
static void lanes_differ(const void *params)
{
	const rig_params_t *p = params;
	const uint32_t lane = shmemd_arch_lane();
	uint64_t *word = word_of(&p->ctx, lane);

	if (p->pe == 0)
		shmemd_channel_add_u64(&p->ctx, word, 1, 1,
				       lane == p->arg ? SHMEMD_RING_NOW : SHMEMD_RING_DEFERRED);
	else if (lane == p->arg)
		CHECK_IS(shmemd_signal_wait_until(&p->ctx, word, SHMEMD_CMP_GE, 1), 0);
}

static void one_lane_rings_now(void **state)
{
	(void)state;
	for (uint64_t lane = 0; lane < 2; lane++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = lanes_differ,
				.n_blocks = 1,
				.n_threads = 2,
				.arg = lane};

		t.plan.timeout_ns = 1000000;
		run_once(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_lane_rings_now),
		cmocka_unit_test(when_doorbells_are_rung),
		cmocka_unit_test(lanes_return_together),
		cmocka_unit_test(lanes_wait_together),
		cmocka_unit_test(now_rings_although_others_follow),
		cmocka_unit_test(calls_without_nic),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
