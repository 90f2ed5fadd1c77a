/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The writes that weak-memory mode records. Cells are found by address and numbered in the order of
 * their first use, so that a seed gives the same run for any placement of memory. */
#include "sim/sim.h"

/* A run that uses memory beyond this many cells (of 8 bytes) reads only newest values from then on,
 * everywhere (weak.c). */
#define MAX_CELLS 8192u
#define MAX_EDGES 4096u
#define CHUNK 64u
#define N_SLOTS 32768u /* power of two, at least twice the cells */

typedef struct slot {
	uintptr_t key;
	uint32_t run; /* if it is not the current run, the entry is free */
	uint32_t cell;
} slot_t;

static slot_t *slots;
static shmemsimi_cell_t *chunks[(MAX_CELLS + MAX_EDGES) / CHUNK];
static uint32_t n_cells, run;

static shmemsimi_cell_t *cell_at(uint32_t i)
{
	return &chunks[i / CHUNK][i % CHUNK];
}

static slot_t *slot_of(uintptr_t key)
{
	uint32_t at = (uint32_t)((key >> 3) * 0x9e3779b97f4a7c15u >> 40);
	for (;; at++) {
		slot_t *s = &slots[at % N_SLOTS];
		if (s->run != run || s->key == key)
			return s;
	}
}

void shmemsimi_cells_begin(void)
{
	if (!slots)
		slots = shmemsimi_alloc(N_SLOTS * sizeof(*slots));
	run++;
	n_cells = 0;
}

static void drop_writes(shmemsimi_cell_t *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		for (int d = 0; d < N_DISTANCES; d++)
			shmemsimi_view_drop(&c->writes[i].views[d]);
	c->n = c->known = 0;
	shmemsimi_view_drop(&c->edge);
}

void shmemsimi_cells_end(void)
{
	for (uint32_t i = 0; i < n_cells; i++)
		drop_writes(cell_at(i));
	n_cells = 0;
}

shmemsimi_cell_t *shmemsimi_cell_find(const void *p)
{
	uintptr_t key = (uintptr_t)p & ~(uintptr_t)7;
	const slot_t *s = slot_of(key);
	return s->run == run ? cell_at(s->cell) : NULL;
}

shmemsimi_cell_t *shmemsimi_cell_make(const void *p, int is_edge)
{
	uintptr_t key = (uintptr_t)p & ~(uintptr_t)7;
	slot_t *s = slot_of(key);
	if (s->run == run)
		return cell_at(s->cell);
	if (n_cells >= MAX_CELLS + (is_edge ? MAX_EDGES : 0))
		return NULL;
	if (!chunks[n_cells / CHUNK])
		chunks[n_cells / CHUNK] = shmemsimi_alloc(CHUNK * sizeof(shmemsimi_cell_t));
	s->key = key;
	s->run = run;
	s->cell = n_cells++;
	shmemsimi_cell_t *c = cell_at(s->cell);
	c->key = key;
	c->index = s->cell;
	return c;
}

/* 0xff in each byte that the mask selects. */
static uint64_t spread(uint8_t bytes)
{
	uint64_t wide = 0;
	for (int i = 0; i < 8; i++)
		if (bytes >> i & 1)
			wide |= (uint64_t)0xff << 8 * i;
	return wide;
}

void shmemsimi_cell_refresh(shmemsimi_cell_t *c, uint8_t bytes, uint64_t now)
{
	uint64_t seen = spread(bytes & c->known);
	if (!c->n)
		(void)shmemsimi_cell_write(c, bytes, now, 0);
	else if (!((c->writes[c->n - 1].value ^ now) & seen))
		bytes &= (uint8_t)~c->known; /* the other bytes already have a history */
	if (!bytes)
		return;
	uint64_t wide = spread(bytes);
	for (uint32_t i = 0; i < c->n; i++) {
		shmemsimi_write_t *w = &c->writes[i];
		w->value = (w->value & ~wide) | (now & wide);
		w->bytes &= (uint8_t)~bytes;
	}
	if (!c->writes[0].strong) /* from now on this is the old value of these bytes */
		c->writes[0].bytes |= bytes;
	c->known |= bytes;
}

/* Find the oldest write whose bytes have all been overwritten; c->n: none. Keep the last write to
 * each byte: a reader may synchronise with it. */
static uint32_t superseded(const shmemsimi_cell_t *c, uint8_t bytes)
{
	uint32_t found = c->n;
	for (uint32_t i = c->n; i-- > 0; bytes |= c->writes[i].bytes)
		if (!(c->writes[i].bytes & ~bytes))
			found = i;
	return found;
}

/* No write can be dropped, so merge the oldest one into the next, which then releases more than it
 * should. That may hide a mistake, and never reports a false one. */
static void merge_oldest(shmemsimi_cell_t *c)
{
	shmemsimi_write_t *from = &c->writes[0], *to = &c->writes[1];
	to->bytes |= from->bytes;
	to->strong |= from->strong;
	to->is_merged = 1;
	for (int d = N_DISTANCES; d-- > WITHIN_CTA;) { /* views[WITHIN_CTA] is the largest */
		shmemsimi_view_join(&to->views[d], from->views[WITHIN_CTA]);
		shmemsimi_view_join(&to->views[d], to->views[WITHIN_CTA]);
	}
}

static void make_room(shmemsimi_cell_t *c, uint8_t bytes)
{
	uint32_t at = superseded(c, bytes);
	if (at == c->n) {
		merge_oldest(c);
		at = 0;
	}
	for (int d = 0; d < N_DISTANCES; d++)
		shmemsimi_view_drop(&c->writes[at].views[d]);
	c->n--;
	for (; at < c->n; at++)
		c->writes[at] = c->writes[at + 1];
}

shmemsimi_write_t *shmemsimi_cell_write(shmemsimi_cell_t *c, uint8_t bytes, uint64_t value,
					uint32_t time)
{
	uint64_t wide = spread(bytes), before = c->n ? c->writes[c->n - 1].value : 0;
	if (c->n == SHMEMSIMI_N_WRITES)
		make_room(c, bytes);
	shmemsimi_write_t *w = &c->writes[c->n++];
	for (int d = 0; d < N_DISTANCES; d++)
		w->views[d] = NULL;
	w->time = time;
	w->bytes = bytes;
	w->scope = w->strong = w->is_rmw = w->is_merged = 0;
	w->value = (before & ~wide) | (value & wide);
	return w;
}

static void forget(shmemsimi_cell_t *c)
{
	if (c)
		drop_writes(c);
}

void shmemsimi_cells_forget(const void *p, size_t nbytes)
{
	uintptr_t from = (uintptr_t)p & ~(uintptr_t)7, to = (uintptr_t)p + nbytes;
	if ((to - from) / 8 < n_cells) {
		for (; from < to; from += 8)
			forget(shmemsimi_cell_find((const void *)from));
		return;
	}
	for (uint32_t i = 0; i < n_cells; i++)
		if (cell_at(i)->key >= from && cell_at(i)->key < to)
			forget(cell_at(i));
}
