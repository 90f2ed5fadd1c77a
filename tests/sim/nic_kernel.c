/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Steps 6 and 7 of runtime/sim/README.md: a kernel that is right where memory is mapped, and wrong
 * over a NIC, which reads the source later. The emulator runs it over the software adapter.
 *
 *     nic_kernel                 search all cases; the exit status says whether each is as expected
 *     nic_kernel reuses          the search of step 6 alone */
#include <mlx5sw_sim.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>
#include <shmem_sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* snippet: kernel */
#define ROUNDS 2
#define WORDS 8

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *outbox; /* [WORDS] symmetric: the source of each put */
	uint64_t *inbox;  /* [ROUNDS][WORDS] on PE 1 */
	uint64_t *full;   /* on PE 1: rounds that have arrived */
} params_t;

SHMEMD_FN void check_rounds(const params_t *p)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		shmemd_signal_wait_until(&p->ctx, p->full, SHMEMD_CMP_GE, round);
		if (p->inbox[(round - 1) * WORDS] != 100 * round)
			shmemsim_fail("round %d brought %d", (int)round,
				      (int)p->inbox[(round - 1) * WORDS]);
	}
}

SHMEMD_KERNEL(reuses, params_t, p)
{
	if (shmemd_my_pe(&p.ctx) == 1) {
		check_rounds(&p);
		return;
	}
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		*p.outbox = 100 * round;
		shmemd_putmem_signal_nbi(&p.ctx, p.inbox + (round - 1) * WORDS, p.outbox,
					 WORDS * sizeof(uint64_t), p.full, round, SHMEMD_SIGNAL_SET,
					 1);
	}
	(void)shmemd_quiet(&p.ctx);
}
/* end */

/* snippet: corrected */
SHMEMD_KERNEL(waits, params_t, p)
{
	if (shmemd_my_pe(&p.ctx) == 1) {
		check_rounds(&p);
		return;
	}
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		*p.outbox = 100 * round;
		shmemd_putmem_signal(&p.ctx, p.inbox + (round - 1) * WORDS, p.outbox,
				     WORDS * sizeof(uint64_t), p.full, round, SHMEMD_SIGNAL_SET, 1);
	}
}
/* end */

/* snippet: host */
typedef void kernel_t(const void *params);

static int start_nics(int n_pes)
{
	static mlx5sw_sim_t adapter;
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.n_hosts = (uint32_t)n_pes;
	return getenv("SHMEMH_IB_LIBRARY") ? mlx5sw_sim_start(&adapter, &cfg) : 0;
}

static int pe_main(int pe, int n_pes, void *kernel)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	params_t p;
	void *mem = NULL;

	if (pe == 0 && start_nics(n_pes))
		return 1;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job) ||
	    shmemh_calloc(job, (ROUNDS + 1) * WORDS + 1, sizeof(uint64_t), &mem))
		return 1;
	p.outbox = mem;
	p.full = p.outbox + WORDS;
	p.inbox = p.full + 1;
	shmemsim_name(p.outbox, WORDS * sizeof(uint64_t), pe ? "outbox of 1" : "outbox");
	shmemsim_name(p.full, sizeof(uint64_t), pe ? "full" : "full of 0");
	shmemsim_name(p.inbox, ROUNDS * WORDS * sizeof(uint64_t), pe ? "inbox" : "inbox of 0");
	if (shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx) ||
	    shmemd_launch(*(kernel_t **)kernel, 1, 1, 0, NULL, p) || shmemd_stream_sync(NULL))
		return 1;
	return shmemh_finalize(job);
}
/* end */

/* snippet: main */
#define SCHEDULES 200

static int search(kernel_t *kernel)
{
	int bad = shmemsim_explore(NULL, SCHEDULES, 2, pe_main, &kernel, NULL);

	fputs(shmemsim_report(), stderr);
	return bad;
}

static int expect(kernel_t *kernel, int wanted)
{
	if (search(kernel) != wanted)
		return 1;
	return wanted && !strstr(shmemsim_report(), "round 1 brought 200");
}

int main(int argc, char **argv)
{
	int over_nic = getenv("SHMEMH_IB_LIBRARY") != NULL;

	if (argc > 1 && strcmp(argv[1], "reuses") == 0)
		return search(reuses);
	return expect(reuses, over_nic) || expect(waits, 0);
}
/* end */
