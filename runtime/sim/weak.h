/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Weak-memory mode: a load may return an older write, unless the view of its thread excludes it.
 * Memory itself always holds the newest values.
 *
 * A word is 4 aligned bytes. A view gives, for each word, the oldest write that may still be read.
 * Each fiber has
 *   current   the view for its own loads;
 *   release   the view that its relaxed stores pass on: its current view at its last fence that
 *             releases;
 *   pending   views received by its relaxed loads: joins the current view at its next fence that
 *             acquires.
 * Release and pending views are kept once for each distance between writer and reader: same block,
 * same GPU, further. A fence or access affects distances up to its scope. */
#ifndef SHMEMSIMI_WEAK_H
#define SHMEMSIMI_WEAK_H

#include <stddef.h>
#include <stdint.h>

#define SHMEMSIMI_HOOK_WEAK 0x100u /* in shmemsim_hooks */

enum shmemsimi_distance { WITHIN_CTA, WITHIN_GPU, WITHIN_SYS, N_DISTANCES };

/* Shared by reference, and copied when one owner changes it. NULL: all zero. */
typedef struct shmemsimi_view {
	uint32_t refs, n;
	uint32_t times[]; /* [n] of the oldest write still readable, by word */
} shmemsimi_view_t;

/* A word that a fiber has loaded relaxed, and the view that an acquire of the same word would
 * have received. */
typedef struct shmemsimi_loaded {
	uint32_t cell;
	uint8_t bytes, distance;
	shmemsimi_view_t *view; /* NULL: the entry is free */
} shmemsimi_loaded_t;

#define SHMEMSIMI_N_LOADED 4 /* remembered by a fiber */

typedef struct shmemsimi_sight {
	shmemsimi_view_t *current;
	shmemsimi_view_t *release[N_DISTANCES], *pending[N_DISTANCES];
	shmemsimi_loaded_t loaded[SHMEMSIMI_N_LOADED];
	unsigned next_loaded;
} shmemsimi_sight_t;

struct shmemsimi_fiber;

/* view.c */
shmemsimi_view_t *shmemsimi_view_ref(shmemsimi_view_t *v);
void shmemsimi_view_drop(shmemsimi_view_t **v);
uint32_t shmemsimi_view_get(const shmemsimi_view_t *v, uint32_t word);
/* times never decrease */
void shmemsimi_view_set(shmemsimi_view_t **v, uint32_t word, uint32_t time);
void shmemsimi_view_join(shmemsimi_view_t **v, shmemsimi_view_t *other);
void shmemsimi_view_copy(shmemsimi_view_t **v, shmemsimi_view_t *other); /* *v = other */

/* cells.c: the last writes to 8 aligned bytes, two words. */
#define SHMEMSIMI_N_WRITES 4

typedef struct shmemsimi_place {
	const struct shmemsimi_fiber *fiber; /* identity only: it may have ended */
	uint32_t grid, block;                /* grid UINT32_MAX: a host fiber or agent */
	int pe;
} shmemsimi_place_t;

typedef struct shmemsimi_write {
	uint32_t time;  /* 0: the value before the first write */
	uint8_t bytes;  /* the bytes that it wrote */
	uint8_t scope;  /* shmemsimi_distance up to which it is strong */
	uint8_t strong; /* 0: weak, does not synchronise */
	uint8_t is_rmw;
	uint8_t is_merged; /* several merged writes: orders every reader */
	uint64_t value;    /* all 8 bytes after the write */
	shmemsimi_place_t place;
	shmemsimi_view_t *views[N_DISTANCES]; /* passed to a reader at that distance */
} shmemsimi_write_t;

typedef struct shmemsimi_cell {
	uintptr_t key;
	uint32_t index; /* its words are 2 * index and 2 * index + 1 */
	uint8_t known;  /* bytes whose values the writes hold */
	uint8_t n;
	shmemsimi_write_t writes[SHMEMSIMI_N_WRITES]; /* oldest first */
	shmemsimi_view_t *edge; /* an object of the emulator: what was released on it */
} shmemsimi_cell_t;

void shmemsimi_cells_begin(void);
void shmemsimi_cells_end(void);
shmemsimi_cell_t *shmemsimi_cell_find(const void *p);
shmemsimi_cell_t *shmemsimi_cell_make(const void *p, int is_edge); /* NULL: too many */
/* If uninstrumented code has changed these bytes, or the cell does not hold them yet, set them to
 * `now`, the value in memory. */
void shmemsimi_cell_refresh(shmemsimi_cell_t *c, uint8_t bytes, uint64_t now);
/* Append a write; if there is no room, an old one is dropped, or merged into the next. views are
 * NULL. */
shmemsimi_write_t *shmemsimi_cell_write(shmemsimi_cell_t *c, uint8_t bytes, uint64_t value,
					uint32_t time);
void shmemsimi_cells_forget(const void *p, size_t nbytes);

/* weak.c: without weak-memory mode these functions have no effect. */
void shmemsimi_weak_begin(void);
void shmemsimi_weak_end(void);
int shmemsimi_weak_access(const void *p, uint32_t nbytes, int access, void *value);
void shmemsimi_weak_leave(struct shmemsimi_fiber *f); /* the fiber never runs again */
void shmemsimi_weak_gather(shmemsimi_view_t **all, const struct shmemsimi_fiber *f);
void shmemsimi_weak_spread(shmemsimi_view_t *all, struct shmemsimi_fiber *f);
void shmemsimi_weak_release(void *obj);
void shmemsimi_weak_acquire(void *obj);
void shmemsimi_weak_forget(const void *mem, size_t nbytes);

#endif
