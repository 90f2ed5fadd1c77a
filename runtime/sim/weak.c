/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which values a load may read, and which operations synchronise, after the PTX memory model.
 * weak.h has the terms. Writes to a word are ordered by the time of their execution, and no load
 * reads a write that has not been executed yet. So fewer outcomes are possible here than in the
 * model; more only in the three cases that the README lists.
 *
 * Source  PTX ISA 8.7, chapter Memory Consistency Model */
#include <stdio.h>
#include "sim/sim.h"

/* Address sanitizer: the emulator executes the load instead of the program. */
extern void __asan_loadN(uintptr_t p, size_t nbytes) __attribute__((weak));

static uint32_t clock_of_writes;
static shmemsimi_view_t *sc_sys, **sc_gpu; /* views of sequentially consistent fences: [n_pes] */
static int n_gpus;
static bool is_full;       /* this run has used all cells */
static bool was_full_told; /* in this process */

static bool is_on(void)
{
	return (shmemsim_hooks & SHMEMSIMI_HOOK_WEAK) != 0;
}

void shmemsimi_weak_begin(void)
{
	if (!shmemsimi_w.cfg.weak)
		return;
	clock_of_writes = 0;
	is_full = false;
	n_gpus = shmemsimi_w.n_pes;
	sc_gpu = shmemsimi_alloc((size_t)n_gpus * sizeof(shmemsimi_view_t *));
	shmemsimi_cells_begin();
	shmemsim_hooks |= SHMEMSIMI_HOOK_WEAK;
}

void shmemsimi_weak_end(void)
{
	if (!is_on())
		return;
	shmemsimi_cells_end();
	shmemsimi_view_drop(&sc_sys);
	for (int pe = 0; pe < n_gpus; pe++)
		shmemsimi_view_drop(&sc_gpu[pe]);
	shmemsimi_free(sc_gpu, (size_t)n_gpus * sizeof(shmemsimi_view_t *));
}

/* Places and scopes */

/* Returns whether p is on the fiber's own stack. No other fiber accesses it now, but an earlier
 * fiber may have used the same stack. */
static bool is_own_stack(const shmemsimi_fiber_t *f, const void *p)
{
	return (uintptr_t)p - (uintptr_t)f->stack < f->stack_nbytes;
}

static shmemsimi_place_t place_of(const shmemsimi_fiber_t *f)
{
	shmemsimi_place_t p = {f, UINT32_MAX, 0, f->pe};
	if (f->kind == KIND_LANE) {
		p.grid = f->grid->id;
		p.block = f->thread.block;
	}
	return p;
}

static int distance(shmemsimi_place_t a, shmemsimi_place_t b)
{
	if (a.grid == UINT32_MAX || b.grid == UINT32_MAX || a.pe != b.pe)
		return WITHIN_SYS;
	return a.grid == b.grid && a.block == b.block ? WITHIN_CTA : WITHIN_GPU;
}

static int scope_of(int access)
{
	if (access & SHMEMSIM_SCOPE_CTA)
		return WITHIN_CTA;
	return access & SHMEMSIM_SCOPE_GPU ? WITHIN_GPU : WITHIN_SYS;
}

static int kind_of(int access)
{
	return access & 0xff;
}

/* Words and bytes */

static uint8_t bytes_at(const void *p, uint32_t nbytes)
{
	return (uint8_t)(((1u << nbytes) - 1) << ((uintptr_t)p & 7));
}

static void see(shmemsimi_fiber_t *f, const shmemsimi_cell_t *c, uint8_t bytes, uint32_t time)
{
	if (bytes & 0x0f)
		shmemsimi_view_set(&f->sight.current, 2 * c->index, time);
	if (bytes & 0xf0)
		shmemsimi_view_set(&f->sight.current, 2 * c->index + 1, time);
}

static uint32_t oldest_time(const shmemsimi_fiber_t *f, const shmemsimi_cell_t *c, uint8_t bytes)
{
	uint32_t low = 0, high = 0;
	if (bytes & 0x0f)
		low = shmemsimi_view_get(f->sight.current, 2 * c->index);
	if (bytes & 0xf0)
		high = shmemsimi_view_get(f->sight.current, 2 * c->index + 1);
	return low > high ? low : high;
}

/* Load up to 8 bytes of one cell, at their positions in the cell. */
static uint64_t load_in_place(const void *p, uint32_t nbytes)
{
	uint64_t v = 0;
	shmemsimi_copy((char *)&v + ((uintptr_t)p & 7), p, nbytes);
	return v;
}

/* Words without a cell pass on no order. A load could therefore read an older value of a word with
 * a cell although a word without one has ordered the newer value: from the first word without a
 * cell on, all loads read the newest values. */
static void run_without_old_values(void)
{
	if (is_full)
		return;
	is_full = true;
	if (!was_full_told)
		fprintf(stderr,
			"shmem_sim: weak memory: the run accesses more than 64 KiB of different "
			"words: from here on loads read the newest values. Use less memory, and "
			"SHMEMH_IB_DEPTH=64\n");
	was_full_told = true;
}

static shmemsimi_cell_t *refreshed(const void *p, uint32_t nbytes)
{
	shmemsimi_cell_t *c = shmemsimi_cell_make(p, 0);
	if (c)
		shmemsimi_cell_refresh(c, bytes_at(p, nbytes), load_in_place(p, nbytes));
	else
		run_without_old_values();
	return c;
}

/* Loads */

/* If all fibers only poll, loads return the newest value: old values would not end a wait. */
static bool is_forced(void)
{
	return is_full || shmemsimi_w.idle_polls || shmemsimi_w.idle_step;
}

/* Collect the writes that are not older than those in the fiber's view, the newest first. */
static unsigned readable(const shmemsimi_cell_t *c, uint8_t bytes, uint32_t oldest,
			 const shmemsimi_write_t *from[SHMEMSIMI_N_WRITES])
{
	unsigned n = 0;
	for (uint32_t i = c->n; i-- > 0;) {
		const shmemsimi_write_t *w = &c->writes[i];
		if (!(w->bytes & bytes))
			continue;
		from[n++] = w;
		if (w->time <= oldest)
			break;
	}
	if (!n)
		from[n++] = &c->writes[0]; /* the write was not instrumented */
	return n;
}

static void fail_unordered(const void *p, const shmemsimi_write_t *newest,
			   const shmemsimi_write_t *older)
{
	unsigned shift = 8 * ((uintptr_t)p & 7);
	char place[96];
	shmemsimi_place_text(p, place, sizeof(place));
	shmemsim_fail("%s: no fence makes the newest value 0x%llx the only one that may be read; "
		      "0x%llx may be, too",
		      place, (unsigned long long)(newest->value >> shift),
		      (unsigned long long)(older->value >> shift));
}

static const shmemsimi_write_t *choose(const shmemsimi_fiber_t *f, const shmemsimi_cell_t *c,
				       const void *p, uint8_t bytes, int access)
{
	const shmemsimi_write_t *from[SHMEMSIMI_N_WRITES];
	unsigned n = readable(c, bytes, oldest_time(f, c, bytes), from);
	if (access & SHMEMSIM_ORDERED && n > 1 && !is_full)
		fail_unordered(p, from[0], from[1]);
	return from[n > 1 && !is_forced() ? shmemsimi_choose_age(n) : 0];
}

static shmemsimi_loaded_t *place_to_remember(shmemsimi_sight_t *s, shmemsimi_loaded_t what)
{
	for (int i = 0; i < SHMEMSIMI_N_LOADED; i++) {
		shmemsimi_loaded_t *l = &s->loaded[i];
		if (l->view && l->cell == what.cell && l->bytes == what.bytes &&
		    l->distance == what.distance)
			return l;
	}
	shmemsimi_loaded_t *l = &s->loaded[s->next_loaded++ % SHMEMSIMI_N_LOADED];
	shmemsimi_view_drop(&l->view);
	*l = what;
	return l;
}

/* A relaxed load followed by an acquire load of the same word acquires the writes that both have
 * read. */
static void remember(shmemsimi_sight_t *s, uint32_t cell, const shmemsimi_write_t *w, int d)
{
	shmemsimi_loaded_t what = {cell, w->bytes, (uint8_t)d, NULL};
	shmemsimi_view_join(&place_to_remember(s, what)->view, w->views[d]);
}

static void recall(shmemsimi_sight_t *s, uint32_t cell, uint8_t bytes, int scope)
{
	for (int i = 0; i < SHMEMSIMI_N_LOADED; i++) {
		const shmemsimi_loaded_t *l = &s->loaded[i];
		if (l->view && l->cell == cell && l->bytes & bytes && l->distance <= scope)
			shmemsimi_view_join(&s->current, l->view);
	}
}

static int distance_to(const shmemsimi_fiber_t *f, const shmemsimi_write_t *w)
{
	return w->is_merged ? WITHIN_CTA : distance(place_of(f), w->place);
}

/* Returns whether w is morally strong with an access of this scope at this distance. */
static bool is_ordered(const shmemsimi_write_t *w, int d, int scope)
{
	return w->strong && w->scope >= d && scope >= d;
}

/* f has read these bytes of c from w by a strong access. Only a strong read adds w to the view of f
 * and to views that synchronise with f: in a race, later ordinary loads may return an older value.
 */
static void receive(shmemsimi_fiber_t *f, const shmemsimi_cell_t *c, uint8_t bytes,
		    const shmemsimi_write_t *w, int access)
{
	int d = distance_to(f, w), scope = scope_of(access);
	int is_acquire = kind_of(access) == SHMEMSIM_LD_ACQUIRE;
	if (is_acquire)
		recall(&f->sight, c->index, w->bytes, scope);
	if (!is_ordered(w, d, scope))
		return;
	see(f, c, bytes, w->time);
	if (!w->views[d])
		return;
	if (is_acquire) {
		shmemsimi_view_join(&f->sight.current, w->views[d]);
	} else {
		shmemsimi_view_join(&f->sight.pending[d], w->views[d]);
		remember(&f->sight, c->index, w, d);
	}
}

static int load_cell(shmemsimi_fiber_t *f, const void *p, uint32_t nbytes, int access, void *value)
{
	uint8_t bytes = bytes_at(p, nbytes);
	shmemsimi_cell_t *c = refreshed(p, nbytes);
	if (!c) {
		shmemsimi_copy(value, p, nbytes);
		return SHMEMSIM_GIVEN;
	}
	const shmemsimi_write_t *w = choose(f, c, p, bytes, access);
	if (kind_of(access) != SHMEMSIM_LD_DATA)
		receive(f, c, bytes, w, access);
	shmemsimi_copy(value, (const char *)&w->value + ((uintptr_t)p & 7), nbytes);
	if (shmemsimi_w.cfg.trace)
		shmemsimi_trace_read(w->value >> 8 * ((uintptr_t)p & 7));
	return SHMEMSIM_GIVEN;
}

/* Stores */

/* Compare grids too: the memory of a fiber that has ended may belong to a fiber of a later grid. */
static bool is_same_thread(shmemsimi_place_t a, shmemsimi_place_t b)
{
	return a.fiber == b.fiber && a.grid == b.grid;
}

/* A release operation on a word also covers the thread's later strong writes to it. */
static void inherit_own(const shmemsimi_cell_t *c, shmemsimi_write_t *w)
{
	for (uint32_t i = c->n - 1u; i-- > 0;) {
		const shmemsimi_write_t *o = &c->writes[i];
		int is_own = o->is_merged || is_same_thread(o->place, w->place);
		if (!o->strong || o->is_rmw || !(o->bytes & w->bytes) || !is_own)
			continue;
		for (int d = 0; d < N_DISTANCES; d++)
			shmemsimi_view_join(&w->views[d], o->views[d]);
		return;
	}
}

static shmemsimi_write_t *append(shmemsimi_fiber_t *f, shmemsimi_cell_t *c, uint8_t bytes,
				 uint64_t value, int access)
{
	shmemsimi_write_t *w = shmemsimi_cell_write(c, bytes, value, clock_of_writes);
	w->place = place_of(f);
	w->scope = (uint8_t)scope_of(access);
	w->strong = kind_of(access) != SHMEMSIM_ST_DATA;
	for (int d = 0; w->strong && d < N_DISTANCES; d++)
		w->views[d] =
			shmemsimi_view_ref(kind_of(access) == SHMEMSIM_ST_RELEASE && d <= w->scope
						   ? f->sight.current
						   : f->sight.release[d]);
	if (w->strong)
		inherit_own(c, w);
	see(f, c, bytes, clock_of_writes);
	return w;
}

static void store_cell(shmemsimi_fiber_t *f, const void *p, uint32_t nbytes, int access,
		       const void *value)
{
	uint64_t v = 0;
	shmemsimi_cell_t *c = refreshed(p, nbytes);
	shmemsimi_copy((char *)&v + ((uintptr_t)p & 7), value, nbytes);
	if (c)
		(void)append(f, c, bytes_at(p, nbytes), v, access);
}

/* A read-modify-write reads the newest write and passes on the views that this write released
 * (release sequence). from: the distance of that write; threads nearer than that get the view
 * for this distance. */
static void inherit_read(shmemsimi_write_t *w, shmemsimi_view_t *const *read_views, int from)
{
	for (int d = 0; d < N_DISTANCES; d++)
		shmemsimi_view_join(&w->views[d], read_views[d < from ? from : d]);
}

void shmemsim_updated(const void *p, uint32_t nbytes, int access, int is_written)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	shmemsimi_view_t *views[N_DISTANCES] = {NULL};
	shmemsimi_cell_t *c = is_on() && !is_own_stack(f, p) ? shmemsimi_cell_find(p) : NULL;
	if (!c)
		return;
	uint8_t bytes = bytes_at(p, nbytes);
	const shmemsimi_write_t *read = &c->writes[c->n - 1];
	while (read > c->writes && !(read->bytes & bytes))
		read--;
	int from = distance_to(f, read), has_sequence = is_ordered(read, from, scope_of(access));
	receive(f, c, bytes, read, access);
	if (!is_written)
		return;
	for (int d = 0; has_sequence && d < N_DISTANCES; d++)
		views[d] = shmemsimi_view_ref(read->views[d]);
	clock_of_writes++;
	shmemsimi_write_t *w = append(f, c, bytes, load_in_place(p, nbytes), access);
	w->is_rmw = 1;
	inherit_read(w, views, from);
	for (int d = 0; d < N_DISTANCES; d++)
		shmemsimi_view_drop(&views[d]);
}

/* Fences */

/* The view of the fences of the fiber's block, GPU or system; NULL: the fiber is not part of
 * one. */
static shmemsimi_view_t **sc_view(shmemsimi_fiber_t *f, int d)
{
	if (d == WITHIN_SYS)
		return &sc_sys;
	if (f->kind != KIND_LANE)
		return NULL;
	return d == WITHIN_GPU ? &sc_gpu[f->pe] : &f->block->sc;
}

static void fence(shmemsimi_fiber_t *f, int scope, int kind)
{
	shmemsimi_sight_t *s = &f->sight;
	int is_sc = kind == SHMEMSIM_FENCE_SC;
	for (int d = 0; d <= scope && kind != SHMEMSIM_FENCE_RELEASE; d++) {
		shmemsimi_view_join(&s->current, s->pending[d]);
		shmemsimi_view_drop(&s->pending[d]);
		if (is_sc && sc_view(f, d))
			shmemsimi_view_join(&s->current, *sc_view(f, d));
	}
	for (int d = 0; d <= scope && kind != SHMEMSIM_FENCE_ACQUIRE; d++) {
		shmemsimi_view_copy(&s->release[d], s->current);
		if (is_sc && sc_view(f, d))
			shmemsimi_view_join(sc_view(f, d), s->current);
	}
}

int shmemsimi_weak_access(const void *p, uint32_t nbytes, int access, void *value)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	int kind = kind_of(access), how = 0;
	if (!is_on())
		return 0;
	if (kind >= SHMEMSIM_FENCE) {
		fence(f, scope_of(access), kind);
		return 0;
	}
	if (is_own_stack(f, p))
		return 0;
	if (kind <= SHMEMSIM_LD_ACQUIRE && &__asan_loadN != NULL)
		__asan_loadN((uintptr_t)p, nbytes);
	if (kind == SHMEMSIM_RMW) {
		(void)refreshed(p, nbytes);
		return 0;
	}
	clock_of_writes += kind >= SHMEMSIM_ST_DATA;
	for (uint32_t at = 0; at < nbytes; at += 8) {
		uint32_t n = nbytes - at < 8 ? nbytes - at : 8;
		if (kind >= SHMEMSIM_ST_DATA)
			store_cell(f, (const char *)p + at, n, access, (char *)value + at);
		else
			how = load_cell(f, (const char *)p + at, n, access, (char *)value + at);
	}
	return how;
}

/* Synchronisation by the emulator itself: barriers, launches, ends, gathers. */

void shmemsimi_weak_leave(shmemsimi_fiber_t *f)
{
	shmemsimi_view_drop(&f->sight.current);
	for (int d = 0; d < N_DISTANCES; d++) {
		shmemsimi_view_drop(&f->sight.release[d]);
		shmemsimi_view_drop(&f->sight.pending[d]);
	}
	for (int i = 0; i < SHMEMSIMI_N_LOADED; i++)
		shmemsimi_view_drop(&f->sight.loaded[i].view);
}

void shmemsimi_weak_gather(shmemsimi_view_t **all, const shmemsimi_fiber_t *f)
{
	shmemsimi_view_join(all, f->sight.current);
}

/* A barrier orders the accesses of its threads. It does not make a later store a release. */
void shmemsimi_weak_spread(shmemsimi_view_t *all, shmemsimi_fiber_t *f)
{
	shmemsimi_view_copy(&f->sight.current, all);
}

void shmemsimi_weak_release(void *obj)
{
	const shmemsimi_fiber_t *f = shmemsimi_w.current;
	if (!is_on() || !f->sight.current)
		return;
	shmemsimi_cell_t *c = shmemsimi_cell_make(obj, 1);
	if (c)
		shmemsimi_view_join(&c->edge, f->sight.current);
	else
		shmemsim_fail("weak memory: more launches at a time than the emulator follows");
}

void shmemsimi_weak_acquire(void *obj)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	const shmemsimi_cell_t *c =
		is_on() && f->kind != KIND_MAIN ? shmemsimi_cell_find(obj) : NULL;
	if (c)
		shmemsimi_view_join(&f->sight.current, c->edge);
}

void shmemsimi_weak_forget(const void *mem, size_t nbytes)
{
	if (is_on())
		shmemsimi_cells_forget(mem, nbytes);
}
