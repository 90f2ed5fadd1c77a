/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A kernel and a host that alternate, for tests of orders to switch a channel. */
#ifndef RING_STEPS_H
#define RING_STEPS_H

#include <shmem_dev/shmem_dev.h>
#include "paths.h"
#include "run.h"

enum { TARGET, SOURCE, RESULT, END };

static uint32_t step; /* number of steps that kernel and host have completed, in alternation */

static inline void reach(uint32_t n)
{
	shmemd_arch_st_release_u32(&step, n);
}

static inline void await_step(uint32_t n)
{
	while (shmemd_arch_ld_acquire_u32(&step) < n)
		shmemd_arch_spin_hint();
}

static inline void made(int pe)
{
	(void)pe;
	step = 0;
	for (uint32_t i = 0; i < 64; i++)
		word_of(&rig_pes[1].ctx, SOURCE)[i] = 700 + i;
}

/* A service kernel of the host, for when no thread waits for space or completions. */
static inline void serve(const rig_params_t *p)
{
	while (!shmemd_arch_ld_acquire_u64(word_of(&p->ctx, END))) {
		(void)shmemdi_service_once(&p->ctx);
		shmemd_arch_spin_hint();
	}
}

static inline void end_service(void)
{
	for (int pe = 0; pe < 2; pe++)
		shmemd_arch_st_release_u64(word_of(&rig_pes[pe].ctx, END), 1);
}

static inline rig_test_t order_test(void (*kernel)(const void *params), void (*host)(int pe))
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = kernel,
			.n_blocks = 1,
			.n_threads = 1,
			.made = made,
			.host = host};

	t.plan.has_paths = 1;
	return t;
}

static inline void run_starts(rig_test_t t)
{
	for (unsigned start = 0; start < N_STARTS; start++) {
		start_below(&t.plan, start);
		run_once(&t);
	}
}

#endif
