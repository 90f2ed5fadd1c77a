/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The emulator's bulk-copy engine: copies are made no sooner than they are waited for, and misuse
 * ends the run with a line. Sums of f16 and bf16 as the engine and compare-and-swap round them. */
#include "sim_test.h"
#include <math.h>
#include <shmem_dev/arch/bulk.h>
#include <shmem_dev/impl/half.h>

#define NBYTES 64

static _Alignas(16) char mem[NBYTES], shared[NBYTES];
static uint64_t bar;

static void begin(void)
{
	memset(mem, 1, sizeof(mem));
	memset(shared, 2, sizeof(shared));
	bar = 0;
}

static void store_late(const void *params)
{
	(void)params;
	shmemd_arch_bulk_store(mem, shared, NBYTES);
	shmemd_arch_bulk_commit();
	shared[0] = 3; /* too early: it is read in the wait */
	CHECK(mem[0] == 1);
	shmemd_arch_bulk_wait_read(0);
	shared[0] = 4;
	CHECK(mem[0] == 1);
	shmemd_arch_bulk_wait();
	CHECK(mem[0] == 3 && mem[NBYTES - 1] == 2);
}

static void batches(const void *params)
{
	(void)params;
	shmemd_arch_bulk_store(mem, shared, 16);
	shmemd_arch_bulk_commit();
	shmemd_arch_bulk_store(mem + 16, shared + 16, 16);
	shmemd_arch_bulk_commit();
	shmemd_arch_bulk_wait_read(1);
	shared[0] = shared[16] = 5; /* too early for the second batch alone */
	shmemd_arch_bulk_wait();
	CHECK(mem[0] == 2 && mem[16] == 5);
}

static void load_late(const void *params)
{
	(void)params;
	shmemd_arch_bulk_bar_init(&bar);
	shmemd_arch_bulk_load(shared, mem, NBYTES, &bar);
	CHECK(shared[0] == 2);
	shmemd_arch_bulk_wait_load(&bar, 1); /* the phase before */
	CHECK(shared[0] == 2);
	shmemd_arch_bulk_wait_load(&bar, 0);
	CHECK(shared[0] == 1);
	shmemd_arch_bulk_bar_end(&bar);
}

/* More copies than a thread's list holds: the load, as the oldest, is made before its wait. */
static void load_gives_way(const void *params)
{
	(void)params;
	shmemd_arch_bulk_bar_init(&bar);
	shmemd_arch_bulk_load(shared, mem, 16, &bar);
	for (int i = 0; i < 64; i++)
		shmemd_arch_bulk_store(mem + 16, shared + 16, 16);
	shmemd_arch_bulk_commit();
	CHECK(shared[0] == 1);
	shmemd_arch_bulk_wait_load(&bar, 0);
	shmemd_arch_bulk_load(shared + 32, mem, 16, &bar);
	shmemd_arch_bulk_wait_load(&bar, 1);
	CHECK(shared[32] == 1);
	shmemd_arch_bulk_wait();
	shmemd_arch_bulk_bar_end(&bar);
}

static void test_late(void **state)
{
	(void)state;
	begin();
	assert_good(run_kernel(NULL, store_late, NULL, 0, 1, 1));
	begin();
	assert_good(run_kernel(NULL, batches, NULL, 0, 1, 1));
	begin();
	assert_good(run_kernel(NULL, load_late, NULL, 0, 1, 1));
	begin();
	assert_good(run_kernel(NULL, load_gives_way, NULL, 0, 1, 1));
}

static void ends_early(const void *params)
{
	(void)params;
	shmemd_arch_bulk_store(mem, shared, NBYTES);
	shmemd_arch_bulk_commit();
}

static void waits_for_nothing(const void *params)
{
	(void)params;
	shmemd_arch_bulk_bar_init(&bar);
	shmemd_arch_bulk_wait_load(&bar, 0);
}

static void loads_twice(const void *params)
{
	(void)params;
	shmemd_arch_bulk_bar_init(&bar);
	shmemd_arch_bulk_load(shared, mem, 16, &bar);
	shmemd_arch_bulk_load(shared + 16, mem, 16, &bar);
}

static void loads_without_bar(const void *params)
{
	(void)params;
	shmemd_arch_bulk_load(shared, mem, 16, &bar);
}

static void not_a_multiple(const void *params)
{
	(void)params;
	shmemd_arch_bulk_store(mem + 8, shared, 16);
}

static void test_misuse(void **state)
{
	(void)state;
	begin();
	assert_bad(run_kernel(NULL, ends_early, NULL, 0, 1, 1), "a thread ended before its bulk");
	assert_bad(run_kernel(NULL, waits_for_nothing, NULL, 0, 1, 1), "was not posted");
	assert_bad(run_kernel(NULL, loads_twice, NULL, 0, 1, 1), "awaits another copy");
	begin();
	assert_bad(run_kernel(NULL, loads_without_bar, NULL, 0, 1, 1), "no barrier object there");
	assert_bad(run_kernel(NULL, not_a_multiple, NULL, 0, 1, 1), "must be multiples of 16");
}

/* The value of an element with `digits` digits after the point, exact in double; the largest
 * exponent is that of infinity and of what is no number. */
static double value_of(uint32_t bits, int digits, int bias)
{
	uint32_t exponents = 0x7fffu >> digits, exponent = bits >> digits & exponents;
	double m = bits & ((1u << digits) - 1), v;

	if (exponent == exponents)
		v = m != 0 ? NAN : INFINITY;
	else if (exponent == 0)
		v = ldexp(m, 1 - bias - digits);
	else
		v = ldexp(m + (1 << digits), (int)exponent - bias - digits);
	return bits & 0x8000 ? -v : v;
}

/* Is `got` the element nearest to `sum`, of two equally near ones the even one? */
static int is_nearest(uint32_t got, double sum, int digits, int bias)
{
	double unit = ldexp(1, (int)(0x7fffu >> digits) - 1 - bias - digits);
	double most = ldexp(1, digits + 1) * unit - unit, v = value_of(got, digits, bias), error;
	uint32_t neighbours[2] = {got - 1, got + 1};

	if (isnan(sum) || isinf(sum))
		return isnan(sum) ? isnan(v) : v == sum;
	if (isinf(v))
		return fabs(sum) >= most + unit / 2 && signbit(sum) == signbit(v);
	error = fabs(sum - v);
	for (int i = 0; i < 2; i++) {
		double other = value_of(neighbours[i], digits, bias);

		if ((neighbours[i] ^ got) & 0x8000 || isnan(other) || isinf(other))
			continue;
		if (fabs(sum - other) < error || (fabs(sum - other) == error && got & 1))
			return 0;
	}
	return 1;
}

static void check_pair(uint32_t a, uint32_t b)
{
	double f16 = value_of(a, 10, 15) + value_of(b, 10, 15);
	double bf16 = value_of(a, 7, 127) + value_of(b, 7, 127);
	uint32_t sums[2] = {shmemdi_f16_sum2(a << 16 | b, b << 16 | a),
			    shmemdi_bf16_sum2(a << 16 | b, b << 16 | a)};

	if (!is_nearest(sums[0] >> 16, f16, 10, 15) || !is_nearest(sums[1] >> 16, bf16, 7, 127))
		fail_msg("%04x + %04x: f16 %08x, bf16 %08x", a, b, sums[0], sums[1]);
	if (!isnan(f16))
		assert_int_equal(sums[0] >> 16, sums[0] & 0xffff);
	if (!isnan(bf16))
		assert_int_equal(sums[1] >> 16, sums[1] & 0xffff);
}

static void test_halves(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		seed = seed * 1664525 + 1013904223;
		check_pair(seed >> 16, (seed >> 16 ^ seed * 2654435761u >> 20 ^ i) & 0xffff);
	}
	for (uint32_t a = 0; a < 0x10000; a++) { /* ties, cancellation, the largest ones */
		check_pair(a, 1);
		check_pair(a, a ^ 0x8000);
		check_pair(a, 0x7bff);
		check_pair(a, (a & 0x7fff) > 0x400 ? a - 0x400 : 0x8001);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
