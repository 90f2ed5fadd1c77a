/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "run.h"
#include "sanitized.h"

#include <stdio.h>

/* Without MLX5SW_CHAOS_POISON: a queue keeps its WQEs until they are complete, and their length is
 * read from it. */
#define ALL_CHAOS                                                                                  \
	(MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_FETCH | MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_TEAR |        \
	 MLX5SW_CHAOS_DUP_WRITE | MLX5SW_CHAOS_ATOMIC)
#define HAS_WEAK (!SHMEMDI_CPU_TSAN)
#define SCHEDULES (SANITIZED ? 1u : 3u) /* of each way; the first one is the default schedule */
#define TRACE_LINES 60u
#define MAX_STEPS 40000000u /* at least four times what the longest runs take (test_ring_deep) */

static const rig_test_t *test;

static int gather(void)
{
	const shmemh_boot_t *boot = shmemsim_boot();
	char mine = 0, all[RIG_PES_MAX];

	return boot->allgather(boot->state, &mine, all, sizeof(mine), NULL, 0);
}

static int pe_main(int pe, int n_pes, void *arg)
{
	rig_params_t p;

	(void)arg;
	if (pe == 0 && rig_make(&test->plan))
		return 1;
	if (pe == 0 && test->made)
		test->made(pe);
	if (gather())
		return 1;
	p.ctx = rig_pes[pe].ctx;
	p.pe = pe;
	p.peer = (pe + 1) % n_pes;
	p.arg = test->arg;
	if (shmemsim_launch(test->kernel, &p, sizeof(p), test->n_blocks, test->n_threads, 0, NULL))
		return 1;
	if (test->host)
		test->host(pe);
	if (shmemsim_sync(NULL) || gather())
		return 1;
	if (pe == 0 && test->final_check)
		test->final_check();
	return 0;
}

static int run(const shmemsim_config_t *cfg, const rig_test_t *t)
{
	shmemsim_config_t mine = *cfg;

	mine.max_steps = MAX_STEPS;
	test = t;
	return shmemsim_run(&mine, t->plan.n_pes, pe_main, NULL);
}

/* Run a failed schedule again, shrunk, with a trace. */
static void explain(const shmemsim_config_t *cfg)
{
	shmemsim_config_t again = *cfg;

	if (!again.length)
		again.length = 1000; /* as in shmemsim_run */
	again.max_steps = MAX_STEPS;
	again.trace = TRACE_LINES;
	(void)shmemsim_explore(&again, 1, test->plan.n_pes, pe_main, NULL, NULL);
}

/* Print the error records of the PEs with a failure. */
static void print_records(void)
{
	for (int pe = 0; pe < test->plan.n_pes; pe++) {
		const shmemd_error_t *e = &rig_pes[pe].error;

		if (rig_pes[pe].latch.record)
			print_error(
				"PE %d: status %u, op %u, to PE %d, addr 0x%llx, value 0x%llx\n",
				pe, e->status, e->op, e->pe, (unsigned long long)e->addr,
				(unsigned long long)e->value);
	}
}

static void must_pass(const shmemsim_config_t *cfg, const rig_test_t *t, const char *way)
{
	if (run(cfg, t)) {
		print_records();
		fprintf(stderr, "%s", shmemsim_report());
		explain(cfg);
		fprintf(stderr, "\nthe same, made short:\n%s", shmemsim_report());
		fail_msg("%s, arg %llu, seed %llu", way, (unsigned long long)t->arg,
			 (unsigned long long)cfg->seed);
	}
	if (!t->may_report && mlx5sw_failed())
		fail_msg("%s, seed %llu: %s", way, (unsigned long long)cfg->seed, mlx5sw_report(0));
}

void run_once(const rig_test_t *t)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;

	must_pass(&cfg, t, "round robin");
}

void run_fails(const rig_test_t *t, const char *words)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;

	assert_int_equal(run(&cfg, t), 1);
	if (!strstr(shmemsim_report(), words))
		fail_msg("not in the report: %s\n%s", words, shmemsim_report());
}

/* Bits of indexes, of which the device has 16, most words 32, and `done` 47; comparisons use bit
 * 31. */
void start_below(rig_plan_t *plan, unsigned which)
{
	static const unsigned bits[N_STARTS] = {0, 16, 32, 47, 31, 63};
	static const uint32_t bases[N_STARTS] = {0, 0, 65535, 1, 32768 - 3, 12345};
	static const uint32_t epochs[N_STARTS] = {0, 1, 127, 128, 254, 255};

	plan->first = which ? ((uint64_t)1 << bits[which]) - 3 : 0;
	plan->base = bases[which];
	plan->epoch = epochs[which];
	plan->first_cqe = which ? (1u << 16) - 2 : 0;
	plan->first_request = which ? (1u << 24) - 2 : 0;
	plan->first_ticket = which ? ((uint64_t)1 << 23) - 2 : 0;
}

static void draw_config(shmemsim_config_t *cfg, unsigned i)
{
	cfg->seed = 1 + i;
	cfg->policy = i % 2 ? SHMEMSIM_RANDOM : SHMEMSIM_PCT;
	cfg->activemask = (int)(i % (SHMEMSIM_ACTIVE_RANDOM + 1));
	cfg->weak = HAS_WEAK && i / 2 % 2;
}

void run_schedules(const rig_test_t *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;

		draw_config(&cfg, i);
		must_pass(&cfg, t, "random schedule");
	}
}

/* Run the n-th combination of doorbells and chaos: the starts take turns. */
static void run_way(rig_test_t *t, const char *way, unsigned n)
{
	for (unsigned i = 0; i < SCHEDULES; i++) {
		shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;

		start_below(&t->plan, (SCHEDULES * n + i) % N_STARTS);
		if (i)
			draw_config(&cfg, SCHEDULES * n + i);
		must_pass(&cfg, t, way);
	}
}

/* Both columns of keys; without doorbell records, with the doorbell only, in two of the ways. */
static uint32_t path_flags_of(unsigned n)
{
	return (n % 2 ? SHMEMD_PATH_OWN_STANDBY : 0) |
	       (n == 2 || n == 11 ? SHMEMD_PATH_NO_RECORD : 0);
}

void run_all_ways(const rig_test_t *given)
{
	static const char *const ways[2][2][3] = {
		{{"hybrid", "record", "doorbell"},
		 {"hybrid, chaos", "record, chaos", "doorbell, chaos"}},
		{{"hybrid, by host", "record, by host", "doorbell, by host"},
		 {"hybrid, chaos, by host", "record, chaos, by host", "doorbell, chaos, by host"}}};
	rig_test_t t = *given;
	unsigned n = 0;

	for (uint8_t by_host = 0; by_host < 2; by_host++)
		for (uint32_t chaos = 0; chaos < 2; chaos++)
			for (int d = MLX5SW_DOORBELLS_HYBRID; d <= MLX5SW_DOORBELLS_DB; d++) {
				t.plan.nic.chaos = chaos ? ALL_CHAOS : 0;
				t.plan.nic.doorbells = (uint8_t)d;
				t.plan.by_host = by_host;
				t.plan.path_flags = path_flags_of(n);
				run_way(&t, ways[by_host][chaos][d], n++);
			}
}

int end_of_group(void **state)
{
	(void)state;
	rig_end();
	return 0;
}
