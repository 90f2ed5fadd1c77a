/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Loops of tests without a wait, and a lock of the user's kernel, by the device API on two PEs. */
#include "sim_test.h"
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *flag;  /* of PE 0 */
	uint64_t *lock;  /* on PE 0 */
	uint64_t *count; /* on PE 0, under the lock */
	int is_set;      /* PE 1 sets flag */
} params_t;

SHMEMD_KERNEL(waits_by_tests, params_t, p)
{
	if (shmemd_my_pe(&p.ctx) == 0)
		while (!shmemd_test_u64(&p.ctx, p.flag, SHMEMD_CMP_EQ, 1))
			;
	else if (p.is_set)
		shmemd_p_u64(&p.ctx, p.flag, 1, 0);
}

SHMEMD_KERNEL(locks, params_t, p)
{
	uint64_t me = 1 + (uint64_t)shmemd_my_pe(&p.ctx), old = 0, count = 0;

	for (int round = 0; round < 20; round++) {
		do
			shmemd_atomic_compare_swap_u64(&p.ctx, &old, p.lock, 0, me, 0);
		while (old != 0);
		shmemd_g_u64(&p.ctx, &count, p.count, 0);
		shmemsim_yield();
		shmemd_p_u64(&p.ctx, p.count, count + 1, 0);
		shmemd_fence(&p.ctx);
		shmemd_atomic_set_u64(&p.ctx, p.lock, 0, 0);
	}
}

typedef struct program {
	void (*kernel)(const void *params);
	int is_set;
	uint64_t count; /* on PE 0 at the end */
} program_t;

static int pe_main(int pe, int n_pes, void *arg)
{
	const program_t *program = arg;
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	params_t p = {.is_set = program->is_set};
	shmemh_t *job;
	void *mem;
	(void)n_pes;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job) || shmemh_calloc(job, 3, sizeof(uint64_t), &mem))
		return 1;
	p.flag = mem;
	p.lock = p.flag + 1;
	p.count = p.flag + 2;
	if (shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx) ||
	    shmemsim_launch(program->kernel, &p, sizeof(p), 1, 1, 0, NULL) || shmemsim_sync(NULL) ||
	    shmemh_barrier(job))
		return 1;
	CHECK(pe != 0 || *p.count == program->count);
	return shmemh_finalize(job);
}

static int run(int policy, program_t program)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	cfg.policy = policy;
	return shmemsim_run(&cfg, 2, pe_main, &program);
}

static void test_policies(void **state)
{
	static const int policies[] = {SHMEMSIM_ROUND_ROBIN, SHMEMSIM_RANDOM, SHMEMSIM_PCT};
	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_good(run(policies[i], (program_t){waits_by_tests, 1, 0}));
		assert_good(run(policies[i], (program_t){locks, 0, 2 * 20}));
		int result = run(policies[i], (program_t){waits_by_tests, 0, 0});
		assert_bad(result,
			   "livelock: all fibers that can run poll, and nothing is written");
		assert_bad(result, "PE 0 kernel");
		assert_bad(result, "polling; ");
		assert_bad(result, "waits_by_tests");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_policies)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
