/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/prm.h"

#include <endian.h>

/* Shift of a field of up to 32 bits in its word. */
static unsigned shift_of(unsigned bit, unsigned width)
{
	return 32 - width - bit % 32;
}

static uint32_t mask_of(unsigned width)
{
	return width < 32 ? (1u << width) - 1 : UINT32_MAX;
}

void shmemhi_prm_put(uint32_t *mailbox, unsigned bit, unsigned width, uint64_t value)
{
	uint32_t *word = mailbox + bit / 32;
	uint32_t mask;

	if (width == 64) {
		word[0] = htobe32((uint32_t)(value >> 32));
		word[1] = htobe32((uint32_t)value);
		return;
	}
	mask = mask_of(width) << shift_of(bit, width);
	*word = htobe32((be32toh(*word) & ~mask) |
			((uint32_t)value << shift_of(bit, width) & mask));
}

uint64_t shmemhi_prm_get(const uint32_t *mailbox, unsigned bit, unsigned width)
{
	const uint32_t *word = mailbox + bit / 32;

	if (width == 64)
		return (uint64_t)be32toh(word[0]) << 32 | be32toh(word[1]);
	return be32toh(*word) >> shift_of(bit, width) & mask_of(width);
}
