/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A PE that loses the bootstrap knows nothing of the others any more: its waits end, whether they
 * are for anybody or for one PE, and say that no PE is to blame. */
#include <stdlib.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>
#include "sim_test.h"

#define N 3
#define ME 1

/* The emulator's bootstrap with a watch that the test rings itself. */
typedef struct bell {
	void (*gone)(void *arg, int pe, uint32_t cause);
	void *arg;
	const shmemh_boot_t *real;
	uint32_t is_ringing; /* the agent has not come back from gone */
} bell_t;

static bell_t bells[N];

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *word;
	int *status; /* [2]: of the wait for anybody, of the wait for PE 2 */
} params_t;

SHMEMD_KERNEL(waiter, params_t, p)
{
	if (shmemd_thread_index() == 0)
		p.status[0] = shmemd_signal_wait_until(&p.ctx, p.word, SHMEMD_CMP_NE, 0);
	else
		p.status[1] = shmemd_signal_wait_until_from(&p.ctx, p.word, SHMEMD_CMP_NE, 0, 2);
}

static int gather(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
		  size_t errbuf_nbytes)
{
	bell_t *bell = state;

	return bell->real->allgather(bell->real->state, src, dst, nbytes, errbuf, errbuf_nbytes);
}

static void watch(void *state, void (*gone)(void *arg, int pe, uint32_t cause), void *arg)
{
	bell_t *bell = state;

	bell->gone = gone;
	bell->arg = arg;
}

static void leave(void *state)
{
	bell_t *bell = state;

	/* As boot.h asks of close: afterwards nobody is in gone any more. */
	while (shmemd_arch_ld_acquire_u32(&bell->is_ringing))
		shmemd_arch_spin_hint();
	bell->real->close(bell->real->state);
}

static void cut_off(void *arg)
{
	bell_t *bell = arg;

	shmemsim_sleep(1000000);
	bell->gone(bell->arg, -1, SHMEMD_CAUSE_CUT_OFF);
	shmemd_arch_st_release_u32(&bell->is_ringing, 0);
}

static void wait_cut_off(shmemh_t *job)
{
	params_t p;
	int status[2] = {-1, -1};

	CHECK(shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx) == SHMEMH_OK);
	p.word = calloc(1, sizeof *p.word);
	p.status = status;
	bells[ME].is_ringing = 1;
	CHECK(shmemsim_agent("hub", cut_off, &bells[ME]) == 0);
	CHECK(shmemd_launch(waiter, 1, 2, 0, NULL, p) == 0);
	CHECK(shmemd_stream_sync(NULL) == 0);
	CHECK(status[0] == SHMEMD_ERR_PEER);
	CHECK(status[1] == SHMEMD_ERR_PEER);
	CHECK(shmemd_failed_pe(&p.ctx) == -1);
	CHECK(shmemd_failed_cause(&p.ctx) == SHMEMD_CAUSE_CUT_OFF);
	CHECK(shmemh_pe_cause(job, 0) == SHMEMD_CAUSE_CUT_OFF);
	CHECK(shmemh_pe_cause(job, ME) == SHMEMD_CAUSE_NONE);
	CHECK(shmemh_pe_cause(job, 2) == SHMEMD_CAUSE_CUT_OFF);
	free(p.word);
}

static int pe_main(int pe, int n_pes, void *arg)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_boot_t boot;
	shmemh_t *job;

	(void)n_pes, (void)arg;
	bells[pe].real = shmemsim_boot();
	boot = *bells[pe].real;
	boot.state = &bells[pe];
	boot.allgather = gather;
	boot.watch = watch;
	boot.close = leave;
	attr.boot = &boot;
	CHECK(shmemh_init(&attr, &job) == SHMEMH_OK);
	if (pe == ME)
		wait_cut_off(job);
	/* The others hear nothing of it here; told, they do not wait for it in finalize. */
	else
		bells[pe].gone(bells[pe].arg, ME, SHMEMD_CAUSE_DIED);
	CHECK(shmemh_finalize(job) == SHMEMH_ERR_PEER);
	return 0;
}

static void test_cut_off(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;

	(void)state;
	setenv("SHMEMH_DEBUG", "off", 1);
	for (cfg.policy = SHMEMSIM_ROUND_ROBIN; cfg.policy <= SHMEMSIM_RANDOM; cfg.policy++)
		assert_good(shmemsim_run(&cfg, N, pe_main, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cut_off)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
