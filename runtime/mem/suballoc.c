/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "mem/suballoc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One extend adds at most one block, one alloc at most two. */
#define SPARE_BLOCKS 3

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

static uint64_t block_nbytes(uint64_t nbytes)
{
	return round_up(nbytes ? nbytes : 1, SHMEMHI_ALIGN_MIN);
}

static uint64_t block_alignment(uint64_t alignment)
{
	return alignment < SHMEMHI_ALIGN_MIN ? SHMEMHI_ALIGN_MIN : alignment;
}

void shmemhi_suballoc_destroy(shmemhi_suballoc_t *s)
{
	free(s->blocks);
	memset(s, 0, sizeof *s);
}

int shmemhi_suballoc_prepare(shmemhi_suballoc_t *s)
{
	if (s->n + SPARE_BLOCKS <= s->capacity) {
		return 0;
	}
	size_t capacity = 2 * s->capacity + 16;
	shmemhi_block_t *blocks = realloc(s->blocks, capacity * sizeof *blocks);
	if (!blocks) {
		return -1;
	}
	s->blocks = blocks;
	s->capacity = capacity;
	return 0;
}

static void insert_block(shmemhi_suballoc_t *s, size_t at, uint64_t offset, uint64_t nbytes)
{
	memmove(&s->blocks[at + 1], &s->blocks[at], (s->n - at) * sizeof *s->blocks);
	s->blocks[at] = (shmemhi_block_t){offset, nbytes, SHMEMHI_FREE, 0};
	s->n++;
}

static void remove_block(shmemhi_suballoc_t *s, size_t at)
{
	memmove(&s->blocks[at], &s->blocks[at + 1], (s->n - at - 1) * sizeof *s->blocks);
	s->n--;
}

void shmemhi_suballoc_extend(shmemhi_suballoc_t *s, uint64_t nbytes)
{
	if (s->n && s->blocks[s->n - 1].owner == SHMEMHI_FREE) {
		s->blocks[s->n - 1].nbytes += nbytes;
	} else {
		insert_block(s, s->n, s->nbytes, nbytes);
	}
	s->nbytes += nbytes;
}

/* Does the allocation fit into this block, and at which offset? */
static bool fits(const shmemhi_block_t *b, uint64_t nbytes, uint64_t alignment, uint64_t *offset)
{
	*offset = round_up(b->offset, alignment);
	return b->owner == SHMEMHI_FREE && *offset + nbytes <= b->offset + b->nbytes;
}

/* Where the free block at the end begins; the end if there is none. */
static uint64_t free_tail(const shmemhi_suballoc_t *s)
{
	return s->n && s->blocks[s->n - 1].owner == SHMEMHI_FREE ? s->blocks[s->n - 1].offset
								 : s->nbytes;
}

uint64_t shmemhi_suballoc_missing(const shmemhi_suballoc_t *s, uint64_t nbytes, uint64_t alignment)
{
	uint64_t offset;
	nbytes = block_nbytes(nbytes);
	alignment = block_alignment(alignment);
	for (size_t i = 0; i < s->n; i++) {
		if (fits(&s->blocks[i], nbytes, alignment, &offset)) {
			return 0;
		}
	}
	return round_up(free_tail(s), alignment) + nbytes - s->nbytes;
}

uint64_t shmemhi_suballoc_alloc(shmemhi_suballoc_t *s, uint64_t nbytes, uint64_t alignment,
				enum shmemhi_owner owner)
{
	uint64_t offset = 0, asked = nbytes;
	size_t at = 0;
	nbytes = block_nbytes(nbytes);
	alignment = block_alignment(alignment);
	while (!fits(&s->blocks[at], nbytes, alignment, &offset)) {
		at++;
	}
	uint64_t before = offset - s->blocks[at].offset;
	uint64_t after = s->blocks[at].nbytes - before - nbytes;
	if (after) {
		insert_block(s, at + 1, offset + nbytes, after);
	}
	if (before) {
		s->blocks[at].nbytes = before;
		at++;
		insert_block(s, at, offset, nbytes);
	}
	s->blocks[at] = (shmemhi_block_t){offset, nbytes, owner, asked};
	s->used += nbytes;
	return offset;
}

const shmemhi_block_t *shmemhi_suballoc_find(const shmemhi_suballoc_t *s, uint64_t offset)
{
	size_t low = 0, high = s->n;
	if (offset >= s->nbytes) {
		return NULL;
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->blocks[middle].offset <= offset) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return &s->blocks[low];
}

int shmemhi_suballoc_free(shmemhi_suballoc_t *s, uint64_t offset)
{
	const shmemhi_block_t *found = shmemhi_suballoc_find(s, offset);
	if (!found || found->offset != offset || found->owner == SHMEMHI_FREE) {
		return -1;
	}
	size_t at = (size_t)(found - s->blocks);
	s->used -= s->blocks[at].nbytes;
	s->blocks[at].owner = SHMEMHI_FREE;
	if (at + 1 < s->n && s->blocks[at + 1].owner == SHMEMHI_FREE) {
		s->blocks[at].nbytes += s->blocks[at + 1].nbytes;
		remove_block(s, at + 1);
	}
	if (at > 0 && s->blocks[at - 1].owner == SHMEMHI_FREE) {
		s->blocks[at - 1].nbytes += s->blocks[at].nbytes;
		remove_block(s, at);
	}
	return 0;
}

uint64_t shmemhi_suballoc_largest(const shmemhi_suballoc_t *s)
{
	uint64_t largest = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->blocks[i].owner == SHMEMHI_FREE && s->blocks[i].nbytes > largest) {
			largest = s->blocks[i].nbytes;
		}
	}
	return largest;
}

uint64_t shmemhi_suballoc_room(const shmemhi_suballoc_t *s, uint64_t limit)
{
	uint64_t tail = limit - free_tail(s), largest = shmemhi_suballoc_largest(s);

	return tail > largest ? tail : largest;
}
