/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The heap's allocator compared with a reference that examines every unit of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <cmocka.h>
#include "mem/suballoc.h"

#define UNIT ((uint64_t)SHMEMHI_ALIGN_MIN)
#define MAX_UNITS 2048
#define N_OPS 120000

/* owner[u]: 0 free, otherwise the number of the allocation that has unit u. */
typedef struct reference {
	uint32_t owner[MAX_UNITS];
	uint64_t n_units;
} reference_t;

typedef struct live {
	uint64_t offset;
	uint64_t units;
	uint32_t number;
} live_t;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Lowest aligned run of free units, or MAX_UNITS. */
static uint64_t reference_find(const reference_t *r, uint64_t units, uint64_t align_units)
{
	for (uint64_t at = 0; at + units <= r->n_units; at += align_units) {
		uint64_t n = 0;

		while (n < units && r->owner[at + n] == 0)
			n++;
		if (n == units)
			return at;
	}
	return MAX_UNITS;
}

static uint64_t reference_largest(const reference_t *r)
{
	uint64_t largest = 0, run = 0;

	for (uint64_t u = 0; u < r->n_units; u++) {
		run = r->owner[u] ? 0 : run + 1;
		largest = run > largest ? run : largest;
	}
	return largest * UNIT;
}

static void fill(reference_t *r, uint64_t at, uint64_t units, uint32_t number)
{
	for (uint64_t u = at; u < at + units; u++)
		r->owner[u] = number;
}

static void check_blocks(const shmemhi_suballoc_t *s)
{
	uint64_t at = 0, used = 0;

	for (size_t i = 0; i < s->n; i++) {
		assert_int_equal(s->blocks[i].offset, at);
		assert_int_equal(s->blocks[i].nbytes % UNIT, 0);
		assert_true(s->blocks[i].nbytes > 0);
		if (i)
			assert_false(s->blocks[i].owner == SHMEMHI_FREE &&
				     s->blocks[i - 1].owner == SHMEMHI_FREE);
		used += s->blocks[i].owner == SHMEMHI_FREE ? 0 : s->blocks[i].nbytes;
		at += s->blocks[i].nbytes;
	}
	assert_int_equal(at, s->nbytes);
	assert_int_equal(used, s->used);
}

typedef struct run {
	shmemhi_suballoc_t s;
	reference_t r;
	live_t live[MAX_UNITS];
	size_t n_live;
	uint32_t number;
	uint64_t random;
} run_t;

static void one_alloc(run_t *t)
{
	uint64_t nbytes = next_random(&t->random) % (24 * UNIT);
	uint64_t alignment = (uint64_t)1 << next_random(&t->random) % 15;
	uint64_t units = nbytes ? (nbytes + UNIT - 1) / UNIT : 1;
	uint64_t align_units = alignment > UNIT ? alignment / UNIT : 1;
	uint64_t at = reference_find(&t->r, units, align_units);

	assert_int_equal(shmemhi_suballoc_prepare(&t->s), 0);
	if (at == MAX_UNITS) {
		uint64_t missing = shmemhi_suballoc_missing(&t->s, nbytes, alignment);

		assert_true(missing > 0 && missing % UNIT == 0);
		if (t->r.n_units + missing / UNIT > MAX_UNITS)
			return;
		shmemhi_suballoc_extend(&t->s, missing);
		t->r.n_units += missing / UNIT;
		at = reference_find(&t->r, units, align_units);
		assert_true(at != MAX_UNITS);
	}
	assert_int_equal(shmemhi_suballoc_missing(&t->s, nbytes, alignment), 0);
	assert_int_equal(shmemhi_suballoc_alloc(&t->s, nbytes, alignment, SHMEMHI_USER), at * UNIT);
	fill(&t->r, at, units, ++t->number);
	t->live[t->n_live++] = (live_t){at * UNIT, units, t->number};
}

static void one_free(run_t *t)
{
	size_t i = next_random(&t->random) % t->n_live;
	live_t l = t->live[i];
	const shmemhi_block_t *inside = shmemhi_suballoc_find(&t->s, l.offset + l.units * UNIT - 1);

	assert_int_equal(inside->offset, l.offset);
	assert_int_equal(inside->nbytes, l.units * UNIT);
	if (l.units > 1)
		assert_int_equal(shmemhi_suballoc_free(&t->s, l.offset + UNIT), -1);
	assert_int_equal(shmemhi_suballoc_free(&t->s, l.offset), 0);
	assert_int_equal(shmemhi_suballoc_free(&t->s, l.offset), -1);
	fill(&t->r, l.offset / UNIT, l.units, 0);
	t->live[i] = t->live[--t->n_live];
}

static void test_random(void **state)
{
	run_t *t = calloc(1, sizeof *t);

	(void)state;
	t->random = 0x9e3779b97f4a7c15u;
	for (int op = 0; op < N_OPS; op++) {
		/* Alternates between a filling and an emptying heap. */
		unsigned frees = op / 4000 % 2 ? 5 : 3;

		if (t->n_live && next_random(&t->random) % 8 < frees)
			one_free(t);
		else
			one_alloc(t);
		if (op % 64 == 0) {
			check_blocks(&t->s);
			assert_int_equal(shmemhi_suballoc_largest(&t->s), reference_largest(&t->r));
		}
	}
	while (t->n_live)
		one_free(t);
	check_blocks(&t->s);
	assert_int_equal(t->s.n, 1);
	assert_int_equal(t->s.used, 0);
	shmemhi_suballoc_destroy(&t->s);
	free(t);
}

static void test_alignment(void **state)
{
	shmemhi_suballoc_t s = {0};

	(void)state;
	for (int bit = 0; bit <= 30; bit++) {
		uint64_t alignment = (uint64_t)1 << bit;
		uint64_t missing, offset;

		assert_int_equal(shmemhi_suballoc_prepare(&s), 0);
		missing = shmemhi_suballoc_missing(&s, 1, alignment);
		if (missing)
			shmemhi_suballoc_extend(&s, missing);
		offset = shmemhi_suballoc_alloc(&s, 1, alignment, SHMEMHI_USER);
		assert_int_equal(offset % alignment, 0);
		assert_int_equal(offset % UNIT, 0);
	}
	check_blocks(&s);
	shmemhi_suballoc_destroy(&s);
}

/* Free every second block: a larger one does not fit without growth, until all are free. */
static void test_fragmentation(void **state)
{
	shmemhi_suballoc_t s = {0};

	(void)state;
	assert_int_equal(shmemhi_suballoc_prepare(&s), 0);
	shmemhi_suballoc_extend(&s, 64 * UNIT);
	for (uint64_t i = 0; i < 64; i++) {
		assert_int_equal(shmemhi_suballoc_prepare(&s), 0);
		assert_int_equal(shmemhi_suballoc_alloc(&s, UNIT, UNIT, SHMEMHI_USER), i * UNIT);
	}
	for (uint64_t i = 0; i < 64; i += 2)
		assert_int_equal(shmemhi_suballoc_free(&s, i * UNIT), 0);
	assert_int_equal(shmemhi_suballoc_largest(&s), UNIT);
	assert_int_equal(shmemhi_suballoc_room(&s, 64 * UNIT), UNIT);
	assert_int_equal(shmemhi_suballoc_room(&s, 100 * UNIT), 36 * UNIT);
	assert_int_equal(shmemhi_suballoc_missing(&s, UNIT + 1, UNIT), 2 * UNIT);
	assert_int_equal(shmemhi_suballoc_missing(&s, UNIT, UNIT), 0);
	for (uint64_t i = 1; i < 64; i += 2)
		assert_int_equal(shmemhi_suballoc_free(&s, i * UNIT), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(shmemhi_suballoc_largest(&s), 64 * UNIT);
	assert_int_equal(shmemhi_suballoc_room(&s, 100 * UNIT), 100 * UNIT);
	/* Half of the tail is used for what is missing. */
	assert_int_equal(shmemhi_suballoc_missing(&s, 100 * UNIT, UNIT), 36 * UNIT);
	shmemhi_suballoc_destroy(&s);
}

static void test_empty(void **state)
{
	shmemhi_suballoc_t s = {0};

	(void)state;
	assert_null(shmemhi_suballoc_find(&s, 0));
	assert_int_equal(shmemhi_suballoc_free(&s, 0), -1);
	assert_int_equal(shmemhi_suballoc_largest(&s), 0);
	assert_int_equal(shmemhi_suballoc_room(&s, 8 * UNIT), 8 * UNIT);
	assert_int_equal(shmemhi_suballoc_missing(&s, 0, 1), UNIT);
	assert_int_equal(shmemhi_suballoc_missing(&s, UNIT + 1, 4096), 2 * UNIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_fragmentation),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
