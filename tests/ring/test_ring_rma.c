/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* put, get, p and g behind NICs: random ones, of all lengths and kinds of memory, compared with a
 * model of the peer's heap. By one thread, a warp, a block. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { OPS = 40, TARGET_NBYTES = 3072, SOURCE = 3072, SOURCE_NBYTES = 2048, RESULT = 5120 };
enum { RESULT_NBYTES = 2048, GRANULES = 16 };

/* of the bytes that each PE has written to its peer */
static uint8_t models[RIG_PES_MAX][TARGET_NBYTES];
static uint8_t unregistered[RIG_PES_MAX][SOURCE_NBYTES]; /* unregistered memory */

/* The state of one PE's sequence, the same in all threads of a group. */
typedef struct sequence {
	const rig_params_t *p;
	shmemd_group_t g;
	uint8_t *model;
	uint64_t state;
} sequence_t;

static uint32_t draw(sequence_t *s, uint32_t n)
{
	uint64_t x = s->state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((x ^ x >> 31) >> 33) % n;
}

/* Inline, a bit more, across granules. */
static uint32_t draw_nbytes(sequence_t *s)
{
	static const uint32_t most[] = {8, 28, 40, 300, 1800};

	return 1 + draw(s, most[draw(s, 5)]);
}

/* Each thread of the group writes its part of the source, with a value that is unique to this
 * operation. */
static uint8_t *fill(sequence_t *s, uint32_t nbytes, uint32_t i)
{
	uint8_t *src = draw(s, 3) ? (uint8_t *)s->p->ctx.heap + SOURCE : unregistered[s->p->pe];

	src += draw(s, SOURCE_NBYTES - nbytes);
	for (uint32_t k = s->g.rank; k < nbytes; k += s->g.size)
		shmemd_arch_st_data_u8(src + k, (uint8_t)(k * 7 + i * 31 + 1));
	shmemd_group_sync(s->g);
	return src;
}

static void note(sequence_t *s, uint32_t at, uint32_t nbytes, uint32_t i)
{
	for (uint32_t k = 0; s->g.rank == 0 && k < nbytes; k++)
		s->model[at + k] = (uint8_t)(k * 7 + i * 31 + 1);
}

static void check_bytes(const sequence_t *s, const uint8_t *p, uint32_t at, uint32_t nbytes)
{
	for (uint32_t k = 0; k < nbytes; k++)
		CHECK_IS(shmemd_arch_ld_data_u8(p + k), s->model[at + k]);
}

/* The source may be reused when put returns, or after quiet. */
static void put(sequence_t *s, uint32_t i, int is_nbi)
{
	const uint32_t nbytes = draw_nbytes(s), at = draw(s, TARGET_NBYTES - nbytes);
	uint8_t *src = fill(s, nbytes, i);

	if (is_nbi) {
		shmemd_putmem_nbi_group(&s->p->ctx, s->g, s->p->ctx.heap + at, src, nbytes,
					s->p->peer);
		CHECK_IS(shmemd_quiet_group(&s->p->ctx, s->g), 0);
	} else {
		shmemd_putmem_group(&s->p->ctx, s->g, s->p->ctx.heap + at, src, nbytes, s->p->peer);
	}
	for (uint32_t k = s->g.rank; k < nbytes; k += s->g.size)
		shmemd_arch_st_data_u8(src + k, 0xee);
	note(s, at, nbytes, i);
	shmemd_group_sync(s->g);
}

/* A get reads the bytes of earlier puts: a channel keeps its order. */
static void get(sequence_t *s, int is_nbi)
{
	const uint32_t nbytes = draw_nbytes(s), from = draw(s, TARGET_NBYTES - nbytes);
	const int is_heap = draw(s, 3) != 0;
	uint8_t *dst = is_heap ? (uint8_t *)s->p->ctx.heap + RESULT : unregistered[s->p->pe];

	dst += draw(s, RESULT_NBYTES - nbytes);
	if (is_nbi) {
		shmemd_getmem_nbi_group(&s->p->ctx, s->g, dst, s->p->ctx.heap + from, nbytes,
					s->p->peer);
		CHECK_IS(shmemd_quiet_group(&s->p->ctx, s->g), 0);
	} else {
		CHECK_IS(shmemd_getmem_group(&s->p->ctx, s->g, dst, s->p->ctx.heap + from, nbytes,
					     s->p->peer),
			 0);
	}
	check_bytes(s, dst, from, nbytes);
	shmemd_group_sync(s->g);
}

static void put_word(sequence_t *s, uint32_t i)
{
	const uint64_t value = 0x0102030405060708u * (i | 1);
	const uint32_t width = 1u << draw(s, 4), at = width * draw(s, TARGET_NBYTES / width);
	char *dst = s->p->ctx.heap + at;

	if (s->g.rank == 0) {
		if (width == 1)
			shmemd_p_u8(&s->p->ctx, (uint8_t *)dst, (uint8_t)value, s->p->peer);
		else if (width == 2)
			shmemd_p_u16(&s->p->ctx, (uint16_t *)(void *)dst, (uint16_t)value,
				     s->p->peer);
		else if (width == 4)
			shmemd_p_u32(&s->p->ctx, (uint32_t *)(void *)dst, (uint32_t)value,
				     s->p->peer);
		else
			shmemd_p_u64(&s->p->ctx, (uint64_t *)(void *)dst, value, s->p->peer);
		memcpy(s->model + at, &value, width);
	}
	shmemd_group_sync(s->g);
}

static void get_word(sequence_t *s)
{
	const uint32_t width = 1u << draw(s, 4), at = width * draw(s, TARGET_NBYTES / width);
	const char *src = s->p->ctx.heap + at;
	uint64_t value = 0, wanted = 0;
	uint32_t v4 = 0;
	uint16_t v2 = 0;
	uint8_t v1 = 0;

	if (width == 1)
		CHECK_IS(shmemd_g_u8(&s->p->ctx, &v1, (const uint8_t *)src, s->p->peer), 0);
	else if (width == 2)
		CHECK_IS(shmemd_g_u16(&s->p->ctx, &v2, (const uint16_t *)(const void *)src,
				      s->p->peer),
			 0);
	else if (width == 4)
		CHECK_IS(shmemd_g_u32(&s->p->ctx, &v4, (const uint32_t *)(const void *)src,
				      s->p->peer),
			 0);
	else
		CHECK_IS(shmemd_g_u64(&s->p->ctx, &value, (const uint64_t *)(const void *)src,
				      s->p->peer),
			 0);
	memcpy(&wanted, s->model + at, width);
	CHECK_IS(value + v4 + v2 + v1, wanted);
	shmemd_group_sync(s->g);
}

static void random_ops(const void *params)
{
	const rig_params_t *p = params;
	sequence_t s = {.p = p, .model = models[p->pe], .state = p->arg + (uint64_t)p->pe * 1000};

	s.g = shmemd_n_threads() == 1    ? shmemd_thread()
	      : shmemd_n_threads() == 32 ? shmemd_warp()
					 : shmemd_block();
	if (s.g.rank == 0)
		memset(s.model, 0, TARGET_NBYTES);
	shmemd_group_sync(s.g);
	for (uint32_t i = 0; i < OPS; i++) {
		const uint32_t op = draw(&s, 8);

		if (op < 3)
			put(&s, i, op == 0);
		else if (op < 5)
			get(&s, op == 3);
		else if (op == 5)
			put_word(&s, i);
		else if (op == 6)
			get_word(&s);
		else
			CHECK_IS(shmemd_quiet_group(&p->ctx, s.g), 0);
	}
	CHECK_IS(shmemd_quiet_group(&p->ctx, s.g), 0);
}

/* No other byte of the target has changed. */
static void compare(void)
{
	for (int pe = 0; pe < rig_pes[0].ctx.n_pes; pe++) {
		const char *heap = rig_pes[(pe + 1) % rig_pes[0].ctx.n_pes].heap;

		for (uint32_t i = 0; i < TARGET_NBYTES; i++)
			CHECK_IS((uint8_t)heap[i], models[pe][i]);
	}
}

static rig_test_t plan(uint32_t n_threads)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = random_ops,
			.n_blocks = 1,
			.n_threads = n_threads,
			.final_check = compare,
			.arg = n_threads};

	t.plan.n_granules = GRANULES;
	return t;
}

static void by_a_thread(void **state)
{
	rig_test_t t = plan(1);

	(void)state;
	run_all_ways(&t);
}

static void by_a_warp(void **state)
{
	rig_test_t t = plan(32);

	(void)state;
	run_all_ways(&t);
}

static void by_a_block(void **state)
{
	rig_test_t t = plan(64);

	(void)state;
	run_all_ways(&t);
}

/* Many sequences; regions of several granules; results that need a DUMP; more PEs; no inline data.
 */
static void varied_rigs(void **state)
{
	(void)state;
	for (uint64_t seed = 100; seed < 112; seed++) {
		rig_test_t t = plan(seed % 2 ? 1 : 32);

		t.arg = seed;
		t.plan.granules_per_mr = 1 + (uint32_t)seed % 5;
		t.plan.flags = seed % 4 == 1 ? SHMEMD_CTX_DUMP_AFTER_READ : 0;
		t.plan.n_pes = 2 + (int)(seed / 2 % 2);
		t.plan.inline_nbytes = seed % 5 ? SHMEMD_MLX5_INLINE_MAX : 0;
		run_once(&t);
		run_schedules(&t, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_a_thread),
		cmocka_unit_test(by_a_warp),
		cmocka_unit_test(by_a_block),
		cmocka_unit_test(varied_rigs),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
