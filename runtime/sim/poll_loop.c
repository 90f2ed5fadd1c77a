/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Detection of poll loops without shmemsim_spin: `while (!test(flag));`, a compare-and-swap that is
 * repeated until it succeeds, a loop that only reads the clock.
 *
 * If a fiber repeats the same accesses in the same order while nothing is written, it is parked as
 * by shmemsim_spin. Then other fibers run, and if none of them can write, the run ends as a
 * livelock. A loop that reads other words in each iteration is never parked.
 *
 * The fiber records one address, the anchor, and compares the addresses between two accesses to it.
 * If the anchor is not accessed again within `span` accesses, at most LAST_SPAN, another address
 * becomes the anchor, and the span doubles. A run that polls by longer iterations ends at
 * max_steps. */
#include "sim/sim.h"

#define FIRST_SPAN 32u /* accesses until the anchor moves */
#define LAST_SPAN 65536u
/* Equal iterations until a fiber is parked. The number doubles each time, so that a loop that gives
 * up after 100,000 iterations ends before its run counts as a livelock, which is after
 * LIVELOCK_POLLS times the last number. */
#define FIRST_TURNS 64u
#define LAST_TURNS 1024u
/* Accesses of one fiber until others run: it may poll by iterations that differ or that write. */
#define MAX_ALONE 65536u

static void set_anchor(shmemsimi_poll_detector_t *l, const void *p)
{
	l->anchor = p;
	l->since = 0;
	l->turn = 0;
	l->last_turn = 0;
	l->n_turns = 0;
}

/* Add one access. Returns whether the fiber must be parked. Addresses are only compared for
 * equality, so that a seed gives the same run for any placement of memory. */
static bool is_again(shmemsimi_poll_detector_t *l, const void *p)
{
	if (p != l->anchor) {
		l->turn = (l->turn ^ (uintptr_t)p) * 0x9e3779b97f4a7c15u;
		if (++l->since > l->span) {
			set_anchor(l, p);
			l->span = l->span < LAST_SPAN ? 2 * l->span : LAST_SPAN;
		}
		return false;
	}
	l->n_turns = l->turn == l->last_turn ? l->n_turns + 1 : 0;
	l->last_turn = l->turn;
	l->turn = 0;
	l->since = 0;
	return l->n_turns >= l->max_turns;
}

void shmemsimi_detect_poll(const void *p, const void *call)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *f = w->current;
	shmemsimi_poll_detector_t *l = &f->poll_detector;
	if (f->kind == KIND_MAIN)
		return;
	f->call = call; /* for reports, also if the policy switches at this access */
	shmemsimi_note_writes();
	if (l->epoch != w->epoch || !l->max_turns) {
		l->epoch = w->epoch;
		l->span = FIRST_SPAN;
		l->max_turns = FIRST_TURNS;
		set_anchor(l, p);
	} else if (is_again(l, p)) {
		l->n_turns = 0;
		l->max_turns = l->max_turns < LAST_TURNS ? 2 * l->max_turns : LAST_TURNS;
		shmemsimi_park(call);
		return;
	}
	if (++w->n_alone > MAX_ALONE)
		shmemsimi_yield(call);
}
