/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Probabilistic concurrency testing: fibers get random priorities, and the runnable fiber with the
 * highest one runs. At depth - 1 random accesses the running fiber drops below all others. In the
 * paper's algorithm, a mistake that needs depth ordered accesses is then found with a probability
 * of at least 1 / (fibers * length ^ (depth - 1)); the changes below are not covered by that bound.
 * A fiber that polls also drops to the lowest priority, since it would keep the others from
 * running. An access may count for several, see policy.c.
 *
 * Source  Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs,
 *         ASPLOS 2010 */
#include "sim/sim.h"

#define MAX_CHANGES 31

static uint32_t changes[MAX_CHANGES]; /* accesses at which priorities change, ascending */
static uint32_t n_changes, next_change;
static int64_t bottom; /* lowest priority given out */
static uint64_t starts_seen;

void shmemsimi_pct_begin(void)
{
	const shmemsim_config_t *cfg = &shmemsimi_w.cfg;
	uint32_t n = cfg->depth ? cfg->depth - 1 : 0;
	uint32_t length = cfg->length ? cfg->length : SHMEMSIMI_PCT_LENGTH;
	n_changes = n > MAX_CHANGES ? MAX_CHANGES : n;
	for (uint32_t i = 0; i < n_changes; i++) {
		uint32_t at = (uint32_t)(shmemsimi_draw() % length) + 1, k = i;
		for (; k && changes[k - 1] > at; k--)
			changes[k] = changes[k - 1];
		changes[k] = at;
	}
	next_change = 0;
	bottom = 0;
	starts_seen = 0;
}

int64_t shmemsimi_priority(shmemsimi_fiber_t *f)
{
	if (!f->priority)
		f->priority = (int64_t)(shmemsimi_draw() >> 8) + 1;
	return f->priority;
}

/* Index in the run queue of the fiber with the highest priority. */
static uint32_t highest(uint32_t n)
{
	shmemsimi_fiber_t *const *fibers = shmemsimi_w.run.fibers;
	uint32_t best = 0;
	for (uint32_t i = 0; i < n; i++)
		if (shmemsimi_priority(fibers[i]) > shmemsimi_priority(fibers[best]))
			best = i;
	return best;
}

uint32_t shmemsimi_pct_access(uint32_t n, uint32_t weight)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	int is_same = starts_seen == w->n_starts;
	w->n_points += weight;
	while (next_change < n_changes && changes[next_change] <= w->n_points) {
		w->current->priority = --bottom;
		next_change++;
		is_same = 0;
	}
	if (is_same)
		return 0; /* its priority is still the highest */
	starts_seen = w->n_starts;
	return (highest(n) + n - w->current->pos) % n;
}

uint32_t shmemsimi_pct_wait(uint32_t n, uint32_t first)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->current->wait == WAIT_SPIN || w->current->state == RUNNABLE)
		w->current->priority = --bottom;
	starts_seen = w->n_starts;
	return (highest(n) + n - first) % n;
}
