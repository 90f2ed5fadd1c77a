/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Random schedules. At some accesses a fiber is drawn: three candidates, of which the one with the
 * highest priority continues. How many accesses is drawn for each schedule, since mistakes differ:
 * some need a fiber to be suspended for long, others need many switches. Priorities are also
 * random, so that some fibers are fast and others stay suspended. At a wait all fibers are equally
 * likely. */
#include "sim/sim.h"

#define N_CANDIDATES 3

/* The numbers of accesses between those at which a fiber is drawn, by quantiles, so that each of
 * them takes one random number. */
typedef struct gaps {
	uint32_t per_256; /* accesses at which a fiber is drawn */
	uint32_t is_made;
	uint16_t lengths[256]; /* by eight random bits */
} gaps_t;

static gaps_t drawn[] = {{.per_256 = 8}, {.per_256 = 16}, {.per_256 = 32}};
static gaps_t configured;
static gaps_t *gaps;

static void make_gaps(gaps_t *g)
{
	double stay = 1 - g->per_256 / 256.0, left = 1; /* left: probability of a longer gap */
	uint32_t n = 0;
	for (int i = 0; i < 256; i++) {
		for (; n < UINT16_MAX && left * stay > 1 - (i + 0.5) / 256; n++)
			left *= stay;
		g->lengths[i] = (uint16_t)n;
	}
	g->is_made = 1;
}

uint32_t shmemsimi_random_data(uint32_t n)
{
	return (uint32_t)((shmemsimi_draw() & UINT32_MAX) * n >> 32);
}

static void draw_gap(void)
{
	shmemsimi_w.gap = gaps->lengths[shmemsimi_draw() & 255];
}

void shmemsimi_random_begin(void)
{
	uint32_t per_256 = shmemsimi_w.cfg.switch_per_256;
	if (!per_256) {
		gaps = &drawn[shmemsimi_random_data(sizeof(drawn) / sizeof(drawn[0]))];
	} else {
		gaps = &configured;
		gaps->is_made &= gaps->per_256 == per_256;
		gaps->per_256 = per_256;
	}
	if (!gaps->is_made)
		make_gaps(gaps);
	draw_gap();
}

uint32_t shmemsimi_random_access(uint32_t n, uint32_t weight)
{
	shmemsimi_fiber_t *const *fibers = shmemsimi_w.run.fibers;
	uint32_t pos = shmemsimi_w.current->pos, best = shmemsimi_random_data(n);
	(void)weight;
	draw_gap();
	for (int i = 1; i < N_CANDIDATES; i++) {
		uint32_t other = shmemsimi_random_data(n);
		if (shmemsimi_priority(fibers[(pos + other) % n]) >
		    shmemsimi_priority(fibers[(pos + best) % n]))
			best = other;
	}
	return best;
}

uint32_t shmemsimi_random_wait(uint32_t n, uint32_t first)
{
	(void)first;
	return shmemsimi_random_data(n);
}
