/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* ring_switch, with the state machine of the runtime at both ends (hosts.h) in place of a host that
 * does everything at once. Paths fail at any moment, also while one is fenced, opened or ordered;
 * packets of a failed path are lost, or arrive when it is fenced, or the next one is in use.
 * Threads find that a queue pair has used up its retries, has failed at a WQE or was stopped, and
 * report it. Only an event of a port comes from elsewhere. */
#include "hosts.h"
#include "kernels.h"
#include "paths.h"

#define N_FAULTS 4u /* at most */

/* Steps after which a fault comes in any case. Threads that have nothing left to do but to wait for
 * it write nothing, and a run without a write for some 500 rounds counts as a livelock. */
#define N_STEPS 200u

static uint32_t n_faults;

void ring_failover_plan(void)
{
	ring_switch_plan();
	ring_dims.target = ring_dims.plan.n_pes - 1; /* a channel with two ends */
	if (scenario_draw(2))
		ring_switch_both_ways();
	/* Retransmissions that are cut by a fence would leave old data, if the responder wrote the
	 * data of a repeated WRITE again. No order of steps can mend that (tests/faults). */
	ring_dims.plan.nic.chaos &= ~MLX5SW_CHAOS_DUP_WRITE;
	n_faults = 1 + scenario_draw(N_FAULTS);
	/* A poster that waits for space keeps memory of earlier paths from being used again, and
	 * none may make progress until the faults are over. */
	ring_dims.plan.n_queues = 2 * N_FAULTS + 2;
}

static int has_path(int end)
{
	return rig_hosts_phase(end) >= SHMEMHI_OFFERED && rig_hosts_phase(end) <= SHMEMHI_RUNNING;
}

/* A port fails: packets may be lost or held back before. One end, or each, gets the event; each, if
 * one of them may have left the path already. */
static void fail_port(void)
{
	unsigned end;

	for (unsigned n = shmemsim_choose(120); n > 0; n--)
		shmemsim_yield();
	end = has_path(0) && has_path(1) ? shmemsim_choose(3) : 2;
	if (end != 1)
		rig_hosts_fault(0);
	if (end != 0)
		rig_hosts_fault(1);
}

/* A path fails. What its threads can find is left to them: packets that are lost or held back until
 * the retries are used up, a WQE that fails, a queue pair that is stopped. With a proxy, which
 * takes a lock again and again, the clock does not jump, and retries would take too long. */
static void fail_path(void)
{
	static const char *const losses[] = {"drop packet kind=ack", "drop packet kind=response",
					     "drop packet", "hold packet kind=request",
					     "fail wqe syndrome=0x15 vendor=0x81 n=1"};
	const unsigned loss = shmemsim_choose(7);
	const int is_event =
		ring_dims.plan.by_host || ring_switch_awaits_order() || shmemsim_choose(3) == 0;

	if (loss < 5)
		rig_control("%s", losses[loss]);
	else if (loss == 5)
		rig_stop(rig_channel(0, ring_dims.target, 0));
	if (is_event || loss == 6)
		fail_port();
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
	uint32_t n_left = n_faults, n_steps = 0;

	ring_switch_begin();
	rig_hosts_open(0, ring_dims.target, 0);
	while (n_left || !rig_hosts_are_idle() || !ring_switch_is_over()) {
		if (n_left && rig_hosts_phase(0) != SHMEMHI_PREPARING &&
		    rig_hosts_phase(1) != SHMEMHI_PREPARING &&
		    (shmemsim_choose(n_left == n_faults ? 60 : 30) == 0 || n_steps++ == N_STEPS)) {
			fail_path();
			n_left--;
			n_steps = 0;
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
