/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* As ring_failover, with the fault before a given operation of the run (fault.h). */
#include "fault.h"
#include "hosts.h"
#include "kernels.h"

ring_fault_t ring_fault_wanted = {0, FAULT_ALL, N_FAULT_KINDS, 400, 0};
ring_fault_seen_t ring_fault_seen;

void ring_fault_plan(void)
{
	ring_dims.variant = ring_fault_wanted.variant;
	ring_failover_plan();
	ring_dims.plan.by_host = 0; /* its proxy keeps the clock from jumping */
}

static void inject(int kind)
{
	static const char *const lines[] = {
		[FAULT_ACKS] = "drop packet kind=ack",
		[FAULT_RESPONSES] = "drop packet kind=response",
		[FAULT_ALL] = "drop packet",
		[FAULT_HELD] = "hold packet kind=request",
		[FAULT_WQE] = "fail wqe syndrome=0x15 vendor=0x81 n=1",
	};

	for (int end = 0; end < 2; end++)
		ring_fault_seen.hits[kind][rig_hosts_phase(end)]++;
	if (kind <= FAULT_WQE)
		rig_control("%s", lines[kind]);
	else if (kind <= FAULT_STOP_PEER)
		rig_hosts_stop(kind == FAULT_STOP_PEER);
	else
		rig_hosts_fault(kind == FAULT_EVENT_PEER);
}

static void step(uint32_t n)
{
	const uint32_t path = rig_hosts_path();

	if (n % 32 == 31)
		rig_control("release packets");
	rig_hosts_step();
	if (rig_hosts_path() != path)
		rig_control("clear rules");
	shmemd_arch_spin_hint();
}

void ring_fault_agent(void)
{
	const ring_fault_t f = ring_fault_wanted;
	int second = f.second, is_hit;

	ring_switch_begin();
	ring_fault_seen.n_steps = shmemsim_await_step(f.step);
	is_hit = f.kind != N_FAULT_KINDS && !ring_switch_is_over();
	rig_hosts_open(0, ring_dims.target, 0);
	if (is_hit)
		inject(f.kind);
	for (uint32_t n = 0; !ring_switch_is_over() || !rig_hosts_are_idle(); n++) {
		if (is_hit && second != N_FAULT_KINDS && n >= f.second_step) {
			inject(second);
			second = N_FAULT_KINDS;
		}
		step(n);
	}
	rig_control("release packets");
	rig_control("clear rules");
	ring_switch_end(rig_hosts_orders(0));
}
