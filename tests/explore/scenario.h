/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Scenarios: small programs of the device API that check what it promises, one schedule at a time.
 * Every executable compiles their sources itself, so that it can compile them differently. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <shmem_sim.h>

struct scenario;

/* What PEs, memory and channels a scenario runs on. */
typedef struct scenario_world {
	int (*draw)(const struct scenario *s); /* by scenario_draw; returns how many PEs */
	int (*set_up)(int pe, int is_traced);  /* by each PE's host, anew for each schedule */
	int (*launch)(int pe);                 /* once all are set up */
	const char *(*trouble)(void); /* after a run that went well: why it is bad, or NULL */
	void (*describe)(char *text, size_t nbytes); /* what was drawn */
} scenario_world_t;

typedef struct scenario {
	const char *name;
	void (*kernel)(const void *params); /* run by each PE; params: the world's */
	const char *const *variants;   /* names of what dims_t.variant counts; NULL ends them */
	void (*agent)(void);           /* a fiber beside the PEs, or NULL */
	void (*look)(void);            /* by PE 0's host at the end, or NULL */
	const scenario_world_t *world; /* NULL: all memory is mapped (memory.h) */
	void (*plan)(void);            /* changes what the world has drawn, or NULL */
} scenario_t;

extern const scenario_t explore_scenarios[];
extern const int n_explore_scenarios;

/* One of 0 .. n-1, by the seed alone. Not shmemsim_choose: shrinking takes choices away, and the
 * dimensions stay. */
uint32_t scenario_draw(uint32_t n);

uint32_t scenario_n_variants(const scenario_t *s);

/* One schedule. cfg->seed decides everything: scope, PEs, variant, where counters start, policy,
 * convergence of warps. Of the rest of cfg only weak and trace count; trace != 0: a schedule that
 * fails is shrunk, and the report ends with so many operations.
 * Returns 0, or 1: it broke a promise; scenario_report() tells. */
int scenario_run(const scenario_t *s, const shmemsim_config_t *cfg);

/* Text on the last schedule: its dimensions in words, then shmemsim_report(). */
const char *scenario_report(void);

#endif
