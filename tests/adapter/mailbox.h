/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bit fields of mailboxes: since their words are big-endian, bit O of a structure is bit O of its
 * bytes, counted from the highest bit of the first byte. */
#ifndef MAILBOX_H
#define MAILBOX_H

#include <stdint.h>

static inline void put_bits(uint8_t *p, unsigned bit, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++, bit++) {
		unsigned mask = 0x80u >> bit % 8;

		p[bit / 8] &= (uint8_t)~mask;
		if (value >> (width - 1 - i) & 1)
			p[bit / 8] |= (uint8_t)mask;
	}
}

static inline uint64_t get_bits(const uint8_t *p, unsigned bit, unsigned width)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < width; i++, bit++)
		value = value << 1 | (p[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

#endif
