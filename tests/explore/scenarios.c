/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <stddef.h>
#include "kernels.h"
#include "scenario.h"

const scenario_t explore_scenarios[] = {
	{"put_signal", put_signal, put_signal_variants, NULL, NULL},
	{"signal_op", signal_op, signal_op_variants, NULL, NULL},
	{"relay", relay, relay_variants, NULL, NULL},
	{"order", order, order_variants, NULL, NULL},
	{"quiet", quiet, quiet_variants, NULL, quiet_look},
	{"put", put, put_variants, NULL, NULL},
	{"get", get, get_variants, NULL, NULL},
	{"sync", sync_, sync_variants, NULL, NULL},
	{"barrier", barrier, sync_variants, NULL, NULL},
	{"team_barrier", team_barrier, team_barrier_variants, NULL, quiet_look},
	{"amo_u32", amo_u32, amo_variants, NULL, amo_u32_look},
	{"amo_u64", amo_u64, amo_variants, NULL, amo_u64_look},
	{"amo_fetch_u32", amo_fetch_u32, amo_fetch_variants, NULL, amo_fetch_u32_look},
	{"amo_fetch_u64", amo_fetch_u64, amo_fetch_variants, NULL, amo_fetch_u64_look},
	{"gone", gone, gone_variants, gone_agent, NULL},
	{"failed_cause", failed_cause, failed_cause_variants, gone_agent, NULL},
	{"latch", latch, latch_variants, latch_agent, latch_look},
	{"mismatch", mismatch, mismatch_variants, NULL, NULL},
};

const int n_explore_scenarios = sizeof(explore_scenarios) / sizeof(explore_scenarios[0]);
