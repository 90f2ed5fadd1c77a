/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Warp collectives.
 *
 * Lanes meet per (warp, mask): some lanes may already wait in a syncwarp of all 32 while others
 * are still in a shuffle of 16. Lanes that have exited count as arrived. */
#include <string.h>
#include "sim/sim.h"

static const char *const names[] = {
	[SHMEMSIM_SYNCWARP] = "syncwarp",     [SHMEMSIM_SHFL] = "shuffle",
	[SHMEMSIM_SHFL_UP] = "shuffle up",    [SHMEMSIM_SHFL_DOWN] = "shuffle down",
	[SHMEMSIM_SHFL_XOR] = "shuffle xor",  [SHMEMSIM_BALLOT] = "ballot",
	[SHMEMSIM_MATCH_ANY] = "match any",   [SHMEMSIM_MATCH_ALL] = "match all",
	[SHMEMSIM_REDUCE_ADD] = "reduce add", [SHMEMSIM_REDUCE_MIN] = "reduce min",
	[SHMEMSIM_REDUCE_MAX] = "reduce max", [SHMEMSIM_REDUCE_AND] = "reduce and",
	[SHMEMSIM_REDUCE_OR] = "reduce or",   [SHMEMSIM_REDUCE_XOR] = "reduce xor",
};

const char *shmemsimi_coll_name(int coll)
{
	return names[coll];
}

static uint32_t reduce_one(int coll, uint32_t a, uint32_t b)
{
	switch (coll) {
	case SHMEMSIM_REDUCE_ADD:
		return a + b;
	case SHMEMSIM_REDUCE_MIN:
		return a < b ? a : b;
	case SHMEMSIM_REDUCE_MAX:
		return a > b ? a : b;
	case SHMEMSIM_REDUCE_AND:
		return a & b;
	case SHMEMSIM_REDUCE_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static uint64_t reduce(const shmemsimi_warp_t *w, int coll, uint32_t members)
{
	uint32_t first = (uint32_t)__builtin_ctz(members);
	uint32_t sum = (uint32_t)w->lanes[first].in;
	for (uint32_t lane = first + 1; lane < w->n_lanes; lane++)
		if (members >> lane & 1)
			sum = reduce_one(coll, sum, (uint32_t)w->lanes[lane].in);
	return sum;
}

/* The members whose value equals v; for a ballot v is 1. */
static uint32_t lanes_with(const shmemsimi_warp_t *w, uint32_t members, uint64_t v)
{
	uint32_t same = 0;
	for (uint32_t lane = 0; lane < w->n_lanes; lane++)
		if (members >> lane & 1 && w->lanes[lane].in == v)
			same |= 1u << lane;
	return same;
}

/* The lane that f's shuffle reads: f itself if the other one is beyond its segment. */
static uint32_t source_lane(const shmemsimi_fiber_t *f)
{
	uint32_t base = f->lane & ~(f->width - 1), end = base + f->width;
	switch (f->coll) {
	case SHMEMSIM_SHFL:
		return base + (f->arg32 & (f->width - 1));
	case SHMEMSIM_SHFL_UP:
		return f->arg32 > f->lane - base ? f->lane : f->lane - f->arg32;
	case SHMEMSIM_SHFL_DOWN:
		return f->arg32 >= end - f->lane ? f->lane : f->lane + f->arg32;
	default:
		return (f->lane ^ f->arg32) >= end ? f->lane : f->lane ^ f->arg32;
	}
}

static uint64_t shuffle(const shmemsimi_warp_t *w, const shmemsimi_fiber_t *f, uint32_t members)
{
	uint32_t source = source_lane(f);
	if (!(f->mask >> source & 1))
		shmemsim_fail("%s: lane %u reads lane %u, which is not in the mask %08x",
			      names[f->coll], f->lane, source, f->mask);
	else if (!(members >> source & 1))
		shmemsim_fail("%s: lane %u reads lane %u, which has exited", names[f->coll],
			      f->lane, source);
	else
		return w->lanes[source].in;
	return 0;
}

static uint64_t result(const shmemsimi_warp_t *w, const shmemsimi_fiber_t *f, uint32_t members)
{
	switch (f->coll) {
	case SHMEMSIM_SYNCWARP:
		return 0;
	case SHMEMSIM_BALLOT:
		return lanes_with(w, members, 1);
	case SHMEMSIM_MATCH_ANY:
		return lanes_with(w, members, f->in);
	case SHMEMSIM_MATCH_ALL:
		return lanes_with(w, members, f->in) == members ? members : 0;
	case SHMEMSIM_SHFL:
	case SHMEMSIM_SHFL_UP:
	case SHMEMSIM_SHFL_DOWN:
	case SHMEMSIM_SHFL_XOR:
		return shuffle(w, f, members);
	default:
		return reduce(w, f->coll, members);
	}
}

/* syncwarp: merge the views of the lanes, so that each lane has the view of all. */
static void share_views(shmemsimi_warp_t *w, uint32_t members)
{
	shmemsimi_view_t *all = NULL;
	for (uint32_t lane = 0; lane < w->n_lanes; lane++)
		if (members >> lane & 1)
			shmemsimi_weak_gather(&all, &w->lanes[lane]);
	for (uint32_t lane = 0; all && lane < w->n_lanes; lane++)
		if (members >> lane & 1)
			shmemsimi_weak_spread(all, &w->lanes[lane]);
	shmemsimi_view_drop(&all);
}

/* All lanes of the meeting have arrived: compute the results and resume the lanes. */
static void conclude(shmemsimi_warp_t *w, uint32_t i)
{
	uint32_t members = w->meetings[i].arrived;
	for (uint32_t lane = 0; lane < w->n_lanes; lane++)
		if (members >> lane & 1)
			w->lanes[lane].out = result(w, &w->lanes[lane], members);
	if (w->meetings[i].coll == SHMEMSIM_SYNCWARP)
		share_views(w, members);
	w->n_meetings--;
	shmemsimi_copy(&w->meetings[i], &w->meetings[i + 1],
		       (w->n_meetings - i) * sizeof(w->meetings[0]));
	for (uint32_t lane = 0; lane < w->n_lanes; lane++)
		if (members >> lane & 1) {
			w->lanes[lane].done = 1;
			shmemsimi_wake(&w->lanes[lane]);
		}
}

static bool is_complete(const shmemsimi_warp_t *w, const shmemsimi_meeting_t *m)
{
	return (m->mask & w->live & ~m->arrived) == 0;
}

static void check_arguments(const shmemsimi_fiber_t *f, int coll, uint32_t mask, uint32_t width)
{
	if (f->kind != KIND_LANE)
		shmemsim_fail("%s outside of a kernel", names[coll]);
	else if (!(mask >> f->lane & 1))
		shmemsim_fail("%s: lane %u is not in its own mask %08x", names[coll], f->lane,
			      mask);
	else if (!width || width > 32 || (width & (width - 1)))
		shmemsim_fail("%s: width %u is not a power of two up to 32", names[coll], width);
	else if (shmemsimi_w.cfg.flags & SHMEMSIM_STRICT_EXIT && mask & ~f->warp->live)
		shmemsim_fail("%s: mask %08x contains lanes that have exited, only %08x are left",
			      names[coll], mask, f->warp->live);
}

/* Find the meeting of this mask; create it if there is none. */
static uint32_t join(shmemsimi_warp_t *w, const shmemsimi_fiber_t *f)
{
	uint32_t i = 0;
	while (i < w->n_meetings && w->meetings[i].mask != f->mask)
		i++;
	shmemsimi_meeting_t *m = &w->meetings[i];
	if (i == w->n_meetings) {
		w->n_meetings++;
		m->mask = f->mask;
		m->coll = f->coll;
		m->arrived = 0;
	}
	if (m->coll != f->coll)
		shmemsim_fail("divergent warp collectives: lane %u is at %s, others of the same "
			      "mask %08x are at %s",
			      f->lane, names[f->coll], f->mask, names[m->coll]);
	m->arrived |= 1u << f->lane;
	return i;
}

/* Two meetings that wait for each other's lanes will never complete. */
static void check_crossing(const shmemsimi_warp_t *w, uint32_t mine)
{
	const shmemsimi_meeting_t *a = &w->meetings[mine];
	for (uint32_t i = 0; i < w->n_meetings; i++) {
		const shmemsimi_meeting_t *b = &w->meetings[i];
		if (i != mine && (a->arrived & b->mask) && (b->arrived & a->mask))
			shmemsim_fail("divergent warp collectives: %s of mask %08x (there: %08x) "
				      "and %s of mask %08x (there: %08x) wait for each other",
				      names[a->coll], a->mask, a->arrived, names[b->coll], b->mask,
				      b->arrived);
	}
}

uint64_t shmemsim_coll(int coll, uint32_t mask, uint64_t value, uint32_t arg, uint32_t width)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	shmemsimi_warp_t *w = f->warp;
	f->call = __builtin_return_address(0);
	check_arguments(f, coll, mask, width);
	if (!w)
		return 0;
	shmemsimi_step(SHMEMSIM_LD_DATA);
	if (shmemsimi_w.cfg.trace)
		shmemsimi_trace_meet(names[coll], mask);
	f->coll = coll;
	f->mask = mask;
	f->width = width;
	f->arg32 = arg;
	f->in = value;
	f->done = 0;
	/* For thread sanitizer, edges are kept at the lowest lane of the group. Groups with the
	 * same lowest lane are in fact ordered, through that lane. */
	void *edge = &w->lanes[__builtin_ctz(mask)].coll;
	if (coll == SHMEMSIM_SYNCWARP)
		shmemsimi_tsan_release(edge);
	uint32_t mine = join(w, f);
	if (is_complete(w, &w->meetings[mine]))
		conclude(w, mine);
	else
		check_crossing(w, mine);
	if (!f->done)
		shmemsimi_block(WAIT_COLL);
	if (coll == SHMEMSIM_SYNCWARP)
		shmemsimi_tsan_acquire(edge);
	return f->out;
}

/* activemask: lanes that arrive at one site are collected until the set is complete. */

static void close_converging(shmemsimi_warp_t *w, uint32_t i)
{
	uint32_t lanes = w->converging[i].lanes;
	w->n_converging--;
	shmemsimi_copy(&w->converging[i], &w->converging[i + 1],
		       (w->n_converging - i) * sizeof(w->converging[0]));
	for (uint32_t lane = 0; lane < w->n_lanes; lane++)
		if (lanes >> lane & 1) {
			w->lanes[lane].out = lanes;
			w->lanes[lane].done = 1;
			shmemsimi_wake(&w->lanes[lane]);
		}
}

static bool is_same_site(const shmemsimi_converging_t *h, const shmemsimi_fiber_t *f)
{
	if (h->site && f->site)
		return h->site == f->site || strcmp(h->site, f->site) == 0;
	return h->call == f->call;
}

static uint32_t join_converging(shmemsimi_warp_t *w, const shmemsimi_fiber_t *f)
{
	uint32_t i = 0;
	while (i < w->n_converging && !is_same_site(&w->converging[i], f))
		i++;
	shmemsimi_converging_t *h = &w->converging[i];
	if (i == w->n_converging) {
		w->n_converging++;
		h->site = f->site;
		h->call = f->call;
		h->lanes = 0;
	}
	h->lanes |= 1u << f->lane;
	return i;
}

uint32_t shmemsim_activemask(const char *site)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	shmemsimi_warp_t *w = f->warp;
	int mode = shmemsimi_w.cfg.activemask;
	f->call = __builtin_return_address(0);
	if (!w) {
		shmemsim_fail("activemask outside of a kernel");
		return 1;
	}
	shmemsimi_step(SHMEMSIM_LD_DATA);
	if (mode == SHMEMSIM_ACTIVE_SINGLES)
		return 1u << f->lane;
	f->site = site;
	f->done = 0;
	uint32_t i = join_converging(w, f);
	if (w->converging[i].lanes == w->live ||
	    (mode == SHMEMSIM_ACTIVE_RANDOM && shmemsim_choose(3) == 0))
		close_converging(w, i);
	if (!f->done)
		shmemsimi_block(WAIT_ACTIVE);
	return (uint32_t)f->out;
}

void shmemsimi_warp_stalled(shmemsimi_warp_t *w)
{
	if (w->n_converging)
		close_converging(w, 0);
}

void shmemsimi_warp_recheck(shmemsimi_warp_t *w)
{
	for (uint32_t i = 0; i < w->n_meetings;)
		if (is_complete(w, &w->meetings[i]))
			conclude(w, i);
		else
			i++;
}
