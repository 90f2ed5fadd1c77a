/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <stddef.h>
#include "kernels.h"
#include "scenario.h"
#if EXPLORE_RING
#include "ring/kernels.h"
#endif

const scenario_t explore_scenarios[] = {
	{"put_signal", put_signal, put_signal_variants, NULL, NULL, NULL, NULL},
	{"signal_op", signal_op, signal_op_variants, NULL, NULL, NULL, NULL},
	{"packed", packed, packed_variants, NULL, NULL, NULL, NULL},
	{"relay", relay, relay_variants, NULL, NULL, NULL, NULL},
	{"order", order, order_variants, NULL, NULL, NULL, NULL},
	{"quiet", quiet, quiet_variants, NULL, quiet_final_check, NULL, NULL},
	{"put", put, put_variants, NULL, NULL, NULL, NULL},
	{"get", get, get_variants, NULL, NULL, NULL, NULL},
	{"bulk", bulk, bulk_variants, NULL, NULL, NULL, NULL},
	{"grid", grid, grid_variants, NULL, NULL, NULL, grid_plan},
	{"wait_sets", wait_sets, wait_sets_variants, NULL, NULL, NULL, NULL},
	{"iput", iput, strided_variants, NULL, NULL, NULL, NULL},
	{"iget", iget, strided_variants, NULL, NULL, NULL, NULL},
	{"sync", sync_, sync_variants, NULL, NULL, NULL, NULL},
	{"barrier", barrier, sync_variants, NULL, NULL, NULL, NULL},
	{"team_barrier", team_barrier, team_barrier_variants, NULL, quiet_final_check, NULL, NULL},
	{"amo_u32", amo_u32, amo_variants, NULL, amo_u32_final_check, NULL, NULL},
	{"amo_u64", amo_u64, amo_variants, NULL, amo_u64_final_check, NULL, NULL},
	{"amo_fetch_u32", amo_fetch_u32, amo_fetch_variants, NULL, amo_fetch_u32_final_check, NULL,
	 NULL},
	{"amo_fetch_u64", amo_fetch_u64, amo_fetch_variants, NULL, amo_fetch_u64_final_check, NULL,
	 NULL},
	{"gone", gone, gone_variants, gone_agent, NULL, NULL, NULL},
	{"failed_cause", failed_cause, failed_cause_variants, gone_agent, NULL, NULL, NULL},
	{"latch", latch, latch_variants, latch_agent, latch_final_check, NULL, NULL},
	{"mismatch", mismatch, mismatch_variants, NULL, NULL, NULL, NULL},
	{"orders", orders, orders_variants, orders_agent, orders_final_check, NULL, NULL},
	{"reports", reports, reports_variants, reports_agent, reports_final_check, NULL,
	 reports_plan},
#if EXPLORE_RING
	{"ring_post", ring_post, ring_post_variants, NULL, ring_final_check, &ring_world, NULL},
	{"ring_poll", ring_poll, ring_poll_variants, NULL, NULL, &ring_world, NULL},
	{"ring_flag", ring_flag, ring_flag_variants, NULL, ring_final_check, &ring_world,
	 ring_flag_plan},
	{"ring_signal", ring_signal, ring_signal_variants, NULL, NULL, &ring_world, ring_flag_plan},
	{"ring_later", ring_deferred, ring_later_variants, NULL, NULL, &ring_world, ring_flag_plan},
	{"ring_order", ring_order, ring_order_variants, NULL, NULL, &ring_world, ring_order_plan},
	{"ring_warp", ring_warp, ring_warp_variants, NULL, NULL, &ring_world, ring_warp_plan},
	{"ring_sync", ring_sync, ring_sync_variants, NULL, NULL, &ring_world, ring_sync_plan},
	{"ring_fetch", ring_fetch, ring_fetch_variants, NULL, ring_fetch_final_check, &ring_world,
	 NULL},
	{"ring_late", ring_late, ring_late_variants, ring_late_agent, NULL, &ring_world,
	 ring_late_plan},
	{"ring_fail", ring_fail, ring_fail_variants, ring_fail_agent, ring_fail_final_check,
	 &ring_world, ring_fail_plan},
	{"ring_switch", ring_switch, ring_switch_variants, ring_switch_agent,
	 ring_switch_final_check, &ring_world, ring_switch_plan},
	{"ring_failover", ring_switch, ring_switch_variants, ring_failover_agent,
	 ring_switch_final_check, &ring_world, ring_failover_plan},
	{"ring_fault", ring_switch, ring_switch_variants, ring_fault_agent, ring_switch_final_check,
	 &ring_world, ring_fault_plan},
#endif
};

const int n_explore_scenarios = sizeof(explore_scenarios) / sizeof(explore_scenarios[0]);
