/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Scenarios: small programs of the device API that check its guarantees, one schedule at a time.
 * Every executable compiles their sources itself, so that it can compile them differently. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <shmem_sim.h>

struct scenario;

/* The PEs, memory and channels of a scenario. */
typedef struct scenario_world {
	/* draws by scenario_draw; returns the number of PEs */
	int (*draw)(const struct scenario *s);
	int (*set_up)(int pe, int is_traced); /* by each PE's host, again for each schedule */
	int (*launch)(int pe);                /* after all PEs are set up */
	const char *(*trouble)(void); /* after a successful run: a reason why it failed, or NULL */
	void (*describe)(char *text, size_t nbytes); /* the dimensions that were drawn */
} scenario_world_t;

typedef struct scenario {
	const char *name;
	void (*kernel)(const void *params); /* run by each PE; params: the world's */
	const char *const *variants;   /* names of the values of dims_t.variant; NULL ends them */
	void (*agent)(void);           /* a fiber beside the PEs, or NULL */
	void (*final_check)(void);     /* a check by PE 0's host at the end, or NULL */
	const scenario_world_t *world; /* NULL: all memory is mapped (memory.h) */
	void (*plan)(void);            /* changes the dimensions that were drawn, or NULL */
} scenario_t;

extern const scenario_t explore_scenarios[];
extern const int n_explore_scenarios;

/* One of 0 .. n-1, a function of the seed only. shmemsim_choose is not used, because shrinking
 * removes choices, but must keep the dimensions. */
uint32_t scenario_draw(uint32_t n);

uint32_t scenario_n_variants(const scenario_t *s);

/* Run one schedule. cfg->seed determines everything: scope, PEs, variant, start of counters,
 * policy, convergence of warps. Of the other fields only weak and trace are used; trace != 0: a
 * schedule that fails is shrunk, and the report ends with so many operations. Returns 0, or 1: a
 * check failed; scenario_report() has the reason. */
int scenario_run(const scenario_t *s, const shmemsim_config_t *cfg);

/* Report of the last schedule: its dimensions as text, then shmemsim_report(). */
const char *scenario_report(void);

#endif
