/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Directed runs of two agents over the model of fault_agents.h. */
#ifndef TESTS_FAULT_PAIR_H
#define TESTS_FAULT_PAIR_H

#include "fault_agents.h"

static void fail_link(int a, int b, uint32_t k)
{
	const uint32_t path = path_in_use(a, b, k);
	pair_t *pair = pair_of(a, b, k);

	pair->is_faulted[path] = pair->is_down[path] = 1;
	/* One end may notice it only by the other's FENCE. */
	if (draw(3) == 0 && channel_of(b, a, k)->machine.phase == SHMEMHI_RUNNING)
		end_of(a, b, k)->reported[path] |= REPORTED_FAULT;
}

/* All channels of two PEs end together. */
static void may_give_up(int a, int b)
{
	for (uint32_t k = 0; k < n_channels; k++)
		end_of(a, b, k)->may_be_peer = end_of(b, a, k)->may_be_peer = 1;
}

/* Two PEs, no delays. */
static void set_up_pair(void)
{
	set_up(run_seed + 1);
	while (n_pes != 2) {
		close_hosts();
		set_up(run_seed + 1);
	}
	is_settling = 1;
}

static void steps(int n)
{
	for (int i = 0; i < n; i++)
		for (int pe = 0; pe < 2; pe++) {
			model_now += SHMEMHI_MS;
			step(pe);
		}
}

/* Actions of one kind that are never done, of PE 0. */

static int stuck_kind;

static bool stuck_execute(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
			  shmemhi_switch_event_t *result)
{
	return a->kind != stuck_kind && model_execute(self, pe, k, a, result);
}

static const shmemhi_fault_ops_t *stuck_ops_of(void)
{
	static shmemhi_fault_ops_t ops;

	ops = model_ops;
	ops.execute = stuck_execute;
	return &ops;
}

#endif
