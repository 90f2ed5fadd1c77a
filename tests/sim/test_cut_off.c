/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A PE that has lost the bootstrap receives no reports about other PEs: its waits end, whether they
 * are for any PE or for one, and neither waits nor lines of host calls name a PE as the cause. */
#include <stdlib.h>
#include <string.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>
#include "sim_test.h"

#define N 3
#define ME 1

/* The emulator's bootstrap with a watch that the test triggers. */
typedef struct watch_state {
	void (*gone)(void *arg, int pe, uint32_t cause);
	void *arg;
	const shmemh_boot_t *real;
	uint32_t is_in_callback; /* the agent is in the callback `gone` */
} watch_t;

static watch_t watches[N];

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *word;
	int *status; /* [2]: of the wait for any PE, of the wait for PE 2 */
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
	watch_t *w = state;

	return w->real->allgather(w->real->state, src, dst, nbytes, errbuf, errbuf_nbytes);
}

static void watch(void *state, void (*gone)(void *arg, int pe, uint32_t cause), void *arg)
{
	watch_t *w = state;

	w->gone = gone;
	w->arg = arg;
}

static void leave(void *state)
{
	watch_t *w = state;

	/* As boot.h requires of close: afterwards no thread is in `gone`. */
	while (shmemd_arch_ld_acquire_u32(&w->is_in_callback))
		shmemd_arch_spin_hint();
	w->real->close(w->real->state);
}

static void cut_off(void *arg)
{
	watch_t *w = arg;

	shmemsim_sleep(1000000);
	w->gone(w->arg, -1, SHMEMD_CAUSE_CUT_OFF);
	shmemd_arch_st_release_u32(&w->is_in_callback, 0);
}

static void wait_cut_off(shmemh_t *job)
{
	void *ptr;
	params_t p;
	int status[2] = {-1, -1};

	CHECK(shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx) == SHMEMH_OK);
	p.word = calloc(1, sizeof *p.word);
	p.status = status;
	watches[ME].is_in_callback = 1;
	CHECK(shmemsim_agent("hub", cut_off, &watches[ME]) == 0);
	CHECK(shmemd_launch(waiter, 1, 2, 0, NULL, p) == 0);
	CHECK(shmemd_stream_sync(NULL) == 0);
	CHECK(status[0] == SHMEMD_ERR_PEER);
	CHECK(status[1] == SHMEMD_ERR_PEER);
	CHECK(shmemd_failed_pe(&p.ctx) == -1);
	CHECK(shmemd_failed_cause(&p.ctx) == SHMEMD_CAUSE_CUT_OFF);
	CHECK(shmemh_pe_cause(job, 0) == SHMEMD_CAUSE_CUT_OFF);
	CHECK(shmemh_pe_cause(job, ME) == SHMEMD_CAUSE_NONE);
	CHECK(shmemh_pe_cause(job, 2) == SHMEMD_CAUSE_CUT_OFF);
	/* The line names no PE, since none is known to be gone. */
	CHECK(shmemh_malloc(job, 64, &ptr) == SHMEMH_ERR_PEER);
	CHECK(strstr(shmemh_error_text(job), "malloc needs all PEs: this PE lost the bootstrap"));
	free(p.word);
}

static int pe_main(int pe, int n_pes, void *arg)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_boot_t boot;
	shmemh_t *job;

	(void)n_pes, (void)arg;
	watches[pe].real = shmemsim_boot();
	boot = *watches[pe].real;
	boot.state = &watches[pe];
	boot.allgather = gather;
	boot.watch = watch;
	boot.close = leave;
	attr.boot = &boot;
	CHECK(shmemh_init(&attr, &job) == SHMEMH_OK);
	if (pe == ME)
		wait_cut_off(job);
	/* The other PEs receive no report of it; with this call they do not wait for it in
	 * finalize. */
	else
		watches[pe].gone(watches[pe].arg, ME, SHMEMD_CAUSE_DIED);
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
