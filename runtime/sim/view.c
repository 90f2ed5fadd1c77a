/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Views of weak-memory mode: vectors of times, shared until written. */
#include "sim/sim.h"

#define MIN_WORDS 12u /* with the head 56 bytes, of 64 that memory.c gives */

static size_t nbytes_of(uint32_t n)
{
	return sizeof(shmemsimi_view_t) + n * sizeof(uint32_t);
}

/* Round up to a capacity that nearly fills a size class of memory.c. */
static uint32_t capacity(uint32_t wanted)
{
	uint32_t n = MIN_WORDS;
	while (n < wanted)
		n = 2 * n + 2;
	return n;
}

shmemsimi_view_t *shmemsimi_view_ref(shmemsimi_view_t *v)
{
	if (v)
		v->refs++;
	return v;
}

void shmemsimi_view_drop(shmemsimi_view_t **v)
{
	if (*v && --(*v)->refs == 0)
		shmemsimi_free(*v, nbytes_of((*v)->n));
	*v = NULL;
}

void shmemsimi_view_copy(shmemsimi_view_t **v, shmemsimi_view_t *other)
{
	(void)shmemsimi_view_ref(other);
	shmemsimi_view_drop(v);
	*v = other;
}

uint32_t shmemsimi_view_get(const shmemsimi_view_t *v, uint32_t word)
{
	return v && word < v->n ? v->times[word] : 0;
}

/* Make *v a private copy of at least n words. */
static void own(shmemsimi_view_t **v, uint32_t n)
{
	shmemsimi_view_t *old = *v;
	if (old && old->refs == 1 && old->n >= n)
		return;
	n = capacity(old && old->n > n ? old->n : n);
	shmemsimi_view_t *made = shmemsimi_alloc(nbytes_of(n));
	made->refs = 1;
	made->n = n;
	for (uint32_t i = 0; old && i < old->n; i++)
		made->times[i] = old->times[i];
	shmemsimi_view_drop(v);
	*v = made;
}

void shmemsimi_view_set(shmemsimi_view_t **v, uint32_t word, uint32_t time)
{
	if (shmemsimi_view_get(*v, word) >= time)
		return;
	own(v, word + 1);
	(*v)->times[word] = time;
}

/* 1: some time of a is later than b's; 2: some time of b is later than a's. */
static int compare(const shmemsimi_view_t *a, const shmemsimi_view_t *b)
{
	uint32_t common = a->n < b->n ? a->n : b->n, above = 0, below = 0;
	for (uint32_t i = 0; i < common; i++) {
		above |= a->times[i] > b->times[i];
		below |= a->times[i] < b->times[i];
	}
	for (uint32_t i = common; i < a->n; i++)
		above |= a->times[i] != 0;
	for (uint32_t i = common; i < b->n; i++)
		below |= b->times[i] != 0;
	return (int)(above | below << 1);
}

void shmemsimi_view_join(shmemsimi_view_t **v, shmemsimi_view_t *other)
{
	if (!other || *v == other)
		return;
	int later = *v ? compare(*v, other) : 2;
	if (!(later & 1))
		shmemsimi_view_copy(v, other);
	if (later != 3)
		return;
	own(v, other->n);
	for (uint32_t i = 0; i < other->n; i++) {
		uint32_t mine = (*v)->times[i], its = other->times[i];
		(*v)->times[i] = mine < its ? its : mine;
	}
}
