/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "mlx5sw/devx/prm.h"

#include <string.h>

static uint32_t word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void set_word(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Returns the mask of a field of at most 32 bits within its word, unshifted, and its shift. */
static uint32_t mask_of(uint32_t field, unsigned *shift)
{
	unsigned width = field & 0xff, bit = (field >> 8) % 32;

	*shift = 32 - width - bit;
	return (uint32_t)((1ull << width) - 1) << *shift;
}

static uint32_t word_at(uint32_t field)
{
	return (field >> 8) / 32 * 4;
}

uint64_t mlx5swi_field(const uint8_t *p, uint32_t field)
{
	unsigned shift;
	uint32_t mask;

	p += word_at(field);
	if ((field & 0xff) == 64)
		return (uint64_t)word(p) << 32 | word(p + 4);
	mask = mask_of(field, &shift);
	return (word(p) & mask) >> shift;
}

void mlx5swi_set_field(uint8_t *p, uint32_t field, uint64_t value)
{
	unsigned shift;
	uint32_t mask;

	p += word_at(field);
	if ((field & 0xff) == 64) {
		set_word(p, (uint32_t)(value >> 32));
		set_word(p + 4, (uint32_t)value);
		return;
	}
	mask = mask_of(field, &shift);
	set_word(p, (word(p) & ~mask) | ((uint32_t)value << shift & mask));
}

void mlx5swi_field_mac(const uint8_t *p, uint32_t high, uint32_t low, uint8_t mac[6])
{
	memcpy(mac, p + mlx5swi_field_at(high), 2);
	memcpy(mac + 2, p + mlx5swi_field_at(low), 4);
}

void mlx5swi_set_field_mac(uint8_t *p, uint32_t high, uint32_t low, const uint8_t mac[6])
{
	memcpy(p + mlx5swi_field_at(high), mac, 2);
	memcpy(p + mlx5swi_field_at(low), mac + 2, 4);
}
