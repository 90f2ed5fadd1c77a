/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Atomics by RDMA, also on the PE's own words: all of them against a model, with values whose bytes
 * are not symmetric; and by many threads at once. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { ROUNDS = 4 };

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* One width: each fetching atomic returns the old value, and each other one is checked by the next.
 */
#define ALL_OF(N, T)                                                                               \
	static void all_of_##N(const shmemd_ctx_t *c, T *dst, int pe, uint64_t seed)               \
	{                                                                                          \
		T model = 0, old = 0;                                                              \
		for (int i = 0; i < ROUNDS; i++) {                                                 \
			T v = (T)next(&seed);                                                      \
			shmemd_atomic_set_##N(c, dst, v, pe);                                      \
			model = v;                                                                 \
			v = (T)next(&seed);                                                        \
			CHECK_IS(shmemd_atomic_fetch_add_##N(c, &old, dst, v, pe), 0);             \
			CHECK_IS(old, model);                                                      \
			model += v;                                                                \
			shmemd_atomic_add_##N(c, dst, v, pe);                                      \
			model += v;                                                                \
			CHECK_IS(shmemd_atomic_fetch_xor_##N(c, &old, dst, v, pe), 0);             \
			CHECK_IS(old, model);                                                      \
			model ^= v;                                                                \
			v = (T)next(&seed);                                                        \
			shmemd_atomic_xor_##N(c, dst, v, pe);                                      \
			model ^= v;                                                                \
			CHECK_IS(shmemd_atomic_fetch_or_##N(c, &old, dst, v & 0xff0f, pe), 0);     \
			CHECK_IS(old, model);                                                      \
			model |= v & 0xff0f;                                                       \
			v = (T)next(&seed);                                                        \
			shmemd_atomic_or_##N(c, dst, v & 0xf00f0, pe);                             \
			model |= v & 0xf00f0;                                                      \
			CHECK_IS(shmemd_atomic_fetch_and_##N(c, &old, dst, v, pe), 0);             \
			CHECK_IS(old, model);                                                      \
			model &= v;                                                                \
			shmemd_atomic_and_##N(c, dst, (T)0x5a5affff5affa5ffu, pe);                 \
			model &= (T)0x5a5affff5affa5ffu;                                           \
			shmemd_atomic_inc_##N(c, dst, pe);                                         \
			model++;                                                                   \
			CHECK_IS(shmemd_atomic_fetch_inc_##N(c, &old, dst, pe), 0);                \
			CHECK_IS(old, model);                                                      \
			model++;                                                                   \
			CHECK_IS(shmemd_atomic_compare_swap_##N(c, &old, dst, model + 1, v, pe),   \
				 0);                                                               \
			CHECK_IS(old, model);                                                      \
			CHECK_IS(shmemd_atomic_compare_swap_##N(c, &old, dst, model, v, pe), 0);   \
			CHECK_IS(old, model);                                                      \
			model = v;                                                                 \
			CHECK_IS(shmemd_atomic_swap_##N(c, &old, dst, (T)i, pe), 0);               \
			CHECK_IS(old, model);                                                      \
			CHECK_IS(shmemd_atomic_fetch_##N(c, &old, dst, pe), 0);                    \
			CHECK_IS(old, i);                                                          \
		}                                                                                  \
	}

ALL_OF(u32, uint32_t)
ALL_OF(u64, uint64_t)

static void floats(const shmemd_ctx_t *c, float *f, double *d, int pe)
{
	float f_old = -1;
	double d_old = -1;

	CHECK_IS(shmemd_atomic_add_f32(c, f, 1.5f, pe), 0);
	CHECK_IS(shmemd_atomic_fetch_add_f32(c, &f_old, f, 2.25f, pe), 0);
	CHECK(f_old == 1.5f);
	CHECK_IS(shmemd_atomic_fetch_add_f32(c, &f_old, f, 0, pe), 0);
	CHECK(f_old == 3.75f);
	CHECK_IS(shmemd_atomic_add_f64(c, d, 1e300, pe), 0);
	CHECK_IS(shmemd_atomic_fetch_add_f64(c, &d_old, d, -1e300, pe), 0);
	CHECK(d_old == 1e300);
	CHECK_IS(shmemd_atomic_fetch_add_f64(c, &d_old, d, 0, pe), 0);
	CHECK(d_old == 0);
}

/* Words next to those that are updated do not change. */
static void everything(const void *params)
{
	const rig_params_t *p = params;
	const int pes[2] = {p->peer, p->pe};
	uint64_t side = 1;

	for (int i = 0; i < 2; i++) {
		char *at = (char *)word_of(&p->ctx, (uint32_t)(2 * i + (p->pe ? 4 : 0)));

		all_of_u32(&p->ctx, (uint32_t *)(void *)(at + 4), pes[i], p->arg);
		all_of_u64(&p->ctx, (uint64_t *)(void *)(at + 16), pes[i], p->arg + 1);
		floats(&p->ctx, (float *)(void *)(at + 36), (double *)(void *)(at + 48), pes[i]);
		for (int k = 0; k < 64; k += 8) {
			CHECK_IS(shmemd_atomic_fetch_u64(&p->ctx, &side,
							 (uint64_t *)(void *)(at + k), pes[i]),
				 0);
			CHECK((side == 0) == (k != 0 && k != 16 && k != 32));
		}
	}
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
}

static void model(void **state)
{
	rig_test_t t = {.plan = rig_plan(), .kernel = everything, .n_blocks = 1, .n_threads = 1};

	(void)state;
	run_all_ways(&t);
	t.plan.flags = SHMEMD_CTX_DUMP_AFTER_READ;
	t.plan.log_reads = 0;
	run_once(&t);
	t.plan.mapped = 3;
	run_once(&t);
}

/* Each thread fetches a number that no other thread fetches; the sum is that of all. */
static uint8_t is_drawn[256];

static void draw_numbers(const void *params)
{
	const rig_params_t *p = params;
	uint64_t number = 0;
	float sum = 0;

	CHECK_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &number, word_of(&p->ctx, 0), 0), 0);
	CHECK(number < 256 && !is_drawn[number]);
	is_drawn[number] = 1;
	CHECK_IS(shmemd_atomic_fetch_add_f32(&p->ctx, &sum, (float *)word_of(&p->ctx, 1), 1, 0), 0);
}

static void all_drawn(void)
{
	float sum;

	memcpy(&sum, word_of(&rig_pes[0].ctx, 1), sizeof(sum));
	CHECK_IS(*word_of(&rig_pes[0].ctx, 0), (uint64_t)sum);
	for (uint64_t i = 0; i < (uint64_t)sum; i++)
		CHECK(is_drawn[i]);
	memset(is_drawn, 0, sizeof(is_drawn));
}

static void many_at_once(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = draw_numbers,
			.n_blocks = 1,
			.n_threads = 40,
			.final_check = all_drawn};

	(void)state;
	run_once(&t);
	run_schedules(&t, 6);
}

static uint32_t is_held, is_over;

/* The READ of a floating-point add completes, the completion of its compare-and-swap is held. */
static void hold_the_swap(int pe)
{
	if (pe != 0)
		return;
	rig_control("hold cqe host=0 wqebb=%u", rig_device_index(1));
	shmemd_arch_st_release_u32(&is_held, 1);
	while (!shmemd_arch_ld_acquire_u32(&is_over))
		shmemd_arch_spin_hint();
	rig_control("clear rules");
	rig_control("release cqes host=0");
}

/* More adds than there are bounce buffers follow. */
static void add_late(const void *params)
{
	const rig_params_t *p = params;
	double *sum = (double *)(void *)word_of(&p->ctx, 0), old;

	if (p->pe != 0)
		return;
	while (!shmemd_arch_ld_acquire_u32(&is_held))
		shmemd_arch_spin_hint();
	CHECK_IS(shmemd_atomic_fetch_add_f64(&p->ctx, &old, sum, 1, 1), SHMEMD_ERR_TIMEOUT);
	shmemd_arch_st_release_u32(&is_over, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	for (int i = 1; i < 80; i++) {
		CHECK_IS(shmemd_atomic_fetch_add_f64(&p->ctx, &old, sum, 1, 1), 0);
		CHECK_IS(old == i, 1);
	}
}

static void float_add_that_runs_out_of_time(void **state)
{
	(void)state;
	for (unsigned start = 0; start < N_STARTS; start++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = add_late,
				.n_blocks = 1,
				.n_threads = 1,
				.host = hold_the_swap};

		is_held = is_over = 0;
		t.plan.timeout_ns = 100000;
		start_below(&t.plan, start);
		run_once(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(float_add_that_runs_out_of_time),
		cmocka_unit_test(model),
		cmocka_unit_test(many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
