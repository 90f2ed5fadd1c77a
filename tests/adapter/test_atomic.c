/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Atomics against a bit-by-bit reference, and from ring to memory. */
#include <endian.h>
#include "fixture.h"

static uint64_t state = 88172645463325252u;

static uint64_t random64(void)
{
	state ^= state << 13; /* xorshift64 */
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Random masks, also with few ones, few zeros, or all equal. */
static uint64_t random_mask(void)
{
	switch (random64() % 5) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return random64() & random64() & random64();
	case 3:
		return random64() | random64() | random64();
	default:
		return random64();
	}
}

static int bit(uint64_t v, int i)
{
	return (int)(v >> i & 1);
}

/* A full adder that drops the carry after each boundary bit. */
static uint64_t reference_add(uint64_t x, uint64_t y, uint64_t boundary, int n_bits)
{
	uint64_t sum = 0;
	int carry = 0;

	for (int i = 0; i < n_bits; i++) {
		const int total = bit(x, i) + bit(y, i) + carry;

		sum |= (uint64_t)(total & 1) << i;
		carry = bit(boundary, i) ? 0 : total >> 1;
	}
	return sum;
}

static uint64_t reference_swap(uint64_t old, const uint64_t op[4], int n_bits)
{
	uint64_t v = 0;

	for (int i = 0; i < n_bits; i++)
		if (bit(op[3], i) && bit(old, i) != bit(op[1], i))
			return old;
	for (int i = 0; i < n_bits; i++)
		v |= (uint64_t)bit(bit(op[2], i) ? op[0] : old, i) << i;
	return v;
}

static uint64_t narrow(uint64_t v, uint32_t width)
{
	return width == 8 ? v : v & 0xffffffff;
}

/* The effect of one atomic, by the text of the PRM. */
static uint64_t reference(uint8_t opcode, uint32_t width, const uint64_t op[4], uint64_t old)
{
	switch (opcode) {
	case OP_CS:
		return old == op[1] ? op[0] : old;
	case OP_FA:
		return reference_add(old, op[0], 0, 64);
	case OP_MASKED_FA:
		return reference_add(old, op[0], op[1], (int)width * 8);
	default:
		return reference_swap(old, op, (int)width * 8);
	}
}

static const struct kind {
	uint8_t opcode;
	uint32_t width;
} kinds[] = {
	{OP_CS, 8},        {OP_FA, 8},        {OP_MASKED_CS, 4},
	{OP_MASKED_CS, 8}, {OP_MASKED_FA, 4}, {OP_MASKED_FA, 8},
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint64_t random_case(const struct kind *k, uint64_t op[4])
{
	uint64_t old = narrow(random64(), k->width);

	for (int i = 0; i < 4; i++)
		op[i] = narrow(i == 0 ? random64() : random_mask(), k->width);
	if (random64() % 2) /* half of the comparisons succeed under the mask */
		op[1] = narrow(old ^ (random_mask() & ~op[3]), k->width);
	if (k->opcode == OP_CS && random64() % 2)
		op[1] = old;
	return old;
}

static void arithmetic(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 600000; i++) {
		const struct kind *k = &kinds[i % N_KINDS];
		uint64_t op[4], old = random_case(k, op);

		assert_int_equal(mlx5swi_atomic(k->opcode, (uint8_t)k->width, op, old),
				 reference(k->opcode, k->width, op, old));
	}
}

/* SET, AND, OR, XOR and ADD, as software builds them from the masked forms. */
static void atomics_as_software_builds_them(void **unused)
{
	const uint64_t v = 0x0123456789abcdef, old = 0xf0f0f0f0ff00ff00, all = ~0ull;
	const uint64_t set[4] = {v, 0, all, 0}, and[4] = {0, 0, ~v, 0}, or [4] = {v, 0, v, 0};
	const uint64_t xor [4] = {v, all}, add[4] = {v, 0};

	(void)unused;
	assert_int_equal(mlx5swi_atomic(OP_MASKED_CS, 8, set, old), v);
	assert_int_equal(mlx5swi_atomic(OP_MASKED_CS, 8, and, old), old & v);
	assert_int_equal(mlx5swi_atomic(OP_MASKED_CS, 8, or, old), old | v);
	assert_int_equal(mlx5swi_atomic(OP_MASKED_FA, 8, xor, old), old ^ v);
	assert_int_equal(mlx5swi_atomic(OP_MASKED_FA, 8, add, old), old + v);
}

/* The returned value as stored in memory: 8 bytes in host order, because
 * atomic_req_8B_endianness_mode is 1; 4 bytes, which that mode does not cover, big-endian. */
static uint64_t as_returned(uint64_t old, uint32_t width)
{
	return width == 8 ? old : htobe32((uint32_t)old);
}

static void atomics_from_ring_to_memory(void **unused)
{
	adapter_end_t a, b;
	uint64_t word, result;

	(void)unused;
	adapter_start(NULL);
	adapter_pair(&a, &b);
	for (unsigned i = 0; i < 6000; i++) {
		const struct kind *k = &kinds[i % N_KINDS];
		uint64_t op[4], old = random_case(k, op);
		const uint64_t around = 0xa5a5a5a5a5a5a5a5;

		memcpy(b.memory + 800, &around, 8);
		memcpy(b.memory + 800, &old, k->width);
		memcpy(a.memory + 64, &around, 8);
		uint16_t index =
			adapter_atomic(&a, &b, k->opcode, k->width, op, 64, 800, SIGNALLED);
		adapter_ring(&a);
		adapter_idle();
		adapter_expect(&a, index, k->opcode);
		word = result = around;
		memcpy(&word, &(uint64_t){reference(k->opcode, k->width, op, old)}, k->width);
		memcpy(&result, &(uint64_t){as_returned(old, k->width)}, k->width);
		assert_memory_equal(b.memory + 800, &word, 8);
		assert_memory_equal(a.memory + 64, &result, 8);
	}
	adapter_expect_clean();
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(atomics_as_software_builds_them),
		cmocka_unit_test(atomics_from_ring_to_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
