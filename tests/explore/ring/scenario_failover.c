/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* ring_switch, with the state machine of the runtime at both ends (hosts.h) in place of a host that
 * does everything at once. Paths fail at any moment, also while one is fenced, opened or ordered;
 * packets of a failed path are lost, or arrive when it is fenced, or the next one is in use. */
#include "hosts.h"
#include "kernels.h"
#include "paths.h"

#define N_FAULTS 4u /* at most */

static uint32_t n_faults;

void ring_failover_plan(void)
{
	ring_switch_plan();
	ring_dims.target = ring_dims.plan.n_pes - 1; /* a channel with two ends */
	if (scenario_draw(2))
		ring_switch_both_ways();
	n_faults = 1 + scenario_draw(N_FAULTS);
	/* A poster that waits for space keeps memory of earlier paths from being used again, and
	 * none may make progress until the faults are over. */
	ring_dims.plan.n_queues = 2 * N_FAULTS + 2;
}

static int has_path(int end)
{
	return rig_hosts_phase(end) >= SHMEMHI_OFFERED && rig_hosts_phase(end) <= SHMEMHI_RUNNING;
}

/* A path fails: packets are lost or held back from now on, or nothing happens to them. One end, or
 * each, notices; each, if one of them may have left the path already. */
static void fail_path(void)
{
	static const char *const losses[] = {"drop packet kind=ack", "drop packet kind=response",
					     "drop packet", "hold packet kind=request"};
	const unsigned loss = shmemsim_choose(5);
	unsigned end;

	if (loss)
		rig_control("%s", losses[loss - 1]);
	for (unsigned n = shmemsim_choose(120); n > 0; n--)
		shmemsim_yield();
	end = has_path(0) && has_path(1) ? shmemsim_choose(3) : 2;
	if (end != 1)
		rig_hosts_fault(0);
	if (end != 0)
		rig_hosts_fault(1);
}

/* A step of the hosts. The next path loses nothing: without a loss no test has to wait for the
 * requester's time limit. */
static void step(void)
{
	const uint32_t path = rig_hosts_path();

	rig_hosts_step();
	if (rig_hosts_path() != path)
		rig_control("clear rules");
}

void ring_failover_agent(void)
{
	uint32_t n_left = n_faults;

	ring_switch_begin();
	rig_hosts_open(0, ring_dims.target, 0);
	while (n_left || !rig_hosts_are_idle()) {
		if (n_left && rig_hosts_phase(0) != SHMEMHI_PREPARING &&
		    rig_hosts_phase(1) != SHMEMHI_PREPARING &&
		    shmemsim_choose(n_left == n_faults ? 60 : 30) == 0) {
			fail_path();
			n_left--;
		}
		if (shmemsim_choose(20) == 0)
			rig_control("release packets");
		step();
		shmemd_arch_spin_hint(); /* others come first: the step may wait for them */
	}
	rig_control("release packets");
	rig_control("clear rules");
	ring_switch_end(rig_hosts_orders(0));
}
