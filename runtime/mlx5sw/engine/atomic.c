/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Arithmetic of atomics, as "extended atomic operations" of the PRM define it. */
#include "mlx5sw/engine/engine.h"

/* Add field by field: a set bit of boundary marks the most significant bit of a field. The sum
 * without those bits carries into no other field; those bits are then added without carry. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t boundary)
{
	return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

uint64_t mlx5swi_atomic(uint8_t opcode, uint8_t width, const uint64_t operands[4], uint64_t old)
{
	const uint64_t compare = operands[1], swap_mask = operands[2], compare_mask = operands[3];

	switch (opcode) {
	case MLX5_OPCODE_ATOMIC_CS:
		return old == compare ? operands[0] : old;
	case MLX5_OPCODE_ATOMIC_MASKED_CS:
		if ((old ^ compare) & compare_mask)
			return old;
		return (old & ~swap_mask) | (operands[0] & swap_mask);
	case MLX5_OPCODE_ATOMIC_MASKED_FA:
		if (width == 4)
			return add_fields(old, operands[0], operands[1] | 1ull << 31);
		return add_fields(old, operands[0], operands[1] | 1ull << 63);
	default: /* MLX5_OPCODE_ATOMIC_FA */
		return old + operands[0];
	}
}
