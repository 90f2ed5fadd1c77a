/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Scenarios: small programs of the device API that check what it promises, one schedule at a time.
 * Every executable compiles their sources itself, so that it can compile them differently. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <shmem_sim.h>

typedef struct scenario {
	const char *name;
	void (*kernel)(
		const void *params); /* run by each PE in one block; params: pe_t, memory.h */
	const char *const *variants; /* names of what dims_t.variant counts; NULL ends them */
	void (*agent)(void);         /* a fiber beside the PEs, or NULL */
	void (*look)(void);          /* by PE 0's host at the end, or NULL */
} scenario_t;

extern const scenario_t explore_scenarios[];
extern const int n_explore_scenarios;

/* One schedule. cfg->seed decides everything: scope, PEs, variant, where counters start, policy,
 * convergence of warps. Of the rest of cfg only weak and trace count; trace != 0: a schedule that
 * fails is shrunk, and the report ends with so many operations.
 * Returns 0, or 1: it broke a promise; scenario_report() tells. */
int scenario_run(const scenario_t *s, const shmemsim_config_t *cfg);

/* Text on the last schedule: its dimensions in words, then shmemsim_report(). */
const char *scenario_report(void);

#endif
